"""The command line: parse, call one function of ``api``, print.

``app`` and ``nuggets`` have the commands, ``options`` what several of them share, ``evaluating`` runs and estimates.
``ending`` turns errors into lines and exit codes, ``output`` prints, ``drawing`` shows progress. Only typer and the
options are loaded before a command is known; each command loads the rest itself.
"""

from __future__ import annotations

from ragstone.cli.app import app

__all__ = ["app"]
