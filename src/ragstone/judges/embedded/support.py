"""One statement against the passages: the raw row that a verdict is read from.

A row has ``x``, the log-odds of support, the ``windows`` it was found in, the words ``missing``, those of them that are
``telling``, the words ``shared``, and ``clash``, a fact that the evidence puts otherwise; of a statement that says
something is not there also ``absent``; or ``trivial`` or ``blank`` where there is nothing to judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ragstone.judges.embedded.absence import Absence, absence, denied
from ragstone.judges.embedded.abstaining import abstention, names
from ragstone.judges.embedded.alignment import Clash
from ragstone.judges.embedded.evidence import WORDS_NAMED, Finding, find
from ragstone.judges.embedded.library import Library, Place
from ragstone.judges.embedded.model import model
from ragstone.judges.embedded.stated import restated, stated, unmarked
from ragstone.judges.embedded.trivial import NO_ANSWER, triviality
from ragstone.judges.embedded.words import NUMBER, tokens_of
from ragstone.segment import language_of

ASKED = 4000
"""Characters of a question that are read."""


def held(text: str, library: Library, *, trivial: bool, question: str = "") -> dict[str, Any]:
    """The row of a claim; of one that abstains, with what was found of the words that are said not to be there."""
    parts = abstention(text, library.language)
    if parts is None or parts.personal or denied(text, library):
        return supported(text, library, trivial=trivial, question=question)
    missed = absence(parts, library)
    if missed is not None:
        return _absence(missed, library)
    if names(parts.besides, library.language):
        return supported(parts.besides, library, trivial=False, question=question)
    return {"trivial": NO_ANSWER} if trivial else {"blank": True}


def _absence(missed: Absence, library: Library) -> dict[str, Any]:
    absent = {"x": rounded(missed.log_odds), **places_of(missed.finding, library)}
    rest = missed.besides
    if rest is None:
        return {"absent": absent}
    return {"absent": absent, "x": rounded(model().support.log_odds(rest.features)), **places_of(rest, library)}


def supported(text: str, library: Library, *, trivial: bool, question: str = "") -> dict[str, Any]:
    """The row of a statement as it stands; ``trivial``: whether one that states nothing may be left out."""
    kind = triviality(unmarked(text), language_of(text)) if trivial else ""
    if kind:
        return {"trivial": kind}
    statement = stated(text, library.language)
    asked = stems_asked(question, library.language)
    finding = find(restated(question, statement, library.language), library, asked=asked)
    if not finding.words:
        return {"blank": True}
    return {"x": rounded(model().support.log_odds(finding.features)), **places_of(finding, library)}


def places_of(finding: Finding, library: Library) -> dict[str, Any]:
    """Where it was found, and which of its words were and were not."""
    return {
        "windows": [[place.passage, *library.place(place)] for place in finding.windows],
        "missing": named(finding.missing),
        "telling": named(finding.telling),
        "shared": named(finding.shared),
        **_clashing(finding.clash, library),
    }


def _clashing(clash: Clash | None, library: Library) -> dict[str, Any]:
    if clash is None:
        return {}
    found: dict[str, Any] = {"says": clash.says}
    if clash.has:
        place = Place(clash.passage, clash.sentence, clash.sentence)
        found |= {"has": clash.has, "at": [clash.passage, *library.place(place)], "same": clash.same}
    return {"clash": found}


@lru_cache(maxsize=4)
def stems_asked(question: str, language: str) -> tuple[str, ...]:
    """The stems of the question, which its answer need not get from the passages."""
    return tuple(token.stem for token in tokens_of(question[:ASKED], language) if token.kind != NUMBER)


def named(words: Sequence[str]) -> list[str]:
    """As many words as a reason names, cut to a fair length."""
    return [word[:40] for word in words[:WORDS_NAMED]]


def rounded(value: float) -> float:
    """Six decimals, as replies keep them."""
    return round(value, 6)
