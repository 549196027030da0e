"""How the replies of a run were read: by judge, step, style and format of the labels.

Promises: results are taken one at a time, and of each call only its key and of a few their place is kept; a call
that several records share counts once; what could not be read is shown as it came, from the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Final

from ragstone import prompts
from ragstone.analysis.run import Run
from ragstone.engine.tally import Spent
from ragstone.errors import TemplateError
from ragstone.judges.base import Usage, reply_from_json
from ragstone.prompts.choice import LABELS_ALONE
from ragstone.store.database import Store

SAMPLES: Final = 3
"""Replies shown of those that could not be read, for each judge, step, style and format."""
BEGINNING: Final = 400
"""Characters of such a reply."""
WELL: Final = 0.95
"""The share of calls read whole from which on no other format is advised."""
FEWEST: Final = 5
"""Calls below which a share is no ground for advice."""
KEYED: Final = "keyed"
WRITES_NOTHING: Final = ("embedded", "human")
"""Judges that have no replies to read: one computes, one looks up."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A call whose reply could not be read, or not all of it: where it is told of, and what was wrong."""

    key: str
    record: str
    status: str
    problem: str
    repair: bool

    def as_json(self, store: Store) -> dict[str, Any]:
        """With the beginning of the reply as it came; None where the store no longer has it."""
        kept = store.call(bytes.fromhex(self.key))
        text = None if kept is None else reply_from_json(kept.reply).text
        return {
            "key": self.key,
            "record": self.record,
            "status": self.status,
            "repair": self.repair,
            "problem": self.problem,
            "reply": None if text is None else text[:BEGINNING],
            "characters": None if text is None else len(text),
        }


@dataclass(slots=True)
class Group:
    """The calls of one judge and step that were asked in one style for one format.

    ``calls`` are first askings, of which ``whole`` were read without a problem; ``read`` of ``asked`` entries (units;
    for steps that write or trace the whole reply is one) could be used. ``readers`` counts calls of which anything
    was read, ``problems`` the statuses of the others and of those read in part. ``repairs`` are calls that were asked
    again; ``mended`` of them were read whole, ``regained`` is how many entries they gave. ``seen`` holds samples by
    status, those of repairs apart.
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
    seen: dict[tuple[str, bool], list[Sample]] = field(default_factory=dict)

    @property
    def unjudged(self) -> int:
        """Entries that are still missing after every repair."""
        return max(0, self.asked - self.read - self.regained)

    def add(self, record: str, call: Mapping[str, Any], most: int) -> None:
        """Count one call; up to ``most`` of each kind of problem are kept as samples."""
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
            kept.append(Sample(call["key"], record, reading["status"], reading.get("problem", ""), repair))

    def samples(self, most: int) -> list[Sample]:
        """One of each kind of problem, the most frequent first, then a second of each, and so on.

        First askings go before what came of asking again.
        """
        kinds = sorted({status for status, _ in self.seen}, key=lambda status: (-self.problems[status], status))
        rounds = zip_longest(*([*self.seen.get((kind, False), ()), *self.seen.get((kind, True), ())] for kind in kinds))
        return [sample for among in rounds for sample in among if sample is not None][:most]

    def as_json(self, store: Store, most: int) -> dict[str, Any]:
        """Plain JSON; shares are from 0 to 1, or None of nothing."""
        return {
            "judge": self.judge,
            "step": self.step,
            "style": self.style,
            "format": self.format,
            "calls": self.calls,
            "whole": self.whole,
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


@dataclass(slots=True)
class Formats:
    """All calls of a run. ``failed`` left no reply; of those in ``untold``, by judge, no reading is told."""

    groups: dict[tuple[str, str, str, str], Group] = field(default_factory=dict)
    failed: int = 0
    untold: Counter[str] = field(default_factory=Counter)

    def add(self, record: str, call: Mapping[str, Any], most: int) -> None:
        """Count one call that was not counted before."""
        reading = call.get("reading")
        if call.get("error"):
            self.failed += 1
        elif reading is None:
            self.untold[call["judge"]] += 1
        else:
            at = (call["judge"], call["step"], reading["style"], reading["format"])
            self.groups.setdefault(at, Group(*at)).add(record, call, most)


def how_read(run: Run, most: int = SAMPLES) -> dict[str, Any]:
    """How the run's replies were read, as plain JSON; ``most`` samples of what could not be, for each group.

    ``groups`` are in the order of judge, step, style and format. ``failed`` calls left no reply, and ``untold`` are,
    by judge, those that no reading is told of.
    """
    found = Formats()
    for record, call in _calls(run):
        found.add(record, call, most)
    groups = [group.as_json(run.store, most) for _, group in sorted(found.groups.items())]
    return {
        "run": run.id,
        "calls": sum(group["calls"] for group in groups),
        "failed": found.failed,
        "untold": dict(sorted(found.untold.items())),
        "groups": groups,
    }


def _calls(run: Run) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every call once, with the first record that stands on it."""
    known: set[bytes] = set()
    for result in run.results():
        for call in result.get("calls", ()):
            key = bytes.fromhex(call["key"])
            if key not in known:
                known.add(key)
                yield result["id"], call


def advice(group: Group) -> str:
    """What else to try with a judge that is often not read whole; empty where the figures give no ground for it."""
    if group.calls < FEWEST or group.whole >= WELL * group.calls:
        return ""
    another = f"--judge {group.step}=NAME with another model"
    problem, count = group.problems.most_common(1)[0]
    if 2 * count > group.calls - group.whole:
        if problem == "cut_off":
            return "a higher max_tokens in the judge's table of ragstone.toml"
        if problem == "withheld":
            return f"{another}, as a content filter withholds replies of this one"
    if group.format not in (KEYED, "object") and KEYED in _formats(group.step, group.style):
        return f"--format {KEYED}"
    _, dot, language = group.style.partition(".")
    alone = f"{LABELS_ALONE}{dot}{language}"
    if not group.style.startswith(LABELS_ALONE) and _formats(group.step, alone):
        return f"--prompt {group.step}={alone}, labels without reasons and quotes"
    return another


@lru_cache(maxsize=64)
def _formats(step: str, style: str) -> tuple[str, ...]:
    """The formats that a packaged style takes; none of a style that is a user's own."""
    try:
        return prompts.load(step, style).formats
    except TemplateError:
        return ()


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 9) if whole else None
