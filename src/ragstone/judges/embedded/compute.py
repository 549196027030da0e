"""Compute the reply to a call of the embedded judge.

The reply is a pure function of the body. It contains probabilities, places and reasons but no labels. The scale is
applied when the reply is read, so a stored reply works for every scale.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ragstone.judges.embedded.claims import write
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.model import is_vital, model
from ragstone.judges.embedded.nuggets import of_answer, of_passages
from ragstone.judges.embedded.relevance import question_words, relevance
from ragstone.judges.embedded.support import SupportOutcome, Window, assigned, in_order, judged, listing, response
from ragstone.judges.embedded.tracing import trace
from ragstone.segment import language_of

WEAK = "weak rule"  # part of the reason of every importance verdict


def reply_to(body: bytes) -> str:
    """Return the reply to a call's body as JSON."""
    asked: Mapping[str, Any] = orjson.loads(body)
    task, question = asked["task"], asked.get("question", "")
    if task == "claims":
        found: Any = {"claims": [*map(tuple, write(asked["sentences"], asked["before"]))]}
    elif task == "nuggetize" and "passages" in asked:
        found = {"nuggets": of_passages(question, asked["passages"], asked["known"], asked["most"])}
    elif task == "nuggetize":
        nuggets = of_answer(asked["sentences"], asked["before"], asked["known"], asked["most"])
        found = {"nuggets": [*map(tuple, nuggets)]}
    elif task == "trace":
        found = trace(question, asked["passages"], asked["response"], asked["keys"])
    elif task == "importance":
        found = {"units": [_importance(text, question) for text in asked["units"]]}
    elif task == "relevance":
        blank = [{"reason": "the question is blank"}] * len(asked["units"])
        rated = (
            (one.row() for one in relevance(question, asked["units"], asked["level"])) if question.strip() else blank
        )
        found = {"units": [*rated]}
    else:
        found = {"units": _support(task, asked, question)}
    return orjson.dumps(found).decode()


def place_name(rank: int | str) -> str:
    """Return the name of a text for readers: the number of a passage, or the kind of another text."""
    return rank if isinstance(rank, str) else f"passage {rank}"


def _support(task: str, asked: Mapping[str, Any], question: str) -> list[dict[str, Any]]:
    library, trivial = Library(asked["passages"], asked["units"]), asked.get("trivial", False)

    def name(window: Window) -> str:
        return place_name(asked["ranks"][window[0]])

    def read(text: str) -> SupportOutcome:
        if task == "assign":
            return assigned(text, library, question)
        return judged(text, library, name, trivial=trivial or task == "response_support", question=question)

    units = asked["units"]
    if task == "response_support":
        found = [response(text, library.language, read, model().support.yes) for text in units]
    else:
        found = in_order(units, read) if trivial else [*map(read, units)]
    return [outcome.row() for outcome in found]


def _importance(text: str, question: str) -> dict[str, Any]:
    if not question.strip() or not text.strip():
        return {"reason": f"the {'text' if question.strip() else 'question'} is blank"}
    # Detect the language of both together, since that of a short nugget is often misdetected.
    words = question_words(question, language_of(f"{question} {text}"))
    if not words.weights:
        return {"reason": "the question has no words to look for"}
    close, shared = words.closeness(text)
    vital = is_vital(close)
    common = f"; shared words: {listing(shared)}" if shared else ""
    reason = f"{'close' if vital else 'not close'} to the question by a {WEAK} (closeness {close:.2f}){common}"
    return {"chance": round(close, 6), "vital": vital, "windows": [], "reason": reason}
