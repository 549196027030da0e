"""Merge the calls of several stores into one, as if one machine had made them.

Guarantees: a call that only one store has, or that all have with the same reply, is copied. If replies to the same call
differ, the one used by the earliest record in the input wins, regardless of the order of the stores.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import orjson

from ragstone.errors import StoreError
from ragstone.store import connection as file
from ragstone.store.database import Store

_COLUMNS: Final = "key, judge, task, maker, request, reply, at"


def copy(store: Path, to: Path) -> None:
    """Write everything committed in a store to a new file, without unused space; raise StoreError if that fails."""
    try:
        with contextlib.closing(file.connect(str(store))) as source:
            source.execute("VACUUM INTO ?", (str(to),))
    except sqlite3.Error as error:
        raise file.trouble(str(store), error, "cannot copy the store") from error


def unite(into: Path | str, parts: Iterable[Callable[[], Path]]) -> int:
    """Copy the calls of the parts' stores to a store, replacing its own replies to the same calls.

    Each part is a function that returns its file; it is called a second time if replies differ. Returns the number of
    calls with different replies. Raises StoreError if a file cannot be read.
    """
    parts = list(parts)
    with Store(into), contextlib.closing(file.connect(str(into))) as target:
        disputed = set().union(*(_copy(target, part()) for part in parts))
        best: dict[bytes, tuple[int, tuple[object, ...]]] = {}
        for part in parts if disputed else ():
            path = part()
            first = _first_uses(path, disputed)
            with _attached(target, path):
                for row in target.execute(f"SELECT {_COLUMNS} FROM part.calls"):
                    place = first.get(row[0])
                    if place is not None and (row[0] not in best or place < best[row[0]][0]):
                        best[row[0]] = place, row
        target.executemany(
            f"INSERT OR REPLACE INTO calls ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", [row for _, row in best.values()]
        )
    return len(disputed)


def _copy(target: sqlite3.Connection, path: Path) -> set[bytes]:
    """Copy a part's calls; return the keys of those that had another reply."""
    with _attached(target, path):
        other = "SELECT p.key FROM part.calls AS p JOIN main.calls AS m USING (key) WHERE p.reply != m.reply"
        different = {key for (key,) in target.execute(other)}
        target.execute(
            f"INSERT OR REPLACE INTO main.calls ({_COLUMNS}) SELECT {_COLUMNS} FROM part.calls AS p WHERE NOT EXISTS"
            " (SELECT 1 FROM main.calls AS m WHERE m.key = p.key AND m.reply = p.reply)"
        )
    return different


def _first_uses(path: Path, keys: set[bytes]) -> dict[bytes, int]:
    """Return, for each of these calls, the first position in the input that uses it in the last run of a part."""
    found: dict[bytes, int] = {}
    with Store(path, renew=False) as part:
        for row in part.results(part.runs()[-1].id):
            for call in orjson.loads(row.document).get("calls", ()):
                key = bytes.fromhex(call["key"])
                if key in keys:
                    found.setdefault(key, row.position)
    return found


@contextlib.contextmanager
def _attached(target: sqlite3.Connection, path: Path) -> Iterator[None]:
    try:
        target.execute("ATTACH ? AS part", (str(path),))
        try:
            yield
        finally:
            target.execute("DETACH part")
    except sqlite3.Error as error:
        raise StoreError(f"{path}: cannot be merged ({error})") from error
