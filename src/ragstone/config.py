"""Resolve ``RunOptions``, the environment and ``ragstone.toml`` into a ``RunSpec``.

Precedence: the caller's options, the environment, the file, the defaults. Invalid settings are rejected here, by name,
before a record is read.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct, field, to_builtins
from msgspec.structs import asdict, replace

from ragstone import metrics
from ragstone.engine.settings import Cache, Limits, Settings
from ragstone.errors import ConfigError
from ragstone.judges import prompting
from ragstone.judges import spec as judge_spec
from ragstone.judges.base import Judge
from ragstone.judges.panel import Aggregate
from ragstone.judges.spec import FLEX_TIMEOUT, NLI, NLI_ANSWERS, UNCOMPUTED, Spec, Tier
from ragstone.metrics.criteria import criteria_of
from ragstone.options import DEADLINE, DEFAULT_JUDGE, FILE, STORE, TRIES, OnError, RunOptions, option_named, options_of
from ragstone.questions import TASKS, Task
from ragstone.records import Cut, Layout, Shard
from ragstone.records.object_stores import is_address
from ragstone.render.text import shorten
from ragstone.types import NOTHING

ENGINE: Final = Settings(tries=TRIES, deadline=DEADLINE, dead_after=5, ahead=1024)
SHOWN: Final = 20
"""Maximum number of characters of a name shown in a message."""
Tables = Mapping[str, Any]
"""The settings of the configuration file, by table."""


class Step(Struct, frozen=True):
    """The judges of one step, by name: a single judge, a panel (with ``aggregate`` and ``weights``) or a cascade."""

    judges: tuple[str, ...]
    aggregate: Aggregate = "mean"
    weights: Mapping[str, float] = NOTHING
    cascade: bool = False

    @classmethod
    def of(cls, names: Sequence[str], where: str, *, cascade: bool = False) -> Step:
        """Make a step with these judges; raise ConfigError if there is none or one is named twice."""
        if not names or not all(names):
            raise ConfigError(f"{where} names no judge" + (" on one side of '>'" if cascade else ""))
        if len(set(names)) < len(names):
            raise ConfigError(f"{where} names the same judge twice")
        return cls(tuple(names), cascade=cascade)

    @classmethod
    def parse(cls, text: str, where: str) -> Step:
        """Parse a name, a panel ``[A,B]`` or a cascade ``A>B``."""
        text = text.strip()
        if ">" in text:
            if any(mark in text for mark in "[],"):
                raise ConfigError(f"{where}: a cascade cannot contain a panel")
            return cls.of([name.strip() for name in text.split(">")], where, cascade=True)
        opens, closes = text.startswith("["), text.endswith("]")
        if (opens and not closes) or (closes and "[" not in text):  # an address may itself end in a bracket
            raise ConfigError(f"{where}: expected a panel in brackets, as in [A,B]")
        if not opens and "," not in text:
            return cls.of([text], where)
        parts = (text[1:-1] if opens else text).split(",")
        return cls.of([name for part in parts if (name := part.strip().strip("\"'"))], where)


class Judging(Struct, frozen=True):
    """The default judges (None: not given), and the judges of single steps."""

    default: Step | None = None
    steps: Mapping[Task, Step] = field(default_factory=dict)

    @classmethod
    def parse(cls, given: Sequence[str], where: str = "") -> Judging:
        """Parse ``NAME`` and ``STEP=NAME``; the name may be a panel or a cascade."""
        default: Step | None = None
        steps: dict[Task, Step] = {}
        for text in given:
            match = re.fullmatch(r"([A-Za-z_]+)\s*=\s*(.+)", text.strip())
            step = Step.parse(match[2] if match else text, f"{where}judge {text!r}")
            if match:
                steps[_task(match[1], where)] = step
            elif default:
                raise _two(default, step, where)
            else:
                default = step
        return cls(default, steps)

    @classmethod
    def given(cls, judge: object) -> Judging:
        """Parse a caller's judges; judge objects that no step names become the default."""
        named = cls.parse([one for one in as_list(judge) if isinstance(one, str)])
        steps = (named.default, *named.steps.values())
        mentioned = {name for step in steps if step for name in step.judges}
        loose = [name for name in objects(judge) if name not in mentioned]
        if loose and named.default:
            raise _two(Step(tuple(loose)), named.default)
        return cls(Step.of(loose, "judge"), named.steps) if loose else named


