"""How the embedded judge takes sentences apart into claims."""

from __future__ import annotations

from typing import Any

import pytest
from by_hand import embedded
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.judges.embedded.claims import write
from ragstone.questions import Write, Written
from ragstone.segment import sentences
from ragstone.types import Unit


def claims(text: str, before: str = "", **more: Any) -> tuple[Unit, ...]:
    spans = sentences(text)
    units = tuple(Unit(f"r/sentence/{n}", "sentence", text[s.start : s.end], s) for n, s in enumerate(spans, 1))
    answer = embedded(Write("claims", "claim", "", units, before=before, **more))
    assert isinstance(answer, Written)
    assert not answer.failure
    return answer.units


def texts(text: str, before: str = "", **more: Any) -> list[str]:
    return [unit.text for unit in claims(text, before, **more)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The kettle is steel.", ["The kettle is steel."]),
        (
            "Marie Curie was born in Warsaw and won the Nobel Prize in 1903.",
            ["Marie Curie was born in Warsaw.", "Marie Curie won the Nobel Prize in 1903."],
        ),
        (
            "Paris, which is the capital of France, has 2 million people.",
            ["Paris has 2 million people.", "Paris is the capital of France."],
        ),
        ("The load must be secured, but the driver may go on.", ["The load must be secured.", "The driver may go on."]),
        (
            "Plans include rare vectors, new doses, and masking.",
            ["Plans include rare vectors.", "Plans include new doses.", "Plans include masking."],
        ),
        ("Salt and pepper are on the table.", ["Salt and pepper are on the table."]),
        ("1. Wash the **car** [2].\n2. Rinse it.", ["Wash the car.", "Rinse it."]),
        ("Hello! Here are the steps:\n- Wash the car.\nI hope this helps!", ["Wash the car."]),
        ("Москва — столица, и она велика. Она на реке.", ["Москва — столица, и она велика.", "Она на реке."]),
        ("莫斯科是俄罗斯的首都。人口很多。", ["莫斯科是俄罗斯的首都。", "人口很多。"]),
    ],
)  # fmt: skip
def test_sentences_are_taken_apart_where_their_form_is_clear(text: Any, expected: Any) -> None:
    """Clauses keep their subject, insertions and enumerations stand alone, trivial sentences make no claim."""
    assert texts(text) == expected


def test_a_pronoun_takes_the_subject_of_the_sentence_before() -> None:
    """Within the part or from the text before it; where it is not obvious it stays."""
    assert texts("Marie Curie was Polish. She died in 1934.") == [
        "Marie Curie was Polish.",
        "Marie Curie died in 1934.",
    ]
    assert texts("She died in 1934.", before="Marie Curie was Polish.") == ["Marie Curie died in 1934."]
    assert texts("He died in 1934.", before="The weather was bad.") == ["He died in 1934."]
    assert texts("It is important to rest.", before="Moscow is big.") == ["It is important to rest."]


def test_a_participle_after_an_article_is_no_verb() -> None:
    """Else the subject would be the bare article: "The was founded"."""
    found = write(["The estimated rate in Italy is 9.8 percent.", "It was measured in March."])
    assert [claim.text for claim in found][-1] == "The estimated rate in Italy was measured in March."


def test_a_claim_knows_its_sentence() -> None:
    """Ids count from one; span and parent are the sentence's, and the part is the question's."""
    first, second = claims("Hello! Marie Curie was born in Warsaw and won the Nobel Prize in 1903.", part=3)
    assert (first.id, second.id) == ("claim/1", "claim/2")
    assert first.span == second.span
    assert first.span is not None
    assert first.span.start == 7
    assert {first.parent, second.parent} == {"r/sentence/2"}
    assert (first.part, first.level, first.confidence, second.confidence) == (3, "claim", 0.9, 0.8)


@settings(max_examples=150)
@given(st.lists(st.text(alphabet='ABc ,;.andwhichisHe"()1中а\n', max_size=60), max_size=5), st.text(max_size=40))
def test_any_sentences_make_claims(found: Any, before: Any) -> None:
    """No text breaks it; every claim has a text, a sentence it is from, and a confidence in [0, 1]."""
    for claim in write(found, before):
        assert claim.text.strip()
        assert 0 <= claim.sentence < len(found)
        assert 0 < claim.confidence <= 1


@pytest.mark.parametrize("unit", ["and is ", "which, is ", "A, b; ", "He is ", "x" * 100 + " ", "include a, "])
def test_a_sentence_of_any_length_is_written(unit: Any) -> None:
    """Ten thousand words in one sentence take no time to speak of."""
    assert write(["Xa " + unit * 10_000])
