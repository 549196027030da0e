"""The command line as a person meets it: a folder of one's own, a terminal of some width, and what comes back."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from typer.testing import CliRunner

from ragstone.cli.app import app
from ragstone.questions import YES_NO, Question, Rate, Rated, Trace, Traced, Write, Written, key_of
from ragstone.types import Quote, Span, Unit, Verdict

WRONG = ("986", "two hours between doses", "always larger", "Purple elephants", "бесплатно")
HALF = ("453 million",)
TRACES = Path(__file__).parents[2] / "examples" / "traces.jsonl"
WIDTHS = (60, 80, 120)
COMMAND = (sys.executable, "-m", "ragstone")
ALONE = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "RAGSTONE"))}
"""The surroundings of a process of its own."""
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""What a terminal may obey."""
HOSTILE = "\x1b[31mred\x1b]8;;http://evil\x07\x9b2J \u202egnp.exe [bold red]markup[/] \x00\U000e0041"


@dataclass(frozen=True)
class Came:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def flat(self) -> str:
        """The output with its lines joined, for what may be broken anywhere."""
        return " ".join(self.out.split())

    @property
    def widest(self) -> int:
        return max(cell_len(line) for line in self.out.splitlines())


def ragstone(
    *arguments: str, columns: int = 80, env: Mapping[str, str | None] | None = None, charset: str = "utf-8"
) -> Came:
    """Run a command in this process; what it raises beyond its exit code is raised."""
    surroundings = {"COLUMNS": str(columns), "NO_COLOR": None, "FORCE_COLOR": None, **(env or {})}
    result = CliRunner(charset=charset).invoke(app, list(arguments), env=surroundings, prog_name="ragstone")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    came = Came(result.exit_code, result.stdout, result.stderr)
    if "FORCE_COLOR" not in (env or {}):
        _fits(came, min(columns, 100), ascii_only=charset == "ascii")
    return came


def done(*arguments: str, **more: Any) -> Came:
    """Run a command that is to succeed."""
    came = ragstone(*arguments, **more)
    assert came.code == 0, came.err
    return came


def refused(*arguments: str, **more: Any) -> str:
    """The one line of a command that is refused for what it was given; nothing is printed beside it."""
    came = ragstone(*arguments, **more)
    assert (came.code, came.out, came.err.count("\n")) == (2, "", 1), (arguments, came)
    assert came.err.startswith("error: ")
    return came.err


def _fits(came: Came, columns: int, *, ascii_only: bool) -> None:
    """Whatever is told commands no terminal; no line of a page is too wide or ends in blanks, but for one long word."""
    for text in (came.out, came.err):
        assert not OBEYED.search(text), text
        assert text.isascii() or not ascii_only, text
    if came.out.startswith("\n"):
        for line in came.out.splitlines():
            assert line == line.rstrip(), line
        assert all(cell_len(line) <= columns for line in came.out.partition("Next ")[0].splitlines()), came.out


def pasted(out: str) -> list[list[str]]:
    """The commands after ``Next``, copied as they stand and pasted into a shell: the words of each that it runs."""
    lines = out.partition("Next ")[2].partition("\n\n")[0]
    script = "ragstone() { printf '%s\\0' \"$@\"; printf '\\n'; }\n" + lines.strip()
    done = subprocess.run(["/bin/sh", "-c", script], check=True, capture_output=True, encoding="utf-8")
    assert not done.stderr
    return [line.split("\0")[:-1] for line in done.stdout.splitlines()]


def answers(question: Question[Any]) -> Rated | Traced | Written:
    """A judge that always says the same: what holds one of the words of ``WRONG`` is not supported."""
    if isinstance(question, Trace):
        return _traced(question)
    if isinstance(question, Write):
        units = [
            Unit(f"claim/{n}", question.level, sentence.text, sentence.span, sentence.id, 0.9, question.part)
            for n, sentence in enumerate(question.sentences, 1)
        ]
        units += [Unit(f"bank/{n}", "nugget", passage.text) for n, passage in enumerate(question.passages, 1)]
        return Written(tuple(units))
    assert isinstance(question, Rate)
    return Rated(tuple(_verdict(question, unit) for unit in question.units))


def harsh(question: Question[Any]) -> Rated | Traced | Written:
    """Says of half of all units that they have the worst label, by their letters; else what ``answers`` says."""
    found = answers(question)
    if not isinstance(question, Rate) or not isinstance(found, Rated):
        return found
    worst = question.scale.labels[0]
    return Rated(
        tuple(
            Verdict(v.unit, worst, 0.0, "scripted", reason="so it seems")
            if random.Random(v.unit.text).random() < 0.5
            else v
            for v in found.verdicts
        )
    )


def _verdict(question: Rate, unit: Unit) -> Verdict:
    scale = question.scale
    text = unit.text
    wrong = any(word in text for word in WRONG)
    label = scale.labels[0] if wrong else scale.labels[-1]
    if not wrong and len(scale.labels) > 2 and any(word in text for word in HALF):
        label = scale.labels[1]
    evidence: tuple[Quote, ...] = ()
    if question.passages:
        passage = question.passages[0]
        evidence = (Quote(passage.id, Span(0, 40), passage.text[:40], verbatim=True),)
        if wrong:
            evidence += (Quote("", None, "words that are nowhere", verbatim=False),)
    reason = "the contexts say otherwise" if wrong else "it stands there"
    return Verdict(unit, label, scale.value(label), "scripted", scale.raw(label), None, evidence, reason)


def _traced(question: Trace) -> Traced:
    """The first sentence of the contexts is relevant and used, the second relevant, the third used."""
    keys = tuple(key_of(unit) for unit in question.sentences)
    wrong = [any(word in unit.text for word in WRONG) for unit in question.response]
    verdicts = tuple(
        Verdict(unit, label, YES_NO.value(label), "scripted", YES_NO.raw(label), reason="so it is traced")
        for unit, bad in zip(question.response, wrong, strict=True)
        for label in ("no" if bad else "yes",)
    )
    return Traced(keys[:2], keys[:1] + keys[2:3], verdicts, tuple(() if bad else keys[:1] for bad in wrong))


def write(path: str, *rows: Mapping[str, Any]) -> str:
    """A file of JSON lines in the folder that the test is in."""
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(number: int, **more: Any) -> dict[str, Any]:
    """A record with one supported and one unsupported claim."""
    return {
        "id": f"r{number}",
        "question": f"What is kettle {number} made of?",
        "response": f"Kettle {number} is made of steel. Purple elephants invented jazz in Lisbon.",
        "contexts": [f"Kettle {number} is made of steel and holds two litres."],
        **more,
    }


@contextmanager
def inside(folder: Path, patch: Any) -> Iterator[None]:
    """In this folder, with nothing of the surroundings that Ragstone reads."""
    patch.chdir(folder)
    for name in ("RAGSTONE_CONFIG", "RAGSTONE_STORE"):
        patch.delenv(name, raising=False)
    yield
