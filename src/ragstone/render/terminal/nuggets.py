"""The nuggets of one record: those of its response with both grades, those of its bank and where they are held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.metrics.methods import PAIRS
from ragstone.metrics.nugget_recall import NuggetRecall
from ragstone.questions import GRADE_0_3
from ragstone.render.terminal.grounds import Grounds, margin
from ragstone.render.terminal.screen import indented, section
from ragstone.render.text import NBSP, clean, percent
from ragstone.render.wording import kind_of, word

GROUNDED, RELEVANT = (nuggetized for _, nuggetized in PAIRS.values())
GRADED: Final[Mapping[str, str]] = {GROUNDED: "grounded", RELEVANT: "relevant"}
"""The metrics that grade the nuggets of a response, and what stands over their grades."""

BANK: Final = NuggetRecall.score_names()[0]
"""The score that holds the verdicts on the nuggets of a bank."""

SIDE_BY_SIDE: Final = 72
"""Columns from which the grades stand beside a nugget; on a narrower terminal they are below it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A nugget with its verdicts by metric."""

    unit: Mapping[str, Any]
    verdicts: Mapping[str, Mapping[str, Any]]

    @property
    def kind(self) -> str:
        """What its sign says: how far it is grounded, or, where that was not asked, how far it is relevant."""
        return kind_of(next(iter(self.verdicts.values())))

    @property
    def lowest(self) -> float | None:
        """The lower of its values; None where neither has one."""
        return min((v["value"] for v in self.verdicts.values() if v["value"] is not None), default=None)


def facts_of(result: Mapping[str, Any], metrics: Sequence[str] = tuple(GRADED)) -> list[Fact]:
    """The nuggets that these metrics judged, in their order."""
    units = {unit["id"]: unit for unit in result["units"]}
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name in metrics:
        for score in result["scores"]:
            for verdict in score["verdicts"] if score["metric"] == name else ():
                found.setdefault(verdict["unit"], {})[name] = verdict
    return [Fact(units[unit], verdicts) for unit, verdicts in found.items()]


def importance(unit: Mapping[str, Any]) -> Text:
    """``vital`` plainly, ``okay`` quietly, a question mark where nobody said."""
    known = unit.get("importance")
    return Text(known or "?", style="quiet" if known == "okay" else "")


def grade(verdict: Mapping[str, Any] | None) -> Text:
    """``2/3``; a percentage where a panel came between the grades; a question mark where there is none."""
    if verdict is None:
        return Text("-", style="quiet")
    if verdict["value"] is None:
        return Text("?", style="head")
    style = {"no": "wrong", "partly": "partly"}.get(kind_of(verdict), "")
    steps = len(GRADE_0_3.labels) - 1
    step = round(verdict["value"] * steps)
    if abs(step / steps - verdict["value"]) < 1e-6:
        return Text(f"{step}/{steps}", style=style)
    return Text(percent(verdict["value"]).replace(NBSP, " "), style=style)


def response_nuggets(result: Mapping[str, Any], grounds: Grounds) -> RenderableType | None:
    """The nuggets of the response: sign, grades, importance; why, for those that fall short."""
    facts = facts_of(result)
    if not facts:
        return None
    unknown = _why_unknown(result, tuple(GRADED), grounds)
    return section("Nuggets of the response", nugget_table(facts, grounds), *unknown, note=_counted(facts))


def _counted(facts: Sequence[Fact]) -> str:
    kinds = Counter(fact.unit.get("importance") or "of unknown importance" for fact in facts)
    return f"{len(facts)}: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), reverse=True))


def _why_unknown(result: Mapping[str, Any], metrics: Sequence[str], grounds: Grounds) -> list[RenderableType]:
    """Why nobody said how important some are, once."""
    scores = [score for score in result["scores"] if score["metric"] in metrics]
    why = next((w for score in scores if (w := score["detail"].get("why_unweighed"))), "")
    return [indented(Text(f"? importance unknown: {grounds.shown(why)}", style="quiet"))] if why else []


def nugget_table(facts: Sequence[Fact], grounds: Grounds) -> RenderableType:
    """Nuggets with their grades, beside them where there is room."""
    names = [name for name in GRADED if any(name in fact.verdicts for fact in facts)]
    if grounds.look.width < SIDE_BY_SIDE:
        return _below(facts, names, grounds)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    table.add_column("", width=3, justify="right", no_wrap=True)
    for name in names:
        table.add_column(GRADED[name], justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold")
    for fact in facts:
        grades = [grade(fact.verdicts.get(name)) for name in names]
        body = Group(grounds.piece(fact.unit["text"], fact.kind), *_why(fact, names, grounds))
        table.add_row(grounds.look.mark(fact.kind), *grades, importance(fact.unit), body)
    return table


def _below(facts: Sequence[Fact], names: Sequence[str], grounds: Grounds) -> Table:
    table = margin()
    for fact in facts:
        told = Text.assemble(importance(fact.unit))
        for name in names:
            told.append(f" {grounds.look.dot} {GRADED[name]} ", style="quiet").append_text(
                grade(fact.verdicts.get(name))
            )
        table.add_row(grounds.look.mark(fact.kind), grounds.piece(fact.unit["text"], fact.kind))
        table.add_row("", Group(told, *_why(fact, names, grounds)))
    return table


def _why(fact: Fact, names: Sequence[str], grounds: Grounds) -> Iterator[RenderableType]:
    for name in names:
        verdict = fact.verdicts.get(name)
        if verdict is None or (kind_of(verdict) == "yes" and not grounds.full):
            continue
        yield from grounds.because(verdict, label="relevance: " if name == RELEVANT and len(names) > 1 else "")


def bank_nuggets(result: Mapping[str, Any], grounds: Grounds) -> RenderableType | None:
    """The nuggets of the bank: whether the response holds each, and by which words."""
    facts = facts_of(result, (BANK,))
    if not facts:
        return None
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column("", width=3, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold")
    for fact in facts:
        words = grounds.because(fact.verdicts[BANK], of_response=True)
        body = Group(Text(clean(fact.unit["text"]).strip(), overflow="fold"), *words)
        table.add_row(grounds.look.mark(fact.kind), importance(fact.unit), body)
    signs = Counter((fact.kind, word(BANK, fact.verdicts[BANK])) for fact in facts)
    created = any(s["metric"] == BANK and s["detail"].get("bank") == "created" for s in result["scores"])
    title = "Nuggets of the contexts" if created else "Nuggets of the bank"
    legend = indented(grounds.legend((kind, f"{count} {said}") for (kind, said), count in signs.items()))
    return section(title, table, legend, *_why_unknown(result, (BANK,), grounds), note=_counted(facts))
