"""Describe the terminal (width, character set, colours) and provide the building blocks of screens.

One accent colour means *unsupported*; everything else uses the terminal's own foreground, bold or dim. Colour is never
the only signal: each verdict has a sign in the margin. If the output is not a terminal, NO_COLOR is set or TERM is
dumb, the same lines are printed without colour. If it cannot encode Unicode, ASCII signs are used.
"""

from __future__ import annotations

import codecs
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Final, TypeAlias

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from ragstone.render.text import NBSP, clean, flat, middle, paragraph

WIDEST: Final = 100
"""Maximum number of columns used: longer lines of text are hard to read."""
NARROWEST: Final = 40
LEFT: Final = 12
"""Width, in columns, of a label of ``facts`` including the gap after it."""
DOT: Final = " · "
"""Separator of items on one line."""
_PLAIN: Final = dict(zip("\u2013·─━●“”", '---=o""', strict=True))
"""ASCII replacements, of the same width, for non-ASCII signs of a screen."""
_GOES_ON: Final = " \\"
"""Line continuation for a command."""
_UNCUT: Final = "uncut"
"""The key in a style's meta that holds the whole of a line that is wider than the terminal."""

THEME: Final = Theme(
    {
        "wrong": "bold #d75f00",
        "partly": "#d75f00",
        "quiet": "dim",
        "head": "bold",
        "found": "underline",
    },
    inherit=True,
)


class Screen(Console):
    """A console whose output may be closed by the reader at any time; the command goes on, for its exit code."""

    def on_broken_pipe(self) -> None:
        """Print nothing more: the reader closed the output."""
        self.quiet = True
        discard(self.file)


