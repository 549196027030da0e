"""Find labels that a reply takes back or contradicts in the sentences after them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ragstone.parsing.label_rows import ORDINALS
from ragstone.parsing.label_words import BACK, DENIED, OPEN, Words

LONGEST: Final = 400
"""Maximum number of characters of a sentence that are read."""
NEAREST: Final = 100
"""Maximum number of sentences that are read at the beginning of the text, and as many at its end."""
_SENTENCE: Final = re.compile(r"(?<=[^\d\s][.!?;\u2026])\s+|(?<=[\u3002\uff01\uff1f\uff1b])|\n+")
"""Matches the gap between sentences; there is none after the number of an entry."""
_OPENING: Final = re.compile(rf"(?:[\W\d_]*+[^\W\d_][\w'\u2019-]*+){{0,3}}?[\W\d_]*+{BACK.pattern}", re.IGNORECASE)
"""Matches the beginning of a sentence that announces a correction."""
_DISOWNED: Final = re.compile(
    r"\b(?:disregard|ignore (?:the|my) (?:labels|answer|above)|i made a mistake|scratch that|not certain which|"
    r"i take back|i meant|on second thoughts?|let me (?:correct|revise|change)|"
    r"(?:these|those|labels) (?:are|were) (?:wrong|incorrect)|mislabel\w*|wrongly label\w*)\b",
    re.IGNORECASE,
)
"""Matches words that take labels back without naming others."""
_UNIT: Final = re.compile(
    r"(?:\b(?!(?:and|of|only|other|remaining|и|und)\b)[^\W\d_]{1,14}[\s_#\u2116]{0,3}|(?P<bare>\A\W*|\n\W*|[\"']))"
    r"(?P<numbers>[0-9]{1,4}(?:(?:\s*(?:,|&|and|и|und)\s*[0-9]{1,4})+|(?!\s+(?:are|were)\b)))"
    r"(?![A-Za-z0-9%]|[.,][0-9])(?(bare)(?=\s*(?:[^\w\s]|is\b|should\b|to\b|ist\b|\u662f)))|"
    r"\b(?P<rank>first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)\s+"
    r"(?:one|label|nugget|statement|claim|fact|passage|(?=is|was|should))\b",
    re.IGNORECASE,
)
"""Matches the name of a unit: ``nugget 2``, ``Claims 1 and 3``, ``2:`` at the beginning, ``the second one``."""
_LINKS: Final = re.compile(
    r"(?:[^\w.,!?=<>]*(?:\b(?:is|are|was|were|be|been|to|as|should|must|have been|now|not|isn['\u2019]t|it|"
    r"it['\u2019]s|this|that|they|both|all|my|the|a|labels?|verdict|answer|nugget|statement|claim|fact|passage|actually|"
    r"instead|rather|really|(?:only|just)(?=\s+part)|fully|entirely|explicitly|clearly|ist|это)\b|\u662f))*"
    r"[^\w.,!?=<>]*",
    re.IGNORECASE,
)
"""Matches words between the name of a unit and its label."""


def taken_back(text: str, labels: Mapping[int, str | None], words: Words) -> set[int]:
    """Return the numbers of units whose label the text after ``labels`` takes back or contradicts.

    A sentence that agrees changes nothing. In doubt, a label is taken back, and its unit is asked about again.
    """
    sentences = _SENTENCE.split(re.sub("[*`]+", "", text))
    some = sentences if len(sentences) <= 2 * NEAREST else sentences[:NEAREST] + sentences[-NEAREST:]
    return {number for sentence in some for number in _denied(sentence[:LONGEST], labels, words)}


def _denied(sentence: str, labels: Mapping[int, str | None], words: Words) -> set[int]:
    opening, disowned = _OPENING.match(sentence), _DISOWNED.search(sentence)
    if not (opening or disowned) and OPEN.search(sentence):
        return set()
    sentence = BACK.sub("\n", sentence, count=1) if opening else sentence
    every, named = set(labels), set[int]()
    said: list[tuple[set[int], str, bool]] = []
    for match in _UNIT.finditer(sentence):
        units = every & set(map(int, re.findall("[0-9]+", match["numbers"] or "")))
        if rank := match["rank"]:
            units = set(list(labels)[ORDINALS[rank.casefold()] - 1 :][:1])
        named |= units
        said += [(units, *label) for label in _stated(sentence[match.end() :][:80], words)]
    if not named and (opening or len(labels) == 1):
        said += [(every, *label) for label in _stated(sentence, words)]
    if not said and (opening or disowned):
        named = named or (every if disowned or len(labels) == 1 else named)
        found = words.in_order(sentence)
        said = [(named, label, DENIED.search(sentence, 0, start) is not None) for start, _, label in found]
        if not said and disowned:
            return named
    wrong = [(units, {n for n in units if labels[n] and (labels[n] == label) == no}) for units, label, no in said]
    # Of a label of all units together, it is unclear which one it is of.
    return {number for units, some in wrong for number in (every if some and units == every else some)}


def _stated(text: str, words: Words) -> list[tuple[str, bool]]:
    """Return the label at the beginning of a text, after words such as "is", and whether it is negated or weakened."""
    for start, end, label in words.in_order(text)[:1]:
        if _LINKS.fullmatch(text, 0, start):
            return [(label, bool(DENIED.search(text, 0, start)) or words.hedged(label, text, end))]
    lead = _LINKS.match(text)
    at = lead.end() if lead else 0
    return [(label, bool(DENIED.search(text, 0, at))) for label in [words.first(text[at:])] if label is not None]