def _two(first: Step, second: Step, where: str = "") -> ConfigError:
    both = f"[{','.join(dict.fromkeys((*first.judges, *second.judges)))}]"
    return ConfigError(f"{where}two default judges; name one, or use a panel: {both}")


def _task(name: str, where: str) -> Task:
    if name not in TASKS:
        raise ConfigError(f"{where}no step '{name}'; steps are {', '.join(TASKS)}")
    return name


def as_list(value: Any) -> list[Any]:
    """Return one or several values as a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def objects(judge: object) -> dict[str, Judge]:
    """Return the judges that a caller passes as objects, by name."""
    given = [one for one in as_list(judge) if not isinstance(one, str)]
    if unnamed := [one for one in given if not isinstance(getattr(one, "name", None), str)]:
        raise ConfigError(f"judge {unnamed[0]!r}; expected a judge name, or a judge object with a name")
    return {one.name: one for one in given}


class RunSpec(Struct, frozen=True):
    """All settings of a run; none of them changes while it runs.

    ``metrics`` are names, suites or ``auto``, as given. ``parameters`` change a metric for the whole run.
    ``cascade_error`` is the accepted error rate of each judge in a cascade except the last. ``field_files`` names the
    configuration file of each field that is mapped there.
    """

    metrics: tuple[str, ...] = ("auto",)
    parameters: Mapping[str, Mapping[str, Any]] = NOTHING
    judges: Mapping[str, Spec] = NOTHING
    default: Step = Step((DEFAULT_JUDGE,))
    steps: Mapping[Task, Step] = field(default_factory=dict)
    cascade_error: float = option_named("cascade_error").default
    fields: Mapping[str, str | Sequence[str]] = NOTHING
    field_files: Mapping[str, str] = NOTHING
    on_error: OnError = "stop"
    store: Path = Path(STORE)
    nuggets: Path | str | None = None
    topics: Path | str | None = None
    qrels: Path | str | None = None
    cut: Cut = field(default_factory=Cut)
    layout: Layout = field(default_factory=Layout)
    engine: Settings = ENGINE
    workers: int | None = None
    shard: Shard | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON for run.json; it has the names of environment variables, never an API key."""
        layout = self.layout
        return {
            "metrics": list(self.metrics),
            "parameters": {name: dict(values) for name, values in self.parameters.items()},
            "judges": {name: spec_as_json(spec) for name, spec in self.judges.items()},
            "default": _step_as_json(self.default),
            "steps": {task: _step_as_json(step) for task, step in self.steps.items()},
            "fields": dict(self.fields),
            "on_error": self.on_error,
            **({"layout": {"name": layout.name, "path": layout.path}} if layout.name or layout.path else {}),
            "store": str(self.store),
            "nuggets": None if self.nuggets is None else str(self.nuggets),
            **{name: str(path) for name in ("topics", "qrels") if (path := getattr(self, name)) is not None},
            "engine": to_builtins(self.engine),
        }


def file_settings(options: RunOptions) -> tuple[Tables, str]:
    """Read the configuration file; return its settings by table (empty without a file), and its name for messages."""
    named = options.config or os.environ.get(option_named("config").variable)
    if not named and not Path(FILE).exists():
        return {}, FILE
    from ragstone import settings  # noqa: PLC0415 - pydantic is only for a file that is there

    return settings.read(Path(named or FILE), type(options)), str(named or FILE)


def completed(given: RunOptions, file: Tables) -> RunOptions:
    """Fill in options from the environment, the file and the defaults; raise ConfigError for an invalid value."""
    found: dict[str, Any] = {}
    for one in options_of(type(given)):
        value = getattr(given, one.name)
        table, dot, key = one.setting.partition(".")
        there = file.get(table, {}).get(key) if dot else file.get(table)
        one.check(value)
        if isinstance(there, Mapping):
            value = {**there, **(value or {})}
        if value is None and (text := os.environ.get(one.variable)):
            value = one.read(text)
        value = next((it for it in (value, there, one.default) if it is not None), None)
        one.check(value)
        found[one.name] = value
    return replace(given, **found)


