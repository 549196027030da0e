"""Relevance by the embedded judge: what it ranks, what it names, and what it never claims to know."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import orjson
import pytest
from by_hand import embedded

from ragstone.questions import GRADE_0_3, YES_NO, Rate
from ragstone.types import Scale, Unit, Verdict

RECORDS = {row["id"]: row for row in map(orjson.loads, Path("examples/traces.jsonl").read_bytes().splitlines())}

ANSWERING = {
    "kettle-descale": (1,), "leaflet-dose": (1,), "lease-deposit": (1,), "risotto-rest": (1,), "titan-haze": (1, 2),
    "halden-revenue": (1,), "queue-retry": (1,), "night-train": (1,), "stone-bridge": (1,), "axolotl-limb": (1,),
    "parental-leave": (1, 2), "fell-race": (1,), "heat-pump-cold": (1,), "licence-network": (1,), "valley-fog": (1,),
    "cello-strings": (1, 2), "muzej-chasy": (1, 2), "tomato-blight": (1, 2), "tea-water": (1,), "hut-packing": (1, 2),
    "bus-line-7": (1, 2), "grinder-review": (1,),
}  # fmt: skip
"""The passages of each example that answer its question, or would; of ``licence-network`` the nearest."""

FIRST = sorted(ANSWERING.keys() - {"risotto-rest", "bus-line-7", "cello-strings", "axolotl-limb"})
"""Those of which an answering passage has the question's words, so that no other may be above it."""


def rated(question: str, *texts: str, level: Any = "response", scale: Scale = GRADE_0_3) -> tuple[Verdict, ...]:
    units = tuple(Unit(f"u{n}", level, text) for n, text in enumerate(texts, 1))
    verdicts: tuple[Verdict, ...] = embedded(Rate("relevance", units, scale, question=question)).verdicts
    return verdicts


def passages(name: str) -> tuple[Verdict, ...]:
    return rated(RECORDS[name]["question"], *RECORDS[name]["contexts"], level="passage")


def response(name: str) -> Verdict:
    (verdict,) = rated(RECORDS[name]["question"], RECORDS[name]["response"])
    return verdict


# ---- the examples


def test_every_example_is_named() -> None:
    assert RECORDS.keys() == ANSWERING.keys()


@pytest.mark.parametrize("name", sorted(ANSWERING))
def test_the_passage_that_answers_is_never_the_worst(name: str) -> None:
    labels = [verdict.label for verdict in passages(name)]
    assert all(labels[rank - 1] != "0" for rank in ANSWERING[name]), labels


@pytest.mark.parametrize("name", FIRST)
def test_the_passage_that_answers_is_ranked_first(name: str) -> None:
    chances = [verdict.probability or 0.0 for verdict in passages(name)]
    assert chances.index(max(chances)) + 1 in ANSWERING[name], chances


def test_answers_of_the_examples_are_relevant_and_a_refusal_is_not() -> None:
    """``fell-race`` shares no word with its question: it is neither relevant nor known not to be."""
    labels = {name: response(name).label for name in RECORDS if name not in {"tomato-blight", "fell-race"}}
    assert labels.pop("licence-network") == "0"
    assert set(labels.values()) == {"2", "3"}
    assert response("fell-race").label == "1"
    assert response("licence-network").reason.startswith("declines to answer; words shared with the question (")


# ---- what the best label takes


@pytest.mark.parametrize(
    ("text", "label", "reason"),
    [
        ("The landlord must return the deposit within 30 days.", "3", "includes a number"),
        ("The landlord must return the deposit soon.", "2", "includes no number"),
        (
            "The landlord must return the deposit within 30 days. The context does not say who pays interest.",
            "2",
            "in part",
        ),
        ("I cannot answer that from the documents.", "0", "declines to answer"),
        ("The documents do not say when the landlord must return the deposit.", "1", "declines to answer"),
        ("Cats sleep all day.", "0", 'contains none of the question\'s words ("landlord", "return", "deposit")'),
        ("Within 30 days.", "2", "includes a number; short answer"),
    ],
)
def test_the_best_label_takes_the_words_and_what_is_asked_for(text: str, label: str, reason: str) -> None:
    (verdict,) = rated("When must the landlord return the deposit?", text)
    assert (verdict.label, reason in verdict.reason) == (label, True), verdict


