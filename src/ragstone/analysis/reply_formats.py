"""Compute parsing statistics for a run's replies, by judge, step, style and label format.

Guarantees: results are read one at a time, and only the keys of calls are kept in memory. A call shared by several
records counts once. Unparsed replies are shown verbatim from the store.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import asdict

from ragstone import prompts
from ragstone.analysis.run import Run
from ragstone.engine.tally import Spent
from ragstone.errors import TemplateError
from ragstone.judges.base import Usage, reply_from_json
from ragstone.prompts.choice import LABELS_ALONE
from ragstone.records.ids import Hashes
from ragstone.result_types import CallDict
from ragstone.stats.means import rounded
from ragstone.store.database import Store

SAMPLES: Final = 3
"""Maximum number of unparsed replies shown per judge, step, style and format."""
BEGINNING: Final = 400
"""Number of characters shown of such a reply."""
WELL: Final = 0.95
"""Share of fully parsed calls from which no other format is suggested."""
FEWEST: Final = 5
"""Minimum number of calls for a suggestion."""
KEYED: Final = "keyed"
WRITES_NOTHING: Final = ("embedded", "human", "nli")
"""Providers whose judges write no replies: they compute verdicts or look them up."""


class ReplySample(Struct, frozen=True):
    """A call whose reply was not fully parsed, a record that uses it, and the problem."""

    key: str
    record: str
    status: str
    repair: bool
    problem: str

    def as_json(self, store: Store) -> dict[str, Any]:
        """Return plain JSON data with the beginning of the reply; None if the store no longer has it."""
        kept = store.call(bytes.fromhex(self.key))
        text = None if kept is None else reply_from_json(kept.reply).text
        cut, count = (None, None) if text is None else (text[:BEGINNING], len(text))
        return {**asdict(self), "reply": cut, "characters": count}


class FormatGroup(Struct):
    """The calls of one judge and step in one style and format.

    ``calls`` are first requests, of which ``whole`` were parsed without a problem. Of the ``asked`` entries (units, or
    the whole reply for steps that write or trace), ``read`` could be used. ``readers`` counts the calls parsed by each
    reader; ``problems`` counts the statuses of calls with a problem. ``repairs`` are repeated requests: ``mended`` were
    fully parsed, and they gave ``regained`` entries. ``seen`` has samples by status, with repairs separate.
    """

    judge: str
    step: str
    style: str
    format: str
    calls: int = 0
    whole: int = 0
    asked: int = 0
    read: int = 0
    readers: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    repairs: Spent = field(default_factory=Spent)
    mended: int = 0
    regained: int = 0
    seen: dict[tuple[str, bool], list[ReplySample]] = field(default_factory=dict)

    @property
    def unjudged(self) -> int:
        """The number of entries still missing after all repairs."""
        return max(0, self.asked - self.read - self.regained)

    def add(self, record: str, call: CallDict, most: int) -> None:
        """Count a call, and keep up to ``most`` samples of each kind of problem."""
        reading = call["reading"]
        repair = bool(reading.get("repair"))
        fine = reading["status"] == "ok"
        if repair:
            self.repairs.add(Usage(call["input_tokens"], call["output_tokens"]), call["dollars"])
            self.mended += fine
            self.regained += reading["read"]
        else:
            self.calls += 1
            self.whole += fine
            self.asked += reading["asked"]
            self.read += reading["read"]
            if reading["read"] and reading["reader"]:
                self.readers[reading["reader"]] += 1
            if not fine:
                self.problems[reading["status"]] += 1
        if not fine and len(kept := self.seen.setdefault((reading["status"], repair), [])) < most:
            kept.append(ReplySample(call["key"], record, reading["status"], repair, reading.get("problem", "")))

    def samples(self, most: int) -> list[ReplySample]:
        """Return samples in rounds, one per kind of problem, most frequent first; within a kind, repairs are last."""
        kinds = sorted({status for status, _ in self.seen}, key=lambda status: (-self.problems[status], status))
        rounds = zip_longest(*([*self.seen.get((kind, False), ()), *self.seen.get((kind, True), ())] for kind in kinds))
        return [sample for among in rounds for sample in among if sample is not None][:most]

    def as_json(self, store: Store, most: int) -> dict[str, Any]:
        """Return plain JSON data; shares are in [0, 1], or None without calls."""
        return {
            **{name: getattr(self, name) for name in ("judge", "step", "style", "format", "calls", "whole")},
            "whole_share": _share(self.whole, self.calls),
            "asked": self.asked,
            "read": self.read,
            "read_share": _share(self.read, self.asked),
            "readers": dict(self.readers.most_common()),
            "problems": dict(self.problems.most_common()),
            "repairs": {**self.repairs.as_json(), "mended": self.mended, "regained": self.regained},
            "unjudged": self.unjudged,
            "advice": advice(self),
            "samples": [sample.as_json(store) for sample in self.samples(most)],
        }


class Formats(Struct):
    """All calls of a run: ``failed`` ones got no reply; ``untold`` counts, by judge, those without a parsing status."""

    groups: dict[tuple[str, str, str, str], FormatGroup] = field(default_factory=dict)
    failed: int = 0
    untold: Counter[str] = field(default_factory=Counter)

    def add(self, record: str, call: CallDict, most: int) -> None:
        """Count a call that has not been counted yet."""
        reading = call.get("reading")
        if call.get("error"):
            self.failed += 1
        elif reading is None:
            self.untold[call["judge"]] += 1
        else:
            at = (call["judge"], call["step"], reading["style"], reading["format"])
            self.groups.setdefault(at, FormatGroup(*at)).add(record, call, most)


def how_read(run: Run, most: int = SAMPLES) -> dict[str, Any]:
    """Return parsing statistics as plain JSON, with at most ``most`` unparsed samples per group.

    ``groups`` are sorted by judge, step, style and format. ``failed`` and ``untold`` are as in ``Formats``.
    """
    found, known = Formats(), Hashes()
    for result in run.results():
        for call in result.typed.get("calls", []):
            if known.add(hash(call["key"])):
                found.add(result["id"], call, most)
    groups = [group.as_json(run.store, most) for _, group in sorted(found.groups.items())]
    return {
        "run": run.id,
        "calls": sum(group["calls"] for group in groups),
        "failed": found.failed,
        "untold": dict(sorted(found.untold.items())),
        "groups": groups,
    }


def advice(group: FormatGroup) -> str:
    """Suggest what to try if many replies of a judge cannot be parsed; empty if few."""
    if group.calls < FEWEST or group.whole >= WELL * group.calls:
        return ""
    another = f"--judge {group.step}=NAME with another model"
    problem, count = group.problems.most_common(1)[0]
    if 2 * count > group.calls - group.whole:
        if problem == "cut_off":
            return "a higher max_tokens in the judge's table in ragstone.toml"
        if problem == "withheld":
            return f"{another}, because a content filter withholds this one's replies"
    if group.format not in (KEYED, "object") and KEYED in _formats(group.step, group.style):
        return f"--format {KEYED}"
    _, dot, language = group.style.partition(".")
    alone = f"{LABELS_ALONE}{dot}{language}"
    if not group.style.startswith(LABELS_ALONE) and _formats(group.step, alone):
        return f"--prompt {group.step}={alone} (labels without reasons or quotes)"
    return another


@lru_cache(maxsize=64)
def _formats(step: str, style: str) -> tuple[str, ...]:
    """Return the formats of a packaged style; empty for a user's own style."""
    try:
        return prompts.load(step, style).formats
    except TemplateError:
        return ()


def _share(part: int, whole: int) -> float | None:
    return rounded(part / whole) if whole else None
