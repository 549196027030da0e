"""Texts as comparable words: stems, numbers brought to one form, names, and what is negated.

Works for every script: words are stemmed where the language has a Snowball stemmer and only folded where it
has none; scripts without blanks between words are read as overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple, cast

import orjson

from ragstone.judges.embedded.figures import DOTTED, MINUS, MONEY, Figure, Reading
from ragstone.segment import FUNCTION_WORDS

WORD: Final = 0
NUMBER: Final = 1
NAME: Final = 2
NEGATION: Final = 3

SCOPE: Final = 3
"""Words after a negation that count as negated."""

LONGEST_WORD: Final = 40
"""Characters of a word that are compared; longer ones are cut."""

REMEMBERED: Final = 32_768
"""Words of a language whose reading is kept."""

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_MARKS: Final = "".join(
    chr(code)
    for code in (*range(0x300, 0x1E00), *range(0x20D0, 0x20F1), *range(0xFE00, 0xFE30))
    if unicodedata.category(chr(code)) in {"Mn", "Mc"}
)
"""Marks that stand over, under or beside a letter and belong to its word."""

_JOINERS: Final = "\u00ad\u200b\u200c\u200d"
"""Soft hyphens and joiners: they say how a word may be drawn, and are no part of it."""

_LETTERS: Final = rf"[^\W\d_]+(?:[{_MARKS}{_JOINERS}]+[^\W\d_]*)*"
_SIGNED: Final = (
    r"(?P<number>(?:(?<![^\s(\[{\"'\u201c=:<>~$\u20ac\u00a3\u00a5])[-\u2212](?=\.?\d))?"
    r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d.,])|\d+(?:[.,]\d+)*|(?<![\w.])\.\d+))"
)
_DOTTED: Final = r"(?P<dotted>(?:[^\W\d_]\.){2,8}(?![^\W\d_]{2}))"
_TOKEN: Final = re.compile(  # the commonest first
    rf"{_DOTTED}|(?P<word>[^\W\d_{_UNSPACED}][^\W_{_UNSPACED}]*(?:[{_MARKS}{_JOINERS}]+[^\W_{_UNSPACED}]*)*"
    rf"(?:['\u2019\u02bc]{_LETTERS})*)|{_SIGNED}|(?P<run>[{_UNSPACED}]+)|(?P<sign>[%$\u20ac\u00a3\u00a5])"
)
_ASCII_TOKEN: Final = re.compile(
    rf"{_DOTTED}|(?P<word>[^\W\d_][^\W_]*(?:'[^\W\d_]+)*)|{_SIGNED}|(?P<sign>[%$])", re.ASCII
)
"""The same of texts in ASCII, in four fifths of the time."""

_JOINED: Final = str.maketrans(dict.fromkeys(_JOINERS))
_AFFIRMS: Final = re.compile(
    r"not\s+(?:only|just|merely)\b|no\s+(?:doubt\b|(?:fewer|less|more|later|earlier|sooner)\s+than\b)"
    r"|(?P<number>no\s?\.\s?\d)",
    re.IGNORECASE,
)
"""Where "not" and "no" deny nothing."""

_TAILS: Final = frozenset(("s", "d", "m", "t", "ll", "re", "ve"))
"""What English writes behind an apostrophe."""

_UNIT: Final = 4
"""Letters of a unit that may stand between two numbers of a range."""

_LINKS: Final = frozenset(
    ("to", "and", "or", "by", "at", "is", "was", "then", "from", "of", "in", "=", ",", ";", ":", "/")
)

_STOPS: Final = frozenset(".!?:;\u2026\u3002\n")

_STEMMERS: Final = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "ca": "catalan", "da": "danish", "nl": "dutch", "en": "english",
    "eo": "esperanto", "et": "estonian", "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "hi": "hindi",
    "hu": "hungarian", "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian", "ne": "nepali",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "es": "spanish",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


class Token(NamedTuple):
    """One word: what it is compared by, where it stands, and its kind (WORD, NUMBER, NAME, NEGATION)."""

    stem: str
    start: int
    end: int
    kind: int


@lru_cache(maxsize=1)
def lexicon() -> dict[str, Any]:
    """The word lists of the package, by kind and language."""
    raw = files("ragstone.judges.embedded").joinpath("lexicon.json").read_bytes()
    return cast("dict[str, Any]", orjson.loads(raw))


@lru_cache(maxsize=1)
def nugget_lexicon() -> dict[str, Any]:
    """The word lists and cuts that only the nugget tasks use, by kind and language."""
    raw = files("ragstone.judges.embedded").joinpath("nuggets.json").read_bytes()
    return cast("dict[str, Any]", orjson.loads(raw))


class _Word(NamedTuple):
    """What a written word is, wherever it stands; ``stem`` is empty for what is only a negation or a number.

    With both a stem and a number it is a number only before a power of ten: "one", "a".
    """

    stem: str
    number: str
    negation: bool
    negated: bool
    capital: bool
    shouted: bool


@dataclass(frozen=True, slots=True)
class _Language:
    """How a language's words are read; ``known`` remembers what it has read, and is for words of a fair length only."""

    stem: Callable[[str], str]
    read: Callable[[str], _Word]
    known: Callable[[str], _Word]
    marks: frozenset[str]
    denial: str
    numbered: str
    figures: Reading


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


