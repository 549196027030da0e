"""Each test of the command line has a folder of its own; some share a run that was made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import TRACES, answers

from ragstone import evaluate
from ragstone.testing import FakeServer, ScriptedJudge


@pytest.fixture
def home(alone: Path) -> Path:
    """A folder of the test's own to be in."""
    return alone


@pytest.fixture(scope="session")
def weighed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run over the example traces, by a judge whose verdicts do not change with Ragstone."""
    path = tmp_path_factory.mktemp("weighed") / "store.db"
    evaluate(TRACES, judge=ScriptedJudge(answers), store=path).store.close()
    return path


@pytest.fixture(scope="session")
def fake() -> Iterator[str]:
    """The name of a judge behind a fake endpoint."""
    with FakeServer() as server:
        yield f"vllm:fake@{server.url}"
