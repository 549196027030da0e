"""Parse and render prompt templates.

A file starts with ``key: value`` lines between ``---`` lines, followed by a ``=== system ===`` and a ``=== user ===``
part in Jinja, which can access only the fields of their question. An unknown field is an error, never empty. Each error
message is one line that names the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from msgspec import Struct

from ragstone.errors import TemplateError

if TYPE_CHECKING:
    import jinja2

    from ragstone.parsing import Format, Wording

KEYS: Final = ("task", "style", "version", "language", "form", "batch", "formats", "gives", "source")
"""Valid keys of a header."""
Gives = Literal["evidence", "reasons"]
GIVES: Final[tuple[Gives, ...]] = ("evidence", "reasons")
FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "nuggetize": ("answer", "passages"), "response_support": ("", "second"), "support": ("", "three_way"),
    "relevance": ("", "answered"), "rubric": ("", "steps"),
}  # fmt: skip
"""Forms of steps with several questions: nuggets of an answer or of passages, a second wording, scales, steps."""
POSITIONAL: Final[frozenset[Format]] = frozenset({"json", "python_list", "adaptive"})
"""The formats in which a label's position identifies its unit."""

_PARTS: Final = re.compile(r"^=== (\w+) ===\n", re.MULTILINE)
_STYLE: Final = re.compile(r"[a-z][a-z0-9_]*")
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}")


class Template(Struct, frozen=True):
    """One prompt.

    ``id`` is ``task.style.vN#hash``. ``batch`` is the maximum number of units per call. ``formats`` are the supported
    answer formats, the default first. ``gives`` is what answers contain besides labels. ``language`` is empty for
    English. ``origin`` is its file or name, for messages. ``form`` is the question that it asks, if the task has
    several.
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
        """Parse again when unpickled, since compiled Jinja templates cannot be pickled."""
        return parse, (self.text, self.origin)

    @property
    def name(self) -> str:
        """The style's name with its language: ``short_cot``, ``short_cot.ru``."""
        return f"{self.style}.{self.language}" if self.language else self.style

    def taking(self, fmt: Format | None) -> Format:
        """Return the format, or the template's default if it is None; raise TemplateError if it is not supported."""
        if fmt is not None and fmt not in self.formats:
            raise TemplateError(
                f"the prompt '{self.name}' of the step '{self.task}' does not support format '{fmt}'; "
                f"supported: {', '.join(self.formats)}"
            )
        return fmt or self.formats[0]

    def render(self, variables: Mapping[str, Any]) -> list[dict[str, str]]:
        """Render the messages; raise TemplateError if that fails, for example because of an unknown field."""
        import jinja2  # noqa: PLC0415 - 75 ms to import, for LLM judges only

        # Like Template.render, without copying all globals for each part, which takes longer than rendering.
        context = self.system.new_context(dict(variables), shared=True)
        try:
            system, user = ("".join(part.root_render_func(context)).strip() for part in (self.system, self.user))
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise TemplateError(f"prompt {self.origin}: {error}") from error
        except (RecursionError, MemoryError) as error:
            raise TemplateError(f"prompt {self.origin}: it includes itself endlessly, or grows too large") from error
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]


class Shape(Struct, frozen=True):
    """A part shared by all prompts of a language, such as an answer format. ``digest`` identifies its wording."""

    digest: str
    part: jinja2.Template
    source: tuple[str, str]

    def __reduce__(self) -> tuple[Any, ...]:
        """Parse again when unpickled, as ``Template`` does."""
        text, part = self.source
        return parse_shape, (text, "", part)

    def render(self, **variables: Any) -> str:
        """Render the wording."""
        return self.part.render(variables).strip()


def parse(text: str, name: str) -> Template:
    """Parse a template; raise TemplateError if it is invalid. ``name`` is for messages."""
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
    """Return the hash of a template, with Unix line ends so that it does not depend on the checkout."""
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
            raise TemplateError(f"prompt {name}: unknown header key '{key.strip()}'; known: {', '.join(KEYS)}")
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
        raise TemplateError(f"prompt {name}: {key} is {given!r}; expected a whole number of at least 1")
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
    template.globals = {}  # it may use none, and rendering would list their names
    return template


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    import jinja2  # noqa: PLC0415 - see Template.render
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 - see Template.render

    return ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        autoescape=False,
    )  # fmt: skip
