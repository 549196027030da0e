"""The configuration: defaults, the file, flags, the environment, and what is refused before a record is read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ragstone import config, evaluate, settings
from ragstone.api import plan
from ragstone.api.plan import choose
from ragstone.config import resolve
from ragstone.errors import ConfigError, InputError
from ragstone.judges.base import Limited
from ragstone.judges.catalogue import build
from ragstone.metrics import catalogue
from ragstone.options import RunOptions, assignments
from said import refusal, spec

pytestmark = pytest.mark.usefixtures("alone")

EVERYTHING = {"question": 9, "response": 9, "contexts": 9, "reference": 9, "nuggets": 9, "relevant": 9}


# ---- defaults and precedence


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded judge, auto, the store beside the work; a key in the environment alone spends no money."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    found = spec()
    assert (found.metrics, found.default.judges, found.default.aggregate) == (("auto",), ("embedded",), "mean")
    assert (found.on_error, found.store, found.steps) == ("stop", Path(".ragstone/ragstone.db"), {})
    assert list(found.judges) == ["embedded"]
    assert (found.engine.tries, found.engine.deadline) == (6, 300.0)
    assert found.parameters == {}


def test_the_file_beats_the_defaults_and_flags_the_file() -> None:
    text = """
        [run]
        metrics = ["grounding"]
        judge = "openai:gpt-x"
        on_error = "skip"
        store = "here.db"
        [fields]
        response = "answer.text"
        question = "q"
        """
    found = spec(text)
    assert (found.metrics, found.default.judges, found.on_error) == (("grounding",), ("openai:gpt-x",), "skip")
    assert (found.store, found.fields) == (Path("here.db"), {"response": "answer.text", "question": "q"})
    found = spec(
        text, metrics=["triad"], judge=["embedded"], on_error="stop", store="there.db", fields={"response": "b"}
    )
    assert (found.metrics, found.default.judges, found.on_error) == (("triad",), ("embedded",), "stop")
    assert (found.store, found.fields) == (Path("there.db"), {"response": "b", "question": "q"})


def test_the_mapping_of_the_file_is_for_files(tmp_path: Path) -> None:
    """Records from Python have the fields' own names; a mapping that is given with them counts."""
    Path("ragstone.toml").write_text('[fields]\nresponse = "answer"\n')
    record = {"id": "r1", "response": "Steel.", "contexts": ["It is steel."]}
    for source in ([record], iter([record])):
        assert evaluate(source, "grounding", store=tmp_path / "s.db")["r1"]["response"] == "Steel."
    (tmp_path / "a.jsonl").write_text('{"id": "r1", "answer": "Steel.", "contexts": ["It is steel."]}\n')
    assert evaluate(tmp_path / "a.jsonl", "grounding", store=tmp_path / "s.db")["r1"]["response"] == "Steel."
    mapped = [{"id": "r1", "said": "Steel.", "contexts": ["It is steel."]}]
    run = evaluate(mapped, "grounding", fields={"response": "said"}, store=tmp_path / "s.db")
    assert run["r1"]["response"] == "Steel."


