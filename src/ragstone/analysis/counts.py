"""Count, during a run, why scores are missing, which quotes are found, and what members of a panel left unjudged.

A verdict's quotes count once, however many scores contain it. For a panel, only the members' quotes count, since its
own verdict repeats one member's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from ragstone.result_types import CauseDict, QuotesDict, UnitsDict
from ragstone.stats.means import rounded
from ragstone.types import Score, Status

if TYPE_CHECKING:
    from ragstone.engine.document import Weighed

MOST: Final = 100
"""Maximum number of different causes counted separately; all others are counted as ``OTHER``."""
OTHER: Final = "other causes"

_COUNTS: Final = re.compile(r"\d+ of \d+ unjudged: ")
_NUMBER: Final = re.compile(r"(?<!HTTP )(?<![^\s(\[{'\"=<>~$])(?:\d+(?:[.,]\d+)*|N)(?![\w-])")
"""A number, or its place in a cause; not a status, and not part of a name."""


class Causes:
    """Counts of each metric's scores by status and reason, except plain ``scored`` ones."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Status, str]] = Counter()
        self._said: dict[str, str] = {}

    def add(self, scores: Iterable[Score]) -> None:
        """Count the scores of one record."""
        for score in scores:
            if score.status != "scored":
                cause, kind = cause_of(score.reason), kind_of_cause(score.reason)
                key = (score.metric, score.status, kind)
                if key in self._counts or len(self._counts) < MOST:
                    self._said[kind] = _common(self._said.get(kind, cause), cause)
                else:
                    key = (score.metric, score.status, OTHER)
                self._counts[key] += 1

    def as_json(self) -> list[CauseDict]:
        """Return the counts as plain JSON, most frequent first. ``N`` stands for numbers that differ."""
        ranked = sorted(self._counts.items(), key=lambda entry: (-entry[1], entry[0]))
        return [
            {"metric": metric, "status": status, "reason": self._said.get(kind, kind), "count": count}
            for (metric, status, kind), count in ranked
        ]


class Quotes:
    """Counts of quotes found exactly (``verbatim``), approximately (``near``), or not at all (``absent``).

    It also counts the units that each member of a panel was asked about, and left unjudged.
    """

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()
        self._left: Counter[str] = Counter()

    def add(self, scores: Iterable[Score]) -> None:
        """Count the quotes of one record."""
        quoting = [verdict for score in scores for verdict in score.verdicts if verdict.evidence or verdict.members]
        for verdict in dict.fromkeys(quoting):
            for own in verdict.members or (verdict,):
                for quote in own.evidence:
                    self._found[_kind(quote.span is not None, quote.verbatim)] += 1
            self._add_members((member.judge, member.unjudged) for member in verdict.members)

    def add_weighed(self, weighed: Weighed) -> None:
        """Count the quotes of one evaluated record; for a reused result, they are read from its document."""
        if weighed.taken:
            self.add_result(orjson.loads(weighed.document))
        else:
            self.add(weighed.scores)

    def add_result(self, result: Mapping[str, Any]) -> None:
        """Count the quotes of one result; an unreadable record has none."""
        quoting = {
            orjson.dumps(verdict, option=orjson.OPT_SORT_KEYS): verdict
            for score in result["scores"]
            for verdict in score["verdicts"]
            if verdict["evidence"] or verdict.get("members")
        }
        for verdict in quoting.values():
            for own in verdict.get("members") or (verdict,):
                self._found.update(_kind(quote["start"] is not None, quote["verbatim"]) for quote in own["evidence"])
            self._add_members((one["judge"], one["label"] is None) for one in verdict.get("members", ()))

    def _add_members(self, members: Iterable[tuple[str, bool]]) -> None:
        for judge, unjudged in members:
            self._asked[judge] += 1
            self._left[judge] += unjudged

    def members(self) -> dict[str, UnitsDict]:
        """Return, by judge, what each member of a panel was asked and left unjudged."""
        return {judge: {"asked": asked, "unjudged": self._left[judge]} for judge, asked in self._asked.items()}

    def as_json(self) -> QuotesDict:
        """Return plain JSON data; ``verified`` is the share of quotes found, in [0, 1], or None without quotes."""
        found = {kind: self._found[kind] for kind in ("verbatim", "near", "absent")}
        named = sum(found.values())
        verified = rounded((named - found["absent"]) / named) if named else None
        return cast("QuotesDict", {"named": named, **found, "verified": verified})


def cause_of(reason: str) -> str:
    """Return a reason without the counts of one record."""
    return _COUNTS.sub("", reason)


def kind_of_cause(reason: str) -> str:
    """Return the cause in a reason without its numbers, by which causes are counted."""
    return _NUMBER.sub("N", cause_of(reason))


def _common(one: str, other: str) -> str:
    """Return a cause with only the numbers that it shares with another of its kind."""
    numbers = iter(_NUMBER.findall(other))
    return _NUMBER.sub(lambda found: found[0] if found[0] == next(numbers) else "N", one)


def absences(summary: Mapping[str, Any]) -> list[str]:
    """Say which members of a panel left units unjudged, which the verdicts of the panel alone do not show."""
    return [
        f"{judge.partition('@')[0]} left {one['unjudged']:,} of {one['asked']:,} units unjudged; "
        "for these, only the rest of its panel counts"
        for judge, one in summary.get("panel", {}).items()
        if one["unjudged"]
    ]


def _kind(found: bool, verbatim: bool) -> str:
    return "absent" if not found else "verbatim" if verbatim else "near"


def quotes_of(results: Iterable[Mapping[str, Any]]) -> QuotesDict:
    """Count the quotes of all results, read one at a time."""
    quotes = Quotes()
    for result in results:
        quotes.add_result(result)
    return quotes.as_json()
