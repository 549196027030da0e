"""Export results as assignment records for TREC RAG tools: the nuggets of each topic with a run's assignments."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from ragstone.analysis.leaderboard import run_of
from ragstone.analysis.run import Run
from ragstone.analysis.verdicts import with_strict
from ragstone.metrics import of_score
from ragstone.output.export import line_format
from ragstone.questions import SUPPORT_3
from ragstone.records.values import UNASSIGNED

if TYPE_CHECKING:
    from ragstone.result_types import UnitDict, VerdictDict


def assignment(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the assignment record of a result, or None if the record has no nuggets.

    A blank response gets the nuggets of its topic without assignments, and the status ``empty``. A nugget that was not
    judged is ``failed``, with the reason as ``failure``. If a panel's value lies between two labels, the nearer label
    is used and the value is added, as is the strict value if the label does not give it.
    """
    score = next((s for s in result.get("scores", ()) if of_score(s["metric"]).task() == "assign"), None)
    if score is None:
        return None
    units = {unit["id"]: unit for unit in result["units"]}
    nuggets = [_assigned(units[verdict["unit"]], verdict) for verdict in with_strict(score)]
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


def _assigned(unit: UnitDict, verdict: VerdictDict) -> dict[str, Any]:
    label = verdict["label"]
    nugget: dict[str, Any] = {
        "text": unit["text"],
        "importance": unit.get("importance"),
        "assignment": label or UNASSIGNED,
    }
    if label is not None and verdict["value"] != SUPPORT_3.value(label):
        nugget["value"] = verdict["value"]
    nugget |= {"strict": verdict.get("strict"), "failure": verdict.get("failure")}
    return {name: value for name, value in nugget.items() if value is not None}


def block(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return an assignment record in the format of nugget assigners, with the response as one block."""
    head = {name: record[name] for name in ("query", "qid", "run_id") if name in record}
    return {**head, "block": [record["answer_text"]], "block_nuggets_assignment": record["nuggets"]}


def _lines(form: Callable[[dict[str, Any]], dict[str, Any]], run: Run) -> Generator[bytes, None, None]:
    for result in run.results():
        record = assignment(result)
        if record is not None:
            yield orjson.dumps(form(record))


LACKING: Final = "has no assigned nuggets; assign them with: ragstone nuggets assign"
FORMATS: Final = (
    line_format("assignments", "assigned nuggets (input of 'ragstone nuggets score')", partial(_lines, dict), LACKING),
    line_format("blocks", "assigned nuggets by block of text", partial(_lines, block), LACKING),
)
