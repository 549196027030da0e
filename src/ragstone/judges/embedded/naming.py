"""Find names that occur in no passage, and recognise spelling variants of names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Final

from ragstone.judges.embedded.alignment import Alignment, Clash, Line
from ragstone.judges.embedded.thesaurus import LANGUAGE, common, listed, slot_lists, word_set
from ragstone.judges.embedded.verbs import listed as verbs
from ragstone.judges.embedded.words import NAME, TITLES, pronouns, stem_of

RARE: Final = 4.0  # minimum weight of a name's last word for checking whether the name is mixed from others
BEGUN: Final = 5  # common first letters of related words: "autophagy", "autophagic"
SHORTENED: Final = 3  # common first letters of a first name and its short form
BESIDE: Final = 2  # how many of the two words on each side of a name must also surround its counterpart
SPELLED: Final = 0.9  # minimum similarity of two spellings of one name
ARTICLES: Final = frozenset(("the", "a", "an"))


def names(aligned: Alignment) -> Clash | None:
    """Find the longest name that occurs in no passage."""
    own = (
        run
        for run in map(aligned.from_start, aligned.names)
        if not aligned.asked.issuperset(aligned.stems[run[0] : run[1] + 1])
    )
    found = [clash for run in own if (clash := _name(aligned, *run)) is not None]
    return max(found, key=lambda one: len(one.says), default=None)


def _name(aligned: Alignment, first: int, last: int) -> Clash | None:
    stems, says = aligned.stems, aligned.quote(first, last)
    strange = [i for i in range(first, last + 1) if i not in aligned.agreed and not aligned.is_known(stems[i])]
    if any(i > first or _proper(aligned, i) for i in strange):
        known = [(line, p) for line in aligned.having(stems[last]) for p in line.places.get(stems[last], ())]
        if any(line.tokens[p].kind == NAME for line, p in known) and not (
            aligned.language == LANGUAGE and common(stems[last])
        ):
            # "Maria Lund" matches "Lund" or "M. Lund", but not "Anna Lund"; "Harwell Stadium" is not "Foxby Stadium"
            return _namesake(aligned, strange, last, says)
        spoken = not pronouns(aligned.language).isdisjoint(aligned.lines[0].words)
        spoken = spoken and not {aligned.word(first - 1)}.intersection(TITLES, aligned.lines[0].words)  # "Dr. Kim"
        spoken = spoken and not (last in strange and len(strange) <= last - first)  # "Nicola Ferri", not "Nicola Ferro"
        # The best sentence may refer to it by a pronoun.
        return None if first <= 1 and spoken else _like_name(aligned, first, last)
    if strange or aligned.library.weight(stems[last]) < RARE:
        return None
    return Clash("name", says) if _mixed(aligned, stems[first : last + 1]) else None


def _namesake(aligned: Alignment, strange: Sequence[int], last: int, says: str) -> Clash | None:
    """Find a namesake, if every occurrence of the family name has another first name: "Anna Lund", "Ben Lund"."""
    found: Clash | None = None
    for line in aligned.having(aligned.stems[last]):
        for run in line.names:
            if line.tokens[run[1]].stem == aligned.stems[last]:
                first = 0 if run[0] == 1 and line.text[line.tokens[0].start].isupper() else run[0]
                given = [line.words[k] for k in range(first, run[1]) if line.words[k] not in {*TITLES, *ARTICLES}]
                pairs = ((one, aligned.words[i]) for one in given for i in strange)  # "J" or "Joe" for "Joseph"
                if not given or any(a.startswith(b[:SHORTENED]) or b.startswith(a[:SHORTENED]) for a, b in pairs):
                    return None
                found = found or line.clash("name", says, line.quote(*run))
    return found


def _like_name(aligned: Alignment, first: int, last: int) -> Clash:
    """Return the clash of an unknown name with the nearest name that shares a word: "Ana Keller", "Ana Feller".

    Otherwise, use a name that is surrounded by the same words.
    """
    own, says = set(aligned.stems[first : last + 1]), aligned.quote(first, last)
    places = [(line, run) for line in aligned.lines[:2] for run in line.names]
    for line, run in places:
        shared = own & {token.stem for token in line.tokens[run[0] : run[1] + 1]}
        if run[0] < run[1] and shared and not all(map(common, shared)):
            return line.clash("name", says, line.quote(*run))
    for line, (a, b) in places:
        pairs = [(aligned.word(first - k), line.word(a - k)) for k in (1, 2)]
        pairs += [(aligned.word(last + k), line.word(b + k)) for k in (1, 2)]
        strange = aligned.weights.keys().isdisjoint(token.stem for token in line.tokens[a : b + 1])
        if strange and aligned.carries(line) and sum(one == other != "" for one, other in pairs) >= BESIDE:
            return line.clash("name", says, line.quote(a, b))
    return Clash("name", says)


def _proper(aligned: Alignment, i: int) -> bool:
    """Return whether an unknown capitalised word is a name: not a common word, nor a form of a word in the evidence."""
    token = aligned.tokens[i]
    raw = aligned.text[token.start : token.end]
    groups = peoples()
    common = aligned.language == LANGUAGE and listed(token.stem) and token.stem not in groups
    short = (raw.isupper() and aligned.text[token.start - 1 : token.start] == "(") or (raw.islower() and "." in raw)
    if len(raw) < 2 or common or short or set(raw) <= set("IVX"):
        return False  # "(EU)", "e.g.", "IV"
    alone = i == 0 and (len(aligned.tokens) < 2 or aligned.tokens[1].kind != NAME)
    if alone and not any(c.isdigit() or c.isupper() for c in raw[1:]) and not _begins(aligned):
        return False
    group = groups.get(token.stem)
    return group is None or not any(aligned.library.has(stem) for stem, own in groups.items() if own == group)


def _begins(aligned: Alignment) -> bool:
    """Return whether the first word, which is in no dictionary, is the name of an agent: "*Capcom* acquired ..."."""
    word = aligned.words[0]
    k = next((k for k in range(1, len(aligned.words)) if aligned.words[k] not in word_set("light")), 0)
    done = aligned.words[k] in verbs("sure third past auxiliaries") | {"to"}
    formed = word.endswith(("s", "ing", "ly", "ed")) or aligned.between(1) != " "
    if aligned.language != LANGUAGE or not done or formed:
        return False
    there = {token.stem for line in aligned.lines for token in line.tokens}
    return not any(stem[:BEGUN] == word[:BEGUN] or spelled_alike(stem, aligned.stems[0]) for stem in there)


@lru_cache(maxsize=1)
def peoples() -> dict[str, int]:
    """Return the group number of each country and people, by stem."""
    groups = slot_lists()["peoples"].split()
    return {stem_of(word, "en"): number for number, group in enumerate(groups) for word in group.split("=")}


def _mixed(aligned: Alignment, own: Sequence[str]) -> bool:
    """Return whether only part of a name occurs in the evidence, as part of another name."""
    every = set(own)
    for one, other in pairwise(own):
        lines = dict.fromkeys(line for stem in (one, other) for line in aligned.having(stem))
        spots = ((a, b) for line in lines for a in line.places.get(one, ()) for b in line.places.get(other, ()))
        if any(abs(a - b) <= 2 for a, b in spots):
            continue
        runs = ({token.stem for token in line.tokens[a : b + 1]} for line in lines for a, b in line.names)
        if any((one in stems) != (other in stems) and not stems <= every for stems in runs):
            return True
    return False


def spelled_alike(one: str, other: str) -> bool:
    """Return whether two names are spelling variants: "haemophilia", "hemophilia"."""
    return len(one) > 4 and one[0] == other[:1] and SequenceMatcher(None, one, other).ratio() >= SPELLED


# ---- scripts without capitals, where a name looks like any word

UNSPACED: Final = frozenset(("zh", "ja", "th", "km", "lo", "my"))
UNCASED: Final = UNSPACED | {"ko", "ar", "fa", "he", "hi"}
VERB_LAST: Final = frozenset(("ja", "ko", "fa", "hi"))  # sentences end with a verb, which has many forms
SHORT: Final = 80  # maximum characters, or words, of a compared statement
PLACE: Final = (3, 12)  # maximum words, or characters, of a replaced part
_END: Final = "\n"
_MARKS: Final = re.compile(
    r"[.,;:!?()\u060c\u061b\u061f\u0964\u3001\u3002\u300c\u300d\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]+\s*"
)


def exchanged(aligned: Alignment) -> Clash | None:
    """Find "the museum is in Shanghai" where the evidence says "the museum is in Beijing", in scripts without capitals.

    Exactly one part of the statement differs from the sentence, and it occurs in no passage.
    """
    if aligned.language not in UNCASED or aligned.text.lower() != aligned.text.upper():
        return None
    return next((found for found in (_exchanged(aligned, line) for line in aligned.lines[:2]) if found), None)


def _exchanged(aligned: Alignment, line: Line) -> Clash | None:
    joint = "" if aligned.language in UNSPACED else " "
    own, theirs = (_units(side.text, joint) for side in (aligned, line))
    if not 0 < len(own) <= SHORT:
        return None
    first, last, begin, end = one_change(own, theirs)
    if last == len(own):
        end = [*theirs, _END].index(_END, begin)
    if not first:
        begin = max((i + 1 for i in range(end) if theirs[i] == _END), default=0)
    says, has = own[first:last], theirs[begin : max(begin, end)]
    of_verb = aligned.language in VERB_LAST and last == len(own)
    if of_verb or 2 * len(says) > len(own) or not _differ(says, has, joint):
        return None
    written = joint.join(says)
    known = any(written in text.text for text in aligned.library.texts)
    return None if known else line.clash("name", written, joint.join(has))


def _units(text: str, joint: str) -> list[str]:
    """Return the words or characters of a text, with a line feed for each punctuation mark."""
    marked = _MARKS.sub(_END, text).strip()
    return marked.replace(_END, f" {_END} ").split(" ") if joint else ["" if one == " " else one for one in marked]


def one_change(own: Sequence[str], theirs: Sequence[str]) -> tuple[int, int, int, int]:
    """Return the only part of a text that another lacks, and the part in its place: first and end of each.

    The words before and after it are the longest that both have; the other text may be longer at both ends.
    """
    starts = ((_common(own, theirs[i:]), -i) for i, unit in enumerate(theirs) if unit in own[:1])
    first, at = max(starts, default=(0, 0))
    begin = first - at
    back, behind = own[first:][::-1], theirs[begin:][::-1]
    ends = ((_common(back, behind[i:]), i) for i, unit in enumerate(behind) if unit in back[:1])
    size, at = max(ends, default=(0, 0))
    return first, len(own) - size, begin, len(theirs) - at - size


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of units with which both texts begin."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _differ(says: Sequence[str], has: Sequence[str], joint: str) -> bool:
    """Return whether two parts are different things, not two forms of a word."""
    lengths, every = (len(says), len(has)), (*says, *has)
    if not min(lengths) or max(lengths) > PLACE[not joint] or any(one == _END or one.isdecimal() for one in every):
        return False
    if not joint:
        return min(lengths) > 1 or all(map(str.isnumeric, every))
    one, other = (words[0].removeprefix("\u0627\u0644") for words in (says, has))
    return 2 * _common(one, other) < min(len(one), len(other))
