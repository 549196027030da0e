"""The questions that metrics ask, and the answers to them.

There are three shapes. ``Write``: list the units in a text. ``Rate``: rate units on a scale, by a text. ``Trace``: mark
sentences as relevant, used and supported. A question has all that a judge needs and nothing about
judges: no model, no prompt, no format. Questions are values: two metrics that ask equal questions pay for one answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, get_args

from ragstone.types import REFERENCE, RESPONSE, Passage, Scale, Unit, Verdict

Task = Literal[
    "claims", "nuggetize", "importance", "support", "assign", "response_support", "relevance", "trace", "rubric"
]
"""The steps, each of which can have its own judge.

``claims``: write the claims of a part of a response. ``nuggetize``: write the nuggets of a response, or of
passages. ``importance``: rate nuggets as vital or okay to the question. ``support``: rate sentences, claims
or nuggets against the passages. ``assign``: rate nuggets by whether a response holds them.
``response_support``: rate a whole response against all passages joined. ``relevance``: rate passages, claims,
nuggets or a response against the question. ``trace``: mark the sentences of contexts and response. ``rubric``: rate
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
"""The scales of each step that rates units, its default first; the others write, trace or have units with scales."""

FORM_OF: Final[Mapping[tuple[str, str], str]] = {
    ("support", SUPPORT_3.name): "three_way",
    ("support", SUPPORT_CONTRADICT.name): "three_way",
    ("relevance", ANSWERED.name): "answered",
}
"""The form of a step's question, by step and scale, where it is not the step's usual one."""

Special = Literal["supported_without_sentence", "general", "well_known_fact", "numerical_reasoning"]
"""What may support a response sentence besides sentences of the contexts (RAGBench, arXiv 2407.11005)."""

SPECIAL: Final[tuple[Special, ...]] = get_args(Special)

TEXTS: Final[Mapping[str, str]] = {RESPONSE: "the response", REFERENCE: "the reference"}
"""What texts are called that units are rated by as by a passage, by its id."""


def key_of(unit: Unit) -> str:
    """The key of a traced sentence: ``doc_0_s3`` or ``resp_s1``, the last part of its id."""
    return unit.id.rpartition("/")[2]


Batch = int | Literal["all"]
ALL: Final = "all"
"""Every unit of a question in one call."""

HISTORY: Final = 4000
"""Characters of earlier turns that a judge reads."""
TURN: Final = 1000
"""Characters of one of them."""
EARLIER: Final = "Earlier in the conversation"


class EarlierTurn(NamedTuple):
    """An earlier turn: its role, its text on one line, and how many characters of it are left out."""

    role: str
    text: str
    cut: int = 0

    def __str__(self) -> str:
        return f"{self.role}: {self.text}" + (f" [{self.cut:,} more characters left out]" if self.cut else "")


class EarlierTurns(NamedTuple):
    """What was said before a question: the last turns, and how many before them are left out.

    As a text each turn is one line, so that none can look like another's.
    """

    turns: tuple[EarlierTurn, ...] = ()
    left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self.turns)

    def __str__(self) -> str:
        left = [f"[earlier turns left out: {self.left_out:,}]"] if self.left_out else []
        return "\n".join([*left, *map(str, self.turns)])


def history_of(meta: Mapping[str, Any], most: int = HISTORY, longest: int = TURN) -> EarlierTurns:
    """The turns of ``meta.history`` in order; the last ones where they are long."""
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
    """The question as a person needs it: after what was said before, if there is anything; a blank one stays so."""
    return f"{EARLIER}:\n{history}\n\nQuestion: {question}" if history and question.strip() else question


