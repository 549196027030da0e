"""From ``ragstone.toml``, flags and the environment to a ``RunSpec``. The only home of defaults.

Flags win over the file, the file over the defaults. Two variables are read: RAGSTONE_CONFIG and
RAGSTONE_STORE. Everything that cannot be meant is refused here, by name, before a record is read.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from ragstone import metrics
from ragstone.engine import Cache, Limits, Settings
from ragstone.errors import ConfigError
from ragstone.judges import prompting
from ragstone.judges import spec as judge_spec
from ragstone.judges.panel import AGGREGATES, Aggregate
from ragstone.judges.spec import Spec
from ragstone.metrics.base import EMPTY_VALUE, Metric
from ragstone.questions import TASKS, Task
from ragstone.records import Cut, offered
from ragstone.settings import (
    CASCADE_ERROR,
    DEADLINE,
    DEFAULT_JUDGE,
    TRIES,
    EngineTable,
    FileTable,
    OnError,
    PriceTable,
    RunTable,
    read,
)
from ragstone.store.database import DEFAULT_PATH
from ragstone.types import NOTHING

STORE: Final = Path(DEFAULT_PATH)
MOST_REPEATS: Final = 100
"""The most times that a run asks everything."""
AUTO_CALLS: Final = 2
"""The most LLM calls a record that a metric may take to be chosen by ``auto``."""
WHOLE: Final = Cut()
ENGINE: Final = Settings(tries=TRIES, deadline=DEADLINE, dead_after=5, ahead=1024)


@dataclass(frozen=True, slots=True)
class Step:
    """The judges of one step by name: one, a panel with how its verdicts are put together, or a cascade."""

    judges: tuple[str, ...]
    aggregate: Aggregate = "mean"
    weights: Mapping[str, float] = field(default_factory=lambda: NOTHING, hash=False)
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything a run is made from, and nothing that changes while it runs.

    ``metrics`` are names, suites or ``auto``, as given; ``parameters`` change a metric for the whole run.
    ``cascade_error`` is how often a judge of a cascade, not the last, may err where its word stands.
    """

    metrics: tuple[str, ...] = ("auto",)
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: NOTHING, hash=False)
    judges: Mapping[str, Spec] = field(default_factory=lambda: NOTHING, hash=False)
    default: Step = Step((DEFAULT_JUDGE,))
    steps: Mapping[Task, Step] = field(default_factory=dict, hash=False)
    cascade_error: float = CASCADE_ERROR
    fields: Mapping[str, str] = field(default_factory=lambda: NOTHING, hash=False)
    on_error: OnError = "stop"
    store: Path = STORE
    nuggets: Path | str | None = None
    cut: Cut = WHOLE
    engine: Settings = ENGINE

    def as_json(self) -> dict[str, Any]:
        """For run.json; holds names of variables, never a key."""
        return {
            "metrics": list(self.metrics),
            "parameters": {name: dict(values) for name, values in self.parameters.items()},
            "judges": {name: spec_as_json(spec) for name, spec in self.judges.items()},
            "default": _step_as_json(self.default),
            "steps": {task: _step_as_json(step) for task, step in self.steps.items()},
            "fields": dict(self.fields),
            "on_error": self.on_error,
            "store": str(self.store),
            "nuggets": None if self.nuggets is None else str(self.nuggets),
            "engine": asdict(self.engine),
        }


@dataclass(frozen=True, slots=True)
class Flags:
    """What the command line or a caller says; None is not said."""

    metrics: Sequence[str] | None = None
    judges: Sequence[str] | None = None
    aggregate: str | None = None
    cascade_error: float | None = None
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: NOTHING, hash=False)
    fields: Mapping[str, str] = field(default_factory=lambda: NOTHING, hash=False)
    on_error: str | None = None
    on_empty: str | None = None
    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    store: Path | str | None = None
    config: Path | str | None = None
    nuggets: Path | str | None = None
    prompts: Sequence[str] | None = None
    format: str | None = None
    structured: str | None = None
    refresh: bool = False
    no_cache: bool = False
    offline: bool = False
    repeat: int | None = None
    max_cost: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int | None = None
    given: frozenset[str] = frozenset()
    """Names of judges that the caller brings as objects."""


