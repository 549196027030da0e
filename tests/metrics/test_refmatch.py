"""Overlap and alignment with a reference: known numbers, and what holds for any texts and vectors."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from material import columns, nobody, record
from msgspec.structs import replace

from ragstone import evaluate
from ragstone.errors import ConfigError
from ragstone.metrics import find, refalign
from ragstone.metrics.refmatch import MEASURES
from ragstone.stats.assignment import matched
from ragstone.stats.overlap import bleu, chrf, meteor, rouge_l, rouge_n, words
from ragstone.types import Score, Span

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


UNIT = st.integers(0, 100).map(lambda n: n / 100)
ANGLES = st.lists(st.integers(0, 179).map(float), min_size=1, max_size=5)
GRIDS = st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(UNIT, min_size=n, max_size=n), min_size=1, max_size=6))


def turned(degrees: float) -> tuple[float, float]:
    """A vector of length 1 in the plane, so that similarities are cosines of differences."""
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees))


def aligned(response: dict[str, float], reference: dict[str, float], **parameters: Any) -> dict[str, Score]:
    """The scores of texts whose sentences point in these directions; whole texts in that of their first sentence."""
    angles = {**response, **reference}
    texts = [" ".join(sentences) for sentences in (response, reference)]
    angles |= {text: next(iter(side.values())) for text, side in zip(texts, (response, reference), strict=True)}
    model = SimpleNamespace(encode=lambda text: turned(angles[text]), files=SimpleNamespace(name="lab/plane"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refalign, "encoder", lambda _: model)
        about = replace(record(texts[0]), reference=texts[1])
        return columns(find("refalign")().with_parameters(parameters), about, nobody)[0]


def test_worked_numbers_of_an_alignment() -> None:
    """Cosines: A-X .985, A-Y .866, B-X .906, B-Y .259, C none. A-Y and B-X are two pairs, A-X would be one."""
    scores = aligned({"A is so.": 0.0, "B is so.": 35.0, "C is so.": 120.0}, {"X is so.": 10.0, "Y is so.": -30.0})
    assert {name: round(score.value or 0, 3) for name, score in scores.items()} == {
        "f1": 0.8, "precision": 0.667, "recall": 1.0, "similarity": 0.985,
    }  # fmt: skip
    told = [(v.unit.id, v.label, v.reason, v.evidence[0].passage, v.evidence[0].text) for v in scores["f1"].verdicts]
    assert told == [
        ("r/sentence_by_reference/1", "yes", "similarity 0.87", "reference", "Y is so."),
        ("r/sentence_by_reference/2", "yes", "similarity 0.91", "reference", "X is so."),
        ("r/sentence_by_reference/3", "no", "similarity 0.00", "reference", "X is so."),
        ("r/reference_sentence_by_response/1", "yes", "similarity 0.91", "response", "B is so."),
        ("r/reference_sentence_by_response/2", "yes", "similarity 0.87", "response", "A is so."),
    ]  # fmt: skip
    assert scores["f1"].verdicts[0].evidence[0].span == Span(9, 17)
    assert [verdict.unit.span for verdict in scores["f1"].verdicts[2:4]] == [Span(18, 26), None]
    assert [score.outcome for score in scores.values()] == ["PASSED"] * 4


def test_the_rule_of_a_table_is_no_sentence() -> None:
    """A response with a table is not wrong by the line under its headings; one of signs alone has no sentence."""
    table = {"| A | is |": 0.0, "|---|---|": 90.0, "| so | 1 |": 0.0}
    model = SimpleNamespace(encode=lambda text: turned(table.get(text, 0.0)), files=SimpleNamespace(name="lab/plane"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refalign, "encoder", lambda _: model)
        about = replace(record("\n".join(table)), reference="A is so.")
        scores = columns(find("refalign")(), about, nobody)[0]
        assert (scores["precision"].value, scores["recall"].value) == (0.5, 1.0)
        signs = columns(find("refalign")(), replace(about, response="|---|---|"), nobody)[0]
    assert signs["f1"].status == "empty"


def test_a_sentence_has_one_partner() -> None:
    """Said twice, it is matched once, and the second says why not; a cosine of .5 is not enough at .6, and is at .5."""
    scores = aligned({"A is so.": 0.0, "B is so.": 5.0}, {"X is so.": 0.0})
    assert (scores["precision"].value, scores["recall"].value) == (0.5, 1.0)
    assert scores["f1"].verdicts[1].reason == "similarity 1.00, but matched to another sentence"
    texts = {"A is so.": 0.0}, {"X is so.": 60.0}
    assert aligned(*texts)["f1"].value == 0.0
    assert aligned(*texts, threshold=0.5)["f1"].value == 1.0


@given(GRIDS, st.sampled_from([0.0, 0.3, 0.6]))
def test_matching_is_exact(grid: list[list[float]], threshold: float) -> None:
    """As scipy's: most pairs, then the greatest sum; never less than greedily."""
    np, optimize = pytest.importorskip("numpy"), pytest.importorskip("scipy.optimize")
    found = matched(grid, threshold)
    assert len(set(found.values())) == len(found)
    assert all(grid[row][column] >= threshold for row, column in found.items())
    gains = np.array([[1 + one / 1000 if one >= threshold else 0.0 for one in row] for row in grid])
    rows, places = optimize.linear_sum_assignment(gains, maximize=True)
    assert sum(1 + grid[r][c] / 1000 for r, c in found.items()) == pytest.approx(gains[rows, places].sum())
    left, greedy = {(r, c) for r in range(len(grid)) for c in range(len(grid[0])) if grid[r][c] >= threshold}, 0
    while left:
        best = max(left, key=lambda place: grid[place[0]][place[1]])
        greedy += 1
        left = {(r, c) for r, c in left if r != best[0] and c != best[1]}
    assert len(found) >= greedy


@given(ANGLES, ANGLES)
def test_texts_swapped_swap_precision_and_recall(own: list[float], gold: list[float]) -> None:
    response = {f"Own {n} is so.": angle for n, angle in enumerate(own)}
    reference = {f"Gold {n} is so.": angle for n, angle in enumerate(gold)}
    there, back = aligned(response, reference), aligned(reference, response)
    assert (there["precision"].value, there["recall"].value) == (back["recall"].value, back["precision"].value)
    assert there["similarity"].value == pytest.approx(back["similarity"].value)
    same = aligned(response, {sentence.replace("Own", "Gold"): angle for sentence, angle in response.items()})
    assert {round(score.value or 0, 9) for score in same.values()} == {1.0}


def test_a_suite_does_not_load_a_model() -> None:
    present = {"response": 1, "reference": 1}
    told = "needs a local model (ragstone[nli]); to include it, add its name: -m auto,refalign"
    assert find("refalign").lacks(present) == told


def test_the_signature_names_the_model(tmp_path: Path) -> None:
    """Its commit, its hash and what runs it; a name or a folder of the same files makes the same signature."""
    row = {"id": "r", "response": "It is steel.", "reference": "It is of steel."}
    run = evaluate([row], "refalign", out=tmp_path / "run")
    assert "|encoder:lab/words@0123456#d1.onnxruntime-" in run["r"]["scores"][0]["signature"]
    assert "model:" not in run["r"]["scores"][0]["signature"]
    with pytest.raises(ConfigError, match="applies to the whole run"):
        find("refalign")().overridden({"model": "/tmp/x"})
