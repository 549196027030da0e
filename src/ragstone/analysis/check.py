"""Check a run against thresholds, for CI and release decisions.

Guarantees: a threshold is passed, failed, undecided or an error. An error is never a failure: it means, for example,
that nothing was scored or a run did not finish. Coverage is the share of all records, including unreadable ones. A mean
or drop never passes because records or verdicts are missing, in the run or in its baseline, unless a minimum coverage
allows it. A drop fails only if it is significantly larger than allowed; if it is larger but could be chance, it is
undecided. Runs judged with different settings are not compared.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ragstone import metrics
from ragstone.analysis import threshold_words as words
from ragstone.analysis.compare import SAME_IDS, VERSION, Comparison, NoSharedRecordError, compare, records_said, said
from ragstone.analysis.counts import absences
from ragstone.analysis.pairing import Moved
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.scored import Kept, RecordScores, ScoreNumbers, bounds_of, scores_of
from ragstone.analysis.verdicts import Wanting, reason_of, wanting
from ragstone.errors import ConfigError, InputError
from ragstone.result_types import AgreementDict
from ragstone.stats.means import HAIR, mean, mean_interval, reaches
from ragstone.stats.paired_tests import LEVEL, Paired, least_moved, paired
from ragstone.stats.points import finer_share, points, signed
from ragstone.types import PrintableAsMarkdown

Kind = Literal["min", "max", "min_corrected", "min_coverage", "max_drop", "max_record_drop"]
CheckOutcome = Literal["passed", "failed", "undecided", "error"]
Undecided = Literal["pass", "fail"]
"""Whether a run with undecided thresholds passes."""

DROPS: Final = ("max_drop", "max_record_drop")
"""Kinds of thresholds that need a baseline."""
WORST: Final = 5
"""Maximum number of records listed for a failed threshold."""
UNITS: Final = 3
"""Maximum number of units listed for each of these records."""


class Threshold(Struct, frozen=True):
    """A limit for a metric, from 0 to 1.

    ``min`` and ``max`` limit the mean. ``min_corrected`` is the minimum lower bound of the 95% interval of the attached
    corrected mean. ``min_coverage`` is the minimum share of records scored. ``max_drop`` is the largest allowed drop of
    the mean below the baseline's, exceeded only if the larger drop is significant. ``max_record_drop`` is the largest
    allowed drop of any record below its own value in the baseline.
    """

    kind: Kind
    metric: str
    limit: float


class Worst(Struct, frozen=True):
    """A record behind an unmet threshold: its value, its value in the baseline, and the units that lower it.

    ``reason`` explains a record without such units: it has no value, or its score is for the whole response.
    """

    record: str
    value: float | None
    before: float | None
    wanting: tuple[Wanting, ...]
    reason: str = ""


class Decision(Struct, frozen=True):
    """The outcome of a threshold.

    ``value`` is the mean, share or difference compared with the limit. ``low`` and ``high`` are its 95% interval, if it
    has one, and ``count`` is the number of records behind it. ``found`` and ``wanted`` describe the found and the
    required value in words. ``more`` is the number of records that ``worst`` leaves out.
    """

    threshold: Threshold
    outcome: CheckOutcome
    value: float | None
    low: float | None
    high: float | None
    count: int
    found: str
    wanted: str = ""
    notes: tuple[str, ...] = ()
    worst: tuple[Worst, ...] = ()
    more: int = 0

    @property
    def said(self) -> str:
        """The found and the required value in one line."""
        return f"{self.found}; required: {self.wanted}" if self.wanted else self.found


class CheckResult(PrintableAsMarkdown, Struct, frozen=True):
    """The decisions on all thresholds of a run; ``baseline`` is the name of the run for drops.

    ``agreement`` is the attached agreement with people, for metrics with a threshold. ``notes`` say which judges of a
    panel left units unjudged.
    """

    run: int
    name: str
    records: int
    baseline: str
    decisions: tuple[Decision, ...]
    undecided: Undecided = "pass"
    agreement: AgreementDict | None = None
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> CheckOutcome:
        """The worst outcome, in the order ``failed``, ``error``, ``undecided``, ``passed``."""
        worst: tuple[CheckOutcome, ...] = ("failed", "error", "undecided")
        outcomes = {decision.outcome for decision in self.decisions}
        return next((outcome for outcome in worst if outcome in outcomes), "passed")

    @property
    def passed(self) -> bool:
        """Whether every threshold is met; undecided ones count as met unless ``undecided`` is ``fail``."""
        return self.outcome == "passed" or (self.outcome == "undecided" and self.undecided == "pass")

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data."""
        told = {"outcome": self.outcome, **to_builtins(self)}
        return {name: value for name, value in told.items() if value or name not in ("agreement", "notes")}


