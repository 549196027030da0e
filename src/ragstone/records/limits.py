"""Limits for input files; a value beyond its limit is refused with an error, not truncated."""

from __future__ import annotations

from typing import Final

MAX_RECORD_BYTES: Final = 64 * 2**20
"""Maximum size of a record: a JSON line, an item of a JSON array, or a table row as JSON. 64 MiB."""


MAX_DEPTH: Final = 100
"""Maximum nesting depth; the serializer of results stops at 254 levels, including those that results add."""

MAX_SPOOL_BYTES: Final = 16 * 2**30
"""Maximum size of a temporary copy of standard input, a compressed Parquet file or an iterator. 16 GiB."""

MAX_BLANK_BYTES: Final = 2**20
"""Maximum length of a run of white space, such as blank lines. 1 MiB."""

CHUNK: Final = 2**18
"""Bytes read at a time. 256 KiB."""
