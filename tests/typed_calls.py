"""What type checkers and editors know of the functions that a program calls: checked by mypy, never run.

A line that mypy should refuse says so; strict mypy complains where it does not.
"""

from __future__ import annotations

from typing import assert_type

from ragstone import CheckResult, Comparison, Estimate, Run, aevaluate, check, compare, estimate, evaluate, validate
from ragstone.records import Survey


def results() -> None:
    """The options have names, and the results types."""
    assert_type(evaluate("a.jsonl", "triad", on_error="skip", max_cost=2, out="o", parameters=None), Run)
    assert_type(estimate("a.jsonl", metrics=["triad"], judge="embedded", repeat=3), Estimate)
    assert_type(validate("a.jsonl", fields={"question": "q"}), tuple[Survey, dict[str, int]])
    assert_type(compare("1", 2, by="topic"), Comparison)
    assert_type(check("last", min={"grounding": 0.8}, undecided="fail"), CheckResult)


async def service() -> None:
    """As in a web service."""
    assert_type(await aevaluate([{}], repeat=3), Run)


async def mistakes() -> None:
    """A wrong name or value is an error, of each function."""
    evaluate("a.jsonl", on_eror="skip")  # type: ignore[call-arg]
    evaluate("a.jsonl", on_error="ignore")  # type: ignore[arg-type]
    await aevaluate("a.jsonl", refresh="yes")  # type: ignore[arg-type]
    estimate("a.jsonl", max_calls="many")  # type: ignore[arg-type]
    validate("a.jsonl", field={})  # type: ignore[call-arg]
    compare("1", "2", moved="x")  # type: ignore[arg-type]
    check("last", undecided="maybe")  # type: ignore[arg-type]
