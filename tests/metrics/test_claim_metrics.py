"""Claim metrics, the RAG triad and contradictions: each unit asked about once, with its own verdict."""

from __future__ import annotations

from typing import Any, cast

import pytest
from material import CONTEXTS, DOWN, QUESTION, RESPONSE, Script, claims, columns, metric, passages, record, weigh
from msgspec.structs import replace

from ragstone import check, evaluate
from ragstone.judges.base import Failed
from ragstone.metrics import find
from ragstone.metrics.base import Metric
from ragstone.questions import GRADE_0_3, LIKERT, SUPPORT_CONTRADICT, YES_NO, Rate, Rated, Write, Written
from ragstone.testing import ScriptedJudge
from ragstone.types import Record, Score, Span, Unit, Verdict

BOTH = pytest.mark.parametrize("name", ["grounding", "claim_relevance"])
THREE = ["The kettle is steel.", "It boils fast.", "It costs ten."]
LONG = " ".join(
    f"The part number {n} of the machine is described in this rather long sentence here." for n in range(40)
)


def script(claims: Any, labels: Any) -> Script:
    return {"claims": claims, "support": labels, "relevance": labels}


def rows(score: Score) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = score.detail["claims"]
    return found


def rated(asked: list[Any]) -> list[Any]:
    return [question for question in asked if isinstance(question, Rate)]


def written(asked: list[Any]) -> list[Any]:
    return [question for question in asked if isinstance(question, Write)]


@BOTH
def test_worked_numbers(name: str) -> None:
    """Raws 4, 1, 5 are .75, 0, 1: the mean is .5833, the second is REJECTED, the metric FAILED at 0.6."""
    score, _ = weigh(metric(name, scoring_mode="scale_1_5"), record(), script(THREE, ["4", "1", "5"]))
    assert [verdict.value for verdict in score.verdicts] == [0.75, 0.0, 1.0]
    assert score.value == pytest.approx(0.5833, abs=5e-5)
    assert [row["verdict"] for row in rows(score)] == ["ACCEPTED", "REJECTED", "ACCEPTED"]
    assert [row["raw_score"] for row in rows(score)] == [4, 1, 5]
    assert (score.detail["accepted"], score.detail["rejected"], score.outcome) == (2, 1, "FAILED")


@pytest.mark.parametrize(
    ("mode", "scale"),
    [("binary_yes_no", YES_NO), ("binary", YES_NO), ("yes_no", YES_NO), ("scale_1_5", LIKERT), ("likert", LIKERT)],
)
@BOTH
def test_the_mode_chooses_the_scale(name: str, mode: str, scale: Any) -> None:
    _, asked = weigh(metric(name, scoring_mode=mode), record(), script(THREE, scale.labels[-1]))
    assert [question.scale for question in rated(asked)] == [scale]


@pytest.mark.parametrize(("claim", "tokens"), [("It boils fast within two minutes.", 8), ("北京是中国的首都。", 8)])
def test_a_row_has_the_length_of_its_claim_in_tokens(claim: str, tokens: int) -> None:
    score, _ = weigh(metric(), record(), script([claim], "yes"))
    assert [row["tokens"] for row in rows(score)] == [tokens]


def test_a_mean_reaches_the_threshold_that_it_is_written_as() -> None:
    """.4, 1 and 1 of a panel of five are .8, though their sum in binary is a hair less."""
    values = (0.4, 1.0, 1.0)

    def panel(question: Any) -> Any:
        if isinstance(question, Write):
            return [f"Claim {n}." for n in range(3)]
        return Rated(tuple(Verdict(u, "yes", v, "panel") for u, v in zip(question.units, values, strict=True)))

    score, _ = weigh(metric(threshold=0.8), record(), panel)
    assert score.value < 0.8
    assert (round(score.value, 9), score.outcome) == (0.8, "PASSED")
    values = (0.7999999999999999, 1.0, 1.0)
    assert rows(weigh(metric(threshold=0.8), record(), panel)[0])[0]["verdict"] == "ACCEPTED", "so does one claim"
    values = (0.4, 1.0, 1.0)
    assert weigh(metric(threshold=0.801), record(), panel)[0].outcome == "FAILED"


