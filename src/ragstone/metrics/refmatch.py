"""Reference match: overlap of response and reference by BLEU, chrF, ROUGE and METEOR, without a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from ragstone.metrics.base import Flow, Metric
from ragstone.metrics.words import MATCHES_REFERENCE, SUPPORTED, MetricWords
from ragstone.stats.overlap import bleu, chrf, meteor, rouge_l, rouge_n
from ragstone.types import Record, Score

MEASURES: Final[Mapping[str, Callable[[str, str], float | None]]] = MappingProxyType({
    "chrf": chrf,
    "bleu": bleu,
    "rouge1": lambda response, reference: rouge_n(response, reference, 1),
    "rouge2": lambda response, reference: rouge_n(response, reference, 2),
    "rougeL": rouge_l,
    "meteor": meteor,
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RefMatch(Metric):
    """Overlap of words and characters with the reference, as chrF, BLEU, ROUGE and METEOR."""

    name = "refmatch"
    title = "words and characters that the response shares with the reference"
    needs = ("response", "reference")
    asks = ()
    suites = ("reference",)
    calls = 0
    columns = tuple(MEASURES)
    source = "chrF: Popović 2015; BLEU: Papineni et al. 2002; ROUGE: Lin 2004; METEOR: Banerjee and Lavie 2005"
    group = MATCHES_REFERENCE
    synonyms: ClassVar[Mapping[str, str]] = {
        **{name: f"in its column refmatch.{name}" for name in ("bleu", "chrf", "rouge1", "rouge2", "meteor")},
        **dict.fromkeys(("rouge", "rouge_score", "rougel", "rouge_l"), "in its column refmatch.rougeL"),
        **dict.fromkeys(("bleu_score", "chrf_score", "string_similarity"), ""),
    }
    heading = "reference match"
    main_columns = ("chrf", "rougeL")
    rank = 130
    words = MetricWords(
        SUPPORTED,
        {
            "chrf": "chrF: sequences of characters shared with the reference",
            "bleu": "BLEU: sequences of words shared with the reference",
            "rouge1": "ROUGE-1: words shared with the reference",
            "rouge2": "ROUGE-2: pairs of words shared with the reference",
            "rougeL": "ROUGE-L: shared words in the order of the reference",
            "meteor": "METEOR without synonyms: words and stems shared with the reference, in sequences",
        },
    )

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Compute the measures, without a judge."""
        yield from ()
        texts = record.response or "", record.reference or ""
        values = {column: measure(*texts) for column, measure in MEASURES.items()}
        return tuple(
            self.without_value(record, "empty", "both texts are too short", column=column)
            if value is None
            else self.exact(record, value, column=column)
            for column, value in values.items()
        )
