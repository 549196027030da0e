"""Response groundedness: one grade for the whole response against all passages, with shortcuts and panels."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, cast

from ragstone.metrics.base import Flow, Metric, ask
from ragstone.metrics.words import FOUND, SUPPORTED, TRUE_TO_PASSAGES, Band, one_score
from ragstone.questions import GRADE_0_2
from ragstone.types import Record, Score, Span, Unit, Verdict

AGGREGATES: Final = ("mean", "median", "min", "max", "majority")
_SIGNS: Final = "-\u2010\u2011\u2013\u2212"
_JOINTS: Final = f"{_SIGNS}.,:/'\u2019"
"""Characters that join the parts of a word or a number."""
_UNITS: Final = "%\u2030\u00b0"

BANDS: Final = (
    Band(
        0.9, "excellent",
        "excellent: everything the response says is in the passages",
        "отлично: всё, что сказано в ответе, есть в контексте",
    ),
    Band(
        0.7, "good",
        "good: nearly everything is in the passages; check the rest",
        "хорошо: почти всё есть в контексте; проверьте остальное",
    ),
    Band(
        0.5, "moderate",
        "moderate: part of the response is not in the passages",
        "средне: часть ответа не подтверждается контекстом",
    ),
    Band(
        0.0, "poor",
        "poor: significant information is not in the passages",
        "плохо: существенные сведения отсутствуют в контексте",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ResponseGroundedness(Metric):
    """The whole response is graded from 0 to 2 against all passages. The score is the grade divided by 2.

    ``shortcuts``: score 1.0 without a call if the response equals a passage, or if the joined passages contain it.
    ``min_words``: min words in the response for the joined-passages shortcut. ``judges``: panel of judges; failed
    judges are excluded and reported. ``aggregate``: how to combine a panel's verdicts: mean, median, min, max or
    majority. ``two_prompts``: ask with two prompts and take the mean. ``temperature``: sampling temperature of language
    models, from 0 to 2.
    """

    name = "response_groundedness"
    title = "whether the passages contain all the information in the response, judged as a whole"
    needs = ("response", "contexts")
    asks = ("response_support",)
    suites = ("claims",)
    fixed = ("judges", "aggregate")
    source = "NVIDIA's response groundedness, as in ragas"
    elsewhere: ClassVar[Mapping[str, str]] = {"ragas": "response_groundedness"}
    group = TRUE_TO_PASSAGES
    rank = 70
    words = one_score(
        SUPPORTED,
        "On average, a response is rated {} for support by its passages, as a whole",
        "{are} not fully supported",
    )
    found_words = one_score(
        FOUND, "of a response was found in its passages, judged as a whole", "{were} not fully found",
        title="how much of the response was found in the passages, judged as a whole", banded=False,
    )  # fmt: skip
    always_asking: ClassVar[Mapping[str, Any]] = MappingProxyType({"shortcuts": False})
    bands = BANDS

    shortcuts: bool = True
    min_words: int = 3
    temperature: float = 0.1
    reasons: bool = True
    two_prompts: bool = False
    judges: tuple[str, ...] = ()
    aggregate: str = "mean"
    least = MappingProxyType({"min_words": 1})
    most = MappingProxyType({"temperature": 2.0})
    choices = MappingProxyType({"aggregate": AGGREGATES})

    def check(self) -> None:
        """Raise ConfigError if ``judges`` is not a list of names."""
        judges = cast("object", self.judges)
        if not isinstance(judges, tuple) or not all(isinstance(judge, str) for judge in judges):
            self.refuse("judges", judges, "a list of judges' names")

    @property
    def wordings(self) -> tuple[int, ...]:
        """Both wordings with ``two_prompts``, else only the first."""
        return (1, 2) if self.two_prompts else (1,)

    def judged(self, record: Record) -> Flow[tuple[Score, ...]]:
        """Use a shortcut if one applies, else ask one question (or two)."""
        text = record.response or ""
        unit = Unit(f"{record.id}/response/1", "response", text, Span(0, len(text)))
        shortcut = self._shortcut(record) if self.shortcuts else ""
        if shortcut:
            words = "equals a passage" if shortcut == "exact" else "appears word for word in the passages"
            verdict = Verdict(
                unit, "2", 1.0, f"shortcut:{shortcut}", raw=2, probability=1.0, reason=f"the response {words}"
            )
            return (self.mean_score(record, (verdict,), detail={"shortcut": shortcut}),)
        more = {"passages": record.passages, "temperature": self.temperature, "evidence": True}
        answers = yield from ask(
            *(self.rate(record, "response_support", (unit,), GRADE_0_2, wording=n, **more) for n in self.wordings)
        )
        verdicts = tuple(verdict for answer in answers for verdict in answer.verdicts)
        return (self.mean_score(record, verdicts, detail=_panel(verdicts)),)

    def _shortcut(self, record: Record) -> str:
        response = _folded(record.response or "")
        contexts = [_folded(passage.text) for passage in record.passages]
        if response in contexts:
            return "exact"
        if len(response.split()) < self.min_words:
            return ""
        return "contained" if _stands_in(response, " ".join(contexts)) else ""


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _stands_in(wanted: str, text: str) -> bool:
    """Return whether the text contains ``wanted`` without cutting a word or a number at either end."""
    at = text.find(wanted)
    while at >= 0:
        if not _cuts(text, at) and not _cuts(text, at + len(wanted)):
            return True
        at = text.find(wanted, at + 1)
    return False


def _cuts(text: str, at: int) -> bool:
    """Return whether a place in a text is inside a word or a number, such as "non-toxic", "1.5", "-5" or "5%"."""
    left, before, after, right = tuple(text[max(0, at - 2) : at].rjust(2) + text[at : at + 2].ljust(2))
    if _in_word(before):
        return _in_word(after) or (after in _JOINTS and _in_word(right)) or (before.isdigit() and after in _UNITS)
    return before in _JOINTS and _in_word(after) and (_in_word(left) or (after.isdigit() and before in _SIGNS))


def _in_word(char: str) -> bool:
    # A combining mark is part of its letter; otherwise a word would end before a vowel sign or an accent.
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"


def _panel(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    members = [member for verdict in verdicts for member in verdict.members]
    if not members:
        return {}
    return {
        "panel": [
            {"judge": m.judge, "raw": m.raw, "value": m.value, "reason": m.reason, "failure": m.failure}
            for m in members
        ],
        "excluded": [{"judge": m.judge, "cause": m.failure} for m in members if m.unjudged],
    }
