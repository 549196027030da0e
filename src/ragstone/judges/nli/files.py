"""Find a model of inference, and the meaning of its classes; ``ragstone.models`` finds the files and checks them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from ragstone import models
from ragstone.errors import ConfigError
from ragstone.judges.spec import NLI_MODEL
from ragstone.models import ModelUser, OnnxFiles

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
"""With commits that have all files that are needed. The two cross-encoders are under Apache-2.0."""

_ENTAILMENT: Final = frozenset(("entailment", "entails", "entailed", "supported", "supports", "support"))
_CONTRADICTION: Final = frozenset(("contradiction", "contradicts", "contradicted", "refuted", "refutes"))
_NEITHER: Final = frozenset(
    ("neutral", "not entailment", "non entailment", "not entailed", "not supported", "unsupported", "not enough info")
)


@dataclass(frozen=True, slots=True)
class ModelFiles(OnnxFiles):
    """A model's files, with the number of its ``classes``.

    ``entailment`` and ``contradiction`` are their places (None: the model has no such class).
    """

    classes: int
    entailment: int
    contradiction: int | None


def locate(name: str) -> ModelFiles:
    """Find a model: a folder, or ``ORG/MODEL[@REVISION]`` on the hub.

    ConfigError if the model cannot be used, BackendError if it cannot be downloaded.
    """
    files = models.locate(name, USER)
    labels = _labels(files.settings, files.name)
    return ModelFiles(
        **{field.name: getattr(files, field.name) for field in fields(files)},
        classes=len(labels),
        entailment=labels.index(1),
        contradiction=labels.index(-1) if -1 in labels else None,
    )


def _labels(settings: Mapping[str, Any], name: str) -> Sequence[int]:
    """Return for each class 1 (entailment), -1 (contradiction) or 0, in the order of the model's output."""
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
