"""One question for every template, scale and set of options that a metric asks with."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

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
RANKED = units("passage", *(passage.text for passage in PASSAGES))
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

ASSIGNED = Rate("assign", NUGGETS, SUPPORT_3, QUESTION, ANSWER, evidence=True)
"""What is asked in every style and format of assignment."""
supported = partial(Rate, "support", passages=PASSAGES, evidence=True)
relevant = partial(Rate, "relevance", question=QUESTION)
responded = partial(Rate, "response_support", RESPONSE, GRADE_0_2, passages=PASSAGES, evidence=True)
important = partial(Rate, "importance", NUGGETS, IMPORTANCE, QUESTION)

CASES: dict[str, Question[Any]] = {
    "claims-first_part": Write("claims", "claim", QUESTION, PARTS),
    "claims-later_part": Write("claims", "claim", QUESTION, PARTS, "Bern is the capital.", part=2),
    "support-yes_no-evidence": supported(CLAIMS, YES_NO),
    "support-yes_no-evidence-reasons": supported(CLAIMS, YES_NO, reasons=True),
    "support-scale_1_5-evidence": supported(CLAIMS, LIKERT),
    "support-scale_1_5": supported(CLAIMS, LIKERT, evidence=False),
    "support-grade_0_3-evidence-skippable": supported(SENTENCES, GRADE_0_3, skippable=True),
    "support-grade_0_3-evidence-skippable-reasons": supported(SENTENCES, GRADE_0_3, skippable=True, reasons=True),
    "support-support_contradict-evidence-reasons": supported(CLAIMS, SUPPORT_CONTRADICT, reasons=True),
    "support-support3-evidence-skippable": supported(SENTENCES, SUPPORT_3, skippable=True),
    "relevance-answered-reasons": relevant(RESPONSE, ANSWERED_OR_NOT, reasons=True),
    "response_support-grade_0_2-evidence": responded(),
    "response_support-grade_0_2-evidence-reasons": responded(reasons=True),
    "response_support-grade_0_2-second-evidence": responded(wording=2),
    "response_support-grade_0_2-second-evidence-reasons": responded(wording=2, reasons=True),
    "relevance-passage-grade_0_3": relevant(RANKED, GRADE_0_3),
    "relevance-passage-grade_0_3-evidence-reasons": relevant(RANKED, GRADE_0_3, evidence=True, reasons=True),
    "relevance-response-grade_0_3": relevant(RESPONSE, GRADE_0_3),
    "relevance-response-grade_0_3-reasons": relevant(RESPONSE, GRADE_0_3, reasons=True),
    "relevance-claim-yes_no": relevant(CLAIMS, YES_NO),
    "relevance-nugget-grade_0_3": relevant(NUGGETS, GRADE_0_3),
    "support-nugget-grade_0_3-evidence": supported(NUGGETS, GRADE_0_3),
    "nuggetize-answer-first_round": Write("nuggetize", "nugget", QUESTION, PARTS, most=30),
    "nuggetize-answer-later_round": Write("nuggetize", "nugget", QUESTION, PARTS, known=LISTED, most=30),
    "nuggetize-passages-first_window": Write("nuggetize", "nugget", QUESTION, passages=PASSAGES, most=30),
    "nuggetize-passages-later_window": Write(
        "nuggetize", "nugget", QUESTION, passages=PASSAGES, known=LISTED[:1], most=30,
    ),
    "importance": important(),
    "importance-reasons": important(reasons=True),
    "assign-support3-evidence": ASSIGNED,
    "assign-support3-evidence-reasons": replace(ASSIGNED, reasons=True),
    "assign-support3": Rate("assign", NUGGETS[:1], SUPPORT_3, "", ANSWER),
    "assign-support2-evidence": replace(ASSIGNED, scale=SUPPORT_2),
    "trace": Trace("trace", QUESTION, TRACED, ANSWERED),
    "rubric-evidence-reasons": Rate(
        "rubric", CRITERIA, YES_NO, QUESTION, PASSAGES, evidence=True, reasons=True, response="Bern, I think.",
        reference="Bern", history=EarlierTurns((EarlierTurn("user", "Where do you live?"),)),
    ),
    "rubric": Rate("rubric", CRITERIA[:1], YES_NO, response="Bern, I think."),
    "rubric-steps": Write("rubric", "step", "", criterion=CRITERIA[0], fields=("question", "response"), most=10),
    "relevance-claim-scale_1_5-reasons": relevant(CLAIMS, LIKERT, reasons=True),
}  # fmt: skip

STYLED: dict[str, Question[Any]] = {
    "support": supported(SENTENCES, YES_NO, skippable=True),
    "relevance": relevant(CLAIMS, GRADE_0_3),
    "importance": important(),
    "support-three_way": supported(SENTENCES, SUPPORT_3, evidence=False, skippable=True),
    "relevance-answered": relevant(RESPONSE, ANSWERED_OR_NOT),
    "response_support": responded(evidence=False),
    "response_support-second": responded(evidence=False, wording=2),
}
"""What is asked in the other styles that a step has."""
