"""The sentence map of a trace: what each sentence of the response rests on, what of the contexts is relevant and used.

Two things stand out and come with their text, what is relevant and left unused and what is used and not relevant. The
rest is counted, a sign for each sentence; in full, every sentence of the contexts is there with its key and its marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.questions import Special
from ragstone.render.terminal.grounds import Grounds, margin
from ragstone.render.terminal.screen import Look, prose, section
from ragstone.render.text import NBSP, clean, flat, number, plural, shorten
from ragstone.render.wording import is_map, kind_of, word

SPECIALS: Final[Mapping[Special, str]] = {
    "supported_without_sentence": "supported without a sentence",
    "general": "a general statement",
    "well_known_fact": "a well-known fact",
    "numerical_reasoning": "follows from numbers",
}
"""What a response sentence rests on that is no sentence of the contexts."""

SIGNS: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "both": ("■", "#", "", "relevant and used"),
    "unused": ("□", "o", "head", "relevant and left unused"),
    "beside": ("▲", "^", "partly", "used and not relevant"),
    "neither": ("·", ".", "quiet", "neither"),
    "relevant": ("r", "r", "", "relevant"),
    "used": ("u", "u", "", "used"),
    "unknown": ("?", "?", "quiet", "not said"),
}
"""What a context sentence is to the response: its sign, the sign in ASCII, its style, the words."""

SUPPORTS: Final = 3
"""Sentences that a response sentence rests on which are quoted when the record is not shown in full."""
SUPPORTS_BESIDE: Final = 1
"""The same where other metrics have their say on the sentence too."""
NARROW: Final = 30
"""Columns below which the words of a quote go on to the next line."""
STANDING_OUT: Final = 5
"""Sentences of a block that are shown then."""
NAMED: Final = 5
"""Keys that do not exist which are named."""


@dataclass(frozen=True, slots=True)
class Place:
    """A sentence of the contexts: where it stands, and what was said of it (None where nothing was)."""

    key: str
    passage: str
    start: int
    end: int
    relevant: bool | None
    used: bool | None

    @property
    def kind(self) -> str:
        """Which of the signs it gets."""
        if self.relevant is None or self.used is None:
            return "relevant" if self.relevant else "used" if self.used else "unknown"
        if self.relevant:
            return "both" if self.used else "unused"
        return "beside" if self.used else "neither"


@dataclass(frozen=True, slots=True)
class Resting:
    """A sentence of the response with the verdict on it, and the keys that it rests on."""

    key: str
    start: int
    end: int
    verdict: Mapping[str, Any]
    support: Sequence[str]
    special: Sequence[Special]

    @property
    def kind(self) -> str:
        """Which of the marks of verdicts it gets."""
        return kind_of(self.verdict)


class SentenceMap:
    """What the trace of one record says, sentence by sentence."""

    def __init__(self, result: Mapping[str, Any], score: Mapping[str, Any], grounds: Grounds) -> None:
        self.grounds = grounds
        self.detail: Mapping[str, Any] = score["detail"]
        self.texts: dict[str, str] = {context["id"]: context["text"] for context in result["contexts"]}
        self.metric: str = score["metric"]
        self.places = [
            Place(row["key"], row["passage"], row["start"], row["end"], row["relevant"], row["utilized"])
            for row in self.detail["contexts"]
        ]
        self.by_key = {place.key: place for place in self.places}
        units = {unit["id"]: unit for unit in result["units"]}
        self.response = [
            Resting(row["key"], unit["start"], unit["end"], verdict, row["support"], row["special"])
            for verdict, row in zip(score["verdicts"], self.detail["response"], strict=True)
            if (unit := units[verdict["unit"]])["start"] is not None
        ]
        self._failures: set[str] = set()
        self._quotes: set[str] = set()

    @classmethod
    def of(cls, result: Mapping[str, Any], grounds: Grounds) -> SentenceMap | None:
        """The map of a result; None where nothing was traced."""
        score = next((score for score in result["scores"] if is_map(score)), None)
        return cls(result, score, grounds) if score is not None else None

    def text(self, place: Place) -> str:
        """The words of a sentence of the contexts."""
        return self.texts.get(place.passage, "")[place.start : place.end]

    # ---- the response

    def under(self, resting: Resting, shown: Sequence[Mapping[str, Any]], *, named: str = "") -> list[RenderableType]:
        """What is said of a sentence of the response: what it rests on, and why it falls short.

        ``shown`` are quotes that stand above already; no words are repeated that do. ``named`` comes first where other
        verdicts on the sentence stand there too.
        """
        verdict = resting.verdict
        first = f"{named}: " if named else ""
        most = len(resting.support) if self.grounds.full else SUPPORTS_BESIDE if named else SUPPORTS
        blocks = list(self._rests_on(resting, first, shown, most))
        failure = flat(verdict.get("failure") or "")
        if failure and failure not in self._failures:  # of many sentences that fail alike, the first says it
            self._failures.add(failure)
            blocks.append(Text(f"{first}unjudged: {self.grounds.shown(failure)}", style="quiet", overflow="fold"))
        elif named and not blocks:
            blocks.append(Text(f"{first}{word(self.metric, verdict)}", style="quiet"))
        if verdict["reason"] and (self.grounds.full or resting.kind != "yes"):
            blocks.append(Text(self.grounds.shown(verdict["reason"]), style="quiet", overflow="fold"))
        return blocks

    def _rests_on(
        self, resting: Resting, first: str, shown: Sequence[Mapping[str, Any]], most: int
    ) -> Iterator[RenderableType]:
        first += "" if resting.kind == "yes" else "in part: "
        if resting.special:
            words = ", ".join(SPECIALS.get(special, special) for special in resting.special)
            yield Text(f"{first}{words}", style="quiet", overflow="fold")
            first = ""
        old = [key for key in resting.support if self._stands_above(key, shown)]
        new = [key for key in resting.support if key not in old]
        for key in new[:most]:
            yield self._quoted(key, first)
            first = ""
        rest = [f"and {', '.join(new[most:])}"] if new[most:] else []
        for line in [*rest, *([f"{', '.join(old)}, as above"] if old else [])]:
            yield Text(f"{first}{line}", style="quiet", overflow="fold")
            first = ""

    def _stands_above(self, key: str, shown: Sequence[Mapping[str, Any]]) -> bool:
        place = self.by_key.get(key)
        return key in self._quotes or (place is not None and any(_holds(quote, place) for quote in shown))

    def _quoted(self, key: str, first: str) -> Text:
        place = self.by_key.get(key)
        if place is None:
            return Text(f"{first}{key}", style="quiet")
        look = self.grounds.look
        where = f"{first}{key}, passage {self.grounds.ranks.get(place.passage, place.passage)} "
        text = flat(self.text(place))
        self._quotes.add(key)
        if not self.grounds.full:
            room = look.width - 12 - len(where)
            text = shorten(text, room if room >= NARROW else room + look.width - 12, look.ellipsis)
        opened, closed = look.quotes
        return Text.assemble((where, "quiet"), f"{opened}{text}{closed}", overflow="fold")

    def aside(self) -> RenderableType | None:
        """In one quiet line what a reader must know of the labelling as such."""
        said, look = [], self.grounds.look
        if self.detail.get("parts", 1) > 1:
            said.append(f"asked in {number(self.detail['parts'])} pieces")
        if dropped := self.detail.get("dropped", ()):
            names = ", ".join(shorten(flat(key), 40, look.ellipsis) or "blank" for key in dropped[:NAMED])
            more = f" and {number(len(dropped) - NAMED)} more" if len(dropped) > NAMED else ""
            said.append(f"{plural(len(dropped), 'key')} that no sentence has, dropped: {names}{more}")
        silent = [
            words
            for words, known in (("relevant", self._known("relevant")), ("used", self._known("used")))
            if not known
        ]
        if silent:
            said.append(f"what is {' and '.join(silent)} was not said")
        if (overall := self.detail.get("overall")) is not None and overall != self._every():
            said.append(f"of the whole it was said: {'supported' if overall else 'not supported'}")
        if not said:
            return None
        return prose(f" {look.dot} ".join(said), look, "quiet", indent=2)

    def _known(self, what: str) -> bool:
        return any(getattr(place, what) is not None for place in self.places)

    def _every(self) -> bool | None:
        """Whether every sentence is supported, None where that is not known."""
        kinds = {resting.kind for resting in self.response}
        return False if "no" in kinds else None if "unjudged" in kinds else True

    # ---- the contexts

    @property
    def silent(self) -> bool:
        """Whether nothing was said of any sentence of the contexts."""
        return not self._known("relevant") and not self._known("used")

    def standing_out(self) -> list[RenderableType]:
        """What is relevant and was left unused, then what was used and is not relevant."""
        relevant = sum(bool(place.relevant) for place in self.places)
        used = sum(bool(place.used) for place in self.places)
        unused = [place for place in self.places if place.kind == "unused"]
        beside = [place for place in self.places if place.kind == "beside"]
        blocks = []
        if unused:
            note = f"{number(len(unused))} of {plural(relevant, 'relevant sentence')}"
            blocks.append(section("Relevant and left unused", self._listed(unused), note=note))
        if beside:
            note = f"{number(len(beside))} of {plural(used, 'used sentence')}"
            blocks.append(section("Used and not relevant", self._listed(beside), note=note))
        return list(blocks)

    def _listed(self, places: Sequence[Place]) -> RenderableType:
        table, look = margin(), self.grounds.look
        most = len(places) if self.grounds.full else STANDING_OUT
        opened, closed = look.quotes
        for place in places[:most]:
            where = f"{place.key}, passage {self.grounds.ranks.get(place.passage, place.passage)} "
            # in full, all of its words stand with its passage
            text = shorten(flat(self.text(place)), 2 * (look.width - 10) - len(where), look.ellipsis)
            words = Text.assemble((where, "quiet"), f"{opened}{text}{closed}", overflow="fold")
            table.add_row(sign(place.kind, look), words)
        if len(places) > most:
            table.add_row("", Text(f"and {number(len(places) - most)} more, with --full", style="quiet"))
        return table

    def counts(self, passage: str) -> str:
        """How many sentences of a passage there are, and what they are to the response."""
        places = [place for place in self.places if place.passage == passage]
        kinds = Counter(place.kind for place in places)
        parts = [f"{number(kinds[kind])} {words}" for kind, (*_, words) in SIGNS.items()
                 if kinds[kind] and kind not in ("neither", "unknown")]  # fmt: skip
        if not parts and kinds["neither"]:
            parts = ["none relevant or used"]
        return ": ".join([plural(len(places), "sentence"), *([", ".join(parts)] if parts else [])]).replace(NBSP, " ")

    def strip(self, passage: str) -> Text | None:
        """A sign for each sentence of a passage; None where it would tell nothing."""
        kinds = [place.kind for place in self.places if place.passage == passage]
        if set(kinds) <= {"neither", "unknown"}:
            return None
        return Text("", overflow="fold").join(sign(kind, self.grounds.look) for kind in kinds)

    def legend(self) -> Text | None:
        """What the signs of the sentences mean, or in full the two letters; None where there are none."""
        kinds = {place.kind for place in self.places}
        if self.grounds.full:
            signs = [(Text("R"), "relevant"), (Text("U"), "used")]
        elif kinds <= {"neither", "unknown"}:
            return None
        else:
            signs = [(sign(kind, self.grounds.look), words) for kind, (*_, words) in SIGNS.items() if kind in kinds]
        legend = Text(style="quiet", overflow="fold")
        for place, (drawn, words) in enumerate(signs):
            legend.append("   " if place else "").append_text(drawn).append(f" {words}")
        return legend

    def sentences(self, passage: str, evidence: Sequence[tuple[int, int]]) -> RenderableType:
        """All of a passage, each sentence with its key and its two marks; evidence of others is marked in it."""
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, style="quiet")
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        text, at = self.texts[passage], 0
        for place in (place for place in self.places if place.passage == passage):
            if text[at : place.start].strip():  # a division that came with the record may leave something out
                table.add_row("", "", self._marked(text, at, place.start, evidence))
            marks = _letter("R", place.relevant, self.grounds.look), " ", _letter("U", place.used, self.grounds.look)
            table.add_row(place.key, Text.assemble(*marks), self._marked(text, place.start, place.end, evidence))
            at = max(at, place.end)
        if text[at:].strip():
            table.add_row("", "", self._marked(text, at, len(text), evidence))
        return table

    def _marked(self, text: str, start: int, end: int, evidence: Iterable[tuple[int, int]]) -> Text:
        """A stretch of a passage with the evidence in it between brackets."""
        opened, closed = self.grounds.look.brackets
        drawn, at = Text(overflow="fold"), start
        for first, last in evidence:
            inner = max(first, at), min(last, end)
            if inner[0] < inner[1]:
                drawn.append(clean(text[at : inner[0]]))
                drawn.append(opened, style="quiet").append(clean(text[slice(*inner)]), style="found")
                drawn.append(closed, style="quiet")
                at = inner[1]
        drawn.append(clean(text[at:end]))
        return drawn

    def reason(self) -> RenderableType | None:
        """Why the judge holds what it does for relevant."""
        return self._said("relevance")

    def support_reason(self) -> RenderableType | None:
        """Why the judge holds the response for supported or not."""
        return self._said("support")

    def _said(self, what: str) -> RenderableType | None:
        said = self.detail.get(f"{what}_reason")
        return Text(f"on {what}: {self.grounds.shown(said, 2)}", style="quiet", overflow="fold") if said else None


def sign(kind: str, look: Look) -> Text:
    """The sign of what a context sentence is to the response."""
    drawn, plain, style, _ = SIGNS[kind]
    return Text(plain if look.ascii else drawn, style=style)


def _letter(letter: str, known: bool | None, look: Look) -> Text:
    return Text("?", style="quiet") if known is None else Text(letter) if known else Text(look.dot, style="quiet")


def _holds(quote: Mapping[str, Any], place: Place) -> bool:
    """Whether a quote has all the words of a sentence."""
    if quote["start"] is None or quote["passage"] != place.passage:
        return False
    return bool(quote["start"] <= place.start and place.end <= quote["end"])
