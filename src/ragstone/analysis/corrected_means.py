"""Correct a metric's mean for the judge's errors, using records that people labelled completely.

Only records from a random draw are used, including those on which people differ: the others are not a random sample.
Nor are those that labels give a value, if that is fewer than half of the labelled ones. With fewer than ``FEWEST`` of
them, the result is the mean of the labels with its own interval. If no interval can be computed, ``withheld`` says why.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, cast

from msgspec import Struct

from ragstone.analysis.gold_join import Joined, RecordValues
from ragstone.metrics import column_of
from ragstone.result_types import CorrectedDict
from ragstone.stats.correction import Corrected, Rates, labels_to_halve, prediction_powered, rogan_gladen
from ragstone.stats.means import mean, student_half

Method = Literal["ppi", "rogan_gladen"]

FEWEST: Final = 30
"""Minimum number of labelled records for a correction."""
MOST: Final = 64
"""Upper bound on the factor by which a sample is enlarged to find the size that halves an interval."""


class CorrectedMean(Struct, frozen=True):
    """The judge's mean of one score, and its correction by people's labels.

    ``raw`` is over all ``records`` with a value, including values set by ``on_empty``. Of these records, ``labelled``
    are from a random draw and completely labelled; ``people`` is people's mean on them. ``value`` has the 95% interval
    ``low`` to ``high``. ``method`` is as in ``CorrectedDict``; ``reason`` says why it is not the requested one. For
    ``rogan_gladen``, all numbers are shares that pass: of records if each value is 0 or 1, else of units. About
    ``more`` additional labelled records would halve the interval; None if labelling all records would not.
    """

    score: str
    raw: float | None
    records: int
    labelled: int
    people: float | None = None
    method: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    power: float | None = None
    more: int | None = None
    reason: str = ""
    withheld: str = ""

    def attached(self) -> CorrectedDict | None:
        """Return what is saved with a run, not yet rounded; None if the correction is withheld."""
        found = {name: getattr(self, name) for name in CorrectedDict.__annotations__}
        return None if self.value is None else cast("CorrectedDict", found)  # all of them come with it


def corrected_mean(joined: Joined, score: str, method: Method) -> CorrectedMean:
    """Return the corrected mean of one of a metric's scores that depend on labelled units."""
    values, settled = joined.values[score], joined.settled[score]
    others: Sequence[float] = joined.others[score]
    if method == "rogan_gladen":  # it counts labels, and a tie is none
        others = [*others, *(one.judge for one in values if one.tied)]
        values = [one for one in values if not one.tied]
    judged = [*(one.judge for one in values), *others]
    if not judged:
        return CorrectedMean(score, None, 0, 0, withheld="no record has a value")
    people = mean([one.people for one in values]) if values else None
    every = [*judged, *settled]
    found: dict[str, Any] = {
        "score": score, "raw": mean(every), "records": len(every), "labelled": len(values), "people": people
    }  # fmt: skip
    whole = _Whole(len(judged) / len(every), sum(settled) / len(every))
    if not values and not any(unit.random for unit in (*joined.units, *joined.wholes)):
        return CorrectedMean(**found, withheld="the labels come from a worst-first draw, not a random sample")
    if len(values) < 2:
        return CorrectedMean(**found, withheld=_too_few(len(values), joined))
    corrects = len(values) >= FEWEST and len(others) > 0
    if method == "rogan_gladen" and corrects:
        return _by_error_rates(found, joined, values, others, whole)
    used = {one.record for one in joined.values[score]}
    labelled = used | {unit.record for unit in joined.units or joined.wholes if unit.random}
    if 2 * len(used) < len(labelled):
        why = f"labels give a value to only {len(used)} of {len(labelled)} labelled records, not a random sample"
        return CorrectedMean(**found, withheld=why)
    if not (half := student_half([one.people for one in values])):
        return CorrectedMean(**found, withheld="people's values are all the same, so no interval can be computed")
    if not corrects:
        so_far = f"so far: {len(values)}; this run has {len(every)}"
        why = f"correcting the judge's mean needs {FEWEST} fully labelled records ({so_far})"
        return _of_labels(found, half, why if others else "all records are labelled", whole)
    human, ours = [one.people for one in values], [one.judge for one in values]
    clusters = (range(len(human)), range(len(human), len(judged)))
    one = prediction_powered(human, ours, others, clusters=clusters)
    return CorrectedMean(**found, method="ppi", more=labels_to_halve(human, ours, others), **whole.of(one))


