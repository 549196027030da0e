"""Read a finished (or interrupted) run from the store."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import orjson
from msgspec.structs import replace

from ragstone.analysis.counts import quotes_of
from ragstone.analysis.result import Result, notebook_page, result_of_file
from ragstone.analysis.run_files import ABOUT
from ragstone.analysis.summary import summarize
from ragstone.errors import InputError
from ragstone.metrics import column_of, of_score
from ragstone.metrics.methods import PAIRS, points_between
from ragstone.records.file_formats import stem_of
from ragstone.result_types import AgreementDict, QuoteDict, QuotesDict, ResultDict, SummaryDict, UnitDict
from ragstone.store.database import DEFAULT_PATH, ResultRow, RunRow, ScoreRow, Store

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

TUNED: Final = "tune "
"""Start of the names of runs that ``tune`` makes, of records that are not a file."""
_PLACE: Final = re.compile(r"#([1-9][0-9]{0,15})")
UNIT_COLUMNS = (
    "record", "topic", "run_id", "metric", "unit", "level", "text", "label", "value", "raw", "probability",
    "judge", "reason", "failure", "passage", "start", "end", "quote", "verbatim",
    "verdict", "tokens", "part", "confidence", "importance", "weight", "difference",
)  # fmt: skip
SCORE_COLUMNS = (
    "record", "topic", "run_id", "metric", "value", "status", "asked", "unjudged", "low", "high", "outcome", "reason",
    "calls", "cached", "shared", "input_tokens", "output_tokens", "dollars", "extraction_failed", "signature",
)  # fmt: skip
SENTENCE_COLUMNS = (
    "record", "topic", "run_id", "key", "passage", "start", "end", "text", "relevant", "utilized", "supported",
    "supports", "supported_by",
)  # fmt: skip

COLUMN_KINDS: Final[Mapping[str, str]] = {
    "value": "number", "low": "number", "high": "number", "raw": "number", "probability": "number",
    "weight": "number", "difference": "number", "confidence": "number", "tokens": "count", "part": "count",
    "extraction_failed": "truth", "relevant": "truth", "utilized": "truth", "supported": "truth",
    "dollars": "number", "asked": "count", "unjudged": "count", "calls": "count", "cached": "count",
    "shared": "count", "input_tokens": "count", "output_tokens": "count", "start": "count", "end": "count",
    "verbatim": "truth",
}  # fmt: skip
"""The types of columns that are not text."""
PLAIN: Final = {nuggetized: plain for plain, nuggetized in PAIRS.values()}
"""The plain metric for each nuggetized one."""


def main_scores(spec: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the scores to list in tables: only the main columns of each metric if the user named no metrics."""
    every = spec.get("metrics") != ["auto"]
    return [name for name in names if every or column_of(name) in (of_score(name).main_columns or (column_of(name),))]


