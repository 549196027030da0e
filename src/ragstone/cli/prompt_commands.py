"""``ragstone prompts``: its commands and their options, as ``--help`` tells them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from ragstone.cli.options import HELP, AsJson, examples

prompts = typer.Typer(
    help="List the prompts, see what is sent, check your own.",
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
    str, typer.Argument(metavar="STEP|FILE", help="A step, as in support; STEP=STYLE; or a file of your own.")
]
Style: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="STYLE", help="Its style, as in short_cot or short_cot.ru; default.")
]
First: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="A", help="STEP=STYLE, with a language as STYLE.ru, with a version as STYLE.v1; a file."),
]
Second: TypeAlias = Annotated[str, typer.Argument(metavar="B", help="The same.")]


@prompts.command(
    name="list",
    epilog=examples(
        "ragstone prompts list",
    ),
)
def list_prompts(*, as_json: AsJson = False) -> None:
    """List the styles of each step, and what they are for."""
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
    """Show the text of one prompt as it is.

    Standard output is the file and nothing else, so that it can be the beginning of your own.
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
        typer.Option("--format", "-f", metavar="FORMAT", help="How labels are to be given; the prompt's first."),
    ] = None,
    units: Annotated[
        int | None, typer.Option("--units", metavar="N", min=1, help="How many units are asked about; 3, or 1.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", metavar="SCALE", help="What they are rated on; the step's first scale.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Render a prompt for a sample question.

    What is printed are the messages as a judge is sent them, to the letter. Nobody is asked.
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
    """Tell two prompts apart, line by line.

    Leaves with 1 where they differ, and with 0, silently, where they do not.
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
        list[str] | None, typer.Argument(metavar="FILE", help="Prompts of your own; none for those of the package.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Check your own prompts as those of the package are.

    A prompt fits when it renders for every question of its step, sets every text of a record off, explains all labels
    and asks for them in each of its formats. Leaves with 2 when something is wrong.
    """
    from ragstone.cli import prompts as steps  # noqa: PLC0415 - see the module

    steps.check(files or [], as_json=as_json)