def test_a_mapping_of_the_file_is_named_as_such(tmp_path: Path) -> None:
    """A field that no record has is refused where it is written; what is typed counts."""
    Path("ragstone.toml").write_text('[fields]\ncontexts = "found"\n[run]\nrecords = "data"\nfrom = "records"\n')
    row = {"id": "r1", "response": "Steel.", "found": ["It is steel."]}
    Path("a.json").write_text(json.dumps({"data": [row]}))
    assert evaluate("a.json", "grounding", store=tmp_path / "s.db").spec["fields"] == {"contexts": "found"}
    Path("b.json").write_text(json.dumps({"data": [{"id": "r1", "response": "Steel.", "hits": ["It is steel."]}]}))
    one = 'ragstone.toml: [fields] contexts = "found"'
    several = 'ragstone.toml: [fields] id = "trace", contexts = "found"'
    elsewhere = (
        "ragstone.toml applies to every input; if its mapping is for another file, use another folder or --config FILE"
    )
    for written, typed, message, hint in (
        ("", None, f"{one}: not found in any record; available: id, response, hits", elsewhere),
        ("", {"contexts": "hit"}, "--field contexts=hit: not found in any record; did you mean 'hits'?", ""),
        ('id = "trace"\n', None, f"{several}: not found in any record; available: id, response, hits", elsewhere),
    ):
        Path("ragstone.toml").write_text(f'[fields]\n{written}contexts = "found"\n[run]\nrecords = "data"\n')
        with pytest.raises(ConfigError) as caught:
            evaluate("b.json", "grounding", fields=typed, store=tmp_path / "s.db")
        assert (str(caught.value), caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("setting", "given", "option", "said"),
    [
        ('[fields]\nresponses = "a"', {"fields": {"responses": "a"}}, "--field responses=...", ": no such field; did"),
        ('[fields]\nresponse = " "', {"fields": {"response": " "}}, "--field response=...", ": expected a path"),
        ('[run]\nfrom = "langfuze"', {"input_format": "langfuze"}, "--from langfuze", ": no such format; did you mean"),
        ('[run]\nrecords = "rows"', {"records_path": "rows[]"}, "--records rows", ": nothing found there; expected"),
    ],
    ids=["field", "path", "format", "records"],
)
def test_a_bad_mapping_or_format_is_named_where_it_is_set(
    setting: str, given: dict[str, Any], option: str, said: str
) -> None:
    """In the configuration file, or as the option of the command line."""
    Path("a.json").write_text('{"data": []}')
    with pytest.raises(InputError) as caught:
        evaluate("a.json", "grounding", store=None, **given)
    assert option + said in str(caught.value)
    Path("ragstone.toml").write_text(setting)
    table, _, name = setting.partition("\n")
    of_file = f"ragstone.toml: {table} {name.partition(' ')[0]} = "
    with pytest.raises(InputError, match=re.escape(of_file)) as caught:
        evaluate("a.json", "grounding", store=None)
    assert said in str(caught.value)


def test_the_store_of_the_environment_is_between_flag_and_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGSTONE_STORE", "env.db")
    assert spec('[run]\nstore = "file.db"').store == Path("env.db")
    assert spec(store="flag.db").store == Path("flag.db")


def test_the_file_of_the_environment_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """RAGSTONE_CONFIG names it; a flag names another; the one in the folder is then not read."""
    Path("ragstone.toml").write_text('[run]\nstore = "folder.db"')
    Path("other.toml").write_text('[run]\nstore = "other.db"')
    Path("third.toml").write_text('[run]\nstore = "third.db"')
    monkeypatch.setenv("RAGSTONE_CONFIG", str(tmp_path / "other.toml"))
    assert resolve(RunOptions()).store == tmp_path / "other.db"
    assert resolve(RunOptions(config="third.toml")).store == Path("third.db")


def test_paths_in_the_file_are_relative_to_its_folder(tmp_path: Path) -> None:
    """Those of options, judges, packs, prompts and a baseline; absolute ones, names and styles stay as they are."""
    Path("ci").mkdir()
    text = f"""
        [run]
        judge = ["human:people.jsonl", "support=[human:a.jsonl, embedded]"]
        store = "runs.db"
        nuggets = "{tmp_path}/bank.jsonl"
        [steps]
        assign = ["embedded", "replay:calls.jsonl"]
        [prompts]
        pack = "pack.toml"
        support = "mine.md"
        assign = "short_cot"
        [judges.m.prompts]
        claims = "../claims.md"
        [judges.m]
        model = "m"
        [check]
        baseline = "main"
        """
    Path("ci/ragstone.toml").write_text(text, encoding="utf-8")
    found = settings.read(Path("ci/ragstone.toml"))
    assert found["run"] == {
        "judge": ["human:ci/people.jsonl", "support=[human:ci/a.jsonl, embedded]"],
        "store": "ci/runs.db",
        "nuggets": f"{tmp_path}/bank.jsonl",
    }
    assert found["steps"] == {"assign": ["embedded", "replay:ci/calls.jsonl"]}
    assert found["prompts"] == {"pack": "ci/pack.toml", "support": "ci/mine.md", "assign": "short_cot"}
    assert found["judges"]["m"]["prompts"] == {"claims": "ci/../claims.md"}
    assert found["check"] == {"baseline": "main"}


def test_a_file_that_was_named_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(config="gone.toml") == "gone.toml: no such file"
    monkeypatch.setenv("RAGSTONE_CONFIG", "gone.toml")
    assert refusal() == "gone.toml: no such file"


def test_metrics_may_be_written_in_one_text() -> None:
    assert spec(metrics=["grounding,claim_relevance", "triad"]).metrics == ("grounding", "claim_relevance", "triad")
    assert spec('[run]\nmetrics = "grounding, triad"').metrics == ("grounding", "triad")


# ---- the file's errors


