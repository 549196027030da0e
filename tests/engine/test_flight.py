"""A call on its way: all who ask hear the same, whoever stops waiting; and a lone reply waits for nobody."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ragstone.engine import writer
from ragstone.engine.calls import Flight
from ragstone.errors import StoreError
from ragstone.judges.base import Call, Reply
from ragstone.store.database import Store


def heard(outcome: Reply | BaseException, *, call_off: int = 0) -> list[object]:
    """What three hear of a flight, of which the first ``call_off`` stop waiting before it lands."""

    async def run() -> list[object]:
        flight = Flight()

        async def wait() -> object:
            return await flight.landing(asyncio.get_running_loop())

        tasks = [asyncio.create_task(wait()) for _ in range(3)]
        await asyncio.sleep(0)
        for task in tasks[:call_off]:
            task.cancel()
        await asyncio.sleep(0)
        flight.land(outcome)
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    return asyncio.run(run())


def test_all_who_wait_hear_the_same() -> None:
    reply = Reply("yes")
    assert heard(reply) == [reply, reply, reply]
    error = StoreError("full")
    assert heard(error) == [error, error, error]


def test_who_stops_waiting_stops_nobody_else() -> None:
    reply = Reply("yes")
    gone, *others = heard(reply, call_off=1)
    assert isinstance(gone, asyncio.CancelledError)
    assert others == [reply, reply]


def test_a_flight_that_is_called_off_calls_off_who_waits() -> None:
    assert all(isinstance(one, asyncio.CancelledError) for one in heard(asyncio.CancelledError()))


def test_a_reply_that_no_other_follows_is_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an hour to wait for others it is on disk all the same; while another call is on its way it is not."""
    monkeypatch.setattr(writer, "LINGER", 3600.0)

    async def run(flying: list[str], usual: float | None = None) -> bool:
        kept = asyncio.Event()
        with Store(tmp_path / f"{len(flying)}.db") as store:
            group = writer.Writer(store, lambda error: None, flying)
            if usual is not None:
                group.heed(usual)
            task = asyncio.create_task(group.write())
            group.call(Call("judge", "support", "maker", b"{}"), Reply("yes"), lambda trouble: kept.set())
            try:
                async with asyncio.timeout(0.3 if len(flying) > 1 else 30):
                    await kept.wait()
            except TimeoutError:
                return False
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        return True

    assert asyncio.run(run(["this"]))
    assert not asyncio.run(run(["this", "another"]))
    assert not asyncio.run(run(["this", "another"], usual=3600.0))
    assert asyncio.run(run(["this", "another"], usual=0.1)), "who asks a quick endpoint does not wait for long"
