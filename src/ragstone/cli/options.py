"""Arguments and options that several commands share, with one name and one help text each."""

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
    typer.Argument(metavar="FILE", help="Records: .jsonl, .json, .csv or .parquet, also .gz or .zst; - is stdin."),
]
Which: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help="A run's number or name, or last.")]
Judges: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="[STEP=]NAME",
        help="Judge of all steps or one; [A,B]: a panel, 'A>B': a cascade. Repeatable.",
    ),
]
Panel: TypeAlias = Annotated[
    str | None,
    typer.Option("--panel", metavar="HOW", help="Combine a panel's verdicts: mean, median, majority, min or max."),
]
CascadeError: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--cascade-error", metavar="RATE", help="Accepted error rate of a cascade's first judge [default: 0.05]"
    ),
]
Sets: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="METRIC.NAME=VALUE", help="Set a metric's parameter for this run. Repeatable."),
]
Fields: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--field", metavar="FIELD=PATH", help="Map a field to a path, e.g. question=user.query. Repeatable."),
]
OnError: TypeAlias = Annotated[
    Literal["stop", "skip"] | None,
    typer.Option("--on-error", metavar="stop|skip", help="What to do with unreadable records [default: stop]"),
]
OnEmpty: TypeAlias = Annotated[
    Literal["null", "zero", "one"] | None,
    typer.Option("--on-empty", metavar="null|zero|one", help="Value when there is nothing to judge [default: null]"),
]
Concurrency: TypeAlias = Annotated[
    int | None, typer.Option("--concurrency", metavar="N", min=1, help="Max concurrent calls per judge.")
]
Prompts: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--prompt", metavar="[STEP=]STYLE|FILE", help="Prompt style, or your own prompt file. Repeatable."),
]
LabelFormat: TypeAlias = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="Format of the labels in replies: json, keyed, yaml, adaptive …"),
]
StructuredAnswers: TypeAlias = Annotated[
    Literal["auto", "schema", "off"] | None,
    typer.Option(
        "--structured", metavar="auto|schema|off", help="Send a JSON schema with each request [default: auto]"
    ),
]
MaxCost: TypeAlias = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="DOLLARS", min=0, help="Stop before the run costs more; exits 4."),
]
MaxCalls: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-calls", metavar="N", min=0, help="Stop before sending more calls; exits 4."),
]
MaxTokens: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", min=0, help="Stop before using more tokens (in + out); exits 4."),
]
Estimated: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--estimate/--no-estimate", help="Estimate the cost first, to compare with the bill [default: if quick]"
    ),
]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Print an estimate without calling a judge.")]
Rpm: TypeAlias = Annotated[
    int | None, typer.Option("--rpm", metavar="N", min=0, help="Max requests per minute per endpoint and key.")
]
Tpm: TypeAlias = Annotated[
    int | None, typer.Option("--tpm", metavar="N", min=0, help="Max tokens per minute (in + out) per endpoint and key.")
]
Limit: TypeAlias = Annotated[
    int | None, typer.Option("--limit", metavar="N", min=1, help="Use only the first N records of each file.")
]
Sample: TypeAlias = Annotated[
    int | None, typer.Option("--sample", metavar="N", min=1, help="Use N random records of each file.")
]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option("--seed", metavar="S", help="Random seed of --sample [default: 0]"),
]
Bank: TypeAlias = Annotated[
    Path | None,
    typer.Option("--nuggets", metavar="FILE", help="Nuggets by topic; they replace the records' own."),
]
OutFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Write results, summary, run and report to this folder."),
]
OutFile: TypeAlias = Annotated[
    str | None, typer.Option("--out", "-o", metavar="FILE", help="Output file [default: standard output]")
]
Cases: TypeAlias = Annotated[bool, typer.Option("--cases", help="With -o: also write one file per record.")]
Report: TypeAlias = Annotated[
    bool,
    typer.Option("--report/--no-report", help="With -o: also write report.html [default: yes]", show_default=False),
]
Name: TypeAlias = Annotated[
    str, typer.Option("--name", metavar="NAME", help="Name of the run, not a number [default: the input's]")
]
Generator: TypeAlias = Annotated[
    str,
    typer.Option("--generator", metavar="MODEL", help="Model that wrote the responses; warns if it is also a judge."),
]
StorePath: TypeAlias = Annotated[
    Path | None, typer.Option("--store", metavar="PATH", help="Path of the store [default: .ragstone/ragstone.db]")
]
Configuration: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", metavar="PATH", help="Configuration file [default: ragstone.toml, if there is one]"),
]
Refresh: TypeAlias = Annotated[bool, typer.Option("--refresh", help="Ask again and replace stored replies.")]
NoCache: TypeAlias = Annotated[bool, typer.Option("--no-cache", help="Bypass the cache; results are still saved.")]
Offline: TypeAlias = Annotated[
    bool, typer.Option("--offline", help="Send nothing; use stored replies only. Exits 3 if one is missing.")
]
Repeat: TypeAlias = Annotated[
    int | None, typer.Option("--repeat", metavar="K", min=1, help="Ask everything K times and print the spread.")
]
OnlyFailed: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--only-failed",
        metavar="[RUN]",
        help="Reuse a run's results and evaluate only what failed in it [default: the input's last run]. Write a name "
        "after =, e.g. --only-failed=nightly.",
    ),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress and notes.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


class TakingOver(TyperCommand):
    """A command whose ``--only-failed`` may stand without a run; one that is no number is written after ``=``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, with what ``--only-failed`` leaves out put in."""
        given = []
        for argument, after in zip(args, (*args[1:], ""), strict=False):
            alone = argument == "--only-failed" and not (after.isdecimal() or after == "last")
            given.append(f"{argument}=" if alone else argument)
        return super().parse_args(ctx, given)


class Exporting(TyperCommand):
    """A command whose ``--format`` lists the formats that there are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with help for the format."""
        from ragstone.output.export import DEFAULT, formats  # noqa: PLC0415 - no other command needs them

        about: dict[str, list[str]] = {}
        for name, form in formats().items():
            about.setdefault(form.about, []).append(name)
        listed = "; ".join(f"{', '.join(names)}: {said}" for said, names in about.items())
        for parameter in self.params:
            if parameter.name == "form":
                setattr(parameter, "help", f"{listed} [default: by file extension, else {DEFAULT}]")  # noqa: B010
        return super().get_params(ctx)


def run_of(only_failed: str | None) -> bool | str:
    """What ``--only-failed`` says: nothing, the last run of the input, or a run."""
    return only_failed or only_failed is not None
