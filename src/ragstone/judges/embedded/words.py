"""Texts as comparable words: stems, numbers brought to one form, names, and what is negated.

Works for every script: words are stemmed where the language has a Snowball stemmer and only folded where it
has none; scripts without blanks between words are read as overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final, NamedTuple, cast

import orjson

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
_TOKEN: Final = re.compile(
    r"(?P<number>\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d.,])|\d+(?:[.,]\d+)*)"
    rf"|(?P<run>[{_UNSPACED}]+)"
    r"|(?P<dotted>(?:[^\W\d_]\.){2,8}(?![^\W\d_]{2}))"
    rf"|(?P<word>[^\W_{_UNSPACED}]+(?:['\u2019\u02bc][^\W\d_]+)*)"
    r"|(?P<sign>[%$\u20ac\u00a3\u00a5])"
)
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,3}(?:\.\d{3}){2,}")
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
    """What a written word is, wherever it stands; ``stem`` is empty for what is only a negation or a number."""

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


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


@lru_cache(maxsize=64)
def _language(code: str) -> _Language:
    words = lexicon()
    stem = _stemmer(code)
    negations = frozenset(words["negations"].get(code, "").split())
    numbers = _pairs(words["number_words"].get(code, ""))
    same, contractions = _pairs(words["same"]), _pairs(words["contractions"])
    cased = code != "de"

    def read(raw: str) -> _Word:
        word, negated = _plain(raw, contractions)
        capital = cased and raw[0].isupper()
        shouted = len(raw) > 1 and raw.isupper()
        if word in numbers:
            return _Word("", numbers[word], False, negated, capital, shouted)
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
    )


@lru_cache(maxsize=1)
def _shared() -> tuple[dict[str, int], dict[str, int], frozenset[str]]:
    words = lexicon()
    return (
        {word: int(power) for word, power in _pairs(words["multipliers"]).items()},
        {word: int(power) for word, power in _pairs(words["suffix_multipliers"]).items()},
        frozenset(words["number_endings"].split()),
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


@lru_cache(maxsize=8192)
def number_of(text: str, power: int = 0) -> str:
    """A number in one form, as ``#`` and its plain decimal digits: ``12,000,000`` and ``12`` times 10^6 agree.

    A single comma before one, two or more than three digits is read as a decimal comma.
    """
    bare = text.translate({32: None, 0xA0: None, 0x202F: None})
    if len(bare) > LONGEST_WORD:
        return "#" + bare[:LONGEST_WORD]
    if _THOUSANDS.fullmatch(bare):
        bare = bare.replace(",", "").replace(".", "")
    elif "," in bare and "." in bare:
        last = max(bare.rfind(","), bare.rfind("."))
        bare = bare[:last].replace(",", "").replace(".", "") + "." + bare[last + 1 :]
    elif bare.count(",") == 1:
        bare = bare.replace(",", ".")
    if bare.count(".") > 1 or "," in bare or not bare.replace(".", "").isdecimal():
        return "#" + bare
    value = f"{Decimal(bare).scaleb(power):f}"
    if "." in value:
        value = value.rstrip("0").rstrip(".")
    return "#" + value


def tokens_of(text: str, language: str) -> list[Token]:
    """The words of a text in order. Linear in the text."""
    code = _language(language)
    multipliers, suffixes, endings = _shared()
    read, known = code.read, code.known
    made: list[Token] = []
    add = made.append
    held: tuple[str, int, int] | None = None  # a number that a multiplier may follow
    last_end = 0
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        start, end = found.span()
        raw = text[start:end]
        if held is not None:
            word = raw.lower() if kind == "word" else ""
            adjacent = start == held[2]
            power = (suffixes if adjacent else multipliers).get(word)
            if power is None and adjacent:
                power = multipliers.get(word)
            if power is not None:
                add(Token(number_of(held[0], power), held[1], end, NUMBER))
                held, last_end = None, end
                continue
            add(Token(number_of(held[0]), held[1], held[2], NUMBER))
            held = None
            if adjacent and word in endings:
                last_end = end
                continue
        if kind == "word":
            stem, number, negation, negated, capital, shouted = (known if end - start <= LONGEST_WORD else read)(raw)
            if number:
                held = (number, start, end)
            elif negation:
                add(Token(stem, start, end, NEGATION))
            elif stem:
                named = capital and (shouted or _inside(text, last_end, start))
                add(Token(stem, start, end, NAME if named else WORD))
            if negated:
                add(Token(code.denial, start, end, NEGATION))
        elif kind == "number":
            held = (raw, start, end)
        elif kind == "run":
            made.extend(_run(raw, start, code.marks))
        elif kind == "sign":
            add(Token(raw, start, end, WORD))
        else:
            add(Token(code.stem(raw.replace(".", "").lower()), start, end, NAME))
        last_end = end
    if held is not None:
        add(Token(number_of(held[0]), held[1], held[2], NUMBER))
    return made


def _plain(raw: str, contractions: dict[str, str]) -> tuple[str, bool]:
    """A word in small letters without what an apostrophe attaches to it, and whether that was a negation."""
    word = raw[: 3 * LONGEST_WORD].lower().replace("\u2019", "'").replace("\u02bc", "'")
    if word.endswith("n't"):
        return contractions.get(word, word[:-3]), True
    head, _, tail = word.partition("'")
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
