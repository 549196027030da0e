"""Ids that are unique in a file: the second ``a`` becomes ``a#2``, the third ``a#3``.

Only a 64-bit hash of each id is kept, about 80 bytes as Python holds it: some 76 MB for a million records, no text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

EXAMPLES: Final = 10

REPEATED: Final = "id: not the first of this id; a number was added"


def first_repeated(names: Iterable[str]) -> str | None:
    """The first of some names that was there before, in linear time, since a header may be hostile."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


class Names:
    """Gives each record of one reading its id; the same order of ids always gives the same names."""

    def __init__(self) -> None:
        self.repeats: dict[str, int] = {}
        """The first few ids that came more than once, and how often."""
        self.renamed = 0
        self._seen: set[int] = set()
        self._next: dict[int, int] = {}

    def unique(self, wanted: str) -> str:
        """The id itself if it is new, else the id with the next free number."""
        key = hash(wanted)
        if key not in self._seen:
            self._seen.add(key)
            return wanted
        number = self._next.get(key, 2)
        while hash(name := f"{wanted}#{number}") in self._seen:  # a record may be called a#2 by its own right
            number += 1
        self._seen.add(hash(name))
        self._next[key] = number + 1
        self.renamed += 1
        if wanted in self.repeats or len(self.repeats) < EXAMPLES:
            self.repeats[wanted] = self.repeats.get(wanted, 1) + 1
        return name
