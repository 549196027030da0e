"""Retrieval ranking: precision, recall, nDCG, reciprocal rank and average precision of the ranked passages.

It uses the ids of relevant passages if the record has them, at no cost, else the grades of context_relevance.
Source: trec_eval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.passages import passage_relevance, passage_unit
from ragstone.metrics.words import GOOD_RETRIEVAL, RELEVANT, MetricWords, ScoreTable
from ragstone.types import BY_RECORD, DETAILS, NOTHING, Record, Score, Verdict

COLUMNS: Final = ("ndcg", "precision", "recall", "mrr", "average_precision")
NAMED: Final = 5
"""Maximum number of ids listed in a reason."""
UNNAMED: Final = "passages without ids cannot be compared with relevant ids"
_SHOWN: Final = {"with the score of the one before": "tied with the previous passage"}


def measures(ranked: Sequence[int], judged: Sequence[int], k: int, level: int = 1) -> dict[str, float | None]:
    """Return all columns by trec_eval's definitions, given the grades in ranked order and those of all judged passages.

    Grades of at least ``level`` are relevant; nDCG uses grades as gains. A value is None if its denominator is 0.
    """
    hits = [grade >= level for grade in ranked]
    total = sum(grade >= level for grade in judged)
    ideal = _gain(sorted(judged, reverse=True)[:k])
    ranks = [rank for rank, hit in enumerate(hits, 1) if hit]
    return {
        "ndcg": _gain(ranked[:k]) / ideal if ideal else None,
        "precision": sum(hits[:k]) / k,
        "recall": sum(hits[:k]) / total if total else None,
        "mrr": 1 / ranks[0] if ranks else 0.0,
        "average_precision": math.fsum(n / rank for n, rank in enumerate(ranks, 1)) / total if total else None,
    }


def _gain(grades: Sequence[int]) -> float:
    return math.fsum(max(0, grade) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RetrievalRanking(Metric):
    """Five measures of how well the record's passages are ranked.

    ``k``: rank cutoff for nDCG, precision and recall. ``level``: lowest grade that counts as relevant, if the record
    gives the grades. ``judged_level``: lowest grade that counts as relevant, if a judge gives the grades. ``ask``:
    whether to use a judge's grades (0-3) if a record has no ids of relevant passages.
    ``on_empty``: value of nDCG, recall and average precision if no passage is relevant: null, zero or one; trec_eval
    uses zero.
    """

    name = "retrieval_ranking"
    title = "whether relevant passages are retrieved, and how high they rank"
    needs = ()
    wants = ("relevant",)
    instead = ("question", "contexts")
    instead_does = "a judge grades the passages"
    asks = ("relevance",)
    brings = ("relevance",)
    suites = ("retrieval",)
    columns = COLUMNS
    in_suites: ClassVar[Mapping[str, Any]] = MappingProxyType({"ask": False})
    unsigned = (*Metric.unsigned, "ask")
    source = "trec_eval; nDCG: Järvelin and Kekäläinen 2002"
    synonyms: ClassVar[Mapping[str, str]] = {
        "retrieval": "",
        **dict.fromkeys(("ndcg", "mrr", "precision_at_k", "recall_at_k", "hit_rate"), "in its columns"),
        **dict.fromkeys(("map", "average_precision"), "in its column retrieval_ranking.average_precision"),
        **dict.fromkeys(
            ("context_precision", "contextual_precision"), "in its column retrieval_ranking.average_precision"
        ),
    }
    group = GOOD_RETRIEVAL
    unit = "passage"
    rank = 45
    words = MetricWords(
        labels=RELEVANT,
        titles={
            "ndcg": "gain of the first passages, relative to the best possible order",
            "precision": "share of the first passages that are relevant",
            "recall": "share of the relevant passages that are among the first",
            "mrr": "reciprocal rank of the first relevant passage",
            "average_precision": "mean precision at the ranks of the relevant passages",
        },
    )
    table: ClassVar[ScoreTable] = ScoreTable(
        {column.replace("_", " "): (column,) for column in COLUMNS},
        ("value", ""),
        "ndcg, precision and recall count the first {k} passages",
    )
    least: ClassVar[Mapping[str, int]] = MappingProxyType({"k": 1, "level": 1, "judged_level": 1})

    k: int = 5
    level: int = 1
    judged_level: int = 2
    ask: bool = True
    reasons: bool = False

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Compute the measures from the grades of the record or a judge."""
        if record.contexts is None:
            return self.nothing(record, "missing_field", "no contexts")
        if record.relevant is not None:
            if record.relevant and _are_unnamed(record, record.relevant):
                return self.nothing(record, "missing_field", UNNAMED)
            return self._by_ids(record, record.relevant)
        if not self.ask or not record.passages or not (record.question or "").strip():
            beside = ", and no question with contexts for a judge" if self.ask else ""
            return self.nothing(record, "missing_field", f"no relevant ids{beside}")
        (rated,) = yield from ask(passage_relevance(record, reasons=self.reasons))
        grades = [int(verdict.raw + 0.5) for verdict in rated.verdicts if verdict.raw is not None]
        return self._scores(record, rated.verdicts, grades, grades, "labels")

    def _by_ids(self, record: Record, relevant: Mapping[str, int]) -> tuple[Score, ...]:
        seen: set[str] = set()
        grades, verdicts, twice = [], [], []
        for passage in record.contexts or ():
            first, mark, number = passage.id.rpartition("#")
            if mark and number.isdecimal() and first in seen and passage.id not in relevant:
                twice.append(first)  # the reader appends a number to repeated ids
            seen.add(passage.id)
            grades.append(relevant.get(passage.id, 0))
            hit = grades[-1] >= self.level
            unit, label = passage_unit(record, passage), "yes" if hit else "no"
            verdicts.append(Verdict(unit, label, float(hit), BY_RECORD, raw=grades[-1], reason=f"grade {grades[-1]}"))
        absent = [name for name, grade in relevant.items() if grade >= self.level and name not in seen]
        lists = {
            "not retrieved": absent,
            "retrieved twice": twice,
            "with the score of the one before": _tied(record),
        }
        return self._scores(record, verdicts, grades, list(relevant.values()), "ids", lists)

    def _scores(
        self,
        record: Record,
        verdicts: Sequence[Verdict],
        ranked: Sequence[int],
        judged: Sequence[int],
        by: str,
        lists: Mapping[str, Sequence[str]] = NOTHING,
    ) -> tuple[Score, ...]:
        unjudged = len(verdicts) - len(ranked)
        said = [f"{len(names)} {_SHOWN.get(what, what)}: {_listed(names)}" for what, names in lists.items() if names]
        if (count := len(record.contexts or ())) < self.k:
            said.append(f"{count} retrieved, but precision divides by {self.k}")
        failed = "; ".join(dict.fromkeys(v.failure for v in verdicts if v.failure))
        missed = [f"{unjudged} of {len(verdicts)} unjudged, left out of the ranking: {failed}"] if unjudged else []
        level = self.level if by == "ids" else self.judged_level
        common: dict[str, Any] = {
            "asked": len(verdicts), "unjudged": unjudged, "verdicts": tuple(verdicts),
            "detail": {"by": by, **{what.replace(" ", "_"): list(names) for what, names in lists.items() if names}},
        }  # fmt: skip
        scores = []
        for column, value in measures(ranked, judged, self.k, level).items():
            reason = "; ".join([*missed, *(said if column == COLUMNS[0] else ())])
            if verdicts and not ranked:
                scores.append(self.without_value(record, "judge_failed", reason, column=column, **common))
            elif value is None:
                why = "; ".join(["no passage is relevant", *missed])
                scores.append(self.without_value(record, "empty", why, column=column, **common))
            else:
                low, high = (0.0, 1.0) if unjudged else (value, value)
                more = {"column": column, "partial": bool(unjudged), "reason": reason, **common}
                scores.append(self.valued(record, value, low, high, **more))
        return self.together(scores)


def _tied(record: Record) -> list[str]:
    """Return the passages with the previous one's retrieval score; trec_eval would sort these by id."""
    details = record.meta.get(DETAILS)
    if not isinstance(details, Mapping) or not all(isinstance(one, Mapping) for one in details.values()):
        return []  # a user's own field
    scores = [details.get(passage.id, NOTHING).get("score") for passage in record.contexts or ()]
    ranked = zip((record.contexts or ())[1:], scores[1:], scores, strict=False)
    return [passage.id for passage, own, before in ranked if own is not None and own == before]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _are_unnamed(record: Record, relevant: Mapping[str, int]) -> bool:
    """Return whether all passages are named after their ranks, and no relevant id is such a rank."""
    ranks = {str(rank) for rank in range(1, len(record.contexts or ()) + 1)}
    return bool(ranks) and ranks == {passage.id for passage in record.contexts or ()} and ranks.isdisjoint(relevant)
