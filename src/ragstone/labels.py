"""Read people's labels of units from a file: one JSON line per unit, task and annotator.

A row identifies its unit by id and by a hash of the text that the annotator read, so a label is never matched to a unit
that has changed since. This module does not depend on judges or metrics.
"""

from __future__ import annotations

import hashlib
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

import orjson
from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from ragstone.errors import InputError, reason

DrawMode = Literal["random", "worst"]

TEXTLESS: Final = (
    "some labels do not name their response (add its text as response, or as text if only a part is labelled)"
)
BY_RESPONSE: Final = ("assign", "rubric")
"""Tasks that rate a whole response by a given nugget or criterion."""

NO_TASK: Final = "unknown"
"""The task of a label that names none and whose unit has no verdict."""
UNSURE: Final = "?"
"""The label of an annotator who is unsure."""
_OF_REFERENCE: Final = re.compile(r"/reference_(?:claim|sentence)/[1-9][0-9]*\Z")

EXPECTED: Final = (
    "expected {record, unit, task, label, annotator}, as written by ragstone label; "
    "convert other files with: ragstone label import FILE -o labels.jsonl"
)


class LabelDraw(Struct, frozen=True):
    """How the records of a labelled sample were drawn: ``n`` of ``of`` records, with a seed.

    If ``mode`` is ``worst``, the records are those on which judges disagree most, and the labels are not used for means
    or intervals. ``by`` is the field used for stratification, if any.
    """

    mode: DrawMode
    seed: int
    n: int
    of: int
    by: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the draw as written in rows; ``by`` only if it is set."""
        return {name: value for name, value in asdict(self).items() if value != ""}


class LabelRow(Struct, frozen=True):
    """One person's label of one unit for one task.

    If ``label`` is None, the annotator could not tell. ``hash`` is ``text_hash`` of the unit's text as shown to the
    annotator, empty if unknown. ``text`` is the unit itself if a judge wrote it (claims, nuggets). ``rubric`` is a hash
    of the scale's text. ``seconds`` is the time taken for the label. ``response`` is ``text_hash`` of the labelled
    response, empty for any response.
    """

    record: str
    unit: str
    task: str
    label: str | None
    annotator: str = ""
    seconds: float | None = None
    draw: LabelDraw | None = None
    rubric: str = ""
    hash: str = ""
    text: str = ""
    response: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the row without empty fields, except ``label``, which is always included."""
        every = to_builtins(self)
        return {name: value for name, value in every.items() if name == "label" or value not in (None, "")}


def worst(row: LabelRow) -> bool:
    """Return whether the row comes from a ``worst`` draw."""
    return row.draw is not None and row.draw.mode == "worst"


def textless(row: LabelRow) -> bool:
    """Return whether the row also matches a changed response: it names no response, nor a text taken from one."""
    return not (row.response or (row.hash and row.task not in BY_RESPONSE))


def topic_unit(topic: str, text: str) -> str:
    """The unit of a nugget that is labelled for a topic as a whole, over all blocks of its answer."""
    return f"{topic}/topic/{text}"


def of_topic(row: LabelRow) -> bool:
    """Whether the row is of such a unit; its record is then the topic."""
    return bool(row.text) and row.unit == topic_unit(row.record, row.text)


def of_reference(unit: str) -> bool:
    """Return whether a unit, by its id, is of a record's reference and rated without its response."""
    return _OF_REFERENCE.search(unit) is not None


def is_hash(text: str) -> bool:
    """Whether this is a hash as ``text_hash`` returns it."""
    return len(text) == 16 and not set(text) - set("0123456789abcdef")


