"""promptfoo results (``promptfoo eval -o results.json``): each test's variables, and the provider's output."""

from __future__ import annotations

from typing import Any

from ragstone.records.logged_texts import answered
from ragstone.records.mapping import Row
from ragstone.records.paths import MISSING, find

VARIABLES = ("vars", "testCase.vars")
OUTPUTS = ("response.output", "output")


def is_result(row: Row) -> bool:
    """Return whether a row is the result of one test."""
    return isinstance(_first(row, VARIABLES), dict) and ("response" in row or "error" in row) and "provider" in row


def record_row(row: Row) -> Row | str:
    """The variables as fields, with the output and the provider; the rest under ``promptfoo``."""
    said = _first(row, OUTPUTS)
    response = answered(said)
    if response is None:
        return "without an output"
    provider = row["provider"]
    model = provider.get("id") if isinstance(provider, dict) else provider
    place = {name: row[name] for name in ("promptIdx", "testIdx") if name in row}
    scores = {name: row[name] for name in ("success", "score", "namedScores") if name in row}
    meta = {**place, **scores}
    return {
        **_first(row, VARIABLES),
        "response": response,
        **({"generator": model} if isinstance(model, str) else {}),
        **({"id": row["id"]} if isinstance(row.get("id"), str) else {}),
        **({"promptfoo": meta} if meta else {}),
    }


def _first(row: Row, paths: tuple[str, ...]) -> Any:
    values = (find(row, path) for path in paths)
    return next((value for value in values if value is not MISSING and value is not None), None)
