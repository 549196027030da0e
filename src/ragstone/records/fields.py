"""The names under which records bring their fields, and the mapping that one run may give."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from ragstone.errors import ConfigError, RecordError
from ragstone.records.ids import first_repeated
from ragstone.records.jsontext import excerpt
from ragstone.records.values import readable
from ragstone.types import NOTHING

ALIASES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "id": ("case_id", "qid", "topic_id", "request_id", "record_id", "narrative_id"),
        "question": ("input", "query", "prompt", "user_input", "topic", "narrative"),
        "response": ("output", "actual_output", "answer", "generation", "completion", "answer_text"),
        "contexts": (
            "retrieved_contexts", "retrieval_context", "retrieved_context", "documents", "passages", "context",
            "candidates", "source_documents", "source_nodes", "chunks", "retrieved_chunks",
        ),
        "reference": ("ground_truth", "gold_answer", "reference_answer", "label", "expected_output"),
        "nuggets": ("nugget_bank",),
        "citations": (),
        "relevant": ("relevant_ids", "relevant_passages", "relevant_documents", "qrels"),
        "answerable": ("is_answerable", "answerability"),
        "overrides": (),
    }
)  # fmt: skip
"""Each canonical field with the other names that are accepted; the first that holds anything wins."""


@functools.lru_cache(4096)
def folded(name: str) -> str:
    """A name without case, underscores, hyphens and blanks: ``retrievedContexts`` is ``retrieved_contexts``."""
    return name.replace("_", "").replace("-", "").replace(" ", "").casefold()


SPELLINGS: Final[Mapping[str, str]] = MappingProxyType(
    {folded(name): name for field, aliases in ALIASES.items() for name in (field, *aliases)}
)
"""Each folded name, and how it is spelled above."""
FIELD_OF: Final[Mapping[str, str]] = MappingProxyType(
    {folded(name): field for field, aliases in ALIASES.items() for name in (field, *aliases)}
)
"""Each folded name, and its field."""

NOTES: Final = "\0notes"
"""The key under which a reader gives notes on its row; a name that no tool writes."""

GOLD: Final = "context"
GOLD_BESIDE: Final = ("retrieval_context", "actual_output")
"""DeepEval's names: beside one of these ``context`` is what should have been retrieved, and no evidence."""
GOLD_KEPT: Final = "reference_contexts"
"""Where gold passages stand in ``meta``."""

LANGUAGE: Final = "lang"
"""The key of ``meta`` that holds a record's language; it can be mapped like a field."""

LISTS: Final = ("contexts", "nuggets", "citations", "relevant", "overrides")
"""Fields whose cell in a CSV file is JSON."""

OWN: Final = frozenset(("question", "response", "contexts"))
"""Fields none of which is ever read from the column of another, unless that one is mapped elsewhere."""

REFERENCES: Final = "references"
"""The list of document ids that the citations of a TREC answer point into; it stays in ``meta``."""

OFFERED: Final = 8
"""Columns that a message names."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The field mapping of a run: canonical name to dotted path, e.g. ``contexts`` to ``retrieval.docs[].text``.

    A mapped field is read from its path alone, never from an alias; ``contexts`` may have several paths, of which it
    has all that is not blank. ``files`` has the configuration file of each field that is mapped in one. ConfigError for
    a name that no record has, or a blank path.
    """

    paths: Mapping[str, str | Sequence[str]] = field(default_factory=lambda: NOTHING, hash=False)
    files: Mapping[str, str] = field(default_factory=lambda: NOTHING, hash=False)

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
                raise ConfigError(f"{said}: '{path}' is the column for the {path}; name the column with the {name}")

    @property
    def each(self) -> tuple[tuple[str, str], ...]:
        """Every path with its field."""
        listed = ((name, [paths] if isinstance(paths, str) else paths) for name, paths in self.paths.items())
        return tuple((name, path) for name, paths in listed for path in paths)

    @property
    def given(self) -> Fields:
        """The mapping without the configuration file's."""
        return Fields({name: paths for name, paths in self.paths.items() if name not in self.files})

    def written(self, name: str, path: str = "") -> str:
        """A field's path as the user wrote it, for messages."""
        return written(self.files.get(name), f"[fields] {name}", f"--field {name}", path)


def written(file: str | None, setting: str, option: str, value: str, between: str = "=") -> str:
    """A value as the user wrote it, for messages: in the configuration file that sets it, else behind an option."""
    if file is None:
        return f"{option}{between}{value}" if value else option
    return f'{file}: {setting} = "{value}"' if value else f"{file}: {setting}"


