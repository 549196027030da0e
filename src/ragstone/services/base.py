"""What a service is: how its traces are asked for, how scores are sent to it, and what it is asked with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, TypeVar

from ragstone.errors import ConfigError

R = TypeVar("R")
OWNER: Final = "ragstone"
"""How scores are marked as Ragstone's, so that a later push finds them and leaves all others alone."""
PREFIX: Final = f"{OWNER}."
"""Stands before a metric's name: other evaluators of the same trace write ``groundedness`` too."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. ``absent``: statuses answered with None. ``once``: not repeated where it may have arrived."""

    path: str
    params: Sequence[tuple[str, str]] = ()
    method: Literal["GET", "POST", "PATCH"] = "GET"
    body: Any = None
    absent: Sequence[int] = ()
    once: bool = False


Flow: TypeAlias = Generator[Sequence[Request], list[Any], R]
"""Yields requests that may be sent at the same time, and is sent their answers: JSON, in the same order."""
Write: TypeAlias = Callable[[Mapping[str, Any]], None]


class TraceQuery(NamedTuple):
    """Which traces: those that began at ``since`` or later and before ``until``; the ``limit`` newest of them."""

    project: str
    since: datetime | None
    until: datetime
    limit: int | None


class PassageScore(NamedTuple):
    """The verdict on one passage: where it is (its span, and its place in that span's documents), and what it says."""

    span: str
    place: int
    value: float
    label: str
    explanation: str


class TraceScore(NamedTuple):
    """One score of a trace. ``span`` is its root span. ``value`` is in [0, 1]; ``explanation`` says what lowers it.

    ``passages`` are the verdicts behind the score of a metric that rates passages, where their places are known.
    """

    trace: str
    span: str
    name: str
    value: float
    label: str
    explanation: str
    judged_by: Literal["LLM", "CODE", "HUMAN"]
    metadata: Mapping[str, str]
    passages: Sequence[PassageScore] = ()


class Pushed(NamedTuple):
    """How many scores were sent and how many were there already, and the traces that the server does not have."""

    sent: int = 0
    unchanged: int = 0
    missing: tuple[str, ...] = ()

    def plus(self, other: Pushed) -> Pushed:
        """Both together."""
        return Pushed(self.sent + other.sent, self.unchanged + other.unchanged, self.missing + other.missing)


class Service(ABC):
    """One tool; ``name`` is its name on the command line, ``title`` in messages.

    ``format`` is the export that its traces are read as. ``addresses`` are the variables that hold its address, the
    first that is set counts, else ``address``; ``keys`` those that its keys are read from.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    format: ClassVar[str]
    address: ClassVar[str]
    addresses: ClassVar[Sequence[str]]
    keys: ClassVar[Sequence[str]]

    @abstractmethod
    def authorization(self, keys: Mapping[str, str]) -> str:
        """The Authorization header, empty for none; ConfigError where a key is required."""

    @abstractmethod
    def pull(self, wanted: TraceQuery, write: Write) -> Flow[tuple[int, int]]:
        """Write the rows of all spans, trace by trace; return how many traces there are, and how many without spans."""

    @abstractmethod
    def push(self, scores: Sequence[TraceScore]) -> Flow[Pushed]:
        """Send scores so that sending them again changes nothing."""


def needed_project(project: str, title: str) -> str:
    """The project; ConfigError if there is none."""
    if not project:
        raise ConfigError(f"{title} needs a project; add --project NAME")
    return project


def with_label(score: TraceScore) -> dict[str, str]:
    """The metadata, and the label for a tool whose scores have none."""
    return {**score.metadata, "label": score.label} if score.label else dict(score.metadata)


def instant(moment: datetime) -> str:
    """A time as all three APIs take it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
