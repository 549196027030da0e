"""Read the labels of a reply and assign each to its unit.

A label is assigned only to the unit with its number, or with its position in a list of the right length. An unknown
label leaves its position empty and shifts no other. Text that the reply repeats from the judged record is never taken
for its answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from msgspec import Struct

from ragstone.parsing.echoes import without_placeholders
from ragstone.parsing.label_lists import lists_of, unread
from ragstone.parsing.label_rows import LABEL_FORMATS, MOST, Format, Found, in_sequence
from ragstone.parsing.label_words import BACK, DENIED, HEDGED, OPEN, Words, words_of
from ragstone.parsing.reasoning import NEXT_TURN, plain, quoted_tags, strip_reasoning, unopened
from ragstone.parsing.retractions import taken_back
from ragstone.types import Scale

Status = Literal["ok", "unknown_label", "truncation", "count_mismatch", "format_error"]
"""``unknown_label``: every unit has an entry, but some are outside the scale or contradict themselves.
``truncation``: some units have no entry. ``count_mismatch``: more entries than units, or unknown numbers.
``format_error``: no labels at all."""

MATERIAL: Final = 40_000
"""Maximum number of characters of a record's text that are searched for lists."""
_LISTED: Final = re.compile(r"[\[{<|]|^[^\S\n]*(?:[0-9]{1,4}[.):]|[-*\u2022])|,", re.MULTILINE)
"""Matches in every text that contains a list."""
NEAR: Final = 200
"""Only this many lists, the last ones, are compared with each other, to keep the time linear in the text."""
LONGEST: Final = 400_000
"""Maximum number of characters of a reply."""

_OF_PASSAGE: Final = re.compile(
    r"^[^\w\n]*(?:passage|document|context|отрывок|фрагмент)[\s_#№]*[0-9]{1,4}\b[^\n]*", re.IGNORECASE | re.MULTILINE
)
"""Matches a line about one passage: its label is of no claim, sentence or nugget."""
_BRACKETS: Final = re.compile(r"[\[\]{}<>\n\"'\u201c\u201d,|\t]")
_UNABLE: Final = re.compile(
    r"\b(?:can(?:no|['\u2019])t|unable|sorry|apolog\w+|neither|nor|contact|please|without|need\w*|help|"
    r"не могу|невозможно|извините|ни)\b",
    re.IGNORECASE,
)
"""Matches words of a refusal, or of a statement about labels without an answer."""
_SCALE_SAID: Final = re.compile(
    r"\b(?:possible|available|allowed|choose|options?|scale|legend|mean(?:s|ings?)?|definitions?|labels are|one of|"
    r"any of|these labels|возможн\w+|варианты|шкал\w+)\b",
    re.IGNORECASE,
)
"""Matches words that introduce the scale, not an answer."""
_REQUEST: Final = re.compile(r"\bplease\b.{0,40}\b(?:share|send|provide|paste|give)\b|\bwhat are the\b", re.IGNORECASE)
_LEAD: Final = re.compile(
    r"[\W_]*(\w+(?:[ _-]support(?:ed|s)?)?)[*_`\"']*[,.:;\u2013\u2014](?!\s*[0-9]+\s*(?:[,/\n]|\Z))"
)
_LEGEND: Final = re.compile(r"(?:^|[,;])\W*0\s*=", re.MULTILINE)
_CROSSED: Final = re.compile(r"[!\u2260\u00ac\u2717\u2718\u274c\u2716]\s*\Z")
_LISTING: Final = re.compile(r"[\W_]*(?:and|or|и|или)?[\W_]*", re.IGNORECASE)
_BULLET: Final = re.compile(r"^[\W\d_]+")
_EXAMPLE: Final = re.compile(
    r"(?:\b(?:examples?|e\.g\.|for instance|for reference|definitions?|instead of)\b|\(not\b|"
    r"(?:\A|\n)\W*(?:\w+\s+)?(?:key|legend|scale|counts?|totals?)\W*:)[^\n]*\n?[^\w\n]*\Z",
    re.IGNORECASE,
)
"""Matches words before a list that is not the answer."""
_REPLACES: Final = re.compile(
    r"\b(?:final\w*|answer\w*|updated?|conclu\w+|analysis|output|think\w*|hmm|\w*check\w*|after|last|"
    r"second (?:look|pass|try)|ответ\w*|итог\w*|\u6700\u7ec8\w*|or\W*\Z)|\A(?:\W|</?\w[^<>]*>)*\Z|" + BACK.pattern,
    re.IGNORECASE,
)
"""Matches the text between two lists if the second replaces the first."""
_SUPPOSED: Final = re.compile(r"\b(?:if|would|could|might|had i)\b[^.!?\n]*[\W\d]*\Z", re.IGNORECASE)
"""Matches a text that ends with a condition."""
_BRACKET: Final = re.compile(r"\s*[\[({]")
_FENCES: Final = re.compile(r"^\s*(?:```|~~~)[^\n]*$", re.MULTILINE)
_ALIKE: Final[tuple[tuple[Format, ...], ...]] = (("json", "python_list"), ("markdown", "numbered", "yaml"))
"""Formats that models confuse and whose readers overlap."""
_STRUCTURE: Final = re.compile(r"[\[\]{}<>|\t\n,:]|\d")


