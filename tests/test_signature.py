"""Signatures: how a score was made, in one line; different ways have different lines."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest

from ragstone import __version__, prompts
from ragstone.engine.route import Route, Routes, signature_of
from ragstone.judges.catalogue import build
from ragstone.judges.embedded import EmbeddedJudge, judge
from ragstone.judges.spec import parse
from ragstone.metrics import catalogue, find
from ragstone.questions import YES_NO, Rate
from ragstone.signature import signature, text_libraries, version_of
from ragstone.testing import ScriptedJudge

END = f"|text:{text_libraries()}|v:{__version__}"
PLAIN = Routes(Route((build(parse("openai:gpt-x")),)), {})


def of(name: str, routes: Routes = PLAIN, **parameters: Any) -> str:
    return signature_of(find(name)().with_parameters(parameters), routes)


def test_the_parts_stand_in_order() -> None:
    """Metric, changed parameters by name, steps as they are asked, what divides texts, version."""
    made = signature("m", {"b": 2, "a": 1}, [("claims", "x"), ("support", "y")])
    assert made == f"m|a:1|b:2|claims:x|support:y{END}"


@pytest.mark.parametrize("library", ["sentencex", "snowballstemmer"])
def test_another_version_of_what_divides_texts_is_another_signature(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sentencex 1.0.20 and 1.0.32 find other sentences; a store must not answer for one with the other's replies."""
    question = Rate("support", (), YES_NO)
    made, maker = of("grounding"), EmbeddedJudge().maker(question)
    known = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.9" if name == library else known(name))
    for cached in (text_libraries, judge.divided_by):
        cached.cache_clear()
    try:
        assert f"{library}-0.9" in of("grounding")
        assert of("grounding") != made
        assert EmbeddedJudge().maker(question) != maker
    finally:
        text_libraries.cache_clear()
        judge.divided_by.cache_clear()


def test_a_library_without_its_metadata_is_unknown() -> None:
    assert version_of("no-such-library") == "unknown"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "yes"), (False, "no"), (0.5, "0.5"), ("a|b", "a/b"), (("a", "b"), "a,b"), ([1, True], "1,yes"), (3, "3"),
        (1.0, "1"), (0.1234567, "0.1234567"),
    ],
)  # fmt: skip
def test_values_are_shown_for_people(value: Any, shown: str) -> None:
    assert signature("m", {"p": value}, []) == f"m|p:{shown}{END}"


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_each_metric_names_its_steps_with_judge_and_prompt(name: str) -> None:
    made = of(name)
    assert made.startswith(f"{name}|")
    assert made.endswith(END)
    styles = {
        "nuggetize": "passages" if name == "nugget_recall" else "answer",  # a bank is written from passages
        "relevance": "answered" if name == "abstention" else "default",
        "support": "three_way" if name == "citations" else "default",
    }
    for task in find(name).asks:
        assert f"|{task}:openai/gpt-x+{prompts.load(task, styles.get(task, 'default')).id}" in made
    assert "\n" not in made


@pytest.mark.parametrize(
    "given",
    [
        {"threshold": 0.6, "scoring_mode": "binary_yes_no"},
        {"scoring_mode": "binary"},
        {"threshold": 0.9},
        {"enabled": False},
    ],
)
def test_what_does_not_change_the_number_is_not_in_it(given: dict[str, Any]) -> None:
    """A given default, another name of a mode, and what decides only what passes or whether it is asked."""
    assert of("grounding", **given) == of("grounding")


def test_what_changes_the_number_changes_the_signature() -> None:
    """Scale, policy, parts, prompt, model, temperature, judge, panel: each gives another one."""
    other = Routes(Route((build(parse("openai:gpt-y")),)), {})
    both = Routes(Route((build(parse("openai:gpt-x")), build(parse("openai:gpt-y")))), {})
    lowest = Routes(Route(both.default.judges, "min"), {})
    mixed = Routes(PLAIN.default, {"support": other.default})
    uneven = Routes(Route(both.default.judges, weights={"openai:gpt-x": 2.0}), {})
    made = [
        of("grounding"), of("grounding", scoring_mode="scale_1_5"), of("grounding", on_empty="zero"),
        of("grounding", part_tokens=50), of("grounding", max_claims=3), of("grounding", other),
        of("grounding", mixed), of("response_groundedness"), of("response_groundedness", temperature=0.3),
        of("response_groundedness", both), of("response_groundedness", lowest), of("response_groundedness", uneven),
        of("response_groundedness", two_prompts=True), of("response_groundedness", shortcuts=False),
    ]  # fmt: skip
    assert len(set(made)) == len(made)


def test_a_panel_is_in_brackets_with_its_aggregate() -> None:
    members = (ScriptedJudge({}, name="a"), ScriptedJudge({}, name="b", version="2"))
    made = of("response_groundedness", Routes(Route(members, "median"), {}))
    assert "|response_support:[a+script.v1,b+script.v2]median|" in made


def test_the_temperature_that_is_asked_with_is_in_it() -> None:
    """Response groundedness asks at 0.1 whatever the judge's own setting; claims are written at the judge's."""
    assert "#" in of("response_groundedness")
    assert ",t=0.1|" in of("response_groundedness")
    assert ",t=0|" in of("grounding")


def test_two_wordings_are_two_prompts() -> None:
    """Each with its own hash."""
    made = of("response_groundedness", two_prompts=True)
    assert "response_support.default.v3#" in made
    assert "response_support.second.v3#" in made
