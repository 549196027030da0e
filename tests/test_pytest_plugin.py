"""The pytest plugin as its users meet it: in projects of their own, with judges that agree, disagree and fail."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import ragstone
from ragstone import open_run
from ragstone.api import Prune, prune_cache
from ragstone.engine import calls as engine_calls
from ragstone.store.database import Store
from ragstone.testing import FakeServer

pytest_plugins = ["pytester"]

EXAMPLE = Path(__file__).parents[1] / "examples" / "pytest-project"
INSTALLED = any(point.name == "ragstone" for point in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "ragstone.pytest_plugin")
"""A checkout that was installed before it had the plugin does not name it as an entry point."""

HEAD = """
import pytest
from ragstone.testing import ScriptedJudge

KETTLE = dict(question="What is it made of?", contexts=["The kettle is made of steel and holds two litres."])
GOOD = "The kettle is made of steel."
BAD = "The kettle is made of steel. Purple elephants invented jazz in Lisbon."

def judge(*labels):
    return ScriptedJudge({"claims": [f"Claim {n}." for n in range(1, len(labels) + 1)], "support": list(labels)})
"""
FOUND = re.compile(r"\[(\w+) statement (\d+)\]\n(.*?)\n(?=\[\1)", re.DOTALL)

Project = Callable[..., pytest.RunResult]


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Runs a file of tests in a project of its own; every warning is an error there."""
    monkeypatch.delenv("RAGSTONE_STORE", raising=False)
    monkeypatch.delenv("RAGSTONE_CONFIG", raising=False)
    monkeypatch.setattr(engine_calls, "_backoff", lambda attempt: 0.01)

    def run(body: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=HEAD + body)
        return pytester.runpytest_inprocess(*PLUGIN, "-W", "error", "-p", "no:cacheprovider", *arguments)

    return run


def text(result: pytest.RunResult) -> str:
    return result.stdout.str()


def kept(pytester: pytest.Pytester, path: str = ".ragstone/ragstone.db") -> list[str]:
    """The names of the runs in the project's store."""
    with Store(pytester.path / path) as store:
        return [run.name for run in store.runs()]


def graded(request: dict[str, Any]) -> str:
    """A model's reply on support: a statement with elephants in it is not supported, any other is."""
    told = FOUND.findall(request["messages"][1]["content"])
    verdicts: dict[str, Any] = {
        number: {"evidence": [], "label": "0" if "elephants" in statement else "3"} for _, number, statement in told
    }
    return json.dumps({"verdicts": verdicts})


@pytest.fixture
def endpoint(pytester: pytest.Pytester) -> Iterator[FakeServer]:
    """A language model behind an endpoint, named ``model`` in the project's configuration."""
    with FakeServer(answer=graded) as server:
        (pytester.path / "ragstone.toml").write_text(
            f'[run]\njudge = "model"\n[judges.model]\nmodel = "m"\nbase_url = "{server.url}"\n'
            "price = { input = 10, output = 100 }\n"
        )
        yield server


# ---- passing and failing


def test_the_example_project_names_the_claim_that_was_not_found(pytester: pytest.Pytester) -> None:
    """Its good response passes; the other fails with the sentence that its passages do not hold."""
    for path in EXAMPLE.glob("*.py"):
        (pytester.path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    result = pytester.runpytest_inprocess(*PLUGIN, "-W", "error")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: grounding is 0.50, below 0.80: 1 of 2 claims not found",
            "E*not found: Finish with a tablet of citric acid from the pharmacy and let it dry overnight.",
            "E*why: not found: *citric*",
            "*= ragstone =*",
            "2 responses evaluated, judged by embedded",
            "  grounding  mean 75%  2 of 2 scored",
            "thresholds: 1 met, 1 not met",
            "calls: 4 answered by the embedded judge; no API calls; cost: free",
        ]
    )
    assert "\x1b" not in text(result)


def test_the_run_of_a_failing_test_is_kept_and_named(project: Project, pytester: pytest.Pytester) -> None:
    """What passes leaves no run behind, and the message says how to see what failed."""
    result = project(
        "def test_good(assert_scores): assert_scores(GOOD, groundedness=1, **KETTLE)\n"
        "def test_bad(assert_scores): assert_scores(BAD, groundedness=0.9, **KETTLE)\n"
    )
    result.assert_outcomes(passed=1, failed=1)
    assert kept(pytester) == ["test_it.py::test_bad"]
    number = re.search(r"details: ragstone show (\d+) test_bad\n", text(result))
    assert number is not None
    run = open_run(number[1], pytester.path / ".ragstone/ragstone.db")
    assert "elephants" in run["test_bad"]["response"]