def resolve(flags: Flags) -> RunSpec:
    """Merge the file, the flags and the environment; ConfigError says where and what."""
    file, origin = read(flags.config)
    judges = [*_listed(file.run.judge), *(f"{step}={_joined(who)}" for step, who in file.steps.items())]
    default, steps = _routing(judges, f"{origin}: ")
    more: dict[Task, Step] = {}
    if flags.judges:
        first, more = _routing(flags.judges, "")
        default, steps = first or default, {**steps, **more}
    default = default or Step((DEFAULT_JUDGE,))
    aggregate = flags.aggregate or file.panel.aggregate
    if aggregate not in AGGREGATES:
        raise ConfigError(f"panel aggregate '{aggregate}'; expected {', '.join(AGGREGATES)}")
    chosen, parameters = _metrics(file, flags, origin)
    panel = parameters.get("response_groundedness", {})
    by_flag = "judges" in flags.parameters.get("response_groundedness", {})
    if panel.get("judges") and (by_flag or "response_support" not in more):
        steps["response_support"] = Step(_distinct(tuple(panel["judges"]), "response_groundedness.judges"))
    if panel.get("aggregate") and not default.cascade:
        steps.setdefault("response_support", default)
    weights = {name: float(weight) for name, weight in file.panel.weights.items()}
    own = panel.get("aggregate")

    def put_together(task: str | None, step: Step) -> Step:
        how = own if own and task == "response_support" else aggregate
        return replace(step, aggregate=cast("Aggregate", how), weights=weights)

    used = dict.fromkeys(name for step in (default, *steps.values()) for name in step.judges)
    for name in weights:
        if name not in used:
            raise ConfigError(f"{origin}: [panel] weights names '{name}', which judges no step of this run")
    specs = {name: Spec(name, provider=prompting.GIVEN) if name in flags.given else _spec(name, file) for name in used}
    for name, spec in specs.items():
        prompted = prompting.prompted(spec, flags, *_prompt_tables(file, name, origin))  # checked for all of them
        specs[name] = prompted if prompting.is_prompted(spec) else spec
    if flags.concurrency is not None:
        if flags.concurrency < 1:
            raise ConfigError(f"concurrency {flags.concurrency}; expected a whole number from 1")
        specs = {name: replace(spec, concurrency=flags.concurrency) for name, spec in specs.items()}
    for limit in ("rpm", "tpm"):
        most = getattr(flags, limit)
        if most is not None:
            if most < 0:
                raise ConfigError(f"{limit} {most}; expected a whole number from 1, or 0 for no limit")
            specs = {name: replace(spec, **{limit: most}) for name, spec in specs.items()}
    patience = max((spec.timeout for spec in specs.values()), default=0.0)
    return RunSpec(
        engine=replace(
            ENGINE,
            tries=file.engine.tries,
            deadline=_deadline(file.engine, patience),
            cache=_cache(flags),
            repeat=_times(flags.repeat),
            limits=_limits(file.run, flags),
        ),
        metrics=chosen,
        parameters=parameters,
        judges=specs,
        default=put_together(None, default),
        steps={task: put_together(task, step) for task, step in steps.items()},
        cascade_error=_error(file.cascade.error if flags.cascade_error is None else flags.cascade_error),
        fields={**file.fields, **flags.fields},
        on_error=_one_of("on_error", flags.on_error or file.run.on_error),
        nuggets=flags.nuggets or file.run.nuggets,
        cut=Cut(flags.limit, flags.sample, flags.seed),
        store=Path(flags.store or os.environ.get("RAGSTONE_STORE") or file.run.store or STORE),
    )