class Parsed(Struct, frozen=True):
    """The labels read from a reply, one per unit.

    ``labels`` has one item per unit; None if unknown. ``raw`` has their original texts. ``format_used`` is the reader
    that found them (``fallback``: label words in order; empty: none). ``error`` is a one-line description of what is
    missing or wrong; empty if nothing is.
    """

    labels: tuple[str | None, ...]
    format_used: str
    status: Status
    error: str
    raw: tuple[str | None, ...]


def parse_labels(
    text: str,
    units: int,
    scale: Scale,
    format: Format = "adaptive",  # noqa: A002 - as the option --format
    *,
    case_sensitive: bool = False,
    material: Sequence[str] = (),
) -> Parsed:
    """Read the labels of ``units`` units, numbered from 1, from a model's reply.

    ``scale`` is one of ``ragstone.questions``, such as ``SUPPORT_3``, or your own. ``case_sensitive``: accept only its
    exact words. ``material``: texts that the model was shown; a list copied from one of them is ignored. The result has
    ``labels`` (None for a unit without one), ``raw``, ``format_used``, ``status`` and ``error``. Raises ValueError if
    ``units`` is below 1 or above 10,000, or if ``format`` is unknown.
    """
    if not 1 <= units <= MOST:
        raise ValueError(f"units is {units}; expected a number from 1 to {MOST}")
    if format not in LABEL_FORMATS:
        raise ValueError(f"unknown format {format!r}; expected one of {', '.join(LABEL_FORMATS)}")
    return read_labels(text, range(1, units + 1), words_of(scale, exact=case_sensitive), format, material)


