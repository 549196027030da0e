"""Read rate-limit headers: how long to wait, and how much of a limit is left.

Headers of any reply are read, whether it succeeded or not. Unreadable headers are ignored: a header never fails a call.
Sources: RFC 9110, 10.2.3 for Retry-After; OpenAI's documentation for the ``x-ratelimit-*`` headers, plus variants that
other endpoints use under the same names; Anthropic's documentation for the ``anthropic-ratelimit-*`` headers.
"""

from __future__ import annotations

import contextlib
import email.utils
import math
import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from ragstone.judges.base import Allowance, Left

_LENGTHS: Final = {"d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "ns": 1e-9}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|us|ns|d|h|m|s)")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT")
_NAMES: Final = {
    what: [
        [name.format(part, what) for part in ("remaining", "reset", "limit")]
        for name in ("x-ratelimit-{0}-{1}", "anthropic-ratelimit-{1}-{0}")
    ]
    for what in ("requests", "tokens")
}
"""The headers with the remainder of each limit, the time until its reset, and the limit itself."""
_EPOCH: Final = 1_000_000_000.0
"""A plain number this large is a Unix time in seconds, not a duration; 1,000 times as large, in milliseconds."""
LONGEST_WAIT: Final = 86_400.0
"""A day, in seconds: longer waits count as one day, which is not waited for either."""


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
    """Return the wait in words; empty if there is none."""
    if not seconds:
        return ""
    return f"the endpoint asks to wait {'a day or more' if seconds >= LONGEST_WAIT else f'{math.ceil(seconds)} s'}"


def allowance(headers: Mapping[str, str]) -> Allowance | None:
    """Return what is left of the endpoint's own limits; None if it does not say."""
    found = {what: left for what, names in _NAMES.items() if (left := _left(headers, names)) is not None}
    return Allowance(**found) if found else None


def _left(headers: Mapping[str, str], names: Sequence[Sequence[str]]) -> Left | None:
    """Return None also if the reset time is missing, since the wait would never end."""
    for remaining, reset, limit in names:
        amount = _number(headers.get(remaining, ""))
        if amount is not None and (seconds := duration(headers.get(reset, ""))) is not None:
            return Left(int(amount), seconds, int(_number(headers.get(limit, "")) or 0))
    return None


def duration(text: str) -> float | None:
    """Parse ``6m0s``, ``20ms``, a number of seconds, a time since 1970 in (milli)seconds, or an RFC 3339 time."""
    text = text.strip()
    plain = _number(text)
    if plain is not None:
        if plain >= 1000 * _EPOCH:
            plain /= 1000
        return max(0.0, plain - time.time()) if plain >= _EPOCH else plain
    if _MOMENT.match(text):
        with contextlib.suppress(ValueError, OverflowError):
            return max(0.0, datetime.fromisoformat(text).timestamp() - time.time())
        return None
    parts = _DURATION.findall(text[:100])
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    seconds = sum(float(number) * _LENGTHS[unit] for number, unit in parts)
    return seconds if math.isfinite(seconds) else None


def _number(text: str) -> float | None:
    if not text:  # as of most headers
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
