"""Write the claims of a response or a reference, and score metrics that rate claims.

Claims are written once, however many metrics use them. Metrics do not import each other: they share questions, and
those about claims are asked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.questions import LIKERT, YES_NO, Batch, Rated, Write, Written
from ragstone.segment import parts, sentences
from ragstone.tokens import usual_tokens
from ragstone.types import Record, Scale, Score, Unit, Verdict

MODES: Final = {
    "binary_yes_no": YES_NO, "binary": YES_NO, "yes_no": YES_NO,
    "scale_1_5": LIKERT, "likert": LIKERT,
}  # fmt: skip
Source = Literal["response", "reference"]
"""The text of a record whose claims are written."""
CLAIM: Final[Mapping[Source, str]] = MappingProxyType({"response": "claim", "reference": "reference_claim"})
"""The word for a claim in unit ids."""
_BEFORE: Final = 400
"""Number of characters before a part that are shown with it, to resolve its pronouns."""


class ClaimSet(Struct, frozen=True):
    """Claims, and how complete they are."""

    units: tuple[Unit, ...]
    failure: str = ""
    duplicates: int = 0
    left_out: int = 0

    @property
    def incomplete(self) -> str:
        """Why claims are missing; empty if none are."""
        return f"not all claims: {self.failure}" if self.failure else ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClaimMetric(Metric):
    """A metric that rates the claims of a response, or of the reference (``claims_of``).

    ``scoring_mode``: ``binary_yes_no`` (aliases: ``binary``, ``yes_no``) or ``scale_1_5`` (alias: ``likert``); a grade
    of 1 to 5 counts as (grade - 1) / 4. ``threshold``: a claim with at least this value (0 to 1) is ACCEPTED; a score
    of at least this value is PASSED, otherwise FAILED. ``include_reasoning``: whether to ask for a reason per claim and
    one overall. ``max_claims``: max claims to judge; 0: no limit. ``part_tokens``: split long texts into parts of about
    this many tokens.
    """

    threshold: float | None = 0.6
    scoring_mode: str = "binary_yes_no"
    include_reasoning: bool = False
    max_claims: int = 0
    part_tokens: int = 400
    batch: Batch = 0
    claims_of: ClassVar[Source] = "response"
    calls = 2
    modes: ClassVar[Mapping[str, Scale]] = MODES
    """The scoring modes with their scales; the first mode of a scale is its name, the others are aliases."""
    unit = "claim"
    limits = ("max_claims",)
    least: ClassVar[Mapping[str, int]] = MappingProxyType({"max_claims": 0, "part_tokens": 10})

    def check(self) -> None:
        """Raise ConfigError for an unknown scoring mode, and replace an alias with the mode's name."""
        if self.scoring_mode not in tuple(self.modes):  # a tuple, because a record's value may be unhashable
            more = "".join(f", or {mode}" for mode in self.modes if mode not in MODES)
            known = f"binary_yes_no (or binary, yes_no), or scale_1_5 (or likert){more}"
            self.refuse("scoring_mode", self.scoring_mode, known)
        # One name per mode, so that scores computed in the same way have the same signature.
        name = next(name for name, scale in self.modes.items() if scale is self.scale)
        object.__setattr__(self, "scoring_mode", name)

    @property
    def scale(self) -> Scale:
        """The scale of the scoring mode."""
        return self.modes[self.scoring_mode]

    @property
    def reasons(self) -> bool:
        """``include_reasoning`` under the name that questions use."""
        return self.include_reasoning

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Write the claims, rate them and return the mean."""
        (claims,) = yield from write_claims(record, self.part_tokens, self.max_claims, (self.claims_of,))
        if not claims.units:
            return (self.claimless(record, claims, self.claims_of),)
        (rated,) = yield from ask(self.rate(record, self.asks[-1], claims.units, self.scale))
        return (self.claim_score(record, claims, rated),)

    def claimless(self, record: Record, claims: ClaimSet, source: Source) -> Score:
        """Return the score if there are no claims to rate."""
        if claims.failure:
            failed = {"extraction_failed": True}
            return self.without_value(record, "judge_failed", f"claims not extracted: {claims.failure}", detail=failed)
        return self.without_value(record, "empty", f"the {source} makes no claims")

    def claim_score(self, record: Record, claims: ClaimSet, rated: Rated) -> Score:
        """Return the mean over the claims, with a row per claim in its detail."""
        return self.mean_score(
            record,
            rated.verdicts,
            reason=rated.reason,
            detail=self.rows(claims, rated),
            incomplete=claims.incomplete,
        )

    def rows(self, claims: ClaimSet, rated: Rated) -> dict[str, Any]:
        """Return one row per claim, in order, and counts; the evidence is in the verdicts.

        ``include_reasoning`` adds a line of reasoning per claim, then the overall one.
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
        more = {
            "extraction_failed": bool(claims.failure), "duplicates": claims.duplicates, "left_out": claims.left_out,
        }  # fmt: skip
        return {**detail, **{name: value for name, value in more.items() if value}}

    def _row(self, verdict: Verdict) -> dict[str, Any]:
        unit, decided = verdict.unit, self.outcome(verdict.value)
        return {
            "claim": unit.id,
            "text": unit.text,
            "tokens": round(usual_tokens(unit.text)),
            "part": unit.part,
            "confidence": unit.confidence,
            "verdict": decided and {"PASSED": "ACCEPTED", "FAILED": "REJECTED"}[decided],
            "raw_score": verdict.raw,
        }


