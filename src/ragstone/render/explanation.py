"""Describe one score: in a label and a sentence for the tools that scores are exported to, and in a few facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ragstone.analysis.verdicts import wanting, with_verdicts
from ragstone.metrics import of_score
from ragstone.render.facts import possible, shortfall
from ragstone.render.text import NBSP, flat, percent, plural, shorten
from ragstone.render.wording import in_words, kind_of, labels_of, title_of, words_of
from ragstone.segment import record_language

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


def score_facts(result: Mapping[str, Any], score: Mapping[str, Any], *, of_columns: bool = False) -> list[str]:
    """Return a score's possible range, outcome and details in a few words each; ``of_columns`` only the details."""
    facts, detail = [], score["detail"]
    could = possible(score["value"], score["low"], score["high"])
    if could and not of_columns:
        facts.append(f"could be {could}% if all units were judged")
    if score["outcome"] and not of_columns:
        facts.append(score["outcome"].lower())
    if "accepted" in detail:
        facts.append(_accepted(score))
    if detail.get("duplicates"):
        facts.append(f"{detail['duplicates']} duplicate claims left out")
    if detail.get("left_out"):
        facts.append(f"{detail['left_out']} left out by {' and '.join(of_score(score['metric']).limits) or 'a limit'}")
    if detail.get("shortcut"):
        facts.append(f"no judge call needed: {score['verdicts'][0]['reason']}")
    if (band := detail.get("band")) and words_of(score["metric"], score["signature"]).banded:
        language = record_language(result["meta"], result["question"], result["response"])
        facts.append(flat(band.get(language) or band["en"]))
    if detail.get("agreement") is not None:
        facts.append(f"judges agree in {percent(detail['agreement'])} of cases")
    if detail.get("spread"):
        facts.append(f"they differ by up to {detail['spread']:g}")
    return facts


def _accepted(score: Mapping[str, Any]) -> str:
    """Return how many claims reach the threshold, in the judge's words if these are exactly the ``yes`` verdicts."""
    accepted, verdicts = score["detail"]["accepted"], score["verdicts"]
    plainly = accepted == sum(kind_of(verdict) == "yes" for verdict in verdicts)
    what = labels_of(score["metric"], verdicts)["yes"] if plainly else "at or above the threshold"
    return f"{accepted} of {plural(len(score['detail']['claims']), 'claim')} {what}"
