"""Tune: judge human-labelled units with combinations of judges, styles and formats, and compare the verdicts.

A combination is an ordinary run over the labelled records, with the labelled claims or nuggets as its units. Its calls
are therefore estimated, stored, resumed and limited by the budget as in any run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import astuple, replace

from ragstone.analysis.gold_join import join
from ragstone.analysis.run import TUNED, Run
from ragstone.analysis.tuning import (
    AskedCombination,
    Combination,
    FittedThreshold,
    TunedUnit,
    Tuning,
    check_labels,
    check_texts,
    fitted,
    measuring,
    metric_of,
    ranked,
    usable_labels,
)
from ragstone.api.estimating import forecast
from ragstone.api.plan import check_overrides, open_source
from ragstone.api.running import run
from ragstone.config import Judging, Step, as_list, file_settings, objects, resolve
from ragstone.engine.settings import Amount
from ragstone.engine.tally import Tally
from ragstone.errors import BudgetReached, ConfigError, InputError, TemplateError
from ragstone.forecast.figures import Sum
from ragstone.forecast.summary import Estimate
from ragstone.judges.base import Cuts, Judge, Thresholded
from ragstone.judges.catalogue import build
from ragstone.judges.prompting import is_prompted
from ragstone.judges.spec import Spec
from ragstone.labels import LabelRow, text_hash
from ragstone.metrics.base import Metric
from ragstone.options import DEFAULT_JUDGE, Progress, RunOptions
from ragstone.output.settings_file import add_settings
from ragstone.prompts.choice import check_named, parse_styles
from ragstone.questions import Task
from ragstone.types import Record

Settings = dict[tuple[str, ...], dict[str, Any]]
"""Settings, by the path of their table in ragstone.toml."""
WRITTEN: Final[tuple[Task, ...]] = ("claims", "nuggetize")
"""Steps that write the units. The labels answer them, so that the judge sees the units that people labelled."""


class Tuner(Struct):
    """The combinations of one tuning and their answers.

    ``records`` are the records with a usable label, ``rows`` these labels. ``left_out`` has the combinations that
    cannot be tried, with the reason. ``options`` apply to the run of every combination. ``notes`` name unused labels
    and records. ``charged`` is what the finished combinations have used, or may have used, of the budget.
    """

    labels: str
    name: str
    metric: type[Metric]
    rows: Sequence[LabelRow]
    records: Sequence[Record]
    options: RunOptions
    combinations: Sequence[Combination]
    left_out: Mapping[str, str]
    brought: Mapping[str, Judge]
    others: Mapping[Task, str]
    threshold: bool
    seed: int
    notes: list[str]
    estimates: list[Estimate] = field(default_factory=list)
    bills: list[Mapping[str, Any]] = field(default_factory=list)
    charged: Amount = field(default_factory=Amount)
    _answers: list[_Answers] = field(default_factory=list)

    @property
    def step(self) -> Task:
        """The step whose judge is tuned."""
        return self.metric.asks[-1]

    def options_of(self, combination: Combination) -> RunOptions:
        """Return the options of a combination's run, with the rest of the budget."""
        steps: dict[Task, str] = {
            task: f"human:{self.labels}" if task in WRITTEN else DEFAULT_JUDGE for task in self.metric.asks[:-1]
        }
        named = [f"{task}={name}" for task, name in {**steps, **self.others, self.step: combination.judge}.items()]
        given = [judge for name, judge in self.brought.items() if name == combination.judge]
        return replace(
            self.options,
            judge=[*named, *given],
            prompts=[f"{self.step}={combination.style}"] if combination.style else None,
            format=combination.format or None,
            name=f"{TUNED}{combination}",
            **self._left(),
        )

    def _left(self) -> dict[str, Any]:
        limits = resolve(self.options).engine.limits
        names = ("max_cost", "max_calls", "max_tokens")
        every = zip(names, astuple(limits), self.charged, strict=True)
        left = {name: None if most is None else max(0, type(most)(most - spent)) for name, most, spent in every}
        return left if self.bills else {}

    def forecast(self) -> dict[str, Any] | None:
        """Return the total calls, tokens and dollars of all combinations; None offline, where nothing is sent."""
        if resolve(self.options).engine.cache == "offline":
            return None
        self.estimates = [forecast(self.records, self.options_of(one)) for one in self.combinations]
        return _estimated([estimate.total for estimate in self.estimates])

    def check(self) -> None:
        """Raise InputError if no label matches a unit. No judge is called if labels answer the other steps."""
        people = Combination(f"human:{self.labels}")
        with suppress(ConfigError):  # the file may not answer the step itself
            finished = run(list(self.records), replace(self.options_of(people), store=":memory:"))
            with closing(finished.store):
                self._matched([_answers(finished, people, self.rows, self.metric)])

    def ask(self, combination: Combination, on_start: Callable[[Progress], None] | None = None) -> None:
        """Run one combination and keep its verdicts on the labelled units."""
        tallies: list[Tally] = []

        def started(progress: Progress) -> None:
            tallies.append(progress.tally)
            if on_start is not None:
                on_start(progress)

        try:
            finished = run(list(self.records), replace(self.options_of(combination), on_start=started))
        except BudgetReached as error:
            left = f" (the budget left after {len(self.bills)} of {len(self.combinations)} combinations)"
            raise BudgetReached(f"{error}{left if self.bills else ''}", hint=error.hint, run=error.run) from error
        with closing(finished.store):
            self.bills.append(finished.summary()["bill"])
            self.charged = sum((tally.charged for tally in tallies), self.charged)
            self._answers.append(_answers(finished, combination, self.rows, self.metric))

    def result(self) -> Tuning:
        """Compare all combinations that were run; raise InputError if there is too little to compare."""
        first = self._answers[0]
        shared = self._matched(self._answers)
        notes = [*self.notes, *([f"unused labels: {first.refused}"] if first.refused else [])]
        asked = [
            AskedCombination(
                one.combination, one.run, [one.units[key] for key in sorted(shared)], one.judged, one.dollars
            )
            for one in self._answers
        ]
        tried, halves = ranked(asked, len(first.labels), self.seed)
        fits = self.threshold and len(first.labels) == 2
        if self.threshold and not fits:
            notes.append(f"no threshold: the scale has more than two labels ({', '.join(first.labels)})")
        return Tuning(
            metric=self.metric.name, step=self.step, labels=first.labels, units=len(shared),
            records=len({record for record, _ in shared}), halves=halves, seed=self.seed, tried=tried,
            thresholds=tuple(self._fits(asked)) if fits else (), left_out=self.left_out,
            notes=tuple(notes), estimate=_estimated([one.total for one in self.estimates]) if self.estimates else None,
            bill=_bill(self.bills),
        )  # fmt: skip

    def _matched(self, answers: Sequence[_Answers]) -> set[tuple[str, str]]:
        """Return the labelled units of all answers, by record and id; raise InputError if there are none."""
        if shared := set.intersection(*(set(one.units) for one in answers)):
            return shared
        why = answers[0].refused or "no unit was judged"
        raise InputError(f"{self.labels}: no label matches a unit of {self.name}: {why}")

    def _fits(self, asked: Sequence[AskedCombination]) -> list[FittedThreshold]:
        return [
            fitted(one.combination.judge, one.units, cuts, self.seed)
            for one in asked
            if (cuts := self.cuts(one.combination.judge)) is not None
        ]

    def cuts(self, name: str) -> Cuts | None:
        """Return the thresholds of a judge, or None if it gives no probabilities."""
        spec = self.specs(Combination(name)).get(name)  # None for a panel
        given = self.brought.get(name)
        judge: object = build(spec) if given is None and spec is not None and not is_prompted(spec) else given
        return judge.cuts(self.step) if isinstance(judge, Thresholded) else None

    def specs(self, combination: Combination) -> Mapping[str, Spec]:
        """Return the settings of a combination's judges, by name."""
        spec = resolve(self.options_of(combination))
        return {name: spec.judges[name] for name in spec.steps[self.step].judges}

    def settings(self, found: Tuning) -> Settings:
        """Return the winner as settings for ragstone.toml: a table for its judge, and the step that uses it."""
        winner = found.winner.combination
        fit = found.threshold_of(winner.judge)
        if winner.judge in self.brought:
            raise ConfigError(f"'{winner.judge}' is an object of this program; a settings file cannot name it")
        chosen = {self.step: winner.style, "format": winner.format}
        prompts = {name: value for name, value in chosen.items() if value}
        names = self.specs(winner)
        if len(names) > 1 or not (prompts or fit):
            parsed = Step.parse(winner.judge, "judge")
            named = winner.judge if parsed.cascade or len(names) == 1 else list(parsed.judges)
            found_settings: Settings = {("steps",): {self.step: named}, ("prompts",): prompts}
            if parsed.cascade:
                found_settings["cascade",] = {"error": self.options.cascade_error}
            elif len(names) > 1:
                found_settings["panel",] = {"aggregate": self.options.aggregate}
            return {
                place: given for place, table in found_settings.items()
                if (given := {key: value for key, value in table.items() if value is not None})
            }  # fmt: skip
        name, spec = winner.judge, names[winner.judge]
        table: dict[str, Any] = {}
        if name not in file_settings(self.options)[0].get("judges", {}):
            name = f"tuned_{self.step}"
            table = {"provider": spec.provider, "model": spec.model, "base_url": spec.base_url}
        if fit is not None:
            table["threshold"] = fit.after
        tables: Settings = {("judges", name): {key: value for key, value in table.items() if value}}
        if prompts:
            tables["judges", name, "prompts"] = prompts
        return {**tables, ("steps",): {self.step: name}}

    def write(self, found: Tuning) -> tuple[Path, str]:
        """Write the winner to the configuration file; return the file and the added lines.

        Raises ConfigError if the file already sets one of these settings to another value.
        """
        path = Path(file_settings(self.options)[1])
        return path, add_settings(path, self.settings(found))


