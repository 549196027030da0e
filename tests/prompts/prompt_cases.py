"""One question for every template, scale and set of options that a metric asks with."""

from __future__ import annotations

from typing import Any

from ragstone.questions import ANSWERED as ANSWERED_OR_NOT
from ragstone.questions import (
    GRADE_0_2,
    GRADE_0_3,
    IMPORTANCE,
    LIKERT,
    SUPPORT_2,
    SUPPORT_3,
    SUPPORT_CONTRADICT,
    YES_NO,
    EarlierTurn,
    EarlierTurns,
    Question,
    Rate,
    Trace,
    Write,
)
from ragstone.types import Level, Passage, Scale, Span, Unit

PASSAGES = (
    Passage("doc-1", "Bern is the capital of Switzerland.\nIt lies on the Aare.", 1),
    Passage("doc-2", 'Zürich is "the largest city" {of Switzerland}.', 2),
)
QUESTION = "What is the capital of Switzerland?"


def units(level: Level, *texts: str) -> tuple[Unit, ...]:
    return tuple(Unit(f"r/{level}/{n}", level, text) for n, text in enumerate(texts, 1))


CLAIMS = units("claim", "Bern is the capital of Switzerland.", "Bern has 130,000 inhabitants.")
SENTENCES = units("sentence", "Here is the answer:", "Bern is the capital.")
RESPONSE = units("response", "Bern is the capital, on the river Aare.")
PARTS = (
    Unit("r/sentence/3", "sentence", "It lies on the Aare.", Span(40, 60)),
    Unit("r/sentence/4", "sentence", "It was founded in 1191, by Berthold V.", Span(61, 99)),
)
NUGGETS = units("nugget", "Bern is the capital of Switzerland", "Bern lies on the Aare")
ANSWER = (Passage("response", "Bern is the capital.\nIt lies on a river.", 1),)
LISTED = ("Bern is the capital of Switzerland", "Zürich is the largest city")
TRACED = (
    Unit("r/doc_0_s0", "sentence", "Bern is the capital of Switzerland.", Span(0, 35), "doc-1"),
    Unit("r/doc_0_s1", "sentence", "It lies\non the Aare.", Span(36, 56), "doc-1"),
    Unit("r/doc_2_s0", "sentence", 'Zürich is "the largest city" {of Switzerland}.', Span(0, 46), "doc-3"),
)
ANSWERED = tuple(
    Unit(f"r/resp_s{n}", "sentence", text) for n, text in enumerate(("Bern is the capital.", "It is on a river."))
)

CRITERIA = (
    Unit("r/criterion/tone", "criterion", "The response is polite.",
         scale=Scale("own", ("rude", "polite"), (0.0, 1.0), (0, 1), ("it insults", "it is\nkind"))),
    Unit("r/criterion/sure", "criterion", "The response commits itself.", scale=YES_NO,
         steps=("Look for hedges.", "Choose the label.")),
)  # fmt: skip

