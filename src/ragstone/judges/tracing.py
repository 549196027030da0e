"""TRACe with a language model: parse its labelling, and split long contexts into pieces.

Pure. Keys are checked against the sentences shown: unknown ones are dropped and reported. A response sentence is
supported only if the reply says so and names its support; one that the reply omits is missing, never supported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from ragstone.errors import ParseError
from ragstone.judges.base import Failed, Reply
from ragstone.judges.readings import ReplyReading, uncontested
from ragstone.parsing import Wording, is_placeholder, read_object
from ragstone.prompts.material import asked, texts_of
from ragstone.questions import SPECIAL, YES_NO, Trace, Traced, key_of
from ragstone.types import Quote, Unit, Verdict

_AROUND: Final = " \t\r\n.,;:()[]{}<>\"'`*"
BYTES_PER_TOKEN: Final = 3
"""A cautious estimate: splitting too early costs one extra call, but a request that is too long is wasted."""
PROMPT_TOKENS: Final = 1000
"""Approximate tokens of the instructions."""
NOTHING_NAMED: Final = "labelled as fully supported, but no support is named"

ENTRIES: Final = "sentence_support_information"
SEED: Final[Mapping[str, str]] = {
    "all_relevant_sentence_keys": "relevant",
    "all_utilized_sentence_keys": "utilized",
    ENTRIES: "sentences",
    "overall_supported_explanation": "support_explanation",
    "response_sentence_key": "key",
    "supporting_sentence_keys": "support",
}
"""Maps RAGBench's field names (arXiv 2407.11005) to ours."""


class Label(Struct, frozen=True):
    """The label of one response sentence in a reply."""

    keys: tuple[str, ...]
    supported: bool
    reason: str = ""


class Labelling(ReplyReading, kw_only=True):
    """Parsed replies about one piece of the contexts."""

    part: Trace
    labels: dict[str, Label] = field(default_factory=dict)
    relevant: Collection[str] | None = None
    utilized: Collection[str] | None = None
    overall: bool | None = None
    relevance_reason: str = ""
    support_reason: str = ""
    dropped: dict[str, None] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """The keys of response sentences without a label."""
        return [key for unit in self.part.response if (key := key_of(unit)) not in self.labels]

    @property
    def unlisted(self) -> bool:
        """Whether one of the lists is missing."""
        return self.relevant is None or self.utilized is None

    @property
    def wanted(self) -> Sequence[int | str]:
        """The response sentences to ask about again; empty for everything, which is asked if a list is missing."""
        return () if self.unlisted else self.missing

    def add(self, later: Labelling) -> None:
        """Fill gaps from a second reply, and take its reason for what is still missing."""
        for key, label in later.labels.items():
            self.labels.setdefault(key, label)
        self.relevant = later.relevant if self.relevant is None else self.relevant
        self.utilized = later.utilized if self.utilized is None else self.utilized
        self.overall = later.overall if self.overall is None else self.overall
        self.relevance_reason = self.relevance_reason or later.relevance_reason
        self.support_reason = self.support_reason or later.support_reason
        self.dropped.update(later.dropped)
        self.problem = (later.problem or self.problem) if self.unlisted or self.missing else ""


