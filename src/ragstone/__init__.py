"""Ragstone evaluates the answers of RAG systems against their evidence.

``evaluate`` judges records and returns a ``Run``; ``open_run`` opens an earlier one. Names are imported on first use,
so importing the package is fast. ``__init__.pyi`` has the same names for type checkers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

__version__ = "0.1.0"

_HOMES: Final = {
    "api": (
        "aevaluate", "agree", "check", "compare", "estimate", "evaluate", "label", "open_run", "pull", "push",
        "score", "tune", "validate",
    ),
    "options": ("Progress", "RunOptions"),
    "errors": (
        "BackendError", "BudgetReached", "ConfigError", "InputError", "JudgeError", "ParseError",
        "RagstoneError", "RecordError", "ServiceError", "StoreError", "TemplateError", "WorkerError",
    ),
    "analysis.agreement": ("Agreement",),
    "analysis.tuning": ("Tuning",),
    "analysis.compare": ("Comparison",),
    "forecast.summary": ("Estimate",),
    "analysis.check": ("CheckResult",),
    "analysis.labelling": ("LabelSample",),
    "analysis.result": ("Result",),
    "analysis.run": ("Run",),
    "types": ("Passage", "Quote", "Record", "Scale", "Score", "Span", "Unit", "Verdict"),
}  # fmt: skip
_HOME: Final = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(["__version__", *_HOME])  # noqa: PLE0605 - type checkers read __init__.pyi


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
