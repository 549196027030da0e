"""A judge that answers from recorded calls only: exact reproduction, offline.

A recording is JSON lines, as written by ``ragstone export RUN --format calls``: a header with the judges, their
settings (never a key) and the steps each answered, then one line per call. A call that was not recorded fails with an
error that says so; nothing is ever sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from ragstone.errors import BackendError, ConfigError
from ragstone.judges.base import Call, Dialogue, InProcess, Judge, Reply, reply_from_json
from ragstone.judges.spec import Spec
from ragstone.prompts.choice import Choice
from ragstone.questions import Question, Task

FORMAT: Final = 1


class ReplayBackend(InProcess):
    """Looks up recorded replies by call key."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._replies: dict[bytes, bytes] = {}

    async def open(self) -> None:
        """Read the recording, once."""
        if not self._replies:
            self._replies = dict(_recorded(self.path))

    async def send(self, call: Call) -> Reply:
        """Return the recorded reply; raise BackendError for a call that is not in the recording."""
        reply = self._replies.get(call.key)
        if reply is None:
            raise BackendError(
                f"this {call.task} call is not in {self.path}; its record, prompt, model or settings differ",
                judge=call.judge,
            )
        try:
            return reply_from_json(reply)
        except (KeyError, TypeError) as error:
            raise BackendError(
                f"{self.path}: the recorded reply to this {call.task} call is damaged ({error!r})", judge=call.judge
            ) from error


class ReplayJudge:
    """Makes the calls of the recorded judges and answers them from the recording."""

    def __init__(self, name: str, path: str, build: Callable[[Spec], Judge]) -> None:
        self.name = name
        self.path = path
        self.backend = ReplayBackend(path)
        self._by_task: dict[str, Judge] = {}
        for entry in _head(path):
            recorded, tasks = _judge(path, entry, build)
            for task in tasks:
                if task in self._by_task:
                    raise ConfigError(
                        f"{path}: the step '{task}' was answered by a panel; replay can only replace one judge"
                    )
                self._by_task[task] = recorded
        ids = {judge.id for judge in self._by_task.values()}
        self.id = "+".join(sorted(ids)) or "replay"
        self.model = ""
        self.provider = ""

    def can(self, task: Task) -> bool:
        """Return whether the task was recorded."""
        return task in self._by_task

    def maker(self, question: Question[Any]) -> str:
        """Name what made the recorded calls."""
        return self._by_task[question.task].maker(question)

    def dialogue(self, question: Question[Any], *, repeat: int = 0) -> Dialogue:
        """Make exactly the recorded judge's calls."""
        return self._by_task[question.task].dialogue(question, repeat=repeat)


def _lines(path: str) -> list[bytes]:
    try:
        return Path(path).read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"replay: cannot read {path} ({error.strerror})") from error


def _head(path: str) -> list[dict[str, Any]]:
    try:
        head = orjson.loads((_lines(path) or [b""])[0])
        judges: list[dict[str, Any]] = head["judges"]
        if head["ragstone_calls"] == FORMAT and isinstance(judges, list):
            return judges
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass
    raise ConfigError(
        f"{path}:1: not a recording; to create one, run: ragstone export RUN --format calls -o calls.jsonl"
    )


def _judge(path: str, entry: Any, build: Callable[[Spec], Judge]) -> tuple[Judge, list[str]]:
    try:
        spec = Spec(**{**entry["judge"], "choice": Choice.from_json(entry["judge"].get("choice", {}))})
        tasks = entry["tasks"]
        if spec.provider != "replay" and isinstance(tasks, list):
            return build(spec), tasks
    except (KeyError, TypeError, AttributeError):
        pass
    raise ConfigError(f"{path}:1: unusable judge entry {str(entry)[:120]}")


def _recorded(path: str) -> Mapping[bytes, bytes]:
    replies: dict[bytes, bytes] = {}
    for number, line in enumerate(_lines(path)[1:], 2):
        try:
            entry = orjson.loads(line)
            replies[bytes.fromhex(entry["key"])] = orjson.dumps(entry["reply"])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise BackendError(f"{path}:{number}: not a recorded call ({error})", fatal=True) from error
    return replies
