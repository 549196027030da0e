"""Read a run from the files of its folder (``run -o DIR``), without a store."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, cast

import orjson

from ragstone.analysis.result import Result, result_of_file
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
    """A run read from a folder or a results file.

    It is used like a ``Run``; only a hash and the line offset of each record are kept in memory. Raise InputError, with
    file and line, for results that Ragstone did not write, and for a folder whose last run did not finish.
    """

    def __init__(self, path: Path) -> None:
        self.path = _results_in(path) if path.is_dir() else path
        self._ids, self._places = array("q"), array("q")
        self._about = _json(self.path.with_name(ABOUT))
        if path.is_dir() and not self.path.is_file():
            if self.status != "done":
                raise InputError(
                    f"{path}: the run there ended ({self.status}) before any record was evaluated; run it again"
                )
            raise ConfigError(f"{path}: contains no {RESULTS}, which ragstone run -o writes")
        if self._about.get("results", self.path.name) != self.path.name:
            if path.is_dir():
                name, ended = self.path.name, self._about.get("status")
                raise InputError(
                    f"{path}: the run last written there did not finish ({ended}), and {name} is from an earlier one; "
                    "run it again, or specify the file itself"
                )
            self._about = {}

    @property
    def place(self) -> tuple[str, int]:
        """The path of its results, and 0."""
        return str(self.path.resolve()), 0

    @property
    def id(self) -> int:
        """Its number in its store; 0 if run.json has none."""
        number = self._about.get("run")
        return number if isinstance(number, int) else 0

    @property
    def name(self) -> str:
        """Its name, else its folder."""
        name = self._about.get("name")
        return name if isinstance(name, str) and name else str(self.path.parent)

    @property
    def status(self) -> str:
        """The status in run.json, by default ``done``."""
        return str(self._about.get("status", "done"))

    @property
    def spec(self) -> Mapping[str, Any]:
        """The content of run.json; empty without it."""
        return self._about

    @property
    def agreement(self) -> AgreementDict | None:
        """The agreement that ``agree --attach`` saved in summary.json; None if the results have changed since."""
        kept = self.summary().get("agreement")
        current = isinstance(kept, dict) and kept.get("results") == self._hash()
        return cast("AgreementDict", kept) if current else None

    def with_agreement(self, agreement: AgreementDict) -> tuple[Path, dict[str, Any]]:
        """Return the path and new content of summary.json with this agreement; raise InputError if there is none."""
        if not (summary := self.summary()):
            raise InputError(
                f"{self.path}: no {SUMMARY} of this run next to it to attach to; specify the whole -o folder"
            )
        return self.path.with_name(SUMMARY), {**summary, "agreement": {**agreement, "results": self._hash()}}

    def summary(self) -> dict[str, Any]:
        """Return the content of these results' summary.json; empty if there is none or it is another run's."""
        ours = self._about or self.path.name in _NAMES
        return _json(self.path.with_name(SUMMARY)) if ours else {}

    def _hash(self) -> str:
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def results(self) -> Iterator[Result]:
        """Yield the results in input order, one at a time."""
        ids, places, place = array("q"), array("q"), 0
        try:
            with self._open() as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        result = _result(line, f"{self.path}:{number}")
                        ids.append(hash(result["id"]))
                        places.append(place)
                        yield result_of_file(result, self.id, f"{self.path}:{number}", deep=False)
                    place += len(line)
        except (OSError, EOFError, zstd.ZstdError) as error:
            raise _unreadable(self.path, error) from error
        self._ids, self._places = ids, places

    def find(self, record: str) -> Result | None:
        """Return the result of a record by id; None if not found."""
        if not self._ids:
            deque(self.results(), maxlen=0)
        if hash(record) not in self._ids:
            return None
        with self._open() as file:
            file.seek(self._places[self._ids.index(hash(record))])
            return result_of_file(orjson.loads(file.readline()), self.id, f"{self.path}: record '{record}'")

    def _open(self) -> IO[bytes]:
        return cast("IO[bytes]", zstd.open(self.path) if ZSTD in self.path.suffixes else self.path.open("rb"))


AnyRun: TypeAlias = Run | SavedRun
"""A readable run: it has ``id``, ``name``, ``status``, ``spec``, ``results()`` and ``find(record)``."""


def saved(name: str) -> SavedRun | None:
    """Return the run in a folder with results.jsonl, or in a results file; None if the path does not exist."""
    path = Path(name)
    try:
        return SavedRun(path) if path.is_dir() or path.is_file() else None
    except (OSError, ValueError):  # not a path: too long, or contains a null byte
        return None


def _results_in(folder: Path) -> Path:
    """Return a folder's results file: the one that run.json names, else one that exists, else an unfinished one."""
    named = _json(folder / ABOUT).get("results")
    found = [folder / name for name in _NAMES if name == named or (folder / name).is_file()]
    found = found or [folder / f"{name}{PARTIAL}" for name in _NAMES if f"{name}{PARTIAL}" == named]
    return next((path for path in found if path.name == named), (*found, folder / RESULTS)[0])


def _result(line: bytes, where: str) -> dict[str, Any]:
    try:
        result = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON ({error}); expected a result as written by run -o") from error
    if not (
        isinstance(result, dict)
        and isinstance(result.get("id"), str)
        and isinstance(result.get("position"), int)
        and isinstance(result.get("scores", [] if "set_aside" in result else None), list)
    ):
        raise InputError(
            f"{where}: not a result of a run (id, position and scores); expected {RESULTS} as written by run -o; "
            "evaluate records first with 'ragstone run FILE'"
        )
    return result


def _json(path: Path) -> dict[str, Any]:
    """Return the content of run.json or summary.json; empty if missing, since the results are enough."""
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