def read_trace(part: Trace, reply: Reply | Failed, wording: Wording, asked: Sequence[str] = ()) -> Labelling:
    """Parse one reply about a piece; ``asked`` are the response sentences of a repair turn; empty for everything.

    ``wording`` is the prompt's own text, which is never an answer.
    """
    found = Labelling(part=part)
    if not found.begin(reply):
        return found
    try:
        name = ENTRIES if ENTRIES in found.reply and '"sentences"' not in found.reply else "sentences"
        answer = _ours(read_object(found.reply, name, partial(texts_of, part)))
    except ParseError as error:
        found.fail(str(error))
        return found
    known = {key_of(unit) for unit in part.sentences}
    relevance, support = (_text(answer.get(f"{what}_explanation"), wording) for what in ("relevance", "support"))
    if relevance is not None:
        found.relevant = _keys(answer.get("relevant"), known, found.dropped)
        found.relevance_reason = relevance
    if support is not None:
        found.utilized = _keys(answer.get("utilized"), known, found.dropped)
        found.support_reason = support
    wanted = {key_of(unit) for unit in part.response}
    for key, entry in _entries(answer["sentences"]):
        if key in wanted and key not in found.labels:
            label = _label(entry, known, found.dropped, wording)
            if label is not None:
                found.labels[key] = label
    if found.labels:  # a verdict on sentences that were not labelled judges none of them
        found.overall = _truth(answer.get("overall_supported"))
    if problem := _problem(found, asked):
        found.fail(problem)
    else:
        found.reader = "object"
    return found


def _problem(found: Labelling, asked: Sequence[str]) -> str:
    problems = []
    if not asked:
        problems += [f"no usable list '{name}'" for name in ("relevant", "utilized") if getattr(found, name) is None]
    if missing := [key for key in found.missing if not asked or key in asked]:
        shown = ", ".join(missing[:20]) + (f" and {len(missing) - 20} more" if len(missing) > 20 else "")
        problems.append(f"no usable entry for {shown}")
    return "; ".join(problems)


def _entries(given: object) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Return entries with the key of their response sentence; a sentence with two different labels is dropped."""
    pairs: list[tuple[object, Mapping[str, Any]]] = []
    if isinstance(given, dict):
        pairs = [(key, _ours(entry)) for key, entry in given.items() if isinstance(entry, dict)]
    elif isinstance(given, list):
        listed = [_ours(entry) for entry in given if isinstance(entry, dict)]
        pairs = [(entry.get("key", entry.get("sentence")), entry) for entry in listed]
    return uncontested(((_key(key), entry) for key, entry in pairs), "fully_supported").items()


def _ours(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Add our field names; if both names are present, ours wins."""
    return {**{SEED[name]: value for name, value in answer.items() if name in SEED}, **answer}


def _label(entry: Mapping[str, Any], known: set[str], dropped: dict[str, None], wording: Wording) -> Label | None:
    supported = _truth(entry.get("fully_supported"))
    keys = _keys(entry.get("support"), known | set(SPECIAL), dropped)
    reason = _text(entry.get("explanation"), wording)
    if supported is None or keys is None or reason is None:
        return None
    if supported and not keys:
        return Label((), False, "; ".join(text.removesuffix(".") for text in (reason, NOTHING_NAMED) if text))
    return Label(tuple(keys), supported, reason)


def _keys(given: object, known: set[str], dropped: dict[str, None]) -> Sequence[str] | None:
    """Return the known keys in a list; None if it is no list, has a placeholder, or has made-up keys only."""
    if not isinstance(given, list) or any(map(is_placeholder, given)):
        return None
    found: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for item in given:
        keys = [key for part in re.split(r"[\s,;]+", str(item)) if (key := _key(part)) in known]
        found.update(dict.fromkeys(keys))
        if not keys:
            unknown[_key(item)[:40]] = None
    dropped.update(unknown)
    return list(found) if found or unknown.keys() <= set(SPECIAL) else None


def _key(given: object) -> str:
    return str(given).strip(_AROUND).casefold()


def _truth(given: object) -> bool | None:
    if isinstance(given, bool):
        return given
    return {"true": True, "false": False}.get(given.strip().casefold()) if isinstance(given, str) else None


def _text(given: object, wording: Wording) -> str | None:
    """Return an explanation, empty if there is none; None if it repeats the prompt."""
    text = given.strip() if isinstance(given, str) else ""
    return None if text and wording.shows(text) else text


# ---- pieces


def pieces(question: Trace, tokens: int) -> list[Trace]:
    """Split the question by halving, until each piece has at most about ``tokens`` tokens (0: no limit)."""
    if not tokens or _tokens(question) <= tokens:
        return [question]
    halves = halved(question)
    return [piece for half in halves for piece in pieces(half, tokens)] if halves else [question]


