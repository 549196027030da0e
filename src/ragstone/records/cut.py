"""Select a part of an input: the first records of each file, or a random sample by id.

Guarantees: every reading gives the same records in input order. The same seed samples the same ids from every file, so
that two systems are compared on the same questions. Memory grows with the sample, not with the input.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from hashlib import blake2b, sha256
from itertools import count
from typing import Final, NamedTuple

from msgspec import Struct

from ragstone.errors import ConfigError

SEED: Final = 0
MOST_SHARDS: Final = 100_000
Rank = tuple[int, int]
"""A record's position in the sampling order: a hash of its id, then its position in the file."""


class Cut(Struct, frozen=True):
    """The first ``limit`` records of each file, of which ``sample`` are drawn with ``seed``; None means all."""

    limit: int | None = None
    sample: int | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        """Raise ConfigError for a seed without a sample."""
        if self.seed is not None and self.sample is None:
            raise ConfigError("a seed only applies to a sample; add --sample N")

    def __bool__(self) -> bool:
        return self.limit is not None or self.sample is not None

    def rank(self, name: str, place: int) -> Rank:
        """Return a record's position in the sampling order; equal ids are drawn together, in file order."""
        text = f"{self.seed or SEED}\0{name}".encode("utf-8", "replace")
        return int.from_bytes(blake2b(text, digest_size=8).digest()), place

    def draw(self, names: Iterable[str]) -> Sample:
        """Read the ids of all records of a file once and return which ones are sampled."""
        assert self.sample is not None
        places = count(1)
        kept = heapq.nsmallest(self.sample, (self.rank(name, next(places)) for name in names))
        return Sample(kept[-1] if kept else (0, 0), len(kept), next(places) - 1)


class Shard(Struct, frozen=True):
    """The records whose id hashes to part ``number`` (from 1) of ``of`` parts, the same on every machine."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse ``7/256``; raise ConfigError if there is no such part."""
        number, slash, of = text.partition("/")
        known = slash and number.strip().isdecimal() and of.strip().isdecimal()
        if not known or not 1 <= int(number) <= int(of) <= MOST_SHARDS:
            raise ConfigError(
                f"--shard '{text}': expected NUMBER/TOTAL with NUMBER from 1 to TOTAL (at most "
                f"{MOST_SHARDS:,}), as in 7/256"
            )
        return cls(int(number), int(of))

    def has(self, record: str) -> bool:
        """Return whether the record with this id is in the shard."""
        digest = sha256(record.encode("utf-8", "replace")).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class Sample(NamedTuple):
    """The sample of a file: all records up to rank ``last``, which are ``records`` out of ``whole``."""

    last: Rank
    records: int
    whole: int
