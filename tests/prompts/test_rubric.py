"""What a person is told of labels, and the domain packs that every prompt takes in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from prompt_cases import CASES

from ragstone import evaluate
from ragstone.errors import ConfigError, TemplateError
from ragstone.judges.catalogue import build
from ragstone.judges.embedded.relevance import nearest
from ragstone.judges.spec import Spec
from ragstone.prompts import entries, parse, split
from ragstone.prompts.choice import Choice
from ragstone.prompts.material import form_of
from ragstone.prompts.packs import read_pack
from ragstone.prompts.rubric import rubric_of
from ragstone.questions import SCALES, Rate, Task, Trace
from ragstone.testing import FakeServer
from ragstone.types import TRIVIAL, Passage, Scale, Unit

UNITS = (Unit("r/claim/1", "claim", "It is tin."),)


def question(task: Task, scale: Scale, wording: int = 1) -> Rate:
    return Rate(task, UNITS, scale, "What is it?", (Passage("1", "Tin.", 1),), skippable=task == "support",
                wording=wording)  # fmt: skip


def test_every_prompt_gives_its_own_words() -> None:
    """Each label of each scale with its meaning, letter by letter; no rule is about writing labels down."""
    templates = [parse(entry.text, entry.name) for entry in entries() if entry.task in SCALES]
    for template in templates:
        style, form = split(template.task, template.name)
        text = " ".join(template.text.split())
        task = cast("Task", template.task)
        for asked in (question(task, scale, 2 if form == "second" else 1) for scale in SCALES[task]):
            if form_of(asked) != form:
                continue
            found, scale = rubric_of(asked, Choice(styles={task: f"{style}.v{template.version}"})), asked.scale
            assert {label for label, _ in found.labels} - {TRIVIAL} == set(scale.labels), template.id
            assert all(f'- "{label}": {meaning}' in text for label, meaning in found.labels), template.id
            assert not any("xactly one" in rule or "Ровно" in rule for rule in found.rules), template.id


def test_a_criterion_brings_its_own_words() -> None:
    """Its labels with their meanings, and its steps as rules."""
    scale = Scale("own", ("bad", "good"), (0.0, 1.0), (0, 1), ("it fails", "it holds"))
    unit = Unit("r/criterion/x", "criterion", "It is so.", scale=scale, steps=("Look.",))
    found = rubric_of(Rate("rubric", (unit,), scale), Choice())
    assert (found.labels, found.rules) == ((("good", "it holds"), ("bad", "it fails")), ("Look.",))


def test_a_prompt_of_the_users_own(tmp_path: Path) -> None:
    """Its words if it lists the labels; else, and if it is gone, those of the packaged prompt."""
    own = tmp_path / "own.md"
    packaged = next(e for e in entries() if e.full_name == "support.default.v5").text
    own.write_text(packaged.replace("the passages state it, or", "Auntie says so, or"), encoding="utf-8")
    asked = question("support", SCALES["support"][0])
    choice = Choice(styles={"support": str(own)})
    mine, usual = rubric_of(asked, choice), rubric_of(asked, Choice())
    assert dict(mine.labels)["yes"].startswith("Auntie says so")
    assert mine.hash != usual.hash
    own.write_text(packaged.replace('- "no": ', "no means: "), encoding="utf-8")
    assert rubric_of(asked, choice) == usual
    own.unlink()
    assert rubric_of(asked, choice) == usual


@pytest.mark.parametrize(("style", "word"), [("", "support every part"), ("default.ru", "подтверждают каждую")])
def test_a_traced_sentence_is_supported_or_not(style: str, word: str) -> None:
    """A person is told so in words of their own, without the keys and values of a model's reply."""
    sentences = tuple(Unit(f"r/{key}", "sentence", "It is tin.") for key in ("doc_0_s0", "resp_s0"))
    found = rubric_of(Trace("trace", "What?", sentences[:1], sentences[1:]), Choice(style=style))
    (best, full), (worst, _) = found.labels
    assert (best, worst) == ("yes", "no")
    assert word in full
    said = " ".join((*(meaning for _, meaning in found.labels), *found.rules))
    assert not re.search(r"\btrue\b|\bkeys\b|ключи|what you list|перечисленное|[_\[\]]", said)


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
        (None, "no such file"),
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
