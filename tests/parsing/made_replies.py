"""Replies made from labels: every format that a model may answer in, and what models put around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

MANNERS: Final[Sequence[Callable[[str], str]]] = (
    lambda reply: reply,
    lambda reply: f"```json\n{reply}\n```",
    lambda reply: f"~~~\n{reply}\n~~~\n",
    lambda reply: f"Here are the labels:\n\n{reply}",
    lambda reply: f"{reply}\n\nLet me know if anything is unclear.",
    lambda reply: f"<think>First [1], then (2): 'no' or {{maybe}}, | or\n1. {{\n</think>\n{reply}",
    lambda reply: f"The first draft is long gone.</think>\n{reply}",
    lambda reply: f"<reasoning>\n1.\n   nugget: a\n   decision: support\n</reasoning>\n{reply}",
    lambda reply: f"Вот ответ:\n\n{reply}\n\nГотово.",
    lambda reply: f"\ufeff{reply}\r\n",
)
"""What models put around an answer."""

PIECES: Final = (
    "The passage says so", "as sentence 2 has it", "[", "]", "{", "}", "(", ")", '"', "'", "`", "\u201c", "\u201d", ",",
    ":", ";", ".", "|", "\t", "\n", "\n\n", "- ", "* ", "1. ", "2) ", "0: ", "#3 ", "| --- |", "<label>", "</label>",
    "<think>", "</think>", "```",
    "//", "#", "\\", "...", "number,label", "label: ", "{'a': 1}", "[1]", "null", "\u200b",
)  # fmt: skip
"""Pieces that hold no label, of which noise is made."""
