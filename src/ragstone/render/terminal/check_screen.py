"""``ragstone check``: each threshold with what was found, and the records behind those that failed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.analysis.check import CheckResult, Decision
from ragstone.analysis.run import Run
from ragstone.analysis.saved import AnyRun
from ragstone.render.agreement import agreements
from ragstone.render.comparison import outcome_said, record_said, threshold_said
from ragstone.render.facts import handle
from ragstone.render.terminal.screen import Look, Page, facts, heading, indented, page, prose, section, to_paste
from ragstone.render.terminal.tables import grid, record_lines
from ragstone.render.text import flat, plural

STYLES: Final[Mapping[str, str]] = {
    "passed": "quiet", "failed": "wrong", "undecided": "partly", "error": "head",
}  # fmt: skip


def check_page(gate: CheckResult, run: AnyRun, look: Look, options: Sequence[str] = ()) -> Page:
    """The whole screen of a check."""
    said = outcome_said(gate)
    title = heading(gate.name, look, *([f"run {gate.run}"] if gate.run else []), plural(gate.records, "record"))
    if gate.baseline:
        title.append(f"\nbaseline {flat(gate.baseline)}", style="quiet")
    return page(
        title,
        _decisions(gate, look),
        *(_worst(decision, look) for decision in gate.decisions if decision.worst),
        prose(f"{said[:1].upper()}{said[1:]}.", look),
        Group(*told)
        if (told := [prose(line, look) for one in agreements(gate.agreement) for line in one.lines])
        else None,
        _next(gate, run, options, look),
    )


def _next(gate: CheckResult, run: AnyRun, options: Sequence[str], look: Look) -> RenderableType | None:
    """The command that shows the first record behind a failed threshold; a run in a folder has none."""
    record = next((worst.record for decision in gate.decisions for worst in decision.worst), "")
    result = run.find(record) if record and isinstance(run, Run) else None
    if result is None:
        return None
    command = ["ragstone", "show", str(run.id), handle(record, result["position"]), *options]
    return facts([("Next", to_paste(shlex.join(command), look))])


def _decisions(gate: CheckResult, look: Look) -> RenderableType:
    wide = max(6, *(len(decision.outcome) for decision in gate.decisions))
    rows = []
    for decision in gate.decisions:
        said = [prose(flat(line), look, "quiet", wide + 2) for line in (decision.said, *decision.notes)]
        outcome = Text(decision.outcome, style=STYLES[decision.outcome])
        rows.append((outcome, Group(Text(threshold_said(decision)), *said)))
    return grid(rows, "<~", first=wide)


def _worst(decision: Decision, look: Look) -> RenderableType:
    room = look.width - 4
    blocks = [record_lines(worst.record, record_said(worst), worst.wanting, look, room) for worst in decision.worst]
    return section(f"Worst records for {threshold_said(decision)}", indented(Group(*blocks)))
