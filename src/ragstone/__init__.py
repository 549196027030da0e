"""Ragstone weighs the answers of RAG systems against their evidence.

``evaluate`` weighs records and returns a ``Run``; ``open_run`` opens one that was made before. Every name here
is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ragstone.api import Options, Progress, aevaluate, evaluate, open_run, validate
    from ragstone.errors import (
        BackendError,
        BudgetReached,
        ConfigError,
        InputError,
        JudgeError,
        ParseError,
        RagstoneError,
        RecordError,
        StoreError,
        TemplateError,
    )
    from ragstone.report.run import Run
    from ragstone.types import Passage, Quote, Record, Scale, Score, Span, Unit, Verdict

__all__ = [
    "BackendError",
    "BudgetReached",
    "ConfigError",
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
    "evaluate",
    "open_run",
    "validate",
]
