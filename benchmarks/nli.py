"""Measure the judge nli on the true architectures: claims per second, memory, and what a batch does to the numbers.

    python benchmarks/nli.py [--pairs 16] [--only xsmall]

DeBERTa-v3 (arXiv 2111.09543) in its sizes xsmall and base with three classes, as the published models have it, with
random weights: speed and memory do not depend on what they are. Written node by node, so that no torch is needed, and
quantized to 8 bits as those files are (dynamically, one scale for all activations of a batch). A pair has 256 tokens
unless said otherwise. Times are CPU times: two idle cores read twice as many pairs in a second as a CPU second has.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic

from ragstone.judges.nli.reader import Reader, locate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "judges"))

from nli_model import NLI, Graph, make_tokenizer

SIZES = {"xsmall": (384, 6), "base": (768, 12)}
"""The width and the heads; both have twelve layers."""
KINDS = ("int8", "uint8", "float")
"""The kinds of weights; published files have signed ones for AVX-512 and ARM, unsigned ones for AVX2."""
LAYERS, VOCABULARY, BUCKETS, LONGEST = 12, 128_100, 256, 512
TOKENS = 256
WORDS = [f"w{n}" for n in range(2000)]


class Architecture(Graph):
    """A DeBERTa-v3 encoder with a classifier, and random weights."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.width, self.heads, self.each = width, heads, width // heads
        self.random = np.random.default_rng(1)

    def weights(self, *shape: int) -> str:
        """Random numbers."""
        return self.constant(self.random.normal(0, 0.05, shape))

    def whole(self, *values: int) -> str:
        """Whole numbers, for shapes and axes."""
        return self.constant(list(values), np.int64)

    def dense(self, x: str, a: int, b: int) -> str:
        """A linear layer."""
        return self.op("Add", self.op("MatMul", x, self.weights(a, b)), self.weights(b))

    def norm(self, x: str) -> str:
        """Normalize each token."""
        ones, zeros = self.constant(np.ones(self.width)), self.constant(np.zeros(self.width))
        return self.op("LayerNormalization", x, ones, zeros, axis=-1, epsilon=1e-7)

    def gelu(self, x: str) -> str:
        """As exporters write it."""
        erf = self.op("Add", self.op("Erf", self.op("Div", x, self.constant(2**0.5))), self.constant(1))
        return self.op("Mul", self.op("Mul", x, self.constant(0.5)), erf)

    def distances(self, length: str) -> tuple[str, str]:
        """How far apart two tokens are, in logarithmic steps, as rows of the table of positions; and its negative."""
        steps = self.op("Range", self.constant(0, np.int64), length, self.constant(1, np.int64))
        rows, columns = (self.op("Unsqueeze", steps, self.whole(axis)) for axis in (1, 0))
        apart = self.op("Cast", self.op("Sub", rows, columns), to=1)
        middle = BUCKETS // 2
        far = self.op("Max", self.op("Abs", apart), self.constant(middle - 1))
        share = self.op(
            "Div",
            self.op("Log", self.op("Div", far, self.constant(middle))),
            self.constant(np.log((LONGEST - 1) / middle)),
        )
        step = self.op("Add", self.op("Ceil", self.op("Mul", share, self.constant(middle - 1))), self.constant(middle))
        near = self.op("LessOrEqual", self.op("Abs", apart), self.constant(middle))
        apart = self.op("Where", near, apart, self.op("Mul", step, self.op("Sign", apart)))
        found = []
        for way in (apart, self.op("Neg", apart)):
            row = self.op("Add", self.op("Cast", way, to=7), self.constant(BUCKETS, np.int64))
            row = self.op("Max", row, self.constant(0, np.int64))
            found.append(self.op("Min", row, self.constant(2 * BUCKETS - 1, np.int64)))
        return found[0], found[1]

    def layer(self, x: str, positions: str, far: tuple[str, str], bias: str) -> str:
        """Disentangled attention (content to content, content to position, position to content), then two layers."""
        width, each = self.width, self.each
        three = [(self.weights(width, width), self.weights(width)) for _ in range(3)]

        def projected(y: str, n: int) -> str:
            return self.op("Add", self.op("MatMul", y, three[n][0]), three[n][1])

        def split(y: str) -> str:
            return self.op("Transpose", self.op("Reshape", y, self.whole(0, 0, self.heads, each)), perm=[0, 2, 1, 3])

        def table(n: int) -> str:
            rows = self.op("Reshape", projected(positions, n), self.whole(-1, self.heads, each))
            return self.op("Transpose", rows, perm=[1, 2, 0])

        query, key, value = (split(projected(x, n)) for n in range(3))
        scale = self.constant((3 * each) ** 0.5)
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        there = self.op("GatherElements", self.op("MatMul", query, table(1)), far[0], axis=3)
        back = self.op("GatherElements", self.op("MatMul", key, table(0)), far[1], axis=3)
        back = self.op("Transpose", back, perm=[0, 1, 3, 2])
        scores = self.op("Div", self.op("Add", scores, self.op("Add", there, back)), scale)
        shares = self.op("Softmax", self.op("Add", scores, bias), axis=-1)
        mixed = self.op("Transpose", self.op("MatMul", shares, value), perm=[0, 2, 1, 3])
        mixed = self.op("Reshape", mixed, self.whole(0, 0, width))
        x = self.norm(self.op("Add", x, self.dense(mixed, width, width)))
        inner = self.dense(self.gelu(self.dense(x, width, 4 * width)), 4 * width, width)
        return self.norm(self.op("Add", x, inner))

    def build(self, path: Path) -> None:
        """Write the whole model."""
        mask = self.op("Cast", "attention_mask", to=1)
        x = self.norm(self.op("Gather", self.weights(VOCABULARY, self.width), "input_ids"))
        x = self.op("Mul", x, self.op("Unsqueeze", mask, self.whole(2)))
        length = self.op("Shape", "input_ids", start=1, end=2)
        sides = self.op("Shape", "input_ids", start=0, end=1), self.whole(self.heads), length, length
        shape = self.op("Concat", *sides, axis=0)
        there, back = self.distances(self.op("Squeeze", length, self.whole(0)))
        far = self.op("Expand", there, shape), self.op("Expand", back, shape)
        both = self.op("Mul", *(self.op("Unsqueeze", mask, self.whole(1, axis)) for axis in (2, 3)))
        bias = self.op("Mul", self.op("Sub", both, self.constant(1)), self.constant(1e9))
        positions = self.norm(self.weights(2 * BUCKETS, self.width))
        for _ in range(LAYERS):
            x = self.layer(x, positions, far, bias)
        first = self.op("Gather", x, self.constant(0, np.int64), axis=1)
        pooled = self.gelu(self.dense(first, self.width, self.width))
        self.op("Identity", self.dense(pooled, self.width, len(NLI)), name="logits")
        self.save(path, ("input_ids", "attention_mask"), "logits", len(NLI))


