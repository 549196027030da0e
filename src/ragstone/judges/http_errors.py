"""What an HTTP error means: whether it ends its call or the run, whether it is worth a retry, and what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

RETRYABLE: Final = frozenset({408, 409, 425, 429, *range(500, 600)} - {501, 505})
"""Statuses after which the same request may succeed; 501 and 505 are excluded because they are permanent."""
LONGEST_SHOWN: Final = 2000
"""Bytes of a body that a message may quote."""
MINUTE: Final = 60.0
"""Maximum wait in seconds of a limit per minute; a longer wait belongs to another limit."""
_MODERATED: Final = re.compile(r"moderat|flagged|content.?(?:polic|filter|management)|safety", re.IGNORECASE)
"""Matches a refusal that is about one text, not about the key or every request."""
_WRONG_KEY: Final = re.compile(
    r"api.key.{0,20}(?:not valid|invalid)|(?:incorrect|invalid|wrong) api.key", re.IGNORECASE
)
"""Matches a rejected key that some endpoints report with status 400 instead of 401."""
_TOO_LONG: Final = re.compile(
    r"context.?(?:size|length|window)|max_new_tokens` must be|maximum prompt length|input token count|too many tokens: "
    r"|(?:prompt|input|request)(?: is)? too (?:long|large)",
    re.IGNORECASE,
)
"""Matches the error for a request longer than the model's context or than a limit per minute, with any status."""
_WITH_REPLY: Final = re.compile(r"max_\w*tokens|in the completion", re.IGNORECASE)
"""Matches such an error that counts the longest reply as part of the request."""
_NO_CREDIT: Final = re.compile(
    r"credit balance is too low|reached your specified .{0,20}usage limits|budget has been exceeded|exceeded.?budget"
    r"|crossed budget|exceeded your current quota.*(?:error-codes|limit: 0\b)",
    re.IGNORECASE,
)
"""Matches a lack of credit, budget or quota that some endpoints report with status 400 or 429 instead of 402."""
_NO_CAPACITY: Final = re.compile(r"resource.?unavailable|capacity|\bunavailable\b", re.IGNORECASE)
"""Matches a flex tier without capacity, reported with status 429, 498 (Groq) or 503 (Gemini)."""
_LOADING: Final = re.compile(r"loading model|model is (?:still )?(?:being )?load", re.IGNORECASE)
_MARKUP: Final = re.compile(r"<(head|script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
"""Matches what a web page does not show, and its tags."""


def meaning(
    status: int, code: str, said: str, *, wait: float | None, variable: str, flex: bool = False, page: bool = False
) -> dict[str, Any]:
    """Return the fields of a ``BackendError``.

    ``code`` and ``said`` are the error's codes and message, ``wait`` is what the endpoint asked for, ``variable`` holds
    the key, ``flex`` tells whether the call used that tier, and ``page`` whether the body is a web page.
    """
    hint = ""
    fatal = too_long = False
    exceeded = bool(_TOO_LONG.search(said))
    moderated = bool(_MODERATED.search(f"{said} {code}"))
    retryable = status in (*RETRYABLE, 498) and not exceeded
    no_capacity = flex and status in (429, 498, 503) and bool(_NO_CAPACITY.search(f"{said} {code}"))
    loading = status == 503 and bool(_LOADING.search(said))
    no_credit = re.search("insufficient_quota|budget_exceeded", code) or _NO_CREDIT.search(said)
    firewall = status == 403 and page and not moderated
    if firewall:
        fatal, hint = (
            True,
            "the reply is a web page, probably of a firewall; check the base URL and the network",
        )
    elif status in (401, 403) and not moderated:
        fatal = True
        hint = f"check the key in {variable}" if variable else "the endpoint requires a key"
    elif status == 404:
        fatal, hint = True, "check the model's name and the base URL, which usually ends in /v1"
    elif status == 407:
        fatal, hint = True, "the proxy requires a login: set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"
    elif status == 402 or (status in (400, 429) and no_credit):
        fatal, retryable, hint = True, False, "the account or the key has no credit left"
    elif status == 400 and _WRONG_KEY.search(said):
        fatal, hint = True, f"check the key in {variable}"
    elif exceeded or "context_length" in code or ("context" in said.lower() and "token" in said.lower()):
        too_long = True
        hint = "the record is too long for this model; use a model with a longer context"
        if _WITH_REPLY.search(said):
            hint = "set a smaller max_tokens in the judge's table, or use a model with a longer context"
    elif 300 <= status < 400:
        fatal, hint = True, "the address redirects elsewhere; give the final base URL"
    elif loading:
        hint = "the server is loading its model; set how long to wait with deadline under [engine]"
    elif no_capacity or "service_tier" in said:
        hint = "tier_fallback = true in the judge's table sends a call to the standard tier if flex is not available"
    elif status == 429:
        hint = "check the quota of the account"
        if (wait or 0.0) <= MINUTE:
            hint = f"set --rpm (or rpm in the judge's table) to the endpoint's requests per minute, or {hint}"
    general = firewall or not (retryable or fatal or too_long or moderated or status == 413)
    return {
        "retryable": retryable, "fatal": fatal, "retry_after": wait if retryable else None, "hint": hint,
        "too_long": too_long, "loading": loading, "no_capacity": no_capacity, "general": general,
    }  # fmt: skip


def status_of(status: int, data: bytes) -> int:
    """Return the status of an answer; gateways such as OpenRouter report some errors with 200 and their own code."""
    status = 200 if 200 <= status < 300 else status
    if status != 200 or b'"error"' not in data:
        return status
    code = str(error_in(data).get("code"))
    return int(code) if re.fullmatch("[45][0-9]{2}", code) else status


def json_in(data: bytes) -> Any:
    """Parse a body, even one with NaN, half of a character or bytes that are not UTF-8; raise ValueError for others."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = data.decode("utf-8", "replace")
    try:
        whole = json.dumps(json.loads(text), ensure_ascii=False)
        return json.loads(whole.encode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("too deeply nested") from error


def error_in(data: bytes) -> dict[str, Any]:
    """Return the error object in a body; empty if there is none."""
    try:
        body = json_in(data)
    except ValueError:
        return {}
    if isinstance(body, list) and body:  # some endpoints wrap the error in a list
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else body
    return error if isinstance(error, dict) else {"message": str(error or "")}


def said_by(error: Mapping[str, Any]) -> str:
    """Return the message of an error; FastAPI servers call it ``detail``, which may be a list with locations."""
    said = error.get("message") or error.get("detail") or ""
    if isinstance(said, dict):
        said = said.get("detail") or said
    if isinstance(said, list):
        entries = [entry for entry in said if isinstance(entry, dict)]
        places = ((entry.get("loc"), entry.get("msg", "")) for entry in entries)
        said = "; ".join(f"{'.'.join(map(str, at)) if isinstance(at, list) else at}: {what}" for at, what in places)
    return str(said)


def shown(data: bytes) -> str:
    """Return the text of a body in one line; that of a web page without its markup."""
    text = data[:LONGEST_SHOWN].decode("utf-8", "replace")
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        text = _MARKUP.sub(" ", text) if _MARKUP.sub("", text).strip() else text
    return " ".join(text.split())
