"""Split text into sentences with exact offsets, in any language; group sentences into parts of limited size.

Pure functions. Layout comes first: headings, table rows and code lines are sentences, list items are separated, and
hard-wrapped lines are joined. Then ``sentencex`` splits each block, and its known errors are corrected. Every function
accepts any text, never raises, and runs in linear time.
"""

# ruff: noqa: RUF001, SIM905 - word lists of several scripts, written as text to be read

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Final

from ragstone.types import Span

SHOWN: Final = 60
"""Maximum length, in characters, of a text shown within a sentence, unless stated otherwise."""

ENDS: Final = " .,;:!?\u2026\u3002\uff0e\uff01\uff1f\uff1b\uff1a\uff0c\u3001\u060c\u061b\u061f\u0964"
"""Characters that may end a sentence, and the space."""

SAMPLE: Final = 4000
"""Number of characters that ``language_of`` reads."""

WINDOW: Final = 8_192
LONGEST: Final = 16_384
"""Length in characters at which text without a sentence end is cut at the next white space."""

# Scripts that (almost) determine the language; Latin, Cyrillic, Arabic and Han are distinguished below.
_SCRIPTS: Final = (
    ("ja", "[\u3041-\u30fa]"),
    ("ko", "[\uac00-\ud7a3\u1100-\u11ff]"),
    ("zh", "[\u3400-\u4dbf\u4e00-\u9fff]"),
    ("ru", "[\u0400-\u052f]"),
    ("ar", "[\u0600-\u06ff\u0750-\u077f]"),
    ("he", "[\u0590-\u05ff]"),
    ("el", "[\u0370-\u03ff]"),
    ("hi", "[\u0900-\u097f]"),
    ("bn", "[\u0980-\u09ff]"),
    ("pa", "[\u0a00-\u0a7f]"),
    ("gu", "[\u0a80-\u0aff]"),
    ("ta", "[\u0b80-\u0bff]"),
    ("te", "[\u0c00-\u0c7f]"),
    ("kn", "[\u0c80-\u0cff]"),
    ("ml", "[\u0d00-\u0d7f]"),
    ("si", "[\u0d80-\u0dff]"),
    ("th", "[\u0e00-\u0e7f]"),
    ("my", "[\u1000-\u109f]"),
    ("ka", "[\u10a0-\u10ff]"),
    ("hy", "[\u0530-\u058f]"),
    ("am", "[\u1200-\u137f]"),
    ("km", "[\u1780-\u17ff]"),
)
_ASCII: Final = re.compile("[\x00-\x7f]+")
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")
_WORDS: Final = re.compile(r"[^\W\d_]+")

# Words that are frequent in one language and rare in its neighbours.
FUNCTION_WORDS: Final = {
    "en": "the of and to is was that for with are this it by from not".split(),
    "de": "der die und das ist nicht ein eine mit von den auf für dem sich auch werden um im zum bis sind wird".split(),
    "fr": "le la les de des et est une dans pour qui que du pas sur avec sont cette".split(),
    "es": "el la los las de y una es por con del para como más pero fue su".split(),
    "pt": "o os as de um uma não em para com do da dos das é foi mais ao".split(),
    "it": "il la gli di che è una per con del della sono nel alla anche non".split(),
    "nl": "het een van en niet op zijn dat voor met aan ook wordt deze".split(),
    "sv": "och att det som en är på av för inte med till den ett".split(),
    "da": "og at det er en af på til ikke med der som var et blev".split(),
    "no": "og det er på av som til ikke med en jeg ble seg å ved".split(),
    "fi": "ja on ei että se oli hän mutta joka ovat kun myös".split(),
    "pl": "i w na nie się z jest do że to jak przez oraz był".split(),
    "cs": "a je se na že v není byl jako by ale který jsou".split(),
    "ro": "și de la în este un o cu pe nu care din pentru".split(),
    "hu": "a az és hogy nem egy is van volt meg ez csak".split(),
    "tr": "ve bir bu için ile da de olarak değil çok olan".split(),
    "id": "yang dan di dengan untuk tidak ini dari adalah pada itu".split(),
    "vi": "và là của có không được cho một trong người những".split(),
}
ENGLISH_TOO: Final = frozenset(
    "a an is in on as at by or be do no so me we he she i you was die van del all am are has have had his her its but "
    "if up one use par con sin ten pro per most more than then man art for it of to the".split()
)
"""Words of other languages that are also English; they alone do not determine a language."""

