"""``ragstone label import``: labels of other tools as label rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragstone.cli.options import AsJson, OutFile, examples

if TYPE_CHECKING:
    from ragstone.records.label_imports import Imported


def add_to(group: typer.Typer) -> None:
    """Add the command to the group ``label``."""
    shown = ("labels.csv --task support -o labels.jsonl", "label-studio.json -o labels.jsonl")
    group.command("import", epilog=examples(*(f"ragstone label import {one}" for one in shown)))(label_import)


def label_import(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Label Studio JSON, Argilla records, CSV, or lines of ragstone label.")
    ],
    *,
    out: OutFile = None,
    task: Annotated[
        str, typer.Option("--task", metavar="STEP", help="Step that the labels rate, if they name none, e.g. support.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Convert labels from another tool to JSON lines, one per label.

    Skips cancelled annotations, responses that were not submitted and units without a label.
    """
    import orjson

    from ragstone.cli.exit_codes import say
    from ragstone.cli.output import lines, show_json
    from ragstone.errors import InputError
    from ragstone.records.label_imports import import_labels

    found = import_labels(file, task)
    if not found.rows:
        raise InputError(f"{file}: no labels in it{_skipped(found)}")
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
