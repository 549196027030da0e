"""What the command line says of stored calls: offline, repeated, taken over, counted, pruned; and of an interrupt."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from terminal import ALONE, COMMAND, WIDTHS, done, ragstone, refused, row, write

from ragstone import api
from ragstone.cli import setup_commands
from ragstone.errors import ConfigError, StoreError
from ragstone.judges import http
from ragstone.store.database import Store
from ragstone.testing import FakeServer, Scripted

pytestmark = pytest.mark.usefixtures("alone")

WHOLE = ("-m", "response_groundedness")


def run(server: FakeServer, *options: str, count: int = 4) -> Any:
    write("a.jsonl", *(row(n) for n in range(count)))
    return ragstone("run", "a.jsonl", *WHOLE, "-j", f"vllm:m@{server.url}", *options)


# ---- offline


def test_offline_says_how_many_calls_are_missing(server: FakeServer) -> None:
    """Exit code 3, and the last line is the number and what would send them; nothing is sent."""
    assert run(server, count=3).code == 0
    came = run(server, "--offline", count=5)
    assert came.code == 3
    last = came.err.splitlines()[-1]
    assert last == "note: offline: 2 calls have no stored reply and were not sent; to send them, run without --offline"
    assert "2 not in the store" in came.flat
    assert "judge_failed (" in came.flat
    assert server.count == 3
    assert run(server, "--offline", "--json", count=6).json["bill"]["unseen"] == 3
    assert run(server, "--offline", count=4).err.splitlines()[-1].startswith("note: offline: 1 call has no stored")
    whole = run(server, "--offline", count=3)
    assert (whole.code, "offline" in whole.err) == (0, False)
    assert "free (every reply was in the store)" in whole.flat


def test_a_merge_says_what_sends_calls_that_failed(server: FakeServer) -> None:
    """Not an option that it was not given: the run without shards, which sends these calls alone."""
    write("a.jsonl", row(0), row(1, response="A kettle boils. " * 1000))
    words = ("run", "a.jsonl", *WHOLE, "-j", f"vllm:m@{server.url}", "-o", "out")
    server.configure(context_limit=2000)
    for number in (1, 2):
        ragstone(*words, "--shard", f"{number}/2")
    came = ragstone("merge", "out", "--store", "all.db")
    assert came.code == 3
    assert came.err.splitlines()[-1].endswith(
        "no stored reply and was not sent; to send them, run without --shard and --engine, with the same --store"
    )
    server.reset()
    server.configure(context_limit=None)
    assert ragstone(*words, "--store", "all.db").code == 0
    assert server.count == 1


def test_banks_offline(server: FakeServer) -> None:
    """A step without a run says it, too."""
    write("a.jsonl", row(1))
    options = ("nuggets", "create", "a.jsonl", "-j", f"vllm:m@{server.url}", "-o", "bank.jsonl")
    came = ragstone(*options, "--offline")
    assert came.code == 3
    assert "offline: 1 call has no stored reply and was not sent" in came.err.splitlines()[-1]
    assert server.count == 0


# ---- repeats


def test_repeats_on_the_screen(server: FakeServer) -> None:
    """A block of the run and one of the record, at any width."""
    server.configure(vary=True)
    write("a.jsonl", *(row(n) for n in range(6)))
    options = ("run", "a.jsonl", "-m", "response_groundedness,context_relevance", "-j", f"vllm:m@{server.url}")
    came = done(*options, "--repeat", "3", columns=60)
    for columns in WIDTHS:
        shown = ragstone("show", "last", "r1", columns=columns)
        assert "Repeats" in shown.out
        assert "asked 3 times: " in shown.flat
        again = ragstone("show", "last", columns=columns)
        assert all("Asked 3 times" in screen.out and "flips" in screen.out for screen in (came, again))
        assert not re.search("flips +records", again.out)


def test_repeats_say_that_a_record_was_not_scored_every_time(server: FakeServer) -> None:
    """Their mean is then of other records than the run's."""
    asked: Counter[str] = Counter()

    def answer(request: dict[str, Any]) -> Any:
        asked[said := str(request["messages"])] += 1
        return Scripted("no", status=400) if asked[said] == 2 and "kettle 1" in said else None

    server.configure(answer=answer)
    write("a.jsonl", *(row(n, response=f"This is kettle {n}.") for n in range(4)))
    came = ragstone("run", "a.jsonl", *WHOLE, "-j", f"vllm:m@{server.url}", "--repeat", "2", "--concurrency", "1")
    assert re.search(r"flips +records\n +response_groundedness .* 3 of 4\n", came.out)


