"""Find every list of labels in a reply, in any format, with its position in the text.

Each format has a small reader; ``labels`` decides which of the lists is the answer.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ragstone.parsing import label_entries, label_tables
from ragstone.parsing.label_rows import LABEL_NAMES, MOST, NUMBER_NAMES, Format, Found
from ragstone.parsing.label_words import Words
from ragstone.parsing.literals import NONE, Pairs, literals
from ragstone.parsing.literals import Literal as Written

WORD: Final = 30
"""Maximum number of characters of an unknown word among labels."""
ITEM: Final = 400
"""Maximum number of characters of an item in brackets: its label and any text beside it."""
_WRAPPERS: Final = frozenset(
    (
        "labels", "verdicts", "assignments", "answers", "answer", "results", "result", "judgments", "judgements",
        "decisions", "output", "data", "list", "nuggets", "statements", "claims", "response", "final", "final_answer",
        "items", "arguments", "parameters", "input", "метки",
    )
)  # fmt: skip
_KEY: Final = re.compile(r"[^\w]*(?:[^\W\d_]{1,12}[\s_#№-]*)?([0-9]{1,4})[^\w]*")
_KEY_AND_TEXT: Final = re.compile(r"\W*([0-9]{1,4})[.):]\s+\S")
_ELLIPSIS: Final = re.compile(r"[.\u2026]+")
_TAG: Final = re.compile(r"<([A-Za-z_0-9][\w.-]{0,40})((?:\s[^<>]{0,400})?)/?>([^<]*)")
_NUMBER_TAGS: Final = frozenset(("number", "id", "no", "n", "index", "num", "nugget_id", "statement_id", "claim_id"))
_ATTRIBUTE: Final = re.compile(r"([\w-]+)\s*=\s*[\"'“”]?([^\"'“”\s/>]*)")


def lists_of(text: str, words: Words) -> list[Found]:
    """Return every list with a label that any reader finds; several readers may read the same text."""
    found = list(_literal_lists(text, words))
    # A bracketed list that is numbered or truncated is not read in any other format.
    taken = [one for one in found if one.numbers or (not one.closed and text.rstrip()[-1:] not in ("]", "}", "`"))]
    written = _tags(text, words) + label_entries.listed(text, words)
    for kind in label_tables.TABLES:
        written += label_tables.tables(text, words, kind)
    return found + [one for one in written if not any(one.overlaps(other) for other in taken)]


def unread(text: str, words: Words) -> bool:
    """Return whether the text has a bracketed list of strings without labels, which may be of the first units."""
    return any(
        isinstance(literal.value, list)
        and literal.value
        and all(isinstance(item, str) for item in literal.value)
        and not any(words.alone(item) or words.beside(item) for item in literal.value)
        for literal in literals(text)
    )


def _literal_lists(text: str, words: Words) -> Iterator[Found]:
    loose: list[Written] = []

    def gathered() -> Iterator[Found]:
        if loose:
            at = Written(loose[0].start, loose[-1].end, None, loose[-1].closed)
            yield from _of_entries([one.value for one in loose], words, at)
            loose.clear()

    for literal in literals(text):
        value = literal.value
        single = isinstance(value, Pairs) and len(value.items) == 1 and _number(value.items[0][0]) is not None
        entry = single or (isinstance(value, Pairs) and _entry(value, words) is not None)
        if re.match(r"\s*[*+]\s*[0-9\[]", text[literal.end : literal.end + 12]):
            continue  # an expression such as ``["support"] * 3``
        if loose and not (entry and not text[loose[-1].end : literal.start].strip(" \t\r\n,;")):
            yield from gathered()
        if entry:
            loose.append(literal)
            continue
        if literal.bare and isinstance(literal.value, list) and all(isinstance(item, int) for item in literal.value):
            before = text[text.rfind("\n", 0, literal.start) + 1 : literal.start].strip()
            after = text[literal.end : (text.find("\n", literal.end) + 1 or len(text) + 1) - 1].strip(" \t.;,`")
            if after or (before and before[-1] not in ":=`"):
                continue  # "[1]" within a sentence is a reference
        yield from _of_value(literal.value, words, literal, 0)
    yield from gathered()
    whole = text.strip()
    if whole[:1] == whole[-1:] == '"' and "\\" in whole:  # the list as a JSON string
        inner = whole[1:-1].replace('\\"', '"').replace("\\n", "\n")
        for found in _literal_lists(inner, words):
            found.start, found.end = 0, len(text)
            yield found


def _of_value(value: list[Any] | Pairs, words: Words, at: Written, depth: int) -> Iterator[Found]:
    if isinstance(value, list):
        if value and all(isinstance(item, Pairs) for item in value):
            yield from _of_entries(value, words, at)
        elif value and all(_pair(item) for item in value):  # [[1, "support"], [2, "support"]]
            yield from _plain("json", value, words, at)
        elif value and not any(isinstance(item, list | Pairs) for item in value):
            yield from _plain("json", [(None, item) for item in value], words, at)
        elif len(value) == 1 and depth < 3:
            yield from _of_value(value[0], words, at, depth + 1)
        return
    keyed = [(number, _label_of(item, words)) for key, item in value.items if (number := _number(key)) is not None]
    if keyed:
        yield from _plain("keyed", keyed, words, at)
        return
    if value.items and all(
        words.strong(str(key)) and isinstance(item, list) and all(type(number) is int for number in item)
        for key, item in value.items
    ):
        pairs = [(number, str(key)) for key, item in value.items for number in item]  # {"support": [1, 3]}
        yield from _plain("keyed", pairs, words, at)
        return
    if len(value.items) > 1 and all(isinstance(item, str) and words.alone(item) for _, item in value.items):
        names = {str(key).strip().casefold() for key, _ in value.items}
        if len(names) == len(value.items) and not names & {*LABEL_NAMES, *NUMBER_NAMES, *_WRAPPERS}:
            yield from _plain(
                "keyed", [(None, item) for _, item in value.items], words, at
            )  # keyed by the texts of the units
            return
    for key, item in value.items:
        name = str(key).strip().casefold()
        if depth < 3 and isinstance(item, list | Pairs) and (name in _WRAPPERS or len(value.items) == 1):
            yield from _of_value(item, words, at, depth + 1)
        elif len(value.items) == 1 and name in (*LABEL_NAMES, *_WRAPPERS):
            yield from _plain("keyed", [(None, item)], words, at)


def _of_entries(values: Sequence[Any], words: Words, at: Written) -> Iterator[Found]:
    """Yield the list in objects that each have a label, with their unit's number or in the order of the units."""
    entries = [_entry(value, words) for value in values]
    at = Written(at.start, at.end, None, at.closed)  # regardless of its quotes
    if any(entry is None for entry in entries):
        merged = [pair for value in values for pair in value.items]
        if all(_number(key) is not None for key, _ in merged):  # [{"1": "support"}, {"2": "support"}]
            yield from _of_value(Pairs(tuple(merged)), words, at, 2)
        elif len(merged) == len(values) and all(isinstance(i, str) and words.alone(i) for _, i in merged):
            yield from _plain("json", [(None, item) for _, item in merged], words, at)  # each by the text of its unit
        return
    told = [entry for entry in entries if entry is not None]
    if len({number is None for number, _ in told}) == 1:
        yield from _plain("json", told, words, at)


