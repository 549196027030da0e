"""Make statements with one error from statements that are supported.

Human-labelled data has few of them, and a judge that compares words must handle one changed number, name, negation or
opposite among a dozen shared words. Each change is drawn from a hash of the row, so the same data gives the same
variations.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ragstone.judges.embedded.words import NAME, NUMBER, lexicon, tokens_of
from ragstone.segment import sentences

AUXILIARY = re.compile(r"\b(is|was|are|were|has|have|had|can|will|would|could|should|does|did)\b(?! not\b|n't)")
Change = Callable[[str, str, random.Random], str | None]

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


def _swapped(claim: str, context: str, rng: random.Random) -> str | None:
    """Two names of the claim that the context has, each in the other's place."""
    theirs = _names(context)
    names = [t for t in tokens_of(claim, "en") if t.stem in theirs and claim[t.start].isupper()]
    pairs = [(a, b) for a in names for b in names if a.end + 1 < b.start and a.stem != b.stem]
    if not pairs:
        return None
    one, other = rng.choice(pairs)
    first, second = claim[one.start : one.end], claim[other.start : other.end]
    return claim[: one.start] + second + claim[one.end : other.start] + first + claim[other.end :]


def _word(swaps: dict[str, str], pattern: str) -> Change:
    """A change of one word to another of the same kind."""
    places = re.compile(pattern.format("|".join(swaps)), re.IGNORECASE)

    def change(claim: str, _context: str, rng: random.Random) -> str | None:
        found = list(places.finditer(claim))
        if not found:
            return None
        start, end = rng.choice(found).span(1)
        old = claim[start:end]
        new = swaps[old.lower()]
        return claim[:start] + (new.capitalize() if old[0].isupper() else new) + claim[end:]

    return change


def _both_ways(text: str) -> dict[str, str]:
    pairs = [pair.split("/") for pair in text.split()]
    return {a: b for one, other in pairs for a, b in ((one, other), (other, one))}


UNITS = _both_ways(
    "million/billion thousand/million kilometers/miles km/miles meters/feet metres/feet kg/pounds inches/centimeters "
    "hours/days minutes/hours years/months weeks/days percent/points dollars/euros degrees/percent seconds/minutes"
)
DATES = _both_ways(
    "january/march february/june april/august may/october july/november september/december monday/thursday "
    "tuesday/friday wednesday/saturday"
)
OVERSTATED = {
    "some": "all", "many": "all", "most": "all", "several": "all", "few": "all", "may": "must", "might": "must",
    "can": "must", "could": "must", "often": "always", "usually": "always", "sometimes": "always",
}  # fmt: skip
CHANGES: dict[str, Change] = {
    "number": _number,
    "name": _name,
    "negation": _negation,
    "opposite": _opposite,
    "swapped": _swapped,
    "unit": _word(UNITS, r"\d[ -]({})\b"),
    "date": _word(DATES, r"\b({})\b(?= \d)"),
    "overstated": _word(OVERSTATED, r"\b({})\b(?! not)"),
}


ABOUT = ("denied", "refuted", "asked")
"""Changes of the context."""


def _nearest(claim: str, context: list[str]) -> tuple[int, int, int] | None:
    """Passage, start and end of the sentence that shares most words with the claim; None where it has not half."""
    mine = {t.stem for t in tokens_of(claim, "en")}
    best: tuple[int, int, int, int] | None = None
    for number, text in enumerate(context):
        for span in sentences(text, "en"):
            shared = len(mine & {t.stem for t in tokens_of(text[span.start : span.end], "en")})
            if best is None or shared > best[0]:
                best = (shared, number, span.start, span.end)
    return best[1:] if best is not None and best[0] >= len(mine) / 2 else None


def _put(kind: str, sentence: str, rng: random.Random) -> str | None:
    """A sentence that says the contrary (``denied``, ``refuted``) or nothing (``asked``)."""
    if kind == "denied":
        found = AUXILIARY.search(sentence)
        return sentence[: found.end()] + " not" + sentence[found.end() :] if found else None
    inner = sentence.rstrip(" .!?")
    if kind == "asked":
        return rng.choice(("Is it true that {}?", "Do you think that {}?", "Who said that {}?")).format(inner)
    frames = ("It is false that {}.", "It is a myth that {}.", "They denied that {}.", "{}: this claim is incorrect.")
    return rng.choice(frames).format(inner)


def _context(kind: str, claim: str, context: list[str], rng: random.Random) -> list[str] | None:
    found = _nearest(claim, context)
    if found is None:
        return None
    number, start, end = found
    text = context[number]
    new = _put(kind, text[start:end], rng)
    if not new:
        return None
    return [text[:start] + new + text[end:] if i == number else t for i, t in enumerate(context)]


def variations(rows: Iterable[dict[str, Any]], share: dict[str, float]) -> Iterator[dict[str, Any]]:
    """Variations of supported rows; ``share`` is the chance of each change for each row.

    Those in ``CHANGES`` change the claim, ``stranger`` brings a name from the row before that had any; ``denied``
    and ``refuted`` have the context say the contrary, ``asked`` has it ask; all these are unsupported. ``both``
    negates claim and context, and stays supported.
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
            if kind in {*ABOUT, "both"}:
                passages = _context("denied" if kind == "both" else kind, row["claim"], row["context"], rng)
            if kind == "stranger":
                claim = _name(row["claim"], context, rng, strangers)
            elif kind not in ABOUT:
                claim = CHANGES["negation" if kind == "both" else kind](row["claim"], context, rng)
            if kind == "both" and claim and " not" not in claim:
                continue
            if claim and passages and (claim, passages) != (row["claim"], row["context"]):
                label = "support" if kind == "both" else "not_support"
                new = {"id": f"{row['id']}-{kind}", "claim": claim, "context": passages, "label": label, "made": kind}
                yield {**row, **new}
        strangers = _names(context) or strangers
