"""Import labels from other tools: Label Studio JSON, Argilla records, and tables ``record,unit,label``.

A row names its unit by id, found where the tool keeps its input: ``data`` in Label Studio, ``metadata`` or ``fields``
in Argilla. Entries without a label are skipped and counted: cancelled annotations, drafts, discarded responses, and
units without a choice. Labels are never mapped to other labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from ragstone.errors import InputError, RecordError
from ragstone.labels import LabelRow, each_once, is_label_row, row_from_json
from ragstone.questions import SCALES, TASKS
from ragstone.records.bytestream import origin_of
from ragstone.records.fields import Fields
from ragstone.records.file_formats import reader_of
from ragstone.records.mapping import Mapper, Row
from ragstone.types import TRIVIAL

FORMS: Final = (
    "label rows or a table {record, unit, label}, Label Studio JSON {data: {record, unit}, annotations} or Argilla "
    "records {metadata: {record, unit}, responses}"
)
GIVEN: Final = ("record", "unit", "task", "draw", "rubric", "hash", "text", "response")
"""Keys of its input rows that a tool returns."""


class Imported(Struct):
    """Label rows of a file, and the number of skipped entries by reason."""

    rows: list[LabelRow] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def import_labels(path: Path | str, task: str = "", own: Collection[str] = ()) -> Imported:
    """Read a label file in any supported form; ``task`` applies to rows that name none.

    ``own`` are tasks used by metrics of other packages, possibly with their own scales; ``agree`` checks those labels.
    Raise InputError, with file and line, for a row that is not a label, a label that is not on a scale of its task, a
    row without a task, or two labels by one annotator for one unit. Raise RecordError for an unreadable file.
    """
    if task and task.partition(".")[0] not in TASKS:
        raise InputError(f"--task {task}: no such step; expected one of {', '.join(TASKS)}")
    found = Imported()
    found.rows = list(each_once(_finished(label_drafts(path, found.skipped), task, own)))
    return found


def _finished(drafts: Iterator[tuple[str, Row]], task: str, own: Collection[str]) -> Iterator[tuple[str, LabelRow]]:
    for where, draft in drafts:
        named = {**draft, "task": draft.get("task") or task}
        if not named["task"]:
            raise InputError(f"{where}: the label has no task; add the labelled run or --task: {', '.join(TASKS)}")
        row = row_from_json(named, where)
        scales = [scale.labels for scale in SCALES.get(row.task, ()) if row.task not in own]
        if scales and row.label is not None and row.label not in {TRIVIAL, *chain(*scales)}:
            known = "; or ".join(", ".join(labels) for labels in scales)
            raise InputError(
                f"{where}: '{row.label[:40]}' is not a label for {row.task}; expected {known}",
                hint="labels on a metric's own scale need no import: ragstone agree reads this file",
            )
        yield f"{where}: ", row


def rows_of(path: Path | str) -> Generator[tuple[str, Row], None, None]:
    """Yield each row of a JSON, JSON Lines, CSV, TSV or Parquet file with its place.

    Raise RecordError for an unreadable row.
    """
    origin = origin_of(Path(path), name=str(path))
    with closing(reader_of(origin, frozenset(("record", "unit", "label")))(origin, Mapper(Fields(), {}))) as items:
        for where, item in items:
            if isinstance(item, RecordError):
                raise item
            assert isinstance(item, dict), "files hold rows"
            yield where, item


def form_of(row: Mapping[str, Any]) -> Callable[[Row, Counter[str]], Iterator[Row]] | None:
    """Return the function that reads the labels of a row, chosen by its keys; None for an unknown form."""
    if is_label_row(row):
        return _labelled
    if isinstance(row.get("data"), dict) and "annotations" in row:
        return _label_studio
    if "responses" in row and ("fields" in row or "metadata" in row):
        return _argilla
    return None


def label_drafts(path: Path | str, skipped: Counter[str]) -> Iterator[tuple[str, Row]]:
    """Yield the label rows of a file with their places, and count skipped entries; the task may be missing.

    Raise the errors of `import_labels` for rows that are not labels and for unreadable files.
    """
    for where, row in rows_of(path):
        read = form_of(row)
        if read is None:
            keys = ", ".join(map(str, list(row)[:6])) or "none"
            raise InputError(f"{where}: not a label (keys: {keys}); expected {FORMS}")
        try:
            for draft in read(row, skipped):
                if type(draft.get("record")) is int:
                    draft["record"] = str(draft["record"])
                yield where, draft
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"{where}: unreadable labels ({error}); expected {FORMS}") from error


def _labelled(row: Row, skipped: Counter[str]) -> Iterator[Row]:
    """Yield a label row, or a table row without its blank cells."""
    draft = {name: value for name, value in row.items() if value != ""}
    if "label" not in draft:
        skipped["without a label"] += 1
        return
    if isinstance(draft.get("seconds"), str):
        draft["seconds"] = float(draft["seconds"])
    yield draft


def _label_studio(row: Row, skipped: Counter[str]) -> Iterator[Row]:
    """Yield a label for each choice in each annotation of a Label Studio task."""
    for annotation in row["annotations"]:
        if annotation.get("was_cancelled"):
            skipped["cancelled"] += 1
            continue
        regions = [region for region in annotation.get("result") or () if region.get("type") == "choices"]
        skipped["without a label"] += not regions
        for region in regions:
            choices = region["value"]["choices"]
            if len(choices) != 1:
                raise ValueError(f"{len(choices)} choices for a unit, not one")
            (label,) = choices
            who = annotation.get("completed_by")
            named = (who.get("email") or who.get("id")) if isinstance(who, dict) else who
            said = {"annotator": "" if named is None else str(named), "seconds": annotation.get("lead_time")}
            yield {**_given(row["data"], region.get("from_name")), "label": label, **said}


def _argilla(row: Row, skipped: Counter[str]) -> Iterator[Row]:
    """Yield a label for each submitted response to each question of an Argilla record."""
    about = {**(row.get("fields") or {}), **(row.get("metadata") or {})}
    for question, value, response in _responses(row["responses"]):
        if response.get("status", "submitted") != "submitted":
            skipped["not submitted"] += 1
        elif value is None:
            skipped["without a label"] += 1
        else:
            if isinstance(value, list | dict):
                raise ValueError(f"the response to '{question}' is not a single label")
            yield {**_given(about, question), "label": str(value), "annotator": str(response.get("user_id") or "")}


def _responses(given: Any) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Yield question, value and response, from the format of version 1 (a list by user) or version 2 (by question)."""
    if isinstance(given, dict):
        yield from ((name, one["value"], one) for name, several in given.items() for one in several)
        return
    for response in given:
        if "values" in response:
            yield from ((name, one["value"], response) for name, one in (response["values"] or {}).items())
        else:
            yield response["question_name"], response["value"], response


def _given(about: Mapping[str, Any], question: object) -> Row:
    """Return the input keys that the tool kept; if they name no task, use the question's name if that is a task."""
    found = {name: about[name] for name in GIVEN if about.get(name) not in (None, "")}
    if "task" not in found and question in TASKS:
        found["task"] = question
    return found
