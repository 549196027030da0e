"""What a newcomer types wrong: one line that says what, one that says what to type; nothing is run or created."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from terminal import ragstone, refused, row, write

from ragstone.cli import suggestions

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.parametrize(
    ("typed", "error", "hint"),
    [
        ("evaluate a.jsonl", "no command 'evaluate'", "use: ragstone run a.jsonl"),
        ("score", "no command 'score'", "use: ragstone run FILE"),
        ("a.jsonl", "no command 'a.jsonl'", "to evaluate this file: ragstone run a.jsonl"),
        ("nuggets a.jsonl", "no command 'a.jsonl'", "ragstone nuggets create a.jsonl"),
        ("rum a.jsonl", "no command 'rum'", "did you mean: ragstone run"),
        ("help", "no command 'help'", "use: ragstone -h"),
        ("-v", "no option -v", "use --version"),
        ("zzz", "no command 'zzz'", "see: ragstone -h"),
        ("run", "missing argument 'FILE'", "specify a file: ragstone run FILE (- is standard input)"),
        ("run a.jsonl -m grounding groundedness", "unexpected argument 'groundedness'", "-m grounding,groundedness"),
        ("run a.jsonl -metrics grounding", "unexpected argument 'grounding'", "did you mean --metrics?"),
        ("run a.jsonl -limit 5", "no option -l", "did you mean --limit?"),
        ("run a.jsonl b.jsonl", "unexpected argument 'b.jsonl'", "cat FILES | ragstone run -"),
        ("run a.jsonl --model openai:gpt-4o", "no option --model", "use -j PROVIDER:MODEL"),
        ("run a.jsonl --output out", "no option --output", "use -o"),
        ("run a.jsonl --concurency 3", "no option --concurency", "did you mean --concurrency?"),
        ("run a.jsonl --threshold 0.8", "no option --threshold", "use --set METRIC.threshold=NUMBER"),
        ("check --threshold 0.8", "no option --threshold", "ragstone check RUN --min METRIC=NUMBER"),
        ("run a.jsonl -n 5", "no option -n", "use --limit N"),
        ("runs -n 5", "no option -n", "see: ragstone runs -h"),
        ("run --input a.jsonl", "no option --input", "specify the file without an option: ragstone run FILE"),
        ("run --no-such", "no option --no-such", "see: ragstone run -h"),
        ("show 1 2 3", "unexpected argument '3'", "see: ragstone show -h"),
        (
            "run a.jsonl --limit 0",
            "invalid value for '--limit': expected a number of at least 1",
            "see: ragstone run -h",
        ),
        ("run a.jsonl --limit x", "invalid value for '--limit': expected a whole number", "see: ragstone run -h"),
        (
            "run a.jsonl --panel vote",
            "invalid value for '--panel': 'vote' is not one of 'mean', 'median', 'majority', 'min', 'max'",
            "see: ragstone run -h",
        ),
        ("run a.jsonl --on-error ignore", "invalid value for '--on-error': 'ignore'", "see: ragstone run -h"),
        ("compare 2", "missing argument 'SECOND'", "name two runs, the baseline first: ragstone compare 2 last"),
        ("compare last", "missing argument 'SECOND'", "ragstone compare RUN last (ragstone runs lists them)"),
        ("judges openai:gpt-4o", "unexpected argument", "ragstone judges --check openai:gpt-4o"),
        ("export 3 csv", "unexpected argument 'csv'", "--format FORM"),
        ("check last --min grounding 0.8", "unexpected argument '0.8'", "--min METRIC=NUMBER"),
    ],
)
def test_what_is_mistyped_is_answered_with_what_to_type(typed: str, error: str, hint: str) -> None:
    """Two lines on standard error, exit code 2, and no usage above them."""
    write("a.jsonl", row(1))
    came = ragstone(*typed.split(), columns=200)
    assert (came.code, came.out) == (2, "")
    first, second = came.err.splitlines()
    assert first.startswith(f"error: {error}")
    assert second.startswith("hint: ")
    assert hint in second
    assert not Path(".ragstone").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("run b.jsonl", "b.jsonl: no such file; did you mean a.jsonl?"),
        ("run other-traces.jsonl", "other-traces.jsonl: no such file; this folder has a.jsonl"),
        ("run zz.parquet", "zz.parquet: no such file; this folder has no .parquet file"),
        ("run none/traces.csv", "none/traces.csv: no such file; there is no folder none either"),
        ("show last zzz", "run 1 (a.jsonl): no record 'zzz'; ids look like 'r1'; a position, '#1' to '#1', also works"),
        ("estimate last", "last: no such file or folder; last is a run; specify a file of records"),
        ("run a.jsonl --nuggets b.jsonl", "b.jsonl: no such file; did you mean a.jsonl?"),
        ("run a.jsonl -m faithfulness", "Ragstone's metric for this is grounding (share of "),
        ("run a.jsonl -j openai/gpt-4o", "write a colon after the provider: openai:gpt-4o"),
        ("run a.jsonl -j openai:gpt-4o@https:/h/v1", "write openai:gpt-4o@https://h/v1"),
        ("run a.jsonl -j https://h/v1", "as in openai:MODEL@https://HOST/v1"),
        ("run a.jsonl --field contexts=question", "'question' is the column for the question; specify the column with"),
        (
            "run a.jsonl -o report.html",
            "use a folder, or write the file after the run: ragstone report last -o report.html",
        ),
        ("run a.jsonl -o scores.csv", "ragstone export last -o scores.csv"),
        ("compare other.csv last", "evaluate records first with 'ragstone run FILE'"),
        ("run none/", "none: no such file or folder"),
        ("export out", "out is a run's folder, but this command reads the store; use run 1"),
        ("formats ./out/", " is a run's folder, but this command reads the store; use run 1"),
        ("export out --store other.db", "specify the run's store with --store"),
        ("run a.jsonl --set grounding.treshold=0.8", "grounding: no parameter 'treshold'; did you mean 'threshold'?"),
        ("check last --min grounding=80", "--min grounding=80; expected a number from 0 to 1 (80% is 0.8)"),
        ("check last --max-drop grounding=2 --baseline 1", "--max-drop grounding=2; expected a number from 0 to 1"),
        ("show r1", "it is a record of run 1: ragstone show 1 r1"),
        ("show a.json", "did you mean 'a.jsonl'?"),
        ("show ./a.jsonl", "to evaluate a file: ragstone run ./a.jsonl"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(typed: str, said: str) -> None:
    """One line, by whoever knows."""
    write("a.jsonl", row(1))
    write("other.csv", row(1))
    assert ragstone("run", "a.jsonl", "-q", "-m", "grounding", "-o", "out").code == 0
    assert ragstone("run", "a.jsonl", "-q", "-m", "grounding", "--store", "other.db", "--name", "a").code == 0
    assert said in refused(*typed.split(), columns=300)


def test_fields_may_be_swapped_where_each_is_said() -> None:
    """Columns of each other's names are read as mapped; gold passages may be the contexts."""
    write("a.jsonl", {"id": "a", "question": "Steel.", "response": "What is it?", "reference": ["It is steel."]})
    swapped = ("--field", "question=response", "--field", "response=question", "--field", "contexts=reference")
    assert ragstone("run", "a.jsonl", "-q", "-m", "grounding", *swapped).code == 0


def test_metrics_may_be_joined_by_semicolons() -> None:
    came = ragstone("run", write("a.jsonl", row(1)), "-q", "-m", "grounding;groundedness", "--json")
    assert set(came.json["metrics"]) == {"grounding", "groundedness"}


def test_every_hint_names_a_command_or_an_option_that_there_is() -> None:
    """What is advised can be typed."""
    shown = ragstone("--help").out
    for meant in suggestions.COMMANDS.values():
        word = meant.split()[0]
        assert re.search(rf"^\s+(-h, )?{re.escape(word)}\b", shown, re.MULTILINE), meant
    every = "".join(ragstone(name, "--help").out for name in ("run", "check", "estimate")) + shown
    for meant in suggestions.OPTIONS.values():
        assert re.search(rf"(?<![\w-]){re.escape(meant.split()[0])}(?![\w-])", every), meant
