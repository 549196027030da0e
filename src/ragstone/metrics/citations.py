"""Citations: whether the passages that a response cites support its sentences, and which sentences lack a citation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.citation_marks import NUMBERINGS, CitedSentence, cited_sentences
from ragstone.metrics.words import RIGHT_CITATIONS, SUPPORTED, Labels, MetricWords, Sentence, labels
from ragstone.questions import SUPPORT_3
from ragstone.types import BY_RECORD, Passage, Record, Score, Unit, Verdict

COLUMNS: Final = ("citation_precision", "citation_recall")
TITLES: Final[Mapping[str, str]] = {
    "citation_precision": "share of citations whose passage supports the sentence",
    "citation_recall": "share of sentences supported by the passages they cite",
}
NUMBERED: Final = ("from 0", "from 1")

Pair = tuple[CitedSentence, Passage | str, Unit]
"""A citation: its sentence, its passage (or the mark if that does not exist), and its unit."""
Group = tuple[tuple[Passage, ...], Sequence[Unit]]
"""Passages, and the units of one question to judge by them."""


def _words(labels: Labels, citations: str, sentences: str, lacking: str) -> MetricWords:
    precision = Sentence(f"of a response's citations {citations}", "{have} a citation that does not", "citation")
    recall = Sentence(f"of a response's sentences {sentences}", f"{{have}} a sentence that {lacking}", "sentence")
    return MetricWords(labels, TITLES, dict(zip(COLUMNS, (precision, recall), strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Citations(Metric):
    """Precision is the mean value of the citations, recall that of the sentences that make a claim.

    Full support counts as 1, partial support as 1/2. ``numbering``: whether passage numbers start at 0 or 1:
    ``from_0``, ``from_1`` or ``auto``.
    """

    name = "citations"
    title = "whether cited passages support the sentences that cite them, and which sentences lack a citation"
    needs = ("response", "contexts")
    asks = ("support",)
    suites = ("citations",)
    columns = COLUMNS
    calls = 3
    source = "TREC 2024 RAG track, arXiv 2504.15205; ALCE, arXiv 2305.14627"
    synonyms: ClassVar[Mapping[str, str]] = {
        **{column: f"in its column citations.{column}" for column in COLUMNS},
        **dict.fromkeys(("citation_quality", "citation_accuracy", "attribution"), ""),
    }
    group = RIGHT_CITATIONS
    unit = "citation"
    rank = 25
    words = _words(SUPPORTED, "support their sentence", "are supported by what they cite", "is not")
    found_words = _words(
        labels("matched by a cited passage"), "point to a passage with the sentence's words",
        "were found in what they cite", "was not found there",
    )  # fmt: skip
    choices = MappingProxyType({"numbering": NUMBERINGS})
    scale = SUPPORT_3

    numbering: str = "auto"
    reasons: bool = False
    batch: int = 0

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Ask about each citation and each uncited sentence, then about passages cited together."""
        sentences, numbering = cited_sentences(record, self.numbering)
        if not sentences:
            return self.nothing(record, "empty", "the response contains no sentence")
        pairs = _pairs(record, sentences)
        cited_alone = _grouped(((cited,), unit) for _, cited, unit in pairs if isinstance(cited, Passage))
        uncited = _grouped((record.passages, one.unit) for one in sentences if not one.passages and not one.unknown)
        alone = yield from self._verdicts(record, [*cited_alone, *uncited])
        for _, cited, unit in pairs:
            if isinstance(cited, Passage):
                verdict = alone[unit.id]
                said = "; ".join(filter(None, (f"cites passage {cited.rank}", verdict.reason)))
                alone[unit.id] = replace(verdict, reason=said)
        found = {unit.id: alone.get(unit.id) or _wrong(unit, str(cited)) for _, cited, unit in pairs}
        own = {one.unit.id: [found[unit.id] for of, _, unit in pairs if of is one] for one in sentences}
        unsettled = ((one.passages, one.unit) for one in sentences if _is_open(one, own[one.unit.id]))
        joint = yield from self._verdicts(record, _grouped(unsettled))
        recalled = []
        for one in sentences:
            if not own[one.unit.id]:
                recalled.append(_uncited(alone[one.unit.id]))
            else:
                recalled.append(joint.get(one.unit.id) or _about(_best(own[one.unit.id]), one.unit))
        return self._precision(record, pairs, found, numbering), self._recall(record, sentences, recalled)

    def _verdicts(self, record: Record, groups: Sequence[Group]) -> Flow[dict[str, Verdict]]:
        if not groups:
            return {}
        answers = yield from ask(
            *(self.rate(record, "support", units, SUPPORT_3, passages=cited, skippable=True) for cited, units in groups)
        )
        return {verdict.unit.id: verdict for answer in answers for verdict in answer.verdicts}

    def _precision(self, record: Record, pairs: Sequence[Pair], found: Mapping[str, Verdict], numbering: str) -> Score:
        if not pairs:
            return self.without_value(record, "empty", "the response cites nothing", column=COLUMNS[0])
        unknown = [cited for _, cited, _ in pairs if isinstance(cited, str)]
        said = [f"passages are numbered {numbering}"] if numbering in NUMBERED else []
        if unknown:
            count = f"{len(unknown)} citations" if len(unknown) > 1 else "1 citation"
            said.append(f"{count} to a nonexistent passage: {', '.join(dict.fromkeys(unknown))}")
        rows = [
            {"citation": unit.id, "sentence": one.unit.id, "passage": cited.id if isinstance(cited, Passage) else cited}
            for one, cited, unit in pairs
        ]
        detail: dict[str, Any] = {"numbering": numbering, "citations": rows, "nonexistent": unknown}
        verdicts = [found[unit.id] for _, _, unit in pairs]
        return self.mean_score(record, verdicts, column=COLUMNS[0], reason="; ".join(said), detail=detail)

    def _recall(self, record: Record, sentences: Sequence[CitedSentence], verdicts: Sequence[Verdict]) -> Score:
        pairs = zip(sentences, verdicts, strict=True)
        uncited = [one.unit.id for one, v in pairs if v.value is not None and not one.passages and not one.unknown]
        numbers = ", ".join(name.rpartition("/")[2] for name in uncited)
        many = f"{len(uncited)} sentences lack" if len(uncited) > 1 else "1 sentence lacks"
        said = f"{many} a citation: sentence{'s' if len(uncited) > 1 else ''} {numbers}" if uncited else ""
        trivial = [verdict.unit.id for verdict in verdicts if verdict.trivial]
        detail = {"uncited": uncited, **({"trivial": trivial} if trivial else {})}
        return self.mean_score(record, verdicts, column=COLUMNS[1], reason=said, detail=detail)


