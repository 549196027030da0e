"""The embedded judge: what it promises of every answer, and what it is able to tell."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from by_hand import embedded
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragstone.judges.base import Backend, Call, Failed, Judge, Replies, Reply
from ragstone.judges.embedded import EmbeddedJudge, alignment, words
from ragstone.judges.embedded.compute import reply_to
from ragstone.judges.embedded.model import cuts_of, label_of, model
from ragstone.judges.embedded.stated import restated
from ragstone.questions import (
    GRADE_0_2,
    GRADE_0_3,
    LIKERT,
    TASKS,
    YES_NO,
    Answer,
    Question,
    Rate,
    Rated,
    Write,
    Written,
)
from ragstone.types import TRIVIAL, Level, Passage, Scale, Span, Unit, Verdict

JUDGE = EmbeddedJudge()
CITY = (
    "Moscow is the capital of Russia. The city has 12,000,000 inhabitants.",
    "Paris lies on the Seine. It was not founded by Napoleon.",
)
SCALES = (YES_NO, LIKERT, GRADE_0_3, GRADE_0_2)

WORDS = st.sampled_from(
    ["Moscow", "is", "not", "the", "capital", "of", "Russia", "12", "million", "12,000,000", "3.5%", "Paris", "grew",
     "fell", ".", "\n", "- ", "Москва", "столица", "中文", "。", "didn't", "U.S.", "[1]", "", "😀", "\ud800", "x" * 60]
)  # fmt: skip
TEXTS = st.one_of(st.lists(WORDS, max_size=25).map(" ".join), st.text(max_size=80))


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(f"p{rank}", text, rank) for rank, text in enumerate(texts, 1))


def rate(
    *texts: str, contexts: tuple[str, ...] = CITY, level: Level = "claim", scale: Scale = YES_NO, **more: Any
) -> tuple[Verdict, ...]:
    units = tuple(Unit(f"r/{level}/{n}", level, text) for n, text in enumerate(texts, 1))
    answer = embedded(Rate(more.pop("task", "support"), units, scale, passages=passages(*contexts), **more))
    assert isinstance(answer, Rated)
    assert [verdict.unit for verdict in answer.verdicts] == list(units)
    return answer.verdicts


def chance(claim: str, *contexts: str) -> float:
    (verdict,) = rate(claim, contexts=contexts or CITY)
    assert verdict.probability is not None
    return verdict.probability


def check(verdict: Verdict, contexts: tuple[Passage, ...], scale: Scale) -> None:
    texts = {passage.id: passage.text for passage in contexts}
    for quote in verdict.evidence:
        assert quote.verbatim
        assert quote.span is not None
        assert quote.text == texts[quote.passage][quote.span.start : quote.span.end] != ""
    if verdict.label is None:
        assert verdict.failure
        assert verdict.value is verdict.probability is None
    elif verdict.label == TRIVIAL:
        assert verdict.value is verdict.raw is None
    else:
        assert verdict.probability is None or 0 <= verdict.probability <= 1
        assert verdict.value == scale.value(verdict.label)
        assert verdict.raw == scale.raw(verdict.label)
        assert verdict.reason


# ---- laws


@settings(max_examples=150)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, max_size=4), st.sampled_from(SCALES), st.booleans())
def test_support_has_a_verdict_for_any_text(claims: Any, contexts: Any, scale: Any, skippable: Any) -> None:
    """Every unit has a verdict; probabilities are in [0, 1], and evidence stands where it is said to stand."""
    for level in ("claim", "sentence"):
        verdicts = rate(*claims, contexts=tuple(contexts), level=level, scale=scale, skippable=skippable)
        for verdict in verdicts:
            check(verdict, passages(*contexts), scale)


@settings(max_examples=100)
@given(TEXTS, st.lists(TEXTS, max_size=3), st.sampled_from(SCALES))
@example("didn't Moscow", ["\u3002 Moscow"], YES_NO)
def test_whole_responses_have_a_verdict_for_any_text(response: Any, contexts: Any, scale: Any) -> None:
    """The same holds of a response judged as a whole."""
    (verdict,) = rate(response, contexts=tuple(contexts), level="response", scale=scale, task="response_support")
    check(verdict, passages(*contexts), scale)


@settings(max_examples=100)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.sampled_from(["passage", "claim", "sentence", "response"]))
def test_relevance_has_a_verdict_for_any_text(question: Any, texts: Any, level: Any) -> None:
    """The same holds of relevance; only a passage is quoted, from itself."""
    verdicts = rate(*texts, contexts=(), level=level, scale=GRADE_0_3, task="relevance", question=question)
    for verdict in verdicts:
        own = (Passage(verdict.unit.id, verdict.unit.text, 1),) if level == "passage" else ()
        check(verdict, own, GRADE_0_3)


@settings(max_examples=100)
@given(TEXTS, st.lists(TEXTS, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_passages_changes_nothing(claim: Any, contexts: Any, order: Any) -> None:
    """Whatever their order, the probability is the same."""
    shuffled = contexts[:]
    order.shuffle(shuffled)
    (one,) = rate(claim, contexts=tuple(contexts))
    (other,) = rate(claim, contexts=tuple(shuffled))
    assert one.probability == other.probability


@settings(max_examples=50)
@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_the_same_call_has_the_same_reply(claim: Any, contexts: Any) -> None:
    """Byte for byte."""
    body = orjson.dumps(
        {
            "task": "support",
            "units": [_plain(claim)],
            "passages": [_plain(c) for c in contexts],
            "trivial": True,
            "ranks": [*range(len(contexts))],
        }
    )
    assert reply_to(body) == reply_to(body)


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("scale", SCALES)
def test_a_higher_probability_never_earns_a_lower_label(scale: Any) -> None:
    """The cuts are ascending, the ends of the scale are reached, and ``yes`` is where the best grades begin."""
    yes = model().support.yes
    cuts = cuts_of(scale, yes)
    assert list(cuts) == sorted(set(cuts))
    assert len(cuts) == len(scale.labels) - 1
    values = [scale.value(label_of(scale, k / 100, yes)) for k in range(101)]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0.0, 1.0)
    assert yes in cuts


def test_both_claim_scales_accept_the_same_claims() -> None:
    """4 or 5 on the scale of five is where ``yes`` is, so a threshold of 0.6 says the same on both."""
    yes = model().support.yes
    for k in range(1001):
        label, likert = label_of(YES_NO, k / 1000, yes), label_of(LIKERT, k / 1000, yes)
        assert (label == "yes") == (LIKERT.value(likert) >= 0.6)


# ---- what it can tell


def test_what_stands_in_a_passage_is_supported() -> None:
    """Each sentence of a passage is found, with the passage it is from."""
    for number, text in enumerate(CITY, 1):
        (verdict,) = rate(text.partition(". ")[0] + ".")
        assert verdict.label == "yes"
        assert verdict.evidence[0].passage == f"p{number}"
        assert verdict.reason.startswith(f"found in passage {number} (")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The city has 12 million inhabitants.", "The city has 15 million inhabitants."),
        ("Moscow is the capital of Russia.", "Moscow is not the capital of Russia."),
        ("Paris was not founded by Napoleon.", "Paris was founded by Napoleon."),
        ("Paris lies on the Seine.", "Paris lies on the Danube."),
    ],
)
def test_one_changed_word_is_refused(right: Any, wrong: Any) -> None:
    """A changed number, an added or lost negation, a swapped name: below the true statement and below the cut."""
    assert chance(wrong) < chance(right)
    assert chance(wrong) < model().support.yes <= chance(right)


def test_a_swapped_subject_lowers_the_probability() -> None:
    """Below the true statement; not always below the cut, which the model card says."""
    assert chance("Warsaw is the capital of Russia.") < chance("Moscow is the capital of Russia.")


def test_numbers_are_compared_by_value() -> None:
    """12 million is 12,000,000, and what is not found is named as it was written."""
    assert chance("The city has 12 million inhabitants.") == pytest.approx(
        chance("The city has 12,000,000 inhabitants."), abs=0.1
    )
    (verdict,) = rate("The city has 15 million inhabitants of Rostov.")
    assert verdict.label == "no"
    assert verdict.reason.startswith("not found: 15 million; nearest: passage 1 says 12,000,000")


@pytest.mark.parametrize(("claim", "passage", "reason"), [
    ("Captions come on the newer TVs.", "Captions come on the newer TV.", "found in passage 1 ("),
    ("Start agents with LLMs there.", "Start agents with an LLM there.", "found in passage 1 ("),
    ("Open the list of channels 2.", "Open the list of channels.", 'found in passage 1, apart from "2" ('),
    ("The old college began in 1957.", "The college, very old, began in 1957 as an extension.", "found in passage 1 ("),
    ("No, employers pay nothing now.", "So first of all employers pay nothing now.", "found in passage 1"),
    ("Under Rule 19 vessels proceed slowly.", "Under Rule 6 vessels proceed slowly in fog.", "not found: Rule 19; "),
    ("The village bakery opens at six.", "The bakery opens at six.", 'found in passage 1, apart from "village" ('),
    ("The bakery may open at six.", "The bakery opens at six.", "found in passage 1 ("),
])  # fmt: skip
def test_the_reason_says_what_no_passage_has(claim: str, passage: str, reason: str) -> None:
    """Of a found claim as well, but for words of grammar; list numbers and plurals of abbreviations are no facts."""
    (verdict,) = rate(claim, contexts=(passage,))
    assert verdict.reason.startswith(reason)


def test_a_claim_found_in_two_passages_names_both() -> None:
    """The better one first."""
    claim = "The bakery opens its doors at six, and the oven is heated by wood."
    (verdict,) = rate(claim, contexts=("The bakery opens its doors at six.", "Its oven is heated by wood."))
    assert verdict.reason.startswith("found in passage 1 and passage 2 (")


def test_russian_is_read_by_its_stems() -> None:
    """Inflected words are found; a changed number and a negation are not."""
    text = "Москва — столица России. Население города составляет 12,6 млн человек."
    right = chance("Население города — 12,6 миллиона человек.", text)
    assert right > chance("Население города — 15 миллионов человек.", text)
    assert chance("Москва является столицей России.", text) > chance("Москва не является столицей России.", text)


def test_scripts_without_blanks_are_read() -> None:
    """Chinese is compared by pairs of characters."""
    assert chance("莫斯科是俄罗斯的首都。", "莫斯科是俄罗斯的首都。人口很多。") > chance(
        "北京有很多大学。", "莫斯科是俄罗斯的首都。人口很多。"
    )


def test_without_a_shared_word_nothing_is_supported() -> None:
    """The probability is 0, with the missing words as the reason and no evidence."""
    (verdict,) = rate("Quantum computers factor integers.")
    assert (verdict.label, verdict.probability, verdict.evidence) == ("no", 0.0, ())
    assert verdict.reason == 'not found: "Quantum", "computers", "factor", "integers"'


@pytest.mark.parametrize("contexts", [(), ("",), (" \n",)])
def test_without_passages_nothing_is_supported(contexts: Any) -> None:
    """No passages, or blank ones, support nothing; that is an answer, not a failure."""
    (verdict,) = rate("Moscow is the capital of Russia.", contexts=contexts)
    assert (verdict.label, verdict.probability) == ("no", 0.0)


def test_a_blank_unit_is_unjudged() -> None:
    """A text without words has no verdict, and says why."""
    blank, signs = rate("  ", "😀 — …")
    assert (blank.label, blank.failure) == (None, "the text is blank")
    assert (signs.label, signs.failure) == (None, "no words to look for")


def test_function_words_alone_are_no_support() -> None:
    """A claim of stop words is not carried by a passage that has them."""
    (verdict,) = rate("The of and is it.", scale=GRADE_0_2)
    assert verdict.label != "2"


@pytest.mark.parametrize(
    "text",
    [
        "Hello!", "Thank you for your question.", "Here are the steps:", "## Overview", "**Summary**",
        "I hope this helps!",
        "Let me know if you have any other questions.", "---", "Can I help you with anything else?", "Конечно!",
        "Надеюсь, это поможет!", "Ingredients:", "To install it, follow these steps:",
    ],
)  # fmt: skip
def test_sentences_that_state_nothing_are_trivial(text: Any) -> None:
    """Greetings, headings, announcements, courtesies, questions back: only where the question allows it."""
    (verdict,) = rate(text, level="sentence", skippable=True)
    assert (verdict.label, verdict.value, verdict.raw) == (TRIVIAL, None, None)
    (kept,) = rate(text, level="sentence")
    assert kept.label != TRIVIAL


@pytest.mark.parametrize(
    "text",
    [
        "Moscow has 12 million people:", "It is steel.", "Yes, it can.", "Moscow.",
        "Did you know that Moscow has 12 million people?", "The answer is 42.", "## Founded in 1147",
        "Here is Moscow, the capital of Russia.", "12",
    ],
)  # fmt: skip
def test_sentences_that_may_state_something_are_not_trivial(text: Any) -> None:
    """In doubt a sentence is judged."""
    (verdict,) = rate(text, level="sentence", skippable=True)
    assert verdict.label != TRIVIAL


def test_a_whole_response_is_the_mean_of_its_sentences() -> None:
    """Trivial ones do not count, the best label takes all; the reason names the worst, the evidence is the best's."""
    text = "Hello! Moscow is the capital of Russia. It exports 40 violins."
    (verdict,) = rate(text, level="response", scale=GRADE_0_2, task="response_support")
    good, bad = rate("Moscow is the capital of Russia.", "It exports 40 violins.")
    assert good.probability is not None
    assert bad.probability is not None
    most = model().support.yes - 0.01
    assert verdict.probability == pytest.approx(min((good.probability + bad.probability) / 2, most), abs=1e-6)
    assert verdict.label == "1"
    assert f'lowest: "It exports 40 violins.", {bad.reason}' in verdict.reason
    assert verdict.evidence[0].text == "Moscow is the capital of Russia."


