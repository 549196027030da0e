"""Why a verdict is what it is: its reason or failure, the members of a panel, and its quotes with their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.render.facts import called
from ragstone.render.terminal.screen import Look
from ragstone.render.text import clean, flat, middle, shorten

LONG: Final = 3
"""Lines of a reason that are shown when the record is not shown in full."""
QUOTES: Final = 2
"""Quotes of one verdict that are shown then."""
_BEST_FIRST: Final = ("yes", "partly", "no", "unjudged", "trivial")


@dataclass(frozen=True, slots=True)
class Grounds:
    """Draws what verdicts stand on; ``ranks`` are those of the record's passages, ``full`` leaves nothing out.

    ``judges`` are those of the record's cascades: their verdicts are told with who gave them.
    """

    look: Look
    full: bool
    ranks: Mapping[str, int]
    judges: frozenset[str] = frozenset()

    def because(
        self, verdict: Mapping[str, Any], *, of_response: bool = False, label: str = ""
    ) -> Iterable[RenderableType]:
        """The reason or the failure, every member of a panel, the quotes: from passages, or from the response.

        ``label`` tells what the reason is about where that is not plain.
        """
        who = f"{label}by {called(verdict['judge'])}" if verdict["judge"] in self.judges else ""
        label = f"{who}: " if who else label
        if verdict.get("failure"):
            yield Text(f"{label}unjudged: {self.shown(verdict['failure'])}", style="quiet", overflow="fold")
        members = verdict.get("members", ())
        if members:
            yield self._members(members)
        elif verdict["reason"]:
            yield Text(f"{label}{self.shown(verdict['reason'])}", style="quiet", overflow="fold")
        elif who and not verdict.get("failure"):
            yield Text(who, style="quiet", overflow="fold")
        quotes = verdict["evidence"]
        for quote in quotes if self.full else quotes[:QUOTES]:
            yield self._quote(quote, of_response=of_response)
        if len(quotes) > QUOTES and not self.full:
            yield Text(f"and {len(quotes) - QUOTES} more, with --full", style="quiet")

    def shown(self, text: str, lines: int = LONG) -> str:
        """A text on one line, and of it as many lines of the terminal as are wanted."""
        return flat(text) if self.full else shorten(flat(text), lines * (self.look.width - 10), self.look.ellipsis)

    def piece(self, text: str, kind: str = "") -> Text:
        """A text of the record, in the colour of what was said of it."""
        style = "wrong" if kind == "no" else "partly" if kind == "partly" else ""
        return Text(clean(text).strip(), overflow="fold", style=style)

    def legend(self, signs: Iterable[tuple[str, str]]) -> Text:
        """What the signs mean: each kind of verdict with its words, the best first."""
        legend = Text(style="quiet")
        for number, (kind, words) in enumerate(sorted(set(signs), key=lambda sign: (_BEST_FIRST.index(sign[0]), sign))):
            legend.append("   " if number else "")
            legend.append_text(self.look.mark(kind))
            legend.append(f" {words}")
        return legend

    def _quote(self, quote: Mapping[str, Any], *, of_response: bool) -> Text:
        opened, closed = self.look.quotes
        words = f"{opened}{self.shown(quote['text'], 2)}{closed}"
        source = "response" if of_response else "context"
        if quote["start"] is None:
            return Text.assemble((f"not found in the {source} ", "partly"), words, overflow="fold")
        source = "response" if of_response else f"passage {self.ranks.get(quote['passage'], quote['passage'])}"
        where = f"{source}, {quote['start']}{self.look.dash}{quote['end']}"
        nearly = "" if quote["verbatim"] else "nearly: "  # the words are the text's own, not the judge's
        return Text.assemble((nearly, "partly"), (f"{where} ", "quiet"), words, overflow="fold")

    def _members(self, members: Sequence[Mapping[str, Any]]) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(overflow="fold", ratio=2)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(overflow="fold", ratio=5)
        for member in members:
            raw = "-" if member["raw"] is None else f"{member['raw']:g}"
            said = f"failed: {member['failure']}" if member.get("failure") else member["reason"]
            table.add_row(
                Text(middle(flat(member["judge"]), 24, self.look.ellipsis), style="quiet"),
                Text(raw),
                Text(self.shown(said), style="quiet"),
            )
        return table


def margin(by: int = 2) -> Table:
    """A narrow column for signs, and one for what they stand beside."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=1 + by, justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    return table
