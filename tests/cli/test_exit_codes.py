"""The command as a process: how fast it starts, how it ends, and what a mistyped one is told."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest
from terminal import ALONE, COMMAND, done, ragstone, refused, row, write

from ragstone import __version__, api, errors
from ragstone.__main__ import main
from ragstone.cli import suggestions
from ragstone.cli.exit_codes import code_of
from ragstone.testing import FakeServer

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("alone")

RIDDLES = (
    "weigh", "nobody", "anew", "leaves with", "takes part", "as it came", "came of", "hold against", "held against",
    "hold a run", "hold one run", "to hold", "asks anything", "asked anything", "the most ", "the least ", "; else ",
    "goes on where", "stands on", "stand in", "all the same", "cannot be read does",
)  # fmt: skip
"""Words that help texts had and that a reader had to guess at."""


def seconds(*arguments: str, times: int = 3) -> float:
    """Computing time, the least of a few: what else the machine does is not measured."""
    best = 60.0
    for _ in range(times):
        before = os.times()
        subprocess.run([*arguments], check=True, capture_output=True, env=ALONE)
        after = os.times()
        spent = after.children_user - before.children_user + after.children_system - before.children_system
        best = min(best, spent)
    return best


@cache
def commands(*group: str) -> list[str]:
    """The names of all commands; those of a group with its name before theirs."""
    told = ragstone(*group, "--help").out.partition("Show this message and exit.")[2]
    found = []
    for name in re.findall(r"^  ([a-z-]+) {2,}\S", told, re.MULTILINE):
        whole = " ".join((*group, name))
        found += commands(*group, name) if "COMMAND [ARGS]" in ragstone(*whole.split(), "--help").out else [whole]
    return found


def test_help_and_import_are_fast() -> None:
    """Above what Python itself takes: 0.3 s for the help, 0.1 s for the import."""
    bare = seconds(sys.executable, "-c", "pass")
    assert seconds(sys.executable, "-c", "import ragstone") - bare < 0.1
    assert seconds(*COMMAND, "--help") - bare < 0.3


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_a_run_with_a_judge_at_an_endpoint_takes_under_80_megabytes() -> None:
    """The peak of the whole process, its imports and the calls in flight with it."""
    write("a.jsonl", *(row(n) for n in range(200)))
    # Not getrusage, whose peak begins with that of the process that started this one.
    peak = "import atexit, sys; atexit.register(lambda: sys.stderr.write(open('/proc/self/status').read()))"
    code = f"{peak}; from ragstone.__main__ import main; main()"
    with FakeServer() as server:
        options = ("run", "a.jsonl", "-m", "groundedness", "-j", f"vllm:m@{server.url}", "-q")
        came = subprocess.run(
            [sys.executable, "-c", code, *options], check=True, capture_output=True, text=True, env=ALONE
        )
        assert server.count == 200
    highest = re.search(r"^VmHWM:\s+(\d+) kB$", came.stderr, re.MULTILINE)
    assert highest is not None
    assert int(highest[1]) / 1024 < 80


def test_help_loads_nothing_heavy() -> None:
    """Not the API, not rich, not pydantic: they are loaded by the command that needs them."""
    code = "import sys, ragstone.cli.app; print(sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=ALONE).stdout
    for name in ("rich", "pydantic", "aiohttp", "sqlite3", "asyncio", "numpy", "genai_prices"):
        assert f"'{name}'" not in loaded
    assert "'typer'" in loaded


def test_every_command_has_help_with_an_example() -> None:
    """Each names itself in the example; no line is wider than 80."""
    names = commands()
    assert [name for name in names if " " not in name][:8] == [
        "demo",
        "run",
        "validate",
        "estimate",
        "merge",
        "show",
        "view",
        "report",
    ]
    assert set(names) >= {"run", "compare-methods", "validate", "runs", "show", "export", "metrics", "judges", "init"}
    assert [name for name in names if name.startswith("nuggets ")] == [
        f"nuggets {n}" for n in ("create", "assign", "score")
    ]
    for name in names:
        came = done(*name.split(), "--help")
        assert f"ragstone {name}" in came.out.partition("Example")[2], name
        assert "--json" in came.out or name in ("prompts show", "prompts diff"), name  # these print a text as it is
        assert came.widest <= 80
        assert "With -o:" not in came.out or "--out" in came.out, name
        assert ("--metric," in came.out or "--metric " in came.out) == ("--metrics" in came.out), name
    for group in ("", "nuggets", "prompts", "cache"):
        came = ragstone(*group.split(), "--help")
        assert came.widest <= 80
        assert not [line for line in came.out.splitlines() if line.endswith("...") and "[ARGS]" not in line]


def test_help_is_in_plain_words() -> None:
    """Of every command, of every group and of all."""
    for name in (*commands(), "nuggets", "prompts", "cache", ""):
        told = ragstone(*name.split(), "--help").flat.lower()
        assert not [words for words in RIDDLES if words in told], name


def test_the_version() -> None:
    """Alone on its line."""
    assert ragstone("--version").out == f"ragstone {__version__}\n"


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        (("show",), "ragstone show [OPTIONS] [RUN] [RECORD]"),
        (("prompts", "check"), "ragstone prompts check [OPTIONS] [FILE]..."),
        (("agree",), "ragstone agree [OPTIONS] RUN LABELS..."),
    ],
)
def test_what_may_be_left_out_is_in_brackets_once(command: tuple[str, ...], usage: str) -> None:
    """On the usage line of a command's help, which has no other brackets; arguments are listed without a type."""
    lines = ragstone(*command, "-h").out.splitlines()
    assert lines[0] == f"Usage: {usage}"
    assert not [line for line in lines if "<" in line]


