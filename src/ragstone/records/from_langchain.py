"""Results of LangChain's chains (``create_retrieval_chain``, ``RetrievalQA``, conversational), also by ``dumpd``."""

from __future__ import annotations

from ragstone.records.logged_texts import answered, asked, documents
from ragstone.records.mapping import Row

QUESTIONS = ("input", "query", "question")
ANSWERS = ("answer", "result", "output", "response")
DOCUMENTS = ("context", "source_documents", "documents")
HISTORY = "chat_history"


def is_result(row: Row) -> bool:
    """Return whether a row has documents of LangChain beside an answer."""
    if "source_documents" in row and "result" in row:
        return True
    return any(row.get(name) is not None for name in ANSWERS) and any(_has_pages(row.get(name)) for name in DOCUMENTS)


def _has_pages(value: object) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    inner = first.get("kwargs", first) if isinstance(first, dict) else None
    return isinstance(inner, dict) and "page_content" in inner


def record_row(row: Row) -> Row:
    """The row under canonical names; the question and the answer may be messages."""
    question = next((name for name in QUESTIONS if row.get(name) is not None), "")
    answer = next((name for name in ANSWERS if row.get(name) is not None), "")
    pages = next((name for name in DOCUMENTS if documents(row.get(name)) is not None), "")
    found = asked({name: row[name] for name in (question, HISTORY) if name in row})
    rest = {name: value for name, value in row.items() if name not in (question, answer, pages, HISTORY)}
    if found is not None:
        rest["question"] = found.question
        rest |= {"history": list(found.history)} if found.history else {}
    response = answered(row.get(answer))
    return {
        **rest,
        **({"response": response} if response is not None else {}),
        **({"contexts": documents(row[pages])} if pages else {}),
    }
