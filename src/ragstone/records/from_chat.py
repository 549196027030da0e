"""Read conversations: ``messages``, requests with responses, OpenAI evals samples, and multi-turn samples of ragas.

The last assistant turn is the response, the last user turn before it is the question, and earlier turns are kept as
``history``. A row's own contexts come first, then the output of tools after the question. Next comes the text between
``<context>`` or ``<documents>`` tags in a system message or the question. The last choice is the text after a heading
such as ``Context:`` in a system message, or between such a heading and ``Question:`` in the question. A question is
read without the contexts that its message contains.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ragstone.records.fields import GOLD, GOLD_KEPT, NOTES
from ragstone.records.jsontext import opened
from ragstone.records.logged_texts import EVIDENCE as OF_EVIDENCE
from ragstone.records.logged_texts import ChatTurn, answered, asked_last, documents, shown_in, turns
from ragstone.records.mapping import SAID_GOLD, Row
from ragstone.records.paths import MISSING, find, folded
from ragstone.records.values import readable

TALKS: Final = ("messages", "mapping", "chat.messages", "chat_messages", "conversation", "conversations", "turns",
                "request.messages", "body.messages", "request.input", "data.prompt", "sample.input", "input", "prompt",
                "user_input", "inputs.messages", "history", "question", "query", "contents",
                "request.contents")  # fmt: skip
QUESTIONS: Final = ("question", "query", "user_input", "input", "prompt")
"""A row with a string under one of these keys has its own question and is not read as a conversation, unless the string
is a prompt with contexts."""
REPLIES: Final = ("response", "completion", "output", "outputs", "answer", "data.sampled", "sample.output", "choices",
                  "actual_output")  # fmt: skip
OUTPUT_OF: Final = {"request.input": "response.output", "input": "output"}
PARTS: Final = ("choices[0]", "choices[0].message")
CITED: Final = ("context.citations", "choices[0].message.context.citations",
                "candidates[0].groundingMetadata.groundingChunks[].retrievedContext")  # fmt: skip
"""Paths of parts of a reply, and of the passages that it cites."""
EVIDENCE: Final = frozenset(("contexts", "retrievedcontexts", "retrievalcontext", "documents", "passages", "context"))
DEEPEVAL: Final = frozenset(("scenario", "expectedoutcome"))
"""Folded names in deepeval's conversational test cases, whose ``context`` is gold."""
TAGGED: Final = re.compile(r"<(context|documents?|sources?)>(.+?)</\1>", re.DOTALL | re.IGNORECASE)
NONE_IN_SYSTEM: Final = "contexts: none found in the system message; put passages between <context> and </context>"
NONE_IN_QUESTION: Final = NONE_IN_SYSTEM.replace("system", "user")
UNANSWERED: Final = "conversation: later user turns have no answer; the last exchange before them is used"
NO_USER, NO_ANSWER = "without a user message", "without an assistant answer"


def record_row(row: Row) -> Row | str | None:
    """Return the last exchange as a row with canonical names and its history, or the reason to skip the row.

    None means that the row is no conversation, or has a question of its own.
    """
    asked = [row[name] for name in QUESTIONS if isinstance(row.get(name), str)]
    plain = len(asked) > 1 or any(folded(name) in EVIDENCE for name in row)
    if asked and (plain or not (_answers_items(row, "input") or _holds_contexts(asked[0]))):
        return None
    path, talk = _talk(row)
    if not talk or (path != "messages" and all(turn.role != "user" for turn in talk)):
        return None
    notes: list[str] = []
    written, response = _reply(row, path, notes)
    own: list[Any] | None = None
    replied: list[ChatTurn] = []
    if response is None:
        last = max((at for at, turn in enumerate(talk) if turn.role == "assistant" and turn.text.strip()), default=-1)
        after = {turn.role for turn in talk[last + 1 :]}
        if last < 0 or "tool" in after:
            return NO_ANSWER
        notes += [UNANSWERED] if "user" in after else []
        messages = _messages(row, path)
        own = _shown_with(messages[last]) if len(messages) > last else None
        response, talk = talk[last].text, talk[:last]
    else:
        reply: Any = find(row, written)
        replied = turns(reply.get("output") if isinstance(reply, dict) else reply)
        own = _shown_with(row if written == "choices" else reply)
    question = asked_last(talk)
    if question is None:
        return NO_USER
    used = {name.partition(".")[0] for name in (path, written) if name}
    rest = {name: value for name, value in row.items() if name not in used}
    if path == "turns" and not DEEPEVAL.isdisjoint(map(folded, rest)) and (gold := rest.pop(GOLD, None)):
        rest[GOLD_KEPT] = gold
        notes.append(SAID_GOLD)
    model = next((find(row, name) for name in ("response.model", "model") if isinstance(find(row, name), str)), None)
    found: Row = {**rest, "question": question.question, "response": response}
    found |= {"history": list(question.history)} if question.history else {}
    found |= {"generator": model} if model else {}
    if own is None and "." in path:
        beside = find(row, path.rpartition(".")[0])
        own = documents(beside, OF_EVIDENCE) if isinstance(beside, dict) else None
    if not any(folded(name) in EVIDENCE for name in rest):
        shown, note, said = (own, "", question.question) if own is not None else _evidence(talk, replied)
        found |= {"question": said, **({"contexts": shown} if shown is not None else {})}
        notes += [note] if note else []
    return {**found, NOTES: notes} if notes else found


