"""``ragstone agree``: the screen of a judge against people, at any width and with any text in the labels."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import orjson
import pytest
from terminal import HOSTILE, WIDTHS, done, pasted, ragstone

from ragstone import open_run
from ragstone.labels import LabelDraw, LabelRow

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("alone")

DRAW = LabelDraw("random", 0, 12, 12)
Labels = Callable[..., str]


@pytest.fixture
def store(weighed: Path, home: None) -> str:
    """The store of a run, with a short name."""
    return shutil.copy(weighed, "s.db")


@pytest.fixture
def labels(store: str) -> Labels:
    """A file with people's labels of the first example traces: ``yes`` for every claim but some, by each annotator."""

    def written(*annotators: str, records: int = 5, more: tuple[LabelRow, ...] = ()) -> str:
        run = open_run("last", store)
        rows = list(more)
        for who in annotators:
            for result in islice(run.results(), records):
                for n, verdict in enumerate(result.score("grounding")["verdicts"]):
                    label = "no" if (result["position"] + n) % 3 == 0 else "yes"
                    rows.append(LabelRow(result["id"], verdict["unit"], "support", label, who, 9.0, DRAW))
        Path("labels.jsonl").write_bytes(b"\n".join(orjson.dumps(row.as_json()) for row in rows))
        return "labels.jsonl"

    return written


@pytest.mark.parametrize("width", WIDTHS)
def test_the_screen_says_how_far_to_trust_the_judge(store: str, labels: Labels, width: int) -> None:
    """The sentence first; then the table, the matrix, the people, the disagreements, and what to do next."""
    came = ragstone("agree", "last", labels("ana", "ben"), "--store", store, columns=width)
    assert (came.code, came.err) == (0, "")
    assert came.flat.startswith(
        "Too few labels to tell if the judge agrees with people: kappa .26 (95% CI .00–.67) on 16 claims from 5 "
        "records; always answering 'yes' would be right 69% of the time. "
    )
    for part in (
        "people in rows, judge in columns",
        "Krippendorff's alpha of the judge and all annotators ",
        "ana and ben: kappa 1.00",
        "to halve each interval, label this many more records: grounding 15",
    ):
        assert part in came.flat, part
    table = came.out.partition("guess: ")[0]
    assert all(title in table for title in ("units", "accuracy", "kappa", "95% CI", "mean", "corrected"))
    assert "…" not in table
    (titles,) = (line for line in table.splitlines() if " corrected " in line)
    assert titles.replace("kappa 95% CI", "").count("95% CI") == 1
    assert ("columns hidden at this width (units" in came.flat) == (width == 60)
    (command,) = pasted(came.out)
    assert command[:2] == ["show", "1"]
    shown = done(*command)
    assert came.out.partition("Largest disagreements")[2].split()[0] in shown.out
    assert ragstone("agree", "last", labels("ana"), "--store", store, columns=width, charset="ascii").code == 0
    of_one = ragstone("agree", "last", labels("ana", records=1), "--store", store, columns=width)
    assert of_one.flat.startswith("Agreement with people: kappa "), "one record has no interval, so nothing is claimed"


def test_json_has_every_measure(store: str, labels: Labels) -> None:
    came = ragstone("agree", "last", labels("ana"), "--store", store, "--json", "--disagreements", "1")
    (metric,) = came.json["metrics"]
    assert metric["metric"] == "grounding"
    assert metric["units"] == sum(map(sum, metric["counts"]))
    assert metric["means"][0]["method"] == "labels"
    assert len(came.json["disagreements"]) == 1


