"""What a person is told of labels: the words of the prompt that the judge reads, except for a trace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest

from ragstone.prompts import entries, parse, split
from ragstone.prompts.choice import Choice
from ragstone.prompts.material import form_of
from ragstone.prompts.rubric import rubric_of
from ragstone.questions import SCALES, Rate, Task, Trace
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