SHARE: Final = "expected a number from 0 to 1 (80% is 0.8)"


def thresholds(wanted: Mapping[Kind, Mapping[str, float]]) -> tuple[Threshold, ...]:
    """Return thresholds from limits by kind and metric; raise ConfigError for a limit outside 0 to 1."""
    found = []
    for kind, limits in wanted.items():
        for metric, limit in limits.items():
            if not (math.isfinite(limit) and 0 <= limit <= 1):
                raise ConfigError(f"{kind} {metric} = {limit:g}; {SHARE}")
            found.append(Threshold(kind, metric, abs(float(limit))))  # -0 is 0
    return tuple(found)


def check_run(
    run: AnyRun, wanted: Sequence[Threshold], baseline: AnyRun | None = None, undecided: Undecided = "pass"
) -> CheckResult:
    """Check a run against thresholds; ``baseline`` is required if one of them limits a drop.

    Raise InputError for a metric that the run lacks, and for a baseline judged with other settings.
    """
    asked = {one.metric for one in wanted}
    records = scores_of(run, lambda name: name in asked or metrics.column_of(name) in asked)
    known = [*records.metrics]
    wanted = [replace(one, metric=name) for one in wanted for name in _scores_called(one.metric, known)]
    for threshold in wanted:
        if threshold.metric not in known:
            absent = metrics.instead_of(threshold.metric, known)
            raise InputError(f"{words.called(run)} has no metric '{threshold.metric}'{absent}")
    flags = {one.metric: f"--{one.kind.replace('_', '-')}" for one in wanted if one.kind in DROPS}
    drops = [*flags]
    if reverse := next(filter(metrics.best_at_zero, drops), ""):
        raise ConfigError(
            f"{flags[reverse]} {reverse}: its best value is 0, so a drop is better; use --max {reverse}=X"
        )
    if drops and baseline is None:
        raise ConfigError(f"{flags[drops[0]]} needs a baseline run; specify it with --baseline")
    if drops and baseline is not None and baseline.place == run.place:
        raise ConfigError(f"{words.called(run)} is its own baseline; specify an earlier run with --baseline")
    baseline = baseline if drops else None
    comparison, apart, before = None, "", Kept()
    if baseline is not None:
        before = scores_of(baseline, flags.__contains__)
        try:
            comparison = _compared(baseline, run, drops, (before, records))
        except NoSharedRecordError as error:  # only the drops cannot be decided
            apart = str(error)
    covered = {threshold.metric for threshold in wanted if threshold.kind == "min_coverage"}
    agreement = _about(run.agreement, {threshold.metric for threshold in wanted})
    checked = _Checked(run, records, baseline, before, comparison, covered, agreement, apart)
    return CheckResult(
        run.id,
        run.name,
        len(records),
        words.called(baseline) if baseline is not None else "",
        tuple(checked.decision(threshold) for threshold in wanted),
        undecided,
        agreement,
        tuple(absences(run.summary())),
    )


