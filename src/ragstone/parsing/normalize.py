"""A reply without the dress that hides its labels: wide letters, invisible signs, TeX, escapes, what is struck out."""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache
from typing import Final

_BOXED: Final = re.compile(r"\$*\\(?:boxed|fbox)\s*\{((?:[^{}]|\{[^{}]*\})*)\}\$*")
_COMMAND: Final = re.compile(r"\$?\\(?:text|textbf|textit|texttt|mathrm|mathbf|emph)\s*\{([^{}]*)\}\$?")
_ESCAPED: Final = re.compile(r"\\([_*#~-])")
_STRUCK: Final = re.compile(r"~~[^~\n]{1,200}~~")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_DRESSED: Final = re.compile(r"[^\x00-\x7f]|\\[\w*#~-]|~~|<!|<br|&lt;", re.IGNORECASE)
_INVISIBLE: Final = frozenset(("Cf", "Mn", "Me"))


@lru_cache(maxsize=512)
def plain(text: str) -> str:
    """The same words as plain letters. Takes time linear in the text."""
    if not _DRESSED.search(text):
        return text
    if not text.isascii():
        # Accents stay, being letters' own; what is dropped are joiners, marks of direction and the boxes of keycaps.
        text = unicodedata.normalize("NFKC", text).replace("\u3001", ",")
        text = "".join(char for char in text if char.isascii() or not _invisible(char))
    if "&lt;" in text and "<" not in text:
        text = html.unescape(text)
    text = text.replace("<![CDATA[", "").replace("]]>", "")
    text = _COMMENT.sub(" ", text)
    text = _STRUCK.sub("", text)
    text = _BREAK.sub(" \u2014 ", text)
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
        text = _COMMAND.sub(r"\1", text)
        text = _BOXED.sub(r"\nanswer: \1\n", text)
        text = _COMMAND.sub(r"\1", text)
    return text


@lru_cache(maxsize=4096)
def _invisible(char: str) -> bool:
    return unicodedata.category(char) in _INVISIBLE and char not in "\u0301\u0306"
