"""Join the spans of a trace, wherever they occur in an input, into one record.

Question and response come from the root span, else from the last LLM span. The contexts are the documents shown to the
LLM: those of all retriever spans, ordered by end time and replaced by the output of later rerankers. A trace that gives
no record is counted with its reason, never lost. Spans are copied to a temporary file. So memory grows only by the
positions of the spans, about 40 bytes each, and any input works: a list, a stream, Parquet.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import IO, Any, Final, NamedTuple

import orjson
from msgspec import Struct, field

from ragstone.errors import RecordError, reason
from ragstone.records.fields import NOTES
from ragstone.records.jsontext import counted, opened
from ragstone.records.limits import MAX_RECORD_BYTES, MAX_SPOOL_BYTES
from ragstone.records.logged_texts import EVIDENCE, RETRIEVED, answered, asked, documents, is_error, shown_in
from ragstone.records.mapping import Item, Row, Rows
from ragstone.records.values import UnfitError, passages, readable
from ragstone.types import ORIGIN

RETRIEVER, RERANKER, LLM, TOOL, EVALUATOR = "retriever", "reranker", "llm", "tool", "evaluator"
KINDS: Final[Mapping[str, str]] = {
    "retriever": RETRIEVER, "retrieval": RETRIEVER, "search": RETRIEVER,
    "reranker": RERANKER, "rerank": RERANKER, "reranking": RERANKER,
    "llm": LLM, "chat": LLM, "chat_model": LLM, "generation": LLM, "text_completion": LLM, "generate_content": LLM,
    "completion": LLM, "tool": TOOL, "execute_tool": TOOL, "ai.toolcall": TOOL,
    "ai.generatetext.dogenerate": LLM, "ai.streamtext.dostream": LLM,
    **dict.fromkeys(("evaluator", "evaluation", "guardrail", "eval", "eval_root"), EVALUATOR),
}  # fmt: skip
"""Span kinds as tools write them, in lower case, mapped to canonical kinds."""
STEPS: Final = (RETRIEVER, RERANKER, TOOL, EVALUATOR)
"""Kinds of spans whose output is not an answer; neither is that of an LLM span below them."""
RETRIEVAL: Final = re.compile(r"retriev|(?<!re)search", re.IGNORECASE)
"""Matches the name of a step that retrieves, whatever its kind."""

DEEPEST: Final = 200
"""Maximum number of ancestors of a span to follow."""
OTHER: Final = "with an unexpected structure"
PROMPT: Final = "question: a prompt that contains passages; log the user's question as the input of the root span"
SHORT: Final = 20
"""Passages of at most this many characters may occur in a question by chance."""
SEVERAL: Final = "trace: several root spans with retrievers; each becomes a record"


class TraceSpan(NamedTuple):
    """One step of a trace. Times are in any unit, the same throughout a trace; 0 if unknown."""

    trace: str
    id: str
    parent: str = ""
    kind: str = ""
    name: str = ""
    start: float = 0.0
    end: float = 0.0
    failed: bool = False
    input: Any = None
    output: Any = None
    documents: Any = None
    model: str = ""
    meta: Mapping[str, Any] = {}


class Recognised(Struct):
    """Counts for a recognised export: traces found, records made, and the reasons for skipping others.

    ``within`` is the start of a path into the rows, if an object wraps them: ``data[].``.
    """

    title: str = ""
    unit: str = ""
    format: str = ""
    found: int = 0
    records: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    within: str = ""

    def __str__(self) -> str:
        found = f"{counted(self.found, self.unit)}, " if self.unit else ""
        reasons = "; ".join(
            f"{count:,} {reason}"
            for reason, count in sorted(self.left_out.items(), key=lambda entry: (-entry[1], entry[0]))
        )
        return f"{self.title}: {found}{counted(self.records, 'record')}{f'; skipped: {reasons}' if reasons else ''}"


def moment(value: Any) -> float:
    """Return a time as a number; 0 if it is not a time."""
    try:
        if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
            return datetime.fromisoformat(value).timestamp()
        number = float(value or 0)
        return number if isfinite(number) else 0.0
    except (TypeError, ValueError, OverflowError):
        return 0.0


def joined(items: Iterator[Item], spans_of: Callable[[Row], Iterable[TraceSpan]], tally: Recognised) -> Rows:
    """Yield the row of each trace, ordered by the first span of the trace in the input."""
    import tempfile  # noqa: PLC0415 - only spans need it

    with tempfile.TemporaryFile(prefix="ragstone-") as kept:
        places: dict[str, array[int]] = {}
        retrieved = False
        size = 0
        for where, value in items:
            if not isinstance(value, dict):
                yield where, value
                continue
            spans = list(spans_of(value))
            if not spans:
                tally.left_out[OTHER] += 1
            for span in spans:
                retrieved = retrieved or span.kind in (RETRIEVER, RERANKER)
                places.setdefault(span.trace, array("Q")).append(size)
                try:
                    size += kept.write(orjson.dumps([where, *span]) + b"\n")
                except OSError as error:
                    told = f"its spans cannot be kept in a temporary file: {reason(error)}"
                    raise RecordError(where, told) from None
                if size > MAX_SPOOL_BYTES:
                    raise RecordError(where, f"more than {MAX_SPOOL_BYTES:,} bytes of spans", "split the input")
        tally.found = len(places)
        for its_places in places.values():
            where, spans = _read(kept, its_places)
            if not spans:
                yield where, RecordError(where, "a trace of more than 64 MiB", "split it")
                continue
            trees = _Tree(spans).parts
            several = sum(bool(tree.retrieval) for tree in trees) > 1
            for tree in trees:  # one per root with retrieval and an answer
                row = record_of(tree, [SEVERAL] if several else [], needs_retriever=retrieved)
                if isinstance(row, str):
                    tally.left_out[row] += 1
                else:
                    tally.records += 1
                    row[ORIGIN] |= {"format": tally.format, **({"parts": len(trees)} if several else {})}
                    yield where, row


def _read(kept: IO[bytes], places: Sequence[int]) -> tuple[str, list[TraceSpan]]:
    """Return the place of a trace's first span, and its spans; no spans if they exceed the record size limit."""
    spans, size, first = [], 0, ""
    for place in places:
        kept.seek(place)
        line = kept.readline()
        size += len(line)
        if size > MAX_RECORD_BYTES:
            return first, []
        where, *fields = orjson.loads(line)
        first = first or where
        spans.append(TraceSpan(*fields))
    return first, spans