def read_labels(
    text: str,
    asked: Sequence[int],
    words: Words,
    fmt: Format,
    material: Sequence[str] = (),
    *,
    units: Sequence[str] = (),
    level: str = "",
) -> Parsed:
    """Read the labels of the units with the numbers ``asked``, in that order, from a model's reply.

    Reasoning blocks are ignored. The reader of the requested format ``fmt`` has priority over the others. The last list
    of the right length counts, else the longest. ``adaptive`` accepts any format, and as a last resort label words in
    order. ``material`` are the texts of the record: a list copied verbatim from one of them is not the model's answer.
    ``units`` are the texts of the units asked about: a list that repeats them in another order is not read.
    ``level`` is their level: unless it is ``passage`` or empty, labels of passages are ignored.
    """
    nothing: tuple[str | None, ...] = (None,) * len(asked)

    def unusable(problem: str, status: Status = "format_error", reader: str = "") -> Parsed:
        return Parsed(nothing, reader, status, problem, nothing)

    if len(text) > LONGEST:
        return unusable(f"the reply has {len(text)} characters; at most {LONGEST} are read")
    answer = plain(strip_reasoning(text, quoted_tags(text, material)))
    if not answer.strip():
        return unusable("the reply is empty" if not text.strip() else "the reply contains only reasoning")
    if level not in ("", "passage"):
        answer = _OF_PASSAGE.sub("restated", answer)
    answer = _without(_first_turn(without_placeholders(answer), words), material, words)
    # Text before an unopened closing tag was removed, and may have been the answer.
    echoes = _Echoes(answer, material, words, alone=not unopened(text))
    latest = sorted(lists_of(answer, words), key=lambda found: found.end)[-NEAR:]
    repeated = [found for found in latest if echoes.holds(found) or _explains(found, answer, words)]
    lists = [found for found in latest if not any(found.overlaps(other) for other in repeated)]
    lists = [found for found in lists if not _shuffled(found, answer, units, words)]
    best = _chosen(lists, asked, fmt, answer, words)
    if best is not None:
        rest = answer[best.found.end :]
        for found in (found for found in latest if found not in lists and found.start >= best.found.end):
            rest = rest.replace(answer[found.start : found.end], "\n")
        best = best.without(taken_back(rest, best.labels, words))
        if not any(best.labels.values()):
            return unusable("the reply retracts its labels")
        return _parsed(_uncut(best, answer, words) if len(best.labels) < len(asked) else best, asked, words)
    if any(found.placed(asked) is None for found in lists):
        longest = max(lists, key=lambda found: len(found.labels))
        problem = f"{len(longest.labels)} labels for {len(asked)} units"
        if longest.numbers and len(set(longest.numbers)) <= len(asked):
            problem = f"labels under numbers that were not asked about ({_few(longest.numbers)})"
        return unusable(problem, "count_mismatch", longest.reader)
    if len(asked) == 1 and (label := _only(answer, words, fmt)) is not None:
        return Parsed((label,), "csv" if fmt == "adaptive" else fmt, "ok", "", (answer[:200],))
    if by_place := [found for found in lists if not found.numbers]:
        count = max(len(found.labels) for found in by_place)
        problem = f"{count} of {len(asked)} labels without unit numbers, so they cannot be assigned"
        return unusable(problem, "truncation")
    prose = fmt == "adaptive" and not repeated and _in_turn(units, answer)
    loose = _loose(answer, words, material) if prose else ()
    if loose and len(loose) == len(asked):
        return Parsed(loose, "fallback", "ok", "", loose)
    return unusable(f"no labels in the reply (it begins: {answer[:60]!r})")


# ---- without a list


def _only(answer: str, words: Words, fmt: Format) -> str | None:
    """Return the label of the only unit: the whole reply, its first word, or "4 out of 5"; None if there is none."""
    bare = _FENCES.sub("", answer)
    label = words.alone(bare)
    if label is not None or fmt != "adaptive":
        return label
    if words.numeric:
        return words.out_of(bare)
    lead = _LEAD.match(bare)
    label = words.alone(lead[1]) if lead and not OPEN.search(bare) else None
    back = lead and taken_back(bare[lead.end() :], {1: label}, words)
    return None if back or (label != words.labels[0] and HEDGED.search(bare)) else label


def _loose(answer: str, words: Words, material: Sequence[str]) -> tuple[str, ...]:
    """Return label words in order if the text states them; empty for a question, condition, refusal or listing."""
    found = words.in_order(answer)
    if not found or any(sign.search(answer) for sign in (OPEN, _UNABLE, BACK, _LEGEND)):
        return ()
    ends = [(0, 0, ""), *found, (len(answer), 0, "")]
    lead, *gaps, tail = (answer[before[1] : after[0]] for before, after in pairwise(ends))
    rest = "".join((lead, *gaps, tail))
    weakened = HEDGED.search(rest) and {label for _, _, label in found} != {words.labels[0]}
    if (
        DENIED.search(rest)
        or weakened
        or any(_CROSSED.search(answer, max(0, start - 4), start) for start, _, _ in found)
    ):
        return ()
    if len(found) > 1 and not in_sequence(rest, digits=True):
        return ()
    if gaps and all(_LISTING.fullmatch(gap) for gap in gaps) and re.search(r"\w", lead + tail):
        return ()
    said = {
        _folded(_BULLET.sub("", line)) for line in answer.splitlines() if words.in_order(line) and not words.alone(line)
    }
    if any(line in _folded(text) for text in material for line in said):
        return ()
    return tuple(label for _, _, label in found)