_LANGUAGES_OF: Final[dict[str, list[str]]] = {}
for _language, _listed in FUNCTION_WORDS.items():
    for _word in _listed:
        _LANGUAGES_OF.setdefault(_word, []).append(_language)

_NEWLINE: Final = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_MARKER: Final = re.compile(
    r"(?:[-*+\u2022\u2023\u25e6\u25aa\u25cf\u2043\u2013\u2014\u00b7>]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})\)"
    r"|\d{1,3}(?:\.\d{1,3}){0,3}\.?(?<=\.)|[a-z]\.|[ivx]{1,5}\.)(?:\s+|$)"
)
_RULE: Final = re.compile(r"[\W_]+")
_HEADING: Final = re.compile(r"#{1,6}(?:\s|$)")
_BARE_MARKER: Final = re.compile(r"\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]")
_CITED: Final = r"(?:[A-Za-z]{1,10}[ _:#.-]?)?\d{1,4}"
_CITATIONS: Final = re.compile(
    rf"(?:\s{{0,3}}(?:\[\s?\^?{_CITED}(?:\s?[,;\u2013-]\s?{_CITED}){{0,20}}\s?\]|\u3010[^\u3011\n]{{1,40}}\u3011"
    r"|\[citation needed\]|[\u00b9\u00b2\u00b3\u2070-\u2079]{1,6}))+[.,;]?"
)
_CJK_END: Final = re.compile("[\u3002\uff01\uff1f\uff61]+[\u300d\u300f\u201d\u2019\uff09\u3011)\"']*")
_STOP: Final = re.compile(r"[^\w\s,;:()\[\]{}\"'/\\@#$%&*+=<>\u3001\u3002\u300c\u300d\uff01\uff1f\uff0c-]")
_CJK: Final = re.compile("[\u3041-\u30fa\u3400-\u4dbf\u4e00-\u9fff]")
_FORCED: Final = re.compile(r"(?:(?<=[^\W\d_]{3}[.!?])[)\]]|\bт\.\s?[дп]\.|(?<=\d )[dghlms]\.)\s+(?=[^\W\d_])")
_FORCING: Final = (")", "]", "т.", " d.", " g.", " h.", " l.", " m.", " s.")
"""Substrings without which ``_FORCED`` cannot match: brackets after a sentence end, abbreviations, one-letter units."""
_LAST_WORD: Final = re.compile(r"(?:^|[\s(\[\"'\u00ab\u201c])((?:[^\W_]{1,8}\.){1,4})$")

# Abbreviations that do not end a sentence if lower case or a number follows.
_ABBREVIATIONS: Final = frozenset(
    "approx etc vs fig figs no nos vol pp ed eds al ca cf dept est inc ltd co corp mr mrs ms dr st jr sr prof gen col "
    "sen rep gov sgt capt lt rev hon max min avg incl resp eq sec ch art para "
    "abs bd bzw ca chr usw evtl ggf inkl kap nr str tel vgl sog mio mrd "
    "г гг в вв ул д стр рис им тыс млн млрд трлн руб коп см др пр проф акад чел обл р н э кв корп оз".split()
)
# Titles and similar words, which never end a sentence.
_NEVER_LAST: Final = frozenset(
    "mr mrs ms dr prof rev hon sgt capt vs fig figs cf bzw inkl vgl ü им ул проф акад".split()
)
_DAY: Final = re.compile(r"(?:^|\s)(?:ab|am|bis|dem|den|der|seit|vom|zum)\s\d{1,2}\.$", re.IGNORECASE)
_MONTH: Final = re.compile(
    r"(?:Jan|Febr)uar\b|M\u00e4rz\b|April\b|Mai\b|Ju[nl]i\b|August\b|(?:Septem|Okto|Novem|Dezem)ber\b"
)
"""With `_DAY`, matches German dates, even in texts too short to detect the language."""

_TOO_LONG: Final = max(map(len, _NEVER_LAST)) + 1
"""Longer than any of these words."""
_ASCII_LETTERS: Final = "".join(chr(code) if chr(code).isalpha() else " " for code in range(128))
"""A table for ``str.translate`` that replaces all ASCII characters except letters with spaces."""

_QUOTES: Final = str.maketrans(dict.fromkeys('"\u201c\u201d', "_"))
_UNFIT: Final = re.compile("[\ud800-\udfff]|[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000](?=\\s*\\.)")
"""Matches what sentencex cannot read: half of a character; a wide space before a full stop, where it may panic."""


