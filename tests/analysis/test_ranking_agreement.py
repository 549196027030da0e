"""Agreement on the ranking of systems and on repeated judging, against scipy and by counting."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from scipy import stats as scipy

from labelled import write
from page_blocks import unpacked
from ragstone import Agreement, agree, evaluate, label
from ragstone.analysis.ranking_agreement import (
    Attempts,
    Correlation,
    RepeatedMean,
    SystemMeans,
    SystemValue,
    at_k,
    rank_systems,
    repeated_mean,
)
from ragstone.errors import InputError
from ragstone.labels import text_hash
from ragstone.questions import Question, Rate
from ragstone.stats.rankings import tau_ap
from ragstone.testing import ScriptedJudge

SYSTEMS, TOPICS = "abcde", range(12)


def drawn(noise: float) -> list[SystemValue]:
    """Five systems of rising quality on twelve topics, judged with noise."""
    chooser = random.Random(1)
    values = []
    for topic in TOPICS:
        ease = chooser.random()
        for place, system in enumerate(SYSTEMS):
            gold = round(ease + place / 4 + chooser.random(), 1)
            values.append(SystemValue(system, str(topic), gold + noise * chooser.random(), gold))
    return values


def test_rankings_by_means_and_by_topic() -> None:
    """scipy's figures, each in an interval that draws topics; a worse judge agrees less."""
    values = drawn(2.0)
    found: Any = rank_systems("m", values)
    assert [one.system for one in found.systems] == list(SYSTEMS)
    judged, gold = [one.judged for one in found.systems], [one.gold for one in found.systems]
    assert found.tau.value == pytest.approx(scipy.kendalltau(judged, gold).statistic)
    assert found.spearman.value == pytest.approx(scipy.spearmanr(judged, gold).statistic)
    assert found.tau_ap.value == tau_ap(judged, gold)
    rows = [[value for value in values if value.topic == str(topic)] for topic in TOPICS]
    taus = [scipy.kendalltau([v.judged for v in row], [v.gold for v in row]).statistic for row in rows]
    assert found.topic_tau.value == pytest.approx(sum(taus) / len(taus))
    assert found.ranked_topics == found.topics == 12
    for correlation in (found.tau, found.tau_ap, found.spearman, found.topic_tau):
        assert correlation.interval is not None
        assert correlation.interval[0] <= (correlation.value or 0) <= correlation.interval[1]
    better = rank_systems("m", drawn(0.0))
    assert better.tau == better.spearman == better.topic_tau == Correlation(1.0, (1.0, 1.0))
    assert found.systems[0].topics == 12


def test_repeated_answers_to_a_topic_say_nothing_new() -> None:
    """Three copies of each value, in another order, have the intervals of one; means that tie stay tied."""
    values = drawn(2.0)
    assert rank_systems("m", values * 3) == rank_systems("m", values)
    level = [SystemValue(system, str(topic), (topic * (place + 1) % 3) / 10, 0.1 * (topic % 3))
             for place, system in enumerate("ab") for topic in range(3)]  # fmt: skip
    lower = [SystemValue("c", str(topic), 0.0, 0.0) for topic in range(3)]
    found: Any = rank_systems("m", [*level, *lower])
    assert found.tau.value == 1.0  # a and b tie on both sides


def test_two_systems_are_no_ranking() -> None:
    found = rank_systems("m", [value for value in drawn(0.0) if value.system in "ab"])
    assert found.withheld == "2 systems; a rank correlation needs at least 3"
    assert found.tau is None
    assert [one.topics for one in found.systems] == [12, 12]
    assert rank_systems("m", []).withheld.startswith("0 systems")
    lone = rank_systems("m", [SystemValue(system, "q1", place, place) for place, system in enumerate("abc")])
    assert lone.tau == lone.topic_tau == Correlation(1.0, None)
    assert lone.systems[2] == SystemMeans("c", 2.0, 2.0, 1)


def test_the_mean_of_repeats() -> None:
    values = [0.71, 0.74, 0.69, 0.73]
    found = repeated_mean("m", values)
    assert found.deviation == pytest.approx(scipy.tstd(values))
    expected = scipy.t.interval(0.95, 3, loc=found.mean, scale=scipy.sem(values))
    assert found.interval == pytest.approx(expected)
    assert repeated_mean("m", [0.7]) == RepeatedMean("m", (0.7,), 0.7, None, None)


