"""Draw what two commands print, as SVG files for the README and the docs.

python docs/picture.py
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE: Final = Path(__file__).parent
WIDTH: Final = 84
INK: Final = TerminalTheme((250, 249, 246), (38, 38, 38), [(38, 38, 38)] * 8, [(110, 110, 110)] * 8)

# Rich's own form less its fonts from another host: a picture asks nothing of anybody.
FORM: Final = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""


PICTURES: Final = {
    "run.svg": "ragstone run examples/traces.jsonl",
    "agree.svg": "ragstone agree last examples/labels.jsonl",
}
"""The command that each picture shows. Each runs after those before it, in one folder."""


def main() -> None:
    """Run the commands as in a terminal of 84 columns that wants colour, and keep what they show."""
    if sys.argv[1:]:
        raise SystemExit(f"it takes no arguments, and draws anew: {sys.argv[1:]}")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HERE.parent / "examples", Path(folder, "examples"))
        for name, command in PICTURES.items():
            draw(command, HERE / "images" / name, folder)


def draw(command: str, target: Path, folder: str) -> None:
    """Write what a command prints in a folder as an SVG file."""
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"},
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    console = Console(width=WIDTH, record=True, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(f"$ {command}\n{done.stdout.rstrip()}\n"))
    svg = console.export_svg(title="ragstone", theme=INK, code_format=FORM, unique_id=target.stem)
    target.write_text(svg, encoding="utf-8")
    print(target)  # noqa: T201 - a script


if __name__ == "__main__":
    main()
