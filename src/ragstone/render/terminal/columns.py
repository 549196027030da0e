"""Metrics of several columns, in a block of rows that have two columns each: six scores, or eight, said once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ragstone.metrics.nugget_recall import NuggetRecall
from ragstone.metrics.trace import TraceMetric
from ragstone.render.terminal.screen import Look, prose
from ragstone.render.text import NBSP, between, flat, number, percent
from ragstone.stats.points import points


@dataclass(frozen=True, slots=True)
class Columns:
    """How the scores of a metric are drawn: its rows, each with one column or two, and what stands over them.

    ``legend`` may name what of a signature it depends on: ``{normaliser}``, ``{length}``.
    """

    name: str
    rows: Mapping[str, tuple[str, ...]]
    titles: tuple[str, str]
    legend: str

    @property
    def first(self) -> str:
        """The score that holds the verdicts."""
        return HOLDERS[self.name]

    def score(self, column: str) -> str:
        """The name of a column's score."""
        return f"{self.name}.{column}"


RECALL: Final = Columns(
    NuggetRecall.name,
    {
        "vital": ("strict_vital", "vital"),
        "all": ("strict_all", "all"),
        "weighted": ("weighted_strict", "weighted"),
    },
    ("strict", "half"),
    "strict: nuggets that are there in full; half: those in part count half",
)
"""Which nuggets count: the column of those in full alone, and the one in which those in part count half."""

TRACE: Final = Columns(
    TraceMetric.name,
    {
        "relevance": ("relevance", "relevance_share"),
        "utilization": ("utilization", "utilization_share"),
        "completeness": ("completeness",),
        "adherence": ("adherence", "adherence_share"),
        "average": ("average",),
    },
    ("normalised", "share"),
    "normalised: relevance by {normaliser} sentences, utilization by the relevant ones, adherence all or none; "
    "share: {length}",
)
"""RAGBench's four measures; beside those that are brought to a scale their share of all sentences."""

EVERY: Final[Mapping[str, Columns]] = {columns.name: columns for columns in (RECALL, TRACE)}
HOLDERS: Final[Mapping[str, str]] = {metric.name: metric.score_names()[0] for metric in (NuggetRecall, TraceMetric)}
_COUNTS: Final = {metric.name: len(metric.columns) for metric in (NuggetRecall, TraceMetric)}
LEADING: Final = tuple(RECALL.score(column) for column in ("strict_vital", "strict_all"))
"""The columns that a run is told by, the first that has a value: that of the TREC RAG track, and the next best."""
ADHERENCE: Final = TRACE.score("adherence")
"""The column of the trace that a run is told by."""

_DEFAULTS: Final = {field.name: str(field.default) for field in fields(TraceMetric)}
_LENGTHS: Final[Mapping[str, str]] = {
    "sentences": "of all sentences",
    "characters": "of the characters of all sentences",
    "tokens": "of the words of all sentences",
}


def columns_of(metric: str) -> Columns | None:
    """The columns that a score is one of, if it is one."""
    name, dot, _ = metric.partition(".")
    return EVERY.get(name) if dot else None


def folded(names: Iterable[str]) -> list[str]:
    """Names of scores for a sentence: all columns of a metric as the metric, some of them behind its name."""
    found: dict[str, list[str]] = {}
    for name in names:
        metric, dot, column = name.partition(".")
        found.setdefault(metric, []).extend([column] if dot else [])
    return [
        metric if not columns or len(columns) == _COUNTS.get(metric) else f"{metric} ({', '.join(columns)})"
        for metric, columns in found.items()
    ]


def _legend(columns: Columns, signature: str) -> str:
    changed = dict(part.split(":", 1) for part in signature.split("|")[1:] if ":" in part)
    length = changed.get("length", _DEFAULTS["length"])
    return columns.legend.format(
        normaliser=changed.get("normaliser", _DEFAULTS["normaliser"]), length=_LENGTHS.get(length, length)
    )


# ---- of a run