# ---- what failed


@pytest.mark.parametrize("written", [("--only-failed",), ("--only-failed", "1"), ("--only-failed=a.jsonl",)])
def test_only_failed_is_written_with_or_without_a_run(server: FakeServer, written: tuple[str, ...]) -> None:
    """Before the file or after it."""
    assert run(server).code == 0
    for came in (run(server, *written), ragstone("run", *written, "a.jsonl", *WHOLE, "-j", f"vllm:m@{server.url}")):
        assert came.code == 0, came.err
        assert "run 1: 4 of 4 results reused; none failed" in came.err or "run 2: 4 of 4" in came.err
        assert "4 results from run" in came.flat
    assert server.count == 4


def test_only_failed_without_a_run_says_so(server: FakeServer) -> None:
    came = run(server, "--only-failed")
    assert came.code == 2
    assert "no run of 'a.jsonl' in .ragstone/ragstone.db to reuse" in came.err
    assert server.count == 0


# ---- the stored calls


def test_the_calls_are_counted(server: FakeServer) -> None:
    """By judge, step and maker, with what no run stands on; the numbers are those of the store."""
    run(server)
    for columns in WIDTHS:
        came = ragstone("cache", "info", columns=columns)
        assert (came.code, came.err) == (0, "")
        assert "response_support" in came.out
    told = ragstone("cache", "info", "--json").json
    assert (told["calls"], told["runs"], told["unused"]) == (4, 1, 0)
    (group,) = told["groups"]
    assert (group["task"], group["calls"]) == ("response_support", 4)
    assert group["bytes"] > 0
    assert group["oldest"] <= group["newest"] <= time.time()
    assert told["bytes"] >= group["bytes"]


def test_versions_are_shown_at_80_columns(server: FakeServer) -> None:
    """They distinguish rows of one judge and step; when a call was made does not."""
    run(server)
    told = ragstone("cache", "info", columns=80).flat
    assert "judge step version calls size" in told
    assert "hidden at this width (newest)" in told


