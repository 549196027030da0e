"""Estimate a run before it is made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.api.jobs import jobs_of, settled
from ragstone.api.keywords import takes
from ragstone.api.plan import Plan, planned
from ragstone.engine.run import Job
from ragstone.errors import ConfigError
from ragstone.forecast.dry_run import Forecaster
from ragstone.forecast.summary import Estimate, JudgePrice
from ragstone.judges.base import SMALL, Judge
from ragstone.options import RunOptions
from ragstone.prices import PriceBook
from ragstone.store.database import Store


@takes(RunOptions)
def estimate(source: Any, options: RunOptions) -> Estimate:
    """Estimate the calls, tokens, dollars and seconds that ``evaluate`` would take with the same arguments.

    No key is needed and no judge is called. Stored replies are free. Counts that depend on replies are assumed, or
    taken from earlier runs in the store. Raises InputError if the input or an option is wrong.
    """
    return forecast(source, options)


def forecast(source: Any, options: RunOptions) -> Estimate:
    """Estimate a run, with the options as one value."""
    with planned(source, options) as first, store_for_reading(first.spec.store) as store:
        plan, earlier = settled(first, store, options)
        small = 0 if options.finish == "batch" else SMALL
        return estimate_of(plan, jobs_of(plan, earlier), store, small)


def estimate_of(plan: Plan, jobs: Iterable[Job], store: Store, small: int = SMALL) -> Estimate:
    """Return the estimate of a plan's jobs, of which the last are sent live if fewer than ``small``.

    Raise ConfigError for an offline run, which would send nothing.
    """
    settings, prices = plan.spec.engine, plan.prices
    if settings.cache == "offline":
        raise ConfigError("an offline run sends nothing, so there is nothing to estimate")
    forecaster = Forecaster(plan.routes, store, prices, settings, small)
    for job in jobs:
        forecaster.add(job)
    priced = tuple(judge_price(judge, prices) for judge in plan.routes.judges() if not judge.backend.free)
    return replace(
        forecaster.estimate(), name=plan.source.name, prices=priced, left_out=plan.left_out, extent=plan.source.extent,
        notes=plan.survey.near_misses,
    )  # fmt: skip


def store_for_reading(path: Path) -> Store:
    """Open the store for reading; without a store, return an empty one in memory."""
    return Store(path if path.exists() else ":memory:")


def judge_price(judge: Judge, prices: PriceBook) -> JudgePrice:
    """Return the price of a judge, with its source."""
    at = (judge.id, judge.provider, judge.model)
    found = prices.prices(*at)
    rate = getattr(judge.backend, "rate", 1.0)
    price = tuple(rate * float(part) for part in (found[0].input, found[0].output, found[0].cached)) if found else None
    source = prices.source(*at)
    return JudgePrice(
        judge.id,
        price,
        f"{source}, {'batch' if getattr(judge.backend, 'batch', False) else 'flex'}" if rate != 1 else source,
        tiers=len(found) > 1,
        nearest=prices.nearest(*at),
    )
