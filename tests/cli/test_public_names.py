"""The names that ``import ragstone`` offers."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import ragstone

STUB = ast.parse(Path(ragstone.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))


def test_all_is_sorted_and_every_name_resolves() -> None:
    """Without repetition; and they are what ``dir`` shows."""
    assert ragstone.__all__ == sorted(set(ragstone.__all__))
    for name in ragstone.__all__:
        assert getattr(ragstone, name) is getattr(ragstone, name)
        assert name in dir(ragstone)


def test_what_type_checkers_are_told_is_what_there_is() -> None:
    """The stub imports each name from where it is loaded."""
    told = {
        alias.asname: (node.module, alias.name)
        for node in STUB.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {name: (f"ragstone.{home}", name) for name, home in vars(ragstone)["_HOME"].items()}
    assert told == homes
    assert set(ragstone.__all__) == {*homes, "__version__"}


@pytest.mark.parametrize("function", [ragstone.compare, ragstone.check, ragstone.label])
def test_every_parameter_is_explicit_typed_and_described(function: Callable[..., object]) -> None:
    """So that an editor completes it."""
    for name, parameter in inspect.signature(function).parameters.items():
        assert parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        assert parameter.annotation is not parameter.empty
        assert f"\n    {name}: " in inspect.cleandoc(function.__doc__ or "")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = ragstone.nothing  # type: ignore[attr-defined]
