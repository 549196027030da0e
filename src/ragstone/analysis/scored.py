"""Read the scores of a run by record, without texts, for comparisons and checks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ragstone.analysis.leaderboard import run_of
from ragstone.analysis.saved import AnyRun, SavedRun
from ragstone.errors import InputError
from ragstone.metrics import of_score
from ragstone.records.ids import Hashes
from ragstone.result_types import ResultDict, ScoreDict
from ragstone.types import NOTHING

_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,99}", re.ASCII)
ROOTS: Final = ("topic", "question", "meta")
"""Result fields that ``--by`` may name."""
MOST_ALIKE: Final = 20_000
"""Maximum number of different sets of scores that are stored once and shared by records with equal scores."""


class ScoreNumbers(NamedTuple):
    """The numbers of one score; see ``types.Score``."""

    value: float | None
    low: float | None
    high: float | None
    asked: int
    unjudged: int
    status: str
    signature: str


class RecordScores(Struct, frozen=True):
    """A record's scores by metric, its group, and digests of its texts; unless it was ``read``, it has no scores.

    ``nuggets`` maps the case-folded text of each nugget of its bank to its value (None: unjudged) and whether it is
    vital. ``system`` is its ``run_id``, if it has one.
    """

    by_metric: Mapping[str, ScoreNumbers]
    group: str | None = None
    question: bytes = b""
    response: bytes = b""
    contexts: bytes = b""
    nuggets: Mapping[str, tuple[float | None, bool]] = field(default_factory=dict)
    read: bool = True
    system: str = ""

    def why_without(self, metric: str) -> str:
        """Return the status of a metric that has no value; empty if it has one.

        That is ``unreadable`` for a record without any score, and ``not_computed`` if the record's own parameters
        lead to other scores.
        """
        score = self.by_metric.get(metric)
        if score is None:
            return "not_computed" if self.read else "unreadable"
        return score.status if score.value is None else ""


class Kept(dict[str, RecordScores]):
    """Scores by record id; records with equal scores share one copy. ``metrics`` may name more than are kept."""

    def __init__(self) -> None:
        self.metrics: dict[str, None] = {}
        self._alike: dict[tuple[tuple[str, ScoreNumbers], ...], Mapping[str, ScoreNumbers]] = {}

    def add(self, record: str, scores: RecordScores) -> None:
        """Add a record's scores."""
        known = self._alike.get(key := tuple(scores.by_metric.items()))
        if known is None and len(self._alike) < MOST_ALIKE:
            self._alike[key] = scores.by_metric
        self[record] = scores if known is None else replace(scores, by_metric=known)


def scores_of(run: AnyRun, wanted: Callable[[str], bool]) -> Kept:
    """Return the ``wanted`` scores of all records by id, without nuggets; a record takes a few hundred bytes."""
    kept = Kept()
    for record, scores in each_scores(run):
        kept.metrics.update(dict.fromkeys(scores.by_metric))
        some = {name: score for name, score in scores.by_metric.items() if wanted(name)}
        kept.add(record, replace(scores, by_metric=some, nuggets=NOTHING))
    return kept


