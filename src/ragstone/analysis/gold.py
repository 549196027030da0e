"""Read gold labels for a run's units as label rows: from a file, another run, or a field of the run's records.

A file's format is detected from its content, never from its name. Gold records are matched by topic, system and
response, their nuggets and sentences by text. Labels for another response match nothing. Labels of a topic whose answer
is in labelled blocks are labels of the topic's nuggets. Unmatched labels still become rows, with the text instead of
the unit, so that they are counted and listed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ragstone.analysis.leaderboard import run_of
from ragstone.analysis.run import unit_text
from ragstone.analysis.saved import AnyRun
from ragstone.errors import InputError, RagstoneError
from ragstone.labels import NO_TASK, LabelRow, of_reference, row_from_json, text_hash, topic_unit
from ragstone.metrics import of_score
from ragstone.records import Fields, SetAside, label_imports, open_records, values
from ragstone.records.paths import find
from ragstone.records.topics import is_qrels, read_qrels
from ragstone.result_types import ResultDict
from ragstone.segment import folded
from ragstone.stats.rankings import majority
from ragstone.types import BY_RECORD, NOTHING, Nugget, Record

BLOCK, OF_BLOCK, OF_TOPIC = "block", "block_nuggets_assignment", "global_nuggets_assignment"
RELEVANT, USED = "all_relevant_sentence_keys", "all_utilized_sentence_keys"
MARKS: Final = frozenset(
    (RELEVANT, USED, "sentence_support_information", "unsupported_response_sentence_keys", "adherence",
     "adherence_score")
)  # fmt: skip
"""The keys of RAGBench's labels."""
TRACED: Final = {"relevant": RELEVANT, "utilized": USED}
"""The suffix of the task for a label of passage sentences, with RAGBench's key for sentences labelled yes."""
FORMS: Final = (
    f"{label_imports.FORMS}, TREC qrels, results of a run, or records with nuggets[].assignment, {OF_BLOCK}, a list "
    "'labels' of {unit, label}, or RAGBench's sentence keys"
)
NAMED: Final = 6
"""Maximum number of fields listed in a message."""

_Key = TypeVar("_Key", bound=Hashable)
_Label = TypeVar("_Label", bound=Hashable)


class _Gold(Struct):
    """Labels of a gold record for one response, or for any response to its topic if ``response`` is None.

    ``nuggets`` are assigned nuggets, ``marks`` RAGBench's labels, and ``units`` a list of ``{unit, label}``.
    """

    record: str
    topic: str
    system: str
    response: str | None
    annotator: str
    nuggets: tuple[Nugget, ...] = ()
    marks: Mapping[str, Any] = field(default_factory=dict)
    units: tuple[Mapping[str, Any], ...] = ()
    found: dict[str, list[LabelRow]] = field(default_factory=dict)
    """Its rows by matching record."""

    def fits(self, result: ResultDict) -> bool:
        """Return whether its system and response, if given, match the result's."""
        system = run_of(result["meta"])
        same = not self.system or not system or self.system == system
        return same and (self.response is None or self.response == folded(result["response"] or ""))


class Gold(NamedTuple):
    """Label rows; ``judged`` names the run whose verdicts they are, empty for people's labels.

    ``skipped`` counts a label file's entries without a label, by reason.
    """

    rows: list[LabelRow]
    judged: str = ""
    skipped: Mapping[str, int] = NOTHING


def gold_rows(given: str, run: AnyRun, open_run: Callable[[str], AnyRun]) -> Gold:
    """Return the labels of GOLD for the units of a run.

    Args:
        given: A file or folder, a field of the run's records (in its results, else in its input), or another run.
        run: The run whose units are labelled.
        open_run: Opens a run by the name that a user gave.

    Raises:
        InputError: There is no such file, field or run, a file has an unknown format, or labels cannot be read.
    """
    path = Path(given)
    if path.is_file():
        return _of_file(path, run, open_run)
    if not path.exists() and given != "last" and not given.isdecimal() and (golds := _of_field(given, run)):
        return Gold(list(_joined(golds, run)))
    try:
        return _verdicts_of(open_run(given))
    except RagstoneError as error:
        if path.exists():
            raise
        if path.suffix or path.name != given:
            raise InputError(f"{given}: no such file") from error
        meta: Mapping[str, Any] = next((result["meta"] for result in run.results() if result.get("meta")), {})
        others = f"; other fields are {', '.join(list(meta)[:NAMED])}" if meta else ""
        raise InputError(f"'{given}' is not a file, a run, or a field of the records with labels{others}") from error


