"""Compare a run's judge with people's labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from ragstone.analysis.agreement import DISAGREEMENTS, Agreement
from ragstone.analysis.agreement import agree as agree_with
from ragstone.analysis.corrected_means import Method
from ragstone.api.comparing import RunChoice, opened
from ragstone.errors import ConfigError
from ragstone.labels import read_labels


def agree(
    run: RunChoice,
    gold: str | Path | Sequence[str | Path],
    *,
    metrics: Sequence[str] | str | None = None,
    by: str | None = None,
    correction: Method = "ppi",
    disagreements: int = DISAGREEMENTS,
    store: Path | str | None = None,
) -> Agreement:
    """Compare a run's verdicts with people's labels; no judge is called.

    Gives kappa and its interval, the confusion matrix and further measures of each metric, and each mean corrected for
    the judge's errors::

        ragstone.agree("last", "labels.jsonl")["grounding"].items.kappa

    Args:
        run: The run: its number, name or folder, ``last``, or an opened run.
        gold: The file of labels, or several.
        metrics: The metrics to compare; all that have labels unless named.
        by: A field that groups the records: ``topic``, ``question`` or ``meta.NAME``.
        correction: ``ppi`` (prediction-powered inference) or ``rogan_gladen`` (the share of units that pass, on a scale
            of two labels).
        disagreements: How many of the largest disagreements to list.
        store: The store of the run; the configured one unless given.

    Returns:
        The agreement by metric, the corrected means, and the labels that did not join.

    Raises:
        InputError: A file is no file of labels, no label joins, or the run lacks a metric.
        ConfigError: The correction is unknown.
    """
    if correction not in get_args(Method):
        raise ConfigError(f"correction '{correction}'; expected {' or '.join(get_args(Method))}")
    sources = [gold] if isinstance(gold, str | Path) else list(gold)
    with opened(run, store) as one:
        return agree_with(
            one, [row for given in sources for row in read_labels(given)], gold=[str(given) for given in sources],
            metrics=[metrics] if isinstance(metrics, str) else metrics, by=by, correction=correction,
            disagreements=disagreements,
        )  # fmt: skip
