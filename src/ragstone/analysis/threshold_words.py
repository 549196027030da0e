"""Word the parts of messages about thresholds: runs, values and limits, drops, intervals."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable

from ragstone.analysis.run import Run
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.scored import RecordScores
from ragstone.stats.means import HAIR
from ragstone.stats.points import distance, points


def called(run: AnyRun) -> str:
    """Return what messages call a run: its name and number."""
    return f"{run.name} (run {run.id})" if run.id else run.name


def attaching(run: AnyRun) -> str:
    """Return the command that attaches an agreement with people to a run."""
    which, store = (str(run.id), run.elsewhere) if isinstance(run, Run) else (shlex.quote(str(run.path.parent)), "")
    return f"ragstone agree {which} labels.jsonl --attach {store}".rstrip()


def why_without(records: Iterable[RecordScores], metric: str) -> str:
    """Return why records have no value for a metric, by status."""
    counts = Counter(why for one in records if (why := one.why_without(metric)))
    why = ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
    return f" ({why})" if why else ""


def limit_said(value: float) -> str:
    """Format a limit in percent, as given."""
    return f"{round(100 * value, 6):g}"


def told_apart(value: float, limit: float, count: int, least: int = 0) -> tuple[str, str]:
    """Format a value and its limit in percent, with enough decimals to show on which side of the limit it is.

    ``least`` is the number of additional decimals that the value has in any case.
    """
    shown = [points(value, count, more=more) for more in range(least, 6)]
    fitting = (text for text in shown if _side(float(text) - 100 * limit) == _side(value - limit))
    return f"{next(fitting, shown[0])}%", f"{limit_said(limit)}%"


def _side(difference: float) -> int:
    return (difference > HAIR) - (difference < -HAIR)


def drop_said(kind: str, limit: float) -> str:
    """Describe a limit on drops, e.g. ``must not drop by more than 2 points`` or ``no record may drop``."""
    text = limit_said(limit)
    most = f" more than {text} point{'' if text == '1' else 's'}" if limit else ""
    start = "no record may drop" if kind == "max_record_drop" else "must not drop"
    return start + (f" by{most}" if most else "")


def points_said(difference: float) -> str:
    """Format the size of a difference in points."""
    return f"{distance(100 * difference)} points"


def interval_said(low: float | None, high: float | None, told: Callable[[float], str]) -> str:
    """Format both ends of an interval; empty if there is none."""
    return "" if low is None or high is None else f" (95% CI {told(low)} to {told(high)})"
