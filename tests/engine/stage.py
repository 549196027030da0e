"""An engine on a small stage: scripted or slow judges, a store, and what came of a run."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from ragstone.engine.document import Weighed
from ragstone.engine.route import Route, Routes
from ragstone.engine.run import Engine, Job
from ragstone.engine.settings import Settings
from ragstone.engine.tally import Tally
from ragstone.errors import RagstoneError
from ragstone.judges.base import Call, Judge, Reply
from ragstone.judges.catalogue import build
from ragstone.judges.spec import parse
from ragstone.metrics import find
from ragstone.metrics.base import Metric
from ragstone.prices import PriceBook
from ragstone.questions import Rate
from ragstone.store.database import Store
from ragstone.testing import FakeServer, ScriptedBackend, ScriptedJudge
from ragstone.types import Passage, Record

QUICK = Settings(tries=3, deadline=10.0, dead_after=1000, ahead=64)
GOOD: dict[Any, Any] = {"claims": ["One.", "Two."], "support": "yes", "relevance": "yes", "response_support": "2"}


def record(name: str, response: str = "", question: str = "What is it?") -> Record:
    """A record; records of different names have different responses unless one is given."""
    passage = Passage("p1", "It is a kettle of steel.", 1)
    return Record(name, question=question, response=response or f"It is {name}. It boils.", contexts=(passage,))


def records(count: int) -> list[Record]:
    return [record(f"r{number}") for number in range(1, count + 1)]


def metrics(*names: str) -> tuple[Metric, ...]:
    return tuple(find(name)() for name in names)


def jobs(given: Iterable[Record], chosen: Sequence[Metric]) -> Iterator[Job]:
    pairs = tuple((metric, f"{metric.name}|v:test") for metric in chosen)
    for position, about in enumerate(given, 1):
        yield Job(position, about.id, about, pairs)


def only(*judges: Judge) -> Routes:
    """These judges for every step but the writing of claims, which the first does."""
    return Routes(Route(judges), {"claims": Route(judges[:1])})


@dataclass
class Outcome:
    """What came of a run; ``error`` is what ended it before its time."""

    weighed: list[Weighed] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    error: RagstoneError | None = None

    @property
    def ids(self) -> list[str]:
        return [weighed.record for weighed in self.weighed]

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [orjson.loads(weighed.document) for weighed in self.weighed]

    @property
    def statuses(self) -> list[str]:
        return [score.status for weighed in self.weighed for score in weighed.scores]

    @property
    def values(self) -> list[float | None]:
        return [score.value for weighed in self.weighed for score in weighed.scores]

    @property
    def reasons(self) -> list[str]:
        return [score.reason for weighed in self.weighed for score in weighed.scores]


def weigh(
    given: Iterable[Record] | Iterator[Job],
    chosen: Sequence[Metric],
    judge: Judge | Routes,
    *,
    store: Store | None = None,
    settings: Settings = QUICK,
    prices: PriceBook | None = None,
    seen: Callable[[Weighed], None] = lambda weighed: None,
    run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run,
) -> Outcome:
    """Run an engine in a loop of its own, of virtual time if ``run`` says so; nothing takes longer than ten seconds."""
    routes = judge if isinstance(judge, Routes) else only(judge)
    outcome = Outcome()

    async def drive(kept: Store) -> None:
        engine = Engine(routes, kept, prices or PriceBook(), settings)
        outcome.tally = engine.tally
        items = list(given) if isinstance(given, Sequence) else given
        work = jobs(items, chosen) if isinstance(items, list) else items
        async with contextlib.aclosing(engine.run(work)) as results:  # type: ignore[arg-type]
            async for weighed in results:
                outcome.weighed.append(weighed)
                seen(weighed)

    with limited(10), contextlib.ExitStack() as stack:
        kept = store or stack.enter_context(Store(":memory:"))
        try:
            run(drive(kept))
        except RagstoneError as error:
            outcome.error = error
    return outcome


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """An engine that spins or waits for ever fails its test instead of holding up all of them."""

    def ring(number: int, frame: object) -> None:
        raise AssertionError(f"still running after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class SlowBackend(ScriptedBackend):
    """Waits before it answers, and knows how many calls were inside at a time."""

    def __init__(self, judge: ScriptedJudge, concurrency: int, delay: Callable[[str], float]) -> None:
        super().__init__(judge, concurrency)
        self.delay = delay
        self.flying = self.most = 0
        self.order: list[str] = []

    async def send(self, call: Call) -> Reply:
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            await asyncio.sleep(self.delay(about(self.expected[call.key])))
            reply = await super().send(call)
        finally:
            self.flying -= 1
        self.order.append(about(self.expected[call.key]))
        return reply


def about(question: Any) -> str:
    """The text that a question is about, to know it by."""
    units = question.units if isinstance(question, Rate) else question.sentences
    return str(units[0].text)


def slow_judge(delay: Callable[[str], float], script: Any = None, *, concurrency: int = 8) -> ScriptedJudge:
    judge = ScriptedJudge(script or GOOD)
    judge.backend = SlowBackend(judge, concurrency, delay)
    return judge


def prompted(server: FakeServer, model: str = "any") -> Judge:
    """A judge that asks the fake server over real sockets."""
    return build(parse(f"vllm:{model}@{server.url}"))