def record_of(tree: _Tree, notes: list[str], *, needs_retriever: bool) -> Row | str:
    """Return the record of a root and its spans, or the reason to skip it."""
    spans, root, llm = tree.spans, tree.root, tree.last_llm
    question = asked(root.input) or (asked(llm.input) if llm else None)
    outputs = [span.output for span in (root, llm) if span is not None and span.kind not in STEPS]
    response = next((text for output in outputs if (text := answered(output, notes)) is not None), None)
    if response is None and not any(map(is_error, outputs)):  # the answer itself is JSON
        response = next((output for output in outputs if isinstance(output, str)), None)
        notes += ["response: JSON is kept as text"] if response is not None else []
    output = opened(root.output)
    held = shown_in(output) if isinstance(output, dict) else None
    retrieval = tree.retrieval
    if not retrieval and not held:
        tools = (span._replace(documents=_searched(span)) for span in spans if span.kind == TOOL)
        if retrieval := [span for span in tools if span.documents]:
            notes = [*notes, "contexts: read from tool spans, since the trace has no retriever span"]
    by_llm = llm is not None and answered(llm.output) == response
    seen = [span for span in retrieval if not llm or not by_llm or not 0 < llm.end < span.start]
    if 0 < len(seen) < len(retrieval):
        retrieval, notes = seen, [*notes, "contexts: a retriever span after the answer is left out"]
    documented, said_of_them = _shown(retrieval)
    shown = [one.item for one in documented] if retrieval else None
    notes = [*notes, *said_of_them]
    if not retrieval:
        shown = held
        if not shown and needs_retriever:
            return "without a retriever span"
    if question is None and retrieval:
        question = asked(retrieval[0].input)
    if response is None:
        failed = root.failed or (llm and llm.failed) or any(map(is_error, outputs))
        return "failed before answering" if failed else "without an answer"
    if not readable(shown or []):
        return "with documents that have no text"
    origin: Row = {"trace": root.trace, "span": root.id}
    logged = (span.kind == TOOL or span.documents == span.output for span in retrieval)  # as plain output
    if documented and not any(logged):
        origin["documents"] = [[one.span, one.place] for one in documented]
    row: Row = {}
    for span in reversed(spans):  # the trace's metadata, such as the session; the first value wins
        row |= span.meta
    row |= {ORIGIN: origin, "id": root.trace, "response": response}
    if question is not None:
        row["question"] = question.question
        notes += [PROMPT] if any(len(one.same) > SHORT and one.same in question.question for one in documented) else []
        row |= {"history": list(question.history)} if question.history else {}
    if shown is not None:
        row["contexts"] = shown
    model = llm.model if llm and llm.model else next((span.model for span in reversed(spans) if span.model), "")
    row |= {"generator": model} if model else {}
    if root.failed or any(span.failed for span in spans if span.kind in (RETRIEVER, RERANKER)):
        notes.append("trace: contains a failed span")
    notes += ["trace: several steps with a retriever and an answer; joined"] if len(tree.inside(root.id)) > 1 else []
    return {**row, NOTES: notes} if notes else row


