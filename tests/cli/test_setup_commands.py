"""``ragstone metrics``, ``judges`` and ``init``: what there is, and how it is set."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from msgspec.structs import replace
from terminal import done, ragstone

from ragstone import settings
from ragstone.cli.options import wants_json
from ragstone.config import RunSpec, resolve
from ragstone.judges.spec import PRESETS, Spec
from ragstone.metrics import catalogue
from ragstone.options import RunOptions, options_of
from ragstone.testing import FakeServer

pytestmark = pytest.mark.usefixtures("alone")

SETTING = re.compile(r"^#(?=[a-z_]+ = |\[)", re.MULTILINE)


def test_every_metric_is_listed_and_has_a_page() -> None:
    """Meaning, needs, parameters with defaults; an example that names it."""
    listed = ragstone("metrics").out
    for name, metric in catalogue().items():
        assert name in listed
        page = done("metrics", name)
        for parameter in fields(metric):
            assert parameter.name in page.out
        assert f"--metrics {name}" in page.flat
    assert "triad" in listed
    assert "did you mean 'grounding'?" in ragstone("metrics", "groundng").err


def test_metrics_as_json() -> None:
    """All, or one."""
    assert [metric["name"] for metric in ragstone("metrics", "--json").json] == list(catalogue())
    assert (ragstone("metrics", "none", "--json").code, wants_json()) == (2, False), (
        "it is of one command, if that fails"
    )
    one = ragstone("metrics", "grounding", "--json").json
    assert one["parameters"]["threshold"]["default"] == 0.6


def test_fields_and_formats_as_json() -> None:
    """Each format has the name that --from takes."""
    told = ragstone("fields", "--json").json
    assert "retrieved_contexts" in told["fields"]["contexts"]
    assert {"openinference", "mlflow", "langfuse", "ragas"} <= {form["name"] for form in told["formats"]}


def test_judges_are_listed_with_their_variables_and_never_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a variable is set is all that is told."""
    monkeypatch.setenv("GROQ_API_KEY", "very-secret")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("ragstone.toml").write_text(
        '[judges.mine]\nmodel = "m7"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "MINE_KEY"\n', encoding="utf-8"
    )
    came = ragstone("judges", columns=100)
    for name in PRESETS:
        assert f"{name}:MODEL" in came.out
    assert "GROQ_API_KEY set" in came.out
    assert "OPENAI_API_KEY not set" in came.out
    assert "MINE_KEY not set" in came.out
    told = {judge["name"]: judge for judge in ragstone("judges", "--json").json}
    assert told["groq:MODEL"]["key_set"] is True
    assert (told["mine"]["model"], told["mine"]["table"]) == ("m7", True)
    assert "very-secret" not in came.out + str(told)


def test_a_judge_is_checked_with_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers, or the reason and a hint; nothing is stored."""
    with FakeServer(api_key="right") as server:
        Path("ragstone.toml").write_text(
            f'[judges.mine]\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = "MINE_KEY"\n', encoding="utf-8"
        )
        monkeypatch.setenv("MINE_KEY", "right")
        came = done("judges", "--check", "mine")
        assert "answered in" in came.out
        assert server.count == 1
        assert ragstone("judges", "--check", "mine", "--json").json["judge"].startswith("mine/m")
        monkeypatch.setenv("MINE_KEY", "wrong")
        came = ragstone("judges", "--check", "mine")
        assert came.code == 3
        assert "HTTP 401" in came.err
        assert "check the key in MINE_KEY" in came.err
    assert ragstone("judges", "--check", "embedded").code == 0
    assert ragstone("judges", "--check", "vllm:m@http://127.0.0.1:9/v1").code == 3
    assert ragstone("judges", "--check", "nobody").code == 2
    assert not Path(".ragstone").exists()


# ---- init


def test_init_writes_once() -> None:
    """And again only when forced."""
    assert ragstone("init").code == 0
    assert Path("ragstone.toml").read_text(encoding="utf-8") == settings.commented()
    again = ragstone("init")
    assert (again.code, again.err) == (2, "error: ragstone.toml already exists\nhint: use --force to overwrite it\n")
    assert ragstone("init", "--force", "--json").json == {"written": "ragstone.toml"}


def test_the_written_file_changes_nothing() -> None:
    """It resolves to the defaults."""
    ragstone("init")
    read = resolve(RunOptions())
    assert not any(read.parameters.values())
    assert replace(read, parameters={}) == RunSpec(judges={"embedded": Spec("embedded", provider="embedded")})


def test_every_commented_setting_is_usable_as_it_stands() -> None:
    """With all comments before settings taken away the file still validates."""
    text = SETTING.sub("", settings.commented())
    assert tomllib.loads(text)["judges"]["mine"]["model"] == "my-model"
    Path("all.toml").write_text(text, encoding="utf-8")
    assert resolve(RunOptions(config="all.toml")).steps["support"].judges == ("embedded", "mine")


def test_every_setting_stands_in_the_file_with_its_default() -> None:
    """No setting of the configuration or parameter of a metric is missing, and no default is wrong."""
    full = tomllib.loads(SETTING.sub("", settings.commented()))
    file = settings.file_table()
    for table in ("run", "panel", "cascade", "engine", "check"):
        model = settings.table_in(file.model_fields[table].annotation)
        assert model is not None
        assert set(full[table]) == set(model.model_fields)
    assert set(full) == set(file.model_fields)
    assert {name for table in full["judges"].values() for name in table} == set(settings.JudgeTable.model_fields)
    for one in options_of(RunOptions):
        table, dot, key = one.setting.partition(".")
        if dot and one.default is not None:
            assert full[table][key] == one.default, one.name
    for name in ("concurrency", "timeout", "temperature", "max_tokens"):
        assert full["judges"]["mine"][name] == settings.JudgeTable.model_fields[name].default
    assert set(full["metrics"]) == set(catalogue())
    for name, metric in catalogue().items():
        defaults = {parameter.name: parameter.default for parameter in fields(metric)}
        assert set(full["metrics"][name]) == set(defaults), name
        for parameter, value in full["metrics"][name].items():
            if defaults[parameter] is not None:
                expected = defaults[parameter]
                assert value == (list(expected) if isinstance(expected, tuple) else expected), f"{name}.{parameter}"
