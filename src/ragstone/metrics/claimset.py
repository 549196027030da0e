"""The claims of a response, asked once whichever metric asks, and the scoring that claim metrics share.

No metric imports another: what two of them share is a question, and this is where it is put.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.questions import LIKERT, YES_NO, Batch, Rate, Rated, Write
from ragstone.segment import parts, sentences
from ragstone.stats.means import reaches
from ragstone.tokens import usual_tokens
from ragstone.types import Record, Scale, Score, Unit, Verdict

MODES: Final = {
    "binary_yes_no": YES_NO, "binary": YES_NO, "yes_no": YES_NO,
    "scale_1_5": LIKERT, "likert": LIKERT,
}  # fmt: skip
_BEFORE: Final = 400
"""Characters of the text before a part that are shown with it, for what its pronouns refer to."""


@dataclass(frozen=True, slots=True)
class ClaimSet:
    """The claims with what a reader must know of how complete they are."""

    units: tuple[Unit, ...]
    failure: str = ""
    duplicates: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMetric(Metric):
    """A metric that rates the claims of a response.

    ``scoring_mode`` is ``binary_yes_no`` (0 or 1) or ``scale_1_5``, (raw - 1) / 4. A claim is ACCEPTED at or
    above ``threshold``, and so is the metric PASSED. ``include_reasoning`` asks for a reason per claim and
    one for all. ``max_claims`` (0: all) judges the first so many and says how many were left out.
    ``part_tokens`` is the length of the parts that a long response is taken apart in. ``batch`` is the most claims
    that one call rates, or ``all``; 0 leaves it to the judge.
    """

    threshold: float | None = 0.6
    scoring_mode: str = "binary_yes_no"
    include_reasoning: bool = False
    max_claims: int = 0
    part_tokens: int = 400
    batch: Batch = 0
    calls: ClassVar[int] = 2
    unit: ClassVar[str] = "claim"
    limits: ClassVar[tuple[str, ...]] = ("max_claims",)
    least: ClassVar[Mapping[str, int]] = MappingProxyType({"max_claims": 0, "part_tokens": 10, "batch": 0})

    def check(self) -> None:
        """Refuse what cannot be meant."""
        if self.scoring_mode not in tuple(MODES):  # a tuple, because what a record brings may not hash
            self.refuse(
                "scoring_mode", self.scoring_mode, "binary_yes_no (or binary, yes_no), or scale_1_5 (or likert)"
            )
        # One name for one mode, so that scores made in the same way have the same signature.
        object.__setattr__(self, "scoring_mode", "scale_1_5" if self.scale is LIKERT else "binary_yes_no")
        if self.threshold is None:
            self.refuse("threshold", None, "a number from 0 to 1")

    @property
    def scale(self) -> Scale:
        """The scale that the mode means."""
        return MODES[self.scoring_mode]

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Write the claims, rate them, take the mean."""
        claims = yield from write_claims(record, self.part_tokens, self.max_claims)
        if not claims.units:
            if claims.failure:
                failed = {"extraction_failed": True}
                return (self.without_value(record, "judge_failed", f"no claims: {claims.failure}", detail=failed),)
            return (self.without_value(record, "empty", "the response makes no claims"),)
        (rated,) = yield from ask(self.question(record, claims.units))
        return (
            self.mean_score(
                record,
                rated.verdicts,
                reason=rated.reason,
                detail=self.rows(claims, rated),
                incomplete=f"not all claims: {claims.failure}" if claims.failure else "",
            ),
        )

    def question(self, record: Record, claims: tuple[Unit, ...]) -> Rate:
        """The question about the claims."""
        raise NotImplementedError

    def rows(self, claims: ClaimSet, rated: Rated) -> dict[str, Any]:
        """One row a claim, in order, and the counts; the evidence is with the verdicts.

        With ``include_reasoning`` a line of reasoning for each claim, and then the one for all.
        """
        rows = [self._row(verdict) for verdict in rated.verdicts]
        decided = [row["verdict"] for row in rows]
        detail: dict[str, Any] = {
            "accepted": decided.count("ACCEPTED"),
            "rejected": decided.count("REJECTED"),
            "claims": rows,
        }
        if self.include_reasoning:
            lines = [f"{verdict.unit.text}: {verdict.reason or verdict.failure}" for verdict in rated.verdicts]
            detail["reasoning"] = [*lines, *([rated.reason] if rated.reason else [])]
        if claims.failure:
            detail["extraction_failed"] = True
        if claims.duplicates:
            detail["duplicates"] = claims.duplicates
        if claims.left_out:
            detail["left_out"] = claims.left_out
        return detail

    def _row(self, verdict: Verdict) -> dict[str, Any]:
        unit = verdict.unit
        assert self.threshold is not None
        decision = None
        if verdict.value is not None:
            decision = "ACCEPTED" if reaches(verdict.value, self.threshold) else "REJECTED"
        return {
            "claim": unit.id,
            "text": unit.text,
            "tokens": round(usual_tokens(unit.text)),
            "part": unit.part,
            "confidence": unit.confidence,
            "verdict": decision,
            "raw_score": verdict.raw,
        }


def response_sentences(record: Record) -> tuple[Unit, ...]:
    """The sentences of the response as units, with their spans."""
    text = record.response or ""
    return tuple(
        Unit(f"{record.id}/sentence/{n}", "sentence", text[span.start : span.end], span)
        for n, span in enumerate(sentences(text), 1)
    )


def write_claims(record: Record, part_tokens: int, max_claims: int) -> Flow[ClaimSet]:
    """Ask for the claims of the whole response, part by part, all parts at once.

    A claim that is written twice counts once. All claims are asked for, whatever ``max_claims``, because how
    many it leaves out is to be said. Where a part could not be read the others stand, and ``failure`` says so.
    """
    text = record.response or ""
    units = response_sentences(record)
    questions = []
    groups = parts(text, [u.span for u in units if u.span], part_tokens)
    for number, group in enumerate(groups, 1):
        members = units[group.start : group.stop]
        first = members[0].span
        assert first is not None
        questions.append(
            Write(
                "claims",
                "claim",
                record.question or "",
                members,
                before=text[max(0, first.start - _BEFORE) : first.start].strip(),
                part=number,
                whole=units if len(groups) > 1 else (),
            )
        )
    if not questions:
        return ClaimSet(())
    answers = yield from ask(*questions)
    written = [unit for answer in answers for unit in answer.units]
    unique: dict[str, Unit] = {}
    for unit in written:
        unique.setdefault(" ".join(unit.text.casefold().split()), unit)
    kept = list(unique.values())
    taken = kept[:max_claims] if max_claims else kept
    failures = dict.fromkeys(answer.failure for answer in answers if answer.failure)
    return ClaimSet(
        tuple(unit.called(f"{record.id}/claim/{n}") for n, unit in enumerate(taken, 1)),
        "; ".join(failures),
        len(written) - len(kept),
        len(kept) - len(taken),
    )
