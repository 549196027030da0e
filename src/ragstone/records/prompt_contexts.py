"""Extract contexts that an application wrote into a prompt after a heading such as ``Context:``.

Only simple forms are read: a single text, passages numbered from 0 or 1 or marked as list items, and passages between
lines of dashes. The last passage ends at a heading such as ``Question:``, at a line of dashes, or, if it is a single
line, at the end of the message. Anything less clear, such as instructions below the passages, yields no contexts.
"""

from __future__ import annotations

import re
from typing import Final

_KIND: Final = r"(?:contexts?|passages?|documents?|chunks?|excerpts?|snippets?)"
_FIRST: Final = (
    r"(?:(?:here|these|this) (?:is|are) )?(?:(?:the|relevant|following|provided|supporting|search|source) )*"
)


def _line(words: str, end: str = "") -> str:
    """Return the pattern of a heading: the words and a colon, or a line of Markdown such as ``## Context``."""
    return rf"^(?:[#*_ \t]*(?:{words})[*_]*[ \t]*:[*_]*|#{{1,6}}[ \t]+(?:{words})[ \t]*$){end}"


HEADING: Final = re.compile(
    _line(rf"(?:{_FIRST}(?:{_KIND}|context information|search results)|retrieved [\w -]{{1,40}}?)(?: below)?")
    + r"|^(?:use the )?context information (?:is )?below(?: to assist the user)?\.?",
    re.IGNORECASE | re.MULTILINE,
)
_ASKED: Final = r"(?:the |user(?:'s)? |current )?(?:question|query|input)"
_NEXT: Final = re.compile(
    _line(rf"{_ASKED}|answer")
    + r"|^[#*_ \t]*(?:instructions?|rules|guidelines|tasks?|response|output format|(?:chat |conversation )?history|"
    r"examples?)[*_]*[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
"""Headings that end the passages; ``## Examples`` does not, since it may belong to a passage."""
_QUESTION: Final = re.compile(_line(_ASKED), re.IGNORECASE | re.MULTILINE)
_ANSWER: Final = re.compile(_line("(?:[a-z]+ )?answer", r"\s*\Z"), re.IGNORECASE | re.MULTILINE)
_RULE: Final = re.compile(r"^[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,}|#{3,})[ \t]*$", re.MULTILINE)
_NAME: Final = rf"(?:{_KIND}|docs?|sources?|results?)"
_ITEM: Final = re.compile(
    rf"^[ \t]*(?:[#*_-]+[ \t]*)?(?:\[?(?:{_NAME}[ \t]*)?#?(\d{{1,4}})\][:.]?|\((\d{{1,4}})\)|(\d{{1,4}})[.):](?=\s)|"
    rf"{_NAME}[ \t]*#?(\d{{1,4}})[*_]*[ \t]*[:.)-])[*_]*",
    re.IGNORECASE | re.MULTILINE,
)
_BULLET: Final = re.compile(r"^[ \t]*[-*\u2022][ \t]+", re.MULTILINE)
MENTION: Final = re.compile(rf"\b(?:{_KIND}|retrieved)\b", re.IGNORECASE)


def contexts_in(message: str) -> list[str]:
    """Return the passages after a context heading in a message; empty if there are none or they are unclear."""
    heading = HEADING.search(message)
    if heading is None:
        return []
    after = _NEXT.search(message, heading.end())
    body = message[heading.end() : after.start() if after else None]
    return [text for item in _divided(body, closed=after is not None) if (text := item.strip())]


def question_in(message: str) -> str:
    """Return the text after a heading such as ``Question:`` that follows the contexts in a user message.

    It is empty if there is none, or if another heading follows, such as the question of an example.
    """
    heading = HEADING.search(message)
    asked = _QUESTION.search(message, heading.end()) if heading else None
    question = _ANSWER.sub("", message[asked.end() :]).strip() if asked else ""
    return "" if _NEXT.search(question) else question


def _divided(body: str, *, closed: bool) -> list[str]:
    """Split a body into passages; ``closed``: a heading ends it, so it contains only passages."""
    first, *pieces = _RULE.split(body)
    if pieces and not first.strip():  # framed by rules, which need a closing one
        return pieces[:-1] if len(pieces) > 1 and not pieces[-1].strip() else []
    items = [first, *pieces] if pieces else _items(body)
    last = items[-1].strip()
    return items if closed or (pieces and not last) or "\n" not in last else []


def _items(body: str) -> list[str]:
    """Return the items of a numbered or bulleted list, or the body itself if it is not a list."""
    marks = list(_ITEM.finditer(body))
    numbers = [int(next(number for number in mark.groups() if number)) for mark in marks]
    if not marks or numbers != list(range(numbers[0], numbers[0] + len(marks))) or numbers[0] > 1:
        marks = list(_BULLET.finditer(body))
        lines = [line for line in body.splitlines() if line.strip()]
        marks = marks if len(marks) == len(lines) else []
    if not marks or body[: marks[0].start()].strip():
        return [body]
    ends = [*(mark.start() for mark in marks[1:]), len(body)]
    return [body[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
