"""The words of a metric: what it tells a user, its verdicts, the sentence about its mean, its columns and its bands.

Screens and pages ask the metric for them and know none by name, so a metric of another package is shown like these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from ragstone.types import NOTHING

TRUE_TO_PASSAGES: Final = "Is the response true to the passages?"
ANSWERS: Final = "Does it answer the question?"
COMPLETE: Final = "Is it complete?"
MATCHES_REFERENCE: Final = "Does it match the reference?"
GOOD_RETRIEVAL: Final = "Was retrieval good?"
RIGHT_CITATIONS: Final = "Are the citations right?"
OWN_CRITERIA: Final = "Does it meet your own criteria?"
GROUPS: Final = (
    TRUE_TO_PASSAGES, ANSWERS, COMPLETE, MATCHES_REFERENCE, GOOD_RETRIEVAL, RIGHT_CITATIONS, OWN_CRITERIA,
)  # fmt: skip
"""What users ask, in the order of the list of metrics; a metric's ``group`` is one of them, or a text of its own."""

Labels = Mapping[str, str]
"""The word for a verdict by kind; ``below`` is for several of which some are ``no`` and some ``partly``."""

LEGEND: Final = "legend"
"""The key of the word for ``no`` in a legend, where that is longer."""

_VERBS: Final = (
    {"have": "have", "are": "are", "were": "were", "lack": "lack"},
    {"have": "has", "are": "is", "were": "was", "lack": "lacks"},
)
"""The verbs for several responses, and for one or none."""


def labels(yes: str, partly: str = "", no: str = "", below: str = "") -> Labels:
    """The words for the verdicts of a metric; a label of a scale may have a word of its own beside those of kinds.

    Those that are not given follow from ``yes``: ``partly supported``, ``not supported``, ``not fully supported``.
    """
    kinds = {
        "yes": yes, "partly": partly or f"partly {yes}", "no": no or f"not {yes}", "below": below or f"not fully {yes}",
    }  # fmt: skip
    own = {"contradicted": "contradicted", "not_mentioned": "not mentioned"}
    return {**kinds, **own, "unjudged": "unjudged", "trivial": "states nothing"}


SUPPORTED: Final = labels("supported")
RELEVANT: Final = labels("relevant")
FOUND: Final = {**labels("found"), LEGEND: "not found or contradicted"}
"""For the embedded judge, which compares words: it finds, and supports nothing."""


ANY_COLUMN: Final = "*"
"""The key of the title of columns that users name; ``{}`` stands for the name."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """The headline of a mean: ``of`` follows the value, ``short`` the number of responses below 1.

    ``short`` may hold ``{have}``, ``{are}``, ``{were}``, ``{lack}`` and ``{fully}``. ``unit`` names what was judged;
    empty for a response as a whole.
    """

    of: str
    short: str
    unit: str = ""

    @property
    def averages(self) -> bool:
        """Return whether the value is the average share of something in one response."""
        return self.of.startswith("of a ")

    def falling_short(self, count: int, signature: str) -> str:
        """The clause about so many responses below 1."""
        fully = "fully " if "|scoring_mode:scale" in signature else ""
        short = self.short.replace("{have} a ", "{have} at least one ") if count else self.short
        return short.format(**_VERBS[count < 2], fully=fully)


class MetricWords(NamedTuple):
    """The words for the results of one kind of judge.

    ``titles`` (what a value means) and ``sentences`` are by column, the empty name is the only score. A metric with a
    sentence may lead a run; of several columns the first that has a value. ``banded``: bands are shown.
    """

    labels: Labels
    titles: Mapping[str, str] = NOTHING
    sentences: Mapping[str, Sentence] = NOTHING
    banded: bool = True


def one_score(
    labels: Labels,
    of: str,
    short: str,
    unit: str = "",
    *,
    title: str = "",
    banded: bool = True,
    beside: Mapping[str, str] = NOTHING,
) -> MetricWords:
    """The words of a metric with one score; ``beside`` are the titles of columns that it may have besides."""
    return MetricWords(labels, {**({"": title} if title else {}), **beside}, {"": Sentence(of, short, unit)}, banded)


class Band(NamedTuple):
    """A word for a stretch of values, ``least`` and above, explained in English and Russian."""

    least: float
    name: str
    en: str
    ru: str = ""


class ScoreTable(NamedTuple):
    """The layout of a metric's scores: rows of one column or two, the titles above, and a legend.

    ``legend`` may name parameters of the metric, as ``{length}``; ``values`` has the words for their values.
    """

    rows: Mapping[str, tuple[str, ...]]
    titles: tuple[str, str]
    legend: str
    values: Mapping[str, Mapping[str, str]] = NOTHING
