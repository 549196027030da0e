"""Extract questions, answers, earlier turns and documents from logged inputs and outputs of a step.

A logged value is a text, a JSON string, an object with known keys, chat messages, or the chunks of a stream. No
function here raises: without a text the result is None, and the caller counts it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ragstone.records.jsontext import opened
from ragstone.records.paths import folded
from ragstone.records.values import paired, readable

ROLES: Final[Mapping[str, str]] = {
    "user": "user", "human": "user", "humanmessagechunk": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "aimessagechunk": "assistant",
    "gpt": "assistant", "bot": "assistant", "chatbot": "assistant", "usermessage": "user", "apimessage": "assistant",
    "tool": "tool", "function": "tool", "system": "system", "developer": "system",
}  # fmt: skip
"""Message roles as tools write them, mapped to canonical roles."""

ASKED: Final = ("question", "userinput", "userquery", "userquestion", "query", "querystr", "querybundle", "input",
                "prompt", "text", "content", "contents", "message", "messages", "inputs", "kwargs", "args",
                "data")  # fmt: skip
ANSWERED: Final = ("answer", "response", "finalanswer", "actualoutput", "output", "outputtext", "result", "generation",
                   "completion", "replies", "answers", "text", "content", "parts", "data", "message", "messages",
                   "delta", "choices", "candidates", "generations", "outputs", "kwargs", "initparameters")  # fmt: skip
"""Folded keys that hold the text of a step or a container of it, the most specific first."""

EVIDENCE: Final = ("retrievedcontexts", "retrievalcontext", "retrievaldocuments", "sourcedocuments", "sourcenodes",
                   "retrieveddocuments", "documents", "contexts", "context", "docs", "passages")  # fmt: skip
CITED: Final = ("sources", "references", "reference", "searchresults")
"""Folded keys that hold documents or only their names."""
RETRIEVED: Final = (*EVIDENCE, "nodes", "matches", "points", "chunks", "results", "output", "data", "result")
"""Folded keys that hold documents: `EVIDENCE` in any output, `RETRIEVED` in that of a retriever."""
EARLIER: Final = ("chathistory", "history", "conversationhistory")
ERRORS: Final = ("error", "errors", "exception", "traceback")
TEXTS: Final = ("text", "input_text", "output_text")
ATTACHED: Final = ("document", "search_result")
UNSAID: Final = (*ATTACHED, "reasoning", "thinking", "redacted_thinking", "thoughts", "reasoning_recap")
"""Types of message parts: texts; passages that the user attached; and all that are no part of the message's text."""
SEVERAL: Final = "response: several replies; the first is used"
RETURNED: Final = ("functionResponse", "function_response", "toolResult")
"""Keys of the parts of a message in which Gemini and Bedrock put what a tool returned."""
DEEPEST: Final = 6
"""Maximum depth of nested objects to search for a text."""


class Asked(NamedTuple):
    """A question and the turns before it as ``{role, content}``."""

    question: str
    history: tuple[Mapping[str, str], ...] = ()


class ChatTurn(NamedTuple):
    """One chat message: its canonical role (`ROLES`) and its text, which is empty if it only calls tools.

    ``passages`` are what a tool returned, or what a user attached to the message.
    """

    role: str
    text: str
    passages: tuple[Any, ...] = ()


