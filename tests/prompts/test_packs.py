"""Domain packs: read from a file, beside every prompt, in the signature; the nearest examples on request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from prompt_cases import CASES

from ragstone import evaluate
from ragstone.errors import ConfigError, TemplateError
from ragstone.judges.catalogue import build
from ragstone.judges.embedded.relevance import nearest
from ragstone.judges.spec import Spec
from ragstone.prompts.choice import Choice
from ragstone.prompts.packs import read_pack
from ragstone.testing import FakeServer

PACK = """# Kettles

A kettle boils water. Scale is limestone.

## Descaling with vinegar
Statement: Vinegar removes limestone. Label: support.

## Weight of a kettle
Statement: It weighs 900 grams. Label: not_support.

## Colour
Statement: It is red.
"""


@pytest.fixture
def pack(tmp_path: Path) -> str:
    (tmp_path / "kettles.md").write_text(PACK, "utf-8")
    return str(tmp_path / "kettles.md")


def messages(choice: Choice, question: Any) -> tuple[str, list[dict[str, str]]]:
    call = next(build(Spec("judge", model="m", choice=choice)).dialogue(question))[0]
    return call.maker, orjson.loads(call.body)["messages"]


def test_a_pack_is_definitions_and_examples(pack: str) -> None:
    """All before the first heading of two signs, and what each of these begins."""
    found = read_pack(pack)
    assert found.definitions.startswith("# Kettles")
    assert [example.partition("\n")[0] for example in found.examples] == [
        "Descaling with vinegar", "Weight of a kettle", "Colour",
    ]  # fmt: skip
    assert re.fullmatch(r"kettles#[0-9a-f]{6}", found.name)


@pytest.mark.parametrize("name", ["support-yes_no-evidence", "claims-first_part", "trace", "importance", "rubric"])
def test_every_prompt_has_it_and_says_so(name: str, pack: str) -> None:
    """At the end of the system part, in a section of its own; no text of the record is in there."""
    plain, without = messages(Choice(), CASES[name])
    maker, found = messages(Choice(pack=pack), CASES[name])
    assert maker == f"{plain},pack={read_pack(pack).name}"
    assert found[0]["content"] == f"{without[0]['content']}\n\n{read_pack(pack).section()}"
    assert found[1] == without[1]
    assert read_pack(pack).section().startswith('<pack name="kettles">\n# Kettles')


def test_the_nearest_examples_are_chosen_by_the_question(pack: str) -> None:
    """The same for the same question, in the signature by their number; more than there are is all."""
    examples = read_pack(pack).examples
    assert nearest("How much does a kettle weigh?", examples, 2)[0] == 1
    assert nearest("How is it descaled with vinegar?", examples, 1) == [0]
    assert nearest("", examples, 2) == [0, 1]
    question = CASES["importance"]
    maker, found = messages(Choice(pack=pack, pack_examples=1), question)
    assert maker.endswith(f"{read_pack(pack).name}:1")
    assert found[0]["content"].count("<example ") == 1
    assert messages(Choice(pack=pack, pack_examples=1), question) == (maker, found)
    assert messages(Choice(pack=pack, pack_examples=9), question)[1][0]["content"].count("<example ") == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty; expected definitions, then examples"),
        ("Words.\n\n## One\n\n## Two\nText.\n", "kettles.md:3: the example 'One' has no text below its heading"),
        ("Words.\n</pack>\n", "kettles.md:2: contains '</pack', which marks the section itself"),
        ("x" * 50_001, "50,001 bytes; at most 50,000"),
        ("".join(f"## E{n}\ntext\n" for n in range(51)), "51 examples; at most 50"),
        (b"\xff", "not UTF-8"),
        (None, "cannot be read (No such file or directory)"),
    ],
)
def test_a_malformed_pack_is_one_line(text: str | bytes | None, said: str, tmp_path: Path) -> None:
    """Before a run, with the file and the line."""
    path = tmp_path / "kettles.md"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TemplateError) as caught:
        read_pack(str(path))
    assert said in str(caught.value)
    with pytest.raises(ConfigError, match=re.escape(str(caught.value))):
        evaluate([{"response": "x"}], judge="openai:m", pack=path, store=tmp_path / "s.db")


def test_examples_to_choose_from_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("Words.", "utf-8")
    for pack in (None, tmp_path / "p.md"):
        with pytest.raises(ConfigError, match="pack_examples is 2, but "):
            evaluate([{"response": "x"}], judge="openai:m", pack_examples=2, pack=pack, store=tmp_path / "s.db")


def test_a_run_sends_it_once_and_replays_it(pack: str, tmp_path: Path) -> None:
    """Its hash is in the signature; the same pack is the same calls, another is not."""
    text = "It weighs 900 grams."
    row = {"id": "a", "question": "What is its weight?", "response": text, "contexts": [text]}

    def run(server: FakeServer) -> str:
        found = evaluate(
            [row], "groundedness", f"vllm:m@{server.url}", pack=pack, pack_examples=1, store=tmp_path / "s.db"
        )
        found.store.close()
        return found.summary()["metrics"]["groundedness"]["signature"]

    with FakeServer() as server:
        first = run(server)
        assert run(server) == first
        assert server.count == 1
        assert f",pack={read_pack(pack).name}:1" in first
        assert "Weight of a kettle" in server.requests[0]["messages"][0]["content"]
        Path(pack).write_text(PACK.replace("limestone", "lime"), "utf-8")
        assert run(server) != first
        assert server.count == 2
