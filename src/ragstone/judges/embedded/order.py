"""Find two parts of a statement that the evidence has in each other's place.

"Water flows from the *lower* into the *upper* basin" has every word of "from the upper into the lower basin". No
grammar is needed to see that: in the order of the evidence, the statement's content words are the same sequence but for
two parts, and each has the prepositions that the other one has there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final, NamedTuple

from ragstone.judges.embedded.alignment import Alignment, Clash, Line
from ragstone.judges.embedded.contrasts import opposed
from ragstone.judges.embedded.parsed_statement import ParsedStatement
from ragstone.judges.embedded.thesaurus import LANGUAGE, likes, word_set
from ragstone.judges.embedded.verbs import finite
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import NUMBER, WORD, function_stems, listed_words, pronouns

LINES: Final = 2  # evidence sentences that are compared
SHARE: Final = 0.75  # minimum share of the statement's content words in the sentence
LACKED: Final = 2  # maximum content words within the compared part of the sentence that the statement lacks
PLAIN: Final = 12  # maximum content words of a statement whose prepositions are compared
NEAR: Final = 2  # words around the places of other words within which a repeated word is searched
LANGUAGES: Final = frozenset(("en", "de", "fr", "es", "it", "pt"))
"""Languages in which the order of words shows their roles."""

_BEING: Final = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_MARKS: Final = frozenset(",;:")


class _Parts(NamedTuple):
    """The first and last words of two parts of a sequence that are exchanged."""

    first: int
    end: int
    second: int
    last: int


class _Words:
    """The content words of a sentence, by index, and the function words before each of them."""

    def __init__(self, side: ParsedStatement, places: Sequence[int], language: str) -> None:
        self.side, self.places, self.language = side, places, language

    def before(self, k: int) -> list[str]:
        """Return the function words before a content word, without articles; before the first one only the last."""
        side, found = self.side, list[str]()
        for i in range(self.places[k] - 1, self.places[k - 1] if k else -1, -1):
            if _is_light(side, i, self.language):
                passive = side.words[i] in _BEING and side.words[self.places[k]] in verbs("past")
                found += [side.words[i]] if passive or side.words[i] not in _empty(self.language) else []
            elif not k:
                break
        return found if k else found[:1]


def transposed(aligned: Alignment) -> Clash | None:
    """Find two parts that the evidence has in each other's place, unless another sentence has the statement's order."""
    if aligned.language not in LANGUAGES:
        return None
    dates = {k for one in aligned.quantities if one.dimension == "date" for k in range(one.at, one.last + 1)}
    own = [i for i in range(len(aligned.tokens)) if i not in dates and not _is_light(aligned, i, aligned.language)]
    clash: Clash | None = None
    for line in aligned.lines[:LINES]:
        found = _read(aligned, own, line)
        if found is True:
            return None
        clash = clash or (found if isinstance(found, Clash) else None)
    others = aligned.lines[LINES:] if clash else ()
    return None if any(_read(aligned, own, line) is True for line in others) else clash


def _read(aligned: Alignment, own: Sequence[int], line: Line) -> Clash | bool:
    """Return the clash with a sentence, or whether it has the statement's words in the same order."""
    lost = [i for i in own if not aligned.found(i, line)[0]]
    if opposed(aligned, line, lost):
        return False
    pairs = _placed(aligned, own, line)
    found = len(pairs) >= max(2, SHARE * len(own)) and _compared(aligned, line, pairs)
    return found or (len(own) <= PLAIN and len(lost) < 2 and _redirected(aligned, line))


