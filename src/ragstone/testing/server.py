"""``FakeServer``: a fake endpoint on a real socket, in a separate thread."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, Unpack

from ragstone.testing.behaviour import Behaviour, Knobs
from ragstone.testing.endpoint import Books, Endpoint

if TYPE_CHECKING:
    from ragstone.testing.listener import Listener

T = TypeVar("T")
PATIENCE: Final = 10.0
"""Timeout in seconds for the server to do what it is told or to stop."""


class FakeServer:
    """A local server without a model that speaks OpenAI's chat completions and Anthropic's Messages.

    A request with a JSON schema like those of Ragstone's judges is answered with a value that fits it, one with another
    schema gets status 400, and any other "OK", unless ``answer`` or ``script`` provide the answer. Faults, refusals and
    delays are keywords, described in ``Behaviour``. They can be changed while the server runs::

        with FakeServer(latency=0.05, rate_429=0.1, retry_after=1) as server:
            ...  # point your client at server.url, which ends in /v1
            server.configure(rate_429=0)

    It runs in its own thread. ``keep`` is the number of requests to remember. An exception in ``answer`` is raised when
    the context ends.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        keep: int = 10_000,
        **knobs: Unpack[Knobs],
    ) -> None:
        behaviour = Behaviour().changed(**knobs)
        self._host = host
        self._port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._endpoint = Endpoint(behaviour, keep)
        self._listener: Listener | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._listener is not None and self._listener.errors and error is None:
            raise self._listener.errors[0]

    def start(self) -> None:
        """Start listening; afterwards, ``url`` is known."""
        from ragstone.testing.listener import Listener  # noqa: PLC0415 - aiohttp is for those who use a server

        self._loop = loop = asyncio.new_event_loop()
        self._listener = listener = Listener(self._endpoint, self._host, self._port)

        def serve() -> None:
            loop.run_forever()
            loop.run_until_complete(listener.end())
            loop.close()

        self._thread = threading.Thread(target=serve, name="ragstone-fake-server", daemon=True)
        self._thread.start()
        try:  # in that thread, because this one may have a running loop of its own
            asyncio.run_coroutine_threadsafe(listener.open(), loop).result()
        except OSError:
            self.stop()
            raise
        self._port = listener.port

    def stop(self) -> None:
        """Stop and drop requests in flight. The counts stay readable."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(PATIENCE)
            self._loop = self._thread = None

    @property
    def url(self) -> str:
        """The base URL, ending in ``/v1``."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}/v1"

    def configure(self, **knobs: Unpack[Knobs]) -> None:
        """Change some keywords while it runs; the others are unchanged."""
        self._call(lambda: self._endpoint.configure(**knobs))

    def reset(self) -> None:
        """Clear the counts and restart the script; the behaviour is kept."""
        self._call(self._endpoint.reset)

    @property
    def count(self) -> int:
        """The number of chat requests answered with status 200."""
        return self._read(lambda books: books.count)

    @property
    def seen(self) -> Counter[int | str]:
        """The number of replies by status, and of ``reset``, ``cut``, ``hang`` and ``gone`` (client left first)."""
        return self._read(lambda books: Counter(books.seen))

    @property
    def unique(self) -> set[str]:
        """The hashes of the answered request bodies: fewer than ``count`` if a request was paid for twice."""
        return self._read(lambda books: {digest.hex() for digest in books.unique})

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the last ``keep`` chat requests, whatever their outcome, in order of arrival."""
        return self._read(lambda books: list(books.requests))

    @property
    def arrivals(self) -> list[tuple[float, int | str, int]]:
        """The last ``keep`` chat requests: arrival time, outcome and tokens of each.

        Times are seconds since the start or ``reset``. Outcomes are as in ``seen``, as planned on arrival. Tokens count
        request and reply; 0 if refused.
        """
        return self._read(lambda books: list(books.arrivals))

    @property
    def max_in_flight(self) -> int:
        """The maximum number of requests that waited for their replies at the same time."""
        return self._read(lambda books: books.max_in_flight)

    @property
    def connections(self) -> int:
        """The number of connections opened."""
        return self._read(lambda books: books.connections)

    def _read(self, look: Callable[[Books], T]) -> T:
        return self._call(lambda: look(self._endpoint.books))

    def _call(self, work: Callable[[], T]) -> T:
        """Call ``work`` in the server's thread and wait for it, because the state is not locked."""
        if self._loop is None or threading.current_thread() is self._thread:
            return work()

        async def do() -> T:
            return work()

        try:
            return asyncio.run_coroutine_threadsafe(do(), self._loop).result(PATIENCE)
        except TimeoutError:
            raise TimeoutError("the fake server is stuck; does an answer block?") from None