@pytest.mark.parametrize(("threshold", "decision"), [(0.75, "ACCEPTED"), (0.76, "REJECTED"), (0.0, "ACCEPTED")])
def test_a_claim_is_accepted_at_its_threshold(threshold: float, decision: str) -> None:
    score, _ = weigh(metric(scoring_mode="likert", threshold=threshold), record(), script(["One."], "4"))
    assert [row["verdict"] for row in rows(score)] == [decision]
    assert score.outcome == {"ACCEPTED": "PASSED", "REJECTED": "FAILED"}[decision]


def test_grounding_holds_claims_against_all_contexts_and_relevance_against_the_question() -> None:
    """One rating of all claims, with evidence, against every context that holds text; grounding needs no question."""
    about = record(None, CONTEXTS[0], " ", CONTEXTS[1])
    _, asked = weigh(metric(), replace(about, response="One. Two."), script(["One.", "Two."], "yes"))
    (question,) = rated(asked)
    assert question.task == "support"
    assert [passage.id for passage in question.passages] == ["p1", "p3"]
    assert (question.evidence, question.skippable, question.question) == (True, False, QUESTION)
    assert [unit.text for unit in question.units] == ["One.", "Two."]
    _, asked = weigh(metric("claim_relevance"), record(), script(THREE, "yes"))
    (question,) = rated(asked)
    assert (question.task, question.question, question.passages, question.evidence) == (
        "relevance", QUESTION, (), False,
    )  # fmt: skip
    about = Record("r", response="One. Two.", contexts=passages("One."))
    score, asked = weigh(metric(), about, script(["One.", "Two."], ["yes", "no"]))
    assert score.value == 0.5
    assert written(asked)[0].question == ""


def test_both_metrics_ask_for_the_claims_in_equal_questions() -> None:
    """Equal questions are one question: the claims of a record are paid once."""
    first = written(weigh(metric("grounding"), record(), script(THREE, "yes"))[1])
    second = written(weigh(metric("claim_relevance", max_claims=2), record(), script(THREE, "yes"))[1])
    assert first == second
    assert len({*first, *second}) == 1


@BOTH
@pytest.mark.parametrize("wanted", [False, True])
def test_reasons_are_asked_for_on_request(name: str, wanted: bool) -> None:
    _, asked = weigh(metric(name, include_reasoning=wanted), record(), script(THREE, "yes"))
    assert [question.reasons for question in rated(asked)] == [wanted]


def test_the_reason_for_all_claims_is_kept() -> None:
    """``include_reasoning`` asks for one reason for the batch: it becomes the score's."""

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return ["One."]
        return Rated((Verdict(question.units[0], "yes", 1.0, "j", raw=1, reason="it says so"),), "all is there")

    score, _ = weigh(metric(include_reasoning=True), record(), answer)
    assert (score.reason, score.verdicts[0].reason) == ("all is there", "it says so")
    assert score.detail["reasoning"] == ["One.: it says so", "all is there"]
    assert "reasoning" not in weigh(metric(), record(), answer)[0].detail


@BOTH
def test_every_part_of_a_long_response_is_asked(name: str) -> None:
    """Parts of about ``part_tokens`` tokens hold all sentences, in order, none twice, and know what came before."""
    assert len(written(weigh(metric(name), record(LONG), script([], "yes"))[1])) == 2
    _, asked = weigh(metric(name, part_tokens=100), record(LONG), script([], "yes"))
    parts = written(asked)
    assert len(parts) > 5
    assert len(written(weigh(metric(name, part_tokens=20), record(LONG), script([], "yes"))[1])) == 40
    sentences = [unit for part in parts for unit in part.sentences]
    assert [unit.id for unit in sentences] == [f"r/sentence/{n}" for n in range(1, 41)]
    assert [part.part for part in parts] == list(range(1, len(parts) + 1))
    assert all(unit.span and LONG[unit.span.start : unit.span.end] == unit.text for unit in sentences)
    assert parts[0].before == ""
    for part in parts[1:]:
        assert 0 < len(part.before) <= 400
        span = part.sentences[0].span
        assert LONG[: span.start].rstrip().endswith(part.before)


