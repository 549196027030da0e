"""A model of inference for tests: a few kilobytes of ONNX whose probabilities follow from shared words.

Entailment grows with the share of the hypothesis' tokens that the premise has. The premise is contradicted if one of
the two has the word "not" and the other has not. As in the published quantized files, one scale is used for all numbers
of a batch, so that what shares a batch with others gets other numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
NLI = ("contradiction", "entailment", "neutral")


class Graph:
    """Nodes and constants, added in order."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, name: str = "", **attributes: object) -> str:
        made = name or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [made], **attributes))
        return made

    def constant(self, value: object, kind: type = np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, kind), name))
        return name

    def save(self, path: Path, inputs: Sequence[str], output: str, *shape: str | int) -> None:
        given = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs]
        out = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", *shape])]
        graph = helper.make_graph(self.nodes, "nli", given, out, self.constants)
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))


def make_model(
    folder: Path,
    texts: Iterable[str],
    labels: Sequence[str] = NLI,
    onnx_file: str = "model.onnx",
    outputs: int = 0,
    config: str = "",
) -> Path:
    """Write a model whose words are those of the texts; ``outputs`` if its graph has another number of classes."""
    folder.mkdir(parents=True, exist_ok=True)
    words = dict.fromkeys(word for text in texts for word in re.findall(r"\w+|[^\w\s]", text.lower()))
    vocabulary = {word: place for place, word in enumerate((*SPECIAL, *(words | {"not": None})))}
    make_tokenizer(vocabulary).save(str(folder / "tokenizer.json"))
    names = {str(place): label for place, label in enumerate(labels)}
    (folder / "config.json").write_text(config or json.dumps({"id2label": names, "max_position_embeddings": 512}))
    _graph(folder / onnx_file, [label.lower() for label in labels], vocabulary["not"], outputs or len(labels))
    return folder


def make_tokenizer(vocabulary: dict[str, int]) -> Tokenizer:
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [(mark, vocabulary[mark]) for mark in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=special
    )
    made.enable_padding(length=64)  # published files have such settings, which are not for us
    made.enable_truncation(max_length=48)
    return made


def _graph(path: Path, labels: Sequence[str], negation: int, outputs: int) -> None:
    graph = Graph()
    op, constant = graph.op, graph.constant

    def number(condition: str) -> str:
        return op("Cast", condition, to=TensorProto.FLOAT)

    word = op("Mul", number(op("Greater", "input_ids", constant(3, np.int64))), number("attention_mask"))
    second = op("Mul", number("token_type_ids"), word)
    first = op("Sub", word, second)
    rows, columns = (op("Unsqueeze", "input_ids", constant([axis], np.int64)) for axis in (2, 1))
    same = op("Mul", number(op("Equal", rows, columns)), op("Unsqueeze", first, constant([1], np.int64)))
    found = op("Mul", op("ReduceMax", same, axes=[2], keepdims=0), second)

    def total(x: str) -> str:
        return op("ReduceSum", x, constant([1], np.int64), keepdims=1)

    share = op("Div", total(found), op("Max", total(second), constant(1)))
    share = op("Sub", share, op("Mul", total(word), constant(0.0001)))  # no two lengths have the same range
    quantized, scale, zero = f"q{path.stem}", f"s{path.stem}", f"z{path.stem}"
    graph.nodes.append(helper.make_node("DynamicQuantizeLinear", [share], [quantized, scale, zero]))
    share = op("DequantizeLinear", quantized, scale, zero)
    denies = number(op("Equal", "input_ids", constant(negation, np.int64)))
    apart = op("Abs", op("Sub", total(op("Mul", denies, first)), total(op("Mul", denies, second))))
    entailed = op("Sub", op("Mul", op("Sub", share, constant(0.7)), constant(20)), op("Mul", apart, constant(20)))
    against = op("Mul", op("Sub", apart, constant(0.5)), constant(12))
    neither = op("Mul", share, constant(0))
    columns_of = {"entailment": entailed, "contradiction": against}
    scores = [columns_of.get(label, neither) for label in labels][:outputs]
    op("Concat", *scores, *[neither] * (outputs - len(scores)), name="logits", axis=1)
    graph.save(path, ("input_ids", "attention_mask", "token_type_ids"), "logits", outputs)
