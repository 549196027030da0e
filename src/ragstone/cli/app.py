"""The app with all commands, used for help and for every command outside ``run_commands``."""

from __future__ import annotations

from ragstone.cli import (  # noqa: F401 - a module adds its commands as it is imported
    compare_commands,
    label_commands,
    nugget_commands,
    page_commands,
    prompt_commands,
    remote_commands,
    setup_commands,
)
from ragstone.cli.run_commands import app

app.add_typer(nugget_commands.nuggets, name="nuggets")
app.add_typer(prompt_commands.prompts, name="prompts")
app.add_typer(setup_commands.cache, name="cache")
app.add_typer(remote_commands.batch, name="batch")
app.add_typer(label_commands.label, name="label")

__all__ = ["app"]