class Run:
    """A run in the store: its scores, its summary, and each record's result with verdicts and evidence.

    ``run["id"]`` is the result of one record, a dict as in results.jsonl. Results are loaded on demand, so runs of any
    size can be opened.
    """

    def __init__(self, store: Store, row: RunRow) -> None:
        self._store = store
        self._row = row

    @property
    def place(self) -> tuple[str, int]:
        """The path of its store, and its number there."""
        return str(self._store.path), self.id

    @property
    def id(self) -> int:
        """The run's number in its store."""
        return self._row.id

    @property
    def elsewhere(self) -> str:
        """The ``--store`` option of the run's store, quoted for a shell; empty for the default store."""
        path = self._store.path.encode("utf-8", "replace").decode()
        return "" if path == DEFAULT_PATH or self._store.folder else shlex.join(["--store", path])

    @property
    def called(self) -> str:
        """The run as commands name it: its number, or the folder that it was read from."""
        return self._store.folder or str(self.id)

    @property
    def name(self) -> str:
        """The name given by the user, else the input's name."""
        return self._row.name

    @property
    def status(self) -> str:
        """``done``, ``stopped`` (by an error), ``interrupted``, or ``unfinished`` (running or killed)."""
        return "unfinished" if self._row.status == "running" else self._row.status

    @property
    def spec(self) -> Mapping[str, Any]:
        """The settings and inputs of the run, as in run.json."""
        return self._row.spec

    @property
    def started(self) -> float:
        """Start time in seconds since 1970, UTC."""
        return self._row.started

    @property
    def finished(self) -> float | None:
        """End time in seconds since 1970, UTC; None if the run did not finish."""
        return self._row.finished

    @property
    def store(self) -> Store:
        """The store of the run."""
        return self._store

    def summary(self) -> SummaryDict:
        """Return means with intervals, coverage, cost and counts, as in summary.json."""
        if self._row.summary is None:
            return summarize(self._store, self.id, self.spec.get("signatures", {}), self.status)
        summary = cast("SummaryDict", self._row.summary)  # what earlier versions lack is added in place
        if bill := summary.get("bill"):  # written when the run ends
            bill.setdefault("answered", bill["sent"] + sum(bill["here"].values()))
            bill.setdefault("waited_seconds", None)
        for name, metric in summary["metrics"].items():
            if "below_one" not in metric:
                metric["below_one"] = self._store.bins(self.id, 1, name)[name][0]
        return summary

    @property
    def agreement(self) -> AgreementDict | None:
        """The agreement with people saved by ``agree --attach``, if any."""
        kept: AgreementDict | None = (self._row.summary or {}).get("agreement")
        return kept

    def attach(self, agreement: AgreementDict) -> None:
        """Save an agreement with people, replacing an earlier one; raise InputError for a run without a summary."""
        if self._row.summary is None:
            called = f"run {self.id} ({self.name})"
            raise InputError(f"{called} did not finish, so it has no summary to attach to; run the same command again")
        summary = {**self._row.summary, "agreement": agreement}
        self._store.change_summary(self.id, summary)
        self._row = replace(self._row, summary=summary)

    def quotes(self) -> QuotesDict:
        """Return the numbers of quotes given and found, as in summary.json; without a summary, count them."""
        kept: QuotesDict | None = (self._row.summary or {}).get("quotes")
        return quotes_of(self.results()) if kept is None else kept

    @property
    def scores(self) -> list[ScoreRow]:
        """All scores without their verdicts, by metric and position in the input; ``score_rows`` has record ids."""
        return list(self._store.scores(self.id))

    def results(self) -> Iterator[Result]:
        """Yield the results in input order, one at a time."""
        for row in self._store.results(self.id):
            yield self._result(row)

    def _result(self, row: ResultRow) -> Result:
        document = orjson.loads(row.document)
        if self._store.folder:
            return result_of_file(document, self.id, f"{self._store.path}: record '{row.record}'")
        return Result(document, self.id)

    def lines(self) -> Generator[bytes, None, None]:
        """Yield the lines of results.jsonl, without line endings."""
        for row in self._store.results(self.id):
            yield row.document

    def worst(self, metric: str, count: int = 5) -> list[Result]:
        """Return the results with the lowest values of a metric, lowest first, even if lower is better."""
        return list(self.lowest(metric, count))

    def lowest(self, metric: str, count: int) -> Iterator[Result]:
        """Yield the results with the lowest values of a metric, lowest first, one at a time."""
        for score in self._store.worst(self.id, metric, count):
            if (found := self.at(score.position)) is not None:
                yield found

    def at(self, position: int) -> Result | None:
        """Return the result at a position in the input; None if not found."""
        row = self._store.result(self.id, position=position)
        return None if row is None else self._result(row)

    def find(self, record: str | int) -> Result | None:
        """Return the result of a record by id or by its position in the input, e.g. ``#12``; None if not found."""
        record = str(record)  # a number in the input is stored as text
        if not record.isprintable():  # no stored id contains a lone surrogate
            record = record.encode("utf-8", "replace").decode()
        row = self._store.result(self.id, record=record)
        if row is None and (place := _PLACE.fullmatch(record)):
            row = self._store.result(self.id, position=int(place[1]))
        return None if row is None else self._result(row)

    def result(self, record: str) -> Result:
        """Return the result of a record as ``find`` does; raise InputError with the closest id if there is none."""
        found = self.find(record)
        if found is not None:
            return found
        ids = list(self._store.ids(self.id).values())
        if not ids:
            raise InputError(f"run {self.id} has no results")
        near = difflib.get_close_matches(record, ids, 1, cutoff=0.5)
        meant = f"did you mean '{near[0]}'?" if near else f"ids look like '{ids[0]}'"
        where = f"run {self.id} ({self.name})"
        raise InputError(f"{where}: no record '{record}'; {meant}; a position, '#1' to '#{len(ids)}', also works")

    def __getitem__(self, record: str | int) -> Result:
        found = self.find(record)
        if found is None:
            raise KeyError(record)
        return found

    def __contains__(self, record: str | int) -> bool:
        return self.find(record) is not None

    def __iter__(self) -> Iterator[Result]:
        return self.results()

    def __len__(self) -> int:
        return self._store.count(self.id)

    def __repr__(self) -> str:
        means = (
            (f"{name} -" if metric["mean"] is None else f"{name} {metric['mean']:.3f}")
            + (f" ({metric['scored']} scored)" if metric["scored"] < metric["total"] else "")
            for name, metric in self.summary()["metrics"].items()
        )
        records = f"{len(self)} record{'' if len(self) == 1 else 's'}"
        scores = f": {found}" if (found := ", ".join(means)) else ""
        return f"<Run {self.id} {self.name!r}, {self.status}, {records}{scores}>"

    _repr_html_ = notebook_page

    def score_rows(self) -> Generator[dict[str, Any], None, None]:
        """Yield a flat row per score.

        Calls counted in ``cached`` were free in this run; those in ``shared`` are also counted in an earlier row.
        """
        for result in self.results():
            before = [
                call["metrics"]
                for call in result.typed.get("calls", ())
                if self._store.has_before(bytes.fromhex(call["key"]), self.started)
            ]
            for score in result.typed["scores"]:
                cached = sum(score["metric"].partition(".")[0] in served for served in before)
                failed = score["detail"].get("extraction_failed", False)
                flat = {
                    "shared": 0, **score, **score["cost"],
                    **_origin(result), "cached": cached, "extraction_failed": failed,
                }  # fmt: skip
                yield {column: flat[column] for column in SCORE_COLUMNS}

    def verdict_rows(self) -> Generator[dict[str, Any], None, None]:
        """Yield one flat row per verdict, with its first quote.

        A claim's row includes the columns of its metric's detail, a nugget's row its importance and weight. For a
        nugget, ``difference`` is its value minus the plain score of its record, in points.
        """
        for result in self.results():
            units = {unit["id"]: unit for unit in result.typed.get("units", ())}
            values = {score["metric"]: score["value"] for score in result.typed["scores"]}
            for score in result.typed["scores"]:
                plain = values.get(PLAIN.get(score["metric"], ""))
                rows = _rows_of(score["detail"])
                for verdict in score["verdicts"]:
                    unit = units[verdict["unit"]]
                    quote: QuoteDict | dict[str, Any] = verdict["evidence"][0] if verdict["evidence"] else {}
                    flat = {
                        **rows.get(unit["id"], {}), **verdict, **quote,
                        "difference": points_between(plain, verdict["value"]),
                        **_origin(result), "metric": score["metric"], "unit": unit["id"],
                        "level": unit["level"], "text": unit_text(result, unit), "quote": quote.get("text"),
                    }  # fmt: skip
                    yield {column: flat.get(column, "" if column == "failure" else None) for column in UNIT_COLUMNS}

    def sentence_rows(self) -> Generator[dict[str, Any], None, None]:
        """Yield one flat row per traced sentence: those of the passages by passage, then those of the response.

        ``supports`` are the keys of the response sentences that a passage sentence supports. ``supported_by`` are the
        keys, including special ones, that support a response sentence.
        """
        for result in self.results():
            texts = {context["id"]: context["text"] for context in result.get("contexts", ())}
            for traced in traces_of(result):
                for row in traced.contexts:
                    text = texts[row["passage"]][row["start"] : row["end"]]
                    yield _sentence(result, row, text=text, supports=" ".join(traced.supports.get(row["key"], ())))
                for row, unit in traced.response:
                    by = " ".join([*row["support"], *row["special"]])
                    place = {"start": unit["start"], "end": unit["end"], "text": unit["text"]}
                    yield _sentence(result, row, **place, supported_by=by)

    def to_pandas(self, rows: str = "scores") -> pd.DataFrame:
        """Return a pandas data frame of ``scores``, ``verdicts`` or ``sentences``, one row each.

        Raise InputError for another name, or if pandas is not installed.
        """
        try:
            import pandas as pd  # noqa: PLC0415 - only if the user has it
        except ImportError as error:
            raise InputError("to_pandas needs pandas; install it with: pip install 'ragstone[pandas]'") from error
        columns, source = self.rows(rows)
        return pd.DataFrame(list(source), columns=list(columns))

    def to_polars(self, rows: str = "scores") -> pl.DataFrame:
        """Return a polars data frame of ``scores``, ``verdicts`` or ``sentences``, with null for missing values.

        Raise InputError for another name, or if polars is not installed.
        """
        try:
            import polars as pl  # noqa: PLC0415 - only if the user has it
        except ImportError as error:
            raise InputError("to_polars needs polars; install it with: pip install polars") from error
        columns, source = self.rows(rows)
        kinds = {"number": pl.Float64, "count": pl.Int64, "truth": pl.Boolean}
        schema = {column: kinds.get(COLUMN_KINDS.get(column, ""), pl.String) for column in columns}
        return pl.DataFrame(list(source), schema=schema, orient="row")

    def rows(self, name: str) -> tuple[tuple[str, ...], Generator[dict[str, Any], None, None]]:
        """Return columns and rows of ``scores``, ``verdicts`` or ``sentences``; raise InputError for another name."""
        if name == "scores":
            return SCORE_COLUMNS, self.score_rows()
        if name == "verdicts":
            return UNIT_COLUMNS, self.verdict_rows()
        if name == "sentences":
            return SENTENCE_COLUMNS, self.sentence_rows()
        raise InputError(f"no rows '{name}'; expected scores, verdicts or sentences")