def _talk(row: Row) -> tuple[str, list[ChatTurn]]:
    for path in TALKS:
        value = _messages(row, path)
        if isinstance(value, str) and (_answers_items(row, path) or (path in QUESTIONS and _holds_contexts(value))):
            value = [{"role": "user", "content": value}]
        if value is not MISSING and not isinstance(value, str) and (found := turns(value)):
            return path, found
    return "", []


def _messages(row: Row, path: str) -> Any:
    """Return the value at a path; of ChatGPT's tree of messages (``mapping``), the branch of the current one."""
    value = opened(find(row, path))
    if path != "mapping" or not isinstance(value, dict):
        return value
    name, branch = row.get("current_node") or next(reversed(value), ""), list[Any]()
    while isinstance(name, str) and isinstance(node := value.get(name), dict) and len(branch) < len(value):
        branch.append(node.get("message"))
        name = node.get("parent")
    return [one for one in reversed(branch) if isinstance(one, dict) and one.get("recipient") in (None, "all")]


def _answers_items(row: Row, path: str) -> bool:
    """Return whether the text at a path is the input of a request to OpenAI's Responses API, which returns items."""
    return path in OUTPUT_OF and bool(turns(find(row, OUTPUT_OF[path])))


def _shown_with(reply: Any) -> list[Any] | None:
    """Return the documents that a reply holds, also of Azure's "on your data", PrivateGPT, Perplexity or Gemini."""
    parts = [part for part in (reply, *(find(reply, path) for path in PARTS)) if isinstance(part, dict)]
    cited = ([item for item in found if item] for path in CITED if isinstance(found := find(reply, path), list))
    passages = next((items for items in cited if items and readable(items)), None)
    return next((shown for part in parts if (shown := shown_in(part)) is not None), passages)


def _holds_contexts(prompt: str) -> bool:
    """Return whether a prompt contains contexts and, below them, the question."""
    from ragstone.records import prompt_contexts  # noqa: PLC0415 - for these alone

    return bool(prompt_contexts.question_in(prompt) and prompt_contexts.contexts_in(prompt))


def _reply(row: Row, path: str, notes: list[str]) -> tuple[str, str | None]:
    for name in REPLIES:
        value: Any = find(row, name)
        if value is not MISSING and value is not None and not path.startswith(name):
            return name, answered(value, notes)
    return "", None


def _evidence(talk: list[ChatTurn], replied: list[ChatTurn]) -> tuple[list[Any] | None, str, str]:
    """Return the passages of the last exchange, or None, a note, and the question without these passages.

    With them, every passage would look relevant to the question. ``replied`` are turns in a separate reply.
    """
    last, end = (
        max((at for at, turn in enumerate(part) if turn.role == "user"), default=-1) for part in (talk, replied)
    )
    steps = [*talk[last:], *replied[end + 1 :]]
    tools = [turn for turn in steps if turn.passages or (turn.role == "tool" and turn.text.strip())]
    asked = talk[last].text
    if tools:
        return [passage for turn in tools for passage in turn.passages], "", asked
    systems = [turn.text for turn in talk if turn.role == "system"]
    tagged = [match[2].strip() for text in [*systems, asked] for match in TAGGED.finditer(text)]
    if tagged:
        return tagged, "contexts: read from tags in the prompt", TAGGED.sub("", asked).strip() or asked
    from ragstone.records import prompt_contexts  # noqa: PLC0415 - for these alone

    if shown := [item for text in systems for item in prompt_contexts.contexts_in(text)]:
        return shown, "contexts: read from the system message, below its heading", asked
    if (said := prompt_contexts.question_in(asked)) and (shown := prompt_contexts.contexts_in(asked)):
        return shown, "contexts: read from the user message, between its headings", said
    if prompt_contexts.HEADING.search(asked):
        return None, NONE_IN_QUESTION, asked
    return None, NONE_IN_SYSTEM if any(map(prompt_contexts.MENTION.search, systems)) else "", asked
