"""Export a recording of a run's calls for the judge ``replay:FILE``."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final

import orjson

from ragstone import metrics
from ragstone.analysis.run import Run
from ragstone.errors import InputError
from ragstone.output.export import line_format
from ragstone.records.ids import Hashes

VERSION: Final = 1


def _recording(run: Run) -> Generator[bytes, None, None]:
    """Yield a header with the judges and their steps, then each call of the results once."""
    yield orjson.dumps({"ragstone_calls": VERSION, "judges": _judges(run)})
    written = Hashes()
    for result in run.results():
        for call in result.typed.get("calls", []):
            key = call["key"]
            if not written.add(hash(key)):
                continue
            row = run.store.call(bytes.fromhex(key))
            if row is not None:  # a failed call has no reply and fails again in a replay
                recorded = {
                    "key": key, "judge": row.judge, "task": row.task, "maker": row.maker,
                    "request": orjson.Fragment(row.request), "reply": orjson.Fragment(row.reply),
                }  # fmt: skip
                yield orjson.dumps(recorded)


def _judges(run: Run) -> list[dict[str, Any]]:
    """Return each judge's settings and steps, for a cascade only the last judge's; raise InputError for a panel."""
    spec = run.spec
    steps: dict[str, Sequence[str]] = {}
    for step in dict.fromkeys(task for name in spec["chosen"] for task in metrics.find(name).asks):
        route = spec["steps"].get(step, spec["default"])
        # The earlier judges of a cascade are available again in a replay.
        steps[step] = route["judges"][-1:] if route.get("cascade") else route["judges"]
    for task, names in steps.items():
        if len(names) > 1:
            raise InputError(
                f"run {run.id}: the step '{task}' was answered by a panel ({', '.join(names)}); "
                "a recording has one judge per step"
            )
    named = dict.fromkeys(names[0] for names in steps.values())
    for name in named:
        if spec["judges"][name]["provider"] == "given":
            raise InputError(f"run {run.id}: the judge '{name}' was a Python object, which a recording cannot name")
    return [
        {"judge": spec["judges"][name], "tasks": [task for task, names in steps.items() if names[0] == name]}
        for name in named
    ]


FORMATS: Final = (line_format("calls", "recording for the judge replay:FILE", _recording),)
