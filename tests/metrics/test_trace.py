"""TRACe: eight columns from one labelling, the sentence map, and what is absent where nothing is relevant."""

from __future__ import annotations

from typing import Any

import pytest
from material import DOWN, columns, record

from ragstone.metrics import find
from ragstone.questions import Traced, key_of
from ragstone.types import Citation, Record, Score, Span

FIRST, SECOND = "doc_0_s0", "doc_0_s1"
CONTEXTS = ("Steel is hard. It rusts.", "Water boils.")
RESPONSE = "Steel rusts. It is hard."


def about(**more: Any) -> Record:
    return record(more.pop("response", RESPONSE), *more.pop("contexts", CONTEXTS), **more)


def trace(relevant: Any, utilized: Any, support: Any, of: Record | None = None, **parameters: Any) -> dict[str, Score]:
    script = {"trace": {"relevant": relevant, "utilized": utilized, "support": support}}
    scores, asked = columns(find("trace")().with_parameters(parameters), of or about(), script)
    assert len(asked) == 1
    return scores


def values(scores: dict[str, Score]) -> dict[str, float | None]:
    return {name: None if score.value is None else round(score.value, 4) for name, score in scores.items()}


def test_the_first_worked_numbers() -> None:
    """R {d0s0, d0s1, d1s0}, U {d0s0, d0s1}, both sentences supported: .15, .667, .667, 1."""
    scores = trace(
        ["doc_0_s0", "doc_0_s1", "doc_1_s0"], ["doc_0_s0", "doc_0_s1"], {"resp_s0": [FIRST], "resp_s1": [SECOND]}
    )
    found = values(scores)
    assert (found["relevance"], found["utilization"], found["completeness"], found["adherence"]) == (
        0.15, 0.6667, 0.6667, 1.0,
    )  # fmt: skip
    assert (found["relevance_share"], found["utilization_share"], found["adherence_share"]) == (1.0, 0.6667, 1.0)
    support = {"resp_s0": [FIRST], "resp_s1": [SECOND]}
    found = values(trace([FIRST, SECOND], [FIRST, SECOND], support))
    assert (found["relevance"], found["utilization"], found["average"]) == (0.1, 1.0, 0.775)
    for normaliser, relevance in ((1, 1.0), (6, 0.3333)):
        scores = trace([FIRST, SECOND], [FIRST, SECOND], support, normaliser=normaliser)
        assert values(scores)["relevance"] == relevance


def test_nothing_relevant_leaves_use_and_completeness_absent() -> None:
    """Use of more than is relevant is all of it."""
    scores = trace([], [FIRST], {"resp_s0": [FIRST], "resp_s1": []})
    assert (scores["relevance"].value, scores["relevance_share"].value) == (0.0, 0.0)
    for name in ("utilization", "completeness", "average"):
        assert (scores[name].value, scores[name].status) == (None, "empty")
        assert scores[name].reason == "no sentence is relevant"
    assert scores["utilization_share"].value == pytest.approx(1 / 3)
    assert (scores["adherence"].value, scores["adherence_share"].value) == (0.0, 0.5)
    found = values(trace([FIRST], ["doc_0_s0", "doc_0_s1", "doc_1_s0"], {"resp_s0": [FIRST], "resp_s1": [FIRST]}))
    assert (found["utilization"], found["completeness"], found["utilization_share"]) == (1.0, 1.0, 1.0)


def test_keys_that_no_sentence_has_count_nowhere_and_are_told() -> None:
    def made_up(question: Any) -> Traced:
        verdicts = trace([], [], {"resp_s0": [FIRST], "resp_s1": [FIRST]})["adherence"].verdicts
        return Traced((FIRST, "doc_9_s9"), ("doc_8_s8", FIRST), verdicts, ((FIRST, "doc_7_s7"), (FIRST,)))

    scores, _ = columns(find("trace")(), about(), made_up)
    found = values(scores)
    assert (found["relevance"], found["relevance_share"], found["utilization_share"]) == (0.05, 0.3333, 0.3333)
    assert (found["utilization"], found["completeness"]) == (1.0, 1.0)
    assert scores["adherence"].detail["dropped"] == ["doc_9_s9", "doc_8_s8"]
    assert scores["adherence"].detail["response"][0]["support"] == [FIRST]


