"""Choose the prompt of each step: a style or a user's own file, and a label format.

A style that the step does not have, a file for another step, or a format that the style does not support is an error
that names it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from msgspec import Struct

from ragstone import prompts
from ragstone.errors import TemplateError
from ragstone.prompts import DEFAULT, FORMS, Template, files_of, is_path, load, stem, styles, versioned
from ragstone.questions import SCALES, TASKS
from ragstone.types import NOTHING

if TYPE_CHECKING:
    from ragstone.parsing import Format

IN_ENGLISH: Final = ".en"
"""Suffix of a style that always asks in English, regardless of the record's language."""
LABELS_ALONE: Final = "no_reasoning"
"""The style for a format that the default style does not support, if no style is named."""


class Choice(Struct, frozen=True):
    """The user's choice of prompts.

    ``styles`` maps steps to the name of a style, of a version of it (``short_cot.v1``), or to the path of a file.
    ``style`` is for all other steps; those that do not have it use the default style in its language. ``format`` is the
    label format; it does not affect steps that write texts or trace sentences. ``pack`` is the path of a domain pack.
    Each prompt includes the ``pack_examples`` examples of it that are most similar to its question; 0 for all.
    """

    style: str = ""
    styles: Mapping[str, str] = NOTHING
    format: Format | None = None
    pack: str = ""
    pack_examples: int = 0

    def as_json(self) -> dict[str, object]:
        """Return plain JSON, as stored by a run."""
        packed = {"pack": self.pack, "pack_examples": self.pack_examples} if self.pack else {}
        return {"style": self.style, "styles": dict(self.styles), "format": self.format, **packed}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """Return the choice encoded by ``as_json``."""
        packed = given.get("pack", ""), given.get("pack_examples", 0)
        return cls(given.get("style", ""), dict(given.get("styles", {})), given.get("format"), *packed)

    def template(self, task: str, form: str = "", lang: str = "") -> tuple[Template, Format]:
        """Return the template and label format for a step; raise TemplateError if there is none.

        ``lang`` is the language to ask in if the choice names none and there is a prompt in it.
        """
        template, chosen = self._find(task, form, lang)
        if template.formats == ("object",) and (not chosen or task not in SCALES):
            return template, "object"
        return template, template.taking(self.format)

    def _find(self, task: str, form: str, lang: str) -> tuple[Template, bool]:
        """Return the template, and whether the user chose it."""

        def in_language(style: str, lang: str = lang) -> str:
            translated = stem(f"{style}.{lang}", form)
            if lang and "." not in style and translated in files_of(task):
                return translated
            return stem(style.removesuffix(IN_ENGLISH), form)

        named = self.styles.get(task, "")
        if is_path(named):
            template = own(named, task)
            if template.form == form:
                return template, True
            named = ""
        if named:
            check_named(task, named)
            style, version = versioned(named)
            name = in_language(style, "" if version else lang)
            if name in files_of(task):
                return load(task, name, version if has_version(task, name, version) else 0), True
        if self.style and (general := in_language(self.style)) in files_of(task):
            return load(task, general), True
        _, dot, language = (versioned(named)[0] or self.style).partition(".")
        plain, alone = (in_language(f"{style}{dot}{language}") for style in (DEFAULT, LABELS_ALONE))
        template = load(task, plain)
        if self.format and self.format not in template.formats and alone in files_of(task):
            return load(task, alone), True
        return template, False


def own(path: str, task: str) -> Template:
    """Read and check a user's own file for a step; raise TemplateError with the first problem."""
    template = prompts.read(path, task)
    from ragstone.prompts.check import problems  # noqa: PLC0415 - a run with packaged prompts checks none

    if wrong := problems(template):
        more = f" ({len(wrong) - 1} more: ragstone prompts check {path})" if len(wrong) > 1 else ""
        raise TemplateError(f"prompt {path}: {wrong[0]}{more}")
    return template


def parse_styles(given: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Parse ``STYLE``, ``TASK=STYLE`` and ``TASK=FILE.md`` into the style for all steps and those of single steps."""
    general = ""
    named: dict[str, str] = {}
    for text in given:
        left, equals, right = text.partition("=")
        if not equals:
            if is_path(left):
                raise TemplateError(f"--prompt {text}: specify its step, as in --prompt support={text}")
            if general and general != left:
                raise TemplateError(f"--prompt {text}: '{general}' already applies to all steps; specify the step")
            check_style(left)
            general = left
        elif left.strip() not in TASKS:
            raise TemplateError(f"--prompt {text}: no step '{left.strip()}'; steps are {', '.join(TASKS)}")
        elif not right.strip():
            raise TemplateError(f"--prompt {text}: specify a style or a file, as in --prompt {left.strip()}=default")
        else:
            named[left.strip()] = right.strip()
    return general, named


def check_named(task: str, named: str) -> None:
    """Raise TemplateError for a style or version that the step does not have, or a file that it cannot use."""
    style, version = versioned(named.removesuffix(IN_ENGLISH))
    if is_path(named):
        own(named, task)
    elif style not in styles(task):
        raise TemplateError(
            f"no prompt style '{named}' for the step '{task}'; known: {', '.join(styles(task))}, or a file"
        )
    elif version:
        names = [stem(style, form) for form in FORMS.get(task, ("",))]
        if not any(has_version(task, name, version) for name in names):
            prompts.entry_of(task, names[0], version)


def check_style(style: str) -> None:
    """Raise TemplateError for a style that no step has."""
    names = dict.fromkeys(name for task in TASKS for name in styles(task))
    style = style.removesuffix(IN_ENGLISH)
    if (plain := versioned(style)[0]) in names and plain != style:
        raise TemplateError(f"'{style}' is a version of one step's prompt; specify the step, as in support={style}")
    if style not in names:
        near = difflib.get_close_matches(style, names, 1)
        hint = f"did you mean '{near[0]}'? Known" if near else "known"
        raise TemplateError(f"no prompt style '{style}'; {hint}: {', '.join(names)}, or STEP=FILE.md")


def has_version(task: str, name: str, version: int) -> bool:
    """Return whether a packaged prompt has this version; a step's questions may have different versions."""
    return any(entry.version == version for entry in files_of(task).get(name, ()))