def test_a_syntax_error_is_told_with_its_line() -> None:
    message = refusal('[run]\njudge = "embedded"\nstore = \n')
    assert message.startswith("ragstone.toml: invalid TOML: ")
    assert "line 3" in message
    Path("ragstone.toml").write_bytes(b'[run]\njudge = "\xff"')
    assert refusal().startswith("ragstone.toml: invalid TOML: ")


def test_another_tools_file_is_told_by_its_name() -> None:
    Path("pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert refusal(config="pyproject.toml") == (
        "pyproject.toml: contains no Ragstone settings; write a ragstone.toml with: ragstone init"
    )


def test_how_long_a_call_is_tried_is_set_in_the_file() -> None:
    """A deadline that is set holds; else it is no less than a judge's own timeout."""
    slow = "[judges.a]\nmodel = 'm'\nbase_url = 'http://127.0.0.1:9/v1'\ntimeout = 900\n"
    usual, own = (
        spec(slow, judge=["a"]).engine,
        spec(f"{slow}[engine]\ndeadline = 30\ntries = 2\n", judge=["a"]).engine,
    )
    assert (usual.deadline, usual.tries) == (900, config.ENGINE.tries)
    assert (own.deadline, own.tries) == (30, 2)
    assert refusal("[engine]\ntries = 0").startswith("ragstone.toml: engine.tries = 0: ")
    assert "did you mean 'deadline'?" in refusal("[engine]\ndeadlin = 1")


def test_a_byte_order_mark_is_no_error() -> None:
    """Some editors write one before the text."""
    Path("ragstone.toml").write_bytes('\ufeff[run]\nstore = "x.db"'.encode())
    assert spec().store == Path("x.db")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nmetric = 'auto'", "no setting 'run.metric'; did you mean 'metrics'?"),
        ("[runs]\nmetrics = 'auto'", "no setting 'runs'; did you mean 'run'?"),
        ("[judges.a]\nmodl = 'm'\nmodel = 'm'", "no setting 'judges.a.modl'; did you mean 'model'?"),
        ("[panel]\naggregates = 'mean'", "no setting 'panel.aggregates'; did you mean 'aggregate'?"),
        ("[run]\nmax_dollars = 1", "no setting 'run.max_dollars'; did you mean 'max_calls' or 'max_cost'?"),
        ("[run]\nzzz = 1", "no setting 'run.zzz'; known: "),
        ("[steps]\nclaim = 'openai:a'", "no step 'claim'; "),
        ("[prompts]\nsuport = 'short_cot'", "no setting 'prompts.suport'; did you mean 'support'?"),
        ("[judges.a]\nmodel = 'm'\nstructured = true", "no setting 'judges.a.structured'"),
        (
            "[judges.a]\nmodel = 'm'\nprompts = {formt = 'csv'}",
            "no setting 'judges.a.prompts.formt'; did you mean 'format'?",
        ),
        ("[judges.a]\nmodel = 'm'\nprice = {in = 1, input = 1, output = 1}", "no setting 'judges.a.price.in'"),
    ],
)
def test_an_unknown_key_is_refused_with_the_closest(text: str, message: str) -> None:
    assert refusal(text).startswith(f"ragstone.toml: {message}")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[run]\nmetrics = 3", ["run.metrics = 3: expected a list or a string"]),
        ("[run]\nstore = 3", ["run.store = 3"]),
        ("[run]\non_error = 'ignore'", ["run.on_error = 'ignore'", "'stop' or 'skip'"]),
        ("[run]\non_empty = 'half'", ["run.on_empty = 'half'"]),
        ("[run]\nmax_cost = -1", ["run.max_cost = -1: expected a number of at least 0"]),
        ("[run]\nmax_cost = nan", ["run.max_cost"]),
        ("[run]\nmax_calls = 1.5", ["run.max_calls = 1.5: expected a whole number"]),
        ("[run]\nmax_tokens = 'many'", ["run.max_tokens = 'many'"]),
        ("run = 3", ["run = 3: expected a table"]),
        ("[judges.a]\nmodel = 3", ["judges.a.model = 3"]),
        ("[judges.a]\nmodel = ''", ["judges.a.model = ''"]),
        ("[judges.a]\nprovider = 'openai'", ["judges.a.model is missing"]),
        ("[judges.a]\nmodel = 'm'\nconcurrency = 0", ["judges.a.concurrency = 0"]),
        ("[judges.a]\nmodel = 'm'\nconcurrency = '8'", ["judges.a.concurrency = '8'"]),
        ("[judges.a]\nmodel = 'm'\nconcurrency = 2.5", ["judges.a.concurrency = 2.5"]),
        ("[judges.a]\nmodel = 'm'\ntimeout = 0", ["judges.a.timeout"]),
        ("[judges.a]\nmodel = 'm'\ntimeout = inf", ["judges.a.timeout"]),
        (
            "[judges.a]\nmodel = 'm'\ntemperature = 3.5",
            ["judges.a.temperature = 3.5: expected a number of at most 2 or 'default'"],
        ),
        ("[judges.a]\nmodel = 'm'\ntemperature = nan", ["judges.a.temperature"]),
        ("[judges.a]\nmodel = 'm'\nmax_tokens = 1", ["judges.a.max_tokens"]),
        ("[judges.a.prompts]\nstructured = true\n[judges.a]\nmodel = 'm'", ["judges.a.prompts.structured = True"]),
        ("[prompts]\nstructured = false", ["prompts.structured = False"]),
        ("[prompts]\ncase_sensitive = 'yes'", ["prompts.case_sensitive = 'yes'"]),
        ("[prompts]\nsupport = ['short_cot']", ["prompts.support = ['short_cot']"]),
        ("prompts = 'short_cot'", ["prompts = 'short_cot'"]),
        ("[judges.a]\nmodel = 'm'\nprice = {input = -1, output = 1}", ["judges.a.price.input"]),
        ("[judges.a]\nmodel = 'm'\nprice = {input = 1}", ["judges.a.price.output is missing"]),
        ("[panel.weights]\nembedded = 'much'", ["panel.weights.embedded"]),
        ("[panel.weights]\nembedded = -1", ["panel.weights.embedded"]),
        ("[panel.weights]\nembedded = 0", ["panel.weights.embedded"]),
        ("[panel.weights]\nembedded = nan", ["panel.weights.embedded"]),
        ("[fields]\nresponse = ['a', 3]", ["fields.response = ['a', 3]: expected a string or a list of strings"]),
        ("[rubric]\na = 3", ["rubric.a = 3: expected a table"]),
        ("[run]\non_error = 'no'", ["run.on_error = 'no': expected 'stop' or 'skip'"]),
        ("[prompts]\npack = true", ["prompts.pack = True: expected a string"]),
        ("[check]\ncorrected = 1", ["check.corrected = 1: expected true or false"]),
        ("[fields]\nresponse = 3", ["fields.response = 3: expected a string or a list"]),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_name(text: str, names: list[str]) -> None:
    """In one line, with the file's name, the setting's and what is there."""
    message = refusal(text)
    assert message.startswith("ragstone.toml: ")
    assert "\n" not in message
    assert all(name in message for name in names), message
    assert "should be" not in message
    assert "instance of" not in message


