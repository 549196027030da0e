"""Find the passages that each sentence of a response cites, from the record's citations or marks in the text.

Marks are ``[1]``, ``[1, 2]``, ``[1][3]``, ``[1-3]``, ``[doc3]`` and passage ids. A mark belongs to the sentence of the
words before it, even after a full stop.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from ragstone.segment import sentences
from ragstone.types import Passage, Record, Span, Unit, passage_id

NUMBERINGS: Final = ("auto", "from_0", "from_1")
_BRACKETS: Final = re.compile(r"[\[\u3010]([^\[\]\u3010\u3011\n]{1,200})[\]\u3011]")
_NUMBER: Final = re.compile(
    r"\^?(?:doc(?:ument)?|passage|source|context|chunk|ref(?:erence)?)?[\s_#.]*(\d{1,6})(?:\s*[-\u2013]\s*(\d{1,6}))?",
    re.IGNORECASE,
)
_APART: Final = re.compile(r"\s+(?=[.,;:!?\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f])|\s+$")
RANGE: Final = 20
"""Maximum number of passages in a range; of a longer one, only the first and last are cited."""


class CitedSentence(Struct, frozen=True):
    """A sentence without its marks, the passages that it cites, and ``unknown``: citations of nonexistent passages."""

    unit: Unit
    passages: tuple[Passage, ...]
    unknown: tuple[str, ...]


class _Mark(Struct, frozen=True):
    start: int
    end: int
    cited: tuple[int | str, ...]
    """Passage numbers as written, and passage ids."""

    def is_year(self, count: int) -> bool:
        """Return whether it holds only numbers too large for passages, such as years: above 999 and ``count``."""
        return all(isinstance(one, int) and one > max(count, 999) for one in self.cited)


def cited_sentences(record: Record, numbering: str) -> tuple[list[CitedSentence], str]:
    """Return the sentences, and how citations were read: ``record``, ``ids``, ``from 0``, ``from 1`` or ``none``.

    ``numbering`` sets the first passage number; ``auto`` means 0 if a 0 is cited, else 1.
    """
    text = record.response or ""
    if any(citation.passages for citation in record.citations):
        given = [citation.span for citation in record.citations]
        own = [list(dict.fromkeys(citation.passages)) for citation in record.citations]
        return _sentences(record, given, own, ()), "record"
    count = len(record.contexts or ())
    marks = [mark for mark in _marks(text, record) if not mark.is_year(count)]
    loose = [not text[mark.start - 1 : mark.start].isalnum() for mark in marks]
    if any(loose):  # else a 0 right after a word is a citation like the others, not an index as in "arr[0]"
        marks = [mark for mark, apart in zip(marks, loose, strict=True) if mark.cited != (0,) or apart]
    numbers = [one for mark in marks for one in mark.cited if isinstance(one, int)]
    first = {"from_0": 0, "from_1": 1}.get(numbering, int(0 not in numbers))
    by_rank = {passage.rank - 1 + first: passage.id for passage in record.contexts or ()}
    spans = sentences(text)
    cited: list[dict[str, None]] = [{} for _ in spans]
    for place, mark in zip(_places(text, spans, marks), marks, strict=True):
        names = (by_rank.get(one, f"[{one}]") if isinstance(one, int) else one for one in mark.cited)
        cited[place].update(dict.fromkeys(names))
    how = f"from {first}" if numbers else "ids" if marks else "none"
    return _sentences(record, spans, cited, marks), how


def _marks(text: str, record: Record) -> Iterator[_Mark]:
    """Yield the brackets whose parts are all numbers or ids; ids equal to the ranks are treated as numbers."""
    ranks = all(passage.id == str(passage.rank) for passage in record.contexts or ())
    ids = frozenset() if ranks else frozenset(passage.id for passage in record.contexts or ())
    for found in _BRACKETS.finditer(text):
        cited: list[int | str] = []
        inside = found[1].strip()
        for part in [inside] if passage_id(inside) in ids else re.split(r"\s*[,;]\s*", inside):
            number = _NUMBER.fullmatch(part)
            if (name := passage_id(part)) in ids:
                cited.append(name)
            elif number:
                start, end = int(number[1]), int(number[2] or number[1])
                cited += range(start, end + 1) if start <= end < start + RANGE else [start, end]
            else:
                break
        else:
            yield _Mark(found.start(), found.end(), tuple(cited))


def _places(text: str, spans: Sequence[Span], marks: Sequence[_Mark]) -> Iterator[int]:
    """Yield for each mark the index of the sentence with the last words before it, or 0."""
    starts = [span.start for span in spans]
    place = end = 0
    for mark in marks:
        if between := text[end : mark.start].rstrip():  # else it follows another mark
            place = max(0, bisect_left(starts, end + len(between)) - 1)
        yield place
        end = mark.end


def _sentences(
    record: Record, spans: Sequence[Span], cited: Sequence[Iterable[str]], marks: Sequence[_Mark]
) -> list[CitedSentence]:
    """Return the sentences that contain words, numbered as in the response."""
    passages = {passage.id: passage for passage in record.passages}
    starts = [mark.start for mark in marks]
    found = []
    for number, (span, names) in enumerate(zip(spans, cited, strict=True), 1):
        inside = marks[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
        words = _unmarked(record.response or "", span, inside)
        if any(char.isalnum() for char in words):
            found.append(
                CitedSentence(
                    Unit(f"{record.id}/cited/{number}", "sentence", words, span),
                    tuple(passages[name] for name in names if name in passages),
                    tuple(name for name in names if name not in passages),
                )
            )
    return found


def _unmarked(text: str, span: Span, marks: Sequence[_Mark]) -> str:
    """Return the text of a sentence without the marks that begin in it."""
    at, parts = span.start, []
    for mark in marks:
        if mark.end <= span.end:
            parts.append(text[at : mark.start])
            at = mark.end
    if not parts:
        return text[span.start : span.end]
    return _APART.sub("", " ".join(part.strip() for part in [*parts, text[at : span.end]] if part.strip()))
