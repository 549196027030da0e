"""Define every option of a run in one place: ``RunOptions``.

The command line, ``ragstone.toml``, the environment variables, the keywords of ``evaluate`` and the commands suggested
under ``Next`` are derived from its fields. A new option needs one field here, and the code that uses it.
"""

from __future__ import annotations

import difflib
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args, get_origin, get_type_hints

from msgspec import Struct, field
from msgspec.structs import replace

from ragstone.errors import ConfigError

if TYPE_CHECKING:
    from ragstone.engine.tally import Tally
    from ragstone.judges.base import Judge
    from ragstone.records import Survey
else:
    Judge = Survey = Tally = object  # to evaluate annotations; a judge may be any object

OnError = Literal["stop", "skip"]

FILE: Final = "ragstone.toml"
STORE: Final = ".ragstone/ragstone.db"
DEFAULT_JUDGE: Final = "embedded"
DEADLINE: Final = 300.0
"""Seconds from the start of a call's first attempt to the end of its last."""
TRIES: Final = 6
"""Maximum number of attempts per call."""
MOST_REPEATS: Final = 100
"""The maximum of ``repeat``."""
RUNS: Final = "run compare-methods"
SCORING: Final = f"{RUNS} estimate assign"
SENDING: Final = f"{RUNS} create assign tune"
READING: Final = f"{SCORING} create"
EVERY: Final = f"{READING} tune"
"""Commands that write a run's folder, score responses, send calls, can read part of the input; and all that judge."""


class Option(Struct, frozen=True, kw_only=True, eq=False):
    """One option as users write it: its flags, where it can be set, and its values.

    ``flags`` is empty for a Python-only option. ``commands`` lists the commands that have it. ``setting`` is its key in
    ragstone.toml and ``variable`` its environment variable; ``default`` applies if nothing sets it. ``example`` is a
    value for the commented file, ``note`` its comment if that differs from ``help``. Numbers range from ``least`` to
    ``most`` inclusive, or strictly ``between`` them. ``parse`` converts the command-line values. A ``bare`` flag needs
    no value. The field gives ``kind`` (of a value as text), ``many`` (repeatable), ``hint`` and ``unset`` (not given).
    """

    flags: tuple[str, ...] = ()
    help: str = ""
    metavar: str | None = None
    commands: str = EVERY
    setting: str = ""
    variable: str = ""
    default: Any = None
    example: Any = None
    note: str = ""
    least: float = -math.inf
    most: float = math.inf
    between: bool = False
    parse: Callable[[Any], Any] | None = None
    bare: bool = False
    name: str = ""
    kind: Any = str
    many: bool = False
    hint: Any = str
    unset: Any = None

    def __call__(self) -> Any:
        """Return ``unset``: an option is the default factory of its field."""
        return self.unset

    @property
    def values(self) -> tuple[str, ...]:
        """The allowed values, if the option has a fixed set of them."""
        return _values(self.kind)

    @property
    def help_with_default(self) -> str:
        """The help text, with the default if there is one."""
        return self.help if self.default is None else f"{self.help} [default: {self.default}]"

    @property
    def label(self) -> str:
        """The name for messages, with the flag if that has another name."""
        alike = not self.flags or self.flags[0].startswith(f"--{self.name.replace('_', '-')}")
        return self.name if alike else f"{self.name} ({self.flags[0]})"

    @property
    def expected(self) -> str:
        """A description of the valid values, for messages."""
        if self.values:
            return " or ".join(part for part in (", ".join(self.values[:-1]), self.values[-1]) if part)
        if self.kind not in (int, float):
            return ("a dict by name" if self.parse else "one or more names") if self.many else "text or a path"
        low = "above" if self.between else "from" if self.most < math.inf else "of at least"
        high = "and below" if self.between else "to"
        bounds = [f"{word} {limit:g}" for word, limit in ((low, self.least), (high, self.most)) if math.isfinite(limit)]
        return " ".join(["a whole number" if self.kind is int else "a number", *bounds])

    def check(self, value: object, where: str = "") -> None:
        """Raise ConfigError if the option does not accept the value; from Python, it may have any type."""
        if value is None or self.kind is bool:
            return
        if self.values:
            fine = value in self.values
        elif self.kind not in (int, float):
            fine = _fits(value, self.hint)
        else:
            number = isinstance(value, int if self.kind is int else int | float) and not isinstance(value, bool)
            fine = number and self._within(value)  # type: ignore[arg-type]
        if not fine:
            shown = repr(value).removesuffix(".0") if self.kind is float else repr(value)
            raise ConfigError(f"{where or self.label} {shown}; expected {self.expected}")

    def _within(self, number: float) -> bool:
        inside = self.least < number < self.most if self.between else self.least <= number <= self.most
        return inside and math.isfinite(number)

    def read(self, text: str) -> Any:
        """Parse the value of an environment variable."""
        if self.kind in (int, float):
            try:
                value = self.kind(text)
            except ValueError:
                raise ConfigError(f"{self.variable} '{text}'; expected {self.expected}") from None
        else:
            value = text.lower() in ("1", "true", "yes", "on") if self.kind is bool else text
        self.check(value, self.variable)
        return value

    def words(self, value: Any) -> list[str]:
        """Return the command-line words that set this value."""
        flag = min(self.flags, key=len)
        if isinstance(value, bool) and self.kind is bool:
            return [flag.split("/")[0 if value else 1]] if "/" in flag or value else []
        if self.bare:
            return [flag if value is True else f"{flag}={value}"]
        return [word for text in _texts(value) for word in (flag, text)]


