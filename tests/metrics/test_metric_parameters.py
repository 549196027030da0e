"""Metrics by name, and their parameters: what is known, what is refused, and in which words."""

from __future__ import annotations

import math
from typing import Any

import pytest
from material import columns, record

from ragstone import metrics
from ragstone.errors import ConfigError
from ragstone.metrics import blocks, catalogue, elsewhere_said, find, groups, suites
from ragstone.metrics.words import GROUPS
from ragstone.questions import TASKS

EVERY = pytest.mark.parametrize("name", sorted(catalogue()))


def refusal(name: str, parameters: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        find(name)().with_parameters(parameters)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_module_with_a_metric_is_found() -> None:
    """The catalogue is sorted by name, and each name finds its metric."""
    assert list(catalogue()) == sorted(catalogue())
    assert {"grounding", "claim_relevance", "response_groundedness", "groundedness"} <= set(catalogue())
    assert {"context_relevance", "answer_relevance"} <= set(catalogue())
    assert all(find(name) is kind and kind.name == name for name, kind in catalogue().items())


def test_suites_blocks_and_other_names() -> None:
    """Suites hold their metrics; every name is its own block, and ``relevance`` is accepted for claim relevance."""
    assert suites()["triad"] == ("answer_relevance", "context_relevance", "groundedness")
    assert suites()["claims"] == ("claim_relevance", "grounding", "response_groundedness")
    assert suites()["all"] == tuple(catalogue())
    assert blocks()["relevance"] == "claim_relevance"
    assert find("relevance") is find("claim_relevance")
    assert all(blocks()[name] == name for name in catalogue())
    assert elsewhere_said(find("grounding")) == "faithfulness (ragas, deepeval, LlamaIndex), hallucination (Phoenix)"
    assert elsewhere_said(find("nugget_relevance")) == ""


def test_metrics_are_listed_by_what_a_user_asks() -> None:
    """Every metric is in one group, in the order of the questions, and the groups that have none are left out."""
    found = groups()
    first = found["Is the response true to the passages?"]
    assert [metric.name for metric in first][:2] == ["grounding", "groundedness"]
    assert list(found) == [group for group in GROUPS if group in found]
    assert sorted(metric.name for members in found.values() for metric in members) == sorted(catalogue())


def test_an_unknown_metric_is_refused_with_the_closest() -> None:
    with pytest.raises(ConfigError, match=r"no metric 'groundin'; did you mean 'grounding'\?$"):
        find("groundin")
    with pytest.raises(ConfigError, match="no metric 'zzz'; metrics: abstention, ") as error:
        find("zzz")
    assert "suites: auto, abstention, all" in str(error.value)
    with pytest.raises(ConfigError, match=r"'trace.adherence'; it is a column of the metric trace; use -m trace$"):
        find("trace.adherence")
    with pytest.raises(ConfigError, match=r"no metric 'trace.adherense'; did you mean 'trace'\?$"):
        find("trace.adherense")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "faithfulness",
            "Ragstone's metric for this is grounding (share of the response's claims that the passages support)",
        ),
        ("Hallucination", "grounding (its opposite: "),
        ("correctness", "answer_correctness (F1 over claims, comparing the response with the reference)"),
        ("contextual_recall", "context_recall (share of the reference's claims that the passages support)"),
        (
            "relevancy",
            "(how well the response answers the question, whether or not it is true) or context_relevance",
        ),
        (
            "answer relevancy",
            "(how well the response answers the question, whether or not it is true) or claim_",
        ),
        ("completeness", "trace (in its column trace.completeness)"),
    ],
)
def test_the_name_of_another_tool_is_told_what_it_is_here(name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find(name)
    assert said in str(caught.value)


@EVERY
def test_each_metric_says_what_it_is(name: str) -> None:
    """A title of one line, needs that are fields of a record, tasks that exist, calls if it has any, some suite."""
    kind = find(name)
    assert kind.title
    assert "\n" not in kind.title
    assert set(kind.needs) <= {"question", "response", "contexts", "reference", "nuggets"}
    assert set(kind.asks) <= set(TASKS)
    assert kind.suites
    assert (kind.calls >= 1) == bool(kind.asks)
    parameters = kind().parameters()
    assert {*kind.fixed, "enabled", "on_empty", "threshold"} <= set(parameters)
    assert list(parameters) == sorted(parameters)
    metric = kind()
    assert metric.with_parameters({}) is metric
    assert metric.changed() == {}


@EVERY
@pytest.mark.parametrize(
    ("parameter", "values", "expected"),
    [
        ("treshold", (0.5,), "; did you mean 'threshold'?"),
        ("zzz", (0.5,), "threshold"),
        ("on_empty", ("nul", None, 0, True, ["null"], [{}], {"a": 1}), "expected null, zero or one"),
        ("enabled", ("true", 1, 0, None, []), "; expected true or false"),
        ("threshold", (-0.01, 1.01, "0.5", True, math.nan, math.inf, [0.5], {"a": 1}), "expected a number from 0 to 1"),
    ],
)
def test_what_no_metric_can_mean_is_refused_by_name(
    name: str, parameter: str, values: tuple[Any, ...], expected: str
) -> None:
    """Whatever a record brings in its place is refused in words, a list or an object too."""
    for value in values:
        message = refusal(name, {parameter: value})
        if parameter in ("treshold", "zzz"):
            assert message.startswith(f"{name}: no parameter '{parameter}'; ")
            assert expected in message
        else:
            assert message.startswith(f"{name}.{parameter}: ")
            assert message.endswith(expected)
        if parameter == "enabled":
            assert f"enabled: invalid value {tuple(value) if isinstance(value, list) else value!r};" in message


OF_CLAIMS = ("grounding", "claim_relevance")
MODES = "binary_yes_no (or binary, yes_no), or scale_1_5 (or likert)"
NO_MODES: tuple[Any, ...] = ("scale_1_10", "", "Binary", None, 1, ["binary"], [{}], {"a": 1})
NUMBER = "two numbers above 0, for vital and okay nuggets, as in [2, 1]"
REFUSED: dict[tuple[tuple[str, ...], str, str], tuple[Any, ...]] = {
    (("claim_relevance",), "scoring_mode", MODES): (*NO_MODES, "support_contradict"),
    (("grounding",), "scoring_mode", f"{MODES}, or support_contradict"): NO_MODES,
    (OF_CLAIMS, "max_claims", "a whole number of at least 0"): (-1, 1.5, True, "9", "all"),
    (OF_CLAIMS, "part_tokens", "a whole number of at least 10"): (9, None),
    (OF_CLAIMS, "batch", "a whole number of at least 0, or all"): (-1, "half"),
    (OF_CLAIMS, "include_reasoning", "true or false"): (1, "yes"),
    (("response_groundedness",), "min_words", "a whole number of at least 1"): (0, 2.0, True),
    (("response_groundedness",), "temperature", "a number from 0 to 2"): (-0.1, 2.1, True, "hot"),
    (("response_groundedness",), "shortcuts", "true or false"): (1,),
    (("response_groundedness",), "two_prompts", "true or false"): ("no",),
    (("response_groundedness",), "reasons", "true or false"): (None,),
    (("response_groundedness",), "aggregate", "mean, median, min, max or majority"): ("mode", ["mean"]),
    (("response_groundedness",), "judges", "a list of judges' names"): ("a,b", [1], 3),
    (("nugget_recall",), "grades", "3 or 2"): (4, True),
    (("nugget_recall",), "window", "a whole number of at least 1"): (0,),
    (("nugget_recall",), "keep", "a whole number of at least 0"): (-1,),
    (("nugget_recall",), "max_nuggets", "a whole number of at least 1"): ("9",),
    (("nugget_recall",), "min_judgment", "a number"): ("x", math.nan, math.inf, True, "2"),
    (("nugget_relevance",), "weights", NUMBER): (
        [2], [0, 1], [2, -1], ["2", 1], 3, {"vital": 2}, [True, 1], None, [math.nan, 1],
    ),
    (("trace",), "normaliser", "a whole number of at least 1"): (0, 1.5, True),
    (("trace",), "length", "sentences, characters or tokens"): ("words", ["tokens"]),
    (("groundedness",), "scoring_mode", "scale_0_3 or support_contradict"): ("likert",),
    (("refalign",), "model", "a folder, or ORG/MODEL on the hub"): ("", None, 3),
}  # fmt: skip
"""Values that mean nothing, by metrics, parameter, and what is expected in their place."""


@pytest.mark.parametrize(
    ("name", "parameter", "value", "expected"),
    [(name, parameter, value, expected)
     for (names, parameter, expected), values in REFUSED.items() for name in names for value in values],
)  # fmt: skip
def test_a_value_that_means_nothing_is_refused_by_name(name: str, parameter: str, value: Any, expected: str) -> None:
    message = refusal(name, {parameter: value})
    assert message.startswith(f"{name}.{parameter}: invalid value ")
    assert message.endswith(f"; expected {expected}")


CLAIMS = pytest.mark.parametrize("name", OF_CLAIMS)


@pytest.mark.parametrize("name", ["claim_relevance", "groundedness", "grounding", "nugget_groundedness",
                                  "nugget_recall", "nugget_relevance"])  # fmt: skip
def test_the_batch_that_is_wanted_is_asked_for(name: str) -> None:
    """With the last question, the one whose verdicts make the score; unless set, it is the judge's own."""
    script = {"claims": ["A."], "nuggetize": ["A."], "importance": "vital", "support": "1", "relevance": "1",
              "assign": "support"}  # fmt: skip
    for wanted in (0, 25, "all"):
        _, asked = columns(find(name)().with_parameters({"batch": wanted}), record(), script)
        assert asked[-1].batch == wanted


@CLAIMS
def test_a_claim_metric_has_a_threshold(name: str) -> None:
    """0.6 by default; without one no claim could be accepted or rejected."""
    assert find(name)().threshold == 0.6
    assert "threshold" in refusal(name, {"threshold": None})


@pytest.mark.parametrize(("parameter", "value"), [("judges", ["a", "b"]), ("aggregate", "min")])
def test_a_record_cannot_change_what_holds_for_a_run(parameter: str, value: Any) -> None:
    """The panel of a run is no record's business; for the whole run it can be set."""
    metric = find("response_groundedness")()
    with pytest.raises(ConfigError, match=rf"response_groundedness\.{parameter} applies to the whole run"):
        metric.overridden({parameter: value})
    assert metric.with_parameters({parameter: value}).changed() != {}


@EVERY
def test_a_record_can_change_the_rest(name: str) -> None:
    metric = find(name)().overridden({"threshold": 0.25, "enabled": False, "on_empty": "zero"})
    assert metric.changed() == {"enabled": False, "on_empty": "zero", "threshold": 0.25}


def test_lists_from_files_become_tuples() -> None:
    """A metric is a value: what JSON brings as a list is kept as a tuple."""
    metric = find("response_groundedness")().with_parameters({"judges": ["a", "b"]})
    assert metric.parameters()["judges"] == ("a", "b")


def test_the_catalogue_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        metrics.catalogue()["x"] = find("grounding")  # type: ignore[index]