def _pairs(record: Record, sentences: Sequence[CitedSentence]) -> list[Pair]:
    """Return the citations in order, each with a unit that has the text of its sentence."""
    every: list[tuple[CitedSentence, Passage | str]] = []
    for one in sentences:
        every += [(one, passage) for passage in one.passages]
        every += [(one, mark) for mark in one.unknown]
    return [
        (one, cited, replace(one.unit, id=f"{record.id}/citation/{n}", parent=one.unit.id))
        for n, (one, cited) in enumerate(every, 1)
    ]


def _grouped(pairs: Iterable[tuple[tuple[Passage, ...], Unit]]) -> list[Group]:
    groups: dict[tuple[Passage, ...], list[Unit]] = {}
    for cited, unit in pairs:
        groups.setdefault(cited, []).append(unit)
    return list(groups.items())


def _is_open(one: CitedSentence, own: Sequence[Verdict]) -> bool:
    """Return whether no cited passage fully supports a sentence alone, but several together might."""
    return len(one.passages) > 1 and not any(v.trivial or (v.value or 0.0) >= 1 for v in own)


def _best(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the best verdict on a sentence's citations: trivial is best, and unjudged ranks above no support."""
    return max(verdicts, key=lambda v: 3.0 if v.trivial else 0.25 if v.value is None else v.value)


def _about(verdict: Verdict, unit: Unit) -> Verdict:
    return replace(verdict, unit=unit, members=tuple(replace(member, unit=unit) for member in verdict.members))


def _wrong(unit: Unit, mark: str) -> Verdict:
    label = SUPPORT_3.labels[0]
    return Verdict(unit, label, 0.0, BY_RECORD, raw=0, reason=f"cites {mark}, which does not exist")


def _uncited(verdict: Verdict) -> Verdict:
    """Return the verdict on an uncited sentence, from that against all passages: unsupported unless it is trivial."""
    if verdict.value is None:
        return verdict
    label = SUPPORT_3.labels[0]
    said = "; ".join(filter(None, ("cites nothing", verdict.reason)))
    return Verdict(verdict.unit, label, 0.0, verdict.judge, raw=0, evidence=verdict.evidence, reason=said)
