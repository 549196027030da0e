"""Parse and render prompt templates.

A file opens with ``key: value`` lines between ``---`` marks and holds a ``=== system ===`` and a ``=== user ===``
part in Jinja, which see the fields of their question and nothing else. A field that does not exist is an error,
never a blank. What is wrong with a file is said in one line that names it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from ragstone.errors import TemplateError

if TYPE_CHECKING:
    import jinja2

    from ragstone.parsing import Format, Wording

KEYS: Final = ("task", "style", "version", "language", "form", "batch", "formats", "gives", "source")
"""What a header may say."""
Gives = Literal["evidence", "reasons"]
GIVES: Final[tuple[Gives, ...]] = ("evidence", "reasons")
FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "nuggetize": ("answer", "passages"), "response_support": ("", "second"), "support": ("", "three_way"),
    "relevance": ("", "answered"), "rubric": ("", "steps"),
}  # fmt: skip
"""The questions of a step, if several: nuggets of an answer or of passages, a second wording, scales, steps."""
POSITIONAL: Final[frozenset[Format]] = frozenset({"json", "python_list", "adaptive"})
"""The formats in which a label's place says which unit it is of."""

_PARTS: Final = re.compile(r"^=== (\w+) ===\n", re.MULTILINE)
_STYLE: Final = re.compile(r"[a-z][a-z0-9_]*")
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True, slots=True)
class Template:
    """One prompt.

    ``id`` is ``task.style.vN#hash``; ``batch`` the most units it asks about in one call; ``formats`` the forms of
    answer that it takes, the first being its own; ``gives`` what its answers hold besides labels. ``language`` is
    empty for English; ``origin`` is where it stands, for messages; ``form`` says which question of the task it asks,
    where there are several.
    """

    id: str
    task: str
    style: str
    version: int
    language: str
    batch: int
    formats: tuple[Format, ...]
    gives: frozenset[str]
    source: str
    form: str
    origin: str
    text: str
    wording: Wording
    system: jinja2.Template
    user: jinja2.Template

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process parses it again: what jinja compiled cannot be sent."""
        return parse, (self.text, self.origin)

    @property
    def name(self) -> str:
        """The style's name with its language: ``short_cot``, ``short_cot.ru``."""
        return f"{self.style}.{self.language}" if self.language else self.style

    def taking(self, fmt: Format | None) -> Format:
        """The format, or the template's own if it is None; TemplateError if the template does not take it."""
        if fmt is not None and fmt not in self.formats:
            raise TemplateError(
                f"the prompt '{self.name}' of the step '{self.task}' takes no format '{fmt}'; "
                f"it takes {', '.join(self.formats)}"
            )
        return fmt or self.formats[0]

    def render(self, variables: Mapping[str, Any]) -> list[dict[str, str]]:
        """Render the messages; TemplateError if the template uses what the question does not have."""
        import jinja2  # noqa: PLC0415 - 75 ms to import, for LLM judges only

        # What Template.render does, less a copy of all globals for each part, which cost more than the rendering.
        context = self.system.new_context(dict(variables), shared=True)
        try:
            system, user = ("".join(part.root_render_func(context)).strip() for part in (self.system, self.user))
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise TemplateError(f"prompt {self.origin}: {error}") from error
        except (RecursionError, MemoryError) as error:
            raise TemplateError(f"prompt {self.origin}: it includes itself endlessly, or grows too large") from error
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]


@dataclass(frozen=True, slots=True)
class Shape:
    """A part that all prompts of a language share, such as an answer format. ``digest`` identifies its wording."""

    digest: str
    part: jinja2.Template
    source: tuple[str, str]

    def __reduce__(self) -> tuple[Any, ...]:
        """As of a template."""
        text, part = self.source
        return parse_shape, (text, "", part)

    def render(self, **variables: Any) -> str:
        """Render the wording."""
        return self.part.render(variables).strip()