def _verdicts_of(judged: AnyRun) -> Gold:
    return Gold(list(verdict_rows(judged)), judged.name)


def _of_file(path: Path, run: AnyRun, open_run: Callable[[str], AnyRun]) -> Gold:
    if is_qrels(path):
        if graded := list(_of_qrels(path, run)):
            return Gold(graded)
        raise InputError(f"{path}: has no grade for a passage that a judge graded in {run.name}")
    with closing(label_imports.rows_of(path)) as rows:
        first = next((row for _, row in rows), {})
    if {"id", "position", "scores"} <= first.keys():
        return _verdicts_of(open_run(str(path)))
    if label_imports.form_of(first):
        skipped: Counter[str] = Counter()
        return Gold(list(_label_rows(path, run, skipped)), skipped=skipped)
    with open_records(path) as records:
        golds = [gold for record in records for gold in _of_record(record, path.stem)]
    if not golds:
        keys = ", ".join(map(str, list(first)[:NAMED]))
        raise InputError(f"{path}: contains no labels; its first record has {keys}; expected {FORMS}")
    return Gold(list(_joined(golds, run)))


def _of_qrels(path: Path, run: AnyRun) -> Iterator[LabelRow]:
    """Yield the grades of the passages that the run's judge graded; a negative grade is not relevant."""
    qrels = read_qrels(path)
    for result in run.results():
        grades = qrels.grades.get(result["topic"], NOTHING)
        units = {unit["id"]: unit for unit in result.typed.get("units", ())}
        told = (
            one["unit"] for task, one in _verdicts(result.typed) if task == "relevance" and one["judge"] != BY_RECORD
        )
        for name in dict.fromkeys(told):  # several metrics may share a verdict
            unit = units[name]
            if unit["level"] == "passage" and (grade := grades.get(unit["parent"])) is not None:
                text = text_hash(unit_text(result, unit))
                yield LabelRow(result["id"], name, "relevance", str(max(0, grade)), path.stem, hash=text)


def verdict_rows(run: AnyRun) -> Iterator[LabelRow]:
    """Yield a run's verdicts as labels by its judges; if one judge's verdicts on a unit tie, there is no label."""
    shared: dict[str, str] = {}  # verdicts repeat the same labels and judges, so share one copy
    for result in run.results():
        response = text_hash(result.get("response") or "")
        found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for task, verdict in _verdicts(result.typed):
            if verdict["label"] is not None and verdict["judge"] != BY_RECORD:
                found[verdict["unit"], task, verdict["judge"]].append(verdict["label"])
        units = {unit["id"]: unit for unit in result.typed.get("units", ())}
        for (unit, task, judge), labels in found.items():
            label = majority(labels)
            if label is not None:
                who, label = (
                    shared.setdefault(one, one) for one in (f"{judge} (run {run.id or run.name})", str(label))
                )
                apart = units[unit]["level"] == "passage" or of_reference(unit)
                text = text_hash(unit_text(result, units[unit]))
                yield LabelRow(result["id"], unit, task, label, who, hash=text, response="" if apart else response)


def _verdicts(result: ResultDict) -> Iterator[tuple[str, Any]]:
    for score in result.get("scores", ()):
        for verdict in score["verdicts"]:
            yield of_score(score["metric"]).task(), verdict


