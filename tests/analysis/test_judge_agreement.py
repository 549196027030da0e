"""A judge against people: what joins, what is refused and counted, and the numbers that come of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from labelled import write
from ragstone import Agreement, agree, evaluate
from ragstone.analysis.agreement import attached
from ragstone.analysis.gold_join import join
from ragstone.analysis.run import Run, unit_text
from ragstone.errors import InputError
from ragstone.labels import LabelDraw, LabelRow, text_hash
from ragstone.metrics import catalogue
from ragstone.questions import GRADE_0_3, SUPPORT_3, YES_NO, Rate, Write
from ragstone.stats.agreement import Matrix
from ragstone.stats.correction import labels_to_halve, prediction_powered
from ragstone.testing import ScriptedJudge
from ragstone.types import TRIVIAL, Scale
from run_folders import folder, result, score

RANDOM, WORST = LabelDraw("random", 0, 50, 100), LabelDraw("worst", 0, 50, 100)
TASKS = {"grounding": "support", "groundedness": "support", "context_relevance": "relevance"}


def one(record: str, labels: Sequence[str | None], scale: Scale = YES_NO, **more: Any) -> dict[str, Any]:
    """A result of grounding with a claim for each of the judge's labels; None is unjudged."""
    return of("grounding", record, [(f"{record}/claim/{n}", label) for n, label in enumerate(labels, 1)], scale, **more)


def of(
    metric: str, record: str, judged: Sequence[tuple[str, str | None]], scale: Scale = YES_NO, **more: Any
) -> dict[str, Any]:
    """A result with one metric's verdicts by unit; sentences are numbers of the response ``One. Two. …``."""
    values = [None if label in (None, TRIVIAL) else scale.value(label or "") for _, label in judged]
    known = [value for value in values if value is not None]
    verdicts: list[dict[str, Any]] = [
        {"unit": unit, "label": label, "value": value, "raw": None, "probability": value and 0.9 * value,
         "judge": "one", "reason": f"why {unit}", "evidence": []}
        for (unit, label), value in zip(judged, values, strict=True)
    ]  # fmt: skip
    words = ("One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.")[: len(judged)]
    level = judged[0][0].split("/")[1] if judged else "claim"
    units = [
        {"id": unit, "level": level, "text": None if level == "passage" else word, "start": 0, "end": 4,
         "parent": f"p{n}" if level == "passage" else None, "confidence": None, "part": None}
        for n, ((unit, _), word) in enumerate(zip(judged, words, strict=True), 1)
    ]  # fmt: skip
    contexts = [{"id": f"p{n}", "rank": n, "text": word} for n, word in enumerate(words, 1)]
    value = sum(known) / len(known) if known else None
    return result(
        record, more.pop("position", 1), [score(metric, more.pop("value", value), verdicts=verdicts)], units=units,
        response=" ".join(words), contexts=contexts, **more,
    )  # fmt: skip


def row(unit: str, label: str | None, task: str = "support", **more: Any) -> LabelRow:
    return LabelRow(unit.partition("/")[0], unit, task, label, **{"draw": RANDOM, **more})


def rows(record: str, labels: Sequence[str | None], **more: Any) -> list[LabelRow]:
    return [row(f"{record}/claim/{n}", label, **more) for n, label in enumerate(labels, 1)]


@pytest.fixture
def compare(tmp_path: Path) -> Any:
    """Compare results with rows, both written to files."""

    def compared(results: Sequence[Mapping[str, Any]], *gold: Sequence[LabelRow], **options: Any) -> Agreement:
        run = folder(tmp_path / "run", results, parameters=options.pop("parameters", {}))
        paths = [write(tmp_path / f"gold{number}.jsonl", given) for number, given in enumerate(gold)]
        return agree(run, paths, **options)

    return compared


def agreed(run: Run, gold: Iterable[LabelRow], **options: Any) -> Agreement:
    """A run of the store compared with rows, which are written beside it."""
    return agree(run, write(Path(run.store.path).with_name("labels.jsonl"), gold), **options)


# ---- joining


