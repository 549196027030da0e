"""A run held against thresholds, for whoever decides on a release.

Promises: a threshold is passed, failed, undecided, or an error, and an error is never a failure: where nothing was
scored, or a run did not end, nothing was found out. Shares are of all records of the run, those that could not be read
included, and no mean or drop is passed because records fell out, unless a least coverage says how many may. A drop
fails only where it is shown to be larger than what is allowed, and is undecided where it is larger and could be chance;
numbers that were made in two ways are refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from ragstone import metrics
from ragstone.analysis.compare import VERSION, Comparison, compare
from ragstone.analysis.saved import Weighed
from ragstone.analysis.scored import One, Scores, scores_of
from ragstone.analysis.verdicts import Wanting, wanting
from ragstone.errors import ConfigError, InputError
from ragstone.render.text import NBSP, percent, points, signed
from ragstone.stats.means import HAIR, mean, mean_interval, reaches
from ragstone.stats.paired_tests import LEVEL, Paired, least_moved, paired

Kind = Literal["min", "min_coverage", "max_drop"]
Outcome = Literal["passed", "failed", "undecided", "error"]
Undecided = Literal["pass", "fail"]
"""Whether a gate lets through a run of which a threshold is undecided."""

WORST: Final = 5
"""Records that are named of a threshold that failed."""
UNITS: Final = 3
"""Units that are named of each of them."""
FAILED: Final = "judge_failed"
"""Of the records without a value those that fell out, beside the ones that could not be read."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """What is wanted of a metric.

    ``min``: a mean of at least ``limit``; ``min_coverage``: at least that share of the records scored; ``max_drop``: no
    mean that is shown to be more than ``limit`` below the baseline's. ``limit`` is from 0 to 1.
    """

    kind: Kind
    metric: str
    limit: float


@dataclass(frozen=True, slots=True)
class Worst:
    """A record that a threshold failed by: its value, that of the baseline, and the units that take from it.

    Without a value, ``reason`` is why.
    """

    record: str
    value: float | None
    before: float | None
    wanting: tuple[Wanting, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of a threshold.

    ``value`` is the mean, the share or the difference that was held against the limit, ``low`` and ``high`` its 95 %
    interval where it has one, ``count`` what it stands on. ``found`` and ``wanted`` tell both in words, ``notes`` what
    else is to be known.
    """

    threshold: Threshold
    outcome: Outcome
    value: float | None
    low: float | None
    high: float | None
    count: int
    found: str
    wanted: str = ""
    notes: tuple[str, ...] = ()
    worst: tuple[Worst, ...] = ()

    @property
    def said(self) -> str:
        """What was found, and what was wanted."""
        return f"{self.found}; {self.wanted} wanted" if self.wanted else self.found


@dataclass(frozen=True, slots=True)
class Gate:
    """A run with all decisions; ``baseline`` is the name of the run that drops were measured from.

    ``undecided`` says whether a threshold that is undecided lets the run pass.
    """

    run: int
    name: str
    records: int
    baseline: str
    decisions: tuple[Decision, ...]
    undecided: Undecided = "pass"

    @property
    def outcome(self) -> Outcome:
        """The worst of all: ``failed``, then ``error`` (nothing was found out), ``undecided``, ``passed``."""
        worst: tuple[Outcome, ...] = ("failed", "error", "undecided")
        outcomes = {decision.outcome for decision in self.decisions}
        return next((outcome for outcome in worst if outcome in outcomes), "passed")

    @property
    def passed(self) -> bool:
        """Whether the run may go on: all thresholds are met, or those that are not are undecided and may be."""
        return self.outcome == "passed" or (self.outcome == "undecided" and self.undecided == "pass")

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"outcome": self.outcome, **asdict(self)}


def thresholds(wanted: Mapping[Kind, Mapping[str, float]]) -> tuple[Threshold, ...]:
    """Thresholds by kind and metric; ConfigError for a limit that is no share."""
    found = []
    for kind, limits in wanted.items():
        for metric, limit in limits.items():
            if not (math.isfinite(limit) and 0 <= limit <= 1):
                raise ConfigError(f"{kind} {metric} = {limit:g}; expected a number from 0 to 1 (80 % is 0.8)")
            found.append(Threshold(kind, metric, abs(float(limit))))  # -0 is 0
    return tuple(found)


