"""Find prompts by name, list them by style, and check files, for ``ragstone prompts``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from ragstone import prompts
from ragstone.errors import ConfigError, TemplateError
from ragstone.prompts import DEFAULT, FORMS, PromptFile, Template, entries, files_of, is_path, split, stem, versioned
from ragstone.prompts.check import problems, samples
from ragstone.prompts.templates import parse_shape
from ragstone.questions import FORM_OF, TASKS, Rate

PURPOSES: Final = {
    "default": "label, reason and evidence in one object",
    "no_reasoning": "labels only; for strong models and many units per call",
    "short_cot": "a snippet, a rationale and a decision for each unit, then the labels; for instruct models",
    "long_cot": "free reasoning, then the same as short_cot; for reasoning models",
    "legacy": "a short TREC-style instruction, labels only; for comparison with TREC",
    "optimized": "a decision procedure, numbered labels; for production",
}
"""The purpose of each style, in the order of the list."""

WRITES: Final = {"claims": ("claims",), "nuggetize": ("nuggets",), "trace": ("labels", "reasons")}
"""Contents of replies of steps that do not rate units."""


# ---- find


class NamedPrompt(Struct, frozen=True):
    """A prompt named by the user: a packaged file (``entry``), or the user's own at ``path``."""

    name: str
    path: str
    text: str
    entry: PromptFile | None = None

    def template(self) -> Template:
        """Return the template to render; raise TemplateError for an invalid file."""
        if self.entry is None:
            return prompts.read(self.path)
        return prompts.load(self.entry.task, self.entry.name, self.entry.version)


def find(named: str, style: str | None = None) -> NamedPrompt:
    """Return the prompt of a step and style (or ``STEP=STYLE``), or of a file; raise TemplateError if not found."""
    task, equals, right = named.partition("=")
    if equals and style is not None:
        raise ConfigError(f"'{named} {style}' names two styles; write {task} {style}")
    path = right if equals else named
    if not is_path(path):
        return _packaged(task, (right if equals else style) or DEFAULT)
    if style is not None:
        raise ConfigError(f"'{named}' is a file and has its own style; drop '{style}'")
    return NamedPrompt(path, path, prompts.read(path, task if equals else "").text)


def for_scale(found: NamedPrompt, scale: str | None) -> NamedPrompt:
    """Return the prompt of the same step and style for a scale, if that has its own form; else the same prompt."""
    entry = found.entry
    form = FORM_OF.get((entry.task, scale or ""), "") if entry else ""
    if entry is None or not form or split(entry.task, entry.name)[1]:
        return found
    name = stem(entry.name, form)
    return _packaged(entry.task, name if name in files_of(entry.task) else stem(DEFAULT, form))


def _packaged(task: str, style: str) -> NamedPrompt:
    if not files_of(task):
        message = f"no step '{task}'; steps are {', '.join(TASKS)}"
        if task in PURPOSES:
            message = f"'{task}' is a style; specify the step too, as in assign={task}"
        elif Path(task).is_file():
            message = f"no step '{task}'; to specify the file, write ./{task}"
        raise TemplateError(message)
    name, version = versioned(style)
    try:
        entry = prompts.entry_of(task, name, version)
    except TemplateError:
        forms = [one for form in FORMS.get(task, ()) if form and (one := stem(name, form)) in files_of(task)]
        if not forms or version:
            raise
        apart = " or ".join(f"{task}={one}" for one in forms)
        raise TemplateError(
            f"the step '{task}' asks {len(forms)} questions; specify the prompt of one: {apart}"
        ) from None
    return NamedPrompt(f"{entry.full_name}#{prompts.digest(entry.text)[:6]}", str(entry.file), entry.text, entry)