def resolve(given: RunOptions) -> RunSpec:
    """Merge the caller's options with the environment, the file and the defaults; raise ConfigError if invalid."""
    file, origin = file_settings(given)
    options = completed(given, file)
    _check_name(options.name or "")
    chosen, parameters = _metrics(options, given, file, origin)
    default, steps = _judging(given, file, origin, parameters)
    steps = _completed(default, steps, _specs(default.judges, options, given, file, origin))
    used = _named(default, steps)
    specs = _specs(used, options, given, file, origin)
    weights = {name: float(weight) for name, weight in file.get("panel", {}).get("weights", {}).items()}
    if strange := weights.keys() - used:
        strange -= set(_named(*_judging(replace(given, judge=None), file, origin, parameters)))
    if strange:
        name = next(name for name in weights if name in strange)
        raise ConfigError(f"{origin}: [panel] weights: '{name}' is not a judge in this run")
    weights = {name: weight for name, weight in weights.items() if name in used}
    own = parameters.get("response_groundedness", {}).get("aggregate")

    def combined(task: str | None, step: Step) -> Step:
        how = own if own and task == "response_support" else options.aggregate
        return replace(step, aggregate=cast("Aggregate", how), weights=weights)

    if is_address(options.store):
        raise ConfigError(f"--store {options.store}: a store is a file on a local disk; -o may be in an object store")
    parts = {"name": "input_format", "path": "records_path"}
    layout_files = {part: origin for part, it in parts.items() if getattr(options, it) and not getattr(given, it)}
    engine = file.get("engine", {})
    patience = max((spec.timeout for spec in specs.values()), default=0.0)
    return RunSpec(
        engine=replace(
            ENGINE,
            tries=engine.get("tries", TRIES),
            deadline=float(engine.get("deadline", max(DEADLINE, patience))),  # at least a judge's own timeout
            cache=_cache(options),
            repeat=options.repeat or 1,
            limits=Limits(
                None if options.max_cost is None else float(options.max_cost), options.max_calls, options.max_tokens
            ),
        ),
        metrics=chosen,
        parameters=parameters,
        judges=specs,
        default=combined(None, default),
        steps={task: combined(task, step) for task, step in steps.items()},
        cascade_error=float(cast("float", options.cascade_error)),
        fields=options.fields or {},
        field_files={name: origin for name in options.fields or () if name not in (given.fields or ())},
        on_error=cast("OnError", options.on_error),
        nuggets=options.nuggets,
        topics=options.topics,
        qrels=options.qrels,
        cut=Cut(options.limit, options.sample, options.seed),
        layout=Layout(options.input_format or "", options.records_path or "", layout_files),
        store=Path(cast("str", options.store)),
        workers=options.workers,
        shard=None if options.shard is None else Shard.parse(options.shard),
    )


def _check_name(name: str) -> None:
    name = name.strip()
    if name == "last":
        raise ConfigError("a run cannot be named 'last', which selects the latest run; choose another name")
    if name.isascii() and name.isdecimal():
        told = shorten(name, SHOWN)
        raise ConfigError(f"a run cannot be named '{told}': numbers select runs; try build-{told}")


# ---- metrics


def _metrics(
    options: RunOptions, given: RunOptions, file: Tables, origin: str
) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Return the chosen names and the parameters by metric; a later source overrides: file, ``on_empty``, caller."""
    chosen = tuple(name for item in as_list(options.metrics) for name in re.split(r"[,;\s]+", item) if name)
    if not chosen:
        raise ConfigError("no metrics named; give names, suites, or 'auto'")
    for name in chosen:
        if name != "auto" and name not in metrics.suites():
            metrics.asked_for(name)
    known = metrics.blocks()
    parameters: dict[str, dict[str, Any]] = {}
    if options.on_empty != "null" or given.on_empty:
        suites = {"auto": tuple(metrics.catalogue()), **metrics.suites()}
        parameters = {
            name: {"on_empty": options.on_empty}
            for item in chosen
            for name in suites.get(item) or (metrics.asked_for(item).name,)
        }
    said = {name: {"on_empty": given.on_empty} for name in parameters} if given.on_empty else {}
    criteria = _criteria(as_list(options.rubric), file.get("rubric", {}), origin)
    own = {"rubric": {"criteria": criteria}} if criteria else {}
    sources = (
        (file.get("metrics", {}), origin),
        (own, origin),
        (said, "on_empty"),
        (given.parameters or {}, "parameters (--set)"),
    )
    for source, where in sources:
        for name, values in source.items():
            if name not in known:
                metrics.find(name)
            parameters.setdefault(known[name], {}).update(values)
            try:
                metrics.find(known[name])().with_parameters(values)
            except ConfigError as error:
                raise ConfigError(f"{where}: {error}") from error
    return chosen, parameters


def _criteria(paths: Sequence[Path | str], of_file: Any, origin: str) -> list[dict[str, Any]]:
    """Return the user's criteria as tables with a name: first from the configuration, then from files."""
    tables = [(of_file, origin)] if of_file else []
    if paths:
        from ragstone import settings  # noqa: PLC0415 - pydantic is only for a file that is there

        tables += [(settings.read_criteria(Path(path)), str(path)) for path in paths]
    found: list[dict[str, Any]] = []
    for given, where in tables:
        criteria_of(given, where)
        pairs = given.items() if isinstance(given, Mapping) else ((one["name"], one) for one in given)
        found += [{**table, "name": name} for name, table in pairs]
    criteria_of(found, " and ".join(where for _, where in tables))
    return found


