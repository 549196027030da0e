"""Write the files of a run: results.jsonl, run.json, summary.json, and one file per record on request."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self, cast

import orjson

from ragstone.analysis.run_files import ABOUT, PARTIAL, RESULTS, ZSTD
from ragstone.errors import ConfigError, OutputError
from ragstone.output.target import OTHER_FOLDER, closed_folder, locked, put
from ragstone.records.ids import Hashes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL: Final = 3
"""Compression level of results: a compromise between speed and size."""
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


FILES: Final = (".html", ".csv", ".parquet", ".jsonl")
"""Extensions of files written by other commands, for a message if a folder is expected."""


class Folder:
    """The folder of a run, to which results are written as they arrive; a file with its final name is always complete.

    The folder belongs to one run at a time: while one has ``claimed`` it, others are refused. Times and durations are
    only in run.json and summary.json, so that the same run gives the same results.jsonl, byte for byte.
    """

    def __init__(self, path: Path, *, cases: bool, compressed: bool = False) -> None:
        if path.suffix.lower() in FILES and not path.is_dir():
            command = "report" if path.suffix.lower() == ".html" else "export"
            said = f"use a folder, or write the file after the run: ragstone {command} last -o {path}"
            raise ConfigError(f"{path}: results go to a folder; {said}")
        self.path = path
        self._cases = path / "cases" if cases else None
        self._names = FileNames()
        self._made = [one for one in (self._cases, path, *path.parents) if one is not None and not one.exists()]
        try:
            for folder in (path, self._cases):
                if folder is not None:
                    folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise OutputError(f"{error.filename}: is not a folder; {OTHER_FOLDER}", path=str(path)) from error
        except OSError as error:
            raise closed_folder(path, error) from error
        self._compressed = compressed
        names = (f"{RESULTS}{ZSTD}", RESULTS) if compressed else (RESULTS, f"{RESULTS}{ZSTD}")
        self._target, self._other = (path / name for name in names)
        self._partial = path / f"{self._target.name}{PARTIAL}"
        self._own = ""
        self._any = False
        self._file: IO[bytes] | None = None
        self._trouble: OutputError | None = None

    @contextlib.contextmanager
    def claimed(self) -> Iterator[Self]:
        """Reserve the folder for this run; raise ConfigError if another run is using it.

        On exit, remove folders created here that are still empty.
        """
        # Lock the folder itself, since it exists before the first file and after the last.
        descriptor = None
        with contextlib.suppress(OSError):  # Windows cannot open folders; elsewhere it needs permission
            descriptor = os.open(self.path, os.O_RDONLY)
        try:
            # Without a lock, each run writes to its own partial files, and the last run to finish wins.
            self._own = "" if self._alone(descriptor) else f".{secrets.token_hex(4)}"
            yield self
        finally:
            if descriptor is not None:
                os.close(descriptor)
            with contextlib.suppress(OSError):  # stop at the first non-empty one
                for folder in self._made:
                    folder.rmdir()

    def _alone(self, descriptor: int | None) -> bool:
        try:
            return descriptor is not None and locked(descriptor)
        except BlockingIOError as error:
            raise ConfigError(
                f"{self.path}: another run is writing there; wait for it to end, or choose another folder with -o"
            ) from error

    def __enter__(self) -> Self:
        try:
            coming = self._coming(self._target)
            packed = self._compressed
            self._file = cast("IO[bytes]", zstd.open(coming, "wb", level=LEVEL) if packed else coming.open("wb"))
        except OSError as error:
            raise closed_folder(self.path, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        coming = self._coming(self._target)
        try:
            self._file.close()
            if self._trouble is None and (error is None or self._any):
                coming.replace(self._target if error is None else self._partial)
                old = self._other if error is None else self._partial.with_name(f"{self._other.name}{PARTIAL}")
                old.unlink(missing_ok=True)  # left by an earlier run, (un)compressed
        except OSError as trouble:
            self._trouble = self._trouble or closed_folder(self.path, trouble)
        finally:
            # A file that may end in half a line is not worth its space.
            if self._trouble or not self._any:
                with contextlib.suppress(OSError):
                    coming.unlink(missing_ok=True)

    def _coming(self, target: Path) -> Path:
        """Return the name of a file until it is complete."""
        return target.with_name(f"{target.name}{self._own}{PARTIAL}")

    def add(self, record: str, document: bytes) -> None:
        """Write a record's result; after the first failure nothing more is written, and ``finish`` raises the error."""
        assert self._file is not None
        if self._trouble is not None:
            return
        self._any = True
        try:
            self._file.write(document + b"\n")
            if self._cases is not None:
                pretty = orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2)
                self._put(self._cases / f"{self._names.of(record)}.json", pretty + b"\n")
        except OSError as error:
            self._trouble = closed_folder(self.path, error)
        except OutputError as error:
            self._trouble = error

    def finish(self, summary: Mapping[str, Any], details: Mapping[str, Any]) -> None:
        """Write summary.json and run.json, which names the file with this run's results.

        Raise OutputError if they or the results cannot be written; in the latter case no results file of this run
        remains. A run that ended early leaves ``results.jsonl`` of an earlier run unchanged.
        """
        if self._trouble is not None:
            raise self._trouble
        results = self._target if details.get("status") == "done" else self._partial
        for name, content in (("summary.json", summary), (ABOUT, {**details, "results": results.name})):
            self._put(self.path / name, orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")

    def _put(self, path: Path, data: bytes) -> None:
        put(data, path, self._coming(path))


class FileNames:
    """Names the files of a folder; names that differ only in case would be one file on macOS and Windows."""

    def __init__(self) -> None:
        self._seen = Hashes()

    def of(self, record: str) -> str:
        """Return a file name for the next record's id."""
        name = file_name(record)
        return name if self._seen.add(hash(name.casefold())) else _hashed(record)


def file_name(record: str) -> str:
    """Return a file name for a record's id: the id itself if it is safe, else its safe part and a hash."""
    if _SAFE.fullmatch(record) and not _RESERVED.fullmatch(record) and not record.endswith("."):
        return record
    return _hashed(record)


def _hashed(record: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", record).strip("-")[:60]
    return f"{stem or 'record'}-{hashlib.blake2b(record.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"