def response_sentences(record: Record) -> tuple[Unit, ...]:
    """Return the sentences of the response as units with their spans."""
    return sentences_of(record, "response")


def sentences_of(record: Record, source: Source) -> tuple[Unit, ...]:
    """Return the sentences of the response or the reference as units with their spans."""
    text = getattr(record, source) or ""
    name = CLAIM[source].replace("claim", "sentence")
    return tuple(
        Unit(f"{record.id}/{name}/{n}", "sentence", text[span.start : span.end], span)
        for n, span in enumerate(sentences(text), 1)
    )


def write_claims(
    record: Record, part_tokens: int, max_claims: int, sources: Sequence[Source] = ("response",)
) -> Flow[tuple[ClaimSet, ...]]:
    """Ask for the claims of each text, with all its parts at once.

    Duplicate claims count once. ``max_claims`` is applied after writing, so that the number of omitted claims is known.
    If a part fails, the claims of the others are kept, and ``failure`` says why.
    """
    asked = [_parts_of(record, part_tokens, source) for source in sources]
    every = [question for questions in asked for question in questions]
    answers = iter((yield from ask(*every)) if every else ())
    return tuple(
        _claims(record, source, [next(answers) for _ in questions], max_claims)
        for source, questions in zip(sources, asked, strict=True)
    )


def _parts_of(record: Record, part_tokens: int, source: Source) -> list[Write]:
    text = getattr(record, source) or ""
    units = sentences_of(record, source)
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
                response=text if source == "response" else "",
            )
        )
    return questions


def _claims(record: Record, source: Source, answers: Sequence[Written], max_claims: int) -> ClaimSet:
    """Return the unique claims of the answers; those of a reference get no span, since it would mean the response."""
    written = [unit for answer in answers for unit in answer.units]
    unique: dict[str, Unit] = {}
    for unit in written:
        unique.setdefault(" ".join(unit.text.casefold().split()), unit)
    kept = list(unique.values())
    taken = kept[:max_claims] if max_claims else kept
    if source == "reference":
        taken = [replace(unit, span=None, parent=None) for unit in taken]
    failures = dict.fromkeys(answer.failure for answer in answers if answer.failure)
    return ClaimSet(
        tuple(replace(unit, id=f"{record.id}/{CLAIM[source]}/{n}") for n, unit in enumerate(taken, 1)),
        "; ".join(failures),
        len(written) - len(kept),
        len(kept) - len(taken),
    )
