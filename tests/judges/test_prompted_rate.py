"""Rating by a language model: which label goes to which unit, and what happens when there is none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from by_hand import (
    PASSAGES,
    all_of,
    answered,
    body,
    drive,
    graded,
    judge,
    labels,
    numbers,
    rated,
    said,
    support,
    verdicts,
    write,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragstone.judges.base import Call, Failed, Judge, Reply
from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec
from ragstone.prompts.choice import Choice
from ragstone.questions import GRADE_0_2, GRADE_0_3, LIKERT, YES_NO, Question, Rate, Rated
from ragstone.types import TRIVIAL, Passage, Span, Unit

NOTHING = '{"verdicts": {}}'
CUT = Reply('{"verdicts": {"1": {"label": "yes"}, "2": {"la', finish="length")

# ---- batches


@pytest.mark.parametrize(
    ("wanted", "room", "sizes"),
    [
        ({}, 4096, [20, 5]),
        ({"reasons": True, "evidence": True}, 4096, [20, 5]),
        ({"reasons": True, "evidence": True}, 1700, [10, 10, 5]),  # a reply has room for ten verdicts twice as long
        ({}, 16, [1] * 25),
        ({"batch": 25}, 16, [25]),
        ({"batch": "all"}, 16, [25]),
        ({"batch": 10}, 4096, [10, 10, 5]),
    ],
)
def test_units_are_asked_about_all_at_once_in_batches_as_wanted_else_as_replies_have_room(
    wanted: dict[str, Any], room: int, sizes: list[int]
) -> None:
    _, rounds = drive(support(25, **wanted), all_of("yes"), by=judge(max_tokens=room))
    assert [call.units for call in rounds[0]] == sizes
    assert [numbers(call) for call in rounds[0]] == [[str(n) for n in range(1, size + 1)] for size in sizes]
    assert len(rounds) == 1


def test_each_batch_shows_its_own_units_numbered_from_one() -> None:
    _, (calls,) = drive(support(23, batch=10), all_of("yes"))
    for start, call in zip((0, 10, 20), calls, strict=True):
        shown = [line for line in said(call).splitlines() if line.startswith("Claim number")]
        assert shown == [f"Claim number {n}." for n in range(start + 1, min(start + 10, 23) + 1)]


def test_the_label_of_a_number_in_a_batch_goes_to_the_unit_of_that_number_there() -> None:
    def third(call: Any) -> str:
        return json.dumps({"verdicts": {n: {"label": "yes" if n == "3" else "no"} for n in numbers(call)}})

    assert [n for n, label in enumerate(labels(rated(support(23, batch=10), third)), 1) if label == "yes"] == [
        3,
        13,
        23,
    ]


def test_no_units_are_no_calls_and_no_verdicts() -> None:
    with pytest.raises(StopIteration) as ended:
        next(judge().dialogue(support(0)))
    assert ended.value.value == Rated(())


# ---- labels


@pytest.mark.parametrize(
    ("scale", "label", "value", "raw"),
    [
        (YES_NO, "yes", 1.0, 1), (YES_NO, "no", 0.0, 0), (LIKERT, "2", 0.25, 2), (LIKERT, "5", 1.0, 5),
        (GRADE_0_3, "2", 2 / 3, 2), (GRADE_0_3, "0", 0.0, 0), (GRADE_0_2, "1", 0.5, 1),
    ],
)  # fmt: skip
def test_a_label_has_its_value_and_raw_number_on_the_scale(scale: Any, label: str, value: float, raw: int) -> None:
    (verdict,) = rated(support(1, scale), [verdicts(n1=label)]).verdicts
    assert (verdict.label, verdict.value, verdict.raw) == (label, value, raw)
    assert (verdict.judge, verdict.failure, verdict.reason, verdict.evidence) == ("openai/m", "", "", ())
    assert verdict.probability is None, "a language model has none of its own"


@pytest.mark.parametrize("given_label", ["yes", "Yes", " YES ", '"yes"', "'yes'", "`yes`", "**yes**", "yes."])
def test_case_quotation_marks_and_blanks_around_a_label_do_not_matter(given_label: str) -> None:
    assert labels(rated(support(1), [verdicts(n1=given_label)])) == ["yes"]


def test_a_whole_number_is_the_label_of_that_name() -> None:
    assert labels(rated(graded(5), [verdicts(n1=2, n2="2", n3=2.0, n4="2/3", n5="2 out of 3")])) == ["2"] * 5


@pytest.mark.parametrize(
    "wrong", [True, False, None, 1.5, 4, -1, "-1", "4", "2/4", "maybe", "yes no", "2?", "", [], {}, ["2"]]
)
def test_what_is_no_label_of_the_scale_is_no_label(wrong: Any) -> None:
    answer = rated(graded(1), [verdicts(n1=wrong)], [verdicts(n1=wrong)])
    (verdict,) = answer.verdicts
    assert (verdict.label, verdict.value, verdict.raw, verdict.unjudged) == (None, None, None, True)
    assert "labels outside the scale (1: " in verdict.failure
    assert "expected 0, 1, 2, 3" in verdict.failure


@pytest.mark.parametrize(
    "after",
    [
        "Correction: 2 is no.", "Wait, claim 2 is not supported.", "Claim 2: no", 'Sorry: {"2": {"label": "no"}}',
        "It is so. " * 1000 + "Correction: 2 is no.",
    ],
)  # fmt: skip
def test_a_label_that_is_taken_back_after_the_object_is_asked_for_again(after: str) -> None:
    answer = rated(support(2), [f"{verdicts(n1='yes', n2='yes')}\n\n{after}"], [verdicts(n2="no")])
    assert labels(answer) == ["yes", "no"]
    answer = rated(support(2), [f"{verdicts(n1='yes', n2='yes')}\n\n{after}"], [NOTHING])
    assert labels(answer) == ["yes", None]


@pytest.mark.parametrize(
    "after", ["Claim 2 is not supported by any passage.", "There is no passage on claim 2. Sorry!"]
)
def test_a_sentence_after_the_object_that_agrees_changes_nothing(after: str) -> None:
    assert labels(rated(support(2), [f"{verdicts(n1='yes', n2='no')}\n\n{after}"])) == ["yes", "no"]


NUMBERED = (
    '{"verdicts": {"1": "yes", "2": "no"}}',
    '{"verdicts": {"2": "no", "1": "yes"}}',
    '{"verdicts": [{"id": 1, "label": "yes"}, {"id": 2, "label": "no"}]}',
    '{"verdicts": [{"number": "2", "label": "no"}, {"number": "1", "label": "yes"}]}',
    '{"verdicts": {" 1": {"label": "yes"}, "02": {"label": "no"}}}',
    '{"verdicts": {"1": {"label": "yes"}, "2": {"label": "no"}, "x": "yes", "-1": "no"}}',
    '<think>{"verdicts": {"1": "no", "2": "yes"}}</think>```json\n{"verdicts": {"1": "yes", "2": "no"}}\n```',
    '{"verdicts": {"1": {"label": "yes"}, "2": {"label": "no"},}}',
    '{"verdicts": [{"id": 1, "label": "yes"}, {"id": 1, "label": "yes"}, {"id": 2, "label": "no"}]}',
)
"""Shapes that say the number."""
UNNUMBERED = (
    '{"verdicts": ["yes", "no"]}',
    '{"verdicts": [{"label": "yes"}, {"label": "no"}]}',
    '{"verdicts": "yes, no"}',
    '{"verdicts": null}',
    '{"verdicts": 7}',
    '{"verdicts": {"one": "yes", "two": "no"}}',
    '{"verdicts": {"1": null, "2": true}}',
    '{"verdicts": {"1": ["yes"], "2": 0.5}}',
)
CONTESTED = (
    '{"verdicts": {"1": "yes", "2": "yes", "1": "no"}}',
    '{"verdicts": {"1": "yes", "2": "yes", "01": "no"}}',
    '{"verdicts": [{"id": 1, "label": "yes"}, {"id": 2, "label": "yes"}, {"id": 1, "label": "no"}]}',
    '{"verdicts": [{"id": 2, "label": "yes"}, {"id": 1, "label": "no"}, {"id": 1, "label": "yes"}, {"id": "1"}]}',
)
"""The first number has two labels."""


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        *((reply, ["yes", "no"]) for reply in NUMBERED),
        *((reply, [None, None]) for reply in UNNUMBERED),
        *((reply, [None, "yes"]) for reply in CONTESTED),
    ],
)
def test_a_label_is_given_to_the_one_number_that_it_is_under_or_to_nobody(reply: str, found: list[str | None]) -> None:
    rounds = [[reply], [NOTHING]] if None in found else [[reply]]
    assert labels(rated(support(2), *rounds)) == found


def test_trivial_is_a_label_where_it_may_be_skipped_and_has_no_value() -> None:
    skipped = json.dumps(
        {"verdicts": {"1": {"label": "trivial", "evidence": [{"quote": "The fox"}]}, "2": {"label": "3"}}}
    )
    first, second = rated(graded(2, skippable=True, evidence=True), [skipped]).verdicts
    assert (first.label, first.value, first.raw, first.trivial, first.evidence) == (TRIVIAL, None, None, True, ())
    assert second.label == "3"


def test_trivial_is_no_label_where_it_may_not_be_skipped() -> None:
    assert labels(rated(graded(1), [verdicts(n1="trivial")], [verdicts(n1="trivial")])) == [None]


# ---- repair


def test_an_unknown_label_leads_to_one_more_turn_about_that_unit_alone() -> None:
    answer, rounds = drive(support(3), [verdicts(n1="yes", n2="maybe", n3="no")], [verdicts(n2="no")])
    assert labels(answer) == ["yes", "no", "no"]
    (repair,) = rounds[1]
    assert numbers(repair) == ["2"]
    assert repair.units == 1
    assert [message["role"] for message in body(repair)["messages"]] == ["system", "user", "assistant", "user"]
    assert said(repair, 2) == verdicts(n1="yes", n2="maybe", n3="no")
    assert "labels outside the scale (2: 'maybe'); expected no, yes" in said(repair)
    assert "for number 2 only" in said(repair)


def test_the_repair_turn_names_what_is_missing_and_what_is_wrong() -> None:
    _, rounds = drive(support(4), [verdicts(n1="yes", n3="huh")], [verdicts(n2="no", n3="no", n4="no")])
    assert "no verdict on 2, 4; labels outside the scale (3: 'huh')" in said(rounds[1][0])
    assert "for numbers 2, 3, 4 only" in said(rounds[1][0])


@pytest.mark.parametrize(
    ("first", "second", "found", "failure"),
    [
        (verdicts(n1="yes"), verdicts(n1="no", n2="no", n3="no"), ["yes", "no", "no"], ""),
        (
            verdicts(n1="yes", n2="maybe"), verdicts(n1="no", n2="perhaps"), ["yes", None, None],
            "verdicts under numbers that were not asked about (1)",
        ),
        (verdicts(n1="yes", n3="no"), NOTHING, ["yes", None, "no"], "no verdict on 2"),
        (verdicts(n1="yes", n3="no"), Failed("down"), ["yes", None, "no"], "down"),
        ('{"verdicts": {"1": {"id": 2, "label": "no"}, "2": {"id": 1, "label": "yes"}, "3": "yes"}}',
         verdicts(n1="yes", n2="no"), ["yes", "no", "yes"], ""),
        ('{"verdicts": {"1": {"claim": "Claim number 2.", "label": "no"}, "2": "no", "3": "yes"}}',
         verdicts(n1="yes"), ["yes", "no", "yes"], ""),
        ('{"verdicts": {"0": "yes", "1": "no", "2": "yes"}}', verdicts(n1="yes", n2="no", n3="yes"),
         ["yes", "no", "yes"], ""),
        ('{"verdicts": {"2": "yes", "3": "no", "4": "yes"}}', verdicts(n1="yes", n2="no", n3="yes"),
         ["yes", "no", "yes"], ""),
        (verdicts(n1="yes", n2="no", n3="no", n4="yes"), verdicts(n1="yes", n2="no", n3="yes"),
         ["yes", "no", "yes"], ""),
        (verdicts(n1="yes"), verdicts(n1="no", n2="yes"), ["yes", None, None],
         "verdicts under numbers that were not asked about (1)"),
    ],
    ids=["complete", "wrong again", "missing again", "failed", "other number", "other text", "counts from 0",
         "counts from 2", "one too many", "counts the missing from 1"],
)  # fmt: skip
def test_the_repair_gives_what_is_missing_and_changes_no_label_that_was_given(
    first: str, second: str | Failed, found: list[str | None], failure: str
) -> None:
    """What is wrong after it is unjudged, with the reason of what is missing still."""
    answer = rated(support(3), [first], [second])
    assert labels(answer) == found
    assert {verdict.failure for verdict in answer.verdicts if verdict.unjudged} <= {failure}


def test_only_the_batches_that_miss_something_are_asked_again() -> None:
    answer, rounds = drive(
        support(23, batch=10),
        lambda call: NOTHING if "Claim number 11." in said(call) else all_of("yes")(call),
        all_of("no"),
    )
    assert len(rounds[1]) == 1
    assert labels(answer) == ["yes"] * 10 + ["no"] * 10 + ["yes"] * 3


def test_a_reply_that_cannot_be_read_is_asked_about_with_what_stands_there() -> None:
    _, rounds = drive(support(2), ["I would rather not."], all_of("yes"))
    assert "no JSON object in the reply (it begins: 'I would rather not.')" in said(rounds[1][0])
    assert said(rounds[1][0], 2) == "I would rather not."
    _, rounds = drive(support(1), ["x" * 100_000], all_of("yes"))
    assert len(said(rounds[1][0], 2)) == 20_000, "what is quoted of a very long one is limited"


def test_a_cut_off_reply_is_asked_again_with_twice_the_room_and_not_mended() -> None:
    answer, rounds = drive(support(2), [CUT], all_of("no"))
    assert labels(answer) == ["no", "no"]
    again, before = body(rounds[1][0]), body(rounds[0][0])
    assert (before["max_tokens"], again["max_tokens"]) == (4096, 8192)
    assert again["messages"] == before["messages"]
    assert again["response_format"] == before["response_format"]
    assert rounds[1][0].units == 2


@pytest.mark.parametrize(
    ("replies", "failure"),
    [
        ([CUT, CUT], "the reply was cut off at its length limit"),
        ([Reply("", finish="content_filter")], "the model, or the endpoint's content filter, refused to answer"),
        ([Failed("mine: HTTP 500")], "mine: HTTP 500"),
        ([Reply("", reasoning=verdicts(n1="yes", n2="yes"))] * 2, "the reply is empty"),
        (["?", "?"], "no JSON object in the reply (it begins: '?')"),
    ],
    ids=["cut off", "withheld", "failed", "reasoning", "no object"],
)
def test_without_a_usable_reply_the_units_are_unjudged_with_the_reason(replies: list[Any], failure: str) -> None:
    """After one repair turn at most, and none where another reply would be no better."""
    answer = rated(support(2), *([reply] for reply in replies))
    assert [(verdict.label, verdict.failure) for verdict in answer.verdicts] == [(None, failure)] * 2


def test_a_failed_batch_leaves_the_others_judged() -> None:
    asked = support(12, batch=10)
    answer = rated(asked, [all_of("yes")(drive(asked, all_of("yes"))[1][0][0]), Failed("down")])
    assert labels(answer) == ["yes"] * 10 + [None] * 2


# ---- reasons and evidence


def reply(**entry: Any) -> str:
    return json.dumps({"verdicts": {"1": {"label": "yes", **entry}}, "summary": "all in all"})


@pytest.mark.parametrize(
    ("given", "kept"), [(" because ", "because"), (None, ""), (7, ""), (["x"], ""), ({"a": 1}, "")]
)
def test_reasons_and_the_summary_are_kept_if_they_are_texts(given: Any, kept: str) -> None:
    answer = rated(support(1, reasons=True), [reply(reason=given)])
    assert (answer.verdicts[0].reason, answer.reason) == (kept, "all in all")
    assert rated(support(1, reasons=True), ["?"], [reply()]).reason == "all in all", "also of the repair turn"


def test_summaries_of_batches_are_put_one_after_the_other() -> None:
    def summed(call: Any) -> str:
        return json.dumps({"verdicts": dict.fromkeys(numbers(call), "yes"), "summary": f"{call.units} units"})

    assert rated(support(12, reasons=True, batch=10), summed).reason == "10 units 2 units"


NO_QUOTES: Sequence[Any] = (None, "The fox", 7, {}, [None, 7, {}, {"quote": None}, {"quote": " "}, ""])


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (
            [{"passage": 2, "quote": "the DOG slept"}, {"passage": 1, "quote": "over the hill"}],
            [("b", Span(0, 13), "The dog slept", True), ("a", Span(12, 25), "over the hill", True)],
        ),
        (
            [{"passage": 2, "quote": "the cat"}, {"passage": 9, "quote": "the cow"}, "the hen"],
            [("b", None, "the cat", False), ("", None, "the cow", False), ("", None, "the hen", False)],
        ),
        (["The fox"] * 2, [("a", Span(0, 7), "The fox", True)]),
        ([f"word {n}" for n in range(9)], [("", None, f"word {n}", False) for n in range(4)]),
        *((odd, ()) for odd in NO_QUOTES),
    ],
)  # fmt: skip
def test_a_quote_is_located_and_has_the_passages_own_words_or_is_kept_and_marked(
    named: Any, found: Sequence[tuple[str, Span | None, str, bool]]
) -> None:
    """The same quote counts once, at most four are looked for, and none where none was asked for."""
    verdict = rated(support(1, evidence=True), [reply(evidence=named)]).verdicts[0]
    assert verdict.label == "yes"
    assert [(quote.passage, quote.span, quote.text, quote.verbatim) for quote in verdict.evidence] == list(found)
    assert rated(support(1), [reply(evidence=named)]).verdicts[0].evidence == ()


def test_evidence_about_a_passage_is_located_in_that_passage() -> None:
    units = (Unit("r/passage/1", "passage", "The fox ran."), Unit("r/passage/2", "passage", "A fox ran."))
    asked = Rate("relevance", units, GRADE_0_3, "Who ran?", evidence=True)
    entry = {"label": "3", "evidence": [{"passage": 1, "quote": "fox ran"}]}
    answer = rated(asked, [json.dumps({"verdicts": {"1": entry, "2": entry}})])
    assert [v.evidence[0].passage for v in answer.verdicts] == ["r/passage/1", "r/passage/2"]
    assert [v.evidence[0].span for v in answer.verdicts] == [Span(4, 11), Span(2, 9)]


# ---- what is sent


def test_the_request_is_model_messages_sampling_and_schema() -> None:
    (call,) = next(judge().dialogue(support(1)))
    assert list(body(call)) == ["model", "messages", "temperature", "max_tokens", "response_format"]
    assert (body(call)["model"], body(call)["temperature"], body(call)["max_tokens"]) == ("m", 0.0, 4096)
    assert (call.judge, call.task, call.units, call.repeat) == ("openai/m", "support", 1, 0)


def local(**settings: Any) -> Judge:
    return build(Spec("mine", provider="llamacpp", model="m", **settings))


def sent_schema(by: Judge, asked: Question[Any]) -> str:
    (call,) = next(by.dialogue(asked))
    return json.dumps(body(call)["response_format"]["json_schema"]["schema"])


def test_only_a_server_here_is_sent_limits_of_texts_and_lists() -> None:
    """Small models say a quote again without end; OpenAI refuses a schema that has ``maxLength``."""
    asked = support(2, evidence=True, reasons=True)
    assert "max" not in sent_schema(judge(), asked)
    told = sent_schema(local(), asked)
    assert told.count('"maxItems": 2') == 2, "the quotes of each"
    assert told.count('"maxLength": 160') == 2 + 2 + 1, "quotes, reasons, summary"
    claims = json.loads(sent_schema(local(), write()))["properties"]["claims"]
    assert (claims["maxItems"], claims["items"]["properties"]["claim"]["maxLength"]) == (40, 600)
    assert "max" not in sent_schema(judge(), write())


def test_a_list_of_labels_is_as_long_as_the_claims_where_a_schema_may_say_so() -> None:
    """OpenAI's kind wants an object; a server here enforces a list too, so that no label is missing or shifted."""
    listed = Choice("no_reasoning", format="json")
    (call,) = next(judge(choice=listed).dialogue(support(3)))
    assert "response_format" not in body(call)
    told = json.loads(sent_schema(local(choice=listed), support(3)))
    assert (told["type"], told["minItems"], told["maxItems"]) == ("array", 3, 3)
    answer, rounds = drive(support(3), ['["yes"]'], ['["no", "yes"]'], by=local(choice=listed, structured="schema"))
    assert body(rounds[1][0])["response_format"]["json_schema"]["schema"]["maxItems"] == 2
    assert labels(answer) == ["yes", "no", "yes"]


