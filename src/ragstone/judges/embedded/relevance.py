"""How far a text is about a question: a weak signal from shared words, and nothing more.

A passage is weighed by a model that was fitted to whether it helps to answer; a claim, a sentence or a
response by one that tells texts written for this question from texts written for another.
"""

from __future__ import annotations

import re
from typing import Final

from ragstone.judges.embedded.evidence import FEATURES, Finding, find
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.words import NAME, NUMBER, question_stems, tokens_of

RELEVANCE: Final = (
    "best_one", "best_window", "everywhere", "plain_everywhere", "near", "missing_count", "missing_weight", "numbers",
    "numbers_missing", "names", "names_missing", "pairs", "content_pairs", "run", "content_length", "context_length",
    "context_sentences",
)  # fmt: skip
"""Features of the question held against the text, named as in ``evidence.FEATURES``.

Three more follow them: the text has what such a question asks for (a number, a name); it declines to answer; it
shares no content word.
"""

_COLUMNS: Final = tuple(FEATURES.index(name) for name in RELEVANCE)
_COUNTS: Final = re.compile(r"\b(?:how (?:many|much|old|long|far|tall|big|large)|when|what year|сколько|когда)\b")
_PEOPLE: Final = re.compile(r"\b(?:who|whom|whose|where|кто|кого|где)\b")
_REFUSAL: Final = re.compile(
    r"\b(?:(?:do(?:es)? not|don't|doesn't|did not|didn't|cannot|can't|could not|couldn't|unable to|no) "
    r"(?:\w+ )?(?:know|answer|provide|contain|mention|specify|determine|find|information|include|say)"
    r"|not (?:mentioned|specified|provided|stated|available)|не знаю|не указано|нет информации)\b"
)


def relevance(question: str, text: str) -> tuple[tuple[float, ...], Finding, Library]:
    """The features of a text's relevance, with what of the question was found in it."""
    library = Library((text,), (question,))
    finding = find(question, library, question_stems(library.language))
    low = question.lower()
    wanted = 0.5
    if _COUNTS.search(low):
        wanted = float(any(t.kind == NUMBER for t in tokens_of(text, library.language)))
    elif _PEOPLE.search(low):
        wanted = float(any(t.kind == NAME for t in tokens_of(text, library.language)))
    refusal = float(bool(_REFUSAL.search(text[:4000].lower())))
    features = (
        *(finding.features[column] for column in _COLUMNS),
        wanted,
        refusal,
        float(not finding.shared),
    )
    return features, finding, library