def _label_rows(path: Path, run: AnyRun, skipped: Counter[str]) -> Iterator[LabelRow]:
    """Yield the rows of a label file; a row without a task gets that of the unit's only verdict."""
    drafts = label_imports.label_drafts(path, Counter())  # read twice: a file may have a label for each unit of a run
    tasks: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    bare = {(draft.get("record"), draft.get("unit")) for _, draft in drafts if not draft.get("task")}
    for result in run.results() if bare else ():
        for task, verdict in _verdicts(result.typed):
            if (result["id"], verdict["unit"]) in bare:
                tasks[result["id"], verdict["unit"]][task] = None
    for where, draft in label_imports.label_drafts(path, skipped):
        yield _row(where, draft, tasks.get((str(draft.get("record")), str(draft.get("unit"))), {}))


def _row(where: str, draft: Mapping[str, Any], tasks: Iterable[str]) -> LabelRow:
    known = [draft["task"]] if draft.get("task") else list(tasks)
    if len(known) > 1:
        raise InputError(
            f"{where}: the label names no task, and {draft['unit']} has verdicts for {' and '.join(known)}",
            hint="add task to each label (a column or key), or to a whole file: ragstone label import FILE --task "
            f"{known[-1]} -o labels.jsonl",
        )
    return row_from_json({**draft, "task": (known or [NO_TASK])[0]}, where)


def _of_field(name: str, run: AnyRun) -> list[_Gold]:
    """Return the labels in a field of the run's records, read from the results, else from the input."""
    path, _, _ = name.partition("[")
    above, _, last = path.rpartition(".")
    where = above if last in MARKS else path
    golds = []
    for result in run.results():
        value = find(result.get("meta", {}), where) if where else result.get("meta", {})
        about = (result["id"], str(result.get("topic")), "", folded(result.get("response") or ""))
        golds += [_Gold(*about, **said) for said in _said(value, path, f"{run.name}: {result['id']}")]
    if not golds and path in ("nuggets", OF_BLOCK, OF_TOPIC):
        with open_records(_inputs(run), fields=Fields(run.spec.get("fields", {}))) as records:
            golds = [gold for record in records for gold in _of_record(record, path)]
    return golds


def _inputs(run: AnyRun) -> list[str]:
    """Return the input files of a run, which stores only their names; raise InputError if one is not in this folder."""
    name = str(run.spec.get("input", ""))
    files = [name] if Path(name).is_file() else name.split(", ")
    missing = next((one for one in files if not Path(one).is_file()), None)
    if missing is not None:
        found = f"no assignments in its results, and its input '{missing}' is not in this folder"
        raise InputError(f"{run.name}: {found}; specify the file that has them")
    return files


def _said(value: Any, name: str, where: str) -> Iterator[dict[str, Any]]:
    """Yield the labels in a record's value as arguments of ``_Gold``; nothing for an unknown format."""
    if isinstance(value, Mapping) and not MARKS.isdisjoint(value):
        yield {"marks": value, "annotator": str(value.get("annotator") or value.get("annotating_model_name") or name)}
    items = value if isinstance(value, list) else ()
    if units := tuple(item for item in items if isinstance(item, Mapping) and {"unit", "label"} <= item.keys()):
        yield {"units": units, "annotator": name}
    if any(isinstance(item, Mapping) and "assignment" in item for item in items):
        try:
            nuggets = values.nuggets(value, [])
        except values.UnfitError as error:
            raise InputError(f"{where}: {error.found}" + (f"; {error.expected}" if error.expected else "")) from error
        yield {"nuggets": nuggets, "annotator": name}


def _of_record(record: Record | SetAside, name: str) -> Iterator[_Gold]:
    """Yield all labels of a gold record: for its response, for a block, and for its topic as a whole."""
    assert isinstance(record, Record), "a source that stops sets nothing aside"
    meta, response = record.meta, None if record.response is None else folded(record.response)
    about = (record.id, record.topic, run_of(meta))
    if any(nugget.assignment for nugget in record.nuggets or ()):
        yield _Gold(*about, response, name, nuggets=record.nuggets or ())
    block = meta.get(BLOCK)
    listed = block if isinstance(block, list) else [block]
    text = next((one for one in listed if isinstance(one, str)), "")
    parts = ((meta, response), (meta.get("labels"), response), (meta.get(OF_TOPIC), None),
             (meta.get(OF_BLOCK), folded(text) if text else response))  # fmt: skip
    for value, of in parts:
        yield from (_Gold(*about, of, **said) for said in _said(value, name, record.where))