def columns_of_run(columns: Columns, entries: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """Means with their intervals, how many records have one; intervals and possible means where there is room."""
    rows = {
        row: [entries[columns.score(name)] for name in names]
        for row, names in columns.rows.items()
        if all(columns.score(name) in entries for name in names)
    }
    table: dict[str, list[str]] = {columns.name: [f"  {row}" for row in rows]}
    intervals = []
    for side, title in enumerate(columns.titles):
        sides = [found[side] if side < len(found) else None for found in rows.values()]
        table[title] = [_mean(entry) if entry else "" for entry in sides]
        intervals.append(f"95 %{NBSP * side}")  # two columns of one name
        table[intervals[-1]] = [_interval(entry, look) if entry else "" for entry in sides]
    table["scored"] = [_scored(found) for found in rows.values()]
    possible = {row: _possible_means(found, look) for row, found in rows.items()}
    table["could be"] = list(possible.values())
    if not any(possible.values()):
        del table["could be"]
    below: list[str] = []
    if _wide(table) > look.width and "could be" in table:
        del table["could be"]
        below += [f"{row} could be {ends} % with what is unjudged" for row, ends in possible.items() if ends]
    if _wide(table) > look.width or not any(any(table[title]) for title in intervals):
        for title in intervals:
            del table[title]
    if _wide(table) > look.width:
        scored = table.pop("scored")
        below += [f"{', '.join(names)}: {told} scored" for told, names in _alike(rows, scored).items()]
    below += [
        f"{columns.score(name)}: {_passed(entry)} passed"
        for row, found in rows.items()
        for name, entry in zip(columns.rows[row], found, strict=True)
        if entry["outcomes"]
    ]
    signature = next((found[-1]["signature"] for found in rows.values()), "")
    notes = [prose(line, look, "quiet") for line in [*below, _legend(columns, signature)]]
    return Group(_drawn(table, columns.name), *notes)


def _drawn(columns: Mapping[str, list[str]], name: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    for title in columns:
        plain = Text(title, style="") if title == name else title.rstrip(NBSP)
        table.add_column(plain, no_wrap=True, justify="left" if title == name else "right")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*cells, style="quiet" if cells[1] == "-" else "")
    return table


def _wide(columns: Mapping[str, list[str]]) -> int:
    return sum(max(len(cell) for cell in (title.rstrip(NBSP), *cells)) + 2 for title, cells in columns.items())


def _alike(rows: Iterable[str], told: Iterable[str]) -> dict[str, list[str]]:
    """What is told of rows, each text once, with the rows that it is told of."""
    found: dict[str, list[str]] = {}
    for row, text in zip(rows, told, strict=True):
        found.setdefault(text, []).append(row)
    return found


def _mean(entry: Mapping[str, Any]) -> str:
    return percent(entry["mean"], entry["scored"]).replace(NBSP, " ")


def _interval(entry: Mapping[str, Any], look: Look) -> str:
    if not entry["interval"]:
        return ""
    low, high = entry["interval"]
    return between(low, high, entry["scored"], look.dash)


def _scored(found: Sequence[Mapping[str, Any]]) -> str:
    counts = ", ".join(dict.fromkeys(number(entry["scored"]) for entry in found))
    return f"{counts} of {number(found[0]['total'])}"


def _passed(entry: Mapping[str, Any]) -> str:
    return f"{number(entry['outcomes'].get('PASSED', 0))} of {number(sum(entry['outcomes'].values()))}"


def _possible_means(found: Sequence[Mapping[str, Any]], look: Look) -> str:
    ends = [
        "" if entry["mean"] is None else _ends(entry["low"], entry["high"], entry["scored"], look) for entry in found
    ]
    return ", ".join(end for end in ends if end)


def _ends(low: float | None, high: float | None, count: int, look: Look) -> str:
    if low is None or high is None or points(low, count) == points(high, count):
        return ""
    return between(low, high, count, look.dash)


# ---- of a record


def columns_of_record(columns: Columns, scores: Mapping[str, Mapping[str, Any]], look: Look) -> RenderableType:
    """The values, what they could be with what is unjudged, and why one is missing, each reason once."""
    rows = {
        row: [scores[columns.score(name)] for name in names]
        for row, names in columns.rows.items()
        if all(columns.score(name) in scores for name in names)
    }
    told = [_told(found, columns.rows[row], look) for row, found in rows.items()]
    wide = max(map(len, rows), default=0) + sum(len(title) + 2 for title in columns.titles) + 2
    beside = all(4 + wide + len(text) <= look.width - 2 for text in told)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="quiet")
    table.add_column("", no_wrap=True)
    for title in columns.titles:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for (row, found), text in zip(rows.items(), told, strict=True):
        values = [percent(score["value"]).replace(NBSP, " ") for score in found]
        values += [""] * (len(columns.titles) - len(values))
        table.add_row(row, *values, Text(text if beside else "", style="quiet"))
    notes = [] if beside else [f"{row}: {text}" for row, text in zip(rows, told, strict=True) if text]
    notes += [f"{', '.join(names)}: {flat(why)}" for why, names in _reasons(columns, rows).items()]
    signature = next((found[-1]["signature"] for found in rows.values()), "")
    return Group(table, *(prose(line, look, "quiet", indent=4) for line in [*notes, _legend(columns, signature)]))


def _told(found: Sequence[Mapping[str, Any]], names: Sequence[str], look: Look) -> str:
    ends = [_ends(score["low"], score["high"], 0, look) for score in found if score["value"] is not None]
    told = [f"could be {', '.join(end for end in ends if end)} % with what is unjudged"] if any(ends) else []
    outcomes = [score["outcome"].lower() if score["outcome"] else "" for score in found]
    if len(set(outcomes)) == 1:
        told += outcomes[:1] if outcomes[0] else []
    else:
        told += [f"{name} {outcome}" for name, outcome in zip(names, outcomes, strict=True) if outcome]
    return f" {look.dot} ".join(told)


def _reasons(columns: Columns, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[str]]:
    """Why columns have no value, with their names: the row's where it is so of all of the row."""
    found: dict[str, list[str]] = {}
    for row, scores in rows.items():
        why = [score["reason"] if score["value"] is None else None for score in scores]
        names = {row: why[0]} if len(set(why)) == 1 else dict(zip(columns.rows[row], why, strict=True))
        for name, reason in names.items():
            if reason is not None:
                found.setdefault(reason, []).append(name)
    return found
