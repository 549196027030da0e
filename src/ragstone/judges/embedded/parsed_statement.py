"""Parse a sentence once: words, clauses, negations, quantities, names, and quotes."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

from ragstone.judges.embedded.quantities import Quantity, quantities
from ragstone.judges.embedded.thesaurus import LANGUAGE, slot_lists, word_set
from ragstone.judges.embedded.verbs import finite, listed
from ragstone.judges.embedded.words import NAME, NEGATION, TITLES, Token, function_stems, listed_words, stem_of
from ragstone.segment import SHOWN, shortened

SCOPE: Final = 7  # words after a negation that it can affect
_BREAKS: Final = re.compile(r"[;,.!?()\u2014]|\s-\s")
REFERS: Final = 40  # characters before a number searched for a reference to passages: "passages 1, 2 and 3"
_MARKER: Final = re.compile(r"\b\d{1,2}(?:[.)](?:\s+(?=[^\W\d_a-z])|$)|\)\s)")
"""The number of a list item, at the start of a statement or left inside it."""

_IN_NAME: Final = re.compile(
    r"(?:[^\W\d_]-|[*\u00d7]\s?"
    r"|\b(?:passage|context|document|source|paragraph|excerpt)s? (?:\d+(?:,| and|, and) ){0,5})\Z",
    re.IGNORECASE,
)
_TIED: Final = re.compile(r"(?:\d\s?[-\u2013/:^*\u00d7]|[#\u00a7\u2116^])\s?\Z")
"""Characters that connect a number to preceding text, so it is not a list marker: "2-1", "6-12"."""

_NO_VALUE: Final = re.compile(r"\w+ (?:passage|context|document|source|text|paragraph)s?\b|\d+(?=[a-z]+\d)")
COPULAS: Final = listed_words("copulas", LANGUAGE)
AUXILIARIES: Final = COPULAS | {"can", "may", "will", "has", "have"}
_JOINING: Final = frozenset(("and", "or"))
_PRICED: Final = frozenset(("cost", "costs", "pay", "pays", "paid"))
_PREFIXED: Final = re.compile(r"-\w")


class ParsedStatement:
    """A parsed sentence: its words, the clause and negation of each word, its quantities and names."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self.tokens, self.text = tokens, text
        self.units: list[Any] = []  # filled by ``roles.units``

    @cached_property
    def words(self) -> list[str]:
        """The words as written, in lowercase."""
        return [self.text[token.start : token.end].lower() for token in self.tokens]

    def word(self, i: int) -> str:
        """Return the word at an index, or an empty string if out of range."""
        return self.words[i] if 0 <= i < len(self.words) else ""

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The quantities: numbers with their units."""
        return quantities(self.tokens, self.words, self.text)

    @cached_property
    def clauses(self) -> list[int]:
        """The clause number of each word; commas and conjunctions separate clauses."""
        found: list[int] = []
        clause = 0
        breaks = word_set("breaks")
        for i, word in enumerate(self.words):
            end = self.tokens[i].end
            joins = word in breaks and self.text[end : end + 1] != "-"  # "e-mail": "e" is Italian for "and"
            clause += i > 0 and (joins or self.breaks(i))
            found.append(clause)
        return found

    def inside(self, i: int) -> range:
        """Return the words of a word's clause."""
        clause = self.clauses[i]
        return range(bisect_left(self.clauses, clause), bisect_right(self.clauses, clause))

    @cached_property
    def negated(self) -> list[bool]:
        """For each word, whether it is negated by an earlier word of its clause; two negations cancel out.

        "Not" applies to the next content word, "no" and "without" to the next two.
        """
        found = [False] * len(self.tokens)
        light = word_set("light")
        for n in range(len(self.tokens)):
            if not self.denies(n):
                continue
            denial = self.words[n]
            if denial == "free" and self.between(n) == "-":
                found[n - 1] = not found[n - 1]  # "sugar-free"
                continue
            heads = 2 if denial in {"no", "without", "against"} or not denial.isascii() else 1
            for i in range(n + 1, min(len(self.tokens), n + 1 + SCOPE)):
                if self.turns(i):
                    break
                word = self.words[i]
                if heads == 1 and denial in {"no", "without"} and word in AUXILIARIES:
                    break  # "a policy with no rules can be used"
                found[i] = not found[i]
                heads -= word not in light and (len(word) > 3 or not word.isascii())
                if not heads:
                    break
            self._carry_over(n, found)
            offered = self.word(n + 1) in word_set("offered") and self.word(n - 1) in AUXILIARIES
            if n and denial in {"not", "cannot"} and (offered or n + 1 == len(self.tokens) or self.turns(n + 1)):
                verbs = {*finite(self.words[: n - 1])} if offered else set()
                for i in range(n - 1 - offered, -1, -1):  # "but export to Word is not": the negated words precede it
                    if i in verbs or (self.turns(i) and not (offered and self._lists(i))):
                        break
                    found[i] = not found[i]
        return found

    def _carry_over(self, n: int, found: list[bool]) -> None:
        """Negate the verb behind "or", too: "cannot see codes or *send* them"."""
        for i in range(n + 2, min(len(self.tokens) - 1, n + 1 + SCOPE)):
            if self.words[i] == "or" and self.words[i + 1] in listed("base") and not found[i + 1]:
                found[i + 1] = True
            elif self.turns(i):
                break

    def _lists(self, i: int) -> bool:
        """Return whether only a comma, "and" or "or" separates a word from the one before."""
        return self.words[i] in _JOINING or (self.words[i] not in word_set("turns") and self.between(i).strip() == ",")

    def behind(self, end: int) -> list[int]:
        """Return the words after an offset of the text."""
        return [i for i, token in enumerate(self.tokens) if token.start >= end]

    def denies(self, i: int) -> bool:
        """Return whether a word negates others: "not", "fails to", "stopped issuing", "free of", "advises against"."""
        word, after = self.words[i], self.word(i + 1)
        if word == "nothing" and self.word(i - 1) in _PRICED:
            return False  # "costs nothing" is a price
        if self.tokens[i].kind == NEGATION:
            return True
        if word == "against":
            return self.word(i - 1) in word_set("advising")
        if word == "non":
            return _PREFIXED.match(self.text, self.tokens[i].end) is not None
        if word == "free" and i and self.between(i) == "-":
            return True  # "sugar-free"
        needed = _denying().get(word, ())
        if after == "up":
            return after in needed and self.word(i + 2).endswith("ing")  # not "gave up the port to Senn"
        return "" in needed or after in needed or ("-ing" in needed and after.endswith("ing"))

    @cached_property
    def denial(self) -> bool:
        """Whether any word negates others."""
        return any(map(self.denies, range(len(self.tokens))))

    def turns(self, i: int) -> bool:
        """Return whether an earlier negation stops before a word: "but", "which" or punctuation."""
        return self.words[i] in word_set("turns") or (i > 0 and self.breaks(i))

    def between(self, i: int) -> str:
        """Return the text between a word and the one before, without the point of an initial or title ("Dr. Lund")."""
        last, text = self.tokens[i - 1], self.text
        found = text[last.end : self.tokens[i].start]
        initial = last.end - last.start == 1 and text[last.start].isupper()
        return " " if found == ". " and (initial or self.words[i - 1] in TITLES) else found

    def breaks(self, i: int) -> bool:
        """Return whether punctuation separates a word from the one before."""
        between = self.between(i)
        return between != " " and _BREAKS.search(between) is not None

    @cached_property
    def names(self) -> list[tuple[int, int]]:
        """The names, as first and last token; adjacent names are one."""
        runs: list[tuple[int, int]] = []
        for i, token in enumerate(self.tokens):
            if token.kind != NAME:
                continue
            last = runs[-1][1] if runs else i
            last += last == i - 2 and self.words[i - 1] in word_set("particles")
            if last == i - 1 and self.between(i) in {" ", "-", " - "}:
                runs[-1] = (runs[-1][0], i)
            else:
                runs.append((i, i))
        return runs

    def beside(self, i: int) -> list[str]:
        """Return the stems before and after a word, or after the unit of a quantity."""
        last = next((one.last for one in self.quantities if one.at == i), i)
        return [token.stem for token in (*self.tokens[max(0, i - 1) : i], *self.tokens[last + 1 : last + 2])]

    def quote(self, first: int, last: int) -> str:
        """Return the text from one word to another, on one line and shortened."""
        return shortened(self.text[self.tokens[first].start : self.tokens[last].end])

    def around(self, i: int) -> str:
        """Return a quote of a word with its clause, or as much of it as fits."""
        low = high = i
        for step in range(1, len(self.tokens)):
            for k in (i - step, i + step):
                inside = 0 <= k < len(self.tokens) and self.clauses[k] == self.clauses[i] and k in (low - 1, high + 1)
                if inside and self.tokens[max(high, k)].end - self.tokens[min(low, k)].start <= SHOWN:
                    low, high = min(low, k), max(high, k)
        cut = high + 1 < len(self.tokens) and self.clauses[high + 1] == self.clauses[i]
        found = self.quote(low, high)
        return found + "\u2026" if cut and not found.endswith("\u2026") else found


