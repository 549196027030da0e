"""A settings file and options, and what comes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragstone.config import RunSpec, resolve
from ragstone.errors import ConfigError
from ragstone.options import RunOptions


def spec(text: str = "", **options: Any) -> RunSpec:
    """What is resolved of a ``ragstone.toml`` in the current folder and of options."""
    if text:
        Path("ragstone.toml").write_text(text, encoding="utf-8")
    return resolve(RunOptions(**options))


def refusal(text: str = "", **options: Any) -> str:
    """The one line that such settings are refused with."""
    with pytest.raises(ConfigError) as caught:
        spec(text, **options)
    return str(caught.value)
