"""Convert the JSON value of a field to the value in a Record.

Each function takes the value and a list to which it adds notes, and raises UnfitError for a value of the wrong type.
Notes contain neither places nor content, so that they can be counted over a whole file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, get_args

from msgspec.structs import replace

from ragstone import segment
from ragstone.records.ids import Names
from ragstone.records.jsontext import kind, opened
from ragstone.records.paths import folded
from ragstone.records.python_values import literal
from ragstone.segment import division, located
from ragstone.types import Assignment, Citation, Importance, Nugget, Passage, Span, passage_id

PASSAGE_IDS: Final = (
    "id", "docid", "doc_id", "pid", "passage_id", "document_id", "chunk_id", "segment_id", "id_", "node_id",
)  # fmt: skip
PLAIN_IDS: Final = frozenset(map(folded, PASSAGE_IDS))
"""`PASSAGE_IDS` folded, for other spellings: ``_id``, ``docId``."""
PASSAGE_TEXTS: Final = ("text", "segment", "content", "contents", "passage", "page_content", "pageContent", "body",
                        "snippet", "passage_text", "chunk_text")  # fmt: skip
TEXTS_OR_NAMES: Final = ("segment", "passage", "doc")
"""Keys that hold a passage's text or, next to a text under another key, the name of its document."""
WRAPPED: Final = ("doc", "document", "node", "kwargs", "payload", "init_parameters", "data", "metadata")
"""Keys under which a retrieved item holds its document, next to score and judgment."""
CONSTRUCTED: Final = "kwargs"
"""The wrapper of a serialised LangChain document, next to which there is only the class name."""
VECTORS: Final = ("embedding", "sparse_embedding")
"""Keys of embedding vectors (thousands of numbers), which are dropped."""
DETAILS_INSIDE: Final = ("metadata", "meta", "extra_info")
"""Keys of a document's metadata, which may contain its id."""

MARKUP: Final = re.compile(r"</[A-Za-z][A-Za-z0-9:-]*\s*>|<(?:br|hr|img)\b[^<>]*>", re.IGNORECASE)
JOINED: Final = re.compile(r"\n[^\S\n]*+(?:\n|[-=*#_|~+]{3,}+\s*+\S)|\s\|{2,}\s|\[SEP\]|<SEP>", re.IGNORECASE)
"""A blank line, a rule or a separator, with which tools join passages into one text; applied to stripped texts.

Its quantifiers are possessive, because a text may consist of thousands of blank lines.
"""
PRINTED: Final = re.compile(
    r"page_content=['\"]|Node ID: \S+\n(?:Text|Score):|(?:Document|TextNode|NodeWithScore)\(\w+="
)
"""The start of a document of LangChain, LlamaIndex or Haystack that was printed instead of exported."""

NUGGET_TEXTS: Final = ("text", "nugget")
IMPORTANCES: Final[Mapping[str, Importance]] = {"vital": "vital", "okay": "okay", "ok": "okay"}
ASSIGNMENTS: Final[Mapping[str, Assignment]] = {label: label for label in get_args(Assignment)}
UNASSIGNED: Final = "failed"
"""The label that TREC tools use for a nugget that could not be assigned."""
NUGGET_SOURCES: Final = ("docids", "references", "sources")
"""Keys under which a nugget names its source passages."""
GRADES: Final = ("grade", "relevance", "judgment", "rel", "score")
"""Keys for the grade of a relevant passage."""
TRUTHS: Final[Mapping[str, bool]] = {
    "true": True, "yes": True, "1": True, "answerable": True,
    "false": False, "no": False, "0": False, "unanswerable": False, "not answerable": False,
}  # fmt: skip
LONGEST_NUGGET: Final = 100
"""Maximum number of words in a text that is probably one fact."""


BLANK_NUGGET: Final = "nuggets: blank nugget left out"
SAME_NUGGET: Final = "nuggets: duplicate nugget left out"
BOTH: Final = "nuggets: duplicate nugget is both vital and okay; treated as vital"
LONG_NUGGET: Final = f"nuggets: a nugget has more than {LONGEST_NUGGET} words; it should be one fact"
NO_IMPORTANCE: Final = "nuggets: importance is neither vital nor okay; ignored"
NO_ASSIGNMENT: Final = "nuggets: assignment is not support, partial_support or not_support; ignored"
SEVERAL_TEXTS: Final = "has several entries"
_PRINTED: Final = re.compile(r"""\s*(?:\[["'].*\]|\{["'].*\})\s*""", re.DOTALL)
"""A text that begins and ends like a printed list or object."""