@lru_cache(maxsize=64)
def _language(code: str) -> _Language:
    words = lexicon()
    stem = _stemmer(code)
    negations = frozenset(words["negations"].get(code, "").split())
    numbers = _pairs(words["number_words"].get(code, ""))
    ones = frozenset(words["ones"].get(code, "").split())
    same, contractions = _pairs(words["same"]), _pairs(words["contractions"])
    elided = frozenset(words["elided"].split())
    cased = code != "de"

    def read(raw: str) -> _Word:
        word, negated = _plain(raw, contractions, elided)
        capital = cased and raw[0].isupper()
        shouted = len(raw) > 1 and raw.isupper()
        if word in numbers:
            return _Word("", numbers[word], False, negated, capital, shouted)
        if word in ones:
            return _Word(stem(word), "1", False, negated, capital, shouted)
        if word in negations:
            return _Word(stem(word), "", True, negated, capital, shouted)
        bare = same.get(word, word)[:LONGEST_WORD]
        return _Word(stem(bare) if bare else "", "", False, negated, capital, shouted)

    return _Language(
        stem=stem,
        read=read,
        known=lru_cache(maxsize=REMEMBERED)(read),
        marks=frozenset(words["negation_marks"].get(code, "")),
        denial=stem("not"),
        numbered=stem("number"),
        figures=_reading(code),
    )


def _reading(code: str) -> Reading:
    words = lexicon()
    multipliers = {word: int(power) for word, power in _pairs(words["multipliers"]).items()}
    suffixes = {word: int(power) for word, power in _pairs(words["suffix_multipliers"]).items()}
    return Reading(
        multipliers=multipliers,
        suffixes=suffixes,
        powers=frozenset((*multipliers, *suffixes)),
        units=frozenset(words["unit_suffixes"].split()),
        counted=frozenset(words["counted"].split()),
        endings=frozenset(words["number_endings"].split()),
        dotted=code in DOTTED,
    )


def _stemmer(code: str) -> Callable[[str], str]:
    name = _STEMMERS.get(code)
    if name is None:
        return lru_cache(maxsize=REMEMBERED)(_fold)
    from snowballstemmer import stemmer  # noqa: PLC0415 - 30 ms that not every run needs

    algorithm = stemmer(name)

    def stem(word: str) -> str:
        return _fold(algorithm.stemWord(word))

    return lru_cache(maxsize=REMEMBERED)(stem)


def _fold(word: str) -> str:
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def stem_of(word: str, language: str) -> str:
    """What a single lowercase word is compared by."""
    return _language(language).stem(word[:LONGEST_WORD])


