"""The signature of a score: how it was made. Scores with different signatures are not comparable.

Modelled on sacrebleu (Post 2018, arXiv 1804.08771):
``metric|parameter:value|…|step:judge+prompt#hash|text:libraries|v:version``. It contains only parameters that affect
the number and differ from the metric's defaults. ``text`` names the libraries that split sentences and stem words,
because their versions differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import metadata
from typing import Any, Final

from ragstone import __version__

TEXT_LIBRARIES: Final = ("sentencex", "snowballstemmer")


def signature(metric: str, parameters: Mapping[str, Any], steps: Sequence[tuple[str, str]]) -> str:
    """Join the metric, the ``parameters`` that are not defaults, and the (step, judge) pairs in order."""
    parts = [metric, *(f"{name}:{_shown(value)}" for name, value in sorted(parameters.items()))]
    parts += [f"{step}:{who}" for step, who in steps]
    return "|".join([*parts, f"text:{text_libraries()}", f"v:{__version__}"])


@lru_cache(maxsize=1)
def text_libraries() -> str:
    """Return the libraries that split texts, with versions: ``sentencex-1.0.32,snowballstemmer-3.1.1``."""
    return ",".join(f"{name}-{version_of(name)}" for name in TEXT_LIBRARIES)


def version_of(library: str) -> str:
    """Return the installed version; ``unknown`` in a bundle without the library's metadata."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return "unknown"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, tuple | list):
        return ",".join(_shown(item) for item in value)
    return str(value).replace("|", "/")
