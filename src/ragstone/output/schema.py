"""Generate the JSON Schema (2020-12) of records, labels, results, summaries and runs.

All schemas except that of a record are derived from types. Additional keys are allowed, so that documents
of later versions that add keys are still valid.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Final, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from msgspec import Struct, StructMeta, structs

from ragstone.errors import ConfigError
from ragstone.labels import LabelRow
from ragstone.records.fields import ALIASES, closest
from ragstone.result_types import ResultDict, RunDict, SummaryDict

DOCUMENTS: Final[Mapping[str, str]] = {
    "record": "input record",
    "label": "one label, written by 'ragstone label' and read by 'ragstone agree'",
    "result": "one line of results.jsonl",
    "summary": "summary.json",
    "run": "run.json",
}
_PLAIN: Final = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_TEXT: Final = {"type": ["string", "null"]}
_RECORD: Final[Mapping[str, Mapping[str, Any]]] = {
    "id": {"type": ["string", "integer", "null"]},
    "question": _TEXT,
    "response": {"type": ["string", "array", "null"], "items": {"type": "object", "required": ["text"]}},
    "contexts": {"type": ["string", "array", "null"], "items": {"type": ["string", "object", "null"]}},
    "reference": _TEXT,
    "nuggets": {
        "type": ["array", "null"],
        "items": {
            "type": ["string", "object"],
            "properties": {"text": {"type": "string"}, "importance": _TEXT, "assignment": _TEXT},
        },
    },
    "citations": {"type": ["array", "null"]},
    "relevant": {"type": ["array", "object", "null"]},
    "answerable": {"type": ["boolean", "null"]},
    "overrides": {"type": ["object", "null"]},
}
"""Schemas of a record's fields; all other keys are kept as ``meta``."""


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of a document in ``DOCUMENTS``; raise ConfigError for another name."""
    if name not in DOCUMENTS:
        raise ConfigError(f"no schema '{name}'{closest(name, DOCUMENTS)}")
    defs: dict[str, Any] = {}
    if name == "record":
        properties = {
            key: {**kind, **({"description": f"Aliases: {', '.join(ALIASES[key])}."} if ALIASES[key] else {})}
            for key, kind in _RECORD.items()
        }
        found: dict[str, Any] = {"type": "object", "properties": properties}
    elif name == "result":
        unread = {"id": "string", "position": "integer", "set_aside": "string", "scores": "array"}
        kinds = {key: {"type": kind} for key, kind in unread.items()}
        aside = {"type": "object", "properties": kinds, "required": [*unread]}
        found = {"anyOf": [_of(ResultDict, defs), aside]}
    else:
        found = _of({"label": LabelRow, "summary": SummaryDict, "run": RunDict}[name], defs)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": DOCUMENTS[name]}
    return {**head, **found, **({"$defs": defs} if defs else {})}


def _of(hint: Any, defs: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type; schemas of objects are added to ``defs``."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return _of(inner[0], defs)
    if hint is Any:
        return {}
    if is_typeddict(hint) or isinstance(hint, StructMeta):
        name = hint.__name__.removesuffix("Dict")
        if name not in defs:
            defs[name] = {}  # for recursive types
            defs[name] = _object(hint, defs)
        return {"$ref": f"#/$defs/{name}"}
    if origin is Literal:
        return {"enum": [*inner]}
    if origin in (Union, UnionType):
        kinds = [_of(one, defs) for one in inner]
        plain = [kind["type"] for kind in kinds if kind.keys() == {"type"}]
        return {"type": plain} if len(plain) == len(kinds) else {"anyOf": kinds}
    if origin in (list, tuple):
        return {"type": "array", "items": _of(inner[0], defs)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _of(inner[1], defs)}
    return {"type": _PLAIN[hint]}


def _object(kind: Any, defs: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    if issubclass(kind, Struct):
        required = [one.name for one in structs.fields(kind) if one.required]
        hints = {name: hint if name in required else hint | None for name, hint in hints.items()}
    else:
        required = [name for name, hint in hints.items() if get_origin(hint) is not NotRequired]
    return {
        "type": "object",
        "description": re.sub(r"\bNone\b", "null", inspect.getdoc(kind) or "").replace("``", "`"),
        "properties": {name: _of(hint, defs) for name, hint in hints.items()},
        "required": required,
    }