@pytest.mark.parametrize(
    ("question", "text", "gives"),
    [
        ("Who built the stone bridge?", "In 1611 the stone bridge was built by Pieter Aalst.", "includes a name"),
        ("Who built the stone bridge?", "In 1611 the stone bridge was built.", "includes no name"),
        ("Why was the stone bridge built?", "The stone bridge was built because of floods.", "includes a reason"),
        ("Can an axolotl regrow a leg?", "Yes, an axolotl regrows a leg.", "includes a yes or no"),
        ("How do I clean the lid filter?", "Open the lid and rinse the lid filter.", "includes steps"),
        ("What should I do if my card is stolen?", "Call the hotline at once.", "includes steps"),
        ("Wann wurde die Brücke gebaut?", "Die Brücke wurde 1611 gebaut.", "includes a number"),
        ("Сколько стоит взрослый билет?", "Взрослый билет стоит 450 рублей.", "includes a number"),
    ],
)
def test_what_is_asked_for_is_told_from_the_question(question: str, text: str, gives: str) -> None:
    assert gives in rated(question, text)[0].reason


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        (
            "Which day does the library close early?",
            "On Fridays the library closes at 4 pm.",
            "The library lends films.",
        ),
        ("How long is the warranty?", "The battery has a guarantee of two years.", "The battery is made of lithium."),
    ],
)
def test_a_short_passage_with_what_is_asked_for_is_relevant(question: str, text: str, other: str) -> None:
    """It has half of the question in one sentence, or in words of the same meaning, and the day or the number."""
    answering, beside = rated(question, text, other, level="passage")
    assert answering.label == "2"
    assert beside.label in {"0", "1"}


def test_words_are_called_shared_only_if_they_are_the_same() -> None:
    """One that means nearly the same is named as it is written in the text."""
    similar, shared = rated("What does the pump need?", "It requires 8 litres of oil.", "The pump is red.")
    assert 'words similar to the question\'s: "requires"' in similar.reason
    assert 'words shared with the question (1 of 2): "pump"' in shared.reason


def test_a_claim_that_is_a_short_answer_is_completed_from_the_question() -> None:
    short, other = (
        rated("How long is the warranty?", text, level="claim", scale=YES_NO)[0]
        for text in ("It is five years.", "It is popular.")
    )
    assert (short.label, other.label) == ("yes", "no")


def test_a_question_without_content_words_leaves_relevance_open() -> None:
    """There is nothing to compare: neither the best label nor the worst."""
    (verdict,) = rated("What is it?", "A kettle.")
    assert (verdict.label, verdict.reason) == ("1", "the question has no content words")


# ---- texts of one call


def test_a_claim_that_carries_on_the_answer_is_relevant_beside_the_others() -> None:
    question, claim = "How do I remove limescale from the kettle?", "It is left to stand for half an hour."
    about = "Limescale is removed from the kettle with vinegar."
    assert rated(question, about, claim, level="claim", scale=YES_NO)[1].label == "yes"
    assert rated(question, claim, level="claim", scale=YES_NO)[0].label == "no"
    foreign = rated(question, "Mercury orbits the Sun.", claim, level="claim", scale=YES_NO)
    assert [verdict.label for verdict in foreign] == ["no", "no"]


def test_the_order_of_texts_changes_nothing() -> None:
    row = RECORDS["risotto-rest"]
    forth, back = passages("risotto-rest"), rated(row["question"], *row["contexts"][::-1], level="passage")
    assert [(v.label, v.probability) for v in forth] == [(v.label, v.probability) for v in back[::-1]]


def test_time_is_linear_in_question_and_texts() -> None:
    """Words that all begin alike, and many of them."""
    words = " ".join(f"prefix{'abcdefghij'[n % 10]}{n}x" for n in range(3000))
    began = process_time()
    rated(words, *[words] * 40, level="passage")
    assert process_time() - began < 10