def test_no_claim_of_a_long_response_is_dropped() -> None:
    """Forty claims of a long response are all judged, each under its own number and with its part."""

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return [unit.text for unit in question.sentences]
        return "yes"

    score, asked = weigh(metric(), record(LONG), answer)
    assert (score.asked, score.value) == (40, 1.0)
    assert [row["claim"] for row in rows(score)] == [f"r/claim/{n}" for n in range(1, 41)]
    assert [row["text"] for row in rows(score)] == [
        unit.text for part in written(asked) for unit in part.sentences
    ]  # fmt: skip
    assert [row["part"] for row in rows(score)] == [
        part.part for part in written(asked) for _ in part.sentences
    ]  # fmt: skip


@BOTH
def test_a_part_that_cannot_be_read_makes_the_score_partial(name: str) -> None:
    """The claims of the other parts stand, and the reason says that not all are there."""

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return Failed("it timed out") if question.part == 2 else [f"Claim of part {question.part}."]
        return "yes"

    score, asked = weigh(metric(name), record(LONG), answer)
    assert (score.status, score.value, score.unjudged) == ("partial", 1.0, 0)
    assert score.reason == "not all claims: it timed out"
    assert score.detail["extraction_failed"] is True
    assert len(score.verdicts) == len(written(asked)) - 1


@BOTH
def test_failing_to_write_is_not_having_no_claims(name: str) -> None:
    """No claims because the judge failed: judge_failed with its reason. Because there are none: empty."""
    failed, _ = weigh(metric(name), record(), script(Failed("it timed out"), "yes"))
    assert (failed.status, failed.value, failed.reason) == ("judge_failed", None, "claims not extracted: it timed out")
    assert (failed.low, failed.high) == (0.0, 1.0)
    none, asked = weigh(metric(name), record(), script([], "yes"))
    assert (none.status, none.value, none.reason) == ("empty", None, "the response makes no claims")
    assert rated(asked) == []


def test_claims_that_are_there_though_something_failed_are_used() -> None:
    """An answer with units and a failure is both: what was written is judged, the rest is said to be missing."""
    unit = Unit("claim/1", "claim", "One.", part=1)
    score, _ = weigh(metric(), record(), script(Written((unit,), "cut off"), "yes"))
    assert (score.status, score.value, score.reason) == ("partial", 1.0, "not all claims: cut off")


@pytest.mark.parametrize("again", ["One.", " one. ", "ONE.", "O ne."])
def test_a_claim_that_is_written_twice_counts_once(again: str) -> None:
    """Case and blanks do not make another claim; how many were left out is said."""
    score, _ = weigh(metric(), record(), script(["One.", "Two.", again], "yes"))
    assert score.detail.get("duplicates", 0) == (0 if again == "O ne." else 1)
    assert [row["text"] for row in rows(score)][:2] == ["One.", "Two."]


def test_the_first_of_two_equal_claims_stays() -> None:
    """It keeps its place, its span and its confidence, even if the judge sends the very same claim again."""
    first = Unit("claim/1", "claim", "One.", Span(0, 4), "r/sentence/1", 0.9, 1)
    other = Unit("claim/2", "claim", "Two.", Span(5, 9), "r/sentence/2", 0.8, 1)
    later = Unit("claim/3", "claim", "one.", Span(5, 9), "r/sentence/2", 0.1, 1)
    score, _ = weigh(metric(), record("One. Two."), script(Written((first, other, first, later)), "yes"))
    assert [(v.unit.id, v.unit.span, v.unit.confidence) for v in score.verdicts] == [
        ("r/claim/1", Span(0, 4), 0.9), ("r/claim/2", Span(5, 9), 0.8),
    ]  # fmt: skip
    assert score.detail["duplicates"] == 2


