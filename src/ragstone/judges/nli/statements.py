"""Judge statements with an NLI model: choose the windows to read, and decide from the results.

The embedded judge has three roles here. It finds the windows to read first, so that most supported statements cost one
or two readings; only statements that these do not entail are compared with all passages. It finds numbers and names
that the passages state differently or lack; these overrule the model, since small models are weak at them. And it
judges sentences that state nothing, and statements that something is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import orjson
from msgspec.structs import replace

from ragstone.judges.embedded.abstaining import abstention
from ragstone.judges.embedded.compute import place_name
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.model import model
from ragstone.judges.embedded.stated import restated, stated, triviality, unmarked
from ragstone.judges.embedded.support import (
    Name,
    SupportOutcome,
    Window,
    differing,
    judged,
    look_up,
    response,
    wordless,
)
from ragstone.judges.embedded.tracing import Contexts, trace
from ragstone.judges.embedded.words import tokens_of
from ragstone.judges.nli.reader import Odds, Reader
from ragstone.segment import language_of

YES: Final = 0.5
"""Minimum probability of entailment of a supported statement, unless a threshold is fitted to human labels."""
LEAST: Final = 0.1
"""The lowest allowed threshold: probabilities below it are reserved for statements that a rule rejects."""
MOST: Final = 0.95
"""The highest allowed threshold. A window that reaches it ends the reading, since more could not change a label."""
OVERRULING: Final = frozenset(("number", "limit", "name"))
"""The kinds of facts on which the embedded judge overrules the model."""
MARKED: Final = "marked by shared words, not by the model"


def reply_to(body: bytes, reader: Reader) -> str:
    """Return the reply to a call's body as JSON: probabilities, places and reasons, in the embedded judge's format."""
    asked: Mapping[str, Any] = orjson.loads(body)
    question = asked["question"]
    if asked["task"] == "trace":
        return orjson.dumps(_trace(asked, question, reader)).decode()
    library = Library(asked["passages"], asked["units"])

    def name(window: Window) -> str:
        return "the response" if asked["task"] == "assign" else place_name(asked["ranks"][window[0]])

    statements = Statements(library, reader, name, question)

    def outcome(text: str) -> SupportOutcome:
        if asked["task"] == "assign":
            return statements.entailed(text)
        if asked["task"] == "response_support":
            return response(text, library.language, statements.judged, YES)
        return statements.judged(text, trivial=asked["trivial"])

    return orjson.dumps({"units": [outcome(text).row() for text in asked["units"]]}).decode()


def _trace(asked: Mapping[str, Any], question: str, reader: Reader) -> dict[str, Any]:
    """Return relevance and use as marked by the embedded judge, which an NLI model cannot do, with its own support."""
    found = trace(question, asked["passages"], asked["response"], asked["keys"])
    contexts = Contexts(question, asked["passages"], asked["response"])
    statements = Statements(
        contexts.library, reader, lambda window: asked["keys"][contexts.inside(window)[0]], question
    )
    rows = []
    for text in asked["response"]:
        outcome = statements.judged(text)
        places = dict.fromkeys(chain.from_iterable(map(contexts.inside, outcome.windows)))
        rows.append({**outcome.row(), "windows": list(places)})
    return {**found, "response": rows, "reason": "; ".join(filter(None, (MARKED, found["reason"])))}


class Statements:
    """Judges statements about the same passages."""

    def __init__(self, library: Library, reader: Reader, name: Name, question: str) -> None:
        self._library, self._reader, self._name, self._question = library, reader, name, question
        self._known: dict[int, list[tuple[int, int, int]]] = {}

    def judged(self, text: str, *, trivial: bool = True) -> SupportOutcome:
        """Judge a claim or a sentence. ``trivial``: whether a sentence that states nothing may be skipped."""
        language = self._library.language
        empty = trivial and triviality(unmarked(text), language_of(text))
        if empty or abstention(text, language) is not None:
            found = judged(text, self._library, self._name, trivial=trivial, question=self._question)
            return _by_rule(found, accepted=(found.chance or 0.0) >= model().support.yes)
        return self.entailed(text)

    def entailed(self, text: str) -> SupportOutcome:
        """Judge a statement with the model, without the rules for empty and negative statements."""
        library = self._library
        finding = look_up(text, library, self._question)
        if not finding.words:
            return wordless(text)
        said = stated(text, library.language)
        if restated(self._question, said, library.language, whole=False) != said:  # "Paris."
            said = f"{self._question.strip()} {said}"
        near = [library.window(place) for place in finding.windows]
        read = self._read(near, said)
        if not read:
            return SupportOutcome(0.0, (), "not entailed: every passage is blank")
        best = min(read, key=lambda window: (-read[window].entailment, window))
        chance = read[best].entailment
        quotes = [self._sentence(best, near, said)]
        clash = finding.clash
        if clash is not None and clash.kind in OVERRULING:
            outcome = _by_rule(differing(clash, near, chance, library, self._name), accepted=False)
            return replace(outcome, reason=f"{outcome.reason}; entailment {chance:.2f}")
        if chance >= YES:
            return SupportOutcome(chance, quotes, f"entailed by {self._name(best)} (probability {chance:.2f})")
        worst = min(read, key=lambda window: (-read[window].contradiction, window))
        against = read[worst].contradiction
        if against >= YES:
            reason = f"contradicted by {self._name(worst)} (probability {against:.2f}); highest entailment {chance:.2f}"
            return SupportOutcome(chance, [self._sentence(worst, near, said)], reason)
        return SupportOutcome(chance, quotes, f"not entailed (probability {chance:.2f}; nearest: {self._name(best)})")

    def _read(self, near: Sequence[Window], said: str) -> dict[tuple[int, ...], Odds]:
        """Read the windows around ``near`` until one entails the statement at any threshold; if none does, read all."""
        read: dict[tuple[int, ...], Odds] = {}
        for window in map(self._around, near):
            read[window] = self._reader.read(self._text(window), said)
            if read[window].entailment >= MOST:
                return read
        for window in self._every():
            if window not in read:
                read[window] = self._reader.read(self._text(window), said)
        return read

    def _text(self, window: Sequence[int]) -> str:
        passage, start, end = window
        return " ".join(self._library.texts[passage].text[start:end].split())

    def _pieces(self, passage: int) -> list[tuple[int, int, int]]:
        """Return start, end and token count of each sentence of a passage; long sentences are split."""
        if passage not in self._known:
            found, text = [], self._library.texts[passage]
            for number, span in enumerate(text.spans):
                sentence = text.sentence(number)
                size, most = self._reader.size(sentence), self._reader.premise
                parts = [(0, len(sentence))] if size <= most else self._reader.cut(sentence, most)
                found += [(span.start + a, span.start + b, min(size, most)) for a, b in parts]
            self._known[passage] = found
        return self._known[passage]

    def _around(self, window: Window) -> tuple[int, int, int]:
        """Extend a window by the sentences after and before it that fit."""
        passage, start, end = window
        pieces = self._pieces(passage)
        inside = [i for i, (a, b, _) in enumerate(pieces) if a < end and b > start]
        first = last = inside[0]
        room = self._reader.premise - pieces[first][2]
        ahead, behind = True, True
        while ahead or behind:
            ahead = last + 1 < len(pieces) and pieces[last + 1][2] <= room
            if ahead:
                last += 1
                room -= pieces[last][2]
            behind = last >= inside[-1] and first > 0 and pieces[first - 1][2] <= room
            if behind:
                first -= 1
                room -= pieces[first][2]
        return passage, pieces[first][0], pieces[last][1]

    def _every(self) -> Iterator[tuple[int, int, int]]:
        """Yield windows that together cover all passages."""
        for passage in range(len(self._library.texts)):
            start: int | None = None
            end = left = 0
            for a, b, size in self._pieces(passage):
                if start is None or size > left:
                    if start is not None:
                        yield passage, start, end
                    start, left = a, self._reader.premise
                end, left = b, left - size
            if start is not None:
                yield passage, start, end

    def _sentence(self, window: Sequence[int], near: Sequence[Window], said: str) -> Window:
        """Return the part of a window to quote.

        This is a window of ``near`` inside it, else the sentence that shares most words with the statement, else all of
        it.
        """
        passage, start, end = window
        for place in near:
            if place[0] == passage and start <= place[1] and place[2] <= end:
                return place
        text, library = self._library.texts[passage], self._library
        own = {token.stem for token in tokens_of(said, library.language)}
        inside = [n for n, span in enumerate(text.spans) if start <= span.start and span.end <= end]
        shares = {n: sum(library.weight(stem) for stem in own.intersection(text.stems(n))) for n in inside}
        best = max(shares, key=lambda n: (shares[n], -n), default=None)
        if best is None or not shares[best]:
            return window
        return passage, text.spans[best].start, text.spans[best].end


def _by_rule(found: SupportOutcome, *, accepted: bool) -> SupportOutcome:
    """Move the embedded judge's probability beyond all thresholds, so that none of them changes its decision."""
    if found.chance is None:
        return found
    chance = MOST + (1 - MOST) * found.chance if accepted else LEAST / 2 * found.chance
    return replace(
        found,
        chance=chance,
        reason=found.reason.replace(f"(support {found.chance:.2f}", f"(support {chance:.2f}"),
    )