def choose(
    spec: RunSpec,
    present: Mapping[str, int],
    *,
    unable: Callable[[type[Metric]], str] = lambda _metric: "",
    columns: Sequence[str] = (),
    loose: bool = False,
) -> tuple[tuple[Metric, ...], dict[str, str]]:
    """The metrics of a run, and those that ``auto`` left out with the reason.

    ``present`` says on how many records each field is there; ``unable`` why a metric's judges cannot answer it;
    ``columns`` what a message can offer for a field that is not there.
    What ``auto`` takes does not depend on what a judge costs, so that two judges are compared on the same metrics.
    A metric that was asked for by name and whose fields no record has is a ConfigError, unless they are ``loose``:
    dicts of a program, where nothing is to be mapped and each record's own status says what it lacks.
    """
    suites = metrics.suites()
    wanted: dict[str, bool] = {}
    left_out: dict[str, str] = {}
    for name in spec.metrics:
        if name == "auto":
            for metric in metrics.catalogue().values():
                reason = unsuitable(metric, present) or unable(metric)
                if reason:
                    left_out[metric.name] = reason
                else:
                    wanted.setdefault(metric.name, False)
        elif name in suites and name not in metrics.catalogue():
            wanted.update((member, False) for member in suites[name] if member not in wanted)
        else:
            wanted[metrics.find(name).name] = True
    chosen: list[Metric] = []
    for name, by_name in wanted.items():
        metric = metrics.find(name)
        absent = [needed for needed in metric.needs if not present.get(needed)]
        if absent and by_name and not loose:
            unnamed = [field for field in absent if field not in columns]
            hint = f"; name the column with --field {unnamed[0]}=COLUMN{offered(columns)}" if unnamed else ""
            raise ConfigError(f"{name} needs {' and '.join(metric.needs)}; {unfound(absent, columns)}{hint}")
        if not by_name and (lacks := metric.lacks(present)):
            left_out[name] = lacks
        else:
            careful = {} if by_name and spec.nuggets is None else metric.in_suites
            made = metric().with_parameters({**careful, **spec.parameters.get(name, {})})
            lacking = [wanted for wanted in metric.wants if not present.get(wanted)]
            if lacking and metric.in_suites.items() <= made.parameters().items():
                raise ConfigError(
                    f"{name} needs {' and '.join(lacking)}; no record has any; name a file with --nuggets"
                )
            chosen.append(made)
    for name, parameters in spec.parameters.items():
        if parameters and name not in wanted and name not in left_out:
            left_out[name] = "has parameters, and is not among the metrics of this run"
    return tuple(chosen), {name: why for name, why in left_out.items() if name not in {m.name for m in chosen}}


def unfound(fields: Sequence[str], columns: Sequence[str]) -> str:
    """That no record has these fields; of those that are columns of the input, that they are blank in all of it."""
    blank = [field for field in fields if field in columns]
    absent = [field for field in fields if field not in columns]
    said = [f"{' and '.join(blank)} {'holds' if len(blank) == 1 else 'hold'} nothing in any record"] if blank else []
    return ", and ".join([*said, *([f"no record has {' or '.join(absent)}"] if absent else [])])


def spec_as_json(spec: Spec) -> dict[str, Any]:
    """A judge's spec as plain JSON."""
    plain = {name: getattr(spec, name) for name in Spec.__dataclass_fields__}
    return {**plain, "extra": dict(spec.extra), "choice": spec.choice.as_json()}


