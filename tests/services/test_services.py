"""``pull`` and ``push``: traces come whole and the same each time, scores go to the right trace and only once.

The fake servers refuse what the published APIs do not describe; the same tests hold for the real ones, where a variable
names a Python that has them.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_servers import RealMLflow, RealPhoenix
from typer.testing import CliRunner

import ragstone
from fake_tools import ANSWER, PASSAGE, PROJECT, FakeLangfuse, FakeMLflow, FakePhoenix, began, question
from ragstone.api import validate
from ragstone.cli.app import app
from ragstone.errors import ConfigError, InputError, ServiceError
from ragstone.services import connection, service_named
from ragstone.testing import ScriptedJudge
from ragstone.types import ORIGIN, Record
from reading import records

FAKES = {"phoenix": FakePhoenix, "mlflow": FakeMLflow, "langfuse": FakeLangfuse}
REAL = {"real Phoenix": RealPhoenix, "real MLflow": RealMLflow}
COUNT = 7
EXPLAINED = '1 of 2 claims not found: "It was invented on Mars." (not found: Mars (support 0.14; nearest: passage 1))'


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the machine counts, and nobody waits."""
    for name in FAKES:
        for variable in (*service_named(name).keys, *service_named(name).addresses):
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(connection, "WAITS", (0.0, 0.0))


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three traces a page, and five spans: no page ends where a trace does."""
    for name in FAKES:
        monkeypatch.setattr(f"ragstone.services.{name}.TRACES", 3)
    monkeypatch.setattr("ragstone.services.phoenix.SPANS", 5)


@pytest.fixture(params=list(FAKES))
def tool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server of each tool, and its keys in the environment."""
    with REAL[request.param](tmp_path) if request.param in REAL else FAKES[request.param]() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


def of(*names: str) -> pytest.MarkDecorator:
    """Marks a test that is about some of the servers, or about real ones too."""
    return pytest.mark.parametrize("tool", names, indirect=True)


def pulled(tool: Any, name: str = "traces.jsonl", **more: Any) -> list[Record]:
    """The records of a pull."""
    told = ragstone.pull(tool.service, project=PROJECT, url=tool.url, out=name, **more)
    found = records(Path(name))
    assert len(found) == told.traces
    return found


def evaluated(tool: Any, metrics: str = "grounding", **more: Any) -> ragstone.Run:
    pulled(tool, **more)
    return ragstone.evaluate("traces.jsonl", metrics, store="s.db")


@of(*FAKES, *REAL)
def test_traces_come_whole_and_scores_go_back_once(tool: Any, small_pages: None) -> None:
    """All pages, the newest first, byte for byte the same again; scores at their traces, replaced and never doubled."""
    tool.seed(COUNT)
    records = pulled(tool)
    newest = [question(number) for number in reversed(range(COUNT))]
    assert [record.question for record in records] == newest
    assert {record.response for record in records} == {ANSWER}
    assert {tuple(passage.text for passage in record.passages) for record in records} == {(PASSAGE,)}
    assert [record.meta[ORIGIN]["trace"] for record in records] == [tool.trace(n) for n in reversed(range(COUNT))]
    first = Path("traces.jsonl").read_bytes()
    assert [record.question for record in pulled(tool, "few.jsonl", limit=4)] == newest[:4]
    assert first.startswith(Path("few.jsonl").read_bytes())
    since = began(2).isoformat()
    assert [record.question for record in pulled(tool, "late.jsonl", since=since)] == newest[: COUNT - 2]

    tool.add_other(0, "ragstone.grounding")
    other_bytes = (pulled(tool), Path("traces.jsonl").read_bytes())[1]
    run = evaluated(tool)
    expected = sorted((tool.trace(n), "ragstone.grounding", 0.5, "partly found", EXPLAINED) for n in range(COUNT))
    told = ragstone.push(run, tool.service, url=tool.url)
    assert (told.scores, told.sent, told.unchanged, told.missing) == (COUNT, COUNT, 0, ())
    assert tool.stored() == expected
    again = ragstone.push(run, tool.service, url=tool.url)
    assert again.sent == (0 if tool.service == "mlflow" else COUNT)
    assert tool.stored() == expected
    assert (pulled(tool), Path("traces.jsonl").read_bytes())[1] == other_bytes, "a push changes what is pulled"

    second = ragstone.evaluate("traces.jsonl", "grounding", store="s.db", name="second")
    assert ragstone.push(second, tool.service, url=tool.url).sent == COUNT
    assert tool.stored() == expected


