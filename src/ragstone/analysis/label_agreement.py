"""Compare the judge's labels of units with people's: a confusion matrix and the measures derived from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from ragstone.analysis.gold_join import LabelledUnit
from ragstone.stats.agreement import Level, Matrix, alpha, auroc, calibration_error, kappa_interval
from ragstone.stats.means import mean, rounded_in
from ragstone.types import Scale

UNJUDGED: Final = "unjudged"
CLUSTERS: Final = 1000
"""Maximum number of clusters that an interval is drawn from; if there are more records, several share a cluster."""


class Alphas(Struct, frozen=True):
    """Krippendorff's alpha of several raters; None if undefined."""

    nominal: float | None
    ordinal: float | None
    interval: float | None


class LabelAgreement(Struct, frozen=True):
    """The judge's labels compared with people's majority: ``labels`` worst first, ``matrix`` by people and judge.

    ``interval`` is the 95% interval of Cohen's kappa, resampling records; None with fewer than two records and for
    units from a worst-first draw. ``alphas`` are over the judge and all annotators. ``auroc`` and ``calibration_error``
    are of the judge's probabilities of the best label; None without them.
    """

    labels: tuple[str, ...]
    matrix: Matrix
    records: int
    interval: tuple[float, float] | None
    alphas: Alphas
    auroc: float | None = None
    calibration_error: float | None = None

    @property
    def constant(self) -> str:
        """People's most frequent label, which is what a constant predictor would always give."""
        return self.labels[self.matrix.gold.index(max(self.matrix.gold))]

    @property
    def kappa(self) -> float | None:
        """Unweighted Cohen's kappa."""
        return self.matrix.kappa()

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON data; micro-averaged precision, recall and F1 equal the accuracy."""
        matrix = self.matrix
        classes = {label: matrix.scores(place) for place, label in enumerate(self.labels)}
        precisions = [one.precision for one in classes.values() if one.precision is not None]
        found: dict[str, Any] = rounded_in({
            "labels": self.labels,
            "counts": matrix.counts,
            "units": matrix.n,
            "records": self.records,
            "constant": self.constant if matrix.n else None,
            "base_rate": matrix.base_rate,
            "accuracy": matrix.accuracy,
            "balanced_accuracy": matrix.balanced_accuracy,
            "micro": dict.fromkeys(("precision", "recall", "f1"), matrix.accuracy),
            "macro": {
                "precision": mean(precisions) if precisions else None,
                "recall": matrix.balanced_accuracy,
                "f1": matrix.macro_f1,
            },
            "classes": classes,
            "kappa": self.kappa,
            "interval": self.interval,
            "kappa_linear": matrix.kappa("linear"),
            "kappa_quadratic": matrix.kappa("quadratic"),
            "alpha": self.alphas,
            "auroc": self.auroc,
            "calibration_error": self.calibration_error,
        })  # fmt: skip
        return found


def label_agreement(units: Sequence[LabelledUnit], scale: Scale, *, unjudged: bool = False) -> LabelAgreement:
    """Compare the judge's labels of units with people's, on the scale.

    Units without a verdict are left out; with ``unjudged``, they get an extra label below the worst. Other units
    without a label of the scale never count. Ties among people count only for the alphas. An interval is computed only
    if all units come from a random draw and have verdicts.
    """
    labels = (UNJUDGED, *scale.labels) if unjudged else scale.labels
    places = {label: place for place, label in enumerate(labels)}
    met = [(unit, judged) for unit in units if (judged := places.get(unit.judged or UNJUDGED)) is not None]
    pairs = [(unit, places[unit.gold], judged) for unit, judged in met if unit.gold in scale.labels]
    items = [*_shared((judged, *_votes(unit, places)) for unit, judged in met)]
    del met  # a run may have a million units
    matrix = Matrix.of(((gold, judged) for _, gold, judged in pairs), len(labels))
    records = dict.fromkeys(unit.record for unit, *_ in pairs)
    fair = not unjudged and all(unit.random for unit in units)
    known = [(unit.probability, gold + 1 == len(labels)) for unit, gold, _ in pairs if unit.probability is not None]
    probabilities, best = [probability for probability, _ in known], [is_best for _, is_best in known]
    return LabelAgreement(
        labels, matrix, len(records), _interval(pairs, records, len(labels)) if fair else None,
        alphas(items, labels, None if unjudged else scale.values),
        auroc(probabilities, best), calibration_error(probabilities, best),
    )  # fmt: skip


def people_alphas(units: Iterable[LabelledUnit], scale: Scale) -> Alphas | None:
    """Return people's agreement with each other; None with only one annotator."""
    places = {label: place for place, label in enumerate(scale.labels)}
    items = [*_shared(tuple(_votes(unit, places)) for unit in units)]
    return alphas(items, scale.labels, scale.values) if any(len(item) > 1 for item in items) else None


def alphas(items: Sequence[Sequence[int | None]], labels: Collection[str], values: Sequence[float] | None) -> Alphas:
    """Return alpha on all three levels; without ``values``, the labels' numbers, interval alpha is None."""

    def of(level: Level) -> float | None:
        return alpha(items, len(labels), level, values)

    return Alphas(of("nominal"), of("ordinal"), of("interval") if values is not None else None)


def _shared(items: Iterable[tuple[int | None, ...]]) -> Iterator[tuple[int | None, ...]]:
    """Yield one copy of equal items, of which there are few."""
    known: dict[tuple[int | None, ...], tuple[int | None, ...]] = {}
    return (known.setdefault(item, item) for item in items)


def _votes(unit: LabelledUnit, places: Mapping[str, int]) -> Iterable[int | None]:
    """Return people's labels; for a whole response labelled only by its units, the label derived from these."""
    return (places.get(label) for label in (unit.votes.values() or [unit.gold or ""]))


def _interval(
    pairs: Sequence[tuple[LabelledUnit, int, int]], records: Mapping[str, None], labels: int
) -> tuple[float, float] | None:
    clusters = {record: place % CLUSTERS for place, record in enumerate(records)}
    parts: dict[int, list[int]] = defaultdict(lambda: [0] * labels**2)
    for unit, gold, judged in pairs:
        parts[clusters[unit.record]][gold * labels + judged] += 1
    return kappa_interval([*parts.values()], labels)
