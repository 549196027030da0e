"""Build the page of two compared runs: the differences, and the records behind them side by side.

Guarantees: every figure comes from the comparison; none is computed here, except the means of groups. Only the results
of changed records are read again. A verdict counts as changed only if both runs judged the same text.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from msgspec import Struct

from ragstone import __version__
from ragstone.analysis.compare import Comparison, Side
from ragstone.analysis.pairing import Moved, side_by_side
from ragstone.analysis.run import Run, unit_text
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.scored import each_scores
from ragstone.analysis.verdicts import with_verdicts
from ragstone.errors import InputError
from ragstone.questions import history_of
from ragstone.render import comparison
from ragstone.render.facts import judges_of
from ragstone.render.html.build import LARGEST
from ragstone.render.html.document import Block, page, to_json
from ragstone.render.text import flat
from ragstone.render.wording import in_words, is_map, kind_of, measures, place, why, word
from ragstone.stats.means import mean
from ragstone.types import RESPONSE

MOST_GROUPS: Final = 40
"""Maximum number of groups listed: those with the largest differences between the runs."""
MOST_UNITS: Final = 20
"""Maximum number of units with changed verdicts listed for a record, those with the largest change first."""

Result = Mapping[str, Any]
_MINUS: Final = re.compile(r"(?<=\s)-(?=\d)")


def comparison_page(
    found: Comparison, first: AnyRun, second: AnyRun, *, largest: int = LARGEST, root: str = ""
) -> list[bytes]:
    """Return the parts of the page, with at most ``largest`` bytes of records.

    The records of a metric are either all in the file or all left out, which the page says. ``root`` is the path to the
    list of runs if the page is served. Raise InputError for results that do not have Ragstone's format.
    """
    leading = comparison.leading_of(found)
    blocks: list[Block] = []
    moved: dict[str, dict[str, Any]] = {}

    @cache
    def both(record: str) -> tuple[Result, Result] | None:
        ours, theirs = first.find(record), second.find(record)
        return None if ours is None or theirs is None else (ours, theirs)

    for one in sorted(found.metrics, key=lambda metric: metric is not leading):
        pairs = [_record(one.metric, record, *results) for record in one.moved if (results := both(record.record))]
        if not pairs:
            continue
        block = Block(f"moved-{len(blocks)}", to_json(pairs))
        fits = len(block) <= largest
        moved[one.metric] = {"records": len(pairs), "block": block.name if fits else ""}
        if fits:
            largest -= len(block)
            blocks.append(block)
    groups = _groups(found.by, leading.metric, first, second) if found.by and leading is not None else []
    told = {
        "ragstone": __version__,
        "root": root,
        "sides": [_side(*side) for side in ((found.first, first), (found.second, second))],
        "shared": found.shared,
        "alone": [len(found.only_first), len(found.only_second)],
        "same_responses": found.same_responses,
        "tests": found.tests,
        "headline": _MINUS.sub("\u2212", comparison.headline(found, leading, _called)),
        "leading": leading.metric if leading is not None else "",
        "warnings": comparison.in_the_way(found),
        "left_out": comparison.left_out(found),
        "notes": [*comparison.findings(found, "too_few"), *comparison.notes(found)],
        "metrics": _metrics(found),
        "measures": measures(one.metric for one in found.metrics),
        "moved": moved,
        "by": found.by,
        "groups": sorted(groups[:MOST_GROUPS], key=lambda group: group["difference"]),
        "groups_in_all": len(groups),
    }
    names = [flat(side.name) for side in (found.first, found.second)]
    return page("compare", f"{names[0]} and {names[1]}", told, blocks)


def _called(metric: str) -> str:
    """Return a score's name in a sentence, e.g. ``nugget recall: strict all``."""
    return metric.replace("_", " ").replace(".", ": ")


