"""The functions that the command line and users call: one per command.

``evaluate`` runs ``aevaluate`` in its own event loop. It therefore works in a script, in a notebook and inside a
running loop, without patching asyncio. Names are imported on first use, because a command needs only a few of them.
``__init__.pyi`` has the same names for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from ragstone.analysis.result import PAGES

_HOMES: Final = {
    "agreeing": ("agree",),
    "judge_check": ("Checked", "check_judge", "known_judges"),
    "batching": ("cancel_batches", "export_batches", "import_batches", "list_batches"),
    "cache": ("CacheInfo", "Prune", "Pruning", "cache_info", "prune_cache"),
    "comparing": ("check", "compare", "opened"),
    "example_runs": ("demo",),
    "estimating": ("estimate", "forecast"),
    "labelling": ("label",),
    "nuggets": (
        "Created", "Scored", "assign_nuggets", "compare_methods", "create_nuggets", "forecast_assignments",
        "forecast_banks", "forecast_methods", "score_nuggets",
    ),
    "pages": ("serving", "write_report"),
    "running": ("aevaluate", "evaluate", "merge", "run", "score", "validate"),
    "services": ("Pulled", "PushResult", "pull", "push"),
    "stored": ("export_run", "open_run", "open_store", "run_to_show", "write_config"),
    "tuning": ("Tuner", "tune", "tuner"),
}  # fmt: skip
_HOME: Final = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names} | dict.fromkeys(
    ("Progress", "RunOptions"), "ragstone.options"
)


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def _drawn_by(page: str) -> Callable[[Any], str]:
    """Return a function that draws a notebook page and imports the renderer on first use."""

    def draw(shown: object) -> str:
        html: str = getattr(import_module("ragstone.render.notebook"), page)(shown)
        return html

    return draw


PAGES.update(Run=_drawn_by("run_page"), Result=_drawn_by("result_page"))
