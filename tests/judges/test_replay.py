"""A recording answers as the judges did that it was made of, and nothing else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from by_hand import PASSAGES, all_of, claims, labels

from ragstone.errors import BackendError, ConfigError
from ragstone.judges.base import Call, Reply, Usage, reply_from_json, reply_to_json
from ragstone.judges.catalogue import build
from ragstone.judges.replay import ReplayJudge
from ragstone.judges.spec import Spec, parse
from ragstone.questions import YES_NO, Rate

SPEC: dict[str, Any] = {
    "name": "openai:m",
    "provider": "openai",
    "model": "m",
    "temperature": 0.5,
    "extra": {"seed": 1},
}
ASKED = Rate("support", claims(24), YES_NO, passages=PASSAGES)
REPLY = Reply("text é\n", "length", "thought", Usage(1, 2, 3, None), ("a note",))


def lines(judges: Any, *calls: tuple[str, Any]) -> str:
    rows = [{"ragstone_calls": 1, "judges": judges}, *({"key": key, "reply": reply} for key, reply in calls)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def recording(path: Path, repeat: int = 0) -> Path:
    """What the judge of SPEC was asked and said, written down by hand."""
    answered = [
        (call.key.hex(), json.loads(reply_to_json(Reply(str(all_of("yes")(call))))))
        for call in next(build(Spec(**SPEC)).dialogue(ASKED, repeat=repeat))
    ]
    path.write_text(lines([{"judge": SPEC, "tasks": ["support"]}], *answered))
    return path


def opened(path: Path) -> ReplayJudge:
    judge = build(parse(f"replay:{path}"))
    assert isinstance(judge, ReplayJudge)
    return judge


async def answer(judge: ReplayJudge, calls: Any) -> list[Reply]:
    await judge.backend.open()
    replies = [await judge.backend.send(call) for call in calls]
    await judge.backend.close()
    await judge.backend.close()
    return replies


def test_what_was_recorded_is_answered_as_it_was(tmp_path: Path) -> None:
    judge = opened(recording(tmp_path / "calls.jsonl"))
    dialogue = judge.dialogue(ASKED)
    replies = asyncio.run(answer(judge, next(dialogue)))
    with pytest.raises(StopIteration) as stop:
        dialogue.send(replies)
    assert labels(stop.value.value) == ["yes"] * 24
    assert (judge.id, judge.maker(ASKED)) == ("openai/m", build(Spec(**SPEC)).maker(ASKED))
    assert judge.name.startswith("replay:")
    assert (judge.can("support"), judge.can("claims")) == (True, False)
    assert judge.backend.free


def test_a_call_that_was_not_recorded_fails_by_name_and_is_not_worth_a_retry(tmp_path: Path) -> None:
    path = recording(tmp_path / "calls.jsonl")
    judge = opened(path)
    other = Rate("support", claims(1), YES_NO, passages=PASSAGES)
    with pytest.raises(BackendError, match="this support call is not in") as error:
        asyncio.run(answer(judge, next(judge.dialogue(other))))
    assert str(path) in str(error.value)
    assert (error.value.retryable, error.value.fatal, error.value.judge) == (False, False, "openai/m")


def test_another_repeat_was_not_recorded(tmp_path: Path) -> None:
    judge = opened(recording(tmp_path / "calls.jsonl", repeat=1))
    assert len(asyncio.run(answer(judge, next(judge.dialogue(ASKED, repeat=1))))) == 2
    with pytest.raises(BackendError):
        asyncio.run(answer(judge, next(judge.dialogue(ASKED))))


def test_a_reply_is_kept_whole() -> None:
    assert reply_from_json(reply_to_json(REPLY)) == REPLY


def test_two_judges_answer_a_step_each(tmp_path: Path) -> None:
    other = {**SPEC, "model": "other"}
    path = tmp_path / "calls.jsonl"
    path.write_text(lines([{"judge": SPEC, "tasks": ["support"]}, {"judge": other, "tasks": ["claims", "relevance"]}]))
    judge = opened(path)
    assert judge.id == "openai/m+openai/other"
    assert [judge.can(task) for task in ("support", "claims", "relevance", "response_support")] == [True] * 3 + [False]
    assert next(judge.dialogue(ASKED))[0].judge == "openai/m"


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"replay: cannot read nowhere\.jsonl"):
        opened(Path("nowhere.jsonl"))


NO_RECORDINGS = (
    "", "\n", "{}\n", "[]\n", "nonsense\n", '"ragstone_calls"\n', '{"ragstone_calls": 1}\n', '{"judges": []}\n',
    '{"ragstone_calls": 2, "judges": []}\n', '{"ragstone_calls": 1, "judges": {}}\n',
)  # fmt: skip
NO_JUDGES: tuple[Any, ...] = (
    None, 7, [], {}, {"judge": SPEC}, {"tasks": ["support"]}, {"judge": 7, "tasks": ["support"]},
    {"judge": {"name": "x", "unknown": 1}, "tasks": ["support"]}, {"judge": SPEC, "tasks": "support"},
    {"judge": {"name": "replay:x", "provider": "replay", "path": "calls.jsonl"}, "tasks": ["support"]},
)  # fmt: skip
PANEL = [{"judge": {**SPEC, "model": model}, "tasks": ["support"]} for model in ("m", "o")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, r"notes\.jsonl:1: not a recording; to create one, run: .* -o calls\.jsonl") for text in NO_RECORDINGS),
        *((lines([entry]), r"notes\.jsonl:1: unusable judge entry") for entry in NO_JUDGES),
        (lines(PANEL), "the step 'support' was answered by a panel"),
    ],
)
def test_a_file_that_no_judge_can_answer_from_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        opened(path)


@pytest.mark.parametrize(
    "row", ["{", "7", "{}", '{"key": "zz", "reply": {}}', '{"key": 7, "reply": {}}', '{"key": "00"}', ""]
)
def test_a_damaged_row_is_named_by_its_line_before_any_call(tmp_path: Path, row: str) -> None:
    path = recording(tmp_path / "calls.jsonl")
    path.write_text(path.read_text() + row + "\n")
    with pytest.raises(BackendError, match=r"calls\.jsonl:4: not a recorded call") as error:
        asyncio.run(answer(opened(path), []))
    assert error.value.fatal


@pytest.mark.parametrize(
    "reply", [None, 7, [], {}, {"text": "x"}, {"text": "x", "finish": "stop", "reasoning": "", "usage": 7, "notes": []}]
)
def test_a_damaged_reply_is_a_failed_call_and_no_crash(tmp_path: Path, reply: Any) -> None:
    path = tmp_path / "calls.jsonl"
    call = Call("openai/m", "support", "m", b"{}")
    path.write_text(lines([{"judge": SPEC, "tasks": ["support"]}], (call.key.hex(), reply)))
    with pytest.raises(BackendError, match="the recorded reply to this support call is damaged"):
        asyncio.run(answer(opened(path), [call]))
