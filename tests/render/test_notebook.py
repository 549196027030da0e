"""Runs and results in notebooks: what they show, and that hostile texts are shown and nothing more."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragstone import Result, Run, agree, check, compare, estimate, evaluate
from ragstone.analysis.run import find_run
from ragstone.errors import InputError
from ragstone.judges.base import Failed
from ragstone.render.agreement import limits_said
from ragstone.render.notebook import LONG, MOST, result_page
from ragstone.store.database import Store
from ragstone.testing import Script, ScriptedJudge

TRACES = Path(__file__).parents[2] / "examples" / "traces.jsonl"
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>"
    '" onmouseover="alert(1)\' style="x\x1b[31m\u202e&amp;{{7*7}}{0}%s'
)
TAGS = {"div", "span", "b", "sup", "table", "tr", "td", "th", "mark", "details", "summary"}
ATTRIBUTES = {"style", "dir", "title", "aria-hidden"}


@dataclass
class Page(HTMLParser):
    """What a browser would find: elements, their attributes, the text."""

    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def read(html: str) -> Page:
    """The page; AssertionError where it holds an element or an attribute that no page of ours has."""
    page = Page()
    page.feed(html)
    page.close()
    assert page.open == []
    assert set(page.tags) <= TAGS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    styles = " ".join(value for name, value in page.attributes if name == "style")
    assert "url" not in styles
    assert "expression" not in styles
    return page


@pytest.fixture
def weigh(tmp_path: Path) -> Any:
    """Weighs one record by a script, in a store of the test's own."""
    runs: list[Run] = []

    def weigh(script: Script, metrics: Any = "grounding", **record: Any) -> Run:
        row = {"id": "r", "question": "Q?", "response": "One. Two.", "contexts": ["One.", "Three."], **record}
        judge = ScriptedJudge(script, version=str(len(runs)))
        runs.append(evaluate([row], metrics, judge, store=tmp_path / "store.db", name="a run", config=tmp_path / "c"))
        return runs[-1]

    (tmp_path / "c").write_text("")
    return weigh


CLAIMS: dict[Any, Any] = {"claims": ["It is one.", "It is two."], "support": ["yes", "no"], "relevance": ["yes", "no"]}


def test_a_run_shows_its_metrics_and_its_lowest_records(weigh: Any) -> None:
    page = read(weigh(CLAIMS)._repr_html_())
    assert "a run run 1 · 1 record mean scored grounding 50% 1 of 1" in page.text
    assert "Lowest grounding 50% r 1 of 2 claims not supported" in page.text
    assert "judged by scripted · cost: free" in page.text
    row = {"id": "r", "question": "What?", "response": "It is one.", "contexts": ["It is one."]}
    run = evaluate([row], "grounding", "embedded", store=":memory:")
    told = read(run._repr_html_()).text
    assert "It compares words and numbers; it is not a language model. On 6 public datasets, it ranks" in told


def test_a_run_tells_what_is_missing(weigh: Any) -> None:
    """Without a score there is no bar and no number, and the reason is told."""
    page = read(weigh({"claims": ["It is one."], "support": Failed("on fire")})._repr_html_())
    assert "grounding - 0 of 1" in page.text
    assert "Missing or partial scores 1 record judge_failed (on fire) no score for grounding" in page.text
    assert "aria-hidden" not in dict(page.attributes)


def test_a_run_tells_what_its_means_could_be(weigh: Any, tmp_path: Path) -> None:
    page = read(weigh({"claims": ["A.", "B."], "support": ["yes", None]})._repr_html_())
    assert "mean scored could be grounding 100% 1 of 1 50–100" in page.text
    rows = [{"id": name, "response": f"{name}.", "contexts": ["One."]} for name in ("One", "Two")]
    judge = ScriptedJudge(lambda q: Failed("cut off") if q.task == "claims" and "Two." in str(q)
                          else ["It is one."] if q.task == "claims" else ["yes"])  # fmt: skip
    lost = evaluate(rows, "grounding", judge, store=tmp_path / "store.db")
    assert "grounding 100% 1 of 2 50–100" in read(lost._repr_html_()).text, "also where no unit could be asked about"


