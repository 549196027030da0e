"""Measure the pages of ``ragstone view`` for a run of 100,000 records in a browser.

``python benchmarks/view.py [RECORDS] [STORE]`` copies the results of the example traces with other texts until there
are enough, serves the store, and opens the run in Chromium: first paint, all scores, all results, filters, a search.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from ragstone import api, evaluate
from ragstone.analysis.run import Run, find_run
from ragstone.store.database import Store
from report import PAINTED, ROOT, copied

sys.path.append(str(ROOT / "tests" / "browser"))

from chromium import Chromium, installed

FILTERS = {
    "verdict": "verdict=no&judged=grounding",
    "score": "in=grounding:0-0.5",
    "group": "field=topic&value=culture",
    "text in passages": "q=WORD",
    "two filters": "status=scored&verdict=partly",
    "another order": "sort=groundedness",
}
WORDS = ("limescale", "bridge", "kettle", "tablets", "bicycle")
"""One for each time: what was found last is not asked for again."""
TIMED = """(async () => {
  const shown = document.querySelector('.shown');
  location.hash = 'page=2';
  await new Promise((then) => setTimeout(then, 600));
  const before = shown.textContent, began = performance.now();
  location.hash = HASH;
  while (shown.textContent === before || /reading/.test(shown.textContent)
    || [...document.querySelectorAll('.question')].some((one) => one.textContent === '\\u2026'))
    await new Promise((then) => setTimeout(then, 1));
  document.body.getBoundingClientRect();
  return performance.now() - began; })()"""
"""Milliseconds from a change of the address until its records are there with their texts."""


def made(path: Path, records: int) -> Run:
    """A finished run of so many records."""
    few = evaluate(ROOT / "examples" / "traces.jsonl", store=path, judge="embedded")
    run = copied(few, records)
    few.store.finish_run(run.id, "done", {**run.summary(), "bill": few.summary()["bill"], "seconds": 0.0})
    few.store.close()
    return run


def measured(browser: Chromium, address: str) -> None:
    """Print what it takes to open a run and to filter it."""
    painted = []
    for _ in range(3):
        browser.send("Page.navigate", url="about:blank")
        browser.send("Page.navigate", url=address)
        browser.until("performance.getEntriesByName('first-contentful-paint').length")
        painted.append(browser.evaluate(PAINTED))
    print(f"first paint {painted[0]:.0f} ms, then {statistics.median(painted[1:]):.0f} ms")
    for mark, what in (("rows", "all scores"), ("results", "all results")):
        began = time.monotonic()
        while not (at := browser.evaluate(f"performance.getEntriesByName('{mark}')[0]?.startTime ?? 0")):
            assert time.monotonic() - began < 600
            time.sleep(0.5)
        print(f"{what} read {at / 1000:.1f} s after the page was opened")
    for name, fragment in FILTERS.items():
        times = [browser.evaluate(TIMED.replace("HASH", repr(fragment.replace("WORD", word)))) for word in WORDS]
        print(f"{name}: {statistics.median(times):.0f} ms (slowest {max(times):.0f})")


def main() -> int:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    program = installed()
    if program is None:
        print("no Chromium is installed")
        return 1
    with tempfile.TemporaryDirectory() as name:
        path = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(name) / "store.db"
        if not path.exists():
            made(path, records)
        with Store(path) as store, api.serving(store) as live, Chromium(program) as browser:
            run = find_run(store, "last")
            threading.Thread(target=live.serve_forever, daemon=True).start()
            print(f"{len(run):,} records, {len(run.summary()['metrics'])} scores each")
            browser.size(1280, 900)
            measured(browser, f"{live.address}run/{run.id}/")
            live.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