def find_run(store: Store, which: str | int = "last") -> Run:
    """Return a run by its number, its name (the latest with that name) or ``last``; else raise InputError with hints.

    ``last`` is none of the runs that ``tune`` makes, unless there are no others. A run named after a file is also found
    without the file extension, unless a run has exactly that name.
    """
    runs = store.runs()
    if not runs:
        raise InputError(f"{store.path}: no runs yet; to create one, run: ragstone run FILE")
    if which == "last":
        own = (row for row in reversed(runs) if not (row.name.startswith(TUNED) and row.spec.get("input") == "records"))
        return Run(store, next(own, runs[-1]))
    for row in reversed(runs):
        if str(row.id) == str(which) or row.name == which:
            return Run(store, row)
    for row in reversed(runs):
        if str(stem_of(PurePath(row.name))) == which:
            return Run(store, row)
    if folder := _folder_said(str(which), runs):
        raise InputError(f"{which} is a run's folder, but this command reads the store; {folder}")
    absent = f"no folder or run '{which}'" if "/" in str(which) else f"no run '{which}'"
    raise InputError(f"{absent} in {store.path}; {_meant(store, runs, str(which))}")


def _folder_said(which: str, runs: Sequence[RunRow]) -> str:
    """Return how to name the run that ``-o`` wrote to a folder; empty if it is no such folder."""
    try:
        about = orjson.loads((Path(which) / ABOUT).read_bytes())
        number, name = about.get("run"), about.get("name")
    except (OSError, ValueError, AttributeError):
        return ""
    known = any((row.id, row.name) == (number, name) for row in runs)
    return f"use run {number}" if known else "specify the run's store with --store"


