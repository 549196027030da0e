"""Hand-made replies in the manner of real models, each with the labels that a careful reader takes from it.

Expected is what a person who knows the formats is sure of; where nobody could be, it is nothing. A reply is read
right when every label is as expected, and wrong when one is given that is not.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ragstone import questions
from ragstone.parsing import FORMATS, Parsed, Words, parse_labels, read_block
from ragstone.types import Scale

FOLDER = Path(__file__).parents[1] / "replies"
SCALES = {scale.name: scale for scale in vars(questions).values() if isinstance(scale, Scale)}
LEAST = 0.97


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


ALL = {path.relative_to(FOLDER).as_posix(): lines(path) for path in sorted(FOLDER.rglob("*.jsonl"))}
REPLIES = [reply for replies in ALL.values() for reply in replies]
STYLES = {name.removeprefix("styles/").removesuffix(".jsonl"): found for name, found in ALL.items() if "/" in name}


def read(reply: dict[str, Any]) -> Parsed:
    return parse_labels(
        reply["reply"],
        reply["units"],
        SCALES[reply["scale"]],
        reply["format"],
        case_sensitive=reply.get("case_sensitive", False),
        material=reply.get("material", ()),
    )


def wrong(reply: dict[str, Any]) -> bool:
    pairs = zip(read(reply).labels, reply["expected"], strict=True)
    return any(label not in (None, expected) for label, expected in pairs)


def test_no_label_is_given_to_a_unit_that_it_is_not_of() -> None:
    assert [f"{reply['name']}: {reply['why']}: {read(reply)}" for reply in REPLIES if wrong(reply)] == []


def test_nearly_every_reply_is_read_right(capsys: pytest.CaptureFixture[str]) -> None:
    right = Counter({name: sum(read(r).labels == tuple(r["expected"]) for r in found) for name, found in ALL.items()})
    share = right.total() / len(REPLIES)
    with capsys.disabled():
        print(f"\n{right.total()} of {len(REPLIES)} replies read right ({share:.1%}), none wrong")  # noqa: T201 - the figure
    assert share > LEAST


def test_every_clean_reply_is_read_whole() -> None:
    for reply in REPLIES:
        if reply["kind"] == "clean":
            parsed = read(reply)
            assert parsed.labels == tuple(reply["expected"]), reply["name"]
            assert parsed.status == "ok", reply["name"]


@pytest.mark.parametrize("style", ["no_reasoning", "short_cot", "long_cot", "legacy", "optimized"])
def test_each_style_has_a_clean_a_noisy_and_a_broken_reply_in_each_format(style: str) -> None:
    kinds = Counter((reply["format"], reply["kind"]) for reply in STYLES[style])
    assert {(fmt, kind) for fmt in FORMATS[1:] for kind in ("clean", "noisy", "broken")} <= set(kinds)


@pytest.mark.parametrize("reply", [reply for reply in REPLIES if "reasons" in reply], ids=lambda reply: reply["name"])
def test_the_reasoning_block_gives_reasons_and_quotes_by_number(reply: dict[str, Any]) -> None:
    thoughts = read_block(reply["reply"], range(1, reply["units"] + 1))
    for number, expected in reply["reasons"].items():
        thought = thoughts[int(number)]
        assert " ".join(thought.snippet.split()) == " ".join(expected.get("snippet", thought.snippet).split())
        assert " ".join(thought.rationale.split()) == " ".join(expected.get("rationale", thought.rationale).split())
        if decision := expected.get("decision"):
            assert Words(SCALES[reply["scale"]]).alone(thought.decision) == decision


def test_names_are_unique_and_labels_are_of_the_scale() -> None:
    assert len({reply["name"] for reply in REPLIES}) == len(REPLIES) >= 200
    for reply in REPLIES:
        assert len(reply["expected"]) == reply["units"]
        assert set(reply["expected"]) - {None} <= set(SCALES[reply["scale"]].labels)
