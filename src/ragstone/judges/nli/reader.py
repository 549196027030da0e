"""Run a model: how probable is it that a premise entails, or contradicts, a hypothesis?

Each pair is read alone and without padding. The published files are quantized with one scale for all activations of a
batch, so that in a batch the numbers of a pair hang on its neighbours; and on a CPU a batch is no faster (see
``benchmarks/nli.py``). A model may be run from several threads at a time, each with one thread of computation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ragstone.errors import BackendError
from ragstone.judges.nli.files import ModelFiles

PREMISE: Final = 128
"""Tokens of a premise: about five sentences. The models were trained on shorter ones, and the time grows with it."""
SPECIAL: Final = 4
"""Tokens that a tokenizer adds to a pair, at most."""


class Odds(NamedTuple):
    """The probabilities of entailment and of contradiction; that of a model without the latter class is 0."""

    entailment: float
    contradiction: float


class Reader:
    """A loaded model. BackendError if the files are no such model."""

    def __init__(self, files: ModelFiles) -> None:
        import numpy as np  # noqa: PLC0415 - comes with onnxruntime
        import onnxruntime  # noqa: PLC0415 - an extra, and slow to load
        import tokenizers  # noqa: PLC0415 - the same

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._array = np.array
        self._files = files
        path = files.tokenizer
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
            path = files.onnx
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise bare exceptions for a file that they cannot read
            raise _unusable(files, f"{path.name} cannot be loaded: {str(error).splitlines()[0]}") from error
        self.premise = min(PREMISE, files.window // 2)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._inputs = [one.name for one in self._session.get_inputs()]
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise _unusable(files, f"expected the inputs input_ids and attention_mask, found {', '.join(self._inputs)}")
        self.size = lru_cache(maxsize=65536)(self._size)

    def _size(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def cut(self, text: str, tokens: int) -> list[tuple[int, int]]:
        """Divide a text into stretches of so many tokens; offsets into it."""
        offsets = self._tokenizer.encode(text, add_special_tokens=False).offsets
        starts = [offsets[at][0] for at in range(0, len(offsets), tokens)] or [0]
        return list(zip([0, *starts[1:]], [*starts[1:], len(text)], strict=True))

    def read(self, premise: str, hypothesis: str) -> Odds:
        """Read one pair; where the model takes less, a premise beyond ``premise`` tokens and a hypothesis are cut."""
        encoded = self._tokenizer.encode(premise, hypothesis)
        if len(encoded.ids) > self._files.window:
            premise = self._start(premise, self.premise)
            hypothesis = self._start(hypothesis, self._files.window - self.premise - SPECIAL)
            encoded = self._tokenizer.encode(premise, hypothesis)
        given = {
            "input_ids": encoded.ids, "attention_mask": encoded.attention_mask, "token_type_ids": encoded.type_ids,
        }  # fmt: skip
        feeds = {name: self._array([given[name]], dtype="int64") for name in self._inputs}
        return self._odds(self._session.run(None, feeds)[0].reshape(-1).tolist())

    def _start(self, text: str, tokens: int) -> str:
        return text[slice(*self.cut(text, tokens)[0])]

    def _odds(self, logits: Sequence[Any]) -> Odds:
        files = self._files
        if len(logits) != files.classes:
            raise _unusable(files, f"{len(logits)} outputs for the {files.classes} classes in config.json")
        top = max(logits)
        powers = [math.exp(logit - top) for logit in logits]
        total = math.fsum(powers)
        against = 0.0 if files.contradiction is None else powers[files.contradiction] / total
        return Odds(round(powers[files.entailment] / total, 6), round(against, 6))


def _unusable(files: ModelFiles, why: str) -> BackendError:
    return BackendError(f"nli: {files.name}: {why}", fatal=True)
