"""How the embedded judge reads single statements: what is one, and in which language."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.support import judged
from ragstone.judges.embedded.verbs import imperative, listed, purposeful, states
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
    """A form is listed as one that is always a verb, or as one that may be a noun."""
    assert listed("sure").isdisjoint(listed("base third"))


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


def test_the_passages_of_a_judged_statement_are_freed() -> None:
    """The sentences that were read for it are known only as long as the library of its question."""
    text = "Tom Hall led the mission, and Ann Lee designed the lander."
    library = Library([text])
    kept = weakref.ref(library)
    judged("Ann Lee led the mission.", library, str)
    del library
    gc.collect()
    assert kept() is None
