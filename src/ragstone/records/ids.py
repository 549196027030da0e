"""Ids that are unique in a file: the second ``a`` becomes ``a#2``, the third ``a#3``.

Only a 64-bit hash of each id is kept, in 12 to 24 bytes: at most 24 MB for a million records, and no text.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

EXAMPLES: Final = 10

REPEATED: Final = "id: duplicate id; a number was added"


def first_repeated(names: Iterable[str]) -> str | None:
    """The first of some names that was there before, in linear time, since a header may be hostile."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


class Hashes:
    """A set of hashes in an open table: a Python set of them takes 70 bytes each."""

    def __init__(self) -> None:
        self._table = array("q", bytes(8 * 16))
        self._count = 0

    def add(self, key: int) -> bool:
        """Add a hash; False if it was there."""
        key = key or 1  # 0 is an empty place
        table, mask = self._table, len(self._table) - 1
        at = key & mask
        while held := table[at]:
            if held == key:
                return False
            at = (at + 1) & mask
        table[at] = key
        self._count += 1
        if 3 * self._count > 2 * len(table):
            self._grow()
        return True

    def _grow(self) -> None:
        old, self._table, self._count = self._table, array("q", bytes(16 * len(self._table))), 0
        for key in old:
            if key:
                self.add(key)


class Names:
    """Gives each record of one reading its id; the same order of ids always gives the same names."""

    def __init__(self) -> None:
        self.repeats: dict[str, int] = {}
        """The first few ids that came more than once, and how often."""
        self.renamed = 0
        self._seen = Hashes()
        self._next: dict[int, int] = {}

    def unique(self, wanted: str) -> str:
        """The id itself if it is new, else the id with the next free number."""
        key = hash(wanted)
        if self._seen.add(key):
            return wanted
        number = self._next.get(key, 2)
        while not self._seen.add(hash(name := f"{wanted}#{number}")):  # a record may be called a#2 by its own right
            number += 1
        self._next[key] = number + 1
        self.renamed += 1
        if wanted in self.repeats or len(self.repeats) < EXAMPLES:
            self.repeats[wanted] = self.repeats.get(wanted, 1) + 1
        return name