def test_every_measure_is_of_the_units_that_both_labelled(compare: Any) -> None:
    """The matrix has people in rows; kappa and the like are those of the statistics."""
    found = compare(
        [one("a", ["yes", "no", "no"]), one("b", ["yes", "yes"]), one("c", ["no"])],
        [*rows("a", ["yes", "no", "yes"]), *rows("b", ["yes", "no"])],
    )["grounding"]  # fmt: skip
    matrix = Matrix(((1, 1), (1, 2)))
    assert (found.items.matrix, found.items.labels, found.items.records) == (matrix, ("no", "yes"), 2)
    assert (found.items.kappa, found.items.constant) == (matrix.kappa(), "yes")
    assert found.items.interval is not None
    plain = found.as_json()
    assert (plain["units"], plain["base_rate"], plain["accuracy"]) == (5, 0.6, 0.6)
    assert plain["micro"]["f1"] == plain["accuracy"]
    assert plain["classes"]["no"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5}
    assert plain["kappa_linear"] == plain["kappa"]
    # The positive units have .9, .9 and 0, the negative ones 0 and .9: 2 + 1.5 of 6 pairs are in order.
    assert plain["auroc"] == pytest.approx(3.5 / 6)
    assert plain["calibration_error"] == pytest.approx((abs(0 - 1) + abs(2.7 - 2)) / 5)
    assert plain["people_alpha"] is None
    orjson.dumps(found.as_json())


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (row("zz/claim/1", "yes"), "unknown_record"),
        (row("a/claim/9", "yes"), "unknown_unit"),
        (row("a/claim/9", "yes", "unknown"), "unknown_unit"),
        (row("a/claim/2", "yes", "relevance"), "wrong_task"),
        (row("a/claim/2", "yes", hash=text_hash("Another text.")), "changed_text"),
        (row("a/claim/2", "support"), "unknown_label"),
        (row("a/claim/2", None), "cannot_tell"),
    ],
)
def test_a_label_that_does_not_join_is_counted_and_named(compare: Any, given: LabelRow, problem: str) -> None:
    """It is never taken for another unit's or another label; the others stand."""
    fine = row("a/claim/1", "yes", hash=text_hash("One."))
    found = compare([one("a", ["yes", "no"])], [fine, given])
    assert [(each.problem, each.count, each.first) for each in found.refused] == [(problem, 1, [given])]
    assert (found.rows, found.joined, found["grounding"].items.matrix.n) == (2, 1, 1)


def test_only_a_few_of_many_are_listed(compare: Any) -> None:
    strays = [row(f"x{n}/claim/1", "yes") for n in range(40)]
    (refused,) = compare([one("a", ["yes"])], [*rows("a", ["yes"]), *strays]).refused
    assert (refused.count, len(refused.first)) == (40, 5)


def test_a_record_with_settings_of_its_own_is_refused(compare: Any) -> None:
    """The judge's labels are of another scale than the run's: people's labels are not put on either."""
    likert = Scale("own", ("1", "5"), (0.0, 1.0), (1, 5))
    found = compare([one("a", ["yes"]), one("b", ["5"], likert)], [*rows("a", ["yes"]), *rows("b", ["yes"])])
    assert [(each.problem, each.count) for each in found.refused] == [("other_settings", 1)]