@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="pytest 8 has no subtests")
def test_the_run_of_a_failing_subtest_is_kept(project: Project, pytester: pytest.Pytester) -> None:
    """Although the rest of the test passes; the number in the message is not given to the run of a later test."""
    result = project("""
def test_parts(assert_scores, subtests):
    for response in (GOOD, BAD):
        with subtests.test(response):
            assert_scores(response, groundedness=0.9, **KETTLE)

def test_later(assert_scores): assert_scores(BAD, groundedness=0.9, **KETTLE)
""")
    numbers = re.findall(r"details: ragstone show (\d+) (\w+)\n", text(result))
    assert numbers == [("2", "test_parts"), ("3", "test_later")]
    assert kept(pytester) == ["test_it.py::test_parts"] * 2 + ["test_it.py::test_later"]


def test_a_result_can_be_looked_into(project: Project) -> None:
    """``score`` gives the project's own result, which can be held to thresholds afterwards."""
    result = project("""
def test_result(ragstone, assert_scores):
    result = ragstone.score(question="Which?", response="One. Two.", contexts=["One."], metrics=["grounding"],
                            judge=judge("yes", "no"))
    assert result.score("grounding")["value"] == 0.5
    assert [context["text"] for context in result["contexts"]] == ["One."]
    assert assert_scores(result, grounding=0.5) is result
    with pytest.raises(AssertionError, match="not supported: Claim 2"):
        assert_scores(result, {"grounding": 0.51})
""")
    result.assert_outcomes(passed=1)


def test_marks_give_thresholds_fields_and_options(project: Project) -> None:
    """The test's own mark goes before that of its module, and what a call says before both."""
    result = project("""
pytestmark = [pytest.mark.ragstone(groundedness=0.9, judge="embedded"), pytest.mark.ragstone_record(**KETTLE)]

def test_module(assert_scores): assert_scores(GOOD)

@pytest.mark.ragstone(groundedness=0.4)
def test_own(assert_scores): assert_scores(BAD)

@pytest.mark.ragstone({"trace.adherence": 0.0})
def test_call(assert_scores): assert_scores(BAD, groundedness=0.4)

def test_missed(assert_scores): assert_scores(BAD)
""")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_missed*"])


def test_every_claim_is_named_with_its_evidence(project: Project) -> None:
    """Worst first, each with its reason and its quote; what is well is not repeated."""
    result = project(
        """
def said(question):
    if question.task == "claims":
        return ["Steel it is.", "It sings.", "It flies."]
    from ragstone.questions import Rated
    from ragstone.types import Quote, Span, Verdict
    quote = Quote("1", Span(0, 10), "The kettle", verbatim=True)
    nowhere = Quote("", None, "it can fly", verbatim=False)
    labels = [("yes", 1.0, ()), ("no", 0.0, (quote,)), ("no", 0.0, (nowhere,))]
    return Rated(tuple(Verdict(unit, label, value, "s", evidence=quotes, reason=f"about\\x1b[31m {unit.text}")
                       for unit, (label, value, quotes) in zip(question.units, labels)))

def test_claims(assert_scores): assert_scores(GOOD, grounding=0.8, judge=ScriptedJudge(said), **KETTLE)
""",
        "-q",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E*grounding is 0.33, below 0.80: 2 of 3 claims not supported",
            "E*not supported: It sings.",
            "E*why: about* It sings.",
            'E*passage 1: "The kettle"',
            "E*not supported: It flies.",
            'E*quote not found in the passages: "it can fly"',
        ],
        consecutive=False,
    )
    assert "Steel it is." not in "\n".join(line for line in result.outlines if line.startswith("E"))
    assert "\x1b" not in text(result)


