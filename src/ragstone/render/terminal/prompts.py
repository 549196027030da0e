"""Draw the screens of ``ragstone prompts``: a list, a rendered prompt, a diff, and the results of a check."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.prompts.catalogue import CheckedPrompt, PromptStyle
from ragstone.render.terminal.screen import DOT, Command, Look, Page, Prose, facts, indented, page, section
from ragstone.render.terminal.tables import Column, Fitted, marked
from ragstone.render.text import NBSP, clean, flat

# ---- list


def prompt_list(kinds: Sequence[PromptStyle], changed: Mapping[str, str]) -> Page:
    """Return a row per step and style, a legend, and the purpose of each style."""
    before = ["", *(kind.step for kind in kinds)]
    columns = [
        Column("step", ["" if kind.step == above else kind.step for kind, above in zip(kinds, before, strict=False)],
               style="head"),
        Column("style", [kind.style for kind in kinds]),
        Column("version", [" ".join(f"v{number}" for number in kind.versions) for kind in kinds], right=True, drop=3),
        Column("units", [str(kind.units) for kind in kinds], right=True),
        Column("formats", [one[0] if len(one := kind.formats) == 1 else str(len(one)) for kind in kinds]),
        Column("languages", [" ".join(kind.languages) for kind in kinds], drop=1),
        Column("output", [gives(kind) for kind in kinds], drop=2),
    ]  # fmt: skip
    purposes = {kind.style: kind.purpose for kind in kinds}
    return page(
        Fitted(columns),
        section("Legend", indented(_explained(_legend(kinds)))),
        section("Styles", indented(_explained(purposes))),
        _state(changed),
        facts([("Next", Command("ragstone prompts render assign short_cot"))]),
    )


def _explained(words: Mapping[str, str]) -> Table:
    wide = max(map(len, words))
    return facts([(word, Prose(said)) for word, said in words.items()], wide)


def gives(kind: PromptStyle) -> str:
    """Return the parts of a reply in a few words."""
    if kind.gives == ("labels",):
        return "labels"
    if kind.gives[0] == "labels" and kind.formats == ("object",) and kind.step != "trace":
        return "labels (+ reasons)"
    return ", ".join(what for what in kind.gives if what != "labels" or kind.step == "trace")


def _legend(kinds: Sequence[PromptStyle]) -> dict[str, str]:
    most = max((kind.formats for kind in kinds), key=len)
    shown = max(kinds, key=lambda kind: len(kind.versions))
    said = {
        "versions": f"the newest is used; to pin one: --prompt {shown.step}={shown.style}.v{shown.versions[0]}",
        "units": "max units per call",
        "object": "one JSON object with an entry for each unit",
        str(len(most)): ", ".join(most),
        "(+ reasons)": "reasons and evidence, if the metric asks for them",
    }
    languages = sorted(set.intersection(*(set(kind.languages) for kind in kinds)) - {"en"})
    said["languages"] = f"to use one for all records, add it to the style, e.g. short_cot.{languages[0]}"
    for kind in kinds:
        if len(kind.names) > 1:
            before = f"{said[kind.step]}; " if kind.step in said else "several prompts; the metric chooses one: "
            said[kind.step] = before + " and ".join(kind.names)
    return said


def _state(changed: Mapping[str, str]) -> RenderableType | None:
    if not changed:
        return None
    path, what = next(iter(changed.items()))
    more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
    return Prose(f"Modified prompt: {path} {what}{more}. To list all: ragstone{NBSP}prompts{NBSP}check", "wrong")


# ---- a rendered prompt, a diff


def rendered(heading: Sequence[str], messages: Sequence[Mapping[str, str]]) -> Group:
    """Return the messages below their roles, without a margin, as they are sent."""
    name, *more = heading
    said = f"  {DOT.join(more)}" if more else ""
    parts: list[RenderableType] = [Text.assemble((flat(name), "head"), (said, "quiet"))]
    for message in messages:
        parts += ["", Text(f"=== {message['role']} ===", style="quiet"), Text(clean(message["content"]))]
    return Group(*parts)


def coloured(lines: Sequence[str]) -> Iterator[Text]:
    """Yield the lines of a diff: removed ones in the accent colour, added ones in bold."""
    for number, line in enumerate(lines):
        style = "head" if line[:1] == "+" else "partly" if line[:1] == "-" else "quiet" if line[:1] == "@" else ""
        yield Text(clean(line.rstrip("\n")), style="quiet" if number < 2 else style)


# ---- checks


def checked_page(found: Sequence[CheckedPrompt], look: Look) -> Page:
    """Return a line per problem of each file or, if it is valid, its purpose and the next command."""
    blocks: list[RenderableType] = []
    for checked in found:
        if checked.problems:
            blocks.append(_lines("no", [f"{checked.file}: {problem}" for problem in checked.problems], look))
            continue
        formats = ", ".join(checked.formats)
        said = f"{checked.file} is valid: step {checked.step}, style {checked.style}, formats {formats}"
        command = f"ragstone run FILE -j JUDGE --prompt {shlex.quote(checked.choice)}"
        following = facts([("Next", Command(command))], 4)
        blocks.append(Group(_lines("yes", [said], look), indented(following)))
    return page(*blocks)


def packaged_page(count: int, wrong: Mapping[str, Sequence[str]], look: Look) -> Page:
    """Return one line if all files are valid, else each problem with its file."""
    lines = [f"{path}: {problem}" for path, problems in wrong.items() for problem in problems]
    said = f"All {count} files are valid and unmodified."
    return page(_lines("no", lines, look) if lines else _lines("yes", [said], look))


def _lines(kind: str, lines: Sequence[str], look: Look) -> Table:
    return marked([(look.mark(kind), Prose(flat(line))) for line in lines], margin=1)
