"""The string that says how a score was made; two scores whose strings differ are not comparable.

After sacrebleu (Post 2018, arXiv 1804.08771): ``metric|parameter:value|…|step:judge+prompt#hash|v:version``.
Only parameters that change the number are in it, and only where they differ from the metric's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragstone import __version__


def signature(metric: str, parameters: Mapping[str, Any], steps: Sequence[tuple[str, str]]) -> str:
    """Join the parts: ``parameters`` that are not defaults, then (step, who answers it) pairs in order."""
    parts = [metric, *(f"{name}:{_shown(value)}" for name, value in sorted(parameters.items()))]
    parts += [f"{step}:{who}" for step, who in steps]
    return "|".join([*parts, f"v:{__version__}"])


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, tuple | list):
        return ",".join(_shown(item) for item in value)
    return str(value).replace("|", "/")
