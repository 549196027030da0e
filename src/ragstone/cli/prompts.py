"""What ``ragstone prompts`` does: find prompts by name, render, compare and check them. Asks nobody."""

from __future__ import annotations

import difflib
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import typer
from rich.console import RenderableType
from rich.text import Text

from ragstone import prompts
from ragstone.cli.ending import USAGE, say
from ragstone.cli.output import binary_output, show, show_json
from ragstone.errors import ConfigError, TemplateError
from ragstone.parsing import FORMATS, Format
from ragstone.prompts import FORMS, Entry, Template, entries, is_path, stem
from ragstone.prompts.check import SCALES, problems, samples
from ragstone.prompts.choice import DEFAULT
from ragstone.prompts.material import variables_of
from ragstone.prompts.templates import parse_shape
from ragstone.questions import TASKS, Rate, Trace, Write
from ragstone.render.terminal.prompts import (
    Checked,
    Kind,
    checked_page,
    coloured,
    packaged_page,
    prompt_list,
    rendered,
)
from ragstone.render.terminal.screen import Look, screen
from ragstone.render.text import clean
from ragstone.types import Unit

DIFFERENT: Final = 1
"""The exit code of ``diff`` where the two differ, as that of other programs of its name."""

PURPOSES: Final = {
    "default": "the default: label, reason and evidence in one object",
    "no_reasoning": "the labels alone: for strong models and big batches",
    "short_cot": "snippet, rationale and decision for each unit, then the labels: for instruct models",
    "long_cot": "the same after thinking at any length: for reasoning models",
    "legacy": "a short instruction in the manner of TREC, labels alone: for comparison with earlier runs",
    "optimized": "a fixed order of decision, labels under their numbers: for production",
}
"""What each style asks for, and for what."""

WRITES: Final = {"claims": ("claims",), "nuggetize": ("nuggets",), "trace": ("labels", "reasons")}
"""What the steps give that rate nothing."""


@dataclass(frozen=True, slots=True)
class Named:
    """A prompt that was named: a packaged file, or the user's own at ``path``."""

    name: str
    path: str
    text: str
    entry: Entry | None = None

    def template(self) -> Template:
        """The prompt, to be rendered; TemplateError for a file that is none."""
        if self.entry is None:
            return prompts.read(self.path)
        return prompts.load(self.entry.task, self.entry.name, self.entry.version)


def find(named: str, style: str | None = None) -> Named:
    """The prompt of a step and a style, given apart or as ``STEP=STYLE``, or a file; TemplateError if there is none."""
    task, equals, right = named.partition("=")
    if equals and style is not None:
        raise ConfigError(f"'{named} {style}' names two styles; write {task} {style}")
    if is_path(right if equals else named):
        if style is not None:
            raise ConfigError(f"'{named}' is a file and has its own style; '{style}' cannot be meant")
        return _own(right if equals else named, task if equals else "")
    return _packaged(task, (right if equals else style) or DEFAULT)


def _own(path: str, task: str) -> Named:
    template = prompts.read(path)
    if task and template.task != task:
        raise TemplateError(f"prompt {path}: it is for the step '{template.task}' and was given for '{task}'")
    return Named(path, path, template.text)


def _packaged(task: str, style: str) -> Named:
    known = dict.fromkeys(entry.task for entry in entries())
    if task not in known:
        message = f"no step '{task}'; steps are {', '.join(TASKS)}"
        if task in PURPOSES:
            message = f"'{task}' is a style; name the step too, as in assign={task}"
        elif Path(task).is_file():
            message = f"no step '{task}'; to name the file, write ./{task}"
        raise TemplateError(message)
    name, dot, version = style.rpartition(".v")
    if not (dot and version.isascii() and version.isdigit() and 0 < len(version) < 9):
        name, version = style, "0"
    found = [entry for entry in entries() if (entry.task, entry.name) == (task, name)]
    found = [entry for entry in found if int(version) in (0, entry.version)]
    if not found:
        names = {entry.name for entry in entries() if entry.task == task}
        forms = [one for form in FORMS.get(task, ()) if form and (one := stem(name, form)) in names]
        if forms and version == "0":
            apart = " or ".join(f"{task}={one}" for one in forms)
            raise TemplateError(f"the step '{task}' asks {len(forms)} questions; name the prompt of one: {apart}")
        prompts.load(task, name, int(version))  # says what there is
    entry = max(found, key=lambda one: one.version)
    full = f"{entry.task}.{entry.name}.v{entry.version}"
    return Named(f"{full}#{prompts.digest(entry.text)[:6]}", str(entry.file), entry.text, entry)


