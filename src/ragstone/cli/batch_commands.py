"""``ragstone batch``: list and cancel batches, and export and import calls for providers without a batch API."""

from __future__ import annotations

from pathlib import Path

from ragstone.cli.options import AsJson, StorePath, arg, command, group

batch = group(
    "List, cancel, export and import batches.",
    "ragstone run traces.jsonl -j openai:gpt-5-mini --batch",
    "ragstone batch list",
    "ragstone batch export calls.jsonl",
    "ragstone batch import results.jsonl",
)


@command(batch, "ragstone batch list", name="list")
def list_batches(*, store: StorePath = None, as_json: AsJson = False) -> None:
    """List the batches of unfinished runs in the store."""
    from ragstone import api
    from ragstone.cli.output import answer
    from ragstone.render.terminal.lists import batch_table

    told = [
        {name: getattr(row, name) for name in ("id", "run", "judge", "tag", "remote", "status", "made", "calls")}
        for row in api.list_batches(store)
    ]
    answer(told, lambda _: batch_table(told), as_json=as_json)


@command(batch, "ragstone batch cancel")
def cancel(*, store: StorePath = None, as_json: AsJson = False) -> None:
    """Cancel all unfinished batches.

    The next run --batch collects the calls that had already finished.
    """
    from ragstone import api

    _say(api.cancel_batches(store), "batch", "cancelled", as_json=as_json)


@command(batch, "ragstone batch export calls.jsonl")
def export(
    file: Path = arg("FILE", "Output file: one JSON request per line."),
    *,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Export pending calls, for a provider without a batch API."""
    from ragstone import api

    _say(api.export_batches(file, store), "call", f"written to {file}", as_json=as_json)


@command(batch, "ragstone batch import results.jsonl", name="import")
def import_results(
    file: Path = arg("FILE", "Results file: one JSON result per line."),
    *,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Import the results of exported calls.

    The next run --batch collects them.
    """
    from ragstone import api

    _say(api.import_batches(file, store), "result", f"read from {file}", as_json=as_json)


def _say(count: int, unit: str, done: str, *, as_json: bool) -> None:
    from rich.text import Text

    from ragstone.cli.output import answer
    from ragstone.render.terminal.screen import page
    from ragstone.render.text import flat, plural

    told = f"{plural(count, unit, 'batches' if unit == 'batch' else '')} {flat(done)}"
    answer({"count": count}, lambda _: page(Text(told)), as_json=as_json)
