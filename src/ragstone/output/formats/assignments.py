"""Results as assignment records: the nuggets of a topic with a run's assignments, as TREC RAG tools read them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import orjson

from ragstone.analysis.leaderboard import run_of
from ragstone.analysis.run import Run
from ragstone.metrics import of_score
from ragstone.output.export import line_format
from ragstone.questions import SUPPORT_3

if TYPE_CHECKING:
    from ragstone.result_types import UnitDict, VerdictDict

UNASSIGNED: Final = "failed"
"""The assignment of a nugget that could not be assigned, in these tools."""


def assignment(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The assignment record of a result; None where the record has no nuggets of a bank.

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


def _assigned(unit: UnitDict, verdict: VerdictDict) -> dict[str, Any]:
    label = verdict["label"]
    nugget: dict[str, Any] = {
        "text": unit["text"],
        "importance": unit.get("importance"),
        "assignment": label or UNASSIGNED,
    }
    if label is not None and verdict["value"] != SUPPORT_3.value(label):
        nugget["value"] = verdict["value"]
    if verdict.get("failure"):
        nugget["failure"] = verdict["failure"]
    return {name: value for name, value in nugget.items() if value is not None}


def block(record: Mapping[str, Any]) -> dict[str, Any]:
    """An assignment record in the form of nugget assigners, with the response as a block."""
    head = {name: record[name] for name in ("query", "qid", "run_id") if name in record}
    return {**head, "block": [record["answer_text"]], "block_nuggets_assignment": record["nuggets"]}


def _lines(form: Callable[[dict[str, Any]], dict[str, Any]], run: Run) -> Generator[bytes, None, None]:
    """An assignment record for each result that has one, in a form."""
    for result in run.results():
        record = assignment(result)
        if record is not None:
            yield orjson.dumps(form(record))


LACKING: Final = "has no assigned nuggets; assign them with: ragstone nuggets assign"
FORMATS: Final = (
    line_format("assignments", "assigned nuggets, for nuggets score", partial(_lines, dict), LACKING),
    line_format("blocks", "assigned nuggets by block of text", partial(_lines, block), LACKING),
)
