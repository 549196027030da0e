"""How a command ends: its exit code, and one line for whatever kept it from its work.

0: done. 1: a threshold of ``check`` failed; no error leaves with 1, so that none is taken for a failed check. 2: the
input, the configuration or the usage, or a file that cannot be written. 3: the judge could not be reached, nothing
could be scored, the last judge of a cascade answered nothing, an offline run lacked a call, or the store failed. 4: a
budget was reached. 70: a fault of Ragstone itself. 130: interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

import typer
from typer.core import TyperGroup

from ragstone.errors import BudgetReached, InputError, RagstoneError

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
UNJUDGED: Final = 3
BUDGET: Final = 4
FAULT: Final = 70
INTERRUPTED: Final = 130
TYPED: Final = "ragstone.typed"
"""Where the context keeps the words of the command line."""
MISUSED: Final = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""The error of whatever is typed wrong; the parser has it under a name of its own."""


def code_of(error: RagstoneError) -> int:
    """The exit code of an error."""
    if isinstance(error, InputError):
        return USAGE
    return BUDGET if isinstance(error, BudgetReached) else UNJUDGED


def _misused(error: Exception, ctx: Any) -> Exception:
    """Say what is wrong with what was typed, and what to type; help that was asked for by typing nothing stays help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return error
    from ragstone.cli.mistakes import hint_for, message_of  # noqa: PLC0415 - only a mistake needs it

    say("error", message_of(error))
    say("hint", hint_for(error, ctx.meta[TYPED]))
    return typer.Exit(USAGE)


class Commands(TyperGroup):
    """The group of all commands, at whose edge every error becomes a message and a code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the command."""
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
            _let_go()
            raise typer.Exit(DONE) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(INTERRUPTED) from error
        except OSError as error:
            with suppress(OSError):
                say("error", f"{error.filename or 'input or output'}: {error.strerror or error}")
            # What an interrupt had to say found no terminal: it was closed, which is why the interrupt came.
            raise typer.Exit(INTERRUPTED if isinstance(error.__context__, KeyboardInterrupt) else USAGE) from error
        else:
            return result


def say_error(error: RagstoneError) -> None:
    """One line that says what happened, then what to do and what was kept, if that is known."""
    say("error", str(error))
    hint = getattr(error, "hint", "")
    if hint:
        say("hint", hint)
    for note in getattr(error, "__notes__", ()):
        say("note", note)


def say(label: str, text: str) -> None:
    """A labelled line on standard error, harmless to the terminal, and broken between words where that is one."""
    from rich.text import Text  # noqa: PLC0415 - loaded when there is something to say

    from ragstone.render.terminal.screen import screen  # noqa: PLC0415 - as above
    from ragstone.render.text import flat  # noqa: PLC0415 - as above

    style = "wrong" if label == "error" else "quiet"
    console = screen(stderr=True)
    console.print(Text.assemble((f"{label}: ", style), flat(text)), soft_wrap=not console.is_terminal)


def say_unseen(count: int) -> None:
    """How many calls an offline run lacked, and what would make them."""
    if count:
        calls = "1 call was" if count == 1 else f"{count:,} calls were"
        say("note", f"offline: {calls} not in the store and not sent; the same command without --offline sends them")


@contextmanager
def undisturbed() -> Iterator[None]:
    """While this lasts an interrupt changes nothing: the command ends already."""
    interrupts = [n for n in signal.valid_signals() if signal.getsignal(n) is signal.default_int_handler]
    for number in interrupts:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in interrupts:
            signal.signal(number, signal.default_int_handler)


def say_fault() -> None:
    """Where an exception was not meant to happen: what happened, for whoever mends it."""
    traceback.print_exc()
    say("error", "this is a fault of Ragstone, not of your input; please report it with the lines above")


def _let_go() -> None:
    """Send what is still to be flushed nowhere: nobody reads it any more."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for the rest of the process
