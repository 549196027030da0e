"""Track requests to the fake server: tokens in a window for rate limits, prefixes for its prompt cache."""

from __future__ import annotations

import hashlib
import math
from collections import deque
from typing import Final

Entry = tuple[float, int]


class Meter:
    """Accepted requests and their tokens in a sliding window. Times are in seconds of a single clock."""

    def __init__(self) -> None:
        self._log: deque[Entry] = deque()
        self._tokens = 0

    def refusal(self, now: float, window: float, rpm: int | None, tpm: int | None, tokens: int) -> float:
        """Return the seconds until a request with this many tokens would be accepted; 0: now."""
        self._forget(now - window)
        requests, held = len(self._log), self._tokens
        if (rpm is None or requests < rpm) and (tpm is None or held + tokens <= tpm or not self._log):
            return 0.0
        for at, taken in self._log:
            requests, held = requests - 1, held - taken
            if (rpm is None or requests < rpm) and (tpm is None or held + tokens <= tpm):
                return at + window - now
        return self._log[-1][0] + window - now if self._log else window

    def take(self, now: float, tokens: int) -> None:
        """Count an accepted request, with the tokens of the request and its reply."""
        self._log.append((now, tokens))
        self._tokens += tokens

    def headers(self, now: float, window: float, rpm: int | None, tpm: int | None) -> dict[str, str]:
        """Return the rate-limit headers: limit, remaining, and time until the reset."""
        self._forget(now - window)
        reset = f"{self._log[-1][0] + window - now:.3f}s" if self._log else "0s"
        said: dict[str, str] = {}
        for kind, limit, used in (("requests", rpm, len(self._log)), ("tokens", tpm, self._tokens)):
            if limit is not None:
                said[f"x-ratelimit-limit-{kind}"] = str(limit)
                said[f"x-ratelimit-remaining-{kind}"] = str(max(0, limit - used))
                said[f"x-ratelimit-reset-{kind}"] = reset
        return said

    def _forget(self, before: float) -> None:
        while self._log and self._log[0][0] <= before:
            self._tokens -= self._log.popleft()[1]


def asked_to_wait(seconds: float) -> dict[str, str]:
    """Return the headers that say how long to wait, in whole seconds and in milliseconds."""
    return {"Retry-After": str(math.ceil(seconds)), "retry-after-ms": str(math.ceil(1000 * seconds))}


STEP: Final = 512
"""Prefixes are multiples of this many bytes (128 tokens)."""


class PrefixCache:
    """The hashes of the prefixes of answered requests."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def add(self, schema: bytes, said: bytes) -> None:
        """Remember all prefixes of an answered request."""
        self._known.update(_beginnings(schema, said))

    def read(self, schema: bytes, said: bytes) -> int:
        """Return the number of bytes in the longest known prefix of a request with the same schema."""
        return STEP * sum(digest in self._known for digest in _beginnings(schema, said))


def _beginnings(schema: bytes, said: bytes) -> list[bytes]:
    hashed = hashlib.blake2b(schema, digest_size=16)
    found = []
    for start in range(0, len(said) - STEP + 1, STEP):
        hashed.update(said[start : start + STEP])
        found.append(hashed.copy().digest())
    return found