@of(*FAKES, *REAL)
def test_two_records_of_one_trace_keep_their_own_scores(tool: Any) -> None:
    """Neither overwrites the other, and a second push changes nothing."""
    tool.seed(2)
    origin = {"format": service_named(tool.service).format, "trace": tool.trace(0), "parts": 2}
    rows = [
        {"question": "q", "response": response, "contexts": [PASSAGE], ORIGIN: {**origin, "span": f"{n:015x}a"}}
        for n, response in enumerate((ANSWER, PASSAGE))
    ]
    run = ragstone.evaluate(rows, "grounding", store="s.db")
    for again in (False, True):
        told = ragstone.push(run, tool.service, url=tool.url)
        assert sorted(value for _, _, value, *_ in tool.stored()) == [0.5, 1.0]
        assert (told.sent, told.unchanged) == ((0, 2) if again and tool.service == "mlflow" else (2, 0))


@of("phoenix", "real Phoenix")
def test_passages_are_annotated_where_phoenix_shows_them(tool: Any) -> None:
    """One annotation per passage of each metric that rates passages; the next push replaces it."""
    tool.seed(3)
    run = evaluated(tool, "context_relevance,grounding")
    value = next(iter(run.results()))["scores"][0]["verdicts"][0]["value"]
    for _ in range(2):
        assert ragstone.push(run, "phoenix", url=tool.url).sent == 6
        found = [(f"{n:015x}b", 0, "ragstone.context_relevance", value, "partly relevant") for n in range(3)]
        assert tool.stored_documents() == found


@of("phoenix")
def test_a_passage_that_phoenix_does_not_know_costs_no_other(tool: Any) -> None:
    tool.seed(3)
    run = evaluated(tool, "context_relevance")
    tool.seed(2)
    assert ragstone.push(run, "phoenix", url=tool.url).missing == (tool.trace(2),)
    assert len(tool.stored_documents()) == 2


def test_a_dry_run_prints_what_would_be_sent(tool: Any) -> None:
    """Nothing is asked; scores without a value are counted, never sent."""
    tool.seed(2)
    run = evaluated(tool, "grounding,nugget_recall")
    asked = len(tool.asked)
    told = CliRunner().invoke(
        app, ["push", str(run.id), tool.service, "--store", "s.db", "--dry-run", "--url", tool.url]
    )
    assert told.stdout.splitlines()[0] == f"{tool.trace(1)} ragstone.grounding 0.500 partly found | {EXPLAINED}"
    document = CliRunner().invoke(app, ["push", "last", tool.service, "--store", "s.db", "--dry-run", "--json"])
    sent = json.loads(document.stdout)["would_send"]
    assert {score["name"] for score in sent} >= {"ragstone.grounding"}
    some = ["push", "last", tool.service, "--store", "s.db", "--dry-run", "--json", "-m", "nugget_recall,grounding"]
    assert json.loads(CliRunner().invoke(app, some).stdout)["would_send"] == sent
    assert sent[0]["judged_by"] == "CODE"
    assert len(tool.asked) == asked
    assert ragstone.push(run, tool.service, metrics="grounding", url=tool.url).sent == 2
    with pytest.raises(InputError, match=r"no metric 'ground'; did you mean 'grounding'?"):
        ragstone.push(run, tool.service, metrics=["ground"], url=tool.url)


def test_only_records_of_the_tool_are_sent(tool: Any) -> None:
    """A run of another tool's traces, or of plain records, is refused."""
    row = {"question": "q", "response": "Tea is hot.", "contexts": ["Tea is hot."], "origin": "elsewhere"}
    run = ragstone.evaluate([row], "grounding", store="s.db")
    with pytest.raises(InputError, match="no record was read from a trace of"):
        ragstone.push(run, tool.service, url=tool.url)
    assert tool.asked == []


