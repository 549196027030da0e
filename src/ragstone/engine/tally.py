"""Count what a run has done and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import astuple

from ragstone.engine.settings import Amount
from ragstone.errors import BackendError
from ragstone.judges.base import Usage
from ragstone.segment import shortened
from ragstone.stats.means import rounded


class Spent(Struct):
    """Calls and tokens of one kind; ``dollars`` is None once a price is unknown.

    ``cached_tokens`` are part of the input, ``reasoning_tokens`` of the output. ``unmetered`` calls came without token
    counts. ``seconds`` is the total duration of answered calls; concurrent calls count separately.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    unmetered: int = 0
    seconds: float = 0.0
    dollars: float | None = 0.0

    def add(self, usage: Usage, dollars: float | None) -> None:
        """Count one call."""
        self.calls += 1
        self.input_tokens += usage.input or 0
        self.output_tokens += usage.output or 0
        self.cached_tokens += usage.cached or 0
        self.reasoning_tokens += usage.reasoning or 0
        self.unmetered += usage.input is None or usage.output is None
        self.dollars = None if self.dollars is None or dollars is None else self.dollars + dollars

    def as_json(self) -> dict[str, Any]:
        """Return plain numbers, money rounded to a billionth of a dollar."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "unmetered_calls": self.unmetered,
            "dollars": rounded(self.dollars),
        }


class Tally(Struct):
    """The counts of one run.

    ``records`` are finished, ``kept`` of them written to the results (a finished record waits for earlier ones);
    ``taken_over`` records reuse the result of an earlier run.
    ``sent`` counts requests to endpoints, whatever their outcome; ``replied`` the calls that endpoints answered;
    ``here`` the calls answered without a request, for example by the embedded judge; ``replayed`` those from the
    store; ``unseen`` those missing from the store and not sent because the run is offline.

    ``paid`` is everything charged; ``unusable`` the part of it that was wasted: charged attempts that had to be
    retried, and replies that could not be read. ``lost`` attempts got no complete reply and may have cost up to
    ``lost_dollars`` (None: unknown). ``budget`` (in dollars), ``most_calls`` and ``most_tokens`` are the limits of the
    run, if any, and ``charged`` is what counts towards them, including what may have been charged. ``expected`` is the
    estimated cost. ``limit`` briefly describes what currently holds the run back; empty if nothing does.
    """

    records: int = 0
    kept: int = 0
    sent: int = 0
    replied: int = 0
    here: Counter[str] = field(default_factory=Counter)
    replayed: int = 0
    shared: int = 0
    retried: int = 0
    failed: int = 0
    unseen: int = 0
    taken_over: int = 0
    paid: Spent = field(default_factory=Spent)
    unusable: Spent = field(default_factory=Spent)
    lost: int = 0
    lost_dollars: float | None = 0.0
    budget: float | None = None
    most_calls: int | None = None
    most_tokens: int | None = None
    charged: Amount = field(default_factory=Amount)
    expected: float | None = None
    by_step: dict[tuple[str, str], Spent] = field(default_factory=dict)
    retry_causes: Counter[str] = field(default_factory=Counter)
    waited: float = 0.0
    """Total seconds waited before retries."""
    notes: Counter[str] = field(default_factory=Counter)
    limit: Callable[[], str] = str

    @property
    def answered(self) -> int:
        """Return how many calls were answered in this run, by any judge."""
        return self.replied + self.here.total()

    @property
    def anything(self) -> bool:
        """Return whether the run has a record, a reply, or an attempt that may have been charged."""
        return bool(self.records or self.asked)

    @property
    def asked(self) -> bool:
        """Return whether the run has a reply, or an attempt that may have been charged."""
        return bool(self.paid.calls or self.replayed or self.lost)

    def pay(self, judge: str, task: str, usage: Usage, dollars: float | None, *, sent: bool = True) -> None:
        """Count a newly answered call; ``sent``: by an endpoint."""
        if sent:
            self.replied += 1
        else:
            self.here[judge] += 1
        self.paid.add(usage, dollars)
        self._spent(judge, task).add(usage, dollars)

    def took(self, judge: str, task: str, seconds: float) -> None:
        """Add the duration of an answered call."""
        self._spent(judge, task).seconds += seconds

    def waste(self, judge: str, task: str, usage: Usage, dollars: float | None) -> None:
        """Count an attempt that was charged but gave no answer."""
        self.unusable.add(usage, dollars)
        self.paid.add(usage, dollars)
        self._spent(judge, task).add(usage, dollars)

    def _spent(self, judge: str, task: str) -> Spent:
        if (judge, task) not in self.by_step:
            self.by_step[judge, task] = Spent()
        return self.by_step[judge, task]

    def retry(self, error: BackendError, pause: float) -> None:
        """Count a retry after this error and a pause in seconds."""
        self.retried += 1
        self.waited += pause
        self.retry_causes[cause_of(error)] += 1

    def lose(self, dollars: float | None) -> None:
        """Count an attempt without a reply, which may have cost up to ``dollars``."""
        self.lost += 1
        self.lost_dollars = None if self.lost_dollars is None or dollars is None else self.lost_dollars + dollars

    def take(self, parts: Sequence[Tally]) -> None:
        """Set the calls and costs to the sum of ``parts``, the tallies of processes that share a run."""
        for name in self.__struct_fields__:
            if name not in _OWN:
                setattr(self, name, _sum([getattr(part, name) for part in parts]))

    def as_json(self) -> dict[str, Any]:
        """Return the bill of this run: calls sent and replayed, in total and by judge and step."""
        return {
            "sent": self.sent,
            "answered": self.answered,
            "here": dict(sorted(self.here.items())),
            "replayed": self.replayed,
            "shared": self.shared,
            "retried": self.retried,
            "failed": self.failed,
            "unseen": self.unseen,
            "paid": self.paid.as_json(),
            "unusable": self.unusable.as_json(),
            "lost": {
                "attempts": self.lost,
                "dollars": rounded(self.lost_dollars),
            },
            "by_step": [
                {"judge": judge, "step": task, **spent.as_json(), "seconds": round(spent.seconds, 3)}
                for (judge, task), spent in sorted(self.by_step.items())
            ],
            "retry_causes": dict(sorted(self.retry_causes.items())),
            "waited_seconds": round(self.waited, 1),
            "notes": dict(sorted(self.notes.items())),
        }


_OWN: Final = ("records", "kept", "budget", "most_calls", "most_tokens", "expected", "limit")
"""Counts that belong to the run itself rather than to the processes that make its calls."""


def _sum(values: Sequence[Any]) -> Any:
    first = values[0]
    if None in values:
        return None
    if isinstance(first, Spent):
        return Spent(*map(_sum, zip(*map(astuple, values), strict=True)))
    if isinstance(first, dict):
        names = dict.fromkeys(name for value in values for name in value)
        return type(first)({name: _sum([value[name] for value in values if name in value]) for name in names})
    return sum(values[1:], first)


def cause_of(error: BackendError) -> str:
    """Return the cause of a retry: the HTTP status, else the error without details."""
    if error.no_capacity:
        return "no flex capacity"
    if error.status:
        return f"HTTP {error.status}"
    text = str(error)
    said = (text.partition(": ")[2] or text).partition(" (")[0].partition(": ")[0]
    return shortened(said)