def test_a_record_shows_what_falls_short_and_why(weigh: Any) -> None:
    """Each claim once, with what every score says of it, in words and with a sign; what is well is not listed."""
    run = weigh(CLAIMS, ["grounding", "claim_relevance"])
    page = read(run["r"]._repr_html_())
    assert page.text.count("It is two.") == 1
    assert "It is one." not in page.text
    assert "Lowest verdicts ✗ not supported grounding ✗ not relevant claim_relevance It is two." in page.text
    assert "2 passages 1 One. 2 Three." in page.text


def test_a_long_word_is_broken(weigh: Any) -> None:
    """It makes no cell wider than the notebook: everything stands in an element that lets words be broken anywhere."""
    run = weigh(CLAIMS, response="w" * 3000)
    for html in (run._repr_html_(), run["r"]._repr_html_()):
        (tag, outermost), *_ = read(html).attributes
        assert tag == "style"
        assert "overflow-wrap:anywhere" in outermost
        assert 'white-space:nowrap">w' not in html


def test_the_response_is_marked_where_it_is_not_supported(weigh: Any) -> None:
    """By the worst that is said of a stretch, with a sign that does not need colour."""
    run = weigh({"support": ["3", "0"]}, ["groundedness"])
    html = run["r"]._repr_html_()
    assert 'title="not supported">Two.<sup>✗</sup></span>' in html
    assert "One.<sup>" not in html
    partly = weigh({"support": ["2", None]}, ["groundedness"])["r"]._repr_html_()
    assert 'title="partly supported">One.<sup>~</sup></span>' in partly
    assert 'title="unjudged">Two.<sup>?</sup></span>' in partly


def test_a_record_that_could_not_be_read_says_so() -> None:
    result = Result({"id": "r", "position": 1, "set_aside": "line 1: <no> JSON", "scores": []}, 3)
    assert "Unreadable line 1: <no> JSON" in read(result_page(result)).text
    assert repr(result) == "<Result 'r', run 3: unreadable>"


def test_hostile_texts_are_shown_and_do_nothing(weigh: Any) -> None:
    """Wherever a text of a record, a judge or a model may stand."""
    script = {"claims": [HOSTILE, "</td></table>" + HOSTILE], "support": [None, "no"]}
    run = weigh(script, "grounding", id=HOSTILE, question=HOSTILE, response=HOSTILE, contexts=[HOSTILE, "</div>"])
    page = read(next(run.results())._repr_html_())
    assert page.text.count("<script>alert(1)</script>") >= 4
    assert "{{7*7}}{0}%s" in page.text
    assert not {"\x1b", "\u202e"} & set(page.text)
    page = read(run._repr_html_())
    assert "<script>" in page.text
    assert "\x1b" not in repr(run) + repr(next(run.results()))


@given(st.lists(st.text(max_size=40), min_size=6, max_size=6))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_leaves_its_place(texts: list[str]) -> None:
    """Whatever stands in a result, a page has our elements alone."""
    name, question, response, claim, reason, quote = texts
    verdict = {
        "unit": "u", "label": "no", "value": 0.0, "raw": 0, "probability": None, "judge": "j", "reason": reason,
        "evidence": [{"passage": "p", "start": None, "end": None, "text": quote, "verbatim": False}],
    }  # fmt: skip
    score = {
        "metric": "grounding", "value": 0.0, "status": "scored", "asked": 1, "unjudged": 0, "low": 0.0, "high": 0.0,
        "reason": reason, "detail": {}, "verdicts": [verdict],
    }  # fmt: skip
    unit = {"id": "u", "level": "claim", "text": claim, "start": 0, "end": len(response), "parent": None}
    document = {
        "id": name, "position": 1, "question": question, "response": response, "units": [unit], "scores": [score],
        "contexts": [{"id": "p", "rank": 1, "text": quote}],
        "meta": {"history": [{"role": "user", "content": quote}]},
    }  # fmt: skip
    read(result_page(Result(document, 1)))


def test_a_large_record_has_a_small_page(weigh: Any) -> None:
    """Texts, claims and passages beyond some are counted and not shown."""
    claims = [f"Claim {number}." for number in range(500)]
    run = weigh(
        {"claims": claims, "support": "no"}, "grounding",
        response="word " * 40_000, contexts=["long " * 40_000] * 50, question="why " * 40_000,
    )  # fmt: skip
    html = run["r"]._repr_html_()
    page = read(html)
    assert len(html) < 250_000
    assert f"and {500 - MOST} more" in page.text
    assert f"and {50 - MOST} more" in page.text
    assert f"and {200_000 - LONG:,} more characters" in page.text


