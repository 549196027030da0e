"""Run shards on several machines: each evaluates its records and hands in its calls; a merge replays them all.

A shared folder contains ``shards.json``, which describes the sharded run. For each shard it has the store and, written
last, the marker: a small file with the size and digest of that store. Guarantees: shards with another input, other
judges or other metrics are rejected. A shard without a marker is run again and replays its stored calls. The merged
results are byte for byte those of one machine that replays the same calls.
"""

from __future__ import annotations

import hashlib
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import orjson
from msgspec.structs import replace

from ragstone import __version__
from ragstone.analysis.run import Run, find_run
from ragstone.api.plan import Plan
from ragstone.engine.leases import Lender
from ragstone.errors import ConfigError
from ragstone.options import RunOptions, options_of
from ragstone.output.shared_folder import SharedFolder
from ragstone.records import Shard
from ragstone.store.connection import network_mount
from ragstone.store.database import Store
from ragstone.store.union import copy, unite

MANIFEST: Final = "shards.json"
_OWN: Final = frozenset(("shard", "engine", "address", "out", "store", "workers", "report", "cases", "zstd"))
"""Options that may differ between the shards and the merge."""
_CALLING: Final = frozenset(
    "concurrency rpm tpm max_cost max_calls max_tokens estimate refresh offline batch wait finish".split()  # noqa: SIM905
)
"""Options about sending calls, which a merge never does."""
_UNFIT: Final = ("no_cache", "only_failed", "cases")
"""Options that a shard cannot use, because it hands in its stored calls."""


class Shards:
    """The folder of a sharded run, with its manifest and its shards."""

    def __init__(self, place: SharedFolder, manifest: Mapping[str, Any]) -> None:
        self.place = place
        self.manifest = manifest
        self.of: int = manifest["shards"]
        self.source: Any = tuple(manifest["source"]) if len(manifest["source"]) > 1 else manifest["source"][0]

    @classmethod
    def begun(cls, plan: Plan, source: Any, options: RunOptions, of: int | None, more: int = 1) -> Shards:
        """Read the manifest, or write a new one, for ``of`` shards; None: as in the manifest, else ``more``.

        Raises ConfigError without ``-o``, for options that shards cannot use, and for a folder of another run.
        """
        if options.out is None:
            raise ConfigError("--shard needs an output folder that every machine can reach; add -o DIR")
        for name in _UNFIT:
            if getattr(options, name):
                raise ConfigError(f"shards cannot be used with --{name.replace('_', '-')}")
        place = SharedFolder(str(options.out))
        about = {**_about(plan, of or more), "source": _names(source), "options": _given(options)}
        data = orjson.dumps({**about, "ragstone": __version__}, option=orjson.OPT_INDENT_2) + b"\n"
        if place.read(MANIFEST) is None:
            place.put(data, MANIFEST)
        found = cls.found(str(options.out))
        found.check(plan, of or found.of)
        now, before = about["options"], found.manifest["options"]
        if options.refresh and not before.get("refresh"):  # its finished shards would not be asked again
            raise ConfigError(f"{place}: its shards were started without --refresh; use another folder with -o")
        if now.get("parameters", {}) != before.get("parameters", {}):
            # A threshold is in no signature, and a merge uses the options of the first shard.
            told = shlex.join(RunOptions(parameters=before.get("parameters")).words())
            said = f"with {told}" if told else "without --set"
            raise ConfigError(f"{place}: its shards were started {said}; use another folder with -o")
        return found

    @classmethod
    def found(cls, address: str) -> Shards:
        """Read the manifest of a folder; raise ConfigError if there is none."""
        place = SharedFolder(address)
        data = place.read(MANIFEST)
        if data is None:
            raise ConfigError(
                f"{address}: contains no {MANIFEST}; evaluate the shards first: ragstone run FILE -o DIR --shard 1/4"
            )
        found = _read(data, f"{address}/{MANIFEST}")
        if not {"shards", "source", "options"} <= found.keys():
            raise ConfigError(f"{address}/{MANIFEST}: not written by run --shard; use another folder")
        return cls(place, found)

    def options(self) -> RunOptions:
        """Return the options of the shards, without those about sending calls."""
        return RunOptions(**{name: value for name, value in self.manifest["options"].items() if name not in _CALLING})

    def check(self, plan: Plan, of: int = 0) -> None:
        """Raise ConfigError if a plan and the shards belong to different runs."""
        now = _about(plan, of or self.of)
        different = [name for name, value in now.items() if self.manifest.get(name) != value]
        if not different:
            return
        name = different[0]
        before: Any = self.manifest.get(name, {})
        here: Any = now[name]
        if name == "signatures":
            changed = [one for one in {**before, **here} if before.get(one) != here.get(one)]
            was, now_is = (one.get(changed[0], "not evaluated") for one in (before, here))
            said = f"{changed[0]} changed from {was} to {now_is}"
        elif name == "digest":
            said = "its input had different records"
        else:
            said = f"{name} changed from {before} to {here}"
        raise ConfigError(f"{self.place} contains shards of another run: {said}; use another folder with -o")

    def has(self, number: int) -> bool:
        """Return whether a shard is done."""
        return self.place.read(_file(number, self.of, "json")) is not None

    def missing(self) -> list[int]:
        """Return the numbers of the shards that are not done."""
        return [number for number in range(1, self.of + 1) if not self.has(number)]

    def records(self) -> int:
        """Return the number of records in finished shards."""
        markers = [self.place.read(_file(number, self.of, "json")) for number in range(1, self.of + 1)]
        return sum(_read(marker, str(self.place)).get("records", 0) for marker in markers if marker)

    def unite(self, store: Path) -> None:
        """Copy the calls of all shards to a store; raise ConfigError with the missing shards and the command to run."""
        _refuse_network(store)
        if missing := self.missing():
            raise self._missing(missing)
        with tempfile.TemporaryDirectory(prefix="ragstone-") as folder:
            unite(store, [partial(self._fetched, number, Path(folder) / "part.db") for number in range(1, self.of + 1)])

    def _fetched(self, number: int, target: Path) -> Path:
        marker = _file(number, self.of, "json")
        told = _read(self.place.read(marker) or b"{}", f"{self.place}/{marker}")
        for old in target.parent.iterdir():
            old.unlink()
        if not self.place.get(_file(number, self.of), target) or _digest(target) != told.get("sha256"):
            self.place.remove(marker)  # so that the shard must be handed in again
            raise self._missing([number])
        return target

    def _missing(self, numbers: Sequence[int]) -> ConfigError:
        words = [*map(str, self.manifest["source"]), "-o", str(self.place)]
        typed = shlex.join(["ragstone", "run", *words, *RunOptions(**self.manifest["options"]).words()])
        which = "shard {} of {} is" if len(numbers) == 1 else "shards {} of {} are"
        some = f"{which.format(ranges(numbers), self.of)} missing or incomplete"
        return ConfigError(f"{self.place}: {some}; run: {typed} --shard {numbers[0]}/{self.of}")


