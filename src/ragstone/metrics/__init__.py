"""One file per metric; a metric is found by its module, so that adding one is adding a file.

Each module in this package that has a ``METRIC`` offers it under its name.
"""

from __future__ import annotations

import difflib
import pkgutil
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from ragstone.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragstone.metrics.base import Metric


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, type[Metric]]:
    """Every metric by name, sorted."""
    modules = (import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    found: list[type[Metric]] = [module.METRIC for module in modules if hasattr(module, "METRIC")]
    return MappingProxyType({metric.name: metric for metric in sorted(found, key=lambda metric: metric.name)})


def suites() -> dict[str, tuple[str, ...]]:
    """Every suite's name with the metrics in it; ``all`` holds all of them."""
    names: dict[str, list[str]] = {}
    for metric in catalogue().values():
        for suite in (*metric.suites, "all"):
            names.setdefault(suite, []).append(metric.name)
    return {suite: tuple(members) for suite, members in sorted(names.items())}


def blocks() -> dict[str, str]:
    """Every name under which a record may bring overrides, with the metric it means."""
    return {block: name for name, metric in catalogue().items() for block in (name, *metric.blocks)}


def called_here(name: str) -> str:
    """What another tool's metric is called here, as a clause of a message; empty where no metric says that name."""
    written = name.strip().lower().replace("-", "_").replace(" ", "_")
    found = [
        f"{metric.name} ({metric.synonyms[written] or metric.title})"
        for metric in catalogue().values()
        if written in metric.synonyms
    ]
    return f"the metric here is {' or '.join(found)}" if found else ""


def find(name: str) -> type[Metric]:
    """The metric of that name; ConfigError names the closest and all there are."""
    known = catalogue()
    if name in known:
        return known[name]
    if meant := called_here(name):
        raise ConfigError(f"no metric '{name}'; {meant}")
    column, *_ = name.partition(".")
    near = [column] if column in known else difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise ConfigError(f"no metric '{name}'; {hint}metrics: {', '.join(known)}; suites: auto, {', '.join(suites())}")
