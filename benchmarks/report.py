"""Measure the report of 10,000 records: file size, time to write, and time to display in a browser.

``python benchmarks/report.py [RECORDS]`` evaluates the example traces with every metric, copies their results with
other texts until there are enough, writes the report, and opens it three times in Chromium.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import orjson

from ragstone import Run, api, evaluate
from ragstone.analysis.run import find_run
from ragstone.store.database import ResultRow

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "browser"))

from chromium import Chromium, installed  # noqa: E402 - found by the line above

PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
TYPED = """(() => {
  const search = document.querySelector('#search'), began = performance.now();
  search.value += 'WORD'; search.dispatchEvent(new Event('input'));
  document.querySelector('.shown').getBoundingClientRect();
  return THEN; })()"""
"""Letters typed into the search, and how long it was until the table was drawn again."""


def copied(few: Run, records: int) -> Run:
    """A run of so many records: the few, over and over, with every word of their texts in another order."""
    chooser = random.Random(0)
    results = list(few.results())
    number = few.store.start_run(f"{records:,} records", dict(few.spec))
    few.store.begin()
    for place in range(1, records + 1):
        old = results[place % len(results)]
        words = [context["text"].split() for context in old["contexts"]]
        for text in words:
            chooser.shuffle(text)
        contexts = [{**context, "text": " ".join(text)} for context, text in zip(old["contexts"], words, strict=True)]
        result = {**old, "id": f"{old['id']}-{place}", "position": place, "contexts": contexts}
        scores = [
            score._replace(position=place)
            for score in few.store.scores(few.id, after=old["position"] - 1, until=old["position"])
        ]
        few.store.insert([], [(number, ResultRow(place, result["id"], orjson.dumps(result)), scores)])
    few.store.commit()
    return find_run(few.store, number)


def main() -> int:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few = evaluate(ROOT / "examples" / "traces.jsonl", "all", store=folder / "store.db")
        run = copied(few, records)
        started = time.perf_counter()
        path = api.write_report(run, folder / "report.html")
        took = time.perf_counter() - started
        print(f"{records:,} records, {len(few.summary()['metrics'])} scores each")
        print(f"written in {took:.1f} s, {path.stat().st_size / 1e6:.1f} MB")
        program = installed()
        if program is None:
            print("no Chromium is installed: nothing was opened")
            return 0
        painted, shown, opened, read, typed = [], [], [], [], []
        with Chromium(program) as browser:
            browser.size(1280, 900)
            for _ in range(3):
                browser.open(path.as_uri())
                painted.append(browser.evaluate(PAINTED))
                shown.append(browser.evaluate("performance.getEntriesByName('rows')[0]?.startTime ?? NaN"))
                first = browser.evaluate(TYPED.replace("WORD", "stone").replace("THEN", "began"))
                browser.until("performance.getEntriesByName('texts').length")
                read.append(browser.evaluate("performance.getEntriesByName('texts')[0].startTime") - first)
                typed.append(
                    browser.evaluate(TYPED.replace("WORD", " bridge").replace("THEN", "performance.now() - began"))
                )
                began = time.perf_counter()
                browser.evaluate(f"location.hash = 'record={records // 2}'; 0")
                browser.until("document.querySelector('.case-head')")
                opened.append(1000 * (time.perf_counter() - began))
        print(f"first paint {statistics.median(painted):.0f} ms, all rows read {statistics.median(shown):.0f} ms")
        print(f"whole texts searched in {statistics.median(read):.0f} ms, then {statistics.median(typed):.0f} ms")
        print(f"a record opened in {statistics.median(opened):.0f} ms")
        few.store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