# ---- judges


def _judging(
    given: RunOptions, file: Tables, origin: str, parameters: Mapping[str, Mapping[str, Any]]
) -> tuple[Step, dict[Task, Step]]:
    """Return the default judges, and the judges of single steps; a caller's default replaces all judges of the file."""
    where = f"{origin}: "
    of_file, said = Judging.parse(as_list(file.get("run", {}).get("judge")), where), Judging.given(given.judge)
    default = said.default or of_file.default or Step((DEFAULT_JUDGE,))
    steps = dict(of_file.steps)
    for name, who in file.get("steps", {}).items():
        at = f"{where}judge of '{name}'"
        steps[_task(name, where)] = Step.parse(who, at) if isinstance(who, str) else Step.of(who, at)
    steps = {**(steps if said.default is None else {}), **said.steps}
    panel = parameters.get("response_groundedness", {})
    by_caller = "judges" in (given.parameters or {}).get("response_groundedness", {})
    if panel.get("judges") and (by_caller or not (said.default or "response_support" in said.steps)):
        steps["response_support"] = Step.of(panel["judges"], "response_groundedness.judges")
    if panel.get("aggregate") and not default.cascade:
        steps.setdefault("response_support", default)
    return default, steps


def _named(default: Step, steps: Mapping[Task, Step]) -> tuple[str, ...]:
    """Return the names of all judges, each once."""
    return tuple(dict.fromkeys(name for step in (default, *steps.values()) for name in step.judges))


def _completed(default: Step, steps: Mapping[Task, Step], specs: Mapping[str, Spec]) -> dict[Task, Step]:
    """Assign the steps that an NLI model cannot answer to the other default judges, else to the built-in default."""
    found = dict(steps)
    for task in TASKS:
        able = [name for name in default.judges if specs[name].provider != NLI or task in (*NLI_ANSWERS, *UNCOMPUTED)]
        if len(able) < len(default.judges) and not (default.cascade and able and able[-1] == default.judges[-1]):
            found.setdefault(task, Step(tuple(able[-1:] if default.cascade else able) or (DEFAULT_JUDGE,)))
    return found


def _specs(used: Sequence[str], options: RunOptions, given: RunOptions, file: Tables, origin: str) -> dict[str, Spec]:
    brought = objects(given.judge)
    limits = {name: most for name in ("concurrency", "rpm", "tpm") if (most := getattr(options, name)) is not None}
    specs: dict[str, Spec] = {}
    for name in used:
        spec = Spec(name, provider=prompting.GIVEN) if name in brought else _spec(name, file.get("judges", {}))
        table = file.get("judges", {}).get(name, {})
        prompts = [(f"{origin}: judges.{name}.prompts", table["prompts"])] if "prompts" in table else []
        # Prompt settings are checked for every judge, even one without prompts.
        prompted = prompting.prompted(spec, given, *prompts, (f"{origin}: prompts", file.get("prompts", {})))
        specs[name] = replace(_tiered(prompted, options) if prompting.is_prompted(spec) else spec, **limits)
    return specs


def _tiered(spec: Spec, options: RunOptions) -> Spec:
    """Set the service tier, with the timeout that it needs, and whether calls are sent in batches."""
    tier: Tier = options.tier or spec.tier
    if options.batch:
        spec = replace(spec, batch=True)
        tier = "flex" if options.finish == "flex" else "standard" if options.finish == "live" else tier
    if tier == "flex" and not spec.preset.flex:
        known = [name for name, preset in judge_spec.providers().items() if preset.flex]
        raise ConfigError(f"judge '{spec.name}': its provider has no flex tier; providers with one: {', '.join(known)}")
    return replace(spec, tier=tier, timeout=max(spec.timeout, FLEX_TIMEOUT) if tier == "flex" else spec.timeout)