def test_numbers_that_differ_look_different(project: Project) -> None:
    """0.6667 below 0.6668 is not told as 0.67 below 0.67; a threshold of two thirds is reached by two of three."""
    result = project("""
def test_near(assert_scores):
    assert_scores(GOOD, grounding=2 / 3, judge=judge("yes", "yes", "no"), **KETTLE)
    assert_scores(GOOD, grounding=0.6668, judge=judge("yes", "yes", "no"), **KETTLE)
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*grounding is 0.6667, below 0.6668: 1 of 3 claims not supported"])


def test_a_response_that_says_nothing_misses_its_threshold(project: Project) -> None:
    """There is nothing to judge: that is told, and is not the judge's fault; ``on_empty`` gives it a value."""
    result = project("""
def test_blank(assert_scores): assert_scores("  ", grounding=0.5, **KETTLE)
def test_without_claims(assert_scores): assert_scores("Hm.", grounding=0.5, judge=judge(), **KETTLE)
def test_allowed(assert_scores): assert_scores("Hm.", grounding=0.5, judge=judge(), on_empty="one", **KETTLE)
def test_not_needed(assert_scores): assert_scores("", context_relevance=0, **KETTLE)
""")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*grounding has no value to compare with 0.5 (empty): blank response",
            "*grounding has no value to compare with 0.5 (empty): *",
            "  grounding          mean    -  0 of 1 scored  1 empty, claims:embedded*",
            "  grounding          mean    -  0 of 1 scored  1 empty, claims:scripted*",
            "  grounding          mean 100%  1 of 1 scored  on_empty:one*",
            "thresholds: 2 met, 2 not met",
        ]
    )


# ---- judges that fail


def test_a_judge_that_fails_is_an_error(project: Project, pytester: pytest.Pytester) -> None:
    """Neither a pass nor a failure of the response, also where a failure is expected and for CI; the reason is told."""
    result = project(
        """
def broken():
    from ragstone.judges.base import Failed
    return ScriptedJudge(lambda question: Failed("the endpoint is on fire"))

def test_judge(assert_scores): assert_scores(GOOD, groundedness=0, judge=broken(), **KETTLE)

@pytest.mark.xfail
def test_expected(assert_scores): assert_scores(GOOD, groundedness=0.5, judge=broken(), **KETTLE)

def test_failure(assert_scores): assert_scores(GOOD, grounding=0.5, judge=judge("no"), **KETTLE)
""",
        "--junitxml=report.xml",
    )
    result.assert_outcomes(errors=2, failed=1)
    cases = ET.parse(pytester.path / "report.xml").getroot().iter("testcase")
    tags = {case.get("name"): [child.tag for child in case] for case in cases}
    assert tags == {"test_judge": ["error"], "test_expected": ["error"], "test_failure": ["failure"]}
    result.stdout.fnmatch_lines(["*JudgeError: groundedness could not be judged: *the endpoint is on fire*"])
    result.stdout.fnmatch_lines(["thresholds: 1 not met, 2 could not be decided"])
    assert text(result).count("FAILED") == 1


def test_what_is_unjudged_decides_nothing(project: Project) -> None:
    """A threshold inside what the value could be is an error; below or above it, it is held or missed all the same."""
    result = project(
        """
@pytest.mark.parametrize("least", [0.5, 0.6, 0.8])
def test_partial(assert_scores, least):
    assert_scores(GOOD, grounding=least, judge=judge("yes", "yes", "no", None), **KETTLE)
""",
        "-v",
    )
    result.assert_outcomes(passed=1, errors=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_partial[[]0.5] PASSED*",
            "*test_partial[[]0.6] ERROR*",
            "*test_partial[[]0.8] FAILED*",
            "E*grounding is between 0.50 and 0.75, so it is unclear whether it reaches 0.60: 1 of 4 unjudged*",
            "E*not supported: Claim 3.",
            "E*unjudged: Claim 4.",
            "E*grounding is 0.67, below 0.80: 1 of 4 claims not supported; *were good: 0.75",
            "  grounding  mean 67%  3 of 3 scored  could be 50-75%",
            "thresholds: 1 met, 1 not met, 1 could not be decided",
        ]
    )