def _scores_called(name: str, known: Sequence[str]) -> Sequence[str]:
    """Return the scores with a name: the one of that name, or all columns of that name, e.g. ``contradicted``."""
    return (name in known and [name]) or [one for one in known if metrics.column_of(one) == name] or [name]


def _about(agreement: AgreementDict | None, names: Collection[str]) -> AgreementDict | None:
    about = {name: found for name, found in agreement["metrics"].items() if name in names} if agreement else {}
    return {**agreement, "metrics": about} if agreement and about else None


def _compared(baseline: AnyRun, run: AnyRun, names: Sequence[str], scores: tuple[Kept, Kept]) -> Comparison:
    """Compare the run with the baseline; raise InputError if a metric's settings differ."""
    found = compare(baseline, run, metrics=names, moved=len(scores[1]), known=scores)
    for name in names:
        other = next((one for one in found[name].signatures if one.part != VERSION), None)
        if other is not None:
            ways = f"{other.part}: {other.first or 'the default'}, now {other.second or 'the default'}"
            raise InputError(
                f"{name}: the baseline {words.called(baseline)} used different settings ({ways}); "
                "evaluate it again with this run's judge and parameters"
            )
    return found


def _unjudged(scores: Collection[ScoreNumbers]) -> Iterator[str]:
    """Yield a note on what the mean could be if some units of scored records have no verdict."""
    if any(one.low != one.high for one in scores):
        ends = ([one.low for one in scores], [one.high for one in scores])
        means = (mean([one for one in end if one is not None]) for end in ends)
        yield "unjudged units: the mean could be " + " to ".join(f"{points(value, len(scores))}%" for value in means)


