"""One file per metric: each class here that is in a suite is one, and each entry point of ``ragstone.metrics``.

A metric of another package is a class with ``Metric`` as its base, named by an entry point of that group, or as
``MODULE:CLASS``, for this process: of the working directory, or installed.
"""

from __future__ import annotations

import difflib
import pkgutil
import re
import sys
from dataclasses import fields
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ragstone.errors import ConfigError
from ragstone.metrics.base import Metric
from ragstone.metrics.words import GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.metadata import EntryPoint


GROUP: Final = "ragstone.metrics"
"""The entry-point group in which another package offers metrics."""
PARAMETER: Final = re.compile(r"``(\w+)``:\s+(.*?)\.(?:\s+|$)", re.DOTALL)
"""A parameter and its meaning in a docstring."""
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAMED: Final[dict[str, type[Metric]]] = {}
"""The metrics that were named as ``MODULE:CLASS``, by their own names."""


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, type[Metric]]:
    """Every metric by name, sorted; ConfigError names an entry point that offers none, or a name that is taken."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - only where metrics are looked for

    modules = (import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__))
    found: dict[str, type[Metric]] = {}
    for one in (one for module in modules for one in vars(module).values()):
        if isinstance(one, type) and issubclass(one, Metric) and hasattr(one, "suites") and one.suites:
            found[one.name] = one
    for point in entry_points(group=GROUP):
        metric = _offered(point)
        if found.setdefault(metric.name, metric) is not metric:
            raise ConfigError(
                f"{_called(point)}: there is already a metric '{metric.name}'; uninstall one or rename it"
            )
    return MappingProxyType(dict(sorted(found.items())))


def known() -> Mapping[str, type[Metric]]:
    """The catalogue with the metrics that were named in this process, which ``auto`` and suites do not choose."""
    return {**catalogue(), **_NAMED} if _NAMED else catalogue()


def asked_for(reference: str) -> type[Metric]:
    """The metric that a user named, also as ``MODULE:CLASS``, which is loaded and known from now on.

    Not for names that come from records or files of results: what they name is never loaded.
    """
    if ":" not in reference:
        return find(reference)
    from importlib.metadata import EntryPoint  # noqa: PLC0415 - see catalogue

    point = EntryPoint("", reference, GROUP)
    if "" not in sys.path:
        sys.path.append("")  # the working directory, also for other processes of the run, and behind what is installed
    metric = _offered(point)
    if catalogue().get(metric.name, metric) is not metric:
        raise ConfigError(f"{_called(point)}: there is already a metric '{metric.name}'; rename it")
    if metric.name not in catalogue():
        _NAMED[metric.name] = metric
    return metric


def _offered(point: EntryPoint) -> type[Metric]:
    try:
        metric = point.load()
    except (ImportError, AttributeError, SyntaxError, NameError, TypeError, ValueError) as error:
        mend = "reinstall or uninstall the package" if point.name else "expected MODULE:CLASS, here or installed"
        raise ConfigError(f"{_called(point)} cannot be loaded ({error}); {mend}") from error
    if not (isinstance(metric, type) and issubclass(metric, Metric)):
        raise ConfigError(f"{_called(point)} is not a metric; expected a subclass of ragstone.metrics.base.Metric")
    lacking = [name for name in ("name", "title", "needs", "asks", "suites") if not hasattr(metric, name)]
    if lacking or not _NAME.fullmatch(metric.name) or not metric.asks:
        wanted = ", ".join(lacking) or ("a name of letters, digits and _" if metric.asks else "a task in asks")
        raise ConfigError(f"{_called(point)} is not a complete metric; it lacks {wanted}")
    return metric


def _called(point: EntryPoint) -> str:
    if not point.name:
        return f"metric {point.value}"
    package = f" of {point.dist.name}" if point.dist else ""
    return f"entry point {point.name} = {point.value}{package}"


class NotInstalled(Metric):
    """Stands for a metric of a finished run whose package is not installed now."""

    name = ""
    title = ""
    needs = ()
    asks = ("support",)
    suites = ()


def of_score(score: str) -> type[Metric]:
    """The metric that a score is of (``trace.average`` of ``trace``); ``NotInstalled`` where it is not known."""
    return known().get(score.partition(".")[0], NotInstalled)


def column_of(score: str) -> str:
    """The column of its metric that a score is, empty for a metric's only one."""
    return score.partition(".")[2]