def make(folder: Path, size: str) -> None:
    """Write the model with 32 and with 8 bits, its tokenizer and its config."""
    for name in KINDS:
        (folder / name).mkdir(parents=True)
        names = {str(n): label for n, label in enumerate(NLI)}
        config = {"id2label": names, "max_position_embeddings": LONGEST}
        (folder / name / "config.json").write_text(json.dumps(config))
        vocabulary = {word: n for n, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS))}
        make_tokenizer(vocabulary).save(str(folder / name / "tokenizer.json"))
    Architecture(*SIZES[size]).build(folder / "float" / "model.onnx")
    for kind, weights in (("int8", QuantType.QInt8), ("uint8", QuantType.QUInt8)):
        quantize_dynamic(folder / "float" / "model.onnx", folder / kind / "model.onnx", weight_type=weights)


def timed(work: Callable[..., object], given: Sequence[tuple[Any, ...]], pairs: int, threads: int = 1) -> float:
    """Return the pairs per CPU second of work that is done with each of the given."""
    with ThreadPoolExecutor(threads) as pool:
        begun = time.process_time()
        for _ in pool.map(work, *zip(*given, strict=True)):
            pass
        return pairs / (time.process_time() - begun)


def resident() -> float:
    """Return the most megabytes that this process has had in memory."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measure(folder: Path, pairs: int) -> dict[str, Any]:
    """What one process needs for one model."""
    at = resident()
    reader = Reader(locate(str(folder)))
    reader.read("w1 w2", "w3")
    random = np.random.default_rng(2)

    def text(tokens: int) -> str:
        return " ".join(WORDS[n] for n in random.integers(0, len(WORDS), tokens))

    found: dict[str, Any] = {}
    given: list[tuple[str, str]] = []
    for tokens in (64, 128, TOKENS):
        given = [(text(tokens - 23), text(20)) for _ in range(pairs)]
        found[f"{tokens} tokens"] = timed(reader.read, given, pairs)
    found["two threads"] = timed(reader.read, given, pairs, threads=2)
    found["MB, two threads"] = resident() - at
    ids = random.integers(4, len(WORDS), (pairs, TOKENS))

    def run(session: Any, rows: Any, length: int = TOKENS) -> Any:
        mask = (np.arange(rows.shape[1]) < length).astype("int64")[None].repeat(len(rows), 0)
        return session.run(None, {"input_ids": rows, "attention_mask": mask})[0]

    def session(threads: int, **more: Any) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        for name, value in more.items():
            setattr(options, name, value)
        return onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])

    one, both = session(1), session(2)
    for batch in (4, 16):
        parts = [(one, ids[n : n + batch]) for n in range(0, pairs, batch)]
        found[f"batch {batch}"] = timed(run, parts, pairs)
    found["one run in two threads"] = timed(run, [(both, ids[n : n + 1]) for n in range(pairs)], pairs)
    alone, quarter = run(one, ids[:1]), TOKENS // 4
    found["batch changes by"] = float(abs(run(one, ids[:4])[:1] - alone).max())
    found["padding changes by"] = float(abs(run(one, ids[:1], quarter) - run(one, ids[:1, :quarter], quarter)).max())
    found["threads change by"] = float(abs(run(both, ids[:1]) - alone).max())
    found["profile"] = profile(session(1, enable_profiling=True, profile_file_prefix=str(folder / "p")), run, ids)
    return found


def profile(session: Any, run: Callable[[Any, Any], Any], ids: Any) -> str:
    """The kinds of nodes that take most of the time."""
    for _ in range(3):
        run(session, ids[:1])
    times: Counter[str] = Counter()
    for event in json.loads(Path(session.end_profiling()).read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("kernel_time"):
            times[event["args"]["op_name"]] += event["dur"]
    total = sum(times.values())
    return ", ".join(f"{name} {100 * spent / total:.0f}%" for name, spent in times.most_common(6))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=16)
    parser.add_argument("--only", choices=SIZES)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.folder:
        print(json.dumps(measure(given.folder, given.pairs)))
        return
    logging.disable()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; pairs per CPU second")
    for size in [given.only] if given.only else SIZES:
        with tempfile.TemporaryDirectory() as scratch:
            make(Path(scratch), size)
            for kind in KINDS:
                command = [sys.executable, __file__, "--folder", f"{scratch}/{kind}", "--pairs", str(given.pairs)]
                told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                print(f"\n{size}, {kind}")
                for name, value in json.loads(told).items():
                    print(f"  {name:<24} {value if isinstance(value, str) else f'{value:.4g}'}")
    print(f"\nload {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