def language_of(text: str) -> str:
    """Return the language of a text as an ISO 639-1 code, from its script and function words; ``en`` if in doubt.

    Accurate enough to choose a sentence splitter or stemmer; related languages with the same script may be confused.
    Reads only the first 4,000 characters.
    """
    return _detected(text[:SAMPLE])


@lru_cache(maxsize=1024)  # the records in flight, since the language of each is needed several times
def _detected(head: str) -> str:
    if head.isascii():
        return _latin_language(head)
    other = _ASCII.sub("", head)
    counts = {language: len(re.findall(script, other)) for language, script in _SCRIPTS}
    best = max(counts, key=lambda language: counts[language])
    if not counts[best]:  # accents and quotation marks only: no need to count the letters
        return _latin_language(head)
    latin = len(_LATIN.findall(head))
    if counts["ja"] and counts["ja"] + counts["zh"] > latin:
        return "ja"
    if counts[best] <= latin:
        return _latin_language(head)
    if best == "ru" and re.search("[іїєґІЇЄҐ]", head):
        return "uk"
    if best == "ar" and re.search("[پچژگ]", head):
        return "fa"
    return best


ENGLISH: Final = "en"
_CODE: Final = re.compile(r"[a-z]{2,3}(?![a-z])")


def record_language(meta: Mapping[str, Any], question: str | None, response: str | None) -> str:
    """Return the language of a record: the code in ``lang`` (or ``language``), else detected in its texts."""
    given = meta.get("lang", meta.get("language"))
    code = _CODE.match(given.strip().lower()) if isinstance(given, str) else None
    return code[0] if code else language_of(f"{question or ''}\n{response or ''}")


def _latin_language(head: str) -> str:
    hits = dict.fromkeys(FUNCTION_WORDS, 0)
    own = {"en"}
    low = head.lower()
    # For ASCII, translating and splitting finds the same words in a quarter of the time.
    words = low.translate(_ASCII_LETTERS).split() if low.isascii() else _WORDS.findall(low)
    for word, count in Counter(filter(_LANGUAGES_OF.__contains__, words)).items():
        for language in _LANGUAGES_OF[word]:
            hits[language] += count
        if word not in ENGLISH_TOO:
            own.update(_LANGUAGES_OF[word])
    best = "en"
    for language, count in hits.items():
        # Otherwise short English texts are mistaken for others: "a" and "is" are also Hungarian.
        if count > hits[best] and count >= 2 and language in own:
            best = language
    return best


@lru_cache(maxsize=64)
def sentences(text: str, language: str | None = None) -> tuple[Span, ...]:
    """Return the sentences of a text as trimmed spans, in order and without overlap, separated only by white space.

    A heading, a table row or a line of code is one sentence. A list item with several sentences is split; its marker
    stays with the first. Lines of hard-wrapped prose are joined. Citation markers such as ``[1]`` or ``[doc3]`` stay
    with the preceding sentence. ``language`` is an ISO 639-1 code, detected if not given. Never raises.
    """
    if not text or text.isspace():
        return ()
    code = (language or language_of(text)).partition("-")[0].lower()
    clean = text if text.isascii() else _UNFIT.sub(lambda found: " " if found[0].isspace() else "\ufffd", text)
    spans: list[Span] = []
    for start, end, whole in _blocks(clean):
        if whole:
            spans.append(Span(start, end))
        else:
            spans.extend(_prose(clean, start, end, code))
    return tuple(spans)


def parts(text: str, spans: Sequence[Span], tokens: int) -> tuple[range, ...]:
    """Group adjacent sentences into parts of at most about ``tokens`` tokens, as ranges of indexes into ``spans``.

    Every sentence is in exactly one part; one longer than ``tokens`` forms its own part. Tokens are estimated: four per
    three words, one per ideograph, and at least one per five characters.
    """
    found: list[range] = []
    first, held = 0, 0.0
    for index, span in enumerate(spans):
        size = _tokens(text[span.start : span.end])
        if index > first and held + size > tokens:
            found.append(range(first, index))
            first, held = index, 0.0
        held += size
    if first < len(spans):
        found.append(range(first, len(spans)))
    return tuple(found)


def division(given: object) -> tuple[str, ...]:
    """Return the sentences of a given list of strings; empty if it is not such a list or all are blank."""
    texts = given if isinstance(given, list) and all(isinstance(item, str) for item in given) else []
    return tuple(text or " " for text in texts) if any(map(str.strip, texts)) else ()


