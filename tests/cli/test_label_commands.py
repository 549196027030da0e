"""``ragstone label``: what the command draws and says, and what it refuses in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import done, ragstone, refused

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("alone")


def test_a_run_may_stand_in_the_place_of_the_command(weighed: Path) -> None:
    """It says what was drawn, how long it takes and what comes next."""
    short, whole = (ragstone("label", *command, "1", "-n", "8", "--store", str(weighed), "-o", "x/", "--json").json
                    for command in ((), ("page",)))  # fmt: skip
    assert short == whole
    assert Path("x/label.html").stat().st_size == short["bytes"]
    assert short["draw"] == {"mode": "random", "seed": 0, "n": 8, "of": 21}
    assert short["next"] == f"ragstone agree 1 labels-NAME.jsonl --store {weighed}"
    came = done("label", "--store", str(weighed), "--annotator", "ann b", "-n", "99")
    assert "all 21 scored records (-n is 99)" in " ".join(came.out.split())
    assert "at 12 s per claim" in came.out
    assert f"ragstone agree 1 labels-ann-b.jsonl --store {weighed}" in came.out.replace("\\\n", "").replace("  ", "")
    assert b'"annotator":"ann b"' in Path("label.html").read_bytes()
    assert "page" in ragstone("label", "--help").out


@pytest.mark.parametrize(("words", "said"), [
    (["-m", "trase"], "no verdicts for 'trase' to label; there are verdicts for"),
    (["--by", "kind", "--worst"], "--by is for a random draw"),
    (["--against", "1"], "--against is only for --worst"),
    (["-o", "-"], "a page needs an output file"),
    (["99"], "no run '99'"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_one_line(weighed: Path, words: list[str], said: str) -> None:
    """With the code for usage."""
    assert said in refused("label", *words, "--store", str(weighed))


def test_a_run_without_scores_is_one_line() -> None:
    """Nothing was judged, so there is nothing to label; the folder of a run is a run too."""
    Path("a.jsonl").write_text('{"id": "a", "question": "Is it?", "response": "?", "contexts": ["It is."]}\n', "utf-8")
    ragstone("run", "a.jsonl", "-m", "grounding", "-o", "out")
    assert "no record has a score with verdicts" in refused("label", "./out")


def test_imported_labels_may_be_for_a_run(weighed: Path) -> None:
    """In either order; steps come from the run, other labels are counted, and a run alone is one line."""
    store = ("--store", str(weighed))
    unit = "kettle-descale,kettle-descale/claim"
    rows = f"record,unit,task,label\n{unit}/1,support,yes\n{unit}/2,support,\nelsewhere,x,support,yes\n"
    Path("labels.csv").write_text(rows, encoding="utf-8")
    for order in (("labels.csv", "1", "--task", "support"), ("1", "labels.csv")):
        came = ragstone("label", "import", *order, *store, "-o", "labels.jsonl")
        assert "imported: 1 label, 1 unit, 0 annotators; skipped: 1 without a label, 1 no such record" in came.err
    assert "missing.csv: no such file" in refused("label", "import", "last", "missing.csv", *store)
    assert "last is a run; add the file" in refused("label", "import", "last")
