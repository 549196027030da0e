"""The trace through a whole run, asked of a real endpoint: calls and columns, re-scoring, cut-off and too long."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from ragstone import evaluate
from ragstone.analysis.run import Run
from ragstone.testing import FakeServer

COLUMNS = (
    "adherence", "relevance", "utilization", "completeness", "average",
    "relevance_share", "utilization_share", "adherence_share",
)  # fmt: skip
RECORDS = [
    {
        "id": f"r{number}",
        "question": f"What is kettle {number} made of?",
        "response": f"Kettle {number} is steel. It sings a very long song in the evening.",
        "contexts": [f"Kettle {number} is steel. It is sold in green.", f"Steel rusts near kettle {number}."],
    }
    for number in (1, 2, 3)
]
LONG = {
    "id": "long",
    "question": "What is the kettle made of?",
    "response": "The kettle is steel. It sings.",
    "contexts": [f"Opening of passage {n}. {'Steel is all that it says. ' * 60}It {verb}." for n, verb in enumerate(
        ("rusts", "weighs", "sings", "boils"))],
}  # fmt: skip


def shown(request: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The sentences of the contexts and of the response that a request shows, by key."""
    material = next(message["content"] for message in request["messages"] if message["role"] == "user")
    lines = re.findall(r"^((?:doc_\d+|resp)_s\d+): (.*)$", material, re.MULTILINE)
    return (
        {key: text for key, text in lines if key.startswith("doc")},
        {key: text for key, text in lines if key.startswith("resp")},
    )


def labelled(request: dict[str, Any]) -> dict[str, Any]:
    """What holds steel is relevant; a response sentence rests on the context sentence with its first verb."""
    contexts, response = shown(request)
    support = {
        key: [other for other, said in contexts.items() if verb in said][:1]
        for key, text in response.items()
        for verb in ("sings" if "sings" in text else "is steel",)
    }
    return {
        "relevance_explanation": "steel is what was asked for", "support_explanation": "word for word",
        "relevant": [key for key, text in contexts.items() if "teel" in text],
        "sentences": {
            key: {"support": keys, "explanation": "so it says", "fully_supported": bool(keys)}
            for key, keys in support.items()
        },
        "utilized": sorted({key for keys in support.values() for key in keys}),
        "overall_supported": all(support.values()),
    }  # fmt: skip


def run_of(server: FakeServer, folder: Path, *rows: Mapping[str, Any], judge: str = "", **parameters: Any) -> Run:
    """A run with the store of the folder; the server behind ``judge``."""
    given = {"trace": parameters} if parameters else {}
    return evaluate(list(rows), "trace", judge or f"vllm:any@{server.url}", store=folder / "s.db", parameters=given)


def values(run: Run, record: str) -> dict[str, float | None]:
    return {score["metric"].removeprefix("trace."): score["value"] for score in run[record]["scores"]}


def leading(run: Run, record: str) -> dict[str, Any]:
    """The score that holds verdicts and map."""
    return next(score for score in run[record]["scores"] if score["metric"] == "trace.adherence")


def test_one_labelling_call_a_record_gives_all_eight_columns(tmp_path: Path) -> None:
    """R = {d0s0, d1s0}, U = {d0s0}, one of two sentences supported."""
    with FakeServer(answer=labelled) as server:
        run = run_of(server, tmp_path, *RECORDS)
        assert (server.count, len(server.unique), server.seen) == (3, 3, {200: 3})
    assert run.summary()["bill"]["sent"] == 3
    for record in ("r1", "r2", "r3"):
        (call,) = run[record]["calls"]
        assert call["step"] == "trace"
        assert values(run, record) == pytest.approx(
            dict(zip(COLUMNS, (0.0, 0.1, 0.5, 0.5, 0.275, 2 / 3, 1 / 3, 0.5), strict=True))
        )
        detail = leading(run, record)["detail"]
        assert [row["support"] for row in detail["response"]] == [["doc_0_s0"], []]
        assert [(row["relevant"], row["utilized"]) for row in detail["contexts"]] == [
            (True, True), (False, False), (True, False),
        ]  # fmt: skip
    run.store.close()