def test_a_limit_that_is_reached_is_said() -> None:
    """``max_claims`` judges the first so many and says how many it left out."""
    score, _ = weigh(metric(max_claims=2), record(), script([THREE[0], THREE[0].lower(), *THREE[1:]], "yes"))
    assert [row["text"] for row in rows(score)] == THREE[:2], "what is left out as a duplicate does not count"
    assert (score.detail["duplicates"], score.detail["left_out"]) == (1, 1)
    score, _ = weigh(metric(max_claims=3), record(), script(THREE, "yes"))
    assert "left_out" not in score.detail


def test_an_unjudged_claim_is_neither_accepted_nor_rejected() -> None:
    """It leaves the mean, widens low and high, and its row has no verdict; the labels after it do not move up."""
    score, _ = weigh(metric(), record(), script(THREE, ["yes", "maybe", "no"]))
    assert [verdict.value for verdict in score.verdicts] == [1.0, None, 0.0]
    score, _ = weigh(metric(), record(), script(THREE, ["yes", None, "no"]))
    assert score.value == 0.5
    assert [score.low, score.high] == pytest.approx([1 / 3, 2 / 3])
    assert (score.status, score.asked, score.unjudged) == ("partial", 3, 1)
    assert [row["verdict"] for row in rows(score)] == ["ACCEPTED", None, "REJECTED"]
    assert rows(score)[1]["raw_score"] is None
    assert (score.detail["accepted"], score.detail["rejected"]) == (1, 1)


def test_a_row_tells_what_a_reader_needs() -> None:
    unit = Unit("claim/9", "claim", "The kettle is steel.", Span(0, 20), "r/sentence/1", 0.7, 1)
    score, _ = weigh(metric(), record(), script(Written((unit,)), "yes"))
    assert rows(score) == [
        {
            "claim": "r/claim/1", "text": "The kettle is steel.", "tokens": 5, "part": 1, "confidence": 0.7,
            "verdict": "ACCEPTED", "raw_score": 1,
        }
    ]  # fmt: skip
    assert score.verdicts[0].unit.parent == "r/sentence/1"


@BOTH
def test_a_record_brings_its_own_parameters(name: str) -> None:
    """What a record overrides holds for it alone: mode, threshold, switched off."""
    own = metric(name).overridden({"scoring_mode": "likert", "threshold": 0.4})
    score, _ = weigh(own, record(), script(["One.", "Two."], ["2", "4"]))
    assert (score.value, score.outcome) == (0.5, "PASSED")
    assert metric(name).changed() == {}


SENTENCES = ["The kettle is steel.", "It boils fast.", "It costs ten."]
BY_NAME = pytest.mark.parametrize("name", ["groundedness", "context_relevance", "answer_relevance"])


def only(asked: list[Any]) -> Any:
    (question,) = asked
    assert question.scale == GRADE_0_3
    return question


def test_groundedness_rates_each_sentence_against_all_contexts() -> None:
    """Grades 3, 1, 2 are 1, 1/3, 2/3; the mean is 2/3. Sentences carry where they stand."""
    score, asked = weigh(find("groundedness")(), record(), {"support": ["3", "1", "2"]})
    assert score.value == pytest.approx(2 / 3)
    assert [verdict.raw for verdict in score.verdicts] == [3, 1, 2]
    question = only(asked)
    assert [unit.text for unit in question.units] == SENTENCES
    assert [unit.id for unit in question.units] == [f"r/sentence/{n}" for n in (1, 2, 3)]
    assert [passage.text for passage in question.passages] == list(CONTEXTS)
    assert (question.task, question.evidence, question.skippable, question.reasons) == ("support", True, True, False)
    question = only(weigh(find("groundedness")(), record(), {"support": "3"})[1])
    spans = [unit.span for unit in question.units]
    assert spans == [Span(0, 20), Span(21, 35), Span(36, 49)]
    assert [RESPONSE[span.start : span.end] for span in spans if span] == SENTENCES


