"""Creating a bank of nuggets from a record's contexts: a flow as a metric's, whose score holds the nuggets.

It offers no ``METRIC``: it says nothing of a response, and runs where a bank is wanted and no number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.base import Flow, Metric
from ragstone.metrics.nuggetset import BANK, check_min_judgment, created_bank
from ragstone.questions import Task
from ragstone.types import Record, Score, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetBank(Metric):
    """The nuggets that a good answer to the question should hold, by the contexts; ``detail`` lists them.

    Parameters as in nugget_recall. The score has no value; it is ``empty`` where the contexts hold no nugget, and
    ``partial`` where a window could not be read. Source: TREC RAG (arXiv 2504.15068).
    """

    name: ClassVar[str] = "nugget_bank"
    title: ClassVar[str] = "the facts that a good answer holds"
    needs: ClassVar[tuple[str, ...]] = ("question", "contexts")
    asks: ClassVar[tuple[Task, ...]] = ("nuggetize", "importance")
    brings: ClassVar[tuple[Task, ...]] = ("nuggetize", "importance")
    suites: ClassVar[tuple[str, ...]] = ()

    window: int = 10
    max_nuggets: int = 30
    keep: int = 20
    min_judgment: float = 2.0
    least: ClassVar[Mapping[str, int]] = BANK

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        super(NuggetBank, self).__post_init__()  # no zero-argument form in a dataclass with slots
        check_min_judgment(self)

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Write and weigh."""
        bank = yield from created_bank(record, self.window, self.max_nuggets, self.min_judgment, self.keep)
        if not bank.units:
            if bank.failure:
                return self.nothing(record, "judge_failed", bank.failure)
            return self.nothing(record, "empty", "the contexts hold no nuggets for this question")
        listed = [{"text": unit.text, "importance": unit.importance} for unit in bank.units]
        detail = {**bank.counts(), "rounds": bank.rounds, "nuggets": listed}
        status: Status = "partial" if bank.failure else "scored"
        return (Score(self.name, record.id, None, status, reason=bank.failure, detail=detail),)