def pair(first: str, second: str | None) -> tuple[NamedPrompt, NamedPrompt]:
    """Return the two named prompts; for one name, its last two versions, or a named older one and the newest."""
    one = find(first)
    if second is not None:
        return one, find(second)
    if one.entry is None:
        raise ConfigError(f"'{first}' is a file; specify the prompt to compare with it")
    task, name, version = one.entry.task, one.entry.name, one.entry.version
    every = [entry.version for entry in files_of(task)[name]]
    older = version if version != every[-1] else every[-2] if len(every) > 1 else 0
    if not older:
        raise ConfigError(f"the prompt '{name}' of the step '{task}' has one version, v{version}; use another prompt")
    return _packaged(task, f"{name}.v{older}"), _packaged(task, f"{name}.v{every[-1]}")


# ---- list


class PromptStyle(Struct, frozen=True):
    """One style of one step: its packaged prompts.

    ``names`` are the names of its prompts, several if the step asks several questions. ``versions`` are all versions of
    these, newest last. ``units`` is the maximum number of units per call, ``gives`` the contents of the replies, and
    ``purpose`` what the style is for.
    """

    step: str
    style: str
    names: tuple[str, ...]
    versions: tuple[int, ...]
    languages: tuple[str, ...]
    formats: tuple[str, ...]
    gives: tuple[str, ...]
    units: int
    purpose: str

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON; the purpose is under ``for``."""
        told = asdict(self)
        return told | {"for": told.pop("purpose")}


def prompt_styles() -> list[PromptStyle]:
    """Return the newest prompts by step and style, in the order of the steps and of ``PURPOSES``."""
    grouped: dict[tuple[str, str], list[Template]] = {}
    for task in TASKS:
        for name in files_of(task):
            template = prompts.load(task, name)
            grouped.setdefault((task, split(task, template.style)[0]), []).append(template)
    order = dict.fromkeys((*PURPOSES, *(style for _, style in grouped)))
    return [_style(task, style, grouped[task, style]) for task in TASKS for style in order if (task, style) in grouped]


def _style(task: str, style: str, templates: Sequence[Template]) -> PromptStyle:
    english = [template for template in templates if not template.language]
    first = (english or templates)[0]
    given = WRITES.get(task, ())
    if not given:
        quoted = any(isinstance(question, Rate) and question.evidence for question in samples(task, first.form))
        wanted = ("reasons", "evidence") if quoted else ("reasons",)
        given = ("labels", *(what for what in wanted if what in first.gives))
    names = tuple(template.style for template in english)
    have = [{entry.version for entry in files_of(task)[name]} for name in names]
    return PromptStyle(
        task, style, names, tuple(sorted(set.union(*have))),
        tuple(dict.fromkeys(template.language or "en" for template in templates)), first.formats, given,
        max(template.batch for template in english or templates), PURPOSES.get(style, first.source),
    )  # fmt: skip


# ---- check


class CheckedPrompt(Struct, frozen=True):
    """The problems of one file; ``step`` is empty if its header could not be read."""

    file: str
    problems: tuple[str, ...]
    step: str = ""
    style: str = ""
    formats: tuple[str, ...] = ()
    units: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"file": self.file, "fits": not self.problems, **asdict(self)}

    @property
    def choice(self) -> str:
        """The value of ``--prompt`` that uses the file."""
        return f"{self.step}={self.file if is_path(self.file) else f'./{self.file}'}"


def check_file(path: str) -> CheckedPrompt:
    """Check a user's own file."""
    try:
        found = prompts.read(path)
    except TemplateError as error:
        return CheckedPrompt(path, (str(error).removeprefix(f"prompt {path}: "),))
    return CheckedPrompt(path, tuple(problems(found)), found.task, found.name, found.formats, found.batch)


def check_packaged() -> dict[str, list[str]]:
    """Return the problems of the packaged files by path, including differences from their released hashes."""
    wrong = {path: [what] for path, what in prompts.changed().items()}
    for entry in entries():
        path = f"{entry.task}/{entry.file.name}"
        try:
            if entry.task in prompts.SHARED:
                parse_shape(entry.text, path, prompts.SHARED[entry.task])
                continue
            template = prompts.load(entry.task, entry.name, entry.version)
            found = problems(template) if entry.task in TASKS else []
        except TemplateError as error:
            found = [str(error)]
        if found:
            wrong.setdefault(path, []).extend(found)
    return dict(sorted(wrong.items()))
