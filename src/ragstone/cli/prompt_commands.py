"""``ragstone prompts``: list, show, render, compare and check prompts. Does not call a judge."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer
from msgspec.structs import replace

from ragstone.cli.exit_codes import USAGE, say
from ragstone.cli.options import arg, command, group, opt, wants_json
from ragstone.cli.output import answer, binary_output, show_json
from ragstone.errors import ConfigError, TemplateError

if TYPE_CHECKING:
    from rich.console import RenderableType

prompts = group(
    "List, show, render, compare and check prompts.",
    "ragstone prompts list",
    "ragstone prompts render support short_cot --format yaml",
    "ragstone prompts show support short_cot > mine.md",
    "ragstone prompts check mine.md",
)

DIFFERENT: Final = 1
"""The exit code of ``prompts diff`` if the prompts differ, as in ``diff``."""

Prompt: TypeAlias = Annotated[str, arg("STEP|FILE", "Step (e.g. support), STEP=STYLE, or your own prompt file.")]
Style: TypeAlias = Annotated[str | None, arg("STYLE", "Style, e.g. short_cot or short_cot.ru [default: default]")]
PackFile: TypeAlias = Annotated[
    str | None, opt("--pack", "FILE", "Include a pack of definitions and examples.", default=...)
]


@command(prompts, "ragstone prompts list", name="list")
def list_prompts() -> None:
    """List the prompt styles of each step."""
    from ragstone.prompts import catalogue, changed
    from ragstone.render.terminal.prompts import prompt_list

    found, differ = catalogue.prompt_styles(), changed()
    told = {"prompts": [style.as_json() for style in found], "changed": differ}
    answer(told, lambda _: prompt_list(found, differ))


@command(
    prompts,
    "ragstone prompts show support short_cot",
    "ragstone prompts show assign=optimized.ru",
    "ragstone prompts show support short_cot > mine.md",
)
def show(prompt: Prompt, style: Style = None, *, pack: PackFile = None) -> None:
    """Print the text of a prompt.

    With --pack, the pack is shown where it is inserted. Redirect the output to a file to start your own prompt.
    """
    from rich.text import Text

    from ragstone.prompts.catalogue import find
    from ragstone.prompts.packs import read_pack
    from ragstone.questions import TASKS
    from ragstone.render.text import clean

    found = find(prompt, style)
    if pack is not None:
        mark = "=== user ===\n"
        found = replace(found, text=found.text.replace(mark, f"\n{read_pack(pack).section()}\n{mark}", 1))
    if wants_json():
        entry = found.entry
        step, name = (entry.task, entry.name) if entry else (None, None)
        show_json({"prompt": found.name, "step": step, "style": name, "path": str(found.path), "text": found.text})
        return
    say("prompt", found.name if found.entry is None else f"{found.name} in {found.path}")
    if not sys.stdout.isatty():
        _write(found.text)
        return
    _print(Text(clean(found.text).rstrip("\n")))
    if found.entry is not None and found.entry.task in TASKS:
        say(
            "hint",
            f"ragstone prompts show {found.entry.task} {found.entry.name} > mine.md copies it as a starting point",
        )


@command(
    prompts,
    "ragstone prompts render assign",
    "ragstone prompts render assign short_cot --format yaml --units 2",
    "ragstone prompts render support --scale scale_1_5",
    "ragstone prompts render mine.md",
)
def render(
    prompt: Prompt,
    style: Style = None,
    *,
    label_format: str | None = opt("--format -f", "FORMAT", "Format of the labels [default: the prompt's first]"),
    pack: PackFile = None,
    units: int | None = opt("--units", "N", "Number of units to ask about [default: up to 3]", min=1),
    scale: str | None = opt("--scale", "SCALE", "Rating scale [default: the step's first]"),
) -> None:
    """Render a prompt for a sample question.

    The messages are printed exactly as they are sent to a judge. No judge is called.
    """
    from ragstone.parsing import FORMATS
    from ragstone.prompts.catalogue import find, for_scale
    from ragstone.prompts.check import problems, sample
    from ragstone.prompts.material import variables_of
    from ragstone.prompts.packs import read_pack
    from ragstone.questions import TASKS, Rate
    from ragstone.render.terminal.prompts import rendered

    found = find(prompt, style)
    if found.entry is not None and found.entry.task not in TASKS:
        raise ConfigError(f"'{found.entry.task}' is not a step but part of other prompts; see: ragstone prompts show")
    found = for_scale(found, scale)
    template = found.template()
    if template.task not in TASKS:
        raise TemplateError(f"prompt {found.name}: {problems(template)[0]}")
    wanted = next((known for known in FORMATS if known == label_format), None)
    if wanted != label_format:
        raise ConfigError(f"--format '{label_format}'; expected one of {', '.join(FORMATS)}")
    chosen = template.taking(wanted)
    question = sample(template, units, scale)
    messages = template.render(variables_of(question, chosen, template.language))
    if pack is not None:
        messages[0]["content"] += f"\n\n{read_pack(pack).section()}"
    rate = question if isinstance(question, Rate) else None
    if wants_json():
        show_json(
            {
                "prompt": template.id, "step": template.task, "style": template.name, "format": chosen,
                "scale": rate and rate.scale.name, "units": rate and len(rate.units), "messages": messages,
            }
        )  # fmt: skip
        return
    heading = [template.id]
    if rate is not None:
        count = f"{len(rate.units)} unit{'s' if len(rate.units) > 1 else ''}"
        heading += [f"format {chosen}", f"scale {rate.scale.name}", count]
    _print(rendered(heading, messages))


@command(
    prompts,
    "ragstone prompts diff assign=short_cot assign=long_cot",
    "ragstone prompts diff support=short_cot mine.md",
)
def diff(
    first: str = arg("A", "STEP=STYLE, with an optional language (STYLE.ru) or version (STYLE.v1), or a file."),
    second: str | None = arg(
        "B",
        "Prompt to compare with A [default: the newest version of A; if A is the newest, the one before it]",
        default=None,
    ),
) -> None:
    """Compare two prompts, or two versions of one, line by line.

    The exit code is 1 if they differ. If not, it is 0, and nothing is printed (except with --json).
    """
    import difflib

    from ragstone.prompts.catalogue import pair
    from ragstone.render.terminal.prompts import coloured

    before, after = pair(first, second)
    old, new = (found.text.replace("\r\n", "\n").splitlines(keepends=True) for found in (before, after))
    lines = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, before.name, after.name)
    ]
    if wants_json():
        show_json({"before": before.name, "after": after.name, "differ": bool(lines), "diff": "".join(lines)})
    elif sys.stdout.isatty():
        _print(*coloured(lines))
    else:
        _write("".join(lines))
    if lines:
        raise typer.Exit(DIFFERENT)


@command(prompts, "ragstone prompts check", "ragstone prompts check mine.md")
def check(
    files: list[str] | None = arg("FILE", "Your own prompts [default: the packaged ones]", default=None),
) -> None:
    """Check your own prompts, or the packaged ones.

    A prompt passes if it renders for every question type of its step, delimits all record texts, explains every label,
    and requests labels in each format. The exit code is 2 if a prompt fails.
    """
    from ragstone.prompts import entries
    from ragstone.prompts.catalogue import check_file, check_packaged
    from ragstone.render.terminal.prompts import checked_page, packaged_page

    if files:
        found = [check_file(path) for path in files]
        answer([one.as_json() for one in found], lambda look: checked_page(found, look))
        failed = any(one.problems for one in found)
    else:
        faults, count = check_packaged(), len(entries())
        told = {"files": count, "fits": not faults, "problems": faults}
        answer(told, lambda look: packaged_page(count, faults, look))
        failed = bool(faults)
    if failed:
        raise typer.Exit(USAGE)


def _write(text: str) -> None:
    """Write a text to standard output unchanged, so that it can be saved as a prompt file."""
    stream = binary_output()
    stream.write(text.encode("utf-8"))
    stream.flush()


def _print(*texts: RenderableType) -> None:
    """Print texts, wrapped at words to the full width of a terminal."""
    import shutil

    from ragstone.render.terminal.screen import screen

    console = screen()
    console.width = max(console.width, shutil.get_terminal_size().columns)
    for text in texts:
        console.print(text, soft_wrap=not sys.stdout.isatty())
