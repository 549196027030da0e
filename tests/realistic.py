"""Answers as long as a language model's: as many claims as the sentences hold, quotes and reasons of usual length.

A value of a schema says nothing of how much a model writes. This one does, so that what depends on it (tokens, calls,
money, time) can be tried without a model. It goes by the schema and by the names in it, and takes its words from the
request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from ragstone.testing.replies import Draws, described, fitting, material

WORDS_A_CLAIM: Final = 13
"""Words of a sentence that make one claim."""
_PLACE: Final = re.compile(r"^\[\w+ sentence (\d+)[^\]\n]*\]\n(.*)$", re.MULTILINE)
_KEY: Final = re.compile(r"\bdoc_\d+_s\d+\b")
_LISTED: Final = re.compile(r"^- (.+)$", re.MULTILINE)
_KNOWN: Final = re.compile(r"nuggets already listed")


def realistic(request: Mapping[str, Any], seed: int = 0) -> Any:
    """An ``answer`` of a fake server: a value for the request's schema; None where it brings none."""
    schema = request.get("response_format", {}).get("json_schema", {}).get("schema")
    schema = schema or described(request)
    head = f"{seed}\0{request.get('model', '')}\0".encode()
    digest = hashlib.blake2b(head + orjson.dumps(request["messages"]), digest_size=16).digest()
    return None if schema is None else written(schema, request, int.from_bytes(digest, "big"))


def written(schema: Mapping[str, Any], request: Mapping[str, Any], seed: int) -> Any:
    """A value that fits the schema of an answer to this request; equal arguments give equal values."""
    return _Writer(request, seed).value("", schema)


class _Writer:
    def __init__(self, request: Mapping[str, Any], seed: int) -> None:
        messages = request.get("messages")
        contents = [message.get("content") for message in messages or () if isinstance(message, dict)]
        self.text = "\n".join(content for content in contents[1:] if isinstance(content, str))
        lines = [line for line in material(self.text) if len(line) > 20]
        self.lines = lines or ["There is nothing to read here but this line of words"]
        self.draws = Draws(seed)
        self.seed = seed

    def value(self, name: str, schema: Mapping[str, Any]) -> Any:
        kind = schema.get("type")
        if kind == "object":
            return {key: self.value(key, inner) for key, inner in schema.get("properties", {}).items()}
        if kind == "array":
            return self.array(name, schema.get("items", {}))
        if kind == "string" and "enum" not in schema:
            return self.words(*_length(name))
        return fitting(schema, self.draws.below(1 << 60))

    def array(self, name: str, items: Mapping[str, Any]) -> list[Any]:
        properties = items.get("properties", {})
        places = next((inner["enum"] for inner in properties.values() if inner.get("type") == "integer"
                       and "enum" in inner), None)  # fmt: skip
        if places is not None:
            return self.units(items, places)
        if name in ("relevant", "utilized", "support"):
            return self.keys(name)
        if name == "evidence":
            share = self.draws.share()
            count = 0 if share < 0.06 else 1 if share < 0.7 else 2
            return [self.value("quote" if properties else "words", items) for _ in range(count)]
        if name == "nuggets":
            known = _LISTED.findall(self.text)
            fresh = sum(map(len, self.lines)) // 350 + self.draws.below(4)
            return [*known, *(self.words(4, 11) for _ in range(fresh))][:30]
        return [self.value(name, items) for _ in range(1 + self.draws.below(2))]

    def units(self, items: Mapping[str, Any], places: Sequence[int]) -> list[Any]:
        """Claims or nuggets of numbered sentences; few where most are listed already."""
        texts = {int(number): text for number, text in _PLACE.findall(self.text)}
        known = _KNOWN.search(self.text) is not None
        made = []
        for place in places:
            words = texts.get(place, "").split()
            expected = len(words) / WORDS_A_CLAIM
            count = int(expected * (0.6 + 0.8 * self.draws.share()) + self.draws.share())
            if known:
                count = int(self.draws.share() < 0.04)
            for number in range(count):
                size = -(-len(words) // count)
                piece = " ".join(words[number * size : (number + 1) * size])
                made.append(self.entry(items, place, f"{self.words(2, 4)} {piece}"))
        return made

    def entry(self, items: Mapping[str, Any], place: int, text: str) -> dict[str, Any]:
        entry: dict[str, Any] = {}
        for key, inner in items["properties"].items():
            if inner.get("type") == "integer" and "enum" in inner:
                entry[key] = place
            elif inner.get("type") == "string" and "enum" not in inner:
                entry[key] = " ".join(text.split()[:11]) if key == "nugget" else text
            else:
                entry[key] = self.value(key, inner)
        return entry

    def keys(self, name: str) -> list[str]:
        found = list(dict.fromkeys(_KEY.findall(self.text)))
        if name == "support":
            return [found[self.draws.below(len(found))] for _ in range(1 + self.draws.below(3))] if found else []
        return [key for key in found if self.draws.share() < (0.3 if name == "relevant" else 0.2)]

    def words(self, least: int, most: int) -> str:
        """So many words of the request, one after the other."""
        count = least + self.draws.below(most - least + 1)
        words: list[str] = []
        while len(words) < count:
            line = self.lines[self.draws.below(len(self.lines))].split()
            start = self.draws.below(max(1, len(line) - count))
            words += line[start : start + count - len(words)]
        return " ".join(words)


def _length(name: str) -> tuple[int, int]:
    """How many words a text under this name has."""
    if name == "quote":
        return 7, 26
    if name == "words":
        return 3, 12
    if name.endswith("_explanation"):
        return 35, 90
    return 12, 34
