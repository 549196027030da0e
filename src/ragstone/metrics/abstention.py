"""Abstention: whether a response gives a supported answer when it can, and abstains when it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.claimset import write_claims
from ragstone.metrics.passages import passage_relevance
from ragstone.metrics.words import ANSWERS, MetricWords, labels
from ragstone.questions import ANSWERED, GRADE_0_3, YES_NO
from ragstone.stats.means import reaches
from ragstone.types import NOTHING, Record, Score, Span, Status, Unit, Verdict

COLUMNS: Final = ("answered_supported", "answered_unsupported", "abstained_rightly", "abstained_wrongly")
ANSWERED_COLUMNS: Final = COLUMNS[:2]

UNKNOWN: Final = (
    "shares words with the question, so it may contain the answer; add the field answerable or use a language model"
)
"""End of the reason, after the passage, why it is unknown whether an abstention is wrong."""


class Placement(NamedTuple):
    """The possible columns of a response; if there are several, ``status`` and ``reason`` explain why."""

    columns: tuple[str, ...] = COLUMNS
    reason: str = ""
    status: Status = "judge_failed"
    detail: Mapping[str, Any] = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AbstentionRates(Metric):
    """The rates of supported answers, unsupported answers, right abstentions and wrong abstentions; their sum is 1.

    ``support``: minimum share of supported claims for an answer to count as supported. ``level``: minimum grade (0-3)
    of a passage for the question to count as answerable, for records without ``answerable``.
    """

    name = "abstention"
    title = "whether the system gives a supported answer when it can, and abstains when it cannot"
    needs = ("question", "response")
    asks = ("claims", "support", "relevance")
    scales = MappingProxyType({"support": (YES_NO,), "relevance": (ANSWERED, GRADE_0_3)})
    suites = ("abstention",)
    columns = COLUMNS
    lower_is_better = ("answered_unsupported", "abstained_wrongly")
    exclusive = True
    calls = 3
    source = "Ragstone; based on the four outcomes of selective question answering"
    group = ANSWERS
    synonyms: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("refusal", "rejection", "noise_robustness", "negative_rejection", "unanswerable"), ""
    )
    rank = 35
    words = MetricWords(
        labels=labels("answers", "answers in part", "abstains", "abstains"),
        titles={
            "answered_supported": "share of responses that answer with support in the passages",
            "answered_unsupported": "share of responses that answer without support",
            "abstained_rightly": "share of responses that abstain when no answer is possible",
            "abstained_wrongly": "share of responses that abstain although an answer is possible",
        },
    )
    least = MappingProxyType({"level": 1})
    most = MappingProxyType({"support": 1.0})
    scale = ANSWERED

    support: float = 0.6
    level: int = 2

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Ask whether the response answers; if so, whether it is supported, else whether an answer was possible."""
        text = record.response or ""
        unit = Unit(f"{record.id}/abstention/1", "response", text, Span(0, len(text)))
        (rated,) = yield from ask(self.rate(record, "relevance", (unit,), ANSWERED))
        (verdict,) = rated.verdicts
        if verdict.unjudged:
            placed = Placement(reason=verdict.failure or "no answer")
        elif (verdict.value or 0.0) >= 0.5:  # for a panel: at least half of it
            placed = yield from self._answered(record)
        else:
            placed = yield from self._abstained(record)
        return self.together(self._score(record, column, placed, verdict) for column in COLUMNS)

    def _answered(self, record: Record) -> Flow[Placement]:
        """Place an answer by its share of supported claims, asking the same questions as grounding."""
        (claims,) = yield from write_claims(record, 400, 0)
        if not claims.units:
            if claims.failure:
                return Placement(ANSWERED_COLUMNS, f"claims not extracted: {claims.failure}")
            return Placement(reason="the response answers but makes no claims", status="empty")
        if record.contexts is None:
            return Placement(ANSWERED_COLUMNS, "no contexts", "missing_field")
        if not record.passages:  # the retriever found nothing
            return Placement(COLUMNS[1:2], detail={"claims": len(claims.units), "supported": 0.0})
        (rated,) = yield from ask(self.rate(record, "support", claims.units, YES_NO))
        share = self.mean_score(record, rated.verdicts, incomplete=claims.incomplete)
        if share.low is None or share.high is None:
            return Placement(reason="the response answers but makes no claims", status="empty")
        possible = {COLUMNS[0 if reaches(bound, self.support) else 1]: None for bound in (share.low, share.high)}
        if len(possible) > 1:
            return Placement(ANSWERED_COLUMNS, share.reason)
        assert share.value is not None
        return Placement(tuple(possible), detail={"claims": len(claims.units), "supported": round(share.value, 9)})

    def _abstained(self, record: Record) -> Flow[Placement]:
        """Place an abstention: an answer was possible if the record says so or a passage is relevant."""
        answerable, by = record.answerable, "record"
        if answerable is None:
            by, answerable = "context_relevance", False
            if record.passages:
                (rated,) = yield from ask(passage_relevance(record))
                # Grades by words only count shared words: a passage with a low one may answer in other words.
                relevant = [one for one in rated.verdicts if one.raw and (one.by_words or one.raw >= self.level)]
                answerable = any(not one.by_words for one in relevant)
                missed = [one.failure for one in rated.verdicts if one.unjudged]
                said = f"{len(missed)} of {len(rated.verdicts)} passages unjudged: {missed[0]}" if missed else ""
                said = f"passage {relevant[0].unit.parent} {UNKNOWN}" if relevant else said
                if said and not answerable:
                    return Placement(COLUMNS[2:], said)
        return Placement(
            COLUMNS[3:] if answerable else COLUMNS[2:3], detail={"answerable": answerable, "answerable_by": by}
        )

    def _score(self, record: Record, column: str, placed: Placement, verdict: Verdict) -> Score:
        common: dict[str, Any] = {
            "asked": 1, "unjudged": int(verdict.unjudged), "verdicts": (verdict,), "detail": placed.detail,
        }  # fmt: skip
        if column in placed.columns and len(placed.columns) > 1:
            return self.without_value(record, placed.status, placed.reason, column=column, **common)
        which = placed.columns[0].replace("_", " ") if len(placed.columns) == 1 else "abstained"
        reason = which if column == COLUMNS[0] else ""
        return self.exact(record, float(column in placed.columns), column=column, reason=reason, **common)
