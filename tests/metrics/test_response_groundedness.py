"""Response groundedness: one grade for the whole response, its shortcuts, panels, wordings and bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from material import nobody, record, weigh

from ragstone.judges.base import Failed
from ragstone.judges.panel import combine
from ragstone.metrics import find
from ragstone.metrics.base import Metric
from ragstone.metrics.response_groundedness import BANDS, ResponseGroundedness
from ragstone.questions import GRADE_0_2, Rate, Rated
from ragstone.types import Score, Verdict

MOSCOW = "Moscow is the capital of Russia with about 12 million people"
NO_PEOPLE = "Moscow is the capital of Russia."


def metric(**parameters: Any) -> Metric:
    return find("response_groundedness")().with_parameters(parameters)


def shortcut(response: str, *contexts: str, **parameters: Any) -> str:
    """Which shortcut was taken, or ``asked``."""
    score, asked = weigh(metric(**parameters), record(response, *contexts), {"response_support": "0"})
    assert bool(asked) == ("shortcut" not in score.detail)
    if asked:
        return "asked"
    assert score.value == 1.0
    return str(score.detail["shortcut"])


def panel(*raws: int | None, reasons: Sequence[str] = ()) -> Any:
    """A script of a panel whose members give these raw scores; None is a member that failed."""

    def answer(question: Any) -> Rated:
        (unit,) = question.units
        members = []
        for number, raw in enumerate(raws):
            name = f"judge{number + 1}"
            verdict = (
                Verdict(unit, None, None, name, failure="HTTP 500")
                if raw is None
                else Verdict(unit, str(raw), raw / 2, name, raw=raw, reason=f"{name} says {raw}")
            )
            members.append((name, Rated((verdict,))))
        return combine(question, members)

    return answer


def test_worked_example() -> None:
    """The population is not in the context: raw 1, value .5, a band of that value."""
    score, asked = weigh(metric(), record(MOSCOW, NO_PEOPLE), {"response_support": "1"})
    assert (score.value, score.verdicts[0].raw, score.status) == (0.5, 1, "scored")
    assert len(asked) == 1
    score, _ = weigh(metric(), record(MOSCOW, NO_PEOPLE), {"response_support": "1"})
    assert bands_of(score) == {"name": "moderate", "en": BANDS[2].en, "ru": BANDS[2].ru}


def test_the_whole_response_is_asked_about_once() -> None:
    """One unit, all contexts, evidence and a reason, at temperature 0.1."""
    (question,) = weigh(metric(), record(MOSCOW, NO_PEOPLE, "Other."), {"response_support": "1"})[1]
    assert (question.task, question.scale, question.temperature, question.wording) == (
        "response_support", GRADE_0_2, 0.1, 1,
    )  # fmt: skip
    assert [(unit.id, unit.level, unit.text) for unit in question.units] == [("r/response/1", "response", MOSCOW)]
    assert [passage.text for passage in question.passages] == [NO_PEOPLE, "Other."]
    assert (question.evidence, question.reasons, question.skippable) == (True, True, False)
    (question,) = weigh(metric(temperature=0.7, reasons=False), record(), {"response_support": "1"})[1]
    assert (question.temperature, question.reasons) == (0.7, False)


@pytest.mark.parametrize(
    ("response", "contexts", "expected"),
    [
        pytest.param("Paris is nice.", ["Other.", "Paris is nice."], "exact", id="equals one context"),
        pytest.param("  PARIS\n is   nice. ", ["paris is nice."], "exact", id="blanks and case are folded"),
        pytest.param("STRASSE eins zwei", ["straße eins zwei"], "exact", id="case is folded as Unicode has it"),
        pytest.param("No", ["no"], "exact", id="one word that equals a passage"),
        pytest.param("is nice today", ["Paris is nice today, they say."], "contained", id="contained"),
        pytest.param("IS  nice\ntoday", ["Paris is nice today, they say."], "contained", id="contained when folded"),
        pytest.param("ends here and goes", ["It ends here", "and goes on."], "contained", id="in the joined contexts"),
        pytest.param("nice today today", ["nice today today2 nice today today"], "contained", id="a later place"),
        pytest.param("cat sat on", ["concat sat on it"], "asked", id="not within a word at its start"),
        pytest.param("the cat sat", ["see the cat saturated"], "asked", id="not within a word at its end"),
        pytest.param("the cat sat", ["see the cat sat_on"], "asked", id="an underscore is part of a word"),
        pytest.param("пришла к нам", ["Она пришла к намерению"], "asked", id="word boundaries in every script"),
        pytest.param("वे घर में है", ["वे घर में हैं"], "asked", id="a vowel sign is part of its word"),
        pytest.param(
            "le grand re\u0301sume", ["le grand re\u0301sume\u0301"], "asked", id="an accent is part of its letter"
        ),
        pytest.param("वे घर में हैं", ["वे घर में हैं।"], "contained", id="a word may end in a vowel sign"),
        pytest.param("cat", ["concatenate"], "asked", id="cat is not in concatenate"),
        pytest.param("cat", ["the cat sat"], "asked", id="one word alone is not contained"),
        pytest.param("no", ["there is no doubt about it"], "asked", id="the answer no"),
        pytest.param("two words", ["these two words stand here"], "asked", id="two words are too few"),
        pytest.param("a.c b.d e.f", ["axc bxd exf"], "asked", id="a dot is no pattern"),
        pytest.param("(is) nice (today)", ["it (is) nice (today)!"], "contained", id="brackets are no pattern"),
        pytest.param("It takes 2.", ["It takes 2.5 hours."], "asked", id="not within a decimal number"),
        pytest.param("2 million people", ["It has 1.2 million people."], "asked", id="not within one at its start"),
        pytest.param("it has 200", ["It has 200,000 people."], "asked", id="not within a thousand"),
        pytest.param("5 degrees outside", ["It is -5 degrees outside."], "asked", id="a number without its sign"),
        pytest.param("it rose by 5", ["It rose by 5% then."], "asked", id="a number without its percent sign"),
        pytest.param("toxic to cats", ["It is non-toxic to cats."], "asked", id="not within a compound word"),
        pytest.param("it’s over 5", ["It’s over 5, - they say."], "contained", id="a mark after a number"),
        pytest.param("not in there at all", ["Paris is nice."], "asked", id="elsewhere"),
    ],
)
def test_shortcuts(response: str, contexts: list[str], expected: str) -> None:
    """Equal to a context, or in the joined contexts at word boundaries with at least three words."""
    assert shortcut(response, *contexts) == expected


@pytest.mark.parametrize(("words", "expected"), [(1, "contained"), (2, "contained"), (3, "asked")])
def test_min_words_is_settable(words: int, expected: str) -> None:
    """Word boundaries hold for one word too."""
    assert shortcut("two words", "these two words stand here", min_words=words) == expected
    assert shortcut("cat", "concatenate", min_words=words) == "asked"
    assert shortcut("Paris is nice.", "Paris is nice.", min_words=words, shortcuts=False) == "asked"


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_response_is_empty_and_never_contained(blank: str) -> None:
    score, _ = weigh(metric(min_words=1), record(blank, "Some text."), nobody)
    assert (score.status, score.value) == ("empty", None)
    assert "shortcut" not in score.detail


def test_a_shortcut_says_what_it_is() -> None:
    """It costs nothing, is named as the judge, and has its reason and band."""
    score, _ = weigh(metric(threshold=0.5), record("Paris is nice.", "Paris is nice."), nobody)
    (verdict,) = score.verdicts
    assert (verdict.judge, verdict.raw, verdict.label) == ("shortcut:exact", 2, "2")
    assert verdict.reason == "the response equals a passage"
    assert score.detail["band"]["name"] == "excellent"
    assert (score.status, score.outcome) == ("scored", "PASSED")


def test_worked_panel() -> None:
    """Raws 2, 1 and one failure: .75, the failed one excluded and named with its cause."""
    score, _ = weigh(metric(), record(), panel(2, 1, None))
    assert (score.value, score.status) == (0.75, "scored")
    assert score.detail["excluded"] == [{"judge": "judge3", "cause": "HTTP 500"}]
    assert score.detail["panel"] == [
        {"judge": "judge1", "raw": 2, "value": 1.0, "reason": "judge1 says 2", "failure": ""},
        {"judge": "judge2", "raw": 1, "value": 0.5, "reason": "judge2 says 1", "failure": ""},
        {"judge": "judge3", "raw": None, "value": None, "reason": "", "failure": "HTTP 500"},
    ]
    assert (score.detail["agreement"], score.detail["spread"]) == (0.0, 1)
    assert score.detail["failed_members"] == {"judge3": 1}


def test_a_failed_first_member_does_not_hide_the_second() -> None:
    score, _ = weigh(metric(), record(), panel(None, 2))
    assert score.value == 1.0
    assert (score.detail["agreement"], score.detail["spread"]) == (None, None)
    score, _ = weigh(metric(), record(), panel(1, 1, 1))
    assert (score.value, score.detail["agreement"], score.detail["spread"]) == (0.5, 1.0, 0)


def test_a_panel_that_failed_altogether_has_no_value() -> None:
    score, _ = weigh(metric(threshold=0.1), record(), panel(None, None))
    assert (score.status, score.value, score.outcome) == ("judge_failed", None, None)
    assert "HTTP 500" in score.reason
    assert len(score.detail["excluded"]) == 2
    assert "band" not in score.detail


def test_two_prompts_are_two_wordings_and_one_mean() -> None:
    """Both are asked at once. Where one failed the value is the other's, with bounds of what it could have said."""
    script = lambda question: "2" if question.wording == 1 else "1"  # noqa: E731
    score, asked = weigh(metric(two_prompts=True), record(), script)
    assert [question.wording for question in asked if isinstance(question, Rate)] == [1, 2]
    assert (score.value, score.status, score.asked) == (0.75, "scored", 2)
    assert list(next(metric(two_prompts=True).flow(record()))) == asked
    failing = lambda question: "2" if question.wording == 1 else Failed("HTTP 500")  # noqa: E731
    score, _ = weigh(metric(two_prompts=True), record(), failing)
    assert (score.value, score.status, score.low, score.high) == (1.0, "partial", 0.5, 1.0)
    assert "HTTP 500" in score.reason


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1.0, "excellent"), (0.9, "excellent"), (0.8999, "good"), (0.7, "good"), (0.6999, "moderate"),
        (0.5, "moderate"), (0.4999, "poor"), (0.0, "poor"), (0.2 + 0.7, "excellent"),  # .8999999999999999
    ],
)  # fmt: skip
def test_bands_at_their_edges(value: float, name: str) -> None:
    assert ResponseGroundedness().band(value)["band"]["name"] == name


def test_bands_speak_both_languages() -> None:
    """Each band has a text in English and in Russian, none of them twice."""
    english, russian = {b.en for b in BANDS}, {b.ru for b in BANDS}
    assert len(english) == len(russian) == 4
    assert all(b.en.startswith(b.name) for b in BANDS)
    assert all(any("а" <= char <= "я" for char in text) for text in russian)


def bands_of(score: Score) -> Any:
    return score.detail["band"]
