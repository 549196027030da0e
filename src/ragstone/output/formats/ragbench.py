"""Export traces as RAGBench rows: sentences by key, the relevant, used and supported ones, and the four scores."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

import orjson

from ragstone.analysis.run import Run, TraceRows, traces_of
from ragstone.output.export import line_format

SCORES: Final[Mapping[str, str]] = {
    "relevance_score": "relevance_share", "utilization_score": "utilization_share",
    "completeness_score": "completeness", "adherence_score": "adherence",
}  # fmt: skip
"""RAGBench's scores, mapped to Ragstone's scores with the same definitions."""


def row_of(result: Mapping[str, Any], traced: TraceRows) -> dict[str, Any]:
    """Return a trace as a RAGBench row; values that the judge did not give are null. Keys are those of `TraceRows`."""
    texts = {context["id"]: context["text"] for context in result["contexts"]}
    sentences: dict[str, list[list[str]]] = {passage: [] for passage in texts}
    for row in traced.contexts:
        sentences[row["passage"]].append([row["key"], texts[row["passage"]][row["start"] : row["end"]]])
    detail, verdicts = traced.score["detail"], {verdict["unit"]: verdict for verdict in traced.score["verdicts"]}
    name = traced.score["metric"].partition(".")[0]
    values = {score["metric"]: score["value"] for score in result["scores"]}
    return {
        "id": result["id"],
        "question": result["question"],
        "documents": list(texts.values()),
        "response": result["response"],
        "documents_sentences": list(sentences.values()),
        "response_sentences": [[row["key"], unit["text"]] for row, unit in traced.response],
        "relevance_explanation": detail.get("relevance_reason", ""),
        "all_relevant_sentence_keys": _keys(traced.contexts, "relevant"),
        "overall_supported_explanation": detail.get("support_reason", ""),
        "overall_supported": detail.get("overall"),
        "sentence_support_information": [
            {
                "response_sentence_key": row["key"],
                "explanation": verdicts[unit["id"]]["reason"],
                "supporting_sentence_keys": [*row["support"], *row["special"]],
                "fully_supported": row["supported"],
            }
            for row, unit in traced.response
        ],
        "unsupported_response_sentence_keys": _keys([row for row, _ in traced.response], "supported", marked=False),
        "all_utilized_sentence_keys": _keys(traced.contexts, "utilized"),
        **{ours: values.get(f"{name}.{column}") for ours, column in SCORES.items()},
    }


def _keys(rows: Sequence[Mapping[str, Any]], mark: str, *, marked: bool = True) -> list[str] | None:
    """Return the keys of the sentences with a mark, or without it; None if the judge did not mark every sentence."""
    if any(row[mark] is None for row in rows):
        return None
    return [row["key"] for row in rows if row[mark] is marked]


def _lines(run: Run) -> Generator[bytes, None, None]:
    for result in run.results():
        for traced in traces_of(result):
            yield orjson.dumps(row_of(result, traced))


LACKING: Final = "has no traces; to create them, run: ragstone run FILE -m trace"
FORMATS: Final = (line_format("ragbench", "sentence-level traces in RAGBench's format", _lines, LACKING),)
