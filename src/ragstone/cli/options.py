"""Define shared arguments and options of commands; those of ``RunOptions`` are made from its fields."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import typer
from msgspec.structs import replace
from typer.core import TyperArgument, TyperCommand

from ragstone.options import Option, RunOptions, option_named, options_of

F = TypeVar("F", bound=Callable[..., Any])
_AS_JSON: Final = ContextVar("_AS_JSON", default=False)
wants_json: Final = _AS_JSON.get
"""Return whether the command was given ``--json``."""
HELP: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def examples(*commands: str) -> str:
    """Return examples to show below the options, one per line and not reflowed."""
    return "\b\n" + "\n".join(["Example:" if len(commands) == 1 else "Examples:", *(f"  {c}" for c in commands)])


def command(
    group: typer.Typer, *commands: str, json: str = "Print one JSON document.", **more: Any
) -> Callable[[F], F]:
    """Add a function to a group as a command, with examples and the option ``--json``."""

    def add(work: F) -> F:
        @functools.wraps(work)
        def called(*, as_json: bool, **given: Any) -> None:
            before = _AS_JSON.set(as_json)
            try:
                work(**given)
            finally:
                _AS_JSON.reset(before)

        own = inspect.signature(work, eval_str=True)
        last = inspect.Parameter(
            "as_json", inspect.Parameter.KEYWORD_ONLY, default=flag("--json", json), annotation=bool
        )
        called.__signature__ = own.replace(parameters=[*own.parameters.values(), last])  # type: ignore[attr-defined]
        called.__annotations__ = {}  # typer reads the signature
        group.command(epilog=examples(*commands), **more)(called)
        return work

    return add


def group(about: str, *commands: str, **more: Any) -> typer.Typer:
    """Return a group of commands, with examples; without a command, it prints its help."""
    settings = {"rich_markup_mode": None, "no_args_is_help": True, "context_settings": HELP, **more}
    return typer.Typer(help=about, epilog=examples(*commands), **settings)


def again(store: Path | str | None) -> tuple[str, ...]:
    """Return the options with which another command finds the same store."""
    return ("--store", str(store)) if store else ()


def names(given: Sequence[str] | None) -> list[str]:
    """Split the values of a repeatable option at commas and whitespace."""
    return [name for text in given or () for name in re.split(r"[,\s]+", text) if name]


def arg(metavar: str, help: str, *, default: Any = ...) -> Any:  # noqa: A002 - typer's name
    """Declare an argument; it is required unless it has a default."""
    return typer.Argument(default, metavar=metavar, help=help)


def opt(flags: str, metavar: str | None, help: str, *, default: Any = None, **more: Any) -> Any:  # noqa: A002
    """Declare an option; its help ends with the default."""
    if not (default in (None, "", ...) or default is False or "[default: " in help):
        help = f"{help} [default: {default}]"  # noqa: A001 - typer's name
    return typer.Option(default, *flags.split(), metavar=metavar, help=help, show_default=False, **more)


def flag(flags: str, help: str, *, default: Any = False, **more: Any) -> Any:  # noqa: A002 - typer's name
    """Declare an option without a value."""
    return opt(flags, None, help, default=default, **more)


def _declaration(one: Option, told: str = "") -> Any:
    least = None if one.between or math.isinf(one.least) else one.least
    said = replace(one, help=told or one.help).help_with_default
    return typer.Option(*one.flags, metavar=one.metavar, min=least, help=said, show_default=False)


def unless_dash(out: str | None) -> str | None:
    """Return an output file; None, which means standard output, for ``-``."""
    return None if out == "-" else out


File: TypeAlias = Annotated[
    str,
    arg(
        "FILE", "Records: .jsonl, .json, .csv, .tsv or .parquet (plain, .gz or .zst), or a folder; - is standard input."
    ),
]
Which: TypeAlias = Annotated[str, arg("RUN", "Run number, run name, or 'last'.")]
RUN: Final = "Run number, run name, 'last', or a folder written by run -o"
WhichOrFolder: TypeAlias = Annotated[str, arg("RUN", f"{RUN}.")]
OutFile: TypeAlias = Annotated[
    str | None, opt("--out -o", "FILE", "Output file [default: standard output]", default=..., callback=unless_dash)
]
GroupBy: TypeAlias = Annotated[
    str | None, opt("--by", "FIELD", "Group records by topic, question or a meta field.", default=...)
]
DryRun: TypeAlias = Annotated[bool, flag("--dry-run", "Print an estimate without calling a judge.", default=...)]
Quiet: TypeAlias = Annotated[bool, flag("--quiet -q", "Hide progress and notes; still print results.", default=...)]
StorePath: TypeAlias = Annotated[Path | None, _declaration(option_named("store"))]
Configuration: TypeAlias = Annotated[Path | None, _declaration(option_named("config"))]


class PlainArgument(TyperArgument):
    """An argument that help shows as ``RUN``, ``[RUN]`` or ``FILE...``, without its type."""

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the argument's part of the usage line."""
        del ctx
        name = self.metavar if self.required else f"[{self.metavar}]"
        return [f"{name}{'...' if self.nargs != 1 else ''}"]

    def display_type_rich(self, ctx: Any) -> None:
        """Show no type, because the help text describes the value."""
        del ctx


