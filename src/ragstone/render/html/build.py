"""Build the report of a run as one file that is never too large for a browser.

Guarantees: results are read one at a time, and memory grows with their number only by the values of the groups. If not
all of them fit, the lowest are kept, then their raw calls, and the page says what is missing and where to see it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct, json

from ragstone.analysis.run import Run
from ragstone.render.facts import RunFacts
from ragstone.render.html.case import calls_of, case_of, keys_of
from ragstone.render.html.document import Block, page, to_json
from ragstone.render.html.overview import overview_of
from ragstone.render.html.rows import PageRow, RowCounts, block_of, text_of

LARGEST: Final = 50_000_000
"""Maximum size, in bytes, of a report."""
MOST_ROWS: Final = 50_000
"""Maximum number of records in a report's table."""
CHUNK: Final = 300_000
"""Size, in bytes of JSON, of a block of records, which is unpacked to show any of them."""
ROWS: Final = 2_000
"""Number of rows in a block."""
_MARGIN: Final = 2_000
"""Bytes reserved for the index of the blocks, in addition to a few per record."""


def report(run: Run, *, calls: bool = True, largest: int = LARGEST) -> list[bytes]:
    """Return the parts of a run's page, of at most ``largest`` bytes; ``calls`` includes the raw calls."""
    told = RunFacts(run)
    counts = RowCounts(told.lead)
    kept = _Kept(told.ranked)
    kept.take(run, counts.rows(run.results()))
    first = overview_of(told, counts)
    metrics = [metric["name"] for metric in first["metrics"]]
    causes = [cause.reason for cause in told.missing]
    blocks = [
        Block(f"rows-{number}", to_json(block_of(part, metrics, first["fields"], causes)))
        for number, part in enumerate(kept.parts())
    ]
    first["row_blocks"] = len(blocks)
    room = _Room(largest - sum(map(len, page("run", run.name, first, blocks))) - _MARGIN - 12 * len(kept))
    signatures = run.spec.get("signatures", {})
    cases, texts, raw = (_Packed(name, room) for name in ("cases", "texts", "calls"))
    keys: dict[int, list[bytes]] = {}
    for position in kept.ranked():
        result = run.at(position)
        if result is None or not cases.add(position, case_of(result, signatures)):
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
    """The rows of a report's table in input order, compressed: ``MOST_ROWS`` objects would take 200 MB."""

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._ranks: list[tuple[bool, float, int]] = []
        self._packed: list[bytes] = []
        self._part: list[PageRow] = []

    def __len__(self) -> int:
        return len(self._ranks)

    def take(self, run: Run, rows: Iterable[PageRow]) -> None:
        """Keep the rows that go into the file: the lowest, then those without a value."""
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
            self._packed.append(zlib.compress(json.encode(self._part), 1))
            self._part = []

    def parts(self) -> Iterator[list[PageRow]]:
        """Yield the rows in blocks."""
        for packed in self._packed:
            yield json.decode(zlib.decompress(packed), type=list[PageRow])

    def ranked(self) -> Iterator[int]:
        """Return the positions of the records, lowest value first; those without a value come last, in input order."""
        return (position for _, _, position in sorted(self._ranks))


class _Room(Struct):
    left: int


class _Packed:
    """Blocks of one kind, added as long as there is room, and the positions of the records in each, in order."""

    def __init__(self, name: str, room: _Room) -> None:
        self.blocks: list[Block] = []
        self.places: list[list[int]] = []
        self._name = name
        self._room = room
        self._part: list[tuple[int, bytes]] = []
        self._size = 0
        self._full = False

    def add(self, position: int, value: Any) -> bool:
        """Add the data of a record; return False if there is no more room: it and all following ones are left out."""
        if not self._full:
            data = to_json(value)
            self._part.append((position, data))
            self._size += len(data)
            if self._size >= CHUNK:
                self.close()
        return not self._full

    def close(self) -> bool:
        """Pack the collected data; return False if anything was left out."""
        if self._part and not self._full:
            block = Block(f"{self._name}-{len(self.blocks)}", b"[%s]" % b",".join(data for _, data in self._part))
            self._full = len(block) > self._room.left
            if not self._full:
                self._room.left -= len(block)
                self.blocks.append(block)
                self.places.append([position for position, _ in self._part])
            self._part, self._size = [], 0
        return not self._full
