"""Why scores have no value, or stand on less than all: counted while a run goes on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from ragstone.types import Score

MOST: Final = 100
"""Different causes that are told apart; what comes after is counted as other."""
OTHER: Final = "other causes"

_COUNTS: Final = re.compile(r"\d+ of \d+ unjudged: ")


class Causes:
    """How many scores of each metric have which status for which reason, those that are simply scored left out."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def add(self, scores: Iterable[Score]) -> None:
        """Count the scores of one record."""
        for score in scores:
            if score.status != "scored":
                key = (score.metric, score.status, _COUNTS.sub("", score.reason))
                known = key in self._counts or len(self._counts) < MOST
                self._counts[key if known else (score.metric, score.status, OTHER)] += 1

    def as_json(self) -> list[dict[str, Any]]:
        """Most frequent first."""
        ranked = sorted(self._counts.items(), key=lambda entry: (-entry[1], entry[0]))
        return [
            {"metric": metric, "status": status, "reason": reason, "count": count}
            for (metric, status, reason), count in ranked
        ]
