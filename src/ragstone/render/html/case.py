"""Prepare one record for its page: the result without redundant data.

Guarantees: nothing is changed, only omitted: default values, values found elsewhere in the same record, and the ends
of very long values of ``meta``. Texts are complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from ragstone.judges.base import reply_from_json
from ragstone.questions import history_of
from ragstone.render.explanation import score_facts
from ragstone.render.wording import SPECIALS, grade_said, source_of, word
from ragstone.store.database import Store

LONGEST_META: Final = 400
"""Maximum length, in characters, of a value of ``meta``; complete values are in results.jsonl."""

_OF_CALL: Final = ("judge", "step", "metrics", "maker", "input_tokens", "output_tokens", "cached_tokens",
                   "reasoning_tokens", "dollars", "finish", "error", "reading")  # fmt: skip
_TOLD_ELSEWHERE: Final = ("claims", "nuggets", "trivial", "accepted", "duplicates", "left_out", "shortcut", "band",
                          "agreement", "spread")  # fmt: skip
"""Keys of a score's detail that repeat its units, verdicts and facts."""
_TOLD_BY_SCORE: Final = ("reason", "verdicts_in", "repeats")


def case_of(result: Mapping[str, Any], signatures: Mapping[str, str]) -> dict[str, Any]:
    """Return a result for its page; signatures equal to the run's (``signatures``, by metric) are omitted."""
    if "set_aside" in result:
        return dict(result)
    prefix = f"{result['id']}/"
    return {
        **{key: result[key] for key in ("id", "position", "question", "response", "reference", "contexts")},
        "where": source_of(result["where"]),
        **({"history": str(history)} if (history := history_of(result["meta"])) else {}),
        **_unless(result, topic=result["id"], notes=[]),
        "scores": [_score(result, score, signatures, prefix) for score in result["scores"]],
        **({"methods": result["methods"]} if "methods" in result else {}),
        "units": [_unit(unit, prefix) for unit in result["units"]],
        "cost": result["cost"],
        "calls": [{key: call[key] for key in _OF_CALL if call.get(key) is not None} for call in result["calls"]],
        "meta": {str(key): _shown(value) for key, value in result["meta"].items()},
    }


def keys_of(result: Mapping[str, Any]) -> list[bytes]:
    """Return the store keys of a result's calls."""
    return [bytes.fromhex(call["key"]) for call in result.get("calls", ())]


def calls_of(keys: Iterable[bytes], store: Store) -> list[dict[str, Any] | None]:
    """Return the request and reply of each call, in the order of the result; None if no longer in the store.

    Requests contain no API key: it is sent in a header and never stored.
    """
    found: list[dict[str, Any] | None] = []
    for key in keys:
        kept = store.call(key)
        if kept is None:
            found.append(None)
            continue
        reply = reply_from_json(kept.reply)
        told = {"request": orjson.loads(kept.request), "reply": reply.text}
        found.append({**told, **({"reasoning": reply.reasoning} if reply.reasoning else {})})
    return found


def _score(
    result: Mapping[str, Any], score: Mapping[str, Any], signatures: Mapping[str, str], prefix: str
) -> dict[str, Any]:
    detail = {key: value for key, value in score["detail"].items() if key not in _TOLD_ELSEWHERE}
    if rows := detail.get("response"):
        detail["response"] = [{**row, "special": [SPECIALS.get(one, one) for one in row["special"]]} for row in rows]
    return {
        **{key: score[key] for key in ("metric", "value", "status", "asked", "unjudged")},
        **({"facts": facts} if (facts := score_facts(result, score)) else {}),
        **{key: score[key] for key in _TOLD_BY_SCORE if score.get(key)},
        **({"detail": detail} if detail else {}),
        **({"grade": grade} if (grade := grade_said(score)) else {}),
        **({"signature": score["signature"]} if score["signature"] != signatures.get(score["metric"]) else {}),
        "verdicts": [_verdict(verdict, prefix, score) for verdict in score["verdicts"]],
    }


def _verdict(verdict: Mapping[str, Any], prefix: str, score: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "unit": verdict["unit"].removeprefix(prefix),
        "label": verdict["label"],
        "word": word(score["metric"], verdict, score["signature"]),
        **_unless(verdict, value=None, raw=None, probability=None, reason="", failure=""),
        "judge": verdict["judge"],
        **({"evidence": [_quote(quote) for quote in verdict["evidence"]]} if verdict["evidence"] else {}),
        **({"members": [_verdict(one, prefix, score) for one in verdict["members"]]} if verdict.get("members") else {}),
    }


def _quote(quote: Mapping[str, Any]) -> dict[str, Any]:
    """Return a quote; if it was found, only its place, because the passage has the text."""
    if quote["start"] is None:
        return {"passage": quote["passage"], "text": quote["text"]}
    return {key: quote[key] for key in ("passage", "start", "end", "verbatim")}


def _unit(unit: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {
        "id": unit["id"].removeprefix(prefix),
        "level": unit["level"],
        **_unless(unit, text=None, start=None, end=None, confidence=None, importance=None),
        **({"parent": unit["parent"]} if unit["level"] == "passage" else {}),
    }


def _unless(found: Mapping[str, Any], **usual: Any) -> dict[str, Any]:
    """Return the named entries that exist and differ from their usual values."""
    return {key: found[key] for key, value in usual.items() if key in found and found[key] != value}


def _shown(value: Any) -> Any:
    text = value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    return f"{text[:LONGEST_META]}…" if len(text) > LONGEST_META else text
