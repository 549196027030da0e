"""Results as assignment records: what TREC RAG tools call the nuggets of a topic with a run's assignments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

UNASSIGNED: Final = "failed"
"""How these tools mark a nugget that could not be assigned."""


def assignment(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The assignment record of a result; None where no nugget was asked about, unless the response is blank.

    A blank response has no nuggets and the status ``empty``; a nugget that stayed unjudged is ``failed``, with the
    reason as ``failure``.
    """
    score = next((s for s in result.get("scores", ()) if s["metric"].startswith("nugget_recall.")), None)
    response = (result.get("response") or "") if score is not None else ""
    if score is None or not (score["verdicts"] or (score["status"] == "empty" and not response.strip())):
        return None
    units = {unit["id"]: unit for unit in result["units"]}
    nuggets = []
    for verdict in score["verdicts"]:
        unit = units[verdict["unit"]]
        nugget = {"text": unit["text"], "importance": unit["importance"], "assignment": verdict["label"] or UNASSIGNED}
        if verdict.get("failure"):
            nugget["failure"] = verdict["failure"]
        nuggets.append({name: value for name, value in nugget.items() if value is not None})
    run_id = result["meta"].get("run_id")
    return {
        "query": result["question"] or "",
        "qid": result["topic"],
        **({"run_id": run_id} if run_id is not None else {}),
        "answer_text": response,
        "response_length": len(response.split()),
        "nuggets": nuggets,
        **({} if score["verdicts"] else {"status": "empty"}),
    }