def test_pruning_asks_first(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can be asked it does nothing; who says no keeps all; who says yes has deleted what was said."""
    run(server)
    told = ragstone("cache", "clear", "--runs", "--dry-run", "--json").json
    assert (told["done"], told["calls"], told["runs"]) == (False, 4, [1])
    assert "would be deleted" in ragstone("cache", "clear", "--dry-run").out
    assert "cannot ask for confirmation without a terminal; to delete 4 calls" in refused(
        "cache", "prune", "--older-than", "0m"
    )
    monkeypatch.setattr(setup_commands, "_confirmed", lambda what: False)
    came = ragstone("cache", "clear")
    assert (came.code, came.out, "nothing was deleted" in came.err) == (0, "", True)
    assert ragstone("cache", "info", "--json").json["calls"] == 4
    monkeypatch.setattr(setup_commands, "_confirmed", lambda what: True)
    assert "Deleted 4 calls (4.9 kB). The store shrank from " in ragstone("cache", "clear").flat
    assert ragstone("cache", "info", "--json").json["calls"] == 0
    assert "no calls are stored" in ragstone("cache", "info").out
    assert "Nothing to delete" in ragstone("cache", "clear").out
    assert ragstone("cache", "clear", "--runs").flat == "Deleted the results of 1 run.", "no smaller file"


def test_results_outlive_their_calls(server: FakeServer) -> None:
    """After a clear the run can be shown; the next one pays again."""
    run(server)
    assert ragstone("cache", "clear", "--yes").code == 0
    assert ragstone("show", "1", "r1").code == 0
    assert run(server).code == 0
    assert server.count == 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "nothing selected to delete"),
        (("--older-than", "soon"), "expected a number and m, h, d or w, as in 30d"),
        (("--judge", "nobody"), "no stored calls by a judge 'nobody'; judges are vllm/m@"),
    ],
)
def test_what_cannot_be_pruned_is_usage(server: FakeServer, options: tuple[str, ...], said: str) -> None:
    run(server)
    assert said in refused("cache", "prune", *options)


def test_no_store_is_made_by_looking_for_one() -> None:
    came = ragstone("cache", "info")
    assert (came.code, came.out) == (2, "")
    assert "no store at" in came.err
    assert "\nhint: evaluate records first with 'ragstone run FILE'" in came.err
    assert not Path(".ragstone").exists()


def test_what_is_pruned(server: FakeServer) -> None:
    """Age, judge, use and number of runs: each alone, and all that is said must hold."""
    write("a.jsonl", row(1), row(2))
    write("b.jsonl", row(2), row(3))
    for name, model in (("a.jsonl", "m"), ("b.jsonl", "m"), ("a.jsonl", "n")):
        assert ragstone("run", name, *WHOLE, "-j", f"vllm:{model}@{server.url}").code == 0

    def would(**wanted: Any) -> tuple[int, list[int]]:
        found = api.prune_cache(api.Prune(**wanted), dry_run=True)
        return found.calls, list(found.runs)

    assert would(older_than="1h") == (0, [])
    assert would(older_than="0m") == (5, [])
    assert would(judge=f"vllm/n@{server.url}") == would(judge=f"vllm:n@{server.url}") == (2, [])
    assert would(unused=True) == (0, [])
    assert would(keep_runs=1) == (0, [1, 2])
    assert would(keep_runs=2, unused=True) == (1, [1])
    assert would(keep_runs=1, unused=True) == (3, [1, 2])
    assert would(keep_runs=0, unused=True, judge=f"vllm:n@{server.url}") == (2, [1, 2, 3])
    assert would(keep_runs=0, unused=True, older_than="1h") == (0, [1, 2, 3])
    with pytest.raises(ConfigError):
        would()
    done = api.prune_cache(api.Prune(keep_runs=2, unused=True))
    assert done.done
    assert (done.calls, list(done.runs)) == (1, [1])
    assert [one["run"] for one in ragstone("runs", "--json").json] == [2, 3]
    sent = server.count
    assert ragstone("run", "b.jsonl", *WHOLE, "-j", f"vllm:m@{server.url}").code == 0
    assert server.count == sent


def test_the_calls_of_a_judge_of_ones_own_are_pruned_by_its_name(server: FakeServer) -> None:
    """As on the command line of the run, and not only by the id that the store has it under."""
    Path("own.toml").write_text(f'[judges.j]\nmodel = "m"\nbase_url = "{server.url}"\n', encoding="utf-8")
    write("a.jsonl", row(1), row(2))
    assert ragstone("run", "a.jsonl", *WHOLE, "-j", "j", "--config", "own.toml").code == 0
    assert ragstone("cache", "prune", "--judge", "j", "--yes").code == 2
    told = ragstone("cache", "prune", "--judge", "j", "--config", "own.toml", "--yes", "--json").json
    assert (told["calls"], told["done"]) == (2, True)


def test_calls_of_a_run_that_did_not_end_count_as_used() -> None:
    """The same command will need them."""
    write("a.jsonl", *(row(n) for n in range(30)))
    with FakeServer(dead_after=9) as server:
        options = ("run", "a.jsonl", "-m", "grounding", "-j", f"vllm:m@{server.url}", "--concurrency", "2")
        assert ragstone(*options).code == 3
        assert ragstone("cache", "info", "--json").json["unused"] == 0
        server.configure(dead_after=None)
        assert ragstone(*options).code == 0
        assert server.count == len({json.dumps(request) for request in server.requests if request})


# ---- interrupts


def interrupted(
    server: FakeServer, times: int, *options: str, after: int = 60, by: int = signal.SIGINT, source: str = "a.jsonl"
) -> tuple[int, str, str]:
    """A real process that is interrupted when it has had so many answers: exit code, output, errors."""
    write("a.jsonl", *(row(n) for n in range(80)))
    command = [*COMMAND, "run", source, "-m", "grounding", "-j", f"vllm:m@{server.url}", "--concurrency", "4"]
    surroundings = {**ALONE, "TMPDIR": str(Path.cwd())}
    with (
        Path("a.jsonl").open("rb") as given,
        subprocess.Popen(
            [*command, *options],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=surroundings,
        ) as process,
    ):
        while server.count < after:
            time.sleep(0.005)
            assert process.poll() is None
        for _ in range(times):
            process.send_signal(by)
            time.sleep(0.02)
        out, told = process.communicate(timeout=60)
    return process.returncode, out, told


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_with_a_summary(by: int) -> None:
    """What was in flight came back and is kept; the screen and the store tell what there is; no copy of the input is
    left. So it is with Ctrl-C, with a scheduler's signal, and where the terminal is closed."""
    with FakeServer(latency=0.1) as server:
        code, out, told = interrupted(server, 1, by=by, source="-")
        assert server.seen == {200: server.count}
    assert code == 130
    assert "Traceback" not in told
    assert "records are saved as run 1; all replies are stored; run the same command to continue" in told
    assert not list(Path().glob("ragstone-*"))
    assert "interrupted" in out.splitlines()[1]
    assert "supported by its passages" in " ".join(out.split())
    (kept,) = ragstone("runs", "--json").json
    assert kept["status"] == "interrupted"
    assert 0 < kept["records"] < 80
    assert ragstone("cache", "info", "--json").json["calls"] == server.count


def test_an_interrupt_while_the_input_is_read_ends_at_once() -> None:
    """Nothing more comes from standard input, and one signal is enough; what was copied of it is deleted."""
    command = [*COMMAND, "run", "-", "-q"]
    surroundings = {**ALONE, "TMPDIR": str(Path.cwd())}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings) as process:
        while not list(Path().glob("ragstone-*")):
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert b"interrupted before the first call; nothing was sent" in process.stderr.read()
    assert process.returncode == 130
    assert not list(Path().glob("ragstone-*"))