def option(*flags: str, unless: Any = None, **more: Any) -> Any:
    """Return a field of ``RunOptions``; ``unless`` is its value if the caller gives none, ``more`` as in ``Option``."""
    return field(default_factory=Option(flags=flags, unset=unless, **more))


def _texts(value: Any) -> list[str]:
    """Return a value as it is typed on the command line; each item separately for a mapping or list."""
    if isinstance(value, Mapping):
        return [
            f"{name}.{inner}={_literal(part)}" if isinstance(held, Mapping) else f"{name}={part}"
            for name, held in value.items()
            for inner, part in (held.items() if isinstance(held, Mapping) else [("", one) for one in _texts(held)])
        ]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(getattr(part, "name", part)) for part in value]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


def _literal(value: Any) -> str:
    """Return a text that ``--set`` parses back to the same value."""
    import json  # noqa: PLC0415 - for a command to type next alone

    return value if isinstance(value, str) and _value(value) == value else json.dumps(value, default=str)


def _value(text: str) -> Any:
    """Parse the text after an equals sign as TOML if valid, else as text."""
    import tomllib  # noqa: PLC0415 - help has no values

    try:
        return text if "\n" in text else tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def assignments(pairs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parse ``METRIC.PARAMETER=VALUE`` into parameters by metric; a value that is not TOML is kept as text."""
    found: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        left, equals, text = pair.partition("=")
        metric, dot, parameter = left.strip().partition(".")
        if not (equals and dot and metric and parameter):
            raise ConfigError(f"--set {pair!r}; expected METRIC.PARAMETER=VALUE, as in grounding.threshold=0.7")
        found.setdefault(metric, {})[parameter] = _value(text)
    return found


def field_paths(pairs: Sequence[str]) -> dict[str, str | list[str]]:
    """Parse ``FIELD=PATH`` into paths by field."""
    found: dict[str, dict[str, None]] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (equals and name.strip() and path.strip()):
            raise ConfigError(f"--field {pair!r}; expected FIELD=PATH, as in question=user.query")
        found.setdefault(name.strip(), {})[path.strip()] = None
    return {name: [*paths] if len(paths) > 1 else next(iter(paths)) for name, paths in found.items()}


class Progress(Struct, eq=False):
    """A run in progress: ``tally`` has the counts, ``total`` is the number of records, ``store`` its store's file."""

    run: int
    store: str
    total: int
    tally: Tally
    metrics: tuple[str, ...]
    judges: tuple[str, ...]
    left_out: Mapping[str, str]
    survey: Survey
    notes: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)


class ByPosition(Struct, frozen=True):
    """The options that may be passed by position; all others are keywords."""

    # fmt: off
    metrics: Sequence[str] | str | None = option(
        "--metrics", "--metric", "-m", metavar="NAMES", commands="run estimate validate", default="auto",
        help="Metrics or suites, e.g. grounding,triad, or your own as MODULE:CLASS", setting="run.metrics",
        note="Metrics and suites (see: ragstone metrics). auto: every metric whose required fields "
        "are present and that takes about 2 calls per record or fewer.",
    )
    judge: Sequence[str | Judge] | str | Judge | None = option(
        "--judge", "-j", metavar="[STEP=]NAME",
        help="Judge for all steps or for one step; [A,B] is a panel, 'A>B' is a cascade. Repeatable.",
        setting="run.judge", default=DEFAULT_JUDGE,
        note="Judge for every step that has no judge of its own: embedded, openai:gpt-4o-mini, ollama:qwen3, or the "
        'name of a [judges.NAME] table below (see: ragstone judges). To set a judge for one step, use a list: '
        '["embedded", "support=mine"].',
    )


