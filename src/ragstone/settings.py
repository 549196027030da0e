"""``ragstone.toml`` as it stands: which tables and settings there are, and what is wrong with a file, in one line."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragstone.errors import ConfigError

FILE: Final = "ragstone.toml"
DEFAULT_JUDGE: Final = "embedded"
DEADLINE: Final = 300.0
"""Seconds from a call's first try to the end of its last."""
TRIES: Final = 6
"""Tries of one call."""
CASCADE_ERROR: Final = 0.05
"""How often a judge of a cascade may err where it is sure."""

OnError = Literal["stop", "skip"]


_HARMLESS: Final = frozenset(
    (
        "model",
        "concurrency",
        "rpm",
        "tpm",
        "timeout",
        "temperature",
        "max_tokens",
        "context",
        "seed",
        "price",
        "prompts",
    )
)
"""Settings of a judge whose value a message may repeat."""


class Table(BaseModel):
    """What all tables share: no setting that there is not, no value of another kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class PriceTable(Table):
    """Dollars per million tokens."""

    input: float | int = Field(ge=0)
    output: float | int = Field(ge=0)
    cached: float | int | None = Field(default=None, ge=0)


class PromptsTable(Table):
    """``[prompts]`` and ``[judges.NAME.prompts]``: styles by step, and how labels are given and read."""

    style: str | None = None
    format: str | None = None
    structured: str | None = None
    case_sensitive: bool | None = None
    claims: str | None = None
    nuggetize: str | None = None
    importance: str | None = None
    support: str | None = None
    assign: str | None = None
    response_support: str | None = None
    relevance: str | None = None
    trace: str | None = None


class JudgeTable(Table):
    """``[judges.NAME]``."""

    model: str = Field(min_length=1)
    provider: str = ""
    base_url: str = ""
    api_key_env: str | None = Field(default=None, pattern="^([A-Za-z_][A-Za-z0-9_]*)?$")
    concurrency: int = Field(default=64, ge=1, le=4096)
    rpm: int = Field(default=0, ge=0)
    tpm: int = Field(default=0, ge=0)
    timeout: float | int = Field(default=120, gt=0)
    temperature: Annotated[float | int, Field(ge=0, le=2)] | Literal["default"] = 0
    max_tokens: int = Field(default=4096, ge=16)
    context: int = Field(default=0, ge=0)
    prompts: PromptsTable = Field(default_factory=PromptsTable)
    seed: int | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)
    price: PriceTable | None = None


class RunTable(Table):
    """``[run]``."""

    metrics: list[str] | str = "auto"
    judge: list[str] | str = DEFAULT_JUDGE
    on_error: OnError = "stop"
    on_empty: Literal["null", "zero", "one"] = "null"
    store: str | None = None
    nuggets: str | None = None
    max_cost: float | int | None = Field(default=None, ge=0)
    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)


class EngineTable(Table):
    """``[engine]``: how long a call is tried."""

    deadline: float | int = Field(default=DEADLINE, gt=0)
    tries: int = Field(default=TRIES, ge=1)


class PanelTable(Table):
    """``[panel]``."""

    aggregate: str = "mean"
    weights: dict[str, Annotated[float | int, Field(gt=0)]] = Field(default_factory=dict)


class CascadeTable(Table):
    """``[cascade]``."""

    error: float | int = Field(default=CASCADE_ERROR, gt=0, lt=0.5)


Share = Annotated[float | int, Field(ge=0, le=1)]


class CheckTable(Table):
    """``[check]``: what ``ragstone check`` holds a run against."""

    min: dict[str, Share] = Field(default_factory=dict)
    min_coverage: dict[str, Share] = Field(default_factory=dict)
    max_drop: dict[str, Share] = Field(default_factory=dict)
    baseline: str | None = None
    undecided: Literal["pass", "fail"] = "pass"


class FileTable(Table):
    """The whole file."""

    run: RunTable = Field(default_factory=RunTable)
    fields: dict[str, str] = Field(default_factory=dict)
    judges: dict[str, JudgeTable] = Field(default_factory=dict)
    steps: dict[str, list[str] | str] = Field(default_factory=dict)
    engine: EngineTable = Field(default_factory=EngineTable)
    panel: PanelTable = Field(default_factory=PanelTable)
    cascade: CascadeTable = Field(default_factory=CascadeTable)
    prompts: PromptsTable = Field(default_factory=PromptsTable)
    metrics: dict[str, dict[str, Any]] = Field(default_factory=dict)
    check: CheckTable = Field(default_factory=CheckTable)


def read(path: Path | str | None) -> tuple[FileTable, str]:
    """The file's tables, and its name for messages; ConfigError in one line. No file at all is an empty one."""
    named = path or os.environ.get("RAGSTONE_CONFIG")
    origin = Path(named) if named else Path(FILE)
    if not named and not origin.exists():
        return FileTable(), FILE
    try:
        table = tomllib.loads(origin.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{origin}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{origin}: not TOML: {error}") from error
    if origin.name == "pyproject.toml":
        raise ConfigError(f"{origin}: holds no settings of Ragstone; write a {FILE} with: ragstone init")
    try:
        return FileTable.model_validate(table), str(origin)
    except ValidationError as error:
        # Without its cause: that would show all of the table, a key that was put there by mistake too.
        raise ConfigError(f"{origin}: {_first(error, table)}") from None


def _first(error: ValidationError, table: Mapping[str, Any]) -> str:
    problem = error.errors()[0]
    where = _place(problem["loc"], table)
    if problem["type"] == "missing":
        return f"{where}: field required"
    if problem["loc"][-1] == "api_key_env":
        return f"{where}: expected the name of a variable that holds the key, and not the key"
    if problem["type"] == "extra_forbidden":
        parent = problem["loc"][:-1]
        known = _known(parent)
        near = difflib.get_close_matches(str(problem["loc"][-1]), known, 1)
        return f"no setting '{where}'" + (f"; did you mean '{near[0]}'?" if near else f"; known: {', '.join(known)}")
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    found = problem.get("input")
    if problem["loc"][0] == "judges" and not _HARMLESS.intersection(problem["loc"][2:]):
        # A text in the place of a judge's setting may be a key; it is not repeated.
        return f"{where}: {problem['msg'][0].lower()}{problem['msg'][1:]}{more}"
    return f"{where} = {found!r}: {problem['msg'][0].lower()}{problem['msg'][1:]}{more}"


def _place(loc: tuple[int | str, ...], table: Any) -> str:
    """The setting's name as the file has it; pydantic also names the form of a value that it tried."""
    parts = []
    for part in loc:
        parts.append(str(part))
        table = table.get(part) if isinstance(table, dict) else None
        if not isinstance(table, dict):
            break
    return ".".join(parts)


def _known(parent: tuple[int | str, ...]) -> list[str]:
    tables: dict[str, type[BaseModel]] = {
        "run": RunTable,
        "engine": EngineTable,
        "panel": PanelTable,
        "cascade": CascadeTable,
        "judges": JudgeTable,
        "price": PriceTable,
        "prompts": PromptsTable,
        "check": CheckTable,
    }
    model: type[BaseModel] = FileTable
    for part in parent:
        model = tables.get(str(part), model)
    return sorted(model.model_fields)
