"""The field names that records may use, and the field mapping of a run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from ragstone.errors import ConfigError, RecordError
from ragstone.records.ids import first_repeated
from ragstone.records.jsontext import excerpt, opened
from ragstone.records.paths import folded, root
from ragstone.records.values import prose, readable
from ragstone.types import NOTHING

ALIASES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "id": ("case_id", "qid", "topic_id", "request_id", "record_id", "narrative_id", "sample_id"),
        "question": ("input", "query", "prompt", "user_input", "topic", "narrative"),
        "response": (
            "output", "actual_output", "generated_answer", "predicted_answer", "model_answer", "answer", "generation",
            "completion", "answer_text",
        ),
        "contexts": (
            "retrieved_contexts", "retrieval_context", "retrieved_context", "documents", "passages", "context",
            "candidates", "source_documents", "source_nodes", "chunks", "retrieved_chunks", "ctxs",
            "retriever_resources",
        ),
        "reference": (
            "ground_truth", "gold_answer", "reference_answer", "label", "expected_output", "expected_answer",
            "expected", "gt_answer", "truth", "ideal", "correct_answer", "answers", "ground_truths",
        ),
        "nuggets": ("nugget_bank",),
        "citations": (),
        "relevant": ("relevant_ids", "relevant_passages", "relevant_documents", "qrels"),
        "answerable": ("is_answerable", "answerability"),
        "overrides": (),
    }
)  # fmt: skip
"""Canonical field to its accepted aliases; the first name that is not empty wins."""


SPELLINGS: Final[Mapping[str, str]] = MappingProxyType(
    {folded(name): name for field, aliases in ALIASES.items() for name in (field, *aliases)}
)
"""Folded name to its spelling in `ALIASES`."""
FIELD_OF: Final[Mapping[str, str]] = MappingProxyType(
    {folded(name): field for field, aliases in ALIASES.items() for name in (field, *aliases)}
)
"""Folded name to its canonical field."""

NOTES: Final = "\0notes"
TOPIC: Final = "\0topic"
"""The keys under which a reader adds notes to a row, and a topic that is not its id; no tool writes these names."""

GOLD: Final = "context"
GOLD_BESIDE: Final = ("retrieval_context", "actual_output")
"""deepeval's field names: next to one of them, ``context`` is the gold context, not retrieved evidence."""
GOLD_KEPT: Final = "reference_contexts"
"""The key of ``meta`` that holds gold passages."""
MARKS: Final = frozenset(("answerstart", "supportingfacts", "answeraliases", "normalizedaliases", "evidencelist",
                          "questiondecomposition", "finaldecision", "isimpossible"))  # fmt: skip
HINTS: Final = frozenset(("evidence", "evidences", "supportingdocuments", "justification", "questiontype", "querytype",
                          "difficulty", "distractors", "choices", "referencecontexts"))  # fmt: skip
LEVELS: Final = ("easy", "medium", "hard")
"""Folded names of columns of data sets with expected answers: one of `MARKS` shows that a row is from such a data set,
and so do two of `HINTS` (or a ``level`` of `LEVELS`) if nothing was retrieved.
"""

LANGUAGE: Final = "lang"
"""The key of ``meta`` for a record's language; it can be mapped like a field."""

LISTS: Final = ("contexts", "nuggets", "citations", "relevant", "overrides")
"""Fields whose CSV cells are JSON."""

OWN: Final = frozenset(("question", "response", "contexts"))
"""Fields that are never read from each other's columns, unless the column's own field is mapped elsewhere."""

REFERENCES: Final = "references"
"""The list of document ids that citations in a TREC answer refer to by index; it is kept in ``meta``."""

OFFERED: Final = 8
"""Maximum number of columns that a message names."""


