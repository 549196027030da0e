"""One call alone until an endpoint answers, one at a time when it answers nobody, and an end to it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.engine.breaker import DOUBT, Breaker


def breaker(*, wary: bool = True, dead_after: int = 5) -> Breaker:
    return Breaker(dead_after, 300.0, wary=wary)


def test_the_first_call_is_alone_until_it_is_answered() -> None:
    one = breaker()
    assert one.alone
    one.answered(one.send())
    assert not one.alone


def test_the_first_call_is_alone_until_it_was_not_refused_for_a_while() -> None:
    """Also where the one before was refused because there are too many: the key is a good one."""
    one = breaker()
    assert not one.failed(one.send(), 0.0, refused=True)
    assert one.alone
    one.accepted()
    assert not one.alone


def test_time_is_no_acceptance_where_a_call_has_failed() -> None:
    """Nobody listens: that no key was refused yet says nothing."""
    one = breaker()
    assert not one.failed(one.send(), 0.0), "one failed call is no outage"
    one.accepted()
    assert one.alone
    assert one.failed(one.send(), 0.0)


def test_an_endpoint_that_never_answers_is_dead_after_one_try_and_so_many_more() -> None:
    one = breaker(dead_after=5)
    for number in range(6):
        assert not one.dead(float(number))
        one.failed(one.send(), float(number))
    assert one.dead(6.0)


def test_calls_that_were_on_their_way_are_no_tries() -> None:
    """64 calls fail at once: that is one reason to doubt and not 54 tries."""
    one = breaker(wary=False)
    for number in [one.send() for _ in range(64)]:
        one.failed(number, 0.0)
    assert one.alone
    assert not one.dead(10.0)
    for number in range(6):
        one.failed(one.send(), 11.0 + number)
    assert one.dead(18.0)


def test_an_endpoint_that_keeps_everybody_waiting_is_dead_when_a_call_would_be() -> None:
    """Each try takes two minutes: five more would take ten."""
    one = breaker(wary=False)
    for number in [one.send() for _ in range(64)]:
        one.failed(number, 0.0)
    assert one.end == 300.0
    one.failed(one.send(), 120.5)
    assert not one.dead(240.5)
    assert one.dead(300.0)


def test_one_that_refuses_every_call_is_there_until_it_does_not_answer_for_as_long_as_a_call_may_take() -> None:
    """A hundred tries are no death, but a pause beyond the end is."""
    one = breaker(wary=False)
    for number in [one.send() for _ in range(20)]:
        one.failed(number, 0.0, refused=True)
    assert one.alone
    for number in range(100):
        one.failed(one.send(), float(number), refused=True)
    assert not one.dead(100.0)
    one.again = 301.0
    assert one.dead(100.0)
    one.answered(one.send())
    assert not one.alone
    assert not one.dead(400.0)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_quick_failures_of_a_share_among_slow_answers_are_no_silence(share: float) -> None:
    """Of 500 calls at once the failures come back first, however many: the others were taken."""
    one, chooser = breaker(wary=False), random.Random(5)
    numbers = [one.send() for _ in range(500)]
    for number in numbers:
        if chooser.random() < share:
            assert not one.failed(number, 0.0, refused=bool(number % 2))
    assert one.failures > share * 400
    assert not one.dead(1000.0)


@given(st.lists(st.booleans(), max_size=100), st.integers(1, 6))
def test_only_an_unbroken_row_of_failures_kills(signs: list[bool], dead_after: int) -> None:
    """Whatever comes: an answer makes all well, and death needs a row of failures that is long enough."""
    one = breaker(wary=False, dead_after=dead_after)
    row = 0
    for now, good in enumerate(signs):
        if good:
            one.answered(one.send())
            row = 0
        else:
            one.failed(one.send(), float(now))
            row += 1
        assert one.failures == row
        assert one.alone == (row >= DOUBT * dead_after)
        assert one.dead(float(now)) == (row > DOUBT * dead_after + dead_after)
