"""``ragstone compare``: two runs metric by metric, what could be shown, what is in the way, and which records moved."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.analysis.compare import NOT_SHOWN, NUGGETS, VITAL, Compared, Comparison, Moved, Side, said
from ragstone.analysis.run import Run
from ragstone.analysis.saved import Weighed
from ragstone.analysis.verdicts import Wanting, wanting
from ragstone.render.comparison import headline, in_the_way, leading_of, left_out, notes
from ragstone.render.facts import handle
from ragstone.render.terminal.columns import columns_of
from ragstone.render.terminal.outcome import Place, beside
from ragstone.render.terminal.screen import Look, Page, facts, indented, page, prose, section, to_paste
from ragstone.render.text import NBSP, flat, middle, number, percent, plural, shorten, signed
from ragstone.render.wording import folded
from ragstone.stats.paired_tests import least_moved

DROPPED: Final = ("better/same/worse", "pairs", "95 %", "p")
"""Columns in the order in which a narrow terminal goes without them."""
BY_NUGGET: Final = "nuggets, one by one"
_SHORT: Final[Mapping[str, str]] = {NUGGETS: "all", VITAL: "vital"}
_FOUND: Final[Mapping[str, str]] = {
    "higher": "Higher in {label}",
    "lower": "Lower in {label}",
    "none": "No difference could be shown",
    "too_few": "Too few records changed for a test (at least {least} are needed)",
    "same": "The same",
    "nothing": "Nothing to compare",
}


def side_by_side(found: Comparison, first: Weighed, second: Weighed, look: Look, place: Place | None = None) -> Page:
    """The whole screen of two runs."""
    place = place or Place()
    leading = leading_of(found)
    return page(
        _titles(found, look),
        prose(headline(found, leading), look),
        _table(found, look),
        _in_words(found, look),
        _lines("Before you rely on this", in_the_way(found), look),
        _lines("Left out", left_out(found), look),
        _moved(leading, (first, second), look) if leading is not None else None,
        _following(leading, second, place, look),
    )


def _titles(found: Comparison, look: Look) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    for side in (found.first, found.second):
        told = f" {look.dot} ".join(dict.fromkeys([side.label, plural(side.records, "record").replace(NBSP, " ")]))
        table.add_row(Text(middle(flat(side.name), look.width // 2, look.ellipsis), style="head"), Text(told, "quiet"))
    return table


# ---- the table


def _table(found: Comparison, look: Look) -> RenderableType:
    """Both means, the difference in points, its interval, p, and how many went which way, as far as there is room."""
    rows = _rows(found)
    cells = {
        "": [name for name, _ in rows],
        _short(found.first): _cells(rows, lambda one: _percent(one.first.mean, one)),
        _short(found.second): _cells(rows, lambda one: _percent(one.second.mean, one)),
        "points": _cells(rows, lambda one: signed(100 * one.paired.difference) if one.paired else "-"),
        "95 %": _cells(rows, _interval),
        "p": _cells(rows, lambda one: p_said(one.adjusted)),
        "pairs": _cells(rows, lambda one: number(one.paired.pairs) if one.paired else "0"),
        "better/same/worse": _cells(rows, _counts),
    }
    if len({cell for cell in cells["pairs"] if cell}) == 1:
        del cells["pairs"]
    for title in DROPPED:
        if _wide(cells) > look.width:
            cells.pop(title, None)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    for title in cells:
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for (_, one), row in zip(rows, zip(*cells.values(), strict=True), strict=True):
        table.add_row(*row, style=_style(one))
    return table


def _style(one: Compared | None) -> str:
    if one is None or one.finding in ("none", "too_few"):
        return ""
    return "head" if one.finding in ("higher", "lower") else "quiet"


def _rows(found: Comparison) -> list[tuple[str, Compared | None]]:
    """What stands at the left of each row; columns of one metric stand under its name, a row without numbers."""
    rows: list[tuple[str, Compared | None]] = []
    for one in found.metrics:
        columns = columns_of(one.metric)
        head = columns.name if columns else BY_NUGGET if one.unit == "nugget" else ""
        if head and (head, None) not in rows:
            rows.append((head, None))
        rows.append((f"  {_SHORT.get(one.metric, one.metric.split('.', 1)[-1])}" if head else one.metric, one))
    return rows


def _cells(rows: Sequence[tuple[str, Compared | None]], cell: Callable[[Compared], str]) -> list[str]:
    return ["" if one is None else cell(one) for _, one in rows]


def _short(side: Side) -> str:
    return side.label.removeprefix("the ")


def _percent(mean: float | None, one: Compared) -> str:
    return percent(mean, _count(one)).replace(NBSP, " ")


def _count(one: Compared) -> int:
    return one.paired.pairs if one.paired else 0


def _interval(one: Compared) -> str:
    if one.paired is None or one.paired.low is None or one.paired.high is None:
        return ""
    return f"{signed(100 * one.paired.low)} to {signed(100 * one.paired.high)}"


def _counts(one: Compared) -> str:
    return (
        "/".join(number(count) for count in (one.paired.wins, one.paired.ties, one.paired.losses)) if one.paired else ""
    )


def p_said(p: float | None) -> str:
    """``0.012``; never 0."""
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _wide(columns: Mapping[str, Sequence[str]]) -> int:
    return 2 + sum(2 + max(cell_len(cell) for cell in (title, *cells)) for title, cells in columns.items())


# ---- in words


def _in_words(found: Comparison, look: Look) -> RenderableType:
    """Which metrics differ and which do not, with how large a difference would have been seen."""
    titles = {
        finding: title.format(label=found.second.label, least=least_moved(max(1, found.tests)))
        for finding, title in _FOUND.items()
    }
    kinds: dict[str, list[str]] = {}
    for one in found.metrics:
        title = titles[one.finding]
        kinds.setdefault(title, []).append(_named(one))
    rows = [prose(f"{title}: {_joined(title, kinds[title])}.", look) for title in titles.values() if title in kinds]
    return Group(*rows, *(prose(note, look, "quiet") for note in notes(found)))


def _lines(title: str, lines: Sequence[str], look: Look) -> RenderableType | None:
    return section(title, *(prose(line, look) for line in lines)) if lines else None


def _joined(title: str, names: Sequence[str]) -> str:
    return "; ".join(names) if title == _FOUND["none"] else ", ".join(folded(names))


def _named(one: Compared) -> str:
    """A metric, and where no difference could be shown what is to be said of that."""
    return f"{one.metric}{said(one, '').removeprefix(NOT_SHOWN)}" if one.finding == "none" else one.metric


# ---- which records


def _moved(one: Compared, runs: tuple[Weighed, Weighed], look: Look) -> RenderableType | None:
    if not one.moved:
        return None
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    points = [f"{100 * moved.difference:+.0f}" for moved in one.moved]
    room = look.width - 4 - max(map(len, points)) - 2
    for moved, shown in zip(one.moved, points, strict=True):
        table.add_row(shown, _record(one.metric, moved, runs, look, room))
    return section(f"Moved most by {one.metric}", indented(table), note="in points")


def _record(metric: str, moved: Moved, runs: tuple[Weighed, Weighed], look: Look, room: int) -> RenderableType:
    """The record, its two values, and what became wrong with it in the run in which it has the lower one."""
    told = f"{percent(moved.first)} to {percent(moved.second)}"
    ours, theirs = (run.find(moved.record) for run in runs)
    lower, higher = (theirs, ours) if moved.difference < 0 else (ours, theirs)
    units = wanting(lower, metric, higher) if lower is not None else ()
    return record_lines(moved.record, told, units, look, room)


def record_lines(record: str, told: str, units: Sequence[Wanting], look: Look, room: int) -> Group:
    """A record's id with a few words, and the first of the units that take from its score."""
    lines = beside(flat(record), told, look, room)
    for unit in units[:1]:
        sign = look.mark("no" if unit.value <= 0 else "partly")
        lines.append(Text.assemble(sign, " ", shorten(flat(unit.text), room - 2, look.ellipsis)))
        if why := flat(unit.reason):
            lines.append(Text(f"  {shorten(why, room - 2, look.ellipsis)}", style="quiet"))
    return Group(*lines)


def _following(leading: Compared | None, second: Weighed, place: Place, look: Look) -> RenderableType | None:
    """The page that was written, and the command that shows the record that moved most if its run is in a store."""
    rows = [("Page", Text(flat(place.comparison), overflow="fold"))] if place.comparison else []
    if leading is not None and isinstance(second, Run):
        result = second.find(leading.moved[0].record) if leading.moved else None
        which = [handle(result["id"], result["position"])] if result is not None else []
        command = shlex.join(["ragstone", "show", str(second.id), *which, *place.options])
        rows.append(("Next", to_paste(command, look)))
    return facts(rows) if rows else None