def best_at_zero(score: str) -> bool:
    """Whether a rise of the score is for the worse."""
    return column_of(score) in of_score(score).lower_is_better


def suites() -> dict[str, tuple[str, ...]]:
    """Every suite's name with the metrics in it; ``all`` holds all of them."""
    names: dict[str, list[str]] = {}
    for metric in catalogue().values():
        for suite in (*metric.suites, "all"):
            names.setdefault(suite, []).append(metric.name)
    return {suite: tuple(members) for suite, members in sorted(names.items())}


def blocks() -> dict[str, str]:
    """Every name under which a record may bring overrides, with the metric it means."""
    return {block: name for name, metric in known().items() for block in (name, *metric.blocks)}


def groups() -> dict[str, list[type[Metric]]]:
    """The metrics by what a user asks, in the order of ``words.GROUPS``, each group by rank; then groups of others."""
    found: dict[str, list[type[Metric]]] = {group: [] for group in GROUPS}
    for metric in sorted(catalogue().values(), key=lambda metric: metric.rank):
        found.setdefault(metric.group, []).append(metric)
    return {group: members for group, members in found.items() if members}


def explained(metric: type[Metric]) -> dict[str, str]:
    """The meaning of each parameter, in Markdown, from the docstrings of its class and its bases; else empty."""
    said: dict[str, str] = {}
    for base in reversed(metric.__mro__):
        said.update(PARAMETER.findall(base.__doc__ or ""))
    whole = dict.fromkeys(metric.fixed, "; cannot be set per record")
    return {
        one.name: " ".join(said.get(one.name, "").replace("``", "`").split()) + whole.get(one.name, "")
        for one in fields(metric)
    }


def elsewhere(metric: type[Metric]) -> dict[str, list[str]]:
    """The names of a metric in other tools, each with the tools."""
    found: dict[str, list[str]] = {}
    for tool, names in metric.elsewhere.items():
        for name in names.split(", "):
            found.setdefault(name, []).append(tool)
    return found


def elsewhere_said(metric: type[Metric]) -> str:
    """``faithfulness (RAGAS, DeepEval)``; empty where no other tool has it."""
    return ", ".join(f"{name} ({', '.join(tools)})" for name, tools in elsewhere(metric).items())


def called_here(name: str) -> str:
    """Name the metric here for another tool's name, as a clause of a message; empty if there is none."""
    written = name.strip().lower().replace("-", "_").replace(" ", "_")
    found = [
        f"{metric.name} ({metric.synonyms.get(written) or metric.title})"
        for metric in catalogue().values()
        if written in metric.synonyms or written in elsewhere(metric)
    ]
    return f"the metric here is {' or '.join(found)}" if found else ""


def instead_of(name: str, there: Sequence[str]) -> str:
    """The end of a message on a score that a run lacks: how to get it, what was meant, or else what is there."""
    given = {of_score(score).name for score in there}
    ranked = sorted(known().values(), key=lambda metric: metric.rank)
    having = [metric for metric in ranked if name in (metric.name, *metric.score_names(), *metric.columns)]
    ours = [metric for metric in having if metric.name in given]
    ways = [f"--set {metric.name}.{key}={value}" for metric in ours for key, value in metric.columns_with.items()]
    if len(having) == 1 and not ours:
        ways = [f"-m {having[0].name}"]
    if ways:
        return f"; evaluate with {ways[0]}"
    possible = [*there, *(score for metric in ranked if metric.name in given for score in metric.score_names())]
    near = difflib.get_close_matches(name, possible, 1)
    said = called_here(name) or (f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(there) or 'none'}")
    return f"; {said}"


def find(name: str) -> type[Metric]:
    """The metric of that name, or of that name of its block; ConfigError names the closest and all there are."""
    metrics = known()
    if name in metrics:
        return metrics[name]
    if name in (named := blocks()):
        return metrics[named[name]]
    if meant := called_here(name):
        raise ConfigError(f"no metric '{name}'; {meant}")
    column, *_ = name.partition(".")
    near = [column] if column in metrics else difflib.get_close_matches(name, metrics, 1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise ConfigError(f"no metric '{name}'; {hint}metrics: {', '.join(metrics)}; suites: auto, {', '.join(suites())}")
