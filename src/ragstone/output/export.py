"""Export a run to a file in a format given by name or by the file's extension.

Each format is declared in a module of ``output/formats`` and nowhere else. Guarantees: records are streamed, so that
runs of any size can be exported. A file has its final name only once it is complete.
"""

from __future__ import annotations

import contextlib
import pkgutil
from collections.abc import Callable, Generator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

from ragstone.analysis.run import Run
from ragstone.errors import ConfigError, InputError
from ragstone.output import formats as packaged
from ragstone.output.target import is_folder, whole
from ragstone.records import COMPRESSIONS

LINES: Final = (".jsonl", ".ndjson", ".json")
"""Extensions of files with one JSON object per line."""
DEFAULT: Final = "jsonl"


class ExportFormat(Struct, frozen=True):
    """One format: its name, its file extensions (the default first), and a description for the help.

    ``write`` takes a run, the rows of a table (``scores``, ``verdicts`` or ``sentences``) and a binary stream.
    ``to_folder``, if a run can be several files, writes them to a folder. ``pipes``: the format can be written to
    standard output. ``table``: it has the rows that the user chooses.
    """

    name: str
    extensions: tuple[str, ...]
    about: str
    write: Callable[[Run, str, IO[bytes]], None]
    to_folder: Callable[[Run, str], None] | None = None
    pipes: bool = True
    table: bool = False


def line_format(
    name: str, about: str, lines: Callable[[Run], Generator[bytes, None, None]], lacking: str = ""
) -> ExportFormat:
    """Return a format with one JSON object per line; with ``lacking``, a run without lines raises that InputError."""

    def write(run: Run, _rows: str, target: IO[bytes]) -> None:
        count = 0
        with contextlib.closing(lines(run)) as source:  # closed even if the stream's reader stops early
            for count, line in enumerate(source, 1):  # noqa: B007 - the count is what is looked for
                target.write(line + b"\n")
        if lacking and not count:
            raise InputError(f"run {run.id} {lacking}")

    return ExportFormat(name, LINES, about, write)


@lru_cache(maxsize=1)
def formats() -> Mapping[str, ExportFormat]:
    """Return all formats by name, the default first."""
    modules = (import_module(f"{packaged.__name__}.{found.name}") for found in pkgutil.iter_modules(packaged.__path__))
    every = [form for module in modules for form in module.FORMATS]
    return {form.name: form for form in sorted(every, key=lambda form: form.name != DEFAULT)}


def format_named(name: str) -> ExportFormat:
    """Return the named format; raise an InputError that lists all formats if it is unknown."""
    if name not in formats():
        raise InputError(f"no format '{name}'; expected one of {', '.join(formats())}")
    return formats()[name]


def export_to(run: Run, form: str, rows: str, path: Path | str) -> None:
    """Write a run to a file, which appears only once it is complete; raise OutputError if it cannot be written.

    A leaderboard may also be written to a folder, with one file per system.
    """
    wanted = format_named(form)
    if is_folder(str(path)):
        if wanted.to_folder is None:
            named = Path(path) / f"run-{run.id}{wanted.extensions[0]}"
            raise ConfigError(f"{path}: is a folder, and {form} writes one file; name it, as in -o {named}")
        wanted.to_folder(run, str(path))
        return
    with whole(Path(path)) as target:
        wanted.write(run, rows, target)


def form_of(out: str | None, given: str | None, known: Mapping[str, tuple[str, ...]]) -> str:
    """Return the format of a file: the given one, else by extension, else the first of ``known`` (format: extensions).

    Raise InputError for a format that is not in ``known``. Raise ConfigError if the extension belongs to another
    format, because programs infer the content from it, or is ambiguous or that of a compressed file.
    """
    if given is not None and given not in known:
        raise InputError(f"no format '{given}'; expected one of {', '.join(known)}")
    ending = "" if out is None or is_folder(out) else Path(out).suffix.lower()
    if ending in COMPRESSIONS:
        raise ConfigError(f"{out}: compressed output is not supported; name it without '{ending}'")
    every = {one for form in formats().values() for one in form.extensions}
    fitting = [form for form, extensions in known.items() if ending in extensions or ending not in every]
    if given in fitting:
        return str(given)
    if given is not None:
        name = f"{Path(out or '').stem}{known[given][0]}"
        raise ConfigError(f"{out}: '{ending}' does not match --format {given}; use -o {name}")
    if not fitting:
        ends = ", ".join(dict.fromkeys(one for of in known.values() for one in of))
        raise ConfigError(f"{out}: this command does not write '{ending}' files; use one of {ends}")
    default = next(iter(known))
    if default not in fitting and len(fitting) > 1:
        raise ConfigError(f"{out}: '{ending}' could be {' or '.join(fitting)}; choose one with --format")
    return default if default in fitting else fitting[0]
