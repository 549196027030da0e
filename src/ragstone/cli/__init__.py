"""The command line: parse, call one function of ``api``, print.

``app`` declares the commands, ``ending`` turns errors into lines and exit codes, the other modules are what the
commands do. Only typer is loaded before a command is known; each command loads the rest itself.
"""

from __future__ import annotations

from ragstone.cli.app import app

__all__ = ["app"]