def _meant(store: Store, runs: Sequence[RunRow], which: str) -> str:
    """Suggest what an unknown run may be: a record, a run with a similar name, or a file."""
    holding = next((row for row in reversed(runs) if Run(store, row).find(which) is not None), None)
    if holding is not None:
        return f"it is a record of run {holding.id}: ragstone show {holding.id} {shlex.quote(which)}"
    near = difflib.get_close_matches(which, [row.name for row in reversed(runs)], 1)
    file = f"; to evaluate a file: ragstone run {shlex.quote(which)}" if os.path.isfile(which) else ""  # noqa: PTH113
    meant = f"did you mean '{near[0]}'? The" if near else "the"
    there = f"store has runs {runs[0].id} to {runs[-1].id}" if len(runs) > 1 else f"only run is {runs[0].id}"
    return f"{meant} {there}; expected a number, a name or 'last'{file}"


class TraceRows(NamedTuple):
    """The sentences of one trace: rows of its detail, with units for the response's sentences.

    ``supports`` maps the key of a passage sentence to the keys of the response sentences that it supports.
    """

    score: Mapping[str, Any]
    contexts: Sequence[Mapping[str, Any]]
    response: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
    supports: Mapping[str, Sequence[str]]


def traces_of(result: Mapping[str, Any]) -> Iterator[TraceRows]:
    """Yield the traces of a result, at most one per metric."""
    units = {unit["id"].rpartition("/")[2]: unit for unit in result.get("units", ())}
    for score in result["scores"]:
        detail = score["detail"]
        if of_score(score["metric"]).task() == "trace" and "response" in detail:
            supports: dict[str, list[str]] = {}
            for row in detail["response"]:
                for key in row["support"]:
                    supports.setdefault(key, []).append(row["key"])
            rows = [(row, units[row["key"]]) for row in detail["response"]]
            yield TraceRows(score, detail["contexts"], rows, supports)


