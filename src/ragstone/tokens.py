"""Count the tokens of a request if the model's tokenizer is installed, else estimate them.

Every figure says which. An estimate uses the bytes per token of earlier calls to the same judge, if there are any, and
otherwise typical values for the scripts in the text. The upper bound is exact: a tokenizer never makes more tokens than
there are bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

PLAIN: Final = 4.3
"""Characters of ASCII text per token."""
DENSE: Final = 1.15
"""Characters of Chinese, Japanese or Korean per token."""
OTHER: Final = 2.4
"""Characters of any other script, and of accented letters, per token."""
PER_MESSAGE: Final = 4
"""Tokens that the chat format adds to each message."""
CHAT: Final = 256
"""Maximum number of tokens that the chat format may add to a request."""
DRIFT: Final = 0.03
"""Relative error of a learned ratio on other texts, no matter how many calls it is based on."""
SURE: Final = 1.96
"""Standard errors on either side of an expected value."""

SCHEMA_FIRST: Final = ("openai", "azure")
"""Providers that put the answer's schema before the messages of a request and charge for it."""

_DENSE: Final = (  # compiled on first use: large, and not needed by a judge that sends nothing
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_BEYOND: Final = re.compile("[^\x00-\x7f]")
_ENCODINGS: Final = (
    (re.compile(r"(gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|o[1-9](-|$))"), "o200k_base"),
    (re.compile(r"(gpt-4|gpt-3\.5|gpt-35)(-|$)"), "cl100k_base"),
)
"""Prefixes of model names, with the encoding that counts their tokens."""


class Size(Struct, frozen=True):
    """The parts of a request that are charged for, as read by its backend.

    ``body`` is the number of bytes of the whole request, ``texts`` are the texts of its messages, ``schema`` is the
    number of bytes of the answer's schema, and ``reply`` the maximum number of tokens of the reply (None: no limit).
    """

    body: int
    texts: tuple[str, ...]
    schema: int = 0
    reply: int | None = None

    @property
    def at_most(self) -> int:
        """Upper bound of the request's tokens for any tokenizer: one per byte, plus the chat format."""
        return self.body + CHAT

    @property
    def usual(self) -> float:
        """Typical number of tokens of the texts, given their scripts."""
        return sum(usual_tokens(text) + PER_MESSAGE for text in self.texts)


def usual_tokens(text: str) -> float:
    """Return the typical number of tokens of a text, given its scripts."""
    plain, dense, other = _scripts(text)
    return plain / PLAIN + dense / DENSE + other / OTHER


def text_length(text: str) -> float:
    """Return the length of a text in Latin characters; characters of dense scripts count more."""
    plain, dense, other = _scripts(text)
    return plain + 2.5 * dense + other


def _scripts(text: str) -> tuple[int, int, int]:
    """Count the characters in ASCII, in Chinese, Japanese or Korean, and in other scripts."""
    if text.isascii():
        return len(text), 0, 0
    dense = sum(1 for _ in re.finditer(_DENSE, text))
    beyond = sum(1 for _ in _BEYOND.finditer(text))
    return len(text) - beyond, dense, beyond - dense


class Ratio(Struct, frozen=True):
    """Actual tokens per typical token, with an interval.

    ``low`` and ``high`` bound the sum over many requests. ``samples`` is the number of calls it is based on.
    """

    value: float = 1.0
    low: float = 0.8
    high: float = 1.3
    samples: int = 0


def learned(pairs: Sequence[tuple[float, int]]) -> Ratio | None:
    """Return the ratio for calls given as (typical tokens, counted tokens), or None for fewer than three."""
    pairs = [(usual, real) for usual, real in pairs if usual > 0]
    if len(pairs) < 3:
        return None
    value = sum(real for _, real in pairs) / sum(usual for usual, _ in pairs)
    if value <= 0:
        return None
    off = [real / usual - value for usual, real in pairs]
    error = math.sqrt(sum(each * each for each in off) / (len(off) - 1) / len(off))
    margin = SURE * error / value + DRIFT
    return Ratio(value, value * max(0.0, 1 - margin), value * (1 + margin), len(pairs))


class TokenCounter:
    """Counts the requests of one judge for one step.

    ``how`` is ``counted with o200k_base``, ``estimated from 412 earlier calls``, or ``estimated from text length``.
    """

    def __init__(self, provider: str, model: str, ratio: Ratio | None = None, kin: str = "") -> None:
        self._encoding = encoding_of(model)
        self._ratio = ratio or Ratio()
        # A ratio learned from calls includes the schema.
        self._schema = provider in SCHEMA_FIRST and not self._ratio.samples
        if self._encoding is not None:
            self.how = f"counted with {self._encoding.name}"
        elif self._ratio.samples:
            calls = "call" if self._ratio.samples == 1 else "calls"
            self.how = f"estimated from {self._ratio.samples:,} earlier {calls}" + (f" to {kin}" if kin else "")
        else:
            self.how = "estimated from text length"

    def count(self, size: Size) -> tuple[float, float, float]:
        """Return the tokens of a request: low, expected, high."""
        shown = size.schema / PLAIN if self._schema else 0.0
        if self._encoding is not None:
            counted = float(sum(map(self._encoding.count, size.texts)) + PER_MESSAGE * len(size.texts))
            return counted, counted + shown / 2, counted + shown
        usual, ratio = size.usual, self._ratio
        return usual * ratio.low, usual * ratio.value + shown / 2, usual * ratio.high + shown


class Encoding(Struct, frozen=True):
    """An installed tokenizer."""

    name: str
    encode: Any

    def count(self, text: str) -> int:
        """Count the tokens of a text; special tokens count as plain text."""
        return len(self.encode(text))


@lru_cache(maxsize=64)
def encoding_of(model: str) -> Encoding | None:
    """Return the tokenizer of a model; None if unknown or the extra ``tokens`` is not installed."""
    name = encoding_name(model)
    if not name:
        return None
    try:
        from bpe_openai import get_encoding  # noqa: PLC0415 - an extra, loaded where a model's tokenizer is known
    except ImportError:
        return None
    return Encoding(name, get_encoding(name).encode_ordinary)


def encoding_name(model: str) -> str:
    """Return the name of a model's encoding; empty if unknown."""
    last = model.rpartition("/")[2].casefold()
    return next((name for pattern, name in _ENCODINGS if pattern.match(last)), "")


def family(model: str) -> str:
    """Return the family of a model, whose members have similar tokenizers: the first letters of its name."""
    found = re.match(r"[a-z]+", model.partition("@")[0].rpartition("/")[2].casefold())
    return found[0] if found else ""
