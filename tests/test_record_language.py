"""The language of a record chooses the prompts that are asked about it, and the words that screens say of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from ragstone import evaluate
from ragstone.errors import ConfigError
from ragstone.prompts.choice import Choice, check_style
from ragstone.render.html.case import case_of
from ragstone.render.terminal.case import case
from ragstone.render.terminal.screen import Look, screen
from ragstone.segment import record_language
from ragstone.testing import FakeServer, ScriptedJudge

RUSSIAN = {
    "id": "ru", "question": "Сколько весит чайник?", "response": "Чайник весит 900 граммов.",
    "contexts": ["Чайник весит 900 граммов и вмещает два литра."],
}  # fmt: skip
ENGLISH = {
    "id": "en", "question": "How much does it weigh?", "response": "It weighs 900 grams.",
    "contexts": ["It weighs 900 grams."],
}  # fmt: skip


@pytest.mark.parametrize(
    ("meta", "language"),
    [({}, "ru"), ({"lang": "en"}, "en"), ({"lang": "de-CH"}, "de"), ({"language": "RU_ru"}, "ru"),
     ({"lang": "Russian"}, "ru"), ({"lang": 7}, "ru")],
)  # fmt: skip
def test_a_record_says_its_language_or_its_letters_do(meta: dict[str, Any], language: str) -> None:
    assert record_language(meta, RUSSIAN["question"], RUSSIAN["response"]) == language  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (Choice(), ("default.ru", "default")),
        (Choice("short_cot"), ("short_cot.ru", "short_cot")),
        (Choice("default.ru"), ("default.ru", "default.ru")),
        (Choice("short_cot.en"), ("short_cot", "short_cot")),
        (Choice(styles={"support": "no_reasoning"}), ("no_reasoning.ru", "no_reasoning")),
        (Choice(styles={"support": "short_cot.v5"}), ("short_cot", "short_cot")),
        (Choice(format="keyed"), ("no_reasoning.ru", "no_reasoning")),
    ],
)
def test_a_style_without_a_language_is_asked_in_the_records(choice: Choice, names: tuple[str, str]) -> None:
    """One with a language, also English, or a version, is asked as named; where there are no prompts, in English."""
    assert tuple(choice.template("support", "", lang)[0].name for lang in ("ru", "")) == names
    assert choice.template("support", "", "de")[0].name == names[1]


def test_english_can_be_named() -> None:
    check_style("short_cot.en")
    with pytest.raises(Exception, match=r"no prompt style 'short_cot\.fr'"):
        check_style("short_cot.fr")


def test_each_record_of_a_run_is_asked_in_its_language(tmp_path: Path) -> None:
    """Its signature names the prompt; a run with one language named asks all in that one."""
    rows = [ENGLISH, RUSSIAN, {**RUSSIAN, "id": "said", "lang": "en"}]
    with FakeServer() as server:
        run = evaluate(rows, "groundedness", f"vllm:m@{server.url}", store=tmp_path / "s.db")
        asked = [request["messages"][1]["content"] for request in server.requests]
        assert sum("Ты сверяешь" in text for text in asked) == 1
        assert len(asked) == 3
        signed = {result["id"]: result["scores"][0]["signature"] for result in run.results()}
        assert "support.default.ru.v3#" in signed["ru"]
        assert signed["en"] == signed["said"] == run.summary()["metrics"]["groundedness"]["signature"]
        run.store.close()
        server.reset()
        run = evaluate(rows, "groundedness", f"vllm:m@{server.url}", prompts="default.en", store=tmp_path / "t.db")
        assert all("Ты сверяешь" not in request["messages"][1]["content"] for request in server.requests)
        run.store.close()
    with pytest.raises(ConfigError, match="no prompt style"):
        evaluate(rows, "groundedness", "openai:m", prompts="default.fr", store=tmp_path / "t.db")


def test_bands_are_in_the_language_of_the_record(tmp_path: Path) -> None:
    """In the terminal and on the page."""
    run = evaluate([ENGLISH, RUSSIAN], "response_groundedness", ScriptedJudge({"response_support": "0"}),
                   parameters={"response_groundedness": {"shortcuts": False}}, store=tmp_path / "s.db")  # fmt: skip
    shown = {}
    for number, result in enumerate(run.results(), 1):
        stream = io.StringIO()
        screen(stream).print(case(result, number, run.id, Look(100)))
        (page,) = case_of(result, {})["scores"][0]["facts"]
        assert page in " ".join(stream.getvalue().split())
        shown[result["id"]] = " ".join(stream.getvalue().split())
    assert "poor: significant information is not in the passages" in shown["en"]
    assert "плохо: существенные сведения отсутствуют в контексте" in shown["ru"]
    run.store.close()
