"""Draw records for people to label, match their labels to a run, and compare the verdicts of its judge with them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Final, get_args

import orjson
from msgspec.structs import replace

from ragstone.analysis.agreement import DISAGREEMENTS, PEOPLE, Agreement, attached
from ragstone.analysis.agreement import agree as agree_with
from ragstone.analysis.corrected_means import Method
from ragstone.analysis.gold import gold_rows
from ragstone.analysis.gold_join import join
from ragstone.analysis.labelling import RECORDS, LabelSample, ratable, sample
from ragstone.analysis.run import Run
from ragstone.analysis.saved import AnyRun
from ragstone.api.comparing import RunChoice, opened, sources
from ragstone.api.stored import run_named
from ragstone.errors import ConfigError, InputError
from ragstone.metrics import of_score
from ragstone.output.target import whole, write_parts
from ragstone.records.label_imports import Imported, import_labels
from ragstone.render.html.labelling import LABELS, label_page
from ragstone.render.wording import lead_order, scored_by
from ragstone.result_types import AgreementDict

ON_PAGE: Final = 100
"""The minimum number of disagreements that a page lists, if there are as many."""


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

    The page does not show the judge's verdicts. Labels stay in the browser until they are exported as JSON Lines::

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
        found = Imported(gold_rows(given, run, lambda name: run_named(name, store)).rows)
    joined = join(run, found.rows)
    found.rows = [row for row in found.rows if id(row) in joined.joined]
    found.skipped.update({refused.said: refused.count for refused in joined.refused.values()})
    return found


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
