"""List the judges, and check that a judge answers."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from msgspec import Struct

from ragstone.api.estimating import judge_price
from ragstone.config import file_settings, resolve
from ragstone.errors import ConfigError
from ragstone.forecast.summary import JudgePrice, price_said
from ragstone.judges.base import Judge
from ragstone.judges.catalogue import build
from ragstone.judges.spec import KnownJudge, Spec, providers
from ragstone.options import RunOptions
from ragstone.prices import PriceBook
from ragstone.questions import SAMPLE


def known_judges(config: Path | str | None = None) -> list[KnownJudge]:
    """Return the built-in judges and providers, then the ``[judges.NAME]`` tables of the configuration."""
    tables = file_settings(RunOptions(config=config))[0].get("judges", {})
    own = [resolve(RunOptions(config=config, judge=name)).judges[name] for name in tables]
    return [
        KnownJudge("embedded", note="needs no key and no network; not a language model"),
        KnownJudge(
            "nli",
            note="needs no key; runs a downloaded model for the steps support, assign, response_support and trace",
        ),
        KnownJudge("nli:MODEL", note="ORG/MODEL[@REVISION] on Hugging Face, or a folder"),
        KnownJudge("replay:FILE", note="replays a file from ragstone export RUN --format calls"),
        KnownJudge("human:FILE", note="answers from people's labels, for the steps they cover"),
        *(_known(f"{name}:MODEL", Spec(name, provider=name), table=False) for name in providers()),
        *(_known(spec.name, spec, table=True) for spec in own),
    ]


def _known(name: str, spec: Spec, *, table: bool) -> KnownJudge:
    variable = spec.preset.key if spec.api_key_env is None else spec.api_key_env
    return KnownJudge(
        name,
        where=spec.base_url or spec.preset.base_url,
        variable=variable,
        key_set=bool(os.environ.get(variable, "").strip()) if variable else None,
        model=spec.model,
        table=table,
        price=price_said(_price(spec)) if table else "",
        note="" if spec.base_url or spec.preset.base_url else "azure:MODEL@ADDRESS",
    )


def _price(spec: Spec) -> JudgePrice:
    judge = build(spec)
    return judge_price(judge, PriceBook({judge.id: spec.price} if spec.price else None))


class Checked(Struct, frozen=True):
    """The answer of a judge to one short question: the verdict in words, the seconds and the tokens."""

    judge: str
    seconds: float
    said: str
    input_tokens: int | None
    output_tokens: int | None


def check_judge(name: str, config: Path | str | None = None) -> Checked:
    """Ask a judge one short question; raise BackendError if it does not answer, ConfigError if it is unknown.

    Nothing is stored. If the judge costs money, this one call is charged.
    """
    spec = resolve(RunOptions(config=config, judge=name))
    *others, last = spec.default.judges  # the last judge of a cascade may cost money
    if others:
        raise ConfigError(f"'{name}' names several judges; check them one at a time: --check {last}")
    return asyncio.run(_asked(build(spec.judges[last])))


async def _asked(judge: Judge) -> Checked:
    if not judge.can("support"):
        raise ConfigError(f"the judge '{judge.name}' cannot answer the step 'support'")
    dialogue = judge.dialogue(SAMPLE)
    (call,) = next(dialogue)
    started = time.monotonic()
    try:
        await judge.backend.open()
        reply = await judge.backend.send(call)
    finally:
        await judge.backend.close()
    seconds = time.monotonic() - started
    try:
        dialogue.send([reply])
        said = "the answer does not have the expected format"
    except StopIteration as stop:
        (verdict,) = stop.value.verdicts
        said = (
            f"unjudged: {verdict.failure}"
            if verdict.unjudged
            else f"'{SAMPLE.units[0].text}' is supported: {verdict.label}"
        )
    return Checked(judge.id, seconds, said, reply.usage.input, reply.usage.output)
