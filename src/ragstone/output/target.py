"""Write files that get their final names only once complete, each by one command at a time.

A lock ends with its process, so a crashed command cannot block the next one.
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
except ImportError:  # not available on Windows
    fcntl = None  # type: ignore[assignment]

OTHER_FILE: Final = "choose another file"
OTHER_FOLDER: Final = "choose another folder with -o"
_FULL: Final = {errno.ENOSPC, errno.EDQUOT}


@contextlib.contextmanager
def whole(path: Path, *, keep: bool = False, instead: str = OTHER_FILE) -> Iterator[IO[bytes]]:
    """Open a file for writing, named ``FILE.partial`` until the block ends.

    If the block raises, the partial file is deleted. With ``keep`` it is kept, and if nothing was written, an existing
    file stays unchanged. An existing path that is not a regular file, such as a device, is written directly. Raise
    OutputError if it cannot be written (``instead`` is the advice in the message), or ConfigError while another command
    is writing it or if it is a store.
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
        raise  # the block's other output is no longer read; not an error of this file
    except OSError as error:
        raise unwritable(path, error, instead) from error


def write_parts(path: Path, parts: Iterable[bytes], inputs: Iterable[str | Path | None] = ()) -> None:
    """Write the parts of a file in sequence; raise ConfigError if it is one of the inputs."""
    refuse_inputs(path, inputs)
    with whole(path) as file:
        file.writelines(parts)


def put(content: Path | bytes, path: Path, coming: Path) -> None:
    """Write bytes or a copy of a file, named ``coming`` until complete; raise OutputError if it cannot be written."""
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
    """The ``FILE.partial`` of a file, locked so that no other command writes to it at the same time.

    Without locks it has a unique name until the end, and the last command to finish wins.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._kept = self.path = target.with_name(target.name + PARTIAL)
        self._settled = False
        self._locked = False
        self.file = self._claim()

    def _claim(self) -> IO[bytes]:
        while True:
            # Opened without truncating it, because another command may be writing it.
            file = open(self._kept, "wb", opener=lambda name, flags: os.open(name, flags & ~os.O_TRUNC, 0o666))  # noqa: SIM115
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
                file.close()  # another command has just renamed it
            except BlockingIOError as error:
                file.close()
                raise ConfigError(
                    f"{self._target}: another command is writing it; wait for it to end, or choose another file"
                ) from error

    def settle(self) -> None:
        """Give the file its final name."""
        self._rename(self._target)
        self._settled = True

    def _rename(self, name: Path | None) -> None:
        """Rename the file, or delete it if ``name`` is None."""
        if not self._locked:
            self.file.close()  # Windows cannot rename open files; a locked one stays open to keep the lock
        if name is None:
            self.path.unlink(missing_ok=True)
        else:
            self.path.replace(name)

    def end(self, *, keep: bool) -> None:
        """Close the file; unless it has its final name, delete it, or with ``keep`` leave it as ``FILE.partial``."""
        if not self._settled:
            with contextlib.suppress(OSError):  # a failed write has been reported
                self.file.flush()
            with contextlib.suppress(OSError):
                if not (keep and holds_anything(self.path)):
                    self._rename(None)
                elif self.path != self._kept:
                    self._rename(self._kept)
        with contextlib.suppress(OSError):
            self.file.close()


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def is_folder(name: str) -> bool:
    """Return whether a path is a folder or ends in ``/``."""
    return name.endswith(("/", os.sep)) or Path(name).is_dir()


def refuse_inputs(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Raise ConfigError if an input would be overwritten."""
    for name in inputs:
        if name is not None and str(name) != "-" and _same(path, Path(name)):
            raise ConfigError(f"{path} is an input of this command and would be overwritten; choose another file")


def _spare_store(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_file():
            with path.open("rb") as there:
                if there.read(len(MAGIC)) == MAGIC:
                    raise ConfigError(f"{path} is a store and would be overwritten; choose another file")


def _same(one: Path, other: Path) -> bool:
    try:
        return one.is_file() and one.samefile(other)
    except OSError:
        return False


def holds_anything(path: Path) -> bool:
    """Return whether a file exists and is not empty."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def locked(descriptor: int) -> bool:
    """Lock an open file or folder until it is closed; raise BlockingIOError if another process holds the lock.

    Return False if locking is not supported, as on Windows and some network folders; use a unique file name then.
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
    """Return the error for an output folder (``-o``) that cannot be written to."""
    return unwritable(path, error, OTHER_FOLDER, "cannot write to this folder")


def unwritable(
    path: Path | str, error: OSError, instead: str = OTHER_FILE, what: str = "cannot be written"
) -> OutputError:
    """Return the error for a file that cannot be written, with the advice ``instead`` (or to free space)."""
    way = f"free space or {instead}" if error.errno in _FULL else instead
    return OutputError(f"{path}: {what} ({error.strerror}); {way}", path=str(path))