def closest(name: str, names: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for a near miss, else what there is to choose from."""
    import difflib  # noqa: PLC0415 - only a mistake needs it

    choices = list(names)
    near = difflib.get_close_matches(name, choices, n=2, cutoff=0.6)
    if near:
        return "; did you mean " + " or ".join(f"'{choice}'" for choice in near) + "?"
    shown = ", ".join(choices[:20]) + (", ..." if len(choices) > 20 else "")
    return f"; there are: {shown}" if choices else ""


WORDS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "question": frozenset(("question", "query", "prompt", "ask", "asked")),
        "response": frozenset(("response", "answer", "answered", "reply", "completion", "generated", "prediction")),
        "contexts": frozenset((
            "contexts", "context", "retrieved", "retrieval", "docs", "documents", "passages", "chunks", "hits",
            "evidence", "sources", "snippets",
        )),
    }
)  # fmt: skip
"""Words in the name of a column that could be a field."""
SPEAKERS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "question": frozenset(("user", "customer", "client", "caller", "visitor", "human")),
        "response": frozenset(("assistant", "agent", "bot", "chatbot", "ai", "model", "llm")),
        "contexts": frozenset(),
    }
)
"""Whose words a field is, where the name of a column says no more: ``customer.said``."""
SAID: Final = frozenset(("said", "says", "text", "message", "msg", "utterance", "content", "input", "output", "turn"))
"""Words that make a column with one of `SPEAKERS` what was said, and not a name or an id."""
GOLDEN: Final = frozenset(("reference", "references", "gold", "golden", "ground", "expected", "ideal", "truth"))
"""Words in the name of a column that is what should have been found or said."""
NUMBERING: Final = frozenset(("ticket", "nr", "no", "number", "case", "uuid", "guid", "ref", "key", "id"))
"""Last words in the name of a column that may number the records."""
TOPIC_IDS: Final = frozenset(("topicid", "narrativeid", "requestid", "qid", "queryid"))
"""Names, folded, of an id that may be a topic's in a file of questions."""


def places_of(row: Mapping[str, Any]) -> dict[str, str | int | list[Any]]:
    """The texts, numbers and lists of a row by path, also those one level down, then the texts in lists of objects."""
    found: dict[str, str | int | list[Any]] = {}
    for name, value in row.items():
        inner = {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
        found |= {path: item for path, item in inner.items() if isinstance(item, str | int | list)}
    lists = {path: value for path, value in found.items() if isinstance(value, list) and value}
    for path, value in lists.items():
        objects = [item for item in value if isinstance(item, dict)]
        keys = [key for key, item in objects[0].items() if isinstance(item, str)] if objects else []
        found |= {f"{path}[].{key}": [item.get(key) for item in objects] for key in keys}
    return found


def near_miss(field: str, places: Mapping[str, str | int | list[Any]]) -> tuple[str, ...]:
    """The words of the option that probably brings a field: the path that can be read and is named so, or the topics.

    Empty where none does.
    """
    topics = {path for path in places if "[" not in path and folded(path.rpartition(".")[2]) in TOPIC_IDS}
    free = {
        path: value
        for path, value in places.items()
        if path not in topics and folded(path) not in FIELD_OF and GOLDEN.isdisjoint(_words(path))
    }
    named = {path: value for path, value in free.items() if not WORDS[field].isdisjoint(_words(path))}
    lists = [path for path, value in named.items() if isinstance(value, list) and field == "contexts"]
    texts = [path for path, value in named.items() if isinstance(value, str)] or [
        path
        for path, value in free.items()
        if isinstance(value, str) and not any(map({*_words(path)}.isdisjoint, (SPEAKERS[field], SAID)))
    ]
    fitting = [path for path in lists if "[]" not in path and readable(named[path])] if lists else texts
    if lists and not fitting:
        longest = {path.partition("[]")[0]: path for path in sorted(lists, key=lambda path: _length(named[path]))}
        fitting = [path for path in longest.values() if "[]" in path]
    numbered = [path for path in free if not lists and isinstance(free[path], str) and _is_numbered(field, path)]
    if numbered or len(fitting) == 1:
        return tuple(word for path in numbered or fitting for word in ("--field", f"{field}={path}"))
    return ("--topics", "QUESTIONS_FILE") if field == "question" and topics and not fitting else ()


def _length(texts: object) -> int:
    return sum(len(text) for text in texts if isinstance(text, str)) if isinstance(texts, list) else 0


def _is_numbered(field: str, name: str) -> bool:
    """Return whether a name is a word for the contexts with a number behind: ``Doc 1``, ``passage2``."""
    kind = name.rstrip("0123456789")
    return field == "contexts" and kind != name and any({word, f"{word}s"} & WORDS[field] for word in _words(kind)[-1:])


def numbers_records(name: str) -> bool:
    """Return whether a column is named as one that numbers the records: ``Ticket``, ``case_no``."""
    return not NUMBERING.isdisjoint(_words(name)[-1:])


def _words(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", " ", name).lower().split()


def check_columns(where: str, names: Iterable[str]) -> None:
    """RecordError if two columns have one name."""
    twice = first_repeated(names)
    if twice is not None:
        raise RecordError(where, f"two columns are named {excerpt(twice)}", "rename one of them")


def offered(columns: Sequence[str]) -> str:
    """The columns that a field could be in, as the end of a message; nothing where none is known."""
    if not columns:
        return ""
    shown = ", ".join(map(excerpt, columns[:OFFERED]))
    more = f" and {len(columns) - OFFERED:,} more" if len(columns) > OFFERED else ""
    return f"; fields in the input: {shown}{more}"
