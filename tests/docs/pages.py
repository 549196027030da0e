"""The pages of docs/: their blocks, and a place to run them in as a reader would.

Blocks of a page run from top to bottom and share names, a folder and an environment. A block with
``title="NAME"`` is written to a file of that name; one with ``from="NAME"`` is part of that export. A block with
``exit=N`` leaves with N. An endpoint on loopback stands behind the addresses that pages name; it gives labels where a
prompt asks for labels.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

from ragstone.analysis.run import Run
from ragstone.cli.app import app
from ragstone.testing import FakeServer

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
EXPORTS: Final = ROOT / "tests" / "records" / "exports"
ADDRESS: Final = "http://127.0.0.1:8000/v1"
"""Where pages say that an endpoint of the reader's own is."""

_SAID: Final = re.compile(r'(\w+)=(?:"([^"]+)"|(\w+))')
_BLOCK: Final = re.compile(r"^( *)```(\w+)([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the line it begins on, and what its first line adds."""

    language: str
    text: str
    line: int
    title: str = ""
    code: int = 0
    source: str = ""


@dataclass(frozen=True)
class Command:
    """What a reader types, and what the page says comes of it ("" where it says nothing)."""

    typed: str
    shown: str
    code: int


def pages() -> list[Path]:
    """Every page of the guide; decisions are history, and docs/testing.md is run by tests/testing."""
    return sorted(page for page in DOCS.rglob("*.md") if "decisions" not in page.parts and page.name != "testing.md")


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        said = {name: quoted or bare for name, quoted, bare in _SAID.findall(match[3])}
        line = text.count("\n", 0, match.start()) + 1
        code = int(said.get("exit", 0))
        found.append(Block(match[2], dedent(match[4]), line, said.get("title", ""), code, said.get("from", "")))
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a console block: a line after ``$``, and after a backslash the next one too."""
    found: list[Command] = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        typed = re.match(r"(?:[^\n]*\\\n)*[^\n]*", part)
        assert typed is not None
        shown = part[typed.end() :].removeprefix("\n")
        found.append(Command(" ".join(typed[0].replace("\\\n", " ").split()), shown.rstrip(), block.code))
    return found


def matches(shown: str, said: str) -> bool:
    """Whether the output is what the page shows.

    An ellipsis stands for any text of its line, and one on a line of its own for any number of lines. How wide a
    gap is, and where a line begins, does not matter.
    """
    pattern = "".join("(?:.*\n)*?" if line == "…" else f"{_line(line)}\n" for line in _lines(shown))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(said))) is not None


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def _line(line: str) -> str:
    return ".*?".join(re.escape(piece) for piece in line.split("…"))


def labelled(request: dict[str, Any]) -> str | None:
    """Labels for a prompt without a schema: the first that it explains, under each number. None for other prompts."""
    asked = "\n".join(message["content"] for message in request["messages"])
    label = re.search(r'^- "(\w+)":', asked, re.MULTILINE)
    count = re.search(r"(?:from 1 to|exactly) (\d+)", asked)
    if "response_format" in request or not label or not count:
        return None
    return json.dumps({str(number): label[1] for number in range(1, int(count[1]) + 1)})


@dataclass
class Reader:
    """Does what a page says, in the current folder."""

    server: FakeServer
    names: dict[str, Any] = field(default_factory=dict)

    def follow(self, page: Path) -> None:
        """All blocks of a page; AssertionError names the line of one that does not do what it says."""
        try:
            self._follow(page)
        finally:
            for value in self.names.values():
                if isinstance(value, Run):
                    value.store.close()

    def _follow(self, page: Path) -> None:
        module = types.ModuleType("page")
        self.names = module.__dict__
        for block in blocks(page):
            where = f"{page.relative_to(ROOT)}:{block.line}"
            if block.title:
                Path(block.title).parent.mkdir(parents=True, exist_ok=True)
                Path(block.title).write_text(block.text.replace(ADDRESS, self.server.url), encoding="utf-8")
            elif block.language == "python":
                text = "\n" * block.line + block.text.replace(ADDRESS, self.server.url)
                exec(compile(text, where, "exec"), self.names)
            elif block.language == "console":
                for command in commands(block):
                    self.type(command, where)

    def type(self, command: Command, where: str) -> None:
        """One command; what is not Ragstone's is left to the reader, but for pipes into it and out of it."""
        source, _, rest = command.typed.rpartition(" | ragstone ")
        words = shlex.split(f"ragstone {rest}" if source else command.typed)
        if words == ["make", "demo"]:
            words = ["ragstone", "demo"]
        if words[0] != "ragstone":
            return
        feed = Path(shlex.split(source)[-1]).read_bytes() if source else b""
        if ">" in words:
            assert words[-2] == ">", f"{where}: {command.typed}"
            code, said = run([word.replace(ADDRESS, self.server.url) for word in words[1:-2]], feed)
            Path(words[-1]).write_text(said, encoding="utf-8")
            said = ""
        else:
            code, said = run([word.replace(ADDRESS, self.server.url) for word in words[1:]], feed)
        said = said.replace(self.server.url, ADDRESS)
        assert code == command.code, f"{where}: {command.typed!r} left with {code}, not {command.code}:\n{said}"
        if command.shown:
            assert matches(command.shown, said), f"{where}: {command.typed!r} says\n{said}\nand not\n{command.shown}"


def run(arguments: list[str], feed: bytes = b"") -> tuple[int, str]:
    """The command line in this process: its exit code, and what it prints on both streams."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream), _standard_input(feed):
        try:
            app(args=arguments, prog_name="ragstone")
            code: Any = 0
        except SystemExit as leaving:
            code = leaving.code or 0
    stream.flush()
    stream.seek(0)
    return int(code), stream.read()


@contextlib.contextmanager
def _standard_input(feed: bytes) -> Iterator[None]:
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(feed), encoding="utf-8")
    try:
        yield
    finally:
        sys.stdin = before
