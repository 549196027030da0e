"""Arguments and options that several commands share, so that each is called and told the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer

HELP: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def examples(*commands: str) -> str:
    """Examples that stand below the options, one a line and not reflowed."""
    return "\b\n" + "\n".join(["Example:" if len(commands) == 1 else "Examples:", *(f"  {c}" for c in commands)])


File: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Records as .jsonl, .json, .csv or .parquet, also .gz or .zst; - is stdin."),
]
Which: TypeAlias = Annotated[str, typer.Argument(metavar="[RUN]", help="A run's number or name, or last.")]
Judges: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--judge", "-j", metavar="[STEP=]NAME", help="Who judges, all or a step; [A,B] is a panel. Repeatable."
    ),
]
Panel: TypeAlias = Annotated[
    str | None, typer.Option("--panel", metavar="HOW", help="A panel's verdict: mean, median, majority, min, max.")
]
Sets: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="METRIC.NAME=VALUE", help="A metric's parameter for this run. Repeatable."),
]
Fields: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="FIELD=PATH", help="Where a field stands, as in question=user.query. Repeatable."),
]
OnError: TypeAlias = Annotated[
    Literal["stop", "skip"] | None,
    typer.Option("--on-error", metavar="stop|skip", help="What a record that cannot be read does."),
]
OnEmpty: TypeAlias = Annotated[
    Literal["null", "zero", "one"] | None,
    typer.Option("--on-empty", metavar="null|zero|one", help="The value where there is nothing to judge."),
]
Concurrency: TypeAlias = Annotated[
    int | None, typer.Option("--concurrency", metavar="N", min=1, help="The most calls at a time to each judge.")
]
Rpm: TypeAlias = Annotated[
    int | None, typer.Option("--rpm", metavar="N", min=0, help="The most requests a minute to each endpoint and key.")
]
Tpm: TypeAlias = Annotated[
    int | None, typer.Option("--tpm", metavar="N", min=0, help="The most tokens a minute, in and out, to each of them.")
]
Bank: TypeAlias = Annotated[
    Path | None,
    typer.Option("--nuggets", metavar="FILE", help="Nuggets by topic, in the place of the records' own."),
]
OutFolder: TypeAlias = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="DIR", help="A folder for the results, the summary, the run.")
]
OutFile: TypeAlias = Annotated[
    str | None, typer.Option("--out", "-o", metavar="FILE", help="Where the lines go; else to standard output.")
]
Cases: TypeAlias = Annotated[bool, typer.Option("--cases", help="With -o: also a file for each record.")]
Name: TypeAlias = Annotated[str, typer.Option("--name", help="A name for the run; the input's unless given.")]
Generator: TypeAlias = Annotated[
    str,
    typer.Option("--generator", metavar="MODEL", help="Who wrote the responses, to warn of a judge that is the same."),
]
StorePath: TypeAlias = Annotated[
    Path | None, typer.Option("--store", metavar="PATH", help="The store; .ragstone/ragstone.db unless configured.")
]
Configuration: TypeAlias = Annotated[
    Path | None, typer.Option("--config", metavar="PATH", help="The configuration; ragstone.toml where there is one.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
