"""Files that stand under their names only when they are whole, each written by one command at a time.

A lock ends with its process, so nothing is left behind that could hold up the next command.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

from ragstone.analysis.run_files import PARTIAL
from ragstone.errors import ConfigError, OutputError
from ragstone.store.connection import MAGIC

try:
    import fcntl
except ImportError:  # Windows has no such lock
    fcntl = None  # type: ignore[assignment]

OTHER_FILE: Final = "choose another file"
OTHER_FOLDER: Final = "choose another folder with -o"
_FULL: Final = {errno.ENOSPC, errno.EDQUOT}


@contextlib.contextmanager
def whole(path: Path, *, keep: bool = False, instead: str = OTHER_FILE) -> Iterator[IO[bytes]]:
    """Open a file for writing, which is ``FILE.partial`` until the block ends.

    If the block raises, what was written is deleted. With ``keep`` it stays in the partial file, and where nothing
    was written at all an earlier file stays as it is. What is there and is no ordinary file, such as a device, is
    written to directly. OutputError when it cannot be written (``instead`` is what to do then), ConfigError while
    another command writes it.
    """
    _spare_store(path)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as target:
                yield target
            return
        coming = _Coming(path)
        try:
            yield coming.file
            coming.file.flush()
            if not keep or holds_anything(coming.path):
                coming.settle()
        finally:
            coming.end(keep=keep)
    except BrokenPipeError:
        raise  # nobody reads what the block prints elsewhere: no trouble of this file
    except OSError as error:
        raise unwritable(path, error, instead) from error


def write_parts(path: Path, parts: Iterable[bytes], inputs: Iterable[str | Path | None] = ()) -> None:
    """Write a file that is put together part by part; ConfigError if it is one of the inputs."""
    refuse_inputs(path, inputs)
    with whole(path) as file:
        file.writelines(parts)


def put(content: Path | bytes, path: Path, coming: Path) -> None:
    """Write bytes, or a copy of a file, ``coming`` until it is whole; OutputError when it cannot be written."""
    try:
        if isinstance(content, Path):
            shutil.copyfile(content, coming)
        else:
            coming.write_bytes(content)
        coming.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            coming.unlink(missing_ok=True)
        raise unwritable(path, error, OTHER_FOLDER) from error


class _Coming:
    """The ``FILE.partial`` of a file, which no other command writes to at the same time.

    Where nothing can be locked it has a name of its own until the end, and the last one wins whole.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._kept = self.path = target.with_name(target.name + PARTIAL)
        self._settled = False
        self._locked = False
        self.file = self._claim()

    def _claim(self) -> IO[bytes]:
        while True:
            file = open(self._kept, "wb", opener=_as_it_is)  # noqa: SIM115 - a Path has no opener
            try:
                self._locked = locked(file.fileno())
                if not self._locked:
                    file.close()
                    if not holds_anything(self._kept):
                        self._kept.unlink(missing_ok=True)
                    self.path = self._target.with_name(f"{self._target.name}.{secrets.token_hex(4)}{PARTIAL}")
                    return self.path.open("wb")
                if _is_at(file, self._kept):
                    file.truncate()
                    return file
                file.close()  # another command has just given it its final name
            except BlockingIOError as error:
                file.close()
                raise ConfigError(
                    f"{self._target}: another command is writing it; wait for it to end, or choose another file"
                ) from error

    def settle(self) -> None:
        """Give it its final name."""
        self._rename(self._target)
        self._settled = True

    def _rename(self, name: Path | None) -> None:
        """Rename it, or with None delete it."""
        if not self._locked:
            self.file.close()  # Windows renames no open file; a locked one stays open, so that nobody takes it before
        if name is None:
            self.path.unlink(missing_ok=True)
        else:
            self.path.replace(name)

    def end(self, *, keep: bool) -> None:
        """Let go of it; unless it has its final name it is deleted, or with ``keep`` is ``FILE.partial`` at last."""
        if not self._settled:
            with contextlib.suppress(OSError):  # what cannot be written was told of
                self.file.flush()
            with contextlib.suppress(OSError):
                if not (keep and holds_anything(self.path)):
                    self._rename(None)
                elif self.path != self._kept:
                    self._rename(self._kept)
        with contextlib.suppress(OSError):
            self.file.close()


def _as_it_is(name: str, flags: int) -> int:
    """Open a file without truncating it: it may be another command's."""
    return os.open(name, flags & ~os.O_TRUNC, 0o666)


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def is_folder(name: str) -> bool:
    """Return whether a path is a folder, or is written with a ``/`` at its end."""
    return name.endswith(("/", os.sep)) or Path(name).is_dir()


def refuse_inputs(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """ConfigError if an input would be overwritten."""
    for name in inputs:
        if name is not None and str(name) != "-" and _same(path, Path(name)):
            raise ConfigError(f"{path}: is an input of this command and would be overwritten; choose another file")


def _spare_store(path: Path) -> None:
    """ConfigError if the file is a store."""
    with contextlib.suppress(OSError):
        if path.is_file():
            with path.open("rb") as there:
                if there.read(len(MAGIC)) == MAGIC:
                    raise ConfigError(f"{path}: is a store and would be overwritten; choose another file")


def _same(one: Path, other: Path) -> bool:
    try:
        return one.is_file() and one.samefile(other)
    except OSError:
        return False


def holds_anything(path: Path) -> bool:
    """Return whether there is a file with something in it."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def locked(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; BlockingIOError if another process has it.

    False where nothing can be locked, as on Windows and in some network folders: write to a name of your own there.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def closed_folder(path: Path | str, error: OSError) -> OutputError:
    """The error of a folder of ``-o`` that cannot be written to."""
    return unwritable(path, error, OTHER_FOLDER, "cannot write there")


def unwritable(
    path: Path | str, error: OSError, instead: str = OTHER_FILE, what: str = "cannot be written"
) -> OutputError:
    """The error of a file that cannot be written; ``instead`` is what to do unless the disk is full."""
    way = f"free space or {instead}" if error.errno in _FULL else instead
    return OutputError(f"{path}: {what} ({error.strerror}); {way}", path=str(path))