def text_hash(text: str) -> str:
    """Return the hash of a unit's text without surrounding whitespace: 16 hex digits."""
    return hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def row_from_json(row: object, where: str) -> LabelRow:
    """Check and convert a row; raise InputError with ``where`` it is, what was found and what is expected.

    ``?`` means that the annotator could not tell. A response may be given as text, and a text without its hash.
    """
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: a {type(row).__name__}, not a label; {EXPECTED}")
    for name in ("record", "unit", "task"):
        if not (isinstance(row.get(name), str) and row[name]):
            raise InputError(f"{where}: '{name}' is missing; {EXPECTED}")
    label = row.get("label")
    if "label" not in row or not (label is None or (isinstance(label, str) and label)):
        raise InputError(f"{where}: 'label' is missing or not a string; expected a label, or null for 'cannot tell'")
    seconds = row.get("seconds")
    timed = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (timed and math.isfinite(seconds) and seconds >= 0):
        raise InputError(f"{where}: seconds is {seconds!r}; expected a number of at least 0")
    texts = {name: row.get(name) or "" for name in ("annotator", "rubric", "hash", "text", "response")}
    if wrong := next((name for name, value in texts.items() if not isinstance(value, str)), None):
        raise InputError(f"{where}: '{wrong}' is a {type(row[wrong]).__name__}, not a string")
    if texts["text"]:
        texts["hash"] = texts["hash"] or text_hash(texts["text"])
    if texts["response"] and not is_hash(texts["response"]):
        texts["response"] = text_hash(texts["response"])
    label = None if label == UNSURE else label
    return LabelRow(row["record"], row["unit"], row["task"], label, seconds=seconds, draw=_draw(row, where), **texts)


def _draw(row: Mapping[str, Any], where: str) -> LabelDraw | None:
    given = row.get("draw")
    if given is None:
        return None
    if not isinstance(given, Mapping) or given.get("mode") not in get_args(DrawMode):
        raise InputError(f"{where}: 'draw' is {str(given)[:60]!r}; expected {{mode: random or worst, seed, n, of}}")
    seed, n, of = (given.get(name) for name in ("seed", "n", "of"))
    if not (isinstance(seed, int) and isinstance(n, int) and isinstance(of, int)):
        raise InputError(f"{where}: 'seed', 'n' and 'of' in 'draw' are {seed}, {n} and {of}; expected whole numbers")
    return LabelDraw(given["mode"], seed, n, of, str(given.get("by") or ""))


def is_label_row(row: object) -> bool:
    """Return whether a parsed line is meant as a label row, valid or not: it has a unit."""
    return isinstance(row, Mapping) and "unit" in row


def read_labels(path: Path | str) -> Iterator[LabelRow]:
    """Yield the rows of a label file, in order; raise InputError for an invalid line or an unreadable file.

    Repeated labels are skipped. Two different labels by one annotator for the same unit and task are an error.
    """
    return each_once((f"{where}: ", row) for where, row in _rows(path))


def each_once(rows: Iterable[tuple[str, LabelRow]]) -> Iterator[LabelRow]:
    """Yield each label once; ``rows`` are pairs of place and row.

    Raises InputError for two different labels by one annotator for the same unit, text and task. Rows with different
    hashes of the text or the response are about different units, even if these share an id.
    """
    seen: dict[tuple[str, str, str, str], tuple[str | None, ...]] = {}
    for where, row in rows:
        key, about = (row.record, row.unit, row.task, row.annotator), (row.hash, row.response)
        given = seen.get(key, ())  # flat: hash, response and label of each of its rows
        before = [
            label for *other, label in zip(given[::3], given[1::3], given[2::3], strict=True)
            if all(one == two or not (one and two) for one, two in zip(other, about, strict=True))
        ]  # fmt: skip
        if not before:
            seen[key] = (*given, *about, row.label)
            yield row
        elif before[0] != row.label:
            who = f"by {row.annotator}; keep" if row.annotator else "without an annotator; name the annotators, or keep"
            raise InputError(f"{where}{row.unit} ({row.task}) is labelled {before[0]} and {row.label} {who} one label")


def _rows(path: Path | str) -> Iterator[tuple[str, LabelRow]]:
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    where = f"{path}:{number}"
                    try:
                        yield where, row_from_json(orjson.loads(line.removeprefix(BOM_UTF8)), where)
                    except orjson.JSONDecodeError as error:
                        raise InputError(f"{where}: not JSON ({error}); {EXPECTED}") from error
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from error
