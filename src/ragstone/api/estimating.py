"""What a run will take, told before it is made, and held against the bill after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.api.earlier import earlier_run, settled
from ragstone.api.options import Options
from ragstone.api.plan import Plan, Takeover, bank_of, check_overrides, jobs_of, make_plan, opened, prices_of
from ragstone.config import resolve
from ragstone.engine import Job, Routes, Settings
from ragstone.errors import ConfigError
from ragstone.forecast.dry_run import Forecaster
from ragstone.forecast.summary import Estimate, JudgePrice
from ragstone.judges.base import Judge
from ragstone.prices import PriceBook
from ragstone.records import Source
from ragstone.store.database import Store
from ragstone.types import NOTHING


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
            return estimate_of(plan, records, store, earlier_run(store, plan, name, options.only_failed))


def estimate_of(plan: Plan, source: Source, store: Store, earlier: Takeover | None = None) -> Estimate:
    """What the plan would take of the source."""
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
    return forecaster.estimate(source.name, priced, left_out, source.extent)


def looked_at(path: Path) -> Store:
    """The store, for reading; an empty one in memory where there is none."""
    return Store(path if path.exists() else ":memory:")


def judge_price(judge: Judge, prices: PriceBook) -> JudgePrice:
    """What a judge costs, and where that is known from."""
    at = (judge.id, judge.provider, judge.model)
    found = prices.prices(*at)
    price = tuple(float(part) for part in (found[0].input, found[0].output, found[0].cached)) if found else None
    return JudgePrice(judge.id, price, prices.source(*at), tiers=len(found) > 1)