def test_relevance_names_the_shared_and_the_missing_words() -> None:
    """A passage about the question is rated above another, and its best sentence is quoted.

    The probability is that of relevance, so only verdicts of two labels have it: it is not that of the highest grade.
    """
    units = tuple(
        Unit(f"r/passage/{n}", "passage", text, Span(0, len(text)), f"p{n}") for n, text in enumerate(CITY, 1)
    )
    question = "How many inhabitants does Moscow have?"
    about, beside = embedded(Rate("relevance", units, GRADE_0_3, question=question)).verdicts
    assert about.value > beside.value
    assert about.probability is beside.probability is None
    both = embedded(Rate("relevance", units, YES_NO, question=question)).verdicts
    assert both[0].probability > both[1].probability
    assert about.reason == 'includes a number; words shared with the question (2 of 2): "inhabitants", "Moscow"'
    assert beside.reason == (
        "includes no number; contains none of the question's words "
        '("inhabitants", "Moscow"); other passages contain some'
    )
    assert about.evidence[0].passage == "p1"
    assert beside.evidence == ()


def test_relevance_to_a_blank_question_is_unjudged() -> None:
    """Nothing is relevant or irrelevant to nothing."""
    (verdict,) = rate("Moscow.", level="response", task="relevance", question=" ")
    assert (verdict.label, verdict.failure) == (None, "the question is blank")


