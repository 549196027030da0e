"""Creating a bank of nuggets from a record's contexts: a flow as a metric's, whose score holds the nuggets.

It offers no ``METRIC``: it says nothing of a response, and runs where a bank is wanted and no number.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragstone.metrics.base import Flow
from ragstone.metrics.nuggetset import BankMetric
from ragstone.types import Record, Score, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetBank(BankMetric):
    """The nuggets that a good answer should contain, according to the contexts; ``detail`` lists them.

    Parameters as in nugget_recall. The score has no value; it is ``empty`` if the contexts contain no nugget, and
    ``partial`` if a window could not be read. Source: TREC RAG (arXiv 2504.15068).
    """

    name = "nugget_bank"
    title = "the facts that a good answer contains"
    needs = ("question", "contexts")
    asks = ("nuggetize", "importance")
    brings = ("nuggetize", "importance")
    suites = ()

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Write and weigh."""
        bank = yield from self.created(record)
        if not bank.units:
            if bank.failure:
                return self.nothing(record, "judge_failed", bank.failure)
            return self.nothing(record, "empty", "the contexts contain no nuggets for this question")
        listed = [{"text": unit.text, "importance": unit.importance} for unit in bank.units]
        detail = {**bank.counts(), "rounds": bank.rounds, "nuggets": listed}
        status: Status = "partial" if bank.failure else "scored"
        return (Score(self.name, record.id, None, status, reason=bank.failure, detail=detail),)
