"""Prompts on a screen: which there are, what one asks, how two differ, and whether they fit."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.prompts.catalogue import CheckedPrompt, PromptStyle
from ragstone.render.terminal.screen import Look, Page, facts, indented, page, prose, section, to_paste
from ragstone.render.text import NBSP, clean, flat

DROPPED: Final = ("languages", "gives", "version")
"""Columns that a narrow terminal does without, the first one first."""


# ---- which there are


def prompt_list(kinds: Sequence[PromptStyle], changed: Mapping[str, str], look: Look) -> Page:
    """A row for each step and style, what the columns mean, and what each style is for."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    columns = _columns(kinds, look)
    for title in columns:
        table.add_column(title, justify="right" if title in ("units", "version") else "left", no_wrap=True)
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*cells)
    purposes = {kind.style: kind.purpose for kind in kinds}
    return page(
        table,
        section("What stands there", indented(_legend(kinds, look))),
        section("Styles", indented(_explained(purposes, look))),
        _state(changed, look),
        Text("ragstone prompts render assign short_cot", style="quiet"),
    )


def _explained(words: Mapping[str, str], look: Look) -> Table:
    wide = max(map(len, words))
    return facts([(word, prose(said, look, indent=wide + 4)) for word, said in words.items()], wide)


def _columns(kinds: Sequence[PromptStyle], look: Look) -> dict[str, list[Text]]:
    before = ""
    steps = []
    for kind in kinds:
        steps.append(Text(kind.step if kind.step != before else "", style="head"))
        before = kind.step
    columns = {
        "step": steps,
        "style": [Text(kind.style) for kind in kinds],
        "version": [Text(str(kind.version)) for kind in kinds],
        "units": [Text(str(kind.units)) for kind in kinds],
        "formats": [Text(kind.formats[0] if len(kind.formats) == 1 else str(len(kind.formats))) for kind in kinds],
        "languages": [Text(" ".join(kind.languages)) for kind in kinds],
        "gives": [Text(gives(kind)) for kind in kinds],
    }
    for title in DROPPED:
        if 2 + sum(max(len(name), *(cell.cell_len for cell in cells)) + 2 for name, cells in columns.items()) - 2 > (
            look.width
        ):
            del columns[title]
    return columns


def gives(kind: PromptStyle) -> str:
    """What an answer holds, in a few words."""
    if kind.gives == ("labels",):
        return "labels alone"
    if kind.gives[0] == "labels" and kind.formats == ("object",) and kind.step != "trace":
        return "as asked"
    return ", ".join(what for what in kind.gives if what != "labels" or kind.step == "trace")


def _legend(kinds: Sequence[PromptStyle], look: Look) -> Table:
    most = max((kind.formats for kind in kinds), key=len)
    said = {
        "units": "the most that one call asks about",
        "object": "one JSON object with an entry for each unit",
        str(len(most)): ", ".join(most),
        "as asked": "the label, and reason and evidence where the metric asks for them",
    }
    for language in sorted(set.intersection(*(set(kind.languages) for kind in kinds)) - {"en"}):
        said[f".{language}"] = f"each style is there in this language too: short_cot.{language}"
    for kind in kinds:
        if len(kind.names) > 1:
            before = f"{said[kind.step]}; " if kind.step in said else "several questions: "
            said[kind.step] = before + " and ".join(kind.names)
    return _explained(said, look)


def _state(changed: Mapping[str, str], look: Look) -> RenderableType | None:
    if not changed:
        return None
    path, what = next(iter(changed.items()))
    more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
    return prose(f"Not as released: {path} {what}{more}. All of them: ragstone{NBSP}prompts{NBSP}check", look, "wrong")


# ---- what one asks


def rendered(heading: Sequence[str], messages: Sequence[Mapping[str, str]], look: Look) -> Group:
    """The messages under their roles, without a margin: what stands there is what is sent."""
    name, *more = heading
    said = f"  {f' {look.dot} '.join(more)}" if more else ""
    parts: list[RenderableType] = [Text.assemble((flat(name), "head"), (said, "quiet"))]
    for message in messages:
        parts += ["", Text(f"=== {message['role']} ===", style="quiet"), Text(clean(message["content"]))]
    return Group(*parts)


def coloured(lines: Sequence[str]) -> Iterator[Text]:
    """The lines of a difference: what went in the accent, what came in bold."""
    for number, line in enumerate(lines):
        style = "head" if line[:1] == "+" else "partly" if line[:1] == "-" else "quiet" if line[:1] == "@" else ""
        yield Text(clean(line.rstrip("\n")), style="quiet" if number < 2 else style)


# ---- whether they fit


def checked_page(found: Sequence[CheckedPrompt], look: Look) -> Page:
    """A line for each problem, or what the file is for and what to do with it."""
    blocks: list[RenderableType] = []
    for checked in found:
        if checked.problems:
            mark = look.mark("no")
            blocks.append(Group(*(_marked(mark, f"{checked.file}: {problem}", look) for problem in checked.problems)))
            continue
        formats = ", ".join(checked.formats)
        said = f"{checked.file} fits: step {checked.step}, style {checked.style}, formats {formats}"
        command = f"ragstone run FILE -j JUDGE --prompt {shlex.quote(checked.choice)}"
        next_rows = [("Next", to_paste(command, look, 8))]
        blocks.append(Group(_marked(look.mark("yes"), said, look), indented(facts(next_rows, 4))))
    return page(*blocks)


def _marked(mark: Text, said: str, look: Look) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=1, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(mark, prose(flat(said), look, indent=2))
    return table


def packaged_page(count: int, wrong: Mapping[str, Sequence[str]], look: Look) -> Page:
    """One line where all is well, else each problem with its file."""
    if not wrong:
        said = f"All {count} files fit, and are as they were released."
        return page(_marked(look.mark("yes"), said, look))
    lines = [f"{path}: {problem}" for path, problems in wrong.items() for problem in problems]
    return page(Group(*(_marked(look.mark("no"), line, look) for line in lines)))
