"""One record's result as a line of results.jsonl: the store keeps it, and every output is made from it.

The same input, judges and replies give the same bytes: it holds no times and does not tell stored replies from new.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from ragstone.judges.base import Usage
from ragstone.metrics.methods import compare_methods
from ragstone.questions import Readout
from ragstone.stats.means import rounded, spread
from ragstone.types import Quote, Record, Repeats, Score, Unit, Verdict

if TYPE_CHECKING:
    from ragstone.result_types import (
        CallDict,
        CostDict,
        InputDict,
        MoreInputDict,
        QuoteDict,
        ReadingDict,
        RepeatsDict,
        ScoreDict,
        SentDict,
        StepDict,
        UnitDict,
        VerdictDict,
    )


class CallNote(NamedTuple):
    """One call behind an answer."""

    key: str
    judge: str
    step: str
    maker: str
    usage: Usage
    finish: str
    dollars: float | None
    error: str = ""
    readout: Readout | None = None

    def as_json(self, metrics: Sequence[str]) -> CallDict:
        """Return plain JSON; ``key`` finds the raw call in the store, ``metrics`` are those that use its reply."""
        usage = self.usage
        document = {
            "key": self.key,
            "judge": self.judge,
            "step": self.step,
            "metrics": list(metrics),
            "maker": self.maker,
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            **({"cached_tokens": usage.cached} if usage.cached else {}),
            **({"reasoning_tokens": usage.reasoning} if usage.reasoning else {}),
            "dollars": rounded(self.dollars),
            "finish": self.finish,
            **({"error": self.error} if self.error else {}),
            **({"reading": _reading(self.readout)} if self.readout and not self.error else {}),
        }
        return cast("CallDict", document)


class CascadeNote(Struct, frozen=True):
    """How a cascade answered one question; ``error`` is the accepted error rate.

    ``answered`` counts the units that each judge (by id) decided, ``unjudged`` those that none did; both are zero for
    repeats. ``asked`` are the calls sent to the last judge, and ``alone`` those that would have been sent if it had
    been asked everything, both without repairs.
    """

    key: str
    step: str
    error: float
    answered: Mapping[str, int]
    unjudged: int
    asked: tuple[Sent, ...]
    alone: tuple[Sent, ...]


class Sent(Struct, frozen=True):
    """A call by its key, since identical calls count once: the bytes of its request and the units it asks about."""

    key: str
    bytes: int
    units: int


Note = CallNote | CascadeNote
"""A note on how an answer was obtained, with its own key."""


def _reading(readout: Readout) -> ReadingDict:
    found: ReadingDict = {
        "style": readout.style, "format": readout.format, "reader": readout.reader, "status": readout.status,
        "read": readout.read, "asked": readout.asked,
    }  # fmt: skip
    if readout.repair:
        found["repair"] = True
    if readout.error:
        found["problem"] = readout.error
    return found


class Weighed(Struct, frozen=True):
    """A record with its scores; ``document`` is its line of results.jsonl.

    ``shares`` holds, for each score, the cost of its calls that no earlier score uses, so the shares add up to the
    cost of the record. If the result is ``taken`` from an earlier run or another process, only the document holds the
    verdicts.
    """

    position: int
    record: str
    scores: tuple[Score, ...]
    shares: tuple[CostDict, ...]
    document: bytes
    taken: bool = False


def result_document(record: Record, position: int, noted: Sequence[tuple[Score, Sequence[Note]]]) -> Weighed:
    """Return the result of a record; each score comes with the notes on its answers."""
    units: dict[str, Unit] = {}
    calls: dict[str, CallNote] = {}
    served: dict[str, dict[str, None]] = {}
    shares: list[CostDict] = []
    counts: list[int] = []
    scored = [(score, [note for note in notes if isinstance(note, CallNote)]) for score, notes in noted]
    cascades = {note.key: note for _, notes in noted for note in notes if isinstance(note, CascadeNote)}
    for score, notes in scored:
        for verdict in score.verdicts:
            units.setdefault(verdict.unit.id, verdict.unit)
        own = [note for note in notes if note.key not in calls]
        shares.append(_cost(own))
        counts.append(len(own))
        calls.update((note.key, note) for note in own)
        for note in notes:  # the columns of one metric share its calls, so they count as one name
            served.setdefault(note.key, {})[score.metric.partition(".")[0]] = None
    values = {score.metric: score.value for score, _ in scored}
    ordered = sorted(calls.values(), key=lambda note: (note.step, note.judge, note.key))
    document = to_json(
        {
            **input_of(record, position),
            "scores": [
                _score(score, notes, len(notes) - own) for (score, notes), own in zip(scored, counts, strict=True)
            ],
            **({"methods": methods} if (methods := compare_methods(values)) else {}),
            "units": [_unit(unit, record) for unit in units.values()],
            "cost": _cost(ordered),
            **({"cascade": _cascade(cascades.values())} if cascades else {}),
            "calls": [note.as_json(list(served[note.key])) for note in ordered],
            "meta": record.meta if isinstance(record.meta, dict) else dict(record.meta),
            "notes": record.notes,
        }
    )
    return Weighed(position, record.id, tuple(score for score, _ in scored), tuple(shares), document)


def input_of(record: Record, position: int) -> InputDict:
    """Return the input fields that a result repeats."""
    return {
        "id": record.id,
        "topic": record.topic or record.id,
        "position": position,
        "where": record.where,
        "question": record.question,
        "response": record.response,
        "reference": record.reference,
        "contexts": [{"id": p.id, "rank": p.rank, "text": p.text} for p in record.contexts or ()],
        **_more_input(record),
    }


def _more_input(record: Record) -> MoreInputDict:
    """Return the fields that few records have."""
    found: MoreInputDict = {"contexts_missing": True} if record.contexts is None else {}
    if any(citation.passages for citation in record.citations):
        found["citations"] = [[c.span.start, c.span.end, list(c.passages)] for c in record.citations]
    if record.relevant is not None:
        found["relevant"] = dict(record.relevant)
    if record.answerable is not None:
        found["answerable"] = record.answerable
    return found


def set_aside_document(record: str, position: int, error: str) -> Weighed:
    """Return the result of a record that could not be read."""
    document = to_json({"id": record, "position": position, "set_aside": error, "scores": []})
    return Weighed(position, record, (), (), document)


def to_json(value: Any) -> bytes:
    """Return compact JSON; types that JSON lacks (dates, decimals) become text."""
    try:
        # Copied because orjson returns its much larger working buffer, and a document may wait for its turn.
        return memoryview(orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)).tobytes()
    except TypeError:  # integers beyond 64 bits
        text = json.dumps(_known(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8", "replace")


def _known(value: Any) -> Any:
    """Convert a value to what Python's json can write, matching orjson: NaN, an error in json, becomes None."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key if isinstance(key, str | int | None) else str(key): _known(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    return _known(_plain(value))


