"""A judge that answers from human labels: a lookup, no model.

A file of labels is JSON lines in one of two forms. Label rows (``ragstone.labels``) answer every step that the file has
rows for, and also the steps ``claims`` and ``nuggetize`` if rows include the text of their unit. Trace records are one
line each: ``{"id": …, "relevant": [keys], "utilized": [keys], "support": {response key: [keys]}, "supported": true or
false, "sentences": {key: text}}``, with the keys of the record's sentences (``doc_0_s0``, ``resp_s0``). ``sentences``
holds the texts that people labelled; if one of them differs from the record's, the record is unjudged. Without it, keys
are matched by number, and the answer says so.

A unit is unjudged if it has no label, if its text has changed since it was labelled, if the label is for a different
response, or if its annotators disagree.
"""

from __future__ import annotations

import hashlib
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson
from msgspec.structs import replace

from ragstone.errors import ConfigError
from ragstone.judges.base import Call, Dialogue, Failed, InProcess, Reply
from ragstone.judges.tracing import Label, Labelling, traced
from ragstone.labels import TEXTLESS, LabelRow, is_label_row, read_labels, text_hash, textless
from ragstone.questions import (
    SCALES,
    SPECIAL,
    YES_NO,
    Question,
    Rate,
    Rated,
    Task,
    Trace,
    Traced,
    Write,
    Written,
    key_of,
    written_kind,
)
from ragstone.segment import folded
from ragstone.types import TRIVIAL, Scale, Unit, Verdict

RECORD_FORM: Final = (
    "{id, relevant: [keys], utilized: [keys], support: {key: [keys]}, supported: true or false, sentences: {key: text}}"
)
EXPECTED: Final = f"expected {RECORD_FORM}"
NO_ROW: Final = (
    f"expected label rows or {RECORD_FORM}; convert other files with: ragstone label import FILE -o labels.jsonl"
)
UNLABELLED: Final = "no label for this record"
OTHER_RESPONSE: Final = "labelled for a different response"
BY_NUMBER: Final = "labels are matched to sentences by number; add 'sentences': {key: text} to check them"
NO_BANK: Final = "labels cannot create nuggets from passages; add a bank with --nuggets FILE"

RELEVANT: Final = "trace.relevant"
UTILIZED: Final = "trace.utilized"
"""The tasks of yes/no rows about passage sentences; rows about response sentences have the task ``trace``."""

LABELLED: Final = (*SCALES, "rubric", "trace", RELEVANT, UTILIZED)
"""The valid tasks of a row."""

_WRITTEN: Final = re.compile(r"/((?:reference_)?claim|nugget)(?:_by_[a-z]+)?/[1-9]\d{0,8}\Z")

Labels = Mapping[tuple[str, str], bytes]
"""Maps (record, step) to labels as JSON."""


class HumanBackend(InProcess):
    """Looks up the labels of a record for a step; replies ``null`` if there are none."""

    steady: bool = True
    lookup: bool = True

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def reply(self, call: Call) -> Reply:
        """Return the labels for the call's record and step."""
        asked = orjson.loads(call.body)
        return Reply(self._labels.get((asked["record"], asked["task"]), b"null").decode())

    async def send(self, call: Call) -> Reply:
        """Return the same as ``reply``."""
        return self.reply(call)


