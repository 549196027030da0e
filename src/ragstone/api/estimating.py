"""What a run will take, told before it is made, and held against the bill after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ragstone.api.earlier import earlier_run, settled
from ragstone.api.options import Options
from ragstone.api.plan import Plan, Takeover, check_overrides, jobs_of, make_plan, opened, prices_of
from ragstone.config import RunSpec, resolve
from ragstone.engine import Forecaster, Job, Routes, Settings
from ragstone.errors import ConfigError
from ragstone.judges.base import Judge
from ragstone.prices import PriceBook
from ragstone.records import Bank, Source, read_bank
from ragstone.report.estimate import Estimate, JudgePrice
from ragstone.store import Store
from ragstone.types import NOTHING

QUICKLY: Final = 200
"""The most records for which a run estimates its cost unasked, if it costs anything: about a second."""


def estimate(
    source: Any,
    metrics: Sequence[str] | str | None = None,
    judge: Sequence[str | Judge] | str | Judge | None = None,
    **options: Any,
) -> Estimate:
    """What ``evaluate`` with the same arguments would take: calls, tokens, dollars, seconds. Nobody is asked.

    No key is needed. What is in the store is free; what depends on answers is assumed, learned from earlier runs in the
    store where there are any. Raises InputError for what the caller can mend.
    """
    return forecast(source, Options.called(metrics, judge, **options))


def forecast(source: Any, options: Options) -> Estimate:
    """``estimate`` for the command line."""
    spec = resolve(options.flags())
    bank = bank_of(spec, source)
    with opened(source, spec, check_overrides, bank) as records:
        plan = make_plan(spec, records, {judge.name: judge for judge in options.objects()}, bank)
        with looked_at(spec.store) as store:
            name = options.name or records.name
            plan = settled(plan, store, name, [])
            return _estimate(plan, records, store, earlier_run(store, plan, name, options.only_failed))


def before_run(
    plan: Plan, source: Source, store: Store, options: Options, earlier: Takeover | None = None
) -> Estimate | None:
    """The estimate that a run is held against: where one is wanted, or nobody said and it is made quickly."""
    if plan.spec.engine.cache == "offline":  # nothing is sent
        return None
    prices = prices_of(plan.spec, plan.judges)
    costs = any(not judge.backend.free and not prices.costs_nothing(judge.id) for judge in plan.routes.judges())
    wanted = options.estimate if options.estimate is not None else costs and plan.survey.total <= QUICKLY
    return _estimate(plan, source, store, earlier) if wanted else None


def _estimate(plan: Plan, source: Source, store: Store, earlier: Takeover | None = None) -> Estimate:
    prices = prices_of(plan.spec, plan.judges)
    jobs = jobs_of(source, plan, earlier)
    return dry_run(source, jobs, plan.routes, store, prices, plan.spec.engine, plan.left_out)


def dry_run(
    source: Source,
    jobs: Iterable[Job],
    routes: Routes,
    store: Store,
    prices: PriceBook,
    settings: Settings,
    left_out: Mapping[str, str] = NOTHING,
) -> Estimate:
    """What the jobs would take of an engine that is made of the rest; ConfigError where it would send nothing."""
    if settings.cache == "offline":
        raise ConfigError("an offline run sends nothing, so there is nothing to estimate")
    forecaster = Forecaster(routes, store, prices, settings)
    for job in jobs:
        forecaster.add(job)
    priced = tuple(judge_price(judge, prices) for judge in routes.judges() if not judge.backend.free)
    return Estimate(source.name, forecaster.forecast(), priced, left_out, settings.limits, source.extent)


def looked_at(path: Path) -> Store:
    """The store, for reading; an empty one in memory where there is none."""
    return Store(path if path.exists() else ":memory:")


def judge_price(judge: Judge, prices: PriceBook) -> JudgePrice:
    """What a judge costs, and where that is known from."""
    at = (judge.id, judge.provider, judge.model)
    found = prices.prices(*at)
    price = tuple(float(part) for part in (found[0].input, found[0].output, found[0].cached)) if found else None
    return JudgePrice(judge.id, price, prices.source(*at), tiers=len(found) > 1)


def bank_of(spec: RunSpec, source: Any) -> Bank | None:
    """The bank of nuggets that was named, if any; ConfigError where it and the records are both standard input."""
    if spec.nuggets is None:
        return None
    if str(spec.nuggets) == "-" and "-" in (source if isinstance(source, tuple) else (source,)):
        raise ConfigError("standard input can be only one of the records and --nuggets")
    return read_bank(spec.nuggets)
