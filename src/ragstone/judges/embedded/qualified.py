"""Find statements that leave out what the evidence makes them depend on: a condition, a limit, or somebody's belief."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from ragstone.judges.embedded.alignment import NEARLY, Alignment, Clash, Line
from ragstone.judges.embedded.days import DAY_NAMES
from ragstone.judges.embedded.model import CONTENT
from ragstone.judges.embedded.thesaurus import LANGUAGE, likes, word_set
from ragstone.judges.embedded.words import function_stems

TELLING: Final = 3.0  # minimum weight of a word that tells what a condition is
ALIKE: Final = 0.6  # minimum share of a part of a sentence that the statement repeats
_IF: Final = re.compile(
    r"(?<!even )(?<!as )(?<!see )(?<!check )(?<!ask )(?<!know )"
    r"\b(?:if|unless|provid(?:ed|ing) that|(?:as|so) long as|on condition|only (?:if|when|after|once))\b",
    re.IGNORECASE,
)
_LIMIT: Final = re.compile(r"\b(?:after|before|during|without|until|over|under|above|below|between|outside|within)\b")
_OWN: Final = re.compile(
    r"\b(?:if|unless|provided|providing|(?:as|so) long as|conditions?|when|whenever|once|after|who|with|without"
    r"|depending|eligible|certain|some|might|could)\b",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"[;.]|\s[-\u2013\u2014]\s|,\s(?:but|and|so)\b")
_PERHAPS: Final = frozenset(("maybe", "perhaps", "possibly", "probably"))
_CLOSED: Final = frozenset(("closed", "shut"))
_IS: Final = frozenset(("is", "are", "was", "were"))


def on_closed_day(aligned: Alignment) -> Clash | None:
    """Find "on Saturday and Sunday from 9:00 to 14:00" where the evidence says "closed on Sundays"."""
    opens = not word_set("reached").isdisjoint(aligned.words) or any(
        one.dimension == "clock" for one in aligned.quantities
    )
    if not opens or not _CLOSED.isdisjoint(aligned.words) or any(aligned.negated):
        return None
    for i in aligned.content:
        lines = aligned.having(aligned.stems[i]) if aligned.stems[i] in DAY_NAMES else []
        places = [(line, p) for line in lines for p in line.places[aligned.stems[i]]]
        if places and all(not _CLOSED.isdisjoint(line.words[k] for k in line.inside(p)) for line, p in places):
            return places[0][0].clash("negation", aligned.around(i), places[0][0].around(places[0][1]))
    return None


def unqualified(aligned: Alignment) -> Clash | None:
    """Find "you get a refund" where the evidence says "if you cancel within 14 days, you get a refund"."""
    if aligned.language != LANGUAGE:
        return None
    for line in aligned.carriers(2):
        for first, kind, part in (*_conditions(aligned, line), *_beliefs(aligned, line), *_kinds(aligned, line)):
            if _says(aligned, line, part):
                return line.clash(kind, aligned.around(aligned.content[0]), line.around(first))
    return None


def _conditions(aligned: Alignment, line: Line) -> Iterator[tuple[int, str, Collection[int]]]:
    """Yield the first word of each condition that the statement does not mention, and the rest of the sentence."""
    if _OWN.search(aligned.text):
        return
    general = any(map(aligned.denies, range(len(aligned.tokens)))) or not word_set("universal").isdisjoint(
        aligned.words
    )
    denied = any(map(line.denies, range(len(line.tokens))))
    found = [*_IF.finditer(line.text)]
    if general and denied:
        found += _LIMIT.finditer(line.text)
    light, known = function_stems(LANGUAGE), {*aligned.stems, *aligned.asked}
    for one in found:
        if one.start() and one[0][0].isupper():
            continue  # the heading of another sentence
        start = one.end()
        end = _ENDS.search(line.text, start)
        comma = line.text.find(",", start) if not one.start() else -1
        stop = min(at for at in (comma, end.start() if end else len(line.text), len(line.text)) if at >= 0)
        inside = [p for p, token in enumerate(line.tokens) if start <= token.start < stop]
        stems = {line.tokens[p].stem for p in inside} - light
        told = {stem for stem in stems if aligned.library.weight(stem) >= TELLING}
        if told and all(stem not in known and known.isdisjoint(likes(stem, LANGUAGE)) for stem in told):
            yield inside[0], "condition", {*range(len(line.tokens))}.difference(inside)


def _beliefs(aligned: Alignment, line: Line) -> Iterator[tuple[int, str, Collection[int]]]:
    """Yield each word that calls something a belief or likely, and what is believed."""
    weak = word_set("believing") | _PERHAPS | word_set("unsure") | {"according"}
    if not weak.isdisjoint(aligned.words):
        return
    for p, word in enumerate(line.words):
        if word in _PERHAPS:
            yield p, "doubt", line.inside(p)
        elif word in word_set("believing"):
            passive = line.word(p - 1) in _IS and line.word(p + 1) == "to"
            end = _ENDS.search(line.text, line.tokens[p].end)
            stop = end.start() if end else len(line.text)
            yield (
                p,
                "doubt",
                [k for k, token in enumerate(line.tokens) if k != p and (passive or k > p) and token.start < stop],
            )


def _kinds(aligned: Alignment, line: Line) -> Iterator[tuple[int, str, Collection[int]]]:
    """Yield "full-time" of "all full-time employees" where the statement is about all or just "employees"."""
    universal, known = word_set("universal"), {*aligned.stems, *aligned.asked}
    at = int(aligned.word(0) in universal)
    if at not in aligned.weight or not (at or aligned.words[0].endswith("s")) or any(aligned.negated):
        return
    for p in aligned.found(at, line)[0]:
        first = next((k for k in range(p - 1, max(-1, p - 4), -1) if line.words[k] in universal), p)
        kind = range(first + 1, p)
        if kind and all(
            aligned.library.weight(line.tokens[k].stem) >= CONTENT and line.tokens[k].stem not in known for k in kind
        ):
            yield first, "quantity", {*range(len(line.tokens))}.difference(kind)


def _says(aligned: Alignment, line: Line, part: Collection[int]) -> bool:
    """Return whether a part of a sentence says what the statement says, and little else."""
    own = {p for j in aligned.content for p in aligned.found(j, line)[0] if p in part}
    held = sum(aligned.weight[j] for j in aligned.content if not own.isdisjoint(aligned.found(j, line)[0]))
    if held < NEARLY * aligned.total:
        return False
    told = {p for p in part if aligned.library.weight(line.tokens[p].stem) >= CONTENT}
    return len(own & told) >= ALIKE * len(told)
