"""Shorten a passage around its evidence: select which spans to show and which to leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ragstone.metrics import of_score
from ragstone.render.text import flat

AROUND: Final = 90
"""Characters shown before and after evidence in a shortened passage."""
OPENING: Final = 200
"""Characters shown of a passage without evidence."""
GAP: Final = 60
"""Gaps of at most this many characters are shown, not left out."""


def merged(spans: Iterable[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Sort spans and merge those that overlap or are separated only by whitespace."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def evidence_in(result: Mapping[str, Any]) -> dict[str, list[tuple[int, int]]]:
    """Return the merged spans of a result's passages, by passage, that are evidence for any support verdict."""
    found: dict[str, list[tuple[int, int]]] = {}
    for score in result["scores"]:
        for verdict in score["verdicts"] if "support" in of_score(score["metric"]).task() else ():
            for quote in verdict["evidence"]:
                if quote["start"] is not None:
                    found.setdefault(quote["passage"], []).append((quote["start"], quote["end"]))
    texts = {context["id"]: context["text"] for context in result["contexts"]}
    return {passage: merged(spans, texts.get(passage, "")) for passage, spans in found.items()}


def pieces(text: str, spans: Sequence[tuple[int, int]], *, full: bool) -> Iterable[tuple[int, int, bool]]:
    """Yield (start, end, whether it is evidence) in order; a start of -1 marks omitted text."""
    around = len(text) if full else AROUND
    if not spans:
        cut = _word(text, OPENING, -1) if len(text) > OPENING + GAP and not full else len(text)
        yield 0, cut, False
        if cut < len(text):
            yield -1, -1, False
        return
    at = 0
    for index, (start, end) in enumerate(spans):
        lead = _word(text, max(at, start - around), 1)
        if lead - at <= GAP:
            lead = at
        if lead > at:
            yield -1, -1, False
        yield lead, start, False
        yield start, end, True
        following = spans[index + 1][0] if index + 1 < len(spans) else len(text)
        at = min(following, _word(text, end + around, -1))
        if following - at <= GAP:
            at = following
        yield end, max(end, at), False
        at = max(end, at)
    if at < len(text):
        yield -1, -1, False


def _word(text: str, at: int, step: int) -> int:
    """Return the nearest word boundary from ``at`` in one direction, less than 20 characters away; else ``at``."""
    at = min(max(at, 0), len(text))
    for moved in range(20):
        here = at + step * moved
        if here <= 0 or here >= len(text) or text[here].isspace():
            return min(max(here, 0), len(text))
    return at


def squeezed(text: str) -> str:
    """Return the text on one line, keeping a space at each end that has whitespace, so that words stay separate."""
    words = flat(text)
    if not words:
        return " " if text else ""
    return (" " if text[0].isspace() else "") + words + (" " if text[-1].isspace() else "")
