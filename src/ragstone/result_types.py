"""The keys of results.jsonl and summary.json, for type checkers; at run time these are plain dicts.

Values are in [0, 1] or None, offsets count characters, and ``dollars`` is None if a price is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from ragstone.types import Importance, Level, Outcome, Status


class CostDict(TypedDict):
    """Calls that were answered, their tokens and their price."""

    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None


class QuoteDict(TypedDict):
    """Evidence for a verdict.

    ``passage``: the passage's id. ``start``, ``end``: offsets in the passage; None if the text is in no passage.
    ``verbatim``: true only if code found the text word for word; a near match has a start and is not verbatim.
    """

    passage: str
    start: int | None
    end: int | None
    text: str
    verbatim: bool


class VerdictDict(TypedDict):
    """A judge's verdict on one unit.

    ``unit``: the unit's id. ``label``: a label of the metric's scale; "trivial" for a unit that states nothing; None if
    unjudged. ``value``: 0 to 1; for a panel, the aggregate. ``raw``: the number of the label. ``probability``:
    probability of the best label; None from language models. ``judge``: name of the judge, or names joined by ``+``.
    ``reason``: one sentence, if requested. ``failure``: why the unit is unjudged. ``members``: a panel's verdicts.
    ``strict``: a panel's value if only the best label counted, unless ``label`` gives it.
    """

    unit: str
    label: str | None
    value: float | None
    raw: float | None
    probability: float | None
    judge: str
    reason: str
    evidence: list[QuoteDict]
    failure: NotRequired[str]
    members: NotRequired[list[VerdictDict]]
    strict: NotRequired[float]


class UnitDict(TypedDict):
    """A unit that has a verdict.

    ``text``: None for a passage and the whole response; the result has their texts elsewhere. ``start``, ``end``:
    offsets in the response. ``parent``: the sentence or passage of the unit. ``confidence``: the judge's confidence in
    a claim. ``part``: the part of a long response. ``importance``: only for nuggets.
    """

    id: str
    level: Level
    text: str | None
    start: int | None
    end: int | None
    parent: str | None
    confidence: float | None
    part: int | None
    importance: NotRequired[Importance | None]


class RepeatsDict(TypedDict):
    """The values of a score that was computed several times (``--repeat``).

    ``spread``: sample standard deviation of the values. ``units``: units with a label every time. ``flips``: units
    whose label changed. ``unmatched``: units that were missing or unjudged at least once.
    """

    values: list[float | None]
    spread: float | None
    units: int
    flips: int
    unmatched: int


class ScoreDict(TypedDict):
    """One metric of one record, or one column of a metric that has several.

    ``asked``: number of units that need a verdict. ``unjudged``: number of units without a verdict. ``low``: value if
    all unjudged units had the worst label. ``high``: value if all unjudged units had the best label. ``outcome``:
    whether the value reaches the threshold. ``reason``: why the value is missing or partial; else the judge's reason,
    if requested. ``detail``: data specific to the metric. ``verdicts_in``: for a column, the score that has the
    verdicts. ``shared``: how many of the score's calls were made for an earlier score of the record.
    """

    metric: str
    value: float | None
    status: Status
    asked: int
    unjudged: int
    low: float | None
    high: float | None
    outcome: Outcome | None
    reason: str
    detail: dict[str, Any]
    verdicts: list[VerdictDict]
    verdicts_in: NotRequired[str]
    repeats: NotRequired[RepeatsDict]
    cost: CostDict
    shared: NotRequired[int]
    signature: str


class ReadingDict(TypedDict):
    """How a reply was parsed.

    ``style``, ``format``: as the prompt requested. ``reader``: the parser that read the reply. ``read``: number of
    units with a label, of those ``asked``. ``repair``: whether it was the second try. ``problem``: what was wrong.
    """

    style: str
    format: str
    reader: str
    status: str
    read: int
    asked: int
    repair: NotRequired[bool]
    problem: NotRequired[str]


class CallDict(TypedDict):
    """One call.

    ``key``: the call's key in the store. ``metrics``: the metrics that use the reply. ``maker``: id of the prompt or
    of the local model. ``finish``: how the reply ended, such as ``stop`` or ``length``.
    """

    key: str
    judge: str
    step: str
    metrics: list[str]
    maker: str
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: NotRequired[int]
    reasoning_tokens: NotRequired[int]
    dollars: float | None
    finish: str
    error: NotRequired[str]
    reading: NotRequired[ReadingDict]


class SentDict(TypedDict):
    """A call to the last judge of a cascade: the size of its request in bytes and its number of units."""

    key: str
    bytes: int
    units: int


class StepDict(TypedDict):
    """One step of a cascade for one record.

    ``error``: the accepted error rate. ``answered``: the number of units that each judge decided. ``unjudged``: the
    number of units that no judge decided. ``asked``: the calls sent to the last judge. ``alone``: the calls that would
    have been sent if the last judge had judged all units.
    """

    error: float
    answered: dict[str, int]
    unjudged: int
    asked: list[SentDict]
    alone: list[SentDict]


class ContextDict(TypedDict):
    """A passage; ``rank`` counts from 1."""

    id: str
    rank: int
    text: str


class MethodsDict(TypedDict):
    """``plain`` and ``nuggetized`` score of relevance or groundedness, with their ``difference`` in points."""

    plain: float | None
    nuggetized: float | None
    difference: float | None
    interpretation: str
    interval: NotRequired[list[float] | None]
    records: NotRequired[int]


class MoreInputDict(TypedDict):
    """Fields of the input that few records have; a citation is ``[start, end, [passage ids]]``.

    ``contexts_missing``: the record has no contexts, not even an empty list.
    """

    contexts_missing: NotRequired[bool]
    citations: NotRequired[list[list[Any]]]
    relevant: NotRequired[dict[str, int]]
    answerable: NotRequired[bool]


class InputDict(MoreInputDict):
    """The input that a result repeats.

    ``id``: unique; a repeated id gets the suffix ``#2``. ``topic``: the id from the input. ``position``: the position
    in the input, from 1. ``where``: the file and line.
    """

    id: str
    topic: str
    position: int
    where: str
    question: str | None
    response: str | None
    reference: str | None
    contexts: list[ContextDict]


class ResultDict(InputDict):
    """One record's result, a line of results.jsonl.

    A record that could not be read has only ``id``, ``position``, ``set_aside`` (the reason) and an empty ``scores``.
    ``methods``: only if the record has ordinary and nugget scores. ``units``: all units that have a verdict. ``cost``:
    the cost of all calls that the record uses. ``meta``: all other fields of the input. ``notes``: warnings.
    """

    set_aside: NotRequired[str]
    scores: list[ScoreDict]
    methods: NotRequired[dict[str, MethodsDict]]
    units: list[UnitDict]
    cost: CostDict
    cascade: NotRequired[dict[str, StepDict]]
    calls: list[CallDict]
    meta: Mapping[str, Any]
    notes: tuple[str, ...]


class UnitsDict(TypedDict):
    """Number of units to judge (``asked``), and number without a verdict (``unjudged``)."""

    asked: int
    unjudged: int


class MetricRepeatsDict(TypedDict):
    """Variation of a metric between repeats."""

    times: int
    records: int
    means: list[float]
    mean: float | None
    spread: float | None
    record_spread: float | None
    units: int
    flips: int
    flip_rate: float | None
    unmatched: int


class MetricDict(TypedDict):
    """One metric of a run.

    ``mean``: over the ``scored`` records. ``interval``: 95% interval of the mean. ``interval_method``: bootstrap,
    normal or none. ``total``: all records, unreadable ones included. ``below_one``: records whose value is below 1.
    ``low``: mean if all unjudged units had the worst label. ``high``: mean if all unjudged units had the best label.
    ``statuses``: number of records by status, unreadable ones excluded.
    """

    mean: float | None
    interval: list[float] | None
    interval_method: str
    median: float | None
    scored: int
    total: int
    below_one: int
    low: float | None
    high: float | None
    statuses: dict[str, int]
    units: UnitsDict
    outcomes: dict[str, int] | None
    threshold: NotRequired[float]
    repeats: NotRequired[MetricRepeatsDict]
    cost: CostDict
    signature: str


class CorrectedDict(TypedDict):
    """A metric's mean over all records, corrected by people's labels of a random sample, with its 95% interval.

    ``method`` is ``ppi`` (prediction-powered), ``rogan_gladen``, or ``labels`` if too few records are labelled, so that
    the mean and interval come from the labels alone. ``raw`` is the judge's mean; ``labelled`` of ``records`` have
    people's labels. ``power`` is the weight of the judge's values, None except for ``ppi``.
    """

    method: str
    value: float
    low: float
    high: float
    raw: float
    labelled: int
    records: int
    power: float | None


class MetricAgreementDict(TypedDict):
    """Agreement of a judge with people on one metric's units.

    ``unit`` is what people labelled. ``labels`` is the scale, worst first; ``counts[gold][judged]`` the confusion
    matrix over it; ``units`` its total, over ``records``. A further ``unjudged`` units are labelled but have no
    verdict. ``kappa`` is Cohen's, unweighted; ``interval`` is its 95% interval, clustered by record, and None if
    undefined. ``base_rate`` is the accuracy of always giving the most frequent label. If ``corrected`` is None,
    ``withheld`` says why.
    """

    task: str
    unit: str
    judge: str
    labels: list[str]
    counts: list[list[int]]
    units: int
    records: int
    unjudged: int
    accuracy: float | None
    base_rate: float | None
    kappa: float | None
    interval: list[float] | None
    corrected: CorrectedDict | None
    withheld: str


class AgreementDict(TypedDict):
    """Agreement saved by ``agree --attach``: the source of the labels, the annotators, and each metric's agreement.

    ``labelled_by`` is ``people`` (the default), ``run NAME`` for another judge's verdicts, or both. ``results``,
    only in a folder's summary.json, is the hash of the results file that the agreement was computed from.
    """

    gold: list[str]
    annotators: list[str]
    labelled_by: NotRequired[str]
    at: str
    metrics: dict[str, MetricAgreementDict]
    results: NotRequired[str]


class CauseDict(TypedDict):
    """Number of scores of a metric with one status and reason. ``N`` stands for numbers that differ."""

    metric: str
    status: Status
    reason: str
    count: int


class QuotesDict(TypedDict):
    """Counts of the quotes in judges' replies.

    ``named``: all. ``verbatim``: word for word in a passage. ``near``: almost word for word. ``absent``: in no passage.
    ``verified``: share of quotes found in a passage; None if there are no quotes.
    """

    named: int
    verbatim: int
    near: int
    absent: int
    verified: float | None


class SummaryDict(TypedDict):
    """summary.json; for a killed run, only what can be computed from its stored scores.

    ``run``: the run's number in the store. ``status``: done, stopped (by an error) or interrupted. ``set_aside``:
    number of unreadable records. ``cost``: cost of all calls that the results use, even if paid for by earlier runs; a
    call shared by several metrics is counted under the first. ``bill``: the calls of this run. ``missing``: scores
    without a full value, by reason. ``panel``: the members of panels, by judge. ``left_out``: metrics that did not run,
    with the reason. ``taken_over``: number of results copied from an earlier run. ``estimate``: the estimated range of
    each figure, the ``error``, and whether the bill was in the range (``held``). ``stopped``: the error that ended the
    run. ``seconds``: duration.
    """

    run: int
    status: str
    records: int
    set_aside: int
    metrics: dict[str, MetricDict]
    methods: NotRequired[dict[str, MethodsDict]]
    cost: CostDict
    missing: NotRequired[list[CauseDict]]
    quotes: NotRequired[QuotesDict]
    panel: NotRequired[dict[str, UnitsDict]]
    bill: NotRequired[dict[str, Any]]
    cascade: NotRequired[dict[str, Any]]
    estimate: NotRequired[dict[str, Any]]
    agreement: NotRequired[AgreementDict]
    left_out: NotRequired[dict[str, str]]
    taken_over: NotRequired[int]
    notes: NotRequired[list[str]]
    stopped: NotRequired[str]
    seconds: NotRequired[float]


class JudgesDict(TypedDict):
    """The judges of a step.

    ``cascade``: true if they are asked in order until one is confident. ``aggregate``: how the verdicts of a panel are
    combined. ``weights``: the weight of each judge of a panel.
    """

    judges: list[str]
    cascade: NotRequired[bool]
    aggregate: NotRequired[str]
    weights: NotRequired[dict[str, float]]


class LimitsDict(TypedDict):
    """Limits of a run: dollars, calls and tokens; None for no limit."""

    cost: float | None
    calls: int | None
    tokens: int | None


class EngineDict(TypedDict):
    """Settings of the engine.

    ``tries``: maximum tries per call. ``deadline``: maximum seconds for all tries. ``dead_after``: failed calls in a
    row after which an endpoint counts as dead. ``ahead``: finished records that may wait for an earlier one.
    ``repeat``: how many times each judge call is made. ``since``: start of a cache refresh, in seconds since 1970.
    """

    tries: int
    deadline: float
    dead_after: int
    ahead: int
    repeat: int
    cache: str
    since: float
    limits: LimitsDict


class RunDict(TypedDict):
    """run.json: the settings and versions of a run.

    ``run``: the run's number in the store. ``metrics``: as requested. ``chosen``: metrics that ran. ``left_out``:
    metrics that did not run, with the reason. ``parameters``: changed parameters of each metric. ``judges``: settings
    of each judge (never a key). ``default``: judges of the steps not listed in ``steps``. ``fields``: the field
    mapping. ``layout``: ``--from`` and ``--records``, if set. ``store``: path of the store. ``nuggets``, ``topics``,
    ``qrels``: files given with the input. ``bank``: name and hash of the nugget bank. ``extent``: the part of the input
    that was read. ``signatures``: signature of each score. ``libraries``: versions of the libraries that affect scores.
    ``only_failed``: the run from which results were copied. ``repeats``: how much the repeats of each metric differ.
    ``estimate``: as in the summary. ``results``: the file with the results.
    """

    run: int
    name: str
    status: str
    metrics: list[str]
    parameters: dict[str, dict[str, Any]]
    judges: dict[str, dict[str, Any]]
    default: JudgesDict
    steps: dict[str, JudgesDict]
    fields: dict[str, str | list[str]]
    on_error: str
    layout: NotRequired[dict[str, str]]
    store: str
    nuggets: str | None
    topics: NotRequired[str]
    qrels: NotRequired[str]
    bank: NotRequired[dict[str, str]]
    engine: EngineDict
    input: str
    extent: NotRequired[dict[str, int]]
    cascade: NotRequired[dict[str, Any]]
    chosen: list[str]
    left_out: dict[str, str]
    signatures: dict[str, str]
    ragstone: str
    python: str
    libraries: dict[str, str]
    only_failed: NotRequired[int]
    repeats: NotRequired[dict[str, Any]]
    estimate: NotRequired[dict[str, Any]]
    results: str