def test_no_message_repeats_a_key() -> None:
    """A key that stands where it should not is not shown: in its own setting, nor beside one that is missing."""
    key = "sk-1234567890abcdef"
    for text in (
        f"[judges.a]\nmodel = 'm'\nbase_url = 'http://h/v1'\napi_key = '{key}'",
        f"[judges.a]\nbase_url = 'http://h/v1'\napi_key = '{key}'",
        f"[judges.a]\nmodel = 'm'\nbase_url = 'http://h/v1'\napi_key_env = '{key}'",
        f"[judges.a]\nmodel = 'm'\nbase_url = 'http://h/v1'\napi_key_env = ['{key}']",
        f"[judges]\napi_key = '{key}'",
        f"[judges]\nmine = '{key}'",
        f"judges = '{key}'",
    ):
        message = refusal(text, judge=["a"])
        assert key not in message
        assert any(word in message for word in ("api_key", "model", "judges"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_empty": "half"}, "on_empty 'half'; expected null, zero or one"),
        ({"on_error": "ignore"}, "on_error 'ignore'; expected stop or skip"),
        ({"aggregate": "mode"}, "aggregate (--panel) 'mode'; expected mean, median, majority, min or max"),
        ({"concurrency": 0}, "concurrency 0; expected a whole number of at least 1"),
        ({"rpm": -1}, "rpm -1; expected a whole number of at least 0"),
        ({"max_calls": 1.5}, "max_calls 1.5; expected a whole number of at least 0"),
        ({"max_cost": float("nan")}, "max_cost nan; expected a number of at least 0"),
        ({"max_cost": True}, "max_cost True; expected a number of at least 0"),
        *(({"cascade_error": odd}, f"cascade_error {shown}; expected a number above 0 and below 0.5")
          for odd, shown in ((0.0, "0"), (0.5000001, "0.5000001"), (2.0, "2"), (float("nan"), "nan"),
                             ("0.1", "'0.1'"))),
        ({"max_calls": 2.0}, "max_calls 2.0; expected a whole number of at least 0"),
        ({"repeat": 0}, "repeat 0; expected a whole number from 1 to 100"),
        ({"repeat": 101}, "repeat 101; expected a whole number from 1 to 100"),
        ({"metrics": 5}, "metrics 5; expected one or more names"),
        ({"metrics": [None]}, "metrics [None]; expected one or more names"),
        ({"judge": 7}, "judge 7; expected a judge name, or a judge object with a name"),
        ({"fields": ["question"]}, "fields (--field) ['question']; expected a dict by name"),
        ({"parameters": {"m": 3}}, "parameters (--set) {'m': 3}; expected a dict by name"),
        ({"store": 5}, "store 5; expected text or a path"),
        *(({"name": name}, f"a run cannot be named '{name.strip()}': numbers select runs; try build-{name.strip()}")
          for name in ("3", "007", " 3")),
    ],
)  # fmt: skip
def test_a_value_that_an_option_does_not_take_is_refused(options: dict[str, Any], message: str) -> None:
    assert refusal(**options) == message