class _Answers(Struct, frozen=True):
    """The answers of a combination's run: the labelled units by record and id, and the labels that did not match."""

    combination: Combination
    run: int
    labels: tuple[str, ...]
    units: Mapping[tuple[str, str], TunedUnit]
    refused: str
    judged: int
    dollars: float | None


def tune(
    labels: Path | str,
    source: Any,
    judge: Sequence[str | Judge] | str | Judge = (),
    *,
    styles: Sequence[str] = (),
    formats: Sequence[str] = (),
    prompts: Sequence[str] = (),
    metric: str | None = None,
    threshold: bool = False,
    write: bool = False,
    seed: int = 0,
    nuggets: Path | str | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    fields: Mapping[str, str | Sequence[str]] | None = None,
    structured: Literal["auto", "schema", "off"] | None = None,
    concurrency: int | None = None,
    rpm: int | None = None,
    tpm: int | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    offline: bool = False,
    store: Path | str | None = None,
    config: Path | str | None = None,
) -> Tuning:
    """Try every combination of judges, styles and formats on labelled units, and rank them by agreement.

    The best is chosen on one half of the records, drawn with ``seed``, and its kappa is measured on the other half::

        found = ragstone.tune("labels.jsonl", "traces.jsonl", ["openai:gpt-4o", "ollama:qwen3"], styles=["short_cot"])
        found.winner.combination, found.winner.kappa

    Args:
        labels: A file of label rows, as ``ragstone label`` exports it.
        source: The records that were labelled, as for ``evaluate``. Records without labels are skipped.
        judge: The judges to compare, and ``STEP=NAME`` for steps that the labels do not cover.
        styles: Prompt styles to compare. Default: each judge's own.
        formats: Label formats to compare. Default: each prompt's own.
        prompts: Further prompts to compare, as ``STEP=FILE`` or ``STEP=STYLE``.
        metric: The metric to compare, if the file has labels for several.
        threshold: Also fit the threshold of judges with probabilities.
        write: Write the winner to the configuration file.
        seed: The random seed for the halves and folds.
        nuggets: A nugget bank that replaces the records' own nuggets.
        parameters: Parameters of the metric.
        fields: Maps a canonical field to a path.
        structured: Whether a JSON schema is sent.
        concurrency: Maximum concurrent calls per endpoint and key.
        rpm: Maximum requests per minute.
        tpm: Maximum tokens per minute.
        max_cost: Maximum total cost of all combinations, in dollars.
        max_calls: Maximum calls in total.
        max_tokens: Maximum tokens in total.
        offline: Use stored replies only.
        store: The store of calls and runs.
        config: The configuration file.

    Returns:
        The combinations, best first, with intervals, cost and the share of units whose verdicts were parsed.

    Raises:
        InputError: No label matches a record, or there are too few labels.
        ConfigError: A judge, style or format is unknown, or no combination can be tried.
        BudgetReached: The budget is spent; calling again resumes.
    """
    options = RunOptions(
        prompts=list(prompts), nuggets=nuggets, parameters=parameters, fields=fields, structured=structured,
        concurrency=concurrency, rpm=rpm, tpm=tpm, max_cost=max_cost, max_calls=max_calls, max_tokens=max_tokens,
        offline=offline, store=store, config=config,
    )  # fmt: skip
    made = tuner(
        labels, source, as_list(judge), styles=styles, formats=formats, metric=metric, threshold=threshold, seed=seed,
        options=options,
    )  # fmt: skip
    made.forecast()
    for combination in made.combinations:
        made.ask(combination)
    found = made.result()
    if write and found.winner.read:
        made.write(found)
    return found


