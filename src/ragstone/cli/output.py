"""Where commands print: pages for people, one JSON document for programs, lines of records for the next command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson
from rich.console import RenderableType

from ragstone.analysis.run_files import PARTIAL
from ragstone.errors import ConfigError, RagstoneError
from ragstone.output.target import is_folder, refuse_inputs, unwritable, whole
from ragstone.render.terminal.screen import Look, screen


def show(draw: Callable[[Look], RenderableType], *, stderr: bool = False) -> None:
    """Print a page that is drawn for this terminal."""
    console = screen(stderr=stderr)
    # Nothing is cut off here: what is wider than the terminal is a word of a command.
    console.print(draw(Look.of(console)), crop=False)


def show_json(document: Any) -> None:
    """Print one JSON document and nothing else, in UTF-8 whatever the terminal says."""
    data = orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=_plain)
    stream = binary_output()
    stream.write(data + b"\n")
    stream.flush()


def binary_output() -> IO[bytes]:
    """Standard output for bytes."""
    sys.stdout.flush()
    return sys.stdout.buffer


def html_file(out: str | None, name: str) -> Path | None:
    """Where a page goes that is named with -o: that file, or the file ``name`` in that folder; None where none is."""
    if out is None:
        return None
    if out == "-":
        raise ConfigError(f"a page is written to a file; name it, as in: -o {name}")
    if not is_folder(out):
        return Path(out)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder / name


@dataclass(slots=True)
class Lines:
    """Lines of records on their way to a file, or to standard output where none is named; ``count`` have come."""

    path: Path | None
    target: IO[bytes]
    count: int = 0

    def __call__(self, line: bytes) -> None:
        """Write one line, at once: it was paid for."""
        try:
            self.target.write(line.rstrip(b"\n") + b"\n")
            self.target.flush()
        except BrokenPipeError:
            raise  # nobody reads any more, which is no trouble
        except OSError as error:
            raise unwritable(self.path or "standard output", error) from error
        self.count += 1

    @property
    def kept(self) -> str:
        """Where the lines are that came before the end, if there are any in a file."""
        return f"{self.path}{PARTIAL}" if self.path is not None and self.count else ""


@contextmanager
def lines(out: str | None, inputs: Iterable[str | Path | None], *, as_json: bool) -> Iterator[Lines]:
    """Where a command's lines go; a file stands under its name only when all of it is there.

    If the block raises, what came stays in ``FILE.partial``; if nothing came, an earlier file of that name stays as it
    is. ConfigError where a file that is read would be overwritten, its ending says that it holds something else than
    lines, or they would mix with a document.
    """
    if not out:
        if as_json:
            raise ConfigError("--json prints one document; name a file for the lines with -o")
        yield Lines(None, binary_output())
        return
    from ragstone.output.export import LINES, form_of  # noqa: PLC0415 - most commands write no lines

    form_of(out, None, {"jsonl": LINES})  # refuses the ending of another format
    refuse_inputs(Path(out), inputs)
    with whole(Path(out), keep=True) as target:
        coming = Lines(Path(out), target)
        try:
            yield coming
        except RagstoneError as error:
            if coming.kept:
                error.add_note(f"the lines that came before are in {coming.kept}")
            raise


def _plain(value: object) -> Any:
    return list(value) if isinstance(value, (tuple, set, frozenset)) else str(value)
