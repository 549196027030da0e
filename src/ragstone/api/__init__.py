"""What the command line and users call: one function a command.

``evaluate`` is ``aevaluate`` in an event loop of its own, so that it works in a script, in a notebook and
inside a running loop alike, and patches nothing. Each name is loaded when it is first used: a command needs few.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ragstone.analysis.result import PAGES

if TYPE_CHECKING:
    from ragstone.api.cache import CacheInfo, Prune, Pruning, cache_info, prune_cache
    from ragstone.api.comparing import check, compare, opened
    from ragstone.api.estimating import estimate, forecast
    from ragstone.api.judge_check import Checked, check_judge, known_judges
    from ragstone.api.nuggets import (
        Created,
        Scored,
        assign_nuggets,
        compare_methods,
        create_nuggets,
        forecast_assignments,
        forecast_banks,
        forecast_methods,
        score_nuggets,
    )
    from ragstone.api.options import Options, Progress
    from ragstone.api.pages import serving, write_report
    from ragstone.api.running import aevaluate, evaluate, run, validate, weigh
    from ragstone.api.stored import export_run, open_run, open_store, write_config

_HOMES: Final = {
    "judge_check": ("Checked", "check_judge", "known_judges"),
    "cache": ("CacheInfo", "Prune", "Pruning", "cache_info", "prune_cache"),
    "comparing": ("check", "compare", "opened"),
    "estimating": ("estimate", "forecast"),
    "nuggets": (
        "Created", "Scored", "assign_nuggets", "compare_methods", "create_nuggets", "forecast_assignments",
        "forecast_banks", "forecast_methods", "score_nuggets",
    ),
    "options": ("Options", "Progress"),
    "pages": ("serving", "write_report"),
    "running": ("aevaluate", "evaluate", "run", "validate", "weigh"),
    "stored": ("export_run", "open_run", "open_store", "write_config"),
}  # fmt: skip
_HOME: Final = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CacheInfo",
    "Checked",
    "Created",
    "Options",
    "Progress",
    "Prune",
    "Pruning",
    "Scored",
    "aevaluate",
    "assign_nuggets",
    "cache_info",
    "check",
    "check_judge",
    "compare",
    "compare_methods",
    "create_nuggets",
    "estimate",
    "evaluate",
    "export_run",
    "forecast",
    "forecast_assignments",
    "forecast_banks",
    "forecast_methods",
    "known_judges",
    "open_run",
    "open_store",
    "opened",
    "prune_cache",
    "run",
    "score_nuggets",
    "serving",
    "validate",
    "weigh",
    "write_config",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def _drawn_by(page: str) -> Callable[[Any], str]:
    """A notebook page, loaded when a notebook first asks for one."""

    def draw(shown: object) -> str:
        html: str = getattr(import_module("ragstone.render.notebook"), page)(shown)
        return html

    return draw


PAGES.update(Run=_drawn_by("run_page"), Result=_drawn_by("result_page"))