def plain_arguments(commands: Mapping[str, Any]) -> None:
    """Show the arguments of all commands, including those in groups, without braces and types."""
    for command in commands.values():
        plain_arguments(getattr(command, "commands", {}))
        for parameter in command.params:
            if isinstance(parameter, TyperArgument):
                parameter.__class__ = PlainArgument


class BareOptions(TyperCommand):
    """A command whose ``--only-failed`` may be given without a run; a run's name must follow ``=``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, adding an empty value to each option given without one."""
        bare = {flag for one in options_of(RunOptions) if one.bare for flag in one.flags}
        given = []
        for argument, after in zip(args, (*args[1:], ""), strict=False):
            alone = argument in bare and not (after.isdecimal() or after == "last")
            given.append(f"{argument}=" if alone else argument)
        return super().parse_args(ctx, given)


class Exporting(TyperCommand):
    """A command whose ``--format`` help lists the available formats."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with help for the format."""
        from ragstone.output.export import DEFAULT, formats  # noqa: PLC0415 - no other command needs them

        about: dict[str, list[str]] = {}
        for name, form in formats().items():
            about.setdefault(form.about, []).append(name)
        listed = "; ".join(f"{', '.join(names)}: {said}" for said, names in about.items())
        for parameter in self.params:
            if parameter.name == "form":
                setattr(parameter, "help", f"{listed} [default: by file extension, else {DEFAULT}]")  # noqa: B010
        return super().get_params(ctx)


def with_options(
    command: str, made: type[RunOptions] = RunOptions, **told: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a function's parameter ``options`` with the options of a command; ``told`` overrides help texts."""
    chosen = [one for one in options_of(made) if command in one.commands.split()]

    def decorate(work: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(work)
        def called(**given: Any) -> None:
            typed = {one.name: (one.parse, given.pop(one.name)) for one in chosen}
            values = {
                name: value if parse is None else parse(value)
                for name, (parse, value) in typed.items()
                if value not in (None, [])
            }
            work(**given, options=made(**values))

        own = inspect.signature(work, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for one in own.parameters.values():
            if one.name == "options":
                parameters += [_parameter(declared, told.get(declared.name, "")) for declared in chosen]
            else:
                parameters.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {}  # typer reads the signature
        return called

    return decorate


def _parameter(one: Option, told: str) -> inspect.Parameter:
    kind = list[str] if one.many else one.kind
    switch = one.kind is bool and one.unset is not None
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=one.unset if switch else None,
        annotation=Annotated[kind if switch else kind | None, _declaration(one, told)],
    )
