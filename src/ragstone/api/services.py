"""Pull traces from a tracing tool, and push a run's scores back to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson
from msgspec import Struct, field

from ragstone.analysis.saved import AnyRun
from ragstone.api.comparing import RunChoice, opened
from ragstone.api.loop import wait_for
from ragstone.errors import ConfigError, InputError
from ragstone.metrics import instead_of, of_score
from ragstone.output.target import whole
from ragstone.render.explanation import explanation, label_of
from ragstone.render.wording import why, word
from ragstone.services import service_named
from ragstone.services.base import PREFIX, PassageScore, Pushed, Service, TraceQuery, TraceScore
from ragstone.services.connection import Connection
from ragstone.types import ORIGIN

_AGO: Final = re.compile(r"([0-9]{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_ALONE: Final = r"\|{}:(embedded|human)\+[^|>@\[\],]+(?:,cut=[\d.]+)?(?:\||$)"
"""Matches a step in a signature if its only judge is not a language model."""
AT_ONCE: Final = 100
"""The number of scores sent to a service at once."""


class Pulled(Struct, frozen=True):
    """The number of traces, of rows written, and of traces that have no spans (yet)."""

    traces: int
    rows: int
    without_spans: int


class PushResult(Struct, frozen=True):
    """The outcome of pushing a run's scores.

    ``scores`` counts those with a value and a trace of the service; a dry run sends none of them. ``left_out`` counts
    the others by reason. ``missing`` has the ids of traces that the server does not have.
    """

    scores: int
    sent: int
    unchanged: int
    missing: tuple[str, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def pull(
    service: str,
    *,
    out: Path | str | Callable[[bytes], object],
    project: str = "",
    since: str | datetime | timedelta | None = None,
    limit: int | None = None,
    url: str | None = None,
) -> Pulled:
    """Download traces from a tool to a file that ``run`` and ``evaluate`` read.

    For example::

        ragstone.pull("phoenix", project="default", since="1d", out="traces.jsonl")

    Keys and addresses come from the environment variables of the tool's own client: ``PHOENIX_API_KEY``,
    ``MLFLOW_TRACKING_TOKEN``, ``LANGFUSE_PUBLIC_KEY`` and so on. The same traces give the same lines.

    Args:
        service: ``phoenix``, ``mlflow`` or ``langfuse``.
        out: The file to write, or a function that is called with each line.
        project: The project; in MLflow, the experiment. Langfuse keys belong to one project; a name given here is only
            checked against it.
        since: Only traces that started after this time: ``12h``, ``1d``, ``2w``, or an ISO date or time (UTC unless it
            has an offset).
        limit: The maximum number of traces, newest first.
        url: The server's address. Default: that of the tool's environment variable, else the tool's default.

    Returns:
        The numbers of traces and rows.

    Raises:
        ConfigError: A name, time or address is invalid, or a key is missing.
        ServiceError: The server cannot be reached, or refuses a request.
        OutputError: The file cannot be written; no file is left behind.
    """
    found = service_named(service)
    if limit is not None and limit < 1:
        raise ConfigError(f"limit {limit}: expected 1 or more")
    now = datetime.now(UTC)
    wanted = TraceQuery(project, _moment(since, now), now, limit)
    connection = Connection(found, url)
    rows = 0
    with _lines(out) as line:

        def write(row: Mapping[str, Any]) -> None:
            nonlocal rows
            rows += 1
            line(orjson.dumps(row, option=orjson.OPT_SORT_KEYS))  # servers return keys in any order

        traces, bare = wait_for(connection.run(found.pull(wanted, write)))
    return Pulled(traces, rows, bare)


@contextmanager
def _lines(out: Path | str | Callable[[bytes], object]) -> Iterator[Callable[[bytes], object]]:
    if not isinstance(out, str | Path):
        yield out
        return
    with whole(Path(out)) as file:
        yield lambda line: file.write(line + b"\n")


def _moment(since: str | datetime | timedelta | None, now: datetime) -> datetime | None:
    if since is None or isinstance(since, datetime):
        return since if since is None else since.astimezone(UTC)
    try:
        if isinstance(since, timedelta):
            return now - since
        if ago := _AGO.fullmatch(since.strip()):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        found = datetime.fromisoformat(since.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        said = "expected e.g. 12h, 1d, 2w, 2026-05-31 or 2026-05-31T08:00"
        raise ConfigError(f"--since {since}: not a time; {said}") from error


def push(
    run: RunChoice,
    service: str,
    *,
    metrics: Sequence[str] | str | None = None,
    url: str | None = None,
    dry_run: bool = False,
    show: Callable[[TraceScore], object] | None = None,
    store: Path | str | None = None,
) -> PushResult:
    """Send a run's scores to their traces, each with a label and an explanation.

    For example::

        ragstone.push("last", "phoenix", metrics=["grounding"])

    Scores are named ``ragstone.METRIC``. In Phoenix they become annotations on the root span and, for a metric that
    rates passages, on the documents; in MLflow, feedback on the trace; in Langfuse, numeric scores on it, or on the
    observation of the question if a trace has several. Sending a run again changes nothing; another run's scores
    replace them. Scores without a value are not sent.

    Args:
        run: The run: its number, name or folder, ``last``, or an opened run.
        service: ``phoenix``, ``mlflow`` or ``langfuse``; only scores of records from its traces are sent.
        metrics: The metrics to send. Default: all.
        url: The server's address. Default: that of the tool's environment variable, else the tool's default.
        dry_run: Send nothing and contact no server.
        show: Called with each score.
        store: The run's store. Default: the configured one.

    Returns:
        The numbers of scores that were sent, were already there, or were left out, with the reasons.

    Raises:
        InputError: The run or a metric is not found, or no record was read from a trace of the service.
        ConfigError: An address is invalid, or a key is missing.
        ServiceError: The server cannot be reached, or refuses a request; some scores may have been sent.
    """
    found = service_named(service)
    chosen = [metrics] if isinstance(metrics, str) else metrics
    connection = None if dry_run else Connection(found, url)
    left_out: Counter[str] = Counter()
    count, pushed = 0, Pushed()
    with opened(run, store) as one:
        _check(one, chosen)
        scores = _scores(one, found, chosen, left_out)
        while some := list(islice(scores, AT_ONCE)):
            count += len(some)
            if show:
                for score in some:
                    show(score)
            if connection:
                pushed = pushed.plus(wait_for(connection.run(found.push(some))))
        if not count and left_out.total() == left_out[_other(found)]:
            raise InputError(
                f"{one.name}: no record was read from a trace of {found.title}; "
                f"pull its traces and evaluate them: ragstone pull {service} -o traces.jsonl"
            )
    return PushResult(count, *pushed, left_out=left_out)


def _other(service: Service) -> str:
    return f"not from {service.title}"


def _check(run: AnyRun, chosen: Sequence[str] | None) -> None:
    """Raise InputError for a metric that the run does not have; each result has a score for every metric."""
    names = next(([one["metric"] for one in result["scores"]] for result in run.results() if "scores" in result), [])
    for name in chosen or ():
        if not any(_is_of(each, name) for each in names):
            raise InputError(f"{run.name}: no metric '{name}'{instead_of(name, names)}")


def _is_of(score: str, metric: str) -> bool:
    return score == metric or of_score(score).name == metric


def _scores(
    run: AnyRun, service: Service, chosen: Sequence[str] | None, left_out: Counter[str]
) -> Iterator[TraceScore]:
    """Yield the scores to send, record by record, and count the others in ``left_out`` by reason."""
    about = {"run": str(run.id), "run_name": Path(run.name).name}
    for result in run.results():
        if "scores" not in result:
            left_out["unreadable"] += 1
            continue
        scores = [one for one in result["scores"] if chosen is None or any(_is_of(one["metric"], n) for n in chosen)]
        origin = (result.get("meta") or {}).get(ORIGIN)
        if not isinstance(origin, dict) or origin.get("format") != service.format:
            left_out[_other(service)] += len(scores)
            continue
        for score in scores:
            if score["value"] is None:
                left_out[f"no value: {score['status']}"] += 1
            else:
                yield _trace_score(result, score, origin, about)


def _trace_score(
    result: Mapping[str, Any], score: Mapping[str, Any], origin: Mapping[str, Any], about: Mapping[str, str]
) -> TraceScore:
    alone = re.search(_ALONE.format(of_score(score["metric"]).task()), score["signature"])
    return TraceScore(
        str(origin["trace"]),
        str(origin["span"]),
        PREFIX + score["metric"],
        score["value"],
        label_of(result, score),
        explanation(result, score),
        "LLM" if alone is None else "HUMAN" if alone[1] == "human" else "CODE",
        {**about, "record": result["id"], "signature": score["signature"]},
        str(origin["span"]) if "parts" in origin else "",
        tuple(_passages(result, score, origin.get("documents") or ())),
    )


def _passages(
    result: Mapping[str, Any], score: Mapping[str, Any], documents: Sequence[Sequence[Any]]
) -> Iterator[PassageScore]:
    """Yield the verdicts on passages; none if the metric rates something else or the positions are unknown."""
    if of_score(score["metric"]).unit != "passage" or len(documents) != len(result["contexts"]):
        return
    places = {context["id"]: place for context, place in zip(result["contexts"], documents, strict=True)}
    units = {unit["id"]: places[unit["parent"]] for unit in result["units"] if unit["level"] == "passage"}
    for one in score["verdicts"]:
        if one["value"] is not None and one["unit"] in units:
            span, place = units[one["unit"]]
            yield PassageScore(span, place, one["value"], word(score["metric"], one), why(one))