# ---- calls and replies


def test_it_is_a_judge() -> None:
    """It has what the engine asks of judges and backends, and answers every task but the users' own criteria."""
    judge: Judge = JUDGE
    assert isinstance(judge.backend, Backend)
    assert (judge.name, judge.id, judge.model, judge.provider, judge.backend.free) == (
        "embedded",
        "embedded",
        "embedded-30",
        "",
        True,
    )
    assert [task for task in TASKS if not judge.can(task)] == ["rubric"]


def test_its_maker_names_the_version_and_the_model() -> None:
    """Six digits of a hash of the numbers and word lists follow the version, then four of what divides texts."""
    assert re.fullmatch(r"embedded-30#[0-9a-f]{6}\.[0-9a-f]{4}", JUDGE.maker(Rate("support", (), YES_NO)))


def test_another_scale_is_the_same_call() -> None:
    """Scale, evidence and reasons are read from the stored reply; what is computed does not change."""
    unit = (Unit("u", "claim", "Moscow is big."),)

    def body(**more: Any) -> Call:
        question = Rate("support", unit, **{"scale": YES_NO, "passages": passages(*CITY), **more})
        (call,) = next(JUDGE.dialogue(question))
        return call

    keys = {body(scale=scale, reasons=reasons).key for scale, reasons in itertools.product(SCALES, (True, False))}
    assert len(keys) == 1
    assert body(passages=passages(CITY[0])).key not in keys


