"""``ragstone label``, ``agree`` and ``tune``: label a sample of a run, and compare and choose judges by labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

import orjson
import typer
from msgspec.structs import replace
from typer.core import TyperGroup

from ragstone import api
from ragstone.cli.exit_codes import INTERRUPTED, UNJUDGED, say, say_unseen, undisturbed
from ragstone.cli.options import (
    File,
    GroupBy,
    OutFile,
    Quiet,
    StorePath,
    WhichOrFolder,
    again,
    arg,
    command,
    flag,
    group,
    names,
    opt,
    wants_json,
    with_options,
)
from ragstone.cli.output import answer, html_file, lines, show, show_json
from ragstone.cli.run_commands import app
from ragstone.errors import ConfigError, InputError
from ragstone.options import RunOptions

if TYPE_CHECKING:
    from ragstone.analysis.corrected_means import Method
    from ragstone.api.tuning import Tuner
    from ragstone.options import Progress
    from ragstone.records.label_imports import Imported

PAGE: Final = "page"
"""The default command: ``label RUN`` means ``label page RUN``."""
Names = list[str] | None
NOT_OF_A_RUN = (
    "judge", "prompts", "aggregate", "cascade_error", "max_cost", "max_calls", "max_tokens", "refresh", "offline",
)  # fmt: skip
"""Options that a run with the written winner does not repeat: they are in the file, or about the tuning alone."""


class LabelCommands(TyperGroup):
    """The ``label`` group, which also accepts a run in place of a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the default command if none is given."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = [PAGE, *args]
        return super().parse_args(ctx, args)


label = group(
    "Label a sample of records by hand.\n\n'label RUN' is short for 'label page RUN'.",
    "ragstone label last -o label.html",
    "ragstone label 3 -n 100 --annotator ann",
    cls=LabelCommands,
    no_args_is_help=False,
)


@command(
    label,
    "ragstone label page last -o label.html",
    "ragstone label page 3 -n 100 --metric groundedness --annotator ann",
    "ragstone label page 3 --by meta.topic --seed 7",
    "ragstone label page 3 --worst --against 4",
    name=PAGE,
)
def label_page(
    which: WhichOrFolder = "last",
    *,
    out: str | None = opt("--out -o", "FILE|DIR/", "Output file [default: label.html]"),
    n: int = opt(
        "-n", "N", "Number of records to draw; all claims (or other units) of each are labelled", default=50, min=1
    ),
    seed: int = opt("--seed", "S", "Random seed for the draw", default=0),
    metric: str | None = opt(
        "--metric --metrics -m", "NAME", "Label the units of this metric [default: the run's main metric]"
    ),
    annotator: str = opt("--annotator", "NAME", "Annotator's name [default: the page asks]", default=""),
    by: str | None = opt("--by", "FIELD", "Stratify the sample by topic, question or a meta field."),
    worst: bool = flag(
        "--worst",
        "Choose the records on which judges disagree most; their labels are not used for means or intervals.",
    ),
    against: str | None = opt("--against", "RUN", "For --worst: a run by another judge."),
    store: StorePath = None,
) -> None:
    """Write a page for labelling a sample of records by hand.

    The page is one HTML file and needs no network. It shows the texts and the meaning of each label, but no verdicts.
    Whole records are drawn at random, so the labels are representative of the run.
    """
    from ragstone.api.labelling import agree_command, exported
    from ragstone.render.terminal.lists import label_page_written

    target = html_file(out, "label.html") or Path("label.html")
    with api.opened(which, store) as run:
        drawn = api.label(
            run, target, n=n, seed=seed, metric=metric, annotator=annotator, by=by, worst=worst, against=against,
            store=store,
        )  # fmt: skip
        told = {
            "written": str(target),
            "bytes": target.stat().st_size,
            "run": run.id,
            "metric": drawn.metric,
            "draw": drawn.draw.as_json(),
            "records": len(drawn.records),
            "units": drawn.units,
            "minutes": drawn.minutes,
            "next": agree_command(run, exported(annotator)),
        }
    answer(told, lambda _: label_page_written(told, n, drawn.unit))