class RunOptions(ByPosition, frozen=True, kw_only=True, eq=False):
    """Options of a run. For None, the environment, the configuration file or the default applies, in this order.

    ``judge`` is a name for all steps, ``STEP=NAME`` for one step, or a list of these. Instead of a name, ``[A,B]`` is a
    panel and ``A>B`` a cascade: A answers if it is confident enough, B answers the rest. A judge may also be an object.
    ``parameters`` maps a metric to changed parameters, ``fields`` a canonical field to a path. ``only_failed`` is an
    earlier run, by number or name, or True for the input's last run. ``progress``: None shows it in a terminal or
    notebook, but not under pytest or CI. ``on_start`` receives the progress before the first call, ``on_result`` each
    line of results.jsonl. The help texts of the fields describe the other options.
    """

    # fmt: off
    nuggets: Path | str | None = option(
        "--nuggets", metavar="FILE", help="File of nuggets by topic; used instead of the records' own nuggets.",
        commands="run estimate assign tune validate", setting="run.nuggets", example="bank.jsonl",
    )
    topics: Path | str | None = option(
        "--topics", metavar="FILE", help="File of questions by topic, for records without a question.",
        commands=f"{EVERY} validate", setting="run.topics", example="topics.jsonl",
    )
    qrels: Path | str | None = option(
        "--qrels", metavar="FILE", help="TREC qrels: relevant passages by topic; used instead of the field 'relevant'.",
        commands="run estimate validate", setting="run.qrels", example="qrels.txt",
    )
    aggregate: Literal["mean", "median", "majority", "min", "max"] | None = option(
        "--panel", metavar="HOW", help="How to combine a panel's verdicts: mean, median, majority, min or max",
        setting="panel.aggregate", default="mean",
    )
    cascade_error: float | None = option(
        "--cascade-error", metavar="RATE", help="Accepted error rate of a cascade's first judge",
        commands=f"{SCORING} tune", setting="cascade.error", default=0.05, least=0, most=0.5, between=True,
        note="In a cascade, every judge but the last decides a unit only if its estimated error rate is at most this.",
    )
    prompts: Sequence[str] | str | None = option(
        "--prompt", metavar="[STEP=]STYLE|FILE", help="Prompt style, or your own prompt file. Repeatable."
    )
    pack: Path | str | None = option("--pack", metavar="FILE", help="Definitions and examples to add to every prompt.")
    pack_examples: int | None = option(
        "--pack-examples", metavar="N", least=0,
        help="Send only the N pack examples most similar to the question; 0 sends all.",
    )
    format: str | None = option(
        "--format", metavar="FORMAT", help="Format of the labels in replies: json, keyed, yaml, adaptive …",
        commands=SCORING,
    )
    structured: Literal["auto", "schema", "off"] | None = option(
        "--structured", help="Send a JSON schema: auto (if possible), schema (always), off (never) [default: auto]"
    )
    parameters: Mapping[str, Mapping[str, Any]] | None = option(
        "--set", metavar="METRIC.NAME=VALUE", help="Set a metric parameter for this run. Repeatable.",
        commands=f"{SCORING} tune", parse=assignments,
    )
    rubric: Sequence[Path | str] | Path | str | None = option(
        "--rubric", metavar="FILE",
        help="Your own criteria: a TOML or JSON file with [rubric.NAME] tables. Repeatable.",
        commands=f"{RUNS} estimate",
    )
    fields: Mapping[str, str | Sequence[str]] | None = option(
        "--field", metavar="FIELD=PATH", help="Map a field to a path, e.g. question=user.query. Repeatable.",
        commands=f"{EVERY} validate", setting="fields", parse=field_paths,
        note='Maps a field to its path in the input, e.g. question = "user.query".',
    )
    input_format: str | None = option(
        "--from", metavar="FORMAT", help="Format of the input, e.g. langfuse [default: detected]",
        commands=f"{EVERY} validate", setting="run.from", example="langfuse",
        note='Input format (see: ragstone fields); "records" is Ragstone\'s own. Default: detected.',
    )
    records_path: str | None = option(
        "--records", metavar="PATH[]", help="Path to the list of records in each JSON object, e.g. data.items[]",
        commands=f"{EVERY} validate", setting="run.records", example="data.items[]",
    )
    on_error: OnError | None = option(
        "--on-error", help="What to do with unreadable records",
        commands=f"{EVERY} validate", setting="run.on_error", default="stop",
        note="What to do with unreadable records: stop rejects the input, skip continues without them.",
    )
    on_empty: Literal["null", "zero", "one"] | None = option(
        "--on-empty", help="Value of a score if there is nothing to judge",
        commands=f"estimate {RUNS}", setting="run.on_empty", default="null",
        note="Value of a score if there is nothing to judge, e.g. a response without claims.",
    )
    concurrency: int | None = option(
        "--concurrency", metavar="N", least=1,
        help="Max concurrent calls per endpoint and key [default: 64; 4 for llamacpp, lmstudio and ollama]",
    )
    max_cost: float | None = option(
        "--max-cost", metavar="DOLLARS", help="Stop before the cost exceeds this; exits 4.",
        setting="run.max_cost", example=2.5, least=0,
        note="Max dollars per run. The run stops before it costs more; run the same command again to resume it.",
    )
    max_calls: int | None = option(
        "--max-calls", metavar="N", help="Stop before the number of answered API calls exceeds this; exits 4.",
        setting="run.max_calls", example=10000, least=0,
        note="Max answered calls per run.",
    )
    max_tokens: int | None = option(
        "--max-tokens", metavar="N", help="Stop before the number of tokens (in + out) exceeds this; exits 4.",
        setting="run.max_tokens", example=5000000, least=0,
        note="Max tokens per run (in + out).",
    )
    batch: bool = option(
        "--batch", help="Send calls in batches at half the price; run again to collect the results.",
        commands="run estimate", unless=False,
    )
    wait: bool = option("--wait", help="With --batch: wait for the batches to finish.", commands="run", unless=False)
    finish: Literal["live", "flex", "batch"] | None = option(
        "--finish", commands="run estimate",
        help="With --batch: how to send the rest if under 200 calls remain, or the budget allows fewer [default: live]",
    )
    tier: Literal["standard", "flex"] | None = option(
        "--tier", commands=f"{SENDING} estimate",
        help="Service tier; flex is slower, at about half the price (OpenAI, Azure, Gemini) [default: standard]",
    )
    limit: int | None = option(
        "--limit", metavar="N", help="Use only the first N records of each file.", commands=READING, least=1
    )
    sample: int | None = option(
        "--sample", metavar="N", help="Use N random records from each file.", commands=READING, least=1
    )
    seed: int | None = option("--seed", metavar="S", help="Random seed for --sample [default: 0]", commands=READING)
    estimate: bool | None = option(
        "--estimate/--no-estimate",
        help="Estimate the cost before the run [default: yes, if the estimate is fast]",
        commands=RUNS,
    )
    workers: int | None = option(
        "--workers", metavar="N", help="Worker processes [default: 1 per 256 records for the embedded judge, else 1]",
        commands=f"{RUNS} merge", setting="run.workers", example=4, least=1,
        note="Number of worker processes. Default: for embedded, 1 per 256 records, at most 1 per core; else 1.",
    )
    shard: str | None = option(
        "--shard", metavar="I/N", commands="run",
        help="Evaluate shard I of N (I starts at 1); needs -o. When all are done, run: ragstone merge DIR",
    )
    engine: Literal["ray"] | None = option("--engine", help="Run shards as Ray tasks; needs -o.", commands="run")
    address: str | None = option("--address", metavar="ADDR", help="Ray address [default: local]", commands="run")
    rpm: int | None = option(
        "--rpm", metavar="N", help="Max requests per minute per endpoint and key; 0: no limit.",
        commands=SENDING, least=0,
    )
    tpm: int | None = option(
        "--tpm", metavar="N", help="Max tokens per minute (in + out) per endpoint and key; 0: no limit.",
        commands=SENDING, least=0,
    )
    out: Path | str | None = option(
        "--out", "-o", metavar="DIR", help="Write results, summary, run and report to this folder.", commands=RUNS
    )
    cases: bool = option("--cases", help="With -o: also write one file per record.", commands=RUNS, unless=False)
    zstd: bool = option(
        "--zstd", help="With -o: write results.jsonl.zst, about a tenth as large.", commands=f"{RUNS} merge",
        unless=False,
    )
    report: bool = option(
        "--report/--no-report", help="With -o: also write report.html [default: yes]", commands=f"{RUNS} merge",
        unless=True,
    )
    name: str | None = option(
        "--name", metavar="NAME", commands=f"{RUNS} assign", help="Run name; cannot be a number [default: input name]",
    )
    generator: str | None = option(
        "--generator", metavar="MODEL", help="Model that wrote the responses; you are warned if it is also a judge.",
        commands=RUNS,
    )
    repeat: int | None = option(
        "--repeat", metavar="K", help="Ask every question K times and print the spread.",
        commands=SCORING, least=1, most=MOST_REPEATS,
    )
    only_failed: bool | int | str = option(
        "--only-failed", metavar="[RUN]", bare=True, commands=f"{RUNS} assign", unless=False,
        help="Reuse a run's results and evaluate only what its judge failed to score. To choose the run, use =, "
        "e.g. --only-failed=3 [default: the input's last run]",
        parse=lambda text: text or True,
    )
    refresh: bool = option("--refresh", help="Ask again and replace stored replies.", unless=False)
    no_cache: bool = option(
        "--no-cache", help="Bypass the cache; results are still saved.", commands=READING, unless=False
    )
    offline: bool = option(
        "--offline", help="Send no API calls; use only stored replies. Exits 3 if a reply is missing.",
        commands=SENDING, unless=False,
    )
    store: Path | str | None = option(
        "--store", metavar="PATH", help="Path to the store", commands=f"{EVERY} merge",
        setting="run.store", variable="RAGSTONE_STORE", default=STORE,
        note="File for calls and results. The environment variable RAGSTONE_STORE and the option --store override it.",
    )
    config: Path | str | None = option(
        "--config", metavar="PATH", help="Configuration file [default: ragstone.toml, if it exists]",
        commands=f"{EVERY} validate", variable="RAGSTONE_CONFIG",
    )
    # fmt: on
    progress: bool | None = None
    on_start: Callable[[Progress], None] | None = None
    on_result: Callable[[bytes], None] | None = None

    @classmethod
    def called(cls, *positional: Any, **given: Any) -> Self:
        """Make options from the keywords of ``evaluate``; None means not given. Raise TypeError for an unknown name."""
        known = cls.__struct_fields__
        if unknown := sorted(set(given) - set(known)):
            near = ["judge"] if unknown[0] in ("model", "llm") else difflib.get_close_matches(unknown[0], known, 1)
            meant = f"did you mean {near[0]}=? Options" if near else "options"
            raise TypeError(f"unknown option {', '.join(unknown)}; {meant} are {', '.join(sorted(known))}")
        named = dict(zip(ByPosition.__struct_fields__, positional, strict=False))
        if len(named) < len(positional) or set(named) & set(given):
            raise TypeError("pass source, metrics and judge by position, each once")
        return cls(**{name: value for name, value in {**named, **given}.items() if value is not None})

    def words(self, *, without: Sequence[str] = ()) -> list[str]:
        """Return the given options as command-line words."""
        found = ((one, getattr(self, one.name)) for one in options_of(type(self)) if one.name not in without)
        return [word for one, value in found if value not in (one.unset, None, "") for word in one.words(value)]


