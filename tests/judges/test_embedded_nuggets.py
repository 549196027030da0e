"""How the embedded judge writes nuggets, weighs and assigns them: each rule, its limits, and hostile texts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.judges.base import Failed, Replies, Reply
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.judges.embedded.compute import reply_to
from ragstone.judges.embedded.model import assignment_cuts, label_of
from ragstone.judges.embedded.nuggets import of_passages, statements
from ragstone.questions import (
    GRADE_0_3,
    IMPORTANCE,
    SUPPORT_2,
    SUPPORT_3,
    YES_NO,
    Question,
    Rate,
    Rated,
    Write,
    Written,
)
from ragstone.segment import sentences
from ragstone.types import Passage, Scale, Unit, Verdict

JUDGE = EmbeddedJudge()
QUESTION = "How many people live in Moscow, the capital of Russia?"
MOSCOW = (
    "Moscow is the capital of Russia. The city has 12 million inhabitants, which is more than in Paris.",
    "In 2021, more than 12 million people lived in Moscow, the capital of Russia. I love it! Is it big?",
    "Cats sleep for sixteen hours a day. A cat has four legs.",
)
TEXTS = st.lists(
    st.sampled_from(
        ["Moscow", "is", "the capital", "of Russia", "12", "million", ",", "which", "who", "and", "it", "He", "She",
         "This", "city", "has", ".", "?", "\n", "- ", "Москва", "столица", "中文。", "(WHO)", "[1]", "However,", "/",
         '"', "😀", "\ud800", "does not mention", "the context", "Press the button", "x" * 60]
    ),
    max_size=30,
).map(" ".join)  # fmt: skip


def ask(question: Question[Any], *replies: Any) -> Any:
    """The answer; computed, or read from the replies given."""
    dialogue = JUDGE.dialogue(question)
    try:
        (call,) = next(dialogue)
        dialogue.send(list(replies) or [Reply(reply_to(call.body))])
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it asks again")


def units_of(text: str) -> tuple[Unit, ...]:
    return tuple(
        Unit(f"r/sentence/{n}", "sentence", text[span.start : span.end], span)
        for n, span in enumerate(sentences(text), 1)
    )


def write(text: str, **more: Any) -> tuple[Unit, ...]:
    answer = ask(Write("nuggetize", "nugget", more.pop("question", ""), units_of(text), **more))
    assert isinstance(answer, Written)
    assert not answer.failure
    return answer.units


def nuggets(text: str, **more: Any) -> list[str]:
    return [unit.text for unit in write(text, **more)]


def passages(texts: Sequence[str]) -> tuple[Passage, ...]:
    return tuple(Passage(f"p{rank}", text, rank) for rank, text in enumerate(texts, 1))


def bank(question: str, *texts: str, **more: Any) -> list[str]:
    answer = ask(Write("nuggetize", "nugget", question, passages=passages(texts), **more))
    assert isinstance(answer, Written)
    assert [unit.id for unit in answer.units] == [f"nugget/{n}" for n in range(1, len(answer.units) + 1)]
    assert {unit.level for unit in answer.units} <= {"nugget"}
    return [unit.text for unit in answer.units]


def rate(task: Any, scale: Scale, *texts: str, **more: Any) -> tuple[Verdict, ...]:
    units = tuple(Unit(f"r/nugget/{n}", "nugget", text) for n, text in enumerate(texts, 1))
    answer = ask(Rate(task, units, scale, **more))
    assert isinstance(answer, Rated)
    assert [verdict.unit for verdict in answer.verdicts] == list(units)
    return answer.verdicts


def assign(response: str, *texts: str, scale: Scale = SUPPORT_3) -> tuple[Verdict, ...]:
    return rate("assign", scale, *texts, passages=passages([response]), evidence=True)


# ---- from an answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The kettle is steel.", ["The kettle is steel"]),
        ("However, the kettle is steel [1].", ["The kettle is steel"]),
        ("According to the context, the kettle is steel.", ["The kettle is steel"]),
        ("Based on the provided documents, the context states that tea is hot.", ["Tea is hot"]),
        ("The kettle is steel (Smith et al., 2010).", ["The kettle is steel"]),
        ("- The **kettle** is [steel](https://a.example/b);", ["The kettle is steel"]),
        ("Paris (the capital of France) is on the Seine.", ["Paris (the capital of France) is on the Seine"]),
        ("It was made in the U.S.", ["It was made in the U.S."]),
        ("Hello! Here are the steps:\nI hope this helps!", []),
        ("Which city do you mean?", []),
        ("The context does not say who built it.", []),
        ("I do not know.", []),
        ("The law does not include dogs.", ["The law does not include dogs"]),
        ("Москва — столица России [2]. Контекст не содержит информации о погоде.", ["Москва — столица России"]),
        ("莫斯科是俄罗斯的首都。人口很多。", ["莫斯科是俄罗斯的首都", "人口很多"]),
    ],
)  # fmt: skip
def test_an_answer_is_taken_apart_into_short_statements(text: Any, expected: Any) -> None:
    """They are the claims, without openers, links, citations and points; questions and empty talk make none."""
    assert nuggets(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Moscow is the capital.", "moscow IS  the capital", True),
        ("Moscow is the capital of Russia.", "The capital of Russia is Moscow.", True),
        ("Moscow has 12 million people.", "Moscow has 15 million people.", False),
        ("Moscow is the capital of Russia.", "Moscow is not the capital of Russia.", False),
        ("Marie Curie won the Nobel Prize in physics.", "Marie Curie won the Nobel Prize in chemistry.", False),
    ],
)
def test_nothing_is_listed_twice(one: Any, other: Any, same: Any) -> None:
    """Neither in other letters nor in another order; another number, denial or heavy word is another fact."""
    assert len(nuggets(f"{one}\n\n{other}")) == (1 if same else 2)
    assert len(nuggets(other, known=(one,))) == (0 if same else 1)


def test_a_fuller_nugget_is_not_taken_for_its_beginning() -> None:
    """What says more than what is known adds to it; what says less does not."""
    short, full = "The drug is safe.", "The drug is safe for children above six years of age."
    assert nuggets(full, known=(short,)) == [full[:-1]]
    assert nuggets(short, known=(full,)) == []


@settings(max_examples=150)
@given(TEXTS, TEXTS)
def test_the_second_round_brings_nothing(text: Any, before: Any) -> None:
    """Any text has nuggets, each with its sentence; when all are known there are no more."""
    known = units_of(text)
    found = write(text, before=before)
    for number, unit in enumerate(found, 1):
        assert (unit.id, unit.level, unit.part) == (f"nugget/{number}", "nugget", 1)
        assert unit.text.strip()
        (parent,) = (one for one in known if one.id == unit.parent)
        assert unit.span == parent.span
    assert nuggets(text, before=before, known=tuple(unit.text for unit in found)) == []


def test_most_counts_what_is_known() -> None:
    """The list is no longer than wanted, with what is known; 0 sets no limit."""
    text = "Moscow is big. Paris is old. Rome is warm."
    assert len(nuggets(text)) == 3
    assert nuggets(text, most=2) == ["Moscow is big", "Paris is old"]
    assert nuggets(text, most=2, known=("Moscow is big",)) == ["Paris is old"]
    assert nuggets(text, most=1, known=("Berlin is far",)) == []


# ---- from passages


def test_a_bank_holds_statements_that_stand_alone() -> None:
    """The closest first; no questions, no exclamations, nothing beside the question."""
    found = bank(QUESTION, *MOSCOW)
    assert found[0] == "In 2021, more than 12 million people lived in Moscow, the capital of Russia"
    assert "Moscow is the capital of Russia" in bank("What is the capital of Russia?", *MOSCOW)
    assert not any("cat" in text.lower() or "love" in text for text in found)
    assert bank("How long do cats sleep in a day?", *MOSCOW) == ["Cats sleep for sixteen hours a day"]
    assert bank("Who invented the telephone?", *MOSCOW) == []
    assert bank("Когда основана Москва?", "Москва основана в 1147 году. Он большой.") == ["Москва основана в 1147 году"]


@pytest.mark.parametrize(
    ("question", "passage", "expected"),
    [
        ("How tall is the Eiffel Tower?", "The Eiffel Tower is 330 metres tall. It is in Paris.", "330 metres"),
        ("Eiffel Tower height", "The Eiffel Tower is 330 metres tall. It is in Paris.", "330 metres"),
        ("How high is Eiffel's tower?", "The Eiffel Tower is 330 metres tall. It is in Paris.", "330 metres"),
        ("How long does the warranty last?", "The warranty covers the device for 24 months.", "24 months"),
        ("Why is the sky blue?", "Air scatters blue light from the sun more than it scatters red light.", "scatters"),
        ("Tell me about the speed of light", "Light travels at 299,792 kilometres per second.", "299,792"),
        ("Which planet is the largest in the solar system?",
         "Jupiter is the largest planet in the Solar System, with a mass twice that of all others.", "Jupiter"),
    ],
)  # fmt: skip
def test_a_passage_that_answers_in_other_words_makes_a_bank(question: str, passage: str, expected: str) -> None:
    """One word of the question is enough where no statement has more of them: the closest is the bank."""
    (nugget,) = bank(question, "Cats sleep for sixteen hours a day.", passage)
    assert expected in nugget


@pytest.mark.parametrize(
    "text",
    [
        "Moscow Capital City Guide", "The history of the capital Moscow.", "Is Moscow the capital?",
        "We love Moscow, the capital.", "Buy tickets to Moscow the capital now!",
        "This capital is called Moscow.", "It is the capital, Moscow.", "See https://moscow.ru for the capital Moscow.",
        "| Moscow | capital |", "and Moscow is the capital",
        "Moscow is the capital of the", "Settings Menu Moscow Press the capital button.",
        "22 Early predictions for the capital Moscow are wrong.", "Please visit the capital Moscow in summer.",
        "MOSCOW CAPITAL OFFERS many things to people.",
        "Device List View, edit, or remove Moscow and its capital.",
        "Cars Support Structural Privacy By Design Moscow roads are in it.", "Figure 2 Moscow is the capital.",
        "The study found that Moscow is the capital.", "Moscow is the capital as mentioned above.",
        "On other days, it is the capital Moscow.", "The is the capital Moscow.", "The M oscow c apital is big.",
        "Many of them are in the capital, Moscow.",
    ],
)  # fmt: skip
def test_what_cannot_stand_alone_is_left_out(text: Any) -> None:
    """Headings, fragments, questions, speakers, what points elsewhere, torn lines, what is bare of a name."""
    assert list(statements(text)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Try Now You can switch the guide on in the menu.", "You can switch the guide on in the menu"),
        ("Brake Assist System The BAS is there to help people.", "The BAS is there to help people"),
        ("Mixed Hearing Loss Sometimes people are deaf in both ears.", "Sometimes people are deaf in both ears"),
    ],
)  # fmt: skip
def test_a_heading_that_ran_in_is_cut_off(text: Any, expected: Any) -> None:
    """The statement begins where its sentence does."""
    assert expected in list(statements(text))


def test_instructions_are_nuggets_only_where_they_are_asked_for() -> None:
    """A how-to question takes steps, with their purpose or long enough; another question takes none."""
    manual = "To move the rail cleat, turn its nut. Pull out on the rail cleat and slide it to a hole. Move rail cleat."
    assert len(bank("How do I move the rail cleat?", manual)) == 2
    assert bank("What is the rail cleat?", manual) == []


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(5)))
def test_the_order_of_passages_changes_nothing(order: Any) -> None:
    """Neither what is chosen nor its order."""
    texts = (
        *MOSCOW,
        "Russia has many cities, and Moscow is the largest of them all.",
        "Moscow is the capital city of Russia.",
    )
    assert bank(QUESTION, *(texts[i] for i in order)) == bank(QUESTION, *texts)


def test_what_is_known_stays_and_is_not_repeated() -> None:
    """The list is merged: known texts stay as they are, and what says the same is not added."""
    known = ("Russia's capital is Moscow!", "Nothing to do with it")
    found = bank(QUESTION, *MOSCOW, known=known)
    assert set(known) < set(found)
    assert "Moscow is the capital of Russia" not in found


def test_a_bank_is_no_longer_than_wanted() -> None:
    """``most`` limits known and new together and keeps the closest; 0 sets no limit."""
    texts = [f"In {1900 + n}, {n}0 thousand people lived in Moscow, the capital of Russia." for n in range(1, 60)]
    assert len(bank(QUESTION, *texts, most=30)) == 30
    assert len(bank(QUESTION, *texts)) > 30
    assert len(bank(QUESTION, *texts, most=3, known=tuple(f"Moscow has {n} parks" for n in range(40)))) == 3


def test_windows_make_one_list() -> None:
    """What one window found stays known, and the whole is in the order that one window would give it."""
    first = bank(QUESTION, MOSCOW[0])
    found = bank(QUESTION, MOSCOW[1], known=tuple(first))
    assert set(first) <= set(found)
    assert [text for text in found if text not in first] == bank(QUESTION, MOSCOW[1])
    assert bank(QUESTION, "", known=tuple(found)[::-1]) == found


@pytest.mark.parametrize("question", ["", " \n"])
def test_a_bank_without_a_question_stays_as_it_is(question: Any) -> None:
    """Nothing is added, and the answer says why."""
    answer = ask(Write("nuggetize", "nugget", question, passages=passages(MOSCOW), known=("Moscow is big",)))
    assert [unit.text for unit in answer.units] == ["Moscow is big"]
    assert answer.failure == "the question is blank"


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, max_size=3))
def test_any_passages_make_a_bank(question: Any, texts: Any, known: Any) -> None:
    """No text breaks it; nothing comes twice, and the same call has the same reply."""
    found = of_passages(_plain(question), [_plain(text) for text in texts], [_plain(text) for text in known], 30)
    assert len({text.casefold() for text in found}) == len(found) <= 30
    body = orjson.dumps(
        {"task": "nuggetize", "question": _plain(question), "passages": [_plain(text) for text in texts],
         "known": [_plain(text) for text in known], "most": 30}
    )  # fmt: skip
    assert reply_to(body) == reply_to(body)


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


# ---- how much a nugget matters


def test_importance_is_closeness_and_says_that_it_is_weak() -> None:
    """Close to the question is vital, else okay; every reason names the rule, and there is no probability."""
    near, far = rate(
        "importance", IMPORTANCE, "12 million people live in Moscow, the capital", "Paris is old", question=QUESTION
    )
    assert (near.label, near.value, far.label, far.value) == ("vital", 1.0, "okay", 0.0)
    assert near.reason.startswith("close to the question by a weak rule (closeness ")
    assert "Moscow" in near.reason
    assert far.reason == "not close to the question by a weak rule (closeness 0.00)"
    assert all("weak rule" in verdict.reason and verdict.probability is None for verdict in (near, far))


def test_importance_of_a_nugget_does_not_hang_on_the_language_of_its_neighbours() -> None:
    """Each nugget is read in the language of its own words and the question's."""
    question, text = "What are the running costs of the houses?", "The house costs 300 dollars to run."
    german = "Das Haus wurde im Jahr 1900 gebaut, und es ist nicht bekannt, wie viel es die Stadt gekostet hat. " * 3
    (alone,) = rate("importance", IMPORTANCE, text, question=question)
    beside, _ = rate("importance", IMPORTANCE, text, german, question=question)
    assert (alone.label, alone.reason) == (beside.label, beside.reason)


