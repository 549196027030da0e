"""Agreement of a run's judge with people, unit by unit, and what it means for the run's scores.

Labels that do not join are refused and counted. Units without a verdict are never a label: they are left out of the
scale's measures, and counted as a class of their own beside them. Units that people or the judge call trivial are left
out of both, since trivial is no place on a scale. Labels of a worst-first draw enter no interval and no correction, and
no other number where there are labels of a random draw.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from ragstone.analysis.corrected_means import CorrectedMean, Method, corrected_means
from ragstone.analysis.gold_join import Gathered, Joined, LabelledUnit, Refused, join
from ragstone.analysis.reply_formats import FormatGroup
from ragstone.analysis.saved import AnyRun
from ragstone.errors import InputError
from ragstone.labels import LabelRow
from ragstone.metrics.base import Metric
from ragstone.stats.agreement import Matrix, alpha, auroc, calibration_error, cluster_interval
from ragstone.stats.means import mean, rounded
from ragstone.types import TRIVIAL, Scale

if TYPE_CHECKING:
    from ragstone.result_types import AgreementDict, MetricAgreementDict

UNJUDGED: Final = "unjudged"
CLUSTERS: Final = 1000
"""Clusters that an interval is drawn from; of more records several make one."""
DISAGREEMENTS: Final = 10


@dataclass(frozen=True, slots=True)
class Alphas:
    """Krippendorff's alpha of several raters; None where undefined."""

    nominal: float | None
    ordinal: float | None
    interval: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {level: rounded(getattr(self, level)) for level in ("nominal", "ordinal", "interval")}


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """The judge's labels against people's majority: ``labels`` worst first, ``matrix`` by people and judge.

    ``interval`` is the 95 % interval of Cohen's kappa, drawn by record; None under two records and for units of a
    worst-first draw. ``alphas`` are of the judge and every annotator. ``auroc`` and ``calibration_error`` are of the
    judge's probabilities of the best label, None without them.
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
        """The most frequent label of people, which a predictor that reads nothing would always give."""
        return self.labels[self.matrix.gold.index(max(self.matrix.gold))]

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa without weights."""
        return self.matrix.kappa()

    def as_json(self) -> dict[str, Any]:
        """Plain JSON; micro-averaged precision, recall and F1 are the accuracy."""
        matrix = self.matrix
        classes = {label: matrix.scores(place) for place, label in enumerate(self.labels)}
        precisions = [one.precision for one in classes.values() if one.precision is not None]
        return {
            "labels": list(self.labels),
            "counts": [list(row) for row in matrix.counts],
            "units": matrix.n,
            "records": self.records,
            "constant": self.constant if matrix.n else None,
            "base_rate": rounded(matrix.base_rate),
            "accuracy": rounded(matrix.accuracy),
            "balanced_accuracy": rounded(matrix.balanced_accuracy),
            "micro": dict.fromkeys(("precision", "recall", "f1"), rounded(matrix.accuracy)),
            "macro": {
                "precision": rounded(mean(precisions)) if precisions else None,
                "recall": rounded(matrix.balanced_accuracy),
                "f1": rounded(matrix.macro_f1),
            },
            "classes": {
                label: {name: rounded(getattr(one, name)) for name in ("precision", "recall", "f1")}
                for label, one in classes.items()
            },
            "kappa": rounded(self.kappa),
            "interval": None if self.interval is None else [rounded(end) for end in self.interval],
            "kappa_linear": rounded(matrix.kappa("linear")),
            "kappa_quadratic": rounded(matrix.kappa("quadratic")),
            "alpha": self.alphas.as_json(),
            "auroc": rounded(self.auroc),
            "calibration_error": rounded(self.calibration_error),
        }


@dataclass(frozen=True, slots=True)
class AnnotatorPair:
    """Agreement of two annotators on the units of a metric that both labelled."""

    metric: str
    first: str
    second: str
    units: int
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Annotator:
    """One person's labels: how many, of how many records, how often the person could not tell, and the minutes."""

    name: str
    labels: int
    records: int
    cannot_tell: int
    minutes: float | None


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """The records of one group of a field."""

    group: str
    items: LabelAgreement


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One unit on which the judge and people's majority differ; ``gap`` is the distance of their values, 0 to 1."""

    metric: str
    record: str
    position: int
    unit: str
    text: str
    people: str
    votes: dict[str, int]
    judge: str
    reason: str
    gap: float


@dataclass(frozen=True, slots=True)
class MetricAgreement:
    """Agreement on one metric's units.

    ``items`` has the judged units, ``with_unjudged`` also those without a verdict, ranked below the worst label.
    ``wholes`` are responses as a whole. Left out are ``unjudged`` units, ``ties`` of people, ``worst`` units of a
    worst-first draw, and ``trivial`` ones by who calls them so. ``people_alphas`` are among people only, None with one.
    ``accuracy_lost`` is what units without a verdict cost, if each counts as an error. ``labelled_in_part`` records
    have labels, but not for all units; ``unlike`` have a score that does not follow from the run's settings.
    """

    metric: str
    task: str
    unit: str
    judge: str
    scale: str
    items: LabelAgreement
    with_unjudged: LabelAgreement
    wholes: LabelAgreement | None
    people_alphas: Alphas | None
    means: tuple[CorrectedMean, ...]
    groups: tuple[GroupAgreement, ...]
    unjudged: int
    ties: int
    worst: int
    worst_only: bool
    trivial: dict[str, int]
    labelled_in_part: int
    unlike: int

    @property
    def accuracy_lost(self) -> float | None:
        """In [0, 1]; None without units."""
        accuracy, judged = self.items.matrix.accuracy, self.items.matrix.n
        return None if accuracy is None else accuracy * self.unjudged / (judged + self.unjudged)
