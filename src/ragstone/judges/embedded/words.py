"""Split texts into comparable words: stems, normalised numbers, names and negations.

All scripts are supported. Words are stemmed if the language has a Snowball stemmer, and otherwise only folded. Scripts
without spaces between words are read as overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from threading import Lock
from typing import Any, Final

import orjson
from msgspec import Struct

from ragstone.judges.embedded.figures import (
    AMOUNT,
    CHINESE,
    DATE,
    DOTTED,
    FRACTION,
    MINUS,
    MONEY,
    ROMAN,
    Reading,
    chinese,
    fraction,
    number_of,
    time_of,
    time_pattern,
)
from ragstone.segment import FUNCTION_WORDS

WORD: Final = 0
NUMBER: Final = 1
NAME: Final = 2
TITLES: Final = frozenset(("dr", "mr", "mrs", "ms", "prof"))
"""Titles that may end with a point before a name."""
NEGATION: Final = 3

LONGEST_WORD: Final = 40  # characters of a word that are compared; longer words are truncated
LONGEST_TEXT: Final = 100_000  # characters; in longer texts, repeated words are listed once
REMEMBERED: Final = 32_768  # cached words per language
SENTENCES: Final = 2048  # cached texts ...
SHORT: Final = 500  # ... of at most this many characters
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_MARKS: Final = "".join(
    chr(code)
    for code in (*range(0x300, 0x1E00), *range(0x20D0, 0x20F1), *range(0xFE00, 0xFE30))
    if unicodedata.category(chr(code)) in {"Mn", "Mc"}
)
"""Combining marks, which belong to the word of their letter."""

_JOINERS: Final = "\u00ad\u200b\u200c\u200d"
"""Soft hyphens and joiners, which only affect rendering and are not part of a word."""

_LETTERS: Final = rf"[^\W\d_]+(?:[{_MARKS}{_JOINERS}]+[^\W\d_]*)*"
_SIGN: Final = r"(?:(?<![^\s(\[{\"'\u201c=:<>~$\u20ac\u00a3\u00a5])[-\u2212](?=\.?\d))?"
_DOTTED: Final = r"[^\W\d_]\.[^\W\d_]\.(?:[^\W\d_]\.){0,6}(?![^\W\d_]{2})(?P<dotted>)"
_CODE: Final = (
    r"(?:(?=[_#+.-])(?P<code>(?:_+[^\W_]+)+|(?<![^\W_][^\W_])(?:\#(?!\w)|\+\+)|(?<=[vV]\d)(?:\.\d+)+|(?<=[vV]\d\d)(?:\.\d+)+"
    r"|(?<=[^\W\d_a-z])-\d+(?!(?:s|st|nd|rd|th)\b)[a-z]+\b"
    r"|\.(?i:js|ts|py|rs|net|io|org|com|json|ya?ml|toml|xml|html?|css|csv|tsv|md|txt|pdf|sql|sh|cfg|ini|exe|dll|java)\b))?"
)
"""Suffixes that turn the word before into a code name: ``Node.js``, ``C#``, ``v2.1``, ``max_len``, ``GPT-4o``."""


def _pattern(word: str, run: str, language: str) -> str:
    """Return the pattern of words; the group that names a kind is not first, so that a character can exclude it."""
    return (
        rf"{_DOTTED}|T(?P<mark>)(?<=\dT)(?=\d\d:\d\d)|{run}{word}(?P<word>){_CODE}"
        rf"|(?=[\d.\u2212-])(?:(?P<time>{time_pattern(language)})|(?P<date>{DATE})|(?P<number>(?![-\u2212]{time_pattern(language)}){_SIGN}{AMOUNT})"
        r"|(?P<flag>(?<![\w-])--[^\W\d_][\w-]*|(?<![\w.])\.NET\b))|[%$\u20ac\u00a3\u00a5](?P<sign>)"
    )


