"""The statements of a passage: its prose without headings, menus and torn lines, each put to stand alone.

Passages are cut from pages, manuals and papers, and much in them only looks like sentences. What gives it away:
no capital at the beginning, no point at the end, a capital where a second sentence begins without a sign, letters
or words that were lost. In doubt a sentence is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from ragstone.judges.embedded.mentions import Topics, resolved, subject_of
from ragstone.judges.embedded.nuggets import apart, nugget_grammar
from ragstone.judges.embedded.standing import stands
from ragstone.judges.embedded.trivial import triviality
from ragstone.judges.embedded.verbs import listed, plain, states, verbs
from ragstone.judges.embedded.wording import put, without_asides
from ragstone.segment import SAMPLE, language_of, sentences

SHORT: Final = 16
"""The words beyond which a statement is also tried without what hangs on its end."""

LONGEST: Final = 600
"""Characters beyond which a sentence is not read."""

_HEADER: Final = re.compile(r"Title: [^\n]{0,300}? Passage: ")
_STRANGE: Final = re.compile(
    r": [A-Z]|,,|\b[Yy]ou['\u2019](?:ve|ll|re|d)\b"
    r"|,\s?\",|\"\s?\",\s?\"|\d-\d{3}-\d|\btoll free\b|https?:|www\.|\S@\S+\.\w"
    r"|[|\u00a9\u00bb\u00ab\u2022\u25ba\u2192\u25cf{}<>\\~^_=]|\.{3}|\u2026|--|[a-z]{5,}[A-Z][a-z]{2,}"
    r"|[a-z\d)][.!?][A-Z][a-z]|&\w{2,6};|#\d|\d\s?[\u2013-]\s?[A-Z][a-z]+\s[A-Z]"
)
_SECTION: Final = re.compile(
    r"(?:introduction|background|abstract|diagnosis|treatment|prevention|symptoms|causes|complications|history"
    r"|conclusions?|results?|methods?|objectives?|discussion|summary|overview|notes?|caution|warning|purpose|aims?"
    r"|findings|important|tip|answer|definition|description|key takeaways)[:.]? (?=[A-Z])",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(
    r"\d{1,3}(?:\s?[,\u2013-]\s?\d{1,3})*\s(?=(?:A|An|The|In|It|Some|Many|Most|For|Although)\s)"
)
_NOTED: Final = re.compile(r"(?<=[a-z]{3}s)\s\d{1,3}$")
_TWICE: Final = re.compile(r"\b(\w{4,40}) (?=\1\b)", re.IGNORECASE)
_AFTER: Final = "\"'\u201d\u2019)] 0123456789[,"
"""What may follow the point that ends a sentence: quotes, brackets, the numbers of notes."""


def statements(passage: str, *, instructing: bool = False) -> Iterator[str]:
    """The statements of a passage that may stand alone; instructions only where they are asked for."""
    language = language_of(passage[:SAMPLE])
    grammar = nugget_grammar(language)
    body = _HEADER.sub("", passage, count=1) if passage.startswith("Title: ") else passage
    last = subject = ""
    topics = Topics()
    seen: set[str] = set()
    for span in sentences(body, language):
        raw = body[span.start : span.end]
        bare = put(_headless(raw), language) if raw not in seen and _readable(raw, language) else ""
        seen.add(raw)
        if not bare or _run_in(bare):
            last = subject = ""
            continue
        if grammar is None:
            if stands(bare, language):
                yield bare
            continue
        whole = resolved(topics.put(without_asides(bare)), last, subject)
        if not whole:
            continue
        named = subject_of(whole)
        topics.note(whole, named)
        last, subject = whole, named or (subject if plain(whole.split(None, 1)[0]) in {"he", "she"} else "")
        for piece, _ in apart(whole, grammar):
            text = _NOTED.sub("", put(piece, language))
            yield from (form for form in (text, _core(text)) if stands(form, language, instructing=instructing))


# ---- what is prose


def _readable(raw: str, language: str) -> bool:
    """Whether a stretch of text is prose: begun and ended as a sentence, without what pages are made up with."""
    text = raw.strip()
    if not 6 <= len(text) <= LONGEST or not text.rstrip(_AFTER).endswith((".", "\u3002")):
        return False
    if _STRANGE.search(text) or triviality(text, language) or text.count('"') % 2 or text.count("(") != text.count(")"):
        return False
    counted = _COUNTED.match(text)
    words = text[counted.end() if counted else 0 :].split()
    if sum(char.isalpha() for char in text) < 0.7 * sum(not char.isspace() for char in text):
        return False
    if any(len(word) == 1 and word.isascii() and word.islower() and word != "a" for word in words):
        return False  # letters that were torn from their words
    if words[0].isdecimal() and len(words) > 2 and words[1][:1].isupper() and words[2][:1].islower():
        return False
    if plain(words[0]) in {"please", "figure", "fig", "table"} or words[0] in {"In,", "The,", "A,"}:
        return False
    large = sum(word[:1].isupper() for word in words)
    shouted = sum(word.isupper() and len(word) > 3 for word in words)
    if shouted > 2 or (len(words) > 6 and large > 0.6 * len(words)):
        return False
    lost = listed("lost")
    return not any(
        before[-1:].isalnum() and ((word in lost and not before[:1].isupper()) or _orders(word, after))
        for before, word, after in zip(words, words[1:], [*words[2:], ""], strict=False)
    )


def _titled(words: Sequence[str]) -> bool:
    """Whether a sentence begins with a heading: many large words, and then neither a verb nor what joins names."""
    run = next((i for i, word in enumerate(words) if not word[:1].isupper()), len(words))
    if run < 5 or run == len(words) or not words[run][:1].isalpha() or words[run - 1].endswith(","):
        return False
    known, low = verbs(), plain(words[run])
    joined = known.auxiliaries | known.sure | known.third | known.past | known.prepositions | known.adverbs
    joined = joined | known.subordinators | {"and", "or", "the", "a", "an", "de", "la"}
    return low not in joined and not low.endswith("ly")


def _orders(word: str, after: str) -> bool:
    """Whether an instruction begins within a sentence: a large verb before an article."""
    if not word[:1].isupper() or after not in {"the", "your", "a"}:
        return False
    return plain(word) in verbs().base | verbs().third | verbs().sure


def _run_in(text: str) -> bool:
    """Whether a second sentence or heading begins within, without a sign before it."""
    words = text.split()
    if len(words) > 2 and words[0].endswith(",") and words[1][:1].isupper() and words[2][:1].isupper():
        return True
    if _titled(words) or (len(words) > 3 and words[:2] == [words[2], words[3].rstrip(",")]):
        return True
    base, lost, begins, lettered = verbs().base, listed("lost"), listed("begins"), listed("lettered")
    if any(
        one[:1].isupper() and one.endswith(",") and {plain(one), plain(other)} <= base
        for one, other in pairwise(words[:6])
    ):
        return True
    return any(
        before[-1:].isalnum()
        and (
            word in begins
            or (word in lost and after[:1].islower())
            or (word in {"A", "An"} and before[:1].islower() and plain(before) not in lettered)
        )
        for before, word, after in zip(words, words[1:], [*words[2:], ""], strict=False)
    )


# ---- what hangs on a statement


def _headless(raw: str) -> str:
    """The sentence without a heading that ran into it, where a repeated or a lost first word gives it away."""
    text = _SECTION.sub("", raw, count=1) if _SECTION.match(raw) else raw
    counted = _COUNTED.match(text)
    text = text[counted.end() :] if counted else text
    twice = _TWICE.search(text[:120])
    if twice and text[twice.end() :][:1].isupper():
        text = text[twice.end() :]
    words = text.split()
    small = {"and", "of", "the", "to", "for", "in", "a"}
    for i in range(1, min(12, len(words) - 3)):
        if not (words[i - 1][:1].isupper() or plain(words[i - 1]) in small):
            break
        if _begins(words, i):
            return " ".join(words[i:])
    return text


def _begins(words: Sequence[str], i: int) -> bool:
    """Whether a sentence begins at a word after nothing but large ones."""
    word, before, then = words[i], words[i - 1], words[i + 1]
    if word in {"A", "An"} and i > 2:
        return plain(before) not in listed("lettered")
    if word == "The" and i > 2 and before[:1].isupper():
        return True
    if i > 1 and (word in listed("begins") or (word in words[:i] and _repeated(words, i))):
        return True
    if i > 1 and word[:1].isupper() and word.endswith("ing") and then in {"the", "a", "an", "your"}:
        return True
    lost = word in listed("lost") or (i > 1 and word[:1].isupper() and word.endswith("ly"))
    return lost and then[:1].islower()


def _repeated(words: Sequence[str], i: int) -> bool:
    """Whether a word stood in a heading before and begins the sentence: ``Using ACC On Hills ACC performance may``."""
    title = words[0] != "The" and all(word[:1].isupper() for word in words[: i + 1])
    return title and len(words[i]) > 2 and words[i + 1][:1].islower()


def _core(text: str) -> str:
    """A long statement without what hangs on its end: ``A, which B`` as ``A``; empty where nothing does."""
    words = text.split()
    if len(words) <= SHORT or plain(words[0]) in {"if", "when", "although", "while", "because"}:
        return ""
    best = 0
    for i in range(6, len(words) - 1):
        loose = words[i - 1].endswith(";") or (words[i - 1].endswith(",") and _hangs(words, i))
        if loose and (i <= SHORT + 4 or not best) and listed("restricting").isdisjoint(map(plain, words[i : i + 4])):
            best = i
    head = " ".join(words[:best]).rstrip(",;")
    return head if head.count("(") == head.count(")") and head.count('"') % 2 == 0 else ""


def _hangs(words: Sequence[str], i: int) -> bool:
    """Whether what begins after a comma can be left out and the rest stays true."""
    low, rest = plain(words[i]), words[i + 1 :]
    if low in {"and", "but", "so", "while", "although", "though", "whereas"}:
        return states(" ".join(rest))
    if low in {"a", "an", "the", "as", "with", "because", "since"}:
        return not any(word.endswith(",") for word in rest)
    return low in listed("hanging")
