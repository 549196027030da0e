"""What a search sees of a record: its texts, each once, without its passages.

Promises: whole texts; what a unit says in the response's own words is not told twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text_of(result: Mapping[str, Any]) -> str:
    """Id, question, response, reference and units, a line each; of a record that could not be read, id and reason."""
    response = result.get("response") or ""
    told = [
        *(result.get(name) for name in ("id", "question", "response", "reference", "set_aside")),
        *(unit["text"] for unit in result.get("units", ()) if unit["text"] and unit["text"] not in response),
    ]
    return "\n".join(dict.fromkeys(text for text in told if text))