def test_a_reply_of_a_server_here_is_as_long_as_its_task_needs() -> None:
    """Room to think and three times what is usual; what the user sets stays, and so does what is hosted."""

    def limit(by: Judge, asked: Rate) -> int:
        return int(body(next(by.dialogue(asked))[0])["max_tokens"])

    labels = local(choice=Choice("no_reasoning"))
    assert limit(labels, support(20)) == 1024 + 3 * 20 * 10
    assert limit(local(), support(1, evidence=True, reasons=True)) == 1024 + 30 + 3 * 160
    assert limit(local(choice=Choice("short_cot")), support(10)) == 1024 + 3 * 10 * 83
    assert limit(local(), support(20, evidence=True, reasons=True)) == 4096
    batches = next(local().dialogue(support(20, evidence=True, reasons=True)))
    assert [call.units for call in batches] == [8, 8, 4], "all that fits if every text is as long as it may be"
    assert limit(local(max_tokens=2000), support(1)) == 2000
    assert limit(judge(), support(1)) == 4096


@pytest.mark.parametrize(
    ("cut", "room"),
    [(CUT, 2 * 1054), (Reply("", "length", reasoning="Hm"), 8192), (Reply("<think>Hm", "length"), 8192)],
    ids=["answer", "reasoning", "think"],
)
def test_a_reply_that_thought_until_its_limit_gets_the_whole_room(cut: Reply, room: int) -> None:
    _, rounds = drive(support(1), [cut], all_of("no"), by=local())
    assert body(rounds[1][0])["max_tokens"] == room


