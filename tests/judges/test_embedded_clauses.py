"""How the embedded judge parts long sentences: eighty, each with the short statements that it makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragstone.judges.embedded.clauses import LONG, LONGEST, parted
from ragstone.judges.embedded.words import tokens_of


def _sentences() -> dict[str, set[str]]:
    """``= sentence``, each followed by ``+ statement`` for what may be said of it alone."""
    found: dict[str, set[str]] = {}
    accepted = set[str]()
    for line in (Path(__file__).parent / "long_sentences.txt").read_text("utf-8").splitlines():
        if line.startswith("= "):
            accepted = found[line[2:].removesuffix(".")] = set()
        elif line.startswith("+ "):
            accepted.add(line[2:])
    return found


SENTENCES = _sentences()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_is_parted_into_what_it_says_or_stays_whole(sentence: str) -> None:
    """No condition, exception, quantity, denial or speaker is cut off, and no word is lost."""
    pieces = parted(sentence, "en")
    assert pieces == [sentence] or set(pieces) <= SENTENCES[sentence]
    lost = {one.stem for one in tokens_of(sentence, "en")} - {one.stem for one in tokens_of(" ".join(pieces), "en")}
    assert lost <= {"and", "but", "while", "wherea"}


@pytest.mark.parametrize(
    ("sentence", "pieces"),
    [
        ("The fund charges a management fee of 0.5% per year and has no minimum investment",
         ["The fund charges a management fee of 0.5% per year", "The fund has no minimum investment"]),
        ("Adults may take up to eight tablets in 24 hours, but children should not take more than four",
         ["Adults may take up to eight tablets in 24 hours", "Children should not take more than four"]),
        ("The Model S has a range of 405 miles, while the Model 3 has a range of 358 miles",
         ["The Model S has a range of 405 miles", "The Model 3 has a range of 358 miles"]),
        ("Push the black tab under the wiring harness, and lift the lever into the open position",
         ["Push the black tab under the wiring harness", "Lift the lever into the open position"]),
        ("It consists of two complexes and is essential for processes such as vesicular trafficking and endocytosis",
         ["It consists of two complexes",
          "It is essential for processes such as vesicular trafficking and endocytosis"]),
    ],
)  # fmt: skip
def test_joined_clauses_and_verbs_are_nuggets_of_their_own(sentence: str, pieces: list[str]) -> None:
    """The subject is repeated before a verb that shares it."""
    assert parted(sentence, "en") == pieces


@pytest.mark.parametrize(
    "sentence",
    [
        "The alarm sounds and the valve closes within two seconds, unless the operator has locked the main panel",
        "No patient in the second group died of the disease and was treated again within the same year",
        "Only two of the tested devices passed the first test and have kept their certificates since then",
        "The mayor said that the bridge was closed on Monday, and the old road would be opened again",
        "Critics claim the plant is unsafe for its workers, and its owners are hiding the measured values",
        "If the light turns red, the pump has stopped for good, and the tank is about to run dry",
        "The dam was built by local workers in three years and named after the first president of the state",
        "The plan aims to reduce emissions by a third and is opposed by most of the council, the mayor told us",
        "The kit has a lid, a handle made of brass, and a base that is painted in dark green",
    ],
)
def test_what_a_cut_could_make_false_stays_whole(sentence: str) -> None:
    """Conditions, counted subjects, what somebody says, participles and lists."""
    assert parted(sentence, "en") == [sentence]


def test_short_long_and_foreign_texts_stay_whole() -> None:
    """Twelve words are short, and in other languages verbs are not known."""
    short = "The tower is 330 metres tall and it stands in the city"
    long = "the cat is old and is grey and " * LONGEST + "is fat"
    assert len(short.split()) == LONG
    assert [parted(text, "en") for text in (short, long)] == [[short], [long]]
    german = "Der Turm ist 330 Meter hoch, und er steht auf dem Marsfeld in der Stadt Paris"
    assert parted(german, "de") == [german]
