"""Answer correctness: F1 over claims, comparing the response with the reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from ragstone.metrics.base import Flow, ask
from ragstone.metrics.claimset import ClaimMetric, ClaimSet, Source, write_claims
from ragstone.metrics.twotexts import COLUMNS, OTHER, counts_in, kind, side_labels, with_f1
from ragstone.metrics.words import MATCHES_REFERENCE, MetricWords, Sentence
from ragstone.questions import Rated
from ragstone.segment import words_in
from ragstone.types import REFERENCE, RESPONSE, Passage, Record, Score, Span, Verdict

TITLES: Final = {
    "f1": "F1 over claims, comparing the response with the reference",
    "precision": "share of the response's claims that the reference supports",
    "recall": "share of the reference's claims that the response supports",
}
TERSE: Final = 5
"""Maximum words of a text that is judged together with the question: "Canberra." alone states nothing."""
POLAR: Final = re.compile(r"\W*(yes|no|true|false|да|нет|ja|nein|oui|non|sí|sim|não)\b", re.IGNORECASE)
"""The start of a terse text that affirms or denies the question."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AnswerCorrectness(ClaimMetric):
    """Precision is the mean value of the response's claims, judged against the reference.

    Recall is the mean value of the reference's claims, judged against the response. F1 is their harmonic mean.
    """

    name = "answer_correctness"
    title = TITLES["f1"]
    needs = ("response", "reference")
    asks = ("claims", "support")
    suites = ("reference",)
    calls = 4
    columns = COLUMNS
    source = "ragas: answer correctness and factual correctness"
    group = MATCHES_REFERENCE
    elsewhere: ClassVar[Mapping[str, str]] = {"ragas": "answer_correctness, factual_correctness, answer_accuracy"}
    synonyms: ClassVar[Mapping[str, str]] = {"correctness": ""}
    labelled = False
    unit = "compared claim"
    rank = 40
    words = MetricWords(
        side_labels("in", "not in"), TITLES,
        {"f1": Sentence("is the mean F1 of claims in both texts", "{have} a claim not in both", "claim")},
    )  # fmt: skip
    found_words = MetricWords(
        side_labels("found in", "not found in"),
        {
            "f1": "F1 of claims found in the other text",
            "precision": "share of the response's claims found in the reference",
            "recall": "share of the reference's claims found in the response",
        },
        {"f1": Sentence("is the mean F1 of claims found in both texts", "{have} a claim not found in both", "claim")},
    )  # fmt: skip

    @classmethod
    def stands_on(cls, column: str, unit: Mapping[str, Any]) -> bool:
        """Return whether a column counts a claim: precision counts the response's claims, recall the reference's."""
        return counts_in(column, unit)

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Write the claims of both texts, rate them against the other text, and compute the scores."""
        written = yield from write_claims(record, self.part_tokens, self.max_claims, tuple(OTHER))
        claims = {source: _named(record, one, source) for source, one in zip(OTHER, written, strict=True)}
        asked = [source for source in OTHER if claims[source].units]
        if not asked:
            failure = "; ".join(dict.fromkeys(one.failure for one in written if one.failure))
            if failure:
                return self.nothing(record, "judge_failed", f"claims not extracted: {failure}")
            return self.nothing(record, "empty", "response and reference make no claims")
        before = {source: _before(record, source, states=bool(claims[source].units)) for source in OTHER}
        questions = []
        for source in asked:
            by = OTHER[source]
            text = Passage({"response": RESPONSE, "reference": REFERENCE}[by], before[by] + getattr(record, by), 1)
            questions.append(self.rate(record, "support", claims[source].units, self.scale, passages=(text,)))
        answers = yield from ask(*questions)
        rated = dict(zip(asked, answers, strict=True))
        sides = {
            source: self.claim_score(record, found, _placed(rated[source], before[OTHER[source]]))
            if source in rated
            else self.claimless(record, found, source)
            for source, found in claims.items()
        }
        verdicts = tuple(verdict for side in sides.values() for verdict in side.verdicts)
        joined = ClaimSet((), "", sum(one.duplicates for one in written), sum(one.left_out for one in written))
        return with_f1(self, record, sides, self.rows(joined, Rated(verdicts)))


def _named(record: Record, claims: ClaimSet, source: Source) -> ClaimSet:
    """Return the claims with ids of this metric, since ``context_recall`` rates the same claims by other texts."""
    units = (replace(unit, id=f"{record.id}/{kind(source)}/{n}") for n, unit in enumerate(claims.units, 1))
    return replace(claims, units=tuple(units))


def _before(record: Record, source: Source, *, states: bool) -> str:
    """Return the question to put before a terse text.

    Empty for longer texts, and for "I don't know", which is no claim even after a question.
    """
    text, question = getattr(record, source), (record.question or "").strip()
    polar = POLAR.match(text)
    if words_in(text) > TERSE or not question or not (states or polar):
        return ""
    # Join them into one statement ("What is the capital: Canberra"): the embedded judge treats a question as no
    # statement. But "Is it open: No" would read as a statement that it is open.
    return f"{question}\n" if polar else question.rstrip("?\uff1f ") + ": "


def _placed(rated: Rated, before: str) -> Rated:
    """Return the verdicts with the spans of quotes relative to the text alone, without the question before it."""
    return replace(rated, verdicts=tuple(_moved(one, len(before)) for one in rated.verdicts)) if before else rated


def _moved(verdict: Verdict, by: int) -> Verdict:
    quotes = []
    for quote in verdict.evidence:
        if quote.span is None:
            quotes.append(quote)
        elif quote.span.end > by:
            start = max(quote.span.start, by)
            text = quote.text[start - quote.span.start :]
            quotes.append(replace(quote, span=Span(start - by, quote.span.end - by), text=text))
    return replace(verdict, evidence=tuple(quotes), members=tuple(_moved(one, by) for one in verdict.members))
