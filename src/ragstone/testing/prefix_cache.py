"""The prompt cache of the fake server: how much of a request begins as an earlier one that was answered."""

from __future__ import annotations

import hashlib
from typing import Final

STEP: Final = 512
"""Bytes from one place to the next where a beginning can end: 128 tokens."""


class PrefixCache:
    """Beginnings of requests that were answered, by their hashes."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def add(self, said: bytes) -> None:
        """Remember all beginnings of a request, once its reply is out."""
        self._known.update(_beginnings(said))

    def read(self, said: bytes) -> int:
        """Return how many bytes of a request are known."""
        return STEP * sum(digest in self._known for digest in _beginnings(said))


def _beginnings(said: bytes) -> list[bytes]:
    hashed = hashlib.blake2b(digest_size=16)
    found = []
    for start in range(0, len(said) - STEP + 1, STEP):
        hashed.update(said[start : start + STEP])
        found.append(hashed.copy().digest())
    return found
