"""The base of all metrics: the flow, ``ask`` and the arithmetic that they share.

A metric's ``flow`` is a plain generator: it yields questions, is sent their answers, and returns scores. It
never sees a judge, a prompt, a network or a clock, so it is tested with ``next`` and ``send``.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

from ragstone.errors import ConfigError
from ragstone.metrics.words import OWN_CRITERIA, SUPPORTED, Band, MetricWords, ScoreTable
from ragstone.questions import ALL, A_co, Answer, EarlierTurns, Question, Rate, Task, history_of
from ragstone.segment import ENGLISH, record_language
from ragstone.stats.means import agreement, mean, reaches
from ragstone.types import NOTHING, Outcome, Record, Scale, Score, Status, Unit, Verdict, nouns

R = TypeVar("R")
Flow = Generator[Sequence[Question[Any]], Sequence[Answer], R]
OnEmpty = Literal["null", "zero", "one"]

EMPTY_VALUE: Mapping[str, float | None] = {"null": None, "zero": 0.0, "one": 1.0}


def ask(*questions: Question[A_co]) -> Flow[tuple[A_co, ...]]:
    """Ask any number of questions of one kind at once; their answers come in the same order."""
    answers = yield questions
    return cast("tuple[A_co, ...]", tuple(answers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """The base of all metrics; parameters are dataclass fields, so that they can be overridden by name.

    The docstring of a class explains its parameters, as here. ``enabled``: false skips the metric. ``on_empty``: value
    if there is nothing to judge: null, zero or one. ``threshold``: minimum value (0 to 1) for a score to be PASSED,
    else FAILED. Of many metrics: ``reasons``: whether to ask for a one-sentence reason per verdict.
    ``batch``: max units per call; 0: as many as fit in the prompt and the reply.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """One line: what the value means."""
    needs: ClassVar[tuple[str, ...]]
    """The record's fields without which it cannot be computed."""
    asks: ClassVar[tuple[Task, ...]]
    """The tasks of the questions it may ask; the last is the one whose answer holds its verdicts. Empty: no judge."""
    suites: ClassVar[tuple[str, ...]]
    calls: ClassVar[int] = 1
    """Calls to an LLM judge for a record of typical length, asked alone."""
    blocks: ClassVar[tuple[str, ...]] = ()
    """Further names under which a record may bring overrides for it."""
    fixed: ClassVar[tuple[str, ...]] = ()
    """Parameters that hold for a whole run and cannot be overridden by a record."""
    least: ClassVar[Mapping[str, int]] = MappingProxyType({"batch": 0})
    """Parameters that are whole numbers, with the least value of each; ``batch`` only of a metric that has it."""
    most: ClassVar[Mapping[str, float]] = MappingProxyType({"threshold": 1})
    """Parameters that are numbers from 0, with the highest value of each; None only where that is the default."""
    choices: ClassVar[Mapping[str, Collection[object]]] = MappingProxyType({"on_empty": tuple(EMPTY_VALUE)})
    """Parameters that have one of a few values."""
    unsigned: ClassVar[tuple[str, ...]] = ("enabled", "threshold", "judges")
    """Parameters that do not change the number, or stand in the signature as the judges that they name."""
    columns: ClassVar[tuple[str, ...]] = ()
    """The names of its scores where it has several; they are called ``name.column``, an empty one ``name``."""
    columns_with: ClassVar[Mapping[str, Any]] = NOTHING
    """Parameters with which alone it has more than its own score, where not always."""
    lower_is_better: ClassVar[tuple[str, ...]] = ()
    """Columns whose best value is 0: ``on_empty`` ``one`` is 0 there, and a threshold says nothing of them."""
    exclusive: ClassVar[bool] = False
    """Whether a record falls into one of its columns: a 0 in the others is then neither good nor bad."""
    wants: ClassVar[tuple[str, ...]] = ()
    """Fields without which a suite leaves it out, though asked for by name it can do without."""
    instead: ClassVar[tuple[str, ...]] = ()
    """Fields that it then makes do with, beside those that it needs."""
    instead_does: ClassVar[str] = ""
    """What is then done with them, in words."""
    in_suites: ClassVar[Mapping[str, Any]] = NOTHING
    """Its parameters where a suite chose it and not the user by name."""
    always_asking: ClassVar[Mapping[str, Any]] = NOTHING
    """Parameters under which a judge is asked about every unit, where the metric may answer some by itself."""
    brings: ClassVar[tuple[Task, ...]] = ()
    """Tasks that are skipped if the record brings the answer itself, such as a bank of nuggets."""
    source: ClassVar[str] = ""
    synonyms: ClassVar[Mapping[str, str]] = NOTHING
    """Further names by which users look for it, each with the difference; empty if there is none."""
    elsewhere: ClassVar[Mapping[str, str]] = NOTHING
    """A tool to its name there; several names with commas. A difference to one is said in ``synonyms``."""
    group: ClassVar[str] = OWN_CRITERIA
    """The question of a user that it answers, one of ``words.GROUPS``."""
    heading: ClassVar[str] = ""
    """Its name as people write it; empty where that is the name with spaces."""
    unit: ClassVar[str] = "response"
    """The unit of a verdict, in the singular."""
    rank: ClassVar[int] = 1000
    """Its place on screens, lowest first."""
    words: ClassVar[MetricWords] = MetricWords(labels=SUPPORTED)
    """The words for verdicts of language models and people."""
    found_words: ClassVar[MetricWords | None] = None
    """The words where the embedded judge gave all verdicts; None for the same."""
    ranked_by: ClassVar[Mapping[str, str]] = NOTHING
    """For a column that is all or none the finer one by which the lowest records are found."""
    labelled: ClassVar[bool] = True
    """Whether its units can be labelled on a page, which shows one text or the passages to rate them by."""
    limits: ClassVar[tuple[str, ...]] = ()
    """Parameters by which units are left out."""
    main_columns: ClassVar[tuple[str, ...]] = ()
    """The columns that the table of a run has whose metrics nobody named; empty for all."""
    table: ClassVar[ScoreTable | None] = None
    """The layout of its columns."""
    bands: ClassVar[tuple[Band, ...]] = ()
    """Words for stretches of its value, the highest first."""
    open_columns: ClassVar[bool] = False
    """Whether users name its columns."""
    scales: ClassVar[Mapping[Task, tuple[Scale, ...]]] = MappingProxyType({})
    """By task, the scales of its questions, for tasks that it asks on others than its ``scale``."""
    hears: ClassVar[bool] = True
    """Whether all of its questions come with the earlier turns of a conversation."""

    enabled: bool = True
    on_empty: OnEmpty = "null"
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Refuse values that no record could make sense of; ConfigError names the parameter."""
        for name, values in {**Metric.choices, **self.choices}.items():
            value, known = getattr(self, name), tuple(values)  # a tuple, because what a record brings may not hash
            if isinstance(value, bool) or value not in known:
                *others, last = map(str, known)
                self.refuse(name, value, f"{', '.join(others)} or {last}")
        defaults = {f.name: f.default for f in fields(self)}
        for switch in (name for name, default in defaults.items() if isinstance(default, bool)):
            if not isinstance(getattr(self, switch), bool):
                self.refuse(switch, getattr(self, switch), "true or false")
        for name, least in {**Metric.least, **self.least}.items():
            value = getattr(self, name, least)
            if name == "batch" and value == ALL:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                self.refuse(name, value, f"a whole number from {least}{', or all' if name == 'batch' else ''}")
        for name, most in {**Metric.most, **self.most}.items():
            value = getattr(self, name)
            unset = value is None and defaults[name] is None
            if not unset and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most):
                self.refuse(name, value, f"a number from 0 to {most:g}")
        self.check()

    def check(self) -> None:
        """Refuse what cannot be meant; a metric with parameters of its own overrides it."""

    def flow(self, record: Record) -> Flow[tuple[Score, ...]]:
        """The questions about this record, then its scores. What needs no judge is settled here, at no cost."""
        if not self.enabled:
            return self.nothing(record, "disabled", "enabled is false")
        absent = [field for field in self.needs if _absent(record, field)]
        if absent:
            return self.nothing(record, "missing_field", f"no {' and no '.join(nouns(absent))}")
        blank = [field for field in self.needs if field != "contexts" and not str(getattr(record, field)).strip()]
        if blank:
            return self.nothing(record, "empty", f"blank {' and blank '.join(blank)}")
        history = history_of(record.meta) if self.hears else EarlierTurns()
        lang = record_language(record.meta, record.question, record.response)
        told = history or lang != ENGLISH
        return (yield from _told(history, lang, self.judged(record)) if told else self.judged(record))

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Ask the questions about a record that has all needed fields, then return the scores."""
        raise NotImplementedError

    @classmethod
    def score_name(cls, column: str = "") -> str:
        """The name of the score of a column."""
        return f"{cls.name}.{column}" if column else cls.name

    @classmethod
    def score_names(cls) -> tuple[str, ...]:
        """The names of its scores: its own, or one for each of its columns."""
        return tuple(map(cls.score_name, cls.columns or ("",)))

    def gives(self) -> tuple[str, ...]:
        """The columns of the scores that it gives with its parameters."""
        all_of_them = all(getattr(self, name) == value for name, value in self.columns_with.items())
        return self.columns if self.columns and all_of_them else ("",)

    def given_names(self) -> tuple[str, ...]:
        """The names of those scores."""
        return tuple(map(self.score_name, self.gives()))

    def unset(self) -> str:
        """Say what has to be given before it can ask anything; empty where nothing has."""
        return ""

    def expecting(self, *, overridden: bool) -> Self:  # noqa: ARG002 - for metrics whose scores depend on it
        """The same metric for a run; ``overridden``: some of its records bring parameters."""
        return self

    @property
    def writes(self) -> bool:
        """Whether the task of its verdicts also writes."""
        return False

    @classmethod
    def task(cls) -> Task | Literal[""]:
        """The task of the question whose answer holds its verdicts; empty for a metric that asks no judge."""
        return cls.asks[-1] if cls.asks else ""

    @classmethod
    def stands_on(cls, column: str, unit: Mapping[str, Any]) -> bool:  # noqa: ARG003 - metrics of columns look at them
        """Return whether a column's value stands on the verdict about a unit (as in results.jsonl)."""
        return True

    @classmethod
    def lacks(cls, present: Mapping[str, int]) -> str:
        """Why a suite leaves it out, by the number of records that have each field; empty where none is missing."""
        absent = [name for name in (*cls.needs, *cls.wants) if not present.get(name)]
        does = cls.instead_does or f"it uses the {' and '.join(cls.instead)}"
        instead = f"; with -m {cls.name}, {does} instead"
        able = set(absent) <= set(cls.wants) and all(present.get(name) for name in cls.instead)
        said = f"no record has {' or '.join(nouns(absent, article=True))}"
        return f"{said}{instead if able and cls.instead else ''}" if absent else ""

    def nothing(self, record: Record, status: Status, reason: str) -> tuple[Score, ...]:
        """All of its scores where none has verdicts to stand on."""
        return tuple(self.without_value(record, status, reason, column=column) for column in self.gives())

    def made_with(self) -> Mapping[str, str]:
        """What shapes its numbers beside parameters and judges, for its signature; ConfigError if it is not there."""
        return NOTHING

    @property
    def wordings(self) -> tuple[int, ...]:
        """The wordings in which its questions may be asked."""
        return (1,)

    def refuse(self, parameter: str, found: object, expected: str) -> None:
        """Raise ConfigError for a parameter's value."""
        raise ConfigError(f"{self.name}.{parameter}: invalid value {found!r}; expected {expected}")

    def with_parameters(self, parameters: Mapping[str, Any]) -> Self:
        """The same metric with some parameters changed; ConfigError for an unknown name or a bad value."""
        if not parameters:
            return self
        known = sorted(f.name for f in fields(self))
        for name in parameters:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                meant = f"did you mean '{near[0]}'?" if near else f"its parameters are {', '.join(known)}"
                raise ConfigError(f"{self.name}: no parameter '{name}'; {meant}")
        return replace(self, **{name: _frozen(value) for name, value in parameters.items()})

    def overridden(self, parameters: Mapping[str, Any]) -> Self:
        """The same metric with one record's overrides; ConfigError also for a parameter that is the run's."""
        for name in parameters:
            if name in self.fixed:
                raise ConfigError(f"{self.name}.{name} applies to the whole run; a record cannot change it")
        return self.with_parameters(parameters)

    def parameters(self) -> dict[str, Any]:
        """Name to value of every parameter, sorted."""
        return {f.name: getattr(self, f.name) for f in sorted(fields(self), key=lambda f: f.name)}

    def changed(self) -> dict[str, Any]:
        """The parameters that differ from the metric's defaults, sorted by name."""
        defaults = {f.name: f.default for f in fields(self)}
        return {name: value for name, value in self.parameters().items() if value != defaults[name]}

    def rate(self, record: Record, task: Task, units: Sequence[Unit], scale: Scale, **more: Any) -> Rate:
        """A question about units: of ``support`` by the record's passages, else by its question alone.

        The metric's ``reasons`` and ``batch`` hold, if it has them; ``more`` wins.
        """
        told: dict[str, Any] = {name: getattr(self, name) for name in ("reasons", "batch") if hasattr(self, name)}
        told |= {"passages": record.passages, "evidence": True} if task == "support" else {}
        return Rate(task, tuple(units), scale, record.question or "", **{**told, **more})

    def valued(
        self, record: Record, value: float, low: float, high: float, *, column: str = "", partial: bool = False,
        **more: Any,
    ) -> Score:  # fmt: skip
        """A score (of a column, where there are several) with its bounds; ``partial``: some of it is unjudged."""
        outcome = None if column in self.lower_is_better else self.outcome(value)
        status: Status = "partial" if partial else "scored"
        return Score(self.score_name(column), record.id, value, status, low=low, high=high, outcome=outcome, **more)

    def exact(self, record: Record, value: float, *, column: str = "", **more: Any) -> Score:
        """A score (of a column, where there are several) whose value nothing leaves open."""
        return self.valued(record, value, value, value, column=column, **more)

    def without_value(self, record: Record, status: Status, reason: str, *, column: str = "", **more: Any) -> Score:
        """A score (of a column, where there are several) that has no verdicts to stand on.

        For ``empty`` the value follows ``on_empty``; for ``judge_failed`` it could have been any.
        """
        value = EMPTY_VALUE[self.on_empty] if status == "empty" else None
        if value is not None and column in self.lower_is_better:
            value = 1.0 - value
        low, high = (0.0, 1.0) if status == "judge_failed" else (value, value)
        return Score(
            metric=self.score_name(column), record=record.id, value=value, status=status, low=low, high=high,
            reason=reason, outcome=None if column in self.lower_is_better else self.outcome(value), **more,
        )  # fmt: skip

    @staticmethod
    def together(scores: Iterable[Score]) -> tuple[Score, ...]:
        """The scores of all columns, of which the first holds the verdicts and the detail."""
        first, *others = scores
        return (first, *(replace(one, verdicts=(), detail={}, verdicts_in=first.metric) for one in others))

    def mean_score(
        self,
        record: Record,
        verdicts: Sequence[Verdict],
        *,
        column: str = "",
        reason: str = "",
        detail: Mapping[str, Any] | None = None,
        incomplete: str = "",
        weights: Sequence[float] | None = None,
    ) -> Score:
        """The mean over the judged units (as a column, where there are several), with what it could have been.

        Trivial units are left out. ``incomplete`` says that units are missing altogether (a part of the
        response that could not be read): the score is then partial at best. ``weights`` are the verdicts', in
        their order; without them all weigh the same.
        """
        pairs = list(zip(verdicts, weights or [1.0] * len(verdicts), strict=True))
        counted = [verdict for verdict in verdicts if not verdict.trivial]
        judged = [(weight * v.value, weight) for v, weight in pairs if v.value is not None and not v.trivial]
        unjudged = len(counted) - len(judged)
        told = {**_panel(counted), **(detail or {})}
        common: dict[str, Any] = {"column": column, "verdicts": tuple(verdicts), "detail": told}
        if not counted:
            if incomplete:
                return self.without_value(record, "judge_failed", incomplete, **common)
            nothing = "no sentence states anything" if verdicts else reason or "nothing to judge"
            return self.without_value(record, "empty", nothing, **common)
        if not judged:
            return replace(
                self.without_value(record, "judge_failed", _failures(counted), **common),
                asked=len(counted), unjudged=unjudged,
            )  # fmt: skip
        gained = math.fsum(share for share, _ in judged)
        known = math.fsum(weight for _, weight in judged)
        total = math.fsum(weight for verdict, weight in pairs if not verdict.trivial)
        value = gained / known
        why = "; ".join(text for text in (incomplete, _failures(counted) if unjudged else "", reason) if text)
        return self.valued(
            record,
            value,
            0.0 if incomplete else gained / total,  # how many units are missing is not known
            1.0 if incomplete else best(gained, known, total),
            partial=bool(unjudged or incomplete),
            asked=len(counted),
            unjudged=unjudged,
            reason=why,
            **{**common, "detail": {**told, **self.band(value)}},
        )

    def band(self, value: float) -> dict[str, Any]:
        """Return the band of a value for a score's detail; empty if the metric has none."""
        found = next((band for band in self.bands if reaches(value, band.least)), None)
        return {"band": {"name": found.name, "en": found.en, "ru": found.ru}} if found else {}

    def outcome(self, value: float | None) -> Outcome | None:
        """PASSED at or above the threshold; None without a value or without a threshold."""
        if value is None or self.threshold is None:
            return None
        return "PASSED" if reaches(value, self.threshold) else "FAILED"