def decide(
    run: Weighed, wanted: Sequence[Threshold], baseline: Weighed | None = None, undecided: Undecided = "pass"
) -> Gate:
    """Hold a run against thresholds; ``baseline`` is needed where one of them is on a drop.

    InputError for a metric that the run does not have, and for a baseline that was judged otherwise.
    """
    records = scores_of(run)
    known = list(dict.fromkeys(name for scores in records.values() for name in scores.by_metric))
    for threshold in wanted:
        if threshold.metric not in known:
            there = f"it has {', '.join(known)}" if known else "it has none"
            meant = f"{said}; " if (said := metrics.called_here(threshold.metric)) else ""
            raise InputError(f"{_called(run)} has no metric '{threshold.metric}'; {meant}{there}")
    drops = [threshold for threshold in wanted if threshold.kind == "max_drop"]
    compared = None
    if drops:
        if baseline is None:
            raise ConfigError("a drop is measured from another run; name it with --baseline")
        compared = _compared(baseline, run, drops, records)
    return Gate(
        run.id,
        run.name,
        len(records),
        _called(baseline) if drops and baseline is not None else "",
        tuple(_decision(run, baseline, records, threshold, wanted, compared) for threshold in wanted),
        undecided,
    )


def _decision(
    run: Weighed,
    baseline: Weighed | None,
    records: Mapping[str, Scores],
    threshold: Threshold,
    wanted: Sequence[Threshold],
    found: Comparison | None,
) -> Decision:
    for name, status in ((_called(run), run.status), ("the baseline", found.first.status if found else "done")):
        if status != "done":
            said = f"{name} did not end ({status}): nothing is decided by a part of it"
            return Decision(threshold, "error", None, None, None, 0, said)
    scores = {record: one for record, all_ in records.items() if (one := all_.by_metric.get(threshold.metric))}
    if not any(one.value is not None for one in scores.values()):
        return Decision(threshold, "error", None, None, None, 0, f"nothing was scored{_why(scores, len(records))}")
    if threshold.kind == "min_coverage":
        return _coverage(run, records, scores, threshold)
    if threshold.kind == "max_drop":
        assert found is not None
        assert baseline is not None
        decision = _drop(run, baseline, threshold, found)
    else:
        decision = _mean(run, scores, threshold)
    covered = any(other.kind == "min_coverage" and other.metric == threshold.metric for other in wanted)
    if decision.outcome in ("passed", "undecided") and not covered:
        decision = _without_luck(decision, _fallen_out(records, threshold.metric), records, baseline)
    without = len(records) - sum(one.value is not None for one in scores.values())
    if without:
        note = f"{without:,} of {_records(len(records))} without a value{_why(scores, len(records))}"
        return replace(decision, notes=(*decision.notes, note))
    return decision


def _fallen_out(records: Mapping[str, Scores], metric: str) -> list[str]:
    """The records that have no value because something went wrong: not read, or not judged."""
    ones = {record: scores.by_metric.get(metric) for record, scores in records.items()}
    return [record for record, one in ones.items() if one is None or (one.value is None and one.status == FAILED)]


def _without_luck(
    decision: Decision, fallen: Sequence[str], records: Mapping[str, Scores], baseline: Weighed | None
) -> Decision:
    """An error for what is passed, and would not be if the records that fell out were the worst that they could be."""
    threshold = decision.threshold
    if not fallen or threshold.kind == "min_coverage":
        return decision
    if threshold.kind == "min":
        assert decision.value is not None
        least = decision.value * decision.count / (decision.count + len(fallen))
        held, told = (
            reaches(least, threshold.limit),
            f"the mean could be {_apart(least, threshold.limit, decision.count)[0]}",
        )
    else:
        assert baseline is not None
        pairs = _worst_pairs(records, scores_of(baseline), threshold.metric, fallen)
        held, told = not _shown_below(pairs, -threshold.limit), f"the drop could be {_points(abs(pairs.difference))}"
    if held:
        return decision
    out = f"{_records(len(fallen))} could not be read or judged, and with {'it' if len(fallen) == 1 else 'them'} {told}"
    note = f"{out}: nothing is decided; --min-coverage {threshold.metric}=X says how many may be missing"
    return replace(decision, outcome="error", notes=(*decision.notes, note))