# ---- judges


TABLE = """
[judges.mine]
model = "qwen"
base_url = "http://127.0.0.1:9/v1"
api_key_env = "MY_KEY"
concurrency = 8
timeout = 30
temperature = 0.2
max_tokens = 100
seed = 7
extra_body = {reasoning_effort = "low"}
price = {input = 1, output = 2.5}
prompts = {structured = "off"}
"""


def test_a_table_makes_a_judge() -> None:
    """Every setting of the table arrives; the seed goes into the request."""
    judge = spec(TABLE, judge=["mine"]).judges["mine"]
    assert (judge.name, judge.model, judge.base_url, judge.api_key_env) == (
        "mine", "qwen", "http://127.0.0.1:9/v1", "MY_KEY",
    )  # fmt: skip
    assert (judge.concurrency, judge.timeout, judge.temperature, judge.max_tokens) == (8, 30.0, 0.2, 100)
    assert (judge.structured, judge.price) == ("off", (1.0, 2.5))
    assert dict(judge.extra) == {"reasoning_effort": "low", "seed": 7}
    assert judge.id == "mine/qwen@http://127.0.0.1:9/v1"
    assert list(spec(TABLE).judges) == ["embedded"], "only the judges that are used are built"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[judges.a]\nmodel = 'm'", "judges.a: no address; set base_url or provider"),
        (
            "[judges.a]\nmodel = 'm'\nprovider = 'vllm'\nextra_body = { api_key = 'x' }",
            "judges.a.extra_body.api_key: looks like an API key, and requests are stored",
        ),
        ("[judges.a]\nmodel = 'm'\nprovider = 'opnai'", "judges.a: no provider 'opnai'; known: "),
        ("[judges.a]\nmodel = 'm'\nbase_url = 'ftp://x'", "judges.a.base_url: 'ftp://x' is not an address"),
        *((f"[judges.{name}]\nmodel = 'm'\nbase_url = 'http://127.0.0.1:9/v1'",
           f"judges.{name}: '{name}' is a built-in judge; give the table another name")
          for name in ("embedded", "nli")),
    ],
)  # fmt: skip
def test_a_table_must_say_where(text: str, message: str) -> None:
    """Also a table with the name of a built-in judge, which would silently take its place."""
    names = re.search(r"judges\.(\w+)", text)
    assert names
    assert message in refusal(text, judge=[names[1]])


def test_an_unknown_judge_is_refused_with_the_closest() -> None:
    assert refusal(TABLE, judge=["minne"]) == "no judge 'minne'; did you mean 'mine'?"
    assert refusal(TABLE, judge=["zzz"]) == "no judge 'zzz'; known: [judges.mine]"
    assert refusal(TABLE, judge=["openai"]) == "judge 'openai' has no model; write openai:MODEL"
    Path("ragstone.toml").unlink()
    assert "no judge 'opnai:gpt'; did you mean 'openai'?" in refusal(judge=["opnai:gpt"])


def test_what_runs_at_home_costs_nothing() -> None:
    """A local preset has the price 0 unless the user gave one; a provider's price is looked up later."""
    assert spec(judge=["ollama:qwen"]).judges["ollama:qwen"].price == (0.0, 0.0)
    assert spec(judge=["openai:gpt"]).judges["openai:gpt"].price is None
    own = "[judges.a]\nmodel = 'm'\nprovider = 'vllm'\nprice = {input = 3, output = 4}"
    assert spec(own, judge=["a"]).judges["a"].price == (3.0, 4.0)


