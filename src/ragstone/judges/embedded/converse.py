"""Compare who gives and who gets in sentences with converse verbs: "A sold it to B", "B bought it from A"."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from ragstone.judges.embedded.alignment import Alignment, Clash
from ragstone.judges.embedded.parsed_statement import ParsedStatement
from ragstone.judges.embedded.thesaurus import LANGUAGE, slot_lists, word_set
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import NAME, NUMBER, WORD, function_stems, pronouns

_BE: Final = frozenset(("is", "are", "was", "were", "be", "been", "being"))
_PARTICIPLES: Final = frozenset(("given", "beaten"))
_OTHERS: Final = frozenset(("you", "we", "i", "him", "them", "us", "me", "who", "which"))
_ANYONE: Final = _OTHERS | (pronouns(LANGUAGE) - word_set("articles"))
_NOBODY: Final = frozenset[str]()


class Dealing(NamedTuple):
    """A converse verb: its place, the group of verbs, and the stems of who gives (or is first) and who gets."""

    at: int
    group: int
    gives: frozenset[str]
    gets: frozenset[str]


@lru_cache(maxsize=1)
def _converses() -> dict[str, tuple[int, bool]]:
    """Return the group of each converse verb, and whether its subject is the one who gives."""
    sides = ((n, group.split(" / ")) for n, group in enumerate(slot_lists()["converses"]))
    return {word: (n, not k) for n, both in sides for k, words in enumerate(both) for word in words.split()}


def converse(aligned: Alignment) -> Clash | None:
    """Find "the nurse got a leaflet from the patient" where the evidence says "the nurse gave the patient a leaflet".

    Where the roles agree, the verb is added to ``aligned.same_roles``.
    """
    dealings = _dealings(aligned) if aligned.language == LANGUAGE and not any(aligned.negated) else ()
    own = next((one for one in dealings if one.gives and one.gets), None)
    clash: Clash | None = None
    for line in aligned.carriers(3) if own else ():
        for one in _dealings(line):
            if own is None or one.group != own.group or line.negated[one.at]:
                continue
            if one.gives and one.gets and _match(one, own.gives, own.gets):
                aligned.same_roles.add(own.at)
                return None
            if clash is None and _match(one, own.gets, own.gives):
                clash = line.clash("role", aligned.around(own.at), line.around(one.at))
    return clash


def _match(one: Dealing, gives: frozenset[str], gets: frozenset[str]) -> bool:
    """Return whether someone gives and gets as said; one of them may be unknown ("sold it to *him*")."""
    pairs = [(mine, theirs) for mine, theirs in ((one.gives, gives), (one.gets, gets)) if mine]
    return bool(pairs) and not any(mine.isdisjoint(theirs) for mine, theirs in pairs)


def _dealings(side: ParsedStatement) -> Iterator[Dealing]:
    """Yield the converse verbs of a sentence."""
    for k, word in enumerate(side.words):
        if word not in _converses() or side.tokens[k].kind != WORD or side.word(k - 1) in verbs("determiners"):
            continue
        group, giving = _converses()[word]
        inside = side.inside(k)
        being = next((i for i in range(k - 1, inside.start - 1, -1) if side.words[i] in _BE), k)
        light = verbs("auxiliaries adverbs") | _BE
        passive = light.issuperset(side.words[being:k]) and being < k and not word.endswith("ing")
        if word in _PARTICIPLES and not passive:
            continue  # "Drogba given an award"
        subject = _phrase(side, range(being - 1, inside.start - 1, -1))
        after: dict[str, frozenset[str]] = {}
        for i in range(k + 1, inside.stop):
            if side.words[i] in word_set("dealt") and side.word(i + 1) not in verbs("base"):
                after.setdefault(side.words[i], _phrase(side, range(i + 1, inside.stop)))
        if "from" in after and "to" not in after:
            giving = False  # "leased from"
        direct = _phrase(side, range(k + 1, inside.stop))
        source = next((after[one] for one in ("from", "against", "for") if one in after), None)
        if passive:
            by = after.get("by", _NOBODY)
            gives, gets = (by, after.get("to", subject)) if giving else (source or subject, by)
        elif giving:
            gives, gets = subject, after.get("to", direct)
        else:
            first = word in word_set("following")
            gives, gets = direct if first else source or after.get("to", _NOBODY), subject
        yield Dealing(k, group, gives - gets, gets - gives)


def _phrase(side: ParsedStatement, places: range) -> frozenset[str]:
    """Return the stems of the first noun phrase in a direction; none for a pronoun."""
    found: list[str] = []
    light = verbs("determiners auxiliaries adverbs") | word_set("articles")
    for i in places:
        token, word = side.tokens[i], side.words[i]
        if word in word_set("prepositions") or (not found and word in _ANYONE):
            break
        means = token.kind == NAME or (token.stem not in function_stems(LANGUAGE) and word not in light)
        if means and token.kind != NUMBER:
            found.append(token.stem)
        elif found:
            break
    return frozenset(found)