def _worst_pairs(
    records: Mapping[str, Scores], before: Mapping[str, Scores], metric: str, fallen: Sequence[str]
) -> Paired:
    """The run against its baseline, where every record that fell out had 0."""
    ends = {record: one.value for record, scores in records.items() if (one := scores.by_metric.get(metric))}
    ends |= dict.fromkeys(fallen, 0.0)
    both = [
        (one.value, ends[record])
        for record, scores in before.items()
        if (one := scores.by_metric.get(metric)) and one.value is not None and ends.get(record) is not None
    ]
    return paired([first for first, _ in both], [second for _, second in both if second is not None])


# ---- each kind


def _mean(run: Weighed, scores: Mapping[str, One], threshold: Threshold) -> Decision:
    values = {record: one.value for record, one in scores.items() if one.value is not None}
    interval = mean_interval(list(values.values()))
    held = reaches(interval.mean, threshold.limit)
    low, high = (interval.low, interval.high) if interval.method != "none" else (None, None)
    lowest = sorted(((record, value) for record, value in values.items() if value < 1), key=lambda item: item[1])
    found, wanted = _apart(interval.mean, threshold.limit, len(values))
    notes = []
    if held and low is not None and low < threshold.limit:
        notes.append(f"the interval reaches below {_limit(threshold.limit)} %")
    if any(one.unjudged for one in scores.values()):
        least = mean([one.low for one in scores.values() if one.low is not None])
        most = mean([one.high for one in scores.values() if one.high is not None])
        notes.append(
            f"with what is unjudged the mean could be {_percent(least, len(scores))} to {_percent(most, len(scores))}"
        )
    return Decision(
        threshold,
        "passed" if held else "failed",
        interval.mean,
        low,
        high,
        len(values),
        f"mean {found}{_between(low, high, len(values))} of {_records(len(values))}",
        f"at least {wanted}",
        tuple(notes),
        () if held else tuple(_worst(run, threshold.metric, record, value) for record, value in lowest[:WORST]),
    )


def _coverage(run: Weighed, records: Collection[str], scores: Mapping[str, One], threshold: Threshold) -> Decision:
    total = len(records)
    scored = sum(one.value is not None for one in scores.values())
    held = reaches(scored / total, threshold.limit)
    without = [record for record in records if record not in scores or scores[record].value is None][:WORST]
    found, wanted = _apart(scored / total, threshold.limit, total)
    return Decision(
        threshold,
        "passed" if held else "failed",
        scored / total,
        None,
        None,
        total,
        f"{scored:,} of {_records(total)} scored, {found}{_why(scores, total)}",
        f"at least {wanted}",
        (),
        () if held else tuple(_worst(run, threshold.metric, record, None) for record in without),
    )


def _drop(run: Weighed, baseline: Weighed, threshold: Threshold, found: Comparison) -> Decision:
    """Failed where all of the 95 % interval of the difference lies below the drop that is allowed.

    Where the difference lies below it and not all of the interval, it could be chance: that is undecided.
    """
    one = found[threshold.metric]
    pairs = one.paired
    if pairs is None:
        said = f"no record has a value in both {_called(run)} and the baseline"
        return Decision(threshold, "error", None, None, None, 0, said)
    groups, least = pairs.clusters or pairs.pairs, least_moved()
    if groups < least:
        said = f"{_records(pairs.pairs)} with a value in both; fewer than {least} can show no drop, however large"
        return Decision(threshold, "error", pairs.difference, None, None, pairs.pairs, said)
    failed = _shown_below(pairs, -threshold.limit)
    drop = f"{_points(abs(pairs.difference))} {'below' if pairs.difference < 0 else 'above'} the baseline"
    if not pairs.difference:
        drop = "the mean of the baseline"
    allowed = f"no drop of more than {_allowed(threshold.limit)}" if threshold.limit else "no drop"
    notes = []
    undecided = not failed and pairs.difference < -threshold.limit - HAIR
    if undecided:
        notes.append("the drop is larger than allowed, and that could be chance; more records would decide")
    smallest = pairs.smallest()
    if not failed and smallest is not None:
        notes.append(f"a drop from {_points(threshold.limit + smallest)} on would have been shown, in 4 of 5 cases")
    fallen = sorted((moved for moved in one.moved if moved.difference < 0), key=lambda moved: moved.difference)
    return Decision(
        threshold,
        "failed" if failed else "undecided" if undecided else "passed",
        pairs.difference,
        pairs.low,
        pairs.high,
        pairs.pairs,
        f"{drop}{_differing(pairs.low, pairs.high)} on {_records(pairs.pairs)} that both have",
        allowed,
        tuple(notes),
        tuple(_worst(run, one.metric, moved.record, moved.second, moved.first, baseline) for moved in fallen[:WORST])
        if failed
        else (),
    )


