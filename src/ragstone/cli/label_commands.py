"""``ragstone label``: write the page on which a person labels a sample of a run's units, and import labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
from typer.core import TyperGroup

from ragstone import api
from ragstone.cli.exit_codes import say
from ragstone.cli.options import AsJson, OutFile, StorePath, WhichOrFolder, arg, command, flag, group, opt
from ragstone.cli.output import answer, html_file, lines, show_json
from ragstone.errors import InputError

if TYPE_CHECKING:
    from ragstone.records.label_imports import Imported

PAGE: Final = "page"
"""The default command: ``label RUN`` means ``label page RUN``."""


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
    as_json: AsJson = False,
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
    answer(told, lambda _: label_page_written(told, n, drawn.unit), as_json=as_json)


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
    as_json: AsJson = False,
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
    with lines(out, [file], as_json=as_json) as write:
        for row in found.rows:
            write(orjson.dumps(row.as_json()))
    told = {
        "labels": len(found.rows),
        "units": len({(row.record, row.unit) for row in found.rows}),
        "annotators": len({row.annotator for row in found.rows if row.annotator}),
    }
    if as_json:
        show_json({"written": out, **told, "skipped": found.skipped})
    else:
        counts = ", ".join(f"{count:,} {name[:-1] if count == 1 else name}" for name, count in told.items())
        say("imported", counts + _skipped(found))


def _skipped(found: Imported) -> str:
    parts = ", ".join(f"{count:,} {why}" for why, count in found.skipped.items() if count)
    return f"; skipped: {parts}" if parts else ""
