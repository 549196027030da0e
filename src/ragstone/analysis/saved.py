"""A run that was written to a folder (``run -o DIR``), read from its files without a store."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, cast

import orjson

from ragstone.analysis.result import Result
from ragstone.analysis.run import Run
from ragstone.analysis.run_files import ABOUT, PARTIAL, RESULTS, SUMMARY, ZSTD
from ragstone.errors import ConfigError, InputError
from ragstone.result_types import AgreementDict

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_NAMES: Final = (RESULTS, f"{RESULTS}{ZSTD}")


class SavedRun:
    """The results of a folder, or of a file of results.

    It is read as a ``Run`` is; a hash and the place of each record's line are kept in memory. InputError, with file and
    line, for results that Ragstone did not write, and for a folder whose last run did not end.
    """

    def __init__(self, path: Path) -> None:
        self.path = _results_in(path) if path.is_dir() else path
        self._ids, self._places = array("q"), array("q")
        self._about = _json(self.path.with_name(ABOUT))
        if self._about.get("results", self.path.name) != self.path.name:
            if path.is_dir():
                name, ended = self.path.name, self._about.get("status")
                raise InputError(
                    f"{path}: the run last written there did not finish ({ended}), and {name} is from an earlier one; "
                    "run it again, or name the file itself"
                )
            self._about = {}

    @property
    def place(self) -> tuple[str, int]:
        """Where its results are."""
        return str(self.path.resolve()), 0

    @property
    def id(self) -> int:
        """Its number in its store; 0 where run.json has none."""
        number = self._about.get("run")
        return number if isinstance(number, int) else 0

    @property
    def name(self) -> str:
        """Its name, or else its folder."""
        name = self._about.get("name")
        return name if isinstance(name, str) and name else str(self.path.parent)

    @property
    def status(self) -> str:
        """``done``, or how it ended, as in run.json."""
        return str(self._about.get("status", "done"))

    @property
    def spec(self) -> Mapping[str, Any]:
        """run.json; empty where there is none."""
        return self._about

    @property
    def agreement(self) -> AgreementDict | None:
        """The agreement with people that ``agree --attach`` kept in summary.json; None if the results changed since."""
        kept = self.summary().get("agreement")
        current = isinstance(kept, dict) and kept.get("results") == self._hash()
        return cast("AgreementDict", kept) if current else None

    def with_agreement(self, agreement: AgreementDict) -> tuple[Path, dict[str, Any]]:
        """summary.json with an agreement in the place of an earlier one; InputError where there is none."""
        if not (summary := self.summary()):
            raise InputError(f"{self.path}: no {SUMMARY} of this run next to it to attach to; name the whole -o folder")
        return self.path.with_name(SUMMARY), {**summary, "agreement": {**agreement, "results": self._hash()}}

    def summary(self) -> dict[str, Any]:
        """summary.json of these results; empty where there is none, or they are another run's."""
        ours = self._about or self.path.name in _NAMES
        return _json(self.path.with_name(SUMMARY)) if ours else {}

    def _hash(self) -> str:
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def results(self) -> Iterator[Result]:
        """The results in the order of the input, one at a time."""
        ids, places, place = array("q"), array("q"), 0
        try:
            with self._open() as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        result = _result(line, f"{self.path}:{number}")
                        ids.append(hash(result["id"]))
                        places.append(place)
                        yield Result(result, self.id)
                    place += len(line)
        except (OSError, EOFError, zstd.ZstdError) as error:
            raise _unreadable(self.path, error) from error
        self._ids, self._places = ids, places

    def find(self, record: str) -> Result | None:
        """The result of a record by id."""
        if not self._ids:
            deque(self.results(), maxlen=0)
        if hash(record) not in self._ids:
            return None
        with self._open() as file:
            file.seek(self._places[self._ids.index(hash(record))])
            return Result(orjson.loads(file.readline()), self.id)

    def _open(self) -> IO[bytes]:
        return cast("IO[bytes]", zstd.open(self.path) if ZSTD in self.path.suffixes else self.path.open("rb"))


AnyRun: TypeAlias = Run | SavedRun
"""A run that can be read: ``id``, ``name``, ``status``, ``spec``, ``results()`` and ``find(record)``."""


def saved(name: str) -> SavedRun | None:
    """The run of a folder with results.jsonl in it, or of a file of results; None for no such path."""
    path = Path(name)
    try:
        if path.is_dir():
            if not _results_in(path).is_file():
                raise ConfigError(f"{path}: no {RESULTS} in it; a run writes it there with -o")
            return SavedRun(path)
        return SavedRun(path) if path.is_file() else None
    except (OSError, ValueError):  # not a path: too long, or with a zero byte in it
        return None


def _results_in(folder: Path) -> Path:
    """The results of a folder: those that run.json names, else those that are there, else an unfinished run's."""
    named = _json(folder / ABOUT).get("results")
    found = [folder / name for name in _NAMES if name == named or (folder / name).is_file()]
    found = found or [folder / f"{name}{PARTIAL}" for name in _NAMES if f"{name}{PARTIAL}" == named]
    return next((path for path in found if path.name == named), (*found, folder / RESULTS)[0])


def _result(line: bytes, where: str) -> dict[str, Any]:
    try:
        result = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON ({error}); expected a result as run -o writes it") from error
    if not (
        isinstance(result, dict)
        and isinstance(result.get("id"), str)
        and isinstance(result.get("position"), int)
        and isinstance(result.get("scores", [] if "set_aside" in result else None), list)
    ):
        raise InputError(
            f"{where}: not a result of a run (id, position and scores); expected {RESULTS} as run -o writes it; "
            "evaluate records first: ragstone run FILE"
        )
    return result


def _json(path: Path) -> dict[str, Any]:
    """run.json or summary.json, or nothing: the results are enough."""
    try:
        found = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error) from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    return found if isinstance(found, dict) else {}


def _unreadable(path: Path, error: Exception) -> ConfigError:
    return ConfigError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})")
