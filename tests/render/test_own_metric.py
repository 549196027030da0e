"""A metric of another package, in one file, is shown in full: by its own labels, sentence, unit and band."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from own_metric import RECORDS, SHORT, eleven_lines, installed
from page_blocks import flat
from ragstone import Run, agree, check, compare, evaluate, metrics
from ragstone.api import export_run
from ragstone.errors import ConfigError, InputError
from ragstone.render.ci import junit, markdown
from ragstone.render.facts import RunFacts
from ragstone.render.html.overview import overview_of
from ragstone.render.html.rows import RowCounts
from ragstone.render.terminal.case import case
from ragstone.render.terminal.compare_screen import compare_page
from ragstone.render.terminal.lists import metric_list
from ragstone.render.terminal.outcome import outcome
from ragstone.render.terminal.screen import Look

pytest_plugins = ["pytester"]

NAME = "figure_support"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Two records by that metric, of which the second has figures that no context has."""
    folder = tmp_path_factory.mktemp("own")
    with installed(folder / "site"):
        found = evaluate(RECORDS, [NAME, "groundedness"], store=folder / "s.db", name="figures")
        yield found


def test_the_terminal_says_what_the_metric_says(run: Run) -> None:
    """It leads the run by its rank; the record has its words, its units and its band."""
    whole = flat(outcome(run, Look(100)))
    assert "of a response's figures are stated in its passages (4 figures in 2 responses)." in whole
    assert "1 of 2 responses has at least one figure that is not stated." in whole
    assert f"Lowest {NAME}" in whole
    assert "2 of 3 figures not stated" in whole
    record = flat(case(run["bad"], 2, run.id, Look(100)))
    assert "doubtful: check the figures against the passages" in record
    assert "not stated: It weighs 9 kilos" in record
    assert "share of the response's figures that the passages state" in flat(metric_list())


def test_the_page_has_the_words_of_metrics_that_did_not_run(tmp_path: Path) -> None:
    """Those that ``auto`` left out are named in a note, by their headings."""
    run = evaluate(RECORDS, store=tmp_path / "s.db")
    measures = overview_of(RunFacts(run), RowCounts())["measures"]
    assert measures["trace"]["heading"] == "TRACe"


def test_a_notebook_says_it_too(run: Run) -> None:
    """The page of the run and that of a record."""
    assert "2 of 3 figures not stated" in run._repr_html_()
    shown = run["bad"]._repr_html_()
    assert "not stated" in shown
    assert NAME in shown


def test_files_hold_it(run: Run, tmp_path: Path) -> None:
    """The export of scores and verdicts, JUnit and Markdown."""
    for rows, wanted in (("scores", f"bad,bad,,{NAME},0.333333333"), ("verdicts", "It weighs 9 kilos")):
        export_run(run, "csv", rows, tmp_path / f"{rows}.csv")
        assert wanted in (tmp_path / f"{rows}.csv").read_text("utf-8")
    gate = check(run, min={NAME: 0.9})
    (failed,) = ET.fromstring(junit(gate)).iter("testcase")
    assert failed.get("classname") == f"ragstone.{NAME}"
    assert "It weighs 9 kilos" in (failed.findtext("failure") or "")
    assert "mean at least 90%" in markdown(gate).decode()


def test_runs_are_compared_by_it(run: Run, tmp_path: Path) -> None:
    """It leads the comparison too."""
    mended = [RECORDS[0], {**RECORDS[1], "response": "It holds 2 litres."}]
    second = evaluate(mended, [NAME], store=tmp_path / "s.db", name="mended")
    found = compare(run, second)
    shown = flat(compare_page(found, run, second, Look(100)))
    assert (
        f"{NAME} is 33.3 points higher in mended (2 paired records). No test possible: only 2 paired records" in shown
    )
    assert f"Largest changes in {NAME}" in shown
    assert "33% to 100%; reason in figures:" in shown  # where the unit below it stands
    assert f"ragstone show {run.id} bad" in shown


def test_a_run_outlives_the_package(run: Run) -> None:
    """Where the metric is not installed any more its numbers are shown with words that any metric has."""
    metrics.catalogue.cache_clear()
    known = dict(metrics.catalogue())
    del known[NAME]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "known", lambda: known)
        assert f"Lowest {NAME}" not in flat(outcome(run, Look(100)))  # groundedness leads
        assert "not supported" in flat(case(run["bad"], 2, run.id, Look(100)))
        assert NAME in run["bad"]._repr_html_()


@pytest.mark.parametrize(("points", "said"), [
    ("x = nowhere_at_all:Metric", "x = nowhere_at_all:Metric of figure-support cannot be loaded (No module named"),
    ("x = figure_support:Span", "x = figure_support:Span of figure-support is not a metric; expected a subclass of"),
    ("x = ragstone.metrics.base:Metric", "is not a complete metric; it lacks name, title, needs, asks, suites"),
    (f"a = {NAME}:FigureSupport\nb = ragstone.metrics.trace:TraceMetric", ""),
])  # fmt: skip
def test_an_entry_point_that_offers_no_metric_is_one_line(points: str, said: str, tmp_path: Path) -> None:
    """Which entry point of which package, what is wrong with it, and what to do; the same class twice is no clash."""
    with installed(tmp_path, points):
        if not said:
            assert NAME in metrics.catalogue()
            return
        with pytest.raises(ConfigError) as caught:
            metrics.catalogue()
    assert said in str(caught.value)


