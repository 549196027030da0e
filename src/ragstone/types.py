"""Records, units, verdicts and scores, as frozen Structs.

Nothing here imports a library or knows a judge. All
offsets are character offsets (not bytes) into the text that they belong to, ``start`` included and ``end``
excluded. Texts are kept exactly as they came.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

from msgspec import Struct

Level = Literal["response", "sentence", "claim", "nugget", "passage", "criterion", "step"]
"""The kind of a unit."""

Status = Literal["scored", "partial", "empty", "missing_field", "judge_failed", "disabled"]
"""Why a score has a value or none; only ``scored`` and ``partial`` have verdicts."""

Outcome = Literal["PASSED", "FAILED"]

Importance = Literal["vital", "okay"]
"""Whether a good answer must contain a nugget, or can do without it (TREC RAG)."""

Assignment = Literal["support", "partial_support", "not_support"]
"""How far a response contains a nugget (TREC RAG)."""

TRIVIAL: Final = "trivial"
"""The label of a unit that states nothing (a greeting, a heading): judged, and left out of every mean."""

BY_RECORD: Final = "record"
"""The judge's name in verdicts that follow from the record, such as its relevant ids, and need no judge."""

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

RESPONSE: Final = "response"
REFERENCE: Final = "reference"
"""The id of the response, or of the reference, when units are rated against it as against a passage."""


PRINTERS: Final[dict[str, Callable[[Any], str]]] = {}
"""Functions that return what ``print`` shows, by class name; set by the API, since nothing below renders."""


class Printable:
    """A result that prints as text for people, also in a notebook; its repr has all fields."""

    __slots__ = ()

    def __str__(self) -> str:
        return PRINTERS.get(type(self).__name__, repr)(self)

    def _repr_pretty_(self, printer: Any, _cycle: bool, /) -> None:
        printer.text(str(self))


class PrintableAsMarkdown(Printable):
    """A result that prints as Markdown in which no text from elsewhere is markup, and that notebooks show so."""

    __slots__ = ()

    _repr_markdown_ = Printable.__str__


def is_blank(text: str) -> bool:
    """Return whether a text has no visible character, only white space, controls and such as zero-width spaces."""
    return all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") for char in text.strip())


def passage_id(given: str) -> str:
    """Return the id of a passage that has the ``given`` id in the input: ``response#2`` if it is that of a text."""
    return f"{given}#2" if given in (RESPONSE, REFERENCE) else given


DETAILS: Final = "context_details"
"""The key of a record's ``meta`` for further fields of its passages, by passage id: score, judgment."""

ORIGIN: Final = "origin"
"""The key of a record's ``meta`` for the trace it was read from: ``format``, ``trace`` and ``span`` (the root span)."""


class Span(Struct, frozen=True):
    """A stretch of text: ``text[start:end]``."""

    start: int
    end: int


class Passage(Struct, frozen=True):
    """One retrieved text. ``rank`` is its 1-based place in the record; ``id`` is unique in the record."""

    id: str
    text: str
    rank: int


class Unit(Struct, frozen=True):
    """One thing that a judge gives a verdict on.

    ``id`` is ``record/level/n`` with ``n`` from 1. ``span`` is the unit's place in the response (or, for a passage, the
    whole passage); a reworded claim has the span of the sentence it was taken from. ``parent`` is the id of that
    sentence. For a claim, ``confidence`` (0-1) is the judge's confidence and ``part`` (from 1) the part of a long
    response that it was extracted from. ``importance`` is for nuggets, None if unknown. ``scale`` and ``steps`` are for
    criteria: the labels, and how to judge by them.
    """

    id: str
    level: Level
    text: str
    span: Span | None = None
    parent: str | None = None
    confidence: float | None = None
    part: int | None = None
    importance: Importance | None = None
    scale: Scale | None = None
    steps: tuple[str, ...] = ()


class Nugget(Struct, frozen=True):
    """A fact that a good answer contains, as given by the record; fields that were not given are unset.

    ``sources`` are the ids of the passages that it comes from. ``value`` (0 to 1) is that of a panel, if its
    ``assignment`` is only the nearest label; ``strict`` (0 to 1) is the part of it that says support.
    """

    text: str
    importance: Importance | None = None
    assignment: Assignment | None = None
    sources: tuple[str, ...] = ()
    value: float | None = None
    strict: float | None = None


class Citation(Struct, frozen=True):
    """A sentence of a response with the passages that it cites (TREC RAG answers)."""

    span: Span
    passages: tuple[str, ...]


def nouns(fields: Iterable[str], *, article: bool = False) -> list[str]:
    """Return fields in words, for messages: ``ids of relevant passages`` for ``relevant``, ``a reference``."""
    words = (
        {"relevant": "ids of relevant passages", "answerable": "answerable flag"}.get(name, name) for name in fields
    )
    if not article:
        return list(words)
    return [word if word.endswith("s") else f"{'an' if word[0] in 'aeiou' else 'a'} {word}" for word in words]


def either(words: Sequence[str]) -> str:
    """Join words like ``a, b or c``."""
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


