"""Statements that are wrong by one change, made from statements that are supported.

Human-labelled data has few of them, and a judge that reads words must learn that one changed number, name,
negation or opposite outweighs a dozen shared words. Each change is drawn from a hash of the row, so the same
data gives the same variations.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Iterator
from typing import Any

from ragstone.judges.embedded.words import NAME, NUMBER, lexicon, tokens_of
from ragstone.segment import sentences

AUXILIARY = re.compile(r"\b(is|was|are|were|has|have|had|can|will|would|could|should|does|did)\b(?! not\b|n't)")
LONGEST_CONTEXT = 8000
LONGEST = 40
"""Words of a claim that is varied; one changed word in a long text is another task."""


def _number(claim: str, context: str, rng: random.Random) -> str | None:
    tokens = [t for t in tokens_of(claim, "en") if t.kind == NUMBER]
    theirs = {t.stem: context[t.start : t.end] for t in tokens_of(context, "en") if t.kind == NUMBER}
    shared = [t for t in tokens if t.stem in theirs]
    if not shared:
        return None
    token = rng.choice(shared)
    mine = {t.stem for t in tokens}
    others = [theirs[stem] for stem in sorted(theirs) if stem not in mine]
    old = claim[token.start : token.end]
    if others and rng.random() < 0.4:
        new = rng.choice(others)
    else:
        digits = [i for i, c in enumerate(old) if c.isdecimal()]
        if not digits:
            return None
        at = rng.choice(digits)
        new = old[:at] + rng.choice([c for c in "123456789" if c != old[at]]) + old[at + 1 :]
    return claim[: token.start] + new + claim[token.end :]


def _names(text: str) -> dict[str, str]:
    return {t.stem: text[t.start : t.end] for t in tokens_of(text, "en") if t.kind == NAME}


def _name(claim: str, context: str, rng: random.Random, strangers: dict[str, str] | None = None) -> str | None:
    """A name that the context has, changed to another of the context, or to one of ``strangers``."""
    theirs = _names(context)
    tokens = tokens_of(claim, "en")
    own = {t.stem for t in tokens}
    shared = [t for t in tokens if t.stem in theirs and claim[t.start].isupper()]
    from_where = theirs if strangers is None else {s: n for s, n in strangers.items() if s not in theirs}
    others = [from_where[stem] for stem in sorted(from_where) if stem not in own]
    if not shared or not others:
        return None
    token = rng.choice(shared)
    return claim[: token.start] + rng.choice(others) + claim[token.end :]


def _negation(claim: str, _context: str, _rng: random.Random) -> str | None:
    found = AUXILIARY.search(claim)
    if found:
        return claim[: found.end()] + " not" + claim[found.end() :]
    bare = re.sub(r"\b(not|never) |n't\b", "", claim, count=1)
    return bare if bare != claim else None


def _opposite(claim: str, _context: str, rng: random.Random) -> str | None:
    pairs = [pair.split("/") for pair in lexicon()["opposites"].split() if pair.isascii()]
    swaps = {a: b for one, other in pairs for a, b in ((one, other), (other, one))}
    places = [m for m in re.finditer(r"[A-Za-z]+", claim) if m[0] in swaps]
    if not places:
        return None
    place = rng.choice(places)
    return f"{claim[: place.start()]}{swaps[place[0]]}{claim[place.end() :]}"


CHANGES = {"number": _number, "name": _name, "negation": _negation, "opposite": _opposite}


def _denied(claim: str, context: list[str]) -> list[str] | None:
    """The passages with a ``not`` in the sentence that shares most words with the claim; None where none fits."""
    mine = {t.stem for t in tokens_of(claim, "en")}
    best: tuple[int, int, int] | None = None
    for number, text in enumerate(context):
        for span in sentences(text, "en"):
            found = AUXILIARY.search(text, span.start, span.end)
            shared = len(mine & {t.stem for t in tokens_of(text[span.start : span.end], "en")})
            if found and (best is None or shared > best[0]):
                best = (shared, number, found.end())
    if best is None or best[0] < len(mine) / 2:
        return None
    _, number, at = best
    return [t[:at] + " not" + t[at:] if i == number else t for i, t in enumerate(context)]


def variations(rows: Iterable[dict[str, Any]], share: dict[str, float]) -> Iterator[dict[str, Any]]:
    """Variations of supported rows; ``share`` is the chance of each change for each row.

    ``number``, ``name``, ``negation`` and ``opposite`` change the claim, ``stranger`` brings a name from the row
    before that had any; ``denied`` negates the context
    instead; all these are unsupported. ``both`` negates claim and context, and stays supported.
    """
    strangers: dict[str, str] = {}
    for row in rows:
        if row["label"] != "support" or len(row["claim"].split()) > LONGEST:
            continue
        context = " ".join(row["context"])
        if len(context) > LONGEST_CONTEXT:
            continue
        for kind, chance in share.items():
            rng = random.Random(hashlib.sha256(f"{kind}\0{row['id']}".encode()).digest())
            if rng.random() >= chance:
                continue
            passages: list[str] | None = row["context"]
            claim: str | None = row["claim"]
            if kind in {"denied", "both"}:
                passages = _denied(row["claim"], row["context"])
            if kind == "stranger":
                claim = _name(row["claim"], context, rng, strangers)
            elif kind != "denied":
                claim = CHANGES["negation" if kind == "both" else kind](row["claim"], context, rng)
            if kind == "both" and claim and " not" not in claim:
                continue
            if claim and passages and (claim, passages) != (row["claim"], row["context"]):
                label = "support" if kind == "both" else "not_support"
                new = {"id": f"{row['id']}-{kind}", "claim": claim, "context": passages, "label": label, "made": kind}
                yield {**row, **new}
        strangers = _names(context) or strangers