def test_traces_that_are_gone_are_counted(tool: Any) -> None:
    """Scores of other traces are sent all the same; Langfuse takes scores before their traces."""
    tool.seed(5)
    run = evaluated(tool)
    tool.seed(2)
    told = ragstone.push(run, tool.service, url=tool.url)
    gone = () if tool.service == "langfuse" else tuple(tool.trace(number) for number in (4, 3, 2))
    assert (set(told.missing), told.sent) == (set(gone), 5 - len(gone))


@of("phoenix")
def test_a_score_says_who_judged_and_what_lowers_it(tool: Any) -> None:
    """A language model, people, ours; a folder of results; what is unjudged is said, a bare share explained."""
    tool.seed(1)
    pulled(tool)
    labels = {"id": tool.trace(0), "relevant": ["doc_0_s0"], "utilized": [], "supported": False}
    support: dict[str, list[str]] = {"resp_s0": ["doc_0_s0"], "resp_s1": []}
    Path("labels.jsonl").write_text(json.dumps({**labels, "support": support}) + "\n", "utf-8")
    scripted = ScriptedJudge({"claims": ["Tea is hot.", "Mars.", "Sun."], "support": ["yes", "no", None]})

    def said(metric: str, judge: Any, **more: Any) -> dict[str, tuple[str, float, str, str]]:
        found: list[Any] = []
        run = ragstone.evaluate("traces.jsonl", metric, judge, store="s.db", out="out", **more)
        ragstone.push("out/" if more else run, "phoenix", url=tool.url, dry_run=True, show=found.append)
        return {one.name: (one.judged_by, one.value, one.label, one.explanation) for one in found}

    model = said("grounding", scripted)
    assert model["ragstone.grounding"] == (
        "LLM", 0.5, "partly supported", '1 of 3 claims not supported: "Mars."; 1 of 3 unjudged',
    )  # fmt: skip
    people = said("trace", "human:labels.jsonl", name="by people")
    assert people["ragstone.trace.adherence"][:3] == ("HUMAN", 0.0, "not fully supported")
    share = people["ragstone.trace.utilization"]
    assert (share[0], *share[2:]) == ("HUMAN", "", "used passage sentences divided by relevant ones, at most 100%")
    assert {judged_by for judged_by, *_ in said("context_relevance,trace", "embedded").values()} == {"CODE"}


