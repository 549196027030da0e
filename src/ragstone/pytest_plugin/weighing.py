"""What a test holds in its hands: score a response, and hold it to thresholds.

A response is weighed as ``ragstone run`` would weigh a file of one record: with the same configuration and store, so
that a reply is paid for once. The run of a test that fails stays in the store, under the test's name; others do not.
"""

from __future__ import annotations

import contextlib
import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import methodcaller
from pathlib import Path
from typing import Any, Final, Self

import pytest

from ragstone.analysis.result import Result
from ragstone.analysis.run import Run
from ragstone.api import RunOptions, evaluate
from ragstone.errors import InputError, JudgeError, RagstoneError
from ragstone.judges.base import Judge
from ragstone.metrics import called_here, catalogue
from ragstone.pytest_plugin import MARK, RECORD
from ragstone.pytest_plugin.ending import note_of
from ragstone.pytest_plugin.reasons import reasons, standing
from ragstone.records import ALIASES

__tracebackhide__ = methodcaller("errisinstance", (AssertionError, RagstoneError))
"""Tells pytest not to show this code where it raises on purpose; a fault in it is shown."""

FIELDS: Final = tuple(ALIASES)
"""The fields of a record, by the names that calls and marks give them."""
OPTIONS: Final = frozenset(RunOptions.__dataclass_fields__) - {"metrics"}
"""Options of ``evaluate`` that calls and marks may give."""


@dataclass(slots=True, repr=False)
class Weigher:
    """Weighs responses for one test.

    ``name`` and ``title`` are the test's short name and its full one. ``root`` is the folder that the configuration
    and the store are looked for from. ``record`` holds fields that the test's marks give, ``least`` their thresholds
    by score, ``options`` theirs and the session's. ``notes`` tell of what was done in plain values, ``held`` whether
    any response was held to thresholds, ``failed`` whether the test failed.
    """

    name: str
    title: str
    root: Path
    record: Mapping[str, Any]
    least: Mapping[str, float]
    options: Mapping[str, Any]
    notes: list[dict[str, Any]] = field(default_factory=list)
    held: bool = False
    failed: bool = False
    _weighed: list[tuple[Result, Run, object]] = field(default_factory=list)

    @classmethod
    def of(cls, item: pytest.Item) -> Self:
        """The weigher of a test; InputError where its marks cannot be meant."""
        record = _marked(item, RECORD)
        for name in record:
            if name not in FIELDS:
                raise InputError(f"mark {RECORD}: no field '{name}'; fields are {', '.join(FIELDS)}")
        least, options = sorted_out(_marked(item, MARK), f"mark {MARK}")
        config = item.config
        return cls(item.name, item.nodeid, config.rootpath, record, least, {**_of_session(config), **options})

    def score(
        self,
        response: str | None = None,
        *,
        metrics: Sequence[str] | str | None = None,
        judge: Sequence[str | Judge] | str | Judge | None = None,
        **more: Any,
    ) -> Result:
        """Weigh one response and return its result, as in results.jsonl.

        ``more`` are the other fields of the record (``question``, ``contexts``, ``reference``, ...) and options of
        ``ragstone.evaluate``. Raises RagstoneError where it cannot be weighed, which makes the test an error.
        """
        given = {name: more.pop(name) for name in FIELDS if name in more}
        record = {"id": self.name, **self.record, **given, **({} if response is None else {"response": response})}
        options = {"estimate": False, "name": self.title, **self.options, **more}
        if judge is not None:
            options["judge"] = judge
        _check_fields(metrics, record)
        elsewhere = contextlib.nullcontext() if Path.cwd() == self.root else contextlib.chdir(self.root)
        try:
            with elsewhere:
                run = evaluate([record], metrics, **options)
        except RagstoneError as error:
            if hint := getattr(error, "hint", ""):
                error.add_note(f"hint: {hint}")
            # Where in Ragstone it came about is of no use to whoever reads a test's report.
            raise error.with_traceback(None) from None
        result = next(run.results())
        self._weighed.append((result, run, options.get("store")))
        if "set_aside" in result:
            raise InputError(result["set_aside"])
        self.notes.append(note_of(run))
        return result

    def assert_scores(
        self,
        response: str | Result | None = None,
        at_least: Mapping[str, float] | None = None,
        /,
        *,
        metrics: Sequence[str] | str = (),
        **more: Any,
    ) -> Result:
        """Hold a response to thresholds: those of the test's mark, and over them those that are given here.

        ``response`` may be the ``Result`` of one that was weighed before. ``at_least`` maps scores to thresholds, for
        names with a dot; others may be keywords. ``metrics`` are weighed besides those that have a threshold. Further
        keywords are those of ``score``. AssertionError names what is not supported; JudgeError says that it cannot be
        told, because what is unjudged decides.
        """
        fields = {name: more.pop(name) for name in FIELDS if name in more}
        own, options = sorted_out({**(at_least or {}), **more}, "assert_scores")
        least = {**self.least, **own}
        if not least:
            raise InputError(f"no threshold; give one as in assert_scores(grounding=0.8) or @pytest.mark.{MARK}")
        if not isinstance(response, Result):
            named = (metrics,) if isinstance(metrics, str) else metrics
            asked = tuple(dict.fromkeys((*named, *(_metrics()[name] for name in least))))
            result = self.score(response, metrics=asked, **fields, **options)
        elif fields or options or metrics:
            raise InputError(
                f"the result is there already; {', '.join((*fields, *options)) or 'metrics'} cannot change it"
            )
        else:
            result = response
        found = [standing(result, name, threshold) for name, threshold in least.items()]
        outcomes = Counter(one.outcome for one in found)
        outcome = next(one for one in ("no", "unknown", "yes") if outcomes[one])
        self._count(outcome)
        if outcome != "yes":
            told = reasons(result, found, self._store_of(result))
            raise AssertionError(told) if outcome == "no" else JudgeError(told)
        return result

    def _count(self, outcome: str) -> None:
        self.held = True
        self.notes.append({"outcome": outcome})

    def _store_of(self, result: Result) -> Sequence[str] | None:
        """Options by which the command line finds the result's run; None where it is no run of this test."""
        for own, _, store in self._weighed:
            if own is result:
                return ["--store", str(store)] if store else []
        return None

    def __repr__(self) -> str:
        return f"<ragstone for {self.name}>"

    def close(self) -> None:
        """Let go of the runs; those of a test that did not fail are taken out of the store."""
        with contextlib.ExitStack() as stores:
            for _, run, _ in self._weighed:
                stores.callback(run.store.close)
                if not self.failed:
                    stores.callback(run.store.forget, run.id)


