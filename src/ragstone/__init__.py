"""Ragstone evaluates the answers of RAG systems against their evidence.

``evaluate`` judges records and returns a ``Run``; ``open_run`` opens one that was made before. Every name is
loaded when it is first used, so that importing the package costs next to nothing; ``__init__.pyi`` tells type
checkers the same.
"""

from __future__ import annotations

from typing import Final

from ragstone.lazy import loader

__version__ = "0.1.0"

_HOMES: Final = {
    "api": ("Options", "Progress", "aevaluate", "check", "compare", "estimate", "evaluate", "open_run", "validate"),
    "errors": (
        "BackendError", "BudgetReached", "ConfigError", "InputError", "JudgeError", "ParseError",
        "RagstoneError", "RecordError", "StoreError", "TemplateError",
    ),
    "report.compare": ("Comparison",),
    "report.estimate": ("Estimate",),
    "report.gate": ("Gate",),
    "report.result": ("Result",),
    "report.run": ("Run",),
    "types": ("Passage", "Quote", "Record", "Scale", "Score", "Span", "Unit", "Verdict"),
}  # fmt: skip

__all__ = [
    "BackendError",
    "BudgetReached",
    "Comparison",
    "ConfigError",
    "Estimate",
    "Gate",
    "InputError",
    "JudgeError",
    "Options",
    "ParseError",
    "Passage",
    "Progress",
    "Quote",
    "RagstoneError",
    "Record",
    "RecordError",
    "Result",
    "Run",
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


__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