@pytest.mark.parametrize(
    ("question", "text", "failure"),
    [
        (" ", "Moscow is big", "the question is blank"),
        ("Which is it?", "Moscow is big", "the question has no words to look for"),
        (QUESTION, " ", "the text is blank"),
    ],
)
def test_importance_needs_a_question_and_a_text(question: Any, text: Any, failure: Any) -> None:
    """Else the nugget is unjudged, and says why."""
    (verdict,) = rate("importance", IMPORTANCE, text, question=question)
    assert (verdict.label, verdict.value, verdict.failure) == (None, None, failure)


# ---- assignment

RESPONSE = "Moscow, a big city, is the capital of Russia. About 12 million people live there."


def test_a_response_holds_what_it_says() -> None:
    """With its sentence as evidence; what it lacks is named."""
    held, other = assign(RESPONSE, "Moscow is the capital of Russia", "Moscow was founded by Yuri in 1147")
    assert (held.label, held.value) == ("support", 1.0)
    assert held.reason.startswith("found in the response (")
    (quote,) = held.evidence[:1]
    assert (quote.passage, quote.verbatim) == ("p1", True)
    assert quote.span is not None
    assert quote.text == RESPONSE[quote.span.start : quote.span.end] == "Moscow, a big city, is the capital of Russia."
    assert (other.label, other.evidence) == ("not_support", ())
    assert other.reason.startswith("not found in the response (")
    assert other.reason.endswith('not found: "founded", "Yuri", "1147"')


