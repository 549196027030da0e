"""Prompt templates: one text file each, found by task and style, identified by a hash.

Packaged templates do not change after their release: ``LOCK`` has their hashes, and a new wording is a new version.
Older versions remain available as ``STYLE.v1``. A user's own file is read and checked in the same way. Label formats
have their own files (``formats/``), so that every style works with every format that it supports.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from ragstone.errors import TemplateError, reason
from ragstone.prompts.templates import FORMS, POSITIONAL, Shape, Template, digest, parse, parse_shape

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = [
    "DEFAULT", "FORMS", "POSITIONAL", "SHARED", "PromptFile", "Shape", "Template", "changed", "digest",
    "entries", "entry_of", "files_of", "is_path", "load", "parse", "read", "repair", "shape", "split", "stem", "styles",
    "versioned",
]  # fmt: skip

SHARED: Final = {"formats": "answer", "history": "question"}
"""Maps folders of shared parts to the name of the part in their files."""
DEFAULT: Final = "default"
"""The style used if none is named."""
_VERSION: Final = re.compile(r"(?P<style>.+)\.v(?P<version>[1-9][0-9]{0,7})")
_NAME: Final = re.compile(r"(?P<style>[a-z][a-z0-9_]*)(?:\.(?P<language>[a-z]{2,3}))?\.v(?P<version>[0-9]+)\.md")
LONGEST: Final = 200_000
"""Maximum size of a user's prompt file in bytes."""


class PromptFile(Struct, frozen=True):
    """One packaged file: ``task`` is its folder, ``name`` its style with form and language."""

    task: str
    name: str
    version: int
    file: Traversable

    @property
    def text(self) -> str:
        """The file's text."""
        return self.file.read_text(encoding="utf-8")

    @property
    def full_name(self) -> str:
        """The name with step and version: ``support.short_cot.v2``."""
        return f"{self.task}.{self.name}.v{self.version}"


@lru_cache(maxsize=1)
def entries() -> tuple[PromptFile, ...]:
    """Return all packaged files, sorted by task, name and version."""
    found = []
    for folder in resources.files(__name__).iterdir():
        if folder.is_dir():
            for file in folder.iterdir():
                if name := _NAME.fullmatch(file.name):
                    full = name["style"] + (f".{name['language']}" if name["language"] else "")
                    found.append(PromptFile(folder.name, full, int(name["version"]), file))
    return tuple(sorted(found, key=lambda entry: (entry.task, entry.name, entry.version)))


@lru_cache(maxsize=32)
def files_of(task: str) -> dict[str, list[PromptFile]]:
    """Return the packaged files of a step by name, with all versions of each, newest last."""
    found: dict[str, list[PromptFile]] = {}
    for entry in entries():
        if entry.task == task:
            found.setdefault(entry.name, []).append(entry)
    return found


def versioned(style: str) -> tuple[str, int]:
    """Split ``short_cot.ru.v1`` into style and version; without one, the version is 0, which means the newest."""
    found = _VERSION.fullmatch(style)
    return (found["style"], int(found["version"])) if found else (style, 0)


def stem(style: str, form: str) -> str:
    """Return the file name of a style for one form of a step's question: ``second``, ``no_reasoning_second.ru``.

    Without a form, it is the style; for ``default``, it is the form.
    """
    if not form:
        return style
    base, dot, language = style.partition(".")
    return (form if base == DEFAULT else f"{base}_{form}") + dot + language


def split(task: str, name: str) -> tuple[str, str]:
    """Split a file name into style and form; the inverse of ``stem``."""
    base, dot, language = name.partition(".")
    for form in filter(None, FORMS.get(task, ())):
        if base == form:
            return DEFAULT + dot + language, form
        if base.endswith(f"_{form}"):
            return base.removesuffix(f"_{form}") + dot + language, form
    return name, ""


def entry_of(task: str, name: str, version: int = 0) -> PromptFile:
    """Return the packaged file with this name, the newest if version is 0; raise TemplateError if there is none."""
    every = files_of(task).get(name, [])
    found = [entry for entry in every if version in (0, entry.version)]
    if found:
        return found[-1]
    if every:
        has = ", ".join(f"v{entry.version}" for entry in every)
        raise TemplateError(f"no version {version} of the prompt '{name}' for the step '{task}'; it has {has}")
    listed = f"; known: {', '.join(files_of(task))}" if files_of(task) else ""
    raise TemplateError(f"no prompt '{name}' for the step '{task}'{listed}")


@lru_cache(maxsize=256)
def load(task: str, name: str = DEFAULT, version: int = 0) -> Template:
    """Return the packaged template with this name, the newest if version is 0; raise TemplateError if there is none."""
    entry = entry_of(task, name, version)
    template = parse(entry.text, entry.full_name)
    _, form = split(task, template.style)
    return replace(template, form=form) if form else template


def read(path: Path | str, task: str = "") -> Template:
    """Read a template from a user's own file; raise TemplateError if it is invalid or not for the step ``task``."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        raise TemplateError(f"prompt {path}: {reason(error)}") from error
    if len(data) > LONGEST:
        raise TemplateError(f"prompt {path}: longer than {LONGEST} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TemplateError(f"prompt {path}: not UTF-8 ({error.reason} at byte {error.start})") from error
    template = parse(text, str(path))
    if task and template.task != task:
        raise TemplateError(f"prompt {path}: it is for the step '{template.task}' and was given for '{task}'")
    return template


def is_path(style: str) -> bool:
    """Return whether a style named by the user is a file, i.e. ends in ``.md`` or contains a slash or backslash."""
    return style.endswith(".md") or "/" in style or "\\" in style


@lru_cache(maxsize=16)
def repair(name: str, language: str = "") -> Template:
    """Return the prompt that asks again after an unusable reply, in the language if available, else in English."""
    return load("repair", _localized("repair", name, language))


def _localized(task: str, name: str, language: str) -> str:
    """Return the file name in a language, or in English if there is none."""
    named = f"{name}.{language}"
    return named if named in files_of(task) else name


def styles(task: str) -> tuple[str, ...]:
    """Return the names of a step's styles; all forms of a style count as one."""
    return tuple(dict.fromkeys(split(task, name)[0] for name in files_of(task)))


@lru_cache(maxsize=64)
def shape(name: str, language: str = "", folder: str = "formats") -> Shape:
    """Return a shared wording, such as that of a label format, in the language if available, else in English."""
    entry = entry_of(folder, _localized(folder, name, language))
    return parse_shape(entry.text, entry.full_name, SHARED[folder])


def changed() -> dict[str, str]:
    """Return the differences of packaged files from ``LOCK``, by path."""
    lines = resources.files(__name__).joinpath("LOCK").read_text(encoding="utf-8").split("\n")
    locked = {path: known for known, _, path in (line.partition(" ") for line in lines if line)}
    found = {f"{entry.task}/{entry.file.name}": digest(entry.text) for entry in entries()}
    wrong = {path: "is missing" for path in locked if path not in found}
    wrong |= {path: "is not in LOCK" for path in found if path not in locked}
    wrong |= {path: "was changed" for path, known in locked.items() if path in found and found[path] != known}
    return dict(sorted(wrong.items()))
