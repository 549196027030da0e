"""Find an NLI model and run it: return the probabilities that a premise entails or contradicts a hypothesis.

``ragstone.models`` finds and checks the files; this module interprets the model's classes.

Each pair is read alone and without padding. The published files are quantized with one scale for all activations of a
batch, so in a batch the result of a pair would depend on its neighbours. On a CPU, a batch is no faster either (see
``benchmarks/nli.py``). Several threads may run a model at the same time; each computes in one thread.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec.structs import asdict

from ragstone import models
from ragstone.errors import ConfigError
from ragstone.judges.spec import NLI_MODEL
from ragstone.models import SPECIAL, ModelUser, OnnxFiles, OnnxModel

USER: Final = ModelUser(
    "nli",
    "the judge nli",
    "nli:{}",
    {
        NLI_MODEL: "6c749ce3425cd33b46d187e45b92bbf96ee12ec7",
        "cross-encoder/nli-deberta-v3-xsmall": "a150876415327c80daeff35ca6f68f5ed8cf5c24",
        "Xenova/nli-deberta-v3-xsmall": "4ce66096a56eb536b4b9e437f27ef42c24aeae51",
    },
)
"""Includes commits that have all required files. The two cross-encoders are licensed under Apache-2.0."""

_ENTAILMENT: Final = frozenset(("entailment", "entails", "entailed", "supported", "supports", "support"))
_CONTRADICTION: Final = frozenset(("contradiction", "contradicts", "contradicted", "refuted", "refutes"))
_NEITHER: Final = frozenset(
    ("neutral", "not entailment", "non entailment", "not entailed", "not supported", "unsupported", "not enough info")
)

PREMISE: Final = 128
"""Maximum tokens of a premise, about five sentences. The models were trained on shorter ones, and longer are slower."""


class ModelFiles(OnnxFiles, frozen=True):
    """A model's files, with the number of its ``classes``.

    ``entailment`` and ``contradiction`` are the indices of these classes (None: the model has no such class).
    """

    classes: int
    entailment: int
    contradiction: int | None


def locate(name: str) -> ModelFiles:
    """Find a model: a folder, or ``ORG/MODEL[@REVISION]`` on the hub.

    Raise ConfigError if the model cannot be used, BackendError if it cannot be downloaded.
    """
    files = models.locate(name, USER)
    labels = _labels(files.settings, files.name)
    return ModelFiles(
        **asdict(files),
        classes=len(labels),
        entailment=labels.index(1),
        contradiction=labels.index(-1) if -1 in labels else None,
    )


def _labels(settings: Mapping[str, Any], name: str) -> Sequence[int]:
    """Return 1 (entailment), -1 (contradiction) or 0 for each class, in the order of the model's output."""
    given = settings.get("id2label")
    count = len(given) if isinstance(given, dict) else 0
    labels = [str(given.get(str(place), "")) for place in range(count)] if isinstance(given, dict) else []
    plain = [" ".join(re.split(r"[\W_]+", label.lower())).strip() for label in labels]
    kinds = [1 if one in _ENTAILMENT else -1 if one in _CONTRADICTION else 0 for one in plain]
    unknown = [label for label, one, kind in zip(labels, plain, kinds, strict=True) if not kind and one not in _NEITHER]
    if count not in {2, 3} or unknown or kinds.count(1) != 1 or kinds.count(-1) > 1:
        raise ConfigError(
            f"nli: {name}: cannot tell the classes from id2label in config.json: {', '.join(labels) or 'no names'}; "
            "expected entailment with neutral, contradiction or not_entailment"
        )
    return kinds


# ---- run a model


class Odds(NamedTuple):
    """The probabilities of entailment and contradiction; the latter is 0 if the model has no such class."""

    entailment: float
    contradiction: float


class Reader(OnnxModel):
    """A loaded NLI model."""

    files: ModelFiles

    def __init__(self, files: ModelFiles) -> None:
        super().__init__(files)
        self.premise = min(PREMISE, files.window // 2)
        self.size = lru_cache(maxsize=65536)(self._size)

    def _size(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def read(self, premise: str, hypothesis: str) -> Odds:
        """Read one pair; if it exceeds the window, cut the premise to ``premise`` tokens and the hypothesis to fit."""
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