def test_trivial_sentences_are_left_out_counted_and_listed() -> None:
    """They leave the denominator; the detail says which they are."""
    score, _ = weigh(find("groundedness")(), record(), {"support": ["trivial", "3", "0"]})
    assert (score.value, score.asked, score.unjudged) == (0.5, 2, 0)
    assert score.detail["trivial"] == ["r/sentence/1"]
    assert len(score.verdicts) == 3


def test_context_relevance_keeps_the_value_of_each_passage() -> None:
    """Each against the question, and their mean; a blank one is left out, an unjudged one has no value, ranks stay."""
    score, asked = weigh(find("context_relevance")(), record(), {"relevance": ["3", "1"]})
    assert score.value == pytest.approx(2 / 3)
    assert score.detail["passages"] == {"p1": 1.0, "p2": pytest.approx(1 / 3)}
    question = only(asked)
    assert (question.task, question.question, question.passages) == ("relevance", QUESTION, ())
    assert [(unit.id, unit.parent, unit.text) for unit in question.units] == [
        ("r/passage/1", "p1", CONTEXTS[0]), ("r/passage/2", "p2", CONTEXTS[1]),
    ]  # fmt: skip
    score, asked = weigh(find("context_relevance")(), record("A.", " ", "Text."), {"relevance": "3"})
    assert [unit.id for unit in only(asked).units] == ["r/passage/2"]
    assert score.detail["passages"] == {"p2": 1.0}
    score, _ = weigh(find("context_relevance")(), record(), {"relevance": ["3", None]})
    assert (score.value, score.status) == (1.0, "partial")
    assert score.detail["passages"] == {"p1": 1.0, "p2": None}


@pytest.mark.parametrize(("grade", "value"), [("0", 0.0), ("1", 1 / 3), ("2", 2 / 3), ("3", 1.0)])
def test_answer_relevance_grades_the_whole_response(grade: str, value: float) -> None:
    score, asked = weigh(find("answer_relevance")(), record(), {"relevance": grade})
    assert score.value == pytest.approx(value)
    question = only(asked)
    assert (question.task, question.question) == ("relevance", QUESTION)
    assert [(unit.id, unit.level, unit.text, unit.span) for unit in question.units] == [
        ("r/response/1", "response", RESPONSE, Span(0, len(RESPONSE)))
    ]


@BY_NAME
def test_reasons_and_a_threshold_are_set_on_request(name: str) -> None:
    script = {"support": "3", "relevance": "3"}
    score, asked = weigh(find(name)(), record(), script)
    assert (only(asked).reasons, score.outcome, "trivial" in score.detail) == (False, None, False)
    assert weigh(find(name)().with_parameters({"threshold": 0.9}), record(), script)[0].outcome == "PASSED"
    assert only(weigh(find(name)().with_parameters({"reasons": True}), record(), script)[1]).reasons is True


MODE = {"scoring_mode": "support_contradict"}
LABELS = ["supported", "contradicted", "not_mentioned", None]


def made(name: str, **more: Any) -> Metric:
    return metric(name, **MODE, **more)


def test_the_share_contradicted_stands_beside_the_value() -> None:
    """Of four claims one is supported, one contradicted, one missing and one unjudged: 1/3 each, 1/4 to 2/4."""
    scores, asked = columns(made("grounding"), record(), claims(LABELS))
    own, share = scores["grounding"], scores["contradicted"]
    assert (own.value, own.low, own.high) == (1 / 3, 1 / 4, 2 / 4)
    assert (share.value, share.low, share.high, share.status) == (1 / 3, 1 / 4, 2 / 4, "partial")
    assert (share.asked, share.unjudged, share.verdicts_in, share.outcome) == (4, 1, "grounding", None)
    assert [row["verdict"] for row in own.detail["claims"]] == ["ACCEPTED", "REJECTED", "REJECTED", None]
    assert [q.scale for q in asked if isinstance(q, Rate)] == [SUPPORT_CONTRADICT]


