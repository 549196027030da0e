"""What the store keeps of paid calls, and what may go: counted, pruned, cleared.

A call is *used* when a result of a run stands on it. Calls that came since a run began that has not ended are taken
for used, too: the same command will need them. Nothing is deleted that was not counted before, and a dry run only
counts.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson

from ragstone.api.stored import open_store
from ragstone.config import resolve
from ragstone.errors import ConfigError, InputError, StoreError
from ragstone.judges.catalogue import build
from ragstone.options import RunOptions
from ragstone.store.database import CallGroup, RunRow, Store, Which

UNITS: Final = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
"""Seconds in a minute, an hour, a day, a week."""
_AGE: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*([mhdw])")
_GROUP: Final = 10_000
"""Calls that are noted as used in one go."""


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """The calls of a store by judge, step and maker, those that no run uses among them, and its size in bytes."""

    path: str
    size: int
    runs: int
    groups: Sequence[CallGroup]
    unused: Sequence[CallGroup]

    @property
    def calls(self) -> int:
        """How many there are."""
        return sum(group.calls for group in self.groups)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON; ``oldest`` and ``newest`` are seconds since 1970, UTC."""
        return {
            "store": self.path,
            "bytes": self.size,
            "runs": self.runs,
            "calls": self.calls,
            "oldest": min((group.oldest for group in self.groups), default=None),
            "newest": max((group.newest for group in self.groups), default=None),
            "unused": sum(group.calls for group in self.unused),
            "unused_bytes": sum(group.bytes for group in self.unused),
            "groups": [group._asdict() for group in self.groups],
        }


@dataclass(frozen=True, slots=True)
class Pruning:
    """What goes, or went where ``done``: calls by judge, step and maker, and runs by their numbers.

    ``size`` is the store's in bytes, before and, once done, after. ``note`` says why its file could not shrink.
    """

    path: str
    groups: Sequence[CallGroup]
    runs: Sequence[int]
    size: int
    done: bool = False
    after: int | None = None
    note: str = ""

    @property
    def calls(self) -> int:
        """How many calls go."""
        return sum(group.calls for group in self.groups)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "store": self.path,
            "done": self.done,
            "calls": self.calls,
            "call_bytes": sum(group.bytes for group in self.groups),
            "runs": list(self.runs),
            "bytes": self.size,
            "bytes_after": self.after,
            "groups": [group._asdict() for group in self.groups],
            **({"note": self.note} if self.note else {}),
        }


@dataclass(frozen=True, slots=True)
class Prune:
    """What is to go: calls ``older_than`` an age (``30d``), of a ``judge``, ``unused``; all that is said must hold.

    ``keep_runs`` is how many of the latest runs stay; of the others the results go. ``everything`` are all calls, and
    with ``runs`` all runs.
    """

    older_than: str = ""
    judge: str = ""
    unused: bool = False
    keep_runs: int | None = None
    everything: bool = False
    runs: bool = False


def cache_info(store: Path | str | None = None) -> CacheInfo:
    """Count the stored calls; ConfigError when there is no store."""
    opened = open_store(store)
    try:
        runs = opened.runs()
        _note_used(opened, runs)
        unused = Which(before=_unfinished_since(runs), unused=True)
        return CacheInfo(opened.path, _size(opened), len(runs), opened.calls_by(Which()), opened.calls_by(unused))
    finally:
        opened.close()


def prune_cache(
    wanted: Prune, store: Path | str | None = None, *, dry_run: bool = False, config: Path | str | None = None
) -> Pruning:
    """Delete what is to go and shrink the file, or with ``dry_run`` only count it.

    A judge may be named as in ``config``. ConfigError where nothing is said to go, InputError for a judge that answered
    none of the calls.
    """
    opened = open_store(store)
    try:
        return _prune(opened, wanted, dry_run=dry_run, config=config)
    finally:
        opened.close()


def _prune(store: Store, wanted: Prune, *, dry_run: bool, config: Path | str | None) -> Pruning:
    runs = store.runs()
    some = bool(wanted.older_than or wanted.judge or wanted.unused)
    if not (some or wanted.everything or wanted.keep_runs is not None):
        raise ConfigError("nothing is said to go; give --older-than, --unused, --judge or --keep-runs")
    leaving = [row.id for row in runs] if wanted.runs else []
    if wanted.keep_runs is not None:
        leaving = [row.id for row in runs[: max(0, len(runs) - wanted.keep_runs)]]
    which = Which(before=_before(wanted.older_than), judge=_judge(store, wanted.judge, config), unused=wanted.unused)
    if wanted.unused:
        kept = [row for row in runs if row.id not in set(leaving)]
        _note_used(store, kept)
        times = [moment for moment in (which.before, _unfinished_since(kept)) if moment is not None]
        which = replace(which, before=min(times, default=None))
    groups = store.calls_by(which) if some or wanted.everything else []
    planned = Pruning(store.path, groups, leaving, _size(store))
    if dry_run:
        return planned
    if groups:
        store.drop_calls(which)
    store.drop_runs(leaving)
    note = ""
    if groups or leaving:
        try:
            store.shrink()
        except StoreError as error:
            note = f"the file keeps its size for now ({error})"
    return replace(planned, done=True, after=_size(store), note=note)


def _before(age: str) -> float | None:
    if not age:
        return None
    found = _AGE.fullmatch(age.strip())
    if found is None:
        raise ConfigError(f"--older-than {age!r}; expected a number and m, h, d or w, as in 30d")
    return time.time() - float(found[1]) * UNITS[found[2]]


def _judge(store: Store, name: str, config: Path | str | None) -> str:
    """A judge's id in the store; it may be written as on the command line, and be a name of the configuration."""
    if not name:
        return ""
    known = list(dict.fromkeys(group.judge for group in store.calls_by(Which())))
    wanted = {name}
    with contextlib.suppress(ConfigError):  # then it is an id, or no judge at all
        wanted.update(build(spec).id for spec in resolve(RunOptions(config=config, judge=name)).judges.values())
    for judge in known:
        if judge in wanted:
            return judge
    raise InputError(f"no stored call of a judge '{name}'; there are {', '.join(known) or 'none'}")


def _note_used(store: Store, runs: Sequence[RunRow]) -> None:
    group: list[bytes] = []
    store.stands_on(group)
    for row in runs:
        for key in _keys(store, row.id):
            group.append(key)
            if len(group) >= _GROUP:
                store.stands_on(group)
                group.clear()
    store.stands_on(group)


def _keys(store: Store, run: int) -> Iterator[bytes]:
    for result in store.results(run):
        for call in orjson.loads(result.document).get("calls", ()):
            yield bytes.fromhex(call["key"])


def _unfinished_since(runs: Sequence[RunRow]) -> float | None:
    """When the first run began that did not end and was not run again to its end."""
    ended = {row.name: row.id for row in runs if row.status == "done"}
    return min((row.started for row in runs if row.status != "done" and ended.get(row.name, 0) < row.id), default=None)


def _size(store: Store) -> int:
    return sum(file.stat().st_size for suffix in ("", "-wal") if (file := Path(store.path + suffix)).exists())
