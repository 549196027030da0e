"""The fixture for tests: score a response and check it against thresholds.

A response is evaluated as by ``ragstone run`` on a file of one record: with the same configuration and store, so that
each reply is paid for only once. The run of a failed test stays in the store, under the test's name; other runs are
deleted, and their replies kept for the test.
"""

from __future__ import annotations

import contextlib
import difflib
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import methodcaller
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from msgspec import Struct

from ragstone.analysis.result import Result
from ragstone.analysis.run import Run, unit_text
from ragstone.analysis.verdicts import lowers, with_verdicts
from ragstone.api import RunOptions, evaluate
from ragstone.errors import InputError, JudgeError, RagstoneError
from ragstone.judges.base import Judge
from ragstone.metrics import asked_for, best_at_zero, called_here, column_of, known, of_score
from ragstone.pytest_plugin.summary import note_of
from ragstone.records import ALIASES
from ragstone.render.facts import handle, shortfall
from ragstone.render.text import shorten
from ragstone.render.wording import ORDER, kind_of, place, why, word

__tracebackhide__ = methodcaller("errisinstance", (AssertionError, RagstoneError))
"""pytest's filter that hides this module's frames in tracebacks of errors raised on purpose."""

FIELDS: Final = tuple(ALIASES)
"""Record fields that calls and marks may set."""
OPTIONS: Final = frozenset(RunOptions.__struct_fields__) - {"metrics"}
"""Options of ``evaluate`` that calls and marks may set."""


class Scorer:
    """Score responses for one test, given the arguments of its two marks; raise InputError for an unknown name.

    ``name`` and ``title`` are the test's short and full names; ``root`` is the folder with the configuration and the
    store. From the test's marks come ``record`` (fields), ``least`` (thresholds by score) and ``options``, which
    include the session's. ``notes`` are the scores and outcomes as plain values. ``checked`` says whether a response
    was checked against thresholds, ``failed`` whether the test failed.
    """

    def __init__(self, item: pytest.Item, marked: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        for name in record:
            if name not in FIELDS:
                raise InputError(f"mark ragstone_record: no field '{name}'; fields are {', '.join(FIELDS)}")
        self.name, self.title, self.root, self.record = item.name, item.nodeid, item.config.rootpath, record
        self.least, options = thresholds_and_options(marked, "mark ragstone")
        self.options = {**_of_session(item.config), **options}
        self.notes: list[dict[str, Any]] = []
        self.checked = self.failed = False
        self._scored: list[tuple[Result, Run, object]] = []

    def score(
        self,
        response: str | None = None,
        *,
        metrics: Sequence[str] | str | None = None,
        judge: Sequence[str | Judge] | str | Judge | None = None,
        **more: Any,
    ) -> Result:
        """Score one response and return its result, as in results.jsonl.

        ``more`` are other record fields (``question``, ``contexts``, ``reference``, ...) and options of
        ``ragstone.evaluate``. Raise RagstoneError if the response cannot be scored, which makes the test an error.
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
            if error.hint:
                error.add_note(f"hint: {error.hint}")
            # Ragstone's own frames are of no use in a test report.
            raise error.with_traceback(None) from None
        result = next(run.results())
        self._scored.append((result, run, options.get("store")))
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
        """Check a response against thresholds: those given here, and those of the test's mark for other scores.

        ``response`` is a text, or the ``Result`` of a response that is already scored. ``at_least`` maps scores to
        thresholds from 0 to 1: minimum values, or maximum values for a score whose best value is 0. A score without a
        dot in its name may be a keyword instead. ``metrics`` are scored in addition to those with a threshold. Other
        keywords are those of ``score``. Raise AssertionError that lists unsupported units, or JudgeError if the outcome
        depends on unjudged units.
        """
        fields = {name: more.pop(name) for name in FIELDS if name in more}
        own, options = thresholds_and_options({**(at_least or {}), **more}, "assert_scores")
        least = {**self.least, **own}
        if not least:
            raise InputError("no threshold; add one, as in assert_scores(grounding=0.8) or @pytest.mark.ragstone")
        if not isinstance(response, Result):
            named = (metrics,) if isinstance(metrics, str) else metrics
            asked = tuple(dict.fromkeys((*named, *map(_metric_of, least))))
            result = self.score(response, metrics=asked, **fields, **options)
        elif fields or options or metrics:
            raise InputError(
                f"the response has already been scored; {', '.join((*fields, *options)) or 'metrics'} cannot change it"
            )
        else:
            result = response
        found = [check_threshold(result, name, threshold) for name, threshold in least.items()]
        outcomes = Counter(one.outcome for one in found)
        outcome = next(one for one in ("no", "unknown", "yes") if outcomes[one])
        self.checked = True
        self.notes.append({"outcome": outcome})
        if outcome != "yes":
            told = explain(result, found, self._store_of(result))
            raise AssertionError(told) if outcome == "no" else JudgeError(told)
        return result

    def _store_of(self, result: Result) -> Sequence[str] | None:
        """Return the options of a command that shows the result; None if it is not a result of this test."""
        for own, _, store in self._scored:
            if own is result:
                return ["--store", str(store)] if store else []
        return None

    def __repr__(self) -> str:
        return f"<ragstone for {self.name}>"

    def close(self) -> None:
        """Close the runs, and delete them unless the test failed."""
        with contextlib.ExitStack() as stores:
            for number, (result, run, _) in enumerate(self._scored):
                stores.callback(run.store.close)
                if not self.failed:
                    stores.callback(run.store.drop_run, run.id)
                    keys = [bytes.fromhex(call["key"]) for call in result.get("calls", ())]
                    stores.callback(run.store.keep_calls, f"{self.title} {number}", keys)


def thresholds_and_options(given: Mapping[str, Any], where: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Separate thresholds by score from options of ``evaluate``; raise InputError for other names and values."""
    least: dict[str, float] = {}
    options: dict[str, Any] = {}
    for key, value in given.items():
        name = asked_for(key).name if ":" in key else key
        if name in OPTIONS:
            options[name] = value
        elif not _metric_of(name):
            raise InputError(f"{where}: {_unknown(name)}")
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"{where}: {name} = {value!r}; a threshold is a number from 0 to 1")
        else:
            least[name] = value
    return least, options


