"""The command line: parse, call one function of ``api``, print.

The ``…_commands`` have the commands, and ``app`` has all of them; ``options`` has what several of them share,
``evaluating`` runs and estimates. ``exit_codes`` turns errors into messages and exit codes, ``suggestions`` finds what
a mistyped command meant, ``output`` prints, ``progress`` draws a run that goes on. Only typer and the options are
loaded before a command is known; each command loads the rest itself.
"""
