"""Draw the screen of ``ragstone agree``: kappa and corrected means, confusion matrices, annotators, disagreements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.text import Text

from ragstone.analysis.agreement import PEOPLE, Agreement, Disagreement, MetricAgreement
from ragstone.analysis.corrected_means import CorrectedMean
from ragstone.analysis.label_agreement import UNJUDGED, LabelAgreement
from ragstone.analysis.run import Run
from ragstone.analysis.saved import AnyRun
from ragstone.metrics import column_of
from ragstone.render import agreement
from ragstone.render.facts import handle, show_command
from ragstone.render.terminal.screen import DOT, Command, Look, Page, Prose, facts, indented, page, section, told_rows
from ragstone.render.terminal.tables import Column, Fitted, beside, grid, unit_lines
from ragstone.render.text import between, coefficient, duration, flat, grouped, number, percent, plural, shorten
from ragstone.render.wording import in_words

GROUPS = 20
"""Maximum number of groups shown; --json has all."""
NAME = 13
"""Minimum width, in terminal cells, of the names of scores on a narrow screen."""
NAMED = 3
"""Maximum number of units listed per reason for unused labels."""


def agreement_page(found: Agreement, run: AnyRun, look: Look, options: Sequence[str] = ()) -> Page:
    """Return the whole screen; ``options`` locate the store in the next command."""
    leading = next((one for one in found.metrics if one.leading.matrix.n), found.metrics[0])
    names = [found.name, *([f"run {found.run}"] if found.run else []), *found.gold]
    source = DOT.join(map(flat, [*names, *(f"with {name}" for name in found.others)]))
    return page(
        Group(
            Prose(headline(leading, flat(found.labelled_by)), "head"),
            Text(shorten(source, look.width - 2, look.ellipsis), style="quiet"),
        ),
        _not_joined(found, look),
        Group(_table(found), *(Prose(line, "quiet") for line in _limits(found))),
        *(_matrix(one, flat(found.labelled_by)) for one in found.metrics),
        *(_figures(one) for one in agreement.figures_of(found)),
        _annotators(found),
        _disagreements(found, run, look),
        _parsed(found),
        _following(found, run, options),
    )


def headlines(found: Agreement) -> str:
    """Return a paragraph per metric, which begins with its name."""
    return "\n\n".join(f"{one.metric}: {headline(one, flat(found.labelled_by))}" for one in found.metrics)


def headline(one: MetricAgreement, people: str = PEOPLE) -> str:
    """Return ``Agreement with people: kappa .71 (.58-.82) on 214 …; always answering 'yes' would be right …``."""
    items, count = one.leading, one.leading.matrix.n
    units = plural(count, one.unit if items is one.items else one.whole)
    counted = f"{units} from {plural(items.records, 'record')}" if count else ""
    said = agreement.agreement_said(people, one.unit, counted, items.kappa, items.interval)
    if count and items.kappa is not None:
        said += f"; always answering '{items.constant}' would be right {percent(items.matrix.base_rate)} of the time"
    return f"{said}."


# ---- the table


def _table(found: Agreement) -> RenderableType:
    rows: list[tuple[str, LabelAgreement | None, CorrectedMean | None]] = []
    for one in found.metrics:
        if len(one.means) == 1 and not column_of(one.means[0].score):
            rows.append((one.metric, one.leading, one.means[0]))
        else:
            rows += [(one.metric, one.leading, None)]
            rows += [(f"  {column_of(mean.score)}", None, mean) for mean in one.means]

    def items(title: str, cells: Sequence[str], drop: int = 0) -> Column:
        return Column(title, cells, right=True, drop=drop)

    of = [(items, mean if mean and mean.value is not None else None) for _, items, mean in rows]
    raw = [percent(mean.raw, mean.records) if mean and mean.raw is not None else "" for _, _, mean in rows]
    corrected = [percent(mean.value, mean.records, (mean.low, mean.high)) if mean else "" for _, mean in of]
    columns = [
        Column("", [name for name, *_ in rows], least=NAME),
        items("units", [number(one.matrix.n) if one else "" for one, _ in of], 1),
        items("accuracy", [percent(one.matrix.accuracy) if one else "" for one, _ in of], 4),
        items("guess", [percent(one.matrix.base_rate) if one else "" for one, _ in of], 3),
        items("kappa", [coefficient(one.kappa, one.interval) if one else "" for one, _ in of]),
        replace(
            items("kappa 95% CI", [agreement.ends_said(one.interval) if one else "" for one, _ in of], 2),
            short="kappa CI",
        ),
        items("mean", raw, 5),
        items("corrected", corrected),
        items("95% CI", [between(mean.low or 0.0, mean.high or 0.0, mean.records) if mean else "" for _, mean in of]),
    ]
    return Fitted(columns)


def _limits(found: Agreement) -> Iterator[str]:
    said = grouped((mean.score, _correction(one, mean)) for one in found.metrics for mean in one.means)
    yield "guess: the accuracy of always giving the most frequent label."
    yield from (f"{', '.join(names)}: {line}." for line, names in said.items() if line)
    yield from agreement.limits_said(found)


def _correction(one: MetricAgreement, mean: CorrectedMean) -> str:
    """Return why a mean is not corrected, or not in the usual way; else empty."""
    if mean.withheld:
        return f"not corrected because {mean.withheld}"
    if mean.method == "labels":
        return f"the corrected mean is based on the labels alone. {mean.reason[:1].upper()}{mean.reason[1:]}"
    what = "records" if column_of(mean.score) else f"{one.unit}s"
    return f"corrected by Rogan-Gladen; means are shares of {what} that pass" if mean.method == "rogan_gladen" else ""


# ---- one metric


def _matrix(one: MetricAgreement, people: str) -> RenderableType | None:
    """Return the confusion matrix, people's labels in rows and the judge's in columns, and the other measures."""
    shown = one.with_unjudged if one.unjudged else one.leading
    counts = shown.matrix.counts
    rows = [place for place, label in enumerate(shown.labels) if label != UNJUDGED]
    columns = [Column("", [shown.labels[place] for place in rows])]
    for place, label in enumerate(shown.labels):
        cells = [Text(number(counts[row][place]), style="head" if row == place else "") for row in rows]
        columns.append(Column(label, cells, right=True))
    told = [_measures(one.leading, several=one.people_alphas is not None)]
    if (whole := one.wholes) and whole is not one.leading:
        told.append(f"{agreement.wholes_said(one)}: kappa {agreement.kappa_said(whole.kappa, whole.interval)}")
    below = (indented(Prose(line, "quiet")) for line in told)
    return section(one.metric, indented(Fitted(columns)), *below, note=f"{people} in rows, judge in columns")


def _measures(items: LabelAgreement, *, several: bool) -> str:
    """Return measures of the matrix, and alpha, which counts each of several annotators on their own."""
    matrix = items.matrix
    parts = [f"balanced accuracy {percent(matrix.balanced_accuracy)}", f"macro F1 {coefficient(matrix.macro_f1)}"]
    if len(items.labels) > 2:
        parts.append(
            f"kappa linear {coefficient(matrix.kappa('linear'))}, quadratic {coefficient(matrix.kappa('quadratic'))}"
        )
    of = " of the judge and all annotators" if several else ""
    parts.append(f"Krippendorff's alpha{of} {coefficient(items.alphas.nominal)}")
    if items.auroc is not None:
        parts.append(f"AUROC {coefficient(items.auroc)}")
    if items.calibration_error is not None:
        parts.append(f"calibration error {coefficient(items.calibration_error)}")
    return ", ".join(parts)


def _figures(one: agreement.FiguresTable) -> RenderableType:
    """Return lines of text and a table, limited to ``GROUPS`` rows."""
    columns = [
        Column(title, [row[at] for row in one.rows[:GROUPS]], right=at > 0, least=0 if at else 8)
        for at, title in enumerate(one.head)
    ]
    cut = f"; {number(len(one.rows) - GROUPS)} more in --json" if len(one.rows) > GROUPS else ""
    said = (Prose(line, "quiet") for line in one.lines)
    drawn = [indented(Fitted(columns))] if columns else []
    return section(one.title, *(indented(line) for line in said), *drawn, note=f"{one.note}{cut}")


# ---- people


def _annotators(found: Agreement) -> RenderableType | None:
    named = [one for one in found.annotators if one.name]
    if not named:
        return None
    times = ["" if one.minutes is None else duration(60 * one.minutes) for one in named]
    columns = [
        Column("", [flat(one.name) for one in named], least=8),
        Column("labels", [number(one.labels) for one in named], right=True),
        Column("records", [number(one.records) for one in named], right=True),
        Column("cannot tell", [number(one.cannot_tell) for one in named], right=True, drop=1),
        *([Column("time", times, right=True, drop=2)] if any(times) else []),
    ]
    lines = agreement.pairs_said(found)
    lines += [
        f"Krippendorff's alpha among {flat(found.labelled_by)}: {coefficient(one.people_alphas.nominal)} ({one.metric})"
        for one in found.metrics if one.people_alphas is not None and len(named) > 2
    ]  # fmt: skip
    return section("Annotators", indented(Group(
        Fitted(columns), *(Prose(line, "quiet") for line in lines)
    )))  # fmt: skip


def _disagreements(found: Agreement, run: AnyRun, look: Look) -> RenderableType | None:
    room = look.width - 4
    blocks: list[RenderableType] = []
    for one in found.disagreements:
        mark = look.mark("apart")
        result = run.find(one.record)
        blocks += beside(one.record, one.metric, look, room, result["position"] if result else 0)
        because = f": {flat(in_words(result, one.reason) if result else one.reason)}" if one.reason else ""
        said = f"{flat(found.labelled_by)} said {_votes(one)}, the judge said {one.judge}{because}"
        blocks += unit_lines(mark, one.text, said, look, room)
    return section("Largest disagreements", indented(Group(*blocks))) if blocks else None


def _votes(one: Disagreement) -> str:
    others = sum(one.votes.values()) - one.votes.get(one.people, 0)
    return f"{one.people} ({one.votes[one.people]} of {one.votes[one.people] + others})" if others else one.people


# ---- unused labels, parsed replies, next command


def _not_joined(found: Agreement, look: Look) -> RenderableType | None:
    rows = []
    for one in found.refused:
        names = dict.fromkeys(
            flat(row.record if one.problem == "unknown_record" else row.unit)
            + (f" ({flat(row.label)})" if one.problem == "unknown_label" else "")
            for row in one.rows
        )
        shown = shorten(", ".join([*names][:NAMED]), 3 * look.width, look.ellipsis)
        rest = f" {look.ellipsis}" if len(names) > NAMED else ""
        rows.append((number(one.count), f"{one.said}: {shown}{rest}"))
    note = f"{number(found.rows - found.joined)} of {number(found.rows)}"
    return section("Unused labels", indented(grid(rows, ">~")), note=note) if rows else None


def _parsed(found: Agreement) -> RenderableType | None:
    """Return how many replies for labelled records were parsed, and the accuracy lost by units without a verdict."""
    rows = [
        (f"{one.judge} {one.step} {one.style} {one.format}", f"{number(one.whole)} of {number(one.calls)}")
        for one in found.parsed
    ]  # fmt: skip
    lost = [
        f"{one.metric}: {plural(one.unjudged, one.unit)} without a verdict; counting them as errors, accuracy is "
        f"{percent((one.items.matrix.accuracy or 0) - (one.accuracy_lost or 0))}"
        for one in found.metrics if one.unjudged
    ]  # fmt: skip
    if not (rows or lost):
        return None
    blocks = [indented(grid(rows, "~>"))] if rows else []
    return section("Replies parsed in full", *blocks, *(indented(Prose(line, "quiet")) for line in lost))


def _following(found: Agreement, run: AnyRun, options: Sequence[str]) -> RenderableType | None:
    means = [
        mean for one in found.metrics for mean in one.means if mean.value is not None and mean.labelled < mean.records
    ]
    enough = ", ".join(f"{mean.score} {number(mean.more)}" for mean in means if mean.more)
    wide = ", ".join(mean.score for mean in means if not mean.more)
    more = [f"to halve each interval, label this many more records: {enough}"] if enough else []
    if wide:
        more.append(
            f"labelling every record of this run would not halve the interval of {wide}; "
            "evaluate and label more records"
        )
    rows = told_rows("Labels", more)
    if found.disagreements and isinstance(run, Run):
        first = found.disagreements[0]
        rows.append(("Next", Command(show_command(run, options, handle(first.record, first.position)))))
    return facts(rows) if rows else None