def _first_turn(answer: str, words: Words) -> str:
    """Return the text up to an invented further turn after a list of labels; the labels after that are of no unit."""
    if NEXT_TURN.search(answer) is None:
        return answer
    begun = min((found.start for found in lists_of(answer, words)), default=len(answer))
    turn = NEXT_TURN.search(answer, begun)
    return answer[: turn.start()] if turn else answer


def _in_turn(units: Sequence[str], text: str) -> bool:
    """Return whether the texts of units that the text repeats are in their order."""
    said = text.casefold()
    bare = [unit.strip(" .").casefold() for unit in units]
    found = [(at, said[at + len(unit) :][:20].lstrip()) for unit in bare if unit and (at := said.find(unit)) >= 0]
    places = [at for at, after in found if not after[:1].isalnum()]
    return places == sorted(places)


def _shuffled(found: Found, answer: str, units: Sequence[str], words: Words) -> bool:
    """Return whether a list names its units, by their texts, ordinals or numbers, in another order than asked."""
    if not _in_turn(units, answer[max(0, found.start - NEAR) : found.end]):
        return True
    if found.numbers:
        return False
    beside = [re.findall(r"\b[0-9]{1,4}\b", item or "") for item in found.raw]
    numbers = [int(item[0]) for item in beside if len(item) == 1 and not words.numeric]
    return numbers != sorted(numbers) or not in_sequence(answer[found.start : found.end], digits=False)


def _explains(found: Found, answer: str, words: Words) -> bool:
    """Return whether a list is only an example, or the scale in a sentence or with the meaning of each label."""
    if _EXAMPLE.search(answer, max(0, found.start - NEAR), found.start):
        return True
    scale = list(words.labels)
    if found.numbers[:1] == [0] and (found.labels == scale or _LEGEND.match(answer, found.start)):
        return True
    if len(scale) < 3 or found.labels not in (scale, scale[::-1]):
        return False
    after = answer[found.end :]
    if found.strict:
        before = answer[answer.rfind("\n", 0, found.start) + 1 : found.start].strip()
        beside = after.partition("\n")[0].strip(" .`\t") or (before and before[-1] not in ":=`>")
        return bool(beside) and found.reader != "xml"
    before = answer[: found.start].rstrip().rpartition("\n")[2]
    if found.reader == "csv":  # "Labels: support, partial_support, not_support" in one line
        before = answer[found.start : found.end].rpartition(":")[0] or before
    elif all(words.alone(item) for item in found.raw) or not all(words.first(item or "") for item in found.raw):
        return False
    return bool(_SCALE_SAID.search(before) or _REQUEST.search(after))


# ---- which list counts


class _Placed(Struct, frozen=True):
    """A list of labels, with labels and their original texts by unit number."""

    found: Found
    labels: Mapping[int, str | None]
    raw: Mapping[int, str | None]

    def without(self, numbers: Collection[int]) -> _Placed:
        """Return the list without the labels of these units, which the reply contradicts."""
        labels = {number: None if number in numbers else label for number, label in self.labels.items()}
        raw = {number: f"{item}, but contradicted" if number in numbers else item for number, item in self.raw.items()}
        return _Placed(self.found, labels, raw)


