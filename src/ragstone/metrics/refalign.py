"""Reference alignment: match sentences of response and reference by meaning, with a local embedding and no judge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final, cast

from ragstone.metrics.base import HOW_TO_ADD, Flow, Metric
from ragstone.metrics.claimset import Source, sentences_of
from ragstone.metrics.twotexts import COLUMNS, OTHER, counts_in, kind, side_labels, with_f1
from ragstone.metrics.words import MATCHES_REFERENCE, MetricWords, Sentence
from ragstone.models import ModelUser, SentenceEncoder, locate, short_name
from ragstone.signature import version_of
from ragstone.stats.assignment import matched
from ragstone.stats.means import reaches
from ragstone.types import NOTHING, REFERENCE, RESPONSE, Quote, Record, Score, Unit, Verdict

MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
"""The default model: English, 90 MB, Apache-2.0."""
USER: Final = ModelUser(
    "refalign", "refalign", "--set refalign.model={}", {MODEL: "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"}
)
SIMILARITY: Final = "similarity"


@lru_cache(maxsize=2)
def encoder(model: str) -> SentenceEncoder:
    """Return the loaded model; raise ConfigError or BackendError if something is missing."""
    return SentenceEncoder(locate(model, USER))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RefAlign(Metric):
    """Sentences of the two texts are matched one to one by cosine similarity.

    Precision is the share of the response's sentences that are matched, recall that of the reference's. Similarity
    compares the texts as a whole.
    ``model``: sentence-embedding model in ONNX format: a folder, or ``ORG/MODEL[@REVISION]`` on the Hugging Face hub.
    ``threshold``: minimum cosine similarity to match two sentences; also the minimum value for a score to be PASSED.
    """

    name = "refalign"
    title = "sentences in the response and the reference that match in meaning"
    needs = ("response", "reference")
    asks = ()
    suites = ("reference",)
    calls = 0
    fixed = ("model",)
    unsigned = ("enabled", "model")
    columns = (*COLUMNS, SIMILARITY)
    source = "Sentence-BERT, arXiv 1908.10084"
    group = MATCHES_REFERENCE
    synonyms: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("semantic_similarity", "answer_similarity", "embedding_similarity"),
                        "in its column refalign.similarity"),
        "bertscore": "sentences are compared, not tokens",
    }  # fmt: skip
    heading = "reference alignment"
    labelled = False
    unit = "compared sentence"
    rank = 120
    words = MetricWords(
        side_labels("similar to one in", "similar to none in", "sentence"),
        {
            "precision": "share of the response's sentences that match one in the reference",
            "recall": "share of the reference's sentences that match one in the response",
            SIMILARITY: "similarity of both texts as a whole",
        },
        {"f1": Sentence("is the mean F1 of similar sentences in both texts", "{have} a sentence not in both",
                        "sentence")},
    )  # fmt: skip

    threshold: float | None = 0.6
    model: str = MODEL

    def check(self) -> None:
        """Raise ConfigError if ``model`` is not a non-empty string."""
        model = cast("object", self.model)
        if not isinstance(model, str) or not model:
            self.refuse("model", model, "a folder, or ORG/MODEL on the hub")

    @classmethod
    def lacks(cls, present: Mapping[str, int]) -> str:
        """Return why a suite omits it: always, since a suite never loads a model unasked."""
        return (
            super(RefAlign, cls).lacks(present) or f"needs a local model (ragstone[nli]){HOW_TO_ADD.format(cls.name)}"
        )

    def made_with(self) -> Mapping[str, str]:
        """Return the model with its commit and hash, and the runtime version."""
        files = encoder(self.model).files
        revision = f"@{files.revision[:7]}" if files.revision else ""
        return {"encoder": f"{short_name(files.name)}{revision}#{files.digest}.onnxruntime-{version_of('onnxruntime')}"}

    @classmethod
    def stands_on(cls, column: str, unit: Mapping[str, Any]) -> bool:
        """Return whether a column counts a sentence; similarity compares whole texts."""
        return column != SIMILARITY and counts_in(column, unit)

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Embed and match the sentences, without a judge."""
        yield from ()
        model = encoder(self.model)
        units = {source: [u for u in sentences_of(record, source) if any(map(str.isalnum, u.text))] for source in OTHER}
        if empty := [source for source in OTHER if not units[source]]:
            return self.nothing(record, "empty", f"no sentence in the {' and the '.join(empty)}")
        vectors = {source: [model.encode(unit.text) for unit in units[source]] for source in OTHER}
        grid = [[_cosine(one, other) for other in vectors["reference"]] for one in vectors["response"]]
        assert self.threshold is not None
        pairs = matched(grid, self.threshold)
        back = {column: row for row, column in pairs.items()}
        turned = [*zip(*grid, strict=True)]
        name = model.files.name
        sides: dict[Source, Score] = {
            "response": self._side(record, "response", units, grid, pairs, name),
            "reference": self._side(record, "reference", units, turned, back, name),
        }
        whole = _cosine(model.encode(record.response or ""), model.encode(record.reference or ""))
        return (*with_f1(self, record, sides, NOTHING), self.exact(record, whole, column=SIMILARITY))

    def _side(
        self, record: Record, source: Source, units: Mapping[Source, Sequence[Unit]], grid: Sequence[Sequence[float]],
        pairs: Mapping[int, int], judge: str,
    ) -> Score:  # fmt: skip
        """Return the mean over the sentences of one text: 1 if matched, 0 if not."""
        other = OTHER[source]
        verdicts = []
        for number, unit in enumerate(units[source]):
            row = grid[number]
            nearest = pairs.get(number, max(range(len(row)), key=row.__getitem__))
            found, there = number in pairs, units[other][nearest]
            reason = f"similarity {row[nearest]:.2f}"
            if not found and reaches(row[nearest], self.threshold or 0.0):
                reason += ", but matched to another sentence"
            span = unit.span if source == "response" else None
            asked = Unit(f"{record.id}/{kind(source, 'sentence')}/{number + 1}", "sentence", unit.text, span)
            text = {"response": RESPONSE, "reference": REFERENCE}[other]
            evidence = (Quote(text, there.span, there.text, verbatim=True),)
            verdicts.append(
                Verdict(asked, "yes" if found else "no", float(found), judge, raw=round(row[nearest], 6),
                        evidence=evidence, reason=reason)
            )  # fmt: skip
        return self.mean_score(record, verdicts)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine similarity of unit vectors; negative values become 0."""
    return min(1.0, max(0.0, math.fsum(a * b for a, b in zip(one, other, strict=True))))
