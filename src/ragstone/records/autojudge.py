"""Read nugget banks of TREC AutoJudge (``format_version`` v3 and RAGTIME 2026): the questions and claims of a topic.

``nugget_bank`` holds questions with gold answers, ``claim_bank`` holds claims. Each is a list, or an object keyed by
text. The text of a nugget is the claim, or the question followed by its answers, joined by ``; ``. Sub-nuggets follow
their parent. Input is untrusted: a wrong type at any level raises an UnfitError that says where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ragstone.records.jsontext import kind
from ragstone.records.values import NUGGET_TEXTS, UnfitError, sources_of

QUESTIONS: Final = "nugget_bank"
CLAIMS: Final = "claim_bank"
VERSION: Final = "v3"
VERSIONS: Final = ("v1", "v2", VERSION, "RAGTIME26")
MARKS: Final = frozenset((CLAIMS, "format_version", "title_query", "query_id"))
"""Keys that mark a row with a ``nugget_bank`` as an AutoJudge bank."""

KEYS: Final = MARKS | {QUESTIONS}
STATEMENTS: Final = ("question", "claim", *NUGGET_TEXTS)
"""Keys that may hold the text of a nugget."""

NEGATED: Final = "nuggets: aggregator_type NOT is not supported; the nugget is read like any other"


class Parts(NamedTuple):
    """The two parts of a bank, exactly as in the row and not yet checked."""

    questions: Any
    claims: Any


def is_bank(row: dict[str, Any]) -> bool:
    """Return whether a row is an AutoJudge bank, judging by its keys or by its first nugget."""
    if QUESTIONS in row or CLAIMS in row:
        return not MARKS.isdisjoint(row) or _asks(row[QUESTIONS])
    return row.get("format_version") in VERSIONS and ("query_id" in row or "title_query" in row)  # an empty bank


def _asks(bank: Any) -> bool:
    items = bank.values() if isinstance(bank, dict) else bank if isinstance(bank, list) else ()
    first = next(iter(items), None)
    return isinstance(first, dict) and ("question" in first or "claim" in first)


def flat(parts: Parts, notes: list[str]) -> list[Any]:
    """Return both parts as one list of nuggets in the form of a record's nuggets, questions first."""
    found: list[Any] = []
    for field, bank in ((QUESTIONS, parts.questions), (CLAIMS, parts.claims)):
        try:
            found += _nuggets(bank, "", notes)
        except UnfitError as error:
            raise UnfitError(error.found, error.expected, field=field) from None
    return found


def _nuggets(bank: Any, above: str, notes: list[str]) -> Iterator[Any]:
    """Yield nuggets from a list or object, each followed by its sub-nuggets; ``above`` is the parent's number."""
    if bank is None:
        return
    if not isinstance(bank, dict | list):
        found = f"'sub_nuggets' of nugget {above.removesuffix('.')} is {kind(bank)}" if above else f"found {kind(bank)}"
        raise UnfitError(found, "expected a list of nuggets, or an object with their texts as keys")
    for number, item in enumerate(bank.values() if isinstance(bank, dict) else bank, 1):
        name = f"{above}{number}"
        if isinstance(item, str) and isinstance(bank, list):
            yield item
            continue
        if not isinstance(item, dict):
            raise UnfitError(f"nugget {name} is {kind(item)}", "expected an object with a question or a claim")
        yield _nugget(item, name, notes)
        yield from _nuggets(item.get("sub_nuggets"), f"{name}.", notes)


def _nugget(item: dict[str, Any], name: str, notes: list[str]) -> dict[str, Any]:
    key = next((key for key in STATEMENTS if item.get(key) is not None), None)
    if key is None:
        raise UnfitError(f"nugget {name} has neither a question nor a claim", "expected an object with one of them")
    if not isinstance(item[key], str):
        raise UnfitError(f"'{key}' of nugget {name} is {kind(item[key])}", "expected a string")
    importance = item.get("importance")
    if isinstance(importance, dict | list):
        raise UnfitError(f"'importance' of nugget {name} is {kind(importance)}", "expected vital, okay or nothing")
    if item.get("aggregator_type") == "NOT":
        notes.append(NEGATED)
    answers = _answers(item.get("answers"), name) if key == "question" else ()
    given = item.get("answers") if key == "question" else ()
    parts = given.values() if isinstance(given, dict) else given or ()
    sources = [source for part in (item, *parts) if isinstance(part, dict) for source in sources_of(part)]
    text = f"{item[key]} {'; '.join(answers)}" if answers else item[key]
    return {"text": text, "importance": importance, "assignment": item.get("assignment"), "docids": sources}


def _answers(answers: Any, name: str) -> list[str]:
    """Return the gold answers of a question in order, without duplicates and blank ones."""
    if answers is None:
        return []
    if not isinstance(answers, dict | list):
        raise UnfitError(
            f"'answers' of nugget {name} is {kind(answers)}",
            "expected a list of {answer: string}, or an object of these",
        )
    found: dict[str, None] = {}
    for number, item in enumerate(answers.values() if isinstance(answers, dict) else answers, 1):
        text = item.get("answer") if isinstance(item, dict) else item if isinstance(answers, list) else None
        if not isinstance(text, str):
            what = "an object without 'answer'" if isinstance(item, dict) else kind(item)
            raise UnfitError(f"answer {number} of nugget {name} is {what}", "expected {answer: string}")
        if text.strip():
            found[text.strip()] = None
    return list(found)
