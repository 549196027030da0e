"""Systems side by side by nugget recall: one line a run, as many measures as there is room for, the best first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.analysis.leaderboard import Agreement, Leaderboard, OnMissing, Standing, missed
from ragstone.render.terminal.columns import RECALL
from ragstone.render.terminal.screen import Look, Page, facts, indented, page, prose, section
from ragstone.render.text import NBSP, flat, middle, number, plural, points

FINE: Final = 1000
"""A count from which percentages have a decimal: here they all have one."""
CELL: Final = 6
"""Columns of a value."""
SHORTEST: Final = 16
"""Columns of a run's name below which measures are left out in its favour."""
MOST_PAIRS: Final = 12
"""Lines of the comparison with another leaderboard."""
SAY_LEAST: Final = ("weighted", "weighted_strict", "all", "vital", "strict_all", "strict_vital")
"""Measures in the order in which a narrow terminal goes without them."""

TREATED: Final[Mapping[str, str]] = {
    "warn": "their means leave those topics out",
    "skip": "no mean counts those topics",
    "zero": "those count as 0",
}
"""What was done about topics that a run has not answered."""


def sorted_by(board: Leaderboard) -> str:
    """The measure of TREC RAG where any nugget is vital, else the next best."""
    vital = any(entry.values.get("strict_vital") is not None for entry in board.entries.values())
    return "strict_vital" if vital else "strict_all"


def order(standings: Sequence[Standing], measure: str) -> list[Standing]:
    """The best first by a measure; equal ones as they came, those without a value last."""
    return sorted(standings, key=lambda s: -1.0 if (value := s.means.get(measure)) is None else value, reverse=True)


def unjudged_of(board: Leaderboard) -> Counter[str]:
    """By run the nuggets that no judge said anything of."""
    found: Counter[str] = Counter()
    for entry in board.entries.values():
        found[entry.run] += entry.unjudged
    return found


@dataclass(frozen=True, slots=True)
class Board:
    """What came of scoring, as far as it is drawn."""

    board: Leaderboard
    standings: Sequence[Standing]
    measure: str
    on_missing: OnMissing
    agreements: Sequence[Agreement] = ()
    against: str = ""
    written: Sequence[Path] = ()


def board_page(told: Board, look: Look) -> Page:
    """The whole screen."""
    return page(
        section("Nugget recall", _table(told, look), *_below(told, look), note=_note(told)),
        _against(told, look) if told.against else None,
        facts([("Rows", Text(_files(told.written), overflow="fold"))], 4) if told.written else None,
    )


def _note(told: Board) -> str:
    topics = len(told.board.topics())
    return f"{plural(len(told.standings), 'run')}, {plural(topics, 'topic')}, in percent, by {told.measure}"


def _files(written: Sequence[Path]) -> str:
    if len(written) == 1:
        return flat(written[0])
    return f"{flat(written[0].parent)}: {plural(len(written), 'file')}, one a run".replace(NBSP, " ")


# ---- the table


def _measures(told: Board) -> list[str]:
    """The measures in their pairs; without those that no run has, and those that then say the same as others."""
    shown = [name for pair in RECALL.table.rows.values() for name in pair if name in told.board.measures]
    valued = [name for name in shown if any(s.means.get(name) is not None for s in told.standings)]
    if "strict_vital" in shown and "strict_vital" not in valued:
        valued = [name for name in valued if name not in RECALL.table.rows["weighted"]]
    return valued


def _counts(told: Board) -> list[tuple[str, list[str]]]:
    """Counts by run, each only where it says something: topics that are not all, nuggets that stayed unjudged."""
    unjudged = unjudged_of(told.board)
    topics = [max(s.topics.values(), default=0) for s in told.standings]
    columns = []
    if set(topics) != {len(told.board.topics())}:
        columns.append(("topics", [number(count) for count in topics]))
    if any(unjudged.values()):
        columns.append(("unjudged", [number(unjudged[s.run]) for s in told.standings]))
    return columns


def _table(told: Board, look: Look) -> RenderableType:
    return Group(*_lines(told, _fitting(told, look), look))


def _fitting(told: Board, look: Look) -> list[str]:
    """The measures that there is room for beside names that can be told apart."""
    kept = _measures(told)
    wanted = _apart([flat(s.run) for s in told.standings], look)
    for name in SAY_LEAST:
        if _room(told, kept, look) >= wanted:
            break
        if name in kept and name != told.measure and len(kept) > 1:
            kept.remove(name)
    return kept


def _apart(names: Sequence[str], look: Look) -> int:
    """The least columns in which shortened names are as different as the names are."""
    longest = max(map(cell_len, names))
    for room in range(min(SHORTEST, longest), longest):
        if len({middle(name, room, look.ellipsis) for name in names}) == len(set(names)):
            return room
    return longest


def _room(told: Board, kept: Sequence[str], look: Look) -> int:
    """Columns that are left for the names."""
    counts = sum(2 + _wide(title, cells) for title, cells in _counts(told))
    return look.width - 2 - counts - sum(2 + wide for _, wide in _widths(kept))


def _wide(title: str, cells: Sequence[str]) -> int:
    return max(len(title), *(len(cell) for cell in cells))


