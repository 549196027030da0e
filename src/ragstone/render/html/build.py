"""A run as one file that is never larger than a browser opens with ease.

Promises: results are taken one at a time, and memory does not grow with their number but by the values of the groups;
where all of them would not fit, the lowest are kept, then their raw calls, and the page says what is missing and where
it can be seen.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from ragstone.analysis.run import Run
from ragstone.render.facts import RunFacts
from ragstone.render.html.case import calls_of, case_of, keys_of
from ragstone.render.html.document import Block, page, to_json
from ragstone.render.html.overview import overview_of
from ragstone.render.html.rows import PageRow, RowCounts, block_of, text_of

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


def report(run: Run, *, calls: bool = True, largest: int = LARGEST) -> list[bytes]:
    """The parts of a run's page, at most ``largest`` bytes of records and calls; ``calls``: with the raw ones."""
    told = RunFacts(run)
    counts = RowCounts(told.lead)
    kept = _Kept(told.ranked)
    kept.take(run, counts.rows(run.results()))
    first = overview_of(told, counts)
    metrics = [metric["name"] for metric in first["metrics"]]
    blocks = [
        Block(f"rows-{number}", to_json(block_of(part, metrics, first["fields"])))
        for number, part in enumerate(kept.parts())
    ]
    first["row_blocks"] = len(blocks)
    room = _Room(largest - sum(map(len, page("run", run.name, first, blocks))) - _MARGIN - 12 * len(kept))
    signatures = run.spec.get("signatures", {})
    cases, texts, raw = (_Packed(name, room) for name in ("cases", "texts", "calls"))
    keys: dict[int, list[bytes]] = {}
    for position, result in _each(run, kept.ranked()):
        if not cases.add(position, case_of(result, signatures)):
            break
        keys[position] = keys_of(result)
        texts.add(position, [position, text_of(result)])
    whole = cases.close()
    texts.close()
    if calls and whole:
        for position, of in keys.items():
            if of and not raw.add(position, calls_of(of, run.store)):
                break
        raw.close()
    first["cases"], first["calls"], first["text_blocks"] = cases.places, raw.places, len(texts.blocks)
    first["calls_wanted"] = calls
    return page("run", run.name, first, [*blocks, *cases.blocks, *texts.blocks, *raw.blocks])


class _Kept:
    """The rows of a report's table in the order of the input, packed: as objects, the most would take 200 MB."""

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._ranks: list[tuple[bool, float, int]] = []
        self._packed: list[bytes] = []
        self._part: list[PageRow] = []

    def __len__(self) -> int:
        return len(self._ranks)

    def take(self, run: Run, rows: Iterable[PageRow]) -> None:
        """Keep those of all rows that are in the file: the lowest, then those without a value."""
        low = {score.position for score in run.store.worst(run.id, self._metric, MOST_ROWS)}
        room = MOST_ROWS - len(low)
        for row in rows:
            value = row.scores.get(self._metric, (None, 0))[0]
            if row.position not in low:
                if not room or value is not None:
                    continue
                room -= 1
            self._ranks.append((value is None, value or 0.0, row.position))
            self._part.append(row)
            if len(self._part) == ROWS:
                self._pack()
        self._pack()

    def _pack(self) -> None:
        if self._part:
            self._packed.append(zlib.compress(to_json(self._part), 1))
            self._part = []

    def parts(self) -> Iterator[list[PageRow]]:
        """The rows in blocks."""
        for packed in self._packed:
            yield [PageRow(**row) for row in orjson.loads(zlib.decompress(packed))]

    def ranked(self) -> Iterator[int]:
        """The positions, the lowest first; those without a value behind them, in the order of the input."""
        return (position for _, _, position in sorted(self._ranks))


def _each(run: Run, positions: Iterable[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    for position in positions:
        found = run.store.result(run.id, position=position)
        if found is not None:
            yield position, orjson.loads(found.document)


@dataclass(slots=True)
class _Room:
    """Bytes that are left for several kinds of blocks."""

    left: int


class _Packed:
    """Blocks of one name as long as there is room for them, and the places of the records in each, in its order."""

    def __init__(self, name: str, room: _Room) -> None:
        self.blocks: list[Block] = []
        self.places: list[list[int]] = []
        self._name = name
        self._room = room
        self._part: list[tuple[int, bytes]] = []
        self._size = 0
        self._full = False

    def add(self, position: int, value: Any) -> bool:
        """Take in what is told of a record; False where it is left out with all that follows."""
        if not self._full:
            data = to_json(value)
            self._part.append((position, data))
            self._size += len(data)
            if self._size >= CHUNK:
                self.close()
        return not self._full

    def close(self) -> bool:
        """Pack what was gathered; False where anything was left out."""
        if self._part and not self._full:
            block = Block(f"{self._name}-{len(self.blocks)}", b"[%s]" % b",".join(data for _, data in self._part))
            self._full = len(block) > self._room.left
            if not self._full:
                self._room.left -= len(block)
                self.blocks.append(block)
                self.places.append([position for position, _ in self._part])
            self._part, self._size = [], 0
        return not self._full