class _Whole(NamedTuple):
    """How a mean over records with verdicts enters the mean over all: its ``share``, and what other records add."""

    share: float = 1.0
    added: float = 0.0

    def of(self, found: Corrected) -> dict[str, Any]:
        """Return the numbers of a correction for all records, within [0, 1]."""
        value, low, high = (
            self.share * min(max(number, 0.0), 1.0) + self.added for number in (found.value, found.low, found.high)
        )
        return {"value": value, "low": low, "high": high, "power": found.power}


def _too_few(count: int, joined: Joined) -> str:
    said = f"{'only 1 record is' if count else 'no record is'} labelled in full"
    if joined.unlike:
        said += f"; {joined.unlike} labelled but scored with settings other than the run's"
    return f"{said}; {joined.part} labelled in part" if joined.part else said


def _of_labels(found: dict[str, Any], half: float, why: str, whole: _Whole) -> CorrectedMean:
    count, people = found["labelled"], found["people"]
    return CorrectedMean(
        **found, method="labels", reason=why, more=3 * count if 4 * count <= whole.share * found["records"] else None,
        **whole.of(Corrected(people, people - half, people + half, found["raw"])),
    )  # fmt: skip


def _by_error_rates(
    found: dict[str, Any], joined: Joined, values: Sequence[RecordValues], others: Sequence[float], whole: _Whole
) -> CorrectedMean:
    """Return the share that passes, corrected by the judge's error rates on labelled data.

    The share is of records if each value is 0 or 1, else of units, for a metric with one score and a two-label scale.
    """
    if {0.0, 1.0} >= {*others, *(number for one in values for number in (one.people, one.judge))}:
        rates = [_rates([(one.people > 0, one.judge > 0)]) for one in values]
        rest = [(int(value), 1) for value in others]
    elif column_of(found["score"]):
        return CorrectedMean(**found, withheld="Rogan-Gladen needs values of 0 or 1")
    elif joined.scale is None or len(joined.scale.labels) != 2:
        return CorrectedMean(**found, withheld="Rogan-Gladen needs a scale of two labels")
    else:
        best, whole = joined.scale.labels[-1], _Whole()
        by_record: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        for unit in joined.units:
            if unit.random and {unit.gold, unit.judged} <= {*joined.scale.labels}:
                by_record[unit.record].append((unit.gold == best, unit.judged == best))
        rates = [_rates(pairs) for pairs in by_record.values()]
        rest = list(zip(joined.passed, joined.judged, strict=True))
    (passed, judged), total = _sums(rest), Rates(*_sums(rates))

    def corrected(times: int, clusters: tuple[Sequence[Rates], Sequence[tuple[int, int]]] | None = None) -> Corrected:
        return rogan_gladen(passed, judged, Rates(*(times * count for count in total)), clusters)

    try:
        one = corrected(1, (rates, rest))
    except ValueError as error:
        return CorrectedMean(**found, withheld=str(error))
    units = total.pass_total + total.fail_total
    raw = whole.share * (passed + total.pass_right + total.fail_total - total.fail_right) / (judged + units)
    half = _width(corrected(1)) / 2
    more = (next((times for times in range(2, MOST) if _width(corrected(times)) <= half), 1) - 1) * len(values)
    shares = {**found, "raw": raw + whole.added, "people": total.pass_total / units}
    return CorrectedMean(
        **shares, method="rogan_gladen", more=more if 0 < more <= len(others) else None, **whole.of(one)
    )


def _rates(pairs: Sequence[tuple[bool, bool]]) -> Rates:
    """Return the counts of one record from whether people and the judge pass each item."""
    counts = Counter(pairs)
    right, refused = counts[True, True], counts[False, False]
    return Rates(right, right + counts[True, False], refused, refused + counts[False, True])


def _sums(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*rows, strict=True)))


def _width(found: Corrected) -> float:
    return found.high - found.low