# ---- what goes wrong


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ([(500, {}, {}), (429, {"Retry-After": "0"}, {})], ""),
        ([(503, {}, {"message": "down"})] * 3, "HTTP 503: down"),
        ([(429, {"Retry-After": "600"}, {"message": "slow down"})], "HTTP 429: slow down"),
        ([(302, {"Location": "http://127.0.0.1:9/"}, {})], "redirects elsewhere"),
        ([(200, {}, b"<html>A login page</html>")], "not a reply of its API"),
        ([(200, {}, {"unknown": 1})], "does not match its API"),
        ([(200, {}, [1])], "does not match its API"),
        ([(0, {}, b"")] * 9, "closed the connection"),
        ([(403, {}, {"detail": "no access"})], "HTTP 403: no access"),
    ],
)
def test_a_fault_is_one_clear_line(tool: Any, faults: list[Any], said: str) -> None:
    """What may pass is tried again; what does not names the server, and no file is left."""
    tool.seed(1)
    tool.faults = list(faults)
    words = ["pull", tool.service, "--project", PROJECT, "--url", tool.url, "-o", "t.jsonl"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == (3 if said else 0), told.output
    assert (said in told.output, Path("t.jsonl").exists()) == (True, not said)
    assert len(re.findall("(?m)^error: ", told.output)) == bool(said)


def test_a_key_stands_in_no_message(tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that repeats the header is quoted without it."""
    for name in tool.environment:
        monkeypatch.setenv(name, "another-secret")
    with pytest.raises(ServiceError, match=r"HTTP 401: Invalid credentials") as refused:
        ragstone.pull(tool.service, project=PROJECT, url=tool.url, out="t.jsonl")
    shown = str(refused.value) + refused.value.hint
    assert "another-secret" not in shown
    assert re.search(r"(Basic|Bearer) \[key\]", shown)
    assert next(iter(tool.environment)) in refused.value.hint


def test_wrong_names_and_addresses(tool: Any) -> None:
    """An unknown project, a server that is not there, times and addresses that are none."""
    name = tool.service
    with pytest.raises((ServiceError, ConfigError), match="nowhere"):
        ragstone.pull(name, project="nowhere", url=tool.url, out="t.jsonl")
    with pytest.raises(ServiceError, match=r"cannot reach http://127.0.0.1:9 \(") as refused:
        ragstone.pull(name, project=PROJECT, url="http://127.0.0.1:9", out="t.jsonl")
    assert service_named(name).addresses[0] in refused.value.hint
    for wrong in ({"since": "yesterday"}, {"since": "99999999w"}, {"limit": 0}, {"url": "ftp://x"}):
        with pytest.raises(ConfigError):
            ragstone.pull(name, **{"project": PROJECT, "url": tool.url, "out": "t.jsonl", **wrong})
    if name != "langfuse":
        with pytest.raises(ConfigError, match="needs a project; add --project"):
            ragstone.pull(name, url=tool.url, out="t.jsonl")


def test_langfuse_needs_both_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable that is missing is named before anything is sent."""
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-tea")
    with pytest.raises(ConfigError, match="set LANGFUSE_SECRET_KEY"):
        ragstone.pull("langfuse", url="http://127.0.0.1:9", out="t.jsonl")
    with pytest.raises(ConfigError, match="no service 'datadog'; expected one of phoenix, mlflow, langfuse"):
        ragstone.pull("datadog", out="t.jsonl")


@of("mlflow")
def test_a_lost_answer_makes_no_second_assessment(tool: Any) -> None:
    """MLflow gives each assessment a new id, so a creation that may have arrived is not repeated; the next push is."""
    tool.seed(1)
    run = evaluated(tool)
    tool.faults = [lambda answer: (200, {}, answer), lambda _: (0, {}, b"")]
    with pytest.raises(ServiceError, match="closed the connection"):
        ragstone.push(run, "mlflow", url=tool.url)
    assert len(tool.stored()) == 1
    assert ragstone.push(run, "mlflow", url=tool.url).unchanged == 1
    assert len(tool.stored()) == 1


@of("mlflow")
def test_spans_of_mlflow_in_files_and_of_running_traces(tool: Any) -> None:
    """Spans that older clients left in files are read too; a trace without spans is counted, and said by the reader."""
    tool.seed(4)
    tool.filed, tool.running = {1}, {3}
    told = ragstone.pull("mlflow", project=PROJECT, url=tool.url, out="t.jsonl")
    assert (told.traces, told.rows, told.without_spans) == (4, 4, 1)
    tool.running = {0, 2, 3}
    assert ragstone.pull("mlflow", project=PROJECT, url=tool.url, out="none.jsonl").without_spans == 3
    found, _ = validate("t.jsonl", on_error="skip")
    assert found.recognised == ("MLflow traces: 4 traces, 3 records; skipped: 1 without a retriever span",)


@of("phoenix")
def test_silence_ends(tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that says nothing is given up."""
    monkeypatch.setattr(connection, "PATIENCE", 0.05)
    stalled = threading.Event()
    tool.faults = [lambda _: (stalled.wait(5), (0, {}, b""))[1]] * 3
    with pytest.raises(ServiceError, match=r"no reply from http.* within 0\.05 s"):
        ragstone.pull("phoenix", project=PROJECT, url=tool.url, out="t.jsonl")
    stalled.set()


def test_pages_stream_to_standard_output(tool: Any) -> None:
    """Without -o the lines go to the next command."""
    tool.seed(1)
    told = CliRunner().invoke(app, ["pull", tool.service, "--project", PROJECT, "--url", tool.url])
    assert all(isinstance(json.loads(line), dict) for line in told.stdout.splitlines())
    assert "pulled: 1 trace" in told.stderr