class HumanJudge:
    """Answers from a file of labels, ``FILE`` or ``FILE#ANNOTATOR``. InputError or ConfigError if it is invalid.

    ``note`` is a warning for the run.
    """

    model: str = ""
    provider: str = ""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        path, annotator = _split(path)
        self.id = f"human#{annotator}" if annotator else "human"
        labels = _labels(path, annotator)
        self.backend = HumanBackend(labels)
        self._tasks = {task for _, task in labels}
        unchecked = any(line[:1] == b"{" and b'"sentences"' not in line for line in labels.values())
        rows = (row for line in labels.values() if line[:1] == b"[" for row in orjson.loads(line))
        blind = any(textless(LabelRow(**row)) for row in rows)
        self.note = BY_NUMBER if unchecked else f"{TEXTLESS}; they also answer for other responses" if blind else ""
        lines = b"\n".join(labels[key] for key in sorted(labels))
        self._digest = hashlib.blake2b(lines, digest_size=3).hexdigest()

    def can(self, task: Task) -> bool:
        """Return whether the file has labels for this task; for a task that writes units, their texts."""
        return task in self._tasks

    def lacks(self, task: Task) -> str:
        """Return why the file cannot answer a task."""
        if task == "nuggetize":
            return f"the file has no texts for a response's nuggets, and {NO_BANK}"
        what = "claim texts" if task == "claims" else "labels for this step"
        return f"the file has no {what}, only labels for {', '.join(sorted(self._tasks))}"

    def maker(self, question: Question[Any]) -> str:  # noqa: ARG002 - the same for all
        """Return the hash of the labels, so that calls with other labels differ."""
        return f"labels#{self._digest}"

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """Make one call; none for a question without units, such as one about passages only, which have no labels."""
        if isinstance(question, Rate):
            units = question.units
        else:
            assert isinstance(question, Write | Trace)
            units = question.sentences if isinstance(question, Write) else question.response
        if not units:
            return _nothing(question)
        record = units[0].id.rsplit("/", 1 if isinstance(question, Trace) else 2)[0]
        body = orjson.dumps({"record": record, "task": question.task})
        (reply,) = yield (Call(self.id, question.task, self.maker(question), body, len(units), repeat),)
        found, failure = (None, reply.reason) if isinstance(reply, Failed) else (orjson.loads(reply.text), "")
        if isinstance(question, Trace) and not isinstance(found, list):
            return _traced_record(question, found, failure or UNLABELLED, self.id)
        rows = [LabelRow(**row) for row in found or ()]
        if isinstance(question, Write):
            return Written((), failure) if failure else _written(question, rows)
        ballots = _Ballots(rows, self.id, failure, _response_of(question))
        if isinstance(question, Trace):
            return _traced(question, ballots)
        also = (TRIVIAL,) if question.trivial_allowed else ()
        scales = [(unit, question.scale_of(unit)) for unit in question.units]
        return Rated(
            tuple(ballots.verdict(unit, question.task, scale, (*scale.labels, *also)) for unit, scale in scales)
        )


class _Ballots:
    """The label rows of a record."""

    def __init__(self, rows: Sequence[LabelRow], judge: str, failure: str, response: str) -> None:
        self._judge = judge
        self._failure = failure
        self._abouts = ("", text_hash(response)) if response else ()
        self._rows: dict[tuple[str, str], list[LabelRow]] = {}
        for row in rows:
            self._rows.setdefault((row.unit, row.task), []).append(row)

    def verdict(self, unit: Unit, task: str, scale: Scale, labels: Sequence[str] = ()) -> Verdict:
        """Return the verdict with the label that most annotators gave; unjudged, with the reason, if there is none."""
        rows = self._rows.get((unit.id, task), [])
        digest = text_hash(unit.text)
        own = [row for row in rows if row.hash in ("", digest)]
        same = [row for row in own if not self._abouts or row.response in self._abouts]
        votes = Counter(row.label for row in same if row.label is not None).most_common(2)
        said = ", ".join(f"{row.annotator or 'unnamed'}: {row.label or 'cannot tell'}" for row in same)
        failure = self._failure
        if not rows:
            failure = failure or "no label for this unit"
        elif not own:
            failure = "the text has changed since it was labelled"
        elif not same:
            failure = OTHER_RESPONSE
        elif not votes:
            failure = "the annotator could not tell" if len(same) == 1 else "the annotators could not tell"
        elif len(votes) == 2 and votes[0][1] == votes[1][1]:
            failure = f"annotators disagree ({said})"
        elif votes[0][0] not in (labels or scale.labels):
            failure = (
                f"the label {str(votes[0][0])[:40]!r} is not on the scale {scale.name} ({', '.join(scale.labels)})"
            )
        if failure:
            return Verdict(unit, None, None, self._judge, failure=failure)
        label, reason = str(votes[0][0]), said if any(row.annotator for row in same) else ""
        value, raw = (scale.value(label), scale.raw(label)) if label in scale.labels else (None, None)
        return Verdict(unit, label, value, self._judge, raw, reason=reason)


def _response_of(question: Rate | Trace) -> str:
    """Return the response that units are rated by; empty if the question does not have it as a whole."""
    if isinstance(question, Trace):
        return ""
    return question.passages[0].text if question.task == "assign" and question.passages else question.response


