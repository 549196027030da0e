"""From the raw scores of a trace to its labels: the numbers, the cuts, and which sentences are marked.

A sentence is not marked by its own score alone. Of the sentences of a record as many are marked as the
probabilities add up to, the most probable ones: shares of sentences, which is what TRACe counts, then come out right
on average, which they do not with one cut for all.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

import orjson

from ragstone.judges.base import Failed, Reply
from ragstone.judges.embedded.model import Logistic, cuts_of, model, probability
from ragstone.judges.embedded.trees import Trees
from ragstone.questions import SUPPORT_3, YES_NO, Special, Trace, Traced, key_of
from ragstone.types import Quote, Unit, Verdict

FILE: Final = "trace.json"

GENERAL: Final[Special] = "general"
"""What a sentence rests on that states nothing, or only that there is no answer."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Three small models. ``yes`` is the least probability of a sentence that is marked; of the third, the cut."""

    relevant: Logistic
    utilized: Logistic
    supported: Logistic


def logistic(raw: Mapping[str, Any]) -> Logistic:
    """A model as the file has it; being fitted to log-odds it is its own calibration."""
    return Logistic(
        mean=tuple(raw["mean"]),
        scale=tuple(raw["scale"]),
        weight=tuple(raw["weight"]),
        bias=raw["bias"],
        trees=Trees(()),
        calibration=(1.0, 0.0),
        yes=raw["yes"],
    )


@lru_cache(maxsize=1)
def numbers() -> Numbers:
    """The numbers of this version, read once."""
    raw = orjson.loads(files("ragstone.judges.embedded").joinpath(FILE).read_bytes())
    return Numbers(logistic(raw["relevant"]), logistic(raw["utilized"]), logistic(raw["supported"]))


@lru_cache(maxsize=1)
def trace_digest() -> str:
    """Six hex digits that change with any of the numbers."""
    return hashlib.sha256(files("ragstone.judges.embedded").joinpath(FILE).read_bytes()).hexdigest()[:6]


def chances(log_odds: Sequence[float | None]) -> list[float]:
    """Probabilities; 0 where there is no score."""
    return [0.0 if x is None else probability(x, (1.0, 0.0)) for x in log_odds]


def marked(probabilities: Sequence[float], least: float) -> tuple[int, ...]:
    """The places of the most probable sentences, about as many as the probabilities add up to.

    Equal ones are marked together or not at all, whichever brings the count closer; none below ``least`` is.
    """
    wanted = math.fsum(probabilities)
    cut, error = math.inf, wanted
    ordered = sorted((p for p in probabilities if p >= least), reverse=True)
    for count, p in enumerate(ordered, 1):
        if (count == len(ordered) or ordered[count] < p) and abs(count - wanted) < error - 1e-9:
            cut, error = p, abs(count - wanted)
    return tuple(i for i, p in enumerate(probabilities) if p >= cut)


def grouped(sentences: Sequence[Unit]) -> tuple[list[Unit], list[list[Unit]]]:
    """The sentences by their passages, in one row and apart; the passages in the order in which they begin."""
    passages: dict[str | None, list[Unit]] = {}
    for unit in sentences:
        passages.setdefault(unit.parent, []).append(unit)
    apart = list(passages.values())
    return [unit for passage in apart for unit in passage], apart


def traced(question: Trace, sentences: Sequence[Unit], reply: Reply | Failed, judge: str) -> Traced:
    """The answer to a question from the raw scores of its sentences, which are in the order of ``sentences``.

    What a verdict names as support need not be marked as used: of the 73 sentences of RAGBench that would be for
    that alone, 17 are labelled so.
    """
    found = _scores(reply, len(sentences), len(question.response))
    if isinstance(found, str):
        verdicts = tuple(Verdict(unit, None, None, judge, failure=found) for unit in question.response)
        return Traced(None, None, verdicts, ((),) * len(verdicts), failure=found)
    weigh = numbers()

    def of(name: str, least: float) -> tuple[str, ...]:
        keys = {key_of(sentences[i]) for i in marked(chances(found[name]), least)}
        return tuple(key for unit in question.sentences if (key := key_of(unit)) in keys)

    relevant = None if found["relevant"] is None else of("relevant", weigh.relevant.yes)
    pairs = [_read(unit, row, sentences, judge) for unit, row in zip(question.response, found["response"], strict=True)]
    blank = "the question has no words to look for" if question.question.strip() else "the question is blank"
    return Traced(
        relevant=relevant,
        utilized=of("utilized", weigh.utilized.yes),
        verdicts=tuple(verdict for verdict, _ in pairs),
        support=tuple(keys for _, keys in pairs),
        relevance_reason="" if relevant is None else _about(found["shared"], found["missing"]),
        failure=blank if relevant is None else "",
    )


