"""Print the output of commands: pages for people, a JSON document for programs, JSON Lines for other commands.

Rendering code is imported only when something is printed, so that ``--help`` is fast.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict

from ragstone.cli.options import wants_json
from ragstone.errors import ConfigError, RagstoneError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ragstone.render.terminal.screen import Look

Draw: TypeAlias = "Callable[[Look], RenderableType]"
"""Draws a page for a terminal."""


def answer(document: Any, page: Draw) -> None:
    """Print the result of a command: the document as JSON, or the page."""
    if wants_json():
        show_json(document)
    else:
        show(page)


def show(page: Draw, *, stderr: bool = False) -> None:
    """Print a page for this terminal."""
    from ragstone.render.terminal.screen import Look, screen

    console = screen(stderr=stderr)
    # Do not crop: only words of a command are wider than the terminal.
    console.print(page(Look.of(console)), crop=False)


def show_json(document: Any) -> None:
    """Print one JSON document and nothing else, in UTF-8 regardless of the terminal's encoding."""
    import orjson

    data = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=_plain)
    stream = binary_output()
    try:
        stream.write(data + b"\n")
        stream.flush()
    except BrokenPipeError:  # the command goes on, for its exit code
        from ragstone.render.terminal.screen import discard

        discard(sys.stdout)


def _plain(value: object) -> Any:
    if isinstance(value, Struct):
        return asdict(value)
    return list(value) if isinstance(value, (tuple, set, frozenset)) else str(value)


def binary_output() -> IO[bytes]:
    """Return standard output as a binary stream."""
    sys.stdout.flush()
    return sys.stdout.buffer


def html_file(out: str | None, name: str) -> Path | None:
    """Return the path of an HTML page: ``out``, or ``name`` in the folder ``out``, created if missing; None without."""
    from ragstone.output.export import form_of
    from ragstone.output.target import is_folder, unwritable

    form_of(out, None, {"html": (".html", ".htm")})
    if out == "-":
        raise ConfigError(f"a page needs an output file, e.g. -o {name}")
    if out is None or not is_folder(out):
        return None if out is None else Path(out)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder / name


class Lines(Struct):
    """Writes lines to a file, or to standard output if ``path`` is None; ``count`` is the number so far."""

    path: Path | None
    target: IO[bytes]
    count: int = 0

    def __call__(self, line: bytes) -> None:
        """Write one line and flush it, because it was paid for."""
        try:
            self.target.write(line.rstrip(b"\n") + b"\n")
            self.target.flush()
        except BrokenPipeError:
            raise  # the reader has gone; not an error
        except OSError as error:
            from ragstone.output.target import unwritable

            raise unwritable(self.path or "standard output", error) from error
        self.count += 1

    @property
    def kept(self) -> str:
        """The file with the lines of a command that ended early; empty if there are none."""
        from ragstone.analysis.run_files import PARTIAL

        return f"{self.path}{PARTIAL}" if self.path is not None and self.count else ""


@contextmanager
def lines(out: str | None, inputs: Iterable[str | Path | None]) -> Iterator[Lines]:
    """Open the output for a command's lines; a file gets its final name only once it is complete.

    If the block raises, the lines so far are kept in ``FILE.partial``, and an earlier file is unchanged. Raises
    ConfigError if the file is one of ``inputs`` or has the extension of another format, or if the lines would mix with
    a JSON document on standard output.
    """
    from ragstone.output.export import LINES, form_of
    from ragstone.output.target import refuse_inputs, whole

    if not out:
        if wants_json():
            raise ConfigError("--json prints one document; add -o FILE for the lines")
        yield Lines(None, binary_output())
        return
    form_of(out, None, {"jsonl": LINES})  # refuses the extension of another format
    refuse_inputs(Path(out), inputs)
    with whole(Path(out), keep=True) as target:
        coming = Lines(Path(out), target)
        try:
            yield coming
        except RagstoneError as error:
            if coming.kept:
                error.add_note(f"the lines written before that are in {coming.kept}")
            raise
