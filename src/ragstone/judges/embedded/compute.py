"""What the embedded judge's backend does: the body of a call to the text of its reply.

A pure function of the body. The reply holds raw log-odds and places, no labels: scale, calibration and cuts
are applied when it is read, so a stored reply serves every scale. Numbers are rounded to six decimals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ragstone.judges.embedded.bank import of_passages
from ragstone.judges.embedded.claims import write
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.nuggets import of_answer
from ragstone.judges.embedded.question_words import question_words
from ragstone.judges.embedded.relevance import Level, Seen, log_odds, relevance
from ragstone.judges.embedded.support import held, named, rounded, supported
from ragstone.judges.embedded.tracing import trace
from ragstone.segment import language_of, sentences


def reply_to(body: bytes) -> str:
    """The reply to a call's body, as JSON."""
    asked: Mapping[str, Any] = orjson.loads(body)
    task, question = asked["task"], asked.get("question", "")
    if task == "claims":
        claims = write(asked["sentences"], asked["before"])
        found: Any = {"claims": [[claim.text, claim.sentence] for claim in claims]}
    elif task == "support":
        library = Library(asked["passages"], asked["units"])
        found = {"units": [held(text, library, trivial=asked["trivial"], question=question) for text in asked["units"]]}
    elif task == "nuggetize":
        found = _nuggets(asked)
    elif task == "importance":
        found = {"units": [_importance(text, question) for text in asked["units"]]}
    elif task == "assign":
        library = Library(asked["passages"], asked["units"])
        found = {"units": [supported(text, library, trivial=False, question=question) for text in asked["units"]]}
    elif task == "response_support":
        library = Library(asked["passages"], asked["units"])
        found = {"units": [_response(text, library, question) for text in asked["units"]]}
    elif task == "trace":
        found = trace(asked["question"], asked["passages"], asked["response"])
    else:
        level = asked["level"]
        seen = relevance(question, asked["units"], level)
        found = {"units": [_relevance(one, level) if question.strip() else {"blank": True} for one in seen]}
    return orjson.dumps(found).decode()


def _nuggets(asked: Mapping[str, Any]) -> dict[str, Any]:
    if "passages" in asked:
        return {"nuggets": of_passages(asked["question"], asked["passages"], asked["known"], asked["most"])}
    nuggets = of_answer(asked["sentences"], asked["before"], asked["known"], asked["most"])
    return {"nuggets": [[nugget.text, nugget.sentence] for nugget in nuggets]}


def _importance(text: str, question: str) -> dict[str, Any]:
    # The language of both as one text: a nugget alone is often taken for one of another.
    words = question_words(question, language_of(f"{question} {text}"))
    if not words.weights or not text.strip():
        return {"blank": True}
    close = words.closeness(text)
    return {"close": rounded(close.value), "shared": named(close.shared)}


def _response(text: str, library: Library, question: str) -> dict[str, Any]:
    spans = sentences(text, library.language)
    rows = (
        {"at": [at.start, at.end], **held(text[at.start : at.end], library, trivial=True, question=question)}
        for at in spans
    )
    return {"sentences": list(rows)}


def _relevance(seen: Seen, level: Level) -> dict[str, Any]:
    if seen.blank:
        return {"blank": True}
    return {
        "x": rounded(log_odds(level, seen.features)),
        "best": [seen.best.start, seen.best.end] if seen.best else None,
        "missing": named(seen.missing),
        "shared": named(seen.shared),
        "wanted": seen.wanted,
        "given": seen.given,
        "declines": seen.declines,
        "strong": seen.strong,
        "related": seen.related,
        "beside": seen.features.together > 0,
    }