def _plain(value: object) -> Any:
    if isinstance(value, Struct):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return list(value)
    return str(value)


def _score(score: Score, notes: Sequence[CallNote], shared: int) -> ScoreDict:
    document = {
        "metric": score.metric,
        "value": rounded(score.value),
        "status": score.status,
        "asked": score.asked,
        "unjudged": score.unjudged,
        "low": rounded(score.low),
        "high": rounded(score.high),
        "outcome": score.outcome,
        "reason": score.reason,
        "detail": dict(score.detail),
        "verdicts": [_verdict(verdict) for verdict in score.verdicts],
        **({"verdicts_in": score.verdicts_in} if score.verdicts_in else {}),
        **({"repeats": repeats_as_json(score.repeats)} if score.repeats else {}),
        "cost": _cost(notes),
        **({"shared": shared} if shared else {}),
        "signature": score.signature,
    }
    return cast("ScoreDict", document)


def repeats_as_json(repeats: Repeats) -> RepeatsDict:
    """Return the values of all repeats with their spread, and how many units changed their label."""
    return {
        "values": [rounded(value) for value in repeats.values],
        "spread": rounded(spread([value for value in repeats.values if value is not None])),
        "units": repeats.units,
        "flips": repeats.flips,
        "unmatched": repeats.unmatched,
    }


def _verdict(verdict: Verdict) -> VerdictDict:
    document: VerdictDict = {
        "unit": verdict.unit.id,
        "label": verdict.label,
        "value": rounded(verdict.value),
        "raw": verdict.raw,
        "probability": rounded(verdict.probability),
        "judge": verdict.judge,
        "reason": verdict.reason,
        "evidence": [_quote(quote) for quote in verdict.evidence],
    }
    if verdict.failure:
        document["failure"] = verdict.failure
    if verdict.strict is not None:
        document["strict"] = rounded(verdict.strict)
    if verdict.members:
        document["members"] = [_verdict(member) for member in verdict.members]
    return document


def _quote(quote: Quote) -> QuoteDict:
    return {
        "passage": quote.passage,
        "start": quote.span.start if quote.span else None,
        "end": quote.span.end if quote.span else None,
        "text": quote.text,
        "verbatim": quote.verbatim,
    }


def _unit(unit: Unit, record: Record) -> UnitDict:
    # The document already holds the passages and the whole response.
    whole = unit.level == "passage" or (unit.level == "response" and unit.text == record.response)
    document: UnitDict = {
        "id": unit.id,
        "level": unit.level,
        "text": None if whole else unit.text,
        "start": unit.span.start if unit.span else None,
        "end": unit.span.end if unit.span else None,
        "parent": unit.parent,
        "confidence": unit.confidence,
        "part": unit.part,
    }
    if unit.level == "nugget":
        document["importance"] = unit.importance
    return document


def _cost(notes: Sequence[CallNote]) -> CostDict:
    calls = given = written = 0
    dollars: float | None = 0.0
    for note in notes:
        calls += not note.error
        given += note.usage.input or 0
        written += note.usage.output or 0
        dollars = None if dollars is None or note.dollars is None else dollars + note.dollars
    return {"calls": calls, "input_tokens": given, "output_tokens": written, "dollars": rounded(dollars)}


def _cascade(notes: Iterable[CascadeNote]) -> dict[str, StepDict]:
    steps: dict[str, list[CascadeNote]] = {}
    for note in notes:
        steps.setdefault(note.step, []).append(note)
    return {
        step: {
            "error": found[0].error,
            "answered": {judge: sum(note.answered[judge] for note in found) for judge in found[0].answered},
            "unjudged": sum(note.unjudged for note in found),
            "asked": _each([sent for note in found for sent in note.asked]),
            "alone": _each([sent for note in found for sent in note.alone]),
        }
        for step, found in sorted(steps.items())
    }


def _each(calls: Iterable[Sent]) -> list[SentDict]:
    return [{"key": sent.key, "bytes": sent.bytes, "units": sent.units} for sent in {s.key: s for s in calls}.values()]
