"""Read data sets of other evaluators and results of hosted services, where aliases alone are not enough.

Each function returns the row with canonical names, or the reason to skip it; None if the row has another format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ragstone.records.fields import FIELD_OF, GOLD_KEPT, NOTES
from ragstone.records.jsontext import opened
from ragstone.records.logged_texts import answered, asked, shown_in
from ragstone.records.mapping import Row
from ragstone.records.paths import MISSING, find, find_first, folded
from ragstone.records.span_join import RETRIEVER, TraceSpan

VARIABLES: Final = ("vars", "testCase.vars")
OUTPUTS: Final = ("response.output", "output")
TEST_SET: Final = "evolution_type"
"""A column of the test sets of old ragas versions, whose contexts are gold until there is an answer."""
RAGBENCH = frozenset(("documents_sentences", "response_sentences", "generation_model_name"))
PHOENIX = frozenset(("context.span_id", "input", "output", "reference"))
BARS = "contexts: split at each |, which deepeval's CSV puts between passages"
ONE_TEXT = "contexts: a single text, since Phoenix joins all documents; export spans to keep them apart"
PASSAGE_ROWS: Final = frozenset(("query_id", "query", "passage_id", "passage", "generated_answer"))


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def ragas_row(row: Row) -> Row | None:
    """Read a sample of any ragas version; the contexts of a test set without answers are gold."""
    if not ({"user_input", "retrieved_contexts"} <= row.keys() or TEST_SET in row or "ground_truths" in row):
        return None
    answers = (value for name, value in row.items() if FIELD_OF.get(folded(name)) == "response")
    gold = TEST_SET in row and "contexts" in row and all(value is None for value in answers)
    return {GOLD_KEPT: row["contexts"], **_without(row, "contexts")} if gold else row


def deepeval_row(row: Row) -> Row | None:
    """Read a test case, with its name as the id and passages split at ``|``, which joins them in CSV files."""
    if "input" not in row or {"actualoutput", "retrievalcontext"}.isdisjoint(map(folded, row)):
        return None
    row = {"id": row["name"], **row} if isinstance(row.get("name"), str) else row
    joined = [name for name in ("retrieval_context", "context") if isinstance(row.get(name), str) and "|" in row[name]]
    return {**row, **{name: row[name].split("|") for name in joined}, NOTES: [BARS]} if joined else row


def ragbench_row(row: Row) -> Row | None:
    """Read a row of RAGBench, with the model that wrote the response as its generator."""
    if len(RAGBENCH.intersection(row)) < 2:
        return None
    model = row.get("generation_model_name")
    return {**_without(row, "generation_model_name"), **({"generator": model} if model else {})}


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


def bedrock_row(row: Row) -> Row | str | None:
    """Read the last turn of a Bedrock evaluation, or what RetrieveAndGenerate returned (with ``input``, if logged)."""
    nothing_cited = row.get("citations") == [] and "sessionId" in row and find(row, "output.text") is not MISSING
    whole = [row] if nothing_cited or find(row, "citations[0].retrievedReferences") is not MISSING else ()
    turns = row.get("conversationTurns", whole)
    turns = [turn for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
    if not turns or {"inputRecord", "output"}.isdisjoint(turns[0]):
        return None
    turns = [{**turn["inputRecord"], **turn} if isinstance(turn.get("inputRecord"), dict) else turn for turn in turns]
    said = [(asked(turn.get("prompt", turn.get("input"))), answered(turn.get("output"))) for turn in turns]
    question, response = said[-1]
    if response is None:
        return "without an output"
    history = [
        {"role": role, "content": text}
        for earlier, reply in said[:-1]
        for role, text in (("user", earlier and earlier.question), ("assistant", reply))
        if text
    ]
    return {
        **_without(row, "conversationTurns", "input", "output", "citations"),
        **({"question": question.question} if question else {}),
        "response": response,
        "contexts": find_first(turns[-1], ("output.retrievedPassages.retrievalResults",)),
        "reference": answered(turns[-1].get("referenceResponses")) or None,
        **({"history": history} if history else {}),
        **(_cited(response, row["citations"]) if "conversationTurns" not in row else {}),
    }


def _cited(response: str, citations: list[Any]) -> Row:
    """Return the passages that an answer cites, and the parts of it that cite them."""
    shown: list[Any] = []
    found, end = [], 0
    for citation in citations:
        given = find(citation, "retrievedReferences")
        references = given if isinstance(given, list) else []
        shown += [one for at, one in enumerate(references) if one not in (*shown, *references[:at])]
        part = find(citation, "generatedResponsePart.textResponsePart.text")
        if isinstance(part, str) and (start := response.find(part, end)) >= 0:
            end = start + len(part)
            names = [str(shown.index(one) + 1) for one in references]
            found.append({"span": {"start": start, "end": end}, "passages": names})
    passages = [{"id": str(number), **one} for number, one in enumerate(shown, 1) if isinstance(one, dict)]
    return {"contexts": passages, "citations": found, NOTES: ["contexts: Bedrock returns only the cited passages"]}


def vectara_row(row: Row) -> Row | None:
    """Read the result of a query; it has the question only if that was logged with it."""
    answer = next((name for name in ("summary", "answer") if name in row), "")
    others = (FIELD_OF.get(folded(name)) for name in row if name != answer)
    found = find(row, "search_results[0].document_id")
    if not answer or not isinstance(found, str) or not {"response", "contexts"}.isdisjoint(others):
        return None
    question = asked(row.get("query"))
    rest = _without(row, answer, "search_results") | ({"query": question.question} if question else {})
    return {**rest, "response": row[answer], "contexts": row["search_results"]}


def phoenix_row(row: Row) -> Row | None:
    """Read a row of ``get_qa_with_reference``, whose reference is the evidence: its only context."""
    if not set(row) >= PHOENIX:
        return None
    rest = _without(row, "context.span_id", "reference")
    return {**rest, "id": row["context.span_id"], "contexts": row["reference"], NOTES: [ONE_TEXT]}


def promptfoo_row(row: Row) -> Row | str | None:
    """Read the result of one test: variables as fields, output, provider; indexes and scores under ``promptfoo``."""
    variables: Any = find_first(row, VARIABLES)
    if not isinstance(variables, dict) or "provider" not in row or {"response", "error"}.isdisjoint(row):
        return None
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
