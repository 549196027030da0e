"""Build the rows of a page's table: each record with its scores and the fields to group by.

Guarantees: a record takes a few hundred bytes whatever its texts are. Values are rounded to four decimals. A field is
offered for grouping only if it forms groups, and no more than can be drawn.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, field

from ragstone.analysis.counts import OTHER, kind_of_cause
from ragstone.analysis.scored import group_name
from ragstone.analysis.verdicts import with_verdicts
from ragstone.metrics import of_score
from ragstone.render.text import flat
from ragstone.render.wording import ORDER, kind_of

STATUSES: Final = ("scored", "partial", "empty", "missing_field", "judge_failed", "disabled")
"""The statuses of scores; rows refer to them by their index in this list."""
APART: Final = 1 << len(ORDER)
"""The bit for a score with a verdict on which the judges of a panel disagree."""
BEGINNING: Final = 140
"""Maximum length, in characters, of a question or response in the table; searched until whole texts are loaded."""
LONGEST_ID: Final = 200
"""Maximum length, in characters, of an id in the table; the record's page shows the whole id."""
MOST_GROUPS: Final = 60
"""Maximum number of distinct values of a field for grouping."""
MOST_FIELDS: Final = 24
"""Maximum number of fields offered for grouping."""
LONGEST_GROUP: Final = 80
"""Maximum length, in characters, of a value used as the name of a group."""


class PageRow(Struct, frozen=True):
    """One record of the table; ``scores`` has, by metric, a value (or None) and an index into ``STATUSES``.

    ``verdicts`` has, by metric, a bit for each kind in ``wording.ORDER``, and ``APART`` if judges disagree; ``reasons``
    why scores are missing or partial.
    """

    position: int
    id: str
    question: str
    response: str | None
    scores: Mapping[str, tuple[float | None, int]]
    fields: Mapping[str, str]
    set_aside: bool = False
    verdicts: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)


def row_of(result: Mapping[str, Any]) -> PageRow:
    """Return the row of a result; an unreadable record has the reason as its response."""
    told = result.get("set_aside") or result.get("response")
    return PageRow(
        position=result["position"],
        id=beginning(result["id"], LONGEST_ID),
        question=beginning(result.get("question")),
        response=None if told is None else beginning(told),
        scores={
            score["metric"]: (
                None if score["value"] is None else round(score["value"], 4),
                STATUSES.index(score["status"]),
            )
            for score in result["scores"]
        },
        verdicts={score["metric"]: bits for score in result["scores"] if (bits := _kinds(result, score))},
        reasons={
            score["metric"]: flat(kind_of_cause(score["reason"]))
            for score in result["scores"]
            if score["status"] != "scored" and score["reason"]
        },
        fields=dict(fields_of(result.get("meta", {}))),
        set_aside="set_aside" in result,
    )


def _kinds(result: Mapping[str, Any], score: Mapping[str, Any]) -> int:
    """Return the kinds of a score's verdicts; if another holds them, of its own part, unless one stands for a table."""
    own = not score.get("verdicts_in") or of_score(score["metric"]).table
    bits = 0
    for verdict in (score if own else with_verdicts(result, score))["verdicts"]:
        bits |= 1 << ORDER.index(kind_of(verdict))
        members = verdict.get("members")
        if members and len({member["label"] for member in members} - {None}) > 1:
            bits |= APART
    return bits