class UnfitError(Exception):
    """A value does not fit its field; ``found`` and ``expected`` are as in RecordError.

    ``field`` names the field if it is not the one being read. ``text_key`` is the key that probably holds the text of a
    list entry.
    """

    def __init__(self, found: str, expected: str = "", *, field: str = "", text_key: str = "") -> None:
        self.found = found
        self.expected = expected
        self.field = field
        self.text_key = text_key
        super().__init__(found)


def identifier(value: Any, _: list[str]) -> str:
    """Return an id: a string unchanged, a number as its digits (2.0, as in tables with missing values, becomes 2)."""
    if isinstance(value, dict) and isinstance(value.get("$oid"), str):
        return str(value["$oid"])  # as MongoDB exports it
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnfitError(f"expected a string or a number, found {kind(value)}")
    return str(int(value) if value == int(value) else value)


def text(value: Any, _: list[str]) -> str:
    """Return a text unchanged; numbers are rejected, because a number can be written in many ways."""
    if isinstance(value, str):
        return value
    raise UnfitError(f"expected a string, found {kind(value)}")


def reference(value: Any, notes: list[str]) -> str:
    """Return a reference, which may be in a list of equal ones, or under ``text`` (SQuAD); tables print such values.

    Any other JSON in a string is the reference itself.
    """
    made = opened(value)
    is_json = made is not value
    if isinstance(value, str) and not is_json and _PRINTED.fullmatch(value):
        try:
            made = literal(value)
        except ValueError:
            raise UnfitError("a printed object") from None
    given = made.get("text") if isinstance(made, dict) else made
    texts = [item.get("text") if isinstance(item, dict) else item for item in given] if isinstance(given, list) else []
    if is_json and not (isinstance(given, list) and all(isinstance(item, str) for item in texts)):
        return text(value, notes)
    if len(texts) > 1 and any(item != texts[0] for item in texts):
        raise UnfitError(SEVERAL_TEXTS)
    return text(texts[0] if texts else given, notes)


def passages(value: Any, notes: list[str]) -> tuple[tuple[Passage, ...], dict[str, dict[str, Any]]]:
    """Return the contexts in order, and by passage id the other keys of their objects (score, title...)."""
    if isinstance(value, str):
        listed = _written_list(value)
        notes += ["contexts: a list given as a string was read as a list"] if listed is not None else []
        value = listed if listed is not None else [value] if value.strip() else []
    rows = rows_by_column(value) if isinstance(value, dict) else None  # of a data set of Hugging Face
    if rows and all(_first(row, (*PASSAGE_TEXTS, "sentences")) for row in rows):
        value = rows
    if not isinstance(value, list):
        raise UnfitError(f"expected a list of passages or one string, found {kind(value)}")
    if len(value) == 1 and isinstance(value[0], list) and all(isinstance(item, str | dict) for item in value[0]):
        value = value[0]  # a batch of one query
    if all(type(item) is str for item in value):  # the usual case, in less than half the time
        if not all(map(str.strip, value)):
            notes.append("contexts: a blank passage")
        _say_form(value, notes)
        return tuple(Passage(str(rank), body, rank) for rank, body in enumerate(value, 1)), {}
    value = list(map(paired, value))
    naming = _naming(value)
    found = [_passage(item, number, naming) for number, item in enumerate(value, 1)]
    if any(not body.strip() for _, body, _ in found):
        notes.append("contexts: a blank passage")
    _say_form([body for _, body, _ in found], notes)
    for number, (_, body, rest) in enumerate(found, 1):
        if rest.get("sentences"):
            _check_division(body, rest["sentences"], number, notes)
    ranks: list[Any] = [rest.get("rank") for _, _, rest in found]
    if all(isinstance(rank, int) for rank in ranks) and ranks != sorted(ranks):
        notes.append("contexts: passages are not in the order of their ranks; the order of the list is used")
    names = _unique([name for name, _, _ in found], notes)
    made = tuple(
        Passage(name, body, rank) for rank, (name, (_, body, _)) in enumerate(zip(names, found, strict=True), 1)
    )
    return made, {name: rest for name, (_, _, rest) in zip(names, found, strict=True) if rest}