@pytest.mark.parametrize(
    ("length", "relevance", "adherence"),
    [("sentences", 1 / 3, 1 / 2), ("characters", 14 / 35, 12 / 23), ("tokens", 3 / 7, 2 / 5)],
)
def test_shares_by_sentences_characters_or_tokens(length: str, relevance: float, adherence: float) -> None:
    """Only the shares change with the length."""
    support: dict[str, list[str]] = {"resp_s0": [FIRST], "resp_s1": []}
    scores = trace([FIRST], [FIRST], support, length=length)
    assert scores["relevance_share"].value == pytest.approx(relevance)
    assert scores["adherence_share"].value == pytest.approx(adherence)
    assert scores["relevance"].value == 1 / 20


def test_an_ideograph_is_a_token() -> None:
    """No blanks part words in Chinese: without this each sentence, however long, would be one."""
    chinese = about(contexts=("北京很大。猫坐在垫子上睡觉。",), response="北京很大。")
    scores = trace([FIRST], [FIRST], {"resp_s0": [FIRST]}, chinese, length="tokens")
    assert scores["relevance_share"].value == pytest.approx(4 / 12)


def test_an_unjudged_sentence_leaves_the_share_and_widens_adherence() -> None:
    """The average says how far the sentence could move it: of four parts adherence is one."""
    scores = trace([FIRST], [FIRST], {"resp_s0": [FIRST]})
    one = scores["adherence"]
    assert (one.value, one.low, one.high, one.status, one.unjudged) == (1.0, 0.0, 1.0, "partial", 1)
    share = scores["adherence_share"]
    assert (share.value, share.low, share.high) == (1.0, 0.5, 1.0)
    worst = trace([FIRST], [FIRST], {"resp_s0": []})["adherence"]
    assert (worst.value, worst.low, worst.high) == (0.0, 0.0, 0.0)
    found = trace([FIRST], [FIRST], {"resp_s0": [FIRST]})["average"]
    assert (found.status, found.asked, found.unjudged) == ("partial", 2, 1)
    assert found.reason.startswith("1 of 2 unjudged")
    assert (found.value, found.low, found.high) == pytest.approx(((0.05 + 3) / 4, (0.05 + 2) / 4, (0.05 + 3) / 4))


def test_what_the_judge_did_not_say_is_a_failure_of_its_columns_alone() -> None:
    scores = trace(None, [FIRST], {"resp_s0": [FIRST], "resp_s1": [FIRST]})
    failed = {name for name, score in scores.items() if score.status == "judge_failed"}
    assert failed == {"relevance", "relevance_share", "utilization", "completeness", "average"}
    assert scores["adherence"].value == 1.0
    scores = trace([FIRST], None, {"resp_s0": [FIRST], "resp_s1": [FIRST]})
    assert {name for name, score in scores.items() if score.status == "judge_failed"} == {
        "utilization", "completeness", "utilization_share", "average",
    }  # fmt: skip


def test_a_word_on_the_whole_counts_where_no_sentence_was_judged() -> None:
    """People may say of a response only whether all of it is supported."""

    def people(question: Any) -> Traced:
        answer = Traced((FIRST,), (FIRST,), (), ((), ()), overall=False)
        verdicts = trace([FIRST], [FIRST], {}, about())["adherence"].verdicts
        return Traced(answer.relevant, answer.utilized, verdicts, answer.support, overall=False)

    scores, _ = columns(find("trace")(), about(), people)
    assert (scores["adherence"].value, scores["adherence"].status) == (0.0, "scored")
    assert (scores["adherence_share"].value, scores["adherence_share"].status) == (None, "judge_failed")
    assert [score.detail["overall"] for score in scores.values() if score.detail] == [False], "kept, though it is no"


def asked(of: Record) -> Any:
    _, questions = columns(find("trace")(), of, {"trace": DOWN})
    (question,) = questions
    return question