def test_real_runs_are_shown(tmp_path: Path) -> None:
    """The example traces in every metric: blank responses, refusals, other scripts, nuggets, traces."""
    run = evaluate(str(TRACES), "all", store=tmp_path / "store.db")
    pages = [read(run._repr_html_()), *(read(result._repr_html_()) for result in run.results())]
    assert len(pages) == 23
    assert all("Scores" in page.text for page in pages[1:])


def test_a_result_is_a_dict_with_a_calm_face(weigh: Any) -> None:
    """It is written and compared as what it holds; its representation is one line."""
    run = weigh(CLAIMS)
    result = run["r"]
    assert json.loads(json.dumps(result)) == dict(result) == result
    assert repr(result) == "<Result 'r', run 1: grounding 0.500>"
    assert repr(run) == "<Run 1 'a run', done, 1 record: grounding 0.500>"
    assert result.score("grounding")["asked"] == 2
    with pytest.raises(InputError, match="no score 'groundedness' of the record 'r'; evaluate with -m groundedness"):
        result.score("groundedness")
    failed = weigh({"claims": ["A."], "support": Failed("on fire")})
    assert repr(failed["r"]) == "<Result 'r', run 2: grounding judge_failed>"
    assert repr(failed) == "<Run 2 'a run', done, 1 record: grounding - (0 scored)>"


def test_polars_frames(weigh: Any) -> None:
    """The same rows as to_pandas, with null for what is missing and a type for every column."""
    pl = pytest.importorskip("polars")
    run = weigh({"claims": ["A.", "B."], "support": [None, "no"]}, ["grounding", "response_groundedness"])
    scores, verdicts = run.to_polars(), run.to_polars("verdicts")
    assert scores.rows(named=True) == list(run.score_rows())
    assert [*verdicts.columns] == [*run.to_pandas("verdicts").columns]
    assert verdicts["value"].to_list()[:2] == [None, 0.0]
    assert (verdicts.schema["start"], verdicts.schema["verbatim"]) == (pl.Int64, pl.Boolean)
    assert scores.schema["value"] == pl.Float64
    with pytest.raises(InputError, match="no rows 'units'"):
        run.to_polars("units")


def test_polars_is_asked_for_kindly(weigh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(InputError, match="to_polars needs polars; install it with: pip install polars"):
        weigh(CLAIMS).to_polars()


def test_what_the_other_functions_return_prints_as_text(tmp_path: Path) -> None:
    """A notebook shows the same text, but not as Markdown where it is not escaped; the repr has all fields."""
    record = {"id": "r", "response": "It is steel. It is wood.", "contexts": ["It is steel."]}
    asked: Any = ([record], "grounding", "embedded")
    store, labels = tmp_path / "store.db", tmp_path / "labels.jsonl"
    run = evaluate(*asked, store=store)
    rows = [{"record": "r", "metric": "grounding", "unit": unit["id"], "label": "yes"} for unit in run["r"]["units"]]
    labels.write_text("\n".join(map(json.dumps, rows)))
    found = [
        (compare(run, run), "Comparison", "(the first, 1 record)"),
        (check(run, min={"grounding": 0.9}), "CheckResult", "| **failed** | grounding | mean at least 90% |"),
        (estimate(*asked, store=store), "Estimate", "Free: the judge runs on this machine."),
        (agree(run, labels), "Agreement", "grounding: Agreement with people: kappa"),
    ]
    for one, name, said in found:
        assert said in str(one)
        shown: list[str] = []
        one._repr_pretty_(SimpleNamespace(text=shown.append), False)
        assert shown == [str(one)]
        assert hasattr(one, "_repr_markdown_") == (name in ("Comparison", "CheckResult"))
        assert repr(one).startswith(f"{name}(")
    one_label = "grounding: kappa is 0 and has no interval because people used only one label."
    assert one_label in limits_said(agree(run, labels))


def test_a_run_that_did_not_end_is_shown(tmp_path: Path) -> None:
    """It has no bill and no causes yet, and says what it is."""
    with Store(tmp_path / "store.db") as store:
        step = {"judges": ["embedded"], "aggregate": "mean", "weights": {}}
        number = store.start_run("killed", {"default": step, "steps": {}, "chosen": ["grounding"], "judges": {}})
        run = find_run(store, number)
        assert "killed run 1 · 0 records · unfinished" in read(run._repr_html_()).text
        assert repr(run) == "<Run 1 'killed', unfinished, 0 records>"
