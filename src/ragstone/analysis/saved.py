"""A run that was written to a folder (``run -o DIR``), read again from its files; no store is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import orjson

from ragstone.errors import ConfigError, InputError

RESULTS: Final = "results.jsonl"
ABOUT: Final = "run.json"
REPORT: Final = "report.html"
PARTIAL: Final = ".partial"
"""At the end of a file's name while it is written, or where the run ended early."""


class Weighed(Protocol):
    """What is needed of a run to hold it against another: a ``Run`` of a store has it, and so has ``SavedRun``."""

    @property
    def id(self) -> int:
        """Its number; 0 where nothing says it."""
        ...

    @property
    def name(self) -> str:
        """What it was called."""
        ...

    @property
    def status(self) -> str:
        """``done``, or how it ended."""
        ...

    @property
    def spec(self) -> Mapping[str, Any]:
        """What it was made from, as in run.json."""
        ...

    def results(self) -> Iterator[dict[str, Any]]:
        """Its results in the order of the input, one at a time."""
        ...

    def find(self, record: str) -> dict[str, Any] | None:
        """The result of one record."""
        ...


class SavedRun:
    """The results of a folder, or of a file of results.

    Nothing is held but where each record's line begins. What is not as Ragstone writes it is an InputError with file
    and line, and so is a folder whose last run did not end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path / RESULTS if path.is_dir() else path
        self._lines: dict[str, int] | None = None
        self._about = _about(self.path.with_name(ABOUT))
        if self._about.get("results", RESULTS) != self.path.name:
            if path.is_dir():
                raise InputError(
                    f"{path}: the run last written there did not end ({self._about.get('status')}), and {RESULTS} is "
                    "of an earlier one; run it again, or name the file itself"
                )
            self._about = {}

    @property
    def id(self) -> int:
        """The number that it had in its store; 0 where nothing says it."""
        number = self._about.get("run")
        return number if isinstance(number, int) else 0

    @property
    def name(self) -> str:
        """What it was called, or else its folder."""
        name = self._about.get("name")
        return name if isinstance(name, str) and name else str(self.path.parent)

    @property
    def status(self) -> str:
        """How it ended, as run.json says it."""
        return str(self._about.get("status", "done"))

    @property
    def spec(self) -> Mapping[str, Any]:
        """run.json; empty where there is none."""
        return self._about

    def results(self) -> Iterator[dict[str, Any]]:
        """The results in the order of the input, one at a time."""
        for _, _, result in self._each():
            yield result

    def find(self, record: str) -> dict[str, Any] | None:
        """The result of a record by its id."""
        if self._lines is None:
            self._lines = {result["id"]: place for _, place, result in self._each()}
        place = self._lines.get(record)
        if place is None:
            return None
        with self.path.open("rb") as file:
            file.seek(place)
            result: dict[str, Any] = orjson.loads(file.readline())
        return result

    def _each(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Line, place in the file, result."""
        try:
            with self.path.open("rb") as file:
                place = 0
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield number, place, _result(line, f"{self.path}:{number}")
                    place += len(line)
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be read ({error.strerror})") from error


def saved(name: str) -> SavedRun | None:
    """The run that a path leads to: a folder with results.jsonl in it, or a file of results; None for no such path."""
    path = Path(name)
    try:
        if path.is_dir():
            found = path / RESULTS
            if not found.is_file():
                raise ConfigError(f"{path}: no {RESULTS} in it; a run writes it there with -o")
            return SavedRun(path)
        return SavedRun(path) if path.is_file() else None
    except (OSError, ValueError):  # no path that could be: too long, or with a zero in it
        return None


def _result(line: bytes, where: str) -> dict[str, Any]:
    try:
        result = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON ({error}); expected a result as run -o writes it") from error
    if not (
        isinstance(result, dict)
        and isinstance(result.get("id"), str)
        and isinstance(result.get("scores", [] if "set_aside" in result else None), list)
    ):
        raise InputError(
            f"{where}: no result of a run (id and scores); expected {RESULTS} as run -o writes it; "
            "evaluate records first: ragstone run FILE"
        )
    return result


def _about(path: Path) -> dict[str, Any]:
    """run.json; nothing where there is none, since the results say what is needed."""
    try:
        found = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    return found if isinstance(found, dict) else {}