def test_a_threshold_of_what_is_best_at_0_is_the_largest_value(project: Project) -> None:
    """As with check --max: below it the test passes; above it the units of the column's name are told."""
    result = project(
        """
@pytest.mark.parametrize(("most", "label"), [(0.25, "supported"), (0.25, "contradicted"), (0.25, None), (0.5, None)])
def test_most(assert_scores, most, label):
    labels = ["supported", "contradicted", "not_mentioned", label]
    mode = {"grounding": {"scoring_mode": "support_contradict"}}
    assert_scores(GOOD, {"grounding.contradicted": most}, judge=judge(*labels), parameters=mode, **KETTLE)
""",
        "-v",
    )
    result.assert_outcomes(passed=2, errors=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_most[[]0.25-contradicted[]] FAILED*",
            "*test_most[[]0.25-None[]] ERROR*",
            "E*grounding.contradicted is between 0.25 and 0.50, so it is unclear whether it exceeds 0.25: *",
            "E*grounding.contradicted is 0.50, above 0.25: 2 of 4 claims contradicted",
            "E*contradicted: Claim 2.",
            "E*contradicted: Claim 4.",
        ]
    )
    assert "Claim 3" not in text(result)


MISTAKES = {
    "assert_scores(GOOD, **KETTLE)": "no threshold; add one, as in assert_scores(grounding=0.8)",
    "assert_scores(GOOD, groundin=0.5, **KETTLE)": "not a score, field or option; did you mean 'grounding'?",
    "assert_scores(GOOD, context=[], grounding=0.5)": "not a score, field or option; did you mean 'contexts'?",
    "assert_scores(GOOD, xyzzy=1, **KETTLE)": "'xyzzy' is not a score, field or option; scores are ",
    "assert_scores(GOOD, grounding=True, **KETTLE)": "grounding = True; a threshold is a number from 0 to 1",
    "assert_scores(GOOD, grounding=80, **KETTLE)": "grounding = 80; a threshold is a number from 0 to 1",
    "assert_scores(GOOD, {'grounding.contradicted': 0}, **KETTLE)": "; evaluate with --set grounding.scoring_mode=",
    "assert_scores(GOOD, nugget_recall=0.5, **KETTLE)": "has several scores; specify one of them",
    "assert_scores(GOOD, grounding=0.5)": "grounding needs response and contexts; missing: contexts",
    "assert_scores(GOOD, grounding=0.5, judge='nobody:x', **KETTLE)": "nobody",
    "assert_scores(ragstone.score(GOOD, **KETTLE), grounding=1, judge='embedded')": "cannot change it",
    "assert_scores(ragstone.score(GOOD, **KETTLE), {'nugget_recall.all': 1})": "no score 'nugget_recall.all'",
    "assert_scores({'a': 1}, grounding=1, **KETTLE)": "field 'response'",
    "ragstone.score(GOOD, metrics='groundin', **KETTLE)": "did you mean 'grounding'?",
    "@pytest.mark.ragstone(0.8)": "0.8 has no name",
    "@pytest.mark.ragstone(groundin=0.8)": "did you mean 'grounding'",
    "@pytest.mark.ragstone_record(questions='?')": "no field 'questions'",
}


def test_what_cannot_be_meant_is_an_error_in_one_line(project: Project) -> None:
    """In a call or in a mark; of a call nothing of Ragstone's own code is shown."""
    tests = ""
    for number, said in enumerate(MISTAKES):
        mark, call = (f"{said}\n", "pass") if said[0] == "@" else ("", said)
        tests += f"{mark}def test_{number:02}(assert_scores, ragstone): {call}\n"
    result = project(tests)
    result.assert_outcomes(errors=len(MISTAKES))
    sections = re.split(r"_+ ERROR at \w+ of test_\d\d _+\n", text(result))[1:]
    for section, (said, told) in zip(sections, MISTAKES.items(), strict=True):
        assert told in section
        assert said[0] == "@" or "src/ragstone" not in section


def test_a_mark_that_nothing_reads_is_an_error(project: Project) -> None:
    """Thresholds that are never held against anything do not pass for a check."""
    result = project("""
@pytest.mark.ragstone(grounding=0.8)
def test_without(): pass

@pytest.mark.ragstone(grounding=0.8)
def test_never(assert_scores): pass

@pytest.mark.ragstone(grounding=0.8)
@pytest.mark.skip
def test_skipped(): pass

@pytest.mark.ragstone(grounding=0.8)
class TestMarked:
    def test_of_something_else(self): pass
    def test_by_hand(self, ragstone): pass
""")
    result.assert_outcomes(errors=2, skipped=1, passed=2)
    result.stdout.fnmatch_lines(["*uses neither of its fixtures*", "*(grounding), but assert_scores was never called"])


# ---- endpoints, the store, the configuration


