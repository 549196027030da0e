"""The interface of a service: its requests, its traces and the scores sent to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from ragstone.errors import ConfigError

R = TypeVar("R")
OWNER: Final = "ragstone"
"""Marks scores as Ragstone's, so that a later push finds them and leaves all others unchanged."""
PREFIX: Final = f"{OWNER}."
"""Prefix of metric names, because other evaluators of a trace may also write ``groundedness``."""


class Request(Struct, frozen=True):
    """One request. ``absent``: status codes that return None. ``once``: do not retry if it may have been received."""

    path: str
    params: Sequence[tuple[str, str]] = ()
    method: Literal["GET", "POST", "PATCH"] = "GET"
    body: Any = None
    absent: Sequence[int] = ()
    once: bool = False


Flow: TypeAlias = Generator[Sequence[Request], list[Any], R]
"""Yields requests that may be sent in parallel, and is sent their replies as JSON values in the same order."""
Write: TypeAlias = Callable[[Mapping[str, Any]], None]


class TraceQuery(NamedTuple):
    """Selects the ``limit`` newest traces that began at ``since`` or later and before ``until``."""

    project: str
    since: datetime | None
    until: datetime
    limit: int | None


class PassageScore(NamedTuple):
    """The verdict on one passage; ``span`` and ``place`` are its span and its position in that span's documents."""

    span: str
    place: int
    value: float
    label: str
    explanation: str


class TraceScore(NamedTuple):
    """One score of a trace. ``span`` is its root span, ``value`` is in [0, 1], ``explanation`` says what lowers it.

    ``part`` is that span if the trace has several records, which must not overwrite each other's scores; else empty.
    ``passages`` are the verdicts of a metric that rates passages, if their positions are known.
    """

    trace: str
    span: str
    name: str
    value: float
    label: str
    explanation: str
    judged_by: Literal["LLM", "CODE", "HUMAN"]
    metadata: Mapping[str, str]
    part: str = ""
    passages: Sequence[PassageScore] = ()

    def labelled(self) -> dict[str, str]:
        """Return the metadata with the label and the part added, for tools whose scores have none."""
        more = {"label": self.label, "span": self.part}
        return {**self.metadata, **{name: value for name, value in more.items() if value}}


class Pushed(NamedTuple):
    """Number of scores sent and of scores already there, and the traces that the server does not have."""

    sent: int = 0
    unchanged: int = 0
    missing: tuple[str, ...] = ()

    def plus(self, other: Pushed) -> Pushed:
        """Return the sum of both."""
        return Pushed(self.sent + other.sent, self.unchanged + other.unchanged, self.missing + other.missing)


class Service(ABC):
    """One tool; ``name`` is its name on the command line, ``title`` in messages.

    ``format`` is the export format of its traces. ``addresses`` are environment variables for its address: the first
    one that is set is used, else ``address``. ``keys`` are environment variables for its keys.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    format: ClassVar[str]
    address: ClassVar[str]
    addresses: ClassVar[Sequence[str]]
    keys: ClassVar[Sequence[str]]

    def needed(self, project: str) -> str:
        """Return the project; raise ConfigError if it is empty."""
        if not project:
            raise ConfigError(f"{self.title} needs a project; add --project NAME")
        return project

    @abstractmethod
    def authorization(self, keys: Mapping[str, str]) -> str:
        """Return the Authorization header, empty for none; raise ConfigError if a required key is missing."""

    @abstractmethod
    def pull(self, wanted: TraceQuery, write: Write) -> Flow[tuple[int, int]]:
        """Write the rows of all spans, trace by trace; return the number of traces, and of those without spans."""

    @abstractmethod
    def push(self, scores: Sequence[TraceScore]) -> Flow[Pushed]:
        """Send scores idempotently: sending them again changes nothing."""


def instant(moment: datetime) -> str:
    """Return a time in the format of the service APIs."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
