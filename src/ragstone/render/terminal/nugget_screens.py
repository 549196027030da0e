"""Draw the screens of ``ragstone nuggets create``, ``ragstone nuggets assign`` and ``ragstone compare-methods``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.analysis.run import Run
from ragstone.metrics.methods import PAIRS
from ragstone.metrics.words import Labels
from ragstone.render.facts import RunFacts, comparable, handle, show_command
from ragstone.render.terminal.columns import RECALL, columns_of, columns_of_run, methods_block, repeats_block
from ragstone.render.terminal.evidence import Grounds
from ragstone.render.terminal.nuggets import facts_of, importance, nugget_table
from ragstone.render.terminal.outcome import Place, bill_rows, facts_block, judge_rows, missing_block, title_line
from ragstone.render.terminal.screen import (
    Command,
    Look,
    Page,
    Prose,
    facts,
    heading,
    indented,
    page,
    section,
    told_rows,
)
from ragstone.render.terminal.tables import beside, grid, unit_lines
from ragstone.render.text import flat, number, percent, plural
from ragstone.render.wording import embedded_among, kind_of, word, words_of
from ragstone.stats.points import signed

GRADES: Final[Mapping[str, str]] = {"support": "yes", "partial_support": "partly", "not_support": "no"}
"""The kind of verdict for each assignment."""
RULES: Final = (
    "These nuggets were extracted by rules: some may be headings, and some facts may be missing. Review the bank."
)
WIDEST: Final = 5
"""Maximum number of records listed as largest differences between the two methods."""


# ---- created


def created_page(told: Mapping[str, Any], name: str, judges: Sequence[str], look: Look) -> Page:
    """Return the screen of created banks: topics, nuggets, missing banks with reasons, cost, file, next command.

    ``told`` is the output of ``nuggets create --json``.
    """
    topics = plural(told["topics"], "topic")
    said = "No bank could be created."
    if told["topics"]:
        parts = [f"{number(told[name])} {name}" for name in ("vital", "okay")]
        parts += [f"{number(told['without_importance'])} of unknown importance"] if told["without_importance"] else []
        said = f"{plural(told['nuggets'], 'nugget')} for {topics}: {', '.join(parts)}."
        said += f" --keep and --max left out {number(told['left_out'])} more." if told["left_out"] else ""
    embedded = embedded_among(judges, {})
    rows = judge_rows(judges, judges, embedded)
    rows += told_rows("", [RULES] if embedded else [], "quiet") + bill_rows(told["bill"])
    if told["file"]:
        rows.append(("File", told["file"]))
    if told["topics"]:
        bank = shlex.quote(told["file"] or "bank.jsonl")
        rows.append(("Next", Command(f"ragstone nuggets assign ANSWERS --nuggets {bank}")))
    return page(heading(name, look, topics), Prose(said), _without(told), facts(rows))


def _without(told: Mapping[str, Any]) -> RenderableType | None:
    rows = [(count, f"no bank: {flat(reason) or 'no reason given'}") for reason, count in told["without"].items()]
    rows.sort(key=lambda row: -row[0])
    others = {
        "partial": "incomplete: the judge did not answer for some of the passages",
        "repeated": "repeated topics: only the first record of each is used",
        "set_aside": "unreadable",
    }
    rows += [(told[name], words) for name, words in others.items() if told[name]]
    drawn = grid([(number(count), words) for count, words in rows], ">~")
    return section("Topics without a complete bank", indented(drawn)) if rows else None


# ---- assigned


class Assigned(Struct, frozen=True):
    """Counts of the written assignments: responses, nuggets by grade, and unjudged nuggets; and the file."""

    responses: int
    grades: Mapping[str, int]
    unjudged: int
    file: str = ""


def assigned_page(run: Run, assigned: Assigned, look: Look, place: Place) -> Page:
    """Return the screen of assigned nuggets: counts by label, recall, location of the results, next command."""
    told = RunFacts(run)
    summary = told.summary
    count = sum(assigned.grades.values())
    said = f"{plural(count, 'nugget label')} assigned in {plural(assigned.responses, 'response')}"
    if assigned.unjudged:
        said += f", {number(assigned.unjudged)} unjudged"
    first = RECALL.score_names()[0]
    columns = {name: entry for name, entry in summary["metrics"].items() if columns_of(name) is RECALL}
    return page(
        title_line(told, look),
        Prose(f"{said}."),
        _grades(assigned, words_of(first, columns[first]["signature"]).labels, look) if count else None,
        columns_of_run(RECALL, columns) if count else None,
        repeats_block(columns) if count else None,
        missing_block(told, look),
        facts_block(told, place, _next(told, assigned, place)),
    )


def _next(told: RunFacts, assigned: Assigned, place: Place) -> list[str]:
    run = told.run
    if not any(assigned.grades.values()):
        return [told.next_command(place.options)]
    if assigned.file:
        scored = ["ragstone", "nuggets", "score", assigned.file]
    else:
        scored = ["ragstone", "export", str(run.id), "--format", "assignments", *place.options]
    return [shlex.join(scored), show_command(run, place.options)]


def _grades(assigned: Assigned, words: Labels, look: Look) -> RenderableType:
    count = sum(assigned.grades.values())
    rows = [
        (look.mark(kind), number(assigned.grades[grade]), percent(assigned.grades[grade] / count, count), words[kind])
        for grade, kind in GRADES.items()
        if grade in assigned.grades
    ]
    return indented(grid(rows, "<>>~"))


# ---- two methods


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


def methods_page(run: Run, look: Look, place: Place | None = None) -> Page:
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
            lines = beside(result["id"], told, look, room, result["position"])
            lines += _worst_nugget(gap, result, look, room)
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