def test_what_did_not_join_is_listed(store: str, labels: Labels) -> None:
    """With a text that a terminal would obey in the place of an id, a label and an annotator."""
    strays = tuple(LabelRow(f"{HOSTILE}{n % 2}", f"x/{n}", "support", "yes", HOSTILE, draw=DRAW) for n in range(9))
    run = open_run("last", store)
    first = next(run.results())
    unit = first.score("grounding")["verdicts"][0]["unit"]
    strays += (LabelRow(first["id"], unit, "support", HOSTILE, "zoe", draw=DRAW),)
    came = done("agree", "last", labels("ana", more=strays), "--store", store)
    assert "Unused labels 10 of" in came.flat.partition("accuracy")[0], "it comes before the numbers"
    assert "9 no such record: [31mred" in came.flat
    assert came.flat.partition("no such record: ")[2].partition(" not on the scale")[0].count("[31mred") == 2
    assert "1  label not on the scale (no, yes): " in came.out


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_left_out_is_told(store: str, labels: Labels, width: int) -> None:
    """Units without a verdict and their cost, ties, records that are not used, parsed replies; groups of a folder."""
    path = labels(
        "ana", more=(LabelRow("kettle-descale", "kettle-descale/claim/1", "support", "no", "ben", draw=DRAW),)
    )
    run = open_run("last", store)
    reading = {"style": "short_cot", "format": "keyed", "reader": "", "status": "cut_off", "read": 0, "asked": 1}
    call = {"key": "a1", "judge": "one", "step": "support", "input_tokens": 1, "output_tokens": 1, "dollars": None}
    lines = []
    for result in run.results():
        grounding = result.score("grounding")
        for verdict in grounding["verdicts"][-1:]:
            verdict.update(label=None, value=None, failure="cut off")
        changed = {
            "calls": [{**call, "reading": reading}],
            "meta": {
                "expert": bool(result["position"] % 2),
                "run_id": f"{HOSTILE} {result['position'] % 2}",
            },
        }
        lines.append(orjson.dumps({**result, **changed}))
    Path("out").mkdir()
    Path("out/results.jsonl").write_bytes(b"\n".join(lines))
    came = ragstone("agree", "out", path, "--by", "meta.expert", columns=width)
    assert (came.code, came.err) == (0, "")
    for part in (
        "unjudged no yes", "grounding by meta.expert 2 groups", "false", "true",
        "Systems by grounding 2 systems", "rank correlation needs at least 3",
        "left out (scored with settings other than the run's)",
        "Replies parsed in full one support short_cot keyed 0 of 1",
        "grounding: 5 claims without a verdict; counting them as errors, accuracy is",
        "6 claims left out (1 tied between annotators, 5 without a verdict).",
    ):  # fmt: skip
        assert part in came.flat, part
    assert "Next" not in came.out, "a run in a folder has no number to show it by"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["last", "labels.jsonl", "-m", "nothing"], "error: metric 'nothing' is not in run 1; available: "),
        (["last", "missing.jsonl"], "error: missing.jsonl: no such file"),
        (["99", "labels.jsonl"], "error: no run '99' in "),
        (["last", "labels.jsonl", "--correction", "magic"], "'magic' is not one of 'ppi', 'rogan-gladen'"),
        (["last", "empty.jsonl"], "error: empty.jsonl: contains no records; expected at least one"),
        (["last", "nobody.json"], "error: nobody.json: no labels for the units of run 1 (answer_relevance, "),
        (["last", "other.jsonl"], "error: no label matches run 1: no such record (1 label, first: "),
        (["last", "labels.jsonl", "-m", "answer_relevance"], "answer_relevance in run 1: label for another metric (1"),
    ],
)
def test_a_mistake_is_one_line(store: str, labels: Labels, arguments: list[str], said: str) -> None:
    labels("ana", more=(LabelRow("tea-water", "tea-water/claim/1", "support", None, "ben"),))
    Path("empty.jsonl").write_text("\n")
    Path("nobody.json").write_text('[{"data": {"record": "a", "unit": "b"}, "annotations": []}]')
    Path("other.jsonl").write_bytes(orjson.dumps(LabelRow(HOSTILE, HOSTILE, "support", "yes").as_json()))
    came = ragstone("agree", *arguments, "--store", store)
    assert came.code == 2
    assert said in came.err
    assert "cannot tell" not in came.err, "the metric has no such label"
