"""Which keys are surely not among many: an answer from memory where asking the disk would mostly say no.

Promises: what was added is never said to be absent; the memory is half a megabyte, however many keys there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

MOST: Final = 200_000
"""Keys up to which it is of use: about one in a hundred that were never added is then taken for one that was."""
_BITS: Final = 1 << 22


class Sieve:
    """A Bloom filter (Bloom 1970, doi 10.1145/362686.362692) of keys that are digests of 6 bytes or more."""

    __slots__ = ("_bits", "_count")

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        self._bits = bytearray(_BITS // 8)
        self._count = 0
        self.add(keys)

    def add(self, keys: Iterable[bytes]) -> None:
        """Remember keys."""
        bits = self._bits
        for key in keys:
            first, second = _places(key)
            bits[first >> 3] |= 1 << (first & 7)
            bits[second >> 3] |= 1 << (second & 7)
            self._count += 1

    def lacks(self, key: bytes) -> bool:
        """Whether the key was surely never added; with more than ``MOST`` keys nothing is sure."""
        first, second = _places(key)
        bits = self._bits
        there = bits[first >> 3] >> (first & 7) & bits[second >> 3] >> (second & 7) & 1
        return not there and self._count <= MOST


def _places(key: bytes) -> tuple[int, int]:
    return int.from_bytes(key[:3], "little") % _BITS, int.from_bytes(key[3:6], "little") % _BITS