def tokens_of(text: str, language: str) -> list[Token]:
    """The words of a text in order. Linear in the text."""
    code = _language(language)
    read, known, figures = code.read, code.known, code.figures
    made: list[Token] = []
    add = made.append
    new = tuple.__new__  # half the time of Token(...), for nearly all tokens
    held: Figure | None = None  # a number that more may follow
    last_end = 0
    for found in (_ASCII_TOKEN if text.isascii() else _TOKEN).finditer(text):
        kind = found.lastgroup
        start, end = found.span()
        raw = text[start:end]
        if held is not None:
            low = raw.lower() if kind == "word" and end - start <= LONGEST_WORD else ""
            if low and (held.spelled or low in figures.powers):
                more = figures.grown(held, raw, known(raw).number, text, start, end)
                if more is not None:
                    held, last_end = more, end
                    continue
            add(Token(figures.number(held), held.start, held.end, NUMBER))
            if start == held.end and low in figures.endings:
                held, last_end = None, end
                continue
            held = None
        if kind == "word":
            stem, number, negation, negated, capital, shouted = (known if end - start <= LONGEST_WORD else read)(raw)
            if number and (not stem or figures.multiplied(text, end)):
                held = Figure(number, start, end, spelled=True)
            elif negation:
                affirms = _AFFIRMS.match(text, start)
                if affirms is None:
                    add(Token(stem, start, end, NEGATION))
                else:
                    add(Token(code.numbered if affirms["number"] else stem, start, end, WORD))
            elif stem:
                named = capital and (shouted or _inside(text, last_end, start))
                add(new(Token, (stem, start, end, NAME if named else WORD)))
            if negated:
                add(Token(code.denial, start, end, NEGATION))
        elif kind == "number":
            held = _figure(text, made, start, end)
        elif kind == "run":
            made.extend(_run(raw, start, code.marks))
        elif kind == "sign":
            add(Token(raw, start, end, WORD))
        else:
            add(Token(code.stem(raw.replace(".", "").lower()), start, end, NAME))
        last_end = end
    if held is not None:
        add(Token(figures.number(held), held.start, held.end, NUMBER))
    return made


def _figure(text: str, before: list[Token], start: int, end: int) -> Figure:
    """A written number, by the words before it: whether it is of money, and whether a dash is a sign."""
    money = bool(before) and before[-1].stem in MONEY and start - before[-1].end <= 1
    first = start + (text[start] in MINUS and _ranges(text, before, start))
    return Figure(text[first:end], start, end, money=money)


def _ranges(text: str, before: list[Token], start: int) -> bool:
    """Whether a dash before a number is that of a range or a name: "10am -3pm", "MPEG -4", but not "from 3 to -5"."""
    if start > 1 and text[start - 2].isupper():
        return True
    number = next((token for token in before[-1:-3:-1] if token.kind == NUMBER), None)
    between = "" if number is None else text[number.end : start].strip().lower()
    return number is not None and len(between) <= _UNIT and between not in _LINKS


def _plain(raw: str, contractions: dict[str, str], elided: frozenset[str]) -> tuple[str, bool]:
    """A word in small letters without what an apostrophe attaches to it, and whether that was a negation."""
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
    if len(raw) == 1:
        yield Token(raw, start, start + 1, NEGATION if raw in marks else WORD)
        return
    for i in range(len(raw) - 1):
        pair = raw[i : i + 2]
        yield Token(pair, start + i, start + i + 2, NEGATION if pair[0] in marks else WORD)


def _inside(text: str, last_end: int, start: int) -> bool:
    """Whether a word stands within a sentence, so that a capital means something."""
    if last_end == 0:
        return False
    gap = text[last_end:start] if start - last_end < 16 else text[last_end : last_end + 16]
    return not any(c in _STOPS for c in gap)


def negated(tokens: list[Token], functional: Callable[[str], bool]) -> frozenset[str]:
    """The stems that stand up to three words after a negation, function words not counted."""
    found: set[str] = set()
    left = 0
    for token in tokens:
        if token.kind == NEGATION:
            left = SCOPE
        elif left and not functional(token.stem):
            found.add(token.stem)
            left -= 1
    return frozenset(found)


@lru_cache(maxsize=64)
def function_stems(language: str) -> frozenset[str]:
    """Stems of the words of a language that carry grammar rather than content, as far as they are listed."""
    stem = _language(language).stem
    known = (*FUNCTION_WORDS.get(language, ()), *lexicon()["negations"].get(language, "").split())
    return frozenset(stem(word) for word in known)


@lru_cache(maxsize=64)
def question_stems(language: str) -> frozenset[str]:
    """Stems of the words by which a language asks; they say nothing of what is asked about."""
    stem = _language(language).stem
    return frozenset(stem(word) for word in lexicon()["question_words"].get(language, "").split())
