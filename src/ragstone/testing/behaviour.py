"""The settings of the fake endpoint: faults, refusals, delays and scripted answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, Unpack

from msgspec import Struct, field
from msgspec.structs import replace


class Scripted(Struct, frozen=True):
    """One answer, spelled out.

    With ``status`` 200, ``body`` becomes the content of the only choice: text unchanged, None as null, anything else as
    JSON. With another status, text becomes the error message, and a mapping the whole body. ``raw``, if set, is the
    whole body for any status. ``delay`` is in seconds, in addition to the server's ``latency``. ``usage`` replaces the
    computed usage block.
    """

    body: Any = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    finish: str = "stop"
    reasoning: str = ""
    usage: Mapping[str, Any] | None = None
    raw: str | None = None


RESET: Final = "reset"
HANG: Final = "hang"
CUT: Final = "cut"
GONE: Final = "gone"
"""Outcomes counted in ``seen`` besides statuses: closed without a reply, never answered, closed in the middle of the
reply, and client disconnected first."""


class Outcome(Struct, frozen=True):
    """The planned outcome of one request. ``answered`` is the hash of the request if the status is 200.

    ``tokens`` counts the request and its reply; 0 if it was refused. ``prefix`` is the part of the request that a
    prompt cache holds once it is answered.
    """

    status: int | str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    answered: bytes = b""
    tokens: int = 0
    prefix: tuple[bytes, bytes] = (b"", b"")


Answering = Callable[[dict[str, Any]], Any]
"""Maps a request's parsed body to text, a value to send as JSON, a ``Scripted``, or None for the default answer."""

Dying = Literal["503", "refuse"]
Ending = Literal["completed", "partial", "expired", "cancelled", "failed", "empty", "lost"]


class Knobs(TypedDict, total=False):
    """The keywords of ``FakeServer`` and ``FakeServer.configure``, described in ``Behaviour``."""

    latency: float | tuple[float, float]
    rate_429: float
    rate_500: float
    rate_truncated: float
    rate_garbage: float
    rate_reset: float
    rate_hang: float
    rate_empty_choices: float
    rate_malformed: float
    rate_cut: float
    rate_fenced: float
    rate_think: float
    rate_think_fenced: float
    rate_reasoning_field: float
    faulty_attempts: float
    seed: int
    retry_after: float | None
    retry_after_date: bool
    refuse_schema: bool
    refuse_parameters: Sequence[str]
    remember_schemas: bool
    obey_max_tokens: bool
    api_key: str | None
    known_models: Sequence[str]
    context_limit: int | None
    capacity: int | None
    rpm: int | None
    tpm: int | None
    rate_window: float
    dead_after: int | None
    dead_how: Dying
    usage: bool
    cached_share: float
    prefix_cache: int | None
    batch_end: Ending
    batch_polls: int
    headers: Mapping[str, str]
    vary: bool
    answer: Answering | None
    script: Sequence[Any]


FAULTS: Final = (
    "rate_429", "rate_500", "rate_truncated", "rate_garbage", "rate_reset", "rate_hang", "rate_empty_choices",
    "rate_malformed", "rate_cut",
)  # fmt: skip
MANNERS: Final = ("rate_fenced", "rate_think", "rate_think_fenced", "rate_reasoning_field")