def _entry(value: Pairs, words: Words) -> tuple[int | None, Any] | None:
    """Return the number (or None) and the label of an object; None if it has no label."""
    fields = {str(key).strip().casefold(): item for key, item in value.items}
    named = [name for name in LABEL_NAMES if name in fields and not isinstance(fields[name], list | Pairs)]
    if not named:
        return None
    label_name = next((name for name in named if words.alone(fields[name]) is not None), named[0])
    if words.alone(fields[label_name]) is None and any(isinstance(item, list | Pairs) for item in fields.values()):
        return None  # the labels are nested deeper
    for name in NUMBER_NAMES:
        if name in fields and name != label_name and (number := _number(fields[name], word=False)) is not None:
            return number, fields[label_name]
    return None, fields[label_name]


def _label_of(value: Any, words: Words) -> Any:
    """Return the label from the value of a number: the value itself, or from an object or a pair with a confidence."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], float | int):
        return value[0]
    if not isinstance(value, Pairs):
        return value
    entry = _entry(value, words)
    return entry[1] if entry else None


def _pair(item: object) -> bool:
    if not isinstance(item, list) or len(item) != 2:
        return False
    return type(item[0]) is int and 0 <= item[0] <= MOST and isinstance(item[1], str | int | float)


def _number(key: object, *, word: bool = True) -> int | None:
    if type(key) is int:
        return key if 0 <= key <= MOST else None
    if not isinstance(key, str):
        return None
    match = _KEY.fullmatch(key) if len(key) <= 40 else None
    if match is None and word:
        match = _KEY_AND_TEXT.match(key)
    return None if match is None or (not word and len(key) > 20) else int(match[1])


def _begun(items: Sequence[Any], words: Words, *, bare: bool) -> bool:
    """Return whether an unclosed list at the end of the text holds labels, rather than being a bracket in prose."""
    known = [words.alone(item) is not None for item in items]
    words_only = all(
        isinstance(item, str) and len(item) <= WORD and label_entries.numbered(item, words) is None
        for item, label in zip(items, known, strict=True)
        if not label
    )
    return all(known) or (not bare and known[0] and words_only)


def _plain(reader: Format, entries: Sequence[tuple[int | None, Any]], words: Words, at: Written) -> Iterator[Found]:
    """Yield the list if it holds labels; its entries are numbered or positional."""
    numbers, items = [number for number, _ in entries if number is not None], [item for _, item in entries]
    words_only = at.bare and not any(item is None or isinstance(item, bool | int | float) for item in items)
    items = [("none" if words_only else None) if item is NONE else item for item in items]
    dots = next(
        (place for place, item in enumerate(items) if isinstance(item, str) and _ELLIPSIS.fullmatch(item)), None
    )
    if dots is not None:  # positions after an ellipsis are unknown
        items, numbers = items[:dots], numbers[:dots]
    told = [label_entries.numbered(item, words) if isinstance(item, str) else None for item in items]
    if not numbers and told and all(entry is not None for entry in told):  # ["1. support", "2. support"]
        pairs = [entry for entry in told if entry is not None]
        items, numbers = [label for _, label in pairs], [number for number, _ in pairs]
    raw = [None if item is None or isinstance(item, list | Pairs) else str(item) for item in items]
    if any(isinstance(item, str) and ("\n" in item.strip() or len(item) > ITEM) for item in items):
        return  # a bracket in prose that has swallowed the text after it
    labels = [
        words.alone(item) or (words.beside(item) if isinstance(item, str) and not (words.numeric and at.bare) else None)
        for item in items
    ]
    if not any(labels) or not (at.closed or numbers or _begun(items, words, bare=at.bare)):
        return
    name: Format = "python_list" if reader == "json" and (at.bare or at.single) else reader
    yield Found(name, at.start, at.end, raw, labels, numbers, strict=True, closed=at.closed)


def _attributes(text: str) -> tuple[int | None, str | None]:
    """Return the number and the label among the attributes of a tag; each is None if absent."""
    attributes = {key.casefold(): value for key, value in _ATTRIBUTE.findall(text)}
    told = next((_number(attributes[key]) for key in NUMBER_NAMES if key in attributes), None)
    return told, next((attributes[key] for key in (*LABEL_NAMES, "value", "answer") if key in attributes), None)


def _tags(text: str, words: Words) -> list[Found]:
    """Return lists in XML: elements whose text or attribute is a label.

    Their number is in an attribute or element; elements without one are positional.
    """
    open_lists: dict[str, Found] = {}
    done: list[Found] = []
    number: int | None = None
    closes = False
    for match in _TAG.finditer(text):
        name = match[1].casefold()
        told, given = _attributes(match[2])
        content = html.unescape(match[3]).strip()
        if name in _WRAPPERS and not content and told is None:
            done += open_lists.values()  # a new list starts
            open_lists, number = {}, None
            continue
        if name in _NUMBER_TAGS and _number(content) is not None:
            if any(not found.numbers for found in open_lists.values()):
                return []  # a number after its label: which is whose is unclear
            number = _number(content)
            continue
        if told is not None and given is None and not content:
            number = told  # the element around the one with the label
            continue
        item = given if given is not None else content
        if name in _WRAPPERS and "," in content and told is None:  # <answer>support, not_support</answer>
            for row in label_tables.tables(content, words, "csv"):
                row.reader, row.start, row.end = "xml", match.start(), match.end()
                done.append(row)
            continue
        ends = text[match.end() : match.end() + 2]
        closes = closes or ends == "</"
        if given is None and closes and not ends:
            break  # the text was truncated in this element
        tail = re.fullmatch(r"(\w*?)_?([0-9]{1,4})", name)
        label = words.alone(item)
        named = name in LABEL_NAMES or given is not None or tail is not None or told is not None
        if label is None and not item and name in LABEL_NAMES and told is None and number is None:
            pass  # an empty element still takes a position
        elif label is None and (not named or not item):
            continue
        if told is None and tail is not None:
            told = int(tail[2])
        if told is None and number is not None and name in LABEL_NAMES:
            told, number = number, None
        key = tail[1] if tail else name
        found = open_lists.get(key)
        if found is not None and ((told is None) != (not found.numbers) or found.restarts_at(told)):
            done.append(found)
            found = None
        if found is None:
            found = open_lists[key] = Found("xml", match.start(), match.end(), strict=True)
        # The content of an unclosed tag includes all the text after it.
        label = label if label is not None or "\n" in item else words.beside(item)
        found.add(told, item, label, match.end())
    return [found for found in (*done, *open_lists.values()) if any(found.labels)]
