"""Runs of made results, as ``-o`` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labelled import write

SIGNED = "grounding|claims:one#1|support:one#1|v:0.1.0"


def score(metric: str, value: float | None, **more: Any) -> dict[str, Any]:
    known = value is not None
    return {
        "metric": metric, "value": value, "status": "scored" if known else "judge_failed", "reason": "",
        "asked": 2, "unjudged": 0 if known else 2, "low": value if known else 0.0, "high": value if known else 1.0,
        "signature": SIGNED.replace("grounding", metric), "verdicts": [], **more,
    }  # fmt: skip


def result(record: str, position: int, scores: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "id": record, "topic": record, "position": position, "question": f"What of {record}?", "response": "It is.",
        "contexts": [], "meta": {}, "units": [], "scores": scores, **more,
    }  # fmt: skip


def folder(path: Path, results: Sequence[Mapping[str, Any]], **about: Any) -> str:
    """A run as ``-o`` writes it."""
    path.mkdir(parents=True, exist_ok=True)
    write(path / "results.jsonl", results)
    details = {"run": 1, "name": path.name, "status": "done", "results": "results.jsonl", **about}
    (path / "run.json").write_text(json.dumps(details), encoding="utf-8")
    return str(path)
