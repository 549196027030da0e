"""``ragstone pull`` and ``push``: download traces from a tracing tool, and send scores back to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer
from msgspec.structs import asdict

from ragstone import api
from ragstone.cli.exit_codes import say
from ragstone.cli.options import AsJson, OutFile, StorePath, WhichOrFolder, arg, command, flag, names, opt
from ragstone.cli.output import lines, show_json
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
    as_json: AsJson = False,
) -> None:
    """Download traces from Phoenix, MLflow or Langfuse.

    The output is in the tool's export format, one JSON object per line; ragstone run reads it without options. Keys are
    read from the environment variables that the tool's own client uses.
    """
    from ragstone.render.text import plural

    with lines(out, (), as_json=as_json) as write:
        found = api.pull(service, out=write, project=project, since=since, limit=limit, url=url)
    if as_json:
        show_json({"written": out, **asdict(found)})
    else:
        bare = f"; {found.without_spans:,} without spans" if found.without_spans else ""
        say("pulled", f"{plural(found.traces, 'trace')}, {plural(found.rows, 'line')}{bare}")


@command(app, "ragstone push last phoenix", "ragstone push 3 mlflow -m grounding --dry-run")
def push(
    which: WhichOrFolder,
    service: str = SERVICE,
    *,
    metrics: list[str] | None = opt("--metrics --metric -m", "NAMES", "Send only these metrics."),
    dry_run: bool = flag("--dry-run", "Print what would be sent, and send nothing."),
    url: Address = None,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Send a run's scores to Phoenix, MLflow or Langfuse.

    Each score comes with a label and an explanation of what lowered it. Sending the same run again changes nothing;
    scores from another run replace the earlier ones. Scores without a value are not sent.
    """
    from ragstone.render.text import flat, plural

    shown: list[dict[str, Any]] = []

    def show(score: TraceScore) -> None:
        if as_json:
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
    if as_json:
        show_json({**asdict(found), **({"would_send": shown} if dry_run else {})})
        return
    parts = [f"{plural(found.scores, 'score')} would be sent"] if dry_run else [plural(found.sent, "score")]
    parts += [f"{found.unchanged:,} already there"] if found.unchanged else []
    parts += [f"{len(found.missing):,} traces not on the server (first: {found.missing[0]})"] if found.missing else []
    parts += [f"left out: {count:,} {why}" for why, count in found.left_out.items()]
    say("dry run" if dry_run else "sent", "; ".join(parts))