class ShardRun:
    """One shard of a run: its plan, with its own store on this machine and its share of the limits.

    A ``lender`` lends the limits; otherwise they are divided by the number of shards.
    """

    def __init__(self, plan: Plan, source: Any, options: RunOptions, lender: Lender | None = None) -> None:
        """Raise ConfigError as ``Shards.begun`` does."""
        assert plan.spec.shard is not None
        self._shard: Shard = plan.spec.shard
        self._shards = Shards.begun(plan, source, options, self._shard.of)
        folder = Path(plan.spec.store).parent / "shards"
        run = hashlib.sha256(orjson.dumps(_about(plan, self._shard.of))).hexdigest()[:8]
        self._store = folder / f"{run}-{self._shard.number:05}-of-{self._shard.of:05}.db"
        _refuse_network(self._store)
        engine = plan.spec.engine
        if lender is None:
            engine = replace(engine, limits=engine.limits.divided(self._shard.of))
            for backend in plan.routes.backends():
                if hasattr(backend, "divide"):
                    backend.divide(rates=self._shard.of)
        self.plan = replace(plan, spec=replace(plan.spec, store=self._store, engine=engine), lender=lender)

    def is_done(self) -> bool:
        """Return whether the shard is done; without a local store, fetch the one that another machine handed in."""
        done = self._shards.has(self._shard.number)
        if not self._store.exists():
            self._store.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            coming = self._store.with_suffix(".coming")
            there = self._shards.place.get(_file(self._shard.number, self._shard.of), coming)
            if there:
                coming.replace(self._store)
            return done and there
        return done

    def run(self) -> Run:
        """Return the run of a finished shard."""
        return find_run(Store(self._store))

    def hand_in(self, *, done: bool) -> None:
        """Copy the store to the folder, then write the marker if the shard is ``done``."""
        with tempfile.TemporaryDirectory(prefix="ragstone-") as folder:
            copied = Path(folder) / "part.db"
            copy(self._store, copied)
            self._shards.place.put(copied, _file(self._shard.number, self._shard.of))
            if done:
                told = {
                    "shard": str(self._shard), "sha256": _digest(copied), "bytes": copied.stat().st_size,
                    "records": self.plan.total,
                }  # fmt: skip
                self._shards.place.put(orjson.dumps(told) + b"\n", _file(self._shard.number, self._shard.of, "json"))


def ranges(numbers: Sequence[int]) -> str:
    """Return sorted numbers as ranges: ``3, 7-9``."""
    pairs = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])  # the same difference within a range
    runs = ([number for _, number in run] for _, run in pairs)
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _about(plan: Plan, of: int) -> dict[str, Any]:
    return {
        "shards": of,
        "records": plan.survey.total,
        "digest": plan.digest,
        "signatures": plan.signatures,
        "repeat": plan.spec.engine.repeat,
    }


def _names(source: Any) -> list[str]:
    listed = source if isinstance(source, list | tuple) else [source]
    if not all(isinstance(one, str | Path) for one in listed) or "-" in map(str, listed):
        raise ConfigError("shards need input files that every machine can read under the same name")
    return [str(one) for one in listed]


def _given(options: RunOptions) -> dict[str, Any]:
    given = {
        one.name: value
        for one in options_of(RunOptions)
        if (value := getattr(options, one.name)) not in (one.unset, None) and one.name not in _OWN
    }
    try:
        kept: dict[str, Any] = orjson.loads(orjson.dumps(given, default=_text))
    except TypeError as error:
        raise ConfigError("shards need judges given by name, not objects") from error
    return kept


def _text(value: object) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _file(number: int, of: int, ending: str = "db") -> str:
    """Return the path of a shard's store, or of its marker (``json``)."""
    return f"shards/{number:05}-of-{of:05}.{ending}"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(data: bytes, where: str) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{where}: not JSON ({error})") from error
    return found if isinstance(found, dict) else {}


def _refuse_network(store: Path) -> None:
    if mount := network_mount(store):
        raise ConfigError(
            f"{store}: on a network file system ({mount}), which can damage a store; use a local one with --store"
        )
