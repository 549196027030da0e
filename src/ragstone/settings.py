"""Validate ``ragstone.toml``: its tables and settings, with one-line error messages.

Settings that are also options of a run come from ``RunOptions``. This module is imported only if there is a file.
"""

from __future__ import annotations

import difflib
import functools
import json
import math
import re
import textwrap
import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from ragstone.errors import ConfigError, reason
from ragstone.judges.spec import Tier
from ragstone.options import DEADLINE, DEFAULT_JUDGE, FILE, TRIES, Option, RunOptions, options_of
from ragstone.prompts import is_path
from ragstone.questions import TASKS

_HARMLESS: Final = frozenset(
    "model concurrency rpm tpm timeout temperature max_tokens context seed threshold price prompts".split()  # noqa: SIM905
)
"""Settings of a judge whose value a message may show; others may contain a key."""


_FILE_JUDGE: Final = re.compile(r"(?<![^\s=\[,>])((?:human|replay):)([^,>\]]+)")
"""A judge of a file, also in a panel or a cascade, or for a step."""
_EXPECTED: Final[Mapping[str, str]] = {
    "bool_type": "true or false", "dict_type": "a table", "finite_number": "a number", "float_type": "a number",
    "greater_than": "a number above {gt:g}", "greater_than_equal": "a number of at least {ge:g}",
    "int_from_float": "a whole number", "int_type": "a whole number", "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of at most {le:g}", "list_type": "a list", "literal_error": "{expected}",
    "model_type": "a table", "string_too_short": "a string that is not empty", "string_type": "a string",
}  # fmt: skip
"""What a setting should be, by pydantic's type of the error."""