def test_attempts_against_people() -> None:
    """By counting all choices of k attempts; ties and unjudged attempts are no right answers."""
    attempts = [
        Attempts("yes", ("yes", "no", "yes", "no", "yes")),
        Attempts("no", ("yes", "yes", "yes", "no", "no")),
        Attempts("yes", (None, "yes", "no", None, None)),
    ]
    one, three, five = at_k(attempts)
    assert [found.k for found in (one, three, five)] == [1, 3, 5]
    chances = [sum(attempt.gold in some for some in combinations(attempt.labels, 3)) / 10 for attempt in attempts]
    assert three.any_right == pytest.approx(sum(chances) / 3)
    assert [one.average, three.average] == pytest.approx([1 / 3, (2 / 3 + 0 + 1 / 3) / 3])
    assert [three.majority, three.ties] == pytest.approx([1 / 3, 1])  # of yes and no, the third has one each
    assert (five.any_right, five.units) == (1.0, 3)
    assert [one.majority, one.ties] == pytest.approx([1 / 3, 0])  # the third has no label, which is no tie
    assert at_k([]) == ()
    assert five.average == pytest.approx((3 / 5 + 2 / 5 + 1 / 5) / 3)


# ---- from runs to systems and repeats


TEXTS = ("It is steel.", "It boils fast.", "It is cheap.")
PEOPLE = {"a": (1, 1, 1), "b": (1, 1, 0), "c": (1, 0, 0), "d": (0, 0, 0)}
"""Which of three nuggets people find in each system's answers."""


def answers(systems: str, *, named: bool = True, topics: int = 4) -> list[dict[str, Any]]:
    """Answers to the same topics; each names its system, or none."""
    return [
        {
            "qid": f"q{topic}", "question": f"What of {topic}?",
            "response": f"Answer {system} to {topic}.", **({"run_id": system} if named else {}),
            "nuggets": [{"text": f"{text} {topic}", "assignment": "support" if held else "not_support"}
                        for text, held in zip(TEXTS, PEOPLE[system], strict=True)],
        }
        for topic in range(topics) for system in systems
    ]  # fmt: skip


def assigning(wrong: str = "") -> ScriptedJudge:
    """A judge that agrees with people, but for a system whose nuggets it sees the other way round."""

    def script(question: Question[Any]) -> Any:
        if not (isinstance(question, Rate) and question.task == "assign"):
            return None
        system = question.passages[0].text.split()[1]
        held = [bool(one) != (system in wrong) for one in PEOPLE[system]]
        return ["support" if one else "not_support" for one in held]

    return ScriptedJudge(script)


class Runs:
    """Runs of one store, by name, and a file of people's assignments."""

    def __init__(self, path: Path) -> None:
        self.store = path / "s.db"
        self.gold = path / "gold.jsonl"

    def __call__(
        self, name: str, records: list[dict[str, Any]], judge: ScriptedJudge | None = None, **more: Any
    ) -> str:
        plain = [{**record, "nuggets": [{"text": one["text"]} for one in record["nuggets"]]} for record in records]
        evaluate(plain, "nugget_recall", judge or assigning(), store=self.store, name=name, refresh=True, **more)
        with self.gold.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        return name

    def agree(self, run: str, *others: str, **more: Any) -> Agreement:
        return agree(run, more.pop("gold", self.gold), others=others, store=self.store, **more)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_systems_of_one_run_or_of_several_are_ranked_alike(runs: Runs) -> None:
    """Records name their system, or each run is one, though all share their ids; labels of none are listed as lost."""
    together = runs.agree(runs("all", answers("abcd"), assigning(wrong="b")))
    (ranking,) = [one for one in together["nugget_recall"].systems if one.score == "nugget_recall.strict_all"]
    assert [(one.system, round(one.gold, 2), round(one.judged, 2), one.topics) for one in ranking.systems] == [
        ("a", 1.0, 1.0, 4), ("b", 0.67, 0.33, 4), ("c", 0.33, 0.33, 4), ("d", 0.0, 0.0, 4),
    ]  # fmt: skip
    correlations = (ranking.tau, ranking.tau_ap, ranking.spearman, ranking.topic_tau)
    assert [one and one.value for one in correlations] == pytest.approx([0.913, 0.833, 0.949, 0.913], abs=0.001)
    assert all(one and one.interval for one in correlations)
    runs.gold.unlink()
    names = [runs(name, answers(name, named=False), assigning(wrong="b")) for name in "abcd"]
    apart = runs.agree(*names)
    assert [one for one in apart["nugget_recall"].systems if one.score == ranking.score] == [ranking]
    assert (apart["nugget_recall"].repeats, apart.refused, apart.rows, apart.joined) == ((), (), 12, 12)
    assert apart.others == ("b", "c", "d")
    assert apart["nugget_recall"].items.matrix.n == 12, "tables are of the first run"
    two = runs.agree("a", "b").as_json()["metrics"][0]["systems"][0]
    assert (two["withheld"], two["tau"]) == ("2 systems; a rank correlation needs at least 3", None)
    assert runs.agree("a")["nugget_recall"].systems == ()