def _nothing(question: Question[Any]) -> Rated | Written | Traced:
    if isinstance(question, Write):
        return Written((), NO_BANK if question.passages else "")
    return Rated(()) if isinstance(question, Rate) else Traced((), (), (), ())


def _written(question: Write, rows: Sequence[LabelRow]) -> Written:
    """Return the labelled claims or nuggets in order, each with the sentence that contains its text, if any.

    A long response is asked about in parts. A part returns the units found in its sentences, and those found in no
    sentence that follow them. So all parts together return every unit once and in order.
    """
    level, kind = question.level, written_kind(question)
    every = [row for row in rows if (written := _WRITTEN.search(row.unit)) and written[1] == kind]
    abouts = ("", text_hash(question.response))
    same = [row for row in every if not question.response or row.response in abouts]
    texts = _texts(same) if same or not every else OTHER_RESPONSE
    if isinstance(texts, str):
        return Written((), texts)
    whole = question.whole or question.sentences
    ours, known = {sentence.id for sentence in question.sentences}, set(map(folded, question.known))
    standing = [folded(sentence.text) for sentence in whole]
    found, last, reached = [], 0, 0
    for number, text in enumerate(texts, 1):
        wanted = folded(text)
        places = [place for place, sentence in enumerate(standing) if wanted and wanted in sentence]
        at = next((place for place in places if place >= last), places[0] if places else None)
        last = last if at is None else at
        reached = max(reached, last)
        if whole[reached].id in ours and wanted not in known:
            one = None if at is None else whole[at]
            span, parent = (one.span, one.id) if one else (None, None)
            found.append(Unit(f"{level}/{number}", level, text, span, parent, part=question.part))
    return Written(tuple(found))


def _texts(rows: Sequence[LabelRow]) -> list[str] | str:
    """Return the texts of a record's units in the order of their numbers, or why they are not one complete list."""
    found: dict[int, str] = {}
    for row in rows:
        number = int(row.unit.rpartition("/")[2])
        if found.setdefault(number, row.text) != row.text:
            return f"the labels have two different texts for {row.unit}"
    if missing := next((number for number in range(1, max(found, default=0)) if number not in found), 0):
        return f"number {missing} of {max(found)} has no label; all units of a record must be labelled"
    return [found[number] for number in sorted(found)] if found else UNLABELLED


def _traced(question: Trace, ballots: _Ballots) -> Traced:
    """Return the trace from label rows; a list of passage sentences is None unless all of them are labelled."""
    failures: list[str] = []

    def marked(task: str) -> tuple[str, ...] | None:
        verdicts = [ballots.verdict(unit, task, YES_NO) for unit in question.sentences]
        if unjudged := [verdict.failure for verdict in verdicts if verdict.unjudged]:
            why = "; ".join(dict.fromkeys(unjudged))
            failures.append(f"{len(unjudged)} of {len(verdicts)} passage sentences unjudged for {task}: {why}")
            return None
        return tuple(key_of(verdict.unit) for verdict in verdicts if verdict.label == "yes")

    verdicts = tuple(ballots.verdict(unit, "trace", YES_NO) for unit in question.response)
    relevant, utilized = marked(RELEVANT), marked(UTILIZED)
    return Traced(relevant, utilized, verdicts, ((),) * len(verdicts), failure="; ".join(failures))


def _traced_record(question: Trace, labels: Mapping[str, Any] | None, failure: str, judge: str) -> Traced:
    """Return the trace from a record's line; ``failure`` is the reason if ``labels`` is None."""
    found = Labelling(part=question)
    if labels is None:
        found.problem = failure
        return traced(question, [found], judge)
    texts = {key_of(unit): unit.text for unit in (*question.sentences, *question.response)}
    if problem := _misplaced(labels, texts):
        found.problem = problem
        return traced(question, [found], judge)
    found.problem = "no label for this sentence"
    found.relevant, found.utilized = (
        None if labels.get(name) is None else set(labels[name]) for name in ("relevant", "utilized")
    )
    found.overall = labels.get("supported")
    for key, keys in (labels.get("support") or {}).items():
        found.labels[key] = Label(tuple(dict.fromkeys(keys)), bool(keys))
    if not labels.get("sentences") and (found.relevant or found.utilized or found.labels):
        found.relevance_reason = found.support_reason = BY_NUMBER
    return traced(question, [found], judge)