def tuner(
    labels: Path | str,
    source: Any,
    judges: Sequence[str | Judge] = (),
    *,
    styles: Sequence[str] = (),
    formats: Sequence[str] = (),
    metric: str | None = None,
    threshold: bool = False,
    seed: int = 0,
    options: RunOptions | None = None,
) -> Tuner:
    """Prepare a tuning: read labels and records, and check every combination. No judge is called.

    ``options.prompts`` are further prompts to compare: ``STEP=FILE`` or ``STEP=STYLE`` for the tuned step. Raises
    InputError for problems that the caller can fix.
    """
    options = options or RunOptions()
    rows, notes = usable_labels(labels)
    chosen = metric_of(rows, metric, str(labels))
    step = chosen.asks[-1]  # what the labels are about
    rows = [row for row in rows if chosen in measuring(row)]
    prompts = [*styles, *(_prompt(text, step) for text in as_list(options.prompts))]
    for prompt in prompts:
        check_named(step, prompt)
    candidates, others, brought = _candidates(judges, step, options)
    check_texts(rows, str(labels), others)
    wanted, records, skipped = {row.record for row in rows}, list[Record](), 0
    with open_source(source, resolve(replace(options, judge=None)), check_overrides) as every:
        name = every.name
        for record in every:
            if isinstance(record, Record) and record.id in wanted:
                records.append(record)
            else:
                skipped += 1
    if not records:
        raise InputError(
            f"{name} contains none of the labelled records; the labels are for records like '{rows[0].record}'"
        )
    responses = {record.id: ("", text_hash(record.response or "")) for record in records}
    if not any(row.response in responses.get(row.record, ()) for row in rows):
        raise InputError(f"{labels}: all labels are for different responses than those in {name}")
    if skipped:
        notes.append(f"{skipped:,} record{'' if skipped == 1 else 's'} in {name} skipped: no label")
    parameters = {**(options.parameters or {})}
    parameters[chosen.name] = {**chosen.always_asking, **parameters.get(chosen.name, {})}
    made = Tuner(
        str(labels), name, chosen, rows, records,
        replace(
            options, metrics=[chosen.name], parameters=parameters, fields=None, estimate=False, judge=None, prompts=None
        ),
        (), {}, brought, others, threshold, seed, notes,
    )  # fmt: skip
    made.combinations, made.left_out = _combinations(made, candidates, prompts, formats)
    if not made.combinations:
        raise ConfigError(f"no combination can be tried: {'; '.join(dict.fromkeys(made.left_out.values()))}")
    check_labels(rows, str(labels), threshold=threshold, several=len(made.combinations) > 1)
    if threshold and not any(made.cuts(one.judge) for one in made.combinations):
        raise ConfigError("--threshold: none of these judges gives probabilities; add --judge embedded or nli")
    if not others:  # else a judge writes the units
        made.check()
    return made


