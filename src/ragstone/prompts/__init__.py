"""Prompt templates: one text file each, found by task and style, known by a hash.

A file opens with ``key: value`` lines between ``---`` marks (task, style, version, batch, source) and holds a
``=== system ===`` and a ``=== user ===`` part in Jinja, which see the fields of their question and nothing
else. A field that does not exist is an error, never a blank. Released files do not change: ``LOCK`` holds
their hashes, and a new wording is a new version.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from ragstone.errors import TemplateError

if TYPE_CHECKING:
    import jinja2

_NAME: Final = re.compile(r"(?P<style>[a-z][a-z0-9_]*)\.v(?P<version>[0-9]+)\.md")
_PARTS: Final = re.compile(r"^=== (system|user) ===\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Template:
    """One prompt. ``id`` is ``task.style.vN#hash``; ``batch`` the most units it asks about in one call."""

    id: str
    batch: int
    system: jinja2.Template
    user: jinja2.Template

    def render(self, variables: Mapping[str, Any]) -> list[dict[str, str]]:
        """The messages; TemplateError when the template asks for what the question does not have."""
        import jinja2  # noqa: PLC0415 - 75 ms to import, for LLM judges only

        # What Template.render does, less a copy of all globals for each part, which cost more than the rendering.
        context = self.system.new_context(dict(variables), shared=True)
        try:
            system, user = ("".join(part.root_render_func(context)).strip() for part in (self.system, self.user))
        except jinja2.TemplateError as error:
            raise TemplateError(f"prompt {self.id}: {error}") from error
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]


@lru_cache(maxsize=64)
def load(task: str, style: str = "default") -> Template:
    """The newest version of a packaged template; TemplateError if there is none."""
    folder = resources.files(__name__).joinpath(task)
    versions = {
        int(name["version"]): entry
        for entry in (folder.iterdir() if folder.is_dir() else ())
        if (name := _NAME.fullmatch(entry.name)) and name["style"] == style
    }
    if not versions:
        raise TemplateError(f"no prompt '{style}' for the step '{task}'")
    version = max(versions)
    text = versions[version].read_text(encoding="utf-8")
    return parse(text, f"{task}.{style}.v{version}")


def parse(text: str, name: str) -> Template:
    """A template from its text; TemplateError says what is wrong with it."""
    header, body = _split(text, name)
    pieces = _PARTS.split(body)
    parts = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    if set(parts) != {"system", "user"} or len(pieces) != 5 or pieces[0].strip():
        raise TemplateError(f"prompt {name}: expected one '=== system ===' and one '=== user ===' part")
    batch = header.get("batch", "1")
    if not (batch.isascii() and batch.isdigit() and int(batch)):
        raise TemplateError(f"prompt {name}: batch is {batch!r}; expected a whole number from 1")
    import jinja2  # noqa: PLC0415 - see Template.render

    environment = _environment()
    try:
        system, user = (environment.from_string(parts[part]) for part in ("system", "user"))
    except jinja2.TemplateError as error:
        raise TemplateError(f"prompt {name}: {error}") from error
    return Template(f"{name}#{digest(text)[:6]}", int(batch), system, user)


def digest(text: str) -> str:
    """The hash by which a template is known; line ends count as on Unix, so that a checkout does not matter."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def _split(text: str, name: str) -> tuple[dict[str, str], str]:
    pieces = text.replace("\r\n", "\n").split("---\n", 2)
    if len(pieces) != 3 or pieces[0].strip():
        raise TemplateError(f"prompt {name}: expected 'key: value' lines between two '---' lines at the top")
    header: dict[str, str] = {}
    for line in pieces[1].splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            raise TemplateError(f"prompt {name}: {line!r} is not 'key: value'")
        header[key.strip()] = value.strip()
    return header, pieces[2]


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    import jinja2  # noqa: PLC0415 - see Template.render
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 - see Template.render

    return ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,
    )  # fmt: skip
