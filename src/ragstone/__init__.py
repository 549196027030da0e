"""Ragstone evaluates the answers of RAG systems against their evidence.

``evaluate`` judges records and returns a ``Run``; ``open_run`` opens one that was made before. Every name is
loaded when it is first used, so that importing the package costs next to nothing; ``__init__.pyi`` tells type
checkers the same.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

__version__ = "0.1.0"

_HOMES: Final = {
    "api": ("aevaluate", "check", "compare", "estimate", "evaluate", "open_run", "validate"),
    "options": ("Progress", "RunOptions"),
    "errors": (
        "BackendError", "BudgetReached", "ConfigError", "InputError", "JudgeError", "ParseError",
        "RagstoneError", "RecordError", "StoreError", "TemplateError",
    ),
    "analysis.compare": ("Comparison",),
    "forecast.summary": ("Estimate",),
    "analysis.check": ("Gate",),
    "analysis.result": ("Result",),
    "analysis.run": ("Run",),
    "types": ("Passage", "Quote", "Record", "Scale", "Score", "Span", "Unit", "Verdict"),
}  # fmt: skip
_HOME: Final = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BackendError",
    "BudgetReached",
    "Comparison",
    "ConfigError",
    "Estimate",
    "Gate",
    "InputError",
    "JudgeError",
    "ParseError",
    "Passage",
    "Progress",
    "Quote",
    "RagstoneError",
    "Record",
    "RecordError",
    "Result",
    "Run",
    "RunOptions",
    "Scale",
    "Score",
    "Span",
    "StoreError",
    "TemplateError",
    "Unit",
    "Verdict",
    "__version__",
    "aevaluate",
    "check",
    "compare",
    "estimate",
    "evaluate",
    "open_run",
    "validate",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