def located(text: str, given: Sequence[str]) -> tuple[Span | None, ...]:
    """Return the spans of given sentences in their text, in order, ignoring differences in white space.

    The span of a sentence that is blank or not found is None.
    """
    if not given:  # the usual case; the text may be long
        return ()
    places = [at for at, char in enumerate(text) if not char.isspace()]
    solid = "".join(text.split())
    found: list[Span | None] = []
    at = 0
    for sentence in given:
        wanted = "".join(sentence.split())
        start = solid.find(wanted, at) if wanted else -1
        if start >= 0:
            at = start + len(wanted)
        found.append(Span(places[start], places[at - 1] + 1) if start >= 0 else None)
    return tuple(found)


def words_in(text: str) -> int:
    """Return the number of words in a text: words separated by white space, and each ideograph."""
    if text.isascii() or not _CJK.search(text):
        return len(text.split())
    return sum(any(map(str.isalnum, word)) for word in _CJK.sub(" x ", text).split())


def _tokens(text: str) -> float:
    return max(len(text.split()) * 4 / 3, len(text) / 5) + (0 if text.isascii() else len(_CJK.findall(text)) * 0.8)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every line, trimmed; blank lines are included as empty."""
    if _is_one_line(text):
        yield _trim(text, 0, len(text))
        return
    position = 0
    for found in _NEWLINE.finditer(text):
        yield _trim(text, position, found.start())
        position = found.end()
    yield _trim(text, position, len(text))


def _is_one_line(text: str) -> bool:
    """Return whether a non-empty text is a single line; ``splitlines`` is ten times faster than a regex search."""
    return text.splitlines() == [text]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    bare = piece.lstrip()
    start += len(piece) - len(bare)
    return start, start + len(bare.rstrip())


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield blocks of text that no sentence crosses: (start, end, whether the block is one sentence)."""
    fence = ""
    paragraph: list[tuple[int, int]] = []
    for start, end in _lines(text):
        line = text[start:end]
        ticks = line[:3] if line.startswith(("```", "~~~")) else ""
        whole = bool(fence or ticks or (line and _alone(line)))
        if whole or not line or _MARKER.match(line):
            yield from _paragraph(text, paragraph)
            paragraph = []
        if whole and line:
            yield start, end, True
        elif line:
            paragraph.append((start, end))
        if fence or ticks:
            fence = ticks if not fence else ("" if ticks == fence else fence)
    yield from _paragraph(text, paragraph)


def _alone(line: str) -> bool:
    """Return whether a line is a heading (or entirely bold), a table row or a rule."""
    if len(line) > 2000:
        return False
    bold = line.startswith("**") and line.rstrip(":").endswith("**") and line.count("**") == 2
    return (
        bool(_HEADING.match(line))
        or (line.startswith("|") and line.count("|") > 1)
        or line.count(" | ") > 1
        or line.count("\t") > 1
        or bool(_RULE.fullmatch(line))
        or bold
    )