def test_limits_are_set_for_all_judges_and_0_is_none() -> None:
    found = spec(TABLE, judge=["mine", "claims=openai:gpt"], rpm=60, tpm=0, concurrency=3)
    assert {(judge.rpm, judge.tpm, judge.concurrency) for judge in found.judges.values()} == {(60, 0, 3)}


def test_limits_of_a_table_reach_the_backend() -> None:
    found = spec("[judges.mine]\nmodel = 'm'\nbase_url = 'http://127.0.0.1:1/v1'\nrpm = 7\ntpm = 900", judge=["mine"])
    backend = build(found.judges["mine"]).backend
    assert isinstance(backend, Limited)
    assert (backend.limits.rpm, backend.limits.tpm) == (7, 900)


def test_steps_go_to_their_own_judges() -> None:
    """From flags and from the file alike; a flag for a step beats the file's, and one for all beats all of them."""
    own = '[steps]\nclaims = "openai:a"\nsupport = ["openai:b", "openai:c"]'
    assert set(spec(own, judge=["embedded"]).judges) == {"embedded"}
    assert set(spec(own, judge=["embedded", "claims=openai:d"]).judges) == {"embedded", "openai:d"}
    found = spec(own, judge=["claims=openai:d"])
    assert found.default.judges == ("embedded",)
    assert found.steps["claims"].judges == ("openai:d",)
    assert found.steps["support"].judges == ("openai:b", "openai:c")
    assert set(found.judges) == {"embedded", "openai:b", "openai:c", "openai:d"}


@pytest.mark.parametrize(
    "text", ["[openai:a,openai:b]", "[openai:a, openai:b]", "['openai:a', \"openai:b\"]", "openai:a,openai:b"]
)
def test_a_list_in_the_place_of_a_name_is_a_panel(text: str) -> None:
    assert spec(judge=[text]).default.judges == ("openai:a", "openai:b")
    assert spec(judge=[f"support={text}"]).steps["support"].judges == ("openai:a", "openai:b")


def test_two_judges_for_everything_are_no_panel_by_accident() -> None:
    """Named side by side one of them would be forgotten: it is refused, and the panel's form is shown."""
    message = refusal(judge=["openai:a", "openai:b"])
    assert "[openai:a,openai:b]" in message
    assert "[openai:a,openai:b]" in refusal('[run]\njudge = ["openai:a", "openai:b"]')


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("claim=openai:a", "no step 'claim'; steps are claims, nuggetize, importance, support, assign, "),
        ("[openai:a,openai:a]", "names the same judge twice"),
        ("[]", "names no judge"), ("support=[]", "names no judge"), ("", "names no judge"),
        ("[openai:a", "judge '[openai:a': expected a panel in brackets, as in [A,B]"),
        ("support=[openai:a,openai:b", "expected a panel in brackets, as in [A,B]"),
        ("openai:a,openai:b]", "expected a panel in brackets, as in [A,B]"),
    ],
)  # fmt: skip
def test_judges_that_cannot_be_meant_are_refused(judge: str, message: str) -> None:
    found = refusal(judge=[judge])
    assert message in found
    assert "ragstone.toml" not in found


def test_panels_have_one_aggregate_and_weights() -> None:
    text = '[panel]\naggregate = "min"\n[panel.weights]\n"openai:a" = 2'
    found = spec(text, judge=["[openai:a,openai:b]"])
    assert (found.default.aggregate, dict(found.default.weights)) == ("min", {"openai:a": 2.0})
    assert spec(text, judge=["[openai:a,openai:b]"], aggregate="max").default.aggregate == "max"
    own = spec(f'[run]\njudge = "[openai:a,openai:b]"\n{text}', judge=["[openai:b,openai:c]"])
    assert (own.default.judges, dict(own.default.weights)) == (("openai:b", "openai:c"), {})
    assert refusal(text, judge=["openai:b"]) == (
        "ragstone.toml: [panel] weights: 'openai:a' is not a judge in this run"
    )