def test_a_name_is_given_once(tmp_path: Path) -> None:
    """A metric that is called as another one is refused, with the package that brings it."""
    with installed(tmp_path):
        source = tmp_path / "figure_support.py"
        source.write_text(source.read_text("utf-8").replace('name = "figure_support"', 'name = "grounding"'), "utf-8")
        with pytest.raises(ConfigError, match="of figure-support: there is already a metric 'grounding'"):
            metrics.catalogue()


@pytest.mark.parametrize("form", ["file", "installed"])
def test_eleven_lines_show_everywhere(form: str, tmp_path: Path, pytester: pytest.Pytester) -> None:
    """In terminal, report, JUnit, comparison, check and pytest, by the metric's own name and title."""
    title = "share of sentences that the passages support"
    with eleven_lines(form, pytester.path) as named:
        run = evaluate(RECORDS, named, store=tmp_path / "s.db", name="short")
        other = evaluate(RECORDS[:1], named, store=tmp_path / "s.db", name="other")
        usual = evaluate(RECORDS[:1], store=tmp_path / "s.db", name="usual")
        assert (SHORT in usual.summary()["metrics"]) == (form == "installed"), "auto has what is installed"
        assert SHORT in flat(outcome(run, Look(100)))
        assert title.capitalize() in flat(outcome(run, Look(100)))
        page = overview_of(RunFacts(run), RowCounts())
        assert page["measures"][SHORT]["unit"] == "sentence"
        assert [card["title"] for card in page["metrics"]] == [title]
        gate = check(run, min={SHORT: 0.9})
        assert not gate.passed
        (failed,) = ET.fromstring(junit(gate)).iter("testcase")
        assert failed.get("classname") == f"ragstone.{SHORT}"
        assert f"{SHORT} is unchanged (1 paired record). Every record has the same value in both runs." in flat(
            compare_page(compare(run, other), run, other, Look(100))
        )
        body = f"""
            def test_it(assert_scores):
                contexts = ["It holds 2 litres."]
                assert_scores("It holds 2 litres.", {{"{named}": 0.3}}, question="How much?", contexts=contexts)
                assert_scores("It is red and it was cheap.", {{"{named}": 0.9}}, question="?", contexts=contexts)
            """
        pytester.makepyfile(body)
        told = pytester.runpytest_inprocess("-p", "no:cacheprovider").stdout.str()
        assert f"{SHORT} is 0.00, below 0.9" in told


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("nowhere_at_all:Metric", "metric nowhere_at_all:Metric cannot be loaded (No module named"),
        (f"{SHORT}:Rate", f"metric {SHORT}:Rate is not a metric; expected a subclass of"),
        (f"{SHORT}:Absent", f"metric {SHORT}:Absent cannot be loaded"),
        ("broken:X", "metric broken:X cannot be loaded ("),
        ("taken:Taken", "metric taken:Taken: there is already a metric 'grounding'; rename it"),
    ],
)
def test_a_reference_without_a_metric_is_one_line(named: str, said: str, tmp_path: Path) -> None:
    """Which one, and what is wrong with it."""
    with eleven_lines("file", tmp_path / "site"):
        Path("broken.py").write_text("def (", "utf-8")
        text = Path(f"{SHORT}.py").read_text("utf-8").replace("PlainSupport", "Taken").replace(SHORT, "grounding")
        Path("taken.py").write_text(text, "utf-8")
        with pytest.raises(ConfigError) as caught:
            evaluate(RECORDS, named, store=tmp_path / "s.db")
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_other_processes_have_the_metric_of_a_file(tmp_path: Path) -> None:
    """A record's parameters for it are read there, too."""
    rows = [{**row, SHORT: {"threshold": 0.9}} for row in RECORDS]
    with eleven_lines("file", tmp_path / "site") as named:
        runs = [evaluate(rows, named, workers=n, store=tmp_path / f"{n}.db") for n in (1, 2)]
    first, second = ([result["scores"] for result in run.results()] for run in runs)
    assert first == second


def test_labels_of_a_metric_that_is_not_there_say_so(tmp_path: Path) -> None:
    """Its scale is in its code; where that is loaded, the same labels are compared."""
    labels = tmp_path / "labels.csv"
    with eleven_lines("file", tmp_path / "site") as named:
        run = evaluate(RECORDS, named, store=tmp_path / "s.db")
        units = [verdict["unit"] for verdict in run["good"].score(SHORT)["verdicts"]]
        labels.write_text("record,unit,label\n" + "".join(f"good,{unit},yes\n" for unit in units), "utf-8")
        assert agree(run, labels).joined == len(units)
    with pytest.raises(InputError, match=f"; {SHORT} is not installed, so its scale is unknown"):
        agree(run, labels)


def test_a_record_loads_no_code(tmp_path: Path) -> None:
    """What its overrides name is not imported; nor is what a stored run names."""
    with eleven_lines("file", tmp_path / "site") as named:
        row = {**RECORDS[0], "overrides": {named: {"enabled": True}}}
        with pytest.raises(InputError, match="no metric"):
            evaluate([row], "grounding", store=tmp_path / "s.db")
        with pytest.raises(ConfigError, match="no metric"):
            metrics.find(named)
        assert SHORT not in sys.modules
