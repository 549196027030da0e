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

from ragstone.judges.nli.files import ModelFiles
from ragstone.models import SPECIAL, OnnxModel

PREMISE: Final = 128
"""Tokens of a premise: about five sentences. The models were trained on shorter ones, and the time grows with it."""


class Odds(NamedTuple):
    """The probabilities of entailment and of contradiction; that of a model without the latter class is 0."""

    entailment: float
    contradiction: float


class Reader(OnnxModel):
    """A loaded model of inference."""

    files: ModelFiles

    def __init__(self, files: ModelFiles) -> None:
        super().__init__(files)
        self.premise = min(PREMISE, files.window // 2)
        self.size = lru_cache(maxsize=65536)(self._size)

    def _size(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def read(self, premise: str, hypothesis: str) -> Odds:
        """Read one pair; where the model takes less, a premise beyond ``premise`` tokens and a hypothesis are cut."""
        encoded = self.tokenizer.encode(premise, hypothesis)
        if len(encoded.ids) > self.files.window:
            premise = self._start(premise, self.premise)
            hypothesis = self._start(hypothesis, self.files.window - self.premise - SPECIAL)
            encoded = self.tokenizer.encode(premise, hypothesis)
        return self._odds(self.run(encoded).reshape(-1).tolist())

    def _start(self, text: str, tokens: int) -> str:
        return text[slice(*self.cut(text, tokens)[0])]

    def _odds(self, logits: Sequence[Any]) -> Odds:
        files = self.files
        if len(logits) != files.classes:
            raise self.unusable(f"{len(logits)} outputs for the {files.classes} classes in config.json")
        top = max(logits)
        powers = [math.exp(logit - top) for logit in logits]
        total = math.fsum(powers)
        against = 0.0 if files.contradiction is None else powers[files.contradiction] / total
        return Odds(round(powers[files.entailment] / total, 6), round(against, 6))