def _told(history: EarlierTurns, lang: str, flow: Flow[R]) -> Flow[R]:
    """The same flow, each of its questions with what was said before the record's, and with its language."""

    def told(question: Question[Any]) -> Question[Any]:
        return replace(question, history=history or question.history, lang=question.lang or lang)

    try:
        questions = next(flow)
        while True:
            questions = flow.send((yield [told(question) for question in questions]))
    except StopIteration as stop:
        return cast("R", stop.value)


def best(gained: float, known: float, total: float) -> float:
    """The value if all that is unjudged were best: ``gained`` of ``known``, and all the rest of ``total``.

    Never below the value itself, nor above 1, by the rounding of sums.
    """
    return max(gained / known, min(1.0, (gained + (total - known)) / total))


def _absent(record: Record, field: str) -> bool:
    """Contexts that hold no text are as good as none: there is nothing to hold a response against."""
    if field == "contexts":
        return not any(passage.text.strip() for passage in record.contexts or ())
    return getattr(record, field) is None


def _panel(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the mean agreement of a panel's judges over units, and the number of failures of each."""
    judged = [verdict for verdict in verdicts if verdict.members]
    if not judged:
        return {}
    pairs = [agreement([member.raw for member in verdict.members if member.raw is not None]) for verdict in judged]
    shares = [share for share, _ in pairs if share is not None]
    spreads = [spread for _, spread in pairs if spread is not None]
    failed = Counter(member.judge for verdict in judged for member in verdict.members if member.unjudged)
    return {
        "agreement": mean(shares) if shares else None,
        "spread": max(spreads, default=None),
        "failed_members": dict(sorted(failed.items())),
    }


def _failures(verdicts: Sequence[Verdict]) -> str:
    causes = dict.fromkeys(v.failure or "no answer" for v in verdicts if v.unjudged)
    count = sum(v.unjudged for v in verdicts)
    return f"{count} of {len(verdicts)} unjudged: " + "; ".join(causes)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
