"""The command line: parse arguments, call one function of ``api``, print the result.

The ``…_commands`` modules define the commands, and ``app`` combines them. ``options`` has shared options and
``evaluating`` runs and estimates. ``exit_codes`` turns errors into messages and exit codes, ``suggestions`` corrects
mistyped commands, ``output`` prints results and ``progress`` displays a run in progress. Only typer and the options are
imported at first; each command imports what else it needs.
"""
