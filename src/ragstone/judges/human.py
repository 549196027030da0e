"""Judge that answers from human labels: a lookup, no model.

A file of labels is JSON lines, one record each: ``{"id": …, "relevant": [keys], "utilized": [keys],
"support": {response key: [keys]}, "supported": true or false}``. Keys are those of the sentences as the record is
divided (``doc_0_s0``, ``resp_s0``). What people did not say is unjudged; of a record that they did not label,
everything is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from ragstone.errors import BackendError, ConfigError
from ragstone.judges.base import Call, Dialogue, Failed, InProcess, Reply
from ragstone.judges.tracing import Label, Labelling, traced
from ragstone.questions import SPECIAL, Question, Task, Trace, Traced, key_of

ANSWERS: Final[frozenset[Task]] = frozenset({"trace"})
EXPECTED: Final = "expected {id, relevant: [keys], utilized: [keys], support: {key: [keys]}, supported: true or false}"
UNLABELLED: Final = "no label for this record"


class HumanBackend(InProcess):
    """Looks up the labels of a record."""

    steady: bool = True

    def __init__(self, path: str, labels: Mapping[str, bytes]) -> None:
        self.path = path
        self._labels = labels

    async def send(self, call: Call) -> Reply:
        """Return the labels of the record that the call names; BackendError if there are none."""
        record = orjson.loads(call.body)["record"]
        if record not in self._labels:
            raise BackendError(f"{UNLABELLED} ({self.path})", judge=call.judge)
        return Reply(self._labels[record].decode())


class HumanJudge:
    """Answers from a file of labels. ConfigError names a line that is no label."""

    model: str = ""
    provider: str = ""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.id = "human"
        labels = _labels(path)
        self.backend = HumanBackend(path, labels)
        self._digest = hashlib.blake2b(b"\n".join(labels.values()), digest_size=3).hexdigest()

    def can(self, task: Task) -> bool:
        """Return whether labels can answer this task."""
        return task in ANSWERS

    def maker(self, question: Question[Any]) -> str:  # noqa: ARG002 - the same for all
        """Return the hash of the labels, so that other labels are other calls."""
        return f"labels#{self._digest}"

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """Make one call."""
        assert isinstance(question, Trace), "the routes are checked before the run"
        record = question.response[0].id.rpartition("/")[0]
        body = orjson.dumps({"record": record})
        (reply,) = yield (Call(self.id, question.task, self.maker(question), body, 1, repeat),)
        return _answer(question, reply, self.id)


def _answer(question: Trace, reply: Reply | Failed, judge: str) -> Traced:
    found = Labelling(part=question)
    if isinstance(reply, Failed):
        found.problem = reply.reason
        return traced(question, [found], judge)
    labels = orjson.loads(reply.text)
    known = {key_of(unit) for unit in question.sentences}
    found.problem = "no label for this sentence"
    found.relevant = _known(labels.get("relevant"), known, found)
    found.utilized = _known(labels.get("utilized"), known, found)
    supported = labels.get("supported")
    found.overall = supported if isinstance(supported, bool) else None
    support = labels.get("support")
    for key, keys in support.items() if isinstance(support, dict) else ():
        named = _known(keys, known | set(SPECIAL), found)
        if named is not None:
            found.labels[key] = Label(tuple(dict.fromkeys(key for key in keys if key in named)), bool(named))
    return traced(question, [found], judge)


def _known(given: object, known: set[str], found: Labelling) -> set[str] | None:
    if not isinstance(given, list):
        return None
    found.dropped.update((str(key)[:40], None) for key in given if key not in known)
    return {key for key in given if key in known}


def _labels(path: str) -> dict[str, bytes]:
    """Map record ids to their lines."""
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"human: cannot read {path} ({error.strerror})") from error
    found: dict[str, bytes] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            name = _id_of(line, f"{path}:{number}")
            if name in found:
                raise ConfigError(f"{path}:{number}: the record '{name}' is labelled twice; keep one of the two lines")
            found[name] = line.strip()
    if not found:
        raise ConfigError(f"{path}: no labels found; {EXPECTED}")
    return found


def _id_of(line: bytes, where: str) -> str:
    try:
        row: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{where}: not JSON: {error}") from error
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise ConfigError(f"{where}: no id; {EXPECTED}")
    kinds: dict[str, type] = {"relevant": list, "utilized": list, "support": dict, "supported": bool}
    for name, kind in kinds.items():
        if row.get(name) is not None and not isinstance(row[name], kind):
            raise ConfigError(f"{where}: field '{name}' is a {type(row[name]).__name__}; {EXPECTED}")
    return str(row["id"])
