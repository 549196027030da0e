"""Make ids unique: the second ``a`` becomes ``a#2``, the third ``a#3``.

Only a 64-bit hash of each id is kept, in 12 to 18 bytes: at most 18 MB for a million records.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Final

EXAMPLES: Final = 10

REPEATED: Final = "id: duplicate id; a number was added"


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first repeated name, or None, in linear time because input is untrusted."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


class Hashes:
    """A set of hashes in an open-addressing table; a Python set takes 70 bytes per hash."""

    def __init__(self) -> None:
        self._table = array("q", bytes(8 * 16))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: int) -> bool:
        return self._table[self._place(key or 1)] != 0

    def add(self, key: int) -> bool:
        """Add a hash; return False if it is already in the set."""
        key = key or 1  # 0 marks an empty slot
        at = self._place(key)
        if self._table[at]:
            return False
        self._table[at] = key
        self._count += 1
        if 3 * self._count > 2 * len(self._table):
            self._grow()
        return True

    def _place(self, key: int) -> int:
        """Return where a hash is, or the empty slot where it would be."""
        table = self._table
        size = len(table)
        at = key % size
        while (held := table[at]) and held != key:
            at = (at + 1) % size
        return at

    def _grow(self) -> None:
        old, self._table, self._count = self._table, array("q", bytes(8 * (len(self._table) * 3 // 2))), 0
        for key in old:
            if key:
                self.add(key)


class Names:
    """Assigns unique ids to the records of one reading; the same sequence of ids always gives the same names."""

    def __init__(self) -> None:
        self.repeats: dict[str, int] = {}
        """The first few repeated ids with their counts."""
        self.renamed = 0
        self._seen = Hashes()
        self._next: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def unique(self, wanted: str) -> str:
        """Return the id itself if it is new, else the id with the next free number."""
        key = hash(wanted)
        if self._seen.add(key):
            return wanted
        number = self._next.get(key, 2)
        while not self._seen.add(hash(name := f"{wanted}#{number}")):  # a record's own id may be a#2
            number += 1
        self._next[key] = number + 1
        self.renamed += 1
        if wanted in self.repeats or len(self.repeats) < EXAMPLES:
            self.repeats[wanted] = self.repeats.get(wanted, 1) + 1
        return name