def test_an_interrupt_without_a_cache_promises_no_replies() -> None:
    """Records that are done wait for no slow one, and are taken over by the command that is named."""

    def answer(request: dict[str, Any]) -> Scripted | None:
        return Scripted("x", delay=3.0) if "kettle 1 " in json.dumps(request) else None

    with FakeServer(answer=answer, latency=0.02) as server:
        code, out, told = interrupted(server, 1, "--no-cache")
        assert code == 130
        kept = ragstone("runs", "--json").json[0]["records"]
        assert 10 < kept < 80
        assert f"{kept} of 80 records are saved as run 1; no reply is stored (--no-cache)" in told
        assert "Resume add --only-failed 1 to reuse these results" in " ".join(out.split())
        assert "add --only-failed 1 to reuse these results" in told
        sent = server.count
        server.configure(answer=None, latency=0.0)
        options = ("-m", "grounding", "-j", f"vllm:m@{server.url}", "--no-cache", "-q")
        assert ragstone("run", "a.jsonl", *options, "--only-failed", "1").code == 0
        assert server.count - sent == 2 * (80 - kept)


def test_a_budget_without_a_cache_promises_no_replies(server: FakeServer) -> None:
    write("a.jsonl", *(row(n) for n in range(5)))
    options = ("a.jsonl", *WHOLE, "-j", f"vllm:m@{server.url}", "--no-cache", "-q")
    came = ragstone("run", *options, "--max-calls", "1")
    assert "--no-cache stores no replies" in came.err
    assert "saved as run 1 (1 record): --only-failed 1 reuses them and evaluates the rest" in came.err
    assert ragstone("run", *options, "--only-failed", "1").code == 0
    assert server.count == 5