@lru_cache(maxsize=64)
def _words(language: str, ascii_only: bool) -> re.Pattern[str]:
    """Return the pattern of words; the one for all scripts takes ten times as long to compile."""
    if ascii_only:
        return re.compile(_pattern(r"[^\W\d_][^\W_]*(?:'[^\W\d_]+)*", "", language), re.ASCII)
    word = (
        rf"[^\W\d_{_UNSPACED}][^\W_{_UNSPACED}]*(?:[{_MARKS}{_JOINERS}]+[^\W_{_UNSPACED}]*)*"
        rf"(?:['\u2019\u02bc]{_LETTERS})*"
    )
    run = rf"(?P<fraction>{FRACTION})|(?P<run>[{_UNSPACED}]+)|"
    return re.compile(_pattern(word, run, language))


_JOINED: Final = str.maketrans(dict.fromkeys(_JOINERS))
_AFFIRMS: Final = re.compile(
    r"not\s+(?:only|just|merely)\b|no\s+(?:doubt\b|(?:fewer|less|more|later|earlier|sooner|longer|larger|bigger|higher|greater)\s+than\b)"
    r"|(?P<number>no\s?\.\s?\d)",
    re.IGNORECASE,
)
"""Phrases in which "not" or "no" is not a negation."""

_TIMES: Final = re.compile(r"[x\u00d7](?![^\W_])|[ -]?fold\b")  # multiples, directly after a number: "1.5x", "3-fold"
_TAILS: Final = frozenset(("s", "d", "m", "t", "ll", "re", "ve"))  # English endings after an apostrophe
_UNIT: Final = 4  # maximum letters of a unit between two numbers of a range
_LINKS: Final = frozenset(
    ("to", "and", "or", "by", "at", "is", "was", "then", "from", "of", "in", "=", ",", ";", ":", "/")
)

_STOPS: Final = frozenset(".!?:;\u2026\u3002\n")


class Token(Struct, frozen=True, gc=False):
    """A word: its stem (used for comparison), its offsets, and its kind (WORD, NUMBER, NAME, NEGATION)."""

    stem: str
    start: int
    end: int
    kind: int


@lru_cache(maxsize=8)
def packaged(name: str) -> Any:
    """Return the content of a JSON file of the package; it is read only once."""
    return orjson.loads(files("ragstone.judges.embedded").joinpath(name).read_bytes())


def lexicon() -> Mapping[str, Any]:
    """Return the word lists of the package, by kind and language."""
    found: Mapping[str, Any] = packaged("lexicon.json")
    return found


def nugget_lexicon() -> Mapping[str, Any]:
    """Return the word lists (by kind and language) and cuts that only the nugget tasks use."""
    found: Mapping[str, Any] = packaged("nuggets.json")
    return found


@lru_cache(maxsize=1024)
def listed_words(kinds: str, *languages: str) -> frozenset[str]:
    """Return the words of some kinds (separated by spaces) in the given languages, or in all if none is given."""
    lists = [lexicon()[kind] for kind in kinds.split()]
    return frozenset(word for known in lists for code in languages or known for word in known.get(code, "").split())


def pronouns(language: str) -> frozenset[str]:
    """Return the personal and possessive pronouns of a language."""
    return listed_words("subjects possessives", language)


@lru_cache(maxsize=256)
def listed_phrases(kind: str, *languages: str) -> tuple[str, ...]:
    """Return the phrases of one kind in the given languages, or in all if none is given, in order."""
    known = lexicon()[kind]
    every = (phrase for code in languages or known for phrase in known.get(code, "").split("|"))
    return tuple(dict.fromkeys(filter(None, every)))


class _Word(Struct, frozen=True, gc=False):
    """The context-free analysis of a written word; ``stem`` is empty if it is only a number or a contracted negation.

    With both a stem and a number, it is a number only before a power of ten ("one", "a") or as an ordinal. ``coded``:
    it contains digits or inner capitals, as names do.
    """

    stem: str
    number: int
    negation: bool
    negated: bool
    capital: bool
    shouted: bool
    coded: bool


class _Language(Struct, frozen=True):
    """The word parser of a language; ``known`` is a cached ``read`` for words of up to ``LONGEST_WORD`` characters."""

    stem: Callable[[str], str]
    read: Callable[[str], _Word]
    known: Callable[[str], _Word]
    marks: frozenset[str]
    divisions: frozenset[str]
    denial: str
    numbered: str
    times: str
    figures: Reading


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


