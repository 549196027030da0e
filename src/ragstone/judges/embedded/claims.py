"""Turn sentences into self-contained claims.

A claim is a sentence without its list marker, citations and lead-in. A list item without a verb is appended to the
line that introduces it, and each table cell to the heading of its column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from ragstone.judges.embedded.abstaining import abstains, leads
from ragstone.judges.embedded.stated import MARK, stated, triviality
from ragstone.judges.embedded.tables import tables_of
from ragstone.judges.embedded.verbs import LANGUAGE, finite, imperative, is_auxiliary, listed, plain, purposeful
from ragstone.segment import language_of
from ragstone.types import Span

_HEADING: Final = re.compile(r"\s*#{1,6}\s+")
_LINK: Final = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_CITATIONS: Final = re.compile(r"\s?(?:\[[^\[\]\n]{1,24}\]|\u3010[^\u3011\n]{1,40}\u3011)")
_EMPHASIS: Final = re.compile(r"\*\*|__|`")
_REASON: Final = re.compile(r",?\s(?:since|because|as|so|but|if|when|while)\s")
_ITEM: Final = 12  # maximum words of an item, up to its reason or condition, that may need its introduction
_INTRODUCTION: Final = 240  # maximum characters of a line that is prepended to its list items
_HEADED: Final = 80  # characters of a column heading that are prepended to its cells
_BEFORE: Final = 2000  # characters of preceding text searched for a line that introduces the first items


class Claim(NamedTuple):
    """The text of a claim and the index of its sentence."""

    text: str
    sentence: int


def write(texts: Sequence[str], before: str = "") -> list[Claim]:
    """Return the claims of consecutive sentences, in order; trivial sentences yield none.

    ``before`` is the text before them; its last line may introduce the first list items.
    """
    said = in_full(texts, language_of(" ".join(texts)), before[-_BEFORE:].rstrip().rpartition("\n")[2])
    return [Claim(text, number) for number, text in enumerate(said) if text]


def in_full(texts: Sequence[str], language: str, before: str = "") -> list[str]:
    """Return the assertion of each of consecutive sentences, read in context; empty if there is none.

    List markers, citations and lead-ins are removed. A list item without a verb is appended to its introduction, which
    then asserts nothing itself. Table cells are appended to their column headings.
    """
    found: list[str] = []
    introduction, carrier = _introduction(before) if language == LANGUAGE else "", -1
    rows = _rows(texts)
    for number, text in enumerate(texts):
        if number in rows:
            found.append(rows[number])
            continue
        bare = "" if triviality(text, language) else asserted(text, language)
        if introduction and MARK.match(text):
            item = clean(text)
            verbless = bare != "" and _verbless(item)
            if verbless:
                bare = f"{introduction} {item}"
            if carrier >= 0 and (verbless or _ends_open(introduction)):
                found[carrier] = ""
        else:
            introduction = _introduction(text) if language == LANGUAGE else ""
            carrier = number
        found.append(bare)
    return found


def asserted(text: str, language: str) -> str:
    """Return a sentence on one line without list marker, citations and lead-in; abstentions keep their lead-in."""
    bare = clean(text) or text.strip()
    if abstains(bare, language):
        return bare
    said = stated(bare, language).strip()
    return bare if said == bare else said[:1].upper() + said[1:]


def clean(text: str) -> str:
    """Return the sentence on one line without list marker, emphasis, citation markers and link targets."""
    marker = MARK.match(text) or _HEADING.match(text)
    bare = text[marker.end() :] if marker else text
    return " ".join(_EMPHASIS.sub("", _CITATIONS.sub("", _LINK.sub(r"\1", bare))).split())


def _introduction(text: str) -> str:
    """Return a line that list items can complete: it ends with a colon and has a verb. Empty for other lines."""
    bare = asserted(text, LANGUAGE) if text.endswith((":", ":**")) and len(text) <= _INTRODUCTION else ""
    words = bare.removesuffix(":").split()
    if not words or not {"steps", "instructions", "procedure"}.isdisjoint(words) or leads(bare, LANGUAGE):
        return ""
    return bare if _acts([*words, "it"]) else ""


def _ends_open(introduction: str) -> bool:
    """Return whether an introduction asserts something only through its items: "A cargo bike may carry:"."""
    words = introduction.removesuffix(":").split() or [""]
    last = len(words) - 1
    ruled = plain(words[-1]) in listed("base") and is_auxiliary(plain(words[last - 1]))
    return ruled or plain(words[-1]) in listed("prepositions") or list(finite([*words, "it"])) == [last]


def _verbless(item: str) -> bool:
    main = _REASON.split(item, maxsplit=1)[0]
    words = main.split()
    if not 0 < len(words) <= _ITEM or ":" in item or any(_acts(piece.split()) for piece in (main, *main.split(", "))):
        return False
    return not (item.endswith(".") and any(plain(word) in listed("base third past") for word in words[1:]))


def _acts(words: list[str]) -> bool:
    return bool(finite(words)) or imperative(words) or purposeful(words)


def _rows(texts: Sequence[str]) -> dict[int, str]:
    """Return the statements of table rows by index, such as ``Region: Europe, 2023: 453``; empty for headings."""
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    number = {start: n for n, start in enumerate(starts)}
    whole = "\n".join(texts)
    found: dict[int, str] = {}
    spans = [Span(at, at + len(text)) for at, text in zip(starts, texts, strict=False)]
    for table in tables_of(whole, spans) if "|" in whole else ():
        if table.kind != "|":
            continue
        found.update(dict.fromkeys(range(number[table.start], number[table.rows[-1].start] + 1), ""))
        for row in table.rows:
            cells = [(clean(cell.column_heading)[:_HEADED], clean(cell.text)) for cell in table.cells(whole, row)]
            if any(char.isalnum() for _, cell in cells for char in cell):
                found[number[row.start]] = ", ".join(f"{head}: {cell}" if head else cell for head, cell in cells)
    return found
