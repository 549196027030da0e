"""Which prompt a judge is asked with: by step a style or a user's own file, and a format for the labels.

What cannot be meant is refused by name: a style that a step does not have, a file of another step, a format that a
chosen style does not take.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self

from ragstone.errors import TemplateError
from ragstone.prompts import Template, entries, is_path, load, read, stem, styles
from ragstone.questions import TASKS
from ragstone.types import NOTHING

if TYPE_CHECKING:
    from ragstone.parsing import Format

DEFAULT: Final = "default"
LABELS_ALONE: Final = "no_reasoning"
"""The style that is taken where a format is wanted, no style is named, and the default one does not take it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a user chose.

    ``styles`` has for a step the name of a style or the path of a file; ``style`` is for every other step that has
    it, of which those that have not take the default one of its language. ``format`` is how labels are to be given;
    steps that write texts or trace sentences have one form only, which it does not change.
    """

    style: str = ""
    styles: Mapping[str, str] = field(default_factory=lambda: NOTHING, hash=False)
    format: Format | None = None

    def as_json(self) -> dict[str, object]:
        """Plain JSON, for a run's record of itself."""
        return {"style": self.style, "styles": dict(self.styles), "format": self.format}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """What ``as_json`` made plain; what is absent was not chosen."""
        return cls(given.get("style", ""), dict(given.get("styles", {})), given.get("format"))

    def template(self, task: str, form: str = "") -> tuple[Template, Format]:
        """The template for a step and the format that it is used with; TemplateError when there is none."""
        template, chosen = self._find(task, form)
        if self.format is None or self.format in template.formats:
            return template, self.format or template.formats[0]
        from ragstone.prompts.check import SCALES  # noqa: PLC0415 - for a format that a prompt does not take

        if template.formats == ("object",) and (not chosen or task not in SCALES):
            return template, "object"  # a step that writes or traces has one form, which a format does not touch
        raise TemplateError(
            f"the prompt '{template.name}' of the step '{task}' takes no format '{self.format}'; "
            f"it takes {', '.join(template.formats)}"
        )

    def _find(self, task: str, form: str) -> tuple[Template, bool]:
        """The template, and whether the user chose it."""
        named = self.styles.get(task, "")
        if is_path(named):
            template = own(named, task)
            if template.form == form:
                return template, True
            named = ""
        if named:
            check_named(task, named)
            return load(task, stem(named, form)), True
        if self.style and stem(self.style, form) in _names(task):
            return load(task, stem(self.style, form)), True
        language = self.style.partition(".")[2]
        plain, alone = (stem(f"{style}.{language}" if language else style, form) for style in (DEFAULT, LABELS_ALONE))
        template = load(task, plain)
        if self.format and self.format not in template.formats and alone in _names(task):
            return load(task, alone), True
        return template, False


def own(path: str, task: str) -> Template:
    """A user's own file for a step, checked as ours are; TemplateError with the first thing that is wrong."""
    template = read(path)
    if template.task != task:
        raise TemplateError(f"prompt {path}: it is for the step '{template.task}' and was given for '{task}'")
    from ragstone.prompts.check import problems  # noqa: PLC0415 - for prompts of the user's own

    if wrong := problems(template):
        more = f" ({len(wrong) - 1} more: ragstone prompts check {path})" if len(wrong) > 1 else ""
        raise TemplateError(f"prompt {path}: {wrong[0]}{more}")
    return template


def parse_styles(given: Sequence[str]) -> tuple[str, dict[str, str]]:
    """``STYLE``, ``TASK=STYLE`` and ``TASK=FILE.md`` as a style for all steps and those of the named ones."""
    general = ""
    named: dict[str, str] = {}
    for text in given:
        left, equals, right = text.partition("=")
        if not equals:
            if is_path(left):
                raise TemplateError(f"--prompt {text}: say for which step, as in --prompt support={text}")
            if general and general != left:
                raise TemplateError(f"--prompt {text}: '{general}' is given for all steps already; name the step")
            check_style(left)
            general = left
        elif left.strip() not in TASKS:
            raise TemplateError(f"--prompt {text}: no step '{left.strip()}'; steps are {', '.join(TASKS)}")
        elif not right.strip():
            raise TemplateError(f"--prompt {text}: say which style or file, as in --prompt {left.strip()}=default")
        else:
            named[left.strip()] = right.strip()
    return general, named


def check_named(task: str, named: str) -> None:
    """TemplateError for a style that the step does not have, or a file that cannot be used for it."""
    if is_path(named):
        own(named, task)
    elif named not in styles(task):
        raise TemplateError(
            f"no prompt style '{named}' for the step '{task}'; known are {', '.join(styles(task))}, or a file"
        )


def check_style(style: str) -> None:
    """TemplateError for a style that no step has."""
    names = dict.fromkeys(name for task in TASKS for name in styles(task))
    if style not in names:
        near = difflib.get_close_matches(style, names, 1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise TemplateError(f"no prompt style '{style}'; {hint}known are {', '.join(names)}, or TASK=FILE.md")


@lru_cache(maxsize=32)
def _names(task: str) -> frozenset[str]:
    return frozenset(entry.name for entry in entries() if entry.task == task)