def _groups(kept: Sequence[str]) -> list[tuple[str, list[str]]]:
    groups = [(row, [name for name in pair if name in kept]) for row, pair in RECALL.table.rows.items()]
    return [(row, names) for row, names in groups if names]


def _widths(kept: Sequence[str]) -> list[tuple[str, int]]:
    """Each measure with its columns: enough for the name of its pair."""
    return [(name, max(CELL, len(row)) if len(names) == 1 else CELL) for row, names in _groups(kept) for name in names]


def _lines(told: Board, kept: Sequence[str], look: Look) -> list[Text]:
    room = max(8, _room(told, kept, look))
    longest = max(cell_len(flat(s.run)) for s in told.standings)
    room = min(room, max(longest, len("run")))
    counts = [(title, cells, _wide(title, cells)) for title, cells in _counts(told)]
    widths = dict(_widths(kept))
    left = " " * (room + sum(2 + wide for _, _, wide in counts))
    over = Text(left, style="quiet")
    for row, names in _groups(kept):
        wide = sum(widths[name] for name in names) + 2 * (len(names) - 1)
        over.append(f"  {f' {row} '.center(wide, look.line) if len(names) > 1 else row.rjust(wide)}")
    head = Text("run".ljust(room), style="quiet")
    for title, _, wide in counts:
        head.append(f"  {title.rjust(wide)}")
    for row, names in _groups(kept):
        for name in names:
            title = RECALL.table.titles[RECALL.table.rows[row].index(name)]
            head.append(f"  {title.rjust(widths[name])}", style="head" if name == told.measure else "")
    lines = [over, head]
    for place, standing in enumerate(told.standings):
        name = middle(flat(standing.run), room, look.ellipsis)
        line = Text(name + " " * (room - cell_len(name)))
        for _, cells, wide in counts:
            line.append(f"  {cells[place].rjust(wide)}", style="quiet")
        for measure, wide in widths.items():
            line.append(f"  {points(standing.means.get(measure), FINE).rjust(wide)}",
                        style="head" if measure == told.measure else "")  # fmt: skip
        lines.append(line)
    return lines


def _below(told: Board, look: Look) -> list[RenderableType]:
    """What a reader must know of the numbers: what they count, what is not shown, what they stand on."""
    said = [RECALL.table.legend]
    measures = _measures(told)
    if "strict_vital" in told.board.measures and "strict_vital" not in measures:
        said.append("no importance is known: vital has no value, and weighted is the same as all")
    dropped = [name for name in measures if name not in _fitting(told, look)]
    if dropped:
        said.append(f"no room for {', '.join(dropped)}; a wider terminal or --json shows them")
    if any(len(set(_known(s, measures))) > 1 for s in told.standings):
        said.append("the vital columns leave out topics without a vital nugget")
    if any(unjudged_of(told.board).values()):
        said.append("unjudged nuggets are in no mean")
    if empty := sum(entry.status == "no_nuggets" for entry in told.board.entries.values()):
        said.append(f"{plural(empty, 'answer')} without nuggets in no mean")
    lines: list[RenderableType] = [prose("; ".join(said), look, "quiet")]
    missing = told.board.missing()
    if missing:
        lines.append(prose(f"{flat(missed(missing))}; {TREATED[told.on_missing]}", look, "partly"))
    return lines


def _known(standing: Standing, measures: Sequence[str]) -> list[int]:
    return [standing.topics.get(name, 0) for name in measures]


# ---- another leaderboard


def _against(told: Board, look: Look) -> RenderableType:
    name = middle(flat(told.against), look.width // 2, look.ellipsis)
    title = f"Kendall's tau with {name}"
    listed = sorted((one for one in told.agreements if one.runs), key=lambda one: _rank(one.measure))
    if not listed:
        why = "no measure has values in both" if told.agreements else "no run is in both"
        return section(title, indented(prose(why, look, "quiet", 2)))
    same = all(one.measure == one.other for one in listed)
    pairs = [one.measure if same else f"{one.measure} by {flat(one.other)}" for one in listed]
    wide = min(look.width - 14, max(cell_len(pair) for pair in pairs))
    lines = []
    for one, pair in list(zip(listed, pairs, strict=True))[:MOST_PAIRS]:
        shown = middle(pair, wide, look.ellipsis)
        tau = f"{one.tau:.3f}" if one.tau is not None else "-"
        lines.append(Text(f"{shown}{' ' * (wide - cell_len(shown))}  {tau:>6}"))
    if len(pairs) > MOST_PAIRS:
        lines.append(Text(f"and {len(pairs) - MOST_PAIRS} more, with --json", style="quiet"))
    runs = sorted({one.runs for one in listed})
    counted = plural(runs[-1], "run") if len(runs) == 1 else f"{runs[0]} to {plural(runs[-1], 'run')}"
    topics = next((one.topics for one in listed if one.topics is not None), None)
    shared = f", on {plural(topics, 'topic')} that both scored" if topics is not None else ", each on its own topics"
    return section(title, indented(Group(*lines)), note=f"over {counted} that both have{shared}")


def _rank(measure: str) -> int:
    """The place of a measure among the columns of the table."""
    shown = [name for pair in RECALL.table.rows.values() for name in pair]
    return shown.index(measure) if measure in shown else len(shown)