def test_no_units_are_no_call() -> None:
    """A question about nothing is answered with nothing."""
    assert embedded(Rate("support", (), YES_NO)) == Rated(())


@pytest.mark.parametrize(
    "replies", [[Failed("it broke")], [Reply("{}")], [Reply("no JSON")], [Reply('{"units": [1, 2]}')], [Reply("[]")]]
)
def test_a_failed_or_unreadable_reply_leaves_all_unjudged(replies: Replies) -> None:
    """Every unit then says why it has no verdict, and a list of claims is a failure, not an empty list."""
    answer = _end(Rate("support", (Unit("u", "claim", "a"),), YES_NO), replies)
    assert isinstance(answer, Rated)
    assert [verdict.label for verdict in answer.verdicts] == [None]
    assert all(verdict.failure for verdict in answer.verdicts)
    sentence = Unit("s", "sentence", "A b.", Span(0, 4))
    written = _end(Write("claims", "claim", "", (sentence,)), replies)
    assert isinstance(written, Written)
    assert not written.units
    assert written.failure


def _end(question: Question[Any], replies: Replies) -> Answer:
    dialogue = JUDGE.dialogue(question)
    next(dialogue)
    with pytest.raises(StopIteration) as stop:
        dialogue.send(replies)
    answer: Answer = stop.value.value
    return answer


