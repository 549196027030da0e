"""Output of commands: pages for people, one JSON document for programs, lines of records for the next command.

What draws and writes is loaded when something is printed, so that ``--help`` costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from ragstone.errors import ConfigError, RagstoneError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ragstone.render.terminal.screen import Look

Draw: TypeAlias = "Callable[[Look], RenderableType]"
"""A page that is drawn for a terminal."""


def answer(document: Any, page: Draw, *, as_json: bool) -> None:
    """Print the result of a command: the document as JSON, or the page."""
    if as_json:
        show_json(document)
    else:
        show(page)


def show(page: Draw, *, stderr: bool = False) -> None:
    """Print a page that is drawn for this terminal."""
    from ragstone.render.terminal.screen import Look, screen

    console = screen(stderr=stderr)
    # Nothing is cut off here: what is wider than the terminal is a word of a command.
    console.print(page(Look.of(console)), crop=False)


def show_json(document: Any) -> None:
    """Print one JSON document and nothing else, in UTF-8 whatever the terminal says."""
    import orjson

    data = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=_plain)
    stream = binary_output()
    stream.write(data + b"\n")
    stream.flush()


def _plain(value: object) -> Any:
    return list(value) if isinstance(value, (tuple, set, frozenset)) else str(value)


def binary_output() -> IO[bytes]:
    """Standard output for bytes."""
    sys.stdout.flush()
    return sys.stdout.buffer


def html_file(out: str | None, name: str) -> Path | None:
    """The path of an HTML page: ``out``, or ``name`` in the folder ``out``, which is made; None without ``out``."""
    from ragstone.output.target import is_folder, unwritable

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


@dataclass(slots=True)
class Lines:
    """Lines of records being written to a file, or to standard output if ``path`` is None; ``count`` so far."""

    path: Path | None
    target: IO[bytes]
    count: int = 0

    def __call__(self, line: bytes) -> None:
        """Write one line, at once: it was paid for."""
        try:
            self.target.write(line.rstrip(b"\n") + b"\n")
            self.target.flush()
        except BrokenPipeError:
            raise  # the reader has gone, which is no error
        except OSError as error:
            from ragstone.output.target import unwritable

            raise unwritable(self.path or "standard output", error) from error
        self.count += 1

    @property
    def kept(self) -> str:
        """The file that holds the lines of a command that ended early; empty if there are none."""
        from ragstone.analysis.run_files import PARTIAL

        return f"{self.path}{PARTIAL}" if self.path is not None and self.count else ""


@contextmanager
def lines(out: str | None, inputs: Iterable[str | Path | None], *, as_json: bool) -> Iterator[Lines]:
    """Open the output for a command's lines; a file gets its name only when all lines are in it.

    If the block raises, the lines so far stay in ``FILE.partial``; without any, an earlier file stays as it is.
    ConfigError if the file is one of ``inputs`` or has the extension of another format, or if the lines would mix with
    a JSON document on standard output.
    """
    from ragstone.output.export import LINES, form_of
    from ragstone.output.target import refuse_inputs, whole

    if not out:
        if as_json:
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
