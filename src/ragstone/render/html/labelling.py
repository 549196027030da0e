"""Build a page on which a person labels a sample of units blind, with their texts and the meanings of the labels.

Guarantees: the file contains no verdicts or reasons of a judge. Labels are kept only in the browser. The texts of
a record are unpacked only when it is reached, so long texts do not slow down the start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import asdict

from ragstone.analysis.labelling import SECONDS, LabelRecord, LabelSample, LabelUnit
from ragstone.labels import of_reference, text_hash
from ragstone.metrics import of_score
from ragstone.render.html.document import Block, page, to_json

ASKED: Final[Mapping[str, str]] = {
    "support": "Do the passages support this {unit}?",
    "trace": "Do the passages support every part of this {unit}?",
    "response_support": "Do the passages contain everything that the response says?",
    "assign": "Does the response contain this {unit}?",
    "relevance/response": "How well does the response answer the question?",
    "relevance": "How much does this {unit} help to answer the question?",
    "rubric": "By this criterion, which label fits the record?",
    "importance": "Would a good answer need this {unit}?",
}
"""The question about a unit, by task, or by task and kind of unit."""
WRITTEN: Final = ("claim", "nugget")
"""Units whose text was written by a judge, so rows of labels repeat it."""


LABELS: Final = "labels-NAME.jsonl"
"""The file name of exported labels; NAME is the annotator."""


def label_page(
    sample: LabelSample, name: str, command: str, annotator: str = "", *, file: str = LABELS, root: str = ""
) -> list[bytes]:
    """Return the parts of a page for the run ``name``; ``command`` is the command that uses its ``file``.

    ``root`` is the path to the list of runs if the page is served; the server then stores labels too.
    """
    records = [{"id": record.id, "units": [_row(unit, record) for unit in record.units]} for record in sample.records]
    heading = of_score(sample.metric).heading or sample.metric.partition(".")[0].replace("_", " ")
    title = f"{name}: labels for {heading}"
    first = {
        "name": title,
        "heading": heading,
        "unit": sample.unit,
        "asked": ASKED.get(f"{sample.task}/{sample.unit}", ASKED[sample.task]).format(unit=sample.unit),
        "evidence": sample.evidence,
        "labels": sample.rubric.labels,
        "rules": sample.rubric.rules,
        "task": sample.task,
        "rubric": sample.rubric.hash,
        "draw": sample.draw.as_json(),
        "annotator": annotator,
        "seconds": SECONDS,
        "next": command,
        "file": file,
        "root": root,
        "records": records,
    }
    first["key"] = hashlib.blake2b(to_json([first[part] for part in ("task", "rubric", "draw", "records")]),
                                   digest_size=8).hexdigest()  # fmt: skip
    blocks = (Block(f"record-{number}", to_json(_texts(record))) for number, record in enumerate(sample.records))
    return page("label", title, first, blocks, live=bool(root))


def _row(unit: LabelUnit, record: LabelRecord) -> dict[str, Any]:
    """Return the fields of a row of labels that identify the unit; several responses may share one that is written."""
    of_response = unit.level in (*WRITTEN, "criterion") and not of_reference(unit.id)
    about = {"response": text_hash(record.response)} if of_response else {}
    return {"id": unit.id, "hash": unit.hash, **({"text": unit.text} if unit.level in WRITTEN else {}), **about}


def _texts(record: LabelRecord) -> dict[str, Any]:
    """Return the texts of a record; the text of a unit that is the whole response or a passage is not repeated."""
    return {
        "question": record.question,
        "response": record.response,
        "contexts": [asdict(passage) for passage in record.contexts],
        "units": [
            {
                "level": unit.level,
                "span": unit.span,
                "passage": unit.passage,
                **({} if unit.level in ("response", "passage") else {"text": unit.text}),
            }
            for unit in record.units
        ],
    }
