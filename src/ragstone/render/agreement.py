"""Describe a judge's agreement with people: kappa, the confusion matrix, and corrected means next to raw ones.

Guarantees: metrics with the same verdicts are reported together. Agreement is claimed only if the interval shows it.
Interval bounds beyond 0 or 1 are drawn and printed as 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import astuple

from ragstone.render.text import between, coefficient, flat, grouped, number, percent, plural
from ragstone.render.wording import folded
from ragstone.types import NOTHING

if TYPE_CHECKING:
    from ragstone.analysis.agreement import Agreement, MetricAgreement
    from ragstone.analysis.ranking_agreement import Correlation, RankingAgreement
    from ragstone.result_types import AgreementDict, CorrectedDict, MetricAgreementDict

MEANS: Final = 3
"""Maximum number of means listed on a line; a metric may have many columns."""
SUBSTANTIAL: Final = 0.6
"""The kappa from which agreement is called substantial (Landis and Koch 1977)."""


class MeanByPeople(Struct, frozen=True):
    """A metric's raw mean and its corrected mean; ``note`` explains the correction, or why there is none.

    ``called`` is the name of the corrected mean. ``ends`` are the bounds of its 95% interval; ``raw_ends`` are those of
    the raw mean, if known. ``records`` is the number of records of both means.
    """

    metric: str
    records: int
    raw: float | None
    raw_ends: tuple[float, float] | None
    value: float | None
    ends: tuple[float, float] | None
    called: str
    words: str
    note: str


class JudgeAgreement(Struct, frozen=True):
    """A confusion matrix of ``people`` (rows) and a judge (columns), worst label first, and the means it corrects.

    ``said`` is the sentence about the agreement; ``about`` describes what else the matrix shows.
    """

    said: str
    about: str
    people: str
    judge: str
    unit: str
    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    means: tuple[MeanByPeople, ...]

    @property
    def lines(self) -> list[str]:
        """The sentence and, if there are any, a line with the means."""
        means = [f"{mean.metric} {mean.words}" for mean in self.means if mean.words]
        more = [f"and {len(means) - MEANS} more"] if len(means) > MEANS else []
        return [self.said, "; ".join([*means[:MEANS], *more])] if means else [self.said]


def agreements(
    attached: AgreementDict | None, metrics: Mapping[str, Mapping[str, Any]] = NOTHING
) -> tuple[JudgeAgreement, ...]:
    """Return the agreements attached to a run; its summary's ``metrics`` have the intervals of raw means."""
    alike: dict[str, dict[str, MetricAgreementDict]] = {}
    for name, found in attached["metrics"].items() if attached else ():
        verdicts = [found[key] for key in ("task", "judge", "labels", "counts", "unjudged")]
        alike.setdefault(repr(verdicts), {})[name] = found
    people = flat(attached.get("labelled_by", "people")) if attached else ""
    return tuple(_together(found, people, len(alike) > 1, metrics) for found in alike.values())


def agreement_lines(attached: AgreementDict | None) -> list[str]:
    """Return the lines of all agreements attached to a run."""
    return [line for one in agreements(attached) for line in one.lines]


