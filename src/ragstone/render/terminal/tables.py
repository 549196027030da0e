"""Draw tables and lists that adapt to narrow terminals.

A ``Column`` defines whether its texts may be shortened and when it may be dropped; ``fitting`` does so until the rest
fits. Strings in cells are plain text: markup in them is not interpreted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ragstone.analysis.verdicts import Wanting
from ragstone.render.terminal.screen import Look, Prose
from ragstone.render.text import flat, middle, paragraph, plural, short_id, shorten
from ragstone.render.wording import in_words

GAP = 2
"""Terminal cells between two columns."""
SHORTEST = 8
"""Minimum number of terminal cells of a shortened text."""


class Column(Struct, frozen=True):
    """A column of a table: a title above cells.

    ``drop`` is the order in which a narrow screen drops columns: lowest first, equal ones together; 0 is never dropped.
    ``least`` is the number of terminal cells to which its texts may be shortened; 0 means never. ``short`` is a shorter
    title, used before columns are dropped.
    """

    title: str | Text
    cells: Sequence[str | Text]
    right: bool = False
    drop: int = 0
    least: int = 0
    style: str = ""
    short: str = ""

    @property
    def width(self) -> int:
        """The width of its longest line, in terminal cells."""
        return max(cell_len(line) for cell in (self.title, *self.cells) for line in str(cell).split("\n"))


def fitting(columns: Sequence[Column], room: int, look: Look) -> list[Column]:
    """Return the columns that fit into ``room`` terminal cells: drop some, then shorten those that may be shortened."""
    kept = list(columns)
    if used(kept) > room:
        kept = [replace(column, title=column.short or column.title) for column in kept]
    for level in sorted({column.drop for column in columns} - {0}):
        if used(kept) > room:
            kept = [column for column in kept if column.drop != level]
    spare = room - used(kept)
    for at, column in enumerate(kept):
        if column.least and column.width > column.least:
            width = max(SHORTEST, min(column.width, column.least + spare))
            spare -= width - column.least
            kept[at] = replace(column, cells=[middle(str(cell), width, look.ellipsis) for cell in column.cells])
    return kept


def used(columns: Sequence[Column]) -> int:
    """Return the minimum width of columns side by side, in terminal cells."""
    return sum(min(column.width, column.least or column.width) + GAP for column in columns) - GAP


def table(columns: Sequence[Column], styles: Sequence[str] = ()) -> Table:
    """Return a table of the columns with their titles; ``styles`` are those of the rows."""
    titled = any(str(column.title) for column in columns)
    drawn = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, show_header=titled, header_style="")
    for column in columns:
        title = column.title if isinstance(column.title, Text) else Text(column.title, style="quiet")
        drawn.add_column(title, justify="right" if column.right else "left", no_wrap=True)
    for at, row in enumerate(zip(*(column.cells for column in columns), strict=True)):
        cells = (_plain(cell, column.style) for cell, column in zip(row, columns, strict=True))
        drawn.add_row(*cells, style=styles[at] if styles else "")
    return drawn


class Fitted(Struct, frozen=True):
    """The columns that fit and a dim line with the titles of dropped ones; ``styles`` are those of the rows."""

    columns: Sequence[Column]
    styles: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        kept = fitting(self.columns, options.max_width, Look.of(console))
        levels = {column.drop for column in kept}
        hidden = list(dict.fromkeys(str(column.title) for column in self.columns if column.drop not in levels))
        yield table(kept, self.styles)
        if hidden:
            them = "them" if len(hidden) > 1 else "it"
            said = (
                f"{plural(len(hidden), 'column')} hidden at this width ({', '.join(hidden)}); use --json to see {them}."
            )
            yield Prose(said, "quiet")


def grid(rows: Iterable[Sequence[RenderableType]], columns: str, gap: int = GAP, first: int | None = None) -> Table:
    """Return rows without titles. Each sign in ``columns`` is a column: ``<`` and ``>`` never wrap, ``~`` does.

    ``first`` is the minimum width of the first column.
    """
    drawn = Table.grid(padding=(0, gap, 0, 0))
    for at, kind in enumerate(columns):
        wraps = kind == "~"
        drawn.add_column(
            justify="right" if kind == ">" else "left",
            overflow="fold" if wraps else "ellipsis",
            no_wrap=not wraps,
            min_width=first if at == 0 else None,
        )
    for cells in rows:
        drawn.add_row(*map(_plain, cells))
    return drawn


def marked(rows: Iterable[tuple[RenderableType, RenderableType]], margin: int = 3) -> Table:
    """Return a list with each sign in the margin, beside its item."""
    return grid(rows, ">~", gap=1, first=margin)


def _plain(cell: RenderableType, style: str = "") -> RenderableType:
    return Text(cell, style=style) if isinstance(cell, str) else cell


def record_lines(
    record: str, told: str, units: Sequence[Wanting], result: Mapping[str, Any] | None, look: Look, room: int
) -> Group:
    """Return a record's id with a few words, and the first of the ``units`` that lower its score in this result."""
    lines = beside(record, told, look, room, (result or {}).get("position", 0))
    for unit in units[:1]:
        reason = in_words(result, unit.reason) if result else unit.reason
        lines += unit_lines(look.mark("no" if unit.value <= 0 else "partly"), unit.text, reason, look, room)
    return Group(*lines)


def by_kind(signs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return each kind of verdict once, with all of its words: ``contradicted or not found``."""
    said: dict[str, dict[str, None]] = {}
    for kind, words in signs:
        said.setdefault(kind, {})[words] = None
    return [(kind, " or ".join(words)) for kind, words in said.items()]


def legend(signs: Iterable[tuple[Text, str]], title: str = "Legend: ") -> Text:
    """Return signs with their meanings."""
    drawn = Text(style="quiet", overflow="fold")
    for sign, words in signs:
        drawn.append("   " if drawn else title).append_text(sign).append(f" {words}")
    return drawn


def beside(name: str, told: str, look: Look, room: int, position: int = 0) -> list[Text]:
    """Return a record's id (with its position if shortened) and a few words beside it, or below if there is no room."""
    shown = short_id(name, look.ellipsis, position)
    if cell_len(shown) + GAP + len(told) <= room:
        return [Text.assemble((shown, "head"), "  ", (told, "quiet"))]
    below = [Text(shorten(told, room, look.ellipsis), style="quiet")] if told else []
    return [Text(middle(shown, room, look.ellipsis), style="head"), *below]


def unit_lines(sign: Text, text: str, reason: str, look: Look, room: int, *, full: bool = False) -> list[Text]:
    """Return a unit's sign and text with the reason below; one and two lines or, in ``full``, as many as needed.

    A reason that is longer than a line loses the details that it ends with in brackets, such as the probability.
    """

    def lines(words: str, left: int, most: int) -> list[str]:
        said = flat(words) if full else shorten(words, most * left, look.ellipsis)
        return paragraph(said, left * len(said) // max(1, cell_len(said)))  # some characters take two cells

    first, *rest = lines(text, room - sign.cell_len - 1, 1)
    below = [(f"  {line}", "") for line in rest]
    why = flat(reason)
    if why.endswith(")") and cell_len(why) > room - 2 and not full:
        why = why.rpartition(" (")[0] or why
    below += [(f"  {line}", "quiet") for line in lines(why, room - 2, 2)] if why else []
    return [Text.assemble(sign, " ", first), *(Text(line, style=style) for line, style in below)]