def _candidates(
    judges: Sequence[str | Judge], task: Task, options: RunOptions
) -> tuple[list[str], dict[Task, str], dict[str, Judge]]:
    """Return the judges to compare, those of other steps, and those passed as objects, by name."""
    brought = objects(judges)
    names = list(brought)
    others: dict[Task, str] = {}
    for text in (one for one in judges if isinstance(one, str)):
        parsed = Judging.parse([text])
        if parsed.default is not None or task in parsed.steps:
            names.append(text.partition("=")[2].strip() if parsed.default is None else text.strip())
        else:
            others.update({step: text.partition("=")[2].strip() for step in parsed.steps})
    if not names:
        spec = resolve(replace(options, judge=None))
        names = [_written(spec.steps.get(task, spec.default))]
    return list(dict.fromkeys(names)), others, brought


def _written(step: Step) -> str:
    """Return a step's judges as they are written in options."""
    if step.cascade:
        return ">".join(step.judges)
    return step.judges[0] if len(step.judges) == 1 else f"[{','.join(step.judges)}]"


def _prompt(text: str, task: Task) -> str:
    """Return the style or file of ``STYLE``, ``STEP=STYLE`` or ``STEP=FILE``; raise ConfigError for another step."""
    style, named = parse_styles([text])
    if other := next((step for step in named if step != task), ""):
        raise ConfigError(f"--prompt {text}: the labels are for the step '{task}', so '{other}' cannot be tuned")
    return style or named[task]


