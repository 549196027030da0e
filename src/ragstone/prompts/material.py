"""Build the variables of a prompt template: the numbered texts of its question, and a code that delimits them.

Texts from records are placed between lines with a code that they cannot contain, because it is a keyed hash of them.
The same question always gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from ragstone.prompts import DEFAULT, shape
from ragstone.questions import FORM_OF, Rate, Trace, Write, key_of
from ragstone.types import TRIVIAL, Passage, Unit

if TYPE_CHECKING:
    from ragstone.parsing import Format


def _rate_variables(question: Rate, units: Sequence[Unit], fmt: Format, language: str) -> dict[str, Any]:
    """Return the variables for a batch of units; ``answer`` is the wording of the format, empty for ``object``.

    Support is judged on the passages alone, so its prompts and calls do not depend on the record's question.
    """
    alone = question.task in {"support", "response_support"}
    labels = (*question.scale.labels, TRIVIAL) if question.skippable else question.scale.labels
    code, nonce = _codes(texts_of(question, asked=not alone), len(question.passages))
    by_criteria = {} if question.task != "rubric" else {
        "question": question.question, "history": question.history, "response": question.response,
        "reference": question.reference, "criteria": [(n, criterion(unit)) for n, unit in enumerate(units, 1)],
    }  # fmt: skip
    return {
        "units": numbered(units), "passages": numbered(question.passages), "scale": question.scale, "labels": labels,
        "question": "" if alone else asked(question, language),
        "reasons": question.reasons, "evidence": question.evidence, "skippable": question.skippable,
        "level": question.units[0].level if question.units else "claim",
        "nonce": nonce, "code": code, "n": len(units),
        "answer": "" if fmt == "object" else shape(fmt, language).render(n=len(units)),
        **by_criteria,
    }  # fmt: skip


def criterion(unit: Unit) -> dict[str, Any]:
    """Return a criterion's text, its labels with their meanings, best first, and its steps, each on one line."""
    scale = unit.scale
    assert scale is not None, "a criterion has a scale"
    meanings = scale.meanings or ("",) * len(scale.labels)
    labels = [(label, " ".join(said.split())) for label, said in zip(scale.labels, meanings, strict=True)]
    return {"text": unit.text, "labels": labels[::-1], "steps": [" ".join(step.split()) for step in unit.steps]}


def asked(question: Rate | Write | Trace, language: str = "") -> str:
    """Return the record's question, after its earlier turns if there are any; a blank question stays blank."""
    if not question.history or not question.question.strip():
        return question.question
    return shape(DEFAULT, language, "history").render(question=question.question, **question.history._asdict())


def _write_variables(question: Write, language: str) -> dict[str, Any]:
    if question.criterion is not None:
        return {
            "criterion": criterion(question.criterion), "fields": question.fields, "most": question.most,
            "nonce": nonce_of(question),
        }  # fmt: skip
    return {
        "question": asked(question, language), "sentences": numbered(question.sentences), "before": question.before,
        "passages": numbered(question.passages), "known": question.known, "most": question.most,
        "nonce": nonce_of(question), "n": len(question.sentences),
    }  # fmt: skip


def _trace_variables(question: Trace, language: str) -> dict[str, Any]:
    """Return the variables of a ``Trace``: each sentence is on one line, with its key."""
    documents = [
        (number, [(key_of(unit), " ".join(unit.text.split())) for unit in units])
        for number, units in groupby(question.sentences, key=lambda unit: key_of(unit).split("_")[1])
    ]
    response = [(key_of(unit), " ".join(unit.text.split())) for unit in question.response]
    return {
        "question": asked(question, language), "documents": documents, "response": response,
        "nonce": nonce_of(question),
    }  # fmt: skip


def variables_of(
    question: Rate | Write | Trace, fmt: Format, language: str, units: Sequence[Unit] = ()
) -> dict[str, Any]:
    """Return the variables for any question; for a ``Rate``, for a batch of ``units`` (default: all)."""
    if isinstance(question, Rate):
        return _rate_variables(question, units or question.units, fmt, language)
    return _write_variables(question, language) if isinstance(question, Write) else _trace_variables(question, language)


def form_of(question: Rate | Write | Trace) -> str:
    """Return the form of the task's prompt that asks the question; empty for the only or first one."""
    if isinstance(question, Rate):
        return "second" if question.wording == 2 else FORM_OF.get((question.task, question.scale.name), "")
    if question.task == "rubric":
        return "steps"
    if question.task == "nuggetize":
        return "passages" if cast("Write", question).passages else "answer"
    return ""


def named_texts(question: Rate | Write | Trace) -> list[tuple[str, list[str]]]:
    """Return the record's texts in the question with a description: their kind and template variable."""
    if isinstance(question, Rate):
        found = [
            ("a passage (passages)", [passage.text for passage in question.passages]),
            ("a unit (units)", [unit.text for unit in question.units]),
            ("the response (response)", [question.response]),
            ("the reference (reference)", [question.reference]),
            ("the meaning of a label (criteria)", _told(question.units)),
        ]
    elif isinstance(question, Trace):
        found = [
            ("a sentence of the passages (documents)", [unit.text for unit in question.sentences]),
            ("a sentence of the response (response)", [unit.text for unit in question.response]),
        ]
    else:
        found = [
            ("a sentence (sentences)", [unit.text for unit in question.sentences]),
            ("a passage (passages)", [passage.text for passage in question.passages]),
            ("a known nugget (known)", list(question.known)),
            ("the text before (before)", [question.before]),
            ("the criterion (criterion)", [one.text for one in (question.criterion,) if one]),
        ]
    turns = (turn.text for turn in question.history.turns)
    return [*found, ("the question (question)", [question.question, *turns])]


def _told(units: Sequence[Unit]) -> list[str]:
    """Return the labels' meanings and the steps of criteria."""
    said = [criterion(unit) for unit in units if unit.scale]
    return [text for one in said for text in (*(meaning for _, meaning in one["labels"]), *one["steps"])]


def texts_of(question: Rate | Write | Trace, *, asked: bool = True) -> list[str]:
    """Return all texts of the record in the question; with ``asked``, including its question and earlier turns."""
    named = named_texts(question)
    return [text for _, texts in (named if asked else named[:-1]) for text in texts]


def nonce_of(question: Rate | Write | Trace) -> str:
    """Return the code that delimits this question's texts."""
    return _hash(texts_of(question)).hexdigest()


def _codes(texts: Sequence[str], passages: int) -> tuple[str, str]:
    """Return the code shared by all questions about the passages (the first texts), and the code of all texts.

    If a text contains the former, both are the latter.
    """
    hashed = _hash(texts[:passages])
    code = hashed.hexdigest()
    hashed.update(_joined(texts[passages:]))
    nonce = hashed.hexdigest()
    return nonce if any(code in text for text in texts) else code, nonce


def _hash(texts: Sequence[str]) -> hashlib.blake2b:
    return hashlib.blake2b(_joined(texts), key=b"ragstone", digest_size=6)


def _joined(texts: Sequence[str]) -> bytes:
    return "".join(texts).encode("utf-8", "replace")


def numbered(items: Sequence[Unit | Passage]) -> list[tuple[int, str]]:
    """Return texts with the numbers used for them in the prompt and the reply."""
    return list(enumerate((item.text for item in items), 1))