def _rows_of(detail: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the rows of a score's claims or nuggets by unit; some metrics only count them, by the same name."""
    kinds = {kind: rows for kind in ("claim", "nugget") if isinstance(rows := detail.get(f"{kind}s"), list)}
    return {row[kind]: row for kind, rows in kinds.items() for row in rows if isinstance(row, dict) and kind in row}


def _sentence(result: Mapping[str, Any], row: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    flat = {**row, **more, **_origin(result)}
    return {column: flat.get(column) for column in SENTENCE_COLUMNS}


def _origin(result: Mapping[str, Any]) -> dict[str, str]:
    """Return what a row belongs to; ids such as ``101#2`` do not tell the system of a response."""
    from ragstone.analysis.leaderboard import run_of  # noqa: PLC0415 - only tables need it

    return {"record": result["id"], "topic": result["topic"], "run_id": run_of(result["meta"])}


def unit_text(result: Mapping[str, Any] | ResultDict, unit: Mapping[str, Any] | UnitDict) -> str:
    """Return a unit's text: its own, or the text of the passage or response that it stands for."""
    if unit["text"] is not None:
        return str(unit["text"])
    if unit["level"] == "response":
        return result.get("response") or ""
    return next((c["text"] for c in result.get("contexts", ()) if c["id"] == unit["parent"]), "")


def part_said(extent: Mapping[str, int]) -> str:
    """Describe the part of its input that a run read, e.g. ``sample of 2,000 (seed 0)``; empty for all of it."""
    parts = []
    if "sample" in extent:
        parts.append(f"sample of {extent['of']:,} (seed {extent['seed']})")
    if "limit" in extent:
        each = " of each file" if extent["files"] > 1 else ""
        parts.append(f"first {extent['limit']:,}{each} only")
    return ", ".join(parts)