def _compared(aligned: Alignment, line: Line, pairs: Sequence[tuple[int, int]], *, whole: bool = True) -> Clash | bool:
    """Return the clash with a sentence at the places of the statement's words, or whether their order is the same.

    ``whole``: whether a part at the other end of the sentence ("In 1920 ...") may be left out.
    """
    language = aligned.language
    theirs = _Words(line, sorted(place for _, place in pairs), language)
    mine = _Words(aligned, [i for i, _ in pairs], language)
    order = [theirs.places.index(place) for _, place in pairs]
    parts = _exchanged(order)
    if parts is None:
        moved = _moved(order) if whole else range(0)
        if not moved or len(moved) == len(order) or mine.before(moved[0])[:1] != theirs.before(order[moved[0]])[:1]:
            return order == sorted(order)
        return _compared(aligned, line, [pair for k, pair in enumerate(pairs) if k not in moved], whole=False)
    first, end, second, last = parts
    fronted = not first and second - end == 2 and mine.places[end + 1] == mine.places[end] + 1
    sides = ((aligned, mine.places), (line, [theirs.places[p] for p in order]))
    ends = [side.text[side.tokens[places[k]].start] for side, places in sides for k in (end, last)]
    if language == "de" and fronted and any(map(str.islower, ends)):
        return False  # "montags öffnet das Museum", "das Museum öffnet montags": one of the two is no noun
    swapped = [k for k in range(first, last + 1) if not end < k < second]
    if any(aligned.stems[mine.places[k]] not in line.places for k in swapped):
        return False
    inside = range(theirs.places[first], theirs.places[last])
    if sum(not _is_light(line, p, language) for p in inside) - (last - first) > LACKED:
        return False
    places = {first: first, second: last - (end - first)}  # each part where the evidence has the other one
    starts = [(k, places.get(k, order[k])) for k in range(first, min(last + 2, len(order)))]
    if any(mine.before(k) != theirs.before(p) for k, p in starts) or not _tells(aligned, mine, parts):
        return False
    says, has = ((side.places[first], side.places[last]) for side in (mine, theirs))
    return line.clash("order", _phrase(aligned, *says), _phrase(line, *has))


def _phrase(side: ParsedStatement, first: int, last: int) -> str:
    """Return a quote from the start of one phrase to the end of another: "*the* lower into the upper *basin*"."""
    inside = side.inside(first)
    while first > inside.start and side.words[first - 1] in word_set("articles") | word_set("prepositions"):
        first -= 1
    behind = range(last + 1, side.inside(last).stop)
    return side.quote(first, next((k - 1 for k in behind if _is_light(side, k, LANGUAGE)), max(last, behind.stop - 1)))


def _redirected(aligned: Alignment, line: Line) -> Clash | bool:
    """Find "the yolks are whisked into *the oil*" where the evidence has "whisk the oil into *the yolks*"."""
    if aligned.language != LANGUAGE:
        return False
    mine, theirs = (_objects(side) for side in (aligned, line))
    for word in mine.keys() & theirs.keys():
        says, has = ({side.tokens[i].stem for i in of[word]} for side, of in ((aligned, mine), (line, theirs)))
        strange, left = says - has, has - says
        if strange and left and strange <= line.places.keys() and left <= {*aligned.stems}:
            one, other = ((of[word].start - 1, of[word].stop - 1) for of in (mine, theirs))
            return line.clash("order", aligned.quote(*one), line.quote(*other))
    return False


def _objects(side: ParsedStatement) -> dict[str, range]:
    """Return the words after each preposition of direction or time that has one object."""
    found: dict[str, range] = {}
    every = [i for i, word in enumerate(side.words) if word in word_set("directions")]
    for i in every:
        behind = range(i + 1, len(side.words))
        first = next((k for k in behind if side.words[k] not in word_set("articles")), i)
        end = next((k for k in behind[first - i :] if _is_light(side, k, LANGUAGE) or side.breaks(k)), len(side.words))
        verb = side.words[i] == "to" and first == i + 1 and side.tokens[first].kind == WORD  # "to select"
        alone = [side.words[k] for k in every].count(side.words[i]) == 1 and side.word(end) not in word_set("joins")
        alone = alone and word_set("reciprocal").isdisjoint(side.words[max(0, i - 2) : i])
        alone = alone and not side.word(end - 1).endswith("ly") and (end == len(side.words) or not side.breaks(end))
        if alone and not verb and first > i and not _is_light(side, first, LANGUAGE):
            found[side.words[i]] = range(first, end)
    return found


