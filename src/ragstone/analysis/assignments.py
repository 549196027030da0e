"""Results as assignment records: what TREC RAG tools call the nuggets of a topic with a run's assignments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ragstone.metrics import of_score
from ragstone.questions import SUPPORT_3

UNASSIGNED: Final = "failed"
"""How these tools mark a nugget that could not be assigned."""


def assignment(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The assignment record of a result; None where no nugget of a bank could be asked about.

    A blank response has the nuggets of its topic without assignments, and the status ``empty``; a nugget that stayed
    unjudged is ``failed``, with the reason as ``failure``. The value of a panel that lies between two labels stands
    beside the nearer one.
    """
    score = next((s for s in result.get("scores", ()) if of_score(s["metric"]).task() == "assign"), None)
    if score is None:
        return None
    units = {unit["id"]: unit for unit in result["units"]}
    nuggets = [_assigned(units[verdict["unit"]], verdict) for verdict in score["verdicts"]]
    response = result["response"] or ""
    blank = not nuggets and score["status"] == "empty" and not response.strip()
    if blank:
        nuggets = [{k: v for k, v in row.items() if v is not None} for row in score["detail"].get("listed", ())]
    if not nuggets:
        return None
    run = run_of(result["meta"])
    return {
        "query": result["question"] or "",
        "qid": result["topic"],
        **({"run_id": run} if run else {}),
        "answer_text": response,
        "response_length": len(response.split()),
        "nuggets": nuggets,
        **({"status": "empty"} if blank else {}),
    }


def run_of(meta: Mapping[str, Any], default: str = "") -> str:
    """The system that a record names in ``run_id``; a number as tables bring it (2.0) by its digits."""
    given = meta.get("run_id")
    if isinstance(given, bool) or not isinstance(given, str | int | float) or given == "":
        return default
    return str(int(given) if isinstance(given, float) and given.is_integer() else given)


def _assigned(unit: Mapping[str, Any], verdict: Mapping[str, Any]) -> dict[str, Any]:
    label = verdict["label"]
    nugget = {"text": unit["text"], "importance": unit["importance"], "assignment": label or UNASSIGNED}
    if label is not None and verdict["value"] != SUPPORT_3.value(label):
        nugget["value"] = verdict["value"]
    if verdict.get("failure"):
        nugget["failure"] = verdict["failure"]
    return {name: value for name, value in nugget.items() if value is not None}