def test_two_grades_and_three_read_one_call() -> None:
    """Both are read from the same reply; in part begins below support, and of two grades there is none."""
    low, high = assignment_cuts()
    assert 0 < low < high < 1
    texts = ("Moscow is the capital of Russia", "Moscow is a big port", "Cats sleep")
    unit = tuple(Unit(str(n), "nugget", text) for n, text in enumerate(texts))
    keys = set()
    for scale, evidence in itertools.product((SUPPORT_2, SUPPORT_3), (True, False)):
        (call,) = next(JUDGE.dialogue(Rate("assign", unit, scale, passages=passages([RESPONSE]), evidence=evidence)))
        keys.add(call.key)
    assert len(keys) == 1
    for k in range(101):
        two, three = (label_of(scale, k / 100, high, low) for scale in (SUPPORT_2, SUPPORT_3))
        assert (two == "support") == (three == "support") == (k / 100 >= high)
        assert (three == "partial_support") == (low <= k / 100 < high)


def test_a_response_that_is_blank_holds_nothing() -> None:
    """That is an answer; a nugget without words has none."""
    (verdict,) = assign(" ", "Moscow is big")
    assert (verdict.label, verdict.probability, verdict.evidence) == ("not_support", 0.0, ())
    (blank,) = assign(RESPONSE, "  ")
    assert (blank.label, blank.failure) == (None, "the text is blank")
    (signs,) = assign(RESPONSE, "— / —")
    assert (signs.label, signs.failure) == (None, "no words to look for")


