"""Read and validate the user's own criteria, from tables in the configuration, in files and in records.

A criterion may define its own labels and the record fields that its judge sees. Errors are one-line messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from ragstone.errors import ConfigError
from ragstone.labels import text_hash
from ragstone.questions import LIKERT, YES_NO
from ragstone.types import Scale, Unit

FIELDS: Final = ("question", "contexts", "response", "reference", "history")
"""The record fields that a criterion may use."""
SEEN: Final = ("question", "response")
"""The fields that it uses by default."""
KEYS: Final = ("name", "criterion", "fields", "scale", "steps")
NAMED: Final[Mapping[str, Scale]] = {"yes_no": YES_NO, "1-5": LIKERT}
OWN: Final = "own"
"""The column for criteria defined in a record."""
WRITE: Final = "write"
"""The value of ``steps`` that makes a judge write them."""
MOST_LABELS: Final = 10
LONGEST: Final = 4000
"""Maximum number of characters of a criterion."""
MOST_STEPS: Final = 10

_NAME: Final = re.compile(r"[A-Za-z_]\w{0,39}", re.ASCII)
_LABEL: Final = re.compile(r'[^\s"<>{}\[\],:][^\n"<>{}\[\],:]{0,39}')


class Criterion(Struct, frozen=True):
    """A criterion. ``fields``: shown to the judge; ``steps``: how to judge; ``written``: a judge writes the steps."""

    name: str
    text: str
    scale: Scale = YES_NO
    fields: tuple[str, ...] = SEEN
    steps: tuple[str, ...] = ()
    written: bool = False
    own: bool = False

    def __str__(self) -> str:
        """Return the name with a hash of everything that affects the prompt."""
        told = (self.text, self.scale, self.fields, self.steps, self.written)
        return f"{self.name}#{text_hash(repr(told))[:6]}"

    @property
    def column(self) -> str:
        """The column of its verdict."""
        return OWN if self.own else self.name

    def unit(self, record: str = "", steps: tuple[str, ...] = ()) -> Unit:
        """Return the unit that is judged for a record."""
        name = f"{record}/criterion/{self.name}"
        return Unit(name, "criterion", self.text, scale=self.scale, steps=steps or self.steps)


def criteria_of(given: object, where: str = "rubric") -> tuple[Criterion, ...]:
    """Return the criteria from tables by name or a list of tables with a ``name``; raise ConfigError if invalid."""
    if isinstance(given, Mapping):
        given = [{**table, "name": name} if isinstance(table, Mapping) else table for name, table in given.items()]
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ConfigError(f"{where}: expected tables by name, such as [rubric.tone], or a list of tables with a name")
    found = [one if isinstance(one, Criterion) else _criterion(one, where) for one in given]
    names = [one.name for one in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"{where}: two criteria are called '{twice}'; rename one")
    return tuple(found)


def _criterion(table: object, where: str) -> Criterion:
    name = table.get("name") if isinstance(table, Mapping) else None
    if not isinstance(table, Mapping) or not isinstance(name, str) or not _NAME.fullmatch(name) or name == OWN:
        said = f"invalid name {name!r}" if isinstance(table, Mapping) else f"{str(table)[:40]} is not a table"
        raise ConfigError(f"{where}: {said}; expected up to 40 letters, digits and _, other than '{OWN}'")
    where = f"{where}.{name}" if where == "rubric" else f"{where}: rubric.{name}"
    for key in table:
        if key not in KEYS:
            raise ConfigError(f"{where}: no setting '{key}'; its settings are {', '.join(KEYS[1:])}")
    text = table.get("criterion")
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise ConfigError(f"{where}.criterion: expected a string of 1 to {LONGEST:,} characters")
    fields, steps = table.get("fields", SEEN), table.get("steps", ())
    if not isinstance(fields, list | tuple) or not fields or any(field not in FIELDS for field in fields):
        raise ConfigError(f"{where}.fields: {fields!r}; expected a list of fields, from {', '.join(FIELDS)}")
    if steps != WRITE and not _texts(steps):
        raise ConfigError(
            f'{where}.steps: expected up to {MOST_STEPS} strings, or "{WRITE}" to have a judge write them'
        )
    return Criterion(
        name, text.strip(), _scale(table.get("scale", "yes_no"), f"{where}.scale"),
        tuple(field for field in FIELDS if field in fields), () if steps == WRITE else tuple(steps), steps == WRITE,
    )  # fmt: skip


def _texts(steps: object) -> bool:
    if not isinstance(steps, list | tuple) or len(steps) > MOST_STEPS:
        return False
    return all(isinstance(step, str) and 0 < len(step.strip()) <= LONGEST for step in steps)


def _scale(given: object, where: str) -> Scale:
    """Return a scale from its name, a list of labels (worst first), or a table of their values or meanings."""
    if isinstance(given, str):
        if given not in NAMED:
            raise ConfigError(f"{where}: no scale '{given}'; expected {' or '.join(NAMED)}, or labels, worst first")
        return NAMED[given]
    if not isinstance(given, Mapping | list | tuple) or not 2 <= len(given) <= MOST_LABELS:
        raise ConfigError(f"{where}: expected 2 to {MOST_LABELS} labels, as a list or as a table of values or meanings")
    names = list(given)
    if wrong := [name for name in names if not isinstance(name, str) or not _LABEL.fullmatch(name)]:
        raise ConfigError(
            f"{where}: invalid label {wrong[0]!r}; expected 1 to 40 characters without quotes or brackets"
        )
    if len({re.sub(r"[\W_]+", "", name.casefold()) for name in names}) < len(names):
        raise ConfigError(f"{where}: two of the labels {', '.join(names)} differ only in case or punctuation")
    said = list(given.values()) if isinstance(given, Mapping) else []
    evenly = tuple(number / (len(names) - 1) for number in range(len(names)))
    raws = tuple(range(len(names)))
    if all(isinstance(one, str) for one in said):
        return Scale("own", tuple(names), evenly, raws, tuple(said))
    values = [one for one in said if isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one <= 1]
    if len(values) < len(names) or len(set(values)) < 2:
        raise ConfigError(f"{where}: expected a number from 0 to 1 (not all the same) or a meaning for each label")
    ranked = sorted(zip(values, names, strict=True), key=lambda pair: pair[0])
    return Scale("own", tuple(name for _, name in ranked), tuple(float(value) for value, _ in ranked), raws)