class _Tree:
    """The spans of a trace as a tree."""

    def __init__(self, spans: Sequence[TraceSpan]) -> None:
        self._by_id = {span.id: span for span in spans}
        once = {span.id or str(number): span for number, span in enumerate(spans)}.values()  # some are sent twice
        self.spans = sorted(once, key=lambda span: (span.start, len(list(self._above(span)))))
        whole = [span for span in self.spans if not span.parent]
        roots = whole or [span for span in self.spans if span.parent not in self._by_id] or self.spans
        answering = [span for span in roots if span.kind not in STEPS]
        useful = [span for span in answering if span.input is not None and span.output is not None]
        if answering and all(span.input is None and span.output is None for span in answering):
            useful = self.inside()
        retrieving = self._with_below(RETRIEVER)
        self._roots = [span for span in useful if span.id in retrieving]
        self.root = (self._roots or useful or answering or roots)[0]
        self._roots += [*self._broken(self._roots), *self._later()] if self._roots else []

    @property
    def parts(self) -> list[_Tree]:
        """The tree itself, or one tree per turn if there are several."""
        if len(self._roots) < 2:
            return [self]
        roots = {root.id: list[TraceSpan]() for root in self._roots}
        for span in self.spans:
            root = next((one.id for one in (span, *self._above(span)) if one.id in roots), None)
            if root is not None:
                roots[root].append(span)
        return [_Tree(spans) for spans in roots.values()]

    def inside(self, root: str = "") -> list[TraceSpan]:
        """The outermost steps below the root with input and output that contain both retrieval and generation.

        They serve as roots if the root has no input and output, such as an HTTP request or a session.
        """
        needed = self._with_below(RETRIEVER) - {root}
        if any(span.kind == LLM for span in self.spans):
            needed &= self._with_below(LLM)
        found = {
            span.id: span
            for span in self.spans
            if span.id in needed and span.kind not in (*STEPS, LLM) and None not in (span.input, span.output)
        }
        return [
            span
            for span in found.values()
            if not any(above.id in found or above.kind in STEPS for above in self._above(span))
        ]

    def _broken(self, roots: Sequence[TraceSpan]) -> list[TraceSpan]:
        """The outermost steps beside the roots that retrieved and failed, or called an LLM, but have no output."""
        ended = {span.id for span in self.spans if span.failed} | self._with_below(LLM)
        needed = self._with_below(RETRIEVER) & ended - {one.id for root in roots for one in (root, *self._above(root))}
        known = {root.id for root in roots}
        found = []
        for span in self.spans:
            alone = known.isdisjoint(above.id for above in self._above(span))
            if alone and span.id in needed and span.kind not in (*STEPS, LLM) and span.input and span.output is None:
                known.add(span.id)
                found.append(span)
        return found

    def _later(self) -> list[TraceSpan]:
        """The steps beside the first root that began after its answer and answered too: turns without retrieval."""
        known = {root.id for root in self._roots}
        models = self._with_below(LLM) or {span.id for span in self.spans}
        return [
            span
            for span in self.spans
            if span.start >= self.root.end > 0 and span.parent == self.root.parent and span.id not in known
            and {span.id, self.root.id} <= models
            and span.kind not in (*STEPS, LLM) and None not in (span.input, span.output)
        ]  # fmt: skip

    def _with_below(self, kind: str) -> set[str]:
        """The ids of the spans of a kind and of all their ancestors."""
        return {one.id for span in self.spans if span.kind == kind for one in (span, *self._above(span))}

    def _above(self, span: TraceSpan) -> Iterator[TraceSpan]:
        """Yield the ancestors of a span, nearest first; stop at a cycle."""
        seen = {span.id}
        while (parent := self._by_id.get(span.parent)) and parent.id not in seen and len(seen) < DEEPEST:
            seen.add(parent.id)
            yield parent
            span = parent

    @property
    def last_llm(self) -> TraceSpan | None:
        """The last LLM call that is not part of retrieval, a tool or an evaluation."""
        calls = [
            span
            for span in reversed(self.spans)  # of calls that end at the same time, the last one
            if span.kind == LLM and not any(above.kind in (*STEPS, LLM) for above in self._above(span))
        ]
        return max(calls, key=lambda span: (span.output is not None, span.end or span.start), default=None)

    @property
    def retrieval(self) -> list[TraceSpan]:
        """Retrievers and rerankers, ordered by end time; of nested ones, the outermost with documents."""
        found = [span for span in self.spans if span.kind in (RETRIEVER, RERANKER)]
        outer = [
            span
            for span in found
            if not any(
                above.kind == EVALUATOR or (above.kind == RETRIEVER and _documents(above))
                for above in self._above(span)
            )
        ]
        with_some = [span for span in outer if _documents(span) or (span.kind == RERANKER and span.documents == [])]
        return sorted(with_some or outer, key=lambda span: (span.end or span.start, span.kind == RERANKER))


