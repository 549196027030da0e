"""Data sets of other evaluators: what names alone do not say."""

from __future__ import annotations

from ragstone.records.fields import NOTES
from ragstone.records.mapping import Row

TRUTHS = "ground_truths"
RAGBENCH = frozenset(("documents_sentences", "response_sentences", "generation_model_name"))
PHOENIX = frozenset(("context.span_id", "input", "output", "reference"))
ONE_TEXT = "contexts: one text of all documents, as Phoenix joins them; export spans to keep them apart"


def is_ragas(row: Row) -> bool:
    """Return whether a row has ragas' names, of any version."""
    return ("user_input" in row and "retrieved_contexts" in row) or isinstance(row.get(TRUTHS), list)


def ragas_row(row: Row) -> Row:
    """The row with a single ground truth as its reference."""
    truths = row.get(TRUTHS)
    if isinstance(truths, list) and len(truths) == 1 and not row.get("ground_truth"):
        rest = {name: value for name, value in row.items() if name != TRUTHS}
        return {**rest, "reference": truths[0]}
    return row


def is_deepeval(row: Row) -> bool:
    """Return whether a row has deepeval's names, as its files or its results have them."""
    return "input" in row and not {"actual_output", "actualOutput", "retrieval_context", "retrievalContext"}.isdisjoint(
        row
    )


def deepeval_row(row: Row) -> Row:
    """The row itself; its CSV files join passages by a bar."""
    joined = [name for name in ("retrieval_context", "context") if isinstance(row.get(name), str) and "|" in row[name]]
    return {**row, **{name: row[name].split("|") for name in joined}} if joined else row


def is_ragbench(row: Row) -> bool:
    """Return whether a row has the columns of RAGBench."""
    return len(RAGBENCH.intersection(row)) > 1


def ragbench_row(row: Row) -> Row:
    """The row with the name of the model that wrote its response."""
    rest = {name: value for name, value in row.items() if name != "generation_model_name"}
    return {**rest, "generator": row["generation_model_name"]} if row.get("generation_model_name") else row


def is_phoenix_answer(row: Row) -> bool:
    """Return whether a row is one of ``get_qa_with_reference``, whose reference is the evidence."""
    return set(row) >= PHOENIX


def phoenix_row(row: Row) -> Row:
    """The row with its reference as the one context."""
    rest = {name: value for name, value in row.items() if name not in ("context.span_id", "reference")}
    return {**rest, "id": row["context.span_id"], "contexts": row["reference"], NOTES: [ONE_TEXT]}
