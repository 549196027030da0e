"""The meanings of labels for human annotators, taken from the prompt that judges read.

A prompt lists labels as ``- "label": meaning`` and rules as ``- rule``. If a user's own prompt does not list every
label, the step's packaged one is used. The prompt of a trace lists fields of JSON instead, so its labels are explained
here.
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
from ragstone.questions import EarlierTurns, Rate, Trace
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


_TRACED: Final = {
    "": (
        "the passages support every part of it; numbers, names, dates and negations must match.",
        "the passages do not support every part of it, or a number, name, date or negation does not match.",
        (
            "Label a sentence yes, too, if it states nothing that needs support"
            " (a greeting, a transition, a summary of what was shown)."
        ),
    ),
    "ru": (
        "фрагменты подтверждают каждую часть предложения; числа, имена, даты и отрицания должны совпадать.",
        "фрагменты подтверждают не каждую часть предложения, либо число, имя, дата или отрицание не совпадает.",
        (
            "Ставь yes и предложению, в котором нет ничего, что нуждалось бы в подтверждении"
            " (приветствие, переход, итог уже показанного)."
        ),
    ),
}
"""The meanings of yes and no for a sentence of a traced answer, and the rule, by the language of the prompt."""


def rubric_of(question: Rate | Trace, choice: Choice) -> Rubric:
    """Return the rubric of a question from its chosen prompt; for a criterion, from its own labels and steps."""
    own = question.units[0].scale if isinstance(question, Rate) and question.units else None
    if own and isinstance(question, Rate):
        meanings = own.meanings or ("",) * len(own.labels)
        return Rubric(tuple(zip(own.labels, meanings, strict=True))[::-1], question.units[0].steps)
    form = form_of(question)
    try:
        template = choice.template(question.task, form)[0]
    except TemplateError:  # the user's own prompt file no longer exists
        template = load(question.task, form or "default")
    if isinstance(question, Trace):
        full, less, rule = _TRACED.get(template.language, _TRACED[""])
        return Rubric((("yes", full), ("no", less)), (rule,))
    found = _rubric(question, template) or _rubric(question, load(question.task, form or "default"))
    assert found is not None, "packaged prompts list their labels"
    return found


def _rubric(question: Rate, template: Template) -> Rubric | None:
    """Return the rubric in a prompt, with trivial if people may use it; None if it does not list every label."""
    units = tuple(replace(unit, text="") for unit in question.units)  # only the prompt's text, without the record's
    shown = replace(
        question, question="", history=EarlierTurns(), passages=(), units=units, skippable=question.trivial_allowed
    )
    messages = template.render(variables_of(shown, template.formats[0], template.language))
    said = "\n".join(message["content"] for message in messages[:2])
    entries = [(found["label"], " ".join(found["said"].split())) for found in _LISTED.finditer(said)]
    meanings = {label: said for label, said in entries if label}
    wanted = {*question.scale.labels, *([TRIVIAL] if question.skippable else ())}
    if not wanted <= meanings.keys():
        return None
    rules = tuple(said for label, said in entries if not label and not _OF_LABELS.search(said))
    wanted |= {TRIVIAL}
    return Rubric(tuple((label, said) for label, said in meanings.items() if label in wanted), rules)
