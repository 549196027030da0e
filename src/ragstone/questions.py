"""The questions that metrics ask, and the answers to them.

There are three shapes. ``Write``: list the units in a text. ``Rate``: rate units on a scale, by a text. ``Trace``: mark
sentences as relevant, used and supported. A question contains everything a judge needs and nothing about judges: no
model, no prompt, no format. Questions are values: two metrics that ask equal questions pay for one answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, get_args

from msgspec import Struct

from ragstone.types import REFERENCE, RESPONSE, Passage, Scale, Span, Unit, Verdict

Task = Literal[
    "claims", "nuggetize", "importance", "support", "assign", "response_support", "relevance", "trace", "rubric"
]
"""The steps, each of which can have its own judge.

``claims``: write the claims of a part of a response. ``nuggetize``: write the nuggets of a response, or of
passages. ``importance``: rate nuggets as vital or okay to the question. ``support``: rate sentences, claims
or nuggets against the passages. ``assign``: rate nuggets by whether a response holds them.
``response_support``: rate a whole response against all passages joined. ``relevance``: rate passages, claims,
nuggets or a response against the question. ``trace``: mark the sentences of passages and response. ``rubric``: rate
a record by criteria of the user's own, and write the steps of one.
"""

TASKS: Final[tuple[Task, ...]] = get_args(Task)

YES_NO: Final = Scale("yes_no", ("no", "yes"), (0.0, 1.0), (0, 1))
LIKERT: Final = Scale("scale_1_5", ("1", "2", "3", "4", "5"), (0.0, 0.25, 0.5, 0.75, 1.0), (1, 2, 3, 4, 5))
GRADE_0_3: Final = Scale("grade_0_3", ("0", "1", "2", "3"), (0.0, 1 / 3, 2 / 3, 1.0), (0, 1, 2, 3))
GRADE_0_2: Final = Scale("grade_0_2", ("0", "1", "2"), (0.0, 0.5, 1.0), (0, 1, 2))
SUPPORT_3: Final = Scale("support3", ("not_support", "partial_support", "support"), (0.0, 0.5, 1.0), (0, 1, 2))
SUPPORT_2: Final = Scale("support2", ("not_support", "support"), (0.0, 1.0), (0, 1))
SUPPORT_CONTRADICT: Final = Scale(
    "support_contradict", ("contradicted", "not_mentioned", "supported"), (0.0, 0.0, 1.0), (0, 0, 1)
)
ANSWERED: Final = Scale("answered", ("abstains", "answers"), (0.0, 1.0), (0, 1))
IMPORTANCE: Final = Scale("importance", ("okay", "vital"), (0.0, 1.0), (0, 1))

SCALES: Final[Mapping[str, tuple[Scale, ...]]] = {
    "support": (YES_NO, LIKERT, GRADE_0_3, SUPPORT_3, SUPPORT_CONTRADICT),
    "assign": (SUPPORT_3, SUPPORT_2),
    "response_support": (GRADE_0_2,),
    "relevance": (YES_NO, LIKERT, GRADE_0_3, ANSWERED),
    "importance": (IMPORTANCE,),
}
"""The scales of each step that rates units, the default first. Other steps write, trace, or have units with scales."""

FORM_OF: Final[Mapping[tuple[str, str], str]] = {
    ("support", SUPPORT_3.name): "three_way",
    ("support", SUPPORT_CONTRADICT.name): "three_way",
    ("relevance", ANSWERED.name): "answered",
}
"""The form of a question, by step and scale, if it is not the usual one of the step."""

Special = Literal["supported_without_sentence", "general", "well_known_fact", "numerical_reasoning"]
"""What may support a response sentence besides sentences of the passages (RAGBench, arXiv 2407.11005)."""

SPECIAL: Final[tuple[Special, ...]] = get_args(Special)

TEXTS: Final[Mapping[str, str]] = {RESPONSE: "the response", REFERENCE: "the reference"}
"""By id, what to call a text that units are rated against as against a passage."""


def key_of(unit: Unit) -> str:
    """Return the key of a traced sentence, the last part of its id: ``doc_0_s3`` or ``resp_s1``."""
    return unit.id.rpartition("/")[2]


Batch = int | Literal["all"]
ALL: Final = "all"
"""All units of a question in one call."""

HISTORY: Final = 4000
"""Maximum characters of earlier turns that a judge reads."""
TURN: Final = 1000
"""Maximum characters of one of them."""
EARLIER: Final = "Earlier in the conversation"


class EarlierTurn(NamedTuple):
    """An earlier turn: its role, its text on one line, and the number of characters left out."""

    role: str
    text: str
    cut: int = 0

    def __str__(self) -> str:
        return f"{self.role}: {self.text}" + (f" [{self.cut:,} more characters left out]" if self.cut else "")


class EarlierTurns(NamedTuple):
    """The conversation before a question: its last turns, and the number of turns left out before them.

    As text, each turn is one line, so that no turn can imitate another.
    """

    turns: tuple[EarlierTurn, ...] = ()
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.turns)

    def __str__(self) -> str:
        left = [f"[earlier turns left out: {self.left_out:,}]"] if self.left_out else []
        return "\n".join([*left, *map(str, self.turns)])


def history_of(meta: Mapping[str, Any], most: int = HISTORY, longest: int = TURN) -> EarlierTurns:
    """Return the turns of ``meta.history`` in order; only the last ones if they are long."""
    given = meta.get("history")
    turns = [turn for turn in given if isinstance(turn, Mapping)] if isinstance(given, list | tuple) else []
    texts = [(turn.get("role"), turn.get("content")) for turn in turns]
    said = [
        (who, " ".join(text.split()))
        for who, text in texts
        if who in ("user", "assistant") and isinstance(text, str) and text.strip()
    ]
    kept: list[EarlierTurn] = []
    for who, text in reversed(said):
        turn = EarlierTurn(who, text[:longest], max(0, len(text) - longest))
        most -= len(str(turn))
        if kept and most < 0:
            break
        kept.append(turn)
    return EarlierTurns(tuple(reversed(kept)), len(said) - len(kept))


def in_conversation(question: str, history: EarlierTurns) -> str:
    """Return the question preceded by the earlier turns, if any, as a person needs it; a blank question stays blank."""
    return f"{EARLIER}:\n{history}\n\nQuestion: {question}" if history and question.strip() else question


class Readout(NamedTuple):
    """Parsing of one reply: its ``reader``, and whether it is the ``repair`` of another.

    ``key`` is the call's. ``status`` is ``ok``, ``unknown_label``, ``truncation`` (entries are missing),
    ``count_mismatch``, ``format_error``, ``cut_off`` (at its length limit) or ``withheld`` (by a content filter);
    ``read`` of the ``asked`` entries could be used. ``error`` is the problem in one line.
    """

    key: str
    style: str
    format: str
    reader: str
    status: str
    read: int
    asked: int
    repair: bool = False
    error: str = ""


class Rated(Struct, frozen=True):
    """The answer to a ``Rate``: one verdict per unit, in the order of the units."""

    verdicts: tuple[Verdict, ...]
    reason: str = ""
    readouts: tuple[Readout, ...] = ()


class Written(Struct, frozen=True):
    """The answer to a ``Write``: the units found; ``failure`` says why there are none, or not all."""

    units: tuple[Unit, ...]
    failure: str = ""
    readouts: tuple[Readout, ...] = ()


class Traced(Struct, frozen=True):
    """The answer to a ``Trace``.

    ``relevant`` and ``utilized`` are keys of passage sentences, in order; None if the judge did not say. ``verdicts``
    has one verdict per response sentence, in order: ``yes`` if it is fully supported. ``support`` holds, for each of
    them, the keys that support it, including special ones. ``overall`` is the judge's verdict on the whole response, if
    it gave one. ``dropped`` lists keys that do not exist. ``parts`` is the number of parts in which the passages were
    sent; ``failure`` says what could not be read.
    """

    relevant: tuple[str, ...] | None
    utilized: tuple[str, ...] | None
    verdicts: tuple[Verdict, ...]
    support: tuple[tuple[str, ...], ...]
    relevance_reason: str = ""
    support_reason: str = ""
    overall: bool | None = None
    dropped: tuple[str, ...] = ()
    parts: int = 1
    failure: str = ""
    readouts: tuple[Readout, ...] = ()


Answer = Rated | Written | Traced
A_co = TypeVar("A_co", bound=Answer, covariant=True)


class _Background(Struct, frozen=True, kw_only=True):
    """What judges that understand text need to know besides the question itself; keywords, so that they come last."""

    history: EarlierTurns = EarlierTurns()
    lang: str = ""


class Question(_Background, Generic[A_co], frozen=True):
    """Any question; its ``task`` selects the judge.

    ``history`` is the conversation before the record's question (see ``history_of``), for judges that understand text.
    ``lang`` is the language code of the prompt, empty for English; judges without prompts in that language use English.
    """

    task: Task


class Write(Question[Written], frozen=True):
    """List the units of one level in a text.

    For a response (``claims``; ``nuggetize`` with ``sentences``): ``sentences`` are those of this part, in order.
    ``before`` is the text before the part, which pronouns may refer to. ``whole`` holds the sentences of all parts;
    empty if there is only one. ``response`` is the whole response, empty if the text is not one. Units are returned
    with their own ids (``claim/n``), numbered within the part, and the metric renumbers them. Nuggets in ``known`` are
    not listed again.

    For ``passages`` (``nuggetize``): the answer is the whole updated list, ``known`` plus what the passages add, most
    important first.

    ``most`` is the maximum length of the list, including known units; 0 sets no limit.

    For a ``criterion`` (``rubric``): the steps for judging by it, given the ``fields`` of a record. It concerns no
    particular record, so a run asks it once.
    """

    level: Literal["claim", "nugget", "step"]
    question: str
    sentences: tuple[Unit, ...] = ()
    before: str = ""
    part: int = 1
    passages: tuple[Passage, ...] = ()
    known: tuple[str, ...] = ()
    most: int = 0
    whole: tuple[Unit, ...] = ()
    response: str = ""
    criterion: Unit | None = None
    fields: tuple[str, ...] = ()


def written_kind(question: Write) -> str:
    """Return the kind of unit that a question asks for, as used in ids: ``claim``, ``nugget``, ``reference_claim``."""
    *_, kind, _ = ["", *question.sentences[0].id.split("/")] if question.sentences else ["", ""]
    return kind.replace("sentence", question.level) or question.level


class Rate(Question[Rated], frozen=True):
    """Rate each unit on its scale against passages (support), a response (assign) or the question.

    For ``rubric``, each unit is a criterion with its own scale, judged by those of the question, ``passages``,
    ``response`` and ``reference`` that are given.

    For ``assign``, ``passages`` is the whole response alone. ``reasons`` asks for a one-sentence reason per unit,
    ``evidence`` for quotes from the passages. ``skippable``: a unit that states nothing may be labelled trivial.
    ``wording`` (from 1) selects one of several independent wordings of the question. ``temperature`` is for judges that
    have one. ``batch`` is the maximum number of units per call, or ``all``; 0 leaves it to the judge.
    """

    units: tuple[Unit, ...]
    scale: Scale
    question: str = ""
    passages: tuple[Passage, ...] = ()
    reasons: bool = False
    evidence: bool = False
    skippable: bool = False
    wording: int = 1
    temperature: float | None = None
    batch: Batch = 0
    response: str = ""
    reference: str = ""

    def scale_of(self, unit: Unit) -> Scale:
        """Return the unit's own scale, or else the question's."""
        return unit.scale or self.scale

    @property
    def trivial_allowed(self) -> bool:
        """Whether people may label a unit trivial: also a claim, since a judge may write one that states nothing."""
        return self.skippable or (self.task == "support" and all(unit.level == "claim" for unit in self.units))


_SKY: Final = Unit("check/claim/1", "claim", "The sky is blue.", Span(0, 16))
SAMPLE: Final = Rate("support", (_SKY,), YES_NO, passages=(Passage("1", "On a clear day the sky is blue.", 1),))
"""A short question, to check whether a judge answers."""


class Trace(Question[Traced], frozen=True):
    """Mark the passage sentences that are relevant, that the response used, and that support it.

    ``sentences`` are those of all passages, each with its passage as parent and its span in it; ``response`` are those
    of the response. Their keys (see ``key_of``) are unique.
    """

    question: str
    sentences: tuple[Unit, ...]
    response: tuple[Unit, ...]
