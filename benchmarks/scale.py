"""Measure runs of many records: speed by workers, memory, sizes, and the commands on the run.

    python benchmarks/scale.py [--records 100000] [--workers 1,2] [-m METRICS] [--folder DIR]

``-m retrieval_ranking`` asks no judge and makes 10⁶ records feasible; without it the embedded judge evaluates. No two
texts are equal, so that nothing is looked up, and their words are drawn one by one, so that they compress no better
than real ones do: ``zstd`` leaves 9% of the results of RAGBench's traces.

Memory is private memory, sampled five times a second. ``growth`` is the slope of the sum of all processes over the
records in the second half (the table of ids takes 12 to 18 bytes, in steps; caches of the embedded judge, which are
bounded, fill for some 10⁴ records of a process); ``end`` is what the summary adds to it at most. Times of commands are
CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from ragstone.output.files import LEVEL

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TRACES = Path(__file__).parents[1] / "examples" / "traces.jsonl"
"""Real questions and answers, from whose words the records are made."""
SENTENCES = 4
"""Sentences of a passage."""


def made(records: int) -> Iterator[dict[str, Any]]:
    """Records of three passages; of a response every other sentence is one of a passage."""
    rows = [json.loads(line) for line in TRACES.read_text().splitlines()]
    texts = [row["response"] for row in rows] + [text for row in rows for text in row["contexts"]]
    words = [
        word.strip('.,;:()"') for text in texts if isinstance(text, str) and text.isascii() for word in text.split()
    ]
    for number in range(records):
        draw = random.Random(number)
        passages = [[sentence(words, draw) for _ in range(SENTENCES)] for _ in range(3)]
        said = [draw.choice(passages[0]), sentence(words, draw), draw.choice(passages[1])]
        yield {
            "id": f"r{number}",
            "question": f"{sentence(words, draw)[:-1]}?",
            "response": " ".join(said),
            "contexts": [{"id": f"p{place}", "text": " ".join(text)} for place, text in enumerate(passages)],
            "relevant": {f"p{draw.randrange(4)}": 1},
        }


def sentence(words: list[str], draw: random.Random) -> str:
    """Words as often as they come in the traces, and a number."""
    return " ".join([*draw.choices(words, k=draw.randrange(8, 18)), str(draw.randrange(2000))]).capitalize() + "."


def private(parent: int) -> dict[int, int]:
    """Bytes of memory by process that are its own: a process and its children."""
    found = {}
    with suppress(OSError):
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        for one in (str(parent), *children):
            with suppress(OSError, KeyError):
                status = Path("/proc", one, "status").read_text().splitlines()
                fields = dict(line.split(":", 1) for line in status if ":" in line)
                found[int(one)] = 1024 * sum(int(fields[name].split()[0]) for name in ("RssAnon", "VmSwap"))
    return found


def ragstone(*words: str) -> list[str]:
    return [sys.executable, "-m", "ragstone", *words]


def timed(command: list[str], folder: Path) -> tuple[float, float, float]:
    """CPU seconds, seconds, and peak megabytes of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    watched = [sys.executable, "-c", WATCHED, *command]
    done = subprocess.run(watched, cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - began, float(done.stderr.splitlines()[-1]) / 1024


WATCHED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


def run(records: int, workers: int, metrics: list[str], folder: Path) -> dict[str, Any]:
    """Evaluate with so many workers, and watch memory."""
    place = folder / f"w{workers}"
    words = ["run", "records.jsonl", *metrics, "--workers", str(workers), "-o", str(place), "--store", f"{place}.db"]
    shutil.rmtree(place, ignore_errors=True)
    Path(f"{place}.db").unlink(missing_ok=True)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        ragstone(*words, "--quiet", "--no-report", "--no-estimate"), cwd=folder, stdout=subprocess.DEVNULL
    )
    samples: list[tuple[int, dict[int, int]]] = []
    while process.poll() is None:
        time.sleep(0.2)
        written = sum(one.stat().st_size for one in place.glob("results.jsonl*"))
        samples.append((written, private(process.pid)))
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, process.returncode
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    each = (place / "results.jsonl").stat().st_size / records
    steady = [(size / each, sum(found.values())) for size, found in samples if 0.5 < size / each / records < 0.99]
    ending = max(sum(found.values()) for size, found in samples if size / each / records >= 0.99)
    return {
        "workers": workers,
        "records/s": round(records / seconds),
        "CPU ms/record": round(1000 * cpu / records, 2),
        "peak MB by process": [
            max(found.get(one, 0) for _, found in samples) // 2**20
            for one in sorted({one for _, found in samples for one in found})
        ],
        "growth bytes/record": round(slope(steady)),
        "end bytes/record": round(max(0, ending - steady[-1][1]) / records),
        "store bytes/record": round(Path(f"{place}.db").stat().st_size / records),
        "results bytes/record": round(each),
    }


