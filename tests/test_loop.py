"""The loop that a run has of its own: what it changes for its process, and that all is as before at the end;
and that an interrupt does not leave it half closed."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from ragstone.api.loop import YOUNG, run_here


@pytest.fixture
def unfrozen() -> Iterator[None]:
    """As in a user's process: the tests themselves are frozen."""
    gc.unfreeze()
    yield
    gc.freeze()


async def collector() -> tuple[int, bool]:
    return gc.get_threshold()[0], gc.get_freeze_count() > 0


@pytest.mark.usefixtures("unfrozen")
def test_the_collector_looks_seldom_while_work_goes_on_and_as_before_after_it() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    assert run_here(collector()) == (YOUNG, True)
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


@pytest.mark.usefixtures("unfrozen")
def test_it_is_as_before_when_the_work_fails() -> None:
    async def fail() -> None:
        raise RuntimeError("no")

    before = gc.get_threshold(), gc.get_freeze_count()
    with pytest.raises(RuntimeError, match="no"):
        run_here(fail())
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


@pytest.mark.usefixtures("unfrozen")
def test_the_last_of_several_runs_puts_it_back() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    begun, end = threading.Event(), threading.Event()

    async def wait() -> None:
        begun.set()
        end.wait(30)

    other = threading.Thread(target=lambda: run_here(wait()))
    other.start()
    begun.wait(30)
    run_here(collector())
    assert gc.get_threshold()[0] == YOUNG
    end.set()
    other.join()
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


def test_what_the_user_set_is_left_alone() -> None:
    usual = gc.get_threshold()
    gc.set_threshold(50_000, 5, 5)
    try:
        assert run_here(collector()) == (50_000, True)
        assert gc.get_threshold() == (50_000, 5, 5)
    finally:
        gc.set_threshold(*usual)


def test_an_interrupt_while_the_loop_is_closed_waits_for_its_end() -> None:
    """Else the loop is left half closed, and complains with a traceback when it is collected."""
    loops = []

    async def interrupt_closing() -> None:
        loop = asyncio.get_running_loop()
        close = loop.close

        def interrupted() -> None:
            os.kill(os.getpid(), signal.SIGINT)
            close()

        loop.close = interrupted  # type: ignore[method-assign]
        loops.append(loop)

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            run_here(interrupt_closing())
    finally:
        signal.signal(signal.SIGINT, usual)
    assert loops[0].is_closed()