def sorted_out(given: Mapping[str, Any], where: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Thresholds by score, and options of ``evaluate``; InputError for what is neither, or no number from 0 to 1."""
    least: dict[str, float] = {}
    options: dict[str, Any] = {}
    for name, value in given.items():
        if name in OPTIONS:
            options[name] = value
        elif name not in _metrics():
            raise InputError(f"{where}: {_unknown(name)}")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"{where}: {name} = {value!r}; a threshold is a number from 0 to 1")
        else:
            least[name] = value
    return least, options


@lru_cache(maxsize=1)
def _metrics() -> Mapping[str, str]:
    """Every score by name, with the metric that it is of."""
    return {score: metric.name for metric in catalogue().values() for score in metric.score_names()}


def _unknown(name: str) -> str:
    if name in catalogue():
        several = catalogue()[name].score_names()
        return f"'{name}' has several scores; name one of them, as in {{'{several[0]}': 0.8}}: {', '.join(several)}"
    near = difflib.get_close_matches(name, [*_metrics(), *OPTIONS], 1)
    hint = f"did you mean '{near[0]}'?" if near else f"scores are {', '.join(_metrics())}"
    hint = called_here(name) or hint
    return f"'{name}' is neither a score nor an option; {hint}"


def _check_fields(metrics: Sequence[str] | str | None, record: Mapping[str, Any]) -> None:
    """InputError, in the words of a test, where a metric that is named lacks what it needs."""
    for name in (metrics,) if isinstance(metrics, str) else metrics or ():
        needs = catalogue()[name].needs if name in catalogue() else ()
        lacking = [needed for needed in needs if record.get(needed) is None or record[needed] in ([], ())]
        if lacking:
            raise InputError(f"{name} needs {' and '.join(needs)}; there is no {' and no '.join(lacking)}")


def _marked(item: pytest.Item, name: str) -> dict[str, Any]:
    """What the marks of that name give, those of the test itself before those of its class and module."""
    found: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers(name))):
        for given in (*mark.args, mark.kwargs):
            if not isinstance(given, Mapping):
                raise InputError(f"mark {name}: {given!r} has no name; give keywords, or a dict")
            found.update(given)
    return found


def _of_session(config: pytest.Config) -> dict[str, Any]:
    """The options of the whole session: of the command line, else of the configuration of pytest."""
    found: dict[str, Any] = {"offline": True} if config.getoption("ragstone_offline") else {}
    for name in ("judge", "store", "config"):
        said, written = config.getoption(f"ragstone_{name}"), config.getini(f"ragstone_{name}")
        folder = config.invocation_params.dir if said else (config.inipath or config.rootpath / "pytest.ini").parent
        if said or written:
            found[name] = said or written if name == "judge" else folder / (said or written)
    return found
