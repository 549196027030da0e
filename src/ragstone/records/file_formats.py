"""Detect file formats by the extension, else by the first bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from functools import partial
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from ragstone.errors import RecordError
from ragstone.records import delimited, frames, json_files
from ragstone.records.bytestream import COMPRESSIONS, Origin
from ragstone.records.fields import SPELLINGS
from ragstone.records.mapping import Mapper, Rows

Reader = Callable[[Origin, Mapper], Rows]

READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        ".jsonl": json_files.read_lines,
        ".ndjson": json_files.read_lines,
        ".json": json_files.read,
        ".csv": partial(delimited.read, usual=","),
        ".tsv": partial(delimited.read, usual="\t"),
        ".parquet": frames.read_parquet,
    }
)
"""All formats. To add one, add a module in this package and an entry here."""

JSON: Final = re.compile(rb'\{\s*["}]|\[\s*(["{\[\]\d-]|null|true|false)')
"""The beginning of a JSON file."""

SUPPORTED: Final = ", ".join(READERS) + ", each also with .gz or .zst"


def stem_of(path: PurePath, endings: Container[str] = READERS) -> PurePath:
    """Return a path without the extensions of its compression and format."""
    for known in (COMPRESSIONS, endings):
        if path.suffix.lower() in known:
            path = path.with_suffix("")
    return path


def reader_of(origin: Origin, columns: frozenset[str]) -> Reader:
    """Return the reader for a file; ``columns`` are mapped names that may identify the header of a table.

    Raise RecordError if neither the extension nor the content is known.
    """
    if origin.suffix in READERS:
        return READERS[origin.suffix]
    head = origin.head()
    if head.startswith(frames.PARQUET):
        return frames.read_parquet
    if JSON.match(head):  # not a TOML table, Markdown link or placeholder
        return json_files.read
    if not head:
        return json_files.read_lines  # reports the blank file
    # A table without an extension (standard input) is recognised if its header names a known field.
    known = columns.union(SPELLINGS.values())
    line = head.partition(b"\n")[0].decode(errors="replace")
    for delimiter in delimited.DELIMITERS:
        names = delimited.header_names(line, delimiter)
        if len(names) > 1 and known.intersection(names):
            return READERS[".tsv" if delimiter == "\t" else ".csv"]
    found = f"unknown file format '{origin.suffix}'" if origin.suffix else "the format cannot be detected"
    raise RecordError(origin.name, found, f"supported: {SUPPORTED}")
