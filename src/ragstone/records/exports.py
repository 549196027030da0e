"""Recognise exports of other tools by the shape of their first rows, never by the file name.

A row of a recognised export becomes a row with canonical names, or a skip reason that is counted; a row that does not
fit is left unchanged. Before that, rows are unwrapped from ``{"data": [...]}``, columns, or a path given by the user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import chain
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import force_setattr

from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records import (
    from_chat,
    from_evaluators,
    from_frameworks,
    from_langfuse,
    from_spans,
    from_trulens,
)
from ragstone.records.fields import FIELD_OF, OWN, Fields, closest, written
from ragstone.records.jsontext import as_row, kind
from ragstone.records.mapping import Item, Row, Rows
from ragstone.records.paths import MISSING, find, folded, root
from ragstone.records.span_join import OTHER, Recognised, TraceSpan, joined
from ragstone.records.values import rows_by_column
from ragstone.types import NOTHING

LOOKED_AT: Final = 10
"""Number of rows examined to recognise an export."""
OUTPUTS: Final = ({"position", "scores", "units"}, {"position", "scores", "set_aside"}, {"metrics", "bill", "left_out"},
                  {"metrics", "chosen", "signatures"})  # fmt: skip
"""Keys of the objects that ``run -o`` writes: a result, one of an unreadable record, the summary, the run."""
NOT_RECORDS: Final = "contains the results of a run, not records; specify the input of that run"
PLAIN: Final = "records"
"""The format name that disables recognition: rows are records."""

WRAPPERS: Final = ("data", "input_data", "records", "rows", "results", "items", "traces", "spans", "samples",
                   "examples", "testCases", "testRunData.testCases", "conversationalTestCases",
                   "testRunData.conversationalTestCases", "test_cases", "goldens", "runs",
                   "results.results")  # fmt: skip
"""Paths that may hold the rows of an object, if it has no record field of its own."""


class Export(Struct, frozen=True):
    """One format.

    ``read`` returns a row with canonical names or the reason to skip it; nothing if the row has another format. With
    ``spans``, which returns the spans of a row, to be joined by trace, it returns only whether the row has the format.
    ``reads`` describes which field is read from where.
    """

    name: str
    title: str
    reads: str
    read: Callable[[Row], Row | str | bool | None]
    spans: Callable[[Row], Iterable[TraceSpan]] | None = None


_ROOT: Final = (
    "question and response: the root span, else the last LLM span; "
    "contexts: the retriever spans, or the rerankers after them"
)
EXPORTS: Final = (
    Export("openinference", "OpenInference spans", _ROOT, from_spans.is_openinference, from_spans.spans),
    Export("mlflow", "MLflow traces", _ROOT, from_spans.is_mlflow, from_spans.mlflow_spans),
    Export("opentelemetry", "OpenTelemetry spans", _ROOT, from_spans.is_span, from_spans.spans),
    Export("langfuse", "Langfuse observations", _ROOT, from_langfuse.is_langfuse, from_langfuse.spans),
    Export("langsmith", "LangSmith runs", _ROOT, from_frameworks.is_langsmith, from_frameworks.langsmith_spans),
    Export("trulens", "TruLens records",
           "question: main_input; response: main_output; contexts: the results of retrieval calls or spans",
           from_trulens.is_record, from_trulens.spans),
    Export("llamaindex", "LlamaIndex responses", "response: response; contexts: source_nodes",
           from_frameworks.llamaindex_row),
    Export("langchain", "LangChain results",
           "question: input or query; response: answer or result; contexts: context or source_documents",
           from_frameworks.langchain_row),
    Export("haystack", "Haystack answers", "question: query; response: data or replies; contexts: documents",
           from_frameworks.haystack_row),
    Export("adk", "Google ADK events",
           "question and response: the user's message and the last answer of an invocation; "
           "contexts: what its tools returned",
           from_frameworks.is_adk, from_frameworks.adk_spans),
    Export("promptfoo", "promptfoo results",
           "question and contexts: vars; response: response.output; generator: provider",
           from_evaluators.promptfoo_row),
    Export("phoenix-qa", "Phoenix answers with reference", "question: input; response: output; contexts: reference",
           from_evaluators.phoenix_row),
    Export("bedrock", "Bedrock results",
           "question, response and contexts: the last of conversationTurns; or input, output and citations",
           from_evaluators.bedrock_row),
    Export("vectara", "Vectara results", "question: query; response: summary; contexts: search_results",
           from_evaluators.vectara_row),
    Export("open-rag-eval", "open-rag-eval results",
           "question: query; response: generated_answer; contexts: the passages of all rows of an answer",
           from_evaluators.is_passage, from_evaluators.passage_spans),
    Export("ragas", "ragas samples",
           "question: user_input; response: response; contexts: retrieved_contexts; or their older names",
           from_evaluators.ragas_row),
    Export("deepeval", "deepeval test cases",
           "question: input; response: actual_output; contexts: retrieval_context (not context)",
           from_evaluators.deepeval_row),
    Export("ragbench", "RAGBench rows", "question: question; response: response; contexts: documents",
           from_evaluators.ragbench_row),
    Export("chat", "Conversations",
           "question and response: the last user and assistant turns; contexts: the tool messages between them",
           from_chat.record_row),
)  # fmt: skip
"""All exports, the most distinctive shape first. To add one, add a module in this package and an entry here."""

RECORDS: Final = Export(PLAIN, "Records", "the fields of each row", lambda _: True)


class Layout(Struct, frozen=True):
    """How to read the rows of an input: the export's name (empty to recognise it) and the path of the list of rows.

    ``files`` maps each of the two that is set in a configuration file to that file.
    """

    name: str = ""
    path: str = ""
    files: Mapping[str, str] = NOTHING

    def __post_init__(self) -> None:
        names = [export.name for export in EXPORTS] + [PLAIN]
        if self.name and self.name not in names:
            said = written(self.files.get("name"), "[run] from", "--from", self.name, " ")
            raise ConfigError(f"{said}: no such format{closest(self.name, names)}")
        if self.path.endswith("[]"):
            force_setattr(self, "path", self.path.removesuffix("[]"))

    def rows(self, items: Callable[[], Rows], fields: Fields, tally: Recognised) -> Rows:
        """Yield the input's rows with canonical names; ``tally`` counts records and skipped rows."""
        with self._read(items, fields, tally) as (whole, export):
            if export is None:
                yield from whole
                return
            tally.title, tally.format = export.title, export.name
            tally.unit = "trace" if export.spans is not None else ""
            if export.spans is not None:
                known = from_spans.is_span if export.spans is from_spans.spans else export.read
                spans = export.spans
                yield from joined(whole, lambda row: spans(row) if known(row) else (), tally)
            else:
                yield from _converted(whole, export, tally)

    def export_of(self, items: Callable[[], Rows], fields: Fields) -> Export | None:
        """Return the export that an input is; `RECORDS` if none, None if it has no rows or cannot be read."""
        with suppress(RecordError), self._read(items, fields) as (whole, export):
            return export or (RECORDS if next(whole, None) else None)
        return None

    @contextmanager
    def _read(
        self, items: Callable[[], Rows], fields: Fields, tally: Recognised | None = None
    ) -> Iterator[tuple[Iterator[Item], Export | None]]:
        mapped = frozenset(root(path) for _, path in fields.each)
        own = frozenset(root(path) for field, path in fields.each if field in OWN)
        with closing(items()) as raw, closing(self._unwrapped(raw, mapped, tally or Recognised())) as rows:
            yield self._recognised(rows, own)

    def _recognised(self, rows: Rows, mapped: frozenset[str]) -> tuple[Iterator[Item], Export | None]:
        """Return all rows, and the export recognised from the first ones.

        Rows with one of the ``mapped`` keys, from which the user reads a main field, are plain records.
        """
        if self.name:
            return rows, next((export for export in EXPORTS if export.name == self.name), None)
        head: list[Item] = []
        found = None
        try:
            while found is None and len(head) < LOOKED_AT:
                item = next(rows, None)
                if item is None:
                    break
                head.append(item)
                row = item[1]
                if isinstance(row, dict) and not mapped.isdisjoint(row):
                    break
                found = next((one for one in EXPORTS if one.read(row)), None) if isinstance(row, dict) else None
        except RecordError as error:  # raised again after the rows before it
            return _broken(head, error), found
        return chain(head, rows), found

    def _unwrapped(self, items: Rows, mapped: frozenset[str], tally: Recognised) -> Rows:
        for where, value in items:
            if not isinstance(value, dict):
                yield where, value
                continue
            if any(keys <= value.keys() for keys in OUTPUTS):
                raise InputError(f"{where}: {NOT_RECORDS}")
            if self.path:
                name, rows = "item", find(value, self.path)
                if isinstance(rows, list) and rows and all(isinstance(part, list) for part in rows):
                    rows = [row for part in rows for row in part]
            elif self.name == PLAIN or not mapped.isdisjoint(value) or (inner := _wrapped(value)) is None:
                yield where, value
                continue
            else:
                name, rows = inner
            if not isinstance(rows, list):
                said = written(self.files.get("path"), "[run] records", "--records", self.path, " ")
                what = "nothing found there" if rows is MISSING else f"found {kind(rows)}"
                yield where, RecordError(where, f"{said}: {what}", "expected the path of a list, e.g. data.items[]")
                continue
            tally.within = f"{self.path or name}[]."
            for number, row in enumerate(rows, 1):
                yield f"{where} {name} {number}", as_row(row, f"{where} {name} {number}")


