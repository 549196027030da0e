"""Parts of a reply that repeat its prompt: placeholders such as ``<label>``, and the prompt's words.

Neither is ever an answer. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

_PLACE: Final = r"<[^<>\n]{1,80}>"
_PLACES: Final = re.compile(_PLACE)
_PLACEHOLDER: Final = re.compile(rf"[\s\"'`\u201c\u201d]*(?:{_PLACE}|[.\u2026]+)[\s\"'`\u201c\u201d]*")
_UNFILLED: Final = re.compile(r"<([^\W\d_][^<>/\n]{0,79})>(?=\s*[^\w\s<]|\s+\d)(?![^<]*</)")
"""A placeholder in a form that was not filled in; an element of XML holds a word or closes."""
_CODE: Final = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_FORM: Final = re.compile(rf"^.*(?:{_PLACE}|\{{\")", re.MULTILINE)
"""The first line of a prompt that shows the form of its answer."""
_WORD: Final = re.compile(r"\w+")
UNFILLED: Final = "\u2991"
"""What a placeholder begins with where it cannot be taken for XML."""
FEWEST: Final = 3
"""Words from which on a text is the prompt's; fewer may be anybody's."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a prompt template: its placeholders, what it says from the first of them on, all of it, its lines.

    Lines are those of prose. What stands before the first placeholder is rules and the meanings of labels: a reason
    may well be put in those words.
    """

    places: frozenset[str] = frozenset()
    form: str = ""
    whole: str = ""
    lines: frozenset[str] = frozenset()

    @classmethod
    def of(cls, template: str) -> Self:
        """Build from the text of a Jinja template."""
        text = _CODE.sub(" ", template)
        form = _FORM.search(text)
        return cls(
            frozenset(_words(place) for place in _PLACES.findall(text) if _WORD.search(place)),
            _words(text[form.start() :]) if form else "",
            _words(text),
            frozenset(line for line in map(str.strip, text.splitlines()) if line[:1].isalpha()),
        )

    def shows(self, text: str) -> bool:
        """Return whether a text is a placeholder, bracketed or bare, or repeats the form of an answer."""
        return self._is(text, self.form)

    def says(self, text: str) -> bool:
        """Return whether a text is a placeholder or the prompt's, wherever it stands in it."""
        return self._is(text, self.whole)

    def left_out(self, reply: str) -> str:
        """A reply without the lines that are the prompt's."""
        return "\n".join(line for line in reply.splitlines() if line.strip() not in self.lines)

    def _is(self, text: str, wording: str) -> bool:
        words = _words(text)
        said = words.count(" ") > FEWEST and words in wording
        return said or words in self.places or is_placeholder(text)


def is_placeholder(text: object) -> bool:
    """Return whether a value is ``<anything>`` or dots, and nothing else."""
    return isinstance(text, str) and _PLACEHOLDER.fullmatch(text) is not None


def without_placeholders(text: str) -> str:
    """The text with the brackets of what was not filled in made such that no reader takes them for XML."""
    return _UNFILLED.sub(f"{UNFILLED}\\1\u2992", text) if "<" in text else text


def _words(text: str) -> str:
    """The words of a text between single blanks, with one before and one behind."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