@command(
    label,
    "ragstone label import labels.csv --task support -o labels.jsonl",
    "ragstone label import label-studio.json last -o labels.jsonl",
    name="import",
)
def label_import(
    file: str = arg("FILE", "Label Studio JSON, Argilla records, CSV, or JSON Lines from ragstone label."),
    which: str | None = arg(
        "RUN", "Keep only labels for this run; labels without a step get it from the run.", default=None
    ),
    *,
    out: OutFile = None,
    task: str = opt("--task", "STEP", "Step for labels without a step, e.g. support.", default=""),
    store: StorePath = None,
) -> None:
    """Convert labels from another tool to JSON Lines.

    The output has one label per line. Cancelled annotations, unsubmitted responses and units without a label are
    skipped. FILE and RUN may be in either order. To compare a run with labels, use ragstone agree.
    """
    from ragstone.api.labelling import labels_for
    from ragstone.metrics import catalogue
    from ragstone.records.label_imports import import_labels

    if which is not None and not Path(file).is_file() and (Path(which).is_file() or not Path(file).suffix):
        file, which = which, file
    if which is not None:
        with api.opened(which, store) as run:
            found = labels_for(run, file, task, store)
    elif (file == "last" or file.isdecimal()) and not Path(file).exists():
        raise InputError(f"{file} is a run; add the file with its labels: ragstone label import FILE {file}")
    else:
        own = {metric.task() for metric in catalogue().values() if not metric.__module__.startswith("ragstone.")}
        found = import_labels(file, task, own)
    if not found.rows:
        raise InputError(f"{file}: contains no labels{_skipped(found)}")
    with lines(out, [file]) as write:
        for row in found.rows:
            write(orjson.dumps(row.as_json()))
    told = {
        "labels": len(found.rows),
        "units": len({(row.record, row.unit) for row in found.rows}),
        "annotators": len({row.annotator for row in found.rows if row.annotator}),
    }
    if wants_json():
        show_json({"written": out, **told, "skipped": found.skipped})
    else:
        counts = ", ".join(f"{count:,} {name[:-1] if count == 1 else name}" for name, count in told.items())
        say("imported", counts + _skipped(found))


def _skipped(found: Imported) -> str:
    parts = ", ".join(f"{count:,} {why}" for why, count in found.skipped.items() if count)
    return f"; skipped: {parts}" if parts else ""


@command(
    app,
    "ragstone agree last labels.jsonl",
    "ragstone agree last ana.jsonl ben.jsonl --metric grounding --by topic",
    "ragstone agree bm25 labels.jsonl --with dense --with hybrid",
    "ragstone agree last labels.jsonl --attach -o agree.html",
    "ragstone agree out/ labels.jsonl --correction rogan-gladen --json",
)
def agree(
    which: WhichOrFolder,
    gold: list[str] = arg("LABELS", "Labels to compare with: a file, another run, or a field in the records."),
    *,
    others: list[str] | None = opt(
        "--with", "RUN", "Another run by the same judge, of another system or of the same responses. Repeatable."
    ),
    metrics: list[str] | None = opt("--metrics --metric -m", "NAMES", "Compare only these metrics."),
    by: GroupBy = None,
    correction: Literal["ppi", "rogan-gladen"] = opt(
        "--correction", "ppi|rogan-gladen", "Method for correcting means for judge errors", default="ppi"
    ),
    disagreements: int = opt("--disagreements", "N", "Number of disagreements to show", default=5, min=0),
    attach: bool = flag("--attach", "Save the agreement with the run, so that show, report and check include it."),
    out: str | None = opt("--out -o", "FILE|DIR/", "Also write an HTML report."),
    store: StorePath = None,
) -> None:
    """Compare a run's judge with human labels.

    For each metric, the output shows Cohen's kappa with its interval, the confusion matrix, and the mean corrected for
    judge errors. It also lists the largest disagreements and the unused labels. For several systems (--with, or run_id
    in the records), it compares the judge's ranking with people's. For repeats (--with), it shows how much the scores
    vary. No judge is called.
    """
    from ragstone.analysis.run_files import AGREEMENT
    from ragstone.render.terminal.agreement_screen import agreement_page

    method = cast("Method", correction.replace("-", "_"))
    with api.opened(which, store) as run:
        found = api.agree(
            run, gold, others=others or (), metrics=names(metrics) or None, by=by, correction=method,
            disagreements=disagreements,
            attach=attach, out=html_file(out, AGREEMENT), store=store,
        )  # fmt: skip
        answer(found.as_json(), lambda look: agreement_page(found, run, look, again(store)))


