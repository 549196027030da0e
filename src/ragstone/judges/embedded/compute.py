"""What the embedded judge's backend does: the body of a call to the text of its reply.

A pure function of the body. The reply holds raw log-odds and places, no labels: scale, calibration and cuts
are applied when it is read, so a stored reply serves every scale. Numbers are rounded to six decimals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ragstone.judges.embedded.absence import Absence, absence, denied
from ragstone.judges.embedded.abstaining import abstention, names
from ragstone.judges.embedded.assign import readings
from ragstone.judges.embedded.bank import of_passages
from ragstone.judges.embedded.claims import write
from ragstone.judges.embedded.closeness import Asked
from ragstone.judges.embedded.evidence import WORDS_NAMED, Finding, find
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.model import model
from ragstone.judges.embedded.nuggets import of_answer
from ragstone.judges.embedded.relevance import relevance
from ragstone.judges.embedded.stated import stated, unmarked
from ragstone.judges.embedded.tracing import trace
from ragstone.judges.embedded.trivial import NO_ANSWER, triviality
from ragstone.segment import language_of, sentences


def reply_to(body: bytes) -> str:
    """The reply to a call's body, as JSON."""
    asked: Mapping[str, Any] = orjson.loads(body)
    task = asked["task"]
    if task == "claims":
        claims = write(asked["sentences"], asked["before"])
        found: Any = {"claims": [[claim.text, claim.sentence, claim.confidence] for claim in claims]}
    elif task == "support":
        library = Library(asked["passages"], asked["units"])
        found = {"units": [_held(text, library, trivial=asked["trivial"]) for text in asked["units"]]}
    elif task == "nuggetize":
        found = _nuggets(asked)
    elif task == "importance":
        questions = Asked.of_each(asked["question"], asked["units"])
        found = {"units": list(map(_importance, asked["units"], questions))}
    elif task == "assign":
        library = Library(asked["passages"], asked["units"])
        found = {"units": [_assignment(text, library) for text in asked["units"]]}
    elif task == "response_support":
        library = Library(asked["passages"], asked["units"])
        found = {"units": [_response(text, library) for text in asked["units"]]}
    elif task == "trace":
        found = trace(asked["question"], asked["passages"], asked["response"])
    else:
        found = {
            "units": [_relevance(asked["question"], text, passage=asked["passage"]) for text in asked["units"]],
        }
    return orjson.dumps(found).decode()


def _nuggets(asked: Mapping[str, Any]) -> dict[str, Any]:
    if "passages" in asked:
        return {"nuggets": of_passages(asked["question"], asked["passages"], asked["known"], asked["most"])}
    nuggets = of_answer(asked["sentences"], asked["before"], asked["known"], asked["most"])
    return {"nuggets": [[nugget.text, nugget.sentence, nugget.confidence] for nugget in nuggets]}


def _importance(text: str, question: Asked) -> dict[str, Any]:
    if question.blank or not text.strip():
        return {"blank": True}
    close = question.closeness(text)
    return {"close": _rounded(close.value), "shared": _named(close.shared)}


def _assignment(text: str, library: Library) -> dict[str, Any]:
    """The row of the reading that the response carries best, with the log-odds of all if there are several.

    A reading of which no word is found has none.
    """
    rows = [_support(reading, library, trivial=False) for reading in readings(text)]
    best = max(rows, key=lambda row: (bool(row.get("windows")), row.get("x", -math.inf)))
    if len(rows) == 1:
        return best
    return {**best, "readings": [row["x"] if row.get("windows") else None for row in rows]}


def _held(text: str, library: Library, *, trivial: bool) -> dict[str, Any]:
    """The row of a claim; of one that abstains, with what was found of the words that are said not to be there."""
    parts = abstention(text, library.language)
    if parts is None or parts.personal or denied(text, library):
        return _support(text, library, trivial=trivial)
    missed = absence(parts, library)
    if missed is not None:
        return _absence(missed, library)
    if names(parts.besides, library.language):
        return _support(parts.besides, library, trivial=False)
    return {"trivial": NO_ANSWER} if trivial else {"blank": True}


def _absence(missed: Absence, library: Library) -> dict[str, Any]:
    absent = {"x": _rounded(missed.log_odds), **_places(missed.finding, library)}
    rest = missed.besides
    if rest is None:
        return {"absent": absent}
    return {"absent": absent, "x": _rounded(model().support.log_odds(rest.features)), **_places(rest, library)}


def _support(text: str, library: Library, *, trivial: bool) -> dict[str, Any]:
    kind = triviality(unmarked(text), language_of(text)) if trivial else ""
    if kind:
        return {"trivial": kind}
    finding = find(stated(text, library.language), library)
    if not finding.words:
        return {"blank": True}
    return {"x": _rounded(model().support.log_odds(finding.features)), **_places(finding, library)}


def _response(text: str, library: Library) -> dict[str, Any]:
    spans = sentences(text, library.language)

    def rows(*, trivial: bool) -> list[dict[str, Any]]:
        return [
            {"at": [span.start, span.end], **_held(text[span.start : span.end], library, trivial=trivial)}
            for span in spans
        ]

    found = rows(trivial=True)
    if not any("x" in row or "absent" in row for row in found):
        found = rows(trivial=False)
    return {"sentences": found}


def _relevance(question: str, text: str, *, passage: bool) -> dict[str, Any]:
    features, finding, library = relevance(question, text)
    if not finding.words or not library.words:
        return {"blank": True}
    weigh = model().passage if passage else model().answer
    return {"x": _rounded(weigh.log_odds(features)), **_places(finding, library)}


def _places(finding: Finding, library: Library) -> dict[str, Any]:
    return {
        "windows": [[place.passage, *library.place(place)] for place in finding.windows],
        "missing": _named(finding.missing),
        "shared": _named(finding.shared),
    }


def _named(words: Sequence[str]) -> list[str]:
    return [word[:40] for word in words[:WORDS_NAMED]]


def _rounded(value: float) -> float:
    return round(value, 6)
