"""What means and verdicts are called: *supported* by a language model or a person, *found* by the embedded judge alone.

The embedded judge compares words and numbers, so no screen says of its verdicts that anything is supported or is not.
Every renderer takes its words from here: for a metric by its signature, for single verdicts by who gave each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ragstone import metrics
from ragstone.render.terminal.columns import ADHERENCE, LEADING, RECALL, TRACE, columns_of
from ragstone.render.terminal.screen import kind_of

Table = Literal["support", "relevance", "held", "traced"]
Words = Mapping[str, str]
"""Kind of verdict to its word; ``below`` is for several of which some are ``no`` and some ``partly``."""

_EMBEDDED: Final = "embedded"
_ALONE: Final = re.compile(rf"\|(?:support|response_support|trace|assign):{_EMBEDDED}\+[^|>,@\[\]]+(?:\||$)")
"""In a signature: the step that gives the verdicts, where no panel, no cascade and no label takes part in it."""
_VERBS: Final = ({"have": "have", "are": "are", "lack": "lack"}, {"have": "has", "are": "is", "lack": "lacks"})
"""Of several responses, and of one or none."""


@dataclass(frozen=True, slots=True)
class Mean:
    """What the mean of a metric says: ``of`` follows the value, ``short`` a number of responses below 1.

    ``unit`` is what was judged, empty for a response as a whole.
    """

    of: str
    short: str
    unit: str = ""

    def falling_short(self, count: int, signature: str) -> str:
        """What is said of so many responses that are below 1."""
        fully = "fully " if "|scoring_mode:" in signature else ""
        return self.short.format(**_VERBS[count < 2], fully=fully)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words for one kind of judge: for verdicts by table and kind, for means and titles by metric.

    ``graded`` says whether the grades of response_groundedness (``excellent`` …) are shown.
    """

    words: Mapping[Table, Words]
    means: Mapping[str, Mean]
    titles: Mapping[str, str]
    graded: bool

    def of(self, metric: str) -> Words:
        """The words for verdicts of a metric."""
        return self.words[_table(metric)]

    def title(self, metric: str) -> str:
        """What a metric measures, in a few words; empty for a metric that is not known."""
        found = metrics.catalogue().get(metric.partition(".")[0])
        return self.titles.get(metric) or (found.title if found is not None else "")


def by_signature(signature: str) -> Vocabulary:
    """The vocabulary for a metric whose scores have this signature."""
    return FOUND if _ALONE.search(signature) else SUPPORTED


def by_verdicts(verdicts: Iterable[Mapping[str, Any]]) -> Vocabulary:
    """The vocabulary for verdicts of a result: of several judges' that of the one who can say less."""
    return FOUND if any(verdict["judge"] == _EMBEDDED for verdict in verdicts) else SUPPORTED


def word(metric: str, verdict: Mapping[str, Any]) -> str:
    """``not supported``, ``to check``, ``partly relevant``: a verdict in the words of its metric and its judge."""
    return by_verdicts((verdict,)).of(metric)[kind_of(verdict)]


def words_as_json() -> dict[str, Mapping[Table, Words]]:
    """The words by judge for a page's script; those under an empty name are for every judge that is not named."""
    return {_EMBEDDED: FOUND.words, "": SUPPORTED.words}


def _table(metric: str) -> Table:
    columns = columns_of(metric)
    if columns is not None:
        return "held" if columns is RECALL else "traced"
    return "relevance" if metric.endswith("relevance") else "support"


def _words(yes: str, partly: str, no: str, below: str) -> Words:
    return {
        "yes": yes, "partly": partly, "no": no, "below": below, "unjudged": "unjudged", "trivial": "states nothing"
    }  # fmt: skip


_RELEVANCE: Final = _words("relevant", "partly relevant", "not relevant", "not fully relevant")
_TO_CHECK: Final = _words("found", "partly found", "to check", "to check")
_SHARE: Final = TRACE.score("adherence_share")

SUPPORTED: Final = Vocabulary(
    words={
        "support": _words("supported", "partly supported", "not supported", "not fully supported"),
        "relevance": _RELEVANCE,
        "held": _words("in the response", "partly in the response", "not in the response", "not fully in the response"),
        "traced": _words("supported", "partly supported", "not fully supported", "not fully supported"),
    },
    means={
        "grounding": Mean(
            "of a response's claims are supported by its contexts",
            "{have} a claim that is not {fully}supported",
            "claim",
        ),
        "groundedness": Mean(
            "is how far the contexts support a response, sentence by sentence",
            "{have} a sentence that is not fully supported",
            "sentence",
        ),
        "response_groundedness": Mean(
            "is how far the contexts support a response as a whole", "{are} not fully supported"
        ),
        "nugget_groundedness": Mean(
            "of a response's nuggets are supported by its contexts",
            "{have} a nugget that is not fully supported",
            "nugget",
        ),
        ADHERENCE: Mean(
            "of the responses are supported in every sentence",
            "{have} a sentence that is not fully supported",
            "sentence",
        ),
        LEADING[0]: Mean("of the vital nuggets of its topic are in a response", "{lack} one of them", "vital nugget"),
        LEADING[1]: Mean("of the nuggets of its topic are in a response", "{lack} one of them", "nugget"),
    },
    titles={
        ADHERENCE: "responses supported in every sentence",
        _SHARE: "sentences of a response that are supported",
    },
    graded=True,
)
"""For language models, people, and every panel or cascade with one of them."""

FOUND: Final = Vocabulary(
    words={
        "support": _TO_CHECK,
        "relevance": _RELEVANCE,
        "held": _words(
            "found in the response",
            "partly found in the response",
            "not found in the response",
            "not fully found in the response",
        ),
        "traced": _TO_CHECK,
    },
    means={
        "grounding": Mean("of a response's claims were found in its contexts", "{have} a claim to check", "claim"),
        "groundedness": Mean(
            "of a response was found in its contexts, sentence by sentence", "{have} a sentence to check", "sentence"
        ),
        "response_groundedness": Mean(
            "of a response was found in its contexts, read as a whole", "{have} something to check"
        ),
        "nugget_groundedness": Mean(
            "of a response's nuggets were found in its contexts", "{have} a nugget to check", "nugget"
        ),
        ADHERENCE: Mean(
            "of the responses were found in their contexts in every sentence",
            "{have} a sentence to check",
            "sentence",
        ),
        LEADING[0]: Mean(
            "of the vital nuggets of its topic were found in a response", "{have} one of them to check", "vital nugget"
        ),
        LEADING[1]: Mean(
            "of the nuggets of its topic were found in a response", "{have} one of them to check", "nugget"
        ),
    },
    titles={
        "grounding": "share of the response's claims found in the contexts",
        "groundedness": "how much of the response was found in the contexts, sentence by sentence",
        "response_groundedness": "how much of the response was found in the contexts, read as a whole",
        "nugget_groundedness": "how much of the response was found in the contexts, nugget by nugget",
        ADHERENCE: "responses found in the contexts in every sentence",
        _SHARE: "sentences of a response found in the contexts",
    },
    graded=False,
)
"""For the embedded judge alone. A verdict of its *to check* says in its reason what was not found, or contradicted."""
