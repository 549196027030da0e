"""Every prompt as it goes out, held against the file that shows it.

``RAGSTONE_GOLDEN=1 pytest tests/prompts`` writes the files anew; read the difference before it is kept.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from prompt_cases import ASSIGNED, CASES, STYLED

from ragstone import prompts
from ragstone.judges.base import Call, Reply
from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec
from ragstone.parsing import LABEL_FORMATS, Format
from ragstone.prompts.choice import Choice
from ragstone.prompts.material import form_of
from ragstone.questions import TASKS, Question, Rate
from ragstone.types import TRIVIAL

GOLDEN = Path(__file__).parent / "golden"
JUDGE = build(Spec("judge", model="m"))


def body(call: Call) -> Any:
    return orjson.loads(call.body)


def shown(call: Call) -> str:
    """The conversation as text, with what made it."""
    parts = [f"=== {message['role']} ===\n{message['content']}\n" for message in body(call)["messages"]]
    return f"{call.maker.partition('#')[0]}\n\n" + "\n".join(parts)


def held(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("RAGSTONE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def styled() -> dict[str, tuple[Question[Any], Choice]]:
    """Every style of assignment in every format, and the other packaged templates in one: by the file's name."""
    found: dict[str, tuple[Question[Any], Choice]] = {}
    for style in ("no_reasoning", "short_cot", "long_cot", "legacy", "optimized"):
        for fmt in LABEL_FORMATS:
            found[f"styles/assign-{style}-{fmt}"] = ASSIGNED, Choice(style, format=fmt)
        found[f"styles/assign-{style}.ru-yaml"] = ASSIGNED, Choice(f"{style}.ru", format="yaml")
    for name, question in STYLED.items():
        for style in ("no_reasoning", "short_cot", "long_cot"):
            if prompts.stem(style, form_of(cast("Any", question))) in {
                e.name for e in prompts.entries() if e.task == question.task
            }:
                for language in ("", ".ru"):
                    found[f"styles/{name}-{style}{language}"] = question, Choice(style + language)
    for name in RUSSIAN:
        found[f"styles/{name}.ru"] = CASES[name], Choice("default.ru")
    return found


RUSSIAN = (
    "claims-later_part", "nuggetize-answer-later_round", "nuggetize-passages-later_window", "importance-reasons",
    "support-yes_no-evidence-reasons", "assign-support3-evidence-reasons",
    "response_support-grade_0_2-evidence-reasons", "response_support-grade_0_2-second-evidence-reasons",
    "relevance-passage-grade_0_3-evidence-reasons", "trace", "support-support_contradict-evidence-reasons",
    "relevance-answered-reasons", "rubric-evidence-reasons", "rubric-steps",
)  # fmt: skip
PROMPTS: dict[str, tuple[Question[Any], Choice]] = {name: (case, Choice()) for name, case in CASES.items()} | styled()


def asked(name: str) -> Call:
    question, choice = PROMPTS[name]
    return next(build(Spec("judge", model="m", choice=choice)).dialogue(question))[0]


@pytest.mark.parametrize("name", PROMPTS)
def test_the_prompt_is_the_one_in_its_file(name: str) -> None:
    held(name, shown(asked(name)))


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_holds_nothing_of_its_template_and_sets_off_every_text(name: str) -> None:
    """Each text of the record comes after a line with the code and before another such line."""
    call = asked(name)
    for mark in ("{%", "%}", "{{", "}}}}", "None", "Undefined", "\n\n\n"):
        assert mark not in shown(call)
    user = body(call)["messages"][1]["content"].splitlines()
    nonce = user[0 if user[0].startswith("[") else 1].split()[0][1:]
    marks = [number for number, line in enumerate(user) if nonce in line]
    assert not [line for line in user[: marks[0]] if line]
    texts = {line for line in user[: marks[-1]] if line and nonce not in line}
    assert texts.isdisjoint(user[marks[-1] :]), "what is asked for, and nothing of a record"
    assert nonce in body(call)["messages"][0]["content"]
    if name in CASES:
        assert marks[-1] == len(user) - 1
        assert all(line == line.rstrip() for line in shown(call).splitlines())


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


@pytest.mark.parametrize("missing", [[2], [1, 2]])
@pytest.mark.parametrize("language", ["", ".ru"])
@pytest.mark.parametrize("fmt", ["json", "yaml"])
def test_the_repair_turn_for_labels_is_the_one_in_its_file(fmt: Format, language: str, missing: list[int]) -> None:
    judge = build(Spec("judge", model="m", choice=Choice(f"no_reasoning{language}", format=fmt)))
    dialogue = judge.dialogue(ASSIGNED)
    next(dialogue)
    labels = ["unclear" if n in missing else "support" for n in (1, 2)]
    replies = {
        "json": str(labels).replace("'", '"'),
        "yaml": "\n".join(f"{n}: {label}" for n, label in enumerate(labels, 1)),
    }
    reply = replies[fmt] if missing == [2] else "I cannot say."
    (call,) = dialogue.send([Reply(reply)])
    held(f"styles/repair-{fmt}{language}-{'one' if missing == [2] else 'all'}", shown(call))


def test_there_is_no_file_without_its_case() -> None:
    cases = {*PROMPTS, *(f"repair-{name}" for name in ("support-yes_no-evidence", "claims-first_part", "trace"))}
    repairs = {
        f"styles/repair-{fmt}{language}-{which}"
        for fmt in ("json", "yaml")
        for language in ("", ".ru")
        for which in ("one", "all")
    }
    files = {path.relative_to(GOLDEN).with_suffix("").as_posix() for path in GOLDEN.rglob("*.txt")}
    assert files == {*cases, *repairs}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if isinstance(case, Rate)])
def test_a_prompt_explains_each_label_and_shows_each_field_of_its_schema(name: str) -> None:
    """And no other label; the fields in the order of the schema."""
    call = asked(name)
    question = CASES[name]
    assert isinstance(question, Rate)
    text = "\n".join(message["content"] for message in body(call)["messages"])
    explained = [line.split('"')[1] for line in text.splitlines() if line.startswith('- "')]
    entries = body(call)["response_format"]["json_schema"]["schema"]["properties"]["verdicts"]["properties"]
    enums = [entry["properties"]["label"]["enum"] for entry in entries.values()]
    allowed = enums if question.units[0].scale else enums[:1]
    assert sorted(explained) == sorted(label for enum in allowed for label in enum)
    assert (TRIVIAL in explained) == question.skippable
    schema = body(call)["response_format"]["json_schema"]["schema"]
    line = next(line for line in shown(call).splitlines() if line.startswith('{"verdicts"'))
    fields = schema["properties"]["verdicts"]["properties"]["1"]["required"]
    wanted = [f'"{field}":' for field in ["verdicts", "1", *fields, *schema["required"][1:]]]
    places = [line.find(field) for field in wanted]
    assert -1 not in places
    assert places == sorted(places)


def test_every_packaged_template_is_shown_in_some_file() -> None:
    shown_makers = {asked(name).maker.partition("#")[0] for name in PROMPTS}
    folder = Path(prompts.__file__).parent
    packaged = {f"{path.parent.name}.{path.stem}" for path in folder.glob("*/*.md") if path.parent.name in TASKS}
    assert packaged == shown_makers
