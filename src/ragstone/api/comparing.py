"""Two runs held against each other, and a run against thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ragstone.api.stored import open_run
from ragstone.report.compare import MOVED, Comparison
from ragstone.report.compare import compare as compare_runs
from ragstone.report.run import Run
from ragstone.report.saved import SavedRun, Weighed, saved


def compare(
    first: str | int | Path | Weighed,
    second: str | int | Path | Weighed,
    *,
    by: str | None = None,
    metrics: Sequence[str] | str | None = None,
    moved: int = MOVED,
    store: Path | str | None = None,
) -> Comparison:
    """Hold the second run against the first: by number, by name, ``last``, or the folder that it was written to.

    ``by`` is a field by which records belong together, as ``meta.topic``; ``metrics`` are those to compare, all that
    both have unless named; ``moved`` how many records are listed of each that moved most. InputError where nothing can
    be paired.
    """
    wanted = [metrics] if isinstance(metrics, str) else metrics
    with weighed(first, store) as one, weighed(second, store) as other:
        return compare_runs(one, other, by=by, metrics=wanted, moved=moved)


@contextmanager
def weighed(which: str | int | Path | Weighed, store: Path | str | None = None) -> Iterator[Weighed]:
    """A run of the store, or of a folder where there is one of that name; what is opened here is closed again."""
    if not isinstance(which, str | int | Path):
        yield which
        return
    found: SavedRun | Run | None = saved(str(which)) if not isinstance(which, int) else None
    if found is None:
        found = open_run(str(which), store)
    try:
        yield found
    finally:
        if isinstance(found, Run):
            found.store.close()
