"""Labels that people gave to units, as rows of a file: one JSON line for each unit, task and annotator.

A row names its unit by id and by a hash of the text that the person read, so that a label is never joined to a unit
that has changed since. Nothing here knows a judge or a metric.
"""

from __future__ import annotations

import hashlib
import math
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

import orjson

from ragstone.errors import InputError

DrawMode = Literal["random", "worst"]

EXPECTED: Final = "expected {record, unit, task, label, annotator}, as ragstone label writes it"


@dataclass(frozen=True, slots=True)
class LabelDraw:
    """How the records of a labelled sample were drawn: ``n`` of ``of`` records, with a seed.

    ``worst`` is a draw of what judges disagree on. It is no ground for a mean or an interval. ``by`` is the field that
    the draw was stratified by, if any.
    """

    mode: DrawMode
    seed: int
    n: int
    of: int
    by: str = ""

    def as_json(self) -> dict[str, Any]:
        """The draw as rows have it, ``by`` only where it is set."""
        return {name: value for name, value in asdict(self).items() if value != ""}


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One person's label of one unit for one task.

    ``label`` None means that the person could not tell. ``hash`` is ``text_hash`` of what the person read as the unit,
    empty where that is not known; ``text`` is the unit itself where a judge wrote it (claims, nuggets). ``rubric`` is a
    hash of the scale's text. ``seconds`` is the time that the label took. ``response`` is ``text_hash`` of the response
    that the label is about, empty for any.
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
        """The row without its empty fields; ``label`` is always there."""
        every = asdict(self)
        return {name: value for name, value in every.items() if name == "label" or value not in (None, "")}


def worst(row: LabelRow) -> bool:
    """Whether the row is of a worst-first draw."""
    return row.draw is not None and row.draw.mode == "worst"


def topic_unit(topic: str, text: str) -> str:
    """The unit of a nugget that is labelled for a topic as a whole, over all blocks of its answer."""
    return f"{topic}/topic/{text}"


def of_topic(row: LabelRow) -> bool:
    """Whether the row is of such a unit; its record is then the topic."""
    return bool(row.text) and row.unit == topic_unit(row.record, row.text)


def text_hash(text: str) -> str:
    """The hash of a unit's text, blank space at its ends aside: 16 hex digits."""
    return hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def row_from_json(row: object, where: str) -> LabelRow:
    """Check a row; InputError says ``where`` it is, what was found and what is expected."""
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: a {type(row).__name__}, not a label; {EXPECTED}")
    for name in ("record", "unit", "task"):
        if not (isinstance(row.get(name), str) and row[name]):
            raise InputError(f"{where}: no {name}; {EXPECTED}")
    label = row.get("label")
    if "label" not in row or not (label is None or (isinstance(label, str) and label)):
        raise InputError(f"{where}: 'label' is missing or not text; expected a label, or null for 'cannot tell'")
    seconds = row.get("seconds")
    timed = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (timed and math.isfinite(seconds) and seconds >= 0):
        raise InputError(f"{where}: seconds is {seconds!r}; expected a number of at least 0")
    texts = {name: row.get(name) or "" for name in ("annotator", "rubric", "hash", "text", "response")}
    if wrong := next((name for name, value in texts.items() if not isinstance(value, str)), None):
        raise InputError(f"{where}: '{wrong}' is a {type(row[wrong]).__name__}, not a text")
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
    """Whether a parsed line is meant as a label row, right or wrong: it has a unit."""
    return isinstance(row, Mapping) and "unit" in row


def read_labels(path: Path | str) -> Iterator[LabelRow]:
    """The rows of a file of labels, in order; InputError for a line that is none, and for an unreadable file.

    The same label twice is one; two different ones of one annotator for a unit and task are refused.
    """
    return each_once((f"{where}: ", row) for where, row in _rows(path))


def each_once(rows: Iterable[tuple[str, LabelRow]]) -> Iterator[LabelRow]:
    """Rows, each after its place, each label once; InputError for two of one annotator for a unit, its text and a task.

    Rows with the hashes of two texts are of two units that have one id.
    """
    seen: dict[tuple[str, str, str, str], dict[str, str | None]] = defaultdict(dict)
    for where, row in rows:
        given = seen[row.record, row.unit, row.task, row.annotator]
        before = [label for text, label in given.items() if text == row.hash or not (text and row.hash)]
        if not before:
            given[row.hash] = row.label
            yield row
        elif before[0] != row.label:
            who = f"by {row.annotator}" if row.annotator else "without an annotator"
            raise InputError(
                f"{where}{row.unit} ({row.task}) is labelled {before[0]} and {row.label} {who}; keep one of them, or "
                "name the annotators"
            )


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
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
