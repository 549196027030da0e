"""Bytes of a file, plain or compressed with gzip or Zstandard; of a pipe; or of standard input.

What the operating system and the decompressors raise becomes a RecordError that says how far the reading
came. A stream that cannot be read twice is first copied to a temporary file that only its owner may read.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, cast

from ragstone.errors import RecordError
from ragstone.records.limits import CHUNK, MAX_BLANK_BYTES, MAX_SPOOL_BYTES, WRITER_WAIT

MOST_NAMES: Final = 10_000
"""Names in a folder that are looked through for one like it."""
SOME_NAMES: Final = 3
"""Names in a folder that a message lists."""
MAGIC: Final = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
COMPRESSIONS: Final = {".gz": "gzip", ".zst": "zstd"}
WHITESPACE: Final = b" \t\r\n"
"""What JSON may have between its parts."""
UTF8_BOM: Final = b"\xef\xbb\xbf"
UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


class Stream:
    """Decompressed bytes, which know how many lines were read and raise nothing but RecordError."""

    def __init__(self, name: str, handle: BinaryIO, damages: tuple[type[Exception], ...]) -> None:
        """``damages`` are the errors that the decompressor raises on bad data."""
        self.name = name
        self.lines = 0
        self._handle = handle
        self._damages = damages
        self._started = False
        self._blank = 0

    def readline(self, limit: int) -> bytes:
        """The next line with its end, or its first ``limit`` bytes; empty at the end of the file."""
        line = self._guarded(self._handle.readline, limit)
        if line:
            self.lines += 1
        return line

    def filled_lines(self, largest: int, instead: str) -> Iterator[tuple[str, bytes | RecordError]]:
        """Each line that is not blank, stripped, with its place; for one of more bytes an error, ``instead`` in it."""
        while line := self.readline(largest + 1):
            where = f"{self.name}:{self.lines}"
            if len(line) > largest and not line.endswith(b"\n"):
                self.skip_line()
                yield where, RecordError(where, f"a line of more than {largest:,} bytes", instead)
            elif text := line.strip(WHITESPACE):
                yield where, text

    def skip_line(self) -> None:
        """Pass over the rest of a line that was too long to be read."""
        while (rest := self._guarded(self._handle.readline, CHUNK)) and not rest.endswith(b"\n"):
            pass

    def read(self) -> bytes:
        """Some bytes, at most `CHUNK`, whatever is at hand first; empty at the end of the file."""
        chunk = self._guarded(cast("io.BufferedReader", self._handle).read1, CHUNK)
        self.lines += chunk.count(b"\n")
        return chunk

    def chunks(self) -> Iterator[bytes]:
        """All of it, piece by piece."""
        while chunk := self.read():
            yield chunk

    def _guarded(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            data = read(size)
        except EOFError:
            raise RecordError(self._place, "the compressed data ends early", "fetch or copy the file again") from None
        except self._damages as error:
            raise RecordError(self._place, f"the file is damaged: {error}", "fetch or copy it again") from None
        if not self._started:
            self._started = True
            if data.startswith(UTF16_BOMS):
                raise RecordError(self.name, "text in UTF-16 or UTF-32", "save the file as UTF-8")
            data = data.removeprefix(UTF8_BOM)
        self._blank = _blank(self._blank, data, self._place)
        return data

    @property
    def _place(self) -> str:
        return f"{self.name} after line {self.lines}" if self.lines else self.name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()


@dataclass(frozen=True, slots=True)
class Origin:
    """A file that can be opened any number of times; ``name`` is what messages call it."""

    name: str
    path: Path
    suffix: str = ""
    """The extension without that of a compression, in lower case: ``.jsonl``."""
    compression: str = ""
    """``gzip``, ``zstd`` or nothing: from the first bytes, never from the name alone."""

    def open(self) -> Stream:
        """Its bytes, decompressed; RecordError if it cannot be opened."""
        try:
            if self.compression == "gzip":
                import gzip  # noqa: PLC0415 - most files need no decompressor

                return Stream(self.name, cast("BinaryIO", gzip.open(self.path)), (OSError, zlib.error))
            if self.compression == "zstd":
                zstd = _zstd()
                return Stream(self.name, zstd.ZstdFile(self.path), (OSError, zstd.ZstdError))
            return Stream(self.name, self.path.open("rb", buffering=CHUNK), (OSError,))
        except OSError as error:
            raise RecordError(str(self.path), reason(error)) from None

    def head(self) -> bytes:
        """Some bytes from the first on that is no white space; empty for a blank file."""
        with self.open() as stream:
            return next((text for chunk in stream.chunks() if (text := chunk.lstrip(WHITESPACE))), b"")


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415
    else:
        from backports import zstd  # noqa: PLC0415
    return zstd


def origin_of(path: Path, *, name: str = "") -> Origin:
    """Look at a file: is it there, readable, not empty, and how is it compressed; RecordError if not."""
    try:
        with path.open("rb") as handle:
            head = handle.read(4)
    except IsADirectoryError:
        raise RecordError(str(path), "this is a directory", "name one file in it") from None
    except FileNotFoundError as error:
        found = reason(error) + ("" if path.suffix else " or folder")
        raise RecordError(str(path), found, _nearest(path)) from None
    except OSError as error:
        raise RecordError(str(path), reason(error)) from None
    except ValueError:  # a NUL in the name
        raise RecordError(repr(str(path)), "not a file name") from None
    if not head:
        raise RecordError(name or str(path), "the file is empty", "expected at least one record")
    compression = next((kind for kind, magic in MAGIC.items() if head.startswith(magic)), "")
    ending = path.suffix.lower()
    if ending in COMPRESSIONS:
        if COMPRESSIONS[ending] != compression:
            raise RecordError(
                str(path),
                f"named {ending}, but not {COMPRESSIONS[ending]} data",
                "rename the file to match its content",
            )
        ending = path.with_suffix("").suffix.lower()
    return Origin(name or path.name, path, ending, compression)


def _nearest(path: Path) -> str:
    """The file beside it whose name is most like it, as a question; where none is like it, those with its ending."""
    import difflib  # noqa: PLC0415 - only a mistake needs it

    try:
        names = sorted(entry.name for entry in islice(path.parent.iterdir(), MOST_NAMES))
    except OSError:
        return f"there is no folder {path.parent} either"
    if near := difflib.get_close_matches(path.name, names, 1):
        return f"did you mean {path.with_name(near[0])}?"
    where = "this folder" if path.parent == Path() else str(path.parent)
    alike = [name for name in names if path.suffix and name.endswith(path.suffix)]
    more = f" and {len(alike) - SOME_NAMES} more" if len(alike) > SOME_NAMES else ""
    some = ", ".join(alike[:SOME_NAMES]) or f"no {path.suffix} file"
    return f"{where} has {some}{more}" if path.suffix else ""


def reason(error: OSError) -> str:
    """Return the operating system's message in one line."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    return error.strerror or str(error)