def _combinations(
    made: Tuner, judges: Sequence[str], styles: Sequence[str], formats: Sequence[str]
) -> tuple[list[Combination], dict[str, str]]:
    """Return the combinations to try, and those that cannot be tried; a judge without prompts has only one."""
    found: list[Combination] = []
    left_out: dict[str, str] = {}
    for judge in judges:
        prompted = judge not in made.brought and any(map(is_prompted, made.specs(Combination(judge)).values()))
        for style in (styles if prompted else ()) or ("",):
            for form in (formats if prompted else ()) or ("",):
                combination = Combination(judge, style, form)
                specs = made.specs(combination).values()
                try:
                    for spec in filter(is_prompted, specs):
                        spec.choice.template(made.step)
                except TemplateError as error:
                    left_out[str(combination)] = str(error)
                else:
                    found.append(combination)
    return list(dict.fromkeys(found)), left_out


def _answers(finished: Run, combination: Combination, rows: Sequence[LabelRow], metric: type[Metric]) -> _Answers:
    gathered = join(finished, rows, metrics=[metric.name])
    joined = gathered.metrics.get(metric.name)
    labels = joined.scale.labels if joined is not None and joined.scale is not None else ()
    places = {label: place for place, label in enumerate(labels)}
    units = {}
    uncompared = 0
    for unit in joined.units if joined is not None else ():
        uncompared += unit.gold not in places
        if unit.gold in places:
            judged = None if unit.judged is None else places.get(unit.judged, len(labels))
            units[unit.record, unit.unit] = TunedUnit(unit.record, places[unit.gold], judged, unit.probability)
    refused = [f"{one.said} ({one.count:,})" for one in gathered.refused.values()]
    refused += [f"tied between annotators or trivial ({uncompared:,})"] if uncompared else []
    judged, dollars = 0, 0.0
    known = True
    for result in finished.results():
        judged += sum(len(score["verdicts"]) for score in result.typed["scores"])
        cost = result.typed["cost"]["dollars"]
        known, dollars = known and cost is not None, dollars + (cost or 0.0)
    return _Answers(combination, finished.id, labels, units, ", ".join(refused), judged, dollars if known else None)


def _estimated(totals: Sequence[Sum]) -> dict[str, Any]:
    """Return total calls, tokens and dollars, each low, expected and high; dollars are None if a price is unknown."""

    def added(ranges: Sequence[Any]) -> dict[str, float] | None:
        if any(one is None for one in ranges):
            return None
        return {end: sum(getattr(one, end) for one in ranges) for end in ("low", "expected", "high")}

    names = ("calls", "input_tokens", "output_tokens", "dollars")
    return {name: added([getattr(total, name) for total in totals]) for name in names}


def _bill(bills: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return requests sent, calls missing offline, tokens and dollars so far; dollars is None if a price is unknown."""
    paid = [bill["paid"] for bill in bills]
    dollars = [one["dollars"] for one in paid]
    return {
        "calls": sum(bill["sent"] for bill in bills),
        "unseen": sum(bill["unseen"] for bill in bills),
        "tokens": sum(one["input_tokens"] + one["output_tokens"] for one in paid),
        "dollars": None if None in dollars else sum(dollars),
    }