class _Checked(NamedTuple):
    """A run with all data needed to decide its thresholds; ``covered`` metrics have a minimum coverage.

    ``before`` are the scores of the ``baseline``, and ``comparison`` is with it; ``apart`` says why the run has no
    record in common with it.
    """

    run: AnyRun
    records: Mapping[str, RecordScores]
    baseline: AnyRun | None
    before: Mapping[str, RecordScores]
    comparison: Comparison | None
    covered: Collection[str]
    agreement: AgreementDict | None
    apart: str

    def decision(self, threshold: Threshold) -> Decision:
        """Decide one threshold."""
        total = len(self.records)
        ends = {words.called(self.run): self.run.status}
        if self.comparison:
            ends["the baseline"] = self.comparison.first.status
        for name, status in ends.items():
            if status != "done":
                return _error(threshold, f"{name} did not finish ({status}), so nothing can be decided")
        scores = {
            record: one for record, every in self.records.items() if (one := every.by_metric.get(threshold.metric))
        }
        scored = {record: one.value for record, one in scores.items() if one.value is not None}
        if not scored:
            return _error(threshold, f"nothing was scored{self._why(threshold)}")
        if threshold.kind == "min_coverage":
            return self._coverage(threshold, scored)
        if threshold.kind in DROPS and self.apart:
            return _error(threshold, self.apart)
        if threshold.kind in DROPS:
            decision = self._drop(threshold)
        elif threshold.kind in ("min", "max"):
            decision = self._mean(threshold, scored)
        else:
            decision = self._corrected(threshold, scored)
        found = decision
        if decision.outcome in ("passed", "undecided") and threshold.metric not in self.covered:
            decision = self._without_luck(decision)
        if decision is found and threshold.kind in ("min", "max"):  # else it says more of them
            decision = replace(decision, notes=(*decision.notes, *_unjudged(scores.values())))
        if threshold.kind in DROPS:
            decision = self._unpaired(decision)
        if lacking := total - len(scored):
            have = "has" if lacking == 1 else "have"
            note = f"{lacking:,} of {records_said(total)} {have} no score{self._why(threshold)}"
            decision = replace(decision, notes=(*decision.notes, note))
        return decision

    def _mean(self, threshold: Threshold, scored: Mapping[str, float]) -> Decision:
        interval = mean_interval(list(scored.values()))
        most = threshold.kind == "max"
        met = _met(threshold, interval.mean)
        low, high = (interval.low, interval.high) if interval.method != "none" else (None, None)
        end = partial(
            words.told_apart, limit=threshold.limit, count=len(scored), least=finer_share((low, high), len(scored))
        )
        found, wanted = end(interval.mean)
        notes = []
        if met and low is not None and high is not None and (high > threshold.limit if most else low < threshold.limit):
            notes.append(f"the interval extends {'above' if most else 'below'} {words.limit_said(threshold.limit)}%")
        between = words.interval_said(low, high, lambda value: end(value)[0].removesuffix("%"))
        found = f"mean {found}{between} over {records_said(len(scored))}"
        wanted = f"at {'most' if most else 'least'} {wanted}"
        lowest = () if met else self._lowest(threshold, scored)
        return Decision(
            threshold, _outcome(met), interval.mean, low, high, len(scored), found, wanted, tuple(notes), *lowest
        )

    def _corrected(self, threshold: Threshold, scored: Mapping[str, float]) -> Decision:
        """Decide by the lower bound of the attached corrected mean's interval."""
        found = self.agreement["metrics"].get(threshold.metric) if self.agreement else None
        one = found["corrected"] if found else None
        if one is None or one["method"] == "rogan_gladen":
            share = "Rogan-Gladen corrects the share that passes, not the mean" if one else ""
            why = share or found["withheld"] if found else "no labels are attached"
            lacking = _error(threshold, f"no corrected mean: {why}")
            return replace(lacking, notes=(f"attach labels: {words.attaching(self.run)}",))
        value, least, most = (min(max(end, 0.0), 1.0) for end in (one["value"], one["low"], one["high"]))
        met, count = reaches(least, threshold.limit), one["records"]
        more = finer_share((least, most), count)
        low, wanted = words.told_apart(least, threshold.limit, count, more)
        between = f"(95% CI {low.removesuffix('%')} to {points(most, count, more=more)})"
        alone, labelled = one["method"] == "labels", f"{one['labelled']:,} labelled"
        called = f"mean of {labelled} records" if alone else "corrected mean"
        by_whom = self.agreement.get("labelled_by", "people") if self.agreement else "people"
        labels = "" if alone else f", {labelled} by {by_whom}"
        raw = f"raw mean {points(one['raw'], count)}% over {records_said(count)}{labels}"
        said, wanted = f"{called} {points(value, count, more=more)}% {between}, {raw}", f"lower bound at least {wanted}"
        worst = () if met else self._lowest(threshold, scored)
        return Decision(threshold, _outcome(met), value, least, most, count, said, wanted, (), *worst)

    def _lowest(self, threshold: Threshold, scored: Mapping[str, float]) -> tuple[tuple[Worst, ...], int]:
        """Return the records with the judge's lowest values below 1; for ``max``, the highest above 0."""
        most = threshold.kind == "max"
        wrong = (item for item in scored.items() if (item[1] > 0 if most else item[1] < 1))
        lowest = sorted(wrong, key=lambda item: item[1], reverse=most)
        return self._listed(threshold, lowest)

    def _why(self, threshold: Threshold) -> str:
        return words.why_without(self.records.values(), threshold.metric)

    def _coverage(self, threshold: Threshold, scored: Mapping[str, float]) -> Decision:
        total, share = len(self.records), len(scored) / len(self.records)
        met = reaches(share, threshold.limit)
        without = [(record, None) for record in self.records if record not in scored]
        found, wanted = words.told_apart(share, threshold.limit, total)
        found = f"{len(scored):,} of {records_said(total)} scored, {found}{self._why(threshold)}"
        worst = () if met else self._listed(threshold, without)
        return Decision(threshold, _outcome(met), share, None, None, total, found, f"at least {wanted}", (), *worst)

    def _drop(self, threshold: Threshold) -> Decision:
        """Decide a drop of the mean: failed if the whole 95% interval of the difference is beyond the allowed drop.

        If only the difference itself is beyond it, that could be chance, so the decision is undecided.
        """
        assert self.comparison is not None
        one = self.comparison[threshold.metric]
        pairs = one.paired
        if pairs is None:
            return _error(threshold, f"no record has a value in both {words.called(self.run)} and the baseline")
        fallen = [moved for moved in one.moved if moved.difference < 0]  # largest first
        if threshold.kind == "max_record_drop":
            return self._record_drop(threshold, fallen, pairs.pairs)
        limit = threshold.limit
        if pairs.pairs < least_moved() and pairs.difference < -limit - HAIR:
            return replace(_error(threshold, said(one, "")), value=pairs.difference, count=pairs.pairs)
        failed = _shown_below(pairs, -limit)
        undecided = not failed and pairs.difference < -limit - HAIR
        notes = []
        if undecided:
            why = "the interval includes the limit; more records would help" if one.tested else one.why
            notes.append(f"larger than allowed, but {why}")
        elif not one.tested:
            notes.append(said(one, ""))
        if fallen and not failed and not undecided:
            first = fallen[0]
            most = "" if len(fallen) == 1 else ", most of all"
            values = f"{points(first.first)}% to {points(first.second)}%"
            notes.append(f"{records_said(len(fallen))} scored lower{most}: {first.record}, {values}")
        if not failed and (smallest := pairs.smallest()) is not None:
            notes.append(f"a drop of {words.points_said(limit + smallest)} or more would be detected with 80% power")
        ends = [None if end is None else 100 * end for end in (pairs.low, pairs.high)]
        drop = f"{signed(100 * pairs.difference, ends)} points compared with the baseline"
        between = words.interval_said(ends[0], ends[1], lambda value: signed(value, ends))
        return Decision(
            threshold,
            "failed" if failed else "undecided" if undecided else "passed",
            pairs.difference,
            pairs.low,
            pairs.high,
            pairs.pairs,
            f"{drop if pairs.difference else 'same mean as the baseline'}{between} "
            f"over {records_said(pairs.pairs, 'paired record')}",
            words.drop_said(threshold.kind, limit),
            tuple(notes),
            *(self._fallen(threshold, fallen) if failed or undecided else ()),
        )

    def _record_drop(self, threshold: Threshold, fallen: Sequence[Moved], count: int) -> Decision:
        """Decide drops of single records: failed if any exceeds the limit, without a significance test."""
        over = [moved for moved in fallen if moved.difference < -threshold.limit - HAIR]
        largest, both = fallen[0].difference if fallen else 0.0, f"{records_said(count)} in both runs"
        found = f"largest drop {words.points_said(abs(largest))}; over the limit: {len(over):,} of {both}"
        wanted, worst = words.drop_said(threshold.kind, threshold.limit), self._fallen(threshold, over)
        return Decision(threshold, _outcome(not over), largest, None, None, count, found, wanted, (), *worst)

    def _fallen(self, threshold: Threshold, fallen: Sequence[Moved]) -> tuple[tuple[Worst, ...], int]:
        return self._listed(threshold, [(one.record, one.second, one.first) for one in fallen])

    def _listed(self, threshold: Threshold, records: Sequence[Any]) -> tuple[tuple[Worst, ...], int]:
        """Return the first records, given the arguments of ``_worst``, and the number of the others."""
        return tuple(self._worst(threshold, *one) for one in records[:WORST]), max(0, len(records) - WORST)

    def _without_luck(self, decision: Decision) -> Decision:
        """Turn a decision into an error if what was not read or judged, at its worst, could reverse it.

        If it could exceed a limit of the drop, but too little to show that, the decision is undecided.
        """
        threshold = decision.threshold
        most = threshold.kind == "max"
        ends = bounds_of(self.records, threshold.metric, best=most)
        doubted = {record for record, (value, end) in ends.items() if value != end}
        shown = True
        if threshold.kind not in DROPS:
            part, compared = (
                ("lower bound", decision.low) if threshold.kind == "min_corrected" else ("mean", decision.value)
            )
            assert compared is not None
            moved = [end - value for value, end in ends.values() if value is not None]
            lost = len(ends) - len(moved)
            end = ((compared + mean(moved)) * decision.count + lost * most) / (decision.count + lost)
            met, could = _met(threshold, end), words.told_apart(end, threshold.limit, decision.count)[0]
            could = f"the {part} could be {could}"
        else:
            read = {record: scores for record, scores in self.before.items() if scores.read}
            before = bounds_of(read, threshold.metric, best=True)
            both = [record for record in ends if record in before]
            doubted = {record for record in both if record in doubted or before[record][0] != before[record][1]}
            pairs = paired([before[record][1] for record in both], [ends[record][1] for record in both])
            if threshold.kind == "max_drop":
                drop, met = abs(pairs.difference), reaches(pairs.difference, -threshold.limit)
                shown = _shown_below(pairs, -threshold.limit)
            else:
                drop = max(before[record][1] - ends[record][1] for record in both)
                met = reaches(threshold.limit, drop)
            could = f"the drop {'in a record ' * (threshold.kind != 'max_drop')}could be {words.points_said(drop)}"
        if met or not doubted:
            return decision
        note = (
            f"{records_said(len(doubted))} could not be read or fully judged: {could}"
            f"{', so nothing can be decided' * shown}; to decide without {'it' if len(doubted) == 1 else 'them'}, "
            f"add --min-coverage {threshold.metric}=X"
        )
        return replace(decision, outcome="error" if shown else "undecided", notes=(*decision.notes, note))

    def _unpaired(self, decision: Decision) -> Decision:
        """Add a note on unpaired records; a pass becomes undecided if both runs have some, as these may be the same."""
        assert self.comparison is not None
        parts = {"the baseline": self.comparison.only_first, "this run": self.comparison.only_second}
        told = " and ".join(f"{records_said(len(ids))} only in {where}" for where, ids in parts.items() if ids)
        if not told:
            return decision
        note, outcome = f"not compared: {told}", decision.outcome
        if self.comparison.overlapping:
            note, outcome = f"{note}; {SAME_IDS}", "undecided" if outcome == "passed" else outcome
        return replace(decision, outcome=outcome, notes=(*decision.notes, note))

    def _worst(self, threshold: Threshold, record: str, value: float | None, before: float | None = None) -> Worst:
        result = self.run.find(record)
        scores = result.typed.get("scores", []) if result is not None else []
        score = next((one for one in scores if one["metric"] == threshold.metric), None)
        if result is None or score is None:
            return Worst(record, value, before, (), str(result.get("set_aside", "")) if result else "")
        if value is None:
            return Worst(record, value, before, (), f"{score['status']}: {score['reason']}")
        earlier = self.baseline.find(record) if self.baseline is not None and before is not None else None
        units = wanting(result, threshold.metric, earlier)[:UNITS]
        return Worst(record, value, before, units, "" if units else reason_of(result, score))


def _met(threshold: Threshold, value: float) -> bool:
    return reaches(threshold.limit, value) if threshold.kind == "max" else reaches(value, threshold.limit)


def _outcome(met: bool) -> CheckOutcome:
    return "passed" if met else "failed"


def _error(threshold: Threshold, said: str) -> Decision:
    return Decision(threshold, "error", None, None, None, 0, said)


def _shown_below(pairs: Paired, limit: float) -> bool:
    if pairs.high is not None:
        return not reaches(pairs.high, limit)
    # There is no interval if too few pairs differ or all differ equally; then only the test decides.
    return not reaches(pairs.difference, limit) and pairs.p < LEVEL