def test_every_error_has_its_code() -> None:
    """Nothing that went wrong ends with 1, which is for a threshold that was not held."""
    assert code_of(errors.ConfigError("x")) == code_of(errors.RecordError("f:1", "x")) == 2
    assert code_of(errors.BackendError("x")) == code_of(errors.ParseError("x")) == code_of(errors.StoreError("x")) == 3
    assert code_of(errors.BudgetReached("x")) == 4


def test_a_fault_of_our_own_is_told_from_a_failed_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Code 70, the traceback, and whom it concerns."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr(api, "open_store", broken)
    monkeypatch.setattr(sys, "argv", ["ragstone", "runs"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 70
    told = capsys.readouterr().err
    assert "ZeroDivisionError: by nought" in told
    assert "a bug in Ragstone" in told


def test_a_reader_that_goes_away_is_no_error(weighed: Path) -> None:
    """``| head`` is quiet."""
    for arguments in (("export", "-f", "csv", "--rows", "verdicts"), ("export",), ("show",)):
        command = [*COMMAND, *arguments, "--store", str(weighed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ALONE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 0, arguments


@pytest.mark.parametrize(("words", "code"), [("check last --min grounding=1.0", 1), ("compare last nosuch", 2)])
@pytest.mark.parametrize("form", ["", " --json"])
def test_a_reader_that_goes_away_changes_no_exit_code(weighed: Path, words: str, form: str, code: int) -> None:
    """A failed check must not pass because nobody reads what it says, as in ``check | head`` with pipefail."""
    command = [*COMMAND, *f"{words}{form} --store".split(), str(weighed)]
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(command, stdout=writing, stderr=writing, env=ALONE) as process:
        os.close(writing)
    assert process.returncode == code


@pytest.mark.skipif(sys.platform == "win32", reason="a shell")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_fault(weighed: Path, closed: str) -> None:
    """Whoever closes standard output wants to read nothing."""
    script = f'"$@" {closed}'
    arguments = [*COMMAND, "show", "--store", str(weighed)]
    done = subprocess.run(["/bin/sh", "-c", script, "sh", *arguments], capture_output=True, check=False, env=ALONE)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_message_is_broken_between_words_on_a_terminal_and_not_at_all_elsewhere() -> None:
    """So that a figure is not cut in two, and a log has one line for each message."""
    came = ragstone("show", columns=60)
    assert max(map(len, came.err.splitlines())) > 60
    on_screen = re.sub(r"\x1b\[[0-9;]*m", "", ragstone("show", columns=60, env={"FORCE_COLOR": "1"}).err)
    assert on_screen.split() == came.err.split()
    assert max(map(len, on_screen.splitlines())) <= 60


def test_a_second_interrupt_stops_at_once() -> None:
    """The first lets calls that are under way come back; the second does not wait for them, and nothing is noisy."""
    write("a.jsonl", *(row(n) for n in range(8)))
    with FakeServer(latency=20.0) as server:
        command = [*COMMAND, "run", "a.jsonl", "-m", "grounding", "-j", f"vllm:m@{server.url}"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ALONE) as process:
            while server.connections < 8:
                time.sleep(0.01)
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            told = process.communicate(timeout=10)[1]
        assert process.returncode == 130
        assert "Unclosed" not in told
        assert "Traceback" not in told


LOADING = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("handler", "code"), [("default_int_handler", -signal.SIGINT), ("SIG_IGN", 0)])
def test_an_interrupt_while_the_command_line_is_loaded_is_silent(handler: str, code: int) -> None:
    """As a shell takes it for 130; where interrupts are ignored, as of a job in the background, they stay so."""
    told = f"signal.signal(signal.SIGINT, signal.{handler})\nsys.argv[1:] = ['--version']\n"
    start = "from ragstone.__main__ import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", LOADING + told + start], capture_output=True, text=True, env=ALONE, check=False
    )
    assert (done.returncode, done.stderr) == (code, "")


def test_only_the_command_line_minds_interrupts() -> None:
    """Neither an import nor what main did before it leaves another handler."""
    code = (
        "import signal, sys, ragstone, ragstone.api, ragstone.__main__ as at\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "sys.argv[1:] = ['--version']\n"
        "try:\n    at.main()\nexcept SystemExit:\n    pass\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    subprocess.run([sys.executable, "-c", code], env=ALONE, check=True)


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_progress_is_drawn_on_a_terminal_and_leaves_nothing_behind() -> None:
    """On standard error only; standard output is the JSON document."""
    import pty

    write("a.jsonl", *(row(n) for n in range(12)))
    controller, terminal = pty.openpty()
    with FakeServer(latency=0.15) as server:
        command = [*COMMAND, "run", "a.jsonl", "-j", f"vllm:m@{server.url}", "--concurrency", "2"]
        command += ["-m", "answer_relevance", "--json"]
        surroundings = {**ALONE, "TERM": "xterm", "COLUMNS": "80"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=surroundings) as process:
            os.close(terminal)
            drawn = b""
            while True:
                try:
                    piece = os.read(controller, 65536)
                except OSError:
                    break
                if not piece:
                    break
                drawn += piece
            assert process.stdout is not None
            out = process.stdout.read()
    os.close(controller)
    assert process.returncode == 0
    assert out.startswith(b"{")
    text = drawn.decode("utf-8")
    assert " of 12" in text
    assert "calls" in text
    assert "\x1b[?25h" in text.rsplit("\x1b[?25l", 1)[1]  # the cursor is shown again


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_terminal_that_is_closed_ends_a_run_in_order() -> None:
    """With the code of an interrupt and all replies kept, though nothing can be said any more."""
    import pty

    write("a.jsonl", *(row(n) for n in range(40)))
    with FakeServer(latency=0.1) as server:
        command = [*COMMAND, "run", "a.jsonl", "-m", "grounding", "-j", f"vllm:m@{server.url}", "--concurrency", "4"]
        process, terminal = pty.fork()
        if not process:
            os.execve(sys.executable, command, ALONE)
        while server.count < 20:
            time.sleep(0.01)
            assert os.waitpid(process, os.WNOHANG) == (0, 0), "it ended before the terminal was closed"
        os.close(terminal)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130
        assert server.seen == {200: server.count}
        assert ragstone("cache", "info", "--json").json["calls"] == server.count
    assert [run["status"] for run in ragstone("runs", "--json").json] == ["interrupted"]


@pytest.mark.parametrize(
    ("typed", "error", "hint"),
    [
        ("evaluate a.jsonl", "no command 'evaluate'", "use: ragstone run a.jsonl"),
        ("score", "no command 'score'", "use: ragstone run FILE"),
        ("a.jsonl", "no command 'a.jsonl'", "to evaluate this file: ragstone run a.jsonl"),
        ("nuggets a.jsonl", "no command 'a.jsonl'", "ragstone nuggets create a.jsonl"),
        ("rum a.jsonl", "no command 'rum'", "did you mean: ragstone run"),
        ("help", "no command 'help'", "use: ragstone -h"),
        ("-v", "no option -v", "use --version"),
        ("zzz", "no command 'zzz'", "see: ragstone -h"),
        ("run", "missing argument 'FILE'", "specify a file: ragstone run FILE (- is standard input)"),
        ("run a.jsonl -m grounding groundedness", "unexpected argument 'groundedness'", "-m grounding,groundedness"),
        ("run a.jsonl -metrics grounding", "unexpected argument 'grounding'", "did you mean --metrics?"),
        ("run a.jsonl -limit 5", "no option -l", "did you mean --limit?"),
        ("run a.jsonl b.jsonl", "unexpected argument 'b.jsonl'", "cat FILES | ragstone run -"),
        ("run a.jsonl --model openai:gpt-4o", "no option --model", "use -j PROVIDER:MODEL"),
        ("run a.jsonl --output out", "no option --output", "use -o"),
        ("run a.jsonl --concurency 3", "no option --concurency", "did you mean --concurrency?"),
        ("run a.jsonl --threshold 0.8", "no option --threshold", "use --set METRIC.threshold=NUMBER"),
        ("check --threshold 0.8", "no option --threshold", "ragstone check RUN --min METRIC=NUMBER"),
        ("run a.jsonl -n 5", "no option -n", "use --limit N"),
        ("runs -n 5", "no option -n", "see: ragstone runs -h"),
        ("run --input a.jsonl", "no option --input", "specify the file without an option: ragstone run FILE"),
        ("export last -q", "no option -q", "leave it out: ragstone export shows no progress"),
        ("run --no-such", "no option --no-such", "see: ragstone run -h"),
        ("show 1 2 3", "unexpected argument '3'", "see: ragstone show -h"),
        (
            "run a.jsonl --limit 0",
            "invalid value for '--limit': expected a number of at least 1",
            "see: ragstone run -h",
        ),
        ("run a.jsonl --limit x", "invalid value for '--limit': expected a whole number", "see: ragstone run -h"),
        (
            "run a.jsonl --panel vote",
            "invalid value for '--panel': 'vote' is not one of 'mean', 'median', 'majority', 'min', 'max'",
            "see: ragstone run -h",
        ),
        ("run a.jsonl --on-error ignore", "invalid value for '--on-error': 'ignore'", "see: ragstone run -h"),
        ("compare 2", "missing argument 'SECOND'", "name two runs, the baseline first: ragstone compare 2 last"),
        ("compare last", "missing argument 'SECOND'", "ragstone compare RUN last (ragstone runs lists them)"),
        ("judges openai:gpt-4o", "unexpected argument", "ragstone judges --check openai:gpt-4o"),
        ("export 3 csv", "unexpected argument 'csv'", "--format FORM"),
        ("check last --min grounding 0.8", "unexpected argument '0.8'", "--min METRIC=NUMBER"),
    ],
)
def test_what_is_mistyped_is_answered_with_what_to_type(typed: str, error: str, hint: str) -> None:
    """Two lines on standard error, exit code 2, and no usage above them."""
    write("a.jsonl", row(1))
    came = ragstone(*typed.split(), columns=200)
    assert (came.code, came.out) == (2, "")
    first, second = came.err.splitlines()
    assert first.startswith(f"error: {error}")
    assert second.startswith("hint: ")
    assert hint in second
    assert not Path(".ragstone").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("run b.jsonl", "b.jsonl: no such file; did you mean a.jsonl?"),
        ("run other-traces.jsonl", "other-traces.jsonl: no such file; this folder has a.jsonl"),
        ("run zz.parquet", "zz.parquet: no such file; this folder has no .parquet file"),
        ("run none/traces.csv", "none/traces.csv: no such file; there is no folder none either"),
        ("show last zzz", "run 1 (a.jsonl): no record 'zzz'; ids look like 'r1'; a position, '#1' to '#1', also works"),
        ("estimate last", "last: no such file or folder; last is a run; specify a file with records"),
        ("run a.jsonl --nuggets b.jsonl", "b.jsonl: no such file; did you mean a.jsonl?"),
        ("run a.jsonl -m faithfulness", "Ragstone's metric for this is grounding (share of "),
        ("run a.jsonl -j openai/gpt-4o", "write a colon after the provider: openai:gpt-4o"),
        ("run a.jsonl -j openai:gpt-4o@https:/h/v1", "write openai:gpt-4o@https://h/v1"),
        ("run a.jsonl -j https://h/v1", "as in openai:MODEL@https://HOST/v1"),
        ("run a.jsonl --field contexts=question", "'question' is the column for the question; specify the column with"),
        (
            "run a.jsonl -o report.html",
            "use a folder, or write the file after the run: ragstone report last -o report.html",
        ),
        ("run a.jsonl -o scores.csv", "ragstone export last -o scores.csv"),
        ("compare other.csv last", "evaluate records first with 'ragstone run FILE'"),
        ("run none/", "none: no such file or folder"),
        ("export out", "out is a run's folder, but this command reads the store; use run 1"),
        ("formats ./out/", " is a run's folder, but this command reads the store; use run 1"),
        ("export out --store other.db", "specify the run's store with --store"),
        ("run a.jsonl --set grounding.treshold=0.8", "grounding: no parameter 'treshold'; did you mean 'threshold'?"),
        ("check last --min grounding=80", "--min grounding=80; expected a number from 0 to 1 (80% is 0.8)"),
        ("check last --max-drop grounding=2 --baseline 1", "--max-drop grounding=2; expected a number from 0 to 1"),
        ("show r1", "it is a record of run 1: ragstone show 1 r1"),
        ("show a.json", "did you mean 'a.jsonl'?"),
        ("show ./a.jsonl", "to evaluate a file: ragstone run ./a.jsonl"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(typed: str, said: str) -> None:
    """One line, by whoever knows."""
    write("a.jsonl", row(1))
    write("other.csv", row(1))
    assert ragstone("run", "a.jsonl", "-q", "-m", "grounding", "-o", "out").code == 0
    assert ragstone("run", "a.jsonl", "-q", "-m", "grounding", "--store", "other.db", "--name", "a").code == 0
    assert said in refused(*typed.split(), columns=300)


def test_fields_may_be_swapped_where_each_is_said() -> None:
    """Columns of each other's names are read as mapped; gold passages may be the contexts."""
    write("a.jsonl", {"id": "a", "question": "Steel.", "response": "What is it?", "reference": ["It is steel."]})
    swapped = ("--field", "question=response", "--field", "response=question", "--field", "contexts=reference")
    assert ragstone("run", "a.jsonl", "-q", "-m", "grounding", *swapped).code == 0


def test_metrics_may_be_joined_by_semicolons() -> None:
    came = ragstone("run", write("a.jsonl", row(1)), "-q", "-m", "grounding;groundedness", "--json")
    assert set(came.json["metrics"]) == {"grounding", "groundedness"}


def test_every_hint_names_a_command_or_an_option_that_there_is() -> None:
    """What is advised can be typed."""
    shown = ragstone("--help").out
    for meant in suggestions.COMMANDS.values():
        word = meant.split()[0]
        assert re.search(rf"^\s+(-h, )?{re.escape(word)}\b", shown, re.MULTILINE), meant
    every = "".join(ragstone(name, "--help").out for name in ("run", "check", "estimate")) + shown
    for meant in suggestions.OPTIONS.values():
        assert re.search(rf"(?<![\w-]){re.escape(meant.split()[0])}(?![\w-])", every), meant