def test_either_side_of_a_slash_is_enough() -> None:
    """A response that says one of them holds the nugget; one that says neither does not."""
    text = "Bieber / the singer was turned away at the gate"
    for name in ("Bieber", "The singer"):
        assert assign(f"{name} was turned away at the gate on Friday.", text)[0].label == "support"
    assert assign("Drake gave a concert.", text)[0].label == "not_support"


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), TEXTS)
def test_any_nuggets_are_assigned_and_weighed(texts: Any, response: Any) -> None:
    """Every nugget has a verdict with a reason or a failure, and evidence stands where it is said to."""
    weighed = rate("importance", IMPORTANCE, *texts, question=response)
    for verdict in (*assign(response, *texts), *weighed):
        assert bool(verdict.label is None) == bool(verdict.failure)
        assert verdict.failure or verdict.reason
        for quote in verdict.evidence:
            assert quote.span is not None
            assert quote.text == response[quote.span.start : quote.span.end] != ""


def test_nuggets_are_judged_on_support_and_relevance_like_claims() -> None:
    """Held against passages and against the question, on any scale."""
    text = "Moscow is the capital of Russia"
    (nugget,) = rate("support", GRADE_0_3, text, passages=passages(MOSCOW), reasons=True, evidence=True, skippable=True)
    unit = (Unit("r/claim/1", "claim", text),)
    (claim,) = ask(Rate("support", unit, GRADE_0_3, passages=passages(MOSCOW))).verdicts
    assert (nugget.label, nugget.probability, nugget.evidence) == (claim.label, claim.probability, claim.evidence)
    near, far = rate("relevance", YES_NO, text, "Cats sleep", question=QUESTION)
    assert near.probability is not None
    assert far.probability is not None
    assert near.probability > far.probability