def fields_of(meta: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield the fields to group a record by: short values of ``meta`` and of the objects in it, with their names."""
    for name, value in meta.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", text) for inner, one in value.items() if (text := _group(one)) is not None)
        elif (text := _group(value)) is not None:
            yield str(name), text


def _group(value: Any) -> str | None:
    return group_name(value) if isinstance(value, str | int) and 0 < len(str(value)) <= LONGEST_GROUP else None


class RowCounts:
    """Data collected in one pass over results: the fields that group them, ``metric`` in each group, and replies.

    ``replies`` is the number of language-model replies, ``unread`` the number of those not parsed in full.
    Memory use is 8 bytes per record, plus 8 for each of its fields that may form groups.
    """

    def __init__(self, metric: str = "") -> None:
        self.replies = self.unread = 0
        self._metric = metric
        self._all = array("d")
        self._values: dict[str, dict[str, array[float]]] = {}
        self._dropped: set[str] = set()

    def __len__(self) -> int:
        return len(self._all)

    def rows(self, results: Iterable[Mapping[str, Any]]) -> Iterator[PageRow]:
        """Yield the row of each result after counting it."""
        for result in results:
            row = row_of(result)
            self.add(row)
            read = [call["reading"]["status"] == "ok" for call in result.get("calls", ()) if "reading" in call]
            self.replies += len(read)
            self.unread += read.count(False)
            yield row

    def add(self, row: PageRow) -> None:
        """Record the fields and the value of one record."""
        value = row.scores.get(self._metric, (None, 0))[0]
        number = math.nan if value is None else value
        self._all.append(number)
        for name, text in row.fields.items():
            if name in self._dropped:
                continue
            values = self._values.setdefault(name, {})
            values.setdefault(text, array("d")).append(number)
            if len(values) > MOST_GROUPS:
                del self._values[name]
                self._dropped.add(name)

    @property
    def names(self) -> list[str]:
        """Fields with at least two groups of two or more records, and at least two records per group on average.

        Fields that leave out fewer records come first, then those with more groups.
        """
        told = {
            name: (-records, -len(values))
            for name, values in self._values.items()
            if len(values) <= (records := sum(map(len, values.values()))) / 2
            and sum(len(group) > 1 for group in values.values()) > 1
        }
        return sorted(told, key=lambda name: (told[name], name))[:MOST_FIELDS]

    @property
    def others(self) -> list[str]:
        """Fields of the records that form no groups."""
        return sorted({*self._values, *self._dropped} - {*self.names})[:MOST_FIELDS]

    def values(self, field: str = "") -> dict[str, list[float]]:
        """Return the values of the records in each group of a field, or of all records; missing values are left out."""
        found = self._values[field] if field else {"": self._all}
        return {text: [value for value in values if not math.isnan(value)] for text, values in found.items()}


def block_of(
    rows: Sequence[PageRow], metrics: Sequence[str], fields: Sequence[str], causes: Sequence[str]
) -> dict[str, Any]:
    """Return rows as columns, which take the least space; a score that a record lacks is None with status -1."""
    none = (None, -1)
    return {
        "position": [row.position for row in rows],
        "id": [row.id for row in rows],
        "question": [row.question for row in rows],
        "response": [row.response for row in rows],
        "set_aside": [number for number, row in enumerate(rows) if row.set_aside],
        "values": {name: [row.scores.get(name, none)[0] for row in rows] for name in metrics},
        "statuses": {name: [row.scores.get(name, none)[1] for row in rows] for name in metrics},
        **judged_of(rows, fields, causes),
    }


def judged_of(rows: Sequence[PageRow], fields: Sequence[str], causes: Sequence[str]) -> dict[str, Any]:
    """Return the columns of verdict kinds, for scores that have verdicts, of fields, and of reasons.

    A reason is its place in ``causes``, from 1; 0 for none.
    """
    judged = dict.fromkeys(name for row in rows for name in row.verdicts)
    missing = dict.fromkeys(name for row in rows for name in row.reasons)
    places = {kind_of_cause(reason): place for place, reason in reversed([*enumerate(causes, 1)])}
    other = places.get(OTHER, 0)
    return {
        "reasons": {
            name: [places.get(row.reasons[name], other) if name in row.reasons else 0 for row in rows]
            for name in missing
        },
        "verdicts": {name: [row.verdicts.get(name, 0) for row in rows] for name in judged},
        "fields": {name: [row.fields.get(name) for row in rows] for name in fields},
    }


def beginning(text: str | None, most: int = BEGINNING) -> str:
    """Return the beginning of a text, on one line."""
    found = " ".join((text or "")[: 4 * most].split())
    return f"{found[: most - 1]}…" if len(found) > most or len(text or "") > 4 * most else found


def text_of(result: Mapping[str, Any]) -> str:
    """Return the searchable texts of a result, complete and without duplicates, separated by newlines."""
    response = result.get("response") or ""
    told = [
        *(result.get(name) for name in ("id", "question", "response", "reference", "set_aside")),
        *(context["text"] for context in result.get("contexts", ())),
        *(unit["text"] for unit in result.get("units", ()) if unit["text"] and unit["text"] not in response),
    ]
    return "\n".join(dict.fromkeys(text for text in told if text))