def _placed(aligned: Alignment, own: Sequence[int], line: Line) -> list[tuple[int, int]]:
    """Return the statement's content words with their places in a sentence that has each as often as the statement.

    A word that is also elsewhere in the sentence only counts where the others are.
    """
    words: dict[str, list[int]] = {}
    for i in own:
        if aligned.found(i, line)[0]:
            words.setdefault(aligned.stems[i], []).append(i)
    spots = {stem: sorted(aligned.found(at[0], line)[0]) for stem, at in words.items()}
    sure = [p for stem, at in words.items() if len(spots[stem]) == len(at) for p in spots[stem]]
    low, high = min(sure, default=0) - NEAR, max(sure, default=0) + NEAR
    pairs: list[tuple[int, int]] = []
    for stem, at in words.items():
        near = [p for p in spots[stem] if len(spots[stem]) == len(at) or low <= p <= high]
        if len(near) == len(at):
            pairs.extend(zip(at, near, strict=True))
    return sorted(pairs) if len({p for _, p in pairs}) == len(pairs) else []


def _exchanged(order: Sequence[int]) -> _Parts | None:
    """Return the two parts whose exchange would sort a sequence of the numbers from 0."""
    wrong = [k for k, rank in enumerate(order) if rank != k]
    if not wrong:
        return None
    first, last = wrong[0], wrong[-1]
    ends = [k for k, (one, other) in enumerate(pairwise(order)) if first <= k < last and other != one + 1]
    if not 1 <= len(ends) <= 2 or order[ends[0]] != last or order[ends[-1] + 1] != first:
        return None
    return _Parts(first, ends[0], ends[-1] + 1, last)


def _moved(order: Sequence[int]) -> range:
    """Return the part at one end of a sequence of numbers from 0 that belongs to the other: "In 1920 ..."."""
    ends = [k + 1 for k, (one, other) in enumerate(pairwise(order)) if other != one + 1]
    if not ends:
        return range(0)
    if order[ends[-1]] == 0:
        return range(ends[-1], len(order))
    return range(ends[0] if order[ends[0] - 1] == len(order) - 1 else 0)


def _tells(aligned: Alignment, mine: _Words, parts: _Parts) -> bool:
    """Return whether the exchange of two parts changes what is said: not in lists, or around "is" and "with"."""
    first, end, second, last = parts
    one, other = ([aligned.tokens[i] for i in mine.places[a : b + 1]] for a, b in ((first, end), (second, last)))
    if (one[0].kind == NUMBER) != (other[0].kind == NUMBER):
        return False  # "in 1920 in Oslo"
    if len(one) == len(other) == 1 and other[0].stem in likes(one[0].stem, aligned.language):
        return False
    middle = [aligned.stems[i] for i in mine.places[end + 1 : second]]
    between = range(mine.places[end] + 1, mine.places[second])
    words, marks = {aligned.words[k] for k in between}, aligned.text[one[-1].end : other[0].start]
    if words <= listed_words("copulas", aligned.language) | word_set("articles") or (not middle and "with" in words):
        return False
    if "(" in marks or not word_set("reciprocal").isdisjoint(words):
        return False
    joins = word_set("joins")
    links = set(chain.from_iterable(map(mine.before, range(end + 1, second + 1)))) - joins
    if joins & words or not _MARKS.isdisjoint(marks):
        acts = finite([aligned.text[token.start : token.end] for token in aligned.tokens])
        behind = [aligned.stems[i] for i in mine.places[last + 1 :][: len(middle)]]
        if (not links and set(acts).isdisjoint(between)) or middle == behind:
            return False  # "Ann, Ben and Carl"
    return bool(middle) or (not links <= {"of"} and mine.before(first)[:1] != mine.before(second)[:1])


@lru_cache(maxsize=8)
def _empty(language: str) -> frozenset[str]:
    """Return the function words that tell nothing of a role: articles, "and", "is", "has"."""
    return word_set("articles") | word_set("joins") | listed_words("copulas", language) | verbs("auxiliaries")


def _is_light(side: ParsedStatement, i: int, language: str) -> bool:
    """Return whether a word is a function word."""
    token = side.tokens[i]
    light = side.words[i] in _function_words(language) or token.stem in function_stems(language)
    return light and token.kind != NUMBER


@lru_cache(maxsize=8)
def _function_words(language: str) -> frozenset[str]:
    return word_set("function") | word_set("prepositions") | pronouns(language)
