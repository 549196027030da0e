"""A settings file and flags, and what comes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragstone.config import Flags, RunSpec, resolve
from ragstone.errors import ConfigError


def spec(text: str = "", **flags: Any) -> RunSpec:
    """What is resolved of a ``ragstone.toml`` in the current folder and of flags."""
    if text:
        Path("ragstone.toml").write_text(text, encoding="utf-8")
    return resolve(Flags(**flags))


def refusal(text: str = "", **flags: Any) -> str:
    """The one line that such settings are refused with."""
    with pytest.raises(ConfigError) as caught:
        spec(text, **flags)
    return str(caught.value)