@command(
    app,
    "ragstone tune labels.jsonl traces.jsonl -j openai:A -j openai:B",
    "ragstone tune labels.jsonl traces.jsonl -j openai:A --styles short_cot",
    "ragstone tune labels.jsonl traces.jsonl -j openai:A --prompt support=a.md",
    "ragstone tune labels.jsonl traces.jsonl -j embedded --threshold --write",
)
@with_options(
    "tune",
    judge="Judge, panel or cascade to compare; STEP=NAME sets the judge of another step. Repeatable.",
    prompts="Another prompt to compare: STEP=FILE or STEP=STYLE. Repeatable.",
    max_cost="Stop before the total cost exceeds this; exits 4.",
    max_calls="Stop before the total number of answered API calls exceeds this; exits 4.",
    max_tokens="Stop before the total number of tokens (in + out) exceeds this; exits 4.",
)
def tune(
    labels: Annotated[str, arg("LABELS", "Labels file, as exported from the label page.")],
    file: File,
    *,
    styles: Names = opt("--styles", "NAMES", "Prompt styles to compare."),
    formats: Names = opt("--formats", "NAMES", "Label formats to compare."),
    metric: str | None = opt("--metric --metrics -m", "NAME", "Metric to compare, if the file has labels for several."),
    threshold: bool = flag("--threshold", "Fit the threshold of judges that give probabilities."),
    write: bool = flag("--write", "Write the winner to ragstone.toml."),
    yes: bool = flag("--yes -y", "Do not ask before spending money."),
    seed: int = opt("--seed", "S", "Random seed for the split into halves", default=0),
    options: RunOptions,
    quiet: Quiet = False,
) -> None:
    """Find the judge and prompt that agree best with people.

    After an estimate, every combination of judge, style and format is tried on the labelled units and ranked by Cohen's
    kappa. The winner is chosen on one half of the records and measured on the other. Replies are cached, so the same
    command resumes where it stopped.
    """
    from ragstone.api.tuning import tuner
    from ragstone.config import as_list
    from ragstone.render.terminal.tune_screen import tune_page

    made = tuner(
        labels, file, as_list(options.judge), styles=names(styles), formats=names(formats), metric=metric,
        threshold=threshold, seed=seed, options=replace(options, judge=None),
    )  # fmt: skip
    _estimate(made, yes=yes, quiet=quiet)
    _ask_all(made, quiet=quiet)
    found = made.result()
    written, refused = None, None
    try:
        written = made.write(found) if write and found.winner.read else None
    except ConfigError as error:  # first show the result, which was paid for
        refused = error
    told = {"file": str(written[0]), "added": written[1]} if written else None
    if written:
        others = [word for step, judge in made.others.items() for word in ("-j", f"{step}={judge}")]
        command = ["run", file, "-m", found.metric, *others, *options.words(without=NOT_OF_A_RUN)]
    else:
        own = _typed(styles, formats, metric, seed, threshold=threshold)
        command = ["tune", labels, file, *options.words(), *own, *(["--write"] if found.winner.read else [])]
    answer(
        {**found.as_json(), "written": told},
        lambda look: tune_page(found, [made.labels, made.name], look, ["ragstone", *command], written),
    )
    say_unseen(found.bill["unseen"])
    if refused is not None:
        raise refused
    if not found.winner.read or found.bill["unseen"]:
        raise typer.Exit(UNJUDGED)


def _typed(styles: Names, formats: Names, metric: str | None, seed: int, *, threshold: bool) -> list[str]:
    pairs: list[tuple[str, Any]] = [("--styles", ",".join(names(styles))), ("--formats", ",".join(names(formats)))]
    pairs += [("--metric", metric), ("--seed", seed)]
    return [word for flag, value in pairs if value for word in (flag, str(value))] + ["--threshold"] * threshold


def _estimate(made: Tuner, *, yes: bool, quiet: bool) -> None:
    """Print the estimate of all combinations; on a terminal, ask before spending money."""
    from ragstone.render.terminal.tune_screen import estimate_lines

    estimate = made.forecast()
    if estimate is None or not estimate["calls"]["high"]:
        return
    if not quiet:
        show(lambda _: estimate_lines(made.combinations, made.estimates, estimate), stderr=True)
    free = estimate["dollars"] is not None and not estimate["dollars"]["high"]
    if not free and not yes and at_a_terminal() and not _confirmed():
        say("note", "nothing was sent")
        raise typer.Exit(INTERRUPTED)


def at_a_terminal() -> bool:
    """Return whether standard input is a terminal, so that the user can be asked."""
    return sys.stdin.isatty()


def _confirmed() -> bool:
    """Ask whether to continue; the end of the input means no."""
    try:
        return typer.confirm("Continue?", err=True)
    except typer.Abort:
        return False


def _ask_all(made: Tuner, *, quiet: bool) -> None:
    """Run every combination and show its progress."""
    from ragstone.cli.progress import RunDisplay

    count = len(made.combinations)
    for number, combination in enumerate(made.combinations, 1):
        where = f"{combination}, {number} of {count}"
        drawn = RunDisplay(where, quiet)

        def start(progress: Progress, drawn: RunDisplay = drawn, where: str = where) -> None:
            progress.survey, progress.judges = replace(progress.survey, name=where), (where,)
            drawn.start(progress)

        try:
            with drawn.going_on():
                made.ask(combination, start)
        except KeyboardInterrupt:
            with undisturbed():
                say("note", f"interrupted at {where}; all replies are stored: run the same command to continue")
            raise typer.Exit(INTERRUPTED) from None
