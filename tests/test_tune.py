"""Tune: every combination is asked about what people labelled, none is paid twice, and the best one is written."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import ragstone
from labelled import (
    FORMATS,
    STYLES,
    city_records,
    city_rows,
    rows,
    two_models,
    write,
)
from page_blocks import drawn
from ragstone import prompts
from ragstone.api.tuning import tuner
from ragstone.errors import BudgetReached, ConfigError, InputError
from ragstone.labels import LabelDraw
from ragstone.options import RunOptions
from ragstone.output.settings_file import add_settings
from ragstone.render.terminal.screen import Look
from ragstone.render.terminal.tune_screen import tune_page
from ragstone.testing import FakeServer, ScriptedJudge

pytestmark = pytest.mark.usefixtures("alone")

COUNT = 4
ALL = COUNT * len(STYLES) * len(FORMATS) * 2
COMMAND = "tune labels.jsonl records.jsonl -j good -j bad --styles {} --formats {} -q"


@pytest.fixture
def judged(server: FakeServer) -> FakeServer:
    return two_models(server, COUNT, 2)


def test_the_best_of_sixty_is_found_and_a_kill_is_paid_once(judged: FakeServer) -> None:
    """Five styles, six formats and two models, killed on the way: the calls are those that were estimated, each once.

    But for those that were on their way, or not yet on disk, when the process was killed.
    """
    made = tuner("labels.jsonl", "records.jsonl", ["good", "bad"], styles=STYLES, formats=FORMATS)
    estimate = made.forecast()
    assert estimate is not None
    assert (len(made.combinations), estimate["calls"]["expected"]) == (60, ALL)
    words = COMMAND.format(",".join(STYLES), ",".join(FORMATS)).split()
    process = subprocess.Popen([sys.executable, "-m", "ragstone", *words], stdout=subprocess.DEVNULL)
    while judged.count < ALL // 3 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = judged.count
    assert ALL // 3 <= before < ALL
    for combination in made.combinations:
        made.ask(combination)
    found = made.result()
    assert len(judged.unique) == ALL
    assert judged.count - ALL <= COUNT, "a combination is a run of its own"
    assert found.bill["calls"] == judged.count - before
    winner = found.winner
    assert (winner.combination.judge, winner.combination.style) == ("good", "short_cot")
    assert (winner.chosen_on, winner.kappa, winner.read) == (1, 1, 1)
    assert sum(one.kappa == 1 for one in found.tried) == len(FORMATS)
    assert len(found.equals) == 59, "two held-out records show no difference"
    assert found.cheapest.cost == min(one.cost or 0.0 for one in found.tried)
    for less, said in ((0.0001, False), (0.01, True)):
        tried = tuple(replace(one, cost=0.14 - less * n) for n, one in enumerate(found.tried[:2]))
        page = drawn(tune_page(replace(found, tried=tried), (), Look(), (), None))
        assert ("The cheapest of these is" in page) == said, "a price that looks the same is not cheaper"
    assert (found.units, found.records, found.halves) == (12, COUNT, (2, 2))
    assert found.notes == ("2 records in records.jsonl skipped: no label",)


def test_what_is_paid_is_what_was_estimated_and_nothing_the_second_time(judged: FakeServer) -> None:
    """Without a price of replies, whose length is assumed; the server's are shorter than a model's."""
    text = Path("ragstone.toml").read_text(encoding="utf-8").replace("output = 4.0", "output = 0.0")
    Path("ragstone.toml").write_text(text, encoding="utf-8")
    found = tune(judged)
    assert str(found).startswith("No significant winner; chosen: good with legacy and json, kappa ")
    assert found.estimate is not None
    for name, paid in (("calls", judged.count), ("dollars", found.bill["dollars"])):
        assert found.estimate[name]["low"] <= paid <= found.estimate[name]["high"]
    again = tune(judged)
    assert (again.bill["calls"], again.bill["dollars"]) == (0, 0)
    assert [one.cost for one in again.tried] == [one.cost for one in found.tried]
    assert [one.kappa for one in again.tried] == [one.kappa for one in found.tried]
    assert [one.kappa for one in tune(judged, offline=True).tried] == [one.kappa for one in found.tried]


def tune(_: FakeServer, judge: Any = ("good", "bad"), **options: Any) -> ragstone.Tuning:
    return ragstone.tune(
        "labels.jsonl", "records.jsonl", list(judge),
        **{"styles": ["no_reasoning", "legacy"], "formats": ["json"], **options},
    )  # fmt: skip


def test_a_combination_that_a_style_does_not_take_is_left_out_and_said(judged: FakeServer) -> None:
    found = tune(judged, ["good"], styles=["default", "short_cot"], formats=["json", "yaml"])
    assert {str(one.combination) for one in found.tried} == {"good, short_cot, json", "good, short_cot, yaml"}
    assert list(found.left_out) == ["good, default, json", "good, default, yaml"]
    assert "does not support format 'json'" in found.left_out["good, default, json"]
    with pytest.raises(ConfigError, match="no combination can be tried: the prompt 'default' of the step 'assign'"):
        tune(judged, styles=["default"])


def test_two_versions_of_a_prompt_are_compared(judged: FakeServer, tmp_path: Path) -> None:
    text = prompts.load("assign", "short_cot").text
    for name in ("a", "b"):
        tmp_path.joinpath(f"{name}.md").write_text(text.replace("Use only", f"{name}: use only"), encoding="utf-8")
    own = ["assign=./a.md", "assign=./b.md"]
    found = tune(judged, ["good"], styles=[], prompts=own)
    assert {one.combination.style for one in found.tried} == {"./a.md", "./b.md"}
    with pytest.raises(ConfigError, match="--prompt claims=x: the labels are for the step 'assign'"):
        tune(judged, prompts=["claims=x"])


def test_a_budget_is_of_all_combinations_together(judged: FakeServer) -> None:
    with pytest.raises(BudgetReached, match=r"reached --max-calls 1 \(the budget left after 2 of 4 combinations\)"):
        tune(judged, max_calls=2 * COUNT + 1)
    assert judged.count == 2 * COUNT + 1
    assert tune(judged).bill["calls"] == 2 * COUNT - 1


def test_a_budget_counts_what_earlier_combinations_may_have_used(judged: FakeServer) -> None:
    """Without usage, a call counts with its worst case; requests that an endpoint rejects do not count."""
    judged.configure(usage=False, rate_429=1.0, retry_after=0.01)
    options = RunOptions(max_cost=9, max_tokens=10**6)
    made = tuner("labels.jsonl", "records.jsonl", ["good"], styles=["legacy"], formats=["json"], options=options)
    made.ask(made.combinations[0])
    assert made.charged.calls == COUNT
    limits: list[dict[str, Any]] = [
        {"max_tokens": int(made.charged.tokens) + 1}, {"max_cost": made.charged.dollars + 1e-9},
    ]  # fmt: skip
    for number, limit in enumerate(limits):
        judged.reset()
        with pytest.raises(BudgetReached, match="the budget left after 1 of 2 combinations"):
            tune(judged, styles=["legacy"], store=f"{number}.db", **limit)
        assert judged.count == COUNT
    assert tune(judged, styles=["legacy"], store="new.db", max_calls=2 * COUNT).units == 3 * COUNT


def test_the_winner_is_written_and_nothing_else_changes(judged: FakeServer) -> None:
    """Its table gets the prompt, its step the name; a second time there is nothing to add, and another is refused."""
    file = Path("ragstone.toml")
    file.write_text(f"# mine\r\n{file.read_text()}[steps] # who\nclaims = 'embedded'", encoding="utf-8", newline="")
    before = file.read_bytes()
    found = tune(judged, styles=["short_cot"], write=True)
    assert found.winner.combination.judge == "good"
    after = file.read_bytes()
    for line in (b'assign = "good"\r\n', b'\r\n[judges.good.prompts]\r\nassign = "short_cot"\r\nformat = "json"\r\n'):
        assert after.count(line) == 1
        after = after.replace(line, b"")
    assert after.replace(b"\r\n", b"\n").rstrip() == before.replace(b"\r\n", b"\n").rstrip()
    written = file.read_bytes()
    tune(judged, styles=["short_cot"], write=True)
    assert file.read_bytes() == written
    with pytest.raises(ConfigError, match=r'ragstone.toml sets steps.assign to "good", not "bad"; remove that line'):
        tune(judged, ["bad"], styles=["short_cot"], formats=["yaml"], write=True)
    assert file.read_bytes() == written


def test_the_path_of_a_prompt_is_written_relative_to_the_file() -> None:
    Path("ci").mkdir()
    said = add_settings(Path("ci/own.toml"), {("prompts",): {"assign": "prompts/mine.md", "support": "short_cot"}})
    assert said == '[prompts]\nassign = "../prompts/mine.md"\nsupport = "short_cot"'


@pytest.mark.parametrize("text", ["steps = { support = 'a' }\n", "a = '''\n[steps]\n'''\n", "steps.support = 'a'\n"])
def test_a_file_that_cannot_be_edited_by_lines_is_left_alone(text: str, tmp_path: Path) -> None:
    """The message has the lines to add by hand."""
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"add these by hand:\n\[steps\]\nassign = \"b\"$"):
        add_settings(path, {("steps",): {"assign": "b"}})
    assert path.read_text(encoding="utf-8") == text


def test_a_threshold_is_fitted_written_and_named_in_the_signature() -> None:
    """People accept what the embedded judge refuses; with the fitted threshold a run agrees with them."""
    write("labels.jsonl", city_rows())
    found = ragstone.tune("labels.jsonl", city_records(), "embedded", threshold=True, write=True)
    (fit,) = found.thresholds
    assert (fit.judge, fit.before, fit.units, fit.folds) == ("embedded", 0.5, 40, 5)
    assert 0.34 <= fit.after < 0.5
    assert (fit.kappa_before, fit.kappa_after, fit.shown) == (0.5, 1, True)
    assert f"threshold = {fit.after:g}" in Path("ragstone.toml").read_text()
    assert ragstone.open_run("last").name.startswith("tune "), "there is no other"
    with closing(ragstone.evaluate(city_records()[:1], "grounding").store):
        ragstone.tune("labels.jsonl", city_records(), "embedded")
        assert ragstone.open_run("last").name == "records"
    run = ragstone.evaluate(city_records(), "grounding", "claims=human:labels.jsonl")
    assert f",cut={fit.after:g}|" in run.summary()["metrics"]["grounding"]["signature"]
    assert ragstone.agree(run, "labels.jsonl")["grounding"].items.kappa == 1
    run.store.close()


WORST = LabelDraw("worst", 0, 4, 4)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"styles": ["short_cut"]}, r"no prompt style 'short_cut' for the step 'assign'; known: default, "),
        ({}, {"formats": ["jsonn"]}, r"--format 'jsonn'; expected one of json, "),
        ({}, {"judge": ["goood"]}, r"no judge 'goood'; did you mean 'good'\?"),
        (
            {},
            {"metric": "grounding"},
            r"labels.jsonl has no labels for grounding; it has labels for nugget_recall \(12\)",
        ),
        ({}, {"threshold": True}, r"--threshold needs at least 30 labelled units; labels.jsonl has 12"),
        ({"label": "support"}, {}, r"all 12 labels are 'support'; agreement needs two different labels"),
        (
            {"draw": WORST},
            {},
            r"all labels come from a worst-first draw; label a random sample with: ragstone label RUN",
        ),
        ({"hash": "0" * 16}, {}, r"no label matches a unit of records.jsonl: text has changed"),
        (
            {"response": "Another one."},
            {},
            r"labels.jsonl: all labels are for different responses than",
        ),
        ({"task": "weigh"}, {}, r"no label is for a step and unit of a metric; steps: weigh"),
    ],
)
def test_what_cannot_be_tuned_is_refused_before_a_call(
    judged: FakeServer, change: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    write("labels.jsonl", [replace(row, **change) for row in rows(COUNT)])
    with pytest.raises(InputError, match=message):
        tune(judged, **{"judge": ["good"], **options})
    assert judged.count == 0


def test_records_without_labels_are_no_input() -> None:
    write("labels.jsonl", rows(COUNT))
    with pytest.raises(
        InputError, match=r"contains none of the labelled records; the labels are for records like 'r0'"
    ):
        ragstone.tune("labels.jsonl", [{"id": "x", "response": "R."}], "embedded")


def test_claims_without_their_texts_need_a_judge_that_writes_them() -> None:
    write("labels.jsonl", [replace(row, text="") for row in city_rows()])
    with pytest.raises(InputError, match=r"labels.jsonl: no label has a 'text', .*: -j claims=NAME$"):
        ragstone.tune("labels.jsonl", city_records(), "embedded")
    found = ragstone.tune("labels.jsonl", city_records(), ["embedded", "claims=embedded"])
    assert (found.units, found.winner.interval) == (40, None), "each record has the same matrix"
    write("labels.jsonl", [row for row in city_rows() if row.record == city_rows()[0].record])
    assert ragstone.tune("labels.jsonl", city_records(), "embedded").records == 1, "one combination needs no halves"


def test_labels_of_two_metrics_need_a_name_and_worst_ones_are_not_used(judged: FakeServer) -> None:
    both = [*rows(COUNT), *(replace(row, unit=f"{row.record}/claim/1", task="support") for row in rows(COUNT)[::3])]
    write("labels.jsonl", both)
    said = r"labels for several metrics: nugget_recall \(12\), grounding \(4\); specify one"
    with pytest.raises(InputError, match=said):
        tune(judged)
    write("labels.jsonl", [*both, *(replace(row, draw=WORST) for row in rows(6)[-3:])])
    found = tune(judged, metric="nugget_recall")
    assert (found.units, found.notes[0]) == (12, "3 labels from a worst-first draw not used")


def test_a_judge_of_a_program_and_a_panel_are_combinations_too(judged: FakeServer) -> None:
    """The object cannot be written; the panel is a list of its step. A tie of annotators is no label."""
    tied = [replace(rows(1)[0], annotator="ben", label="support"), replace(rows(1)[1], annotator="ben")]
    write("labels.jsonl", [*rows(COUNT), *tied])
    own = ScriptedJudge({"assign": "support"}, name="own")
    found = tune(judged, ["[good,bad]", own])
    assert {one.combination.judge for one in found.tried} == {"[good,bad]", "own"}
    assert (found.units, found.notes[-1]) == (11, "unused labels: tied between annotators or trivial (1)")
    alone = tuner("labels.jsonl", "records.jsonl", [own])
    alone.ask(alone.combinations[0])
    with pytest.raises(ConfigError, match="'own' is an object of this program"):
        alone.write(alone.result())
    plain = {("steps",): {"assign": ["good", "bad"]}, ("prompts",): {"assign": "legacy"}}
    for options, more in ((RunOptions(), {}), (RunOptions(aggregate="min"), {("panel",): {"aggregate": "min"}})):
        made = tuner("labels.jsonl", "records.jsonl", ["[good,bad]"], styles=["legacy"], options=options)
        made.ask(made.combinations[0])
        assert made.settings(made.result()) == {**plain, **more}, "with what combined the verdicts that were compared"
    made = tuner("labels.jsonl", "records.jsonl", ["embedded>good"], options=RunOptions(cascade_error=0.2))
    chosen = replace(found, tried=(replace(found.winner, combination=made.combinations[0]),))
    assert made.settings(chosen) == {("steps",): {"assign": "embedded>good"}, ("cascade",): {"error": 0.2}}