class Record(Struct, frozen=True):
    """One interaction: a question, the retrieved passages and the generated response.

    ``None`` means that the input lacks the field, ``""`` that it is there but blank. ``contexts`` is None when absent
    and may contain blank passages; ``passages`` leaves those out. ``overrides`` maps a metric's name to parameters for
    this record only. ``relevant`` maps passage ids to grades; a passage with grade 0 should not be retrieved.
    ``answerable`` says whether the question can be answered. ``where`` names the file and line that the record came
    from. ``topic`` is the id in the input; records of several systems may share it, and nugget banks are keyed by it.
    ``id`` is unique.
    """

    id: str
    question: str | None = None
    response: str | None = None
    contexts: tuple[Passage, ...] | None = None
    reference: str | None = None
    nuggets: tuple[Nugget, ...] | None = None
    citations: tuple[Citation, ...] = ()
    relevant: Mapping[str, int] | None = None
    answerable: bool | None = None
    overrides: Mapping[str, Mapping[str, Any]] = NOTHING
    meta: Mapping[str, Any] = NOTHING
    where: str = ""
    notes: tuple[str, ...] = ()
    topic: str = ""

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The non-blank contexts, in order."""
        return tuple(passage for passage in self.contexts or () if not is_blank(passage.text))


class Scale(Struct, frozen=True):
    """An ordered, closed set of labels, worst first, each with a value in [0, 1].

    ``raws`` are the numbers that a person would write for the labels (1-5 for a Likert scale). ``meanings`` explains
    the labels if no prompt does.
    """

    name: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    raws: tuple[int, ...]
    meanings: tuple[str, ...] = ()

    def value(self, label: str) -> float:
        """Return the value of a label; raise KeyError if the scale does not have it."""
        try:
            return self.values[self.labels.index(label)]
        except ValueError:
            raise KeyError(label) from None

    def raw(self, label: str) -> int:
        """Return the raw number of a label; raise KeyError if the scale does not have it."""
        try:
            return self.raws[self.labels.index(label)]
        except ValueError:
            raise KeyError(label) from None

    def nearest(self, value: float) -> str:
        """Return the label with the closest value; of two equally close ones, the worse."""
        return min(
            zip(self.labels, self.values, strict=True),
            key=lambda pair: (round(abs(pair[1] - value), 9), pair[1]),
        )[0]


class Quote(Struct, frozen=True):
    """Evidence that a judge quoted.

    ``verbatim`` is checked by code, not taken from the judge: true if ``text`` is in the passage at ``span``. A quote
    that was not found has no span; ``passage`` is then the id that the judge claimed, or empty.
    """

    passage: str
    span: Span | None
    text: str
    verbatim: bool


class Verdict(Struct, frozen=True):
    """A judge's verdict on one unit.

    If ``label`` is None, the unit is unjudged and ``failure`` says why; unjudged units never count as a number. The
    label ``trivial`` has no value either, but is a judgement. ``value`` is in [0, 1]; for a panel it is the aggregate,
    ``label`` the label nearest to it, and ``members`` every judge's own verdict with its ``weight``. ``strict`` is the
    panel's value if every label but the best were worth 0, None if ``label`` gives it. ``probability`` (0-1) is the
    judge's own probability, if it gives one, that the unit deserves the best label. ``by_words``: the judge found the
    question's words in a passage, but cannot tell whether the passage answers the question.
    """

    unit: Unit
    label: str | None
    value: float | None
    judge: str
    raw: float | None = None
    probability: float | None = None
    evidence: tuple[Quote, ...] = ()
    reason: str = ""
    failure: str = ""
    members: tuple[Verdict, ...] = ()
    by_words: bool = False
    weight: float = 1.0
    strict: float | None = None

    @property
    def unjudged(self) -> bool:
        """Whether no judge gave a usable verdict on this unit."""
        return self.label is None

    @property
    def trivial(self) -> bool:
        """Whether the unit states nothing that could be supported."""
        return self.label == TRIVIAL


class Repeats(Struct, frozen=True):
    """The values of a repeated score.

    ``values`` has one per repeat, the score's own first. ``units`` had a label every time, and ``flips`` of them
    changed it. ``unmatched`` units were missing or unjudged at least once.
    """

    values: tuple[float | None, ...]
    units: int
    flips: int
    unmatched: int


class Score(Struct, frozen=True):
    """One metric of one record.

    ``value`` is in [0, 1] or None; ``low`` and ``high`` are its values if all unjudged units had the worst or the best
    label. ``asked`` counts the units that should have a verdict, ``unjudged`` those that have none. ``outcome``
    compares the value with the metric's threshold, if it has one, and is None without a value: a failure to judge is
    not a failure of the response. ``detail`` is plain JSON that depends on the metric. The engine fills in
    ``signature``. A metric with several columns has one score for each; in all but the first, ``verdicts_in`` names the
    score with the verdicts they share. ``repeats`` is set if each call was made several times; everything else is
    then from the first time.
    """

    metric: str
    record: str
    value: float | None
    status: Status
    asked: int = 0
    unjudged: int = 0
    low: float | None = None
    high: float | None = None
    verdicts: tuple[Verdict, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    detail: Mapping[str, Any] = NOTHING
    signature: str = ""
    verdicts_in: str = ""
    repeats: Repeats | None = None
