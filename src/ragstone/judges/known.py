"""A judge that can be named, as it is told to people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownJudge:
    """How it is named, where it answers, which variable holds its key and whether that is set. Never the key.

    ``table`` says that it is one of the configuration's own; ``price`` is what one of those costs, in words.
    """

    name: str
    where: str = ""
    variable: str = ""
    key_set: bool | None = None
    model: str = ""
    table: bool = False
    note: str = ""
    price: str = ""
