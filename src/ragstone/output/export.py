"""The formats in which a run is exported, and the format that a file's extension names.

Each format is declared in a file of ``output/formats``, and known nowhere else. Promises: records are written as they
are read, so that a run of any size can be exported; a file stands under its name only when it is whole.
"""

from __future__ import annotations

import contextlib
import pkgutil
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import IO, Final

from ragstone.analysis.run import Run
from ragstone.errors import ConfigError, InputError
from ragstone.output import formats as packaged
from ragstone.output.target import is_folder, whole
from ragstone.records import COMPRESSIONS

LINES: Final = (".jsonl", ".ndjson", ".json")
"""Extensions of files of which each line is a JSON object."""
DEFAULT: Final = "jsonl"


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format: its name, the extensions of its files (the usual one first), and what it is, for the help.

    ``write`` takes a run, the rows of a table (``scores``, ``verdicts`` or ``sentences``) and a binary stream.
    ``to_folder``, where a run can be several files, writes them to a folder. ``pipes`` is whether it can be written to
    standard output.
    """

    name: str
    extensions: tuple[str, ...]
    about: str
    write: Callable[[Run, str, IO[bytes]], None]
    to_folder: Callable[[Run, str], None] | None = None
    pipes: bool = True


def line_format(
    name: str, about: str, lines: Callable[[Run], Generator[bytes, None, None]], lacking: str = ""
) -> ExportFormat:
    """A format of which each line is a JSON object; InputError that a run has no lines, in the words of ``lacking``."""

    def write(run: Run, _rows: str, target: IO[bytes]) -> None:
        count = 0
        with contextlib.closing(lines(run)) as source:  # also if the reader of the stream goes away before the end
            for count, line in enumerate(source, 1):  # noqa: B007 - the count is what is looked for
                target.write(line + b"\n")
        if lacking and not count:
            raise InputError(f"run {run.id} {lacking}")

    return ExportFormat(name, LINES, about, write)


@lru_cache(maxsize=1)
def formats() -> Mapping[str, ExportFormat]:
    """Every format by name, the default one first."""
    modules = (import_module(f"{packaged.__name__}.{found.name}") for found in pkgutil.iter_modules(packaged.__path__))
    every = [form for module in modules for form in module.FORMATS]
    return {form.name: form for form in sorted(every, key=lambda form: form.name != DEFAULT)}


def format_named(name: str) -> ExportFormat:
    """The format of that name; InputError lists them all."""
    if name not in formats():
        raise InputError(f"no format '{name}'; expected {', '.join(formats())}")
    return formats()[name]


def export_to(run: Run, form: str, rows: str, path: Path | str) -> None:
    """Write a run to a file, which is there only when all of it is; ConfigError when it cannot be written.

    A leaderboard may also be written to a folder, a file for each system.
    """
    wanted = format_named(form)
    if wanted.to_folder is not None and is_folder(str(path)):
        wanted.to_folder(run, str(path))
        return
    with whole(Path(path)) as target:
        wanted.write(run, rows, target)


def form_of(out: str | None, given: str | None, known: Mapping[str, tuple[str, ...]]) -> str:
    """The format of a file: the given one, else by its extension, else the first of ``known`` (extensions by format).

    InputError for a format that is not in ``known``; ConfigError where the extension is another format's,
    since programs take it for the content.
    """
    if given is not None and given not in known:
        raise InputError(f"no format '{given}'; expected {', '.join(known)}")
    ending = "" if out is None or is_folder(out) else Path(out).suffix.lower()
    if ending in COMPRESSIONS:
        raise ConfigError(f"{out}: compressed output is not supported; name it without '{ending}'")
    every = {one for form in formats().values() for one in form.extensions}
    fitting = [form for form, extensions in known.items() if ending in extensions or ending not in every]
    if given in fitting:
        return str(given)
    if given is not None:
        name = f"{Path(out or '').stem}{known[given][0]}"
        raise ConfigError(f"{out}: '{ending}' does not fit the format {given}; name it as in -o {name}")
    if not fitting:
        ends = ", ".join(dict.fromkeys(one for of in known.values() for one in of))
        raise ConfigError(f"{out}: this command does not write '{ending}' files; use one of {ends}")
    default = next(iter(known))
    if default not in fitting and len(fitting) > 1:
        raise ConfigError(f"{out}: '{ending}' could be {' or '.join(fitting)}; choose one with --format")
    return default if default in fitting else fitting[0]