def _spec(name: str, tables: Mapping[str, Mapping[str, Any]]) -> Spec:
    table = tables.get(name)
    if table is None:
        if tables and ":" not in name and name not in (DEFAULT_JUDGE, NLI, *judge_spec.providers()):
            near = difflib.get_close_matches(name, tables, 1)
            known = ", ".join(f"[judges.{known}]" for known in tables)
            raise ConfigError(f"no judge '{name}'" + (f"; did you mean '{near[0]}'?" if near else f"; known: {known}"))
        return _priced(judge_spec.parse(name))
    provider, address = table.get("provider", ""), table.get("base_url", "")
    if name in (DEFAULT_JUDGE, NLI) and provider != name:
        raise ConfigError(f"judges.{name}: '{name}' is a built-in judge; give the table another name")
    if provider in (DEFAULT_JUDGE, NLI):
        if other := next((key for key in table if key not in ("provider", "model", "threshold")), ""):
            raise ConfigError(f"judges.{name}.{other} has no effect on the judge {provider}; remove it")
        model = "" if provider == DEFAULT_JUDGE else table["model"]
        return Spec(name, provider=provider, model=model, threshold=table.get("threshold"))
    if "threshold" in table:
        raise ConfigError(f"judges.{name}.threshold: only embedded and nli have probabilities; remove it")
    if provider and provider not in judge_spec.providers():
        raise ConfigError(
            f"judges.{name}: no provider '{provider.partition(':')[0]}'; known: {', '.join(judge_spec.providers())}"
        )
    if not provider and not address:
        raise ConfigError(f"judges.{name}: no address; set base_url or provider")
    if address:
        judge_spec.check_address(address, f"judges.{name}.base_url")
    extra = dict(table.get("extra_body", {}))
    judge_spec.check_extra(extra, f"judges.{name}.extra_body")
    made: dict[str, Any] = judge_spec.usual(provider) | {
        key: float(value) if isinstance(value, float | int) and key in ("timeout", "temperature") else value
        for key, value in table.items()
        if key not in ("prompts", "seed", "extra_body", "price")
    }
    if made.get("temperature") == "default":
        made["temperature"] = None
    price = table.get("price")
    return _priced(
        Spec(
            name,
            **made,
            extra=extra if table.get("seed") is None else {**extra, "seed": table["seed"]},
            price=price and tuple(float(price[part]) for part in ("input", "output", "cached") if part in price),
        )
    )


def _priced(spec: Spec) -> Spec:
    return replace(spec, price=(0.0, 0.0)) if spec.preset.local and spec.price is None else spec


def _cache(options: RunOptions) -> Cache:
    modes: dict[str, Cache] = {"refresh": "refresh", "no_cache": "off", "offline": "offline"}
    said = [name for name in modes if getattr(options, name)]
    if options.batch and said:
        raise ConfigError(f"--batch needs the replies of earlier rounds; remove {option_named(said[0]).flags[0]}")
    if not options.batch and (options.wait or options.finish is not None):
        raise ConfigError(f"{'--wait' if options.wait else '--finish'} is only for batches; add --batch")
    if options.batch and (options.shard is not None or options.engine is not None):
        other = "--engine ray" if options.shard is None else "--shard"
        raise ConfigError(f"--batch cannot be combined with {other}: a batch covers a whole run")
    if options.engine is not None and options.shard is not None:
        raise ConfigError("--engine ray evaluates all shards; remove --shard")
    if options.address is not None and options.engine is None:
        raise ConfigError("--address is for a Ray cluster; add --engine ray")
    if len(said) > 1:
        flags = " and ".join(option_named(name).flags[0] for name in said)
        raise ConfigError(f"{flags} cannot be combined; use one of them")
    return modes[said[0]] if said else "use"


def spec_as_json(spec: Spec) -> dict[str, Any]:
    """Return a judge's settings as plain JSON, as stored with runs and batches."""
    plain = asdict(spec)
    return {**plain, "extra": dict(spec.extra), "choice": spec.choice.as_json()}


def _step_as_json(step: Step) -> dict[str, Any]:
    how = {"cascade": True} if step.cascade else {"aggregate": step.aggregate, "weights": dict(step.weights)}
    return {"judges": list(step.judges), **how}
