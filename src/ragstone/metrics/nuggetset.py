"""Write the nuggets of a response or a bank, once for all metrics, and rate their importance.

Nuggets are indivisible facts whose presence can be verified (TREC RAG, arXiv 2504.15068). The judge is asked again
until it adds nothing new or the list is full. Nuggets beyond a limit are counted. Without a rating, a nugget is
neither vital nor okay.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.claimset import response_sentences
from ragstone.questions import GRADE_0_3, IMPORTANCE, Batch, Rate, Write
from ragstone.segment import folded
from ragstone.types import DETAILS, NOTHING, Importance, Passage, Record, Score, Status, Unit, Verdict

UNWEIGHED: Final = 1.0
"""The weight of a nugget whose importance is unjudged."""


class NuggetSet(Struct, frozen=True):
    """Nuggets, and how complete they are.

    ``failure`` says why some may be missing, ``unweighed`` why some have no importance. ``left_out`` counts those
    beyond the limit, ``rounds`` the questions needed to write them. For a bank created from passages, ``read`` counts
    the passages read, of ``passages`` in the record.
    """

    units: tuple[Unit, ...]
    failure: str = ""
    unweighed: str = ""
    left_out: int = 0
    full: bool = False
    rounds: int = 0
    read: int = 0
    passages: int = 0

    def counts(self) -> dict[str, Any]:
        """Return the numbers of vital, okay and unrated nuggets for a score's detail, and what is missing."""
        found: dict[str, Any] = {
            "vital": sum(unit.importance == "vital" for unit in self.units),
            "okay": sum(unit.importance == "okay" for unit in self.units),
            "unweighed": sum(unit.importance is None for unit in self.units),
        }
        if self.unweighed:
            found["why_unweighed"] = self.unweighed
        if self.left_out:
            found["left_out"] = self.left_out
        elif self.full:
            found["limit_reached"] = True
        if self.passages:
            found["passages"] = {"read": self.read, "of": self.passages}
        return found

    @property
    def incomplete(self) -> str:
        """Why nuggets are missing; empty if none are."""
        return f"not all nuggets: {self.failure}" if self.failure else ""

    @property
    def unknown(self) -> str:
        """Say how many nuggets have no importance, and why; empty if all have."""
        count = sum(unit.importance is None for unit in self.units)
        return f"{count} of {len(self.units)} nuggets of unknown importance: {self.unweighed}" if count else ""


def bounds(units: Sequence[tuple[float | None, float, float]]) -> tuple[float | None, float | None]:
    """Return the lowest and the highest weighted mean that is possible; None if no unit can have a weight.

    Each unit has its value (0 to 1; None if unjudged), and its lowest and highest weight.
    """
    found = []
    for extreme, unjudged in ((min, 0.0), (max, 1.0)):
        held = [(unjudged if value is None else value, least, most) for value, least, most in units]
        gained = math.fsum(value * least for value, least, _ in held)
        total = math.fsum(least for _, least, _ in held)
        means = [gained / total] if total else []
        # The extreme mean gives the highest weight to the most extreme units.
        for value, least, most in sorted(held, reverse=extreme is max):
            if most > least:
                gained, total = gained + value * (most - least), total + (most - least)
                means.append(gained / total)
        found.append(extreme(means, default=None))
    return found[0], found[1]


def nuggets_of_response(record: Record, most: int) -> Flow[NuggetSet]:
    """Write the nuggets of the response in rounds, until one adds nothing new or there are ``most``."""
    found: dict[str, Unit] = {}
    sentences = response_sentences(record)
    failure, rounds, left_out = "", 0, 0
    while True:
        known = tuple(unit.text for unit in found.values())
        rounds += 1
        asked = Write("nuggetize", "nugget", record.question or "", sentences, known=known, most=most)
        (written,) = yield from ask(replace(asked, response=record.response or ""))
        fresh = {key: unit for unit in written.units if (key := folded(unit.text)) and key not in found}
        room = most - len(found)
        found.update(islice(fresh.items(), room))
        left_out = max(0, len(fresh) - room)
        failure = written.failure
        if failure or not fresh or len(found) >= most:
            break
    return NuggetSet(_numbered(record, "nugget", found.values()), failure, "", left_out, len(found) >= most, rounds)