def _joined(golds: list[_Gold], run: AnyRun) -> Iterator[LabelRow]:
    """Yield the rows of gold records for the results they match; rows without units if none or several match."""
    by_topic: dict[str, list[_Gold]] = defaultdict(list)
    for gold in golds:
        by_topic[gold.topic].append(gold)
    systems: dict[str, set[str | None]] = defaultdict(set)
    for result in run.results():
        fitting = [gold for gold in by_topic.get(result.get("topic", ""), ()) if gold.fits(result.typed)]
        own = [gold for gold in fitting if gold.record == result["id"]]
        sure = [gold for gold in own or fitting if gold.response is not None]
        systems[result.get("topic", "")].add(run_of(result["meta"]) if any(gold.nuggets for gold in sure) else None)
        for gold in sure or fitting:
            gold.found[result["id"]] = _checked(gold, result.typed)
    for topic, given in by_topic.items():
        wholes = [gold for gold in given if gold.response is None and gold.nuggets]
        labels = {pair for gold in wholes for pair in _assigned(gold.nuggets).values()}
        once = len({folded(text) for text, _ in labels}) == len({(folded(text), label) for text, label in labels})
        if once and len(systems[topic]) == 1 and None not in systems[topic]:  # its results are blocks of one answer
            for gold in wholes:
                gold.found[""] = [
                    LabelRow(topic, topic_unit(topic, text), "assign", label, gold.annotator, text=text)
                    for text, label in _assigned(gold.nuggets).values()
                ]
    for gold in golds:
        if gold.found and (gold.response is not None or len(gold.found) == 1):
            yield from (row for rows in gold.found.values() for row in rows)
        else:
            yield from _unjoined(gold)


def _checked(gold: _Gold, result: ResultDict) -> list[LabelRow]:
    about = "" if gold.response is None else text_hash(result["response"] or "")
    texts = {unit["id"]: unit_text(result, unit) for unit in result["units"]} if about else {}
    try:
        return [
            replace(
                row,
                response=about,
                hash=row.hash or (text_hash(text) if (text := row.text or texts.get(row.unit)) else ""),
            )
            for row in _rows(gold, result)
        ]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{gold.record}: unreadable labels ({error}); expected {FORMS}") from error


def _unjoined(gold: _Gold) -> Iterator[LabelRow]:
    """Yield the labels of a gold record that matches no single result of the run."""
    for text, label in _assigned(gold.nuggets).values():
        unit = text if gold.response is not None else topic_unit(gold.topic, text)  # its block may have another label
        yield LabelRow(gold.record, unit, "assign", label, gold.annotator)
    for item in gold.units:
        yield _row(gold.record, {"annotator": gold.annotator, **item, "record": gold.record}, ())
    if gold.marks:
        yield LabelRow(gold.record, f"{gold.record}/response/1", "trace", _whole(gold.marks), gold.annotator)


def _assigned(nuggets: Iterable[Nugget]) -> dict[str, tuple[str, str]]:
    return {folded(nugget.text): (nugget.text, nugget.assignment) for nugget in nuggets if nugget.assignment}


def _rows(gold: _Gold, result: ResultDict) -> Iterator[LabelRow]:
    record, who = result["id"], gold.annotator
    units = {unit["id"]: unit for unit in result["units"]}
    tasks: dict[str, dict[str, None]] = defaultdict(dict)
    for task, verdict in _verdicts(result):
        tasks[verdict["unit"]][task] = None
    if nuggets := _assigned(gold.nuggets):
        ids = {folded(units[unit]["text"] or ""): unit for unit, asked in tasks.items() if "assign" in asked}
        for key, (text, label) in nuggets.items():
            yield LabelRow(record, ids.get(key, text), "assign", label, who)
    for item in gold.units:
        name = str(item["unit"])
        unit = name if name.startswith(f"{record}/") else f"{record}/{name}"
        draft = {"annotator": who, **item, "record": record, "unit": unit}
        yield _row(f"{who}: {record}", draft, tasks[unit])
    if gold.marks:
        yield from _marked(gold, result)


