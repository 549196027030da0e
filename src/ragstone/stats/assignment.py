"""One-to-one matching of two lists: as many pairs as a threshold allows, with the highest total similarity."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragstone.stats.means import reaches


def matched(similarities: Sequence[Sequence[float]], threshold: float) -> dict[int, int]:
    """Return the column that each row is matched with, without unmatched rows.

    Only pairs that reach the threshold are matched, each row and column at most once. The matching has the maximum
    number of pairs and, among those, the maximum sum of similarities (0-1).
    """
    columns = len(similarities[0]) if similarities else 0
    if columns < len(similarities):
        turned = matched([*zip(*similarities, strict=True)], threshold)
        return dict(sorted((row, column) for column, row in turned.items()))
        # Each pair gains 1, and its similarity adds so little that no sum of similarities outweighs a pair.
    share = 1 / (len(similarities) + 1)
    costs = [[-(1 + share * one) if reaches(one, threshold) else 0.0 for one in row] for row in similarities]
    pairs = enumerate(_cheapest(costs))
    return {row: column for row, column in pairs if costs[row][column]}


def _cheapest(costs: Sequence[Sequence[float]]) -> list[int]:
    """Return the column of each row in the assignment with the lowest sum; needs at least as many columns as rows.

    Shortest augmenting paths (Jonker and Volgenant 1987), in time rows x rows x columns.
    """
    rows, columns = len(costs), len(costs[0]) if costs else 0
    of_row, of_column = [0.0] * rows, [0.0] * (columns + 1)
    owner = [-1] * (columns + 1)  # the last column is the start of the row being placed
    for row in range(rows):
        owner[columns], at = row, columns
        least, before, done = [math.inf] * columns, [columns] * columns, [False] * (columns + 1)
        while owner[at] >= 0:
            done[at] = True
            here, step, following = owner[at], math.inf, -1
            for column in range(columns):
                if done[column]:
                    continue
                cost = costs[here][column] - of_row[here] - of_column[column]
                if cost < least[column]:
                    least[column], before[column] = cost, at
                if least[column] < step:
                    step, following = least[column], column
            for column in range(columns + 1):
                if done[column]:
                    of_row[owner[column]] += step
                    of_column[column] -= step
                elif column < columns:
                    least[column] -= step
            at = following
        while at != columns:
            owner[at] = owner[before[at]]
            at = before[at]
    found = [0] * rows
    for column, row in enumerate(owner[:columns]):
        if row >= 0:
            found[row] = column
    return found
