"""Define exit codes, and print error messages on standard error.

0: done. 1: a threshold of ``check`` is not met; no error exits with 1, so none can be mistaken for a failed check.
2: invalid input, configuration or usage, or a file that cannot be written. 3: the judge or trace server could not be
reached or has no key, nothing was scored, the last judge of a cascade answered nothing, a reply was missing in an
offline run, or the store failed. 4: a budget was reached. 5: a batch is unfinished. 70: an internal error of Ragstone.
130: interrupted.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

import typer
from typer.core import TyperGroup

from ragstone.cli.options import plain_arguments
from ragstone.errors import BatchPending, BudgetReached, InputError, RagstoneError

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
UNJUDGED: Final = 3
BUDGET: Final = 4
PENDING: Final = 5
FAULT: Final = 70
INTERRUPTED: Final = 130
TYPED: Final = "ragstone.typed"
"""Key of the command-line arguments in the context's ``meta``."""
MISUSED: Final = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""The parser's usage error, which typer does not export."""


def code_of(error: RagstoneError) -> int:
    """Return the exit code of an error."""
    if isinstance(error, InputError):
        return USAGE
    codes = {BudgetReached: BUDGET, BatchPending: PENDING}
    return codes.get(type(error), UNJUDGED)


def _misused(error: Exception, ctx: Any) -> Exception:
    """Print what is wrong and what to type instead, except if a group without a command prints its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return error
    from ragstone.cli.suggestions import hint_for, message_of

    say("error", message_of(error))
    say("hint", hint_for(error, ctx.meta[TYPED]))
    return typer.Exit(USAGE)


GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "Evaluate": ("demo", "run", "validate", "estimate", "merge", "batch"),
    "View results": ("show", "view", "report", "runs", "export"),
    "Compare and check": ("compare", "check", "compare-methods"),
    "Labels and judges": ("label", "agree", "tune", "formats", "judges"),
    "Nuggets and prompts": ("nuggets", "prompts"),
    "Other tools": ("pull", "push"),
    "Set up": ("init", "metrics", "fields", "schema", "cache"),
}
"""The commands as listed by help, in order of use. Commands without a group come last."""


class Commands(TyperGroup):
    """The group of all commands; turns every error into a message and an exit code."""

    def __init__(self, **made: Any) -> None:
        super().__init__(**made)
        plain_arguments(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands of ``--help``, group by group."""
        del ctx
        known = [name for names in GROUPS.values() for name in names]
        wide = max(map(len, self.commands))
        others = [name for name in self.commands if name not in known]
        for title, names in {**GROUPS, "Others": others}.items():
            there = [
                (name, self.commands[name].get_short_help_str(formatter.width - wide - 6))
                for name in names
                if name in self.commands
            ]
            if there:
                with formatter.section(title):
                    # Pad all names to the same width, so that the columns of all groups align.
                    formatter.write_dl([(name.ljust(wide), told) for name, told in there])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command."""
        ctx.meta[TYPED] = tuple(args)
        try:
            return super().parse_args(ctx, args)
        except MISUSED as error:
            raise _misused(error, ctx) from error

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except MISUSED as error:
            raise _misused(error, ctx) from error
        except RagstoneError as error:
            say_error(error)
            raise typer.Exit(code_of(error)) from error
        except BrokenPipeError as error:
            from ragstone.render.terminal.screen import discard

            discard(sys.stdout)
            raise typer.Exit(DONE) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(INTERRUPTED) from error
        except OSError as error:
            with suppress(OSError):
                say("error", f"{error.filename or 'input or output'}: {error.strerror or error}")
            # If an interrupt cannot print, the terminal was closed.
            raise typer.Exit(INTERRUPTED if isinstance(error.__context__, KeyboardInterrupt) else USAGE) from error
        else:
            return result


def say_error(error: RagstoneError) -> None:
    """Print what happened, then what to do and what was kept, if known."""
    say("note" if isinstance(error, BatchPending) else "error", str(error))
    if error.hint:
        say("hint", error.hint)
    for note in getattr(error, "__notes__", ()):
        say("note", note)


def say(label: str, text: str) -> None:
    """Print a labelled line on standard error, without control characters; wrapped at words on a terminal."""
    from rich.text import Text

    from ragstone.render.terminal.screen import screen
    from ragstone.render.text import flat

    style = "wrong" if label == "error" else "quiet"
    console = screen(stderr=True)
    console.print(Text.assemble((f"{label}: ", style), flat(text)), soft_wrap=not console.is_terminal)


def say_unseen(count: int, instead: str = "without --offline") -> None:
    """Print how many calls an offline run lacked, and how to send them."""
    if count:
        calls = "1 call has" if count == 1 else f"{count:,} calls have"
        sent = "was" if count == 1 else "were"
        say("note", f"offline: {calls} no stored reply and {sent} not sent; to send them, run {instead}")


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore interrupts, because the command is already ending."""
    interrupts = [n for n in signal.valid_signals() if signal.getsignal(n) is signal.default_int_handler]
    for number in interrupts:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in interrupts:
            signal.signal(number, signal.default_int_handler)


def say_fault() -> None:
    """Print the traceback of an unexpected exception, and ask for a report."""
    traceback.print_exc()
    say("error", "this is a bug in Ragstone, not in your input; please report it with the lines above")
