"""Building blocks of every judge: calls, replies, backends, dialogues.

A judge answers a question through a *dialogue*: a generator that yields the calls it needs and is sent their
replies, and returns the answer. It is pure and synchronous, so that repair turns and batches are tested by
hand with ``next`` and ``send``. The only effect is the backend's ``send``, and only the engine awaits it.

Failure is data here: a dialogue is sent ``Failed`` in the place of a reply that never came, and turns it into
unjudged verdicts.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import orjson

from ragstone.errors import BackendError
from ragstone.questions import Answer, Question, Task
from ragstone.tokens import Size


@dataclass(frozen=True, slots=True)
class Schema:
    """The JSON schema of an answer, as JSON, and its name."""

    name: str
    json: bytes


class Prompt(NamedTuple):
    """Prompt for a language model, independent of the provider.

    ``messages`` have a ``role`` and a ``content``. ``extra`` are fields that the user adds to the request as they are.
    ``room`` is how many times its usual limit the reply may be long, also where ``extra`` sets that limit.
    """

    model: str
    messages: Sequence[Mapping[str, str]]
    max_tokens: int
    temperature: float | None
    schema: Schema | None
    extra: Mapping[str, Any]
    room: int = 1


class Shared(NamedTuple):
    """The beginning of a call that other calls about the same passages have too, long enough for a provider to cache.

    It is the first message and ``chars`` characters of the second, about ``tokens`` tokens; ``key`` is a hash of it in
    this process. ``sure``: other parts of the same question begin with it.
    """

    key: int
    chars: int
    tokens: float
    sure: bool


@dataclass(frozen=True)
class Call:
    """One exact request.

    ``body`` is the request as the backend prepared it; ``maker`` names what made it (a prompt with its hash, a model's
    version); ``units`` is how many units it asks about. ``repeat`` numbers the rounds of a repeated run. Calls that
    are equal in all of this are one call and are paid once. ``shared`` is its beginning that others may have, too.
    """

    judge: str
    task: Task
    maker: str
    body: bytes
    units: int = 1
    repeat: int = 0
    shared: Shared | None = field(default=None, compare=False)

    @cached_property
    def key(self) -> bytes:
        """The 16-byte key of this call in the store."""
        about = f"{self.judge}\0{self.maker}\0{self.repeat}\0".encode()
        return hashlib.blake2b(about + self.body, digest_size=16).digest()


class Usage(NamedTuple):
    """Tokens of one reply as the endpoint counted them; None where it did not say.

    ``cached`` (read from the provider's prefix cache) and ``saved`` (written to it) of the input, and ``reasoning`` of
    the output, are parts, not additions. ``rate`` is the price of the reply as a share of the standard one.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    saved: int | None = None
    rate: float = 1.0


@dataclass(frozen=True, slots=True)
class Left:
    """Remainder of a rate limit, in requests or tokens, and the seconds until it resets.

    ``limit`` is the whole of it, 0 where that was not said.
    """

    amount: int
    reset: float
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """Remaining rate limits that an endpoint reported with a reply; None if not reported."""

    requests: Left | None = None
    tokens: Left | None = None


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The requests and tokens that the user allows an endpoint in any 60 seconds; 0 is no limit.

    ``endpoint`` is its address together with a digest of its key: backends that are equal in it share their limits.
    """

    endpoint: str
    rpm: int = 0
    tpm: int = 0


class Reply(NamedTuple):
    """The text of an answer, apart from any reasoning.

    ``finish`` is ``stop``, ``length`` (cut off) or whatever else the endpoint said. ``notes`` tell what had
    to be left out of the request for the endpoint to take it. ``requests``, how many were sent for it, and
    ``allowance`` are of the moment, and are not kept.
    """

    text: str
    finish: str = "stop"
    reasoning: str = ""
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    requests: int = 1
    allowance: Allowance | None = None


def reply_to_json(reply: Reply, units: int = 0) -> bytes:
    """Encode a reply for the store and recordings; ``units`` is how many it was asked about, if known."""
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
    """Decode a reply that ``reply_to_json`` wrote."""
    kept = orjson.loads(data)
    return Reply(kept["text"], kept["finish"], kept["reasoning"], Usage(*kept["usage"]), tuple(kept["notes"]))


@dataclass(frozen=True, slots=True)
class Failed:
    """No reply: ``reason`` is one line for the reader of a result; ``too_long``: the model takes no request so long."""

    reason: str
    too_long: bool = False


Replies = Sequence[Reply | Failed]
Dialogue = Generator[Sequence[Call], Replies, Answer]


@runtime_checkable
class Backend(Protocol):
    """Answers calls. ``open`` and ``close`` frame a run; ``send`` answers one call or raises BackendError.

    ``concurrency`` is how many calls it takes at a time; ``free`` says that its calls cost no money; ``timeout`` is the
    seconds after which ``send`` gives up on a call by itself, None where it never does; one with a ``rate`` expects
    that share of the standard price. A backend that sends nothing anywhere may say so by an attribute ``inside``, one
    whose answers to the same call are always equal by ``steady``, one that only looks them up by ``lookup``; all are
    False unless it has them. One that answers in this process may have ``seconds``, the usual time of a call, for
    estimates.
    """

    @property
    def concurrency(self) -> int: ...  # noqa: D102 - see the class
    @property
    def free(self) -> bool: ...  # noqa: D102 - see the class
    @property
    def timeout(self) -> float | None: ...  # noqa: D102 - see the class

    async def open(self) -> None:
        """Prepare for calls; BackendError if that is not possible (no key, no file)."""
        ...

    async def send(self, call: Call) -> Reply:
        """Answer one call, or raise BackendError."""
        ...

    async def close(self) -> None:
        """Release everything; safe to call twice."""
        ...


class InProcess:
    """The part that all backends in this process share: they cost nothing and have nothing to open."""

    free: bool = True
    inside: bool = True
    concurrency: int = 64
    timeout: float | None = None

    async def open(self) -> None:
        """Open nothing."""

    async def close(self) -> None:
        """Close nothing."""


def processors() -> int:
    """Return the processors that this process may use: those it is bound to, or fewer by the quota of its container."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return found if quota == "max" else max(1, min(found, int(quota) // int(period)))
    except (OSError, ValueError):
        return found


def is_inside(backend: Backend) -> bool:
    """Return whether the backend answers in this process, so that offline runs may ask it."""
    return bool(getattr(backend, "inside", False))


def is_steady(backend: Backend) -> bool:
    """Return whether the backend is deterministic, so that repeats add nothing."""
    return bool(getattr(backend, "steady", False))


def is_lookup(backend: Backend) -> bool:
    """Return whether the backend has its answers ready, so that also an estimate may ask it for every record."""
    return bool(getattr(backend, "lookup", False))


class Dialect(Backend, Protocol):
    """A backend that language models are asked through. Only it reads the JSON of its requests and replies.

    ``bounded`` is set where a budget counts on the limit of a reply's length: an endpoint that refuses such a limit
    is then not asked.
    """

    bounded: bool

    def prepare(self, prompt: Prompt) -> bytes:
        """The canonical request: equal prompts give equal bytes, which the store's key is made of."""
        ...

    def size(self, body: bytes) -> Size:
        """Return the max size of a prepared request, for pacing, budgets and estimates."""
        ...

    def usage(self, answer: Any) -> Usage:
        """The tokens that an answer says it took."""
        ...


@dataclass(frozen=True, slots=True)
class BatchState:
    """State of a batch at its provider: whether it has ``ended``, in its own words, and the places of its results."""

    ended: bool
    said: str
    places: tuple[str, ...] = ()


class Batching(Dialect, Protocol):
    """A dialect whose provider also takes calls in batches; ``batch`` says that they are to go there.

    All but ``batch_line`` and ``read_line`` raise BackendError.
    """

    batch: bool
    rate: float

    def batch_line(self, call: Call) -> bytes:
        """Return the line of a call in a batch file; its id is the call's key."""
        ...

    def read_line(self, line: bytes) -> tuple[str, Reply | BackendError]:
        """Read a line of results: the id, and the reply or why there is none. ValueError for what is no such line."""
        ...

    async def submit(self, lines: Sequence[bytes], tag: str) -> str:
        """Send a batch and return its id there; ``tag`` goes with it where the provider keeps one."""
        ...

    async def find(self, tag: str, since: float, calls: int) -> str:
        """Return the id of a batch with this tag, or of one of so many calls since then; empty if there is none."""
        ...

    async def state(self, remote: str) -> BatchState:
        """Return the state of a batch."""
        ...

    async def results(self, state: BatchState) -> Sequence[bytes]:
        """Return the lines of results and errors of a batch that has ended, in any order."""
        ...

    async def cancel(self, remote: str) -> None:
        """Ask the provider to stop a batch."""
        ...


def size_of(backend: Backend, body: bytes) -> Size:
    """Return the size of a request; if the backend cannot say, one text and no limit of its reply."""
    if hasattr(backend, "size"):
        size: Size = backend.size(body)
        return size
    return Size(len(body), (body.decode("utf-8", "replace"),))


def lacks(judge: Judge, task: Task) -> str:
    """Return what a judge says that it lacks for a task, to end a refusal with; empty if it does not say."""
    said = judge.lacks(task) if hasattr(judge, "lacks") else ""
    return f": {said}" if said else ""


def refusal_of(judge: Judge, question: Question[Any]) -> str:
    """Return why a judge that answers the task cannot answer such a question; empty if it does not say."""
    return judge.refusal(question) if hasattr(judge, "refusal") else ""


@runtime_checkable
class Immediate(Protocol):
    """A backend that computes its replies in this process, so that also a dry run can have them."""

    def reply(self, call: Call) -> Reply:
        """Return at once what ``send`` would."""
        ...


class Cuts(NamedTuple):
    """Where the labels of a scale begin, in probabilities.

    From ``best`` on is the best label, below ``worst`` the worst one. A threshold from ``least`` to ``most`` may stand
    in the place of ``best``.
    """

    least: float
    best: float
    worst: float
    most: float = 1.0


@runtime_checkable
class Thresholded(Protocol):
    """A judge with probabilities, whose ``[judges.NAME]`` table may set where the best label begins."""

    def cuts(self, task: Task) -> Cuts | None:
        """Return where the labels of a task begin; None for a task without probabilities."""
        ...


@runtime_checkable
class Limited(Protocol):
    """A backend at an endpoint that takes keys and has limits, and that other backends may share."""

    @property
    def limits(self) -> RateLimits:
        """Its limits; known before it is opened."""
        ...


class Judge(Protocol):
    """Answers questions.

    ``name`` is how the user calls it, ``id`` how results and the store do (``openai/gpt-4o-mini``,
    ``embedded``); ``model`` and ``provider`` are what prices are looked up by.
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
        """Return whether it answers questions of this task at all."""
        ...

    def maker(self, question: Question[Any]) -> str:
        """Name what makes the calls for such a question: the prompt with its hash, model version, settings."""
        ...

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """Yield the calls for this question and return its answer. Pure; raises nothing."""
        ...
