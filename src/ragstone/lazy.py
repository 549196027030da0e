"""Names of a package that are loaded when they are first used, so that importing the package costs next to nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def loader(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """A package's ``__getattr__``: ``homes`` has the names by the module, within the package, that they come from."""
    home = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