def test_the_panel_of_response_groundedness_is_its_step() -> None:
    """Its parameter ``judges`` routes its step, and its ``aggregate`` is that step's alone."""
    found = spec(parameters={"response_groundedness": {"judges": ["openai:a", "openai:b"], "aggregate": "min"}})
    assert found.steps["response_support"].judges == ("openai:a", "openai:b")
    assert found.steps["response_support"].aggregate == "min"
    assert found.default.aggregate == "mean"
    by_flag = spec(judge=["[embedded,ollama:a]"], parameters={"response_groundedness": {"aggregate": "min"}})
    assert (by_flag.steps["response_support"].aggregate, by_flag.default.aggregate) == ("min", "mean")
    own = "[metrics.response_groundedness]\njudges = ['embedded']\n"
    assert spec(own, judge=["response_support=ollama:a"]).steps["response_support"].judges == ("ollama:a",)
    assert spec(own, judge=["ollama:a"]).steps == {}
    twice = {"response_groundedness": {"judges": ("embedded", "embedded")}}
    assert "names the same judge twice" in refusal(parameters=twice)


# ---- metrics and their parameters


def test_parameters_of_file_and_flags_are_merged() -> None:
    """A flag's parameter beats the file's; another block name of a metric is the metric."""
    found = spec(
        '[metrics.grounding]\nthreshold = 0.7\nscoring_mode = "likert"\n[metrics.relevance]\nmax_claims = 4',
        parameters={"grounding": {"threshold": 0.8}},
    )
    assert found.parameters == {
        "grounding": {"threshold": 0.8, "scoring_mode": "likert"}, "claim_relevance": {"max_claims": 4},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[metrics.groundin]\nthreshold = 1", "no metric 'groundin'; did you mean 'grounding'?"),
        ("[metrics.grounding]\ntreshold = 1", "ragstone.toml: grounding: no parameter 'treshold'"),
        ("[metrics.grounding]\nthreshold = 2", "ragstone.toml: grounding.threshold: invalid value 2"),
        ("[metrics.grounding]\nthreshold = 2024-01-01", "ragstone.toml: grounding.threshold: "),
    ],
)
def test_parameters_are_checked_by_name(text: str, message: str) -> None:
    assert message in refusal(text)


def test_metrics_are_checked_by_name() -> None:
    assert "did you mean 'grounding'?" in refusal(metrics=["groundign"])
    assert refusal(metrics=[]) == "no metrics named; give names, suites, or 'auto'"
    assert refusal(metrics=["  , "]) == "no metrics named; give names, suites, or 'auto'"


@pytest.mark.parametrize("how", ["flag", "file"])
def test_on_empty_holds_for_all_metrics(how: str) -> None:
    """A metric's own setting beats the file's general one, and a flag beats both."""
    own = '[metrics.grounding]\non_empty = "one"\n'
    text, flags = (own, {"on_empty": "zero"}) if how == "flag" else (f'[run]\non_empty = "zero"\n{own}', {})
    chosen, _ = choose(spec(text, metrics=["all"], **flags), EVERYTHING)
    assert {metric.name: metric.on_empty for metric in chosen} == {
        name: "one" if name == "grounding" and how == "file" else "zero"
        for name in catalogue()
        if name not in ("refalign", "rubric")  # no suite loads a model; there are no criteria
    }


def test_the_short_name_of_a_metric_is_the_metric() -> None:
    """``relevance`` takes the parameters and the policy of claim_relevance, and runs once beside it."""
    given: dict[str, Any] = {"parameters": {"relevance": {"threshold": 0.9}}, "on_empty": "zero"}
    (metric,) = choose(spec(metrics=["relevance", "claim_relevance"], **given), EVERYTHING)[0]
    assert (metric.name, metric.threshold, metric.on_empty) == ("claim_relevance", 0.9, "zero")


# ---- the choice of metrics


def names(text: str = "", present: Any = None, **flags: Any) -> tuple[list[str], dict[str, str]]:
    chosen, left_out = choose(spec(text, **flags), EVERYTHING if present is None else present)
    return [metric.name for metric in chosen], left_out


def test_auto_takes_what_the_records_have() -> None:
    """Metrics whose fields no record has are left out with the reason."""
    chosen, left_out = names()
    assert chosen == [
        name
        for name in sorted(catalogue())
        if catalogue()[name].calls <= plan.AUTO_CALLS and name not in ("refalign", "rubric")
    ]
    assert set(left_out) == set(catalogue()) - {*chosen, "rubric"}, "without criteria nothing is said of it"
    chosen, left_out = names(present={"question": 3, "response": 3, "contexts": 0})
    assert chosen == ["answer_relevance", "claim_relevance"]
    assert left_out["grounding"] == "no record has contexts"
    assert set(chosen) | set(left_out) == set(catalogue()) - {"rubric"}
    assert "grounding" in names(present={"response": 100, "contexts": 1})[0], "one record is enough"