def _values(text: str) -> dict[str, int]:
    return {word: int(value) for word, value in _pairs(text).items()}


@lru_cache(maxsize=64)
def _language(code: str) -> _Language:
    words = lexicon()
    stem = _stemmer(code)
    negations = frozenset(words["negations"].get(code, "").split())
    ones = frozenset(words["ones"].get(code, "").split())
    same, contractions = _pairs(words["same"]), _pairs(words["contractions"])
    elided = frozenset(words["elided"].split())
    cased = code != "de"
    figures = _reading(code)
    numbers = {word: value for word, value in figures.numbers.items() if word not in ones}
    own = _values(words["number_words"].get(code, ""))
    names = {word for word in words["number_homonyms"].split() if word.lower() not in own}

    def read(raw: str) -> _Word:
        if len(raw) > 2 and raw.endswith("s") and raw[:-1].isupper():
            raw = raw[:-1]  # "TVs"
        word, negated = _plain(raw, contractions, elided)
        coded = raw[1:] != raw[1:].lower() or any(map(str.isdecimal, raw))
        form = (negated, cased and raw[0].isupper(), len(raw) > 1 and raw.isupper(), coded)
        if word.endswith("fold") and word[:-4] in numbers:
            return _Word("", numbers[word[:-4]], False, *form)
        if word in numbers and raw not in names:
            return _Word("", numbers[word], False, *form)
        if word in ones:
            return _Word(stem(word), 1, False, *form)
        if word in negations:
            return _Word(stem(word), 0, True, *form)
        bare = same.get(word, word)[:LONGEST_WORD]
        return _Word(stem(bare) if bare else "", figures.ordinals.get(word, 0), False, *form)

    return _Language(
        stem=stem,
        read=read,
        known=lru_cache(maxsize=REMEMBERED)(read),
        marks=frozenset(words["negation_marks"].get(code, "")),
        divisions=frozenset(words["divisions"].split()),
        denial=stem("not"),
        numbered=stem("number"),
        times=stem("times"),
        figures=figures,
    )


def _reading(code: str) -> Reading:
    words = lexicon()
    ones = {word: 1 for word in words["ones"].get(code, "").split() if word not in {"a", "an"}}
    own, every = _values(words["number_words"].get(code, "")), _values(" ".join(words["number_words"].values()))
    homonyms = words["number_homonyms"].split()
    return Reading(
        numbers={**{word: value for word, value in every.items() if word not in homonyms}, **own, **ones},
        joined={**every, **own, **ones},
        ordinals=_values(words["ordinals"].get(code, "")),
        multipliers=_values(words["multipliers"]),
        suffixes=_values(words["suffix_multipliers"]),
        units=frozenset(words["unit_suffixes"].split()),
        counted=frozenset(words["counted"].split()),
        endings=frozenset(words["number_endings"].split()),
        links=frozenset(" ".join(words["number_links"].values()).split()),
        dotted=code in DOTTED,
    )


def _stemmer(code: str) -> Callable[[str], str]:
    name = _pairs(lexicon()["stemmers"]).get(code)
    if name is None:
        return lru_cache(maxsize=REMEMBERED)(_fold)
    from snowballstemmer import stemmer  # noqa: PLC0415 - 30 ms that not every run needs

    algorithm, one_at_a_time = stemmer(name), Lock()
    irregular = _pairs(lexicon()["irregular"].get(code, ""))

    def stem(word: str) -> str:
        with one_at_a_time:  # the stemmer keeps state, and judges use several threads
            return _fold(algorithm.stemWord(irregular.get(word, word)))

    return lru_cache(maxsize=REMEMBERED)(stem)


def _fold(word: str) -> str:
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


@lru_cache(maxsize=1024)
def power_of(word: str) -> int:
    """Return the power of ten named by a word of three letters or more, as in "million crowns"; 0 if none."""
    power = _values(lexicon()["multipliers"]).get(word.lower(), 0) if len(word) > 2 else 0
    return power if power > 2 else 0


def stem_of(word: str, language: str) -> str:
    """Return the stem of a single lowercase word."""
    return _language(language).stem(word[:LONGEST_WORD])


