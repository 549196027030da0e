"""Measure the engine's overhead per call: CPU, throughput and memory against a bare HTTP client.

    python benchmarks/engine.py                  # 300 and 1,500 records, concurrency 64 and 256
    python benchmarks/engine.py --records 300 --concurrency 64

The fake endpoint answers after 100 ms. It and the two clients are processes of their own. First
Ragstone evaluates generated records (five contexts of 120 words) by the metric ``grounding``, two calls per
record, with its store and files on disk but without the page (see ``report.py``). Then a bare aiohttp client posts
exactly the calls in the store. Both have a warm-up of 20 calls that is not counted (imports, templates,
first connections); a cold figure includes it. CPU is the process's own user and system time,
all threads. Machines are noisy: compare the ratio of two lines of one round, and quote the median of the
rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragstone.testing import FakeServer

WORDS = (  # noqa: SIM905 - a list of words reads better as words
    "river stone turbine glacier orchard lantern harbour copper meadow signal timber archive beacon canyon "
    "delta ember fjord granite hollow island juniper kettle ledger marble nickel orbit pepper quarry ridge "
    "saddle tunnel umbrella valley willow yarn zinc bridge cellar drum engine forest garden hammer ink jacket"
).split()


def records(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Records of five contexts of 120 words and a response of four sentences, two of them from the contexts."""
    chooser = random.Random(seed)

    def sentence() -> str:
        return " ".join(chooser.choices(WORDS, k=12)).capitalize() + "."

    for number in range(count):
        contexts = [" ".join(sentence() for _ in range(10)) for _ in range(5)]
        quoted = [chooser.choice(context.split(". ")).rstrip(".") + "." for context in contexts[:2]]
        yield {
            "id": f"r{seed}-{number}",
            "question": f"What is said of the {chooser.choice(WORDS)} and the {chooser.choice(WORDS)}?",
            "contexts": contexts,
            "response": " ".join([*quoted, sentence(), sentence()]),
        }


def measured(work: Any) -> dict[str, float]:
    """CPU and wall seconds of a call of ``work``, and the peak memory of this process so far in MB (Linux)."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def write(path: Path, count: int, seed: int) -> None:
    """A file of records."""
    with path.open("w", encoding="utf-8") as file:
        for record in records(count, seed):
            file.write(json.dumps(record) + "\n")


def ragstone(url: str, concurrency: int, folder: Path) -> dict[str, float]:
    """Weigh the file of records; the store stays for the bare client."""
    cold_wall, cold_cpu = time.perf_counter(), time.process_time()
    from ragstone.api import evaluate  # noqa: PLC0415 - importing it is part of the cold figure

    def weigh(name: str) -> Any:
        judge = f"vllm:bench@{url}"
        files: dict[str, Any] = {"store": folder / f"{name}.db", "out": folder / name, "report": False}
        return evaluate(folder / f"{name}.jsonl", ["grounding"], judge, concurrency=concurrency, **files)

    weigh("warm")
    runs: list[Any] = []
    figures = measured(lambda: runs.append(weigh("bench")))
    figures["calls"] = runs[0].summary()["bill"]["sent"]
    figures["cold_cpu"] = time.process_time() - cold_cpu
    figures["cold_wall"] = time.perf_counter() - cold_wall
    return figures


def bare(url: str, concurrency: int, folder: Path) -> dict[str, float]:
    """Post the calls that the store holds, and read the replies as JSON: the least that any client must do."""
    import aiohttp  # noqa: PLC0415 - only in the bare client's process
    import orjson  # noqa: PLC0415 - see above

    from ragstone.store.database import Store  # noqa: PLC0415 - see above

    with Store(folder / "bench.db") as store:
        bodies = [call.request for key in store.call_keys() if (call := store.call(key))]

    async def post(some: list[bytes]) -> None:
        left = iter(some)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, headers={"Content-Type": "application/json"}) as session:

            async def work() -> None:
                for body in left:
                    async with session.post(f"{url}/chat/completions", data=body) as response:
                        orjson.loads(await response.read())

            await asyncio.gather(*(work() for _ in range(concurrency)))

    async def both() -> dict[str, float]:
        await post(bodies[:20])
        wall, cpu = time.perf_counter(), time.process_time()
        await post(bodies)
        return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}

    figures = asyncio.run(both())
    figures["calls"] = len(bodies)
    figures["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def in_process(*arguments: str) -> dict[str, float]:
    """Run this file again as one side of the comparison."""
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--records", type=int, nargs="+", default=[300, 1500])
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", nargs=4, metavar=("SIDE", "URL", "CONCURRENCY", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        side, url, concurrency, folder = arguments.side
        if side == "ragstone":
            figures = ragstone(url, int(concurrency), Path(folder))
        else:
            figures = bare(url, int(concurrency), Path(folder))
        print(json.dumps(figures))
        return
    print(f"{'':34}CPU ms a call      calls a second     {'':14}peak MB")
    print(f"{'records  concurrency  calls':34}ours  bare  ratio   ours   bare  ratio   cold CPU ms    ours")
    for count in arguments.records:
        for concurrency in arguments.concurrency:
            rounds = [_round(arguments.latency, count, concurrency) for _ in range(arguments.rounds)]
            middle = {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]}
            print(
                f"{count:7}  {concurrency:11}  {middle['calls']:5.0f}       "
                f"{middle['cpu']:5.2f} {middle['bare_cpu']:5.2f} {middle['cpu'] / middle['bare_cpu']:6.1f}  "
                f"{middle['rate']:5.0f}  {middle['bare_rate']:5.0f}  {middle['share']:5.2f}   "
                f"{middle['cold_cpu']:11.2f}   {middle['memory']:5.0f}",
                flush=True,
            )


def _round(latency: float, count: int, concurrency: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, FakeServer(latency=latency, keep=0) as server:
        write(Path(folder) / "warm.jsonl", 10, seed=1)
        write(Path(folder) / "bench.jsonl", count, seed=2)
        ours = in_process("--side", "ragstone", server.url, str(concurrency), folder)
        theirs = in_process("--side", "bare", server.url, str(concurrency), folder)
    calls = ours["calls"]
    return {
        "calls": calls,
        "cpu": 1000 * ours["cpu"] / calls,
        "bare_cpu": 1000 * theirs["cpu"] / theirs["calls"],
        "rate": calls / ours["wall"],
        "bare_rate": theirs["calls"] / theirs["wall"],
        "share": (calls / ours["wall"]) / (theirs["calls"] / theirs["wall"]),
        "cold_cpu": 1000 * ours["cold_cpu"] / calls,
        "memory": ours["memory"],
    }


if __name__ == "__main__":
    main()
