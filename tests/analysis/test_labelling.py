"""The draw of records to label: seeds, groups, what judges disagree on, and what there is nothing to draw from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from page_blocks import unpacked
from ragstone import InputError, Run, evaluate, label
from ragstone.analysis.gold import verdict_rows
from ragstone.analysis.labelling import ratable, sample
from ragstone.labels import LabelDraw, text_hash
from ragstone.metrics import catalogue
from ragstone.questions import Rated
from ragstone.testing import ScriptedJudge
from ragstone.types import TRIVIAL, Verdict

SENTENCE = "The lid of the kettle is steel."


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{number}", "question": "What is it made of?",
            "response": f"{SENTENCE} Part {number} is tin.", "contexts": [SENTENCE, "It weighs a kilogram."],
            "nuggets": [{"text": "The lid is steel."}, {"text": "It has two handles."}],
            "kind": "ab"[number % 3 == 0],
        }
        for number in range(count)
    ]  # fmt: skip


def run_of(folder: Path, source: list[dict[str, Any]], metrics: Any = "groundedness", judges: Any = "embedded") -> Run:
    return evaluate(source, metrics, judges, store=folder / f"{len(list(folder.iterdir()))}.db")


def judge(name: str, values: dict[str, float] | None = None, probability: float | None = None) -> ScriptedJudge:
    """Rates each unit by a word in it, 1 for any other."""

    def answer(question: Any) -> Rated:
        found = [next((v for word, v in (values or {}).items() if word in unit.text), 1.0) for unit in question.units]
        return Rated(tuple(
            Verdict(unit, question.scale.nearest(value), question.scale.value(question.scale.nearest(value)), name,
                    probability=None if probability is None else value)
            for unit, value in zip(question.units, found, strict=True)
        ))  # fmt: skip

    return ScriptedJudge(answer, name=name)


def test_the_seed_alone_decides(tmp_path: Path) -> None:
    """Not the order of the input; a smaller draw is the beginning of a larger one; records are whole."""
    source = rows(30)
    run = run_of(tmp_path, source)
    drawn = sample(run, "groundedness", n=12)
    again = sample(run_of(tmp_path, source[::-1]), "groundedness", n=12)
    assert drawn.records == again.records
    assert drawn.draw == LabelDraw("random", 0, 12, 30)
    ids = [record.id for record in drawn.records]
    assert [record.id for record in sample(run, "groundedness", n=5).records] == ids[:5]
    assert [record.id for record in sample(run, "groundedness", n=12, seed=1).records] != ids
    assert ids != sorted(ids, key=lambda one: int(one[1:]))
    for record in drawn.records:
        judged = {verdict["unit"] for verdict in run[record.id].score("groundedness")["verdicts"]}
        assert {unit.id for unit in record.units} == judged
        assert [record.response[slice(*unit.span or ())] for unit in record.units] == [u.text for u in record.units]
        assert record.units[0].hash == text_hash(SENTENCE)
    everything = sample(run, "groundedness", n=99)
    assert (everything.draw.n, everything.draw.of, everything.units, everything.minutes) == (30, 30, 60, 12)


def test_groups_get_their_shares(tmp_path: Path) -> None:
    """Of 20 and 10 records, 9 are 6 and 3, and 4 are 3 and 1; a field that no record has is refused."""
    run = run_of(tmp_path, rows(30))
    kinds = {result["id"]: result["meta"]["kind"] for result in run.results()}
    for n, shares in ((9, {"a": 6, "b": 3}), (4, {"a": 3, "b": 1}), (99, {"a": 20, "b": 10})):
        drawn = sample(run, "groundedness", n=n, by="meta.kind")
        assert Counter(kinds[record.id] for record in drawn.records) == shares
        assert drawn.draw.by == "meta.kind"
    with pytest.raises(InputError, match=r"--by meta\.colour: no record in the run has this field"):
        sample(run, "groundedness", by="meta.colour")
    with pytest.raises(InputError, match="no record in the run has this field"):
        sample(run, "groundedness", by="colour")


def test_the_worst_are_those_on_which_judges_disagree(tmp_path: Path) -> None:
    """A panel's members, this run and another, or the probabilities of one judge; agreement is no ground to draw."""
    source = rows(9)
    one, other = judge("one"), judge("other", {"Part 4": 0.0, "Part 7": 2 / 3})
    panel = run_of(tmp_path, source, judges=["support=[one,other]", one, other])
    first, second = run_of(tmp_path, source, judges=one), run_of(tmp_path, source, judges=other)
    unsure = run_of(tmp_path, source, judges=judge("sure", {"Part 4": 0.4, "Part 7": 0.1}, probability=1.0))
    for run, against in ((panel, None), (first, second), (unsure, None)):
        drawn = sample(run, "groundedness", n=1, worst=True, against=against)
        assert [record.id for record in drawn.records] == ["r4"]
        assert drawn.draw == LabelDraw("worst", 0, 1, 9)
        drawn = sample(run, "groundedness", n=9, worst=True, against=against)
        assert {record.id for record in drawn.records} == {"r4", "r7"}
    with pytest.raises(InputError, match="the judge gave no probabilities"):
        sample(first, "groundedness", worst=True)
    with pytest.raises(InputError, match="agree on every unit"):
        sample(first, "groundedness", worst=True, against=run_of(tmp_path, source, judges=judge("third")))
    with pytest.raises(InputError, match="no unit has a verdict in both runs"):
        sample(first, "groundedness", worst=True, against=run_of(tmp_path, [{**source[0], "id": "x"}]))


