"""How the embedded judge reads single statements: what is one, how it is put, what a slash in it offers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.judges.embedded.assign import READINGS, readings
from ragstone.judges.embedded.verbs import imperative, listed, purposeful, states
from ragstone.judges.embedded.wording import put
from ragstone.segment import language_of


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("Oakum is a tarred fibre", True), ("Governments impose tariffs", True), ("Smith plays for Arsenal", True),
        ("The team discovered the wreck", True), ("Symptoms include fever, which is common", True),
        ("There are two ways", True), ("Switching between devices connected to it", False),
        ("The vaccine developed by Pfizer", False), ("Results of the tests", False), ("Imperial College London", False),
        ("Vaccines that were tested in mice", False), ("fog lights", False),
        ("Automatically turns off the TV", False), ("If the lid is open", False),
    ],
)  # fmt: skip
def test_a_statement_has_a_subject_and_a_verb(text: Any, full: Any) -> None:
    """A verb of its own, not a relative clause's, a participle or a plural noun."""
    assert states(text) == full


def test_instructions_are_known_by_their_verb() -> None:
    """At the beginning, or after the purpose."""
    assert imperative(["Press", "the", "button"])
    assert not imperative(["Press", "coverage", "was", "poor"])
    assert purposeful(["To", "open", "it,", "press", "the", "latch"])
    assert not purposeful(["To", "open", "it,", "you", "need", "a", "key"])


def test_no_verb_is_listed_twice() -> None:
    """A verb is listed as one that may be a noun, or as one that is none."""
    assert listed("verbs").isdisjoint(listed("verbs_or_nouns"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Bieber / the singer was turned away", ["Bieber was turned away", "the singer was turned away"]),
        ("Baron/Pup's home is in California", ["Baron's home is in California", "Pup's home is in California"]),
        ("425/many young women slept", ["425 young women slept", "many young women slept"]),
        (
            "The bed was made for the king / Henry VII",
            ["The bed was made for the king", "The bed was made for Henry VII"],
        ),
        ("A / B / C was found", ["A was found", "B was found", "C was found"]),
        ("The load is 100 km/h", ["The load is 100 km/h"]),
        ("TCP/IP and/or HTTP is used", ["TCP/IP and/or HTTP is used"]),
        ("It was on 4/25/2015", ["It was on 4/25/2015"]),
        ("See https://a.example/b", ["See https://a.example/b"]),
        ("/ / /", ["/ / /"]),
    ],
)
def test_a_slash_offers_readings(text: Any, expected: Any) -> None:
    """Joined words and phrases are read each for itself; units, dates, addresses and short forms are left alone."""
    assert list(readings(text)) == expected


@settings(max_examples=100)
@given(st.text(alphabet="aB1 /,.'s", max_size=60))
def test_any_slashes_have_readings(text: Any) -> None:
    """At least one and a few at most, none longer than the nugget and a shared noun."""
    found = readings(text)
    assert 1 <= len(found) <= READINGS
    assert all(isinstance(one, str) for one in found)


def test_words_are_put_on_one_line() -> None:
    """Links keep their words, brackets that insert a word keep it, a repeated first word goes."""
    assert put("The [river](https://a.example/b) [has]\n flooded  often [3].", "en") == "The river has flooded often"
    assert put("Orf8 orf8 is a protein.", "en") == "Orf8 is a protein"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Oakum is a tarred fibre. Its main use is in ships.", "en"),
        ("A ház nagy és szép, de nem új.", "hu"),
        ("Москва — столица России.", "ru"),
        ("Het huis is niet op het eiland.", "nl"),
    ],
)
def test_short_english_is_not_taken_for_hungarian(text: Any, language: Any) -> None:
    """A guess that stands on words which English has, too, is English; others are believed."""
    assert language_of(text) == language
