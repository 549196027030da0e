"""The variables of a prompt template: the texts of its question with their numbers, and a code that delimits them.

Texts from records stand between lines with a code that they cannot contain: it is a keyed hash of them. The same
question gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from ragstone.prompts import conversation, shape
from ragstone.questions import FORM_OF, Rate, Trace, Write, key_of
from ragstone.types import TRIVIAL, Passage, Unit

if TYPE_CHECKING:
    from ragstone.parsing import Format


def _rate_variables(question: Rate, units: Sequence[Unit], fmt: Format, language: str) -> dict[str, Any]:
    """For a batch of the units of a ``Rate``; ``answer`` is the wording of the format, empty for ``object``.

    Support is judged on the passages alone: its prompts, and so its calls, do not depend on the record's question.
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
    """A criterion: its text, its labels with their meanings, best first, and its steps, each on one line."""
    scale = unit.scale
    assert scale is not None, "a criterion has a scale"
    meanings = scale.meanings or ("",) * len(scale.labels)
    labels = [(label, " ".join(said.split())) for label, said in zip(scale.labels, meanings, strict=True)]
    return {"text": unit.text, "labels": labels[::-1], "steps": [" ".join(step.split()) for step in unit.steps]}


def asked(question: Rate | Write | Trace, language: str = "") -> str:
    """The record's question after what was said before it, if there is anything; a blank one stays so."""
    if not question.history or not question.question.strip():
        return question.question
    return conversation(language).render(question=question.question, **question.history._asdict())


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
    """For a ``Trace``: each sentence on one line after its key."""
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
    """For any question; of a ``Rate`` for a batch of ``units``, by default all of them."""
    if isinstance(question, Rate):
        return _rate_variables(question, units or question.units, fmt, language)
    return _write_variables(question, language) if isinstance(question, Write) else _trace_variables(question, language)


def form_of(question: Rate | Write | Trace) -> str:
    """Which of the task's prompts asks it, for tasks that have several; empty for the only or first one."""
    if isinstance(question, Rate):
        return "second" if question.wording == 2 else FORM_OF.get((question.task, question.scale.name), "")
    if question.task == "rubric":
        return "steps"
    if question.task == "nuggetize":
        return "passages" if cast("Write", question).passages else "answer"
    return ""


def named_texts(question: Rate | Write | Trace) -> list[tuple[str, list[str]]]:
    """The texts of the record in the question, with what they are and the variable of the template in brackets."""
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
            ("a sentence of the contexts (documents)", [unit.text for unit in question.sentences]),
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
    """What is said of criteria beside their texts."""
    said = [criterion(unit) for unit in units if unit.scale]
    return [text for one in said for text in (*(meaning for _, meaning in one["labels"]), *one["steps"])]


def texts_of(question: Rate | Write | Trace, *, asked: bool = True) -> list[str]:
    """All texts of the record in the question; with ``asked`` also what the record asks."""
    named = named_texts(question)
    return [text for _, texts in (named if asked else named[:-1]) for text in texts]


def nonce_of(question: Rate | Write | Trace) -> str:
    """The code for this question's material."""
    return _hash(texts_of(question)).hexdigest()


def _codes(texts: Sequence[str], passages: int) -> tuple[str, str]:
    """The code for all questions about the passages, which are the first texts, and the code of all texts.

    Both are the latter if a text has the former.
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
    """Texts with the numbers by which the prompt and the reply speak of them."""
    return list(enumerate((item.text for item in items), 1))
