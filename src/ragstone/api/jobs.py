"""Yield the jobs of a run, record by record, reusing results of an earlier run or resuming a refresh.

A result is reused only for the same record at the same position with the same signatures. Anything else is evaluated
again, which costs nothing where the store has all replies.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import orjson
from msgspec import Struct, json
from msgspec.structs import replace

from ragstone.analysis.run import find_run, part_said
from ragstone.api.plan import Plan
from ragstone.engine.document import Weighed, input_of, to_json
from ragstone.engine.run import Job
from ragstone.errors import ConfigError
from ragstone.judges.base import is_steady
from ragstone.metrics.base import Metric
from ragstone.options import RunOptions
from ragstone.questions import TASKS
from ragstone.records import SetAside
from ragstone.render.text import plural
from ragstone.result_types import CostDict, MoreInputDict
from ragstone.segment import record_language
from ragstone.store.database import RunRow, ScoreRow, Store
from ragstone.types import NOTHING, Record, Repeats, Score


class Earlier:
    """An earlier run whose results can be reused.

    ``run`` is its number, ``results`` the number of its results, and ``failed`` the positions to evaluate again.
    """

    def __init__(self, store: Store, run: int, *, banked: bool) -> None:
        self._store = store
        self._banked = banked
        self.run = run
        self.results = store.count(run)
        self.failed = store.failed(run)
        row = store.run(run)
        self._ended = time.time() if row is None or row.finished is None else row.finished

    def told(self) -> str:
        """Return a note on how many results are reused and how many records are evaluated again."""
        kept = self.results - len(self.failed)
        again = f"{len(self.failed)} failed and will be evaluated again" if self.failed else "none failed"
        return f"run {self.run}: {kept} of {plural(self.results, 'result')} reused; {again}"

    def unreadable(self, position: int) -> Mapping[bytes, float]:
        """Return the calls of a failed record whose replies could not be parsed, with the time the run ended."""
        row = self._store.result(self.run, position=position) if position in self.failed else None
        calls = [] if row is None else orjson.loads(row.document).get("calls", [])
        short = [(call, read) for call in calls if (read := call.get("reading")) and read["read"] < read["asked"]]
        # A repair call asked for what the first reply lacked.
        failed = [call for call, read in short if not read["read"] or read.get("repair")] or [call for call, _ in short]
        return dict.fromkeys((bytes.fromhex(call["key"]) for call in failed), self._ended)

    def result(self, position: int, record: Record, metrics: Sequence[tuple[Metric, str]]) -> Weighed | None:
        """Return the record's result if it can be reused unchanged, else None."""
        if position in self.failed:
            return None
        if record.nuggets is not None and not self._banked:
            # A signature contains a bank's digest, but does not identify a record's own nuggets.
            return None
        row = self._store.result(self.run, position=position)
        if row is None:
            return None
        document = orjson.loads(row.document)
        part = {
            **dict.fromkeys(MoreInputDict.__annotations__),
            **orjson.loads(to_json(input_of(record, position))),
        }
        if any(document.get(name) != value for name, value in part.items()):
            return None
        wanted = {name: signature for metric, signature in metrics for name in metric.given_names()}
        if {score["metric"]: score["signature"] for score in document["scores"]} != wanted:
            return None
        rows = {row.metric: row for row in self._store.scores(self.run, after=position - 1, until=position)}
        if rows.keys() != wanted.keys():
            return None
        ordered = [(rows[score["metric"]], score) for score in document["scores"]]
        shares = ({name: getattr(row, name) for name in CostDict.__annotations__} for row, _ in ordered)
        return Weighed(
            position,
            record.id,
            tuple(_score(row, score, record.id) for row, score in ordered),
            cast("tuple[CostDict, ...]", tuple(shares)),
            row.document,
            taken=True,
        )


def earlier_run(store: Store, plan: Plan, name: str, which: bool | int | str) -> Earlier | None:
    """Find the run that ``only_failed`` selects; return None if no result should be reused.

    True selects the last run of this name. Raises ConfigError if there is none or it used other settings.
    """
    if which is False or which == "":
        return None
    alike: RunRow | None = None
    if which is True:
        named = [row for row in store.runs() if row.name == name]
        if not named:
            raise ConfigError(f"no run of '{name}' in {store.path} to reuse; remove --only-failed")
        row = named[-1]
        by_number = {one.id: one for one in named}
        while row.status != "done" and (before := by_number.get(row.spec.get("only_failed", 0))) is not None:
            row = before  # it was itself reusing that run when it ended; its new replies are in the store
        number, spec = row.id, row.spec
        alike = next((one for one in reversed(named) if not _changed(one.spec, plan)), None)
    else:
        found = find_run(store, which)
        number, spec = found.id, dict(found.spec)
    changed = _changed(spec, plan)
    if changed:
        instead = f"use --only-failed={alike.id}, which has these settings, or " if alike else ""
        raise ConfigError(
            f"run {number} used other settings ({changed}); {instead}remove --only-failed to evaluate all records"
        )
    return Earlier(store, number, banked=plan.bank is not None)


