"""Build the page of a store's runs: a list with their means, the trend of each metric, and two to compare.

Guarantees: the page is built only from summaries, however large the runs are.
"""

from __future__ import annotations

from typing import Any, Final

from ragstone import __version__
from ragstone.analysis.run import Run
from ragstone.metrics.methods import command_of
from ragstone.render.facts import judges_of, lead
from ragstone.render.html.document import page
from ragstone.render.wording import card_order, measures
from ragstone.store.database import Store

MOST: Final = 500
"""Maximum number of runs listed, the latest ones."""


def runs_page(store: Store) -> list[bytes]:
    """Return the parts of the page of a store's runs."""
    rows = store.runs()
    runs = [_row(Run(store, row)) for row in rows[-MOST:]]
    names = dict.fromkeys(name for run in runs for name in run["metrics"])
    first = {
        "ragstone": __version__,
        "root": "./",
        "store": store.path,
        "all": len(rows),
        "runs": runs[::-1],
        "metrics": sorted(names, key=card_order),
        "measures": measures(names),
    }
    return page("runs", "Runs", first, (), live=True)


def _row(run: Run) -> dict[str, Any]:
    summary = run.summary()
    bill = summary.get("bill") or {}
    return {
        "run": run.id,
        "name": run.name,
        "command": command_of(run.spec),
        "started": run.started,
        "status": run.status,
        "input": [run.spec.get(part) for part in ("input", "extent", "bank")],
        "records": summary["records"],
        "judges": judges_of(run.spec),
        "lead": lead(summary),
        "dollars": bill["paid"]["dollars"] if bill else None,
        "seconds": summary.get("seconds"),
        "metrics": {
            name: [entry["mean"], *(entry["interval"] or (None, None)), entry["scored"], entry["signature"]]
            for name, entry in summary["metrics"].items()
            if entry["mean"] is not None
        },
    }
