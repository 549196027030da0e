"""Label words: the labels of a scale and their synonyms.

A label on its own may have any spelling listed here. Among other words, only unambiguous spellings count ("supported",
"not_support"), because "yes", "no" or "none" may belong to the surrounding text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from ragstone.parsing.echoes import UNFILLED
from ragstone.types import Scale

SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "support": ("supported", "supports", "fully_supported", "full_support", "подтверждается", "подтверждено"),
    "partial_support": (
        "partially_supported", "partially_supports", "partially_support", "partial_supported", "partly_supported",
        "partial_supports", "частично_подтверждается", "частично_подтверждено",
    ),
    "not_support": (
        "not_supported", "no_support", "unsupported", "unsupported_claim", "not_supports", "не_подтверждается",
        "не_подтверждено",
    ),
    "yes": ("support", "supported", "supports"),
    "no": ("not_support", "not_supported", "no_support", "unsupported", "unsupported_claim"),
    "okay": ("ok",),
}  # fmt: skip
"""Synonyms that count anywhere."""

ALONE: Final[Mapping[str, tuple[str, ...]]] = {
    "support": ("yes", "true", "да"),
    "partial_support": ("partial", "partially", "partly", "maybe", "частично"),
    "not_support": ("no", "false", "none", "нет"),
    "yes": ("true", "да"),
    "no": ("false", "нет"),
}
"""Synonyms that count only on their own."""

LONGEST: Final = 600
"""Maximum number of characters of an item that are searched for a label."""

_AROUND: Final = re.compile(r"\A[\W_]+|[\W_]+\Z")
_GAP: Final = re.compile(r"[\s\u00a0\-\u2010-\u2015_]+")
_SEPARATOR: Final = re.compile(
    r"\s*(?:\s#\s?|[:=|()\[\];,\u2192\u21d2\u2013\u2014\n\"\u201c\u201d\u00ab\u00bb*`]|->|=>|\s-+\s|[.!?](?=\s|$))\s*"
)
_OF: Final = re.compile(r"([0-9]{1,3})(?:\.0)?\s*(?:(?:/|out of|of|из)\s*([0-9]{1,3}))?", re.IGNORECASE)
_WORD: Final = re.compile(r"[\w'\u2019]+")
_NEGATIONS: Final = frozenset(
    ("not", "no", "never", "cannot", "but", "hardly", "barely", "scarcely", "without", "lack", "insufficient", "не",
     "нет", "ни", "без")
)  # fmt: skip
_FILLING: Final = frozenset(
    ("be", "been", "is", "as", "a", "an", "the", "fully", "entirely", "quite", "really", "explicitly", "directly",
     "labelled", "labeled", "called", "considered")
)  # fmt: skip
_CROSSED: Final = re.compile(r"[\W_]*[!\u2260\u00ac\u2717\u2718\u274c\u2716]")
_ABOUT: Final = re.compile(r"[\W_]*[~\u2248]")
"""Matches a sign before a label that makes it approximate."""
_NO_GRADE: Final = re.compile(r"[\W_]*[<>\u2264\u2265]|.*[0-9]\s*[%\u2030+\u00b1\u00bd]", re.DOTALL)
"""Matches a number that is no grade: "<2", "3%", "2+"."""
_UNSURE: Final = re.compile(r"[\s*_`\"')]*(?:\?|[:=]\s*[0-9]+\s*(?:/|of\b|out of\b))", re.IGNORECASE)
"""Matches a question mark after a label, or a score of which the label is only the name."""
HEDGED: Final = re.compile(
    r"\b(?:partial\w*|partly|in part|part of|only|some\w*|most\w*|half|largely|weak\w*|barely|almost|nearly|but|"
    r"however|though|although|except|caveats?|частич\w+|отчасти|почти|но)\b",
    re.IGNORECASE,
)
"""Matches words beside a label that weaken it."""
_THEN_HEDGED: Final = re.compile(
    rf"[\s,;(\[\u2013\u2014-]+(?:(?:very|with|a|some|is|only|to)\s+)*(?!only|some\b|most\b){HEDGED.pattern}",
    re.IGNORECASE,
)
DENIED: Final = re.compile(
    r"\b(?:not|no|never|hardly|barely|cannot|none|neither|insufficient|lack\w*|absent|far from|asks?|says? to|"
    r"instruct\w*|nothing|не|нет|ни)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
"""Matches words that may negate a label in prose, or attribute it to someone else."""
_NAMED: Final = re.compile(
    r"(?:final\s+)?(?:grade|score|rating|label|verdict|decision|оценка|метка|решение)[\s\W]+(.+)", re.IGNORECASE
)
_DANGLING: Final = re.compile(r"\A\s*[^\s_*].*[^\W\d_][_-]\s*\Z", re.DOTALL)
"""Matches a text that ends in the middle of a label."""
_NEGATIVE: Final = re.compile(r"[\s\"'`*(]*[-\u2212][0-9]")
_SCORE: Final = re.compile(
    r"(?<![\w.,/])([0-9]{1,3})\s*(?:/|out of|of|из)\s*([0-9]{1,3})(?![\w/]|[.,][0-9])", re.IGNORECASE
)
OPEN: Final = re.compile(r"\?|\b(?:if|whether|would|could|unless|depend\w*|might|если|ли|бы)\b", re.IGNORECASE)
"""Matches a question or a condition."""
BACK: Final = re.compile(
    r"\b(?:wait|actually|correction|correct(?:ed|ing)|(?:let me|to|must) correct|rather(?! than)|instead(?! of)|edit|"
    r"on (?:second thoughts?|reflection|closer \w+)|in hindsight|re-?reading|should (?:\w+ )?have been|oops|sorry|"
    r"my mistake|revis\w+|chang\w+|точнее|вернее|исправ\w+|поправ\w+|извин\w+|korrektur|\u66f4\u6b63|\u4fee\u6b63)\b",
    re.IGNORECASE,
)
"""Matches words that retract a label."""


@lru_cache(maxsize=64)
def words_of(scale: Scale, more: tuple[str, ...] = (), *, exact: bool = False) -> Words:
    """Return the words of a scale (cached)."""
    return Words(scale, more, exact=exact)


class Words:
    """The labels of one scale with their spellings. ``more`` are additional labels; ``exact``: no synonyms.

    ``numeric``: the labels are numbers, so a number may be a label or the number of a unit.
    """

    def __init__(self, scale: Scale, more: Iterable[str] = (), *, exact: bool = False) -> None:
        self.labels: tuple[str, ...] = (*scale.labels, *more)
        self.exact = exact
        self.numeric: bool = all(label.isascii() and label.isdigit() for label in scale.labels)
        self._best = scale.labels[-1]
        self._own = frozenset(self.labels)
        own = {_key(label): label for label in self.labels}
        self._strong = {
            **{word: label for label in self.labels for word in SYNONYMS.get(label, ()) if word not in own}, **own,
        }  # fmt: skip
        weak = {word: label for label in self.labels for word in ALONE.get(label, ())}
        self._every = {**weak, **self._strong}

    def alone(self, given: object) -> str | None:
        """Return the label if the value is just a label, in any spelling; else None."""
        if given is None or isinstance(given, list | dict | tuple):
            return None
        if isinstance(given, str) and given in self._own:
            return given
        return self._named(str(given), self._every)

    def strong(self, text: str) -> str | None:
        """Return the label if the text is just a label in an unambiguous spelling; else None."""
        return self._named(text, self._strong)

    def beside(self, text: str) -> str | None:
        """Return the only label among other words, set off from them by punctuation; else None.

        Of several labels, the one at the beginning counts, unless the text ends with another or retracts something. No
        label counts next to a placeholder.
        """
        if UNFILLED in text:
            return None
        parts = [part for part in _SEPARATOR.split(text[:LONGEST]) if part.strip()]
        labels = [self.strong(part) for part in parts]
        found = {label for label in labels if label is not None}
        if any(label and _negated(parts[:place]) for place, label in enumerate(labels)):
            return None
        weak = {label for part in parts if (label := self._named(part, self._every)) is not None}
        if len(found) == 1 and not weak <= found:
            return None  # "Supported: no"
        if found and BACK.search(text):
            return found.pop() if len({*found, *(label for _, _, label in self.in_order(text))}) == 1 else None
        if len(found) > 1 and labels[0] is not None:
            found = {labels[0]} if labels[-1] in (None, labels[0]) else set()
        placed = [(label, end) for _, end, label in self.in_order(text) if label in found]
        doubtful = any(self.hedged(label, text, end) or _UNSURE.match(text, end) for label, end in placed)
        return found.pop() if len(found) == 1 and not doubtful else None

    def first(self, text: str) -> str | None:
        """Return the label that the text begins with, in any spelling, set off by punctuation; else None."""
        return self.alone(next((part for part in _SEPARATOR.split(text[:LONGEST]) if part.strip()), None))

    def hedged(self, label: str, text: str, end: int) -> bool:
        """Return whether words after the end of the label weaken it; only the best label can be weakened."""
        return label == self._best and _THEN_HEDGED.match(text, end) is not None

    def cut(self, text: str) -> bool:
        """Return whether the text is a truncated label, as at the end of a truncated reply."""
        key = _key(_AROUND.sub("", text))
        return bool(key) and key not in self.labels and any(label.startswith(key) for label in self.labels)

    def in_order(self, text: str) -> list[tuple[int, int, str]]:
        """Return (start, end, label) of each unambiguous label word in the text; the longest match wins."""
        if self.numeric:
            return []
        pattern = _pattern(tuple(self.labels if self.exact else self._strong), exact=self.exact)
        matches = pattern.finditer(text)
        return [(match.start(), match.end(), label) for match in matches if (label := self.strong(match[0]))]

    def out_of(self, text: str) -> str | None:
        """Return the label in the text's only "4/5" or "0 out of 2"; the second number must be the highest label."""
        found = {match[1] for match in _SCORE.finditer(text) if match[2] == self._best}
        return next(iter(found)) if len(found) == 1 and found <= set(self.labels) else None

    def _named(self, text: str, known: Mapping[str, str]) -> str | None:
        if (
            len(text) > LONGEST
            or _NEGATIVE.match(text)
            or _DANGLING.search(text)
            or text.rstrip(" \n\"'*`_)]").endswith("?")
        ):
            return None
        crossed = _CROSSED.match(text)
        if _ABOUT.match(text) or (self.numeric and _NO_GRADE.match(text)):
            return None
        text = _AROUND.sub("", text)
        if crossed and known.get(_key(text)) != self.labels[0]:
            return None  # "✗ support" is ambiguous
        if named := _NAMED.fullmatch(text):  # "Grade 2", "Label: support"
            text = _AROUND.sub("", named[1])
        if self.exact:
            return text if text in self.labels else None
        if self.numeric and (match := _OF.fullmatch(text)):
            if match[2] and match[2] != self._best:
                return None
            return known.get(match[1])
        return known.get(_key(text))


def _negated(before: Sequence[str]) -> bool:
    """Return whether the text before a label negates it: its last word, except filler words, is a negation."""
    for part in reversed(before):
        said = [word for word in _WORD.findall(part.casefold()) if word not in _FILLING]
        if said:
            return said[-1] in _NEGATIONS or said[-1].endswith(("n't", "n\u2019t"))
    return False


def _key(text: str) -> str:
    return _GAP.sub("_", text.casefold())


@lru_cache(maxsize=64)
def _pattern(words: Sequence[str], *, exact: bool) -> re.Pattern[str]:
    ordered = sorted(words, key=len, reverse=True)
    parts = [r"[\s_\-]".join(map(re.escape, word.split("_"))) if not exact else re.escape(word) for word in ordered]
    parts = [part + r"(?![^\S\n]+\w)" if part == "no" else part for part in parts]  # not in "no passage"
    return re.compile(r"(?<![\w-])(?:" + "|".join(parts) + r")(?![\w-])", 0 if exact else re.IGNORECASE)
