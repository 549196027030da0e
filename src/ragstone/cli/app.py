"""The app with all commands, used for help and for every command outside ``run_commands``."""

from __future__ import annotations

from ragstone.cli import (  # noqa: F401 - a module adds its commands as it is imported
    agreement_commands,
    batch_commands,
    cache_commands,
    compare_commands,
    label_commands,
    nugget_commands,
    page_commands,
    prompt_commands,
    service_commands,
    setup_commands,
    tune_commands,
)
from ragstone.cli.run_commands import app

app.add_typer(nugget_commands.nuggets, name="nuggets")
app.add_typer(prompt_commands.prompts, name="prompts")
app.add_typer(cache_commands.cache, name="cache")
app.add_typer(batch_commands.batch, name="batch")
app.add_typer(label_commands.label, name="label")

__all__ = ["app"]
