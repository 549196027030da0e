"""Every prompt as it goes out, held against the file that shows it.

``RAGSTONE_GOLDEN=1 pytest tests/prompts`` writes the files anew; read the difference before it is kept.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest
from prompt_cases import CASES

from ragstone import prompts
from ragstone.judges.base import Call, Reply
from ragstone.judges.prompted import PromptedJudge, Settings
from ragstone.judges.replay import ReplayBackend
from ragstone.questions import Rate
from ragstone.types import TRIVIAL

GOLDEN = Path(__file__).parent / "golden"
JUDGE = PromptedJudge("judge", "judge", "", Settings("m"), ReplayBackend(""))


def first_call(name: str) -> Call:
    return next(JUDGE.dialogue(CASES[name]))[0]


def body(call: Call) -> Any:
    return orjson.loads(call.body)


def shown(call: Call) -> str:
    """The conversation as text, with what made it."""
    parts = [f"=== {message['role']} ===\n{message['content']}\n" for message in body(call)["messages"]]
    return f"{call.maker.partition('#')[0]}\n\n" + "\n".join(parts)


def held(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("RAGSTONE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", CASES)
def test_the_prompt_is_the_one_in_its_file(name: str) -> None:
    held(name, shown(first_call(name)))


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("support-yes_no-evidence", '{"verdicts": {"2": "maybe"}}'),
        ("claims-first_part", "I see no claims."),
        ("trace", '{"relevant": [], "utilized": [], "sentences": {}}'),
    ],
)
def test_the_repair_turn_is_the_one_in_its_file(name: str, reply: str) -> None:
    dialogue = JUDGE.dialogue(CASES[name])
    next(dialogue)
    (call,) = dialogue.send([Reply(reply)])
    held(f"repair-{name}", shown(call))


def test_there_is_no_file_without_its_case() -> None:
    cases = {*CASES, *(f"repair-{name}" for name in ("support-yes_no-evidence", "claims-first_part", "trace"))}
    assert {path.stem for path in GOLDEN.iterdir()} == cases


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if isinstance(case, Rate)])
def test_a_prompt_explains_every_label_that_its_schema_allows_and_no_other(name: str) -> None:
    call = first_call(name)
    question = CASES[name]
    assert isinstance(question, Rate)
    system = body(call)["messages"][0]["content"]
    explained = [line.split('"')[1] for line in system.splitlines() if line.startswith('- "')]
    entry = body(call)["response_format"]["json_schema"]["schema"]["properties"]["verdicts"]["properties"]["1"]
    assert sorted(explained) == sorted(entry["properties"]["label"]["enum"])
    assert (TRIVIAL in explained) == question.skippable


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if isinstance(case, Rate)])
def test_a_prompt_shows_every_field_that_its_schema_requires_in_its_order(name: str) -> None:
    call = first_call(name)
    system = body(call)["messages"][0]["content"]
    schema = body(call)["response_format"]["json_schema"]["schema"]
    line = next(line for line in system.splitlines() if line.startswith('{"verdicts"'))
    fields = schema["properties"]["verdicts"]["properties"]["1"]["required"]
    wanted = [f'"{field}":' for field in ["verdicts", "1", *fields, *schema["required"][1:]]]
    places = [line.find(field) for field in wanted]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("name", CASES)
def test_no_prompt_holds_what_is_left_of_a_template(name: str) -> None:
    text = shown(first_call(name))
    for mark in ("{%", "%}", "{{", "}}}}", "None", "Undefined", "\n\n\n"):
        assert mark not in text
    assert all(line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("name", CASES)
def test_no_line_of_material_stands_outside_the_marks(name: str) -> None:
    """Every text of the record comes after a line with the code and before another such line."""
    call = first_call(name)
    user = body(call)["messages"][1]["content"].splitlines()
    nonce = user[0 if user[0].startswith("[") else 1].split()[0][1:]
    marks = [number for number, line in enumerate(user) if nonce in line]
    assert marks[-1] == len(user) - 1
    outside = [line for line in user[: marks[0]] if line]
    assert not outside
    assert nonce in body(call)["messages"][0]["content"]


def test_every_packaged_template_is_shown_in_some_file() -> None:
    shown_makers = {first_call(name).maker.partition("#")[0] for name in CASES}
    folder = Path(prompts.__file__).parent
    packaged = {f"{path.parent.name}.{path.stem}" for path in folder.glob("*/*.md")}
    assert packaged - {"repair.default.v1", "repair.trace.v1"} == shown_makers
