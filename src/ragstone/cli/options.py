"""Arguments and options that several commands share, so that each is called and told the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import typer
from typer.core import TyperCommand

HELP: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def examples(*commands: str) -> str:
    """Examples that stand below the options, one a line and not reflowed."""
    return "\b\n" + "\n".join(["Example:" if len(commands) == 1 else "Examples:", *(f"  {c}" for c in commands)])


File: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Records as .jsonl, .json, .csv or .parquet, also .gz or .zst; - is stdin."),
]
Which: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help="A run's number or name, or last.")]
Judges: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--judge", "-j", metavar="[STEP=]NAME", help="Who judges, all or a step; [A,B]: a panel, 'A>B': a cascade."
    ),
]
Panel: TypeAlias = Annotated[
    str | None, typer.Option("--panel", metavar="HOW", help="A panel's verdict: mean, median, majority, min, max.")
]
CascadeError: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--cascade-error", metavar="RATE", help="How often a cascade's first judge may err where it is sure; else 0.05."
    ),
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
Prompts: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--prompt", metavar="[STEP=]STYLE|FILE", help="How judges are asked: a style, or your own file. Repeatable."
    ),
]
LabelFormat: TypeAlias = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="How judges give labels: json, keyed, yaml, adaptive …")
]
StructuredAnswers: TypeAlias = Annotated[
    Literal["auto", "schema", "off"] | None,
    typer.Option("--structured", metavar="auto|schema|off", help="Whether a JSON schema is sent along."),
]
MaxCost: TypeAlias = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="DOLLARS", min=0, help="Stop before this run costs more; leaves with 4."),
]
MaxCalls: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-calls", metavar="N", min=0, help="Stop before more calls are sent to endpoints."),
]
MaxTokens: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", min=0, help="Stop before more tokens are used, in and out."),
]
Estimated: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--estimate/--no-estimate", help="Estimate the cost first, to hold the bill against it; else where it is quick."
    ),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would take, as ragstone estimate does, and ask nobody.")
]
Rpm: TypeAlias = Annotated[
    int | None, typer.Option("--rpm", metavar="N", min=0, help="The most requests a minute to each endpoint and key.")
]
Tpm: TypeAlias = Annotated[
    int | None, typer.Option("--tpm", metavar="N", min=0, help="The most tokens a minute, in and out, to each of them.")
]
Limit: TypeAlias = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N records of each file.")
]
Sample: TypeAlias = Annotated[
    int | None, typer.Option("--sample", metavar="N", min=1, help="Only N records of each file, drawn at random.")
]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option("--seed", metavar="S", help="With --sample: the same seed draws the same ids [default: 0]."),
]
Bank: TypeAlias = Annotated[
    Path | None,
    typer.Option("--nuggets", metavar="FILE", help="Nuggets by topic, in the place of the records' own."),
]
OutFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="A folder for the results, the summary, the run, the report."),
]
OutFile: TypeAlias = Annotated[
    str | None, typer.Option("--out", "-o", metavar="FILE", help="Where the lines go; else to standard output.")
]
Cases: TypeAlias = Annotated[bool, typer.Option("--cases", help="With -o: also a file for each record.")]
Report: TypeAlias = Annotated[
    bool, typer.Option("--report/--no-report", help="With -o: also report.html, the run as a page.", show_default=False)
]
Name: TypeAlias = Annotated[
    str, typer.Option("--name", metavar="NAME", help="A name for the run, not a number; the input's unless given.")
]
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
Refresh: TypeAlias = Annotated[
    bool, typer.Option("--refresh", help="Ask anew; the replies replace those that are stored.")
]
NoCache: TypeAlias = Annotated[
    bool, typer.Option("--no-cache", help="Neither use nor keep replies; results are kept all the same.")
]
Offline: TypeAlias = Annotated[
    bool, typer.Option("--offline", help="Send nothing: stored replies only. Leaves with 3 where one is missing.")
]
Repeat: TypeAlias = Annotated[
    int | None, typer.Option("--repeat", metavar="K", min=1, help="Ask everything K times; tell how much it differs.")
]
OnlyFailed: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--only-failed",
        metavar="[RUN]",
        help="Take over a run's results, the last of this input's, and weigh only what failed in it. A run's name is "
        "written after =, as in --only-failed=nightly.",
    ),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]


class TakingOver(TyperCommand):
    """A command whose ``--only-failed`` may stand without a run; one that is no number is written after ``=``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, with what ``--only-failed`` leaves out put in."""
        given = []
        for argument, after in zip(args, (*args[1:], ""), strict=False):
            alone = argument == "--only-failed" and not (after.isdecimal() or after == "last")
            given.append(f"{argument}=" if alone else argument)
        return super().parse_args(ctx, given)


def run_of(only_failed: str | None) -> bool | str:
    """What ``--only-failed`` says: nothing, the last run of the input, or a run."""
    return only_failed or only_failed is not None