def parse(text: str, name: str) -> Template:
    """Parse a template; TemplateError says what is wrong with it. ``name`` is for messages."""
    from ragstone.parsing import FORMATS, Wording  # noqa: PLC0415 - its readers take a while to load, for LLM judges only

    header, parts = _read(text, name, ("system", "user"))
    task, style = header.get("task", ""), header.get("style", "")
    if not task or not _STYLE.fullmatch(style):
        raise TemplateError(
            f"prompt {name}: the header names {'no task' if not task else f'the style {style!r}'}; expected "
            "lines such as 'task: assign' and 'style: my_style' (small letters, digits and _)"
        )
    language = header.get("language", "")
    if language and not _LANGUAGE.fullmatch(language):
        raise TemplateError(f"prompt {name}: language is {language!r}; expected a code such as 'ru'")
    version, batch = (_whole(header.get(key, "1"), key, name) for key in ("version", "batch"))
    formats = _listed(header.get("formats", "object"), FORMATS, "formats", name)
    gives = _listed(header.get("gives", ""), GIVES, "gives", name)
    if formats == ("object",) and "gives" not in header:
        gives = GIVES
    system, user = (_compiled(parts[part], name) for part in ("system", "user"))
    suffix = f".{language}" if language else ""
    return Template(
        id=f"{task}.{style}{suffix}.v{version}#{digest(text)[:6]}",
        task=task,
        style=style,
        version=version,
        language=language,
        batch=batch,
        formats=cast("tuple[Format, ...]", formats),
        gives=frozenset(gives),
        source=header.get("source", ""),
        form=header.get("form", ""),
        origin=name,
        text=text,
        wording=Wording.of("".join(parts.values())),
        system=system,
        user=user,
    )


def parse_shape(text: str, name: str, part: str) -> Shape:
    """Parse the wording of a shared part."""
    _, parts = _read(text, name, (part,))
    return Shape(digest(text), _compiled(parts[part], name), (text, part))


def digest(text: str) -> str:
    """Return the hash of a template; line ends count as on Unix, so that a checkout does not matter."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def _read(text: str, name: str, wanted: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split a file into its header and parts."""
    sections = text.removeprefix("\ufeff").replace("\r\n", "\n").split("---\n", 2)
    if len(sections) != 3 or sections[0].strip():
        raise TemplateError(f"prompt {name}: expected 'key: value' lines between two '---' lines at the top")
    header: dict[str, str] = {}
    for line in sections[1].splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            raise TemplateError(f"prompt {name}: {line!r} is not 'key: value'")
        if key.strip() not in KEYS:
            raise TemplateError(f"prompt {name}: no header line '{key.strip()}'; known: {', '.join(KEYS)}")
        if key.strip() in header:
            raise TemplateError(f"prompt {name}: the header has '{key.strip()}' twice")
        header[key.strip()] = value.strip()
    pieces = _PARTS.split(sections[2])
    parts = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    if list(parts) != list(wanted) or len(pieces) != 2 * len(wanted) + 1 or pieces[0].strip():
        named = " and one ".join(f"'=== {part} ==='" for part in wanted)
        raise TemplateError(f"prompt {name}: expected one {named} part")
    return header, parts


def _whole(given: str, key: str, name: str) -> int:
    if not (given.isascii() and given.isdigit() and 0 < int(given) <= 10_000):
        raise TemplateError(f"prompt {name}: {key} is {given!r}; expected a whole number from 1")
    return int(given)


def _listed(given: str, known: Sequence[str], key: str, name: str) -> tuple[str, ...]:
    values = tuple(dict.fromkeys(value.strip() for value in given.split(",") if value.strip()))
    for value in values:
        if value not in known:
            raise TemplateError(f"prompt {name}: unknown '{value}' in {key}; known: {', '.join(known)}")
    return values


def _compiled(part: str, name: str) -> jinja2.Template:
    import jinja2  # noqa: PLC0415 - see Template.render

    try:
        template = _environment().from_string(part)
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        where = f" (line {line} of its part)" if line else ""
        raise TemplateError(f"prompt {name}: {error}{where}") from error
    template.globals = {}  # it sees none, and a rendering would list their names
    return template


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    import jinja2  # noqa: PLC0415 - see Template.render
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 - see Template.render

    return ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,
    )  # fmt: skip
