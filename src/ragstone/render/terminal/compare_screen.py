"""Draw the screens of ``ragstone compare`` (two runs by metric, differences) and ``ragstone check`` (thresholds)."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.analysis.check import CheckResult
from ragstone.analysis.compare import NUGGETS, VITAL, Compared, Comparison
from ragstone.analysis.pairing import Moved
from ragstone.analysis.run import Run
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.verdicts import Wanting, wanting
from ragstone.metrics import best_at_zero, column_of
from ragstone.render import comparison
from ragstone.render.agreement import agreement_lines
from ragstone.render.comparison import Behind
from ragstone.render.facts import RunFacts, handle, show_command
from ragstone.render.terminal.columns import columns_of
from ragstone.render.terminal.outcome import Place
from ragstone.render.terminal.screen import DOT, Command, Look, Page, Prose, facts, heading, indented, page, section
from ragstone.render.terminal.tables import Column, Fitted, by_kind, grid, legend, record_lines
from ragstone.render.text import flat, middle, number, percent, plural
from ragstone.render.wording import or_contradicted, words_of

BY_NUGGET: Final = "individual nuggets"
_SHORT: Final = {NUGGETS: "all", VITAL: "vital"}
_OUTCOMES: Final = {"passed": "quiet", "failed": "wrong", "undecided": "partly", "error": "head"}
_STYLES: Final = {"higher": "head", "lower": "head", "none": "", "too_few": ""}
"""The style of a metric's row by its finding; others are dim."""


def compare_page(
    found: Comparison, first: AnyRun, second: AnyRun, look: Look, place: Place | None = None, *, follow: bool = True
) -> Page:
    """Return the whole screen of a comparison; ``follow`` adds the next command."""
    leading = comparison.leading_of(found)
    return page(
        _titles(found, look),
        Prose(comparison.headline(found, leading)),
        _table(found),
        Group(*map(Prose, comparison.findings(found)), *(Prose(note, "quiet") for note in comparison.notes(found))),
        *(section(title, *map(Prose, lines)) for title, lines in comparison.limits(found).items() if lines),
        _moved(leading, found, (first, second), look) if leading is not None else None,
        _following(leading, (first, second), place or Place()) if follow else None,
    )


def demo_page(found: Comparison, runs: Sequence[Run], written: Sequence[str], look: Look) -> RenderableType:
    """Return the screen of the demo: its two runs, their comparison, and the next commands."""
    of = (
        "example answers with planted errors, a refusal and a blank response",
        "the same questions, answered with two sentences copied from a passage",
    )
    told = [(Text(run.name, "head"), what) for run, what in zip(runs, of, strict=True)]
    following = [
        f"ragstone view {runs[0].elsewhere}",
        RunFacts(runs[0]).next_command(shlex.split(runs[0].elsewhere)),
    ]
    files = [Text(flat(path), overflow="fold") for path in written]
    commands = [Command(command.strip()) for command in following]
    why = Prose(f"Expect {runs[1].name} to score higher: its sentences are copied from the passages.", "quiet")
    return Group(
        page(grid(told, "<~"), why),
        compare_page(found, runs[0], runs[1], look, follow=False),
        page(facts([("Files", files), ("Next", commands)])),
    )


