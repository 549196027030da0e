"""Overlap with a reference: the numbers of sacrebleu and rouge-score, and what holds for any texts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from material import columns, nobody, record
from msgspec.structs import replace

from ragstone.metrics import find
from ragstone.metrics.refmatch import MEASURES
from ragstone.stats.overlap import bleu, chrf, meteor, rouge_l, rouge_n, words

WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat.", "3.5", "U.S.", "dog,", "it's"]), max_size=14)
TEXTS = st.one_of(WORDS.map(" ".join), st.text(alphabet="abAB  ..,-'\"()12$%/\n", max_size=40))
CAT, MAT = "the cat sat on the mat", "the cat is on the mat"


def values(response: str, reference: str, **parameters: Any) -> dict[str, float | None]:
    about = replace(record(response), reference=reference)
    scores, asked = columns(find("refmatch")().with_parameters(parameters), about, nobody)
    assert not asked
    assert all((score.low, score.high, score.verdicts) == (score.value, score.value, ()) for score in scores.values())
    return {name: score.value for name, score in scores.items()}


def test_worked_numbers() -> None:
    """Five of six words are the same, three of five pairs, five in order; BLEU's fourth order is smoothed."""
    found = {name: round(value or 0.0, 4) for name, value in values(CAT, MAT).items()}
    assert found == {
        "chrf": 0.6458,
        "bleu": 0.3799,
        "rouge1": 0.8333,
        "rouge2": 0.6,
        "rougeL": 0.8333,
        "meteor": 0.8067,
    }


@pytest.mark.parametrize(
    ("response", "reference", "rouge"),
    [
        ("Высота башни 330 метров.", "Высота башни составляет 330 метров", 8 / 9),
        ("塔高330米。", "塔高为330米。", 8 / 9),  # 塔 高 330 米
    ],
)
def test_words_of_every_script_are_words(response: str, reference: str, rouge: float) -> None:
    """Where there are no blanks between words each character is one."""
    assert rouge_n(response, reference, 1) == pytest.approx(rouge)
    assert bleu(response, reference) > 0


def test_texts_without_words_are_empty_and_a_threshold_decides_each_column() -> None:
    found = values("?!", "?!")
    assert found == {"chrf": 1.0, "bleu": 1.0, "rouge1": None, "rouge2": None, "rougeL": None, "meteor": None}
    about = replace(record(CAT), reference=MAT)
    scores, _ = columns(find("refmatch")(threshold=0.6), about, nobody)
    assert [score.outcome for score in scores.values()] == ["PASSED", "FAILED", "PASSED", "PASSED", "PASSED", "PASSED"]


@given(TEXTS, TEXTS)
def test_the_numbers_are_those_of_sacrebleu(response: str, reference: str) -> None:
    """Its sentence_bleu and sentence_chrf, with their defaults."""
    sacrebleu = pytest.importorskip("sacrebleu")
    assert bleu(response, reference) == pytest.approx(sacrebleu.sentence_bleu(response, [reference]).score / 100)
    assert chrf(response, reference) == pytest.approx(sacrebleu.sentence_chrf(response, [reference]).score / 100)


@pytest.mark.parametrize(
    ("response", "reference", "rouge1", "rouge2", "rouge_longest", "of_meteor"),
    [
        (CAT, MAT, 0.833333, 0.6, 0.833333, 0.806667),
        ("It's 3.5 km, U.S. time!", "its 3 5 km in us time", 0.533333, 0.307692, 0.533333, 0.719875),
        ("a a a b", "a b a", 0.857143, 0.4, 0.571429, 0.483871),
        ("on the mat the cat sat", "The CAT sat, on the mat.", 1.0, 0.8, 0.5, 0.710648),
        ("one", "one two", 0.666667, 0.0, 0.666667, 0.263158),
        ("snake_case and dash-case", "snake case and dash case", 1.0, 1.0, 1.0, 0.996),
        ("The lids were cleaned, quickly.", "A lid is cleaned and it is quick", 0.153846, 0.0, 0.153846, 0.12987),
        ("nothing alike", "wholly other words", 0.0, 0.0, 0.0, 0.0),
        ("", "the mat", 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_the_numbers_are_those_of_rouge_score_and_nltk(
    response: str, reference: str, rouge1: float, rouge2: float, rouge_longest: float, of_meteor: float
) -> None:
    """As of rouge-score 0.1.2 and nltk 3.10.4, which pull too much for the lock; nltk was given our words.

    ``RougeScorer(["rouge1", "rouge2", "rougeL"]).score(reference, response)``, fmeasure; ``single_meteor_score(words of
    reference, words of response, stemmer=PorterStemmer(mode="ORIGINAL_ALGORITHM"), wordnet=one without synsets)``.
    """
    pairs = (response, reference)
    found = (rouge_n(*pairs, 1), rouge_n(*pairs, 2), rouge_l(*pairs), meteor(*pairs))
    assert [value or 0.0 for value in found] == pytest.approx([rouge1, rouge2, rouge_longest, of_meteor], abs=1e-6)


@given(
    st.text(alphabet="塔高为米中a1 。，", min_size=1, max_size=20), st.text(alphabet="塔高为米中a1 。，", max_size=20)
)
def test_bleu_of_chinese_is_that_of_the_tokenizer_for_it(response: str, reference: str) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    expected = sacrebleu.sentence_bleu(response, [reference], tokenize="zh").score / 100
    assert bleu(response, reference) == pytest.approx(expected)


@given(TEXTS)
def test_a_text_matches_itself(text: str) -> None:
    """METEOR takes off half of the cube of one run's share of its words."""
    count = len(words(text))
    assert meteor(text, text) == (pytest.approx(1 - 0.5 / count**3) if count else None)
    for name, measure in MEASURES.items() - {("meteor", meteor)}:
        value = measure(text, text)
        assert value in ((None, 1.0) if name.startswith("rouge") else (0.0, 1.0)), name
        if text.strip() and not name.startswith("rouge"):
            assert value == pytest.approx(1.0), name


@given(st.text(alphabet="abc ", max_size=20), st.text(alphabet="xyz ", max_size=20))
def test_texts_with_nothing_in_common_match_in_nothing(response: str, reference: str) -> None:
    assert {measure(response, reference) or 0.0 for measure in MEASURES.values()} == {0.0}


@given(TEXTS, TEXTS)
def test_rouge_is_the_same_both_ways(response: str, reference: str) -> None:
    """F1 takes precision for recall when the texts are swapped; all values lie in [0, 1]."""
    for name, measure in MEASURES.items():
        there, back = measure(response, reference), measure(reference, response)
        assert there is None or 0 <= there <= 1
        assert there == back or not name.startswith("rouge")