def tokens_of(text: str, language: str) -> list[Token]:
    """Return the words of a text in order, in linear time.

    The stem of a time of day (a NUMBER) begins with ``@``, that of any other NUMBER with ``#``. Code names (``C#``,
    ``Node.js``, ``max_len``, ``--force``, ``v2.1``, ``A4``) are single NAMEs, compared as a whole.

    In a text of more than ``LONGEST_TEXT`` characters, each word is listed only at its first place to save memory.
    Do not modify the list: those of short texts are cached.
    """
    if len(text) <= LONGEST_TEXT:
        return _sentence(text, language) if len(text) <= SHORT else _tokens(text, language)
    first: dict[tuple[str, int], Token] = {}
    start = 0
    while start < len(text):
        end = start + LONGEST_TEXT
        blank = text.rfind(" ", start, end) if end < len(text) else -1
        end = blank if blank > start else end
        for token in _tokens(text[start:end], language):
            if (token.stem, token.kind) not in first:
                moved = Token(token.stem, start + token.start, start + token.end, token.kind)
                first[token.stem, token.kind] = moved
        start = end
    return list(first.values())


@lru_cache(maxsize=SENTENCES)
def _sentence(text: str, language: str) -> list[Token]:
    return _tokens(text, language)


def _tokens(text: str, language: str) -> list[Token]:
    code = _language(language)
    read, known, figures = code.read, code.known, code.figures
    made: list[Token] = []
    add = made.append
    ticked = "`" in text
    last_end = 0
    for found in _words(language, text.isascii()).finditer(text):
        kind = found.lastgroup
        start, end = found.span()
        if start < last_end:  # part of the preceding number
            if kind != "run" or end <= last_end:
                continue
            start = last_end
        if kind != "word":
            last_end = _special(code, text, made, str(kind), start, end)
            continue
        raw = text[start:end]
        word = known(raw) if end - start <= LONGEST_WORD else read(raw)
        stem = word.stem
        if word.number and (not stem or _counts(code, text, made, start, end)):
            stem, end = figures.spelled(word.number, text, end)
            add(Token(stem, start, end, NUMBER))
        elif word.negation:
            affirms = _AFFIRMS.match(text, start)
            if affirms is None:
                add(Token(stem, start, end, NEGATION))
            else:
                add(Token(code.numbered if affirms["number"] else stem, start, end, WORD))
        elif raw in ROMAN and made and text[made[-1].start : made[-1].end].lower() in code.divisions:
            add(Token(f"#{ROMAN[raw]}", start, end, NUMBER))  # "Section IV"
        elif stem:
            named = word.coded or (word.capital and (word.shouted or _inside(text, last_end, start)))
            if ticked and not named:
                named = text[start - 1 : start] == "`" and text[end : end + 1] == "`"
            add(Token(stem, start, end, NAME if named else WORD))
        if word.negated:
            add(Token(code.denial, start, end, NEGATION))
        last_end = end
    return made


def _counts(code: _Language, text: str, before: list[Token], start: int, end: int) -> bool:
    """Return whether a possible number word is a number: "one" before "hundred", "third" but not in "a third"."""
    word = text[start:end]
    if word.lower() in code.figures.ordinals:
        counted = bool(before) and before[-1].kind == NUMBER and start - before[-1].end <= 1
        return not counted and code.figures.ordinal(word, text, start) is not None
    return code.figures.multiplied(text, end)


def _special(code: _Language, text: str, made: list[Token], kind: str, start: int, end: int) -> int:
    """Add the tokens of a match that is not a plain word; return where they end."""
    raw = text[start:end]
    if kind == "number":
        return _figure(code, text, made, start, end)
    if kind == "run":
        made.extend(_run(raw, start, code.marks))
    elif kind == "sign":
        made.append(Token(raw, start, end, WORD))
    elif kind == "time":
        made.append(Token(time_of(text, start, end), start, end, NUMBER))
    elif kind == "fraction":
        made.append(Token(fraction(raw), start, end, NUMBER))
    elif kind == "date":
        parts = re.finditer(r"\d+", raw)
        made.extend(Token(number_of(one[0]), start + one.start(), start + one.end(), NUMBER) for one in parts)
    elif kind != "mark":
        stem = code.stem(raw.replace(".", "").lower()) if kind == "dotted" else _fold(raw[:LONGEST_WORD].lower())
        made.append(Token(stem, start, end, NAME))
    return end