def test_sentences_are_keyed_from_zero_and_keep_their_place() -> None:
    question = asked(about())
    assert [key_of(unit) for unit in question.sentences] == ["doc_0_s0", "doc_0_s1", "doc_1_s0"]
    assert [unit.parent for unit in question.sentences] == ["p1", "p1", "p2"]
    assert [key_of(unit) for unit in question.response] == ["resp_s0", "resp_s1"]
    for unit in question.sentences:
        text = CONTEXTS[0] if unit.parent == "p1" else CONTEXTS[1]
        assert text[unit.span.start : unit.span.end] == unit.text
    blank = about(contexts=("One.", " ", "Two."))
    assert [key_of(unit) for unit in asked(blank).sentences] == ["doc_0_s0", "doc_2_s0"], "a blank one keeps its number"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two!\r\nThree?", 3),
        ("# Heading\n\n- an item\n- another item\n", 3),
        ("Dr. Smith paid 3.5 million. He left.", 2),
        ("```\nx = 1\ny = 2\n```\nThat is code.", None),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", None),
        ("Это первое. Это второе.", 2),
        ("これは一つ目です。これは二つ目です。", 2),
    ],
)
def test_any_text_is_taken_apart_without_loss(text: str, count: int | None) -> None:
    """Whatever the language and form, sentences stand in their order where they say, and nothing readable is lost."""
    units = asked(about(contexts=(text,))).sentences
    assert count is None or len(units) == count
    covered = "".join(unit.text for unit in units)
    assert [c for c in covered if not c.isspace()] == [c for c in text if not c.isspace()]


def divided(*own: Any) -> list[tuple[str, str]]:
    """Keys and texts where the first passage came with these sentences."""
    question = asked(about(meta={"context_details": {"p1": {"sentences": list(own)}}}))
    return [(key_of(unit), unit.text) for unit in question.sentences]


def test_a_division_that_came_with_the_record_is_kept() -> None:
    other = ("doc_1_s0", "Water boils.")
    assert divided("Steel is", "hard. It rusts.") == [("doc_0_s0", "Steel is"), ("doc_0_s1", "hard. It rusts."), other]
    apart = divided("Steel is soft.", "It\u00a0rusts.")
    assert apart == [("doc_0_s0", "Steel is soft."), ("doc_0_s1", "It rusts."), other], "not there: its own text"
    assert divided(" Steel\n is hard.It", "rusts.")[0] == ("doc_0_s0", "Steel is hard. It"), "blanks do not matter"
    assert divided("Steel is hard. It", " ", "", "rusts.") == [
        ("doc_0_s0", "Steel is hard. It"), ("doc_0_s3", "rusts."), other,
    ], "a blank one keeps its place and is no sentence"  # fmt: skip
    assert divided(1, "rusts.") == divided(" ") == divided("Steel is hard.", "It rusts.")
    question = asked(about(citations=(Citation(Span(0, 24), ()),)))
    assert [unit.text for unit in question.response] == [RESPONSE]


def test_more_sentences_than_can_be_marked_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded whatever the contexts are, and no number is made up."""
    monkeypatch.setattr("ragstone.metrics.trace.SENTENCES", 2)
    scores, questions = columns(find("trace")(), about(), {"trace": {}})
    assert not questions
    assert {(score.value, score.status) for score in scores.values()} == {(None, "judge_failed")}
    assert {score.reason for score in scores.values()} == {"the passages contain more than 2 sentences"}


def test_the_map_says_what_supports_what_and_what_was_left_unused() -> None:
    scores = trace(["doc_0_s0", "doc_1_s0"], ["doc_0_s0", "doc_0_s1"], {"resp_s0": [FIRST, "general"], "resp_s1": []})
    detail = scores["adherence"].detail
    assert [(row["key"], row["relevant"], row["utilized"]) for row in detail["contexts"]] == [
        ("doc_0_s0", True, True), ("doc_0_s1", False, True), ("doc_1_s0", True, False),
    ]  # fmt: skip
    assert [(row["support"], row["special"], row["supported"]) for row in detail["response"]] == [
        ([FIRST], ["general"], True), ([], [], False),
    ]  # fmt: skip
    assert all(not score.detail for name, score in scores.items() if name != "adherence")