def _metrics() -> Mapping[str, str]:
    return {score: metric.name for metric in known().values() for score in metric.score_names()}


def _metric_of(score: str) -> str:
    """Return the metric of a score, or empty if unknown; some metrics have columns named by users."""
    metric = of_score(score)
    return metric.name if metric.open_columns and column_of(score) else _metrics().get(score, "")


def _unknown(name: str) -> str:
    if name in known():
        several = known()[name].score_names()
        return f"'{name}' has several scores; specify one of them, as in {{'{several[0]}': 0.8}}: {', '.join(several)}"
    near = difflib.get_close_matches(name, [*FIELDS, *OPTIONS, *_metrics()], 1)
    hint = f"did you mean '{near[0]}'?" if near else f"scores are {', '.join(_metrics())}"
    hint = called_here(name) or hint
    return f"'{name}' is not a score, field or option; {hint}"


def _check_fields(metrics: Sequence[str] | str | None, record: Mapping[str, Any]) -> None:
    """Raise InputError if a named metric lacks a required field."""
    for name in (metrics,) if isinstance(metrics, str) else metrics or ():
        needs = known()[name].needs if name in known() else ()
        lacking = [needed for needed in needs if record.get(needed) is None or record[needed] in ([], ())]
        if lacking:
            raise InputError(f"{name} needs {' and '.join(needs)}; missing: {', '.join(lacking)}")


def _of_session(config: pytest.Config) -> dict[str, Any]:
    """Return the session's options, from pytest's command line, else from its configuration."""
    offline = config.getoption("ragstone_offline") or config.getini("ragstone_offline")
    found: dict[str, Any] = {"offline": True} if offline else {}
    for name in ("judge", "store", "config"):
        said, written = config.getoption(f"ragstone_{name}"), config.getini(f"ragstone_{name}")
        folder = config.invocation_params.dir if said else (config.inipath or config.rootpath / "pytest.ini").parent
        if said or written:
            found[name] = said or written if name == "judge" else folder / (said or written)
    return found


MOST: Final = 10
"""Maximum number of units listed per score."""
QUOTES: Final = 2
"""Maximum number of quotes per unit."""
LONG: Final = 240
"""Maximum number of characters of a text."""