def _side(side: Side, run: AnyRun) -> dict[str, Any]:
    judges = judges_of(run.spec) if "default" in run.spec and "steps" in run.spec else []
    return {
        "name": side.name,
        "label": side.label,
        "place": side.place,
        "run": run.id if isinstance(run, Run) else 0,
        "store": run.elsewhere if isinstance(run, Run) else "",
        "records": side.records,
        "started": run.started if isinstance(run, Run) else None,
        "judge": ", ".join(judges),
    }


def _metrics(found: Comparison) -> list[dict[str, Any]]:
    """Return the metrics of the comparison's JSON without what the page shows elsewhere, with differences also as text.

    Differences are formatted here so that halves are rounded as in the sentences beside them.
    """
    told = []
    for one, metric in zip(found.as_json()["metrics"], found.metrics, strict=True):
        if metric.finding == "too_few":
            one["said"] = f"too few {metric.too_few}"  # a note says how many are needed
        kept = {key: value for key, value in one.items() if key not in ("moved", "signatures", "unmatched")}
        written = [text.replace("-", "\u2212") for text in comparison.differences_said(metric)] if one["paired"] else []
        kept |= {"points": written, "p": comparison.p_said(metric.adjusted)}
        told.append(kept | {"worth": metric.worth, "ways": metric.ways})
    return told


# ---- groups


def _groups(by: str, metric: str, first: AnyRun, second: AnyRun) -> list[dict[str, Any]]:
    """Return a metric's means in each group over records with a value in both runs, largest difference first."""
    found: dict[str, tuple[array[float], array[float]]] = {}
    for _, ours, theirs in side_by_side(each_scores(first, by), each_scores(second, by)):
        if ours is None or theirs is None or ours.group is None:
            continue
        one, other = (side.by_metric.get(metric) for side in (ours, theirs))
        if one is None or other is None or one.value is None or other.value is None:
            continue
        sides = found.setdefault(ours.group, (array("d"), array("d")))
        sides[0].append(one.value)
        sides[1].append(other.value)
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "pairs": len(sides[0]),
            "first": (before := mean(sides[0])),
            "second": (after := mean(sides[1])),
            "difference": after - before,
        }
        for name, sides in found.items()
    ]
    return sorted(rows, key=lambda row: -abs(row["difference"]))


# ---- records


class _Judged(Struct, frozen=True):
    text: str
    whole: bool
    verdict: Mapping[str, Any]
    told: Mapping[str, Any]
    spans: Sequence[tuple[int, int]]

    @property
    def key(self) -> str:
        """The key to find it in the other run: its text, or an empty string for the whole response."""
        return "" if self.whole else " ".join(self.text.split())


def _record(metric: str, moved: Moved, ours: Result, theirs: Result) -> dict[str, Any]:
    try:
        sides = [list(_judged(result, metric)) for result in (ours, theirs)]
        rows = list(_held_together(*sides))
        full = [sum(_is_full(one, other) for one, other in turned) for turned in (rows, [row[::-1] for row in rows])]
        changed = [row for row in rows if _differ(*row) and not _is_full(*row) and not _is_full(*row[::-1])]
        changed.sort(key=_weight, reverse=True)
        same_response = ours["response"] == theirs["response"]
        marks = [
            [{"start": start, "end": end, "kind": unit.told["kind"], "word": unit.told["word"]}
             for unit in side for start, end in unit.spans if not same_response]
            for side in sides
        ]  # fmt: skip
        return {
            "id": moved.record,
            "positions": [result["position"] for result in (ours, theirs)],
            "first": moved.first,
            "second": moved.second,
            "histories": list(dict.fromkeys(str(history_of(result["meta"])) for result in (ours, theirs))),
            "question": ours["question"],
            "other_question": theirs["question"] if theirs["question"] != ours["question"] else None,
            "contexts": comparison.contexts_said(ours, theirs),
            "responses": [ours["response"]] if same_response else [ours["response"], theirs["response"]],
            "marks": marks,
            "changed": [_row(*row) for row in changed[:MOST_UNITS]],
            "more": max(0, len(changed) - MOST_UNITS),
            "same": len(rows) - len(changed) - sum(full),
            "full": full,
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"the result for '{moved.record}' is not in Ragstone's format ({error!r})") from error