def _scores(reply: Reply | Failed, sentences: int, response: int) -> dict[str, Any] | str:
    """What the one reply holds, or why it cannot be used."""
    if isinstance(reply, Failed):
        return reply.reason
    try:
        found = orjson.loads(reply.text)
        sizes = [len(found["utilized"]), len(found["response"]), len(found["relevant"] or found["utilized"])]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "the reply cannot be read"
    return found if sizes == [sentences, response, sentences] else "the reply does not fit its question"


def _read(unit: Unit, row: Mapping[str, Any], sentences: Sequence[Unit], judge: str) -> tuple[Verdict, tuple[str, ...]]:
    if "free" in row:
        verdict = Verdict(unit, "yes", 1.0, judge, raw=YES_NO.raw("yes"), reason=row["free"])
        return verdict, (GENERAL,)
    if "absent" in row:
        (lacking,) = chances([row["absent"]["x"]])
        if "x" not in row or chances([row["x"]])[0] > lacking:
            return _lacking(unit, row["absent"], lacking, sentences, judge)
    if "x" not in row:
        return Verdict(unit, None, None, judge, failure="no words to look for"), ()
    cut = numbers().supported.yes
    partial = cuts_of(SUPPORT_3, cut)[0]
    (chance,) = chances([row["x"]])
    units = [sentences[i] for i in row["found"]]
    label = "yes" if chance >= cut and units else "no"
    named = tuple(key_of(one) for one in units)
    verdict = _verdict(unit, label, chance, units, _reason(label, chance, named, row["missing"]), judge)
    return verdict, named if chance >= partial else ()


def _lacking(
    unit: Unit, row: Mapping[str, Any], chance: float, sentences: Sequence[Unit], judge: str
) -> tuple[Verdict, tuple[str, ...]]:
    """Of a sentence that says that something is not there: it holds, or these sentences have it."""
    if chance >= model().support.yes:
        reason = f"says that it is not there, and it was not found together ({chance:.2f})"
        return _verdict(unit, "yes", chance, (), reason, judge), (GENERAL,)
    units = [sentences[i] for i in row["found"]]
    places = ", ".join(key_of(one) for one in units[:3])
    reason = f"says that it is not there, but {f'see {places}' if places else 'it seems to be'} ({chance:.2f})"
    return _verdict(unit, "no", chance, units, reason, judge), ()


def _verdict(unit: Unit, label: str, chance: float, units: Sequence[Unit], reason: str, judge: str) -> Verdict:
    return Verdict(
        unit,
        label,
        YES_NO.value(label),
        judge,
        raw=YES_NO.raw(label),
        probability=round(chance, 6),
        evidence=tuple(
            Quote(one.parent or "", one.span, one.text, verbatim=True) for one in units if one.span is not None
        ),
        reason=reason,
    )


def _reason(label: str, chance: float, named: Sequence[str], words: Sequence[str]) -> str:
    missing = f"not found: {', '.join(words)}" if words else ""
    places = ", ".join(named[:3])
    if not places:
        return missing or "not found"
    if label == "yes":
        return f"found in {places} ({chance:.2f})" + (f"; {missing}" if missing else "")
    if missing:
        return f"{missing} ({chance:.2f}; nearest: {places})"
    return f"its words, but not so put, in {places} ({chance:.2f})"


def _about(shared: Sequence[str], missing: Sequence[str]) -> str:
    parts = []
    if shared:
        parts.append("looked for in the question's words: " + ", ".join(shared))
    if missing:
        parts.append("in no sentence: " + ", ".join(missing))
    return "; ".join(parts)