def test_another_length_and_normaliser_send_no_call_and_give_other_shares(tmp_path: Path) -> None:
    """Everything is counted again from the replies in the store; the signatures differ."""
    with FakeServer(answer=labelled) as server:
        first = run_of(server, tmp_path, *RECORDS)
        before = values(first, "r1")
        signed = leading(first, "r1")["signature"]
        first.store.close()
        again = run_of(server, tmp_path, *RECORDS, length="characters", normaliser=4)
        assert server.count == 3
    assert (again.summary()["bill"]["sent"], again.summary()["bill"]["replayed"]) == (0, 3)
    after = values(again, "r1")
    changed = {name for name in COLUMNS if after[name] != pytest.approx(before[name])}
    assert changed == {"relevance", "relevance_share", "utilization_share", "adherence_share", "average"}
    assert after["relevance"] == 0.5
    texts = ("Kettle 1 is steel.", "It is sold in green.", "Steel rusts near kettle 1.")
    assert after["utilization_share"] == pytest.approx(len(texts[0]) / sum(map(len, texts)))
    assert leading(again, "r1")["signature"] == signed.replace("trace|", "trace|length:characters|normaliser:4|", 1)
    again.store.close()


def test_what_is_longer_than_the_models_context_is_split_by_documents(tmp_path: Path) -> None:
    """Each document is in one piece and whole; relevance and use are united, support is that of the best piece."""
    answered: list[set[str]] = []

    def remembered(request: dict[str, Any]) -> dict[str, Any]:
        answered.append(set(shown(request)[0]))
        return labelled(request)

    with FakeServer(answer=remembered, context_limit=2500) as server:
        run = run_of(server, tmp_path, LONG)
        refused = server.seen[400]
    parts = leading(run, "long")["detail"]["parts"]
    assert parts == len(answered) == len(run["long"]["calls"]) - refused
    assert (parts > 1, refused >= 1) == (True, True)
    every = sentences_of(run)
    assert sorted(key for piece in answered for key in piece) == sorted(key for keys in every for key in keys)
    for keys in every:
        assert sum(set(keys) <= piece for piece in answered) == 1
    detail = leading(run, "long")["detail"]
    assert [row["supported"] for row in detail["response"]] == [False, True]
    assert detail["response"][1]["support"][0].startswith("doc_2_")
    relevant = {row["key"].split("_s")[0] for row in detail["contexts"] if row["relevant"]}
    assert relevant == {"doc_0", "doc_1", "doc_2", "doc_3"}
    assert "overall" not in detail
    run.store.close()


def sentences_of(run: Run) -> list[list[str]]:
    """The keys of each document, as the map of the long record has them."""
    rows = leading(run, "long")["detail"]["contexts"]
    return [[row["key"] for row in rows_] for _, rows_ in groupby(rows, key=lambda row: row["passage"])]


def test_a_judge_whose_context_is_known_is_never_asked_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``[judges.NAME] context`` splits before the first call, and the result is that of the split after a refusal."""
    monkeypatch.chdir(tmp_path)
    for name in ("RAGSTONE_CONFIG", "RAGSTONE_STORE"):
        monkeypatch.delenv(name, raising=False)
    with FakeServer(answer=labelled, context_limit=2500) as server:
        refused = run_of(server, tmp_path, LONG)
        before = values(refused, "long")
        refused.store.close()
        server.reset()
        Path("ragstone.toml").write_text(
            f'[judges.small]\nbase_url = "{server.url}"\nmodel = "any"\napi_key_env = ""\ncontext = 2500\n',
            encoding="utf-8",
        )
        run = run_of(server, tmp_path, LONG, judge="small")
        assert (server.seen[400], server.seen[200]) == (0, leading(run, "long")["detail"]["parts"])
    assert values(run, "long") == before
    run.store.close()
