"""Prompt templates: one text file each, found by task and style, known by a hash.

Packaged templates do not change once released: ``LOCK`` holds their hashes, and a new wording is a new version. A
user's own file is read and checked as ours are. How a label is to be given is worded apart (``formats/``), so that
every style can be asked for in every format that it takes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragstone.errors import TemplateError
from ragstone.prompts.templates import FORMS, POSITIONAL, Shape, Template, digest, parse, parse_shape

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from ragstone.parsing import Format

__all__ = [
    "FORMS", "POSITIONAL", "Entry", "Shape", "Template", "changed", "digest", "entries", "is_path", "load", "parse",
    "read", "repair", "shape", "stem", "styles",
]  # fmt: skip

_NAME: Final = re.compile(r"(?P<style>[a-z][a-z0-9_]*)(?:\.(?P<language>[a-z]{2,3}))?\.v(?P<version>[0-9]+)\.md")
LONGEST: Final = 200_000
"""Bytes of a prompt file of a user; a prompt is never near it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One packaged file: ``task`` is its folder, ``name`` the style with its language."""

    task: str
    name: str
    version: int
    file: Traversable

    @property
    def text(self) -> str:
        """The file's text."""
        return self.file.read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    """List every packaged file by task, name and version."""
    found = []
    for folder in resources.files(__name__).iterdir():
        if folder.is_dir():
            for file in folder.iterdir():
                if name := _NAME.fullmatch(file.name):
                    full = name["style"] + (f".{name['language']}" if name["language"] else "")
                    found.append(Entry(folder.name, full, int(name["version"]), file))
    return tuple(sorted(found, key=lambda entry: (entry.task, entry.name, entry.version)))


def stem(style: str, form: str) -> str:
    """Return the file's name for one form of a task's question: ``second``, ``no_reasoning_second.ru``.

    A question that has but one form has the style's own name; the forms of ``default`` are named after the form.
    """
    if not form:
        return style
    base, dot, language = style.partition(".")
    return (form if base == "default" else f"{base}_{form}") + dot + language


@lru_cache(maxsize=256)
def load(task: str, name: str = "default", version: int = 0) -> Template:
    """Load a packaged template, the newest unless a version is given; TemplateError if there is none."""
    found = [entry for entry in entries() if entry.task == task and entry.name == name]
    found = [entry for entry in found if version in (0, entry.version)]
    if not found:
        known = dict.fromkeys(entry.name for entry in entries() if entry.task == task)
        listed = f"; known are {', '.join(known)}" if known else ""
        what = f"version {version} of the prompt '{name}'" if version else f"prompt '{name}'"
        raise TemplateError(f"no {what} for the step '{task}'{listed}")
    newest = max(found, key=lambda entry: entry.version)
    template = parse(newest.text, f"{task}.{name}.v{newest.version}")
    form = next(
        (
            form
            for form in FORMS.get(task, ())
            if form and template.style in (form, f"{template.style.rpartition('_')[0]}_{form}")
        ),
        "",
    )
    return replace(template, form=form) if form else template


def read(path: Path | str) -> Template:
    """Read a template from a user's file; TemplateError says what is wrong with it."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        raise TemplateError(f"prompt {path}: cannot be read ({error.strerror})") from error
    if len(data) > LONGEST:
        raise TemplateError(f"prompt {path}: longer than {LONGEST} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TemplateError(f"prompt {path}: not UTF-8 ({error.reason} at byte {error.start})") from error
    return parse(text, str(path))


def is_path(style: str) -> bool:
    """Whether a style that a user names is a file: it ends in ``.md`` or holds a slash."""
    return style.endswith(".md") or "/" in style or "\\" in style


@lru_cache(maxsize=16)
def repair(name: str, language: str = "") -> Template:
    """Load the prompt of a repair turn, in the language or else in English."""
    named = f"{name}.{language}" if language else name
    return load("repair", named if any(e.task == "repair" and e.name == named for e in entries()) else name)


def styles(task: str) -> tuple[str, ...]:
    """List the styles of a step; the forms of one style are one."""
    forms = FORMS.get(task, ())
    found: dict[str, None] = {}
    for entry in entries():
        if entry.task == task:
            style, dot, language = entry.name.partition(".")
            if style in forms:
                style = "default"
            elif any(form and style.endswith(f"_{form}") for form in forms):
                style = style.rpartition("_")[0]
            found[style + dot + language] = None
    return tuple(found)


@lru_cache(maxsize=64)
def shape(fmt: Format, language: str = "") -> Shape:
    """Load the wording of an answer format, in the language or else in English."""
    for name in (f"{fmt}.{language}", fmt):
        found = [entry for entry in entries() if entry.task == "formats" and entry.name == name]
        if found:
            newest = max(found, key=lambda entry: entry.version)
            return parse_shape(newest.text, f"formats.{newest.name}.v{newest.version}")
    raise TemplateError(f"no wording for the format '{fmt}'")


def changed() -> dict[str, str]:
    """Compare the packaged files to ``LOCK``: path to what is wrong."""
    lines = resources.files(__name__).joinpath("LOCK").read_text(encoding="utf-8").split("\n")
    locked = {path: known for known, _, path in (line.partition(" ") for line in lines if line)}
    found = {f"{entry.task}/{entry.file.name}": digest(entry.text) for entry in entries()}
    wrong = {path: "is missing" for path in locked if path not in found}
    wrong |= {path: "is not in LOCK" for path in found if path not in locked}
    wrong |= {path: "was changed" for path, known in locked.items() if path in found and found[path] != known}
    return dict(sorted(wrong.items()))