def _judged(result: Result, metric: str) -> Iterator[_Judged]:
    """Yield the units that a score is based on, in order."""
    score = next(score for score in result["scores"] if score["metric"] == metric)  # it moved, so both runs have it
    units = {unit["id"]: unit for unit in result["units"]}
    whole = with_verdicts(result, score)
    supports = _supports(result, whole)
    for verdict in whole["verdicts"]:
        unit = units[verdict["unit"]]
        quotes = verdict["evidence"] or supports.get(verdict["unit"], [])
        yield _Judged(
            unit_text(result, unit),
            unit["level"] == "response",
            verdict,
            {
                "kind": kind_of(verdict),
                "word": word(metric, verdict, score["signature"]),
                "why": in_words(result, why(verdict)),
                "failed": bool(verdict.get("failure")),
                "quotes": [{"text": quote["text"], "place": place(result, metric, quote)} for quote in quotes],
            },
            _spans(unit, verdict),
        )


def _supports(result: Result, score: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the passage sentences that each traced response sentence is based on, as quotes."""
    holder = next((one for one in result["scores"] if one["metric"] == score.get("verdicts_in")), score)
    if not score["verdicts"] or not is_map(holder):
        return {}
    texts = {context["id"]: context["text"] for context in result["contexts"]}
    sentences = {row["key"]: row for row in holder["detail"]["contexts"]}
    found = {}
    for verdict, row in zip(score["verdicts"], holder["detail"]["response"], strict=False):
        rests_on = [sentences[key] for key in row["support"] if key in sentences]
        found[verdict["unit"]] = [{**one, "text": texts[one["passage"]][one["start"] : one["end"]]} for one in rests_on]
    return found


def _spans(unit: Mapping[str, Any], verdict: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the spans of a unit in the response: those of its evidence (for nuggets), else of its source."""
    held = [(q["start"], q["end"]) for q in verdict["evidence"] if q["passage"] == RESPONSE and q["start"] is not None]
    if held or unit["level"] in ("response", "passage") or unit.get("start") is None:
        return held
    return [(unit["start"], unit["end"])]


def _held_together(
    ours: Iterable[_Judged], theirs: Iterable[_Judged]
) -> Iterator[tuple[_Judged | None, _Judged | None]]:
    """Yield pairs of units with the same text, one from each run; None for a unit that only one run has."""
    waiting: dict[str, list[_Judged]] = {}
    for unit in theirs:
        waiting.setdefault(unit.key, []).append(unit)
    for unit in ours:
        others = waiting.get(unit.key)
        yield unit, others.pop(0) if others else None
    for units in waiting.values():
        yield from ((None, unit) for unit in units)


def _differ(one: _Judged | None, other: _Judged | None) -> bool:
    if one is None or other is None:
        return True
    return any(one.verdict[key] != other.verdict[key] for key in ("label", "value"))


def _is_full(one: _Judged | None, other: _Judged | None) -> bool:
    """Return whether only the first run has the unit and it does not lower the score: it is counted but not listed."""
    return other is None and one is not None and one.told["kind"] in ("yes", "trivial")


def _weight(row: tuple[_Judged | None, _Judged | None]) -> float:
    """Return the distance between the verdicts on a unit; for a unit that only one run has, its loss of score."""
    one, other = (None if unit is None else unit.verdict["value"] for unit in row)
    if None not in row:
        return 0.5 if one is None or other is None else abs(other - one)
    value = one if row[0] is not None else other
    return 0.0 if value is None else 1.0 - value


def _row(one: _Judged | None, other: _Judged | None) -> dict[str, Any]:
    unit = one or other
    assert unit is not None
    return {
        "text": "" if unit.whole else unit.text,
        "sides": [None if side is None else side.told for side in (one, other)],
    }