class Fields(Struct, frozen=True):
    """The field mapping of a run: canonical name to dotted path, e.g. ``contexts`` to ``retrieval.docs[].text``.

    A mapped field is read only from its path, never from an alias. ``contexts`` may have several paths, whose non-blank
    values are combined. ``files`` maps each field that is set in a configuration file to that file. Raises ConfigError
    for an unknown field, a blank path, several paths for another field, or a main field read from another one's column.
    """

    paths: Mapping[str, str | Sequence[str]] = NOTHING
    files: Mapping[str, str] = NOTHING

    def __post_init__(self) -> None:
        for name, path in self.each:
            if name not in (known := (*ALIASES, LANGUAGE)):
                raise ConfigError(f"{self.written(name, '...')}: no such field{closest(name, known)}")
            if name != "contexts" and path != self.paths[name]:
                both = " and as ".join(map(repr, self.paths[name]))
                raise ConfigError(f"{self.written(name)}: given as {both}; keep one")
            if not path.strip():
                said = self.written(name, "...")
                raise ConfigError(f"{said}: expected a path, e.g. my_column or a.b[].text")
            if name != path and {name, path} <= OWN and path not in self.paths:
                said = self.written(name, path)
                raise ConfigError(f"{said}: '{path}' is the column for the {path}; specify the column with the {name}")

    @property
    def each(self) -> tuple[tuple[str, str], ...]:
        """All pairs of field and path."""
        listed = ((name, [paths] if isinstance(paths, str) else paths) for name, paths in self.paths.items())
        return tuple((name, path) for name, paths in listed for path in paths)

    def written(self, name: str, path: str = "") -> str:
        """Return a field's mapping as the user wrote it, for messages."""
        return written(self.files.get(name), f"[fields] {name}", f"--field {name}", path)


def written(file: str | None, setting: str, option: str, value: str, between: str = "=") -> str:
    """Return a setting as the user wrote it, for messages: in the configuration file, else as an option."""
    if file is None:
        return f"{option}{between}{value}" if value else option
    return f'{file}: {setting} = "{value}"' if value else f"{file}: {setting}"