def _print(*texts: RenderableType) -> None:
    """Texts as they are; only on a terminal their lines are broken, at words, in all of its width."""
    console = screen()
    console.width = max(console.width, shutil.get_terminal_size().columns)
    for text in texts:
        console.print(text, soft_wrap=not sys.stdout.isatty())


# ---- list


def show_list(*, as_json: bool) -> None:
    """All styles of all steps."""
    found = kinds()
    changed = prompts.changed()
    if as_json:
        show_json({"prompts": [kind.as_json() for kind in found], "changed": changed})
    else:
        show(lambda look: prompt_list(found, changed, look))


def kinds() -> list[Kind]:
    """The newest prompts by step and style, in the order of the steps and of ``PURPOSES``."""
    newest = {(entry.task, entry.name): entry.version for entry in entries() if entry.task in TASKS}
    grouped: dict[tuple[str, str], list[Template]] = {}
    for (task, name), version in newest.items():
        template = prompts.load(task, name, version)
        grouped.setdefault((task, _style_of(template)), []).append(template)
    order = [*PURPOSES, *(style for _, style in grouped if style not in PURPOSES)]
    return [
        _kind(task, style, grouped[task, style]) for task in TASKS for style in dict.fromkeys(order)
        if (task, style) in grouped
    ]  # fmt: skip


def _style_of(template: Template) -> str:
    """The style as a run is told it; a file's name also says which question of the step it asks."""
    if template.form and template.style == template.form:
        return DEFAULT
    return template.style.removesuffix(f"_{template.form}") if template.form else template.style


def _kind(task: str, style: str, templates: Sequence[Template]) -> Kind:
    first = next((template for template in templates if not template.language), templates[0])
    asked = list(samples(task, first.form))
    given: tuple[str, ...] = WRITES.get(task, ())
    if not given:
        quoted = any(isinstance(question, Rate) and question.evidence for question in asked)
        given = ("labels", *(what for what in ("reasons", "evidence") if what in first.gives))
        given = given if quoted else tuple(what for what in given if what != "evidence")
    return Kind(
        task, style, tuple(template.style for template in templates if not template.language), first.version,
        tuple(dict.fromkeys(template.language or "en" for template in templates)), first.formats, given, first.batch,
        PURPOSES.get(style, first.source),
    )  # fmt: skip


# ---- show


def show_text(named: str, style: str | None) -> None:
    """The text on standard output, where it stands on standard error."""
    found = find(named, style)
    say("prompt", found.name if found.entry is None else f"{found.name} in {found.path}")
    if not sys.stdout.isatty():  # a copy is to be the file itself
        stream = binary_output()
        stream.write(found.text.encode("utf-8"))
        stream.flush()
        return
    _print(Text(clean(found.text).rstrip("\n")))
    if found.entry is not None and found.entry.task in TASKS:
        task, name = found.entry.task, found.entry.name
        say("hint", f"ragstone prompts show {task} {name} > mine.md is the beginning of your own")


# ---- render


def show_rendered(
    named: str, style: str | None, *, fmt: str | None, units: int | None, scale: str | None, as_json: bool
) -> None:
    """The messages of a prompt for a sample question."""
    found = find(named, style)
    if found.entry is not None and found.entry.task not in TASKS:
        raise ConfigError(f"'{found.entry.task}' is no step; its text is part of other prompts: ragstone prompts show")
    template = found.template()
    if template.task not in TASKS:
        raise TemplateError(f"prompt {found.name}: {problems(template)[0]}")
    chosen = _format(template, fmt)
    question = _sample(template, units, scale)
    messages = template.render(variables_of(question, chosen, template.language))
    count = len(question.units) if isinstance(question, Rate) else None
    named_scale = question.scale.name if isinstance(question, Rate) else None
    if as_json:
        show_json(
            {
                "prompt": template.id, "step": template.task, "style": template.name, "format": chosen,
                "scale": named_scale, "units": count, "messages": messages,
            }
        )  # fmt: skip
        return
    heading = [template.id]
    if named_scale is not None and count is not None:
        heading += [f"format {chosen}", f"scale {named_scale}", f"{count} unit{'s' if count > 1 else ''}"]
    _print(rendered(heading, messages, Look.of(screen())))