def each_scores(run: AnyRun, by: str | None = None) -> Iterator[tuple[str, RecordScores]]:
    """Yield the id and scores of each record, in the order of the run; unreadable records have no scores.

    ``by`` is the path of the field that groups records, e.g. ``meta.topic``. Raise InputError for an invalid path, and
    for results that Ragstone did not write.
    """
    grouped = grouping(by) if by is not None else None
    seen = Hashes()
    shared: dict[str, str] = {}  # results repeat the same strings, so share one copy
    for each in run.results():
        result = each.typed
        if isinstance(run, SavedRun) and result.get("scores") and not seen.add(hash(result["id"])):
            raise InputError(f"{run.name}: the record '{result['id']}' has two results; expected one")
        try:
            by_metric = {
                _name(shared.setdefault(score["metric"], score["metric"])): _scored(score, shared)
                for score in result.get("scores", ())
            }
            scores = RecordScores(
                by_metric,
                grouped(result) if grouped else None,
                _digest(result.get("question")),
                _digest(result.get("response")),
                _digest([passage["text"] for passage in result.get("contexts") or ()]),
                dict(_nuggets(result)) or NOTHING,
                bool(by_metric),
                shared.setdefault(system := run_of(result.get("meta", {})), system),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(
                f"{run.name}: the result for '{result['id']}' {what}; was it written by ragstone?"
            ) from error
        yield result["id"], scores


def bounds_of(records: Mapping[str, RecordScores], metric: str, *, best: bool) -> dict[str, tuple[float | None, float]]:
    """Return each record's value, and its lowest or ``best`` possible value.

    A record that was not read, or whose judge failed, could have any value; others without one are left out.
    """
    found: dict[str, tuple[float | None, float]] = {}
    for record, scores in records.items():
        one = scores.by_metric.get(metric)
        if one is None or (one.value is None and one.status == "judge_failed"):
            found[record] = None, float(best)
        elif one.value is not None:
            end = one.high if best else one.low
            found[record] = one.value, one.value if end is None else end
    return found


def signatures_differ(first: str, second: str) -> list[tuple[str, str, str]]:
    """Return the differing parts of two signatures: name, first, second; a missing part (its default) is empty."""
    ours, theirs = _parts(first), _parts(second)
    names = dict.fromkeys([*ours, *theirs])
    return [(name, ours.get(name, ""), theirs.get(name, "")) for name in names if ours.get(name) != theirs.get(name)]


def _parts(signature: str) -> dict[str, str]:
    metric, *parts = signature.split("|")
    return {"metric": metric, **{name: value for name, _, value in (part.partition(":") for part in parts)}}


def _name(metric: str) -> str:
    """Return the name if it is safe to print anywhere, else raise ValueError."""
    if not _NAME.fullmatch(metric):
        raise ValueError(f"has a score named {metric!r}")
    return metric


def _scored(score: ScoreDict, shared: dict[str, str]) -> ScoreNumbers:
    value, low, high = score["value"], score["low"], score["high"]
    for number in (value, low, high):
        if number is not None and (isinstance(number, bool) or not 0 <= number <= 1):
            raise ValueError(f"has {score['metric']} {number!r}, which is not from 0 to 1")
    status, signature = (shared.setdefault(text, text) for text in (score["status"], score["signature"]))
    return ScoreNumbers(value, low, high, score["asked"], score["unjudged"], status, signature)


def grouping(by: str) -> Callable[[ResultDict], str | None]:
    """Return a function that returns a result's group, by one of ``ROOTS`` or a field of ``meta`` (prefix optional).

    For ``topic``, a record's own field takes precedence over the id used as its default. Raise InputError for an
    invalid path.
    """
    root, *path = by.split(".") if by.partition(".")[0] in ROOTS else ("meta", *by.split("."))
    if (root == "meta") != bool(path):
        raise InputError(f"--by {by}: expected topic, question, or a field of the records as meta.NAME")

    def group(result: ResultDict) -> str | None:
        value: Any = result.get(root)
        if root == "topic" and isinstance(own := result.get("meta", {}).get(root), str | int):
            value = own
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return None if value is None else group_name(value)

    return group


def group_name(value: object) -> str:
    """Return the name of the group of records with a value: booleans as in JSON."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _nuggets(result: ResultDict) -> Iterator[tuple[str, tuple[float | None, bool]]]:
    """Yield the nuggets of the record's bank by text, each with its value and whether it is vital."""
    score = next(
        (one for one in result.get("scores", ()) if of_score(one["metric"]).task() == "assign" and one["verdicts"]),
        None,
    )
    if score is None:
        return
    units = {unit["id"]: unit for unit in result["units"]}
    for verdict in score["verdicts"]:
        unit = units[verdict["unit"]]
        yield " ".join(str(unit["text"]).casefold().split()), (verdict["value"], unit.get("importance") == "vital")


def _digest(text: object) -> bytes:
    return hashlib.blake2b(str(text or "").encode("utf-8", "replace"), digest_size=8).digest()
