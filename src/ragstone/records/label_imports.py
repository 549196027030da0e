"""Labels of other tools as label rows: Label Studio JSON, Argilla records, and tables ``record,unit,label``.

A row names its unit by id, which stands where a tool keeps what it was given: ``data`` in Label Studio, ``metadata`` or
``fields`` in Argilla. What is no label is skipped and counted: cancelled annotations, drafts and discarded responses,
units without a choice. No label is mapped to another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

from ragstone.errors import InputError, RecordError
from ragstone.labels import LabelRow, each_once, is_label_row, row_from_json, text_hash
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
GIVEN: Final = ("record", "unit", "task", "draw", "rubric", "hash", "text")
"""What a tool hands back of the rows that it was given."""
UNSURE: Final = "?"
"""The label of a person who cannot tell."""


@dataclass(slots=True)
class Imported:
    """Label rows of a file, and how many entries were skipped for which reason."""

    rows: list[LabelRow] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def import_labels(path: Path | str, task: str = "", own: Collection[str] = ()) -> Imported:
    """Read a file of labels of any form; ``task`` is that of rows which name none.

    ``own`` are tasks that a metric of another package asks, maybe on a scale of its own; ``agree`` checks their labels.
    InputError, with file and line, for what is no label or on no scale of its task, a row without a task, and two
    labels of one annotator for one unit; RecordError for an unreadable file.
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
            raise InputError(f"{where}: the label has no task; name it with --task ({', '.join(TASKS)})")
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
    """Each row of a JSON, JSON Lines, CSV, TSV or Parquet file with its place; RecordError for one that is none."""
    origin = origin_of(Path(path))
    with closing(reader_of(origin, frozenset(("record", "unit", "label")))(origin, Mapper(Fields(), {}))) as items:
        for where, item in items:
            if isinstance(item, RecordError):
                raise item
            assert isinstance(item, dict), "files hold rows"
            yield where, item


def form_of(row: Mapping[str, Any]) -> Callable[[Row, Counter[str]], Iterator[Row]] | None:
    """What reads the labels of a row, by its keys; None for a row of no known form."""
    if is_label_row(row):
        return _labelled
    if isinstance(row.get("data"), dict) and "annotations" in row:
        return _label_studio
    if "responses" in row and ("fields" in row or "metadata" in row):
        return _argilla
    return None


def label_drafts(path: Path | str, skipped: Counter[str]) -> Iterator[tuple[str, Row]]:
    """The label rows in a file, each with its place; they may name no task. Counts what it skips; errors as above."""
    for where, row in rows_of(path):
        for draft in _drafts(where, row, skipped):
            yield where, draft


def _drafts(where: str, row: Row, skipped: Counter[str]) -> Iterator[Row]:
    read = form_of(row)
    if read is None:
        keys = ", ".join(map(str, list(row)[:6])) or "none"
        raise InputError(f"{where}: not a label (keys: {keys}); expected {FORMS}")
    try:
        for draft in read(row, skipped):
            if draft["label"] == UNSURE:
                draft["label"] = None
            if type(draft.get("record")) is int:
                draft["record"] = str(draft["record"])
            if isinstance(text := draft.get("text"), str):
                draft.setdefault("hash", text_hash(text))
            yield draft
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{where}: unreadable labels ({error}); expected {FORMS}") from error


def _labelled(row: Row, skipped: Counter[str]) -> Iterator[Row]:
    """A label row, or a row of a table, whose blank cells say nothing."""
    draft = {name: value for name, value in row.items() if value != ""}
    if "label" not in draft:
        skipped["without a label"] += 1
        return
    if isinstance(draft.get("seconds"), str):
        draft["seconds"] = float(draft["seconds"])
    yield draft


def _label_studio(row: Row, skipped: Counter[str]) -> Iterator[Row]:
    """A task of Label Studio: a label for each annotation and each of its choices."""
    for annotation in row["annotations"]:
        if annotation.get("was_cancelled"):
            skipped["cancelled"] += 1
            continue
        regions = [region for region in annotation.get("result") or () if region.get("type") == "choices"]
        skipped["without a label"] += not regions
        for region in regions:
            (label,) = region["value"]["choices"]
            said = {"label": label, "annotator": _who(annotation), "seconds": annotation.get("lead_time")}
            yield {**_given(row["data"], region.get("from_name")), **said}


def _who(annotation: Mapping[str, Any]) -> str:
    who = annotation.get("completed_by")
    named = (who.get("email") or who.get("id")) if isinstance(who, dict) else who
    return "" if named is None else str(named)


def _argilla(row: Row, skipped: Counter[str]) -> Iterator[Row]:
    """A record of Argilla: a label for each submitted response to each question."""
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
    """Question, value and response, in the forms of version 1 (a list by user) and version 2 (by question)."""
    if isinstance(given, dict):
        yield from ((name, one["value"], one) for name, several in given.items() for one in several)
        return
    for response in given:
        if "values" in response:
            yield from ((name, one["value"], response) for name, one in (response["values"] or {}).items())
        else:
            yield response["question_name"], response["value"], response


def _given(about: Mapping[str, Any], question: object) -> Row:
    """What a tool was given of a row; where that names no task, the question does if it is called after one."""
    found = {name: about[name] for name in GIVEN if about.get(name) not in (None, "")}
    if "task" not in found and question in TASKS:
        found["task"] = question
    return found