def assignments(pairs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """``metric.parameter=value`` pairs as parameters; values are read as TOML, else taken as text."""
    found: dict[str, dict[str, Any]] = {}
    for pair in pairs:
        left, equals, text = pair.partition("=")
        metric, dot, parameter = left.strip().partition(".")
        if not (equals and dot and metric and parameter):
            raise ConfigError(f"--set {pair!r}; expected METRIC.PARAMETER=VALUE, as in grounding.threshold=0.7")
        try:
            value = text if "\n" in text else tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        found.setdefault(metric, {})[parameter] = value
    return found


# ---- metrics


def _metrics(file: FileTable, flags: Flags, origin: str) -> tuple[tuple[str, ...], dict[str, dict[str, Any]]]:
    given = flags.metrics if flags.metrics is not None else _listed(file.run.metrics)
    chosen = tuple(name for item in given for name in re.split(r"[,;\s]+", item) if name)
    if not chosen:
        raise ConfigError("no metrics named; give names, suites, or 'auto'")
    known = metrics.blocks()
    for name in chosen:
        if name != "auto" and name not in metrics.suites():
            metrics.find(name)
    on_empty = flags.on_empty or file.run.on_empty
    if on_empty not in EMPTY_VALUE:
        raise ConfigError(f"on_empty '{on_empty}'; expected {', '.join(EMPTY_VALUE)}")
    parameters: dict[str, dict[str, Any]] = {}
    if on_empty != "null" or flags.on_empty:
        suites = {"auto": tuple(metrics.catalogue()), **metrics.suites()}
        parameters = {name: {"on_empty": on_empty} for item in chosen for name in suites.get(item, (item,))}
    said = {name: {"on_empty": flags.on_empty} for name in parameters} if flags.on_empty else {}
    for source, where in ((file.metrics, origin), (said, "on_empty"), (flags.parameters, "parameters (--set)")):
        for name, values in source.items():
            if name not in known:
                metrics.find(name)
            target = parameters.setdefault(known[name], {})
            target.update(values)
            try:
                metrics.find(known[name])().with_parameters(values)
            except ConfigError as error:
                raise ConfigError(f"{where}: {error}") from error
    return chosen, parameters


def unsuitable(metric: type[Metric], present: Mapping[str, int]) -> str:
    """Why ``auto`` leaves a metric out, by the number of records that have each field; empty where it takes it."""
    if lacks := metric.lacks(present):
        return lacks
    if not metric.in_auto:
        return f"labels every sentence; add -m {metric.name}"
    if metric.calls > AUTO_CALLS:
        return f"about {metric.calls} calls per record; add -m {metric.name}"
    return ""


# ---- judges


def _routing(given: Sequence[str], where: str) -> tuple[Step | None, dict[Task, Step]]:
    """The judges of all steps that are not named (None: nobody said), and those of the named ones."""
    default: Step | None = None
    steps: dict[Task, Step] = {}
    for text in given:
        match = re.fullmatch(r"([A-Za-z_]+)\s*=\s*(.+)", text.strip())
        step = _step(match[2] if match else text, f"{where}judge {text!r}")
        if match is None and default:
            both = f"[{','.join(dict.fromkeys((*default.judges, *step.judges)))}]"
            raise ConfigError(f"{where}two judges for everything; name one, or a panel of them as {both}")
        if match is None:
            default = step
        elif match[1] in TASKS:
            steps[cast("Task", match[1])] = step
        else:
            raise ConfigError(f"{where}no step '{match[1]}'; steps are {', '.join(TASKS)}")
    return default, steps


def _step(text: str, where: str) -> Step:
    """Who judges a step: ``NAME``, a panel ``[A,B]``, or a cascade ``A>B``."""
    cascade = ">" in text
    if cascade and any(mark in text for mark in "[],"):
        raise ConfigError(f"{where}: a cascade goes from one judge to the next, and a panel is no part of it")
    opens, closes = text.strip().startswith("["), text.strip().endswith("]")
    if (opens and not closes) or (closes and "[" not in text):  # an address may end in a bracket of its own
        raise ConfigError(f"{where}: a panel begins with [ and ends with ], as in [A,B]")
    names = tuple(name.strip() for name in text.split(">")) if cascade else _panel(text)
    if not all(names) or not names:
        raise ConfigError(f"{where} names no judge" + (" on one side of '>'" if cascade else ""))
    return Step(_distinct(names, where), cascade=cascade)


def _distinct(names: tuple[str, ...], where: str) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ConfigError(f"{where} names the same judge twice")
    return names


def _panel(text: str) -> tuple[str, ...]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    elif "," not in text:
        return (text,) if text else ()
    return tuple(name for part in text.split(",") if (name := part.strip().strip("\"'")))


def _spec(name: str, file: FileTable) -> Spec:
    table = file.judges.get(name)
    if table is None:
        if file.judges and ":" not in name and name not in (DEFAULT_JUDGE, *judge_spec.providers()):
            near = difflib.get_close_matches(name, file.judges, 1)
            known = ", ".join(f"[judges.{known}]" for known in file.judges)
            raise ConfigError(
                f"no judge '{name}'" + (f"; did you mean '{near[0]}'?" if near else f"; there are {known}")
            )
        return _priced(judge_spec.parse(name))
    if table.provider and table.provider not in judge_spec.providers():
        raise ConfigError(
            f"judges.{name}.provider '{table.provider.partition(':')[0]}'; known: {', '.join(judge_spec.providers())}"
        )
    if not table.provider and not table.base_url:
        raise ConfigError(f"judges.{name}: say where it is, with base_url or provider")
    if table.base_url:
        judge_spec.check_address(table.base_url, f"judges.{name}.base_url")
    extra = dict(table.extra_body)
    judge_spec.check_extra(extra, f"judges.{name}.extra_body")
    if table.seed is not None:
        extra["seed"] = table.seed
    return _priced(
        Spec(
            name=name,
            provider=table.provider,
            model=table.model,
            base_url=table.base_url,
            api_key_env=table.api_key_env,
            concurrency=table.concurrency,
            rpm=table.rpm,
            tpm=table.tpm,
            timeout=float(table.timeout),
            temperature=None if isinstance(table.temperature, str) else float(table.temperature),
            max_tokens=table.max_tokens,
            context=table.context,
            extra=extra,
            price=_price(table.price),
        )
    )


def _prompt_tables(file: FileTable, name: str, origin: str) -> list[tuple[str, Mapping[str, Any]]]:
    """What the file says of a judge's prompts: its own table, then that of all judges."""
    tables = [(f"{origin}: prompts", file.prompts)]
    if name in file.judges:
        tables.insert(0, (f"{origin}: judges.{name}.prompts", file.judges[name].prompts))
    return [(where, table.model_dump(exclude_none=True)) for where, table in tables]


def _price(price: PriceTable | None) -> tuple[float, ...] | None:
    if price is None:
        return None
    cached = () if price.cached is None else (float(price.cached),)
    return (float(price.input), float(price.output), *cached)


def _priced(spec: Spec) -> Spec:
    """What runs on the user's own machine costs nothing."""
    return replace(spec, price=(0.0, 0.0)) if spec.preset.local and spec.price is None else spec


# ---- small things


def _limits(run: RunTable, flags: Flags) -> Limits:
    """The budget; a flag wins over the file, limit by limit."""
    cost = run.max_cost if flags.max_cost is None else flags.max_cost
    calls = run.max_calls if flags.max_calls is None else flags.max_calls
    tokens = run.max_tokens if flags.max_tokens is None else flags.max_tokens
    given: dict[str, object] = {"max_cost": cost, "max_calls": calls, "max_tokens": tokens}
    for name, value in given.items():  # from Python they may be anything
        if value is None:
            continue
        if not isinstance(value, int | float) or not (math.isfinite(value) and value >= 0):
            raise ConfigError(f"{name} {value!r}; expected a number from 0")
    return Limits(None if cost is None else float(cost), calls, tokens)


def _deadline(engine: EngineTable, patience: float) -> float:
    """Unless the file says it: no less than a judge's own timeout (``patience``)."""
    return float(engine.deadline) if "deadline" in engine.model_fields_set else max(DEADLINE, patience)


def _error(rate: object) -> float:
    if not isinstance(rate, int | float) or not 0 < rate < 0.5:
        raise ConfigError(f"cascade error {rate!r}; expected a number above 0 and below 0.5, as in 0.05")
    return float(rate)


def _listed(value: list[str] | str) -> list[str]:
    return [value] if isinstance(value, str) else value


def _joined(value: list[str] | str) -> str:
    return value if isinstance(value, str) else f"[{','.join(value)}]"


def _one_of(name: str, value: str) -> OnError:
    if value not in ("stop", "skip"):
        raise ConfigError(f"{name} '{value}'; expected stop or skip")
    return cast("OnError", value)


def _cache(flags: Flags) -> Cache:
    said: dict[str, Cache] = {}
    if flags.refresh:
        said["--refresh"] = "refresh"
    if flags.no_cache:
        said["--no-cache"] = "off"
    if flags.offline:
        said["--offline"] = "offline"
    if len(said) > 1:
        raise ConfigError(f"{' and '.join(said)} contradict each other; give one of them")
    return next(iter(said.values()), "use")


def _times(repeat: int | None) -> int:
    if repeat is not None and not 1 <= repeat <= MOST_REPEATS:
        raise ConfigError(f"repeat {repeat}; expected a whole number from 1 to {MOST_REPEATS}")
    return repeat or 1


def _step_as_json(step: Step) -> dict[str, Any]:
    how = {"cascade": True} if step.cascade else {"aggregate": step.aggregate, "weights": dict(step.weights)}
    return {"judges": list(step.judges), **how}
