"""What an endpoint says about its rates is read in all the forms that there are, and nothing in it fails a call."""

from __future__ import annotations

import email.utils
import math
import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.judges.base import Allowance, Left
from ragstone.judges.limits import LONGEST_WAIT, allowance, asked_to_wait, duration, retry_after


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0), ("6m0s", 360.0), ("20ms", 0.02), ("2m59.56s", 179.56), ("1h2m3s", 3723.0), ("1d", 86_400.0),
        ("7.66s", 7.66), ("12", 12.0), ("0", 0.0), (" 3 ", 3.0), ("1us", 1e-6),
        ("", None), ("soon", None), ("1 s", None), ("-1", None), ("nan", None), ("inf", None), ("s", None),
        ("1s!", None),
    ],
)  # fmt: skip
def test_a_duration_in_any_of_its_forms(text: str, seconds: float | None) -> None:
    assert duration(text) == (None if seconds is None else pytest.approx(seconds))


def test_a_time_of_day_is_a_duration_from_now() -> None:
    """In seconds since 1970, and in milliseconds."""
    for unit in (1, 1000):
        found = duration(str((time.time() + 30) * unit))
        assert found is not None
        assert 25 < found <= 31
    assert duration(str(time.time() - 30)) == 0


def test_what_is_left_needs_an_end() -> None:
    """Without a reset it would be waited for without one."""
    assert allowance({}) is None
    said = {"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "2s"}
    assert allowance(said) == Allowance(requests=Left(3, 2.0))
    assert allowance({"x-ratelimit-remaining-tokens": "3"}) is None
    said = {"x-ratelimit-remaining-tokens": "149984", "x-ratelimit-reset-tokens": "6ms"}
    assert allowance(said) == Allowance(tokens=Left(149_984, 0.006))


def test_anthropics_headers_say_when_and_not_in_how_long() -> None:
    said = {"anthropic-ratelimit-tokens-remaining": "79000", "anthropic-ratelimit-tokens-limit": "80000"}
    assert allowance(said) is None
    soon = datetime.fromtimestamp(time.time() + 30, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    found = allowance({**said, "anthropic-ratelimit-tokens-reset": soon})
    assert found is not None
    assert found.tokens is not None
    assert (found.requests, found.tokens.amount, found.tokens.limit) == (None, 79_000, 80_000)
    assert 25 < found.tokens.reset <= 31
    assert duration("2026-01-01T25:00:00Z") is None


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("", None), ("nan", None), ("inf", None)],
)
def test_a_wait_is_seconds_or_a_date(said: str, seconds: float | None) -> None:
    """A date that is past is no wait."""
    assert retry_after({"Retry-After": said}) == seconds
    assert retry_after({"Retry-After": email.utils.formatdate(time.time() - 99)}) == 0.0
    later = retry_after({"Retry-After": email.utils.formatdate(time.time() + 30)})
    assert later is not None
    assert 25 < later <= 31


def test_the_exact_wait_goes_before_the_rounded() -> None:
    for exact, seconds in (("250", 0.25), ("?", 1.0)):
        assert retry_after({"retry-after-ms": exact, "Retry-After": "1"}) == seconds
    assert retry_after({}) is None


@pytest.mark.parametrize("given_text", ["1e308", "9" * 300, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_wait_of_ages_is_one_of_a_day_and_said_in_few_words(given_text: str) -> None:
    wait = retry_after({"Retry-After": given_text})
    assert wait == LONGEST_WAIT
    assert asked_to_wait(wait) == "the endpoint asks to wait a day or more"
    assert [asked_to_wait(seconds) for seconds in (None, 0.0, 3600.0)] == ["", "", "the endpoint asks to wait 3600 s"]


HEADERS = (
    "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests", "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens", "retry-after-ms", "Retry-After",
)  # fmt: skip
NUMBER = st.from_regex(r"[0-9.]{1,20}(ms|s|m|h|d|e9)?", fullmatch=True)
DATE = st.from_regex(re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d( GMT)?", re.ASCII), fullmatch=True)


@given(st.dictionaries(st.sampled_from(HEADERS), st.text() | NUMBER | DATE))
def test_any_header_is_a_number_or_nothing(headers: dict[str, str]) -> None:
    """Finite and not negative, whatever stands there."""
    wait = retry_after(headers)
    assert wait is None or 0 <= wait < math.inf
    said = allowance(headers)
    for left in (said.requests, said.tokens) if said else ():
        assert left is None or (left.amount >= 0 and 0 <= left.reset < math.inf)
