"""Overlap of two texts in words and characters: BLEU, chrF, ROUGE and METEOR of a response against a reference.

BLEU and chrF equal sacrebleu's ``sentence_bleu`` and ``sentence_chrf`` with default settings, ROUGE equals the package
rouge-score, and METEOR nltk without synonyms, each divided by 100 if it is a percentage. Words in non-Latin scripts
count as words, too; in scripts without spaces between words (Chinese, Japanese, Thai, ...), each character is a word.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

_SOLID: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30fa\u3400-\u4dbf\u4e00-\u9fff"
_SOLID_CHARACTER: Final = f"([{_SOLID}\u3000-\u303f\uff00-\uffef])"  # compiled on first use: large, and rarely needed
_APART: Final = r" \1 "
_WORDS: Final = rf"[{_SOLID}]|[^\W_{_SOLID}]+"  # the same
_13A: Final = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"([{-~[-` -&(-+:-@/])", _APART),
        (r"([^0-9])([.,])", r"\1 \2 "),
        (r"([.,])([^0-9])", r" \1 \2"),
        (r"([0-9])(-)", r"\1 \2 "),
    )
)
"""Where mteval's tokenizer 13a, sacrebleu's default, inserts spaces."""
ORDER: Final = 4
CHARACTERS: Final = 6
BETA: Final = 2


def tokens_13a(text: str) -> list[str]:
    """Return the tokens for BLEU: words and punctuation marks, in their original case."""
    line = text.rstrip().replace("-\n", "").replace("\n", " ")
    text = f" {re.sub(_SOLID_CHARACTER, _APART, line)} "
    for pattern, by in _13A:
        text = pattern.sub(by, text)
    return text.split()


def words(text: str) -> list[str]:
    """Return the tokens for ROUGE: lower-case words, without stemming."""
    return re.findall(_WORDS, text.lower())


def bleu(response: str, reference: str) -> float:
    """Return BLEU up to 4-grams, with exponential smoothing, using only orders that exist. Papineni et al. 2002."""
    mine, theirs = tokens_13a(response), tokens_13a(reference)
    logs, halved = [], 1
    for n in range(1, min(ORDER, len(mine)) + 1):
        matches, total, _ = _matches(mine, theirs, n)
        if n == 1 and not matches:
            return 0.0
        halved *= 1 if matches else 2
        logs.append(math.log(matches / total if matches else 1 / (halved * total)))
    brevity = min(0.0, 1 - len(theirs) / len(mine)) if mine else 0.0
    return min(1.0, math.exp(brevity + math.fsum(logs) / len(logs))) if logs else 0.0


def chrf(response: str, reference: str) -> float:
    """Return the F2 of character 1- to 6-grams, without spaces. Popović 2015."""
    mine, theirs = "".join(response.split()), "".join(reference.split())
    counts = [_matches(mine, theirs, n) for n in range(1, min(CHARACTERS, len(mine), len(theirs)) + 1)]
    if not counts:
        return 0.0
    precision = math.fsum(matches / own for matches, own, _ in counts) / len(counts)
    recall = math.fsum(matches / other for matches, _, other in counts) / len(counts)
    return _f(precision, recall, BETA)


def rouge_n(response: str, reference: str, n: int) -> float | None:
    """Return the F1 of word n-grams; None if neither text has one. Lin 2004."""
    matches, own, other = _matches(words(response), words(reference), n)
    return _shared(matches, own, other)


def rouge_l(response: str, reference: str) -> float | None:
    """Return the F1 of the longest common subsequence of words; None if neither text has a word. Lin 2004."""
    mine, theirs = words(response), words(reference)
    return _shared(_common(mine, theirs), len(mine), len(theirs))


def meteor(response: str, reference: str) -> float | None:
    """Return METEOR over equal words, then equal stems; None if neither text has a word. Banerjee and Lavie 2005.

    Stems are English (Porter); there are no synonyms. Of several equal words, the last ones are matched first.
    """
    mine, theirs = words(response), words(reference)
    if not mine and not theirs:
        return None
    matched: dict[int, int] = {}
    for form in (str, _porter().stemWord):
        taken, left = {*matched.values()}, dict[str, list[int]]()
        for place, word in enumerate(theirs):
            if place not in taken:
                left.setdefault(form(word), []).append(place)
        for place in reversed(range(len(mine))):
            if place not in matched and (places := left.get(form(mine[place]))):
                matched[place] = places.pop()
    if not matched:
        return 0.0
    chunks = sum(matched.get(place - 1) != other - 1 for place, other in matched.items())
    precision, recall = len(matched) / len(mine), len(matched) / len(theirs)
    return _f(precision, recall, 3) * (1 - 0.5 * (chunks / len(matched)) ** 3)


@lru_cache(maxsize=1)
def _porter() -> Any:
    from snowballstemmer import stemmer  # noqa: PLC0415 - 30 ms that not every run needs

    return stemmer("porter")


def _shared(matches: int, own: int, other: int) -> float | None:
    return 2 * matches / (own + other) if own + other else None


def _f(precision: float, recall: float, beta: float) -> float:
    total = beta**2 * precision + recall
    return min(1.0, (1 + beta**2) * precision * recall / total) if total else 0.0


def _matches(mine: Sequence[str], theirs: Sequence[str], n: int) -> tuple[int, int, int]:
    """Return the number of n-grams that both have (with multiplicity), that the first has, and that the second has."""
    own, other = (Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) for text in (mine, theirs))
    return (own & other).total(), own.total(), other.total()


def _common(mine: Sequence[str], theirs: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, with one bit per word (Hyyrö 2004)."""
    places: dict[str, int] = {}
    for place, word in enumerate(mine):
        places[word] = places.get(word, 0) | 1 << place
    full = left = (1 << len(mine)) - 1
    for word in theirs:
        found = left & places.get(word, 0)
        left = (left + found | left - found) & full
    return len(mine) - left.bit_count()