class Behaviour(Struct, frozen=True):
    """All settings of the server. They can be changed at any time.

    Each ``rate_*`` is the share of requests with this fault, from 0 to 1. A hash of ``seed``, the model and the
    messages selects the requests, so the same request has the same fault in every run.

    Each request gets at most one fault, so the shares must not add up to more than 1. Only the first
    ``faulty_attempts`` requests with the same messages have faults (``math.inf``: all of them), so that a retry is
    answered.

    - ``rate_429``: too many requests, with ``retry_after`` seconds in the header (``retry_after_date``: as a date)
    - ``rate_500``: a server error
    - ``rate_truncated``: the first half of the answer, finish reason ``length``
    - ``rate_garbage``: prose, empty content or null content instead of the answer
    - ``rate_reset``: the connection is closed without a reply
    - ``rate_hang``: the server never replies
    - ``rate_empty_choices``: status 200 without a choice
    - ``rate_malformed``: a truncated answer, although the finish reason is ``stop``
    - ``rate_cut``: the connection is closed in the middle of the reply

    These wrap a correct answer, and can be combined:

    - ``rate_fenced``: in a fenced code block, with prose before and after
    - ``rate_think``: after a ``<think>`` block with a different answer
    - ``rate_think_fenced``: in a fenced code block, after a ``<think>`` block
    - ``rate_reasoning_field``: with different reasoning in ``reasoning_content``

    The server refuses these requests, with the status and error body of a real endpoint:

    - ``refuse_schema``: requests with a ``response_format``; with ``remember_schemas``, the same messages sent again
      without it still get an answer that fits the refused schema
    - ``refuse_parameters``: requests with one of these parameters
    - ``api_key``: requests without this key
    - ``known_models``: requests for a model not in this list
    - ``context_limit``: requests with more prompt tokens than this
    - ``capacity``: with 429, requests beyond this many at the same time
    - ``rpm``, ``tpm``: with 429, requests beyond this many requests or tokens in any ``rate_window`` seconds;
      ``x-ratelimit-*`` headers give the remaining limit, and refusals say when to retry
    - ``dead_after``: every request after this many answers; ``dead_how`` is "503", or "refuse" to
      stop listening and drop all connections

    ``prefix_cache`` is the minimum number of tokens in a cached prefix. If a prompt begins like an answered one with
    the same schema, the shared prefix counts as cached. With Messages, only the part before the last ``cache_control``
    mark counts.

    Batches (``/v1/files`` and ``/v1/batches``, and Message Batches) end after ``batch_polls`` polls, with results in
    reverse order. ``batch_end``: "completed" returns all results. "partial" and "cancelled" return half of them and
    omit the rest; "expired" lists the rest as expired. "failed" and "empty" return none. "lost": the server no
    longer knows the batch.

    ``latency`` is in seconds, or a (min, max) pair. ``obey_max_tokens`` truncates an answer at the request's limit.
    If ``usage`` is False, token counts are omitted; ``cached_share`` is the share of the prompt reported as cached.
    ``vary`` makes the answers to equal requests differ. ``headers`` are added to every reply. ``answer`` computes the
    answers; ``script`` lists the first answers, in order of arrival, and these have no faults.
    """

    latency: float | tuple[float, float] = 0.0
    rate_429: float = 0.0
    rate_500: float = 0.0
    rate_truncated: float = 0.0
    rate_garbage: float = 0.0
    rate_reset: float = 0.0
    rate_hang: float = 0.0
    rate_empty_choices: float = 0.0
    rate_malformed: float = 0.0
    rate_cut: float = 0.0
    rate_fenced: float = 0.0
    rate_think: float = 0.0
    rate_think_fenced: float = 0.0
    rate_reasoning_field: float = 0.0
    faulty_attempts: float = 1
    seed: int = 0
    retry_after: float | None = None
    retry_after_date: bool = False
    refuse_schema: bool = False
    refuse_parameters: Sequence[str] = ()
    remember_schemas: bool = True
    obey_max_tokens: bool = False
    api_key: str | None = None
    known_models: Sequence[str] = ()
    context_limit: int | None = None
    capacity: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    rate_window: float = 60.0
    dead_after: int | None = None
    dead_how: Dying = "503"
    usage: bool = True
    cached_share: float = 0.0
    prefix_cache: int | None = None
    batch_end: Ending = "completed"
    batch_polls: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    vary: bool = False
    answer: Answering | None = None
    script: Sequence[Any] = ()

    def __post_init__(self) -> None:
        """Raise ValueError with the keyword's name if a value is invalid."""
        for name in (*FAULTS, *MANNERS, "cached_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}: {getattr(self, name)!r} is not a share from 0 to 1")
        if math.fsum(getattr(self, name) for name in FAULTS) > 1 + 1e-9:
            raise ValueError(f"the shares of {', '.join(FAULTS)} add up to more than 1")
        least, most = self.latency if isinstance(self.latency, Sequence) else (self.latency, self.latency)
        if not 0 <= least <= most:
            raise ValueError(f"latency: {self.latency!r} is neither seconds nor a (min, max) pair")
        if self.context_limit is not None and self.context_limit < 1:
            raise ValueError(f"context_limit: {self.context_limit!r} is not a number of tokens; None sets no limit")
        if not self.rate_window > 0:
            raise ValueError(f"rate_window: {self.rate_window!r} is not a number of seconds")
        if self.dead_how not in ("503", "refuse"):
            raise ValueError(f"dead_how: {self.dead_how!r} is neither '503' nor 'refuse'")

    def changed(self, **knobs: Unpack[Knobs]) -> Behaviour:
        """Return a copy with other values; raise ValueError for an unknown keyword."""
        for name in knobs:
            if name not in self.__struct_fields__:
                raise ValueError(f"unknown setting '{name}'; known: {', '.join(self.__struct_fields__)}")
        return replace(self, **knobs)