def _misplaced(labels: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    """Why a record's labels are not of its sentences; empty where they are, differences in white space aside."""
    read = labels.get("sentences") or {}
    for key, text in read.items():
        if "".join(texts.get(key, "").split()) != "".join(text.split()):
            return f"sentence {key} has changed since it was labelled; label the record again"
    support = labels.get("support") or {}
    for key in chain(labels.get("relevant") or (), labels.get("utilized") or (), support, *support.values()):
        if key not in (read or texts) and key not in SPECIAL:
            where = "'sentences' of the label file" if read else "this record"
            return f"the labels name sentence {key}, which is not in {where}; label the record again"
    return ""


def _split(path: str) -> tuple[str, str]:
    """Split ``FILE#ANNOTATOR``, unless an existing file has the whole name."""
    file, mark, annotator = path.rpartition("#")
    return (path, "") if not mark or Path(path).is_file() else (file, annotator)


def _labels(path: str, annotator: str) -> Labels:
    """Read a file of either form, recognized by its first line."""
    try:
        lines = Path(path).read_bytes().removeprefix(BOM_UTF8).splitlines()
    except OSError as error:
        raise ConfigError(f"human: cannot read {path} ({error.strerror})") from error
    try:
        first = orjson.loads(next((line for line in lines if line.strip()), b""))
    except orjson.JSONDecodeError:
        first = None
    if is_label_row(first):
        return _rows(path, annotator)
    if annotator:
        raise ConfigError(f"human: {path} names no annotators; remove #{annotator}")
    found: dict[tuple[str, str], bytes] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            name = _id_of(line, f"{path}:{number}")
            if (name, "trace") in found:
                raise ConfigError(f"{path}:{number}: the record '{name}' is labelled twice; keep one of the two lines")
            found[name, "trace"] = line.strip()
    if not found:
        raise ConfigError(f"{path}: no labels found; {NO_ROW}")
    return found


def _rows(path: str, annotator: str) -> Labels:
    rows = list(read_labels(path))
    names = sorted({row.annotator for row in rows if row.annotator})
    if annotator and annotator not in names:
        raise ConfigError(f"human: no annotator '{annotator}' in {path}; it has {', '.join(names) or 'no names'}")
    found: dict[tuple[str, str], list[LabelRow]] = {}
    for row in rows:
        if row.task not in LABELLED:
            raise ConfigError(f"{path}: {row.unit} has the task '{row.task}'; expected one of {', '.join(LABELLED)}")
        if row.annotator == annotator or not annotator:
            # Drop fields that do not affect answers, so that they do not change the hash of the labels.
            plain = replace(row, draw=None, seconds=None, rubric="")
            found.setdefault((row.record, row.task.partition(".")[0]), []).append(plain)
            if row.text and (written := _WRITTEN.search(row.unit)):
                task: Task = "nuggetize" if written[1] == "nugget" else "claims"
                found.setdefault((row.record, task), []).append(plain)
    order = ("unit", "task", "annotator")
    return {
        key: orjson.dumps([row.as_json() for row in sorted(group, key=lambda row: [getattr(row, by) for by in order])])
        for key, group in found.items()
    }


def _id_of(line: bytes, where: str) -> str:
    try:
        row: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{where}: not JSON ({error}); {NO_ROW}") from error
    if is_label_row(row):
        raise ConfigError(f"{where}: a label row among lines of records; keep one form in a file")
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise ConfigError(f"{where}: no id; {NO_ROW}")
    kinds: dict[str, type] = {
        "relevant": list, "utilized": list, "support": dict, "supported": bool, "sentences": dict
    }  # fmt: skip
    for name, kind in kinds.items():
        if row.get(name) is not None and not isinstance(row[name], kind):
            raise ConfigError(f"{where}: field '{name}' is a {type(row[name]).__name__}; {EXPECTED}")
    named = {name: row.get(name) or () for name in ("relevant", "utilized")}
    named |= {f"support.{key}": keys for key, keys in (row.get("support") or {}).items()}
    named["sentences"] = list((row.get("sentences") or {}).values())
    for name, keys in named.items():
        if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
            raise ConfigError(f"{where}: field '{name}' has a value that is not text; {EXPECTED}")
    return str(row["id"])
