"""``ragstone prompts``: its commands and their options, as ``--help`` tells them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from ragstone.cli.options import HELP, AsJson, examples

prompts = typer.Typer(
    help="List, show, render, compare and check prompts.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings=HELP,
    epilog=examples(
        "ragstone prompts list",
        "ragstone prompts render support short_cot --format yaml",
        "ragstone prompts show support short_cot > mine.md",
        "ragstone prompts check mine.md",
    ),
)

Prompt: TypeAlias = Annotated[
    str, typer.Argument(metavar="STEP|FILE", help="A step, e.g. support; STEP=STYLE; or your own file.")
]
Style: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="STYLE", help="Its style, e.g. short_cot or short_cot.ru [default: default]")
]
First: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="A", help="STEP=STYLE, with a language (STYLE.ru) or version (STYLE.v1); or a file."),
]
Second: TypeAlias = Annotated[str, typer.Argument(metavar="B", help="The prompt to compare with it.")]


@prompts.command(
    name="list",
    epilog=examples(
        "ragstone prompts list",
    ),
)
def list_prompts(*, as_json: AsJson = False) -> None:
    """List the styles of each step and their use."""
    from ragstone.cli import prompts as steps  # noqa: PLC0415 - see the module

    steps.show_list(as_json=as_json)


@prompts.command(
    epilog=examples(
        "ragstone prompts show support short_cot",
        "ragstone prompts show assign=optimized.ru",
        "ragstone prompts show support short_cot > mine.md",
    )
)
def show(prompt: Prompt, style: Style = None) -> None:
    """Print the text of a prompt.

    Prints the file and nothing else: redirect it to start a prompt of your own.
    """
    from ragstone.cli import prompts as steps  # noqa: PLC0415 - see the module

    steps.show_text(prompt, style)


@prompts.command(
    epilog=examples(
        "ragstone prompts render assign",
        "ragstone prompts render assign short_cot --format yaml --units 2",
        "ragstone prompts render support --scale scale_1_5",
        "ragstone prompts render mine.md",
    )
)
def render(
    prompt: Prompt,
    style: Style = None,
    *,
    label_format: Annotated[
        str | None,
        typer.Option("--format", "-f", metavar="FORMAT", help="Format of the labels [default: the prompt's first]"),
    ] = None,
    units: Annotated[
        int | None, typer.Option("--units", metavar="N", min=1, help="Units to ask about [default: up to 3]")
    ] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", metavar="SCALE", help="Rating scale [default: the step's first]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Render a prompt for a sample question.

    Prints the messages exactly as sent to a judge. Calls no judge.
    """
    from ragstone.cli import prompts as steps  # noqa: PLC0415 - see the module

    steps.show_rendered(prompt, style, fmt=label_format, units=units, scale=scale, as_json=as_json)


@prompts.command(
    epilog=examples(
        "ragstone prompts diff assign=short_cot assign=long_cot",
        "ragstone prompts diff support=short_cot mine.md",
    )
)
def diff(first: First, second: Second) -> None:
    """Compare two prompts, line by line.

    Exits 1 if they differ; prints nothing and exits 0 if not.
    """
    from ragstone.cli import prompts as steps  # noqa: PLC0415 - see the module

    steps.show_difference(first, second)


@prompts.command(
    epilog=examples(
        "ragstone prompts check",
        "ragstone prompts check mine.md",
    )
)
def check(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="Your own prompts [default: the packaged ones]")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Check your own prompts, or the packaged ones.

    A prompt passes if it renders for every question of its step, delimits every text of a record, explains all labels
    and asks for them in each of its formats. Exits 2 if one fails.
    """
    from ragstone.cli import prompts as steps  # noqa: PLC0415 - see the module

    steps.check(files or [], as_json=as_json)