def rows_by_column(value: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a table that is stored by column: equally long lists under several keys; else None."""
    columns = list(value.values())
    if len(columns) < 2 or not all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        return None
    return [dict(zip(value, cells, strict=True)) for cells in zip(*columns, strict=True)]


def readable(value: object) -> bool:
    """Return whether a value can be contexts."""
    with suppress(UnfitError):
        return bool(passages(value, []))
    return False


def _written_list(text: str) -> list[Any] | None:
    """Return the passages of a list written as a string, in JSON or Python syntax; None for any other text."""
    if text.lstrip()[:1] != "[":
        return None
    found = opened(text)
    with suppress(ValueError):
        found = literal(text) if found is text else found
    return found if isinstance(found, list) and all(isinstance(item, str | dict) for item in found) else None


def _say_form(bodies: Sequence[str], notes: list[str]) -> None:
    """Note passages that are not plain text; a judge gets them unchanged."""
    if any("<" in body and MARKUP.search(body) for body in bodies):
        notes.append("contexts: a passage with markup (HTML or XML)")
    if any(map(PRINTED.match, bodies)):
        notes.append("contexts: a passage is a printed document object; export its text instead")
    if any(isinstance(opened(body), dict | list) for body in bodies if body[:1] in ("{", "[")):
        notes.append("contexts: a passage that is JSON; specify its text with --field contexts=PATH[].text")
    if len(bodies) == 1 and JOINED.search(bodies[0].strip()):
        notes.append("contexts: one text that looks like several joined passages; give a list")


def prose(value: object) -> int:
    """Return the length of a string that can be a text; 0 for a single word such as a name or a URL, and for others."""
    if not isinstance(value, str) or (value.isascii() and len(value.split(maxsplit=1)) < 2):
        return 0  # scripts without spaces are not ASCII
    return len(value)


def _naming(items: Sequence[Any]) -> tuple[str, ...]:
    """Return the keys of `TEXTS_OR_NAMES` that hold names: one word each, always next to a longer text."""

    def names(item: Mapping[str, Any], key: str) -> bool:
        value = item[key]
        if not isinstance(value, str) or len(value.split(maxsplit=1)) != 1:
            return False
        inner = [wrapped for name in WRAPPED if isinstance(wrapped := item.get(name), dict)]
        beside = (pair for each in (item, *inner) for pair in each.items())
        return any(prose(entry) > len(value) for other, entry in beside if other not in (key, *PASSAGE_IDS))

    objects = [item for item in items if isinstance(item, dict)]
    holders = {key: [item for item in objects if key in item] for key in TEXTS_OR_NAMES}
    return tuple(key for key, those in holders.items() if those and all(names(item, key) for item in those))


def paired(item: Any) -> Any:
    """Return a pair as an object: a text or document with its score, or a title with the sentences below it."""
    if not isinstance(item, list) or len(item) != 2:
        return item
    first, second = item
    if isinstance(second, int | float) and (isinstance(first, dict) or prose(first)):  # not an id with its score
        return {**({"text": first} if isinstance(first, str) else first), "score": second}
    if isinstance(first, str) and isinstance(second, list) and all(isinstance(part, str) for part in second):
        return {"title": first, "text": " ".join(map(str.strip, second))}
    return item


def _passage(item: Any, number: int, naming: Sequence[str]) -> tuple[str, str, dict[str, Any]]:
    if item is None:
        return "", "", {}
    if isinstance(item, str):
        return "", item, {}
    if not isinstance(item, dict):
        raise UnfitError(f"passage {number} is {kind(item)}", "expected a string or {text: …}")
    texts = [key for key in PASSAGE_TEXTS if key not in naming]
    name, item = _unwrapped(item, texts, naming)
    key = _first(item, texts)
    sentences = item.get("sentences") if key is None else None
    if isinstance(sentences, list) and all(isinstance(sentence, str) for sentence in sentences):
        key, item = "sentences", {**item, "sentences": " ".join(map(str.strip, sentences))}
    if key is None:
        strings = {name: entry for name, entry in item.items() if isinstance(entry, str)}
        meant = max(strings, key=lambda name: (prose(strings[name]), len(strings[name])), default="")
        raise UnfitError(
            f"passage {number} is an object without a text",
            f"expected one of {', '.join(PASSAGE_TEXTS)}",
            text_key="" if meant in PASSAGE_IDS else meant,
        )
    body = item[key]
    body = body.get("text") if isinstance(body, dict) else body  # as Bedrock returns it
    if body is not None and not isinstance(body, str):
        raise UnfitError(f"'{key}' of passage {number} is {kind(body)}", "expected a string")
    label = None if name else _label(item)
    rest = {other: entry for other, entry in item.items() if other not in (key, label, *VECTORS)}
    return name or (str(item[label]) if label else _inner_name(item)), body or "", rest


def _check_division(body: str, given: Any, number: int, notes: list[str]) -> None:
    """Check that the given sentences occur in the passage, because labels refer to sentences by position."""
    own = division(given)
    if not own:
        notes.append("contexts: 'sentences' is not a list of strings; ignored")
    for place, (sentence, span) in enumerate(zip(own, located(body, own), strict=True), 1):
        if span is None and not sentence.isspace():
            expected = "list the passage's sentences in order, or omit 'sentences'"
            raise UnfitError(f"sentence {place} of passage {number} is not in its text", expected)


def _unwrapped(item: dict[str, Any], texts: Sequence[str], naming: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Merge an item with the document that it wraps; return it with the item's own id, or other items unchanged."""
    if _first(item, texts) is not None:
        return "", item
    for wrapper in WRAPPED:
        inner = item.get(wrapper)
        if wrapper == WRAPPED[0] and wrapper not in naming and isinstance(inner, str):
            inner = {"text": inner}
        if isinstance(inner, dict) and _first(inner, PASSAGE_TEXTS) is not None:
            break
    else:
        return "", item
    outer = {key: entry for key, entry in item.items() if key != wrapper}
    label = _label(outer)
    if label is None:
        return "", inner if wrapper == CONSTRUCTED else {**inner, **outer}
    name = str(outer.pop(label))
    return name, {**{key: entry for key, entry in inner.items() if (key, entry) != (label, name)}, **outer}


def _inner_name(item: Mapping[str, Any]) -> str:
    """Return the id in a document's metadata, which may be a JSON string, if the document itself has none."""
    for key in DETAILS_INSIDE:
        inner = opened(item.get(key))
        label = _label(inner) if isinstance(inner, dict) else None
        if label:
            return str(inner[label])
    return ""


def _label(item: Mapping[str, Any]) -> str | None:
    """Return the key of an object's id, in any spelling, or None."""
    spelled = (key for key in item if folded(key) in PLAIN_IDS)
    return next((key for key in (*PASSAGE_IDS, *spelled) if _names(item.get(key))), None)


def _first(item: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    """Return the first of the keys with a non-empty value, else the first that is present."""
    there = [key for key in keys if key in item]
    return next((key for key in there if item[key]), there[0] if there else None)


def _names(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def _unique(names: list[str], notes: list[str]) -> list[str]:
    """Return unique ids: those given, ``#2`` added to the second of two equal ones; else the rank or ``passage 2``."""
    if not any(names):
        return [str(rank) for rank in range(1, len(names) + 1)]
    given, known = Names(), set(names)
    result = [""] * len(names)
    by_own_id_first = sorted(range(len(names)), key=lambda at: not names[at])
    for at in by_own_id_first:
        own = passage_id(names[at])
        rank = f"passage {at + 1}" if str(at + 1) in known else str(at + 1)
        result[at] = given.unique(own or rank)
        if result[at] != (own or result[at]):
            notes.append("contexts: two passages share an id; '#2' was added to the second")
    return result


def nuggets(value: Any, notes: list[str]) -> tuple[Nugget, ...]:
    """Return nuggets in order, without duplicates and blank ones.

    Nuggets with the same words are merged at the first position; the result is vital if either is.
    """
    if not isinstance(value, list):
        raise UnfitError(f"expected a list of nuggets, found {kind(value)}")
    found: dict[str, tuple[int, Nugget]] = {}
    for number, item in enumerate(value, 1):
        nugget = _nugget(item, number, notes)
        key = segment.folded(nugget.text)
        if not key:
            notes.append(BLANK_NUGGET)
            continue
        if key in found:
            notes.append(SAME_NUGGET)
            found[key] = _one(*found[key], nugget, number, notes)
            continue
        if len(nugget.text.split(maxsplit=LONGEST_NUGGET)) > LONGEST_NUGGET:
            notes.append(LONG_NUGGET)
        found[key] = number, nugget
    return tuple(nugget for _, nugget in found.values())


def _one(place: int, first: Nugget, second: Nugget, number: int, notes: list[str]) -> tuple[int, Nugget]:
    """Merge two equal nuggets at the position of the first."""
    given = {first.assignment, second.assignment} - {None}
    if len(given) > 1:
        found = f"nuggets {place} and {number} are the same, but assigned {first.assignment} and {second.assignment}"
        raise UnfitError(found, "expected one assignment for each nugget")
    if {first.importance, second.importance} == {"vital", "okay"}:
        notes.append(BOTH)
        first = replace(first, importance="vital")
    return place, replace(
        first if first.assignment else second,
        text=first.text,
        importance=first.importance or second.importance,
        sources=tuple(dict.fromkeys((*first.sources, *second.sources))),
    )


def _nugget(item: Any, number: int, notes: list[str]) -> Nugget:
    if isinstance(item, str):
        return Nugget(item)
    if not isinstance(item, dict):
        raise UnfitError(f"nugget {number} is {kind(item)}", "expected a string or {text, importance?, assignment?}")
    key = _first(item, NUGGET_TEXTS)
    if key is None or not isinstance(item[key], str):
        raise UnfitError(f"nugget {number} has no text", "expected a string or {text, importance?, assignment?}")
    importance, assignment = _word(item, "importance", number), _word(item, "assignment", number)
    if importance and importance not in IMPORTANCES:
        notes.append(NO_IMPORTANCE)
    if assignment not in ("", UNASSIGNED, *ASSIGNMENTS):
        notes.append(NO_ASSIGNMENT)
    shares = [_share(item.get(name)) if assignment else None for name in ("value", "strict")]
    return Nugget(item[key], IMPORTANCES.get(importance), ASSIGNMENTS.get(assignment), sources_of(item), *shares)


def _share(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and 0 <= value <= 1 else None


def sources_of(item: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the source passages that a nugget or an answer names; entries of another form are skipped."""
    key = _first(item, NUGGET_SOURCES)
    named = item[key] if key else ()
    ids = [
        ref.get(_label(ref) or "") if isinstance(ref, dict) else ref
        for ref in (named if isinstance(named, list) else [named])
    ]
    return tuple(
        dict.fromkeys(passage_id(str(one)) for one in ids if isinstance(one, str | int) and not isinstance(one, bool))
    )


def _word(item: Mapping[str, Any], key: str, number: int) -> str:
    """Return a label in normalised spelling, empty if none is given; raise UnfitError for a list or an object."""
    value = item.get(key)
    if isinstance(value, list | dict):
        raise UnfitError(f"'{key}' of nugget {number} is {kind(value)}", "expected a string, or nothing")
    return "" if value is None else "_".join(str(value).casefold().replace("-", " ").replace("_", " ").split())


def citations(value: Any, _: list[str]) -> tuple[Citation, ...]:
    """Return citations from Ragstone's own format: ``{span: {start, end}, passages: [id]}``."""
    try:
        return tuple(_citation(item) for item in value)
    except (KeyError, TypeError):
        raise UnfitError("not a list of {span: {start, end}, passages}") from None


def _citation(item: Any) -> Citation:
    start, end = item["span"]["start"], item["span"]["end"]
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise TypeError
    if not all(isinstance(name, str) for name in item["passages"]):
        raise TypeError
    return Citation(Span(start, end), tuple(map(passage_id, item["passages"])))


def grades(value: Any, _: list[str]) -> dict[str, int]:
    """Return grades of relevant passages by id, from ``{id: grade}``, ``[{id, grade}]``, or a list of ids (grade 1).

    A null is no grade: in a table, a row has one for each id that only other rows grade.
    """
    if isinstance(value, dict):
        pairs = [(name, grade) for name, grade in value.items() if grade is not None]
    elif isinstance(value, list):
        pairs = [_graded(item) for item in value]
    else:
        raise UnfitError(f"expected a list of ids or an object {{id: grade}}, found {kind(value)}")
    for name, grade in pairs:
        if not _names(name) or not isinstance(grade, int | float) or grade != int(grade):
            raise UnfitError(f"the grade of {name!r} is {grade!r}", "expected an id with a whole number")
    return {passage_id(str(name)): int(grade) for name, grade in pairs}


def _graded(item: Any) -> tuple[Any, Any]:
    if not isinstance(item, dict):
        return item, 1
    label = _label(item)
    return item[label] if label else None, next((item[key] for key in GRADES if item.get(key) is not None), 1)


def truth(value: Any, _: list[str]) -> bool:
    """Return a boolean, also from a word or a list of one: ``true``, ``UNANSWERABLE``, ``["ANSWERABLE"]``.

    In a table with missing values, true is 1.0.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    found = value if isinstance(value, bool) else TRUTHS.get(str(value).strip().casefold().removesuffix(".0"))
    if found is None:
        raise UnfitError(f"expected true or false, found {kind(value)}")
    return found


def overrides(value: Any, _: list[str]) -> dict[str, dict[str, Any] | None]:
    """Return parameters by metric, from an object of objects or nulls."""
    if not isinstance(value, dict):
        raise UnfitError(f"expected an object {{metric: {{parameter: value}}}}, found {kind(value)}")
    for metric, parameters in value.items():
        if not isinstance(parameters, dict | None):
            raise UnfitError(f"{kind(parameters)} for '{metric}'", "expected an object {parameter: value}")
    return value
