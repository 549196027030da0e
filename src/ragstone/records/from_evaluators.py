"""Read data sets of other evaluators, where aliases alone are not enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ragstone.records.fields import FIELD_OF, GOLD_KEPT, NOTES
from ragstone.records.jsontext import opened
from ragstone.records.logged_texts import answered, asked, shown_in
from ragstone.records.mapping import Row
from ragstone.records.paths import find, find_first, folded
from ragstone.records.span_join import RETRIEVER, TraceSpan

VARIABLES: Final = ("vars", "testCase.vars")
OUTPUTS: Final = ("response.output", "output")
TRUTHS = "ground_truths"
SEVERAL_TRUTHS = "reference: 'ground_truths' has several entries; they are kept in meta"
TEST_SET: Final = "evolution_type"
"""A column of the test sets of old ragas versions, whose contexts are gold until there is an answer."""
RAGBENCH = frozenset(("documents_sentences", "response_sentences", "generation_model_name"))
PHOENIX = frozenset(("context.span_id", "input", "output", "reference"))
BARS = "contexts: split at each |, which deepeval's CSV puts between passages"
PASSAGE_ROWS: Final = frozenset(("query_id", "query", "passage_id", "passage", "generated_answer"))
ONE_TEXT = "contexts: a single text, since Phoenix joins all documents; export spans to keep them apart"


def is_ragas(row: Row) -> bool:
    """Return whether a row has the field names of any ragas version."""
    return ("user_input" in row and "retrieved_contexts" in row) or isinstance(row.get(TRUTHS), list) or TEST_SET in row


def ragas_row(row: Row) -> Row:
    """Return the row with a single ground truth as its reference; the contexts of a test set are gold."""
    answers = (value for name, value in row.items() if FIELD_OF.get(folded(name)) == "response")
    if TEST_SET in row and "contexts" in row and all(value is None for value in answers):
        return {GOLD_KEPT: row["contexts"], **{name: value for name, value in row.items() if name != "contexts"}}
    truths = row.get(TRUTHS)
    if not isinstance(truths, list) or not truths or row.get("ground_truth"):
        return row
    if len(truths) > 1:
        return {**row, NOTES: [SEVERAL_TRUTHS]}
    rest = {name: value for name, value in row.items() if name != TRUTHS}
    return {**rest, "reference": truths[0]}


def is_deepeval(row: Row) -> bool:
    """Return whether a row has the field names of deepeval's files or results."""
    return "input" in row and not {"actual_output", "actualOutput", "retrieval_context", "retrievalContext"}.isdisjoint(
        row
    )


def deepeval_row(row: Row) -> Row:
    """Return the row with its name as the id, and passages split at ``|``, which joins them in CSV files."""
    row = {"id": row["name"], **row} if isinstance(row.get("name"), str) else row
    joined = [name for name in ("retrieval_context", "context") if isinstance(row.get(name), str) and "|" in row[name]]
    return {**row, **{name: row[name].split("|") for name in joined}, NOTES: [BARS]} if joined else row


def is_ragbench(row: Row) -> bool:
    """Return whether a row has the columns of RAGBench."""
    return len(RAGBENCH.intersection(row)) > 1


def ragbench_row(row: Row) -> Row:
    """Return the row with the model that wrote the response as its generator."""
    rest = {name: value for name, value in row.items() if name != "generation_model_name"}
    return {**rest, "generator": row["generation_model_name"]} if row.get("generation_model_name") else row


def is_passage(row: Row) -> bool:
    """Return whether a row of open-rag-eval holds one passage of an answer."""
    return set(row) >= PASSAGE_ROWS


def passage_spans(row: Row) -> Iterator[TraceSpan]:
    """Yield the passage, and before it the answer, which is only in the first row of a run."""
    name = " run ".join(str(row[key]) for key in ("query_id", "query_run") if row.get(key))
    if row["generated_answer"]:
        yield TraceSpan(name, name, input=row["query"], output=row["generated_answer"])
    passage = {"id": str(row["passage_id"]).strip("[]"), "text": row["passage"]}
    yield TraceSpan(name, f"{name} {row['passage_id']}", name, RETRIEVER, documents=[passage])


def is_bedrock(row: Row) -> bool:
    """Return whether a row is a record of a Bedrock evaluation, or of its results."""
    turn = find(row, "conversationTurns[0]")
    return isinstance(turn, dict) and not {"inputRecord", "output"}.isdisjoint(turn)


def bedrock_row(row: Row) -> Row | str:
    """Return the last turn with canonical names and the turns before it, or the reason to skip the row."""
    turns = [turn for turn in row["conversationTurns"] if isinstance(turn, dict)]
    turns = [{**turn["inputRecord"], **turn} if isinstance(turn.get("inputRecord"), dict) else turn for turn in turns]
    said = [(asked(turn.get("prompt")), answered(turn.get("output"))) for turn in turns]
    if not said or said[-1][1] is None:
        return "without an output"
    question, response = said[-1]
    history = [
        {"role": role, "content": text}
        for earlier, reply in said[:-1]
        for role, text in (("user", earlier and earlier.question), ("assistant", reply))
        if text
    ]
    return {
        **{name: value for name, value in row.items() if name != "conversationTurns"},
        "question": question and question.question,
        "response": response,
        "contexts": find_first(turns[-1], ("output.retrievedPassages.retrievalResults",)),
        "reference": answered(turns[-1].get("referenceResponses")) or None,
        **({"history": history} if history else {}),
    }


def is_phoenix_answer(row: Row) -> bool:
    """Return whether a row comes from ``get_qa_with_reference``, whose reference is the evidence."""
    return set(row) >= PHOENIX


def phoenix_row(row: Row) -> Row:
    """Return the row with its reference as the only context."""
    rest = {name: value for name, value in row.items() if name not in ("context.span_id", "reference")}
    return {**rest, "id": row["context.span_id"], "contexts": row["reference"], NOTES: [ONE_TEXT]}


def is_promptfoo(row: Row) -> bool:
    """Return whether a row is the result of one promptfoo test."""
    return isinstance(find_first(row, VARIABLES), dict) and ("response" in row or "error" in row) and "provider" in row


def promptfoo_row(row: Row) -> Row | str:
    """Return the variables as fields, with output and provider; indexes and scores are kept under ``promptfoo``.

    Return the reason to skip the row if it has no output.
    """
    variables: Row = find_first(row, VARIABLES)
    output = opened(find_first(row, OUTPUTS))
    response = answered(output)
    if response is None:
        return "without an output"
    given = any(FIELD_OF.get(folded(name)) == "contexts" for name in variables)
    shown = shown_in(output) if isinstance(output, dict) and not given else None
    provider = row["provider"]
    model = provider.get("id") if isinstance(provider, dict) else provider
    meta = {name: row[name] for name in ("promptIdx", "testIdx", "success", "score", "namedScores") if name in row}
    return {
        **variables,
        "response": response,
        **({"contexts": shown} if shown is not None else {}),
        **({"generator": model} if isinstance(model, str) else {}),
        **({"id": row["id"]} if isinstance(row.get("id"), str) else {}),
        **({"promptfoo": meta} if meta else {}),
    }