def _chosen(lists: Sequence[Found], asked: Sequence[int], fmt: Format, answer: str, words: Words) -> _Placed | None:
    """Return the list that counts: the last of the right length, else the longest that is not too long."""
    asked_first = (fmt, *LABEL_FORMATS)
    rank = {reader: asked_first.index(reader) for reader in LABEL_FORMATS}
    right: list[_Placed] = []
    partial: list[_Placed] = []
    too_long = 0
    for found in lists:
        placed = found.placed(asked)
        if placed is None:
            too_long = max(too_long, len(found.labels))
        else:
            (right if len(placed[0]) == len(asked) else partial).append(_Placed(found, *placed))
    whole = right = _apart(right, rank)
    if right:
        alike = next((group for group in _ALIKE if fmt in group), (fmt,))
        if fmt != "adaptive" and (own := [entry for entry in right if entry.found.reader in alike]):
            right = own
        # A list with gaps and no brackets or tags may only explain an earlier one.
        whole_or_strict = (one for one in reversed(right) if one.found.strict or None not in one.labels.values())
        last = next(whole_or_strict, right[-1])
        # A later list, complete or numbered, may contradict it; so may an earlier one that it does not replace.
        others = [*whole, *(entry for entry in partial if entry.found.numbers)]
        begun = last.found.start
        gaps = [(one, answer[max(one.found.end, begun - 2 * NEAR) : begun]) for one in right if one is not last]
        against = [entry for entry, gap in gaps if _SUPPOSED.search(gap) or not _REPLACES.search(gap)]
        against += [entry for entry in others if entry.found.start >= last.found.end]
        mine = last.labels.items()
        return last.without({n for n, label in mine if any(one.labels.get(n) not in (None, label) for one in against)})
    partial = _apart(partial, rank)
    by_place = [entry for entry in partial if not entry.found.numbers]
    together = sum(len(one.found.labels) for one in by_place) == len(asked)
    if by_place and together and len(by_place) == len(partial) and _one_list(by_place, answer):
        labels = [label for piece in by_place for label in piece.found.labels]
        raw = [item for piece in by_place for item in piece.found.raw]
        return _Placed(by_place[0].found, dict(zip(asked, labels, strict=True)), dict(zip(asked, raw, strict=True)))
    # A short positional list is of the first units only if it is complete, in brackets and the only list.
    longest = max((len(entry.found.labels) for entry in partial), default=0)
    if longest == 0 or longest < too_long:
        return None
    best = [entry for entry in partial if len(entry.found.labels) == longest]
    if best[-1].found.numbers:
        return best[-1]
    alone = best[-1].found.strict and len(best) == 1 and best[0] is by_place[-1]
    return best[0] if alone and not unread(answer, words) else None


def _one_list(pieces: Sequence[_Placed], answer: str) -> bool:
    """Return whether the pieces are one list with blank lines in it.

    Lists in brackets, or with words between them, may be a first and a second attempt at the same units.
    """
    gaps = [answer[before.found.end : after.found.start] for before, after in pairwise(pieces)]
    return not any(
        piece.found.strict or _BRACKET.match(answer, piece.found.start, piece.found.end) for piece in pieces
    ) and not any(re.search(r"\w", gap) for gap in gaps)


def _uncut(best: _Placed, answer: str, words: Words) -> _Placed:
    """Return the list without its last label if the reply ends inside that, while all others are complete labels."""
    *others, last = best.raw
    whole = [raw for number, raw in best.raw.items() if number != last]
    text = best.raw[last] or ""
    if others and words.cut(text) and answer.endswith(text) and all(raw in words.labels for raw in whole):
        return _Placed(best.found, {**best.labels, last: None}, best.raw)
    return best


def _apart(entries: Sequence[_Placed], rank: Mapping[Format, int]) -> list[_Placed]:
    """Return entries that do not overlap one of a higher-ranked reader, in the order of the text."""
    latest = sorted(entries, key=lambda entry: entry.found.end)[-NEAR:]
    kept: list[_Placed] = []
    for entry in sorted(latest, key=lambda entry: (rank[entry.found.reader], -entry.found.start)):
        if not any(entry.found.overlaps(other.found) for other in kept):
            kept.append(entry)
    return sorted(kept, key=lambda entry: entry.found.end)