class Table(BaseModel):
    """A table that rejects unknown settings and values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class PriceTable(Table):
    """Dollars per million tokens."""

    input: float | int = Field(ge=0)
    output: float | int = Field(ge=0)
    cached: float | int | None = Field(default=None, ge=0)


class PromptsTable(Table):
    """``[prompts]`` and ``[judges.NAME.prompts]``: styles by step, label formats and packs."""

    style: str | None = None
    format: str | None = None
    structured: str | None = None
    case_sensitive: bool | None = None
    pack: str | None = None
    pack_examples: int | None = Field(default=None, ge=0)
    claims: str | None = None
    nuggetize: str | None = None
    importance: str | None = None
    support: str | None = None
    assign: str | None = None
    response_support: str | None = None
    relevance: str | None = None
    trace: str | None = None
    rubric: str | None = None


class JudgeTable(Table):
    """``[judges.NAME]``."""

    model: str = Field(min_length=1)
    provider: str = ""
    base_url: str = ""
    api_key_env: str | None = Field(default=None, pattern="^([A-Za-z_][A-Za-z0-9_]*)?$")
    concurrency: int = Field(default=64, ge=1, le=4096)
    rpm: int = Field(default=0, ge=0)
    tpm: int = Field(default=0, ge=0)
    tier: Tier = "standard"
    tier_fallback: bool = False
    batch_tokens: int = Field(default=0, ge=0)
    timeout: float | int = Field(default=120, gt=0)
    temperature: Annotated[float | int, Field(ge=0, le=2)] | Literal["default"] = 0
    max_tokens: int = Field(default=4096, ge=16)
    context: int = Field(default=0, ge=0)
    prompts: PromptsTable = Field(default_factory=PromptsTable)
    seed: int | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)
    threshold: float | int | None = Field(default=None, ge=0, le=1)
    price: PriceTable | None = None

    @model_validator(mode="before")
    @classmethod
    def _embedded(cls, table: Any) -> Any:
        embedded = isinstance(table, dict) and table.get("provider") == DEFAULT_JUDGE
        return {"model": DEFAULT_JUDGE, **table} if embedded else table


class EngineTable(Table):
    """``[engine]``: how long and how often a call is tried."""

    deadline: float | int = Field(default=DEADLINE, gt=0)
    tries: int = Field(default=TRIES, ge=1)


class PanelTable(Table):
    """``[panel]``: its settings that are not options."""

    weights: dict[str, Annotated[float | int, Field(gt=0)]] = Field(default_factory=dict)


Share = Annotated[float | int, Field(ge=0, le=1)]


class CheckTable(Table):
    """``[check]``: the thresholds of ``ragstone check``."""

    min: dict[str, Share] = Field(default_factory=dict)
    max: dict[str, Share] = Field(default_factory=dict)
    min_coverage: dict[str, Share] = Field(default_factory=dict)
    max_drop: dict[str, Share] = Field(default_factory=dict)
    max_record_drop: dict[str, Share] = Field(default_factory=dict)
    baseline: str | None = None
    undecided: Literal["pass", "fail"] = "pass"
    corrected: bool = False


@functools.cache
def file_table(options: Any = RunOptions) -> type[Table]:
    """Return the model of the whole file, including the settings that are options."""
    made: dict[str, dict[str, Any]] = {"run": {}, "panel": {}, "cascade": {}}
    for one in options_of(options):
        table, dot, key = one.setting.partition(".")
        if dot:
            made[table][key] = _field(one)
    return create_model(
        "FileTable",
        __base__=Table,
        run=_filled(create_model("RunTable", __base__=Table, **made["run"])),
        fields=_filled(dict[str, str | list[str]], dict),
        judges=_filled(dict[str, JudgeTable], dict),
        steps=_filled(dict[str, list[str] | str], dict),
        engine=_filled(EngineTable),
        panel=_filled(create_model("PanelTable", __base__=PanelTable, **made["panel"])),
        cascade=_filled(create_model("CascadeTable", __base__=Table, **made["cascade"])),
        prompts=_filled(PromptsTable),
        metrics=_filled(dict[str, dict[str, Any]], dict),
        rubric=_filled(dict[str, dict[str, Any]] | list[dict[str, Any]], dict),
        check=_filled(CheckTable),
    )


def _filled(kind: Any, empty: Any = None) -> Any:
    return kind, Field(default_factory=empty or kind)


def _field(one: Option) -> Any:
    """Return the type and default of a setting that is an option."""
    kind: Any = {float: float | int, Path: str}.get(one.kind, one.kind)
    least, most = ("gt", "lt") if one.between else ("ge", "le")
    bounds = ((least, one.least), (most, one.most))
    limits: dict[str, Any] = {name: limit for name, limit in bounds if math.isfinite(limit)}
    if one.many:
        kind = list[str] | str
    default = one.default
    return kind if default is not None else kind | None, Field(default=default, **limits)


def read(path: Path, options: Any = RunOptions) -> dict[str, Any]:
    """Return the settings that a file contains, by table, with paths that are relative to its folder resolved.

    Raise ConfigError with a one-line message.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: {reason(error)}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: invalid TOML: {error}") from error
    if path.name == "pyproject.toml":
        raise ConfigError(f"{path}: contains no Ragstone settings; write a {FILE} with: ragstone init")
    model = file_table(options)
    try:
        found = model.model_validate(table).model_dump(exclude_unset=True)
    except ValidationError as error:
        # Without its cause, which would show the whole table, including a key put there by mistake.
        raise ConfigError(f"{path}: {_first(error, table, model)}") from None
    _locate(found, path.parent, options)
    return found


def _locate(found: dict[str, Any], folder: Path, options: Any) -> None:
    """Resolve the paths in the settings of a file in ``folder``: of options, judges, a baseline, prompts and packs."""

    def at(path: str) -> str:
        return path if not path or "://" in path else str(folder / path)

    def judge(named: Any) -> Any:
        if isinstance(named, list):
            return [judge(one) for one in named]
        return _FILE_JUDGE.sub(lambda match: match[1] + at(match[2]), named)

    files = (one.setting.partition(".") for one in options_of(options) if Path in get_args(one.hint))
    places: list[tuple[str, str, Callable[[Any], Any]]] = [
        *((table, key, at) for table, _, key in files),
        *(("steps", step, judge) for step in found.get("steps", ())),
        ("run", "judge", judge),
        ("check", "baseline", lambda name: at(name) if is_path(name) else name),
    ]
    for table, key, resolve in places:
        if key in found.get(table, {}):
            found[table][key] = resolve(found[table][key])
    for holder in (found, *found.get("judges", {}).values()):
        for key, path in (prompts := holder.get("prompts", {})).items():
            if key == "pack" or (key in TASKS and is_path(path)):
                prompts[key] = at(path)


