"""How a run is started, and what can be seen of it while it goes on."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self

from ragstone.config import Flags, assignments, resolve
from ragstone.engine import Tally
from ragstone.errors import ConfigError
from ragstone.judges.base import Judge
from ragstone.records import Survey
from ragstone.render.text import shorten
from ragstone.types import NOTHING

SHOWN: Final = 20
"""Characters of a name that a message shows."""


@dataclass(slots=True)
class Progress:
    """A run while it goes on, for whoever draws it: ``tally`` counts, ``total`` is the number of records."""

    run: int
    total: int
    tally: Tally
    metrics: tuple[str, ...]
    judges: tuple[str, ...]
    left_out: Mapping[str, str]
    survey: Survey
    notes: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is started.

    ``metrics`` are names, suites or ``auto``; ``judges`` are ``NAME``, or ``STEP=NAME`` for one step, and
    ``[A,B,C]`` in the place of a name is a panel put together by ``aggregate``, ``A>B`` a cascade: A answers where it
    is sure to err at most as often as ``cascade_error``, B the rest. A judge may also be an object;
    alone it answers every step, and its name may stand wherever a name may. ``parameters`` maps a metric
    to changed parameters, ``fields`` a canonical field to a column. ``out`` is a folder for the files,
    ``cases`` adds a file a record, ``report`` the page report.html. ``generator`` is the model that wrote the
    responses, where the records do not say so in ``meta.generator``; a judge that is the same model is warned of.
    ``on_start`` is shown the progress when the first call is about to be made, ``on_result`` each line of
    results.jsonl when it is there.
    ``nuggets`` is a bank of nuggets by topic, which goes before the records' own. ``prompts`` are styles, for all
    steps (``short_cot``) or one (``assign=optimized``), and files of the user's own (``support=mine.md``); ``format``
    is how labels are to be given; ``structured`` (auto, schema, off) whether a JSON schema is sent along.

    Of ``refresh`` (ask anew; replies replace the stored ones), ``no_cache`` (neither read nor write stored calls) and
    ``offline`` (send nothing; a call that is not in the store fails) one may be set. ``repeat`` is how many times
    everything is asked, from 1. ``only_failed`` takes over the results of an earlier run, by its number or name, or
    the last of this input where it is True, and weighs only what failed in it.

    ``name`` is what the run is called, else as its input. ConfigError for a number or ``last``: they name runs already.

    ``limit`` reads the first records of each file alone; ``sample`` draws so many of each at random, by their ids and
    ``seed`` (0 unless given), so that the same seed draws the same ids from every input.

    ``rpm`` and ``tpm`` are the most requests and tokens in any 60 seconds, of all judges at one endpoint with one
    key. ``max_cost`` in dollars, ``max_calls`` and ``max_tokens`` (in and out) are the most that endpoints may be
    asked for in this run: BudgetReached ends it when the next call could pass one of them. ``estimate`` has the run
    estimated first, so that the bill can be held against it; unless said, it is where that is done quickly and the run
    may cost something.
    """

    metrics: Sequence[str] | None = None
    judges: Sequence[str | Judge] | None = None
    aggregate: str | None = None
    cascade_error: float | None = None
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: NOTHING)
    fields: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    on_error: Literal["stop", "skip"] | None = None
    on_empty: Literal["null", "zero", "one"] | None = None
    concurrency: int | None = None
    rpm: int | None = None
    tpm: int | None = None
    store: Path | str | None = None
    config: Path | str | None = None
    out: Path | str | None = None
    cases: bool = False
    report: bool = True
    nuggets: Path | str | None = None
    prompts: Sequence[str] | None = None
    format: str | None = None
    structured: str | None = None
    max_cost: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int | None = None
    estimate: bool | None = None
    name: str = ""
    generator: str = ""
    refresh: bool = False
    no_cache: bool = False
    offline: bool = False
    repeat: int | None = None
    only_failed: bool | int | str = False
    on_start: Callable[[Progress], None] | None = None
    on_result: Callable[[bytes], None] | None = None

    def __post_init__(self) -> None:
        name = self.name.strip()
        if name == "last":
            raise ConfigError("no run can be named 'last', which is the latest of all; choose another name")
        if name.isascii() and name.isdecimal():
            told = shorten(name, SHOWN)
            raise ConfigError(f"no run can be named '{told}': a number is that of a run; try build-{told}")

    @classmethod
    def called(
        cls,
        metrics: Sequence[str] | str | None,
        judge: Sequence[str | Judge] | str | Judge | None,
        **options: Any,
    ) -> Self:
        """Options from the arguments of ``evaluate``; TypeError for one that there is not."""
        unknown = set(options) - set(cls.__dataclass_fields__)
        if unknown:
            known = sorted({*cls.__dataclass_fields__, "judge"})
            first = min(unknown)
            near = ["judge"] if first in ("model", "llm") else difflib.get_close_matches(first, known, 1)
            meant = f"did you mean {near[0]}=? " if near else ""
            raise TypeError(f"unknown option {', '.join(sorted(unknown))}; {meant}options are {', '.join(known)}")
        options = {name: value for name, value in options.items() if value is not None}  # as if it had not been given
        if metrics is not None:
            options["metrics"] = [metrics] if isinstance(metrics, str) else list(metrics)
        if judge is not None:
            options["judges"] = list(judge) if isinstance(judge, Sequence) and not isinstance(judge, str) else [judge]
        return cls(**options)

    @classmethod
    def written(cls, *, sets: Sequence[str] = (), fields: Sequence[str] = (), **rest: Any) -> Self:
        """Options from what is written on a command line: ``METRIC.PARAMETER=VALUE`` and ``FIELD=PATH``."""
        mapping = {}
        for pair in fields:
            name, equals, path = pair.partition("=")
            if not (equals and name.strip() and path.strip()):
                raise ConfigError(f"--field {pair!r}; expected FIELD=PATH, as in question=user.query")
            mapping[name.strip()] = path.strip()
        return cls(parameters=assignments(sets), fields=mapping, **rest)

    @property
    def skips(self) -> bool:
        """Whether a record that cannot be read is set aside, by the flag or by the configuration."""
        return resolve(self.flags()).on_error == "skip"

    def objects(self) -> list[Judge]:
        """The judges that were brought as objects."""
        return [judge for judge in self.judges or () if not isinstance(judge, str)]

    def flags(self) -> Flags:
        """What of this the configuration merges."""
        objects = [judge.name for judge in self.objects()]
        names = [judge for judge in self.judges or () if isinstance(judge, str)]
        # An object that no name speaks of is the judge of every step that is not named.
        loose = [name for name in objects if not any(name in text for text in names)]
        judges = [*([f"[{','.join(loose)}]"] if loose else []), *names] or None
        return Flags(
            metrics=self.metrics,
            judges=judges,
            given=frozenset(objects),
            aggregate=self.aggregate,
            cascade_error=self.cascade_error,
            parameters=self.parameters,
            fields=self.fields,
            on_error=self.on_error,
            on_empty=self.on_empty,
            concurrency=self.concurrency,
            rpm=self.rpm,
            tpm=self.tpm,
            store=self.store,
            config=self.config,
            nuggets=self.nuggets,
            prompts=self.prompts,
            format=self.format,
            structured=self.structured,
            refresh=self.refresh,
            no_cache=self.no_cache,
            offline=self.offline,
            repeat=self.repeat,
            max_cost=self.max_cost,
            max_calls=self.max_calls,
            max_tokens=self.max_tokens,
            limit=self.limit,
            sample=self.sample,
            seed=self.seed,
        )
