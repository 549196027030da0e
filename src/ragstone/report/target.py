"""Where a command's lines go: a file that stands under its name only when it is whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

from ragstone.errors import ConfigError
from ragstone.report.files import PARTIAL

_DATABASE: Final = b"SQLite format 3\0"


@contextlib.contextmanager
def whole(path: Path, *, keep: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to, which is ``FILE.partial`` until the block ends.

    If the block raises, what was written is deleted. With ``keep`` it stays in the partial file, and where nothing
    was written at all an earlier file stays as it is. What is there and is no ordinary file, such as a device, is
    written to directly. ConfigError when it cannot be written.
    """
    _spare_store(path)
    direct = path.exists() and not path.is_file()
    partial = path if direct else path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as target:
            yield target
        if not direct and (not keep or _holds_anything(partial)):
            partial.replace(path)
    except BrokenPipeError:
        raise  # nobody reads what the block prints elsewhere: no trouble of this file
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        if not direct and not (keep and _holds_anything(partial)):
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)


def unwritable(path: Path | str, error: OSError) -> ConfigError:
    """What is said of a file that cannot be written."""
    return ConfigError(f"{path}: cannot be written ({error.strerror}); choose another file")


def is_folder(name: str) -> bool:
    """Whether a path is meant as a folder: there is one, or it ends as one."""
    return name.endswith(("/", os.sep)) or Path(name).is_dir()


def refuse_inputs(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """ConfigError where a file that is read would be written over."""
    for name in inputs:
        if name is not None and str(name) != "-" and _same(path, Path(name)):
            raise ConfigError(f"{path}: is read by this command and would be written over; choose another file")


def _spare_store(path: Path) -> None:
    """ConfigError where the file is a store: no output is worth what it holds."""
    with contextlib.suppress(OSError):
        if path.is_file():
            with path.open("rb") as there:
                if there.read(len(_DATABASE)) == _DATABASE:
                    raise ConfigError(f"{path}: is a store, and would be written over; choose another file")


def _same(one: Path, other: Path) -> bool:
    try:
        return one.is_file() and one.samefile(other)
    except OSError:
        return False


def _holds_anything(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False