def _paragraph(text: str, lines: list[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """Join adjacent lines that were broken only to limit their width.

    This is assumed if the next line's first word would not have fit, measured by the longest line, or starts in lower
    case. A line that ends in a colon is never joined with the next.
    """
    if not lines:
        return
    width = max(end - start for start, end in lines)
    begin = lines[0][0]
    for (start, end), (after, stop) in pairwise(lines):
        head = text[after : min(stop, after + 64)].split(None, 1)[0]
        full = width >= 30 and end - start + 1 + len(head) > width
        small = width >= 30 and end - start >= 20 and head[0].islower()
        bare = end - start < 8 and _BARE_MARKER.fullmatch(text, start, end)
        if not bare and (text[end - 1] == ":" or not (full or small)):
            yield begin, end, False
            begin = after
    yield begin, lines[-1][1], False


def _prose(text: str, start: int, end: int, language: str) -> Iterator[Span]:
    """Yield the sentences of one block."""
    marker = _MARKER.match(text, start, end)
    inner = marker.end() if marker else start
    if inner >= end:
        yield Span(start, end)
        return
    flat = text[inner:end]
    if not _is_one_line(flat):
        flat = _NEWLINE.sub(lambda found: " " * len(found[0]), flat)
    if flat.count('"') % 2:
        flat = flat.translate(_QUOTES)
    cuts = _cuts(flat, language)
    pieces = [_trim(flat, left, right) for left, right in pairwise((0, *cuts, len(flat)))]
    joined = _mend(flat, [piece for piece in pieces if piece[0] < piece[1]])
    for index, (left, right) in enumerate(joined):
        yield Span(start if index == 0 else inner + left, inner + right)


def _cuts(flat: str, language: str) -> list[int]:
    """Return the sentence ends in ascending order, before corrections."""
    cuts = {found.end() for found in _CJK_END.finditer(flat)} if not flat.isascii() else set()
    # The search takes as long as everything else, and few texts can match.
    for found in _FORCED.finditer(flat) if any(map(flat.__contains__, _FORCING)) else ():
        if flat[found.end()].isupper():
            cuts.add(found.end())
    edges = sorted({0, len(flat), *cuts})
    for left, right in pairwise(edges):
        cuts.update(_split(flat, left, right, language))
    return sorted(cut for cut in cuts if 0 < cut < len(flat))


def _split(flat: str, left: int, right: int, language: str) -> Iterator[int]:
    """Yield the sentence ends found by sentencex, in windows, so that the time stays linear."""
    if right - left < 3 or not _STOP.search(flat, left, right):
        return
    from sentencex import segment  # noqa: PLC0415 - not everyone who imports needs it

    window = WINDOW
    while left < right:
        stop = min(right, left + window)
        ends = list(accumulate(map(len, segment(language, flat[left:stop])), initial=left))[1:]
        if stop < right:
            ends = [end for end in ends[:-1] if end < stop - 64]
        if ends:
            yield from ends
            left, window = ends[-1], WINDOW
            if stop == right:
                return
        elif stop == right:
            return
        elif window < LONGEST:
            window *= 2
        else:
            blank = re.compile(r"\s").search(flat, stop, right)
            if not blank:
                return
            left, window = blank.start(), WINDOW
            yield left


def _mend(flat: str, pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join pieces that were split after an abbreviation or a bare list marker, or before a citation marker."""
    done: list[tuple[int, int]] = []
    for start, end in pieces:
        left = start
        if done:
            before, until = done[-1]
            cited = _CITATIONS.match(flat, left, end)
            if cited and not _is_bare(flat, before, until):
                done[-1] = (before, cited.end())
                left, _ = _trim(flat, cited.end(), end)
                if left >= end:
                    continue
            elif _is_bare(flat, before, until) or _continues(flat, until, left) or _RULE.fullmatch(flat, left, end):
                done[-1] = (before, end)
                continue
        done.append((left, end))
    return done


def _is_bare(flat: str, start: int, end: int) -> bool:
    return end - start < 8 and bool(_BARE_MARKER.fullmatch(flat, start, end))


def _continues(flat: str, until: int, left: int) -> bool:
    """Return whether a sentence continues after a cut, because an abbreviation or the day of a date precedes it."""
    if flat[until - 1] != ".":
        return False
    if flat[until - 2].isdecimal() and _MONTH.match(flat, left) and _DAY.search(flat[max(0, until - 12) : until]):
        return True
    follows = flat[left]
    goes_on = follows.islower() or follows.isdecimal()
    # The usual case: a word too long to be a title, followed by a capital letter.
    if not goes_on and flat[max(0, until - 1 - _TOO_LONG) : until - 1].isalpha() and until > _TOO_LONG:
        return False
    found = _LAST_WORD.search(flat[max(0, until - 24) : until])
    if not found:
        return False
    word = found[1][:-1].lower()
    dotted = "." in word or (len(word) == 1 and word.isalpha())
    if word in _NEVER_LAST:
        return True
    return (follows.islower() and (dotted or word in _ABBREVIATIONS)) or (
        follows.isdecimal() and word in _ABBREVIATIONS and word not in {"etc", "г", "др"}
    )


def folded(text: str) -> str:
    """Return a text without case, extra white space and final punctuation, to find texts with the same words.

    Empty for a text that is only punctuation. Idempotent.
    """
    return " ".join(text.casefold().split()).rstrip(ENDS)


def shortened(text: str, most: int = SHOWN) -> str:
    """Return a text on one line of at most so many characters, with an ellipsis if it is cut."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else cut(flat, most - 1) + "\u2026"


def cut(text: str, end: int) -> str:
    """Return the text up to ``end``, which it exceeds, or to a word or bracket that starts near there."""
    head = text[:end]
    space = head.rfind(" ")
    if text[end] != " " and space > end * 2 // 3:  # the cut is inside a word
        head = head[:space]
    bracket = head.rfind(" (")
    if bracket > max(head.rfind(")"), end * 2 // 3):  # it would stay unclosed
        head = head[:bracket]
    return head.rstrip(" ,.;:")
