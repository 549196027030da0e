"""The command line: parse, call one function of ``api``, print.

``app`` and ``nugget_commands`` declare the commands, ``options`` what several of them share; ``ending`` turns errors
into lines and exit codes, ``output`` prints, ``drawing`` shows what goes on; the other modules are what the commands
do. Only typer is loaded before a command is known; each command loads the rest itself.
"""

from __future__ import annotations

from ragstone.cli.app import app

__all__ = ["app"]