def _changed(spec: Mapping[str, Any], plan: Plan) -> str:
    """Return how a run's settings differ from the plan; older versions stored ``repeat`` as the index 0."""
    before, now = spec.get("signatures", {}), plan.signatures
    if before.keys() != now.keys():
        return f"it used the metrics {', '.join(before)}"
    from ragstone.analysis.scored import signatures_differ  # noqa: PLC0415 - few runs reuse others

    for name, signature in now.items():
        if parts := signatures_differ(before[name], signature):
            ways = [
                f"{'the judge or prompt for ' * (part in TASKS)}{part} was {ours or 'the default'}, "
                f"now {theirs or 'the default'}"
                for part, ours, theirs in parts
            ]
            return f"{name}: {'; '.join(ways)}"
    if (extent := spec.get("extent", {})) != plan.source.extent:
        return f"it used {'part of the input: ' if extent else ''}{part_said(extent) or 'all of the input'}"
    times = spec.get("engine", {}).get("repeat") or 1
    return "" if times == plan.spec.engine.repeat else f"it asked {times} times"


def _score(row: ScoreRow, score: Mapping[str, Any], record: str) -> Score:
    return Score(
        row.metric, record, row.value, row.status, row.asked, row.unjudged, row.low, row.high,  # type: ignore[arg-type]
        outcome=row.outcome, reason=score["reason"], signature=score["signature"],  # type: ignore[arg-type]
        repeats=None if row.repeats is None else json.decode(row.repeats, type=Repeats),
    )  # fmt: skip


def settled(plan: Plan, store: Store, options: RunOptions) -> tuple[Plan, Earlier | None]:
    """Adapt the plan to this store and these judges, and find the run whose results it reuses, if any."""
    name = options.name or plan.source.name
    spec, notes = plan.spec, [*plan.notes]
    engine = spec.engine
    if engine.repeat > 1 and all(is_steady(judge.backend) for judge in plan.routes.judges()):
        names = " and ".join(judge.name for judge in plan.routes.judges())
        why = f"replies from {names} are always the same" if names else "no metric asks a judge"
        notes.append(f"asked once, not {engine.repeat} times: {why}")
        engine = replace(engine, repeat=1)
    if engine.cache == "refresh":
        # Replies count as fresh from now on, or since the start of an unfinished refresh of this name.
        before = next((row for row in reversed(store.runs()) if row.name == name), None)
        begun = before.spec.get("engine", {}) if before is not None and before.status != "done" else {}
        since = float(begun["since"]) if begun.get("cache") == "refresh" else time.time()
        engine = replace(engine, since=since)
    plan = replace(plan, spec=replace(spec, engine=engine))
    earlier = earlier_run(store, plan, name, options.only_failed)
    if earlier is not None:
        notes.append(earlier.told())
    return replace(plan, notes=tuple(notes)), earlier


class Share(Struct, frozen=True):
    """Every ``of``-th record, starting with number ``first`` (1 to ``of``), skipping those up to ``after``."""

    first: int = 1
    of: int = 1
    after: int = 0

    def has(self, number: int) -> bool:
        """Return whether the share includes the record with this number, counted from 1."""
        return number > self.after and (number - self.first) % self.of == 0


ALL: Final = Share()


def jobs_of(plan: Plan, earlier: Earlier | None = None, share: Share = ALL) -> Iterator[Job]:
    """Yield the job of each record in the ``share``; a result of an ``earlier`` run may be reused."""
    for job in _all_jobs(plan, share):
        if earlier is None or job.record is None:
            yield job
            continue
        done = earlier.result(job.position, job.record, job.metrics)
        yield replace(job, done=done, again=earlier.unreadable(job.position) if done is None else None)


def _all_jobs(plan: Plan, share: Share) -> Iterator[Job]:
    signed: dict[str, tuple[tuple[Metric, str], ...]] = {}
    shard = plan.spec.shard
    every = ((place, record) for place, record in enumerate(plan.source, 1) if shard is None or shard.has(record.id))
    for number, (position, record) in enumerate(every, 1):
        if not share.has(number):
            continue
        if isinstance(record, SetAside):
            yield Job(position, record.id, None, error=record.error)
            continue
        some = (record.nuggets is not None and "nuggetize" not in plan.given) or (
            record.relevant is not None and "relevance" not in plan.given
        )  # only some of the records have them
        if record.overrides or some:
            own = [metric.overridden(record.overrides.get(metric.name, NOTHING)) for metric in plan.metrics]
            yield Job(position, record.id, record, tuple((metric, plan.signature(metric, record)) for metric in own))
            continue
        lang = record_language(record.meta, record.question, record.response)
        if lang not in signed:
            signed[lang] = tuple((metric, plan.signature(metric, lang=lang)) for metric in plan.metrics)
        yield Job(position, record.id, record, signed[lang])