def _figure(code: _Language, text: str, made: list[Token], start: int, end: int) -> int:
    """Add a number in digits and return its end; the words before show whether it is money, and if a dash is a sign."""
    money = bool(made) and made[-1].stem in MONEY and start - made[-1].end <= 1
    first = start + (text[start] in MINUS and _ranges(text, made, start))
    stem, stop = code.figures.figure(text, first, end, money=money)
    made.append(Token(stem, start, stop, NUMBER))
    times = _TIMES.match(text, stop)
    if times is None:
        return stop
    made.append(Token(code.times, times.end() - len(times[0].strip(" -")), times.end(), WORD))
    return times.end()


def _ranges(text: str, before: list[Token], start: int) -> bool:
    """Return whether a dash before a number is part of a range or name: "10am -3pm", "MPEG -4", not "from 3 to -5"."""
    if start > 1 and text[start - 2].isupper():
        return True
    number = next((token for token in before[-1:-3:-1] if token.kind == NUMBER), None)
    between = "" if number is None else text[number.end : start].strip().lower()
    return number is not None and len(between) <= _UNIT and between not in _LINKS


def _plain(raw: str, contractions: dict[str, str], elided: frozenset[str]) -> tuple[str, bool]:
    """Return a word in lowercase without attachments by apostrophe, and whether it was negated ("n't")."""
    word = raw[: 3 * LONGEST_WORD].lower()
    if not word.isascii():
        word = unicodedata.normalize("NFC", word.translate(_JOINED)).replace("\u2019", "'").replace("\u02bc", "'")
    if word.endswith("n't"):
        return contractions.get(word, word[:-3]), True
    head, _, tail = word.partition("'")
    if head in elided and tail not in _TAILS:  # "dell'Albania", "l'or"
        return tail.replace("'", "") or head, False
    return (head if len(tail) <= 2 or len(head) > 2 else tail.replace("'", "")), False


def _run(raw: str, start: int, marks: frozenset[str]) -> Iterator[Token]:
    done = 0
    for found in CHINESE.finditer(raw):
        stem = chinese(found[0])
        if stem is not None:
            yield from _couples(raw[done : found.start()], start + done, marks)
            done = found.end()
            yield Token(stem, start + found.start(), start + done, NUMBER)
    yield from _couples(raw[done:], start + done, marks)


def _couples(raw: str, start: int, marks: frozenset[str]) -> Iterator[Token]:
    if len(raw) == 1:
        yield Token(raw, start, start + 1, NEGATION if raw in marks else WORD)
    for i in range(len(raw) - 1):
        pair = raw[i : i + 2]
        yield Token(pair, start + i, start + i + 2, NEGATION if pair[0] in marks else WORD)


def _inside(text: str, last_end: int, start: int) -> bool:
    """Return whether a word is inside a sentence, where a capital is significant."""
    if last_end == 0:
        return False
    gap = text[last_end:start] if start - last_end < 16 else text[last_end : last_end + 16]
    if gap == ". ":  # "Lena P. Brandt", "Dr. Brandt"
        before = text[max(0, last_end - 6) : last_end].rpartition(" ")[2]
        return (len(before) == 1 and before.isupper()) or before.lower() in TITLES
    return not any(c in _STOPS for c in gap)


@lru_cache(maxsize=64)
def function_stems(language: str) -> frozenset[str]:
    """Return the stems of the listed function words of a language."""
    stem = _language(language).stem
    known = (*FUNCTION_WORDS.get(language, ()), *listed_words("negations", language))
    return frozenset(stem(word) for word in known)


@lru_cache(maxsize=512)
def listed_stems(kinds: str, *languages: str) -> frozenset[str]:
    """Return the stems of words of some kinds in some languages, stemmed in the first of these languages."""
    return frozenset(stem_of(word, languages[0]) for word in listed_words(kinds, *languages))
