"""JSON Lines (``.jsonl``, ``.ndjson``): one object a line, blank lines passed over, LF or CRLF."""

from __future__ import annotations

from ragstone.errors import RecordError
from ragstone.records.bytestream import Origin
from ragstone.records.jsontext import WHITESPACE, row
from ragstone.records.limits import MAX_RECORD_BYTES
from ragstone.records.mapping import Mapper, Rows


def read(origin: Origin, mapper: Mapper) -> Rows:
    """Each line's place (``traces.jsonl:12``) with its row or its error; a bad line does not end the file."""
    del mapper  # a line says itself what is a list
    with origin.open() as stream:
        while line := stream.readline(MAX_RECORD_BYTES + 1):
            where = f"{origin.name}:{stream.lines}"
            if len(line) > MAX_RECORD_BYTES and not line.endswith(b"\n"):
                stream.skip_line()
                yield where, RecordError(where, f"a line of more than {MAX_RECORD_BYTES:,} bytes", "split the record")
            elif text := line.strip(WHITESPACE):
                yield where, row(text, where)