def halved(question: Trace) -> tuple[Trace, Trace] | None:
    """Split into two halves by documents, or by sentences if there is only one document; None for one sentence."""
    groups = [tuple(units) for _, units in groupby(question.sentences, key=lambda unit: unit.parent)]
    if len(groups) == 1:
        groups = [(unit,) for unit in question.sentences]
    if len(groups) < 2:
        return None
    sizes = [sum(len(unit.text) for unit in group) for group in groups]
    half, at, cut = sum(sizes) / 2, 0.0, 0
    while cut < len(groups) - 1 and (cut == 0 or at + sizes[cut] / 2 <= half):
        at += sizes[cut]
        cut += 1
    first, second = groups[:cut], groups[cut:]
    return (
        replace(question, sentences=tuple(unit for group in first for unit in group)),
        replace(question, sentences=tuple(unit for group in second for unit in group)),
    )


def _tokens(question: Trace) -> int:
    texts = (unit.text for unit in (*question.sentences, *question.response))
    size = sum(len(text.encode("utf-8", "replace")) + 12 for text in texts) + len(asked(question))
    return PROMPT_TOKENS + size // BYTES_PER_TOKEN


def traced(question: Trace, labellings: Sequence[Labelling], judge: str) -> Traced:
    """Combine the pieces: take the union of relevant and of utilized sentences, and each sentence's best support."""
    order = [key_of(unit) for unit in question.sentences]
    relevant = _united(order, [labelling.relevant for labelling in labellings])
    utilized = _united(order, [labelling.utilized for labelling in labellings])
    places = {key_of(unit): unit for unit in question.sentences}
    problem = next(filter(None, (labelling.problem for labelling in labellings)), "")
    verdicts, support = [], []
    for unit in question.response:
        verdict, keys = _best(unit, [labelling.labels.get(key_of(unit)) for labelling in labellings], places, judge)
        if verdict.unjudged:
            verdict = replace(verdict, failure=problem or "not labelled")
        verdicts.append(verdict)
        support.append(keys)
    lost = relevant is None or utilized is None
    only = labellings[0] if len(labellings) == 1 else None
    return Traced(
        relevant=relevant,
        utilized=utilized,
        verdicts=tuple(verdicts),
        support=tuple(support),
        relevance_reason=" ".join(dict.fromkeys(one.relevance_reason for one in labellings if one.relevance_reason)),
        support_reason=" ".join(dict.fromkeys(one.support_reason for one in labellings if one.support_reason)),
        overall=only.overall if only else None,
        dropped=tuple(dict.fromkeys(key for one in labellings for key in one.dropped)),
        parts=len(labellings),
        failure=problem if lost else "",
    )


def _united(order: Sequence[str], sets: Sequence[Collection[str] | None]) -> tuple[str, ...] | None:
    if any(found is None for found in sets):
        return None
    every = set().union(*(found for found in sets if found is not None))
    return tuple(key for key in order if key in every)


def _best(
    unit: Unit, labels: Sequence[Label | None], places: Mapping[str, Unit], judge: str
) -> tuple[Verdict, tuple[str, ...]]:
    """Return "yes" if any piece supports the sentence, "no" if every piece was read and none does, else unjudged."""
    found = [label for label in labels if label is not None]
    supporting = [label for label in found if label.supported]
    if not supporting and len(found) < len(labels):
        return Verdict(unit, None, None, judge), ()
    best = max(supporting or found, key=lambda label: len(label.keys))
    label = "yes" if best.supported else "no"
    evidence = tuple(
        Quote(place.parent or "", place.span, place.text, verbatim=True)
        for key in best.keys
        if (place := places.get(key)) is not None and place.span is not None
    )
    verdict = Verdict(
        unit, label, YES_NO.value(label), judge, raw=YES_NO.raw(label), evidence=evidence, reason=best.reason
    )
    return verdict, best.keys
