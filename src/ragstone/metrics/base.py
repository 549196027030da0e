"""Base class of all metrics: the flow, ``ask`` and shared arithmetic.

A metric's ``flow`` is a plain generator: it yields questions, receives their answers and returns scores. It never
deals with judges, prompts, the network or the clock, so tests can drive it with ``next`` and ``send``.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Self, TypeVar, cast

from msgspec.structs import replace

from ragstone.errors import ConfigError
from ragstone.metrics.words import OWN_CRITERIA, SUPPORTED, Band, MetricWords, ScoreTable
from ragstone.questions import ALL, A_co, Answer, EarlierTurns, Question, Rate, Task, history_of
from ragstone.segment import ENGLISH, record_language
from ragstone.stats.means import agreement, mean, reaches
from ragstone.types import NOTHING, Outcome, Record, Scale, Score, Status, Unit, Verdict, is_blank, nouns

R = TypeVar("R")
Flow = Generator[Sequence[Question[Any]], Sequence[Answer], R]
OnEmpty = Literal["null", "zero", "one"]

EMPTY_VALUE: Mapping[str, float | None] = {"null": None, "zero": 0.0, "one": 1.0}


def ask(*questions: Question[A_co]) -> Flow[tuple[A_co, ...]]:
    """Ask any number of questions of one kind at once; return their answers in the same order."""
    answers = yield questions
    return cast("tuple[A_co, ...]", tuple(answers))


HOW_TO_ADD: Final = "; to include it, add its name: -m auto,{}"
"""The end of a reason to leave out a metric that runs if it is named."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Metric:
    """Base class of all metrics. Parameters are dataclass fields, so they can be overridden by name.

    The docstring of a class explains its parameters, as here. ``enabled``: false skips the metric. ``on_empty``: value
    if there is nothing to judge: null, zero or one. ``threshold``: a score of at least this value (0 to 1) is PASSED,
    otherwise FAILED. Shared by many metrics: ``reasons``: whether to ask for a one-sentence reason per verdict.
    ``batch``: max units per call; 0: the prompt's own limit, or fewer if the reply would be too long.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """The meaning of the value, in one line."""
    needs: ClassVar[tuple[str, ...]]
    """Record fields that the metric requires."""
    asks: ClassVar[tuple[Task, ...]]
    """Tasks of the questions it may ask; the answer to the last one holds its verdicts. Empty: it uses no judge."""
    suites: ClassVar[tuple[str, ...]]
    calls: ClassVar[int] = 1
    """Calls to an LLM judge for a record of typical length, if no other metric shares them."""
    blocks: ClassVar[tuple[str, ...]] = ()
    """Additional record fields that may override its parameters."""
    fixed: ClassVar[tuple[str, ...]] = ()
    """Parameters that apply to the whole run and cannot be overridden by a record."""
    least: ClassVar[Mapping[str, int]] = MappingProxyType({"batch": 0})
    """Minimum of each integer parameter; ``batch`` is ignored for metrics without it."""
    most: ClassVar[Mapping[str, float]] = MappingProxyType({"threshold": 1})
    """Maximum of each parameter that is a number from 0 up; None is allowed only if it is the default."""
    choices: ClassVar[Mapping[str, Collection[object]]] = MappingProxyType({"on_empty": tuple(EMPTY_VALUE)})
    """Allowed values of parameters with a fixed set of values."""
    unsigned: ClassVar[tuple[str, ...]] = ("enabled", "threshold", "judges")
    """Parameters not in the signature: they do not affect the value, or the signature names the judges instead."""
    columns: ClassVar[tuple[str, ...]] = ()
    """Columns of a metric with several scores, named ``name.column``; the score of an empty column is ``name``."""
    columns_with: ClassVar[Mapping[str, Any]] = NOTHING
    """Parameter values required for all columns; with other values it has only its own score."""
    lower_is_better: ClassVar[tuple[str, ...]] = ()
    """Columns whose best value is 0: ``on_empty`` ``one`` means 0 there, and ``threshold`` does not apply."""
    exclusive: ClassVar[bool] = False
    """Whether each record falls into exactly one column, so that a 0 in the others is neither good nor bad."""
    wants: ClassVar[tuple[str, ...]] = ()
    """Fields without which a suite omits the metric, although it can run without them if named explicitly."""
    instead: ClassVar[tuple[str, ...]] = ()
    """Fields that it then uses instead, in addition to ``needs``."""
    instead_does: ClassVar[str] = ""
    """Description of how these fields are used, for messages."""
    in_suites: ClassVar[Mapping[str, Any]] = NOTHING
    """Parameters that apply if a suite selected the metric, rather than the user by name."""
    always_asking: ClassVar[Mapping[str, Any]] = NOTHING
    """Parameters with which a judge is asked about every unit, if the metric can otherwise answer some itself."""
    brings: ClassVar[tuple[Task, ...]] = ()
    """Tasks that are skipped if the record already contains the answer, such as a nugget bank."""
    source: ClassVar[str] = ""
    synonyms: ClassVar[Mapping[str, str]] = NOTHING
    """Other names that users may search for, each with how that metric differs; empty if it does not."""
    elsewhere: ClassVar[Mapping[str, str]] = NOTHING
    """Its name in each other tool; several names are separated by commas. ``synonyms`` explains differences."""
    group: ClassVar[str] = OWN_CRITERIA
    """The user's question that it answers: one of ``words.GROUPS`` or, in other packages, any text."""
    heading: ClassVar[str] = ""
    """Display name; empty if it is ``name`` with spaces."""
    unit: ClassVar[str] = "response"
    """The word for what a verdict judges, in the singular."""
    rank: ClassVar[int] = 1000
    """Display order, lowest first."""
    words: ClassVar[MetricWords] = MetricWords(labels=SUPPORTED)
    """Wording for verdicts of language models and people."""
    found_words: ClassVar[MetricWords | None] = None
    """Wording if all verdicts are the embedded judge's; None means ``words``."""
    ranked_by: ClassVar[Mapping[str, str]] = NOTHING
    """For a column that is only 0 or 1, the finer column that ranks the lowest records."""
    labelled: ClassVar[bool] = True
    """Whether people can label its units on the labelling page, which shows one text or the passages as evidence."""
    limits: ClassVar[tuple[str, ...]] = ()
    """Parameters that limit the number of units."""
    main_columns: ClassVar[tuple[str, ...]] = ()
    """Columns shown in a run's table if the user named no metrics; empty means all."""
    table: ClassVar[ScoreTable | None] = None
    """Table layout of its columns."""
    bands: ClassVar[tuple[Band, ...]] = ()
    """Named ranges of its value, highest first."""
    open_columns: ClassVar[bool] = False
    """Whether its columns are named by users."""
    scales: ClassVar[Mapping[Task, tuple[Scale, ...]]] = MappingProxyType({})
    """Scales of its questions by task, for tasks that do not use its ``scale``."""
    hears: ClassVar[bool] = True
    """Whether all of its questions include the earlier turns of a conversation."""

    enabled: bool = True
    on_empty: OnEmpty = "null"
    threshold: float | None = None

    def __post_init__(self) -> None:
        """Validate the parameters; raise ConfigError that names an invalid one."""
        for name, values in {**Metric.choices, **self.choices}.items():
            value, known = getattr(self, name), tuple(values)  # a tuple, because a record's value may be unhashable
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
                self.refuse(name, value, f"a whole number of at least {least}{', or all' if name == 'batch' else ''}")
        for name, most in {**Metric.most, **self.most}.items():
            value = getattr(self, name)
            unset = value is None and defaults[name] is None
            if not unset and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most):
                self.refuse(name, value, f"a number from 0 to {most:g}")
        self.check()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.changed().items())})"

    def check(self) -> None:
        """Validate the metric's own parameters; raise ConfigError if invalid. Subclasses may override it."""

    def flow(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Yield the questions about a record and return its scores; cases that need no judge cost no call."""
        if not self.enabled:
            return self.nothing(record, "disabled", "enabled is false")
        absent = [field for field in self.needs if _absent(record, field)]
        if absent:
            return self.nothing(record, "missing_field", f"no {' and no '.join(nouns(absent))}")
        blank = [field for field in self.needs if field != "contexts" and is_blank(str(getattr(record, field)))]
        if blank:
            return self.nothing(record, "empty", f"blank {' and blank '.join(blank)}")
        history = history_of(record.meta) if self.hears else EarlierTurns()
        lang = record_language(record.meta, record.question, record.response)
        told = history or lang != ENGLISH
        return (yield from _told(history, lang, self.judged(record)) if told else self.judged(record))

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Ask the questions about a record that has all required fields, then return the scores."""
        raise NotImplementedError

    @classmethod
    def score_name(cls, column: str = "") -> str:
        """Return the name of a column's score."""
        return f"{cls.name}.{column}" if column else cls.name

    @classmethod
    def score_names(cls) -> tuple[str, ...]:
        """Return the names of its scores: its own, or one per column."""
        return tuple(map(cls.score_name, cls.columns or ("",)))

    def gives(self) -> tuple[str, ...]:
        """Return the columns that it produces with its current parameters."""
        all_of_them = all(getattr(self, name) == value for name, value in self.columns_with.items())
        return self.columns if self.columns and all_of_them else ("",)

    def given_names(self) -> tuple[str, ...]:
        """Return the names of the scores that it produces with its current parameters."""
        return tuple(map(self.score_name, self.gives()))

    def unset(self) -> str:
        """Return a message about required settings that are missing; empty if none are."""
        return ""

    def expecting(self, *, overridden: bool) -> Self:  # noqa: ARG002 - for metrics whose scores depend on it
        """Return the metric to use for a run; ``overridden``: some of its records override parameters."""
        return self

    @property
    def writes(self) -> bool:
        """Whether the task of its verdicts also writes texts, such as the steps of a criterion."""
        return False

    @classmethod
    def task(cls) -> Task | Literal[""]:
        """Return the task whose answer holds its verdicts; empty for a metric that uses no judge."""
        return cls.asks[-1] if cls.asks else ""

    @classmethod
    def stands_on(cls, column: str, unit: Mapping[str, Any]) -> bool:  # noqa: ARG003 - metrics of columns look at them
        """Return whether a column's value depends on the verdict about a unit (as in results.jsonl)."""
        return True

    @classmethod
    def lacks(cls, present: Mapping[str, int]) -> str:
        """Return why a suite omits the metric, given how many records have each field; empty if it does not."""
        absent = [name for name in (*cls.needs, *cls.wants) if not present.get(name)]
        does = cls.instead_does or f"it uses the {' and '.join(cls.instead)}"
        instead = f"; with -m {cls.name}, {does} instead"
        able = set(absent) <= set(cls.wants) and all(present.get(name) for name in cls.instead)
        said = f"no record has {' or '.join(nouns(absent, article=True))}"
        return f"{said}{instead if able and cls.instead else ''}" if absent else ""

    def nothing(self, record: Record, status: Status, reason: str) -> tuple[Score, ...]:
        """Return all of its scores for a record without verdicts."""
        return tuple(self.without_value(record, status, reason, column=column) for column in self.gives())

    def made_with(self) -> Mapping[str, str]:
        """Return what else affects its values, for the signature; raise ConfigError if something is not available."""
        return NOTHING

    @property
    def wordings(self) -> tuple[int, ...]:
        """The prompt wordings that its questions may use."""
        return (1,)

    def refuse(self, parameter: str, found: object, expected: str) -> None:
        """Raise ConfigError for an invalid parameter value."""
        raise ConfigError(f"{self.name}.{parameter}: invalid value {found!r}; expected {expected}")

    def with_parameters(self, parameters: Mapping[str, Any]) -> Self:
        """Return the metric with some parameters changed; raise ConfigError for an unknown name or an invalid value."""
        if not parameters:
            return self
        known = sorted(f.name for f in fields(self))
        for name in parameters:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                meant = f"did you mean '{near[0]}'?" if near else f"its parameters are {', '.join(known)}"
                raise ConfigError(f"{self.name}: no parameter '{name}'; {meant}")
        return dataclasses.replace(self, **{name: _frozen(value) for name, value in parameters.items()})

    def overridden(self, parameters: Mapping[str, Any]) -> Self:
        """Return the metric with one record's overrides; also raise ConfigError for a parameter in ``fixed``."""
        for name in parameters:
            if name in self.fixed:
                raise ConfigError(f"{self.name}.{name} applies to the whole run; a record cannot change it")
        return self.with_parameters(parameters)

    def parameters(self) -> dict[str, Any]:
        """Return all parameters, sorted by name."""
        return {f.name: getattr(self, f.name) for f in sorted(fields(self), key=lambda f: f.name)}

    def changed(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, sorted by name."""
        defaults = {f.name: f.default for f in fields(self)}
        return {name: value for name, value in self.parameters().items() if value != defaults[name]}

    def rate(self, record: Record, task: Task, units: Sequence[Unit], scale: Scale, **more: Any) -> Rate:
        """Return a question that rates units: by the record's passages for ``support``, else by its question alone.

        It uses the metric's ``reasons`` and ``batch``, if defined; ``more`` takes precedence.
        """
        told: dict[str, Any] = {name: getattr(self, name) for name in ("reasons", "batch") if hasattr(self, name)}
        told |= {"passages": record.passages, "evidence": True} if task == "support" else {}
        return Rate(task, tuple(units), scale, record.question or "", **{**told, **more})

    def valued(
        self, record: Record, value: float, low: float, high: float, *, column: str = "", partial: bool = False,
        **more: Any,
    ) -> Score:  # fmt: skip
        """Return the score of a column with its bounds; ``partial``: some units are unjudged."""
        outcome = None if column in self.lower_is_better else self.outcome(value)
        status: Status = "partial" if partial else "scored"
        return Score(self.score_name(column), record.id, value, status, low=low, high=high, outcome=outcome, **more)

    def exact(self, record: Record, value: float, *, column: str = "", **more: Any) -> Score:
        """Return the score of a column whose value is certain."""
        return self.valued(record, value, value, value, column=column, **more)

    def without_value(self, record: Record, status: Status, reason: str, *, column: str = "", **more: Any) -> Score:
        """Return the score of a column without usable verdicts.

        For ``empty``, ``on_empty`` sets the value; for ``judge_failed``, the bounds are 0 and 1.
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
        """Return the scores of all columns; only the first keeps the verdicts and the detail."""
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
        """Return the mean over the judged units as the score of a column, with its bounds.

        Trivial units are excluded. ``incomplete`` says why units are missing altogether, e.g. a part of the response
        without claims; the score is then at best partial. ``weights`` has one weight per verdict, in the same order;
        None means equal weights.
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
            nothing = "no sentence makes a claim" if verdicts else reason or "nothing to judge"
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
            0.0 if incomplete else gained / total,  # the number of missing units is unknown
            1.0 if incomplete else best(gained, known, total),
            partial=bool(unjudged or incomplete),
            asked=len(counted),
            unjudged=unjudged,
            reason=why,
            **{**common, "detail": {**told, **self.band(value)}},
        )

    def band(self, value: float) -> dict[str, Any]:
        """Return the band of a value, for a score's detail; empty if the metric has no bands."""
        found = next((band for band in self.bands if reaches(value, band.least)), None)
        return {"band": {"name": found.name, "en": found.en, "ru": found.ru}} if found else {}

    def outcome(self, value: float | None) -> Outcome | None:
        """Return PASSED at or above the threshold, else FAILED; None without a value or a threshold."""
        if value is None or self.threshold is None:
            return None
        return "PASSED" if reaches(value, self.threshold) else "FAILED"


def _told(history: EarlierTurns, lang: str, flow: Flow[R]) -> Flow[R]:
    """Run a flow with the earlier turns and the language added to each of its questions."""

    def told(question: Question[Any]) -> Question[Any]:
        return replace(question, history=history or question.history, lang=question.lang or lang)

    try:
        questions = next(flow)
        while True:
            questions = flow.send((yield [told(question) for question in questions]))
    except StopIteration as stop:
        return cast("R", stop.value)


def best(gained: float, known: float, total: float) -> float:
    """Return the value if every unjudged unit were best: ``gained`` of ``known``, plus the rest of ``total``.

    Despite rounding, it is never below the value itself or above 1.
    """
    return max(gained / known, min(1.0, (gained + (total - known)) / total))


def _absent(record: Record, field: str) -> bool:
    """Return whether a field is missing; contexts without any text count as missing."""
    if field == "contexts":
        return all(is_blank(passage.text) for passage in record.contexts or ())
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