# ---- calls, replies, size


@pytest.mark.parametrize("replies", [[Failed("it broke")], [Reply("{}")], [Reply("no JSON")], [Reply("[]")]])
def test_a_reply_that_cannot_be_read_is_a_failure(replies: Replies) -> None:
    """Lists come back empty with the cause, nuggets unjudged."""
    unit = (Unit("u", "nugget", "a"),)
    for task in ("assign", "importance"):
        (verdict,) = ask(Rate(task, unit, SUPPORT_3), *replies).verdicts
        assert verdict.label is None
        assert verdict.failure
    for source in ({"sentences": unit}, {"passages": passages(MOSCOW)}):
        answer = ask(Write("nuggetize", "nugget", "", **source), *replies)
        assert (answer.units, bool(answer.failure)) == ((), True)


HOSTILE = (
    "((((", "(Aa ", "[", "Aa, who is ", "Xa and is ", "He is a Bb. ", "The ", "However, ", "(AaBbCc & Dd, ", "(et al ",
    "中", "; ",
)  # fmt: skip


@pytest.mark.parametrize(("text", "length"), [("a, a, a, ", 150_000), *((text, 40_000) for text in HOSTILE)])
def test_a_long_text_takes_no_time_to_speak_of(text: Any, length: Any) -> None:
    """Whatever it repeats: as an answer, as what stands before, as a passage, as a nugget, as a question."""
    long = text * (length // len(text))
    calls = (
        {"task": "nuggetize", "sentences": [long], "before": long, "known": [long[:9000]], "most": 0},
        {"task": "nuggetize", "question": QUESTION, "passages": [long], "known": [long[:9000]], "most": 30},
        {"task": "importance", "question": long, "units": [long]},
        {"task": "assign", "passages": [long], "units": [long[:9000]]},
    )
    for call in calls:
        assert orjson.loads(reply_to(orjson.dumps(call)))


def test_an_answer_of_many_sentences_is_written() -> None:
    """Thousands that share their words, each of them new."""
    text = [f"The cat number {n} is on the mat of street {n * 7}." for n in range(3000)]
    body = {"task": "nuggetize", "sentences": text, "before": "", "known": text[:500], "most": 0}
    assert len(orjson.loads(reply_to(orjson.dumps(body)))["nuggets"]) == 2500


def test_it_beats_the_word_overlap_floor_on_human_assignments(outside_data: Callable[[str], Path]) -> None:
    """On a hundred responses with the nuggets that people judged: AUROC above that of shared words."""
    lines = outside_data("nuggets/realsumm.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines[::10]]
    labels: list[bool] = []
    found: list[float] = []
    floor: list[float] = []
    for record in records:
        texts = [nugget["text"] for nugget in record["nuggets"]]
        labels += [nugget["assignment"] == "support" for nugget in record["nuggets"]]
        found += [verdict.probability or 0.0 for verdict in assign(record["response"], *texts)]
        there = set(record["response"].lower().split())
        floor += [len(there & set(text.lower().split())) / len(text.split()) for text in texts]
    assert _auroc(labels, found) > max(0.8, _auroc(labels, floor) + 0.02)


def _auroc(labels: list[bool], scores: list[float]) -> float:
    right = [score for score, label in zip(scores, labels, strict=True) if label]
    wrong = [score for score, label in zip(scores, labels, strict=True) if not label]
    return sum((a > b) + 0.5 * (a == b) for a in right for b in wrong) / (len(right) * len(wrong))