def _titles(found: Comparison, look: Look) -> RenderableType:
    rows = []
    for side in (found.first, found.second):
        told = DOT.join(dict.fromkeys([side.place, plural(side.records, "record")]))
        rows.append((Text(middle(flat(side.name), look.width // 2, look.ellipsis), style="head"), Text(told, "quiet")))
    return grid(rows, "~~")


# ---- the table


def _table(found: Comparison) -> RenderableType:
    """Return the means, difference in points, interval, p and numbers of changed records, as far as there is room."""
    rows = _rows(found)

    def column(title: str, cell: Callable[[Compared], str], drop: int = 0) -> Column:
        return Column(title, ["" if one is None else cell(one) for _, one in rows], right=True, drop=drop)

    pairs = column("pairs", lambda one: number(one.pairs), 2)
    columns = [
        Column("", [name for name, _ in rows]),
        column(found.first.label.removeprefix("the "), lambda one: percent(one.first.mean, one.pairs)),
        column(found.second.label.removeprefix("the "), lambda one: percent(one.second.mean, one.pairs)),
        column("points", lambda one: comparison.differences_said(one)[0] or "-"),
        column("95% CI", comparison.interval_said, 3),
        column("p", lambda one: comparison.p_said(one.adjusted), 4),
        *([pairs] if len({cell for cell in pairs.cells if cell}) > 1 else []),
        replace(column("better/same/worse", comparison.ways_said, 1), short="+/=/-"),
    ]
    styles = ["" if one is None else _STYLES.get(one.finding, "quiet") for _, one in rows]
    return Fitted([column for column in columns if any(column.cells)], styles)


def _rows(found: Comparison) -> list[tuple[str, Compared | None]]:
    """Return the label and metric of each row; several columns of one metric get a header row without numbers."""
    rows: list[tuple[str, Compared | None]] = []
    several = Counter(one.metric.partition(".")[0] for one in found.metrics)
    for one in found.metrics:
        columns = columns_of(one.metric) if several[one.metric.partition(".")[0]] > 1 else None
        head = columns.name if columns else BY_NUGGET if one.unit == "nugget" else ""
        if head and (head, None) not in rows:
            rows.append((head, None))
        rows.append((f"  {_SHORT.get(one.metric, one.metric.split('.', 1)[-1])}" if head else one.metric, one))
    return rows


# ---- which records


def _moved(one: Compared, found: Comparison, runs: tuple[AnyRun, AnyRun], look: Look) -> RenderableType | None:
    points = [f"{100 * moved.difference:+.0f}" for moved in one.moved]
    room = look.width - 4 - max(map(len, points), default=0) - 2
    rows: list[tuple[str, RenderableType]] = []
    signs: list[tuple[str, str]] = []
    for moved, shown in zip(one.moved, points, strict=True):
        side = _side(one.metric, moved)
        ours, theirs = (run.find(moved.record) for run in runs)
        worse, better = (theirs, ours) if side else (ours, theirs)
        units = wanting(worse, one.metric, better) if worse is not None else ()
        values = f"{percent(moved.first)} to {percent(moved.second)}"
        if 2 * found.other_contexts <= found.shared and ours and theirs and comparison.contexts_said(ours, theirs):
            values += ", other passages"  # if most have others, the warning is enough
        values += f"; reason in {(found.first, found.second)[side].label}:" if units else ""
        rows.append((shown, record_lines(moved.record, values, units, worse, look, room)))
        signs += _signs(one.metric, worse, units)
    return _records(comparison.moved_title(one), grid(rows, "><"), signs, look) if rows else None


def _side(metric: str, moved: Moved) -> int:
    """Return 0 if a record's value is worse in the first run, else 1."""
    return int((moved.difference < 0) != best_at_zero(metric))


def _signs(metric: str, result: Mapping[str, Any] | None, units: Sequence[Wanting]) -> list[tuple[str, str]]:
    """Return the sign of the unit shown for a record, with the words for the record's judge."""
    score = next((score for score in (result or {}).get("scores", ()) if score["metric"] == metric), None)
    if score is None or not units:
        return []
    kind = "no" if units[0].value <= 0 else "partly"
    words = words_of(metric, score["signature"]).labels
    said = words.get(column_of(metric), words[kind]) if best_at_zero(metric) else words[kind]
    return [(kind, or_contradicted(words, said, [units[0].reason]))]


def _records(title: str, drawn: RenderableType, signs: Sequence[tuple[str, str]], look: Look) -> RenderableType:
    told = ((look.mark(kind), words) for kind, words in by_kind(signs))
    return section(title, indented(drawn), *([indented(legend(told))] if signs else []))


def _following(leading: Compared | None, runs: tuple[AnyRun, AnyRun], place: Place) -> RenderableType | None:
    """Return the written page and the command that shows the most changed record in the run where it is worse."""
    rows: list[tuple[str, RenderableType]] = [("Page", place.comparison)] if place.comparison else []
    moved = leading.moved[0] if leading is not None and leading.moved else None
    run = runs[1] if moved is None or leading is None else runs[_side(leading.metric, moved)]
    if leading is not None and isinstance(run, Run):
        result = run.find(moved.record) if moved else None
        which = [handle(result["id"], result["position"])] if result is not None else []
        rows.append(("Next", Command(show_command(run, place.options, *which))))
    return facts(rows) if rows else None


def check_page(gate: CheckResult, run: AnyRun, look: Look, options: Sequence[str] = ()) -> Page:
    """Return the whole screen of a check."""
    said = comparison.outcome_said(gate)
    title = heading(gate.name, look, *([f"run {gate.run}"] if gate.run else []), plural(gate.records, "record"))
    if gate.baseline:
        title.append(f"\nbaseline {flat(gate.baseline)}", style="quiet")
    return page(
        title,
        _decisions(gate),
        *(_worst(found, run, look) for found in comparison.behind(gate, 1)),
        Prose(f"{said[:1].upper()}{said[1:]}."),
        *(Prose(flat(note), "quiet") for note in gate.notes),
        Group(*map(Prose, told)) if (told := agreement_lines(gate.agreement)) else None,
        _next(gate, run, options),
    )


def _next(gate: CheckResult, run: AnyRun, options: Sequence[str]) -> RenderableType | None:
    """Return the command that shows the first record behind a failed threshold; None for a run in a folder."""
    record = next((worst.record for decision in gate.decisions for worst in decision.worst), "")
    result = run.find(record) if record else None
    if result is None or not isinstance(run, Run):
        return None
    return facts([("Next", Command(show_command(run, options, handle(record, result["position"]))))])


def _decisions(gate: CheckResult) -> RenderableType:
    wide = max(6, *(len(decision.outcome) for decision in gate.decisions))
    rows = []
    for decision in gate.decisions:
        said = [Prose(flat(line), "quiet") for line in (decision.found, *decision.notes)]
        outcome = Text(decision.outcome, style=_OUTCOMES[decision.outcome])
        rows.append((outcome, Group(Text(comparison.threshold_said(decision)), *said)))
    return grid(rows, "<~", first=wide)


def _worst(found: Behind, run: AnyRun, look: Look) -> RenderableType:
    """Return the records behind a threshold, each with its worst unit unless that is already listed above."""
    title = comparison.worst_said(found.decision)
    if found.as_for:
        return section(title, indented(Prose(f"the same records as for {flat(found.as_for)}")))
    room, metric = look.width - 4, found.decision.threshold.metric
    blocks: list[RenderableType] = []
    signs: list[tuple[str, str]] = []
    for one, units in found.records:
        result = run.find(one.record)
        blocks.append(record_lines(one.record, comparison.record_said(one), units, result, look, room))
        signs += _signs(metric, result, units)
    return _records(title, Group(*blocks), signs, look)