def turns(value: Any) -> list[ChatTurn]:
    """Return the messages of a chat in order; empty if the value is not a list of messages."""
    value = opened(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # a batch of one prompt
    if not isinstance(value, list) or not value:
        return []
    found = [_turn(item) for item in value]
    return [turn for turn in found if turn] if all(found) else []


def _turn(item: Any) -> ChatTurn | None:
    if isinstance(item, list) and len(item) == 2 and all(isinstance(part, str) for part in item) and item[0] in ROLES:
        return ChatTurn(ROLES[item[0]], item[1])
    if not isinstance(item, dict):
        return None
    for inner in ("message", "kwargs", "data"):
        if isinstance(item.get(inner), dict):
            return _turn({"type": item.get("type"), **item[inner]})
    kind = str(item.get("type"))
    if "role" not in item and kind.endswith(("reasoning", "_call", "_call_output")):  # OpenAI's Responses API
        returned = item.get("results") or item.get("output") or ()
        return ChatTurn("tool" if returned else "assistant", "", _passages(returned))
    author = item["author"] if isinstance(item.get("author"), dict) else {}  # ChatGPT
    said_by = (
        item.get("role"),
        item.get("_role"),
        author.get("role"),
        item.get("type"),
        item.get("from"),
        item.get("sender"),
    )
    role = ROLES.get(str(next(filter(None, said_by), None)).lower())
    if isinstance(by_user := item.get("isCreatedByUser"), bool):  # LibreChat
        role = "user" if by_user else "assistant"
    names = ("content", "_content", "contents", "parts", "blocks", "text", "value", "message", "refusal")
    keys = [key for key in names if key in item]
    if role is None or not keys:
        return None
    contents = item[keys[0]]
    parts = [part for part in contents if isinstance(part, dict)] if isinstance(contents, list) else []
    returned = [part[key] for part in parts for key in RETURNED if isinstance(part.get(key), dict)]
    if returned:
        found = (_passages(held.get("response", held.get("content"))) for held in returned)
        return ChatTurn("tool", "", tuple(passage for each in found for passage in each))
    if any(part.get("type") == "tool_result" for part in parts):
        role = "tool"  # Anthropic gives these the role "user"
    text = next((text for key in keys if (text := _content(item[key]))), "")
    held = (contents or text) if role == "tool" else [part for part in parts if part.get("type") in ATTACHED]
    return ChatTurn(role, text, _passages(held))


def _content(value: Any) -> str:
    """Return the text of a message's content, which is a string, an object or a list of parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_content, value))
    if not isinstance(value, dict) or _part(value) in UNSAID or value.get("thought") is True:
        return ""
    names = ("text", "content", "parts", "value", "message_content", "response", "resource", "refusal")
    return next((text for name in names if (text := _content(value.get(name)))), "")


def _part(value: Any) -> str:
    """Return the type of a part of a message; empty if it is none."""
    names = ("type", "block_type", "content_type")
    return str(next((value[name] for name in names if value.get(name)), "")) if isinstance(value, dict) else ""


def _is_content(parts: Sequence[Any]) -> bool:
    """Return whether a list is the content of one message: typed parts, some of them texts."""
    types = list(map(_part, parts))
    return all(types) and not set(types).isdisjoint(TEXTS)


def _passages(value: Any) -> tuple[Any, ...]:
    """Return the passages in what a tool returned: documents, else each part of a list, else the text itself."""
    if isinstance(value, dict) and _part(value) in ATTACHED:
        source = value.get("source")
        inner = source if isinstance(source, dict) else value
        parts = inner.get("content")
        text = "\n".join(map(_content, parts if isinstance(parts, list) else [parts])) or inner.get("data")
        return ({**value, "content": text},) if isinstance(text, str) and inner.get("type") != "base64" else ()
    value = value.get("content") if _part(value) == "tool_result" else value
    listed = isinstance(value, dict) or (isinstance(value, list) and not any(map(_part, value)))
    found = documents(value) if listed or (value and opened(value) is not value) else None
    if found is not None and readable(found):
        return tuple(found)
    if isinstance(value, dict):
        return _passages(_content(value) or answered(value))
    if isinstance(value, list):
        return tuple(passage for part in value for passage in _passages(part))
    return (value,) if isinstance(value, str) and value.strip() else ()


def asked(value: Any, depth: int = 0) -> Asked | None:
    """Return the question in a step's input, with the turns before it, or None."""
    value = opened(value)
    if isinstance(value, str):
        return Asked(value) if value.strip() else None
    if found := turns(value):
        return asked_last(found)
    if isinstance(value, list):
        value = [_content(value)] if _is_content(value) else value
        return asked(value[0], depth + 1) if len(value) == 1 and depth < DEEPEST else None
    if not isinstance(value, dict) or depth > DEEPEST:
        return None
    for inner in _values(value, ASKED):
        if best := asked(inner, depth + 1):
            before = next((found for one in _values(value, EARLIER) if (found := earlier(one))), [])
            return best if best.history else Asked(best.question, _as_history(before))
    return asked(next(iter(value.values())), depth + 1) if len(value) == 1 else None


def asked_last(found: Sequence[ChatTurn]) -> Asked | None:
    """Return the last question of a chat with the turns before it; None if it has no text (an image, for example)."""
    last = max((at for at, turn in enumerate(found) if turn.role == "user"), default=-1)
    return Asked(found[last].text, _as_history(found[:last])) if last >= 0 and found[last].text.strip() else None


def _as_history(found: Sequence[ChatTurn]) -> tuple[Mapping[str, str], ...]:
    said = (turn for turn in found if turn.role in ("user", "assistant") and turn.text.strip())
    return tuple({"role": turn.role, "content": turn.text} for turn in said)


def earlier(value: Any) -> list[ChatTurn]:
    """Return earlier turns from messages, or from pairs of a question and its answer."""
    pairs = opened(value)
    if isinstance(pairs, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(text, str) for text in pair)
        and pair[0] not in ROLES
        for pair in pairs
    ):
        return [ChatTurn(role, text) for pair in pairs for role, text in zip(("user", "assistant"), pair, strict=True)]
    return turns(value)