def test_the_backend_answers_from_a_thread_and_can_be_opened_again() -> None:
    """The event loop stays free; after closing, a new run may begin."""

    async def run() -> list[str]:
        backend = EmbeddedJudge().backend
        (call,) = next(
            JUDGE.dialogue(Rate("support", (Unit("u", "claim", "Moscow"),), YES_NO, passages=passages(*CITY)))
        )
        texts = []
        for _ in range(2):
            await backend.open()
            texts += [reply.text for reply in await asyncio.gather(backend.send(call), backend.send(call))]
            await backend.close()
        return texts

    assert len(set(asyncio.run(run()))) == 1


# ---- size


@pytest.mark.parametrize(
    ("claim", "context"),
    [("a " * 2000, "a " * 50_000), ("a. " * 2000, "a. " * 50_000), ("x" * 500_000, "x" * 500_000),
     ("中" * 6000, "中文。" * 50_000), ("not " * 2000, "is not " * 25_000), ("1 " * 2000, "1,000 " * 50_000),
     ("Aa, and is " * 700, "- Aa\n" * 20_000)],
)  # fmt: skip
def test_long_texts_are_weighed(claim: Any, context: Any) -> None:
    """2,000 words against 50,000 take no time to speak of, whatever they are."""
    (verdict,) = rate(claim, contexts=(context,))
    assert verdict.probability is not None


