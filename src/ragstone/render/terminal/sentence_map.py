"""Draw the sentence map of a trace: what each response sentence is based on, and which passage sentences matter.

Passage sentences that are relevant but unused, or used but not relevant, are listed with their text. The others are
only counted, with a sign for each. In full, every passage sentence is shown with its key and its marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from ragstone.questions import Special
from ragstone.render.terminal.evidence import Grounds
from ragstone.render.terminal.screen import DOT, Look, Prose, section
from ragstone.render.terminal.tables import grid, legend, marked
from ragstone.render.text import flat, number, plural, shorten
from ragstone.render.wording import SPECIALS, in_words, is_map, kind_of, sentence_names, sentences_merged, word

SIGNS: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "both": ("■", "#", "", "relevant and used"),
    "unused": ("□", "o", "head", "relevant but unused"),
    "beside": ("▲", "^", "partly", "used but not relevant"),
    "neither": ("·", ".", "quiet", "neither"),
    "relevant": ("r", "r", "", "relevant"),
    "used": ("u", "u", "", "used"),
    "unknown": ("?", "?", "quiet", "not labelled"),
}
"""States of a passage sentence: its sign, its ASCII sign, its style and its description."""

_SENTENCE: Final = re.compile(r", sentence \d+")
_MARKS: Final = {"relevant": "relevant", "utilized": "used"}
"""Labels of a passage sentence in a result, and the words for them."""

SUPPORTS: Final = 3
"""Maximum number of passage sentences quoted under a response sentence unless the record is shown in full."""
SUPPORTS_BESIDE: Final = 1
"""The same maximum if other metrics judged the sentence too."""
NARROW: Final = 30
"""Columns below which a quote continues on the next line."""
STANDING_OUT: Final = 5
"""Maximum number of sentences listed in a block unless the record is shown in full."""
NAMED: Final = 5
"""Maximum number of unknown keys listed."""


ContextSentence = Mapping[str, Any]
"""A passage sentence with its trace labels (None if not labelled), as in a result."""


def state_of(place: ContextSentence) -> str:
    """Return the state of a passage sentence, as a key of ``SIGNS``."""
    relevant, used = place["relevant"], place["utilized"]
    if relevant is None or used is None:
        return "relevant" if relevant else "used" if used else "unknown"
    if relevant:
        return "both" if used else "unused"
    return "beside" if used else "neither"


class TracedSentence(Struct, frozen=True):
    """A response sentence with its verdict and the keys of the sentences it is based on."""

    key: str
    start: int
    end: int
    verdict: Mapping[str, Any]
    support: Sequence[str]
    special: Sequence[Special]

    @property
    def kind(self) -> str:
        """The kind of the verdict on the sentence."""
        return kind_of(self.verdict)


class SentenceMap:
    """The trace of one record, sentence by sentence."""

    def __init__(self, result: Mapping[str, Any], score: Mapping[str, Any], grounds: Grounds) -> None:
        self.grounds = grounds
        self.result = result
        self.names = sentence_names(result)
        self.detail: Mapping[str, Any] = score["detail"]
        self.texts: dict[str, str] = {context["id"]: context["text"] for context in result["contexts"]}
        self.metric: str = score["metric"]
        self.places: Sequence[ContextSentence] = self.detail["contexts"]
        self.by_key = {place["key"]: place for place in self.places}
        units = {unit["id"]: unit for unit in result["units"]}
        self.response = [
            TracedSentence(row["key"], unit["start"], unit["end"], verdict, row["support"], row["special"])
            for verdict, row in zip(score["verdicts"], self.detail["response"], strict=True)
            if (unit := units[verdict["unit"]])["start"] is not None
        ]
        self._failures: set[str] = set()
        self._quotes: set[str] = set()

    @classmethod
    def of(cls, result: Mapping[str, Any], grounds: Grounds) -> SentenceMap | None:
        """Return the map of a result; None if nothing was traced."""
        score = next((score for score in result["scores"] if is_map(score)), None)
        return cls(result, score, grounds) if score is not None else None

    def text(self, place: ContextSentence) -> str:
        """Return the text of a passage sentence."""
        return self.texts.get(place["passage"], "")[place["start"] : place["end"]]

    # ---- the response

    def under(
        self,
        resting: TracedSentence,
        shown: Sequence[Mapping[str, Any]],
        *,
        named: str = "",
        beside: str = "",
        told: str = "",
    ) -> list[RenderableType]:
        """Show the evidence for a response sentence, and why it is not supported.

        ``shown`` are quotes and ``told`` is a reason already shown above, which are not repeated. ``named`` is a prefix
        that distinguishes it from other verdicts; the label is added if the sign ``beside`` it is of another kind.
        """
        verdict, grounds = resting.verdict, self.grounds
        label = word(self.metric, verdict)
        apart = beside not in ("", resting.kind) and not resting.special
        first = f"{named} ({label}): " if named and apart else f"{named}: " if named else ""
        most = len(resting.support) if grounds.full else SUPPORTS_BESIDE if named else SUPPORTS
        blocks = list(self._rests_on(resting, first, shown, most))
        failure = flat(verdict.get("failure") or "")
        if failure and failure not in self._failures:  # show a failure only once
            self._failures.add(failure)
            blocks.append(grounds.aside(f"{f'{named}: ' if named else ''}unjudged: {grounds.shown(failure)}"))
        reason = in_words(self.result, verdict["reason"]) if grounds.full or resting.kind != "yes" else ""
        if reason and not (apart or grounds.full) and _SENTENCE.sub("", reason) == in_words(self.result, told):
            return blocks
        if reason:
            counted = f"; counts as {label}" if apart and not blocks and not reason.startswith(label) else ""
            blocks.append(grounds.aside(f"{f'{named}: ' if named else ''}{grounds.shown(reason)}{counted}"))
        elif named and not blocks:
            blocks.append(grounds.aside(f"{named}: {label}"))
        return list(blocks)

    def _rests_on(
        self, resting: TracedSentence, first: str, shown: Sequence[Mapping[str, Any]], most: int
    ) -> Iterator[RenderableType]:
        first += "based on " if first and resting.kind == "yes" and not resting.special else ""
        first += "" if resting.kind == "yes" else "partial evidence: "
        if resting.special:
            words = ", ".join(SPECIALS.get(special, special) for special in resting.special)
            yield self.grounds.aside(f"{first}{words}")
            first = ""
        old = [key for key in resting.support if self._stands_above(key, shown)]
        new = [key for key in resting.support if key not in old]
        for key in new[:most]:
            yield self._quoted(key, first)
            first = ""
        rest = [self._named(new[most:])] if new[most:] else []
        rest += [f"{self._named(old)} (quoted above)"] if old else []
        if rest:
            yield self.grounds.aside(f"{first}{'and ' if new else ''}{'; '.join(rest)}")

    def _named(self, keys: Iterable[str]) -> str:
        names = (self.names.get(key, key) for key in keys)
        passages = groupby(names, lambda name: name.partition(",")[0])
        return "; ".join(sentences_merged(" and ".join(group)) for _, group in passages)

    def _stands_above(self, key: str, shown: Sequence[Mapping[str, Any]]) -> bool:
        place = self.by_key.get(key)
        if place is None or key in self._quotes:
            return key in self._quotes
        found = (one for one in shown if one["start"] is not None and one["passage"] == place["passage"])
        return any(one["start"] <= place["start"] and place["end"] <= one["end"] for one in found)

    def _quoted(self, key: str, first: str) -> Text:
        place = self.by_key.get(key)
        if place is None:
            return self.grounds.aside(f"{first}{key}")
        look = self.grounds.look
        where = f"{first}{self.names[key]}"
        text = flat(self.text(place))
        self._quotes.add(key)
        if not self.grounds.full:
            room = look.width - 13 - len(where)
            text = shorten(text, room if room >= NARROW else room + look.width - 12, look.ellipsis)
        return self.grounds.quoted(where, text)

    def notes(self) -> RenderableType | None:
        """Return the caveats of the labelling in one dim line; None if there are none."""
        said, look = [], self.grounds.look
        if self.detail.get("parts", 1) > 1:
            said.append(f"judged in {number(self.detail['parts'])} parts")
        if dropped := self.detail.get("dropped", ()):
            names = ", ".join(shorten(key, 40, look.ellipsis) or "blank" for key in dropped[:NAMED])
            more = f" and {number(len(dropped) - NAMED)} more" if len(dropped) > NAMED else ""
            said.append(f"{plural(len(dropped), 'unknown sentence key')} dropped: {names}{more}")
        if silent := [words for key, words in _MARKS.items() if not self._known(key)]:
            said.append(f"the judge did not label which sentences are {' or '.join(silent)}")
        if (overall := self.detail.get("overall")) is not None and overall != self._every():
            said.append(f"the judge labelled the whole response as {'supported' if overall else 'not supported'}")
        return Prose(DOT.join(said), "quiet") if said else None

    def _known(self, what: str) -> bool:
        return any(place[what] is not None for place in self.places)

    def _every(self) -> bool | None:
        """Return whether every sentence is supported; None if unknown."""
        kinds = {resting.kind for resting in self.response}
        return False if "no" in kinds else None if "unjudged" in kinds else True

    # ---- the contexts

    @property
    def silent(self) -> bool:
        """Whether no passage sentence has a label."""
        return not any(map(self._known, _MARKS))

    def standing_out(self) -> list[RenderableType]:
        """Return the sections of sentences that are relevant but unused, and used but not relevant."""
        blocks = []
        for kind, title, what in (
            ("unused", "Relevant but unused", "relevant"),
            ("beside", "Used but not relevant", "utilized"),
        ):
            if places := [place for place in self.places if state_of(place) == kind]:
                of = plural(sum(bool(place[what]) for place in self.places), f"{_MARKS[what]} sentence")
                blocks.append(section(title, self._listed(places), note=f"{number(len(places))} of {of}"))
        return list(blocks)

    def _listed(self, places: Sequence[ContextSentence]) -> RenderableType:
        look, rows = self.grounds.look, []
        most = len(places) if self.grounds.full else STANDING_OUT
        for place in places[:most]:
            where = self.names[place["key"]]
            # in full, the passage below shows the whole sentence
            text = shorten(self.text(place), 2 * (look.width - 10) - len(where) - 1, look.ellipsis)
            rows.append((sign(state_of(place), look), self.grounds.quoted(where, text)))
        if len(places) > most:
            rows.append((Text(), self.grounds.aside(f"{number(len(places) - most)} more: add --full")))
        return marked(rows)

    def counts(self, passage: str) -> str:
        """Return the counts of a passage's sentences by relevance and use."""
        kinds = Counter(self._states(passage))
        parts = [f"{number(kinds[kind])} {words}" for kind, (*_, words) in SIGNS.items()
                 if kinds[kind] and kind not in ("neither", "unknown")]  # fmt: skip
        if not parts and kinds["neither"]:
            parts = ["none relevant or used"]
        counted = plural(kinds.total(), "sentence")
        return f"{', '.join(parts)} (of {counted})" if parts else counted

    def strip(self, passage: str) -> Text | None:
        """Return a sign for each sentence of a passage; None if no sentence is relevant or used."""
        kinds = self._states(passage)
        if set(kinds) <= {"neither", "unknown"}:
            return None
        return Text("", overflow="fold").join(sign(kind, self.grounds.look) for kind in kinds)

    def _states(self, passage: str) -> list[str]:
        return [state_of(place) for place in self.places if place["passage"] == passage]

    def legend(self) -> Text | None:
        """Explain the signs of the sentences or, in full, the two letters; None if there are none."""
        kinds = set(map(state_of, self.places))
        if self.grounds.full:
            return legend([(Text("R"), "relevant"), (Text("U"), "used")])
        if kinds <= {"neither", "unknown"}:
            return None
        return legend((sign(kind, self.grounds.look), words) for kind, (*_, words) in SIGNS.items() if kind in kinds)

    def sentences(self, passage: str, evidence: Sequence[tuple[int, int]]) -> RenderableType:
        """Show a whole passage: each sentence with its number, key and marks; ``evidence`` spans are highlighted."""
        text, at, rows = self.texts[passage], 0, []

        def stretch(start: int, end: int) -> Text:
            within = [(max(first, start) - start, min(last, end) - start) for first, last in evidence]
            return self.grounds.passage(text[start:end], [span for span in within if span[0] < span[1]], full=True)

        for n, place in enumerate((place for place in self.places if place["passage"] == passage), 1):
            start, end = place["start"], place["end"]
            if text[at:start].strip():  # the input's own segmentation may have gaps
                rows.append((Text(), Text(), stretch(at, start)))
            marks = _letter("R", place["relevant"]), " ", _letter("U", place["utilized"])
            rows.append((Text(f"{n} {place['key']}", style="quiet"), Text.assemble(*marks), stretch(start, end)))
            at = max(at, end)
        if text[at:].strip():
            rows.append((Text(), Text(), stretch(at, len(text))))
        return grid(rows, "<<~")

    def reason(self, what: str) -> RenderableType | None:
        """Show the judge's reason for its labels of ``relevance`` (passages) or ``support`` (response)."""
        said = self.detail.get(f"{what}_reason")
        if not said:
            return None
        return self.grounds.aside(f"{what.capitalize()}: {self.grounds.shown(in_words(self.result, said), 2)}")


def sign(kind: str, look: Look) -> Text:
    """Return the sign for a passage sentence's state."""
    drawn, plain, style, _ = SIGNS[kind]
    return Text(plain if look.ascii else drawn, style=style)


def _letter(letter: str, known: bool | None) -> Text:
    return Text("?", style="quiet") if known is None else Text(letter) if known else Text("·", style="quiet")
