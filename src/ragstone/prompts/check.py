"""Check a prompt template, packaged or the user's own.

It must render for every question of its step, delimit all texts of the record, explain the labels, and request them in
each of its formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from ragstone.errors import ConfigError, TemplateError
from ragstone.prompts.material import named_texts, variables_of
from ragstone.prompts.templates import FORMS, Template
from ragstone.questions import FORM_OF, LIKERT, SCALES, TASKS, YES_NO, Rate, Trace, Write
from ragstone.types import TRIVIAL, Level, Passage, Scale, Span, Unit

if TYPE_CHECKING:
    from ragstone.parsing import Format

_QUESTION: Final = "sample question: which river runs through Bern?"
_PASSAGES: Final = (
    Passage("p1", "sample passage one: Bern lies on the Aare.", 1),
    Passage("p2", "sample passage two: the Aare flows into the Rhine.", 2),
)
_TEXTS: Final = ("sample unit one: Bern lies on the Aare", "sample unit two: it is long", "sample unit three: so")
_RESPONSE, _REFERENCE = "sample response: it does", "sample reference: so it is"
_LONG: Final = " and the river goes on" * 20
"""Appended to texts to detect templates that truncate them."""
_LEVELS: Final[Mapping[str, tuple[Level, ...]]] = {
    "assign": ("nugget",), "importance": ("nugget",), "response_support": ("response",),
    "relevance": ("passage", "claim", "nugget", "response"), "rubric": ("criterion",),
    "support": ("claim", "sentence"),
}  # fmt: skip
MOST_UNITS: Final = 40
"""Maximum number of units in a sample, for templates that accept more per call."""
MOST_PROBLEMS: Final = 12
"""Number of problems of one template after which its check stops."""


# ---- sample questions


def samples(task: str, form: str = "") -> Iterator[Rate | Write | Trace]:
    """Yield questions of a step that cover all options: each scale, one or several units, with or without evidence."""
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
    elif form == "steps":
        yield Write(
            "rubric", "step", "", criterion=_units("criterion", 1, scale=YES_NO)[0], fields=("response",), most=10
        )
    else:
        yield from _rates(task, form)


def _rates(task: str, form: str) -> Iterator[Rate]:
    wording = 2 if form == "second" else 1
    every = SCALES.get(task, (YES_NO, LIKERT))
    scales = [scale for scale in every if FORM_OF.get((task, scale.name), "") == (form if wording == 1 else "")]
    levels = ("response",) if form == "answered" else _LEVELS[task]
    passages = {"assign": _PASSAGES[:1], "importance": (), "relevance": ()}.get(task, _PASSAGES)
    own = task == "rubric"
    question = "" if task in ("support", "response_support") else _QUESTION
    evidence = (False, True) if passages or task == "relevance" else (False,)
    for scale, level, count, reasons, quoted in product(scales, levels, (1, 3), (False, True), evidence):
        if level != "response" or count == 1:
            yield Rate(
                task, _units(level, count, scale=scale if own else None), scale, question, passages,  # type: ignore[arg-type]
                reasons=reasons, evidence=quoted, skippable=level == "sentence", wording=wording,
                response=_RESPONSE if own else "", reference=_REFERENCE if own else "",
            )  # fmt: skip


def _units(level: Level, count: int, prefix: str = "", scale: Scale | None = None) -> tuple[Unit, ...]:
    return tuple(
        Unit(f"r/{prefix or level + '/'}{n}", level, text, scale=scale)
        for n, text in enumerate(_TEXTS[:count], 0 if prefix else 1)
    )


def sample(template: Template, units: int | None = None, scale: str | None = None) -> Rate | Write | Trace:
    """Return a question for a template as metrics ask it: with evidence if the step has any, and without reasons.

    ``units`` is the number of units (up to 3 by default), ``scale`` the name of the scale. Raise ConfigError for
    options that the template does not support.
    """
    asked = list(samples(template.task, template.form))
    known = {one.scale.name: one.scale for one in asked if isinstance(one, Rate)}
    if not known:
        for flag, value in (("--units", units), ("--scale", scale)):
            if value is not None:
                raise ConfigError(f"{flag} is for steps that rate units; '{template.task}' does not")
        return asked[-1]
    if scale is not None and scale not in known:
        raise ConfigError(f"the step '{template.task}' has no scale '{scale}'; it has {', '.join(known)}")
    wanted = known[scale or next(iter(known))]
    rated = [one for one in asked if isinstance(one, Rate) and one.scale == wanted and not one.reasons]
    level = rated[0].units[0].level
    question = max(
        (one for one in rated if one.units[0].level == level), key=lambda one: (one.evidence, len(one.units))
    )
    if units is None:
        return replace(question, units=question.units[: template.batch])
    if units > template.batch:
        raise ConfigError(
            f"--units {units}: the prompt '{template.name}' asks about at most {template.batch} in one call"
        )
    if level == "response" and units > 1:
        raise ConfigError(f"--units {units}: the step '{template.task}' asks about one response at a time")
    own = question.units[0].scale
    more = (
        Unit(f"r/{level}/{n}", level, f"sample unit {n}", scale=own) for n in range(len(question.units) + 1, units + 1)
    )
    return replace(question, units=(*question.units, *more)[:units])


def _largest(template: Template, question: Rate | Write | Trace) -> Iterator[Rate]:
    """Yield the question with long texts and as many units as one call accepts."""
    if isinstance(question, Rate):
        level, count = question.units[0].level, min(template.batch, MOST_UNITS)
        own = question.units[0].scale
        texts = ((n, f"sample unit no. {n:03d}{_LONG}") for n in range(1, count + 1))
        units = tuple(Unit(f"r/{level}/{n}", level, text, scale=own) for n, text in texts)
        passages = tuple(replace(passage, text=passage.text + _LONG) for passage in question.passages)
        yield replace(question, units=units, passages=passages)


# ---- problems


def problems(template: Template) -> list[str]:
    """Return the problems of a template, one line each; empty if there are none."""
    if template.task not in TASKS:
        return [f"there is no step '{template.task}'; the steps are {', '.join(TASKS)}"]
    forms = FORMS.get(template.task, ("",))
    if template.form not in forms:
        wanted = " or ".join(f"'form: {form}'" if form else "no 'form' line" for form in forms)
        return [f"the header has {f'form: {template.form}' if template.form else 'no form'}; expected {wanted}"]
    if template.formats != ("object",):
        if template.task not in SCALES:
            return [f"the step '{template.task}' has a single form of answer; remove 'formats' from its header"]
        if template.gives and "<reasoning>" not in template.text:
            given = " and ".join(sorted(template.gives))
            return [f"the header promises {given}, but the prompt asks for no <reasoning> block"]
    asked = list(samples(template.task, template.form))
    found: dict[str, None] = {}
    for question, fmt in product((*asked, *_largest(template, asked[-1])), template.formats):
        try:
            found.update(dict.fromkeys(_problems(template, question, fmt)))
        except TemplateError as error:
            found[str(error).partition(": ")[2]] = None
        if len(found) >= MOST_PROBLEMS:
            break
    return list(found)


def _problems(template: Template, question: Rate | Write | Trace, fmt: Format) -> Iterator[str]:
    variables = variables_of(question, fmt, template.language)
    messages = template.render(variables)
    if template.render(variables) != messages:
        yield "it renders differently each time, so no reply can be cached"
    system, user = (message["content"] for message in messages)
    nonce = next((code for name, code in variables.items() if name == "code" and code in user), variables["nonce"])
    if nonce not in system:
        yield "the system part does not explain the code {{ nonce }}"
    yield from _undelimited(system, user, nonce, question)
    if isinstance(question, Rate):
        yield from _unasked(system, user, variables, fmt, question)


def _undelimited(system: str, user: str, nonce: str, question: Rate | Write | Trace) -> Iterator[str]:
    """Yield problems with texts of the record, such as one without delimiter lines around it."""
    for name, text in ((name, text) for name, texts in named_texts(question) for text in texts if text):
        if text in system:
            yield f"{name} is in the system part, where it could act as an instruction"
        elif text not in user:
            yield f"{name} is missing"
        else:
            before, _, after = user.partition(text)
            if nonce not in before or nonce not in after:
                yield f"{name} is not between lines with {{{{ nonce }}}}"
            if user.count(text) > 1:
                yield f"{name} appears twice"
    if isinstance(question, Rate) and question.passages:
        places = [user.find(passage.text) for passage in question.passages]
        if max(places) > user.find(question.units[0].text) >= 0:
            yield "the passages come after the units; put them first, so that the endpoint caches them for all batches"


def _unasked(system: str, user: str, variables: Mapping[str, Any], fmt: Format, question: Rate) -> Iterator[str]:
    """Yield problems with the task: labels that are not explained, and parts of the answer that are not requested."""
    asked = f"{system}\n{user}"
    words = {word.strip(".,:;*`'") for word in asked.split()}
    for label in question.scale.labels:
        if f'"{label}"' not in asked and label not in words:
            yield f"the label {label} of the scale {question.scale.name} is not explained"
    if question.skippable and TRIVIAL not in asked:
        yield f"the label {TRIVIAL} is not explained where units may be skipped ({{% if skippable %}})"
    if fmt == "object":
        if '"verdicts"' not in asked:
            yield 'the object {"verdicts": …} is not asked for; ask for it, or name other formats in the header'
    elif variables["answer"] not in asked:
        yield "{{ answer }}, the wording of the format, is missing"
    if str(len(question.units)) not in asked:
        yield "{{ n }}, the number of units, is missing"
    if len(question.units) > 1:
        at = 0
        for number, unit in enumerate(question.units, 1):
            place = user.find(unit.text, at)
            if place >= 0 and not re.search(rf"(?<!\d){number}(?!\d)", user[at:place]):
                yield "the units do not follow their numbers ({% for number, unit in units %})"
                break
            at = max(at, place + len(unit.text))