def test_a_model_is_paid_once(project: Project, endpoint: FakeServer, pytester: pytest.Pytester) -> None:
    """The second session takes all replies from the store that the command line uses, also after pruning."""
    tests = (
        "def test_good(assert_scores): assert_scores(GOOD, groundedness=1, **KETTLE)\n"
        "def test_bad(assert_scores): assert_scores(BAD, groundedness=1, **KETTLE)\n"
    )
    first = project(tests)
    first.assert_outcomes(passed=1, failed=1)
    first.stdout.fnmatch_lines(["*not supported: Purple elephants invented jazz in Lisbon.", "calls: 2 sent; cost: $*"])
    assert prune_cache(Prune(unused=True), pytester.path / ".ragstone/ragstone.db").calls == 0
    again = project(tests, "--ragstone-offline")
    again.assert_outcomes(passed=1, failed=1)
    again.stdout.fnmatch_lines(["calls: 0 sent, 2 replayed from the store; cost: free (every reply was in the store)"])
    assert endpoint.count == 2
    assert (pytester.path / ".ragstone/ragstone.db").exists()


@pytest.mark.parametrize(
    ("knobs", "arguments", "told"),
    [
        ({"rate_500": 1.0, "faulty_attempts": 99}, (), ["*500*"]),
        ({"api_key": "secret"}, (), ["E*BackendError: *401*", "E*hint: *"]),
        ({}, ("--ragstone-offline",), ["*1 error*"]),
        ({}, ("-o", "ragstone_offline=true"), ["*1 error*"]),
    ],
    ids=["down", "wrong key", "offline without a reply", "offline by pytest.ini"],
)
def test_an_endpoint_that_does_not_answer_is_an_error(
    project: Project, endpoint: FakeServer, knobs: Any, arguments: tuple[str, ...], told: list[str]
) -> None:
    """The test could not be carried out: no page of HTTP code, a hint; ``--ragstone-offline`` sends nothing."""
    endpoint.configure(**knobs)
    result = project("def test_it(assert_scores): assert_scores(GOOD, groundedness=0.5, **KETTLE)\n", *arguments)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(told)
    assert len(result.outlines) < 40
    assert endpoint.count == 0


def test_who_judges(project: Project, endpoint: FakeServer, pytester: pytest.Pytester) -> None:
    """A test's own judge goes before the command line's, that before pytest's configuration, that before the file."""
    ask = "def test_it(assert_scores): assert_scores(GOOD, groundedness=0.5{}, **KETTLE)\n"
    judges = {}
    judges["file"] = text(project(ask.format("")))
    pytester.makeini("[pytest]\nragstone_judge = embedded\n")
    judges["ini"] = text(project(ask.format("")))
    judges["option"] = text(project(ask.format(""), "--ragstone-judge", "model"))
    judges["test"] = text(project(ask.format(", judge='embedded'"), "--ragstone-judge", "model"))
    found = {name: re.findall("judged by (.+)", said) for name, said in judges.items()}
    assert found == {"file": ["model"], "ini": ["embedded"], "option": ["model"], "test": ["embedded"]}


def test_where_the_store_is(project: Project, pytester: pytest.Pytester) -> None:
    """Relative to the root directory wherever a test has gone, to pytest.ini, or to where pytest was called."""
    ask = """
def test_it(assert_scores, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_scores(BAD, groundedness=1, **KETTLE)
"""
    project(ask)
    assert kept(pytester) == ["test_it.py::test_it"]
    pytester.makeini("[pytest]\nragstone_store = other/store.db\n")
    project(ask)
    assert kept(pytester, "other/store.db") == ["test_it.py::test_it"]
    result = project(ask, "--ragstone-store", "third.db")
    assert kept(pytester, "third.db") == ["test_it.py::test_it"]
    assert f"ragstone show 1 test_it --store {pytester.path / 'third.db'}" in text(result)


def test_two_stores_in_one_test(project: Project, pytester: pytest.Pytester) -> None:
    """Runs of the same number in two stores are kept apart, and let go of both."""
    ask = """
def test_it(ragstone, assert_scores):
    first = ragstone.score(GOOD, metrics="groundedness", store="a.db", **KETTLE)
    assert assert_scores(BAD, groundedness=0.4, store="b.db", **KETTLE).run == first.run
"""
    project(ask).assert_outcomes(passed=1)
    assert kept(pytester, "a.db") == kept(pytester, "b.db") == []
    result = project(ask + "    assert_scores(BAD, groundedness=0.6, store='b.db', **KETTLE)\n")
    assert "ragstone show 3 test_it --store b.db" in text(result)
    assert (len(kept(pytester, "a.db")), len(kept(pytester, "b.db"))) == (1, 2)