def test_a_shard_that_ends_early_shows_its_own_run(server: FakeServer) -> None:
    """Not the run of that number in the other store, nor an error that there is none."""
    for number in (1, 2):
        options = ("-o", "out", "--shard", f"{number}/2", "--max-calls", "2", "-q", "--json")
        came = run(server, *options, count=9)
        assert came.code == 4
        assert "each shard has an equal part of the limits" in came.err
        assert (came.json["status"], came.json["bill"]["sent"]) == ("stopped", 1)
        assert run(server, count=9).code == 0


def test_a_run_that_did_no_record_is_not_told_as_one(server: FakeServer) -> None:
    write("a.jsonl", row(1))
    came = ragstone("compare-methods", "a.jsonl", "-j", f"vllm:m@{server.url}", "--max-calls", "2", "-q")
    assert came.code == 4
    assert "note: no record was finished; stored replies are kept" in came.err
    assert re.search(r"Calls +2 sent\n +Cost +.* tokens in", came.err)


def test_a_wrong_key_on_the_way_leaves_a_bill() -> None:
    """What was answered before the endpoint refused the key, and a check, was paid: the screen has it."""

    def answer(_: object) -> Scripted | None:
        return Scripted("the key was withdrawn", status=401) if refusing.count >= 6 else None

    write("a.jsonl", *(row(n) for n in range(9)))
    with FakeServer(answer=answer) as refusing:
        came = ragstone("run", "a.jsonl", *WHOLE, "-j", f"vllm:m@{refusing.url}", "--concurrency", "1", "-q")
        sent = refusing.seen.total()
    assert (came.code, sent <= 6 + 3) == (3, True)
    assert re.search(rf"Calls +{sent} sent, \d failed\n +Cost +.* tokens in", came.out)
    assert "HTTP 401" in came.err


def test_a_full_disk_leaves_a_bill(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the scores, which cannot be stored; but what was sent was paid."""

    def full(_: Store) -> None:
        raise StoreError("s.db: cannot write (disk full)")

    monkeypatch.setattr(Store, "commit", full)
    came = run(server, "-q")
    assert came.code == 3
    assert re.search(rf"Calls +{server.count} sent\n +Cost +.* tokens in", came.err)
    sent = server.count
    told = json.loads(run(server, "-q", "--json").out)
    assert (told["status"], told["stopped"]) == ("stopped", "s.db: cannot write (disk full)")
    assert told["bill"]["sent"] == server.count - sent > 0


def test_replies_that_are_too_long_are_on_the_bill(monkeypatch: pytest.MonkeyPatch) -> None:
    """They came, and may be charged for: nothing says that no call was needed."""
    monkeypatch.setattr(http, "LONGEST", 1000)
    write("a.jsonl", *(row(n) for n in range(3)))
    with FakeServer(answer=lambda _: "x" * 2000) as server:
        came = ragstone("run", "a.jsonl", *WHOLE, "-j", f"vllm:m@{server.url}", "-q")
    assert re.search(
        r"Calls +3 sent, 3 failed\n +Cost +3 attempts without a complete reply may have been charged", came.out
    )


def test_an_interrupt_as_a_document() -> None:
    """Also then one document, and the exit code tells that it is not of a whole run."""
    with FakeServer(latency=0.1) as server:
        code, out, _ = interrupted(server, 1, "--json")
    assert code == 130
    assert json.loads(out)["status"] == "interrupted"


@pytest.mark.parametrize("times", [2, 3])
def test_impatience_leaves_the_store_whole(times: int) -> None:
    """Not waited for what is in flight, nothing noisy, and the next run goes on from what came."""
    with FakeServer(latency=0.3) as server:
        code, _, told = interrupted(server, times, after=12)
        assert code == 130
        assert "Traceback" not in told
        assert "never retrieved" not in told
        (kept,) = ragstone("runs", "--json").json
        assert kept["status"] == "interrupted"
        paid = ragstone("cache", "info", "--json").json["calls"]
        assert paid == server.count
        server.configure(latency=0.0)
        assert ragstone("run", "a.jsonl", "-m", "grounding", "-j", f"vllm:m@{server.url}", "-q").code == 0
        assert server.count == 160
        assert [run["status"] for run in ragstone("runs", "--json").json] == ["interrupted", "done"]
