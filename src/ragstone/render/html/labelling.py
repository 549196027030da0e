"""A page on which a person labels a sample of units blind: each with its texts and the meanings of the labels.

Promises: nothing that a judge said is in the file; labels stay in the browser until they are exported; the texts of a
record are unpacked when it is reached, so that long ones cost nothing before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from ragstone.analysis.labelling import SECONDS, LabelRecord, LabelSample, LabelUnit
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
"""What a person is asked about a unit, by task, of some units in other words."""
WRITTEN: Final = ("claim", "nugget")
"""Units whose text a judge wrote, so that a row of labels repeats it."""


LABELS: Final = "labels-NAME.jsonl"
"""The file of exported labels, with the annotator's name."""


def label_page(
    sample: LabelSample, name: str, command: str, annotator: str = "", *, file: str = LABELS, root: str = ""
) -> list[bytes]:
    """The parts of a page for the run ``name``; ``command`` is what to do with its ``file``.

    ``root`` leads to the list of runs where the page is served: there labels are kept by the server too.
    """
    records = [{"id": record.id, "units": [_row(unit) for unit in record.units]} for record in sample.records]
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


def _row(unit: LabelUnit) -> dict[str, Any]:
    """What a row of labels says of a unit, beside its record."""
    return {"id": unit.id, "hash": unit.hash, **({"text": unit.text} if unit.level in WRITTEN else {})}


def _texts(record: LabelRecord) -> dict[str, Any]:
    """The texts of a record; units that are whole texts stand once."""
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