@pytest.mark.parametrize(
    ("own", "wanted", "sent"),
    [(0.0, 0.1, 0.1), (1.0, 0.1, 0.1), (0.7, 0.0, 0.0), (None, None, None), (None, 0.1, None)],
)
def test_the_temperature_of_the_question_beats_the_judges(
    own: float | None, wanted: float | None, sent: float | None
) -> None:
    """But a judge that is to send none sends none."""
    by = judge(temperature=own)
    (call,) = next(by.dialogue(support(1, temperature=wanted)))
    assert body(call).get("temperature") == sent
    assert call.maker == by.maker(support(1, temperature=wanted))
    assert call.maker.partition(",t=")[2] == ("" if sent is None else f"{sent:g}")


def test_what_made_a_call_says_every_setting_that_is_not_the_usual() -> None:
    plain = judge().maker(support(1))
    assert plain.startswith("support.default.v5#")
    assert plain.endswith(",t=0")
    assert judge(max_tokens=99).maker(support(1)) == f"{plain},max=99"
    one, same, other = (
        judge(extra=extra).maker(support(1)) for extra in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2})
    )
    assert one == same != other
    assert one.startswith(f"{plain},x#")


def test_extra_fields_go_into_the_request_as_they_are() -> None:
    (call,) = next(judge(extra={"seed": 7, "reasoning": {"effort": "low"}}).dialogue(support(1)))
    assert (body(call)["seed"], body(call)["reasoning"]) == (7, {"effort": "low"})


