"""Which sentences state nothing that could be supported: greetings, headings, announcements, questions back.

So does one that says that there is no answer, without a word on what is missing.
Conservative: whatever holds a number, or is long, is taken to state something, and so is what holds a name, but for
"I don't know who A was" and for headings that are a title ("History of the Roman Empire"). A heading with a verb
states something, as far as verbs are known (English), and so does what a courtesy goes on with after a comma.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ragstone.judges.embedded.abstaining import Abstention, abstention, begins_ignorant, leads, names
from ragstone.judges.embedded.stated import told
from ragstone.judges.embedded.verbs import listed, states
from ragstone.judges.embedded.words import NAME, NUMBER, Token, listed_phrases, tokens_of
from ragstone.segment import FUNCTION_WORDS

_ENDS: Final = (
    " \t\r\n\u00a0#*_`>~-\u2013\u2014\u2022.!,:;\u2026\u3002\uff01\uff0c\uff1a()[]\"'\u00ab\u00bb\u201c\u201d"
)
_CITATION: Final = re.compile(r"\[[^\[\]\n]{1,24}\]")
NO_ANSWER: Final = "says that there is no answer"
_IGNORANT: Final = 16  # words of a sentence that may say no more than that its speaker does not know something
_LONGEST: Final = 30  # words from which on a sentence is never trivial
_HEADING: Final = 12  # words that a heading may have
_LABEL: Final = 3  # words of a heading that is a label even with a name: "The Roman Empire"
_ALTERNATIVE: Final = 5
"""Words of an offer that is one of several: "let me know if you need help with setup, cleaning, or storage"."""

_ASKING: Final = frozenset({"what", "which", "who", "whom", "whose", "where", "when", "why", "how", "if", "whether"})
_PIECE: Final = re.compile(r"[^!.,;]*\w[^!.,;]*")
_PAUSE: Final = re.compile(r"[,;:.!?](?=\s)|[\uff0c\uff1b\u3002\uff01\uff1f]|\s[-\u2013]\s|\u2014")
_JOINER: Final = re.compile(r"(?:(?:and|or|so|but|then|please|just|also|und|et|y|e|и)\s+)*")


def _unanswering(parts: Abstention, tokens: Sequence[Token], language: str) -> bool:
    """Whether a sentence that abstains says no more than that; "I don't know who A was" does not, if it is short."""
    if names(parts.besides, language):
        return False
    if not names(parts.topic, language):
        return True
    short = len(tokens) <= _IGNORANT and not any(token.kind == NUMBER for token in tokens)
    return parts.personal and short and begins_ignorant(parts.topic)


def _courteous(plain: str, language: str) -> bool:
    """Whether a sentence begins with a courtesy and does not go on to anything else."""
    starts = listed_phrases("trivial_starts", language, "en")
    start = max((phrase for phrase in starts if plain.startswith(phrase)), key=len, default="")
    _, *more = (piece.strip(_ENDS) for piece in _PAUSE.split(plain[len(start) :]))
    if len(more) > 1 and more[-1].startswith("or "):
        more = [piece for piece in more if len(piece.split()) > _ALTERNATIVE]
    polite = starts + listed_phrases("courtesies", language, "en")
    return start != "" and all(
        not piece or _said(piece) or piece.startswith(polite) or _JOINER.sub("", piece, 1).startswith(polite)
        for piece in more
    )


def _said(plain: str) -> bool:
    """Whether a stretch is one of the known greetings and labels."""
    return plain in listed_phrases("trivial")


def _stating(bare: str, tokens: Sequence[Token], language: str, *, named: bool) -> bool:
    """Whether what is set as a heading is a statement: it has a verb, or holds a name and is no title."""
    words = [word for raw in bare.replace("\u2019", "'").split() if (word := raw.strip(_ENDS))]
    if words[0].casefold() in _ASKING:
        return False
    if language == "en" and states(" ".join(words)):
        return True
    small = listed("prepositions determiners", language).union(FUNCTION_WORDS.get(language, ()))
    title = not any(word[0].islower() and word not in small for word in words)
    return named and len(tokens) > _LABEL and not title


def triviality(text: str, language: str) -> str:
    """Why a sentence states nothing, in a word or two; empty if it may state something."""
    if len(text) > 400:
        return ""
    bare = _CITATION.sub(" ", text).strip()
    tokens = tokens_of(bare, language)
    if not tokens or not any(c.isalpha() for c in bare):
        return "" if any(token.kind == NUMBER for token in tokens) else "no words"
    parts = abstention(bare, language)
    if parts is not None and _unanswering(parts, tokens, language):
        return NO_ANSWER
    if len(tokens) > _LONGEST:
        return ""
    plain = " ".join(bare.replace("\u2019", "'").casefold().strip(_ENDS).split())
    if _said(plain.replace(",", "")) or all(_said(piece.strip(_ENDS)) for piece in _PIECE.findall(plain)):
        return "greeting or label"
    if any(token.kind == NUMBER for token in tokens):
        return ""
    named = any(token.kind == NAME and len(token.stem) > 1 for token in tokens)  # "I" and "I'm" are no names
    if not named and _courteous(plain, language):
        return "courtesy"
    end = bare.rstrip("*_ ")[-1:]
    heading = bare.startswith("#") or (bare.startswith("**") and bare.endswith(("**", "**:")))
    heading = heading and len(tokens) <= _HEADING and end not in ".!?\u3002"
    if heading and not _stating(bare, tokens, language, named=named):
        return "heading"
    if end not in "?\uff1f" and leads(bare, language):
        return "lead-in"
    if end in ":\uff1a":
        announced = len(tokens) <= 4 or any(
            phrase in plain for phrase in listed_phrases("announcements", language, "en")
        )
        return "heading of a list" if announced else ""
    if end in "?\uff1f" and not named and not told(bare, language):
        return "question"
    return ""
