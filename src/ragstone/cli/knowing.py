"""The commands that tell what there is: metrics, judges, settings."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ragstone import api
from ragstone.cli.output import show, show_json
from ragstone.metrics import catalogue, find
from ragstone.metrics.base import Metric
from ragstone.render.terminal.lists import about, init_page, judge_checked, judge_list, metric_list, metric_page


def metrics(name: str | None, *, as_json: bool) -> None:
    """All metrics, or one."""
    if name is None:
        if as_json:
            show_json([_told(metric) for metric in catalogue().values()])
        else:
            show(metric_list)
        return
    metric = find(name)
    if as_json:
        show_json(_told(metric))
    else:
        show(lambda look: metric_page(metric, look))


def judges(check: str | None, config: Path | None, *, as_json: bool) -> None:
    """All judges, or one that is asked."""
    if check is None:
        known = api.known_judges(config)
        if as_json:
            show_json([asdict(judge) for judge in known])
        else:
            show(lambda look: judge_list(known, look))
        return
    checked = api.check_judge(check, config)
    if as_json:
        show_json(asdict(checked))
    else:
        show(lambda look: judge_checked(checked.judge, checked.seconds, checked.said, look))


def init(*, force: bool, as_json: bool) -> None:
    """Write the configuration."""
    path = api.write_config(force=force)
    if as_json:
        show_json({"written": str(path)})
    else:
        show(lambda look: init_page(str(path), look))


def _told(metric: type[Metric]) -> dict[str, Any]:
    return {
        "name": metric.name,
        "title": metric.title,
        "about": about(metric),
        "needs": metric.needs,
        "wants": metric.wants,
        "asks": metric.asks,
        "suites": (*metric.suites, "all"),
        "calls": metric.calls,
        "scores": metric.score_names(),
        "source": metric.source,
        "parameters": {
            parameter.name: {"default": parameter.default, "fixed": parameter.name in metric.fixed}
            for parameter in fields(metric)
        },
    }
