"""The terminal: how wide it is, which signs it can show, what its colours mean, and the blocks of a screen.

One accent says *unsupported*; everything else is the terminal's own foreground, bold or dim. Colour is never the only
sign: each verdict has one in the margin. Where the output is no terminal, NO_COLOR is set or TERM is dumb, the same
lines come without colour; where it cannot carry Unicode, in ASCII.
"""

from __future__ import annotations

import codecs
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Final, NoReturn, TypeAlias

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
"""Columns that are used of a wide terminal: lines of text are read, not searched."""
NARROWEST: Final = 40
LEFT: Final = 12
"""Columns of a label of ``facts`` and the gap after it."""
DOT: Final = " · "
"""Between two things on one line."""
_PLAIN: Final = dict(zip("\u2013·─━●“”", '---=o""', strict=True))
"""The signs of a screen that an ASCII terminal shows as others of the same width."""
_GOES_ON: Final = " \\"
"""At the end of a line of a command: it continues on the next one."""
_UNCUT: Final = "uncut"
"""The key of a style's meta under which a line is kept whole that may be wider than the terminal."""

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
    """A console whose reader may go away at any time."""

    def on_broken_pipe(self) -> NoReturn:
        """Let the command end quietly: the reader closed the output."""
        raise BrokenPipeError


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replace what a stream cannot encode: dashes and the like by plain ones, all else by question marks."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error("ragstone_signs", _plain)


def screen(file: IO[str] | None = None, *, stderr: bool = False) -> Screen:
    """A console for a stream, as wide as the terminal but not wider than can be read."""
    target = file or (sys.stderr if stderr else sys.stdout)
    if (reconfigure := getattr(target, "reconfigure", None)) is not None:
        reconfigure(errors="ragstone_signs")
    console = Screen(file=target, theme=THEME, highlight=False, markup=False, emoji=False, soft_wrap=False)
    columns = os.environ.get("COLUMNS", "")  # rich takes 80 for a dumb terminal, whatever it was told
    width = int(columns) if columns.isdigit() and int(columns) else console.width
    console.width = max(NARROWEST, min(WIDEST, width))
    return console


@dataclass(frozen=True, slots=True)
class Look:
    """The width to draw in, and whether the terminal shows only ASCII."""

    width: int = 80
    ascii: bool = False

    @classmethod
    def of(cls, console: Console) -> Look:
        """The look of a console."""
        return cls(console.width, not console.encoding.casefold().startswith("utf"))

    @property
    def ellipsis(self) -> str:
        """The sign for text that was left out."""
        return "..." if self.ascii else "…"

    @property
    def brackets(self) -> tuple[str, str]:
        """Around evidence inside a passage."""
        return ("[[", "]]") if self.ascii else ("«", "»")

    def mark(self, kind: str) -> Text:
        """The sign of a kind of verdict, for the margin."""
        sign, plain, style = MARKS[kind]
        return Text(plain if self.ascii else sign, style=style)

    def whisker(self, mean: float, interval: tuple[float, float] | None, cells: int) -> Text:
        """A scale from 0 to 1 with the mean and its interval on it."""
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
"""Kind of verdict: its sign, the sign in ASCII, its style."""

# ---- putting things on a page


@dataclass(frozen=True, slots=True)
class Page:
    """All of a screen: no blanks at the ends of lines, plain spaces for those that do not break."""

    body: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.body, options, pad=False):
            yield from _stripped([_printable(segment) for segment in line])
            yield Segment.line()


def page(*blocks: RenderableType | None, margin: int = 2) -> Page:
    """Blocks below each other with a blank line between them; None is left out."""
    shown: list[RenderableType] = [""]
    for block in blocks:
        if block is not None:
            shown += [block, ""]
    return Page(Padding(Group(*shown), (0, 0, 0, margin)))


def section(title: str, *blocks: RenderableType, note: str = "") -> Group:
    """A heading with a quiet note beside it, and blocks under it."""
    drawn = Text(title, style="head")
    if note:
        drawn.append(f"  {note}", style="quiet")
    return Group(drawn, *blocks)


def heading(name: str, look: Look, *parts: str) -> Text:
    """The first line of a screen: a name, shortened if need be, and beside it quietly what there is to it."""
    right = DOT.join(parts)
    shown = middle(flat(name), max(12, look.width - 6 - len(right)), look.ellipsis)
    return Text.assemble((shown, "head"), "  ", (right, "quiet"))


@dataclass(frozen=True, slots=True)
class Prose:
    """Our own words, wrapped in the room that they have."""

    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = self.text.replace("\u2026", Look.of(console).ellipsis)
        yield Text("\n".join(paragraph(whole, options.max_width)), style=self.style)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, max(1, cell_len(self.text)))


@dataclass(frozen=True, slots=True)
class Command:
    """A command that can be copied and pasted at any width.

    It is broken between words, with a backslash for the shell, and an option stays with its value. A word that is too
    long for a line is left for the terminal to break.
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
    """The segment with plain spaces, and with all of its line if a table has cut that off."""
    line = segment.style.meta.get(_UNCUT) if segment.style is not None else None
    return segment._replace(text=line or segment.text.replace(NBSP, " "))


Row: TypeAlias = tuple[str, RenderableType]
"""A label, and what stands beside it."""


def facts(rows: Iterable[Row], label_width: int = LEFT - 2) -> Table:
    """Quiet labels in a column, each with its value; a string is foreign text and is made harmless."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="quiet", width=label_width, no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(label, Text(flat(value)) if isinstance(value, str) else value)
    return table


def labelled(label: str, values: Sequence[RenderableType]) -> list[Row]:
    """Rows of ``facts``: the label stands beside the first."""
    return [("" if at else label, value) for at, value in enumerate(values)]


def told_rows(label: str, lines: Iterable[str], style: str = "") -> list[Row]:
    """Rows of ``facts`` with our own words."""
    return labelled(label, [Prose(line, style) for line in lines])


def indented(block: RenderableType) -> Padding:
    """A block moved to the right."""
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