def _parsed(placed: _Placed, asked: Sequence[int], words: Words) -> Parsed:
    labels = tuple(placed.labels.get(number) for number in asked)
    raw = tuple(placed.raw.get(number) for number in asked)
    absent = [number for number in asked if number not in placed.labels]
    unknown = [number for number in asked if number in placed.labels and placed.labels[number] is None]
    problems = []
    if absent:
        problems.append(f"no label for {_few(absent)}")
    if unknown:
        shown = "; ".join(f"{number}: {str(placed.raw.get(number))[:40]!r}" for number in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        problems.append(f"labels outside the scale ({shown}{more}); expected {', '.join(words.labels)}")
    status: Status = "truncation" if absent else "unknown_label" if unknown else "ok"
    return Parsed(labels, placed.found.reader, status, "; ".join(problems), raw)


def _few(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:20]))
    return shown + (f" and {len(numbers) - 20} more" if len(numbers) > 20 else "")


# ---- what the reply repeats


class _Echoes:
    """Finds parts of an answer that are copied from the judged texts."""

    def __init__(self, answer: str, material: Sequence[str], words: Words, *, alone: bool) -> None:
        self._answer = answer
        self._material = material
        self._words = words
        self._alone = alone
        self._whole = _folded(_FENCES.sub("", answer)) if material else ""
        self._values: frozenset[_Value] | None = None

    def holds(self, found: Found) -> bool:
        """Return whether the list is copied from the record, in the same or another format.

        A reply that consists only of the list is still an answer.
        """
        if not self._material:
            return False
        stretch = self._answer[found.start : found.end]
        folded = _folded(stretch)
        if (folded == self._whole and self._alone) or not _STRUCTURE.search(stretch):
            return False
        if self._values is None:
            texts = [text for text in self._material if _LISTED.search(text)]
            self._values = frozenset().union(*(_values_of(text, self._words) for text in texts))
        if _value(found) in self._values:
            return True
        if stretch[:1] in "[{<":
            return any(stretch[0] in text and folded in _folded(text) for text in self._material)
        near = [text for text in self._material if folded[-4:] in text.casefold()]
        if len(stretch.strip().splitlines()) > 1:
            return any(folded in _folded(text) for text in near)
        # Compare whole lines: "1. support" is not copied from "1. Support the strike".
        return any(line == folded or line.endswith(f" {folded}") for text in near for line in _lines(text))


_Value = tuple[tuple[int, ...], tuple[str, ...]]


def _value(found: Found) -> _Value:
    return tuple(found.numbers), tuple(
        "" if raw is None else re.sub(r"[\W_]+", "_", raw).strip("_").casefold() for raw in found.raw
    )


@lru_cache(maxsize=512)
def _values_of(text: str, words: Words) -> frozenset[_Value]:
    """Return the lists of labels in a text of the record; of a very long text, those at its end."""
    return frozenset(_value(found) for found in lists_of(plain(text[-MATERIAL:]), words))


@lru_cache(maxsize=256)
def _lines(text: str) -> frozenset[str]:
    return frozenset(_folded(line) for line in text.splitlines())


def _without(answer: str, material: Sequence[str], words: Words) -> str:
    """Return the answer with restated unit texts replaced if they contain a label word.

    Only complete texts of several words without brackets are replaced, between the start of a line, a number or
    punctuation and further punctuation. Texts that could be a label themselves are kept.
    """
    for text in material:
        short = text.strip()
        if not (8 <= len(short) <= 300 and len(short.split()) > 2 and short in answer) or _BRACKETS.search(short):
            continue
        if words.alone(short) is not None or not (words.in_order(short) or any(map(words.alone, short.split()))):
            continue
        pattern = (
            rf"(?m)(^|[:.)(*\u2014\u2013-][^\S\n]*|\|[^\S\n]*){re.escape(short)}(?=[^\S\n]*[:)(*|\u2014\u2013\u2192-])"
        )
        answer = re.sub(pattern, r"\1restated", answer)
    return answer


@lru_cache(maxsize=256)
def _folded(text: str) -> str:
    return " ".join(plain(text).casefold().split())
