"""The functions that the command line and users call: one per command.

``evaluate`` runs ``aevaluate`` in its own event loop. It therefore works in a script, in a notebook and inside a
running loop, without patching asyncio. Names are imported on first use, because a command needs only a few of them.
``__init__.pyi`` has the same names for type checkers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ragstone import _on_first_use
from ragstone.analysis.result import PAGES

_, __getattr__ = _on_first_use(globals())


def _drawn_by(page: str) -> Callable[[Any], str]:
    """Return a function that draws a notebook page and imports the renderer on first use."""

    def draw(shown: object) -> str:
        html: str = getattr(import_module("ragstone.render.notebook"), page)(shown)
        return html

    return draw


PAGES.update(Run=_drawn_by("run_page"), Result=_drawn_by("result_page"))
