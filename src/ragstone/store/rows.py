"""What the store keeps, as its callers see it: calls with their keys, results, scores, runs and counts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

MOST_REPEATS: Final = 100
"""The most times that a run asks everything."""


def call_key(judge: str, maker: str, repeat: int, request: bytes) -> bytes:
    """16 bytes that stand for a call in the store."""
    return hashlib.blake2b(f"{judge}\0{maker}\0{repeat}\0".encode() + request, digest_size=16).digest()


class ScoreRow(NamedTuple):
    """One score as the store keeps it for means and lists; its verdicts are in the result's document.

    ``repeats`` is JSON with the ``values`` of every time and the counts of ``units``, ``flips`` and ``unmatched``;
    None where all was asked once.
    """

    metric: str
    position: int
    value: float | None
    status: str
    asked: int
    unjudged: int
    low: float | None
    high: float | None
    outcome: str | None
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    repeats: str | None = None


class ResultRow(NamedTuple):
    """One record's result: its place in the input (from 1), its id, and its line of results.jsonl."""

    position: int
    record: str
    document: bytes


class CallRow(NamedTuple):
    """One paid call; ``request`` and ``reply`` are JSON."""

    key: bytes
    judge: str
    task: str
    maker: str
    request: bytes
    reply: bytes


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run; ``summary`` is None while it has not ended."""

    id: int
    name: str
    started: float
    finished: float | None
    status: str
    spec: dict[str, Any]
    summary: dict[str, Any] | None


class CallGroup(NamedTuple):
    """Stored calls that are alike: how many, the bytes that they take, and the times of the oldest and newest."""

    judge: str
    task: str
    maker: str
    calls: int
    bytes: int
    oldest: float
    newest: float


@dataclass(frozen=True, slots=True)
class Which:
    """Stored calls: those from ``before`` a time, of one ``judge``, ``unused`` ones; what is not said picks all."""

    before: float | None = None
    judge: str = ""
    unused: bool = False
