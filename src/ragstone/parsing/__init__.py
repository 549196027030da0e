"""Parse objects and labels from completions. Pure; raises only ParseError, and takes time linear in the text."""

from __future__ import annotations

from ragstone.parsing.echoes import Wording, is_placeholder
from ragstone.parsing.label_rows import FORMATS, LABEL_FORMATS, Format
from ragstone.parsing.label_words import Words, words_of
from ragstone.parsing.labels import Parsed, Status, parse_labels, read_labels
from ragstone.parsing.objects import read_object, rest_of
from ragstone.parsing.quotes import locate
from ragstone.parsing.reasoning import Thought, read_block, strip_reasoning
from ragstone.parsing.retractions import taken_back

__all__ = [
    "FORMATS", "LABEL_FORMATS", "Format", "Parsed", "Status", "Thought", "Wording", "Words", "is_placeholder",
    "locate", "parse_labels", "read_block", "read_labels", "read_object", "rest_of", "strip_reasoning", "taken_back",
    "words_of",
]  # fmt: skip
