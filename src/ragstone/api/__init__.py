"""The functions that the command line and users call: one per command.

``evaluate`` is ``aevaluate`` in an event loop of its own, so that it works in a script, in a notebook and
inside a running loop alike, and patches nothing. Each name is loaded when it is first used: a command needs few.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ragstone.api.asking import Checked, check_judge, known_judges
    from ragstone.api.cache import CacheInfo, Prune, Pruning, cache_info, prune_cache
    from ragstone.api.comparing import check, compare
    from ragstone.api.estimating import estimate, forecast
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
    from ragstone.api.pages import serving, write_report
    from ragstone.api.running import aevaluate, evaluate, run, validate
    from ragstone.api.stored import export_run, open_run, open_store, write_config
    from ragstone.options import Progress, RunOptions

_HOMES: Final = {
    "asking": ("Checked", "check_judge", "known_judges"),
    "cache": ("CacheInfo", "Prune", "Pruning", "cache_info", "prune_cache"),
    "comparing": ("check", "compare"),
    "estimating": ("estimate", "forecast"),
    "nuggets": (
        "Created", "Scored", "assign_nuggets", "compare_methods", "create_nuggets", "forecast_assignments",
        "forecast_banks", "forecast_methods", "score_nuggets",
    ),
    "pages": ("serving", "write_report"),
    "running": ("aevaluate", "evaluate", "run", "validate"),
    "stored": ("export_run", "open_run", "open_store", "write_config"),
}  # fmt: skip
_HOME: Final = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names} | dict.fromkeys(
    ("Progress", "RunOptions"), "ragstone.options"
)

__all__ = [
    "CacheInfo",
    "Checked",
    "Created",
    "Progress",
    "Prune",
    "Pruning",
    "RunOptions",
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
    "prune_cache",
    "run",
    "score_nuggets",
    "serving",
    "validate",
    "write_config",
    "write_report",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
