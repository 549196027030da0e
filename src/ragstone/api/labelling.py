"""Draw records from a run and write the page on which a person labels them; match imported labels to a run."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ragstone.analysis.gold import gold_rows
from ragstone.analysis.gold_join import join
from ragstone.analysis.labelling import RECORDS, LabelSample, ratable, sample
from ragstone.analysis.run import Run
from ragstone.api.comparing import RunChoice, opened, sources
from ragstone.api.stored import run_named
from ragstone.errors import ConfigError, InputError
from ragstone.metrics import of_score
from ragstone.output.target import write_parts
from ragstone.records.label_imports import Imported, import_labels
from ragstone.render.html.labelling import LABELS, label_page
from ragstone.render.wording import lead_order, scored_by

if TYPE_CHECKING:
    from ragstone.analysis.saved import AnyRun


def label(
    run: RunChoice = "last",
    out: Path | str = "label.html",
    *,
    n: int = RECORDS,
    seed: int = 0,
    metric: str | None = None,
    annotator: str = "",
    by: str | None = None,
    worst: bool = False,
    against: RunChoice | None = None,
    store: Path | str | None = None,
) -> LabelSample:
    """Draw records from a run and write one HTML file in which a person labels their units; no judge is called.

    The page does not show the judge's verdicts. Labels are kept in the browser; export them as JSON Lines::

        drawn = ragstone.label("main", "label.html", n=50)
        print(drawn.units, drawn.minutes)

    Args:
        run: The run: its number, name or folder, ``last``, or an opened run.
        out: The HTML file.
        n: How many of the scored records to draw; all their units are labelled.
        seed: The random seed. The draw does not depend on the order of the records.
        metric: The metric whose units are labelled. Default: the run's main metric.
        annotator: The annotator's name. By default, the page asks for it.
        by: Stratify the sample by a field: ``topic``, ``question`` or ``meta.NAME``.
        worst: Draw the records on which judges disagree most. Their labels are not used for corrected means or
            intervals.
        against: Another run of the same records, for ``worst``.
        store: The store of the runs; the configured one unless given.

    Returns:
        The records and units drawn, with the labels and their meanings.

    Raises:
        InputError: The run has no verdicts to label, or none for that metric.
        ConfigError: An option is out of range, or the file cannot be written.
    """
    if n < 1:
        raise ConfigError(f"n is {n}; expected at least 1 record")
    if worst and by:
        raise ConfigError("--by is for a random draw; leave out --worst or --by")
    if against is not None and not worst:
        raise ConfigError("--against is only for --worst; add it")
    with opened(run, store) as one, nullcontext() if against is None else opened(against, store) as other:
        drawn = sample(one, holder(one, metric), n=n, seed=seed, by=by, worst=worst, against=other)
        inputs = [source for each in (one, other) if each for source in sources(each)]
        write_parts(Path(out), label_page(drawn, one.name, agree_command(one, LABELS), annotator), inputs)
    return drawn


def exported(annotator: str) -> str:
    """Return the name of the file with the labels that an annotator exports (empty: any), as the page names it."""
    return LABELS.replace("NAME", re.sub(r"[^\w.-]+", "-", annotator) or "NAME")


def agree_command(run: AnyRun, file: Path | str) -> str:
    """Return the command that compares a run's judge with the labels in a file."""
    called, elsewhere = (run.called, run.elsewhere) if isinstance(run, Run) else (str(run.path), "")
    return f"ragstone agree {shlex.quote(called)} {shlex.quote(str(file))} {elsewhere}".rstrip()


def holder(run: AnyRun, metric: str | None) -> str:
    """Return the score that has the verdicts of a metric (default: the main one); raise InputError if there is none."""
    names = ratable(run)
    if not names:
        raise InputError(f"run {run.name}: no record has a score with verdicts, so there is nothing to label")
    if metric is None:
        return min(names, key=lead_order)
    if metric in names:
        return metric
    for name in names:
        # The columns of most metrics share their verdicts; criteria have verdicts of their own.
        if metric.partition(".")[0] == name.partition(".")[0] and not (of_score(name).open_columns and "." in metric):
            return name
    known = ", ".join(dict.fromkeys(scored_by(name) for name in names))
    raise InputError(f"run {run.name}: no verdicts for '{metric}' to label; there are verdicts for {known}")


def labels_for(run: AnyRun, given: str, task: str = "", store: Path | str | None = None) -> Imported:
    """Return labels that match units of a run; the others are counted as skipped, by reason.

    ``given`` is what `agree` accepts as gold labels; ``task`` applies to labels of a file that name none.
    """
    if task:
        found = import_labels(given, task)
    else:
        gold = gold_rows(given, run, lambda name: run_named(name, store))
        found = Imported(gold.rows, Counter(gold.skipped))
    joined = join(run, found.rows)
    found.rows = [row for row in found.rows if id(row) in joined.joined]
    found.skipped.update({refused.said: refused.count for refused in joined.refused.values()})
    return found
