"""Draw the leaderboard of nugget recall: one line per system, best first, with as many measures as fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from msgspec import Struct
from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from ragstone.analysis.leaderboard import BoardAgreement, Leaderboard, OnMissing, Standing, missed
from ragstone.render.terminal.columns import RECALL
from ragstone.render.terminal.screen import Look, Page, Prose, facts, indented, page, section
from ragstone.render.terminal.tables import GAP, Column, fitting, table
from ragstone.render.text import flat, middle, number, plural
from ragstone.stats.points import points

FINE: Final = 1000
"""A count large enough that percentages get a decimal: here all have one."""
CELL: Final = 6
"""Width of a value, in columns."""
SHORTEST: Final = 16
"""Minimum width, in columns, of a system's name; measures are dropped to keep it."""
MOST_PAIRS: Final = 12
"""Maximum number of lines of the comparison with another leaderboard."""
SHOWN: Final[Mapping[str, str]] = {name: row for row, pair in RECALL.table.rows.items() for name in pair}
"""The measures in column order, each with the title of its pair."""
SAY_LEAST: Final = ("weighted", "weighted_strict", "all", "vital", "strict_all", "strict_vital")
"""The order in which a narrow terminal drops measures."""

TREATED: Final[Mapping[str, str]] = {
    "warn": "Unanswered topics are excluded from a system's means.",
    "skip": "Unanswered topics are excluded from all means.",
    "zero": "Unanswered topics count as 0.",
}
"""How topics that a system has not answered were handled."""


def sorted_by(board: Leaderboard) -> str:
    """Return the measure to sort by: that of TREC RAG if any nugget is vital, else the next best."""
    return "strict_vital" if has_values(board, "strict_vital") else "strict_all"


def has_values(board: Leaderboard, measure: str) -> bool:
    """Return whether any run has a value of the measure."""
    return any(entry.values.get(measure) is not None for entry in board.entries.values())


def order(standings: Sequence[Standing], measure: str) -> list[Standing]:
    """Return the standings sorted by a measure, best first; ties keep their order, those without a value are last."""
    return sorted(standings, key=lambda s: -1.0 if (value := s.means.get(measure)) is None else value, reverse=True)


def unjudged_of(board: Leaderboard) -> Counter[str]:
    """Return the number of unjudged nuggets by run."""
    found: Counter[str] = Counter()
    for entry in board.entries.values():
        found[entry.run] += entry.unjudged
    return found


class Board(Struct, frozen=True):
    """A leaderboard with its display options: standings, sort measure, and comparison with another leaderboard."""

    board: Leaderboard
    standings: Sequence[Standing]
    measure: str
    on_missing: OnMissing
    agreements: Sequence[BoardAgreement] = ()
    against: str = ""
    written: Sequence[Path] = ()


def board_page(told: Board, look: Look) -> Page:
    """Return the whole screen of a leaderboard."""
    note = f"{plural(len(told.standings), 'system')}, {plural(len(told.board.topics()), 'topic')}, "
    note += f"in percent, sorted by {told.measure.replace('_', ' ')}"
    measures = _measures(told)
    names = [flat(standing.run) for standing in told.standings]
    runs = Column("system", names, least=_apart(names, look))
    columns = fitting([runs, *_counts(told), *measures.values()], look.width - 2, look)
    shown = {name: column for name, column in measures.items() if any(column is kept for kept in columns)}
    drawn = _over(columns, shown), table(columns)
    return page(
        section("Nugget recall", *drawn, *_below(told, measures, shown), note=note),
        _against(told, look) if told.against else None,
        facts([("File" if len(told.written) == 1 else "Files", _files(told.written))], 5) if told.written else None,
    )


def _files(written: Sequence[Path]) -> str:
    if len(written) == 1:
        return str(written[0])
    return f"{written[0].parent}: {plural(len(written), 'file')}, one per system"


# ---- the table


def _measures(told: Board) -> dict[str, Column]:
    """Return the measures in their pairs, without those that no run has or that would then duplicate others."""
    valued = [name for name in SHOWN if any(s.means.get(name) is not None for s in told.standings)]
    if "strict_vital" in told.board.measures and "strict_vital" not in valued:
        valued = [name for name in valued if SHOWN[name] != "weighted"]
    names = [name for name in valued if name in told.board.measures]
    stays = told.measure if told.measure in names else max(names, key=SAY_LEAST.index, default="")
    columns: dict[str, Column] = {}
    for row, pair in groupby(names, SHOWN.__getitem__):
        for at, name in enumerate(pair):
            style = "head" if name == told.measure else ""
            wide = CELL if at and name != stays else max(CELL, len(row))  # alone, it has its row's name above it
            title = Text(RECALL.table.titles[RECALL.table.rows[row].index(name)], style=style)
            cells = [points(standing.means.get(name), FINE).rjust(wide) for standing in told.standings]
            drop = 0 if name == stays else SAY_LEAST.index(name) + 1
            columns[name] = Column(title, cells, right=True, drop=drop, style=style)
    return columns


