"""What must hold of every template, ours and users'.

It renders for every question of its step, sets every text of the record off by the code, explains the labels, and
asks for them in the form that it is used with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ragstone.errors import TemplateError
from ragstone.prompts.material import variables_of
from ragstone.prompts.templates import FORMS, Template
from ragstone.questions import (
    GRADE_0_2,
    GRADE_0_3,
    IMPORTANCE,
    LIKERT,
    SUPPORT_2,
    SUPPORT_3,
    TASKS,
    YES_NO,
    Rate,
    Trace,
    Write,
)
from ragstone.types import TRIVIAL, Level, Passage, Scale, Span, Unit

if TYPE_CHECKING:
    from ragstone.parsing import Format

SCALES: Final[Mapping[str, tuple[Scale, ...]]] = {
    "support": (YES_NO, LIKERT, GRADE_0_3),
    "assign": (SUPPORT_3, SUPPORT_2),
    "response_support": (GRADE_0_2,),
    "relevance": (YES_NO, LIKERT, GRADE_0_3),
    "importance": (IMPORTANCE,),
}
"""The scales that metrics rate a step's units on."""

_QUESTION: Final = "sample question: which river runs through Bern?"
_PASSAGES: Final = (
    Passage("p1", "sample passage one: Bern lies on the Aare.", 1),
    Passage("p2", "sample passage two: the Aare flows into the Rhine.", 2),
)
_TEXTS: Final = ("sample unit one: Bern lies on the Aare", "sample unit two: it is long", "sample unit three: so")
_LONG: Final = " and the river goes on" * 20
"""What a text may be longer by than a template expects."""
MOST: Final = 40
"""The most units that a sample has; a template that takes more a call is tried with so many."""


def samples(task: str, form: str = "") -> Iterator[Rate | Write | Trace]:
    """Questions of a step that cover what its templates may be asked: each scale, one unit and several, all options."""
    if task == "trace":
        sentences = tuple(
            Unit(f"r/doc_0_s{n}", "sentence", passage.text, Span(0, len(passage.text)), passage.id)
            for n, passage in enumerate(_PASSAGES)
        )
        yield Trace("trace", _QUESTION, sentences, _units("sentence", 3, "resp_s"))
    elif task == "claims":
        for before in ("", "sample text before"):
            yield Write("claims", "claim", _QUESTION, _units("sentence", 2), before)
    elif task == "nuggetize":
        for known in ((), ("sample nugget that is known",)):
            if form != "passages":
                yield Write("nuggetize", "nugget", _QUESTION, _units("sentence", 2), known=known, most=30)
            if form != "answer":
                yield Write("nuggetize", "nugget", _QUESTION, passages=_PASSAGES, known=known, most=30)
    else:
        for question in _rates(task):
            yield replace(question, wording=2) if form == "second" else question


def _rates(task: str) -> Iterator[Rate]:
    passages = {"assign": _PASSAGES[:1], "support": _PASSAGES, "response_support": _PASSAGES}.get(task, ())
    known: Mapping[str, tuple[Level, ...]] = {
        "assign": ("nugget",), "importance": ("nugget",), "response_support": ("response",),
        "relevance": ("passage", "claim", "nugget", "response"),
    }  # fmt: skip
    levels = known.get(task, ("claim", "sentence"))
    for scale in SCALES[task]:
        for level in levels:
            for count in (1,) if level == "response" else (1, 3):
                for reasons in (False, True):
                    for evidence in (False, True) if passages or task == "relevance" else (False,):
                        question = "" if task in ("support", "response_support") else _QUESTION
                        skippable = level == "sentence"
                        yield Rate(
                            task, _units(level, count), scale, question, passages,  # type: ignore[arg-type]
                            reasons=reasons, evidence=evidence, skippable=skippable,
                        )  # fmt: skip


def _units(level: Level, count: int, prefix: str = "") -> tuple[Unit, ...]:
    return tuple(
        Unit(f"r/{prefix or level + '/'}{n}", level, text) for n, text in enumerate(_TEXTS[:count], 0 if prefix else 1)
    )


def _full(template: Template) -> Iterator[Rate]:
    """A question with as many units as one call takes, and long texts."""
    for question in list(samples(template.task, template.form))[-1:]:
        if isinstance(question, Rate):
            level, count = question.units[0].level, min(template.batch, MOST)
            units = tuple(Unit(f"r/{level}/{n}", level, f"sample unit no. {n:03d}{_LONG}") for n in range(1, count + 1))
            passages = tuple(replace(passage, text=passage.text + _LONG) for passage in question.passages)
            yield replace(question, units=units, passages=passages)


