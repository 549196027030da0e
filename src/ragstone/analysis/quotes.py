"""How much of the evidence that judges named stands where they say: counted while a run goes on, or from its results.

Every verdict counts once, whatever number of scores holds it. Of a panel the members' own quotes count: what the
panel's verdict shows is a copy of one of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ragstone.engine import Weighed
from ragstone.types import Score, Verdict


@dataclass(slots=True)
class Quotes:
    """Quotes found to the letter (``verbatim``), nearly (``near``), and nowhere (``absent``)."""

    verbatim: int = 0
    near: int = 0
    absent: int = 0

    def add(self, scores: Iterable[Score]) -> None:
        """Count the quotes of one record."""
        told = [verdict for score in scores for verdict in score.verdicts if verdict.evidence or verdict.members]
        for verdict in dict.fromkeys(told):
            self._add(verdict)

    def add_weighed(self, weighed: Weighed) -> None:
        """Count the quotes of one record of a run; a result that was taken over has them in its document alone."""
        if weighed.taken:
            self.add_result(orjson.loads(weighed.document))
        else:
            self.add(weighed.scores)

    def add_result(self, result: Mapping[str, Any]) -> None:
        """Count the quotes of one record's result; one that was set aside has none."""
        told = [
            orjson.dumps(verdict, option=orjson.OPT_SORT_KEYS)
            for score in result["scores"]
            for verdict in score["verdicts"]
            if verdict["evidence"] or verdict.get("members")
        ]
        for text in dict.fromkeys(told):
            verdict = orjson.loads(text)
            for own in verdict.get("members") or (verdict,):
                for quote in own["evidence"]:
                    self._count(found=quote["start"] is not None, verbatim=quote["verbatim"])

    def _add(self, verdict: Verdict) -> None:
        for own in verdict.members or (verdict,):
            for quote in own.evidence:
                self._count(found=quote.span is not None, verbatim=quote.verbatim)

    def _count(self, *, found: bool, verbatim: bool) -> None:
        if not found:
            self.absent += 1
        elif verbatim:
            self.verbatim += 1
        else:
            self.near += 1

    def as_json(self) -> dict[str, Any]:
        """Plain JSON; ``verified`` is the share that was found, from 0 to 1, or None where none was named."""
        named = self.verbatim + self.near + self.absent
        return {
            "named": named,
            "verbatim": self.verbatim,
            "near": self.near,
            "absent": self.absent,
            "verified": round((self.verbatim + self.near) / named, 9) if named else None,
        }


def quotes_of(results: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of all results, which are taken one at a time."""
    quotes = Quotes()
    for result in results:
        quotes.add_result(result)
    return quotes.as_json()