def test_without_structured_output_no_schema_is_sent_at_any_turn() -> None:
    _, rounds = drive(support(1), ["?"], [verdicts(n1="yes")], by=judge(structured="off"))
    assert not any("response_format" in body(call) for calls in rounds for call in calls)


@pytest.mark.parametrize("reasons", [True, False])
@pytest.mark.parametrize("evidence", [True, False])
@pytest.mark.parametrize("skippable", [True, False])
def test_the_schema_requires_one_entry_a_unit_and_every_field_and_nothing_else(
    reasons: bool, evidence: bool, skippable: bool
) -> None:
    (call,) = next(judge().dialogue(graded(3, reasons=reasons, evidence=evidence, skippable=skippable)))
    form = body(call)["response_format"]["json_schema"]
    assert (body(call)["response_format"]["type"], form["strict"]) == ("json_schema", True)
    whole = form["schema"]
    assert whole["required"] == ["verdicts", *(["summary"] if reasons else [])]
    entries = whole["properties"]["verdicts"]
    assert (entries["required"], list(entries["properties"])) == (["1", "2", "3"], ["1", "2", "3"])
    entry = entries["properties"]["3"]
    assert entry["required"] == [*(["evidence"] if evidence else []), *(["reason"] if reasons else []), "label"]
    assert entry["properties"]["label"]["enum"] == ["0", "1", "2", "3", *([TRIVIAL] if skippable else [])]
    assert all(part["additionalProperties"] is False for part in (whole, entries, entry))


