"""Records with nuggets that people labelled, and an endpoint whose models agree with them more or less."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ragstone.labels import LabelDraw, LabelRow, text_hash
from ragstone.parsing import Format
from ragstone.prompts import shape
from ragstone.testing import FakeServer, labels_reply

SCALE = ("support", "not_support", "partial_support")
STYLES = ("no_reasoning", "short_cot", "long_cot", "legacy", "optimized")
FORMATS: tuple[Format, ...] = ("json", "keyed", "yaml", "csv", "xml", "numbered")
_STYLED = {
    "legacy": "Label whether", "short_cot": "briefly say why", "long_cot": "Take all the time",
    "optimized": "check these in order",
}  # fmt: skip


def nuggets(record: int) -> dict[str, str]:
    """Facts of a record, each with people's label."""
    return {f"Fact {n} of item {record} is known.": SCALE[(record + n) % 3] for n in range(1, 4)}


def records(count: int = 6) -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{number}", "question": f"What is item {number}?", "response": f"Item {number} is described here.",
            "nuggets": [{"text": text, "importance": "vital"} for text in nuggets(number)],
        }
        for number in range(count)
    ]  # fmt: skip


def rows(count: int = 6, draw: LabelDraw | None = None) -> list[LabelRow]:
    return [
        LabelRow(
            f"r{record}", f"r{record}/bank/{n}", "assign", label, "ann", draw=draw, hash=text_hash(text), text=text
        )
        for record in range(count)
        for n, (text, label) in enumerate(nuggets(record).items(), 1)
    ]


def write(path: Path | str, lines: Iterable[Any]) -> str:
    """A file of JSON lines; a row of labels as its JSON."""
    plain = (line.as_json() if isinstance(line, LabelRow) else line for line in lines)
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in plain), encoding="utf-8")
    return str(path)


TABLE = """[judges.{name}]
model = "{name}"
base_url = "{url}"
api_key_env = ""
price = {{ input = 1.0, output = 4.0 }}
concurrency = 2
"""


def two_models(server: FakeServer, count: int, others: int = 0) -> FakeServer:
    """An endpoint, a settings file with its two models, and labelled records beside ``others``."""
    server.configure(answer=answer)
    tables = "\n".join(TABLE.format(name=name, url=server.url) for name in ("good", "bad"))
    Path("ragstone.toml").write_text(tables, encoding="utf-8")
    write("labels.jsonl", rows(count))
    write("records.jsonl", records(count + others))
    return server


def style_of(request: Mapping[str, Any]) -> str:
    system = request["messages"][0]["content"]
    return next((style for style, words in _STYLED.items() if words in system), "no_reasoning")


def answer(request: Mapping[str, Any]) -> str:
    """Model ``good`` agrees with people where it is asked in the style short_cot; all else is wrong on every second."""
    user = request["messages"][1]["content"]
    record = next(number for number in range(99) if f"Fact 1 of item {number} is" in user)
    gold = list(nuggets(record).values())
    right = request["model"] == "good" and style_of(request) == "short_cot"
    wrong = [label if right or n % 2 else SCALE[(SCALE.index(label) + 1) % 3] for n, label in enumerate(gold, record)]
    form = next(form for form in FORMATS if shape(form).render(n=len(gold)) in user)
    return labels_reply(wrong, form)


CITIES = ("Rome", "Oslo", "Cairo", "Lima", "Delhi", "Kyoto", "Quito", "Accra", "Hanoi", "Perth")
LANDS = ("Italy", "Norway", "Egypt", "Peru", "India", "Japan", "Ecuador", "Ghana", "Vietnam", "Australia")


def claims(city: str, land: str) -> dict[str, str]:
    """Claims about a city: people accept one that the judge refuses, with half of its words in the passage."""
    return {
        f"{city} is a large city of {land}.": "yes",
        "It has old parks, and the bridges attract tourists and visitors.": "yes",
        f"The river of {city} runs dry every summer.": "no",
        f"{city} has a famous harbour and a market.": "yes",
    }


def city_records() -> list[dict[str, Any]]:
    return [
        {
            "id": city, "question": f"What is {city}?", "response": " ".join(claims(city, land)),
            "contexts": [f"{city} is a large city of {land}. It has old parks and bridges.",
                         f"{city} has a famous harbour and a market."],
        }
        for city, land in zip(CITIES, LANDS, strict=True)
    ]  # fmt: skip


def city_rows() -> list[LabelRow]:
    return [
        LabelRow(city, f"{city}/claim/{n}", "support", label, "ann", hash=text_hash(text), text=text)
        for city, land in zip(CITIES, LANDS, strict=True)
        for n, (text, label) in enumerate(claims(city, land).items(), 1)
    ]
