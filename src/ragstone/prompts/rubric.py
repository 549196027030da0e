"""The meanings of labels for human annotators, taken from the prompt that judges read.

A prompt lists labels as ``- "label": meaning`` and rules as ``- rule``. If a user's own prompt does not list every
label, the step's packaged one is used.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ragstone.errors import TemplateError
from ragstone.labels import text_hash
from ragstone.prompts import Template, load
from ragstone.prompts.choice import Choice
from ragstone.prompts.material import form_of, variables_of
from ragstone.questions import YES_NO, EarlierTurns, Rate, Trace
from ragstone.types import TRIVIAL

_LISTED: Final = re.compile(r'^ *- (?:"(?P<label>[^"\n]+)": )?(?P<said>.*(?:\n +(?![ -]).*)*)', re.MULTILINE)
_OF_LABELS: Final = re.compile(r"\blabels?\b|\bмет(ка|ки|ок|ку)\b", re.IGNORECASE)  # noqa: RUF001 - Russian
"""Matches rules about writing labels, which an annotator only chooses."""


class Rubric(Struct, frozen=True):
    """The ``labels`` of a scale with their meanings, best first, and the ``rules``."""

    labels: tuple[tuple[str, str], ...]
    rules: tuple[str, ...]

    @property
    def hash(self) -> str:
        """A hash of the texts."""
        return text_hash("\n".join([*(f"{label}: {meaning}" for label, meaning in self.labels), *self.rules]))


def rubric_of(question: Rate | Trace, choice: Choice) -> Rubric:
    """Return the rubric of a question from its chosen prompt; for a criterion, from its own labels and steps."""
    own = question.units[0].scale if isinstance(question, Rate) and question.units else None
    if own and isinstance(question, Rate):
        meanings = own.meanings or ("",) * len(own.labels)
        return Rubric(tuple(zip(own.labels, meanings, strict=True))[::-1], question.units[0].steps)
    form = form_of(question)
    try:
        found = _rubric(question, choice.template(question.task, form)[0])
    except TemplateError:  # the user's own prompt file no longer exists
        found = None
    found = found or _rubric(question, load(question.task, form or "default"))
    assert found is not None, "packaged prompts list their labels"
    return found


def _rubric(question: Rate | Trace, template: Template) -> Rubric | None:
    """Return the rubric in a prompt; None if it does not list every label."""
    if isinstance(question, Rate):  # only the prompt's text, without the record's
        units = tuple(replace(unit, text="") for unit in question.units)
        question = replace(question, question="", history=EarlierTurns(), passages=(), units=units)
    messages = template.render(variables_of(question, template.formats[0], template.language))
    said = "\n".join(message["content"] for message in messages[: 2 if isinstance(question, Rate) else 1])
    entries = [(found["label"], " ".join(found["said"].split())) for found in _LISTED.finditer(said)]
    meanings = {label: said for label, said in entries if label}
    if not isinstance(question, Rate):  # a traced sentence is rated by these two fields of the reply
        best, worst = reversed(YES_NO.labels)
        rules = tuple(meanings[name] for name in ("support",) if name in meanings)
        whole = meanings.get("fully_supported")
        return Rubric(((best, whole), (worst, "")), rules) if whole else None
    wanted = {*question.scale.labels, *([TRIVIAL] if question.skippable else ())}
    if not wanted <= meanings.keys():
        return None
    rules = tuple(said for label, said in entries if not label and not _OF_LABELS.search(said))
    return Rubric(tuple((label, said) for label, said in meanings.items() if label in wanted), rules)
