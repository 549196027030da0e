"""How replies were read: counted once a call, by judge, step, style and format, and what the figures advise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.analysis.reply_formats import BEGINNING, FEWEST, FormatGroup, Formats, advice, how_read
from ragstone.analysis.run import Run
from ragstone.judges.base import Reply, reply_to_json
from ragstone.parsing import Status
from ragstone.store.database import CallRow, ResultRow, Store

STATUSES = (*get_args(Status), "cut_off", "withheld")


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(":memory:") as opened:
        yield opened


def call(key: int, status: str = "ok", read: int = 4, asked: int = 4, **more: Any) -> Any:
    """A call as a result has it; ``more`` may change either the call or its reading."""
    reading = {
        "style": "no_reasoning",
        "format": "json",
        "reader": "json",
        "status": status,
        "read": read,
        "asked": asked,
    }
    reading |= {name: value for name, value in more.items() if name in {*reading, "repair", "problem"}}
    known = {
        "key": key.to_bytes(16).hex(), "judge": "openai/m", "step": "support", "maker": "support#1",
        "input_tokens": 100, "output_tokens": 10, "dollars": 0.25, "finish": "stop", "reading": reading,
    }  # fmt: skip
    return {**known, **{name: value for name, value in more.items() if name in {*known, "error"}}}


def run_of(
    store: Store, *results: Sequence[Mapping[str, Any]], replies: Mapping[int, str] | None = None, **documents: Any
) -> Run:
    """A run whose results have these calls; ``replies`` are kept under the calls' keys."""
    number = store.start_run("a.jsonl", {})
    rows = [
        ResultRow(n, f"r{n}", orjson.dumps({"id": f"r{n}", "scores": [], "calls": calls, **documents}))
        for n, calls in enumerate(results, 1)
    ]
    rows.append(ResultRow(len(rows) + 1, "bad", orjson.dumps({"id": "bad", "set_aside": "no object", "scores": []})))
    calls = [
        CallRow(key.to_bytes(16), "openai/m", "support", "support#1", b"{}", reply_to_json(Reply(text)))
        for key, text in (replies or {}).items()
    ]
    store.begin()
    store.insert(calls, [(number, row, ()) for row in rows])
    store.commit()
    kept = store.run(number)
    assert kept is not None
    return Run(store, kept)


def only(run: Run, most: int = 3) -> Any:
    (found,) = how_read(run, most)["groups"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("results", "said"), [
    # Two records that asked the same thing stand on one call.
    ([[call(1), call(2)], [call(1)], []], {"calls": 2, "whole": 2, "asked": 8}),
    # Shares are of calls and of entries; a reader counts where anything was read by it.
    ([[call(1), call(2, reader="numbered"), call(3, "truncation", 3), call(4, "count_mismatch", 0)],
      [call(5, "format_error", 0, reader="")]],
     {"whole_share": 0.4, "read_share": 0.55, "readers": {"json": 2, "numbered": 1}, "unjudged": 9,
      "problems": {"truncation": 1, "count_mismatch": 1, "format_error": 1}}),
    # Repairs are told apart from first askings: how many, what they gave, tokens, dollars.
    ([[call(1, "truncation", 1), call(2, repair=True, read=3, asked=3)],
      [call(3, "format_error", 0), call(4, "truncation", 2, 4, repair=True)]],
     {"calls": 2, "whole": 0, "unjudged": 2, "repairs": {
         "calls": 2, "input_tokens": 200, "output_tokens": 20, "cached_tokens": 0, "reasoning_tokens": 0,
         "unmetered_calls": 0, "dollars": 0.5, "mended": 1, "regained": 5,
     }}),
])  # fmt: skip
def test_calls_are_counted_once_and_repairs_apart(store: Store, results: list[list[Any]], said: dict[str, Any]) -> None:
    found = only(run_of(store, *results))
    assert {name: found[name] for name in said} == said


def test_one_unknown_price_makes_the_cost_unknown(store: Store) -> None:
    """Unknown, never 0."""
    first, second = call(1, repair=True), call(2, repair=True, dollars=None, input_tokens=None, output_tokens=None)
    repairs = only(run_of(store, [first, second]))["repairs"]
    assert (repairs["dollars"], repairs["unmetered_calls"], repairs["input_tokens"]) == (None, 1, 100)


def test_groups_are_by_judge_step_style_and_format(store: Store) -> None:
    """In that order."""
    calls = [
        call(1, format="yaml"), call(2), call(3, style="short_cot"), call(4, step="assign"), call(5, judge="a/b"),
        call(6),
    ]  # fmt: skip
    found = how_read(run_of(store, calls))
    assert [(g["judge"], g["step"], g["style"], g["format"], g["calls"]) for g in found["groups"]] == [
        ("a/b", "support", "no_reasoning", "json", 1),
        ("openai/m", "assign", "no_reasoning", "json", 1),
        ("openai/m", "support", "no_reasoning", "json", 2),
        ("openai/m", "support", "no_reasoning", "yaml", 1),
        ("openai/m", "support", "short_cot", "json", 1),
    ]
    assert found["calls"] == 6