OTHERS = (
    support(2, LIKERT),
    support(2, reasons=True),
    support(2, evidence=True),
    support(2, skippable=True),
    support(2, temperature=0.5),
    support(2, passages=PASSAGES[:1]),
    support(2, passages=PASSAGES[::-1]),
    support(3),
    replace(support(2), task="relevance", question="Why?"),
)


def test_the_same_question_is_the_same_call_and_another_question_repeat_or_setting_another() -> None:
    def asked(question: Rate, repeat: int = 0, **settings: Any) -> Call:
        return next(judge(**settings).dialogue(question, repeat=repeat))[0]

    first, second = asked(support(2)), asked(support(2))
    assert (first.body, first.key) == (second.body, second.key)
    settings: list[dict[str, Any]] = [{"structured": "off"}, {"max_tokens": 99}, {"extra": {"seed": 1}}]
    others = [
        *map(asked, OTHERS), asked(support(2), repeat=1), *(asked(support(2), **setting) for setting in settings),
    ]  # fmt: skip
    assert len({call.key for call in (first, *others)}) == 1 + len(others)


def test_the_repeat_is_kept_in_the_repair() -> None:
    dialogue = judge().dialogue(support(1), repeat=3)
    next(dialogue)
    assert [call.repeat for call in dialogue.send([Reply("?")])] == [3]