def nuggets_of_contexts(record: Record, window: int, most: int, min_judgment: float) -> Flow[NuggetSet]:
    """Write a bank from the passages, window by window; each window returns the complete updated list.

    Passages with a ``judgment`` below ``min_judgment`` are skipped; those without one are kept. Writing stops early if
    two consecutive windows do not change a non-empty list. A failed window leaves the list unchanged and is reported in
    ``failure``.
    """
    passages = _judged_relevant(record, min_judgment)
    found: tuple[str, ...] = ()
    cut: dict[str, None] = {}
    failures: dict[str, None] = {}
    rounds = idle = read = 0
    for start in range(0, len(passages), window):
        if idle == 2:
            break
        rounds += 1
        part = passages[start : start + window]
        (written,) = yield from ask(
            Write("nuggetize", "nugget", record.question or "", passages=part, known=found, most=most)
        )
        read += len(part)
        if written.failure:
            failures[written.failure] = None
            idle = 0
            continue
        listed = {key: unit.text for unit in written.units if (key := folded(unit.text))}
        cut.update(dict.fromkeys(islice(listed, most, None)))
        updated = tuple(islice(listed.values(), most)) or found  # an empty list removes nothing
        unchanged = [*map(folded, updated)] == [*map(folded, found)]
        idle = idle + 1 if found and unchanged else 0
        found = updated
    units = _numbered(record, "bank", (Unit("", "nugget", text) for text in found))
    left_out = len(cut.keys() - set(map(folded, found)))
    full = len(found) >= most
    return NuggetSet(units, "; ".join(failures), "", left_out, full, rounds, read, len(record.passages))


def nuggets_of_record(record: Record) -> NuggetSet:
    """Return the record's own bank, in its order."""
    nuggets = record.nuggets or ()
    return NuggetSet(_numbered(record, "bank", (Unit("", "nugget", n.text, importance=n.importance) for n in nuggets)))


def weighed(record: Record, nuggets: NuggetSet) -> Flow[NuggetSet]:
    """Return the nuggets with missing importance ratings added, if the record has a question."""
    bare = tuple(unit for unit in nuggets.units if unit.importance is None)
    if not bare:
        return nuggets
    question = record.question or ""
    if not question.strip():
        return replace(nuggets, unweighed="no question, so importance cannot be rated")
    (rated,) = yield from ask(Rate("importance", bare, IMPORTANCE, question=question))
    given = {v.unit.id: cast("Importance", v.label) for v in rated.verdicts if v.label is not None}
    failures = dict.fromkeys(v.failure or "no answer" for v in rated.verdicts if v.unjudged)
    units = tuple(unit if unit.importance else replace(unit, importance=given.get(unit.id)) for unit in nuggets.units)
    return replace(nuggets, units=units, unweighed="; ".join(failures))


def unnamed(units: Iterable[Unit]) -> tuple[Unit, ...]:
    """Return the units without their importance, which the judge must not see."""
    return tuple(replace(unit, importance=None) for unit in units)


def named(verdicts: Sequence[Verdict], units: Sequence[Unit]) -> tuple[Verdict, ...]:
    """Return the verdicts with the importance of their units restored."""
    return tuple(replace(verdict, unit=unit) for verdict, unit in zip(verdicts, units, strict=True))


def _numbered(record: Record, kind: str, units: Iterable[Unit]) -> tuple[Unit, ...]:
    return tuple(replace(unit, id=f"{record.id}/{kind}/{n}") for n, unit in enumerate(units, 1))


def _judged_relevant(record: Record, least: float) -> tuple[Passage, ...]:
    details = record.meta.get(DETAILS, NOTHING)

    def relevant(passage: Passage) -> bool:
        judgment = _number(details.get(passage.id)) if isinstance(details, Mapping) else None
        return judgment is None or judgment >= least

    return tuple(passage for passage in record.passages if relevant(passage))


