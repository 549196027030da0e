"""Measure runs of many records with the embedded judge: speed by workers, memory, sizes, and the commands on the run.

    python benchmarks/scale.py [--records 100000] [--workers 1,2] [--folder DIR]

The records are those of examples/traces.jsonl with every word of their texts permuted by the record's number, so that
no two texts are equal and no verdict can be looked up. Memory is the resident size of every process of a run, sampled
each second; growth is the slope of their sum over the second half of the records. Times of commands are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TRACES = Path(__file__).parents[1] / "examples" / "traces.jsonl"
"""Real questions and answers, from which the records are made."""


def made(records: int) -> Iterator[dict[str, Any]]:
    """Records with texts of their own: the sentences of a trace in another order, each with a number of its own."""
    traces = [json.loads(line) for line in TRACES.read_text().splitlines()]
    traces = [row for row in traces if isinstance(row.get("contexts"), list) and row.get("response")]
    for number in range(records):
        draw = random.Random(number)
        row = traces[number % len(traces)]
        texts = [own(text if isinstance(text, str) else text["text"], draw, number) for text in row["contexts"]]
        yield {
            "id": f"r{number}",
            "question": f"{row['question']} ({number})",
            "response": own(row["response"], draw, number),
            "contexts": texts,
        }


def own(text: str, draw: random.Random, number: int) -> str:
    """The text with its sentences shuffled, and one that no other text has."""
    sentences = text.split(". ")
    draw.shuffle(sentences)
    return ". ".join([*sentences, f"Sheet {number} of lot {draw.randrange(10**9)}."])


def resident(parent: int) -> dict[int, int]:
    """Bytes of memory by process: a process and its children."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                status = (entry / "status").read_text()
                fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
                if int(entry.name) == parent or int(fields["PPid"]) == parent:
                    found[int(entry.name)] = 1024 * int(fields["VmRSS"].split()[0])
            except (OSError, KeyError):
                continue
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


def run(records: int, workers: int, folder: Path) -> dict[str, Any]:
    """Evaluate with so many workers, and watch memory."""
    place = folder / f"w{workers}"
    words = ["run", "records.jsonl", "--workers", str(workers), "-o", str(place), "--store", f"{place}.db", "--quiet"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(ragstone(*words, "--no-report"), cwd=folder, stdout=subprocess.DEVNULL)
    samples: list[tuple[float, dict[int, int]]] = []
    while process.poll() is None:
        time.sleep(1)
        samples.append((time.perf_counter() - began, resident(process.pid)))
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0, process.returncode
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    steady = [(at, sum(found.values())) for at, found in samples if seconds / 2 < at < 0.95 * seconds]
    return {
        "workers": workers,
        "records/s": records / seconds,
        "CPU ms/record": 1000 * cpu / records,
        "peak MB by process": [
            max(found.get(one, 0) for _, found in samples) // 2**20
            for one in sorted({one for _, found in samples for one in found})
        ],
        "growth bytes/record": slope(steady) * seconds / records if len(steady) > 2 else None,
        "store bytes/record": Path(f"{place}.db").stat().st_size / records,
        "results bytes/record": sum(one.stat().st_size for one in place.glob("results*")) / records,
    }


def slope(points: list[tuple[float, int]]) -> float:
    """The slope of the line through points, by least squares."""
    x = sum(at for at, _ in points) / len(points)
    y = sum(size for _, size in points) / len(points)
    return sum((at - x) * (size - y) for at, size in points) / sum((at - x) ** 2 for at, _ in points)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--records", type=int, default=100_000)
    arguments.add_argument("--workers", default="1,2")
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        with (folder / "records.jsonl").open("w") as file:
            file.writelines(json.dumps(record) + "\n" for record in made(given.records))
        print(f"{given.records:,} records, {(folder / 'records.jsonl').stat().st_size / given.records:,.0f} bytes each")
        counts = [int(one) for one in given.workers.split(",")]
        for workers in counts:
            print(run(given.records, workers, folder), flush=True)
        results = {found.read_bytes() for workers in counts for found in (folder / f"w{workers}").glob("results*")}
        print(f"results equal: {len(results) == 1}; load {os.getloadavg()[0]:.1f}")
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


if __name__ == "__main__":
    main()
