"""Read bytes from files (plain, gzip or Zstandard) and standard input.

Errors of the operating system and the decompressors become a RecordError that says how far reading got. A stream that
cannot be read twice is first copied to a temporary file that only its owner can read.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, cast

from msgspec import Struct

from ragstone.errors import RecordError, reason
from ragstone.records.limits import CHUNK, MAX_BLANK_BYTES, MAX_SPOOL_BYTES

MOST_NAMES: Final = 10_000
"""Maximum number of names in a folder to search for a similar one."""
SOME_NAMES: Final = 3
"""Maximum number of names in a folder that a message lists."""
MAGIC: Final = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
COMPRESSIONS: Final = {".gz": "gzip", ".zst": "zstd"}
WHITESPACE: Final = b" \t\r\n"
"""White space between JSON tokens."""
UTF8_BOM: Final = b"\xef\xbb\xbf"
UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


class Stream:
    """A stream of decompressed bytes that counts the lines read and raises only RecordError."""

    def __init__(self, name: str, handle: BinaryIO, damages: tuple[type[Exception], ...]) -> None:
        """``damages`` are the errors that the decompressor raises on bad data."""
        self.name = name
        self.lines = 0
        self._handle = handle
        self._damages = damages
        self._started = False
        self._blank = 0

    def readline(self, limit: int) -> bytes:
        """Return the next line with its line ending, or its first ``limit`` bytes; empty at the end of the file."""
        line = self._guarded(self._handle.readline, limit)
        if line:
            self.lines += 1
        return line

    def filled_lines(self, largest: int, instead: str) -> Iterator[tuple[str, bytes | RecordError]]:
        """Yield each non-blank line, stripped, with its place.

        For a line of more than ``largest`` bytes, yield an error; ``instead`` is the advice in it.
        """
        while line := self.readline(largest + 1):
            where = f"{self.name}:{self.lines}"
            if len(line) > largest and not line.endswith(b"\n"):
                self.skip_line()
                yield where, RecordError(where, f"a line of more than {largest:,} bytes", instead)
            elif text := line.strip(WHITESPACE):
                yield where, text

    def skip_line(self) -> None:
        """Skip the rest of a line that is too long."""
        while (rest := self._guarded(self._handle.readline, CHUNK)) and not rest.endswith(b"\n"):
            pass

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole stream in chunks of at most `CHUNK` bytes, as soon as some are available."""
        while chunk := self._guarded(cast("io.BufferedReader", self._handle).read1, CHUNK):
            self.lines += chunk.count(b"\n")
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


class Origin(Struct, frozen=True):
    """A file that can be opened any number of times; ``name`` is its name in messages."""

    name: str
    path: Path
    suffix: str = ""
    """The extension in lower case, without that of the compression: ``.jsonl``."""
    compression: str = ""
    """``gzip``, ``zstd`` or empty, detected from the first bytes, never from the name alone."""

    def open(self) -> Stream:
        """Open the file as a decompressed stream; raise RecordError if it cannot be opened."""
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
        """Return some bytes, starting at the first that is not white space; empty for a blank file."""
        with self.open() as stream:
            return next((text for chunk in stream.chunks() if (text := chunk.lstrip(WHITESPACE))), b"")


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415
    else:
        from backports import zstd  # noqa: PLC0415
    return zstd


def origin_of(path: Path, *, name: str = "") -> Origin:
    """Check a file and detect its compression; raise RecordError if it is missing, unreadable, empty or a pipe."""
    try:
        if path.is_fifo():  # opening it could wait for ever
            found = "this is a pipe, which can be read only once"
            raise RecordError(str(path), found, "use standard input (-) or a file")
        with path.open("rb") as handle:
            head = handle.read(4)
    except IsADirectoryError:
        raise RecordError(str(path), "this is a directory", "specify one file in it") from None
    except FileNotFoundError as error:
        missing = reason(error) + ("" if path.suffix else " or folder")
        raise RecordError(str(path), missing, _nearest(path)) from None
    except OSError as error:
        raise RecordError(str(path), reason(error)) from None
    except ValueError:  # a NUL in the name
        raise RecordError(repr(str(path)), "not a file name") from None
    if not head:
        raise RecordError(name or str(path), "the input is empty", "expected at least one record")
    compression = next((kind for kind, magic in MAGIC.items() if head.startswith(magic)), "")
    ending = path.suffix.lower()
    if ending in COMPRESSIONS:
        if COMPRESSIONS[ending] != compression:
            found = f"named {ending}, but not {COMPRESSIONS[ending]} data"
            raise RecordError(str(path), found, "rename the file to match its content")
        ending = path.with_suffix("").suffix.lower()
    return Origin(name or path.name, path, ending, compression)


def _nearest(path: Path) -> str:
    """Suggest the file in the same folder with the most similar name, else list those with the same extension.

    A name with another extension has to be more similar.
    """
    if str(path) == "last":
        return "last is a run; specify a file with records"
    try:
        names = sorted(entry.name for entry in islice(path.parent.iterdir(), MOST_NAMES))
    except OSError:
        return f"there is no folder {path.parent} either"
    alike = [name for name in names if name.endswith(path.suffix)]
    stems = {name.removesuffix(path.suffix): name for name in alike}
    near = [stems[stem] for stem in difflib.get_close_matches(path.stem, stems, 1)]
    if near := near or difflib.get_close_matches(path.name, names, 1, 0.8):
        return f"did you mean {path.with_name(near[0])}?"
    where = "this folder" if path.parent == Path() else str(path.parent)
    more = f" and {len(alike) - SOME_NAMES} more" if len(alike) > SOME_NAMES else ""
    some = ", ".join(alike[:SOME_NAMES]) or f"no {path.suffix} file"
    return f"{where} has {some}{more}" if path.suffix else ""


def files_in(folder: Path) -> list[Path]:
    """Return the files of a folder sorted by name, without hidden ones; raise RecordError if it cannot be listed."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith(".") and path.is_file())
    except OSError as error:
        raise RecordError(str(folder), reason(error)) from None


def standard_input() -> Iterator[bytes]:
    """Yield the bytes of standard input; raise RecordError if there is none."""
    if sys.stdin is None:
        raise RecordError("stdin", "there is no standard input", "specify a file")
    binary = getattr(sys.stdin, "buffer", None)
    if binary is None:  # a program may have replaced it with a text stream
        yield sys.stdin.read().encode()
        return
    while chunk := binary.read(CHUNK):
        yield chunk


def _blank(so_far: int, data: bytes, where: str) -> int:
    """Return the number of white space bytes at the end of the data read so far; raise RecordError if too many."""
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
    """Create a temporary file (mode 0600), open for writing; it is deleted if the block raises.

    The name is chosen before the file is created, so that an interrupt cannot leave the file behind.
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

    Raise RecordError above `MAX_SPOOL_BYTES` or if the disk is full; in both cases the file is deleted.
    """
    with temporary(suffix) as handle:
        try:
            handle.writelines(_bounded(name, chunks))
            handle.flush()
        except OSError as error:
            folder = Path(handle.name).parent
            raise RecordError(name, f"cannot be copied to {folder}: {reason(error)}") from None
    return Path(handle.name)