def test_labels_without_a_response_are_of_the_first_run(runs: Runs, tmp_path: Path) -> None:
    """A nugget is worded alike in every system's record; its label is not given to another answer."""
    first, second = (runs(name, answers(name, named=False)) for name in "ab")
    rows = [{"record": f"q{n}", "unit": f"q{n}/bank/1", "task": "assign", "label": "support"} for n in range(4)]
    labels = write(tmp_path / "labels.jsonl", rows)
    for gold, other in ((labels, (second,)), (first, (second,))):
        with pytest.raises(InputError, match=r"no label matches run 2: label for a different response \(\d+ labels?, "):
            runs.agree(first, *other, gold=gold)
    judged = runs.agree(first, gold=first)
    assert (judged.labelled_by, judged["nugget_recall"].items.matrix.accuracy) == ("run a", 1.0)
    both = runs.agree(first, gold=[labels, first])
    assert both.labelled_by == "people and run a", "the verdicts of a judge are not called people's"


def test_labels_of_several_systems_fit_in_one_file(runs: Runs, tmp_path: Path) -> None:
    """Each names its response by hash, as those of a label page do, or by its text; none is listed as lost."""
    first, second = (runs(name, answers(name, named=False)) for name in "ab")
    label(first, tmp_path / "page.html", store=runs.store)
    page = unpacked((tmp_path / "page.html").read_bytes())["first"]["records"]
    about = {record["id"]: record["units"][0]["response"] for record in page}
    assert about == {f"q{n}": text_hash(f"Answer a to {n}.") for n in range(4)}
    rows = [
        {"record": f"q{n}", "unit": f"q{n}/bank/2", "task": "assign", "label": said, "response": response}
        for n in range(4)
        for said, response in (("support", about[f"q{n}"]), ("not_support", f"Answer b to {n}."))
    ]
    labels = write(tmp_path / "labels.jsonl", rows)
    found = runs.agree(first, second, gold=labels)
    assert (found.joined, found.refused) == (4, ())
    unsure = [{**row, "unit": "q0/bank/1", "label": None} for row in rows[:2]]
    found = runs.agree(first, second, gold=write(tmp_path / "unsure.jsonl", [*rows, *unsure]))
    assert [(one.problem, one.count) for one in found.refused] == [("cannot_tell", 2)], "whichever run it is about"
    assert runs.agree(second, gold=labels)["nugget_recall"].items.matrix.gold == (4, 0, 0)


def test_runs_of_the_same_responses_are_repeats(runs: Runs) -> None:
    """Their means by Student's t, and pass@k, avg@k and maj@k of their labels; a different judge is refused."""
    names = [runs(f"r{n}", answers("ab"), assigning(wrong="a" if n == 1 else "")) for n in range(3)]
    found = runs.agree(*names)["nugget_recall"]
    (mean,) = [one for one in found.repeats if one.score == "nugget_recall.strict_all"]
    assert mean.values == pytest.approx([5 / 6, 1 / 3, 5 / 6])
    assert mean.interval is not None
    once, thrice = found.at_k
    assert (once.units, thrice.ties) == (24, 0)
    figures = [once.any_right, thrice.any_right, thrice.average, thrice.majority]
    assert figures == pytest.approx([(1 + 2 / 3) / 2, 1.0, 5 / 6, 1.0])
    assert [len(one.systems) for one in found.systems] == [2] * len(found.systems), "a and b are no repeats"
    other = assigning()
    other.id = "another"
    runs("other", answers("ab"), other)
    with pytest.raises(InputError, match=r"run 4 has nugget_recall\.all with .*another.*systems and repeats need"):
        runs.agree("r0", "other")
    found = runs.agree(runs("thrice", answers("ab"), repeat=3))["nugget_recall"]
    assert ({len(one.values) for one in found.repeats}, found.at_k) == ({3}, ()), "--repeat keeps no labels"