def compressed(path: Path) -> int:
    """The bytes of a file as ``run --zstd`` writes it."""
    size, packer = 0, zstd.ZstdCompressor(LEVEL)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            size += len(packer.compress(part))
    return size + len(packer.flush())


def viewed(store: list[str], records: int, folder: Path) -> None:
    """Print what it takes to serve a run: the first screen, all scores, all that the results say besides."""
    process = subprocess.Popen(
        ragstone("view", "last", "--no-open", "--json", *store), cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        address = json.loads(text)["address"]
        for name, kind, count in (("page", "", 1), ("scores", "rows-", 1000), ("results", "more-", 1000)):
            began = time.perf_counter()
            names = [""] if not kind else [f"data/{kind}{number}" for number in range(-(-records // count))]
            size = sum(len(urlopen(address + one).read()) for one in names)
            took = time.perf_counter() - began
            peak = sum(private(process.pid).values()) / 2**20
            print(f"view {name:7} {took:9.1f} s {size / 2**20:7,.0f} MB sent, {peak:,.0f} MB of memory", flush=True)
    finally:
        process.terminate()
        process.wait()


def slope(points: list[tuple[float, int]]) -> float:
    """The slope of the line through points, by least squares."""
    x = sum(at for at, _ in points) / len(points)
    y = sum(size for _, size in points) / len(points)
    return sum((at - x) * (size - y) for at, size in points) / sum((at - x) ** 2 for at, _ in points)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--records", type=int, default=100_000)
    arguments.add_argument("--workers", default="1,2")
    arguments.add_argument("-m", "--metrics")
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args()
    metrics = ["-m", given.metrics] if given.metrics else []
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).absolute()
        folder.mkdir(exist_ok=True)
        with (folder / "records.jsonl").open("w") as file:
            file.writelines(json.dumps(record) + "\n" for record in made(given.records))
        size = (folder / "records.jsonl").stat().st_size
        packed = compressed(folder / "records.jsonl")
        print(
            f"{given.records:,} records, {size / given.records:,.0f} bytes each, {packed / given.records:,.0f} by zstd"
        )
        counts = [int(one) for one in given.workers.split(",")]
        for workers in counts:
            print(run(given.records, workers, metrics, folder), flush=True)
        found = [folder / f"w{workers}" / "results.jsonl" for workers in counts]
        print(f"results by zstd: {compressed(found[0]) / given.records:,.0f} bytes a record")
        equal = all(subprocess.run(["cmp", "-s", found[0], one], check=False).returncode == 0 for one in found)
        print(f"results equal: {equal}; load {os.getloadavg()[0]:.1f}")
        store = ["--store", str(folder / f"w{counts[-1]}.db")]
        commands = {
            "show": ["show", *store],
            "show RECORD": ["show", "last", f"r{given.records - 1}", *store],
            "runs": ["runs", *store],
            "compare": ["compare", str(folder / f"w{counts[0]}"), "last", *store],
            "report": ["report", "last", "-o", str(folder / "report.html"), *store],
            "export": ["export", "last", "-o", str(folder / "scores.csv"), *store],
        }
        for name, words in commands.items():
            cpu, seconds, peak = timed(ragstone(*words), folder)
            print(f"{name:12} {cpu:7.1f} CPU s {seconds:7.1f} s {peak:7,.0f} MB", flush=True)
        viewed(store, given.records, folder)


if __name__ == "__main__":
    main()
