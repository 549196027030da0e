"""``ragstone check``: each threshold with what was found, and the records behind those that failed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.analysis.check import Decision, Gate
from ragstone.analysis.run import Run
from ragstone.analysis.saved import Weighed
from ragstone.render.comparison import outcome_said, record_said, threshold_said
from ragstone.render.facts import handle
from ragstone.render.terminal.screen import Look, Page, facts, indented, page, prose, section, to_paste
from ragstone.render.terminal.side_by_side import record_lines
from ragstone.render.text import flat, middle, plural

STYLES: Final[Mapping[str, str]] = {
    "passed": "quiet", "failed": "wrong", "undecided": "partly", "error": "head",
}  # fmt: skip


def gate_page(gate: Gate, run: Weighed, look: Look, options: Sequence[str] = ()) -> Page:
    """The whole screen of a check."""
    said = outcome_said(gate)
    return page(
        _title(gate, look),
        _decisions(gate, look),
        *(_worst(decision, look) for decision in gate.decisions if decision.worst),
        prose(f"{said[:1].upper()}{said[1:]}.", look),
        _next(gate, run, options, look),
    )


def _next(gate: Gate, run: Weighed, options: Sequence[str], look: Look) -> RenderableType | None:
    """The command that shows the first of the records that a threshold failed by; a run in a folder has none."""
    record = next((worst.record for decision in gate.decisions for worst in decision.worst), "")
    result = run.find(record) if record and isinstance(run, Run) else None
    if result is None:
        return None
    command = ["ragstone", "show", str(run.id), handle(record, result["position"]), *options]
    return facts([("Next", to_paste(shlex.join(command), look))])


def _title(gate: Gate, look: Look) -> Text:
    run = f"run {gate.run} {look.dot} " if gate.run else ""
    right = f"{run}{plural(gate.records, 'record')}".replace("\u00a0", " ")
    title = Text.assemble((middle(flat(gate.name), look.width - 6 - len(right), look.ellipsis), "head"), "  ")
    title.append(right, style="quiet")
    if gate.baseline:
        title.append(f"\nbaseline {flat(gate.baseline)}", style="quiet")
    return title


def _decisions(gate: Gate, look: Look) -> RenderableType:
    wide = max(6, *(len(decision.outcome) for decision in gate.decisions))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=wide, no_wrap=True)
    table.add_column()
    for decision in gate.decisions:
        said = [prose(flat(line), look, "quiet", wide + 2) for line in (decision.said, *decision.notes)]
        outcome = Text(decision.outcome, style=STYLES[decision.outcome])
        table.add_row(outcome, Group(Text(threshold_said(decision)), *said))
    return table


def _worst(decision: Decision, look: Look) -> RenderableType:
    room = look.width - 4
    blocks = [record_lines(worst.record, record_said(worst), worst.wanting, look, room) for worst in decision.worst]
    return section(f"Behind {threshold_said(decision)}", indented(Group(*blocks)))