class ThresholdResult(Struct, frozen=True):
    """Whether ``score``, given with its verdicts, meets a threshold; ``unknown`` if unjudged units decide.

    ``limit`` is the minimum value, or the maximum if the score's best value is 0.
    """

    score: Mapping[str, Any]
    limit: float
    outcome: Literal["yes", "no", "unknown"]


def check_threshold(result: Result, metric: str, limit: float) -> ThresholdResult:
    """Check a score; unjudged units count neither for the response nor against it.

    Raise InputError if the metric is disabled or lacks a field.
    """
    try:
        score = with_verdicts(result, result.score(metric))
    except InputError as error:
        raise error.with_traceback(None) from None
    if score["status"] in ("disabled", "missing_field"):
        raise InputError(f"{metric}: {score['status']}: {score['reason']}")
    limit = round(limit, 9)  # like values
    if score["status"] == "judge_failed":
        return ThresholdResult(score, limit, "unknown")
    if score["value"] is None:
        return ThresholdResult(score, limit, "no")
    low, high = score["low"] or 0.0, score["high"] or 0.0
    met, missed = (high <= limit, low > limit) if best_at_zero(metric) else (low >= limit, high < limit)
    return ThresholdResult(score, limit, "yes" if met else "no" if missed else "unknown")


def explain(result: Result, found: Sequence[ThresholdResult], options: Sequence[str] | None) -> str:
    """Explain in plain lines why thresholds are missed, with a command for details unless ``options`` is None."""
    lines: list[str] = []
    for one in found:
        if one.outcome != "yes":
            lines.append(_head(one, result))
            lines += _named(result, one.score) if one.score["status"] != "judge_failed" else ()
    if options is not None:
        command = ["ragstone", "show", str(result.run), handle(result["id"], result["position"]), *options]
        lines.append(f"details: {shlex.join(command)}")
    return "\n".join(lines)


def _head(one: ThresholdResult, result: Result) -> str:
    score, name = one.score, one.score["metric"]
    because = shorten(score["reason"], LONG, "...")
    if score["status"] == "judge_failed":
        return f"{name} could not be judged: {because}"
    if score["value"] is None:
        return f"{name} has no value to compare with {one.limit:g} ({score['status']}): {because}"
    reaches, beyond, best = ("exceeds", "above", "low") if best_at_zero(name) else ("reaches", "below", "high")
    if one.outcome == "unknown":
        low, high, limit = _apart(score["low"], score["high"], one.limit)
        return f"{name} is between {low} and {high}, so it is unclear whether it {reaches} {limit}: {because}"
    value, limit = _apart(score["value"], one.limit)
    tally = shortfall(result, score)
    more = f"; even if all unjudged units were good: {_apart(score[best], one.limit)[0]}" if score["unjudged"] else ""
    return f"{name} is {value}, {beyond} {limit}{': ' if tally else ''}{tally}{more}"


def _named(result: Result, score: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines about wrong and unjudged units, worst first, each with its reason and evidence."""
    units = {unit["id"]: unit for unit in result["units"]}
    shown = (v for v in score["verdicts"] if kind_of(v) == "unjudged" or lowers(score["metric"], v))
    verdicts = sorted(shown, key=lambda verdict: ORDER.index(kind_of(verdict)))
    for verdict in verdicts[:MOST]:
        yield f"  {word(score['metric'], verdict)}: {shorten(unit_text(result, units[verdict['unit']]), LONG, '...')}"
        if told := shorten(why(verdict), LONG, "..."):
            yield f"    why: {told}"
        for quote in verdict["evidence"][:QUOTES]:
            yield f'    {place(result, score["metric"], quote)}: "{shorten(quote["text"], LONG, "...")}"'
    if len(verdicts) > MOST:
        yield f"  and {len(verdicts) - MOST} more"


def _apart(*values: float) -> tuple[str, ...]:
    """Format numbers with two decimals, or more if different numbers would look the same."""
    digits = 2
    while digits < 9 and len({f"{value:.{digits}f}" for value in values}) < len(set(values)):
        digits += 1
    return tuple(f"{value:.{digits}f}" for value in values)