def _counts(told: Board) -> list[Column]:
    """Return columns of counts by run: topics if some are missing, unjudged nuggets if there are any."""
    unjudged = unjudged_of(told.board)
    topics = [max(s.topics.values(), default=0) for s in told.standings]
    columns = []
    if set(topics) != {len(told.board.topics())}:
        columns.append(Column("topics", [number(count) for count in topics], right=True, style="quiet"))
    if any(unjudged.values()):
        counts = [number(unjudged[s.run]) for s in told.standings]
        columns.append(Column("unjudged", counts, right=True, style="quiet"))
    return columns


def _apart(names: Sequence[str], look: Look) -> int:
    """Return the smallest width at which shortened names are still distinct."""
    longest = max(map(cell_len, names))
    for room in range(min(SHORTEST, longest), longest):
        if len({middle(name, room, look.ellipsis) for name in names}) == len(set(names)):
            return room
    return longest


def _over(columns: Sequence[Column], shown: Mapping[str, Column]) -> Text:
    """Return the line above the titles, with the name of each pair of measures."""
    line = " " * (sum(column.width + GAP for column in columns[: len(columns) - len(shown)]) - GAP)
    for row, pair in groupby(shown, SHOWN.__getitem__):
        widths = [shown[name].width for name in pair]
        wide = sum(widths) + GAP * (len(widths) - 1)
        line += " " * GAP + (f" {row} ".center(wide, "─") if len(widths) > 1 else row.rjust(wide))
    return Text(line, style="quiet")


def _below(told: Board, measures: Mapping[str, Column], shown: Mapping[str, Column]) -> list[RenderableType]:
    said = [RECALL.table.legend]
    if "strict_vital" in told.board.measures and "strict_vital" not in measures:
        said.append("no nugget is marked vital, so the vital columns are omitted and weighted equals all")
    if dropped := [name for name in measures if name not in shown]:
        said.append(f"hidden at this width: {', '.join(dropped)}; widen the terminal or use --json")
    if any(len({s.topics.get(name, 0) for name in measures}) > 1 for s in told.standings):
        said.append("vital columns exclude topics without a vital nugget")
    if any(unjudged_of(told.board).values()):
        said.append("unjudged nuggets are excluded")
    if empty := sum(entry.status == "no_nuggets" for entry in told.board.entries.values()):
        said.append(f"{plural(empty, 'answer')} without nuggets {'is' if empty == 1 else 'are'} excluded")
    lines: list[RenderableType] = [Prose("; ".join(said), "quiet")]
    lines += [Prose(flat(note), "partly") for note in told.board.notes]
    if missing := told.board.missing():
        said_missing = flat(missed(missing))
        lines.append(Prose(f"{said_missing[:1].upper()}{said_missing[1:]}. {TREATED[told.on_missing]}", "partly"))
    return lines


# ---- another leaderboard


def _against(told: Board, look: Look) -> RenderableType:
    title = f"Kendall's tau with {middle(flat(told.against), look.width // 2, look.ellipsis)}"
    places = {name: place for place, name in enumerate(SHOWN)}
    listed = sorted((one for one in told.agreements if one.runs), key=lambda one: places.get(one.measure, len(places)))
    if max((one.runs for one in listed), default=0) < 2:
        why = f"no {'measure' if told.agreements else 'system'} in common"
        why = "at least 2 systems in common are needed; found 1" if listed else why
        return section(title, indented(Prose(why, "quiet")))
    same = all(one.measure == one.other for one in listed)
    pairs = [one.measure if same else f"{one.measure} by {flat(one.other)}" for one in listed]
    taus = [f"{one.tau:6.3f}" if one.tau is not None else "-" for one in listed]
    columns = [Column("", pairs[:MOST_PAIRS], least=12), Column("", taus[:MOST_PAIRS], right=True)]
    lines: list[RenderableType] = [table(fitting(columns, look.width - 4, look))]
    if len(pairs) > MOST_PAIRS:
        lines.append(Text(f"and {len(pairs) - MOST_PAIRS} more, with --json", style="quiet"))
    if any(one.tau is None for one in listed):
        lines.append(Prose("- undefined: all systems are tied in one of the leaderboards", "quiet"))
    topics = {one.topics for one in listed if one.topics is not None}
    shared = f" and {_range(topics, 'topic')} in common" if topics else " in common, each on its own topics"
    counted = _range({one.runs for one in listed}, "system")
    return section(title, *map(indented, lines), note=f"{counted}{shared}")


def _range(counts: Collection[int], noun: str) -> str:
    """Return ``2 to 3 topics``, or ``3 topics`` if all counts are equal."""
    least, most = min(counts), max(counts)
    return plural(most, noun) if least == most else f"{least} to {plural(most, noun)}"