def test_the_second_wording_is_the_second_template() -> None:
    units = (Unit("r/response/1", "response", "The fox ran."),)
    first = Rate("response_support", units, GRADE_0_2, passages=PASSAGES)
    second = replace(first, wording=2)
    assert judge().maker(first).startswith("response_support.default.")
    assert judge().maker(second).startswith("response_support.second.")
    one, other = (next(judge().dialogue(question))[0] for question in (first, second))
    assert said(one, 0) == said(other, 0), "both begin with the passages, which the provider's cache holds"
    assert said(one) != said(other)


# ---- hostile material


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_the_code_of_the_marks_is_made_from_the_material_and_does_not_stand_in_it(
    passage: str, unit: str, asked: str
) -> None:
    def nonce(passage: str, unit: str, asked: str) -> str:
        units = (Unit("r/claim/1", "claim", unit),)
        rate = Rate("support", units, YES_NO, asked, (Passage("p", passage, 1),))
        return said(next(judge().dialogue(rate))[0]).split()[0][1:]

    code = nonce(passage, unit, asked)
    assert len(code) == 12
    assert code not in passage + unit
    assert code == nonce(passage, unit, asked)
    assert code != nonce(passage + "x", unit, asked)
    assert code == nonce(passage, unit + "y", asked + "z"), "all prompts about the passages begin alike"
    assert code != nonce(passage, unit + code, asked), "but where another text has their code"


