"""Draw the grounds of a verdict: its reason or failure, the members of a panel, and its quotes with their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.render.excerpt import pieces, squeezed
from ragstone.render.facts import called
from ragstone.render.terminal.screen import Look
from ragstone.render.terminal.tables import by_kind, legend
from ragstone.render.text import clean, flat, middle, plural, shorten
from ragstone.render.wording import where

LONG: Final = 3
"""Maximum number of lines of a reason unless the record is shown in full."""
QUOTES: Final = 2
"""Maximum number of quotes of one verdict unless the record is shown in full."""
_BEST_FIRST: Final = ("yes", "partly", "no", "unjudged", "trivial")


class Grounds(Struct, frozen=True):
    """Draws the grounds of verdicts; ``ranks`` are those of the record's passages, ``full`` omits nothing.

    ``judges`` are those of the record's cascades: verdicts from one of them are shown with the judge's name. ``drawn``
    are the quotes drawn so far, which are not repeated unless in full.
    """

    look: Look
    full: bool
    ranks: Mapping[str, int]
    judges: frozenset[str] = frozenset()
    drawn: set[tuple[Any, ...]] = field(default_factory=set)

    def because(
        self, verdict: Mapping[str, Any], *, of_response: bool = False, label: str = ""
    ) -> Iterable[RenderableType]:
        """Yield the reason or failure, the members of a panel, and the quotes from passages or from the response.

        ``label`` is a prefix that says what the reason is about if that is unclear.
        """
        who = f"{label}judged by {called(verdict['judge'])}" if verdict["judge"] in self.judges else ""
        label = f"{who}: " if who else label
        if verdict.get("failure"):
            yield self.aside(f"{label}unjudged: {self.shown(verdict['failure'])}")
        if members := verdict.get("members", ()):
            yield self._members(members)
        elif verdict["reason"]:
            yield self.aside(f"{label}{self.shown(verdict['reason'])}")
        elif who and not verdict.get("failure"):
            yield self.aside(who)
        quotes, old = verdict["evidence"], dict[str, None]()
        for quote in quotes if self.full else quotes[:QUOTES]:
            key = quote["passage"], quote["start"], quote["text"]
            if key in self.drawn and quote["start"] is not None and not self.full:
                old[where(quote, self.ranks, of_response=of_response)] = None
            else:
                self.drawn.add(key)
                yield self._quote(quote, of_response=of_response)
        if old:
            yield self.aside(f"{' and '.join(old)} (quoted above)")
        if len(quotes) > QUOTES > len(old) and not self.full:
            yield self.aside(f"{plural(len(quotes) - QUOTES, 'more quote')}: add --full")

    def aside(self, words: str) -> Text:
        """Return dim text."""
        return Text(words, style="quiet", overflow="fold")

    def shown(self, text: str, lines: int = LONG) -> str:
        """Return a text without line breaks, shortened to ``lines`` terminal lines unless shown in full."""
        return flat(text) if self.full else shorten(text, lines * (self.look.width - 10), self.look.ellipsis)

    def piece(self, text: str, kind: str = "") -> Text:
        """Return a text from the record in the colour of its verdict."""
        style = "wrong" if kind == "no" else "partly" if kind == "partly" else ""
        return Text(clean(text).strip(), overflow="fold", style=style)

    def legend(self, signs: Iterable[tuple[str, str]], title: str = "Legend: ") -> Text:
        """Return a legend of the signs: each kind of verdict with its words, best first."""
        ranked = sorted(set(signs), key=lambda sign: (_BEST_FIRST.index(sign[0]), sign))
        return legend(((self.look.mark(kind), words) for kind, words in by_kind(ranked)), title)

    def quoted(self, where: str, words: str, before: str = "") -> Text:
        """Return a quote in quotation marks, preceded by its place."""
        return Text.assemble((before, "partly"), (f"{where} ", "quiet"), f"“{words}”", overflow="fold")

    def passage(self, text: str, spans: Sequence[tuple[int, int]], *, full: bool) -> Text:
        """Return a passage with its evidence in brackets; text far from evidence is omitted unless ``full``."""
        opened, closed = self.look.brackets
        drawn = Text(overflow="fold")
        for start, end, evidence in pieces(text, spans, full=full):
            if start < 0:
                drawn.rstrip()
                drawn.append(f"{' ' if drawn else ''}{self.look.ellipsis} ", style="quiet")
                continue
            words = clean(text[start:end]) if full else squeezed(text[start:end])
            if drawn.plain.endswith(" "):
                words = words.lstrip(" ")
            if evidence:
                drawn.append(opened, style="quiet").append(words, style="found").append(closed, style="quiet")
            else:
                drawn.append(words)
        return drawn

    def _quote(self, quote: Mapping[str, Any], *, of_response: bool) -> Text:
        words = self.shown(quote["text"], 2)
        place = where(quote, self.ranks, of_response=of_response)
        if quote["start"] is None:
            return Text.assemble((f"{place} ", "partly"), f"“{words}”", overflow="fold")
        at = f"{place}, characters {quote['start']}\u2013{quote['end']}" if self.full else place
        # The text's wording, not the judge's.
        return self.quoted(at, words, "" if quote["verbatim"] else "close match: ")

    def _members(self, members: Sequence[Mapping[str, Any]]) -> Table:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(overflow="fold", ratio=2)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(overflow="fold", ratio=5)
        for member in members:
            name = middle(flat(member["judge"]), 24, self.look.ellipsis)
            label = "-" if member["label"] is None else flat(member["label"]).replace("_", " ")
            said = f"failed: {member['failure']}" if member.get("failure") else member["reason"]
            table.add_row(self.aside(name), Text(label), self.aside(self.shown(said)))
        return table