def test_another_configuration(project: Project, pytester: pytest.Pytester) -> None:
    (pytester.path / "other.toml").write_text('[run]\nstore = "elsewhere.db"\n')
    project(
        "def test_it(assert_scores): assert_scores(BAD, groundedness=1, **KETTLE)\n", "--ragstone-config=other.toml"
    )
    assert kept(pytester, "elsewhere.db") == ["test_it.py::test_it"]


def test_a_metric_that_is_switched_off_holds_nothing(project: Project, pytester: pytest.Pytester) -> None:
    (pytester.path / "ragstone.toml").write_text("[metrics.grounding]\nenabled = false\n")
    result = project("def test_it(assert_scores): assert_scores(GOOD, grounding=0.5, **KETTLE)\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E*grounding: disabled: *"])


# ---- where it runs


def test_inside_an_event_loop(project: Project) -> None:
    """A test that drives a loop of its own can weigh inside it."""
    result = project("""
import asyncio

def test_loop(ragstone, assert_scores):
    async def application():
        await asyncio.sleep(0)
        assert_scores(GOOD, groundedness=1, **KETTLE)
        with pytest.raises(AssertionError, match="elephants"):
            assert_scores(BAD, groundedness=1, **KETTLE)
        return asyncio.get_running_loop()
    assert asyncio.run(application()).is_closed()
""")
    result.assert_outcomes(passed=1)


def test_workers_of_xdist(pytester: pytest.Pytester, project: Project) -> None:
    """Their parts come together in one summary, and errors of judging stay errors."""
    pytest.importorskip("xdist")
    result = project(
        """
@pytest.mark.parametrize("n", range(3))
def test_good(assert_scores, n): assert_scores(f"{GOOD}{' ' * n}", groundedness=0.9, **KETTLE)
def test_bad(assert_scores): assert_scores(BAD, groundedness=0.9, **KETTLE)
def test_error(assert_scores): assert_scores(GOOD, groundedness=0.9, judge=judge(None), **KETTLE)
""",
        "-n",
        "2",
        "-q",
    )
    result.assert_outcomes(passed=3, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*= ragstone =*",
            "5 responses evaluated, judged by *",
            "  groundedness  mean 88%  4 of 4 scored  support:embedded*",
            "  groundedness  mean   -  0 of 1 scored  could be 0-100%, 1 judge_failed, support:scripted*",
            "thresholds: 3 met, 1 not met, 1 could not be decided",
        ]
    )
    assert sorted(kept(pytester)) == ["test_it.py::test_bad", "test_it.py::test_error"]


def test_who_does_not_use_it_does_not_notice_it(pytester: pytest.Pytester) -> None:
    """Neither the engine nor a library of Ragstone's is loaded, and nothing is said or written."""
    pytester.makepyfile("def test_nothing(): pass")
    pytester.makeconftest("""
import sys

def pytest_unconfigure():
    print("LOADED", sorted(name for name in sys.modules if name.startswith("ragstone")))
    print("HEAVY", {"aiohttp", "pydantic", "rich", "typer", "jinja2", "orjson", "sqlite3"} & set(sys.modules))
""")
    command = [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cov", "-p", "no:hypothesispytest", "-W", "error"]
    env = {**os.environ, "PYTHONPATH": str(Path(ragstone.__file__).parents[1])}
    done = subprocess.run(command, cwd=pytester.path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "LOADED ['ragstone', 'ragstone.pytest_plugin']" in done.stdout
    assert "HEAVY set()" in done.stdout
    assert "= ragstone =" not in done.stdout
    assert not (pytester.path / ".ragstone").exists()


def test_marks_and_options_are_told(pytester: pytest.Pytester) -> None:
    """``--markers`` and ``--help`` name what there is."""
    marks = text(pytester.runpytest_inprocess(*PLUGIN, "--markers"))
    assert "@pytest.mark.ragstone(" in marks
    assert "@pytest.mark.ragstone_record(" in marks
    told = text(pytester.runpytest_inprocess(*PLUGIN, "--help"))
    options = ("--ragstone-judge", "--ragstone-store", "--ragstone-config", "--ragstone-offline", "ragstone_judge")
    assert all(option in told for option in options)
