"""``metrics``, ``judges``, ``fields``, ``schema`` and ``init``: list what a run can use, and write a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragstone import api
from ragstone.cli.options import AsJson, Configuration, arg, command, flag, opt
from ragstone.cli.output import answer, show_json
from ragstone.cli.run_commands import app

if TYPE_CHECKING:
    from ragstone.metrics.base import Metric


@command(app, "ragstone metrics", "ragstone metrics grounding")
def metrics(
    name: str | None = arg("NAME", "Describe this metric and its parameters.", default=None),
    *,
    as_json: AsJson = False,
) -> None:
    """List the metrics, or describe one."""
    from ragstone.metrics import catalogue, find
    from ragstone.render.terminal.lists import metric_list, metric_page

    if name is None:
        answer([_described(metric) for metric in catalogue().values()], lambda _: metric_list(), as_json=as_json)
    else:
        metric = find(name)
        answer(_described(metric), lambda _: metric_page(metric), as_json=as_json)


@command(app, "ragstone judges", "ragstone judges --check openai:gpt-4o-mini")
def judges(
    *,
    check: str | None = opt("--check", "NAME", "Ask this judge one short question."),
    config: Configuration = None,
    as_json: AsJson = False,
) -> None:
    """List the judges, or check that a judge answers.

    --check sends one question and stores nothing. The exit code is 3 if the judge does not answer.
    """
    from msgspec.structs import asdict

    from ragstone.render.terminal.lists import judge_checked, judge_list

    if check is None:
        known = api.known_judges(config)
        answer([asdict(judge) for judge in known], lambda look: judge_list(known, look), as_json=as_json)
    else:
        one = api.check_judge(check, config)
        answer(asdict(one), lambda look: judge_checked(one.judge, one.seconds, one.said, look), as_json=as_json)


@command(app, "ragstone fields")
def fields(*, as_json: AsJson = False) -> None:
    """List record fields, their aliases, and input formats."""
    from ragstone.records import ALIASES, EXPORTS
    from ragstone.render.terminal.lists import input_list

    told = [{"name": one.name, "title": one.title, "reads": one.reads} for one in EXPORTS]
    answer({"fields": dict(ALIASES), "formats": told}, lambda _: input_list(), as_json=as_json)


@command(app, "ragstone schema", "ragstone schema result > result.schema.json")
def schema(
    name: str | None = arg("NAME", "record, label, result, summary or run.", default=None),
    *,
    as_json: AsJson = False,
) -> None:
    """List the JSON Schemas of inputs and outputs, or print one."""
    from ragstone.output.schema import DOCUMENTS, schema_of
    from ragstone.render.terminal.lists import schema_list

    if name is None:
        answer(dict(DOCUMENTS), lambda _: schema_list(DOCUMENTS), as_json=as_json)
    else:
        show_json(schema_of(name))


@command(app, "ragstone init")
def init(
    *,
    force: bool = flag("--force", "Overwrite an existing file."),
    as_json: AsJson = False,
) -> None:
    """Write a ragstone.toml with every setting commented out."""
    from ragstone.render.terminal.lists import init_page

    path = str(api.write_config(force=force))
    answer({"written": path}, lambda _: init_page(path), as_json=as_json)


def _described(metric: type[Metric]) -> dict[str, Any]:
    from dataclasses import fields

    from ragstone.metrics import explained
    from ragstone.render.terminal.lists import about

    meanings = explained(metric)
    return {
        "name": metric.name,
        "title": metric.title,
        "group": metric.group,
        "about": about(metric),
        "needs": metric.needs,
        "wants": metric.wants,
        "asks": metric.asks,
        "suites": (*metric.suites, "all"),
        "calls": metric.calls,
        "scores": metric.score_names(),
        "elsewhere": dict(metric.elsewhere),
        "source": metric.source,
        "parameters": {
            one.name: {"default": one.default, "fixed": one.name in metric.fixed, "meaning": meanings[one.name]}
            for one in fields(metric)
        },
    }
