"""How many tokens a request has: counted where the model's tokenizer is known and installed, else estimated.

Every figure says which. An estimate stands on how many bytes made a token in earlier calls to the same judge, where
there are any, and otherwise on what is usual for the scripts that the text is written in. A bound is no estimate: a
tokenizer never makes more tokens than there are bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

PLAIN: Final = 4.3
"""Characters of ASCII text to a token."""
DENSE: Final = 1.15
"""Characters of Chinese, Japanese or Korean to a token."""
OTHER: Final = 2.4
"""Characters of any other script, and of accented letters, to a token."""
PER_MESSAGE: Final = 4
"""Tokens that a chat's format adds to each message."""
CHAT: Final = 256
"""Tokens that a chat's format may add to a request at most."""
DRIFT: Final = 0.03
"""How far, as a share, a ratio that was learned may be off for other texts, however many calls it stands on."""
SURE: Final = 1.96
"""Standard errors on either side of an expected value."""

_DENSE: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
_BEYOND: Final = re.compile("[^\x00-\x7f]")
_ENCODINGS: Final = (
    (re.compile(r"(gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|o[1-9](-|$))"), "o200k_base"),
    (re.compile(r"(gpt-4|gpt-3\.5|gpt-35)(-|$)"), "cl100k_base"),
)
"""Models, by how their names begin, and what counts their tokens."""


@dataclass(frozen=True, slots=True)
class Size:
    """How long a request is: characters of its messages by kind of script, and bytes of its answer's schema."""

    plain: int
    dense: int = 0
    other: int = 0
    messages: int = 0
    schema: int = 0

    @property
    def usual(self) -> float:
        """The tokens of the messages, as is usual for their scripts."""
        return self.plain / PLAIN + self.dense / DENSE + self.other / OTHER + PER_MESSAGE * self.messages

    @property
    def weight(self) -> float:
        """How much the messages say, in characters of a Latin script."""
        return self.plain + 2.5 * self.dense + self.other


def size_of(text: str) -> Size:
    """The size of a text."""
    if text.isascii():
        return Size(len(text))
    dense = sum(1 for _ in _DENSE.finditer(text))
    beyond = sum(1 for _ in _BEYOND.finditer(text))
    return Size(len(text) - beyond, dense, beyond - dense)


def texts_of(body: bytes) -> tuple[list[str], int]:
    """The texts of a request's messages, and the bytes of its answer's schema; any other request is one text."""
    try:
        request = orjson.loads(body)
        messages = request["messages"]
        texts = [text for message in messages for text in _texts(message["content"])]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return [body.decode("utf-8", "replace")], 0
    form = request.get("response_format")
    return texts, len(orjson.dumps(form)) if form else 0


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [str(part.get("text") or "") for part in content]


def measure(body: bytes) -> Size:
    """The size of a request."""
    texts, schema = texts_of(body)
    sizes = [size_of(text) for text in texts]
    return Size(
        sum(size.plain for size in sizes), sum(size.dense for size in sizes), sum(size.other for size in sizes),
        len(texts), schema,
    )  # fmt: skip


def at_most(body: bytes) -> int:
    """Tokens that a request cannot exceed, whatever the tokenizer: one for each byte, and the chat's format."""
    return len(body) + CHAT


def reply_limit(body: bytes) -> int | None:
    """The most tokens that a request lets a reply have; None where it sets no limit."""
    try:
        request = orjson.loads(body)
        given = [request[name] for name in ("max_completion_tokens", "max_tokens") if request.get(name) is not None]
        replies = request.get("n") or 1
    except (orjson.JSONDecodeError, TypeError, AttributeError):
        return None
    if not given or not all(isinstance(limit, int) and limit > 0 for limit in (*given, replies)):
        return None
    return int(max(given) * replies)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many tokens there really were for each one that is usual, and how sure that is.

    ``low`` and ``high`` bound the sum over many requests. ``samples`` is how many calls it stands on.
    """

    value: float = 1.0
    low: float = 0.8
    high: float = 1.3
    samples: int = 0


def learned(pairs: Sequence[tuple[float, int]]) -> Ratio | None:
    """The ratio that calls had, each given as (usual tokens, tokens that were counted); None for fewer than three."""
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


class Counter:
    """Counts the requests of one judge for one step.

    ``how`` says where its figures come from: ``counted with o200k_base``, ``estimated from 412 earlier calls``, or
    ``estimated``.
    """

    def __init__(self, provider: str, model: str, ratio: Ratio | None = None, kin: str = "") -> None:
        self._encoding = encoding_of(model)
        self._ratio = ratio or Ratio()
        # Some providers put the schema of the answer before the model's eyes, and charge for it; a ratio that was
        # learned from calls has that in it.
        self._schema = provider in ("openai", "azure") and not self._ratio.samples
        if self._encoding is not None:
            self.how = f"counted with {self._encoding.name}"
        elif self._ratio.samples:
            calls = "call" if self._ratio.samples == 1 else "calls"
            self.how = f"estimated from {self._ratio.samples:,} earlier {calls}" + (f" to {kin}" if kin else "")
        else:
            self.how = "estimated"

    def count(self, body: bytes) -> tuple[float, float, float]:
        """Tokens of a request: low, expected, high."""
        texts, schema = texts_of(body)
        shown = schema / PLAIN if self._schema else 0.0
        if self._encoding is not None:
            counted = float(sum(map(self._encoding.count, texts)) + PER_MESSAGE * len(texts))
            return counted, counted + shown / 2, counted + shown
        usual = sum(size_of(text).usual for text in texts) + PER_MESSAGE * len(texts)
        ratio = self._ratio
        return usual * ratio.low, usual * ratio.value + shown / 2, usual * ratio.high + shown


@dataclass(frozen=True, slots=True)
class Encoding:
    """A tokenizer that is installed."""

    name: str
    encode: Any

    def count(self, text: str) -> int:
        """The tokens of a text, special ones taken as plain text."""
        return len(self.encode(text))


@lru_cache(maxsize=64)
def encoding_of(model: str) -> Encoding | None:
    """The tokenizer of a model, where it is known and the extra ``tokens`` is installed."""
    name = encoding_name(model)
    if not name:
        return None
    try:
        from bpe_openai import get_encoding  # noqa: PLC0415 - an extra, loaded where a model's tokenizer is known
    except ImportError:
        return None
    return Encoding(name, get_encoding(name).encode_ordinary)


def encoding_name(model: str) -> str:
    """The encoding that a model counts its tokens with; empty where that is not known."""
    last = model.rpartition("/")[2].casefold()
    return next((name for pattern, name in _ENCODINGS if pattern.match(last)), "")


def family(model: str) -> str:
    """What models with much the same tokenizer are called: the letters that the name begins with."""
    found = re.match(r"[a-z]+", model.partition("@")[0].rpartition("/")[2].casefold())
    return found[0] if found else ""