def files_in(folder: Path) -> list[Path]:
    """The files of a folder in the order of their names, without hidden ones; RecordError if it cannot be listed."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith(".") and path.is_file())
    except OSError as error:
        raise RecordError(str(folder), reason(error)) from None


def is_pipe(path: Path) -> bool:
    """Return whether a path is something to be read once (a named pipe, ``/dev/stdin``), which is no file."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def standard_input() -> Iterator[bytes]:
    """The bytes of standard input; RecordError where there is none."""
    if sys.stdin is None:
        raise RecordError("stdin", "there is no standard input", "name a file")
    binary = getattr(sys.stdin, "buffer", None)
    if binary is None:  # a program may have put a stream of text there
        yield sys.stdin.read().encode()
        return
    while chunk := binary.read(CHUNK):
        yield chunk


def pipe(path: Path) -> Iterator[bytes]:
    """The bytes of a pipe; RecordError where it has a name and nobody writes to it for `WRITER_WAIT` seconds."""
    end = time.monotonic() + WRITER_WAIT
    named = path.resolve().exists()  # else nobody can begin to write who does not yet
    try:
        # Opened as it is, or opening would wait for a writer, however long it takes.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as handle:
            # No bytes mean no writer yet; of one that has not written there is None.
            while (chunk := handle.read(CHUNK)) == b"" and named:
                if time.monotonic() > end:
                    raise RecordError(
                        str(path), f"no data in the pipe for {WRITER_WAIT:g} s", "start the program that writes to it"
                    )
                time.sleep(0.05)
            os.set_blocking(handle.fileno(), True)
            if chunk:
                yield chunk
            while chunk := handle.read(CHUNK):
                yield chunk
    except OSError as error:
        raise RecordError(str(path), reason(error)) from None


def _blank(so_far: int, data: bytes, where: str) -> int:
    """Count the bytes of white space at the end of the data read so far; RecordError for too many."""
    count = so_far + len(data) if data.isspace() else 0
    if count > MAX_BLANK_BYTES:
        raise RecordError(where, f"more than {MAX_BLANK_BYTES:,} bytes of white space", "expected a record")
    return count


def _bounded(name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    written = blank = 0
    for chunk in chunks:
        blank = _blank(blank, chunk, name)
        written += len(chunk)
        if written > MAX_SPOOL_BYTES:
            raise RecordError(name, f"more than {MAX_SPOOL_BYTES:,} bytes", "give a file, not a stream")
        yield chunk


@contextmanager
def temporary(suffix: str = "") -> Iterator[BinaryIO]:
    """A new temporary file (mode 0600), open for writing, which is deleted unless the block ends well.

    Its name is chosen first, so that no interrupt finds a file that nobody deletes.
    """
    import tempfile  # noqa: PLC0415 - only what cannot be read twice needs it

    path = Path(tempfile.gettempdir(), f"ragstone-{os.urandom(8).hex()}{suffix}")
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as handle:
            yield handle
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def spool(name: str, chunks: Iterable[bytes], *, suffix: str = "") -> Path:
    """Copy a stream to a new temporary file (mode 0600) and return its path; the caller deletes it.

    RecordError above `MAX_SPOOL_BYTES` or when the disk is full; nothing is left behind then.
    """
    with temporary(suffix) as handle:
        try:
            handle.writelines(_bounded(name, chunks))
            handle.flush()
        except OSError as error:
            folder = Path(handle.name).parent
            raise RecordError(name, f"cannot be copied to {folder}: {reason(error)}") from None
    return Path(handle.name)