class _Found(NamedTuple):
    """A document with its span, its position among that span's documents, and the key by which it is compared."""

    item: Any
    span: str
    place: int
    same: str


def _shown(retrieval: Sequence[TraceSpan]) -> tuple[list[_Found], list[str]]:
    """Return the documents shown to the LLM, without duplicates, and notes."""
    shown: list[_Found] = []
    known: set[str] = set()
    notes: list[str] = []
    for span in retrieval:
        found = [_Found(item, span.id, place, _same(item)) for place, item in enumerate(_documents(span))]
        if span.kind == RERANKER:
            before = documents(span.input)
            given = known if before is None else {*map(_same, before), *(one.same for one in found)}
            shown = [*(one for one in shown if one.same not in given), *found]
            known = {one.same for one in shown}
            continue
        new = [one for one in found if one.same not in known]
        notes += ["contexts: a passage found by two retriever spans is kept once"] if len(new) < len(found) else []
        shown += new
        known.update(one.same for one in new)
    return shown, notes


def _searched(tool: TraceSpan) -> list[Any]:
    """Return the passages in a tool's output, if its name or the key of its documents says that it retrieves."""
    named, output = RETRIEVAL.search(tool.name), opened(tool.output)
    found = documents(output, RETRIEVED if named else EVIDENCE) if named or isinstance(output, dict) else None
    if found is not None and readable(found):
        return found
    return [text] if named and (text := answered(output)) else []


def _documents(span: TraceSpan) -> list[Any]:
    """Return the documents of a retrieval span; a single text or document becomes a list of one."""
    found = documents(span.documents)
    if found is None and span.documents:
        found = [opened(span.documents)]
    return found or []


def _same(item: Any) -> str:
    """Return the key by which documents are compared: the text, else the whole document as JSON."""
    try:
        (passage,), _ = passages([item], [])
    except UnfitError:
        return orjson.dumps(item, option=orjson.OPT_SORT_KEYS).decode()
    return passage.text
