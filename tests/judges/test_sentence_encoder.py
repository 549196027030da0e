"""A model of sentence embeddings: what it makes of texts, and what is said where it is not there or is another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

from nli_model import SPECIAL, Graph, make_tokenizer

from ragstone.errors import BackendError, ConfigError
from ragstone.metrics.refalign import USER
from ragstone.models import SentenceEncoder, locate

HALF = 0.5**0.5


def made(folder: Path, *, pooled: bool = False) -> Path:
    """An encoder of three words, each a direction; every other word points nowhere."""
    folder.mkdir()
    make_tokenizer({word: n for n, word in enumerate((*SPECIAL, "steel", "fast", "cheap"))}).save(
        str(folder / "tokenizer.json")
    )
    (folder / "config.json").write_text('{"max_position_embeddings": 8}')
    graph = Graph()
    nowhere = [[0.0] * 3] * len(SPECIAL)
    table = graph.constant([*nowhere, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    output = graph.op("Gather", table, "input_ids", name="vectors")
    if pooled:
        output = graph.op("ReduceSum", output, graph.constant([1], int), keepdims=0)
    graph.save(folder / "model.onnx", ("input_ids",), output, *([] if pooled else ["tokens"]), 3)
    return folder


def encoder(folder: Path) -> SentenceEncoder:
    return SentenceEncoder(locate(str(folder), USER))


def test_a_text_is_the_mean_of_its_tokens(tmp_path: Path) -> None:
    """Of length 1; a text longer than the model takes is read in parts, whose tokens count alike."""
    model = encoder(made(tmp_path / "m"))
    assert model.encode("steel fast") == pytest.approx((HALF, HALF, 0.0))
    assert model.encode("steel " * 30 + "fast " * 30) == pytest.approx((HALF, HALF, 0.0))
    assert model.encode("wood") == (0.0, 0.0, 0.0)


def test_a_model_with_another_output_is_refused(tmp_path: Path) -> None:
    """When it is loaded, which is before the first record."""
    said = r"^refalign: m: expected a vector for each token, found an output with 2 dim"
    with pytest.raises(BackendError, match=said):
        encoder(made(tmp_path / "m", pooled=True))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "nowhere",
            "'--set refalign.model=nowhere': no such folder; for a model on the Hugging Face hub, write",
        ),
        (".", "has no .onnx file; a model needs config.json, tokenizer.json and an .onnx file"),
    ],
)
def test_a_model_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=re.escape(said)) as error:
        locate(name, USER)
    assert "\n" not in str(error.value)
