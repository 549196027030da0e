"""The page about pytest shows what pytest does."""

from __future__ import annotations

import shlex
from importlib.metadata import entry_points

import pytest
from pages import DOCS, blocks, commands, matches

pytest_plugins = ["pytester"]


def test_the_page_shows_what_pytest_says(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files are written, its commands typed, and they say what it shows."""
    for name in ("RAGSTONE_CONFIG", "RAGSTONE_STORE"):
        monkeypatch.delenv(name, raising=False)
    installed = any(point.name == "ragstone" for point in entry_points(group="pytest11"))
    shown = 0
    for block in blocks(DOCS / "tasks" / "test-with-pytest.md"):
        if block.title:
            (pytester.path / block.title).write_text(block.text, encoding="utf-8")
        for command in commands(block) if block.language == "console" else ():
            words = [*shlex.split(command.typed)[1:], *([] if installed else ["-p", "ragstone.pytest_plugin"])]
            said = pytester.runpytest_inprocess(*words).stdout.str()
            assert matches(command.shown, said), said
            shown += 1
    assert shown == 1