def test_a_sentence_is_read_once_for_all_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statement, question and passage alike; else the cost of many grows with their product."""
    read: Counter[object] = Counter()

    def counted(name: str, made: Any, key: Any) -> None:
        def count(*given: Any) -> Any:
            read[name, *key(given)] += 1
            return made(*given)

        monkeypatch.setattr(f"ragstone.judges.embedded.{name}", count)

    counted("words._tokens", words._tokens, lambda given: given)
    counted("alignment.Line", alignment.Line, lambda given: given[1:])
    towns = ("Quillport", "Ostravel", "Brenmoor", "Tallgate")
    contexts = tuple(
        f"The harbour fee of {town} is {n}7 florins. It was {n}3 before." for n, town in enumerate(towns, 2)
    )
    claims = [f"The harbour fee of {town} is {n} florins." for town in towns for n in range(20, 60, 3)]
    rate(*claims, contexts=contexts, question="What is the harbour fee of each of the four towns?")
    assert len(read) > len(claims)
    assert set(read.values()) == {1}


def test_a_long_answer_is_not_searched_for_verbs(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands without its question, whatever it says; millions of words are not looked at one by one."""
    monkeypatch.delattr("ragstone.judges.embedded.stated.finite")
    answer = "x " * 300
    assert restated("What is the fee?", answer, "en") == answer


def test_it_beats_the_word_overlap_floor_on_human_labels(outside_data: Callable[[str], Path]) -> None:
    """On a thousand rows of the development data: AUROC above that of shared content words."""
    lines = outside_data("support/dev.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in random.Random(7).sample(lines, 1000)]
    labels = [row["label"] == "support" for row in rows]
    found = [chance(row["claim"], *row["context"]) for row in rows]
    assert _auroc(labels, found) > max(0.8, _auroc(labels, [_overlap(row) for row in rows]) + 0.03)


def _overlap(row: dict[str, Any]) -> float:
    words = {word for word in row["claim"].lower().split() if len(word) > 3}
    there = set(" ".join(row["context"]).lower().split())
    return len(words & there) / len(words) if words else 0.0


def _auroc(labels: list[bool], scores: list[float]) -> float:
    right = sorted(score for score, label in zip(scores, labels, strict=True) if label)
    wrong = [score for score, label in zip(scores, labels, strict=True) if not label]
    wins = sum((a > b) + 0.5 * (a == b) for a in right for b in wrong)
    return wins / (len(right) * len(wrong))


def test_a_reason_names_what_tells_most() -> None:
    """Of more words than it has room for: numbers, then names, then the rarest, in the order of the claim."""
    text = "While there are often very many other good things, Zanzibar had 4711 lighthouses and glockenspiels."
    (verdict,) = rate(text)
    words, _, more = verdict.reason.removeprefix("not found: ").partition(" and ")
    named = [word.strip('"') for word in words.split(", ")]
    assert more.startswith("2 more")
    assert len(named) == 5
    assert [word for word in named if word in ("Zanzibar", "4711", "lighthouses", "glockenspiels")] == [
        "Zanzibar",
        "4711",
        "lighthouses",
        "glockenspiels",
    ]


def test_only_what_decides_is_quoted() -> None:
    """Of a window, the sentences that add to the claim; of a long sentence, its clauses; close ones together."""
    long = (
        "The hut was built in 1931 by a club whose members carried every beam up the north side of the mountain, and "
        "because the spring below it dries up in August, guests are asked to bring three litres of water each; "
        "since then the roof has been replaced twice, once after a storm and once after a fire in the kitchen."
    )
    three = "Push the green button. A lamp lights up after a short time. Then turn the brass wheel."
    for claim, passage, quoted in (
        ("Guests bring three litres of water each.", long, long[long.index("and because") : long.index("; since")]),
        ("Push the green button and turn the brass wheel.", three, three),
        ("Turn the brass wheel.", three, "Then turn the brass wheel."),
    ):
        (quote,) = rate(claim, contexts=(passage,))[0].evidence
        assert (quote.text, quote.verbatim) == (quoted, True)
