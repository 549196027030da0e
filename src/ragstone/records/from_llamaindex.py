"""LlamaIndex responses: ``response`` and ``source_nodes``, alone or as the value of a row's response."""

from __future__ import annotations

from ragstone.records.jsontext import opened
from ragstone.records.mapping import Row

NODES = "source_nodes"


def is_response(row: Row) -> bool:
    """Return whether a row is such a response, or has one."""
    return any(isinstance(opened(part.get(NODES)), list) for part in _parts(row))


def record_row(row: Row) -> Row:
    """The row under canonical names."""
    rest = {name: value for name, value in row.items() if value not in row_parts(row)}
    for part in _parts(row):
        rest = {**part, **rest}
    rest["contexts"] = opened(rest.pop(NODES, None))
    return rest


def row_parts(row: Row) -> list[Row]:
    """The responses that stand in a row."""
    return [value for name, value in row.items() if name in ("response", "answer", "output") and _is_object(value)]


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and NODES in value


def _parts(row: Row) -> list[Row]:
    return [row, *row_parts(row)] if NODES in row else row_parts(row)