def _marked(gold: _Gold, result: ResultDict) -> Iterator[LabelRow]:
    """Yield RAGBench's labels of the response, its sentences and the passage sentences, matched by text."""
    record, marks, who = result["id"], gold.marks, gold.annotator
    supported = [*_supported(marks)]
    units = {unit["id"]: unit for unit in result["units"]}
    for score in result["scores"]:
        task = of_score(score["metric"]).task()
        if not {verdict["label"] for verdict in score["verdicts"]} <= {"yes", "no", None}:
            continue
        judged = dict.fromkeys(verdict["unit"] for verdict in score["verdicts"])
        sentences = [unit for unit in judged if units[unit]["level"] == "sentence"]
        labels = _in_order(supported, [folded(units[unit]["text"] or "") for unit in sentences])
        yield from (LabelRow(record, unit, task, label, who) for unit, label in zip(sentences, labels, strict=True)
                    if label)  # fmt: skip
        if task == "trace" and score["verdicts"]:
            if whole := _whole(marks):
                yield LabelRow(record, f"{record}/response/1", task, whole, who)
            yield from _traced(gold, result, task, score["detail"].get("contexts", ()))


def _in_order(labels: Iterable[tuple[_Key, _Label]], keys: Sequence[_Key]) -> list[_Label | None]:
    """Return the label of each key; equal keys with different labels get them in order, or none if some are missing."""
    given: dict[_Key, list[_Label]] = defaultdict(list)
    for key, label in labels:
        given[key].append(label)
    often = Counter(keys)
    for key, several in given.items():
        if len(several) != often[key]:
            given[key] = several[:1] * often[key] if len({*several}) == 1 else []
    return [given[key].pop(0) if given.get(key) else None for key in keys]


def _whole(marks: Mapping[str, Any]) -> str | None:
    adherent = marks.get("adherence_score", marks.get("adherence"))
    return None if adherent not in (0, 1) else "yes" if adherent else "no"


def _supported(marks: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield whether each response sentence is supported, by text; nothing if only the whole response is labelled."""
    unsupported = marks.get("unsupported_response_sentence_keys")
    info = marks.get("sentence_support_information")
    if isinstance(info, list):
        full = {item.get("response_sentence_key"): item.get("fully_supported") for item in info}
    elif isinstance(unsupported, list):
        full = {key: key not in unsupported for key, _ in marks.get("response_sentences") or ()}
    else:
        return
    for key, text in marks.get("response_sentences") or ():
        if (said := full.get(key)) is not None:
            yield folded(text), "yes" if said else "no"


def _traced(gold: _Gold, result: ResultDict, task: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[LabelRow]:
    """Yield labels of the passage sentences that RAGBench splits as the run does, for two parts of the task."""
    passages = {context["id"]: context for context in result["contexts"]}
    listed = {part: gold.marks.get(name) for part, name in TRACED.items()}
    marks = {part: set(keys) for part, keys in listed.items() if isinstance(keys, list)}
    given = [
        ((place, folded(text)), tuple("yes" if key in keys else "no" for keys in marks.values()))
        for place, document in enumerate(gold.marks.get("documents_sentences") or (), 1)
        for key, text in document
    ]
    read = [(row["key"], passages[row["passage"]], row["start"], row["end"]) for row in rows]
    texts = [passage["text"][start:end] for _, passage, start, end in read]
    places = [(passage["rank"], folded(text)) for (_, passage, _, _), text in zip(read, texts, strict=True)]
    for (key, *_), text, labels in zip(read, texts, _in_order(given, places), strict=True):
        for part, label in zip(marks, labels or (), strict=False):
            unit = f"{result['id']}/{key}"
            yield LabelRow(result["id"], unit, f"{task}.{part}", label, gold.annotator, hash=text_hash(text))
