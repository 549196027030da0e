"""The scores of a run by record, without texts: what comparing and checking hold in memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from ragstone.analysis.saved import Weighed
from ragstone.errors import InputError
from ragstone.metrics import of_score

_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,99}", re.ASCII)
ROOTS: Final = ("topic", "question", "meta")
"""Where ``--by`` may lead to in a result."""


class One(NamedTuple):
    """One score, as far as it counts here; see ``types.Score``."""

    value: float | None
    low: float | None
    high: float | None
    asked: int
    unjudged: int
    status: str
    signature: str


@dataclass(frozen=True, slots=True)
class Scores:
    """One record's scores by metric, what it belongs to, and digests of its texts.

    ``nuggets`` maps the text of each nugget of its bank, folded, to its value (None: unjudged) and whether it is vital.
    """

    position: int
    by_metric: Mapping[str, One]
    group: str | None = None
    question: bytes = b""
    response: bytes = b""
    nuggets: Mapping[str, tuple[float | None, bool]] = field(default_factory=dict)


def scores_of(run: Weighed, by: str | None = None) -> dict[str, Scores]:
    """The scores of every record by its id; records that could not be read have none.

    ``by`` is a path in the result to what records are grouped by, as ``meta.topic``. InputError for another path, and
    for results that are not as Ragstone writes them.
    """
    grouped = _grouping(by) if by is not None else None
    found: dict[str, Scores] = {}
    for result in run.results():
        if result.get("scores") and result["id"] in found and found[result["id"]].by_metric:
            raise InputError(f"{run.name}: the record '{result['id']}' has two results; a run has one")
        try:
            found[result["id"]] = Scores(
                result["position"],
                {_name(score["metric"]): _one(score) for score in result.get("scores", ())},
                grouped(result) if grouped else None,
                _digest(result.get("question")),
                _digest(result.get("response")),
                dict(_nuggets(result)),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(
                f"{run.name}: the result of '{result['id']}' {what}; was it written by ragstone?"
            ) from error
    return found


def signatures_differ(first: str, second: str) -> list[tuple[str, str, str]]:
    """The parts of two signatures that are not the same: name, first, second; empty where a part is not there.

    A parameter that is not there has its default.
    """
    ours, theirs = _parts(first), _parts(second)
    names = dict.fromkeys([*ours, *theirs])
    return [(name, ours.get(name, ""), theirs.get(name, "")) for name in names if ours.get(name) != theirs.get(name)]


def _parts(signature: str) -> dict[str, str]:
    metric, *parts = signature.split("|")
    return {"metric": metric, **{name: value for name, _, value in (part.partition(":") for part in parts)}}


def _name(metric: str) -> str:
    """A metric's name as it is; ValueError for what is none, so that it can be printed anywhere."""
    if not _NAME.fullmatch(metric):
        raise ValueError(f"has a score named {metric!r}")
    return metric


def _one(score: Mapping[str, Any]) -> One:
    value, low, high = (score[name] for name in ("value", "low", "high"))
    for number in (value, low, high):
        if number is not None and (isinstance(number, bool) or not 0 <= number <= 1):
            raise ValueError(f"has {score['metric']} {number!r}, which is not from 0 to 1")
    return One(value, low, high, score["asked"], score["unjudged"], score["status"], score["signature"])


def _grouping(by: str) -> Callable[[Mapping[str, Any]], str | None]:
    root, *path = by.split(".")
    if root not in ROOTS or (root == "meta") != bool(path):
        raise InputError(f"--by {by}: expected topic, question, or a field of the records as meta.NAME")

    def group(result: Mapping[str, Any]) -> str | None:
        value: Any = result.get(root)
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return None if value is None else str(value)

    return group


def _nuggets(result: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float | None, bool]]]:
    """The assigned nuggets of the record's bank."""
    score = next(
        (one for one in result.get("scores", ()) if of_score(one["metric"]).task() == "assign" and one["verdicts"]),
        None,
    )
    if score is None:
        return
    units = {unit["id"]: unit for unit in result["units"]}
    for verdict in score["verdicts"]:
        unit = units[verdict["unit"]]
        yield " ".join(unit["text"].casefold().split()), (verdict["value"], unit.get("importance") == "vital")


def _digest(text: object) -> bytes:
    return hashlib.blake2b(str(text or "").encode("utf-8", "replace"), digest_size=8).digest()