def agreement_of(attached: AgreementDict | None, metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the data that a page shows for an agreement, as plain JSON; None if there is none."""
    if attached is None:
        return None
    who = ", ".join(map(flat, attached["annotators"]))
    source = f"Labels from {', '.join(map(flat, attached['gold']))}{f' by {who}' if who else ''}"
    return {
        "source": f"{source}, compared {flat(attached['at'])[:10]}.",
        "blocks": [to_builtins(one) for one in agreements(attached, metrics)],
    }


def _together(
    found: Mapping[str, MetricAgreementDict], people: str, named: bool, metrics: Mapping[str, Mapping[str, Any]]
) -> JudgeAgreement:
    first = next(iter(found.values()))
    unit = flat(first["unit"])
    counted = plural(first["units"], unit) if first["units"] else ""
    on = f" on {flat(', '.join(folded(found)))}" if named else ""
    return JudgeAgreement(
        said=agreement_said(f"{people}{on}", unit, counted, first["kappa"], first["interval"]),
        about=_about(first, unit),
        people=people,
        judge=flat(first["judge"]),
        unit=unit,
        labels=tuple(flat(label).replace("_", " ") for label in first["labels"]),
        counts=tuple(map(tuple, first["counts"])),
        means=tuple(_mean(flat(metric), one, metrics.get(metric, {}).get("interval")) for metric, one in found.items()),
    )


def agreement_said(people: str, unit: str, counted: str, kappa: float | None, interval: Sequence[float] | None) -> str:
    """Return ``Agreement with people: kappa .71 (.58-.82) on 214 claims``, or why the agreement is unknown.

    ``counted`` is the number of compared units with their name; empty if there are none. The judge agrees if the
    interval is above 0; without an interval, it is not said whether it does. An interval from 0 or less to substantial
    agreement comes from too few labels.
    """
    if not counted:
        return f"Agreement with {people} is unknown: no {unit} has both a label and a verdict"
    if kappa is None:
        return f"Agreement with {people} is unknown: only one label occurs on {counted}, so kappa is undefined"
    if not interval or interval[0] > 0:
        found = f"Agreement with {people}"
    elif interval[1] >= SUBSTANTIAL:
        found = f"Too few labels to tell if the judge agrees with {people}"
    else:
        found = f"No significant agreement with {people}"
    return f"{found}: kappa {kappa_said(kappa, interval)} on {counted}"


def wholes_said(one: MetricAgreement) -> str:
    """What the wholes of a metric are called at the start of a line."""
    return "whole responses" if one.whole == "response" else f"{one.whole}s"


def kappa_said(kappa: float | None, interval: Sequence[float] | None) -> str:
    """Return ``.71 (95% CI .58-.82)`` with an en dash, or a hyphen if kappa is undefined."""
    ends = ends_said(interval)
    return coefficient(kappa, interval) + (f" (95% CI {ends})" if kappa is not None and ends else "")


def ends_said(interval: Sequence[float] | None) -> str:
    """Return ``.58-.82`` with an en dash; ``-.10 to .47`` if the lower bound is negative; empty without an interval."""
    if not interval:
        return ""
    return (" to " if interval[0] < 0 else "\u2013").join(coefficient(end, interval) for end in interval)


def _about(found: MetricAgreementDict, unit: str) -> str:
    parts = []
    if found["accuracy"] is not None and found["base_rate"] is not None:
        same, most = (percent(found[key], found["units"]) for key in ("accuracy", "base_rate"))
        parts.append(f"Same label in {same} of cases; always giving the most frequent label would be right in {most}.")
    if found["unjudged"]:
        parts.append(f"{plural(found['unjudged'], f'labelled {unit}')} without a verdict, left out.")
    return " ".join(parts)


def _mean(metric: str, found: MetricAgreementDict, ends: list[float] | None) -> MeanByPeople:
    one = found["corrected"]
    drawn = None if ends is None else (ends[0], ends[1])
    if one is None:
        return MeanByPeople(metric, 0, None, drawn, None, None, "", "", flat(found["withheld"]))
    value, low, high = (min(max(end, 0.0), 1.0) for end in (one["value"], one["low"], one["high"]))
    called, share = "from labels alone" if one["method"] == "labels" else "corrected", one["method"] == "rogan_gladen"
    words = (
        f"{'share that passes ' if share else ''}{percent(one['raw'], one['records'])}, {called} "
        f"{percent(value, one['records'], (low, high))} (95% CI {between(low, high, one['records'])})"
    )
    raw_ends, how = None if share else drawn, _how(one)
    return MeanByPeople(metric, one["records"], one["raw"], raw_ends, value, (low, high), called, words, how)


def _how(one: CorrectedDict) -> str:
    how = {
        "ppi": "corrected by PPI++",
        "rogan_gladen": "share that passes, corrected by Rogan-Gladen",
        "labels": "mean of the labelled records alone",
    }
    return f"{how[one['method']]}; {number(one['labelled'])} of {plural(one['records'], 'record')} labelled"


def pairs_said(found: Agreement) -> list[str]:
    """Return a line with the kappa of each two annotators."""
    units = {one.metric: one.unit for one in found.metrics}
    return [
        f"{flat(pair.first) or 'unnamed'} and {flat(pair.second) or 'unnamed'}: kappa {coefficient(pair.kappa)} on "
        f"{plural(pair.units, units[pair.metric])} ({pair.metric})"
        for pair in found.pairs
    ]


def limits_said(found: Agreement) -> Iterator[str]:
    """Yield sentences on the units and records that the numbers of each metric leave out, and the notes."""
    said = grouped((one.metric, line) for one in found.metrics for line in _left_out(one))
    yield from (f"{', '.join(names)}: {line}." for line, names in said.items())
    yield from (f"{note[:1].upper()}{note[1:]}." for note in found.notes)


def _left_out(one: MetricAgreement) -> Iterator[str]:
    matrix = one.leading.matrix
    if matrix.kappa() is not None and matrix.n in (*matrix.judged, *matrix.gold):
        who = "the judge" if matrix.n in matrix.judged else "people"
        yield f"kappa is 0 and has no interval because {who} used only one label"
    kinds = {
        "tied between annotators": one.ties,
        "chosen worst-first": one.worst if any(mean.labelled for mean in one.means) else 0,
        "labelled trivial": sum(one.trivial.values()),
        "without a verdict": one.unjudged,
    }
    found = {what: count for what, count in kinds.items() if count}
    if found:
        why = ", ".join(f"{number(count)} {what}" if len(found) > 1 else what for what, count in found.items())
        yield f"{plural(sum(found.values()), one.unit)} left out ({why})"
    if one.labelled_in_part:
        has, which = ("has", "so it is") if one.labelled_in_part == 1 else ("have", "so they are")
        part = plural(one.labelled_in_part, "record")
        yield f"{part} {has} {one.unit}s without a usable label, {which} left out of the corrected mean"
    if one.unlike:
        yield f"{plural(one.unlike, 'record')} left out (scored with settings other than the run's)"


# ---- systems, repeats and groups


class FiguresTable(Struct, frozen=True):
    """A section of the screen and the page: lines of text above a table with names in its first column."""

    title: str
    note: str
    lines: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def figures_of(found: Agreement) -> list[FiguresTable]:
    """Return the system rankings of all metrics, then their repeats, then their groups."""
    tables = [_systems(one, flat(found.labelled_by)) for one in found.metrics if one.systems]
    tables += [_repeats(one) for one in found.metrics if one.repeats]
    return tables + [_groups(one, flat(found.by)) for one in found.metrics if one.groups]


def _groups(one: MetricAgreement, by: str) -> FiguresTable:
    return FiguresTable(
        f"{one.metric} by {by}",
        plural(len(one.groups), "group"),
        (),
        (by, f"{one.unit}s", "accuracy", "kappa", "95% CI"),
        tuple(
            (flat(group.group), number(group.items.matrix.n), percent(group.items.matrix.accuracy),
             kappa_said(group.items.kappa, None), ends_said(group.items.interval))
            for group in one.groups
        ),
    )  # fmt: skip


def _systems(one: MetricAgreement, people: str) -> FiguresTable:
    """Return the correlations for each score and the system means for the first one, best by people's labels first."""
    first = one.systems[0]
    alike: dict[tuple[Any, ...], list[str]] = {}
    for ranking in one.systems:
        alike.setdefault(astuple(ranking)[1:], []).append(ranking.score)
    said = [_ranked(next(r for r in one.systems if r.score == names[0]), ", ".join(folded(names)))
            for names in alike.values()]  # fmt: skip
    means = sorted(first.systems, key=lambda system: -system.gold)
    by_judge = sorted((system.judged for system in means), reverse=True)
    return FiguresTable(
        f"Systems by {first.score}",
        f"{plural(len(means), 'system')}, {plural(first.topics, 'topic')}; 95% CIs in parentheses",
        tuple(said),
        ("system", people, "judge", "rank by judge", "topics"),
        tuple(
            (flat(system.system), percent(system.gold), percent(system.judged),
             number(1 + by_judge.index(system.judged)), number(system.topics))
            for system in means
        ),
    )  # fmt: skip


def _ranked(one: RankingAgreement, scores: str) -> str:
    """Return all four correlations: a single one would hide ties at the top, or differences between topics."""
    if one.withheld:
        return f"{scores}: {one.withheld}"
    measures = {"tau-b": one.tau, "tau_ap-b": one.tau_ap, "Spearman": one.spearman}
    said = [f"{name} {_correlation(measure)}" for name, measure in measures.items()]
    within = f"mean tau-b within {plural(one.ranked_topics, 'topic')} {_correlation(one.topic_tau)}"
    return f"{scores}: {', '.join(said)}, {within}"


def _correlation(one: Correlation | None) -> str:
    ends = ends_said(one.interval) if one else ""
    return coefficient(one.value, one.interval) + f" ({ends})" * bool(ends) if one else "-"


def _repeats(one: MetricAgreement) -> FiguresTable:
    """Return each score's mean over repeats, and pass@k, avg@k and maj@k if the labels of the repeats are known."""
    lines, counts = [], {mean.score: mean.records for mean in one.means}
    for score in one.repeats:
        count = counts.get(score.score, 0)
        ends = f", 95% CI {between(*score.interval, count)}" if score.interval else ""
        apart = "" if score.deviation is None else f", standard deviation {percent(score.deviation, count)}"
        lines.append(f"{score.score}: mean {percent(score.mean, count, score.interval)}{ends}{apart}")
    if not one.at_k:
        lines.append(
            "No pass@k: a run made with --repeat keeps no labels for its repeats; pass separate runs with --with"
        )
    return FiguresTable(
        f"Repeats of {one.metric}",
        plural(len(one.repeats[0].values), "repeat"),
        tuple(lines),
        ("k", "pass@k", "avg@k", "maj@k", "ties", f"{one.unit}s") if one.at_k else (),
        tuple(
            (number(at.k), percent(at.any_right), percent(at.average), percent(at.majority), number(at.ties),
             number(at.units))
            for at in one.at_k
        ),
    )  # fmt: skip
