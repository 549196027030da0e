"""Wording of a metric for users: its group, verdict labels, headline, column titles and bands.

Screens and pages use these instead of special cases per metric, so metrics of other packages are shown the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct

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
"""Users' questions, in the order of the list of metrics; a metric's ``group`` is one of them or its own text."""

Labels = Mapping[str, str]
"""Words for verdicts by kind; ``below`` covers a mix of ``no`` and ``partly``."""

LEGEND: Final = "legend"
"""The key of a longer wording of ``no`` for legends."""

_PARTIAL: Final = re.compile(r"\|scoring_mode:scale|\](?:mean|median)\b")
"""Matches a signature whose verdicts may be partial: on a scale, or the average of a panel."""

_LACKING: Final = re.compile(
    r"\{have\} a (.+?) (?:that )?((?:is|was) )?not ((?:fully |\{fully\})?(?:in|found|supported)\b.*)"
)
"""Matches what a response lacks, so that a run without such a response can be described without a negation."""

_VERBS: Final = (
    {"have": "have", "are": "are", "were": "were", "lack": "lack"},
    {"have": "has", "are": "is", "were": "was", "lack": "lacks"},
)
"""Verbs for several responses, then for one or none."""


def labels(yes: str, partly: str = "", no: str = "", below: str = "") -> Labels:
    """Return the words for a metric's verdicts, by kind; some labels of scales have their own.

    Missing ones are derived from ``yes``: ``partly supported``, ``not supported``, ``not fully supported``.
    """
    kinds = {
        "yes": yes, "partly": partly or f"partly {yes}", "no": no or f"not {yes}", "below": below or f"not fully {yes}",
    }  # fmt: skip
    own = {"contradicted": "contradicted", "not_mentioned": "not mentioned"}
    return {**kinds, **own, "unjudged": "unjudged", "trivial": "no claim"}


SUPPORTED: Final = labels("supported")
RELEVANT: Final = labels("relevant")
FOUND: Final = {**labels("found"), LEGEND: "contradicted or not found"}
"""Words for the embedded judge, which only compares words: it can find statements, but not confirm support."""


ANY_COLUMN: Final = "*"
"""The key of the title for columns named by users; ``{}`` stands for the name."""


class Sentence(Struct, frozen=True):
    """The headline of a mean: ``of`` follows the value, ``short`` the number of responses below 1.

    ``of`` may contain ``{}`` for the value, ``short`` may contain ``{have}``, ``{are}``, ``{were}``, ``{lack}`` and
    ``{fully}``. ``unit`` names the judged unit; empty means the whole response.
    """

    of: str
    short: str
    unit: str = ""

    @property
    def around(self) -> tuple[str, str]:
        """The words before and after the value; ``On average`` if it is the share of something in one response."""
        before, _, after = self.of.rpartition("{}")
        return (before, after) if before else ("On average, " * after.startswith("of a "), f" {after}")

    def falling_short(self, count: int, signature: str, *, judged: bool) -> str:
        """Return the clause about ``count`` responses below 1; for none, a sentence. ``judged``: all units are."""
        fully = "fully " if _PARTIAL.search(signature) else ""
        if count:
            short = self.short.replace("{have} a ", "{have} at least one ")
        elif found := _LACKING.fullmatch(self.short):
            short = "Every {}{} {}{}".format("" if judged else "judged ", *found.groups(""))
        else:
            short = f"No response {self.short}"
        return short.format(**_VERBS[count < 2], fully=fully)


class MetricWords(NamedTuple):
    """Wording for the results of one kind of judge.

    ``titles`` (meanings of values) and ``sentences`` are by column; an only score has an empty name. A metric with a
    sentence may be a run's headline, by its first column with a value. ``banded``: bands are shown.
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
    """Return the wording of a metric with one score; ``beside`` has the titles of its optional further columns."""
    return MetricWords(labels, {**({"": title} if title else {}), **beside}, {"": Sentence(of, short, unit)}, banded)


class Band(NamedTuple):
    """A name for the values from ``least`` up to the next band, explained in English and Russian."""

    least: float
    name: str
    en: str
    ru: str = ""


class ScoreTable(NamedTuple):
    """The table layout of a metric's scores: rows of one or two columns, column titles and a legend.

    ``legend`` may refer to the metric's parameters, e.g. ``{length}``; ``values`` has words for their values.
    """

    rows: Mapping[str, tuple[str, ...]]
    titles: tuple[str, str]
    legend: str
    values: Mapping[str, Mapping[str, str]] = NOTHING