def _number(detail: object) -> float | None:
    """Return the relevance given for a passage; None if there is none or it is not a number."""
    given = detail.get("judgment", detail.get("judgement")) if isinstance(detail, Mapping) else None
    try:
        number = None if given is None or isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        return None
    return None if number is None or math.isnan(number) else number


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NuggetMetric(Metric):
    """A metric that rates the nuggets of a response and weights them by importance.

    The value is sum(w * s) / sum(w). ``weights``: weights of vital and okay nuggets; a nugget of unknown
    importance has weight 1, and the score is partial. ``max_nuggets``: max nuggets per response.
    """

    max_nuggets: int = 30
    weights: tuple[float, float] = (2.0, 1.0)
    reasons: bool = False
    batch: Batch = 0
    calls = 4
    unit = "nugget"
    limits = ("max_nuggets",)
    least: ClassVar[Mapping[str, int]] = MappingProxyType({"max_nuggets": 1})

    def check(self) -> None:
        """Raise ConfigError for invalid weights, and convert valid ones to a pair of floats."""
        weights: Any = self.weights
        if isinstance(weights, Mapping) and set(weights) == {"vital", "okay"}:
            weights = (weights["vital"], weights["okay"])
        if not isinstance(weights, tuple) or len(weights) != 2 or not all(map(_is_weight, weights)):
            self.refuse("weights", self.weights, "two numbers above 0, for vital and okay nuggets, as in [2, 1]")
        object.__setattr__(self, "weights", (float(weights[0]), float(weights[1])))

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Write the nuggets, rate their importance and then the nuggets; return the weighted mean."""
        written = yield from nuggets_of_response(record, self.max_nuggets)
        if not written.units and written.failure:
            return self.nothing(record, "judge_failed", f"no nuggets: {written.failure}")
        if not written.units:
            return self.nothing(record, "empty", "the response contains no nuggets")
        nuggets = yield from weighed(record, written)
        (rated,) = yield from ask(self.rate(record, self.asks[-1], unnamed(nuggets.units), GRADE_0_3))
        verdicts = named(rated.verdicts, nuggets.units)
        return (self._score(record, nuggets, verdicts, rated.reason),)

    def _score(self, record: Record, nuggets: NuggetSet, verdicts: Sequence[Verdict], reason: str) -> Score:
        vital, okay = self.weights
        known = {"vital": vital, "okay": okay}
        weights = [known.get(v.unit.importance or "", UNWEIGHED) for v in verdicts]
        rows = [
            {"nugget": v.unit.id, "importance": v.unit.importance, "weight": weight, "score": v.value}
            for v, weight in zip(verdicts, weights, strict=True)
        ]
        detail = {**nuggets.counts(), "rounds": nuggets.rounds, "nuggets": rows}
        full = f"reached max_nuggets ({self.max_nuggets}), so the response may contain more nuggets" * nuggets.full
        reason = "; ".join(filter(None, (nuggets.unknown, full, reason)))
        score = self.mean_score(
            record, verdicts, reason=reason, detail=detail, incomplete=nuggets.incomplete, weights=weights
        )
        if score.value is None or nuggets.failure or not nuggets.unknown:
            return score
        each = sorted((vital, okay, UNWEIGHED))
        possible = [(w, w) if v.unit.importance else (each[0], each[2]) for v, w in zip(verdicts, weights, strict=True)]
        low, high = bounds([(v.value, *ends) for v, ends in zip(verdicts, possible, strict=True)])
        return replace(score, status="partial", low=low, high=high)


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BankMetric(Metric):
    """A metric that can create a bank from a record's passages.

    ``window``: max passages per call. ``max_nuggets``: max nuggets to collect per bank. ``keep``: max nuggets to keep,
    vital first; 0: all. ``min_judgment``: skip passages whose ``judgment`` is lower; passages without one are kept.
    """

    window: int = 10
    max_nuggets: int = 30
    keep: int = 20
    min_judgment: float = 2.0
    least: ClassVar[Mapping[str, int]] = MappingProxyType({"window": 1, "max_nuggets": 1, "keep": 0})

    def check(self) -> None:
        """Raise ConfigError if ``min_judgment`` is not a finite number."""
        found: Any = self.min_judgment
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
            self.refuse("min_judgment", found, "a number")

    def created(self, record: Record) -> Flow[NuggetSet]:
        """Create a bank from the passages with importance ratings, vital nuggets first; keep the first ``keep``."""
        written = yield from nuggets_of_contexts(record, self.window, self.max_nuggets, self.min_judgment)
        found = yield from weighed(record, written)
        ordered = sorted(found.units, key=lambda unit: unit.importance != "vital")
        kept = ordered[: self.keep or None]
        left_out = found.left_out + len(ordered) - len(kept)
        return replace(found, units=_numbered(record, "bank", kept), left_out=left_out)

    def why_empty(self, bank: NuggetSet) -> str:
        """Return why a bank that was created from passages without a failure has no nuggets."""
        if not bank.read:
            return f"every passage has a judgment below min_judgment ({self.min_judgment:g})"
        return "the passages contain no nuggets for this question"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NuggetBank(BankMetric):
    """The nuggets that a good answer should contain, according to the passages; ``detail`` lists them.

    It is in no suite, since it does not evaluate a response: it only creates a bank. Parameters are as in
    nugget_recall. The score has no value; it is ``empty`` if the passages contain no nugget, and ``partial`` if a
    window failed. Source: TREC RAG (arXiv 2504.15068).
    """

    name = "nugget_bank"
    title = "the facts that a good answer contains"
    needs = ("question", "contexts")
    asks = ("nuggetize", "importance")
    brings = ("nuggetize", "importance")
    suites = ()

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Create the bank and list it in the score's detail."""
        bank = yield from self.created(record)
        if not bank.units:
            if bank.failure:
                return self.nothing(record, "judge_failed", bank.failure)
            return self.nothing(record, "empty", self.why_empty(bank))
        listed = [{"text": unit.text, "importance": unit.importance} for unit in bank.units]
        detail = {**bank.counts(), "rounds": bank.rounds, "nuggets": listed}
        status: Status = "partial" if bank.failure else "scored"
        return (Score(self.name, record.id, None, status, reason=bank.failure, detail=detail),)
