"""Labels in every style and format: what is asked, what is read, what is asked again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from by_hand import body, claims, drive, judge, labels, rated, said, support, verdicts
from msgspec.structs import replace

from ragstone.errors import TemplateError
from ragstone.judges.base import Judge
from ragstone.parsing import LABEL_FORMATS, Format
from ragstone.prompts import load
from ragstone.prompts.choice import Choice
from ragstone.questions import IMPORTANCE, SUPPORT_2, SUPPORT_3, YES_NO, Rate
from ragstone.testing import labels_reply
from ragstone.types import Passage, Span, Unit

ANSWER = (Passage("response", "Bern is the capital, on the river Aare. It was founded in 1191.", 1),)
STYLES = ("no_reasoning", "short_cot", "long_cot", "legacy", "optimized")
WRITTEN = [fmt for fmt in LABEL_FORMATS if fmt != "adaptive"]


def nuggets(count: int) -> tuple[Unit, ...]:
    return tuple(Unit(f"r/nugget/{n}", "nugget", f"Nugget number {n}") for n in range(1, count + 1))


def assign(count: int = 2, *, evidence: bool = True) -> Rate:
    return Rate("assign", nuggets(count), SUPPORT_3, "What of Bern?", ANSWER, evidence=evidence)


def asking(style: str = "", fmt: Format | None = None, **settings: object) -> Judge:
    return judge(choice=Choice(style, format=fmt), **settings)


@pytest.mark.parametrize("language", ["", ".ru"])
@pytest.mark.parametrize("style", ["default", *STYLES])
def test_all_batches_begin_with_the_same_instructions_and_passages(style: str, language: str) -> None:
    """So that a provider's prefix cache serves them all, the last and shorter one, too."""
    for question in (assign(43), *([support(43)] if style not in ("legacy", "optimized") else [])):
        calls = next(asking(f"{style}{language}").dialogue(question))
        assert len({call.units for call in calls}) == 2
        texts = [said(call, 0) + said(call, 1) for call in calls]
        end = max(texts[0].index(passage.text) + len(passage.text) for passage in question.passages)
        assert len({text[:end] for text in texts}) == 1


def block(*decisions: str, snippet: str = "Bern is the capital") -> str:
    items = [
        f'{n}.\n   nugget: Nugget number {n}\n   snippet: "{snippet}"\n   rationale: It says {decision}.\n'
        f"   decision: {decision}"
        for n, decision in enumerate(decisions, 1)
    ]
    return "<reasoning>\n" + "\n".join(items) + "\n</reasoning>\n"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("fmt", WRITTEN)
def test_every_style_reads_every_format(style: str, fmt: Format) -> None:
    wanted = ["support", "not_support", "partial_support"]
    reply = (block(*wanted) if style.endswith("cot") else "") + labels_reply(wanted, fmt)
    answer = rated(assign(3), [reply], by=asking(style, fmt))
    assert labels(answer) == wanted
    (readout,) = answer.readouts
    assert (readout.style, readout.format, readout.status) == (style, fmt, "ok")
    assert (readout.read, readout.asked, readout.repair) == (3, 3, False)


def test_a_style_of_reasoning_gives_reasons_and_quotes_that_are_looked_up() -> None:
    reply = block("support", "not_support") + labels_reply(["support", "not_support"], "json")
    first, second = rated(assign(), [reply], by=asking("short_cot", "json")).verdicts
    assert first.reason == "It says support."
    assert [(quote.span is not None, quote.verbatim) for quote in first.evidence] == [(True, True)]
    assert second.reason == "It says not_support."


def test_a_quote_that_nearly_stands_there_is_marked_and_one_that_does_not_has_no_place() -> None:
    near = block("support", snippet="Bern is the capitol, on the river Aare") + '["support"]'
    (quote,) = rated(assign(1), [near], by=asking("short_cot", "json")).verdicts[0].evidence
    assert (quote.text, quote.verbatim) == ("Bern is the capital, on the river Aare", False)
    assert quote.span is not None
    wrong = block("support", snippet="It was founded in 1291 by nobody at all") + '["support"]'
    (quote,) = rated(assign(1), [wrong], by=asking("short_cot", "json")).verdicts[0].evidence
    assert (quote.span, quote.verbatim) == (None, False)