@lru_cache(maxsize=1)
def _denying() -> dict[str, set[str]]:
    """Return the words that negate others, with the words that must follow: any if empty, or one in "-ing"."""
    found: dict[str, set[str]] = {}
    for after, words in slot_lists()["denying"].items():
        for word in words.split():
            found.setdefault(word, set()).add(after)
    return found


def marks_item(text: str, one: Quantity) -> bool:
    """Return whether a number is that of a list item ("Open the list 2.", not "is over 2.") or has no value."""
    if _named(text, one):
        return True
    if one.dimension or _MARKER.match(text, one.start) is None or _TIED.search(text, 0, one.start):
        return False
    before = text[: one.start].split()
    last = before[-1].lower() if before else ""
    value = one.bound or stem_of(last, LANGUAGE) in function_stems(LANGUAGE) or finite(before)
    counted = last in word_set("numbered") or (last.endswith(":") and one.written != 1)  # "No. 7.", "Expiry: 5."
    return text[one.end] == ")" or not (counted or (last.isalpha() and value))


def of_name(side: ParsedStatement, one: Quantity) -> bool:
    """Return whether a number is part of a name ("Windows 11") or has no value for another reason."""
    behind = one.at > 0 and not one.dimension and side.tokens[one.at - 1].kind == NAME and side.between(one.at) == " "
    return behind or _named(side.text, one)


def _named(text: str, one: Quantity) -> bool:
    """Return whether a number is part of a name ("Tetraspanin-3"), a factor ("* 100"), or a passage number."""
    return bool(_IN_NAME.search(text, max(0, one.start - REFERS), one.start) or _NO_VALUE.match(text, one.start))