def test_only_scored_records_are_drawn(tmp_path: Path) -> None:
    """One without contexts is not; a run of nothing else has nothing to rate."""
    without = [{**row, "contexts": []} for row in rows(4)]
    run = run_of(tmp_path, [*without[:2], *rows(4)[2:]])
    drawn = sample(run, "groundedness")
    assert {record.id for record in drawn.records} == {"r2", "r3"}
    assert drawn.draw.of == 2
    assert ratable(run_of(tmp_path, without)) == []


def test_every_metric_has_the_labels_and_the_evidence_of_its_question(tmp_path: Path) -> None:
    """The rubric has the run's scale in the words of the prompt, and only what the judge was shown is shown."""
    run = run_of(tmp_path, rows(3), "all")
    grade = ["3", "2", "1", "0"]
    told = {
        "abstention": (["answers", "abstains"], "question"),
        "citations": (["support", "partial_support", "not_support", TRIVIAL], "passages"),
        "answer_relevance": (grade, "question"), "claim_relevance": (["yes", "no"], "question"),
        "context_relevance": (grade, "question"), "groundedness": ([*grade, TRIVIAL], "passages"),
        "grounding": (["yes", "no", TRIVIAL], "passages"), "nugget_groundedness": (grade, "passages"),
        "nugget_recall": (["support", "partial_support", "not_support"], "response"),
        "nugget_relevance": (grade, "question"), "nugget_support": (grade, "passages"),
        "response_groundedness": (["2", "1", "0"], "passages"),
        "trace": (["yes", "no"], "passages"),
    }  # fmt: skip
    drawn = {one.partition(".")[0]: sample(run, one) for one in ratable(run)}
    assert {name: ([label for label, _ in s.rubric.labels], s.evidence) for name, s in drawn.items()} == told
    assert {name: s.task for name, s in drawn.items()} == {name: catalogue()[name].task() for name in told}
    hidden = {name for name, s in drawn.items() if not any(record.contexts for record in s.records)}
    assert hidden == {"abstention", "answer_relevance", "claim_relevance", "nugget_recall", "nugget_relevance"}


def test_claims_of_a_reference_are_rated_by_the_passages(tmp_path: Path) -> None:
    """They are no part of the response, nor bound to it. Claims that are compared with two texts have no page."""
    run = run_of(tmp_path, [{**row, "reference": "It is made of steel."} for row in rows(2)], "reference")
    assert ratable(run) == ["context_recall"]
    drawn = sample(run, "context_recall")
    assert (drawn.task, drawn.unit, drawn.evidence) == ("support", "reference claim", "passages")
    assert [(unit.id, unit.text, unit.span) for unit in drawn.records[0].units] == [
        (f"{drawn.records[0].id}/reference_claim/1", "It is made of steel.", None)
    ]  # fmt: skip
    bound = {bool(row.response) for row in verdict_rows(run) if "/reference_claim/" in row.unit}
    assert bound == {False}, "another system's labels of them are as good"
    named = [{**row, "id": f"docs/reference_{number}"} for number, row in enumerate(rows(2))]
    for one, metric in ((run, "context_recall"), (run_of(tmp_path, named, "grounding"), "grounding")):
        label(one, tmp_path / "l.html", metric=metric)
        for record in unpacked((tmp_path / "l.html").read_bytes())["first"]["records"]:
            about = None if metric == "context_recall" else text_hash(one[record["id"]]["response"])
            assert {unit.get("response") for unit in record["units"]} == {about}, "claims of a response are bound to it"


def test_the_scale_is_that_of_the_run(tmp_path: Path) -> None:
    """Also where the judge used only labels that another scale has too."""
    config = tmp_path / "ragstone.toml"
    config.write_text("[metrics.grounding]\nscoring_mode = 'scale_1_5'\n[metrics.nugget_recall]\ngrades = 2\n")
    run = evaluate(rows(2), ["grounding", "nugget_recall"], store=tmp_path / "s.db", config=config)
    scales = [[label for label, _ in sample(run, name).rubric.labels] for name in ratable(run)]
    assert scales == [["5", "4", "3", "2", "1", TRIVIAL], ["support", "not_support"]]


def test_the_criterion_that_is_named_is_labelled(tmp_path: Path) -> None:
    """Each has a scale of its own; one that the run lacks is refused, not replaced by another."""
    criteria = {"tone": {"criterion": "Polite.", "scale": ["rude", "polite"]}, "brief": {"criterion": "Brief."}}
    judge = ScriptedJudge({"rubric": ["polite", "yes"]})
    run = evaluate(rows(2), "rubric", judge, store=tmp_path / "s.db", parameters={"rubric": {"criteria": criteria}})
    drawn = {name: label(run, tmp_path / "l.html", metric=name) for name in ("rubric.brief", "rubric.tone", "rubric")}
    told = {name: (one.metric, [word for word, _ in one.rubric.labels]) for name, one in drawn.items()}
    assert told["rubric.brief"] == ("rubric.brief", ["yes", "no"])
    assert told["rubric.tone"] == told["rubric"] == ("rubric.tone", ["polite", "rude"])
    for record in unpacked((tmp_path / "l.html").read_bytes())["first"]["records"]:
        (unit,) = record["units"]
        assert unit["response"] == text_hash(run[record["id"]]["response"]), "other responses have the same criterion"
    with pytest.raises(InputError, match=r"no verdicts for 'rubric.short' .* verdicts for rubric.tone, rubric.brief"):
        label(run, metric="rubric.short")
    given = [{**row, "rubric": {"criteria": {"named": {"criterion": "Names it."}}}} for row in rows(1)]
    judge = ScriptedJudge({"rubric": ["polite", "yes", "yes"]})
    run = evaluate(given, "rubric", judge, store=tmp_path / "s.db", parameters={"rubric": {"criteria": criteria}})
    with pytest.raises(InputError, match=r"rubric.own: a record's own criteria cannot be labelled"):
        label(run, tmp_path / "l.html", metric="rubric.own")