def test_thinking_before_the_block_is_no_answer_and_no_reason() -> None:
    reply = f'<think>{block("not_support")}["not_support"]</think>{block("support")}["support"]'
    (verdict,) = rated(assign(1), [reply], by=asking("long_cot", "json")).verdicts
    assert (verdict.label, verdict.reason) == ("support", "It says support.")


def test_a_label_that_is_not_the_decision_of_the_reasoning_is_asked_about_again() -> None:
    reply = block("support", "support") + labels_reply(["support", "not_support"], "json")
    answer, rounds = drive(assign(), [reply], ['["support"]'], by=asking("short_cot", "json"))
    assert labels(answer) == ["support", "support"]
    assert "labels that contradict the reasoning (2: decided support, labelled not_support)" in said(rounds[1][0])
    assert "for number 2 only" in said(rounds[1][0])


def test_the_repair_turn_asks_for_the_missing_alone_and_reads_it_by_its_numbers() -> None:
    answer, rounds = drive(
        assign(4), [labels_reply(["support", "unclear", "not_support", "dunno"], "yaml")],
        ["2: support\n4: partial_support"], by=asking("no_reasoning", "yaml"),
    )  # fmt: skip
    assert labels(answer) == ["support", "support", "not_support", "partial_support"]
    assert "for numbers 2, 4 only" in said(rounds[1][0])
    assert [(readout.repair, readout.read, readout.asked) for readout in answer.readouts] == [
        (False, 2, 4), (True, 2, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fmt", "reply", "found"),
    [
        ("yaml", "1: support\n2: partial_support", [None, "support", "not_support", None]),
        ("yaml", "1. support\n2. partial_support", [None, "support", "not_support", None]),
        ("json", '["partial_support", "not_support"]', ["partial_support", "support", "not_support", "not_support"]),
    ],
)
def test_a_repair_that_counts_anew_is_given_to_nobody_and_a_list_to_the_numbers_asked_about(
    fmt: Format, reply: str, found: list[str | None]
) -> None:
    first = labels_reply(["unclear", "support", "not_support", "dunno"], fmt)
    answer = rated(assign(4), [first], [reply], by=asking("no_reasoning", fmt))
    assert labels(answer) == found
    assert all(verdict.label or verdict.failure for verdict in answer.verdicts)


def test_more_labels_than_units_are_asked_for_again_as_a_whole_and_then_none_is_taken() -> None:
    many = labels_reply(["support"] * 3, "json")
    answer, rounds = drive(assign(2), [many], [many], by=asking("no_reasoning", "json"))
    assert labels(answer) == [None, None]
    assert "3 labels for 2 units" in said(rounds[1][0])
    assert "one label for each number from 1 to 2" in said(rounds[1][0])


def test_with_case_sensitive_only_the_exact_words_count() -> None:
    replies: Sequence[str] = ['["Support", "support"]']
    answer = rated(assign(2), replies, ['["supported"]'], by=asking("no_reasoning", "json", case_sensitive=True))
    assert labels(answer) == [None, "support"]
    plain, exact = (asking("no_reasoning", "json", case_sensitive=on) for on in (False, True))
    assert labels(rated(assign(2), replies, by=plain)) == ["support", "support"]
    assert plain.maker(assign()) != exact.maker(assign()), "it changes the signature"
    assert next(plain.dialogue(assign()))[0].key == next(exact.dialogue(assign()))[0].key, "but not the call"


def test_style_and_format_stand_in_the_maker() -> None:
    assert asking("short_cot", "yaml").maker(assign()).startswith("assign.short_cot.v4#")
    assert "/yaml#" in asking("short_cot", "yaml").maker(assign())
    assert asking().maker(assign()).startswith("assign.default.v5#")
    makers = {asking("no_reasoning", fmt).maker(assign()) for fmt in LABEL_FORMATS}
    assert len(makers) == len(LABEL_FORMATS)


@pytest.mark.parametrize(
    ("style", "fmt", "structured", "sent"),
    [
        ("", None, "auto", True), ("", None, "off", False), ("optimized", "keyed", "auto", True),
        ("optimized", "keyed", "off", False), ("optimized", "json", "auto", False),
        ("short_cot", "keyed", "auto", False),
        ("optimized", "keyed", "schema", True),
    ],
)  # fmt: skip
def test_a_schema_is_sent_where_the_whole_reply_is_one_object(
    style: str, fmt: Format | None, structured: str, *, sent: bool
) -> None:
    call = next(asking(style, fmt, structured=structured).dialogue(assign()))[0]
    assert ("response_format" in body(call)) == sent


def test_the_schema_of_keyed_labels_holds_every_number_and_the_scale() -> None:
    call = next(asking("optimized").dialogue(assign(3)))[0]
    schema = body(call)["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["1", "2", "3"]
    assert schema["properties"]["2"]["enum"] == list(SUPPORT_3.labels)


def test_a_schema_that_must_be_sent_and_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(TemplateError, match="structured = schema: the prompt 'short_cot' of the step 'assign'"):
        asking("short_cot", "json", structured="schema").maker(assign())


def test_a_style_is_for_the_steps_that_have_it_and_a_format_alone_takes_labels_alone() -> None:
    claims_asked = Rate("support", claims(1), YES_NO, passages=ANSWER)
    vital = Rate("importance", nuggets(1), IMPORTANCE, "What of Bern?")
    assert asking("optimized").maker(claims_asked).startswith("support.default.v5#")
    assert asking("optimized").maker(assign()).startswith("assign.optimized.v4#")
    assert asking("", "csv").maker(assign()).startswith("assign.no_reasoning.v4#")
    assert asking("", "csv").maker(vital).startswith("importance.no_reasoning.v3#")
    assert asking("short_cot.ru").maker(assign()).startswith("assign.short_cot.ru.v2#")
    assert asking("optimized.ru").maker(claims_asked).startswith("support.default.ru.v3#")


def test_a_format_that_a_chosen_style_does_not_take_is_refused_with_those_it_takes() -> None:
    with pytest.raises(TemplateError, match=r"does not support format 'json'; supported: object"):
        judge(choice=Choice("", {"assign": "default"}, "json")).maker(assign())


def test_a_trivial_sentence_may_be_labelled_so_in_every_format() -> None:
    asked = support(2, skippable=True)
    for fmt in WRITTEN:
        answer = rated(asked, [labels_reply(["trivial", "yes"], fmt)], by=asking("no_reasoning", fmt))
        assert labels(answer) == ["trivial", "yes"]
        assert answer.verdicts[0].value is None


def test_a_file_of_the_users_own_is_asked_with_as_ours_are(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text(load("assign", "no_reasoning").text.replace("style: no_reasoning", "style: mine"), encoding="utf-8")
    mine = judge(choice=Choice(styles={"assign": str(path)}, format="yaml"))
    assert mine.maker(assign()).startswith("assign.mine.v4#")
    assert labels(rated(assign(2), ["1: support\n2: no"], by=mine)) == ["support", "not_support"]


# ---- grades of nuggets


def test_importance_is_vital_or_okay_and_two_grades_know_no_part() -> None:
    asked = Rate("importance", nuggets(4), IMPORTANCE, "What?")
    answer = rated(asked, [verdicts(n1="vital", n2="okay", n3="OK", n4="Vital.")])
    assert labels(answer) == ["vital", "okay", "okay", "vital"]
    two = replace(assign(1), scale=SUPPORT_2)
    assert labels(rated(two, [verdicts(n1="partial_support")], [verdicts(n1="not support")])) == ["not_support"]


def test_an_assignment_keeps_the_words_of_the_response_that_hold_it() -> None:
    text = json.dumps({"verdicts": {
        "1": {"evidence": ["Bern is the capital"], "label": "support"},
        "2": {"evidence": ["a cat sang"], "label": "partial support"},
    }})  # fmt: skip
    first, second = rated(assign(), [text]).verdicts
    assert (first.label, first.value, second.label, second.value) == ("support", 1.0, "partial_support", 0.5)
    (quote,) = first.evidence
    assert (quote.passage, quote.span, quote.verbatim) == ("response", Span(0, 19), True)
    assert [quote.verbatim for quote in second.evidence] == [False]


def test_the_assigner_is_shown_texts_and_no_importance() -> None:
    vital = replace(assign(), units=tuple(replace(unit, importance="vital") for unit in nuggets(2)))
    plain, other = (next(judge().dialogue(asked))[0] for asked in (assign(), vital))
    assert plain.key == other.key