def test_what_has_no_reading_is_counted_apart(store: Store) -> None:
    """Calls that failed have no reply; those of the embedded judge, and of earlier versions, tell no reading."""
    plain = {name: value for name, value in call(1).items() if name != "reading"}
    embedded = {**plain, "key": "02" * 16, "judge": "embedded"}
    failed = {**plain, "key": "03" * 16, "error": "HTTP 500"}
    found = how_read(run_of(store, [plain, embedded, failed], [failed]))
    assert (found["calls"], found["groups"], found["failed"]) == (0, [], 1)
    assert found["untold"] == {"embedded": 1, "openai/m": 1}


# ---- samples


def test_samples_are_of_each_kind_before_a_second_of_one(store: Store) -> None:
    """With the record, the problem, and the beginning of the reply as it came."""
    long = "I\x1b[31m would rather not. " * 100
    calls = [call(n, "format_error", 0, problem="no labels") for n in range(1, 5)]
    run = run_of(store, [*calls, call(5), call(9, "cut_off", 0)], replies={1: long, 9: "{", 5: "fine"})
    first, second, third = only(run)["samples"]
    assert first == {
        "key": calls[0]["key"], "record": "r1", "status": "format_error", "repair": False, "problem": "no labels",
        "reply": long[:BEGINNING], "characters": len(long),
    }  # fmt: skip
    assert (second["status"], second["reply"]) == ("cut_off", "{")
    assert (third["status"], third["reply"], third["characters"]) == ("format_error", None, None)
    assert only(run, 0)["samples"] == []
    assert len(only(run, 10)["samples"]) == 5
    run = run_of(store, [call(1, "format_error", 0, repair=True), call(2, "format_error", 0)])
    for most, repairs in ((1, [False]), (2, [False, True])):
        assert [sample["repair"] for sample in only(run, most)["samples"]] == repairs, "a first asking comes first"


readings = st.builds(
    lambda key, status, read, repair, step: call(
        key, status, 4 if status == "ok" else read, repair=repair, step=step, reader="json" if read else ""
    ),
    st.integers(1, 60),
    st.sampled_from(STATUSES),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from(["support", "assign"]),
)


@given(st.lists(readings, max_size=60), st.integers(0, 4))
def test_the_parts_add_up(calls: list[Any], most: int) -> None:
    """Whole and problems are all calls, shares are shares, nothing is less than none, samples are few and bad."""
    found = Formats()
    for one in calls:
        found.add("r", one, most)
    groups = list(found.groups.values())
    assert sum(group.calls + group.repairs.calls for group in groups) == len(calls)
    for group in groups:
        assert group.whole + group.problems.total() == group.calls
        assert group.readers.total() <= group.calls
        assert 0 <= group.mended <= group.repairs.calls
        assert 0 <= group.unjudged <= group.asked
        samples = group.samples(most)
        assert len(samples) <= most
        assert all(sample.status != "ok" for sample in samples)
        assert sum(len(kept) for kept in group.seen.values()) <= 2 * most * len(STATUSES)


# ---- advice


def counted(step: str, style: str, form: str, bad: int, status: str = "format_error", calls: int = 20) -> FormatGroup:
    made = FormatGroup("openai/m", step, style, form)
    for number in range(calls):
        found, read = (status, 0) if number < bad else ("ok", 4)
        made.add("r", call(number, found, read, style=style, format=form, step=step), 3)
    return made


@pytest.mark.parametrize(
    ("step", "style", "form", "status", "said"),
    [
        ("support", "no_reasoning", "yaml", "format_error", "--format keyed"),
        ("support", "short_cot.ru", "adaptive", "count_mismatch", "--format keyed"),
        ("support", "short_cot", "keyed", "truncation", "--prompt support=no_reasoning"),
        ("assign", "long_cot.ru", "keyed", "unknown_label", "--prompt assign=no_reasoning.ru"),
        ("support", "default", "object", "format_error", "--prompt support=no_reasoning"),
        ("response_support", "no_reasoning_second", "keyed", "format_error", "--judge response_support=NAME"),
        ("claims", "default", "object", "format_error", "--judge claims=NAME"),
        ("support", "my_own", "json", "format_error", "--prompt support=no_reasoning"),
        ("support", "no_reasoning", "json", "cut_off", "max_tokens"),
        ("support", "no_reasoning", "json", "withheld", "content filter"),
    ],
)
def test_advice_is_what_there_is_to_try(step: str, style: str, form: str, status: str, said: str) -> None:
    """A format that names its units, then labels alone, then another model; what a prompt cannot mend is told so."""
    assert said in advice(counted(step, style, form, 10, status))


def test_no_advice_without_ground() -> None:
    """Where nearly all is read whole, or where there are too few calls to say."""
    assert advice(counted("support", "no_reasoning", "yaml", 1)) == ""
    assert advice(counted("support", "no_reasoning", "yaml", 2)) != ""
    assert advice(counted("support", "no_reasoning", "yaml", FEWEST - 1, calls=FEWEST - 1)) == ""
    assert advice(counted("support", "no_reasoning", "yaml", FEWEST, calls=FEWEST)) != ""


@pytest.mark.parametrize("step", ["support", "assign", "relevance", "importance", "response_support"])
def test_what_is_advised_exists(step: str) -> None:
    """A style that is named is one of the step's."""
    from ragstone import prompts
    from ragstone.prompts.choice import parse_styles

    said = advice(counted(step, "default", "object", 10))
    _, styles = parse_styles([said.partition(" ")[2].partition(" (")[0]])
    assert "keyed" in prompts.load(step, styles[step]).formats