def _format(template: Template, fmt: str | None) -> Format:
    if fmt is None:
        return template.formats[0]
    if fmt not in FORMATS:
        raise ConfigError(f"--format '{fmt}'; expected {', '.join(FORMATS)}")
    taken = [known for known in template.formats if known == fmt]
    if not taken:
        raise ConfigError(
            f"the prompt '{template.name}' of the step '{template.task}' takes no format '{fmt}'; "
            f"it takes {', '.join(template.formats)}"
        )
    return taken[0]


def _sample(template: Template, units: int | None, scale: str | None) -> Rate | Write | Trace:
    """A question of the step as metrics ask it: with evidence where there is any, and without reasons."""
    known = {one.name: one for one in SCALES.get(template.task, ())}
    if not known:
        for flag, value in (("--units", units), ("--scale", scale)):
            if value is not None:
                raise ConfigError(f"{flag} is for steps that rate units; '{template.task}' does not")
        return list(samples(template.task, template.form))[-1]
    if scale is not None and scale not in known:
        raise ConfigError(f"the step '{template.task}' has no scale '{scale}'; it has {', '.join(known)}")
    wanted = known[scale] if scale is not None else next(iter(known.values()))
    asked = [one for one in samples(template.task, template.form) if isinstance(one, Rate)]
    asked = [one for one in asked if one.scale == wanted and not one.reasons]
    level = asked[0].units[0].level
    question = max(
        (one for one in asked if one.units[0].level == level), key=lambda one: (one.evidence, len(one.units))
    )
    if units is None:
        return replace(question, units=question.units[: template.batch])
    if units > template.batch:
        raise ConfigError(
            f"--units {units}: the prompt '{template.name}' asks about at most {template.batch} in one call"
        )
    if level == "response" and units > 1:
        raise ConfigError(f"--units {units}: the step '{template.task}' asks about one response at a time")
    more = (Unit(f"r/{level}/{n}", level, f"sample unit {n}") for n in range(len(question.units) + 1, units + 1))
    return replace(question, units=(*question.units, *more)[:units])


# ---- diff


def show_difference(first: str, second: str) -> None:
    """The lines in which two prompts differ; leaves with 1 if there are any."""
    before, after = find(first), find(second)
    old, new = (found.text.replace("\r\n", "\n").splitlines(keepends=True) for found in (before, after))
    lines = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, before.name, after.name)
    ]
    if not lines:
        return
    if sys.stdout.isatty():
        _print(*coloured(lines))
    else:
        stream = binary_output()
        stream.write("".join(lines).encode("utf-8"))
        stream.flush()
    raise typer.Exit(DIFFERENT)


# ---- check


def check(files: Sequence[str], *, as_json: bool) -> None:
    """Whether prompts fit: the user's own, or all packaged ones and their lock; leaves with 2 if one does not."""
    if files:
        found = [_checked(path) for path in files]
        if as_json:
            show_json([one.as_json() for one in found])
        else:
            show(lambda look: checked_page(found, look))
        wrong = any(one.problems for one in found)
    else:
        faults = _packaged_problems()
        if as_json:
            show_json({"files": len(entries()), "fits": not faults, "problems": faults})
        else:
            show(lambda look: packaged_page(len(entries()), faults, look))
        wrong = bool(faults)
    if wrong:
        raise typer.Exit(USAGE)


def _checked(path: str) -> Checked:
    try:
        template = prompts.read(path)
    except TemplateError as error:
        return Checked(path, (str(error).removeprefix(f"prompt {path}: "),))
    return Checked(
        path, tuple(problems(template)), template.task, template.name, tuple(template.formats), template.batch
    )


def _packaged_problems() -> dict[str, list[str]]:
    """What is wrong with the files of the package, by their path."""
    wrong: dict[str, list[str]] = {path: [what] for path, what in prompts.changed().items()}
    for entry in entries():
        path = f"{entry.task}/{entry.file.name}"
        try:
            if entry.task == "formats":
                parse_shape(entry.text, path)
                continue
            template = prompts.load(entry.task, entry.name, entry.version)
            found = problems(template) if entry.task in TASKS else []
        except TemplateError as error:
            found = [str(error)]
        if found:
            wrong.setdefault(path, []).extend(found)
    return dict(sorted(wrong.items()))
