"""One score in a label and a sentence, for the tools that a run's scores are sent to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ragstone.analysis.verdicts import wanting, with_verdicts
from ragstone.render.facts import shortfall
from ragstone.render.text import flat, plural, shorten
from ragstone.render.wording import in_words, kind_of, labels_of

MOST: Final = 5
"""Units that are named."""
LONG: Final = 300
"""Characters of a unit, and of a reason."""


def label_of(result: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    """``supported``, ``partly supported`` or ``not supported``: a value in the words of its metric and its judge."""
    verdicts = with_verdicts(result, score)["verdicts"]
    return labels_of(score["metric"], verdicts)[kind_of({"label": "", "value": score["value"]})]


def explanation(result: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    """How many units lower the score, and the worst of them with the judge's reasons; the score's own reason if none.

    ``1 of 2 claims not supported: "Tea was invented on Mars." (no passage says it)``
    """
    whole = with_verdicts(result, score)
    tally = shortfall(result, whole)
    units = []
    for unit in wanting(result, score["metric"])[:MOST]:
        reason = _short(in_words(result, unit.reason))
        units.append(f'"{_short(unit.text)}"' + (f" ({reason})" if reason else "") if tally else reason)
    said = "; ".join(filter(None, units))
    counted = len([verdict for verdict in whole["verdicts"] if verdict["value"] is not None])
    if not tally and not said:
        said = _short(score["reason"]) or (f"all of {plural(counted, 'unit')}" if counted > 1 else "")
    unjudged = f"{score['unjudged']} of {score['asked']} unjudged" if score["unjudged"] else ""
    return "; ".join(filter(None, (": ".join(filter(None, (tally, said))), unjudged)))


def _short(text: str) -> str:
    return shorten(flat(text), LONG)
