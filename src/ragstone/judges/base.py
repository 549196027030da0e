"""Building blocks of every judge: calls, replies, backends, dialogues.

A judge answers a question through a *dialogue*: a generator that yields the calls it needs, receives their replies
and returns the answer. It is pure and synchronous, so tests can drive repair turns and batches with ``next`` and
``send``. The only side effect is the backend's ``send``, which only the engine awaits.

Failures are values: a dialogue receives ``Failed`` in place of a missing reply and returns unjudged verdicts for it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import orjson
from msgspec import Struct

from ragstone.errors import BackendError
from ragstone.questions import Answer, Question, Task
from ragstone.tokens import Size


class Schema(Struct, frozen=True):
    """The JSON schema of an answer (encoded as JSON) and its name."""

    name: str
    json: bytes


class Prompt(NamedTuple):
    """Prompt for a language model, independent of the provider.

    ``messages`` have a ``role`` and a ``content``. ``extra`` holds fields that the user adds to the request unchanged.
    ``room`` multiplies the usual limit of the reply, even if ``extra`` sets that limit.
    """

    model: str
    messages: Sequence[Mapping[str, str]]
    max_tokens: int
    temperature: float | None
    schema: Schema | None
    extra: Mapping[str, Any]
    room: int = 1


class Shared(NamedTuple):
    """A prompt prefix that calls about the same passages have in common, long enough for a provider to cache.

    It consists of the first message and ``chars`` characters of the second, about ``tokens`` tokens. ``key`` is its
    hash, valid in this process only. ``sure``: other parts of the same question begin with it.
    """

    key: int
    chars: int
    tokens: float
    sure: bool


class Call(Struct, frozen=True, dict=True):
    """One exact request.

    ``body`` is the request as the backend prepared it. ``maker`` identifies what made it (a prompt with its hash, a
    model's version). ``units`` is the number of units it asks about. ``repeat`` numbers the rounds of a repeated run.
    Calls equal in all of these are the same call and are paid once. ``shared`` is the prefix that it may share with
    other calls.
    """

    judge: str
    task: Task
    maker: str
    body: bytes
    units: int = 1
    repeat: int = 0
    shared: Shared | None = None

    @cached_property
    def key(self) -> bytes:
        """The 16-byte key of this call in the store."""
        about = f"{self.judge}\0{self.maker}\0{self.repeat}\0".encode()
        return hashlib.blake2b(about + self.body, digest_size=16).digest()


class Usage(NamedTuple):
    """Token counts of one reply as reported by the endpoint; None if not reported.

    ``cached`` (read from the provider's prefix cache) and ``saved`` (written to it) are part of ``input``;
    ``reasoning`` is part of ``output``. ``rate`` is the price of the reply as a fraction of the standard price.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    saved: int | None = None
    rate: float = 1.0


class Left(Struct, frozen=True):
    """Remainder of a rate limit, in requests or tokens, and the seconds until it resets.

    ``limit`` is the full limit; 0 if not reported.
    """

    amount: int
    reset: float
    limit: int = 0


class Allowance(Struct, frozen=True):
    """Remaining rate limits that an endpoint reported with a reply; each is None if not reported."""

    requests: Left | None = None
    tokens: Left | None = None


class RateLimits(Struct, frozen=True):
    """The user's limits for an endpoint: requests and tokens in any 60 seconds; 0 means no limit.

    ``endpoint`` is its address with a digest of its key; backends with the same value share their limits.
    """

    endpoint: str
    rpm: int = 0
    tpm: int = 0


class Reply(NamedTuple):
    """The text of an answer, without any reasoning.

    ``finish`` is ``stop``, ``length`` (truncated) or any other reason that the endpoint gave. ``notes`` name what was
    left out of the request because the endpoint rejected it. ``requests`` is the number of requests sent for it; like
    ``allowance``, it is not stored.
    """

    text: str
    finish: str = "stop"
    reasoning: str = ""
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    requests: int = 1
    allowance: Allowance | None = None


def reply_to_json(reply: Reply, units: int = 0) -> bytes:
    """Encode a reply for the store and recordings; ``units`` is the number of units in its call, 0 if unknown."""
    usage = reply.usage
    return orjson.dumps(
        {
            "text": reply.text,
            "finish": reply.finish,
            "reasoning": reply.reasoning,
            "usage": usage[: 4 if usage.rate == 1 and not usage.saved else None],
            "notes": reply.notes,
            "units": units,
        }
    )


def reply_from_json(data: bytes) -> Reply:
    """Decode a reply encoded by ``reply_to_json``."""
    kept = orjson.loads(data)
    return Reply(kept["text"], kept["finish"], kept["reasoning"], Usage(*kept["usage"]), tuple(kept["notes"]))


class Failed(Struct, frozen=True):
    """No reply. ``reason`` is one line for the results; ``too_long``: the request exceeds the model's context."""

    reason: str
    too_long: bool = False


Replies = Sequence[Reply | Failed]
Dialogue = Generator[Sequence[Call], Replies, Answer]


@runtime_checkable
class Backend(Protocol):
    """Answers calls. ``open`` and ``close`` begin and end a run; ``send`` answers one call or raises BackendError.

    ``concurrency`` is the maximum number of concurrent calls. ``free``: its calls cost no money. ``timeout`` is the
    number of seconds after which ``send`` gives up on a call; None if it never does.

    Optional attributes: ``rate`` is the expected price as a fraction of the standard price. ``inside``: it answers in
    this process and sends nothing. ``steady``: it always answers the same call alike. ``lookup``: it only looks up
    answers. These three default to False. ``seconds`` is the typical duration of a call in this process, for estimates.
    """

    @property
    def concurrency(self) -> int: ...  # noqa: D102 - see the class
    @property
    def free(self) -> bool: ...  # noqa: D102 - see the class
    @property
    def timeout(self) -> float | None: ...  # noqa: D102 - see the class

    async def open(self) -> None:
        """Prepare for calls; raise BackendError if that is not possible (no key, no file)."""
        ...

    async def send(self, call: Call) -> Reply:
        """Answer one call or raise BackendError."""
        ...

    async def close(self) -> None:
        """Release all resources; may be called twice."""
        ...


class InProcess:
    """Base of all backends that answer in this process: they cost nothing and have nothing to open."""

    free: bool = True
    inside: bool = True
    concurrency: int = 64
    timeout: float | None = None

    async def open(self) -> None:
        """Open nothing."""

    async def close(self) -> None:
        """Close nothing."""


def processors() -> int:
    """Return the number of processors available to this process, by its CPU affinity and its container's quota."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return found if quota == "max" else max(1, min(found, int(quota) // int(period)))
    except (OSError, ValueError):
        return found


def is_inside(backend: Backend) -> bool:
    """Return whether the backend answers in this process, so that offline runs may use it."""
    return bool(getattr(backend, "inside", False))


def is_steady(backend: Backend) -> bool:
    """Return whether the backend is deterministic, so that repeats add nothing."""
    return bool(getattr(backend, "steady", False))


def is_lookup(backend: Backend) -> bool:
    """Return whether the backend only looks up answers, so that even an estimate may call it for every record."""
    return bool(getattr(backend, "lookup", False))


class Dialect(Backend, Protocol):
    """A backend for a language model's API. No other code reads the JSON of its requests and replies.

    ``bounded`` is set if a budget relies on the limit of the reply's length: an endpoint that refuses such a limit is
    then an error.
    """

    bounded: bool

    def prepare(self, prompt: Prompt) -> bytes:
        """Return the canonical request: equal prompts give equal bytes, since the store's key is a hash of them."""
        ...

    def size(self, body: bytes) -> Size:
        """Return the maximum size of a prepared request, for pacing, budgets and estimates."""
        ...


SMALL: Final = 200
"""After the first wave of batches, fewer missing calls than this are sent live by default."""


class BatchState(Struct, frozen=True):
    """State of a batch: whether it has ``ended``, the provider's own term, and the paths of its results."""

    ended: bool
    said: str
    places: tuple[str, ...] = ()


class Batching(Dialect, Protocol):
    """A dialect whose provider also accepts batches of calls; ``batch``: send calls in batches.

    ``rate`` and ``live_rate`` are the prices of a call in this mode and of a single call, as shares of the standard.

    All methods except ``batch_line`` and ``read_line`` may raise BackendError.
    """

    batch: bool
    rate: float
    live_rate: float

    def batch_line(self, call: Call) -> bytes:
        """Return the line of a call in a batch file; its id is the call's key."""
        ...

    def read_line(self, line: bytes) -> tuple[str, Reply | BackendError]:
        """Parse a line of results: the id, and the reply or its error; raise ValueError for any other line."""
        ...

    async def submit(self, lines: Sequence[bytes], tag: str) -> str:
        """Submit a batch and return the provider's id; ``tag`` is attached if the provider supports that."""
        ...

    async def find(self, tag: str, since: float, keys: set[bytes]) -> str | None:
        """Return the id of the batch with this tag or these calls, made since then; empty if there is none.

        None if it cannot be told yet: a batch with as many calls, maybe of somebody else, has not ended.
        """
        ...

    async def state(self, remote: str) -> BatchState:
        """Return the state of a batch."""
        ...

    async def results(self, state: BatchState) -> Sequence[bytes]:
        """Return the lines of results and errors of an ended batch, in any order."""
        ...

    async def cancel(self, remote: str) -> None:
        """Ask the provider to cancel a batch."""
        ...


def size_of(backend: Backend, body: bytes) -> Size:
    """Return the size of a request; without the backend's own, that of one text with an unlimited reply."""
    if hasattr(backend, "size"):
        size: Size = backend.size(body)
        return size
    return Size(len(body), (body.decode("utf-8", "replace"),))


def lacks(judge: Judge, task: Task) -> str:
    """Return why a judge cannot do a task, as the end of an error message; empty if it does not say."""
    said = judge.lacks(task) if hasattr(judge, "lacks") else ""
    return f": {said}" if said else ""


def refusal_of(judge: Judge, question: Question[Any]) -> str:
    """Return why a judge that can do the task cannot answer this question; empty if it can or does not say."""
    return judge.refusal(question) if hasattr(judge, "refusal") else ""


@runtime_checkable
class Immediate(Protocol):
    """A backend that computes its replies in this process, so that even a dry run can have them."""

    def reply(self, call: Call) -> Reply:
        """Return the reply that ``send`` would return, without waiting."""
        ...


class Cuts(NamedTuple):
    """The probabilities at which the labels of a scale begin.

    The best label applies from ``best`` on, the worst below ``worst``. The user may replace ``best`` by a threshold
    from ``least`` to ``most``.
    """

    least: float
    best: float
    worst: float
    most: float = 1.0


@runtime_checkable
class Thresholded(Protocol):
    """A judge with probabilities, whose ``[judges.NAME]`` table may set the threshold of the best label."""

    def cuts(self, task: Task) -> Cuts | None:
        """Return the thresholds of a task's labels; None for a task without probabilities."""
        ...


@runtime_checkable
class Limited(Protocol):
    """A backend at an endpoint with keys and rate limits, which other backends may share."""

    @property
    def limits(self) -> RateLimits:
        """The rate limits; known before the backend is opened."""
        ...


class Judge(Protocol):
    """Answers questions.

    ``name`` is the user's name for it, ``id`` its name in results and the store (``openai/gpt-4o-mini``, ``embedded``).
    Prices are looked up by ``model`` and ``provider``.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class
    @property
    def id(self) -> str: ...  # noqa: D102 - see the class
    @property
    def model(self) -> str: ...  # noqa: D102 - see the class
    @property
    def provider(self) -> str: ...  # noqa: D102 - see the class
    @property
    def backend(self) -> Backend: ...  # noqa: D102 - see the class

    def can(self, task: Task) -> bool:
        """Return whether it answers questions of this task."""
        ...

    def maker(self, question: Question[Any]) -> str:
        """Identify what makes the calls for this question: the prompt with its hash, model version, settings."""
        ...

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """Yield the calls for this question and return its answer. Pure; never raises."""
        ...
