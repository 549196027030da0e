"""Judge statements with a local natural-language inference (NLI) model."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import Any, Final

from ragstone.judges.base import Call, Cuts, Reply, processors
from ragstone.judges.embedded.judge import VERSION as EMBEDDED
from ragstone.judges.embedded.judge import ComputedJudge, EmbeddedBackend, divided_by
from ragstone.judges.embedded.model import digest
from ragstone.judges.nli.reader import ModelFiles, Reader, locate
from ragstone.judges.nli.statements import LEAST, MOST, YES, reply_to
from ragstone.judges.spec import NLI_ANSWERS
from ragstone.models import short_name
from ragstone.questions import SUPPORT_CONTRADICT, Question, Rate, Task
from ragstone.signature import version_of

VERSION: Final = "nli-1"


class NliBackend(EmbeddedBackend):
    """Runs the model in as many threads as there are processors, one call each."""

    seconds: float = 0.5

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.threads = self.concurrency = processors()

    @cached_property
    def files(self) -> ModelFiles:
        """The model's files, downloaded on first use; raises ConfigError or BackendError if unavailable."""
        return locate(self._name)

    @cached_property
    def reader(self) -> Reader:
        """The loaded model."""
        return Reader(self.files)

    async def open(self) -> None:
        """Load the model."""
        await asyncio.get_running_loop().run_in_executor(None, lambda: self.reader)

    def reply(self, call: Call) -> Reply:
        """Return the reply to one call, computed in the caller's thread."""
        return Reply(reply_to(call.body, self.reader))


class NliJudge(ComputedJudge):
    """Answers whether texts support statements."""

    provider: str = ""

    def __init__(self, name: str, model: str, threshold: float | None = None) -> None:
        super().__init__(name, threshold)
        self.model = short_name(model)
        self.id = f"nli/{self.model}"
        self.backend: NliBackend = NliBackend(model)

    def can(self, task: Task) -> bool:
        """Return whether it answers questions of this task."""
        return task in NLI_ANSWERS

    def refusal(self, question: Question[Any]) -> str:
        """Refuse a scale with contradiction if the model has only two classes; else return an empty string."""
        if not isinstance(question, Rate) or question.scale != SUPPORT_CONTRADICT:
            return ""
        if self.backend.files.contradiction is not None:
            return ""
        return (
            f"'{self.model}' has no class for contradiction, which {question.scale.name} needs; use a three-class model"
        )

    def version(self) -> str:
        """Return the versions of this judge, the model (commit and file hash), the runtime and the embedded judge."""
        files = self.backend.files
        model = ".".join(filter(None, (VERSION, files.revision[:7])))
        runtime = f"onnxruntime-{version_of('onnxruntime')}"
        rules = f"{EMBEDDED.replace('embedded', 'rules')}#{digest()}.{divided_by()}"
        return f"{model}#{files.digest}.{runtime}.{rules}"

    def own_cuts(self, task: Task) -> Cuts | None:
        """Return the cuts, the same for all models; for whole responses, the threshold can only be raised."""
        return Cuts(YES if task == "response_support" else LEAST, YES, YES / 2, MOST)