def test_an_empty_table_of_a_metric_says_nothing() -> None:
    """Such as those of the file that ``ragstone init`` writes, which changes nothing; one with parameters is told."""
    assert names(metrics=["grounding"], on_empty="zero") == (["grounding"], {}), "nor does a policy for all"
    assert names("[metrics.trace]", metrics=["grounding"]) == (["grounding"], {})
    left_out = names("[metrics.trace]\nnormaliser = 4", metrics=["grounding"])[1]
    assert left_out == {"trace": "has parameters, but is not a metric in this run"}


def test_auto_leaves_out_what_is_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric of more calls a record than the limit is left out, unless it is named."""
    left_out = names()[1]
    assert (
        left_out["nugget_groundedness"]
        == "about 4 calls per record; metrics with more than 2 do not run by default; to include it, "
        "add its name: -m auto,nugget_groundedness"
    )
    monkeypatch.setattr(plan, "AUTO_CALLS", 1)
    chosen, left_out = names()
    assert "grounding" not in chosen
    assert (
        left_out["grounding"]
        == "about 2 calls per record; metrics with more than 1 do not run by default; to include it, "
        "add its name: -m auto,grounding"
    )
    assert names(metrics=["grounding"])[0] == ["grounding"]


def test_auto_leaves_out_what_few_records_bring() -> None:
    """A reference of one record does not put a metric with gaps on every screen; of half of them it does."""
    present = {"question": 22, "response": 22, "contexts": 22, "reference": 10}
    assert (
        names(present=present)[1]["refmatch"]
        == "only 10 of 22 records have a reference; to include it, add its name: -m auto,refmatch"
    )
    assert "refmatch" in names(present={**present, "reference": 11})[0]


def test_auto_leaves_out_what_no_judge_can_answer() -> None:
    chosen, left_out = choose(spec(), EVERYTHING, unable=lambda metric: "no" if metric.name == "grounding" else "")
    assert "grounding" not in {metric.name for metric in chosen}
    assert left_out["grounding"] == "no"


def test_a_metric_by_name_must_have_its_fields() -> None:
    """The error names what is absent and the flag that helps."""
    with pytest.raises(ConfigError) as caught:
        names(present={"response": 3}, metrics=["grounding"])
    assert str(caught.value) == (
        "grounding needs response and contexts; no record has contexts; specify the column with --field contexts=COLUMN"
    )


def test_a_suite_leaves_out_what_has_no_fields() -> None:
    chosen, left_out = names(present={"question": 1, "response": 1}, metrics=["triad"])
    assert chosen == ["answer_relevance"]
    assert set(left_out) == {"context_relevance", "groundedness"}
    assert names(metrics=["triad", "groundedness"])[0].count("groundedness") == 1
    with pytest.raises(ConfigError, match="groundedness needs"):
        names(present={"question": 1, "response": 1}, metrics=["triad", "groundedness"])


# ---- small things


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        (["grounding.threshold=0.7"], {"grounding": {"threshold": 0.7}}),
        (["grounding.max_claims=3", "grounding.enabled=false"], {"grounding": {"max_claims": 3, "enabled": False}}),
        (["a.b=likert"], {"a": {"b": "likert"}}), (['a.b="3"'], {"a": {"b": "3"}}), (["a.b="], {"a": {"b": ""}}),
        (["a.b=[1, 2]", "c.d=x=y"], {"a": {"b": [1, 2]}, "c": {"d": "x=y"}}), ([" a.b = 1 "], {"a": {"b": 1}}),
        (["a.b=1\nc = 2"], {"a": {"b": "1\nc = 2"}}),
    ],
)  # fmt: skip
def test_assignments(pairs: list[str], found: dict[str, Any]) -> None:
    """Values are TOML where they are, else text."""
    assert assignments(pairs) == found


@pytest.mark.parametrize("pair", ["grounding.threshold", "threshold=1", ".a=1", "a.=1", "=", ""])
def test_assignments_that_are_none_are_refused(pair: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"--set {pair!r}; expected METRIC.PARAMETER=VALUE")):
        assignments([pair])


def test_a_spec_is_plain_json_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """What run.json keeps names the variable, never what is in it."""
    import orjson

    monkeypatch.setenv("MY_KEY", "sk-secret")
    found = spec(TABLE, judge=["mine"], parameters={"grounding": {"threshold": 0.7}})
    text = orjson.dumps(found.as_json())
    assert b"MY_KEY" in text
    assert b"sk-secret" not in text
    assert orjson.loads(text)["judges"]["mine"]["model"] == "qwen"