@pytest.mark.parametrize(
    ("gold", "options", "said"),
    [
        ([], {}, r"gold0.jsonl: the input is empty; expected at least one record$"),
        ([row("zz/claim/1", "no")], {}, r"run 1: no such record \(1 label, first: zz/claim/1, support, no\)"),
        ([row("a/claim/1", "no")], {"metrics": "trace"}, r"metric 'trace' is not in run 1; evaluate with -m trace$"),
        ([row("a/claim/1", "no")], {"by": "nothing"}, r"--by nothing: no labelled record has it"),
        ([row("a/claim/1", "no")], {"by": "meta.team"}, r"--by meta.team: no labelled record has it$"),
        ([row("a/claim/1", "no")], {"correction": "magic"}, r"correction 'magic'; expected ppi or rogan_gladen$"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_one_line(
    compare: Any, gold: list[LabelRow], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said) as caught:
        compare([one("a", ["yes"])], gold, **options)
    assert "\n" not in str(caught.value)


def test_labels_of_other_metrics_are_not_missed_where_one_is_named(compare: Any) -> None:
    run = [one("a", ["yes"])]
    run[0]["scores"] += of("context_relevance", "a", [("a/passage/1", "3")], GRADE_0_3)["scores"]
    run[0]["units"] += of("context_relevance", "a", [("a/passage/1", "3")], GRADE_0_3)["units"]
    gold = [*rows("a", ["yes"]), row("a/passage/1", "3", "relevance")]
    found = compare(run, gold, metrics=["grounding"])
    assert ([each.metric for each in found.metrics], found.refused) == (["grounding"], ())
    with pytest.raises(InputError, match=r"matches grounding in .*: label for another metric \(1 label, .* relevance"):
        compare(run, gold[1:], metrics=["grounding"])


def test_one_annotator_cannot_give_two_labels(compare: Any) -> None:
    """In two files as in one; the same label twice is one."""
    run = [one("a", ["yes"])]
    assert compare(run, rows("a", ["yes"]), rows("a", ["yes"])).rows == 1
    with pytest.raises(InputError, match=r"a/claim/1 \(support\) is labelled yes and no without an annotator"):
        compare(run, rows("a", ["yes"]), rows("a", ["no"]))
    ours, old = (rows("a", ["yes"], hash=text_hash(text)) for text in ("One.", "Another text."))
    for label in ("yes", "no"):
        found = compare(run, [replace(old[0], label=label)], ours)
        assert (found.joined, found.refused[0].problem) == (1, "changed_text"), "the other label is of another text"
        assert any("of the run, label a new sample" in note for note in found.notes)


def test_a_result_that_ragstone_did_not_write_is_named(compare: Any) -> None:
    with pytest.raises(InputError, match=r"the result for 'a' is not in Ragstone's format"):
        compare([{**one("a", ["yes"]), "units": [{}]}], rows("a", ["yes"]))


# ---- what is no label of the scale


def test_unjudged_is_left_out_and_a_class_of_its_own(compare: Any) -> None:
    """It ranks below the worst label, and has no number."""
    results = [one("a", ["yes", "no", None]), one("b", [None])]
    found = compare(results, [*rows("a", ["yes", "no", "yes"]), *rows("b", ["no"])])["grounding"]
    assert found.items.matrix == Matrix(((1, 0), (0, 1)))
    assert found.with_unjudged.labels == ("unjudged", "no", "yes")
    assert found.with_unjudged.matrix == Matrix(((0, 0, 0), (1, 1, 0), (1, 0, 1)))
    assert found.with_unjudged.alphas.interval is None
    assert found.with_unjudged.alphas.nominal is not None
    assert (found.unjudged, found.unlike) == (2, 0)
    assert found.accuracy_lost == pytest.approx(1 - 2 / 4)


def test_trivial_is_left_out_of_the_scale_and_counted(compare: Any) -> None:
    """By the judge, by people or by both; people's value leaves out what they call trivial."""
    judged = [("a/sentence/1", "3"), ("a/sentence/2", TRIVIAL), ("a/sentence/3", "0"), ("a/sentence/4", TRIVIAL)]
    gold = [row(unit, label) for (unit, _), label in zip(judged, ["3", TRIVIAL, TRIVIAL, "0"], strict=True)]
    second = of("groundedness", "b", [("b/sentence/1", "0")], GRADE_0_3)
    found = compare([of("groundedness", "a", judged, GRADE_0_3), second], [*gold, row("b/sentence/1", "0")])
    assert found.refused == ()
    one_metric = found["groundedness"]
    assert one_metric.items.matrix.n == 2
    assert one_metric.trivial == {"both": 1, "people": 1, "judge": 1}
    (mean,) = one_metric.means
    assert (mean.raw, mean.people, mean.labelled) == (0.25, 0.25, 2)  # the judge: 3 and 0; people: 3 and 0
    found = compare([one("a", ["yes", "no"])], rows("a", ["yes", TRIVIAL]))  # a judge may write a claim that is none
    assert (found.refused, found["grounding"].trivial["people"]) == ((), 1)
    assert [mean.people for mean in found["grounding"].means] == [1.0]


# ---- people


def test_several_annotators_vote_and_a_tie_is_left_out(compare: Any) -> None:
    """The judge is one more rater for alpha; ties are no gold label, but still ratings."""
    ana, ben, eva = (dict(zip("123", labels, strict=True)) for labels in (("yes", "no", "no"), ("yes", "yes", "no"),
                                                                          ("no", "yes", "no")))  # fmt: skip
    gold = [row(f"a/claim/{n}", votes[n], annotator=who, seconds=30.0)
            for who, votes in (("ana", ana), ("ben", ben), ("eva", eva)) for n in votes]  # fmt: skip
    gold += [row("a/claim/4", "yes", annotator="ana"), row("a/claim/4", "no", annotator="ben")]
    gold += [row("a/claim/5", None, annotator="eva"), row("a/claim/5", "no", annotator="ana")]
    found = compare([one("a", ["yes", "yes", "yes", "yes", "no"])], gold)
    one_metric = found["grounding"]
    assert one_metric.ties == 1
    assert one_metric.items.matrix == Matrix(((1, 1), (0, 2)))
    assert {(pair.first, pair.second): pair.units for pair in found.pairs} == {
        ("ana", "ben"): 4, ("ana", "eva"): 3, ("ben", "eva"): 3,
    }  # fmt: skip
    assert found.pairs[0].kappa == Matrix.of([(1, 1), (0, 1), (0, 0), (1, 0)], 2).kappa()
    people = {each.name: (each.labels, each.records, each.cannot_tell, each.minutes) for each in found.annotators}
    assert people == {"ana": (5, 1, 0, 1.5), "ben": (4, 1, 0, 1.5), "eva": (3, 1, 1, 1.5)}
    assert one_metric.people_alphas.nominal != one_metric.items.alphas.nominal
    (worst,) = found.disagreements
    assert (worst.unit, worst.people, worst.judge, worst.gap, worst.votes) == ("a/claim/3", "no", "yes", 1.0, {"no": 3})


def test_the_largest_disagreement_is_first(compare: Any) -> None:
    """By the distance of the labels; of equal ones the judge's kinder error comes first."""
    scores = [("a/sentence/1", "2"), ("a/sentence/2", "0"), ("a/sentence/3", "3"), ("a/sentence/4", "1")]
    gold = [row(unit, label) for (unit, _), label in zip(scores, ["3", "3", "0", "1"], strict=True)]
    found = compare([of("groundedness", "a", scores, GRADE_0_3)], gold)
    assert [each.unit[-1] for each in found.disagreements] == ["3", "2", "1"]
    assert found.disagreements[0].reason == "why a/sentence/3"
    assert len(compare([of("groundedness", "a", scores, GRADE_0_3)], gold, disagreements=1).disagreements) == 1


# ---- levels and groups


def test_a_record_has_its_best_passage_and_its_worst_sentence(compare: Any) -> None:
    """Against the gold's own label of the response, or for passages against the best that people gave."""
    passages = of(
        "context_relevance", "a", [("a/passage/1", "0"), ("a/passage/2", "2"), ("a/passage/3", None)], GRADE_0_3
    )
    gold = [row("a/passage/1", "3", "relevance"), row("a/response/1", "2", "relevance")]
    wholes = compare([passages], gold)["context_relevance"].wholes
    assert (wholes.matrix.counts[2][2], wholes.matrix.n) == (1, 1)
    every = [row(f"a/passage/{n}", label, "relevance") for n, label in enumerate("310", 1)]
    assert compare([passages], every)["context_relevance"].wholes.matrix.counts[3][2] == 1

    claims = [one("a", ["yes", "no", None]), one("b", ["yes", None]), one("c", ["yes", "yes"])]
    found = compare(claims, [row(f"{name}/response/1", label) for name, label in zip("abc", ("no", "yes", "yes"),
                                                                                     strict=True)])  # fmt: skip
    one_metric = found["grounding"]
    assert one_metric.items.matrix.n == 0
    assert one_metric.leading.matrix == Matrix(((1, 0), (0, 1))), "of b no claim is known to be the worst"
    drawn = [row("a/response/1", "yes", draw=WORST), row("c/response/1", "yes")]
    assert compare(claims, drawn)["grounding"].leading.matrix == Matrix(((0, 0), (0, 1))), "a is of a worst-first draw"


def test_agreement_by_a_field(compare: Any) -> None:
    results = [one(name, ["yes", "no"], topic=topic) for name, topic in (("a", "t1"), ("b", "t2"), ("c", "t2"))]
    gold = [each for name in "abc" for each in rows(name, ["yes", "yes" if name == "a" else "no"])]
    groups = compare(results, gold, by="topic")["grounding"].groups
    assert [(each.group, each.items.matrix.n, each.items.matrix.accuracy) for each in groups] == [
        ("t1", 2, 0.5), ("t2", 4, 1.0),
    ]  # fmt: skip


# ---- correction


def many(count: int, labelled: int, **more: Any) -> tuple[list[dict[str, Any]], list[LabelRow]]:
    """Records with two claims; people call every third judged ``yes`` a ``no``, and their labels name the response."""
    more = {"response": text_hash("One. Two."), **more}
    judged = [("yes", "no" if n % 4 else "yes") for n in range(count)]
    results = [one(f"r{n}", labels, position=n + 1) for n, labels in enumerate(judged)]
    gold = [each for n in range(labelled) for each in rows(f"r{n}", ("no" if n % 3 else "yes", judged[n][1]), **more)]
    return results, gold


def test_a_mean_is_corrected_by_records_that_are_labelled_in_full(compare: Any) -> None:
    """Prediction-powered: people's and the judge's values of these, and the judge's of all others."""
    results, gold = many(200, 42)
    found = compare(results, gold[:-1])["grounding"]
    (mean,) = found.means
    judge = [(1 + (n % 4 == 0)) / 2 for n in range(200)]
    people = [((n % 3 == 0) + (n % 4 == 0)) / 2 for n in range(41)]
    wanted = prediction_powered(people, judge[:41], judge[41:], clusters=(range(41), range(41, 200)))
    assert (mean.method, mean.value, mean.low, mean.high) == ("ppi", wanted.value, wanted.low, wanted.high)
    assert (mean.labelled, mean.records, found.labelled_in_part) == (41, 200, 1)
    assert mean.raw == pytest.approx(sum(judge) / 200)
    assert mean.more == labels_to_halve(people, judge[:41], judge[41:])
    kept = attached(compare(results, gold))["metrics"]["grounding"]
    assert kept["corrected"] is not None
    assert (kept["corrected"]["method"], kept["corrected"]["labelled"], kept["withheld"]) == ("ppi", 42, "")
    assert sum(map(sum, kept["counts"])) == kept["units"] == 84


def test_records_with_ties_are_in_the_mean(compare: Any) -> None:
    """Records on which people differ are no random ones; a tied claim counts as between its labels."""
    results, gold = many(60, 40)
    ben = [
        replace(row, annotator="ben", label="yes" if row.unit.endswith("1") and n % 4 else row.label)
        for n, row in enumerate(gold)
    ]
    both = [*(replace(row, annotator="ana") for row in gold), *ben]
    ties = sum(one.label != other.label for one, other in zip(gold, ben, strict=True))
    found = compare(results, both)["grounding"]
    (mean,) = found.means
    assert (found.ties, found.labelled_in_part, mean.labelled) == (ties, 0, 40)
    assert mean.people == pytest.approx(sum(row.label == "yes" for row in both) / len(both))
    (mean,) = compare(results, both, correction="rogan_gladen")["grounding"].means
    assert mean.labelled == 40 - ties, "it counts labels"


def test_few_labels_stand_for_themselves(compare: Any) -> None:
    """Student's interval of people's values; with one record or without any spread there is none."""
    (mean,) = compare(*many(60, 9))["grounding"].means
    assert (mean.method, mean.labelled, mean.power) == ("labels", 9, None)
    assert mean.value == mean.people == pytest.approx((3 + 3) / 18)
    assert mean.reason == "correcting the judge's mean needs 30 fully labelled records (so far: 9; this run has 60)"
    assert mean.more == 27
    (lone,) = compare(*many(60, 1))["grounding"].means
    assert (lone.value, lone.withheld) == (None, "only 1 record is labelled in full")
    results, gold = many(60, 40)
    for part, value in ((19, True), (21, False)):  # of the first ones, each has a label for one of its units only
        (mean,) = compare(results, [*gold[: 2 * part : 2], *gold[2 * part :]])["grounding"].means
        assert (mean.value is not None) is value
    assert mean.withheld == "labels give a value to only 19 of 40 labelled records, not a random sample"
    for labelled in (9, 40):
        (alike,) = compare(results, [replace(each, label="yes") for each in gold[: 2 * labelled]])["grounding"].means
        assert (alike.value, alike.withheld) == (
            None,
            "people's values are all the same, so no interval can be computed",
        )


@pytest.mark.parametrize("method", ["ppi", "rogan_gladen"])
def test_empty_records_keep_the_value_that_on_empty_gives(compare: Any, method: str) -> None:
    """No label can change it: the mean of the others is corrected, and counts as much as there are of them."""
    results = [one(f"r{n}", ["yes" if n % 4 else "no"], position=n + 1) for n in range(90)]
    gold = [each for n in range(45) for each in rows(f"r{n}", ["yes" if n % 4 and n % 7 else "no"])]
    empty = [one(f"e{n}", [], value=0.0, position=n + 91) for n in range(60)]
    plain, whole = (compare(run, gold, correction=method)["grounding"].means[0] for run in (results, results + empty))
    for name in ("raw", "value", "low", "high"):
        assert getattr(whole, name) == pytest.approx(getattr(plain, name) * 90 / 150), name
    assert (whole.method, whole.records, whole.people) == (method, 150, plain.people)


def test_a_worst_first_draw_enters_no_interval(compare: Any) -> None:
    """Alone it is described and not corrected; beside a random draw it is only listed among disagreements."""
    results, gold = many(60, 40, draw=WORST)
    found = compare(results, gold)["grounding"]
    assert (found.items.matrix.n, found.items.interval, found.worst) == (80, None, 80)
    assert found.means[0].withheld == "the labels come from a worst-first draw, not a random sample"
    assert attached(compare(results, gold))["metrics"]["grounding"]["corrected"] is None
    fair = many(60, 35)[1]
    mixed = compare(results, [*fair, *gold[70:]])["grounding"]
    assert (mixed.items.matrix.n, mixed.worst) == (70, 10)
    assert mixed.items.interval is not None
    assert (mixed.means[0].method, mixed.means[0].labelled) == ("ppi", 35)
    twice = compare(results, [*gold[:10], *fair])["grounding"]
    assert (twice.worst, twice.means[0].labelled) == (0, 35), "what both drew is of the random one too"


def test_labels_without_a_draw_are_taken_for_a_random_sample_and_labels_without_a_text_correct_no_gate(
    compare: Any,
) -> None:
    found = compare(*many(60, 40, draw=None, response=""))
    assert found["grounding"].means[0].method == "ppi"
    lacking = "some labels do not name their response (add its text as response, or as text if only a part is labelled)"
    kept = attached(found)["metrics"]["grounding"]
    assert (kept["corrected"], kept["withheld"]) == (None, lacking), "no gate passes on labels for other texts"
    assert found.notes == (
        f"{lacking}; they are wrong if a response has changed, so --attach and -o omit their corrected means",
        "the labels do not say how their records were drawn; intervals and corrections assume a random sample",
    )
    assert compare(*many(60, 40)).notes == ()
    results, gold = many(60, 40)
    unused = [replace(each, record="none", response="", draw=None) for each in gold[:3]]
    assert compare(results, [*gold, *unused]).notes == (), "notes are on the labels that are used"
    assert compare(*many(60, 40, draw=replace(RANDOM, of=59))).notes == (
        "records were drawn from 59 of the run's 60; intervals and corrections assume all of them",
    )
    by_topic = compare(*many(60, 40, draw=replace(RANDOM, by="topic")))
    assert by_topic.notes == (
        "records were drawn by topic; corrections assume that each group was sampled in proportion",
    )


def test_error_rates_correct_the_share_that_passes(compare: Any) -> None:
    """Of units on a scale of two labels; refused where the judge is no better than chance, and on longer scales."""
    results = [one(f"r{n}", ["yes" if n % 10 < 8 else "no", "yes"], position=n + 1) for n in range(200)]
    results.append(one("r200", ["yes", None], position=201))
    people = {n: ("yes" if n % 10 < 7 else "no", "yes" if n % 5 else "no") for n in range(40)}
    gold = [each for n, labels in people.items() for each in rows(f"r{n}", labels)]
    (mean,) = compare(results, gold, correction="rogan_gladen")["grounding"].means
    assert mean.method == "rogan_gladen"
    assert mean.people == pytest.approx((28 + 32) / 80)
    assert mean.raw == pytest.approx((160 + 200 + 1) / 401), "a unit without a verdict is none that fails"
    sensitivity, specificity = 60 / 60, 8 / 20
    assert mean.value == pytest.approx((289 / 321 + specificity - 1) / (sensitivity + specificity - 1))
    assert mean.low < mean.value < mean.high
    chance = [replace(each, label="no" if each.label == "yes" else "yes") for each in gold]
    (mean,) = compare(results, chance, correction="rogan_gladen")["grounding"].means
    assert (mean.value, mean.withheld[:34]) == (None, "the judge is no better than chance")
    graded = [of("groundedness", f"r{n}", [(f"r{n}/sentence/1", "2" if n % 2 else "3")], GRADE_0_3) for n in range(60)]
    marks = [row(f"r{n}/sentence/1", "3" if n % 3 else "1") for n in range(40)]
    (mean,) = compare(graded, marks, correction="rogan_gladen")["groundedness"].means
    assert mean.withheld == "Rogan-Gladen needs a scale of two labels"


# ---- the flow again


RECORDS = [
    {
        "id": f"r{n}", "question": "What is it made of?",
        "response": f"It is steel. It boils fast. It costs {n}." if n else "It is steel.",
        "contexts": ["It is steel.", f"Water {n} boils fast."],
        "nuggets": [
            {"text": "steel", "importance": "vital"}, {"text": "fast", "importance": "okay"}, {"text": f"cheap {n}"},
        ],
    }
    for n in range(3)
]  # fmt: skip


CITED = {
    "id": "cited", "question": "What is it?", "contexts": ["It is steel.", "It boils fast."],
    "answer": [{"text": "It is steel. It boils", "citations": [0]}, {"text": "fast. It is cheap.", "citations": [1]}],
}  # fmt: skip
"""Its parts are no sentences: a trace takes them as they come."""


def script(question: Any) -> Any:
    """Labels that go round the scale, so that no two units are alike; one is missing of the last record."""
    if isinstance(question, Write):
        return [] if question.known else [unit.text for unit in question.sentences] or ["A fact.", "Another."]
    if not isinstance(question, Rate):
        return {"relevant": ["doc_0_s0"], "utilized": ["doc_0_s0"], "support": {"resp_s0": ["doc_0_s0"], "resp_s1": []}}
    labels = [*question.scale.labels, *([TRIVIAL] if question.skippable else [])]
    found = [labels[(question.wording + n) % len(labels)] for n in range(len(question.units))]
    return [*found[:-1], None] if question.units[0].id.startswith("r2") else found


def as_judged(run: Run) -> Iterator[LabelRow]:
    """The judge's own labels, as a person's."""
    for each in run.results():
        units = {unit["id"]: unit for unit in each["units"]}
        for found in each["scores"]:
            task = catalogue()[found["metric"].partition(".")[0]].task()
            for verdict in found["verdicts"]:
                text = unit_text(each, units[verdict["unit"]])
                yield LabelRow(each["id"], verdict["unit"], task, verdict["label"], draw=RANDOM, hash=text_hash(text))


def test_a_person_who_agrees_with_the_judge_gives_its_values(tmp_path: Path) -> None:
    """For every metric and column that stands on verdicts: weights, scales and columns are the metric's own.

    Of a million units, the same votes are kept once, and a judge's reason only where people disagree with it.
    """
    parameters = {"claim_relevance": {"scoring_mode": "likert"}, "trace": {"length": "characters"}}
    run = evaluate(
        [*RECORDS, CITED], metrics=["all"], judge=ScriptedJudge(script), store=tmp_path / "s.db", parameters=parameters
    )
    found = agreed(run, dict.fromkeys(as_judged(run)))
    assert {each.problem for each in found.refused} == {"cannot_tell"}
    labelled = {mean.score: mean for each in found.metrics for mean in each.means if mean.labelled}
    assert {"grounding", "groundedness", "context_relevance", "claim_relevance", "response_groundedness",
            "nugget_relevance", "nugget_groundedness", "trace.adherence"} - labelled.keys() == set()  # fmt: skip
    for each in found.metrics:
        assert (each.items.matrix.accuracy, each.unlike) == (1.0, 0), each.metric
    joined = join(run, list(as_judged(run))).metrics
    assert "cited" in {each.record for each in joined["trace"].values["trace.adherence"]}
    for one_metric in joined.values():
        for name, values in one_metric.values.items():
            assert [each.people for each in values] == pytest.approx([each.judge for each in values]), name
        votes = [unit.votes for unit in one_metric.units]
        assert len(set(map(id, votes))) == len({(*each.items(),) for each in votes})
        assert not any(unit.reason for unit in one_metric.units)


def test_criteria_of_a_records_own_join_where_they_are_yes_or_no(tmp_path: Path) -> None:
    """Those on another scale are counted as such; there is no mean, for each record has other criteria."""

    def own(record: str, scale: str) -> dict[str, Any]:
        criteria = {"polite": {"criterion": "It is polite.", "scale": scale}}
        return {"id": record, "question": "What?", "response": "It.", "rubric": {"criteria": criteria}}

    def best(question: Any) -> list[str]:
        return [question.scale_of(unit).labels[-1] for unit in question.units]

    parameters = {"rubric": {"criteria": {"clear": {"criterion": "It is clear."}}}}
    records = [own("a", "yes_no"), own("b", "1-5")]
    run = evaluate(records, "rubric", ScriptedJudge(best), store=tmp_path / "s.db", parameters=parameters)
    people = [LabelRow(name, f"{name}/criterion/polite", "rubric", label) for name, label in (("a", "no"), ("b", "4"))]
    found = agreed(run, people)
    assert [(each.metric, each.items.matrix.n, each.items.matrix.accuracy) for each in found.metrics] == [
        ("rubric.own", 1, 0.0)
    ]
    assert [(each.problem, each.count) for each in found.refused] == [("other_settings", 1)]
    assert not found["rubric.own"].means


def test_nuggets_keep_their_weights(tmp_path: Path) -> None:
    """People's labels of a bank give every column, strict and weighted."""
    judge = ScriptedJudge({"assign": ["support", "support", "not_support"], "importance": [None]})
    run = evaluate(RECORDS[:2], metrics=["nugget_recall"], judge=judge, store=tmp_path / "s.db")
    labels = ("partial_support", "support", "not_support")
    gold = [row(f"r{n}/bank/{k}", label, "assign") for n in range(2) for k, label in enumerate(labels, 1)]
    found = agreed(run, gold)["nugget_recall"]
    means = {mean.score.partition(".")[2]: mean.people for mean in found.means}
    assert means == pytest.approx({
        "all": 1.5 / 3, "strict_all": 1 / 3, "vital": 0.5, "strict_vital": 0.0, "weighted": 1 / 2,
        "weighted_strict": 0.25,
    })  # fmt: skip
    assert SUPPORT_3.labels == found.items.labels


def test_a_shortcut_of_a_metric_is_none_of_peoples(tmp_path: Path) -> None:
    """A response that stands in the passages is not asked about; people's labels count all the same."""
    judge = ScriptedJudge({"response_support": "1"})
    run = evaluate(RECORDS, metrics=["response_groundedness"], judge=judge, store=tmp_path / "s.db")
    gold = [row(f"r{n}/response/1", str(n), "response_support") for n in range(3)]
    (mean,) = agreed(run, gold)["response_groundedness"].means
    assert (mean.labelled, mean.people, mean.raw) == (3, 0.5, 2 / 3)


def test_a_label_of_the_whole_response_gives_a_trace_its_value(tmp_path: Path) -> None:
    run = evaluate(RECORDS, metrics=["trace"], judge=ScriptedJudge(script), store=tmp_path / "s.db")
    found = agreed(run, [row(f"r{n}/response/1", "no" if n else "yes", "trace") for n in range(3)])["trace"]
    (mean,) = found.means
    assert (mean.score, mean.labelled) == ("trace.adherence", 3)
    assert mean.people == pytest.approx(1 / 3)
    assert found.leading is found.wholes
    assert found.leading.matrix.accuracy == 1.0


def test_marks_of_context_sentences_are_units_of_their_own(tmp_path: Path) -> None:
    """Each kind of mark has its matrix and the columns that follow from it; the average takes all of them."""
    run = evaluate(RECORDS[:2], metrics=["trace"], judge=ScriptedJudge(script), store=tmp_path / "s.db")
    gold = list(as_judged(run))
    for each in run.results():
        for mark in ("relevant", "utilized"):
            gold += [
                row(f"{each['id']}/{one['key']}", "yes" if one[mark] else "no", f"trace.{mark}",
                    hash=text_hash(each["contexts"][one["key"][4] == "1"]["text"]))
                for one in each.score("trace.adherence")["detail"]["contexts"]
            ]  # fmt: skip
    gold[-1] = replace(gold[-1], hash=text_hash("Another text."))
    found = agreed(run, gold, metrics="trace")
    assert {one.metric: [mean.score.partition(".")[2] for mean in one.means] for one in found.metrics} == {
        "trace": ["adherence", "average", "adherence_share"],
        "trace.relevant": ["relevance", "relevance_share"],
        "trace.utilized": ["utilization", "completeness", "utilization_share"],
    }
    assert [(one.unit, one.items.matrix.n, one.items.matrix.accuracy) for one in found.metrics[1:]] == [
        ("passage sentence", 4, 1.0), ("passage sentence", 3, 1.0),
    ]  # fmt: skip
    (gathered,) = [one for name, one in join(run, gold).metrics.items() if name == "trace.relevant"]
    assert {name: [(each.people, each.judge) for each in values] for name, values in gathered.values.items()} == {
        "trace.relevance": [(0.05, 0.05)] * 2, "trace.relevance_share": [(0.5, 0.5)] * 2,
    }  # fmt: skip
    assert {one.problem for one in found.refused} == {"cannot_tell", "changed_text"}
    assert found["trace.utilized"].labelled_in_part == 1


def test_a_score_that_does_not_follow_from_its_verdicts_is_not_used(compare: Any) -> None:
    """Its units count; its value was made in another way than people's would be."""
    results = [one("a", ["yes", "no"], value=0.9), one("b", ["yes"]), one("c", ["no"])]
    found = compare(results, [*rows("a", ["yes", "no"]), *rows("b", ["yes"]), *rows("c", ["no"])])["grounding"]
    assert (found.items.matrix.n, found.unlike, found.means[0].labelled) == (4, 1, 2)
    moved = of("groundedness", "a", [("a/sentence/1", "3")], GRADE_0_3)
    moved["units"][0]["text"] = "The sentences were divided in another way then."
    found = compare([moved], [row("a/sentence/1", "3")])["groundedness"]
    assert (found.items.matrix.n, found.unlike, found.means[0].labelled) == (1, 1, 0)


def test_parsed_calls_of_labelled_records_are_counted(compare: Any) -> None:
    reading = {"style": "s", "format": "json", "reader": "json", "status": "ok", "read": 1, "asked": 1}
    call = {"key": "aa", "judge": "one", "step": "support", "input_tokens": 1, "output_tokens": 1, "dollars": 0.0}
    calls = [{**call, "reading": reading}, {**call, "key": "bb", "reading": {**reading, "status": "cut_off"}}]
    found = compare([one("a", ["yes"], calls=calls), one("b", ["yes"], calls=calls)], rows("a", ["yes"]))
    (parsed,) = found.parsed
    assert (parsed.judge, parsed.format, parsed.calls, parsed.whole) == ("one", "json", 2, 1)
    assert re.search("'whole': 1", str(found.as_json()["parsed"]))
