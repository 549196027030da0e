"""``ragstone pull``, ``push`` and ``batch``: exchange data with tracing tools, and batches with providers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer
from msgspec.structs import asdict

from ragstone import api
from ragstone.cli.exit_codes import say
from ragstone.cli.options import OutFile, StorePath, WhichOrFolder, arg, command, flag, group, names, opt, wants_json
from ragstone.cli.output import answer, lines, show_json
from ragstone.cli.run_commands import app

if TYPE_CHECKING:
    from ragstone.services.base import TraceScore

SERVICE: Final[Any] = arg("SERVICE", "phoenix, mlflow or langfuse.")
Address: TypeAlias = Annotated[
    str | None,
    opt("--url", "URL", "Server address [default: the tool's environment variable, else its default]", default=...),
]


@command(
    app,
    "ragstone pull phoenix --project default --since 1d -o traces.jsonl",
    "ragstone pull mlflow --project assistant --limit 200 -o traces.jsonl",
    "ragstone pull langfuse --since 2026-05-01 -o traces.jsonl",
)
def pull(
    service: str = SERVICE,
    *,
    project: str = opt("--project", "NAME", "Project; in MLflow, the experiment.", default=""),
    since: str | None = opt("--since", "TIME", "Only traces since this time: 12h, 1d, 2w, or an ISO date or time."),
    limit: int | None = opt("--limit", "N", "Max number of traces, newest first.", min=1),
    url: Address = None,
    out: OutFile = None,
) -> None:
    """Download traces from Phoenix, MLflow or Langfuse.

    The output is in the tool's export format, one JSON object per line; ragstone run reads it without options. Keys are
    read from the environment variables that the tool's own client uses.
    """
    from ragstone.render.text import plural

    with lines(out, ()) as write:
        found = api.pull(service, out=write, project=project, since=since, limit=limit, url=url)
    if wants_json():
        show_json({"written": out, **asdict(found)})
    else:
        bare = f"; {found.without_spans:,} without spans" if found.without_spans else ""
        say("pulled", f"{plural(found.traces, 'trace')}, {plural(found.rows, 'line')} written{bare}")


@command(app, "ragstone push last phoenix", "ragstone push 3 mlflow -m grounding --dry-run")
def push(
    which: WhichOrFolder,
    service: str = SERVICE,
    *,
    metrics: list[str] | None = opt("--metrics --metric -m", "NAMES", "Send only these metrics."),
    dry_run: bool = flag("--dry-run", "Print what would be sent, and send nothing."),
    url: Address = None,
    store: StorePath = None,
) -> None:
    """Send a run's scores to Phoenix, MLflow or Langfuse.

    Each score comes with a label and an explanation of what lowered it. Sending the same run again changes nothing;
    scores from another run replace the earlier ones. Scores without a value are not sent.
    """
    from ragstone.render.text import flat, plural

    shown: list[dict[str, Any]] = []

    def show(score: TraceScore) -> None:
        if wants_json():
            shown.append(score._asdict())
        else:
            told = f"{score.trace} {score.name} {score.value:.3f} {score.label}"
            typer.echo(flat(told + (f" | {score.explanation}" if score.explanation else "")))

    found = api.push(
        which,
        service,
        metrics=names(metrics) or None,
        url=url,
        dry_run=dry_run,
        show=show if dry_run else None,
        store=store,
    )
    if wants_json():
        show_json({**asdict(found), **({"would_send": shown} if dry_run else {})})
        return
    parts = [f"{plural(found.scores, 'score')} would be sent"] if dry_run else [plural(found.sent, "score")]
    parts += [f"{found.unchanged:,} already there"] if found.unchanged else []
    parts += [f"{len(found.missing):,} traces not on the server (first: {found.missing[0]})"] if found.missing else []
    parts += [f"left out: {count:,} {why}" for why, count in found.left_out.items()]
    say("dry run" if dry_run else "sent", "; ".join(parts))


batch = group(
    "List, cancel, export and import batches.",
    "ragstone run traces.jsonl -j openai:gpt-5-mini --batch",
    "ragstone batch list",
    "ragstone batch export calls.jsonl",
    "ragstone batch import results.jsonl",
)


@command(batch, "ragstone batch list", name="list")
def list_batches(*, store: StorePath = None) -> None:
    """List the batches of unfinished runs in the store."""
    from ragstone.render.terminal.lists import batch_table

    told = [
        {name: getattr(row, name) for name in ("id", "run", "judge", "tag", "remote", "status", "made", "calls")}
        for row in api.list_batches(store)
    ]
    answer(told, lambda _: batch_table(told))


@command(batch, "ragstone batch cancel")
def cancel(*, store: StorePath = None) -> None:
    """Cancel all unfinished batches.

    The next run --batch collects the calls that had already finished.
    """
    _say(api.cancel_batches(store), "batch", "cancelled")


@command(batch, "ragstone batch export calls.jsonl", name="export")
def export_batches(
    file: Path = arg("FILE", "Output file: one JSON request per line."),
    *,
    store: StorePath = None,
) -> None:
    """Export pending calls, for a provider without a batch API."""
    _say(api.export_batches(file, store), "call", f"written to {file}")


@command(batch, "ragstone batch import results.jsonl", name="import")
def import_results(
    file: Path = arg("FILE", "Results file: one JSON result per line."),
    *,
    store: StorePath = None,
) -> None:
    """Import the results of exported calls.

    The next run --batch collects them.
    """
    _say(api.import_batches(file, store), "result", f"read from {file}")


def _say(count: int, unit: str, done: str) -> None:
    from rich.text import Text

    from ragstone.render.terminal.screen import page
    from ragstone.render.text import flat, plural

    told = f"{plural(count, unit, 'batches' if unit == 'batch' else '')} {flat(done)}"
    answer({"count": count}, lambda _: page(Text(told)))
