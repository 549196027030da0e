"""Draw the pictures of pages that the README and the docs show, from the example traces.

python docs/screens.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ragstone import evaluate, label
from ragstone.api import write_report

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "browser"))

from chromium import Chromium, installed  # noqa: E402 - the tests' browser

RECORD = "axolotl-limb"
LABELLED = 4
"""Claims labelled before the picture of the label page; from 5 on it would show the pace of a program."""
PROGRESS = "document.querySelector('.progress').getAttribute('aria-valuenow')"


def main() -> None:
    """A first screen, a record with one of its claims under the pointer, and a claim to label."""
    if sys.argv[1:]:
        raise SystemExit(f"it takes no arguments, and draws anew: {sys.argv[1:]}")
    program = installed()
    if program is None:
        raise SystemExit("no Chromium is installed: apt-get install chromium")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        run = evaluate(HERE.parent / "examples" / "traces.jsonl", "all", store=folder / "store.db")
        page = write_report(run, folder / "report.html")
        position = run[RECORD]["position"]
        with Chromium(program) as browser:
            browser.prefers("light")
            browser.size(1280, 720)
            browser.open(page.as_uri())
            browser.picture(HERE / "images" / "report.png")
            browser.size(1280, 700)
            browser.open(f"{page.as_uri()}#record={position}")
            browser.hover(".left .mark")
            browser.picture(HERE / "images" / "record.png")
            label(run, folder / "label.html", n=15, annotator="ana")
            browser.open((folder / "label.html").as_uri())
            for done in range(LABELLED):
                browser.until(f"document.querySelector('.work') && {done} == {PROGRESS}")
                browser.press("1")
            browser.until(f"{LABELLED} == {PROGRESS}")
            browser.picture(HERE / "images" / "label.png")
        run.store.close()


if __name__ == "__main__":
    main()
