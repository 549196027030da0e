"""Merge the prompt settings of flags and tables for one judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from msgspec.structs import replace

from ragstone.errors import ConfigError, TemplateError
from ragstone.judges.spec import NLI, STRUCTURED, Spec, Structured
from ragstone.prompts.choice import Choice, check_named, check_style, parse_styles
from ragstone.prompts.packs import read_pack
from ragstone.questions import TASKS

if TYPE_CHECKING:
    from ragstone.parsing import Format

GIVEN: Final = "given"
"""The provider of a judge passed as an object."""


def is_prompted(spec: Spec) -> bool:
    """Return whether the judge's prompts can be chosen, i.e. it is a named language model."""
    return spec.provider not in (GIVEN, "embedded", NLI, "human", "replay")


class Said(Protocol):
    """Prompt settings of a command line; None means not given."""

    @property
    def prompts(self) -> Sequence[str] | str | None: ...  # noqa: D102 - STYLE, TASK=STYLE or TASK=FILE
    @property
    def format(self) -> str | None: ...  # noqa: D102 - of labels
    @property
    def structured(self) -> str | None: ...  # noqa: D102 - whether a schema is sent
    @property
    def pack(self) -> Path | str | None: ...  # noqa: D102 - a file of definitions and examples
    @property
    def pack_examples(self) -> int | None: ...  # noqa: D102 - how many of these a prompt has


def prompted(spec: Spec, said: Said, *tables: tuple[str, Mapping[str, Any]]) -> Spec:
    """Return the spec with its prompts. ``tables`` are (place, settings), highest priority first.

    Raise ConfigError with its place for an invalid setting.
    """
    try:
        style, styles = parse_styles([said.prompts] if isinstance(said.prompts, str) else said.prompts or ())
    except TemplateError as error:
        raise ConfigError(str(error)) from error
    packed = {"pack": said.pack and str(said.pack), "pack_examples": said.pack_examples}
    given = {"style": style or None, "format": said.format, "structured": said.structured, **packed, **styles}
    merged: dict[str, tuple[str, Any]] = {}
    for where, table in [*reversed(tables), ("--", given)]:
        if table.get("style"):  # a style for all steps overrides styles of single steps in lower tables
            merged = {name: value for name, value in merged.items() if name not in TASKS}
        merged.update((name, (where, value)) for name, value in table.items() if value is not None)
    where, style = merged.get("style", ("--", ""))
    if where != "--":
        try:
            check_style(style)
        except TemplateError as error:
            raise ConfigError(f"{where}.style: {error}") from error

    def one_of(name: str, known: Sequence[str]) -> str:
        where, value = merged.get(name, ("", known[0]))
        if value not in known:
            at = f"--{name}" if where == "--" else f"{where}.{name}"
            raise ConfigError(f"{at} '{value}'; expected one of {', '.join(known)}")
        return str(value)

    fmt = None
    if "format" in merged:
        from ragstone.parsing import LABEL_FORMATS  # noqa: PLC0415 - its readers take a while to load

        fmt = cast("Format", one_of("format", LABEL_FORMATS))
    structured = cast("Structured", one_of("structured", STRUCTURED))
    named = {task: merged[task] for task in TASKS if task in merged}
    for task, (where, value) in named.items():
        try:
            check_named(task, value)
        except TemplateError as error:
            raise ConfigError(f"{'--prompt' if where == '--' else where} {task}={value}: {error}") from error
    unset = {"pack": "", "pack_examples": 0, "case_sensitive": False}
    pack, most, exact = (merged.get(name, ("", usual))[1] for name, usual in unset.items())
    try:
        count = len(read_pack(pack).examples) if pack else 0
    except TemplateError as error:
        raise ConfigError(str(error)) from error
    if most and not count:
        raise ConfigError(
            f"pack_examples is {most}, but {'the pack has no examples' if pack else 'there is no pack; specify one'}"
        )
    choice = Choice(str(style), {task: str(value) for task, (_, value) in named.items()}, fmt, pack, most)
    return replace(spec, choice=choice, structured=structured, case_sensitive=bool(exact))
