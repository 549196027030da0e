"""Inputs that tests write and read: their records, what is set aside of them, and the line that refuses one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragstone.errors import RecordError
from ragstone.records import open_records
from ragstone.types import Record


def written(folder: Path, data: bytes | str, name: str = "x.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def outcomes(source: Any, **options: Any) -> list[Any]:
    """The records of a source, and what is set aside."""
    with open_records(source, **options) as opened:
        return list(opened)


def records(source: Any, **options: Any) -> list[Record]:
    """The records of a source."""
    return [outcome for outcome in outcomes(source, **options) if isinstance(outcome, Record)]


def record_of(row: Any, **options: Any) -> Record:
    """The record of a row."""
    (record,) = outcomes([row], **options)
    assert isinstance(record, Record)
    return record


def refusal(source: Any) -> str:
    """The one line with which a source is refused."""
    with pytest.raises(RecordError) as caught:
        outcomes(source)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 300
    return text