def discard(stream: IO[str]) -> None:
    """Discard what is still written to a stream of this process, because its reader has gone."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - not a file
        os.dup2(nowhere.fileno(), stream.fileno())


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that a stream cannot encode: known signs with ASCII ones, all others with question marks."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error("ragstone_signs", _plain)


def screen(file: IO[str] | None = None, *, stderr: bool = False) -> Screen:
    """Return a console for a stream, as wide as the terminal but at most ``WIDEST``."""
    target = file or (sys.stderr if stderr else sys.stdout)
    if (reconfigure := getattr(target, "reconfigure", None)) is not None:
        reconfigure(errors="ragstone_signs")
    console = Screen(file=target, theme=THEME, highlight=False, markup=False, emoji=False, soft_wrap=False)
    columns = os.environ.get("COLUMNS", "")  # for a dumb terminal, rich ignores it and uses 80
    width = int(columns) if columns.isdigit() and int(columns) else console.width
    console.width = max(NARROWEST, min(WIDEST, width))
    return console


class Look(Struct, frozen=True):
    """The available width, and whether the terminal shows only ASCII."""

    width: int = 80
    ascii: bool = False

    @classmethod
    def of(cls, console: Console) -> Look:
        """Return the look of a console."""
        return cls(console.width, not console.encoding.casefold().startswith("utf"))

    @property
    def ellipsis(self) -> str:
        """The sign for omitted text."""
        return "..." if self.ascii else "…"

    @property
    def brackets(self) -> tuple[str, str]:
        """The opening and closing sign around evidence in a passage."""
        return ("[[", "]]") if self.ascii else ("«", "»")

    def mark(self, kind: str) -> Text:
        """Return the sign for a kind of verdict, for the margin."""
        sign, plain, style = MARKS[kind]
        return Text(plain if self.ascii else sign, style=style)

    def whisker(self, mean: float | None, interval: Sequence[float] | None, cells: int) -> Text:
        """Return a scale from 0 to 1 that shows the mean and its interval; empty without a mean."""
        if mean is None:
            return Text("")
        at, low, high = (min(cells - 1, int(value * cells)) for value in (mean, *(interval or (mean, mean))))
        drawn = Text()
        for cell in range(cells):
            if cell == at:
                drawn.append("●")
            elif low <= cell <= high:
                drawn.append("━")
            else:
                drawn.append("─", style="quiet")
        return drawn


MARKS: Final[Mapping[str, tuple[str, str, str]]] = {
    "yes": ("✓", "+", "quiet"),
    "partly": ("~", "~", "partly"),
    "no": ("✗", "x", "wrong"),
    "unjudged": ("?", "?", "head"),
    "trivial": ("·", ".", "quiet"),
    "apart": ("≠", "#", "partly"),
    "none": (" ", " ", ""),
}
"""The sign, ASCII sign and style of each kind of verdict."""

# ---- building blocks


class Page(Struct, frozen=True):
    """A whole screen, without trailing spaces and with plain spaces instead of non-breaking ones."""

    body: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.body, options, pad=False):
            yield from _stripped([_printable(segment) for segment in line])
            yield Segment.line()


def page(*blocks: RenderableType | None, margin: int = 2) -> Page:
    """Return a page of blocks separated by blank lines; None is skipped."""
    shown: list[RenderableType] = [""]
    for block in blocks:
        if block is not None:
            shown += [block, ""]
    return Page(Padding(Group(*shown), (0, 0, 0, margin)))


def section(title: str, *blocks: RenderableType, note: str = "") -> Group:
    """Return a heading with a dim note beside it and blocks below it."""
    drawn = Text(title, style="head")
    if note:
        drawn.append(f"  {note}", style="quiet")
    return Group(drawn, *blocks)


def heading(name: str, look: Look, *parts: str) -> Text:
    """Return the first line of a screen: a name, shortened if necessary, with dim details beside it."""
    right = DOT.join(parts)
    shown = middle(flat(name), max(12, look.width - 6 - len(right)), look.ellipsis)
    return Text.assemble((shown, "head"), "  ", (right, "quiet"))


class Prose(Struct, frozen=True):
    """Our own text, wrapped to the available width."""

    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = self.text.replace("\u2026", Look.of(console).ellipsis)
        yield Text("\n".join(paragraph(whole, options.max_width)), style=self.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, cell_len(self.text)))


class Command(Struct, frozen=True):
    """A command that can be copied and pasted at any width.

    It is wrapped between words with a backslash for the shell, and an option stays with its value. A word longer than a
    line is left for the terminal to wrap.
    """

    typed: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        words = [shlex.quote(clean(word).replace("\n", " ")) for word in shlex.split(self.typed)]
        room = options.max_width
        lines: list[str] = []
        for part in _parts(words):
            joined = f"{lines[-1]} {part}" if lines else part
            if lines and cell_len(joined) <= room - len(_GOES_ON):
                lines[-1] = joined
            else:
                lines.append(part)
        if len(lines) > 1 and cell_len(last := f"{lines[-2]} {lines[-1]}") <= room:
            lines[-2:] = [last]
        lines[:-1] = [line + _GOES_ON for line in lines[:-1]]
        drawn = [Text(line, style=Style(meta={_UNCUT: line}) if cell_len(line) > room else "") for line in lines]
        yield Text("\n", no_wrap=True, overflow="ignore").join(drawn)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, cell_len(self.typed)))


def _parts(words: Sequence[str]) -> Iterable[str]:
    at = 0
    while at < len(words):
        valued = words[at].startswith("-") and not "".join(words[at + 1 : at + 2]).startswith("-")
        yield " ".join(words[at : at + 1 + valued])
        at += 1 + valued


def _printable(segment: Segment) -> Segment:
    """Return the segment with plain spaces, and with the whole line if a table has cropped it."""
    line = segment.style.meta.get(_UNCUT) if segment.style is not None else None
    return segment._replace(text=line or segment.text.replace(NBSP, " "))


Row: TypeAlias = tuple[str, RenderableType | Sequence[RenderableType]]
"""A label and the value beside it, or the values below each other."""


def facts(rows: Iterable[Row], label_width: int = LEFT - 2) -> Table:
    """Return a table of dim labels and their values; strings are untrusted text and are sanitized."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="quiet", width=label_width, no_wrap=True)
    table.add_column(overflow="fold")
    for label, values in rows:
        for at, value in enumerate(values if isinstance(values, list) else [values]):
            table.add_row("" if at else label, Text(flat(value)) if isinstance(value, str) else value)
    return table


def told_rows(label: str, lines: Iterable[str | Command], style: str = "") -> list[Row]:
    """Return the row of ``facts`` with lines of our own text, and commands; none without lines."""
    found = [Prose(line, style) if isinstance(line, str) else line for line in lines]
    return [(label, found)] if found else []


def indented(block: RenderableType) -> Padding:
    """Return the block, indented."""
    return Padding(block, (0, 0, 0, 2))


def _stripped(line: list[Segment]) -> list[Segment]:
    kept = list(line)
    while kept and not kept[-1].control:
        text = kept[-1].text.rstrip(" ")
        if text:
            kept[-1] = Segment(text, kept[-1].style)
            break
        kept.pop()
    return kept
