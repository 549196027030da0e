"""The same run sends nothing; what is changed sends what it changes; counting once more what is there sends nothing.

Over real sockets: what counts is how many requests the endpoint has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone import api, prompts
from ragstone.analysis.run import Run
from ragstone.judges import prompted
from ragstone.questions import Rate
from ragstone.testing import FakeServer

pytestmark = pytest.mark.usefixtures("alone")

RECORDS = 4
METRICS = ["grounding", "claim_relevance"]
"""Three calls a record: claims, support, relevance."""
ALL = 3 * RECORDS
OWN = """
[judges.mine]
model = "{model}"
base_url = "{url}"
{more}
"""


def rows(count: int = RECORDS) -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{n}",
            "question": "What is it?",
            "response": f"It is number {n}. It boils.",
            "contexts": ["A kettle."],
        }
        for n in range(count)
    ]


def weigh(server: FakeServer, more: str = "", model: str = "m", **options: Any) -> Run:
    Path("ragstone.toml").write_text(OWN.format(url=server.url, model=model, more=more), encoding="utf-8")
    run = api.evaluate(options.pop("source", rows()), options.pop("metrics", METRICS), "mine", **options)
    run.store.close()
    return run


def sent(server: FakeServer, work: Callable[[], Any]) -> int:
    before = len(server.requests)
    work()
    return len(server.requests) - before


def tasks(run: Run) -> dict[str, int]:
    """How many calls of each step a run sent."""
    return {step["step"]: step["calls"] for step in run.summary()["bill"]["by_step"]}


def test_the_same_run_again_sends_nothing(server: FakeServer) -> None:
    """Not one request, and the same results byte for byte."""
    assert sent(server, lambda: weigh(server, out="one")) == ALL
    assert sent(server, lambda: weigh(server, out="two")) == 0
    assert Path("one/results.jsonl").read_bytes() == Path("two/results.jsonl").read_bytes()


def test_a_further_record_sends_its_own(server: FakeServer) -> None:
    weigh(server)
    assert sent(server, lambda: weigh(server, source=rows(RECORDS + 1))) == 3


def test_a_changed_prompt_sends_its_step(server: FakeServer, tmp_path: Path) -> None:
    """Claims and relevance come from the store; only the step whose prompt has changed is asked."""
    weigh(server)
    text = prompts.load("support").text
    mine = tmp_path / "mine.md"
    mine.write_text(text.replace("=== system ===\n", "=== system ===\nLook closely.\n"), encoding="utf-8")
    own = [f"support={mine}"]
    assert tasks(weigh(server, prompts=own)) == {"support": RECORDS}
    assert tasks(weigh(server, prompts=own)) == {}
    mine.write_text(mine.read_text(encoding="utf-8").replace("closely", "again"), encoding="utf-8")
    assert tasks(weigh(server, prompts=own)) == {"support": RECORDS}


@pytest.mark.parametrize(
    ("more", "model", "count"),
    [
        ("", "another", ALL),
        ("temperature = 0.7", "m", ALL),
        (
            "prompts = {structured = 'off'}",
            "m",
            2 * RECORDS,
        ),  # this server then says what is no claim: asked, and asked once more
        ("seed = 7", "m", ALL),
        ("max_tokens = 2048", "m", ALL),
    ],
    ids=["model", "temperature", "schema", "seed", "length"],
)
def test_a_changed_request_is_sent(server: FakeServer, more: str, model: str, count: int) -> None:
    """Once, all of it; and the old one is still there."""
    weigh(server)
    assert sent(server, lambda: weigh(server, more, model)) == count
    assert sent(server, lambda: weigh(server, more, model)) == 0
    assert sent(server, lambda: weigh(server)) == 0


def test_a_temperature_that_a_metric_has_of_its_own_is_not_the_judges(server: FakeServer) -> None:
    """What does not change sends nothing, though a setting of the judge has changed."""
    weigh(server, metrics=["response_groundedness"])
    assert sent(server, lambda: weigh(server, "temperature = 0.7", metrics=["response_groundedness"])) == 0


def test_a_scale_of_one_metric_sends_its_step(server: FakeServer) -> None:
    """Another scale is another schema: of the steps of a run those of that metric alone."""
    weigh(server)
    changed = {"grounding": {"scoring_mode": "scale_1_5"}}
    assert tasks(weigh(server, parameters=changed)) == {"support": RECORDS}


def test_another_question_sends_no_support(server: FakeServer) -> None:
    support = ["groundedness", "response_groundedness"]
    weigh(server, metrics=support)
    asked = [{**row, "question": "What boils?"} for row in rows()]
    assert sent(server, lambda: weigh(server, source=asked, metrics=support)) == 0


def test_a_repeat_sends_the_further_times(server: FakeServer) -> None:
    """The first time is the plain run's; each further time is asked once, whatever number of times is asked for."""
    server.configure(vary=True)
    assert sent(server, lambda: weigh(server, metrics=["response_groundedness"])) == RECORDS
    assert sent(server, lambda: weigh(server, metrics=["response_groundedness"], repeat=3)) == 2 * RECORDS
    assert sent(server, lambda: weigh(server, metrics=["response_groundedness"], repeat=2)) == 0
    assert sent(server, lambda: weigh(server, metrics=["response_groundedness"])) == 0


def test_another_threshold_sends_nothing(server: FakeServer) -> None:
    """And what it decides is decided anew."""
    weigh(server)
    for threshold in (0.0, 1.0):
        run: list[Run] = []
        change = {name: {"threshold": threshold} for name in METRICS}
        assert sent(server, lambda: run.append(weigh(server, parameters=change))) == 0  # noqa: B023 - called at once
        outcomes = run[0].summary()["metrics"]["grounding"]["outcomes"]
        assert outcomes is not None
        assert sum(outcomes.values()) == RECORDS
        assert threshold or outcomes == {"PASSED": RECORDS}


def test_another_parser_sends_nothing(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies are kept as they came, so a parser that reads them otherwise scores them otherwise, for nothing."""
    before = weigh(server, metrics=["response_groundedness"]).summary()["metrics"]["response_groundedness"]["mean"]
    real = getattr(prompted, "read_rate")  # noqa: B009 - a name that it does not export

    def otherwise(question: Rate, *rest: Any, **more: Any) -> Any:
        reading = real(question, *rest, **more)
        monkeypatch.setattr(reading.__class__, "verdicts", worst(reading.__class__.verdicts))
        return reading

    def worst(verdicts: Any) -> Any:
        def read(self: Any, *arguments: Any) -> Any:
            from msgspec.structs import replace

            return [replace(verdict, label="0", value=0.0) for verdict in verdicts(self, *arguments)]

        return read

    monkeypatch.setattr(prompted, "read_rate", otherwise)
    after: list[Run] = []
    assert sent(server, lambda: after.append(weigh(server, metrics=["response_groundedness"]))) == 0
    assert after[0].summary()["metrics"]["response_groundedness"]["mean"] == 0.0
    assert before is not None
    assert before > 0