def _broken(head: Iterable[Item], error: RecordError) -> Iterator[Item]:
    yield from head
    raise error


def _converted(items: Iterable[Item], export: Export, tally: Recognised) -> Rows:
    for where, value in items:
        found: Any = value
        if isinstance(value, dict):
            plain = any(FIELD_OF.get(folded(name)) in OWN for name in value)
            found = export.read(value) or (value if plain else OTHER)
        if isinstance(found, str):
            tally.left_out[found] += 1
            continue
        tally.records += not isinstance(found, RecordError)
        yield where, found


def _wrapped(row: Row) -> tuple[str, list[Any]] | None:
    """Return the rows that an object wraps, and a name for them; None if the object is a row itself."""
    own = {FIELD_OF.get(folded(name)) for name in row} & OWN
    if own:
        columns = _columns(row)
        return ("row", columns) if columns is not None else None
    if any(export.read(row) for export in EXPORTS):
        return None
    parts = [{FIELD_OF.get(folded(name)) for name in value} & OWN for value in row.values() if isinstance(value, dict)]
    if 1 < len(row) == len(parts) and len(set.intersection(*parts)) > 1:  # records by id, unlike inputs and outputs
        return "row", [{"id": name, **value} for name, value in row.items()]
    if isinstance(row.get("columns"), list) and isinstance(row.get("data"), list):  # pandas, orient="split"
        names = [str(name) for name in row["columns"]]
        return "row", [dict(zip(names, cells, strict=False)) for cells in row["data"] if isinstance(cells, list)]
    listed = [(name, rows) for name in WRAPPERS if isinstance(rows := find(row, name), list) and rows]
    found = [(name, rows) for name, rows in listed if isinstance(rows[0], dict)]
    return found[0] if len(found) == 1 else None


def _columns(row: Mapping[str, Any]) -> list[Row] | None:
    """Return the rows of a table stored by column (``Dataset.to_dict``, ``DataFrame.to_json``), else None."""
    indexes = [list(column) for column in row.values() if isinstance(column, dict)]
    if len(indexes) == len(row) and all(index == indexes[0] for index in indexes):
        row = {name: list(column.values()) for name, column in row.items()}
    rows = rows_by_column(row)
    said = [name for name in row if FIELD_OF.get(folded(name)) in ("question", "response")]
    return rows if rows and said and all(isinstance(one[name], str) for one in rows for name in said) else None