class Readout(NamedTuple):
    """Parsing of one reply: its ``reader``, and whether it is the ``repair`` of another.

    ``key`` is the call's. ``status`` is ``ok``, ``unknown_label``, ``truncation`` (entries are missing),
    ``count_mismatch``, ``format_error``, ``cut_off`` (at its length limit) or ``withheld`` (by a content filter);
    ``read`` of ``asked`` entries could be used. ``error`` is the problem in one line.
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


@dataclass(frozen=True, slots=True)
class Rated:
    """The answer to a ``Rate``: a verdict for each unit, in the order of the units."""

    verdicts: tuple[Verdict, ...]
    reason: str = ""
    readouts: tuple[Readout, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Written:
    """The answer to a ``Write``: the units found; ``failure`` is why there are none, or not all."""

    units: tuple[Unit, ...]
    failure: str = ""
    readouts: tuple[Readout, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Traced:
    """The answer to a ``Trace``.

    ``relevant`` and ``utilized`` are keys of context sentences in their order, None where the judge did not say.
    ``verdicts`` has one for each response sentence, in order: ``yes`` if it is fully supported. ``support`` has, for
    each of them, the keys that support it, special ones included. ``overall`` is the judge's verdict on the whole
    response, if it gave one. ``dropped`` lists keys that do not exist. ``parts`` is the number of pieces in which the
    contexts were asked about; ``failure`` is what could not be read.
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
    readouts: tuple[Readout, ...] = field(default=(), compare=False)


Answer = Rated | Written | Traced
A_co = TypeVar("A_co", bound=Answer, covariant=True)


@dataclass(frozen=True, slots=True)
class Question(Generic[A_co]):
    """Any question; its ``task`` chooses the judge.

    ``history`` is what was said before the record's question (see ``history_of``), for judges that read meaning.
    ``lang`` is the code of the language to ask in, empty for English; judges without prompts in it ask in English.
    """

    task: Task
    history: EarlierTurns = field(default=EarlierTurns(), kw_only=True)
    lang: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Write(Question[Written]):
    """List the units of one level in a text.

    Of a response (``claims``; ``nuggetize`` with ``sentences``): ``sentences`` are those of this part, in order;
    ``before`` is the text that stands before the part, for what a pronoun refers to; ``whole`` has the sentences of all
    parts, empty where there is one. Units come back with ids of their own (``claim/n``), numbered within the part; the
    asker renumbers them. Of nuggets only those are listed that ``known`` does not hold.

    Of ``passages`` (``nuggetize``): the answer is the whole updated list, which is ``known`` with what the
    passages add, most important first.

    ``most`` is the maximum length of the list, known units included; 0 sets no limit.

    Of a ``criterion`` (``rubric``): the steps of judging by it, for who sees the ``fields`` of a record. It is about
    no record, so that a run asks it once.
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
    criterion: Unit | None = None
    fields: tuple[str, ...] = ()


def written_kind(question: Write) -> str:
    """What the units that a question asks for are called in ids: ``claim``, ``nugget``, ``reference_claim``."""
    *_, kind, _ = ["", *question.sentences[0].id.split("/")] if question.sentences else ["", ""]
    return kind.replace("sentence", question.level) or question.level


@dataclass(frozen=True, slots=True)
class Rate(Question[Rated]):
    """Rate each unit on its scale, by passages (support), a response (assign) or the question.

    Of ``rubric`` each unit is a criterion with a scale of its own, and what it sees is what is given of the question,
    ``passages``, ``response`` and ``reference``.

    ``passages`` of ``assign`` is the response alone, whole. ``reasons`` asks for one sentence of reason per unit,
    ``evidence`` for quotes from the passages. ``skippable``: a unit that states nothing may be labelled trivial.
    ``wording`` (from 1) chooses among independent wordings of the same question. ``temperature`` is for judges that
    have one. ``batch`` is the maximum number of units in a call, or ``all``; 0 leaves it to the judge.
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
        """The unit's own scale, or the question's."""
        return unit.scale or self.scale


@dataclass(frozen=True, slots=True)
class Trace(Question[Traced]):
    """Mark the sentences of the contexts that are relevant, that the response used, and that support it.

    ``sentences`` are those of all contexts, each with its passage as parent and its span there; ``response`` those of
    the response. Their keys (see ``key_of``) are unique.
    """

    question: str
    sentences: tuple[Unit, ...]
    response: tuple[Unit, ...]