@functools.cache
def options_of(cls: type[RunOptions]) -> tuple[Option, ...]:
    """Return the options of a class that users can write, in order."""
    hints = get_type_hints(cls)
    found = []
    for name, default in zip(cls.__struct_fields__, cls.__struct_defaults__, strict=True):
        if isinstance(made := getattr(default, "factory", None), Option):
            kind, many = _kind(hints[name])
            metavar = made.metavar or "|".join(_values(kind)) or None
            found.append(replace(made, name=name, kind=kind, many=many, metavar=metavar, hint=hints[name]))
    return tuple(found)


def option_named(name: str) -> Option:
    """Return the option of ``RunOptions`` with this name."""
    return next(one for one in options_of(RunOptions) if one.name == name)


def _values(kind: Any) -> tuple[str, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value has a type, including the types of its items."""
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin is Any:
        return True
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(part, inner[1]) for part in value.values())
    if origin is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str) and all(_fits(one, inner[0]) for one in value)
    return any(_fits(value, one) for one in inner) if inner else isinstance(value, origin)


def _kind(hint: Any) -> tuple[Any, bool]:
    """Return the type of a value given as text, and whether the option is repeatable."""
    inner = () if get_origin(hint) is Literal else get_args(hint)
    parts = [part for part in inner if part is not NoneType] or [hint]
    if any(isinstance(origin := get_origin(part), type) and issubclass(origin, Sequence | Mapping) for part in parts):
        return str, True
    words = [part for part in parts if get_origin(part) is Literal]
    return next(kind for kind in (*words, str, Path, float, int, bool) if kind in parts), False