def turns_before(row: dict[str, Any], question: str, response: str) -> tuple[Mapping[str, str], ...]:
    """Return the earlier turns of a record that has both a question and a chat, without the current exchange."""
    found = next((chat for one in _values(row, (*EARLIER, "messages")) if (chat := earlier(one))), [])
    if not found:
        return ()
    last = max((at for at, turn in enumerate(found) if turn.role == "user"), default=-1)
    replies = {turn.text.strip() for turn in found[last + 1 :] if turn.role == "assistant" and turn.text.strip()}
    current = last >= 0 and found[last].text.strip() == question.strip() and replies <= {response.strip()}
    return _as_history(found[:last] if current else found)


def answered(value: Any, notes: list[str] | None = None, depth: int = 0) -> str | None:
    """Return the answer in a step's output; None if it contains no text. Of several replies, note the choice."""
    value = opened(value)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # a batch of one prompt
    if isinstance(value, list) and len(value) > 1 and all(map(_is_reply, value)):
        value = value[:1]
        if notes is not None:
            notes.append(SEVERAL)
    if found := turns(value):
        last = next((turn.text for turn in reversed(found) if turn.role == "assistant"), None)
        chunks = len(found) > 1 and all(turn.role == "assistant" for turn in found) and _is_stream(value)
        return "".join(turn.text for turn in found) if chunks else last
    if depth > DEEPEST:
        return None
    if isinstance(value, list):
        if _is_content(value):
            return _content(value) or None
        parts = [answered(item, notes, depth + 1) for item in value]
        texts = [part for part in parts if part is not None]
        return "".join(texts) if len(texts) == 1 or _is_stream(value) else None
    if not isinstance(value, dict):
        return None
    if (said := _turn(value)) and said.role == "assistant" and said.text:
        return said.text
    for inner in _values(value, ANSWERED):
        if (text := answered(inner, notes, depth + 1)) is not None:
            return text
    return answered(next(iter(value.values())), notes, depth + 1) if len(value) == 1 and not is_error(value) else None


def _is_reply(item: Any) -> bool:
    """Return whether an item is one of the replies to a request for several: an object around a message."""
    held = (item.get("message"), item.get("content")) if isinstance(item, dict) and "role" not in item else ()
    said = next((_turn(message) for message in held if isinstance(message, dict)), None)
    return said is not None and said.role == "assistant"


def is_error(value: Any) -> bool:
    """Return whether an output is an object that describes an error."""
    value = opened(value)
    return isinstance(value, dict) and any(value.get(name) for name in ERRORS)


def _is_stream(items: Sequence[Any]) -> bool:
    """Return whether all items are strings or stream chunks; several complete answers are not one answer."""
    return all(isinstance(item, str) for item in items) or all(map(_is_chunk, items))


def _is_chunk(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    if "chunk" in str(item.get("object") or item.get("type") or item.get("id") or "").lower():
        return True
    choices = item.get("choices", [item])  # MLflow's chunks are choices themselves
    return isinstance(choices, list) and all(isinstance(one, dict) and "delta" in one for one in choices)


def documents(value: Any, names: Sequence[str] = RETRIEVED, depth: int = 0) -> list[Any] | None:
    """Return the documents in a retriever's output, unchanged and in order; None if it has no list of documents."""
    value = opened(value)
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], list):
            value = value[0]  # a batch of one query
        items = [paired(opened(item)) for item in value]
        return items if all(isinstance(item, str | dict) for item in items) else None
    if not isinstance(value, dict) or depth > 2:
        return None
    for inner in _values(value, names):
        if isinstance(opened(inner), list | dict) and (found := documents(inner, names, depth + 1)) is not None:
            return found
    return None


def shown_in(output: Mapping[str, Any]) -> list[Any] | None:
    """Return the documents that an output or a message holds next to its text; names of sources are none."""
    found = documents(output, EVIDENCE)
    cited = documents(output, CITED) or [] if found is None else []
    parts = [part for item in cited if isinstance(item, dict) for part in _parts(item)]
    return parts if parts and len(cited) <= len(parts) and readable(parts) else found


def _parts(item: dict[str, Any]) -> list[Any]:
    """Return the documents of one source: Open WebUI lists the texts of a source and their metadata."""
    texts, details = item.get("document"), item.get("metadata")
    if not isinstance(texts, list) or not isinstance(details, list):
        return [item]
    return [{"text": text, "metadata": inner} for text, inner in zip(texts, details, strict=False)]


def _values(value: dict[str, Any], names: Sequence[str]) -> list[Any]:
    """Return the values that are not None under these folded names, in the order of the names."""
    spelled = {folded(key): key for key in reversed(value)}
    return [value[spelled[name]] for name in names if name in spelled and value[spelled[name]] is not None]