def test_missing_claims_and_an_unjudged_one_leave_the_share_open() -> None:
    """A part whose claims could not be written may hold any number of contradicted ones."""

    def answer(question: Any) -> Any:
        if isinstance(question, Write):
            return ["One.", "Two.", "Three."] if question.part == 1 else DOWN
        return ["supported", "contradicted", None]

    scores, _ = columns(made("grounding", part_tokens=10), record("It is steel, and heavy, and loud. " * 5), answer)
    assert {(score.status, score.low, score.high) for score in scores.values()} == {("partial", 0.0, 1.0)}


def test_sentences_that_state_nothing_count_in_neither() -> None:
    scores, _ = columns(made("groundedness"), record(), {"support": ["trivial", "contradicted", "supported"]})
    assert (scores["groundedness"].value, scores["contradicted"].value) == (0.5, 0.5)


@pytest.mark.parametrize("name", ["grounding", "groundedness"])
def test_without_the_scale_there_is_one_score(name: str) -> None:
    assert find(name)().gives() == ("",)
    assert made(name).gives() == ("", "contradicted")


def test_nothing_to_judge_is_as_good_or_bad_as_on_empty_says() -> None:
    """``one`` is the best value, which is 0 for what should not be."""
    scores, _ = columns(made("groundedness", on_empty="one"), record(" "), {})
    assert (scores["groundedness"].value, scores["contradicted"].value) == (1.0, 0.0)
    scores, _ = columns(made("grounding"), record(), claims([]))
    assert (scores["contradicted"].status, scores["contradicted"].value) == ("empty", None)


def test_the_embedded_judge_names_what_differs() -> None:
    """A fact that the passages state differently is contradicted, one that they lack is not mentioned."""
    row = {
        "id": "mill", "question": "When?", "contexts": ["Anna Holm built the mill in 1712."],
        "response": "Anna Holm built the mill in 1742. The miller kept two cats. Anna Holm built the mill.",
    }  # fmt: skip
    run = evaluate([row], "groundedness", parameters={"groundedness": MODE})
    own, share = run["mill"]["scores"]
    assert [verdict["label"] for verdict in own["verdicts"]] == ["contradicted", "not_mentioned", "supported"]
    assert own["verdicts"][0]["reason"].startswith("contradicted: says 1742; passage 1 says 1712")
    assert share["value"] == own["value"] == pytest.approx(1 / 3, abs=1e-6)


def test_a_run_fails_where_too_much_is_contradicted() -> None:
    """A column's name alone is that of every metric; the units named are the contradicted ones."""
    row = {"id": "r", "question": "What?", "contexts": ["Steel."], "response": RESPONSE}
    run = evaluate(
        [row],
        "groundedness",
        ScriptedJudge({"support": ["contradicted", "not_mentioned", "supported"]}),
        parameters={"groundedness": MODE},
    )
    (decision,) = check(run, max={"contradicted": 0}).decisions
    assert (decision.threshold.metric, decision.outcome) == ("groundedness.contradicted", "failed")
    assert decision.said == "mean 33% over 1 record; required: at most 0%"
    assert [[unit.text for unit in worst.wanting] for worst in decision.worst] == [["The kettle is steel."]]
    assert check(run, max={"contradicted": 0.34}).passed


def test_records_that_fell_out_could_be_contradicted() -> None:
    """A most is not met by luck: with the unjudged record at its worst the mean could be above the limit."""
    rows = [{"id": n, "question": "What?", "contexts": ["Steel."], "response": f"It is {n}."} for n in "ab"]
    judge = ScriptedJudge(lambda q: ["supported" if "a." in unit.text else None for unit in cast("Rate", q).units])
    run = evaluate(rows, "groundedness", judge, parameters={"groundedness": MODE})
    (decision,) = check(run, max={"contradicted": 0.2}).decisions
    assert decision.outcome == "error"
    assert "the mean could be 50%" in decision.notes[0], "said once"
