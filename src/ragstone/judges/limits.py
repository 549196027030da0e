"""Read rate-limit headers: how long to wait, and how much of a limit is left.

Read from the headers of any reply, good or bad. What cannot be read is as if it were not said: a header never
fails a call. Sources: RFC 9110, 10.2.3 for Retry-After; the ``x-ratelimit-*`` headers as OpenAI documents them,
with the forms that other endpoints give the same names.
"""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import Final

from ragstone.judges.base import Allowance, Left

_LENGTHS: Final = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "ns": 1e-9}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|us|ns|d|h|m|s)")
_EPOCH: Final = 1_000_000_000.0
"""A plain number this large is a time of day in seconds since 1970, not a duration; 1,000 times it, milliseconds."""
LONGEST_WAIT: Final = 86_400.0
"""A day, in seconds: a longer wait is taken for one of a day, which nobody waits for either."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of ``retry-after-ms`` or Retry-After; None if there is none."""
    given = ""
    for name, unit in (("retry-after-ms", 1000.0), ("Retry-After", 1.0)):
        given = headers.get(name, "").strip()
        try:
            seconds = float(given)
        except ValueError:
            continue
        if math.isfinite(seconds):
            return min(max(0.0, seconds / unit), LONGEST_WAIT)
    try:
        return min(max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - time.time()), LONGEST_WAIT)
    except (ValueError, TypeError, OverflowError):
        return None


def asked_to_wait(seconds: float | None) -> str:
    """Put such a wait in words; empty if there is none."""
    if not seconds:
        return ""
    return f"the endpoint asks to wait {'a day or more' if seconds >= LONGEST_WAIT else f'{math.ceil(seconds)} s'}"


def allowance(headers: Mapping[str, str]) -> Allowance | None:
    """Return what is left of the endpoint's own limits; None if it does not say."""
    requests = headers.get("x-ratelimit-remaining-requests")
    tokens = headers.get("x-ratelimit-remaining-tokens")
    if requests is None and tokens is None:
        return None
    return Allowance(_left(headers, "requests", requests), _left(headers, "tokens", tokens))


def _left(headers: Mapping[str, str], what: str, remaining: str | None) -> Left | None:
    """Return None if the reset is missing: waiting for it would never end."""
    amount = _number(remaining or "")
    seconds = duration(headers.get(f"x-ratelimit-reset-{what}", ""))
    if amount is None or seconds is None:
        return None
    return Left(int(amount), seconds, int(_number(headers.get(f"x-ratelimit-limit-{what}", "")) or 0))


def duration(text: str) -> float | None:
    """Parse ``6m0s``, ``20ms``, a number of seconds, or a time since 1970 in seconds or milliseconds."""
    text = text.strip()
    plain = _number(text)
    if plain is not None:
        if plain >= 1000 * _EPOCH:
            plain /= 1000
        return max(0.0, plain - time.time()) if plain >= _EPOCH else plain
    parts = _DURATION.findall(text[:100])
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    seconds = sum(float(number) * _LENGTHS[unit] for number, unit in parts)
    return seconds if math.isfinite(seconds) else None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
