"""Limits for input files; a value beyond its limit is refused by name, not truncated."""

from __future__ import annotations

from typing import Final

MAX_RECORD_BYTES: Final = 64 * 2**20
"""One record: a JSON line, an item of a JSON array, or a row of a table as JSON. 64 MiB."""

MAX_CELL_CHARACTERS: Final = MAX_RECORD_BYTES
"""One cell of a CSV file; Python's own limit is 131,072 characters, less than a long list of passages."""

MAX_DEPTH: Final = 100
"""Levels of nesting; results are written by a serializer that stops at 254, with levels of its own."""

MAX_SPOOL_BYTES: Final = 16 * 2**30
"""What may be written to a temporary file: standard input, a compressed Parquet file, an iterator. 16 GiB."""

MAX_BLANK_BYTES: Final = 2**20
"""White space in a row, as of blank lines. 1 MiB."""

WRITER_WAIT: Final = 30.0
"""Seconds that a named pipe may be without a writer before its first byte."""

CHUNK: Final = 2**18
"""Bytes read at a time. 256 KiB."""