@given(
    st.dictionaries(
        st.integers(-1, 7).map(str) | st.sampled_from(["x", "01", " 2 ", "", "1.0", "\u0663"]),
        st.sampled_from(["yes", "no", "maybe", None, True, 1, {"label": "yes"}, {"label": "No"}, {"label": 3}, {}, []]),
    ),
    st.dictionaries(st.integers(0, 6).map(str), st.sampled_from(["yes", "no", {"label": "huh"}])),
    st.integers(1, 5),
)
def test_a_label_goes_to_the_unit_of_its_number_or_to_none(
    first: dict[str, Any], second: dict[str, Any], count: int
) -> None:
    def under(found: dict[str, Any], number: int) -> set[str]:
        entries = [entry for name, entry in found.items() if name.strip() in (str(number), f"0{number}")]
        return {str(e.get("label") if isinstance(e, dict) else e).lower() for e in entries}

    asked, answer = (
        answered(support(count), *(json.dumps({"verdicts": found}) for found in (first, again)))
        for again in ({}, second)
    )
    assert isinstance(answer, Rated)
    assert isinstance(asked, Rated)
    missing = {str(number) for number, verdict in enumerate(asked.verdicts, 1) if verdict.unjudged}
    assert len(answer.verdicts) == count
    for number, verdict in enumerate(answer.verdicts, 1):
        if verdict.label is not None:
            assert verdict.label in under(first, number) | under(second, number)
        else:
            assert verdict.failure
            assert not ({"yes", "no"} & under(second, number)) or second.keys() - missing