def read_criteria(path: Path) -> Any:
    """Return the ``rubric`` tables of a file of criteria (TOML or JSON); raise ConfigError with a one-line message."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"--rubric {path}: {reason(error)}") from error
    except ValueError as error:
        found = "not JSON" if path.suffix == ".json" else "not TOML (the name of a JSON file must end in .json)"
        raise ConfigError(f"--rubric {path}: {found}: {error}") from error
    if not isinstance(table, dict) or not table.get("rubric") or len(table) > 1:
        raise ConfigError(f"--rubric {path}: expected [rubric.NAME] tables and nothing else")
    return table["rubric"]


def _first(error: ValidationError, table: Mapping[str, Any], model: type[BaseModel]) -> str:
    problem = error.errors()[0]
    where = _where(problem["loc"], table)
    if problem["type"] == "missing":
        return f"{where} is missing"
    if problem["loc"][-1] == "api_key_env":
        return f"{where}: expected the name of an environment variable, not the key itself"
    if problem["type"] == "extra_forbidden":
        known = _known(problem["loc"][:-1], model)
        near = difflib.get_close_matches(str(problem["loc"][-1]), known, 2)
        meant = " or ".join(f"'{name}'" for name in near)
        return f"no setting '{where}'" + (f"; did you mean {meant}?" if near else f"; known: {', '.join(known)}")
    named = [(_where(one["loc"], table), _expected(one)) for one in error.errors()]
    others = len({other for other, _ in named if not where.startswith(other)})
    more = f" ({others} more)" if others else ""
    words = dict.fromkeys(words for other, words in named if other == where)
    numbers = any(one.startswith("a number") for one in words)
    expected = " or ".join(one for one in words if not (numbers and one == "a whole number"))
    # A string in a judge's setting may be a key; do not repeat it.
    secret = problem["loc"][0] == "judges" and not _HARMLESS.intersection(problem["loc"][2:])
    found = "" if secret else f" = {problem.get('input')!r}"
    return f"{where}{found}: expected {expected}{more}"


def _expected(problem: Any) -> str:
    words = _EXPECTED.get(problem["type"], problem["msg"]).format(**problem.get("ctx", {}))
    return f"a list of {words.removeprefix('a ')}s" if isinstance(problem["loc"][-1], int) else words


def _where(loc: tuple[int | str, ...], table: Any) -> str:
    """Return the setting's name as in the file; pydantic's location also contains the type it tried."""
    parts = []
    for part in loc:
        if isinstance(table, dict) and part not in table and "[" in str(part):
            continue
        parts.append(str(part))
        table = table.get(part) if isinstance(table, dict) else None
        if not isinstance(table, dict):
            break
    return ".".join(parts)


def _known(parent: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    for part in parent:
        if (field := model.model_fields.get(str(part))) is not None:  # else it is, e.g., the name of a judge
            model = table_in(field.annotation) or model
    return sorted(model.model_fields)


def table_in(annotation: Any) -> type[BaseModel] | None:
    """Return the table in a setting's type, also if it has tables by name; None for a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((inner for part in get_args(annotation) if (inner := table_in(part)) is not None), None)


def commented() -> str:
    """Return the commented file that ``ragstone init`` writes."""
    lines = []
    for one in options_of(RunOptions):
        table, _, key = one.setting.partition(".")
        if table == "run":
            value = one.default if one.default is not None else one.example
            said = textwrap.wrap(one.note or one.help, 112, initial_indent="# ", subsequent_indent="# ")
            lines += ["", *said, f"#{key} = {json.dumps(value)}"]
    text = resources.files("ragstone").joinpath(FILE).read_text(encoding="utf-8")
    return text.replace("[run]\n", "\n".join(["[run]", *lines[1:], ""]), 1)
