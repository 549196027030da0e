"""Find the metrics: classes of this package that are in a suite, and entry points of ``ragstone.metrics``.

There is one file per metric. A metric of another package is a subclass of ``Metric``, named by an entry point of that
group. ``MODULE:CLASS``, from the working directory or an installed package, adds one to this process only.
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
"""The entry-point group for metrics of other packages."""
PARAMETER: Final = re.compile(r"``(\w+)``:\s+(.*?)\.(?:\s+|$)", re.DOTALL)
"""A parameter and its meaning in a docstring."""
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAMED: Final[dict[str, type[Metric]]] = {}
"""The metrics loaded as ``MODULE:CLASS``, by their own names."""


@lru_cache(maxsize=1)
def catalogue() -> Mapping[str, type[Metric]]:
    """Return all metrics by name, sorted; raise ConfigError for an invalid entry point or a duplicate name."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - only needed here

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
    """Return the catalogue plus the metrics loaded as ``MODULE:CLASS``, which ``auto`` and suites never include."""
    return {**catalogue(), **_NAMED} if _NAMED else catalogue()


def asked_for(reference: str) -> type[Metric]:
    """Return the metric that a user named; load ``MODULE:CLASS`` and remember it for this process.

    Never pass names from records or result files: their code must not be loaded.
    """
    if ":" not in reference:
        return find(reference)
    from importlib.metadata import EntryPoint  # noqa: PLC0415 - see catalogue

    point = EntryPoint("", reference, GROUP)
    if "" not in sys.path:
        sys.path.append("")  # the working directory, after installed packages; also for other processes of the run
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
        mend = "MODULE must be a file in this folder or an installed package"
        mend = "reinstall or uninstall the package" if point.name else mend
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
    """Placeholder for a metric of a finished run whose package is no longer installed."""

    name = ""
    title = ""
    needs = ()
    asks = ("support",)
    suites = ()


def of_score(score: str) -> type[Metric]:
    """Return the metric of a score (``trace`` for ``trace.average``), or ``NotInstalled`` if unknown."""
    return known().get(score.partition(".")[0], NotInstalled)


def column_of(score: str) -> str:
    """Return the column of a score's name; empty for the score named after its metric."""
    return score.partition(".")[2]


def best_at_zero(score: str) -> bool:
    """Return whether lower values of the score are better."""
    return column_of(score) in of_score(score).lower_is_better


def suites() -> dict[str, tuple[str, ...]]:
    """Return the names of the metrics in each suite; ``all`` contains every metric."""
    names: dict[str, list[str]] = {}
    for metric in catalogue().values():
        for suite in (*metric.suites, "all"):
            names.setdefault(suite, []).append(metric.name)
    return {suite: tuple(members) for suite, members in sorted(names.items())}


def blocks() -> dict[str, str]:
    """Return each field name under which a record may override parameters, with the name of its metric."""
    return {block: name for name, metric in known().items() for block in (name, *metric.blocks)}


def groups() -> dict[str, list[type[Metric]]]:
    """Return metrics by group, sorted by rank: the groups of ``words.GROUPS`` in order, then others."""
    found: dict[str, list[type[Metric]]] = {group: [] for group in GROUPS}
    for metric in sorted(catalogue().values(), key=lambda metric: metric.rank):
        found.setdefault(metric.group, []).append(metric)
    return {group: members for group, members in found.items() if members}


def explained(metric: type[Metric]) -> dict[str, str]:
    """Return each parameter's meaning in Markdown, from the docstrings of the class and its bases; else empty."""
    said: dict[str, str] = {}
    for base in reversed(metric.__mro__):
        said.update(PARAMETER.findall(base.__doc__ or ""))
    whole = dict.fromkeys(metric.fixed, "; cannot be set per record")
    return {
        one.name: " ".join(said.get(one.name, "").replace("``", "`").split()) + whole.get(one.name, "")
        for one in fields(metric)
    }


def elsewhere_said(metric: type[Metric]) -> str:
    """Format the names in other tools, e.g. ``faithfulness (ragas, deepeval)``; empty if there are none."""
    found: dict[str, list[str]] = {}
    for tool, names in metric.elsewhere.items():
        for name in names.split(", "):
            found.setdefault(name, []).append(tool)
    return ", ".join(f"{name} ({', '.join(tools)})" for name, tools in found.items())


def called_here(name: str) -> str:
    """Return a message clause that names the Ragstone metric for another tool's name; empty if there is none."""
    written = _plain(name.strip())
    found = [
        f"{metric.name} ({metric.synonyms.get(written) or metric.title})"
        for metric in catalogue().values()
        if written in metric.synonyms or written in map(_plain, ", ".join(metric.elsewhere.values()).split(", "))
    ]
    return f"Ragstone's metric for this is {' or '.join(found)}" if found else ""


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def instead_of(name: str, there: Sequence[str]) -> str:
    """Return the end of a message about a score missing from a run.

    It says how to get the score, else which name was probably meant, else which scores there are.
    """
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
    said = called_here(name) or (f"did you mean '{near[0]}'?" if near else f"available: {', '.join(there) or 'none'}")
    return f"; {said}"


def find(name: str) -> type[Metric]:
    """Return the metric with that name or block name; else raise ConfigError with the closest name and all names."""
    metrics = known()
    if name in metrics:
        return metrics[name]
    if name in (named := blocks()):
        return metrics[named[name]]
    if meant := called_here(name):
        raise ConfigError(f"no metric '{name}'; {meant}")
    column, *_ = name.partition(".")
    if column in metrics and name in metrics[column].score_names():
        raise ConfigError(f"no metric '{name}'; it is a column of the metric {column}; use -m {column}")
    near = [column] if column in metrics else difflib.get_close_matches(name, metrics, 1)
    every = f"metrics: {', '.join(metrics)}; suites: auto, {', '.join(suites())}"
    raise ConfigError(f"no metric '{name}'; " + (f"did you mean '{near[0]}'?" if near else every))