def closest(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for a near miss, else the list of choices."""
    choices = list(names)
    near = difflib.get_close_matches(name, choices, n=2, cutoff=0.6)
    if near:
        return "; did you mean " + " or ".join(f"'{choice}'" for choice in near) + "?"
    shown = ", ".join(choices[:20]) + (", ..." if len(choices) > 20 else "")
    return f"; available: {shown}" if choices else ""


WORDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "question": frozenset(("question", "query", "prompt", "ask", "asked")),
        "response": frozenset(
            ("response", "answer", "answered", "reply", "completion", "generated", "prediction", "pred")
        ),
        "contexts": frozenset((
            "contexts", "context", "retrieved", "retrieval", "docs", "documents", "passages", "chunks", "hits",
            "evidence", "sources", "snippets", "search", "matches", "nodes",
        )),
    }
)  # fmt: skip
"""Words in a column name that suggest a field."""
SPEAKERS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "question": frozenset(("user", "customer", "client", "caller", "visitor", "human")),
        "response": frozenset(("assistant", "agent", "bot", "chatbot", "ai", "model", "llm")),
        "contexts": frozenset(),
    }
)
"""Words for the speaker, used if a column name has no better clue: ``customer.said``."""
SAID: Final = frozenset(("said", "says", "text", "message", "msg", "utterance", "content", "input", "output", "turn"))
"""Words that, together with one of `SPEAKERS`, mark a column as speech rather than a name or an id."""
GOLDEN: Final = frozenset((
    "reference", "references", "gold", "golden", "ground", "expected", "ideal", "truth", "gt", "correct", "right",
    "incorrect", "positive", "negative", "best",
))  # fmt: skip
"""Words in the name of a column of gold data: expected values, or wrong ones next to them."""
UNASKED: Final = frozenset(("system", "rendered", "template", "version"))
"""Words in the name of a column with a prompt that is no question: ``system_prompt``."""
GENERATED: Final = frozenset(("generated", "predicted", "prediction", "pred"))
"""Words in the name of a column of generated texts."""
NUMBERING: Final = frozenset(("ticket", "nr", "no", "number", "case", "uuid", "guid", "ref", "key", "id"))
"""Last words of column names that may hold record ids."""
NAMED: Final = frozenset(("title", "name", "section", "heading", "url", "file", "filename", "source"))
"""Last words of the names of keys that hold a name of a passage, not its text."""
NAME: Final = re.compile(r"[A-Za-z]*[!-@\[-`{-~]\S*")
"""A single word with a digit or a sign, such as a file name, a URL, an id or a date: never a passage."""
TOPIC_IDS: Final = frozenset(("topicid", "narrativeid", "requestid", "qid", "queryid"))
"""Folded names of ids that may be topic ids in a topics file."""


def places_of(row: Mapping[str, Any]) -> dict[str, str | int | list[Any]]:
    """Return the strings, integers and lists of a row by path, including one level down and strings in object lists."""
    found: dict[str, str | int | list[Any]] = {}
    for name, value in ((name, opened(value)) for name, value in row.items()):
        inner = {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
        found |= {path: item for path, item in inner.items() if isinstance(item, str | int | list)}
    lists = {path: value for path, value in found.items() if isinstance(value, list) and value}
    for path, value in lists.items():
        objects = [item for item in value if isinstance(item, dict)]
        keys = [key for key, item in objects[0].items() if isinstance(item, str)] if objects else []
        found |= {f"{path}[].{key}": [item.get(key) for item in objects] for key in keys}
    return found


def gold_marks(row: Mapping[str, Any]) -> list[str]:
    """Return the keys that show that a row's ``answer`` is the expected one; empty if nothing shows it.

    Nothing does if another column is named as the gold answer: ``gold``, ``golden_answers``.
    """
    if any(_is_gold_answer(key) and isinstance(row[key], str | list) for key in row):
        return []
    marks = [key for key in row if folded(key) in MARKS]
    hints = [key for key in row if folded(key) in HINTS or (folded(key) == "level" and row[key] in LEVELS)]
    if marks or len(hints) < 2:
        return marks
    own = [key for key in row if FIELD_OF.get(folded(key)) == "contexts"]
    near = [path for path in candidates("contexts", places_of(row)) if HINTS.isdisjoint(_words(path))]
    retrieved = (*own, *(root(path) for path in near if not is_gold(path)))
    return [] if any(row.get(key) for key in retrieved if folded(key) != GOLD) else hints[:2]


def is_gold(path: str) -> bool:
    """Return whether a path is a column of a data set with expected answers, in records that have one."""
    names = {folded(root(path)), folded(path.rpartition(".")[2])}
    return folded(path) == "answer" or not names.isdisjoint(MARKS | HINTS)


def _is_gold_answer(name: str) -> bool:
    words = {*_words(name)}
    return words <= {*GOLDEN, "answer", "answers"} and not GOLDEN.isdisjoint(words)


def near_miss(field: str, places: Mapping[str, str | int | list[Any]]) -> tuple[str, ...]:
    """Return the words of the option that probably provides a field; empty if none does.

    That is ``--field`` with a readable path of a fitting name, or ``--topics``. A field that rows have under one of its
    own names needs none.
    """
    paths = candidates(field, places)
    if len(paths) == 1 or (paths and _is_numbered(field, paths[0])):
        return tuple(word for path in paths for word in ("--field", f"{field}={path}"))
    return ("--topics", "QUESTIONS_FILE") if field == "question" and not paths and any(map(_is_topic, places)) else ()


def candidates(field: str, places: Mapping[str, str | int | list[Any]]) -> list[str]:
    """Return the paths that may provide a field; of numbered ones all, since contexts are collected from several."""
    own = (path for path, value in places.items() if isinstance(value, str) and FIELD_OF.get(folded(path)) == field)
    if field != "contexts" and any(own):
        return []
    free = {
        path: value
        for path, value in places.items()
        if not _is_topic(path) and folded(path) not in FIELD_OF and GOLDEN.isdisjoint(_words(path))
    }
    named = {path: value for path, value in free.items() if _suggests(field, path) and _can_be(field, path, value)}
    lists = [path for path, value in named.items() if isinstance(value, list) and field == "contexts"]
    texts = [path for path, value in named.items() if isinstance(value, str)] or [
        path
        for path, value in free.items()
        if isinstance(value, str) and _can_be(field, path, value)
        and not any(map({*_words(path)}.isdisjoint, (SPEAKERS[field], SAID)))
    ]  # fmt: skip
    if field == "response" and not texts:
        texts = [path for path, value in free.items() if path.lower() in SAID and prose(value)]
    fitting = (
        [path for path in lists if "[]" not in path and readable(named[path])] if lists else _clearest(texts, free)
    )
    if lists and not fitting:
        longest = {path.partition("[]")[0]: path for path in sorted(lists, key=lambda path: _length(named[path]))}
        fitting = [path for path in longest.values() if "[]" in path]
    numbered = [path for path in free if not lists and isinstance(free[path], str) and _is_numbered(field, path)]
    return numbered or fitting


def _is_topic(path: str) -> bool:
    """Return whether a path ends in the name of an id that may be a topic's."""
    return "[" not in path and folded(path.rpartition(".")[2]) in TOPIC_IDS


def other_answer(places: Mapping[str, str | int | list[Any]]) -> str:
    """Return the path of the only text that is named as generated, next to which ``answer`` is gold; empty if none."""
    texts = [path for path, value in places.items() if isinstance(value, str) and _can_be("response", path, value)]
    found = [path for path in texts if folded(path) not in FIELD_OF and not GENERATED.isdisjoint(_words(path))]
    return found[0] if len(found) == 1 else ""


def list_of_records(places: Mapping[str, str | int | list[Any]], *, alone: bool) -> str:
    """Return the path of the first list of objects with a main field, else of the only list in a row that is ``alone``.

    If rows have only lists, that is the first one.
    """
    lists = {path: value for path, value in places.items() if isinstance(value, list) and "[]" not in path}
    firsts = {path: value[0] for path, value in lists.items() if value and isinstance(value[0], dict)}
    named = (path for path, first in firsts.items() if any(FIELD_OF.get(folded(key)) in OWN for key in first))
    only = firsts if alone and len(firsts) == 1 else lists if len(lists) == len(places) else {}
    return next(named, next(iter(only), ""))


def _clearest(paths: list[str], values: Mapping[str, object]) -> list[str]:
    """Return the only path that ends in a word for a text, else the only one with several words, else all."""
    ended = [path for path in paths if _words(path)[-1] in SAID]
    return next((one for one in (ended, [path for path in paths if prose(values[path])]) if len(one) == 1), paths)


def _length(texts: object) -> tuple[int, int]:
    strings = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
    return sum(map(prose, strings)), sum(map(len, strings))


def _suggests(field: str, path: str) -> bool:
    """Return whether a path has a word for a field or misspells one of its names: ``contxts``, ``respones``."""
    words = _words(path)
    if UNASKED.intersection(words) if field == "question" else words[-1:] and words[-1] in WORDS["question"]:
        return False  # system_prompt; search_query for contexts
    head, _, last = path.rpartition(".")
    if FIELD_OF.get(folded(last)) == field or (FIELD_OF.get(folded(head)) == field and folded(last) in SAID):
        return True  # metadata.contexts, output.text
    names = [name for name, of in FIELD_OF.items() if of == field]
    return not WORDS[field].isdisjoint(words) or bool(difflib.get_close_matches(folded(path), names, 1, 0.87))


def _can_be(field: str, path: str, value: object) -> bool:
    """Return whether a value is not just a name: not ``gpt-4o`` for a response, nor file names for contexts."""
    words = _words(path) or [""]  # there are none in a name of another script
    if isinstance(value, list):
        texts = [item for item in value if isinstance(item, str)]
        return not ("[]" in path and words[-1] in NAMED) and not (texts and all(map(NAME.fullmatch, texts)))
    exact = field != "contexts" and (len(words) == 1 or words[-1] in SAID | WORDS[field])
    return exact or prose(value) > 0


def _is_numbered(field: str, name: str) -> bool:
    """Return whether a name is a word for contexts followed by a number: ``Doc 1``, ``passage2``."""
    kind = name.rstrip("0123456789")
    return field == "contexts" and kind != name and any({word, f"{word}s"} & WORDS[field] for word in _words(kind)[-1:])


def numbers_records(name: str) -> bool:
    """Return whether a column name suggests record ids: ``Ticket``, ``case_no``."""
    return not NUMBERING.isdisjoint(_words(name)[-1:])


def _words(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", " ", name).lower().split()


def check_columns(where: str, names: Iterable[str]) -> None:
    """Raise RecordError if two columns have the same name."""
    twice = first_repeated(names)
    if twice is not None:
        raise RecordError(where, f"two columns are named {excerpt(twice)}", "rename one of them")


def offered(columns: Sequence[str]) -> str:
    """Return the end of a message that lists the input's columns; empty if none are known."""
    if not columns:
        return ""
    shown = ", ".join(map(excerpt, columns[:OFFERED]))
    more = f" and {len(columns) - OFFERED:,} more" if len(columns) > OFFERED else ""
    return f"; fields in the input: {shown}{more}"