def problems(template: Template) -> list[str]:
    """What is wrong with a template, each in one line; empty if nothing is."""
    if template.task not in TASKS:
        return [f"there is no step '{template.task}'; the steps are {', '.join(TASKS)}"]
    forms = FORMS.get(template.task, ("",))
    if template.form not in forms:
        wanted = " or ".join(f"'form: {form}'" if form else "no 'form' line" for form in forms)
        return [f"the header has {f'form: {template.form}' if template.form else 'no form'}; expected {wanted}"]
    rates = template.task in SCALES
    if not rates and template.formats != ("object",):
        return [f"the step '{template.task}' has one form of answer; its header takes no 'formats' line"]
    if template.gives and template.formats != ("object",) and "<reasoning>" not in template.text:
        return [
            "the header says that it gives "
            + " and ".join(sorted(template.gives))
            + ", and no <reasoning> block is asked for"
        ]
    found: dict[str, None] = {}
    for question in (*samples(template.task, template.form), *_full(template)):
        for fmt in template.formats:
            try:
                for problem in _problems(template, question, fmt):
                    found[problem] = None
            except TemplateError as error:
                found[str(error).partition(": ")[2]] = None
            if len(found) >= 12:
                return list(found)
    return list(found)


def _problems(template: Template, question: Rate | Write | Trace, fmt: Format) -> Iterator[str]:
    variables = variables_of(question, fmt, template.language)
    system, user = (message["content"] for message in template.render(variables))
    if template.render(variables) != [{"role": "system", "content": system}, {"role": "user", "content": user}]:
        yield "it renders otherwise each time, so that no reply is ever found again"
    nonce = variables["nonce"]
    if nonce not in system:
        yield "the system part does not say what the code {{ nonce }} means"
    yield from _unmarked(system, user, nonce, question)
    if isinstance(question, Rate):
        yield from _unasked(system, user, variables, fmt, question)


def _unmarked(system: str, user: str, nonce: str, question: Rate | Write | Trace) -> Iterator[str]:
    """Texts of the record that are not set off: before and after each stands a line with the code."""
    for name, texts in _named(question):
        for text in texts:
            if text in system:
                yield f"{name} stands in the system part, where it may be taken for an instruction"
            elif text not in user:
                yield f"{name} is left out"
            else:
                before, _, after = user.partition(text)
                if nonce not in before or nonce not in after:
                    yield f"{name} does not stand between lines with {{{{ nonce }}}}"
                if user.count(text) > 1:
                    yield f"{name} stands there twice"
    if isinstance(question, Rate) and question.passages:
        places = [user.find(passage.text) for passage in question.passages]
        if max(places) > user.find(question.units[0].text) >= 0:
            yield "the passages stand after the units; before them they are cached by the endpoint for all batches"


def _named(question: Rate | Write | Trace) -> Iterator[tuple[str, list[str]]]:
    def texts(items: Any) -> list[str]:
        return [item.text for item in items]

    if question.question:
        yield "the question (question)", [question.question]
    if isinstance(question, Rate):
        yield "a passage (passages)", texts(question.passages)
        yield "a unit (units)", texts(question.units)
    elif isinstance(question, Trace):
        yield "a sentence of the contexts (documents)", texts(question.sentences)
        yield "a sentence of the response (response)", texts(question.response)
    else:
        yield "a sentence (sentences)", texts(question.sentences)
        yield "a passage (passages)", texts(question.passages)
        yield "a known nugget (known)", list(question.known)
        if question.before:
            yield "what stands before (before)", [question.before]


def _unasked(system: str, user: str, variables: Mapping[str, Any], fmt: Format, question: Rate) -> Iterator[str]:
    """Labels and form of the answer, as far as they are not asked for."""
    asked = f"{system}\n{user}"
    for label in question.scale.labels:
        if f'"{label}"' not in asked and label not in asked.split():
            yield f"the label {label} of the scale {question.scale.name} is not explained"
    if question.skippable and TRIVIAL not in asked:
        yield f"the label {TRIVIAL} is not explained where units may be skipped ({{% if skippable %}})"
    if fmt == "object":
        if '"verdicts"' not in asked:
            yield 'the object {"verdicts": …} is not asked for; or name other formats in the header'
    elif variables["answer"] not in asked:
        yield "{{ answer }}, which says in what form the labels are wanted, is left out"
    if str(len(question.units)) not in asked:
        yield "{{ n }}, the number of units, is left out"
    if len(question.units) > 1:
        at = 0
        for number, unit in enumerate(question.units, 1):
            place = user.find(unit.text, at)
            if place >= 0 and not re.search(rf"(?<!\d){number}(?!\d)", user[at:place]):
                yield "the units do not stand after their numbers ({% for number, unit in units %})"
                break
            at = max(at, place + len(unit.text))
