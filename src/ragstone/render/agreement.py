"""The words for a judge's agreement with people: kappa, the confusion matrix, corrected means beside raw ones.

Promises: metrics with the same verdicts are told of together; no agreement is claimed that the interval does not show;
ends of an interval beyond 0 or 1 are drawn and printed as 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragstone.metrics import of_score
from ragstone.render.text import between, coefficient, flat, number, percent, plural
from ragstone.render.wording import folded
from ragstone.types import NOTHING

if TYPE_CHECKING:
    from ragstone.result_types import AgreementDict, CorrectedDict, MetricAgreementDict

MEANS: Final = 3
"""Means that a line names; a metric may have many columns."""
_DASH: Final = "\u2013"


@dataclass(frozen=True, slots=True)
class MeanByPeople:
    """A metric's raw mean beside the corrected one; where there is none, ``note`` says why.

    ``ends`` are of the corrected mean's 95 % interval, ``raw_ends`` of the raw one's where it is known.
    """

    metric: str
    raw: float | None
    raw_ends: tuple[float, float] | None
    value: float | None
    ends: tuple[float, float] | None
    words: str
    note: str


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """A confusion matrix of people (rows) and a judge (columns), worst label first, and the means that it corrects.

    ``said`` is the sentence, ``about`` what the matrix shows besides.
    """

    said: str
    about: str
    judge: str
    unit: str
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    means: tuple[MeanByPeople, ...]

    @property
    def lines(self) -> list[str]:
        """The sentence, and a line of the means."""
        means = [f"{mean.metric} {mean.words}" for mean in self.means if mean.words]
        more = [f"and {len(means) - MEANS} more"] if len(means) > MEANS else []
        return [self.said, "; ".join([*means[:MEANS], *more])] if means else [self.said]


def agreements(
    attached: AgreementDict | None, metrics: Mapping[str, Mapping[str, Any]] = NOTHING
) -> tuple[JudgeAgreement, ...]:
    """The agreement that is attached to a run; ``metrics`` are of its summary, for the intervals of raw means."""
    alike: dict[str, dict[str, MetricAgreementDict]] = {}
    for name, found in attached["metrics"].items() if attached else ():
        verdicts = [found[key] for key in ("task", "judge", "labels", "counts", "unjudged")]
        alike.setdefault(repr(verdicts), {})[name] = found
    return tuple(_together(found, len(alike) > 1, metrics) for found in alike.values())


def _together(
    found: Mapping[str, MetricAgreementDict], named: bool, metrics: Mapping[str, Mapping[str, Any]]
) -> JudgeAgreement:
    name, first = next(iter(found.items()))
    return JudgeAgreement(
        said=_said(first, of_score(name).unit, f" on {', '.join(folded(found))}" if named else ""),
        about=_about(first, of_score(name).unit),
        judge=flat(first["judge"]),
        unit=of_score(name).unit,
        labels=tuple(flat(label).replace("_", " ") for label in first["labels"]),
        counts=tuple(map(tuple, first["counts"])),
        means=tuple(_mean(metric, one, metrics.get(metric, {}).get("interval")) for metric, one in found.items()),
    )


def _said(found: MetricAgreementDict, unit: str, on: str) -> str:
    counted = plural(found["units"], unit)
    if not found["units"]:
        return f"Agreement with people{on} is unknown: no {unit} has both a label and a verdict"
    if found["kappa"] is None:
        return f"Agreement with people{on} is unknown: one label only on {counted}, so kappa is undefined"
    ends = found["interval"]
    agrees = "agrees" if ends and ends[0] > 0 else "is not shown to agree"
    return f"Judge {agrees} with people{on}: kappa {kappa_said(found)} on {counted}"


def kappa_said(found: MetricAgreementDict) -> str:
    """``.71 (.58-.82)`` with an en dash; a dash where kappa is undefined."""
    if found["kappa"] is None:
        return "-"
    if found["interval"] is None:
        return coefficient(found["kappa"])
    low, high = map(coefficient, found["interval"])
    return f"{coefficient(found['kappa'])} ({low}{' to ' if found['interval'][0] < 0 else _DASH}{high})"


def _about(found: MetricAgreementDict, unit: str) -> str:
    parts = []
    if found["accuracy"] is not None and found["base_rate"] is not None:
        same, most = (percent(found[key], found["units"]) for key in ("accuracy", "base_rate"))
        parts.append(f"The same label on {same}; always giving the most frequent one: {most}.")
    if found["unjudged"]:
        parts.append(f"{plural(found['unjudged'], f'labelled {unit}')} without a verdict, left out.")
    return " ".join(parts)


def _mean(metric: str, found: MetricAgreementDict, raw_ends: list[float] | None) -> MeanByPeople:
    one = found["corrected"]
    drawn = None if raw_ends is None else (raw_ends[0], raw_ends[1])
    if one is None:
        return MeanByPeople(metric, None, drawn, None, None, "", flat(found["withheld"]))
    value, low, high = (min(max(one[key], 0.0), 1.0) for key in ("value", "low", "high"))
    ends = between(low, high, one["records"], _DASH)
    words = f"{percent(one['raw'], one['records'])}, corrected {percent(value, one['records'])} ({ends})"
    if one["method"] == "labels":
        words = words.replace("corrected", "by people's labels alone", 1)
    return MeanByPeople(metric, one["raw"], drawn, value, (low, high), words, how_corrected(one))


def how_corrected(one: CorrectedDict) -> str:
    """How a mean was corrected, and from how many labels."""
    how = {"ppi": "PPI++", "rogan_gladen": "Rogan-Gladen", "labels": "too few labels to correct by: their own mean"}
    return f"{how[one['method']]}, {number(one['labelled'])} of {plural(one['records'], 'record')} labelled"
