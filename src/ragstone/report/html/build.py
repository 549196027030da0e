"""A run as one file that is never larger than a browser opens with ease.

Promises: results are taken one at a time; where all of them would not fit, the lowest are kept, then their raw calls,
and the page says what is missing and where it can be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from ragstone.report.html.case import calls_of, case_of, keys_of
from ragstone.report.html.document import Block, page, to_json
from ragstone.report.html.overview import Readings, overview_of
from ragstone.report.html.rows import Fields, Row, block_of, row_of
from ragstone.report.run import Run

LARGEST: Final = 50_000_000
"""Bytes of a report."""
MOST_ROWS: Final = 50_000
"""Records that a report's table has at most."""
CHUNK: Final = 300_000
"""Bytes of JSON in a block of records: what is unpacked to show one of them."""
ROWS: Final = 2_000
"""Rows in a block."""
_MARGIN: Final = 2_000
"""Bytes kept for what is said of the blocks themselves, besides a few for each record."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over a run's results tells: its rows, the fields to group by, how replies were read."""

    rows: Sequence[Row]
    fields: Sequence[str]
    readings: Readings


def surveyed(results: Iterable[Mapping[str, Any]]) -> Survey:
    """Read the results once."""
    fields, readings, rows = Fields(), Readings(), []
    for result in results:
        row = row_of(result)
        fields.add(row)
        readings.add(result)
        rows.append(row)
    return Survey(rows, fields.names, readings)


def report(run: Run, *, calls: bool = True, largest: int = LARGEST) -> list[bytes]:
    """The parts of a run's page, at most ``largest`` bytes of records and calls; ``calls``: with the raw ones."""
    told = surveyed(run.results())
    first = overview_of(run, told.rows, told.fields, told.readings)
    metrics = [metric["name"] for metric in first["metrics"]]
    order = ranked(told.rows, first["ranked"])
    rows = sorted(order[:MOST_ROWS], key=lambda row: row.position)
    blocks = [
        Block(f"rows-{number}", to_json(block_of(part, metrics, told.fields)))
        for number, part in enumerate(_parts(rows, ROWS))
    ]
    first["row_blocks"] = len(blocks)
    room = largest - sum(map(len, page("run", run.name, first, blocks))) - _MARGIN - 12 * len(rows)
    signatures = run.spec.get("signatures", {})
    keys: dict[int, list[bytes]] = {}

    def cases() -> Iterator[tuple[int, Any]]:
        for position, result in _each(run, order):
            keys[position] = keys_of(result)
            yield position, case_of(result, signatures)

    found, first["cases"] = _filled("cases", cases(), room)
    blocks += found
    if calls and sum(map(len, first["cases"])) == len(order):
        raw = ((position, calls_of(of, run.store)) for position, of in keys.items() if of)
        more, first["calls"] = _filled("calls", raw, room - sum(map(len, found)))
        blocks += more
    first["calls_wanted"] = calls
    return page("run", run.name, first, blocks)


def ranked(rows: Iterable[Row], metric: str) -> list[Row]:
    """The lowest first; those without a value behind them, in the order of the input."""

    def place(row: Row) -> tuple[bool, float, int]:
        value = row.scores.get(metric, (None, 0))[0]
        return value is None, value or 0.0, row.position

    return sorted(rows, key=place)


def _each(run: Run, rows: Iterable[Row]) -> Iterator[tuple[int, dict[str, Any]]]:
    for row in rows:
        found = run.store.result(run.id, position=row.position)
        if found is not None:
            yield row.position, orjson.loads(found.document)


def _filled(name: str, found: Iterable[tuple[int, Any]], room: int) -> tuple[list[Block], list[list[int]]]:
    """Blocks as long as there is room, and the places of the records in each, in its order."""
    blocks: list[Block] = []
    places: list[list[int]] = []
    for part in _chunks(found):
        block = Block(f"{name}-{len(blocks)}", b"[%s]" % b",".join(data for _, data in part))
        room -= len(block)
        if room < 0:
            break
        blocks.append(block)
        places.append([position for position, _ in part])
    return blocks, places


def _chunks(found: Iterable[tuple[int, Any]]) -> Iterator[list[tuple[int, bytes]]]:
    part: list[tuple[int, bytes]] = []
    size = 0
    for position, value in found:
        data = to_json(value)
        part.append((position, data))
        size += len(data)
        if size >= CHUNK:
            yield part
            part, size = [], 0
    if part:
        yield part


def _parts(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
