"""Haystack: a ``GeneratedAnswer`` (plain or by ``to_dict``), and what ``Pipeline.run`` returns, by component."""

from __future__ import annotations

from typing import Any

from ragstone.records.logged_texts import answered
from ragstone.records.mapping import Row

ANSWER = ("data", "query", "documents")
SETTINGS = "init_parameters"


def is_answer(row: Row) -> bool:
    """Return whether a row is an answer, or a pipeline's outputs with one."""
    return _answer(row) is not None or _replies(row) is not None


def record_row(row: Row) -> Row:
    """The row under canonical names; of a pipeline's outputs the answer, else the replies and the last documents."""
    answer = _answer(row)
    if answer is not None:
        rest = {} if SETTINGS in row else {name: value for name, value in row.items() if name not in ANSWER}
        rest |= {name: value for name, value in answer.items() if name not in ANSWER} if SETTINGS in row else {}
        given = {name: value for name, value in row.items() if name not in (SETTINGS, "type", *ANSWER)}
        meta = answer.get("meta")
        model = meta.get("model") if isinstance(meta, dict) else None
        found = {"question": answer["query"], "response": answer["data"], "contexts": answer["documents"]}
        return {**rest, **given, **found, **({"generator": model} if isinstance(model, str) else {})}
    parts = [value for value in row.values() if isinstance(value, dict)]
    shown = [part["documents"] for part in parts if isinstance(part.get("documents"), list)]
    meta = next((part["meta"] for part in parts if isinstance(part.get("meta"), list) and part["meta"]), [{}])
    model = meta[0].get("model") if isinstance(meta[0], dict) else None
    return {
        **{name: value for name, value in row.items() if not isinstance(value, dict)},
        "response": answered(_replies(row)),
        **({"contexts": shown[-1]} if shown else {}),
        **({"generator": model} if isinstance(model, str) else {}),
    }


def _answer(row: Row) -> Row | None:
    """The answer that a row is, or that one of its components gave."""
    inner: Any = row.get(SETTINGS, row)
    if isinstance(inner, dict) and all(name in inner for name in ANSWER) and isinstance(inner["documents"], list):
        return inner
    for part in row.values():
        answers = part.get("answers") if isinstance(part, dict) else None
        if isinstance(answers, list) and answers and isinstance(answers[0], dict):
            return _answer(answers[0])
    return None


def _replies(row: Row) -> list[Any] | None:
    found = [
        part["replies"] for part in row.values() if isinstance(part, dict) and isinstance(part.get("replies"), list)
    ]
    return found[-1] if found and found[-1] else None
