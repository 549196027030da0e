"""Completion text to objects and labels. Pure; raises ParseError and nothing else, in time linear in the text."""

from __future__ import annotations

from ragstone.parsing.objects import read_object
from ragstone.parsing.quotes import locate
from ragstone.parsing.reasoning import strip_reasoning

__all__ = ["locate", "read_object", "strip_reasoning"]
