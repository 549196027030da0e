"""The functions that the command line and users call: one per command.

``evaluate`` runs ``aevaluate`` in its own event loop. It therefore works in a script, in a notebook and inside a
running loop, without patching asyncio. Names are imported on first use, because a command needs only a few of them.
``__init__.pyi`` has the same names for type checkers.
"""

from __future__ import annotations

from importlib import import_module

from ragstone import _on_first_use
from ragstone.analysis.result import PAGES
from ragstone.types import PRINTERS

_, __getattr__ = _on_first_use(globals())
PAGES.update(  # what a notebook shows; the renderer is imported on first use
    Run=lambda run: import_module("ragstone.render.notebook").run_page(run),
    Result=lambda result: import_module("ragstone.render.notebook").result_page(result),
)
PRINTERS.update(
    Agreement=lambda found: import_module("ragstone.render.terminal.agreement_screen").headlines(found),
    CheckResult=lambda found: import_module("ragstone.render.ci").markdown(found).decode(),
    Comparison=lambda found: import_module("ragstone.render.ci").compared(found).decode(),
    Estimate=lambda found: import_module("ragstone.render.terminal.estimate").sentence(found),
    Tuning=lambda found: import_module("ragstone.render.terminal.tune_screen").headline(found),
)
