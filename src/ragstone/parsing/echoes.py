"""Recognize parts of a reply that repeat its prompt: placeholders such as ``<label>``, and the prompt's words.

Neither is ever an answer. Pure.
"""

from __future__ import annotations

import re
from typing import Final, Self

from msgspec import Struct

_PLACE: Final = r"<[^<>\n]{1,80}>"
_PLACES: Final = re.compile(_PLACE)
_PLACEHOLDER: Final = re.compile(rf"[\s\"'`\u201c\u201d]*(?:{_PLACE}|[.\u2026]+)[\s\"'`\u201c\u201d]*")
_UNFILLED: Final = re.compile(r"<([^\W\d_][^<>/\n]{0,79})>(?=\s*[^\w\s<]|\s+\d)(?![^<]*</)")
"""Matches a placeholder that was not filled in, as opposed to an XML element, which has content or a closing tag."""
_CODE: Final = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_FORM: Final = re.compile(rf"^.*(?:{_PLACE}|\{{\")", re.MULTILINE)
"""Matches the first line of a prompt that shows the form of the answer."""
_WORD: Final = re.compile(r"\w+")
UNFILLED: Final = "\u2991"
"""Replaces the opening bracket of a placeholder, so that no reader takes it for XML."""
FEWEST: Final = 3
"""A text repeats the prompt only if more than this many words match: fewer may match by chance."""


class Wording(Struct, frozen=True):
    """The words of a prompt template: placeholders (``places``), the ``form`` of the answer, all words, lines of prose.

    ``form`` is the text from the line of the first placeholder on. The text before it consists of rules and the
    meanings of labels, whose words may well appear in a reason.
    """

    places: frozenset[str] = frozenset()
    form: str = ""
    whole: str = ""
    lines: frozenset[str] = frozenset()

    @classmethod
    def of(cls, template: str) -> Self:
        """Extract the words from the text of a Jinja template."""
        text = _CODE.sub(" ", template)
        form = _FORM.search(text)
        return cls(
            frozenset(_words(place) for place in _PLACES.findall(text) if _WORD.search(place)),
            _words(text[form.start() :]) if form else "",
            _words(text),
            frozenset(line for line in map(str.strip, text.splitlines()) if line[:1].isalpha()),
        )

    def shows(self, text: str) -> bool:
        """Return whether a text is a placeholder, with or without brackets, or repeats the form of the answer."""
        return self._is(text, self.form)

    def says(self, text: str) -> bool:
        """Return whether a text is a placeholder or repeats any part of the prompt."""
        return self._is(text, self.whole)

    def left_out(self, reply: str) -> str:
        """Return a reply without lines copied from the prompt."""
        return "\n".join(line for line in reply.splitlines() if line.strip() not in self.lines)

    def _is(self, text: str, wording: str) -> bool:
        words = _words(text)
        said = words.count(" ") > FEWEST and words in wording
        return said or words in self.places or is_placeholder(text)


def is_placeholder(text: object) -> bool:
    """Return whether a value is only ``<anything>`` or dots."""
    return isinstance(text, str) and _PLACEHOLDER.fullmatch(text) is not None


def without_placeholders(text: str) -> str:
    """Return the text with the brackets of placeholders replaced, so that no reader takes them for XML."""
    return _UNFILLED.sub(f"{UNFILLED}\\1\u2992", text) if "<" in text else text


def _words(text: str) -> str:
    """Return the words of a text separated by single spaces, with one space before and after."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
