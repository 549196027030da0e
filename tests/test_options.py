"""An option is one field: the command line, the file, the environment, Python and the next command come from it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from msgspec.structs import asdict, replace
from typer.testing import CliRunner

import ragstone
from ragstone.api.keywords import takes
from ragstone.cli.options import File, with_options
from ragstone.config import completed, file_settings
from ragstone.errors import ConfigError
from ragstone.options import RunOptions, assignments, option, options_of


class More(RunOptions, frozen=True, kw_only=True, eq=False):
    """The options with one more."""

    patience: int | None = option(
        "--patience", metavar="N", help="How long to wait.", setting="run.patience", variable="TOY_PATIENCE",
        default=3, least=1, most=9,
    )  # fmt: skip


@takes(More)
def patience_of(source: Any, options: More) -> int | None:
    """What reads the option."""
    merged = completed(options, file_settings(options)[0])
    assert isinstance(merged, More)
    return merged.patience


def typed(*words: str) -> Any:
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @with_options("run", More)
    def run(file: File, options: More) -> None:
        """Run."""
        typer.echo(f"{patience_of(file, patience=options.patience)} {' '.join(options.words())}")

    return CliRunner().invoke(app, list(words), env={"COLUMNS": "100"})


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("RAGSTONE_STORE", "RAGSTONE_CONFIG", "TOY_PATIENCE"):
        monkeypatch.delenv(name, raising=False)


def test_the_options_are_explained_without_the_command_line() -> None:
    """``help(evaluate)`` names keywords, exceptions and callbacks, not flags and exit codes."""
    told = (ragstone.evaluate.__doc__ or "").partition("Options:")[2]
    assert not re.search(r"(?<![\w-])--?[a-z]|[Ee]xits|Repeatable", told.replace("ragstone merge", "")), told
    assert "max_cost: Stop before the cost exceeds this; raises BudgetReached." in told
    assert "cases: With `out`: also write one file per record." in told
    assert {line.split(":")[0].strip() for line in told.splitlines() if line} == set(RunOptions.__struct_fields__)


def test_a_new_field_is_an_option_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """In help, on the command line, in the file, in the environment, in Python, and in the command to type next."""
    shown = typed("--help").output
    assert "--patience N" in shown
    assert "How long to wait. [default: 3]" in shown
    assert patience_of("a") == 3
    Path("ragstone.toml").write_text("[run]\npatience = 4\n")
    assert patience_of("a") == 4
    monkeypatch.setenv("TOY_PATIENCE", "5")
    assert patience_of("a") == 5
    assert patience_of("a", patience=6) == 6
    assert typed("a", "--patience", "7").output == "7 --patience 7\n"
    assert "patience: How long to wait." in (patience_of.__doc__ or "")
    assert "patience" in inspect.signature(patience_of).parameters


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("python", "patience 0; expected a whole number from 1 to 9"),
        ("file", "ragstone.toml: run.patience = 0: expected a number of at least 1"),
        ("environment", "TOY_PATIENCE 'soon'; expected a whole number from 1 to 9"),
        ("environment beyond", "TOY_PATIENCE 12; expected a whole number from 1 to 9"),
        ("unknown", "ragstone.toml: no setting 'run.patence'; did you mean 'patience'?"),
    ],
)
def test_a_bad_value_is_refused_wherever_it_stands(how: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how in ("file", "unknown"):
        Path("ragstone.toml").write_text(f"[run]\n{'patience' if how == 'file' else 'patence'} = 0\n")
    if how.startswith("environment"):
        monkeypatch.setenv("TOY_PATIENCE", "soon" if how == "environment" else "12")
    with pytest.raises(ConfigError) as caught:
        patience_of("a", patience=0 if how == "python" else None)
    assert str(caught.value) == message


def test_only_an_option_that_can_be_absent_has_a_setting_or_a_variable() -> None:
    """Else what is not given could not be told from what is."""
    for one in options_of(RunOptions):
        assert one.unset is None or not (one.setting or one.variable), one.name


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"metrics": "triad", "judge": ["a:b", "claims=c:d"]}, ["-m", "triad", "-j", "a:b", "-j", "claims=c:d"]),
        ({"max_cost": 2.5, "seed": 0, "sample": 3}, ["--max-cost", "2.5", "--sample", "3", "--seed", "0"]),
        ({"fields": {"question": "q.text"}}, ["--field", "question=q.text"]),
        ({"report": False, "estimate": False, "cases": True}, ["--no-estimate", "--cases", "--no-report"]),
        ({"only_failed": True}, ["--only-failed"]),
        ({"only_failed": "nightly", "name": ""}, ["--only-failed=nightly"]),
    ],
)
def test_options_are_written_as_they_are_typed(given: dict[str, Any], words: list[str]) -> None:
    assert RunOptions(**given).words() == words


@pytest.mark.parametrize("value", ["x", "3", "true", "a b", "", 3, 0.5, True, [1, 2], 'say "so"'])
def test_a_parameter_is_written_so_that_it_is_read_back(value: Any) -> None:
    (_, text) = RunOptions(parameters={"grounding": {"threshold": value}}).words()
    assert assignments([text]) == {"grounding": {"threshold": value}}


def test_none_is_as_if_it_were_not_given() -> None:
    made = RunOptions.called("triad", None, cases=None, fields=None)
    assert asdict(replace(made, metrics=None)) == asdict(RunOptions())
    with pytest.raises(TypeError, match="each once"):
        RunOptions.called("triad", metrics="all")
