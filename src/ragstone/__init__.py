"""Ragstone evaluates the answers of RAG systems against their evidence.

``evaluate`` judges records and returns a ``Run``; ``open_run`` opens an earlier one. Names are imported on first use,
so importing the package is fast. ``__init__.pyi`` lists them, with their modules, also for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def _on_first_use(package: dict[str, Any]) -> tuple[dict[str, str], Callable[[str], Any]]:
    """Return the module of each name in the stub of a package, and a ``__getattr__`` that imports it."""
    with open(f"{package['__file__']}i", encoding="utf-8") as stub:  # noqa: PTH123 - pathlib takes long to import
        words = [line.split() for line in stub if line.startswith("from ")]
    homes = {name: home.removeprefix("ragstone.") for _, home, _, name, *_ in words}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        package[name] = value = getattr(import_module(f"ragstone.{homes[name]}"), name)
        return value

    return homes, load


_HOME, __getattr__ = _on_first_use(globals())
__all__ = sorted(["__version__", *_HOME])  # noqa: PLE0605 - type checkers read __init__.pyi


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
