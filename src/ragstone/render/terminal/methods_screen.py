"""Draw the screen of ``ragstone compare-methods``: ordinary and nugget scores, and their largest differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.analysis.run import Run
from ragstone.metrics.methods import PAIRS
from ragstone.render.facts import RunFacts, comparable, handle, show_command
from ragstone.render.terminal.columns import methods_block
from ragstone.render.terminal.evidence import Grounds
from ragstone.render.terminal.nuggets import facts_of, importance, nugget_table
from ragstone.render.terminal.outcome import Place, facts_block, missing_block, title_line
from ragstone.render.terminal.screen import Look, Page, Prose, indented, page, section
from ragstone.render.terminal.tables import beside, grid, unit_lines
from ragstone.render.text import percent, plural
from ragstone.render.wording import kind_of, word
from ragstone.stats.points import signed

WIDEST: Final = 5
"""Maximum number of records listed as largest differences between the two methods."""


class Gap(Struct, frozen=True):
    """One record's values by both methods, in [0, 1], and their difference in points."""

    record: str
    position: int
    aspect: str
    plain: float
    nuggetized: float
    difference: float


def widest_apart(run: Run) -> list[Gap]:
    """Return the records with the largest differences, each with the aspect in which it is largest."""

    def apart(pair: tuple[str, float, float]) -> float:
        return round(100 * abs(pair[2] - pair[1]), 6)

    found: dict[int, tuple[str, float, float]] = {}
    for aspect, names in PAIRS.items():
        plain, nuggetized = (
            {row.position: row.value for row in run.store.scores(run.id, name) if row.value is not None}
            for name in names
        )
        for position in plain.keys() & nuggetized.keys():
            pair = aspect, plain[position], nuggetized[position]
            found[position] = max(found.get(position, pair), pair, key=apart)
    widest = sorted(found.items(), key=lambda item: (-apart(item[1]), item[0]))[:WIDEST]
    return [
        Gap(row.record, position, *pair, round(100 * (pair[2] - pair[1]), 6))
        for position, pair in widest
        if apart(pair) and (row := run.store.result(run.id, position=position)) is not None
    ]


def comparison(run: Run, look: Look, place: Place | None = None) -> Page:
    """Return the whole screen of a comparison of methods."""
    told = RunFacts(run)
    summary = told.summary
    place = place or Place()
    gaps = widest_apart(run)
    which = handle(gaps[0].record, gaps[0].position) if gaps else "#1"
    alone = run.find("#1") if len(run) == 1 else None
    return page(
        title_line(told, look),
        methods_block(summary["methods"]) if comparable(summary) else Prose("Nothing could be compared."),
        _single(alone, look) if alone is not None else _widest(run, gaps, look),
        missing_block(told, look),
        facts_block(told, place, [show_command(run, place.options, which)]),
    )


def _single(result: Mapping[str, Any], look: Look) -> RenderableType | None:
    facts = facts_of(result) if "set_aside" not in result else []
    ranks = {context["id"]: context["rank"] for context in result.get("contexts", ())}
    return section("Nuggets", nugget_table(facts, Grounds(look, full=False, ranks=ranks))) if facts else None


def _widest(run: Run, gaps: list[Gap], look: Look) -> RenderableType | None:
    room = look.width - 4 - max((len(signed(gap.difference)) for gap in gaps), default=0) - 2
    rows = []
    for gap in gaps:
        result = run.find(f"#{gap.position}")
        if result is not None:
            told = f"{gap.aspect} {percent(gap.plain)}, with nuggets {percent(gap.nuggetized)}"
            lines = [
                *beside(result["id"], told, look, room, result["position"]),
                *_worst_nugget(gap, result, look, room),
            ]
            rows.append((signed(gap.difference), Group(*lines)))
    return section("Largest differences", indented(grid(rows, "><")), note="points") if rows else None


def _worst_nugget(gap: Gap, result: Mapping[str, Any], look: Look, room: int) -> list[Text]:
    """Return lines about the nugget that lowers the value most (weight times shortfall), or that none lowers it."""
    metric = PAIRS[gap.aspect][1]
    facts = facts_of(result, (metric,))
    if not facts:
        return []
    judged = [fact for fact in facts if fact.lowest is not None]
    worst = max(judged, key=lambda fact: (fact.weight or 1.0) * (1 - (fact.lowest or 0.0)), default=facts[0])
    verdict = worst.verdicts[metric]
    if judged and worst.lowest == 1:
        what = f"{'all ' if len(judged) > 1 else ''}{word(metric, verdict)}"
        return [Text(f"{plural(len(judged), 'nugget')}, {what}", style="quiet")]
    sign = Text.assemble(look.mark(kind_of(verdict)), " ", importance(worst.unit), " nugget:")
    return unit_lines(sign, worst.unit["text"], verdict.get("failure") or verdict["reason"], look, room)
