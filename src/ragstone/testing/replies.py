"""Labels as a model would write them, in every format that judges can be asked to answer in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ragstone.parsing import Format

_WRITERS: Final[Mapping[Format, Callable[[Sequence[str]], str]]] = {
    "object": lambda labels: json.dumps({"verdicts": {str(n): {"label": label} for n, label in enumerate(labels, 1)}}),
    "json": lambda labels: json.dumps(list(labels)),
    "keyed": lambda labels: json.dumps({str(n): label for n, label in enumerate(labels, 1)}),
    "python_list": lambda labels: "[" + ", ".join(f"'{label}'" for label in labels) + "]",
    "markdown": lambda labels: "\n".join(f"- **{n}**: {label}" for n, label in enumerate(labels, 1)),
    "numbered": lambda labels: "\n".join(f"{n}. {label}" for n, label in enumerate(labels, 1)),
    "yaml": lambda labels: "\n".join(f"{n}: {label}" for n, label in enumerate(labels, 1)),
    "csv": lambda labels: "\n".join(["number,label", *(f"{n},{label}" for n, label in enumerate(labels, 1))]),
    "tsv": lambda labels: "\n".join(["number\tlabel", *(f"{n}\t{label}" for n, label in enumerate(labels, 1))]),
    "pipe": lambda labels: "\n".join(
        ["| number | label |", "| --- | --- |", *(f"| {n} | {label} |" for n, label in enumerate(labels, 1))]
    ),
    "xml": lambda labels: "\n".join(
        ["<labels>", *(f'<label number="{n}">{label}</label>' for n, label in enumerate(labels, 1)), "</labels>"]
    ),
}
REPLY_FORMATS: Final[tuple[Format, ...]] = tuple(_WRITERS)
"""The formats that ``labels_reply`` writes."""


def labels_reply(labels: Sequence[str], fmt: Format = "json") -> str:
    """The labels of units 1, 2, … as a reply in one of ``REPLY_FORMATS``; ValueError for another format."""
    if fmt not in _WRITERS:
        raise ValueError(f"no reply in the format {fmt!r}; known are {', '.join(REPLY_FORMATS)}")
    return _WRITERS[fmt](labels)
