"""Compare the verdicts of a run's judge with people's labels."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, get_args

import orjson
from msgspec.structs import replace

from ragstone.analysis.agreement import DISAGREEMENTS, PEOPLE, Agreement, attached
from ragstone.analysis.agreement import agree as agree_with
from ragstone.analysis.corrected_means import Method
from ragstone.analysis.gold import gold_rows
from ragstone.analysis.run import Run
from ragstone.analysis.saved import AnyRun
from ragstone.api.comparing import RunChoice, opened, sources
from ragstone.api.stored import run_named
from ragstone.errors import ConfigError
from ragstone.output.target import whole, write_parts
from ragstone.result_types import AgreementDict

ON_PAGE: Final = 100
"""The minimum number of disagreements that a page lists, if there are as many."""


def agree(
    run: RunChoice,
    gold: str | Path | Sequence[str | Path],
    *,
    others: Sequence[RunChoice] = (),
    metrics: Sequence[str] | str | None = None,
    by: str | None = None,
    correction: Method = "ppi",
    disagreements: int = DISAGREEMENTS,
    attach: bool = False,
    out: Path | str | None = None,
    store: Path | str | None = None,
) -> Agreement:
    """Compare a run's verdicts with people's labels; no judge is called.

    For each metric, returns kappa with its interval, the confusion matrix and further measures, and the means corrected
    for the judge's errors::

        ragstone.agree("last", "labels.jsonl")["grounding"].items.kappa

    Args:
        run: The run: its number, name or folder, ``last``, or an opened run.
        gold: One or more sources of people's labels: a file (label rows, CSV, assignments by nuggetizer or AutoJudge,
            RAGBench's keys, records with assigned nuggets), another run, or a field of the run's records.
        others: Other runs by the same judge: of other systems, to compare the judge's ranking of them with people's; or
            of the same responses, as repeats.
        metrics: The metrics to compare. Default: all that have labels.
        by: A field that groups the records: ``topic``, ``question`` or ``meta.NAME``.
        correction: ``ppi`` (prediction-powered inference) or ``rogan_gladen`` (for the share of units that pass, on a
            scale of two labels).
        disagreements: How many of the largest disagreements to list; a page lists at least 100.
        attach: Save the agreement with the run, so that ``show``, ``check`` and the report include it; replaces an
            earlier one.
        out: Also write a page to this HTML file.
        store: The run's store. Default: the configured one.

    Returns:
        The agreement by metric, the corrected means, and the labels that match nothing in the run.

    Raises:
        InputError: A file has no labels, no label matches a run, the run lacks a metric, or one of ``others`` has a
            different judge or different settings.
        ConfigError: The correction is unknown, or a file cannot be written.
    """
    if correction not in get_args(Method):
        raise ConfigError(f"correction '{correction}'; expected {' or '.join(get_args(Method))}")
    files = [gold] if isinstance(gold, str | Path) else list(gold)

    with ExitStack() as stack:
        one, *more = (stack.enter_context(opened(each, store)) for each in (run, *others))
        golds = [[gold_rows(str(given), each, lambda name: run_named(name, store)) for given in files]
                 for each in (one, *more)]  # fmt: skip
        rows, *labels = [[row for gold in every for row in gold.rows] for every in golds]
        judges = [gold.judged for gold in golds[0] if gold.judged]
        labelling = [PEOPLE] * (len(judges) < len(files)) + [f"run {' and '.join(judges)}"] * bool(judges)
        found = agree_with(
            one,
            rows,
            gold=[str(given) for given in files],
            labelled_by=" and ".join(labelling),
            others=list(zip(more, labels, strict=True)),
            metrics=[metrics] if isinstance(metrics, str) else metrics,
            by=by,
            correction=correction,
            disagreements=disagreements if out is None else max(disagreements, ON_PAGE),
        )
        if out is not None:
            from ragstone.render.html.agreement import agreement_page  # noqa: PLC0415 - only for a page

            inputs = [*files, *(path for each in (one, *more) for path in sources(each))]
            write_parts(Path(out), agreement_page(found, one), inputs)
        if attach:
            attach_agreement(one, attached(found))
        return replace(found, disagreements=found.disagreements[:disagreements])


def attach_agreement(run: AnyRun, agreement: AgreementDict) -> None:
    """Save the agreement with people in a run's summary, replacing an earlier one.

    Raises InputError if the run has no summary, and OutputError if summary.json cannot be written to the run's folder.
    """
    if isinstance(run, Run):
        run.attach(agreement)
        return
    path, summary = run.with_agreement(agreement)
    with whole(path) as file:
        file.write(orjson.dumps(summary, option=orjson.OPT_INDENT_2) + b"\n")
