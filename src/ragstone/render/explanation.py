"""Describe one score in a label and a sentence, for the tools that scores are exported to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ragstone.analysis.verdicts import wanting, with_verdicts
from ragstone.metrics import of_score
from ragstone.render.facts import shortfall
from ragstone.render.text import NBSP, plural, shorten
from ragstone.render.wording import in_words, kind_of, labels_of, title_of

MOST: Final = 5
"""Maximum number of units listed."""
LONG: Final = 300
"""Maximum length, in characters, of a unit or a reason."""


def label_of(result: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    """Return ``supported``, ``partly supported`` or ``not supported``: the value in the metric's words for its judge.

    Empty for a value that is not based on verdicts.
    """
    verdicts = with_verdicts(result, score)["verdicts"]
    kind = kind_of({"label": "", "value": score["value"]})
    return labels_of(score["metric"], verdicts, score["signature"])[kind] if verdicts else ""


def explanation(result: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    """Return how many units lower the score, and the worst of them with the judge's reasons; else what the score means.

    ``1 of 2 claims not supported: "Tea was invented on Mars." (no passage says it)``
    """
    whole = with_verdicts(result, score)
    lowering = wanting(result, score["metric"])
    tally = shortfall(result, whole) if lowering else ""
    units = []
    for unit in lowering[:MOST]:
        reason = shorten(in_words(result, unit.reason), LONG)
        units.append(f'"{shorten(unit.text, LONG)}"' + (f" ({reason})" if reason else "") if tally else reason)
    said = "; ".join(filter(None, units)) or shorten(score["reason"], LONG)
    said = said or _all(score["metric"], whole["verdicts"]) or title_of(score["metric"], score["signature"])
    unjudged = f"{score['unjudged']} of {score['asked']} unjudged" if score["unjudged"] else ""
    return "; ".join(filter(None, (": ".join(filter(None, (tally, said))), unjudged)))


def _all(metric: str, verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Return ``all 2 claims supported``; empty for a response as a whole."""
    count, unit = sum(verdict["value"] is not None for verdict in verdicts), of_score(metric).unit
    if not count or unit == "response":
        return ""
    return f"{'all ' if count > 1 else ''}{plural(count, unit)} {labels_of(metric, verdicts)['yes']}".replace(NBSP, " ")