CASES: dict[str, Question[Any]] = {
    "claims-first_part": Write("claims", "claim", QUESTION, PARTS),
    "claims-later_part": Write("claims", "claim", QUESTION, PARTS, "Bern is the capital.", part=2),
    "support-yes_no-evidence": Rate("support", CLAIMS, YES_NO, passages=PASSAGES, evidence=True),
    "support-yes_no-evidence-reasons": Rate("support", CLAIMS, YES_NO, passages=PASSAGES, evidence=True, reasons=True),
    "support-scale_1_5-evidence": Rate("support", CLAIMS, LIKERT, passages=PASSAGES, evidence=True),
    "support-scale_1_5": Rate("support", CLAIMS, LIKERT, passages=PASSAGES),
    "support-grade_0_3-evidence-skippable": Rate(
        "support", SENTENCES, GRADE_0_3, passages=PASSAGES, evidence=True, skippable=True
    ),
    "support-grade_0_3-evidence-skippable-reasons": Rate(
        "support", SENTENCES, GRADE_0_3, passages=PASSAGES, evidence=True, skippable=True, reasons=True
    ),
    "support-support_contradict-evidence-reasons": Rate(
        "support", CLAIMS, SUPPORT_CONTRADICT, passages=PASSAGES, evidence=True, reasons=True
    ),
    "support-support3-evidence-skippable": Rate(
        "support", SENTENCES, SUPPORT_3, passages=PASSAGES, evidence=True, skippable=True
    ),
    "relevance-answered-reasons": Rate("relevance", RESPONSE, ANSWERED_OR_NOT, QUESTION, reasons=True),
    "response_support-grade_0_2-evidence": Rate(
        "response_support", RESPONSE, GRADE_0_2, passages=PASSAGES, evidence=True
    ),
    "response_support-grade_0_2-evidence-reasons": Rate(
        "response_support", RESPONSE, GRADE_0_2, passages=PASSAGES, evidence=True, reasons=True
    ),
    "response_support-grade_0_2-second-evidence": Rate(
        "response_support", RESPONSE, GRADE_0_2, passages=PASSAGES, evidence=True, wording=2
    ),
    "response_support-grade_0_2-second-evidence-reasons": Rate(
        "response_support", RESPONSE, GRADE_0_2, passages=PASSAGES, evidence=True, reasons=True, wording=2
    ),
    "relevance-passage-grade_0_3": Rate(
        "relevance", units("passage", *(passage.text for passage in PASSAGES)), GRADE_0_3, QUESTION
    ),
    "relevance-passage-grade_0_3-evidence-reasons": Rate(
        "relevance",
        units("passage", *(passage.text for passage in PASSAGES)),
        GRADE_0_3,
        QUESTION,
        evidence=True,
        reasons=True,
    ),
    "relevance-response-grade_0_3": Rate("relevance", RESPONSE, GRADE_0_3, QUESTION),
    "relevance-response-grade_0_3-reasons": Rate("relevance", RESPONSE, GRADE_0_3, QUESTION, reasons=True),
    "relevance-claim-yes_no": Rate("relevance", CLAIMS, YES_NO, QUESTION),
    "relevance-nugget-grade_0_3": Rate("relevance", NUGGETS, GRADE_0_3, QUESTION),
    "support-nugget-grade_0_3-evidence": Rate("support", NUGGETS, GRADE_0_3, passages=PASSAGES, evidence=True),
    "nuggetize-answer-first_round": Write("nuggetize", "nugget", QUESTION, PARTS, most=30),
    "nuggetize-answer-later_round": Write("nuggetize", "nugget", QUESTION, PARTS, known=LISTED, most=30),
    "nuggetize-passages-first_window": Write("nuggetize", "nugget", QUESTION, passages=PASSAGES, most=30),
    "nuggetize-passages-later_window": Write(
        "nuggetize", "nugget", QUESTION, passages=PASSAGES, known=LISTED[:1], most=30
    ),
    "importance": Rate("importance", NUGGETS, IMPORTANCE, QUESTION),
    "importance-reasons": Rate("importance", NUGGETS, IMPORTANCE, QUESTION, reasons=True),
    "assign-support3-evidence": Rate("assign", NUGGETS, SUPPORT_3, QUESTION, ANSWER, evidence=True),
    "assign-support3-evidence-reasons": Rate(
        "assign", NUGGETS, SUPPORT_3, QUESTION, ANSWER, evidence=True, reasons=True
    ),
    "assign-support3": Rate("assign", NUGGETS[:1], SUPPORT_3, "", ANSWER),
    "assign-support2-evidence": Rate("assign", NUGGETS, SUPPORT_2, QUESTION, ANSWER, evidence=True),
    "trace": Trace("trace", QUESTION, TRACED, ANSWERED),
    "rubric-evidence-reasons": Rate(
        "rubric",
        CRITERIA,
        YES_NO,
        QUESTION,
        PASSAGES,
        evidence=True,
        reasons=True,
        response="Bern, I think.",
        reference="Bern",
        history=EarlierTurns((EarlierTurn("user", "Where do you live?"),)),
    ),
    "rubric": Rate("rubric", CRITERIA[:1], YES_NO, response="Bern, I think."),
    "rubric-steps": Write("rubric", "step", "", criterion=CRITERIA[0], fields=("question", "response"), most=10),
    "relevance-claim-scale_1_5-reasons": Rate("relevance", CLAIMS, LIKERT, QUESTION, reasons=True),
}

ASSIGNED = Rate("assign", NUGGETS, SUPPORT_3, QUESTION, ANSWER, evidence=True)
"""What is asked in every style and format of assignment."""
STYLED: dict[str, Question[Any]] = {
    "support": Rate("support", SENTENCES, YES_NO, passages=PASSAGES, evidence=True, skippable=True),
    "relevance": Rate("relevance", CLAIMS, GRADE_0_3, QUESTION),
    "importance": Rate("importance", NUGGETS, IMPORTANCE, QUESTION),
    "support-three_way": Rate("support", SENTENCES, SUPPORT_3, passages=PASSAGES, skippable=True),
    "relevance-answered": Rate("relevance", RESPONSE, ANSWERED_OR_NOT, QUESTION),
    "response_support": Rate("response_support", RESPONSE, GRADE_0_2, passages=PASSAGES),
    "response_support-second": Rate("response_support", RESPONSE, GRADE_0_2, passages=PASSAGES, wording=2),
}
"""What is asked in the other styles that a step has."""
