"""What is said in plain text of a verdict's reasons and quotes, and of the part of an input that a run read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ragstone.render.terminal.columns import ADHERENCE, RECALL, columns_of


def why(verdict: Mapping[str, Any]) -> str:
    """The reason, or the failure; of a panel, each member's own."""
    members = (f"{member['judge']}: {said}" for member in verdict.get("members", ()) if (said := why(member)))
    return "; ".join(members) or verdict.get("failure") or verdict["reason"]


def in_words(result: Mapping[str, Any], reason: str) -> str:
    """A reason without the keys of traced sentences, which its readers never saw: ``passage 2, sentence 1``."""
    traced = (score["detail"] for score in result["scores"] if score["metric"] == ADHERENCE)
    detail: Mapping[str, Any] = next(traced, {})
    if not detail.get("response"):
        return reason
    ranks = {context["id"]: context["rank"] for context in result["contexts"]}
    numbers: Counter[str] = Counter()
    words: dict[str, str] = {}
    for row in detail["contexts"]:
        numbers[row["passage"]] += 1
        rank = ranks.get(row["passage"], row["passage"])
        words[row["key"]] = f"passage {rank}, sentence {numbers[row['passage']]}"
    words |= {row["key"]: f"sentence {n} of the response" for n, row in enumerate(detail["response"], 1)}
    return re.sub(r"\w+", lambda found: words.get(found[0], found[0]), reason)


def place(result: Mapping[str, Any], metric: str, quote: Mapping[str, Any]) -> str:
    """``passage 2``, ``response``, or that the quote is nowhere: where a quote of a verdict stands."""
    of_response = columns_of(metric) is RECALL
    if quote["start"] is None:
        return f"quoted, and not found in the {'response' if of_response else 'contexts'}"
    ranks = {context["id"]: context["rank"] for context in result["contexts"]}
    return "response" if of_response else f"passage {ranks.get(quote['passage'], quote['passage'])}"
