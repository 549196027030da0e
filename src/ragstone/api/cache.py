"""Count, prune and clear the stored calls.

A call is *used* if a result of a run refers to it. Calls since the start of an unfinished run, calls in its batches,
calls that create nuggets (``nuggets create`` stores no run) and those of tests that passed count as used, too: the same
command needs them again. A dry run only counts.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson
from msgspec import Struct
from msgspec.structs import replace

from ragstone.api.stored import existing_store
from ragstone.config import resolve
from ragstone.errors import ConfigError, InputError, StoreError
from ragstone.judges.catalogue import build
from ragstone.metrics.nuggetset import NuggetBank
from ragstone.options import RunOptions
from ragstone.store.database import RunRow, Store
from ragstone.store.upkeep import CallFilter, CallGroup, CallStore

UNITS: Final = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
"""Seconds in a minute, hour, day and week."""
_AGE: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*([mhdw])")
_BATCH: Final = 10_000
"""The number of calls marked as used in one transaction."""


class CacheInfo(Struct, frozen=True):
    """The calls of a store by judge, step and maker, the unused ones among them, and its size in bytes."""

    path: str
    size: int
    runs: int
    groups: Sequence[CallGroup]
    unused: Sequence[CallGroup]

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON; ``oldest`` and ``newest`` are Unix timestamps."""
        return {
            "store": self.path,
            "bytes": self.size,
            "runs": self.runs,
            "calls": sum(group.calls for group in self.groups),
            "oldest": min((group.oldest for group in self.groups), default=None),
            "newest": max((group.newest for group in self.groups), default=None),
            "unused": sum(group.calls for group in self.unused),
            "unused_bytes": sum(group.bytes for group in self.unused),
            "groups": [group._asdict() for group in self.groups],
        }


class Pruning(Struct, frozen=True):
    """The calls and runs to delete, or deleted if ``done``: calls by judge, step and maker, runs by number.

    ``size`` is the store's size in bytes before, ``after`` the size afterwards. ``note`` says why the file could not
    shrink.
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
        """The number of calls."""
        return sum(group.calls for group in self.groups)

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON."""
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


class Prune(Struct, frozen=True):
    """The calls and runs to delete.

    ``older_than`` (an age, e.g. ``30d``), ``judge`` and ``unused`` select calls; all that are given must match.
    ``keep_runs``: delete the results of all but this many latest runs. ``everything``: delete all calls, and with
    ``runs`` all runs, too.
    """

    older_than: str = ""
    judge: str = ""
    unused: bool = False
    keep_runs: int | None = None
    everything: bool = False
    runs: bool = False


def cache_info(store: Path | str | None = None) -> CacheInfo:
    """Count the stored calls; ConfigError if there is no store."""
    with CallStore(existing_store(store), renew=False) as opened:
        runs = opened.runs()
        _mark_used(opened, runs)
        unused = CallFilter(before=_unfinished_since(runs), unused=True)
        return CacheInfo(opened.path, _size(opened), len(runs), opened.calls_by(CallFilter()), opened.calls_by(unused))


def prune_cache(
    wanted: Prune, store: Path | str | None = None, *, dry_run: bool = False, config: Path | str | None = None
) -> Pruning:
    """Delete calls and runs, and shrink the file; with ``dry_run`` only count them.

    A judge may have a name from ``config``. Raises ConfigError if nothing is selected, and InputError if a judge has no
    stored calls.
    """
    some = bool(wanted.older_than or wanted.judge or wanted.unused)
    if not (some or wanted.everything or wanted.keep_runs is not None):
        raise ConfigError("nothing selected to delete; add --older-than, --unused, --judge or --keep-runs")
    with CallStore(existing_store(store), renew=False) as opened:
        runs = opened.runs()
        every = 0 if wanted.runs else len(runs)
        leaving = runs[: max(0, len(runs) - (every if wanted.keep_runs is None else wanted.keep_runs))]
        before, judge = _before(wanted.older_than), _judge(opened, wanted.judge, config)
        if wanted.unused:
            kept = runs[len(leaving) :]
            _mark_used(opened, kept)
            before = min((at for at in (before, _unfinished_since(kept)) if at is not None), default=None)
        which = CallFilter(before=before, judge=judge, unused=wanted.unused)
        groups = opened.calls_by(which) if some or wanted.everything else []
        planned, note = Pruning(opened.path, groups, [row.id for row in leaving], _size(opened)), ""
        if dry_run:
            return planned
        if planned.groups:
            opened.drop_calls(which)
        for number in planned.runs:
            opened.drop_run(number)
        if planned.groups or planned.runs:
            try:
                opened.shrink()
            except StoreError as error:
                note = f"the file keeps its size for now ({error})"
        return replace(planned, done=True, after=_size(opened), note=note)


def _before(age: str) -> float | None:
    if not age:
        return None
    found = _AGE.fullmatch(age.strip())
    if found is None:
        raise ConfigError(f"--older-than {age!r}; expected a number and m, h, d or w, as in 30d")
    return time.time() - float(found[1]) * UNITS[found[2]]


def _judge(store: CallStore, name: str, config: Path | str | None) -> str:
    """Return a judge's id in the store, given the id or a name as on the command line or in the configuration."""
    if not name:
        return ""
    known = list(dict.fromkeys(group.judge for group in store.calls_by(CallFilter())))
    wanted = {name}
    with contextlib.suppress(ConfigError):  # else it is an id or unknown
        wanted.update(build(spec).id for spec in resolve(RunOptions(config=config, judge=name)).judges.values())
    for judge in known:
        if judge in wanted:
            return judge
    raise InputError(f"no stored calls by a judge '{name}'; judges are {', '.join(known) or 'none'}")


def _mark_used(store: CallStore, runs: Sequence[RunRow]) -> None:
    keys = (
        bytes.fromhex(call["key"])
        for row in runs
        for result in store.results(row.id)
        for call in orjson.loads(result.document).get("calls", ())
    )
    store.mark_needed(NuggetBank.asks)
    while batch := list(islice(keys, _BATCH)):
        store.mark_used(batch)


def _unfinished_since(runs: Sequence[RunRow]) -> float | None:
    """Return the start of the oldest unfinished run that no later run of its name completed."""
    ended = {row.name: row.id for row in runs if row.status == "done"}
    return min((row.started for row in runs if row.status != "done" and ended.get(row.name, 0) < row.id), default=None)


def _size(store: Store) -> int:
    return sum(file.stat().st_size for suffix in ("", "-wal") if (file := Path(store.path + suffix)).exists())
