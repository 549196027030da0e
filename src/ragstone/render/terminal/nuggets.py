"""Draw the nuggets of one record: those of its response with both grades, and those of its bank with their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.metrics.methods import PAIRS
from ragstone.metrics.nugget_recall import NuggetRecall
from ragstone.render.terminal.evidence import Grounds
from ragstone.render.terminal.screen import DOT, indented, section
from ragstone.render.terminal.tables import grid, marked
from ragstone.render.text import percent
from ragstone.render.wording import kind_of, word

GROUNDED, RELEVANT = (nuggetized for _, nuggetized in PAIRS.values())
GRADED: Final[Mapping[str, str]] = {GROUNDED: "grounded", RELEVANT: "relevant"}
"""The metrics that grade the nuggets of a response, with the titles of their grades."""

BANK: Final = NuggetRecall.score_names()[0]
"""The score that has the verdicts on the nuggets of a bank."""

SIDE_BY_SIDE: Final = 76
"""Minimum width, in columns, to show grades beside a nugget; on narrower screens they are below it."""


class NuggetFact(Struct, frozen=True):
    """A nugget with its verdicts by metric, and its weight if a mean is weighted."""

    unit: Mapping[str, Any]
    verdicts: Mapping[str, Mapping[str, Any]]
    weight: float | None = None

    @property
    def kind(self) -> str:
        """The kind of verdict for its sign: on groundedness or, if that was not judged, on relevance."""
        return kind_of(next(iter(self.verdicts.values())))

    @property
    def lowest(self) -> float | None:
        """Its lowest value; None if it has none."""
        return min((v["value"] for v in self.verdicts.values() if v["value"] is not None), default=None)


def facts_of(result: Mapping[str, Any], metrics: Sequence[str] = tuple(GRADED)) -> list[NuggetFact]:
    """Return the nuggets that these metrics judged, in order."""
    units = {unit["id"]: unit for unit in result["units"]}
    scores = {score["metric"]: score for score in result["scores"]}
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    weights: dict[str, float] = {}
    for score in (scores[name] for name in metrics if name in scores):
        weights |= {row["nugget"]: row["weight"] for row in score["detail"].get("nuggets", ()) if "weight" in row}
        for verdict in score["verdicts"]:
            found.setdefault(verdict["unit"], {})[score["metric"]] = verdict
    return [NuggetFact(units[unit], verdicts, weights.get(unit)) for unit, verdicts in found.items()]


def importance(unit: Mapping[str, Any]) -> Text:
    """Return ``vital``, dim ``okay``, or a question mark if unknown."""
    known = unit.get("importance")
    return Text(known or "?", style="quiet" if known == "okay" else "")


def grade(verdict: Mapping[str, Any] | None) -> Text:
    """Return a value in percent; a question mark if it is unjudged, a hyphen without a verdict."""
    if verdict is None:
        return Text("-", style="quiet")
    if verdict["value"] is None:
        return Text("?", style="head")
    style = {"no": "wrong", "partly": "partly"}.get(kind_of(verdict), "")
    return Text(percent(verdict["value"]), style=style)


def response_nuggets(result: Mapping[str, Any], grounds: Grounds) -> RenderableType | None:
    """Return the nuggets of the response with sign, grades and importance, and reasons for low verdicts."""
    facts = facts_of(result)
    if not facts:
        return None
    unknown = _why_unknown(result, tuple(GRADED), grounds)
    return section("Nuggets of the response", nugget_table(facts, grounds), *unknown, note=_counted(facts))


def nugget_table(facts: Sequence[NuggetFact], grounds: Grounds) -> RenderableType:
    """Return nuggets with their grades, beside them if there is room."""
    names = [name for name in GRADED if any(name in fact.verdicts for fact in facts)]
    titles = (*(GRADED[name] for name in names), "weight", "", "")
    rows: list[tuple[RenderableType, ...]] = [("", *(Text(title, style="quiet") for title in titles))]
    stacked = []
    for fact in facts:
        mark, grades = grounds.look.mark(fact.kind), [grade(fact.verdicts.get(name)) for name in names]
        text, why = grounds.piece(fact.unit["text"], fact.kind), list(_why(fact, names, grounds))
        weight = Text("" if fact.weight is None else f"{fact.weight:g}", style="quiet")
        rows.append((mark, *grades, weight, importance(fact.unit), Group(text, *why)))
        below = importance(fact.unit)
        below.append(f"{DOT}weight ", style="quiet").append_text(weight)
        for name, given in zip(names, grades, strict=True):
            below.append(f"{DOT}{GRADED[name]} ", style="quiet").append_text(given)
        stacked.append((mark, Group(text, below, *why)))
    if grounds.look.width < SIDE_BY_SIDE:
        return marked(stacked)
    return grid(rows, f"{'>' * (2 + len(names))}<~", first=3)


def _why(fact: NuggetFact, names: Sequence[str], grounds: Grounds) -> Iterator[RenderableType]:
    for name in names:
        verdict = fact.verdicts.get(name)
        if verdict is not None and (grounds.full or kind_of(verdict) != "yes"):
            yield from grounds.because(verdict, label="relevance: " if name == RELEVANT and len(names) > 1 else "")


def bank_nuggets(result: Mapping[str, Any], grounds: Grounds) -> RenderableType | None:
    """Return the nuggets of the bank: whether the response contains each, and its evidence."""
    facts = facts_of(result, (BANK,))
    if not facts:
        return None
    rows = []
    for fact in facts:
        words = grounds.because(fact.verdicts[BANK], of_response=True)
        body = Group(grounds.piece(fact.unit["text"]), *words)
        rows.append((grounds.look.mark(fact.kind), importance(fact.unit), body))
    signs = Counter((fact.kind, word(BANK, fact.verdicts[BANK])) for fact in facts)
    created = any(s["metric"] == BANK and s["detail"].get("bank") == "created" for s in result["scores"])
    title = "Nuggets of the passages" if created else "Nuggets of the bank"
    counts = [(kind, f"{count} {said}") for (kind, said), count in signs.items()]
    legend = indented(grounds.legend(counts, title=""))
    unknown = _why_unknown(result, (BANK,), grounds)
    return section(title, grid(rows, "><~", first=3), legend, *unknown, note=_counted(facts))


def _counted(facts: Sequence[NuggetFact]) -> str:
    kinds = Counter(fact.unit.get("importance") or "of unknown importance" for fact in facts)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), reverse=True))


def _why_unknown(result: Mapping[str, Any], metrics: Sequence[str], grounds: Grounds) -> list[RenderableType]:
    scores = [score for score in result["scores"] if score["metric"] in metrics]
    why = next((w for score in scores if (w := score["detail"].get("why_unweighed"))), "")
    return [indented(grounds.aside(f"? importance unknown: {grounds.shown(why)}"))] if why else []