def _shown_below(pairs: Paired, limit: float) -> bool:
    if pairs.high is not None:
        return pairs.high < limit
    # No interval: too few differ, or all by the same, and then the test decides alone.
    return pairs.difference < limit and pairs.p < LEVEL


def _compared(baseline: Weighed, run: Weighed, drops: Sequence[Threshold], records: Mapping[str, Scores]) -> Comparison:
    """The run against the baseline; InputError where one of the metrics was made otherwise there."""
    names = [threshold.metric for threshold in drops]
    found = compare(baseline, run, metrics=names, moved=len(records), known=records)
    for name in names:
        other = next((one for one in found[name].signatures if one.part != VERSION), None)
        if other is not None:
            ways = f"{other.part}: {other.first or 'the default'}, now {other.second or 'the default'}"
            raise InputError(
                f"{name}: the baseline {_called(baseline)} used other settings ({ways}); evaluate it again with "
                "the judge and the parameters of this run"
            )
    return found


# ---- words


def _worst(
    run: Weighed,
    metric: str,
    record: str,
    value: float | None,
    before: float | None = None,
    baseline: Weighed | None = None,
) -> Worst:
    result = run.find(record)
    score = next((one for one in (result or {}).get("scores", ()) if one["metric"] == metric), None)
    if result is None or score is None:
        return Worst(record, value, before, ())
    earlier = baseline.find(record) if baseline is not None else None
    units = () if value is None else wanting(result, metric, earlier)[:UNITS]
    return Worst(record, value, before, units, f"{score['status']}: {score['reason']}" if value is None else "")


def _called(run: Weighed) -> str:
    return f"run {run.id} ({run.name})" if run.id else run.name


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"


def _why(scores: Mapping[str, One], total: int) -> str:
    """Why some of so many records have no value; those without the metric were set aside as they were read."""
    counts = Counter(one.status for one in scores.values() if one.value is None)
    counts["set aside"] += total - len(scores)
    told = ", ".join(f"{count:,} {status}" for status, count in counts.most_common() if count)
    return f" ({told})" if told else ""


def _percent(value: float, count: int, more: int = 0) -> str:
    return percent(value, count, more=more).replace(NBSP, " ")


def _limit(value: float) -> str:
    """A limit as it was given, in percent."""
    return f"{round(100 * value, 6):g}"


def _apart(value: float, limit: float, count: int) -> tuple[str, str]:
    """A value and the limit that it is held against; with more decimals where fewer would lie."""
    side = _side(value - limit)
    told = [points(value, count, more=more) for more in range(6)]
    fitting = (text for text in told if _side(float(text) - 100 * limit) == side)
    return f"{next(fitting, told[0])} %", f"{_limit(limit)} %"


def _side(difference: float) -> int:
    return (difference > HAIR) - (difference < -HAIR)


def _allowed(limit: float) -> str:
    text = _limit(limit)
    return "1 point" if text == "1" else f"{text} points"


def _points(difference: float) -> str:
    return f"{100 * difference:.1f} points"


def _between(low: float | None, high: float | None, count: int) -> str:
    return "" if low is None or high is None else f" (95 %: {points(low, count)} to {points(high, count)})"


def _differing(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" (95 %: {signed(100 * low)} to {signed(100 * high)})"
