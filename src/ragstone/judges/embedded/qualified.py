"""Find statements that leave out what the evidence makes them depend on: a condition, a limit, or somebody's belief."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from ragstone.judges.embedded.alignment import NEARLY, WHOLE, Alignment, Clash, Line
from ragstone.judges.embedded.days import DAY_NAMES
from ragstone.judges.embedded.model import CONTENT
from ragstone.judges.embedded.parsed_statement import COPULAS
from ragstone.judges.embedded.quantities import months
from ragstone.judges.embedded.thesaurus import LANGUAGE, likes, word_set
from ragstone.judges.embedded.words import NUMBER, function_stems

TELLING: Final = 3.0  # minimum weight of a word that tells what a condition is
ALIKE: Final = 0.6  # minimum share of a part of a sentence that the statement repeats
_IF: Final = re.compile(
    r"(?<!even )(?<!as )"
    r"\b(?:if|unless|provid(?:ed|ing) that|(?:as|so) long as|on condition|only (?:if|when|after|once))\b",
    re.IGNORECASE,
)
_WHETHER: Final = re.compile(  # "tested if"
    r"\b(?:ask|assess|check|clear|decid|determin|examin|explor|find out|investigat|know|said|say|see|stud[iy]|sure|tell"
    r"|test|wonder)(?:s|e[ds]?|ing|n)?(?: (?:her|him|me|them|us|you))? $",
    re.IGNORECASE,
)
_IDLE: Final = re.compile(  # "unless otherwise agreed", "if you wish"
    r"\s*(?:otherwise\b|\w+ otherwise\b|anything\b|memory serves\b"
    r"|you (?:don't |do not )?(?:look|want|wish|would like|like|prefer|need)\b"
    r"|you(?:'re| are) (?:not |un)(?:happy|satisfied)\b"
    r"|(?:it is |it's )?(?:applicable|appropriate|desired|necessary|needed|possible|requested|required)\W*$)",
    re.IGNORECASE,
)
_LIMIT: Final = re.compile(r"\b(?:after|before|during|without|until|over|under|above|below|between|outside|within)\b")
_OWN: Final = re.compile(
    r"\b(?:if|unless|provided|providing|(?:as|so) long as|conditions?|when|whenever|once|after|who|with|without"
    r"|depending|eligible|certain|some|might|could|would)\b",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"[;.]|\s[-\u2013\u2014]\s|,\s(?:but|and|so)\b")
_MINDING: Final = frozenset(("of", "about", "in", "highly", "for"))  # "thinks of", "believes in"
_PERHAPS: Final = frozenset(("maybe", "perhaps", "possibly", "probably"))
_PLACING: Final = frozenset(("after", "before", "during", "over", "under", "above", "below"))  # in reports of events
_REPORTING: Final = frozenset(("was", "were", "did", "had"))
_HOURS: Final = frozenset(("morning", "afternoon", "evening", "night"))
_CLOSED: Final = frozenset(("closed", "shut"))
OMISSION: Final = "omission"  # the kind of clash


def on_closed_day(aligned: Alignment) -> Clash | None:
    """Find "on Saturday and Sunday from 9:00 to 14:00" where the evidence says "closed on Sundays"."""
    timed = any(one.dimension == "clock" for one in aligned.quantities)
    opens = timed or not word_set("reached").isdisjoint(aligned.words)
    if not opens or not _CLOSED.isdisjoint(aligned.words) or any(aligned.negated):
        return None
    for i in aligned.content:
        dated = aligned.stems[i] in DAY_NAMES or aligned.words[i] in months()
        lines = aligned.having(aligned.stems[i]) if dated else []
        places = [(line, p) for line in lines for p in line.places[aligned.stems[i]]]
        places = [(line, p) for line, p in places if not _of_another(aligned, line, p)]
        if places and all(_is_closed(line, p) for line, p in places):
            return places[0][0].clash("negation", aligned.around(i), places[0][0].around(places[0][1]))
    return None


def _is_closed(line: Line, p: int) -> bool:
    """Return whether a sentence says that something is closed on a day: "closed on Sundays and in August"."""
    states = (word for word in reversed(line.words[:p]) if word in _CLOSED | word_set("reached"))
    beside = {line.words[k] for k in line.inside(p)}
    return not _CLOSED.isdisjoint(beside) or (beside.isdisjoint(word_set("reached")) and next(states, "") in _CLOSED)


def _of_another(aligned: Alignment, line: Line, p: int) -> bool:
    """Return whether a sentence closes another thing, or for another part of the day: "the *kitchen* is closed"."""
    inside, light = line.inside(p), _CLOSED | word_set("function")
    here, own = {line.tokens[k].stem for k in inside}, {*aligned.stems}
    limited = next((k for k in range(p + 1, inside.stop) if line.words[k] in {"in", "during"}), inside.stop)
    about = [line.tokens[k].stem for k in inside if (k < p or k > limited) and line.words[k] not in light]
    other = any(aligned.library.weight(stem) >= CONTENT for stem in {*about} - own)
    things = [j for j in aligned.content if aligned.words[j] not in word_set("reached")]
    named = {aligned.stems[j] for j in things if aligned.tokens[j].kind != NUMBER} - here
    index = aligned.library.texts[line.passage].index
    return (other and not named.isdisjoint(index)) or (
        line.word(p + 1).removesuffix("s") in _HOURS and line.tokens[p + 1].stem not in own
    )


Omission = tuple[range, Collection[int]]
"""The words of a sentence that a statement may leave out, and those that it then has to repeat."""


def unqualified(aligned: Alignment) -> Clash | None:
    """Find "you get a refund" where the evidence says "if you cancel within 14 days, you get a refund"."""
    if aligned.language != LANGUAGE:
        return None
    clash, carriers = None, aligned.carriers(2)
    for line in aligned.lines if carriers else ():
        found = [*_conditions(aligned, line), *_beliefs(aligned, line), *_kinds(aligned, line)]
        left = next((left for left, rest in found if _says(aligned, line, rest)), None)
        if left and line in carriers and clash is None:
            clash = line.clash(OMISSION, aligned.around(aligned.content[0]), line.quote(left[0], left[-1]))
        if not found and aligned.denial == line.denial and aligned.weight_in(line) >= WHOLE * aligned.total:
            return None  # "a biopsy confirmed that it is benign"
    return clash


def _conditions(aligned: Alignment, line: Line) -> list[Omission]:
    """Return the conditions of a sentence, if the statement mentions none."""
    omissions: list[Omission] = []
    if _OWN.search(aligned.text):
        return omissions
    light, known = function_stems(LANGUAGE), {*aligned.stems, *aligned.asked}
    general = aligned.denial or not word_set("universal").isdisjoint(aligned.words)
    found = [*_IF.finditer(line.text)]
    if general and line.denial:
        past = not _REPORTING.isdisjoint(line.words)
        found += (one for one in _LIMIT.finditer(line.text) if not (past and one[0] in _PLACING))
    for one in found:
        if (one.start() and one[0][0].isupper()) or _WHETHER.search(line.text, 0, one.start()):
            continue  # the heading of another sentence, or a question
        begin = max((part.end() for part in _ENDS.finditer(line.text, 0, one.start())), default=0)
        first = not line.text[begin : one.start()].strip()
        end = _ENDS.search(line.text, one.end())
        stop = end.start() if end else len(line.text)
        rest = [p for p, token in enumerate(line.tokens) if begin <= token.start < (len(line.text) if first else stop)]
        comma = line.text.find(",", one.end(), stop) if first else -1
        stop = stop if comma < 0 else comma
        left = [p for p, token in enumerate(line.tokens) if one.start() <= token.start < stop]
        stems = {line.tokens[p].stem for p in left if line.tokens[p].start >= one.end()} - light
        told = {stem for stem in stems if aligned.library.weight(stem) >= TELLING}
        if any(stem in known or not known.isdisjoint(likes(stem, LANGUAGE)) for stem in told):
            return []  # "a warning if it is old and an error if it is broken"
        if told and not _IDLE.match(line.text, one.end(), stop):
            omissions.append((range(left[0], left[-1] + 1), {*rest}.difference(left)))
    return omissions


def _beliefs(aligned: Alignment, line: Line) -> Iterator[Omission]:
    """Yield the words that call something a belief, or likely."""
    if not (word_set("believing") | _PERHAPS | word_set("unsure") | {"according"}).isdisjoint(aligned.words):
        return
    for p, word in enumerate(line.words):
        if word in _PERHAPS:
            yield range(p, p + 1), line.inside(p)
        elif word in word_set("believing") and line.word(p + 1) not in _MINDING:
            passive = line.word(p - 1) in COPULAS and line.word(p + 1) == "to"
            end = _ENDS.search(line.text, line.tokens[p].end)
            behind = [k for k in range(p + 1, len(line.tokens)) if not end or line.tokens[k].start < end.start()]
            left = range(p - 1, p + 2) if passive else range(line.inside(p).start, p + 1)
            yield left, [*range(p), *behind] if passive else behind


def _kinds(aligned: Alignment, line: Line) -> Iterator[Omission]:
    """Yield "all full-time employees" where the statement is about all or just "employees"."""
    universal, known = word_set("universal"), {*aligned.stems, *aligned.asked}
    at = int(aligned.word(0) in universal)
    if at not in aligned.weight or not (at or aligned.words[0].endswith("s")) or any(aligned.negated):
        return
    for p in aligned.found(at, line)[0]:
        first = next((k for k in range(p - 1, max(-1, p - 4), -1) if line.words[k] in universal), p)
        stems = [token.stem for token in line.tokens[first + 1 : p] if token.kind != NUMBER]
        if stems and known.isdisjoint(stems) and min(map(aligned.library.weight, stems)) >= CONTENT:
            yield range(first, p + 1), {*range(len(line.tokens))}.difference(range(first + 1, p))


def _says(aligned: Alignment, line: Line, part: Collection[int]) -> bool:
    """Return whether a part of a sentence says what the statement says, and little else."""
    own = {p for j in aligned.content for p in aligned.found(j, line)[0] if p in part}
    held = sum(aligned.weight[j] for j in aligned.content if not own.isdisjoint(aligned.found(j, line)[0]))
    if held < NEARLY * aligned.total:
        return False
    told = {p for p in part if aligned.library.weight(line.tokens[p].stem) >= CONTENT}
    return len(own & told) >= ALIKE * len(told)
