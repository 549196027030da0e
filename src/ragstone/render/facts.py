"""Compute the facts of a run once, as plain text for screens, pages, notebooks and plug-ins.

``RunFacts`` reads a finished run in one pass. The text may contain non-ASCII characters such as dashes; renderers for
limited terminals replace them. Nothing here depends on rich, HTML or the name of a metric.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from ragstone import metrics
from ragstone.analysis.cascades import partial, warnings
from ragstone.analysis.counts import absences
from ragstone.analysis.run import Run, part_said, unit_text
from ragstone.analysis.verdicts import with_verdicts, worst_first
from ragstone.metrics.base import HOW_TO_ADD
from ragstone.render import wording
from ragstone.render.agreement import agreement_lines
from ragstone.render.text import NBSP, between, dollars, duration, flat, grouped, number, percent, plural, tokens
from ragstone.stats.points import points

_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9][\w.:/@%+,-]{0,59}", re.ASCII)
ALL: Final = "all metrics"
LEAST_RATE: Final = 0.0001  # the lowest rate printed as a number


class Headline:
    """The mean that represents a run, from its entry in the summary; ``lower`` is the number of responses below 1.

    ``sentence`` is the metric's headline sentence, if it has one; ``short`` is the clause about the ``lower``
    responses.
    """

    def __init__(self, metric: str, entry: Mapping[str, Any], lower: int) -> None:
        signature = entry["signature"]
        judged = entry["units"]["asked"] - entry["units"]["unjudged"]
        self.metric = metric
        self.title = wording.title_of(metric, signature) or metric
        self.scored: int = entry["scored"]
        self.lower = lower
        self.value = percent(entry["mean"], self.scored, entry["interval"])
        self.interval = interval_of(entry)
        self.sentence = sentence = wording.sentence_of(metric, signature)
        self.units = plural(judged, sentence.unit) if sentence and sentence.unit and judged else ""
        self.short = f"{'are' if lower > 1 else 'is'} below 100%" if lower else "No response is below 100%"
        if sentence and not _counts_empty(entry):  # a value set for an empty response says nothing about its claims
            self.short = sentence.falling_short(lower, signature, judged=not entry["units"]["unjudged"])

    def __str__(self) -> str:
        """Return one or two sentences; the number is the mean in the table, and means are over responses."""
        interval = f"95% CI {self.interval}" if self.interval else ""
        value = f"{self.value} ({interval})" if interval else self.value
        if self.sentence is None:
            counted = "; ".join(filter(None, [interval, f"mean over {plural(self.scored, 'record')}"]))
            return f"{self.title[:1].upper()}{self.title[1:]}: {self.value} ({counted})."
        (before, after), every = self.sentence.around, plural(self.scored, "response")
        which = f"{number(self.lower)} of {every} " if self.lower else ""
        counted = f"{self.units} in {every}" if self.units else every
        return f"{before}{value}{after} ({counted}). {which}{self.short}."


def _counts_empty(entry: Mapping[str, Any]) -> bool:
    """Return whether empty scores of a metric count in its mean, with the value that ``on_empty`` sets."""
    statuses = entry["statuses"]
    return bool(entry["scored"] > statuses.get("scored", 0) + statuses.get("partial", 0))


class Cause(Struct, frozen=True):
    """A reason why scores have no value or are based on only some of their units.

    ``metrics`` are for people; ``of`` is the name of one of these scores, empty for unreadable records. ``counted``:
    the scores are empty and have the value that ``on_empty`` sets.
    """

    count: int
    status: str
    reason: str
    metrics: tuple[str, ...]
    of: str
    counted: bool

    @property
    def what(self) -> str:
        """What the records have instead of a score by the judge; empty if scores are partial."""
        return "" if self.status == "partial" else "value set by on_empty" if self.counted else "no score"

    @property
    def lacking(self) -> str:
        """Return ``no score for grounding, trace``, or only the metric names if scores are partial."""
        names = ", ".join(self.metrics)
        return f"{self.what} for {names}" if self.what and names != ALL else self.what or names


class Low(Struct, frozen=True):
    """A record with one of the lowest values: its score, and the verdict and text of each unit that lowers it."""

    result: Mapping[str, Any]
    score: Mapping[str, Any]
    shortfall: str
    units: tuple[tuple[Mapping[str, Any], str], ...]


class RunFacts:
    """Everything shown about a run apart from its records; its summary is read once.

    ``lead`` is the metric of the headline, ``ranked`` the one used to find the lowest records; both are empty if
    nothing has a value. ``cascades`` has for each step which judge answered how many units, where each judge decides,
    and the savings.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.summary: Mapping[str, Any] = run.summary()
        self.lead = leading = lead(self.summary)
        self.ranked = _ranked_by(leading, self.summary)
        entry = self.summary["metrics"].get(leading)
        cascades = self.summary.get("cascade", {})
        self.headline = Headline(leading, entry, entry["below_one"]) if entry else None
        self.doubts = [*doubts(cascades, entry), *_uncounted(leading, self.summary)] if entry else []
        self.part = part_said(run.spec.get("extent", {}))
        self.judges = judges_of(run.spec)
        self.judged_by = judged_by(run.spec)
        self.agreement = agreement_lines(run.agreement)
        self.embedded = wording.embedded_among(self.judges, self.summary)
        self.missing = _missing(self.summary)
        lost = absences(self.summary)
        self.notes = [flat(note) for note in (*self.summary.get("notes", ()), *lost)]
        self.cascades = [(f"{step}: {answered(one)}", sureness(one), saved(one)) for step, one in cascades.items()]
        self.quotes = _quotes_said(run, self.summary)
        self.estimated = estimated(self.summary["estimate"]) if self.summary.get("estimate") else ""
        self.time = duration(self.summary["seconds"]) if "seconds" in self.summary else ""
        self.left_out = list(left_out_said(self.summary.get("left_out", {})))

    @property
    def about(self) -> list[str]:
        """The run's number, its record count, the part of the input that it read, and its status if it is not done."""
        state = self.run.status if self.run.status != "done" else ""
        return [*filter(None, (f"run {self.run.id}", plural(self.summary["records"], "record"), self.part, state))]

    @property
    def said(self) -> str:
        """The run in a few sentences: the headline and reasons to doubt it."""
        mean = str(self.headline or f"Nothing could be scored in {plural(self.summary['records'], 'record')}.")
        return " ".join([mean, *self.doubts])

    def lowest(self, count: int) -> Iterator[Low]:
        """Yield the ``count`` lowest records by the ranking metric, without those whose value is 1 or missing."""
        for result in self.run.lowest(self.ranked, count) if self.ranked else ():
            score = with_verdicts(result, result.score(self.ranked))
            if score["value"] is None or score["value"] >= 1:
                continue
            units = {unit["id"]: unit for unit in result["units"]}
            told = tuple((verdict, unit_text(result, units[verdict["unit"]])) for verdict in worst_first(result, score))
            yield Low(result, score, shortfall(result, score), told)

    def next_command(self, options: Sequence[str]) -> str:
        """Return the command that shows the record with the lowest value; ``options`` locate the store."""
        rows = self.run.store.worst(self.run.id, self.ranked, 1) if self.ranked else []
        position = rows[0].position if rows else 1
        found = self.run.store.result(self.run.id, position=position)
        if found is None:
            return shlex.join(["ragstone", "runs", *options])
        return show_command(self.run, options, handle(found.record, position))


def show_command(run: Run, options: Sequence[str], *which: str) -> str:
    """Return the command that shows a run or one of its records; ``options`` locate the store."""
    return shlex.join(["ragstone", "show", run.called, *which, *options])


def left_out_said(left_out: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the metrics that did not run, with the reason; metrics with the same reason are listed together."""
    reasons = grouped((name, flat(why).removesuffix(HOW_TO_ADD.format(name))) for name, why in left_out.items())
    yield from ((", ".join(names), why) for why, names in reasons.items())


def lead(summary: Mapping[str, Any]) -> str:
    """Return the headline metric of a run: the first with a headline and a mean, else any with a mean."""
    scored = [name for name, metric in summary["metrics"].items() if metric["mean"] is not None]
    return min(scored, key=wording.lead_order, default="")


def _ranked_by(leading: str, summary: Mapping[str, Any]) -> str:
    """Return the metric that ranks records: a finer column if the leading one is all or nothing, else the leading one.

    Empty if the metric is ``exclusive``: a 0 is then neither good nor bad.
    """
    name, _, column = leading.partition(".")
    found = metrics.of_score(leading) if column else None
    finer = f"{name}.{found.ranked_by.get(column, column)}" if found else leading
    scored = finer in summary["metrics"] and summary["metrics"][finer]["mean"] is not None
    return "" if found and found.exclusive else finer if scored else leading


def _missing(summary: Mapping[str, Any]) -> list[Cause]:
    """Return the causes of missing scores, most frequent first."""
    groups: dict[tuple[int, str, str, bool], list[str]] = {}
    causes = summary.get("missing")
    if causes is None:  # the run did not finish: the summary has statuses but no reasons
        causes = [
            {"metric": name, "status": status, "reason": "", "count": count}
            for name, metric in summary["metrics"].items()
            for status, count in metric["statuses"].items()
            if status != "scored"
        ]
    for cause in causes:
        name, status = cause["metric"], cause["status"]
        counted = status == "empty" and _counts_empty(summary["metrics"][name])
        groups.setdefault((cause["count"], status, flat(cause["reason"]), counted), []).append(name)
    if summary["set_aside"]:
        groups[summary["set_aside"], "unreadable", "", False] = [ALL]
    everything = len(summary["metrics"])
    found = []
    for (count, status, reason, counted), names in sorted(groups.items(), key=lambda group: -group[0][0]):
        said = (ALL,) if len(names) == everything and everything > 1 else tuple(wording.folded(names))
        found.append(Cause(count, status, reason, said, names[0] if status != "unreadable" else "", counted))
    return found


# ---- a record


def shortfall(result: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    """Return ``1 of 2 claims not found`` for a score with verdicts; empty if none is wanting or on a part."""
    wanting = worst_first(result, score)
    name, levels = score["metric"], {unit["id"]: unit["level"] for unit in result["units"]}
    level = levels[score["verdicts"][0]["unit"]] if score["verdicts"] else ""
    finer = metrics.column_of(name) in metrics.of_score(name).ranked_by
    if finer and not wanting:
        return "not supported as a whole"
    if level in ("", "response") or not wanting:  # a rank can be lost without a verdict
        return ""
    counted = sum(wording.kind_of(v) != "trivial" for v in score["verdicts"])
    sentence = wording.sentence_of(name, score["signature"])
    unit = sentence.unit if sentence and sentence.unit else metrics.of_score(name).unit
    words = wording.labels_of(name, wanting)
    kind = "no" if all(verdict["value"] <= 0 for verdict in wanting) else "below"
    lacking = words.get(metrics.column_of(name), words["no"]) if metrics.best_at_zero(name) else words[kind]
    lacking = wording.or_contradicted(words, lacking, [verdict["reason"] for verdict in wanting])
    return f"{len(wanting)} of {plural(counted, level if unit == 'response' else unit)} {lacking}".replace(NBSP, " ")


def handle(record: str, position: int) -> str:
    """Return the argument that names a record on the command line: its id if easy to type, else its position."""
    return record if _PLAIN_ID.fullmatch(record) else f"#{position}"


# ---- judges


def judges_of(spec: Mapping[str, Any]) -> list[str]:
    """Return the names of all judges that a run uses without duplicates; empty if no metric calls a judge."""
    return list(dict.fromkeys(name for _, route in _routes(spec) for name in route["judges"]))


def judged_by(spec: Mapping[str, Any]) -> list[str]:
    """Return the judges by name, with the steps that have their own judge and the aggregation of each panel."""
    alike = grouped((step, f": {_route(route)}" if step else _route(route)) for step, route in _routes(spec))
    return [", ".join(steps) + route for route, steps in alike.items()]


def _routes(spec: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the judges of the steps that a run uses; the default ones, without a step, only if a step has no other."""
    known, steps = metrics.catalogue(), spec["steps"]
    chosen = [known.get(name) for name in spec.get("chosen", ())]
    # Unknown if no metric was chosen, or if one is not installed.
    asked = {task for metric in chosen if metric for task in metric.asks} if chosen and all(chosen) else None
    if asked == set():
        return []
    own = [(step, route) for step, route in steps.items() if asked is None or step in asked]
    return own if own and (asked is None or asked <= set(steps)) else [("", spec["default"]), *own]


def _route(route: Mapping[str, Any]) -> str:
    names = route["judges"]
    if route.get("cascade"):
        return " > ".join(names)
    return str(names[0]) if len(names) == 1 else f"{', '.join(names)} (panel, {route['aggregate']})"


def _quotes_said(run: Run, summary: Mapping[str, Any]) -> str:
    """Return the share of quotes from language models that were found; empty without such a judge or any quote."""
    if {judge["provider"] for judge in run.spec.get("judges", {}).values()} <= {"embedded", "human", "nli"}:
        return ""
    quotes = run.quotes()
    if not quotes["named"]:
        return ""
    of_response = [wording.in_response(name) for name in summary["metrics"]]
    where = "the responses" if all(of_response) else "passages and responses" if any(of_response) else "the passages"
    named = quotes["named"]
    said = f"{percent(quotes['verified'], named)} of {number(named)} were found in {where}"
    return f"{said}, {number(quotes['near'])} of them not word for word" if quotes["near"] else said


# ---- cost


def calls_said(bill: Mapping[str, Any]) -> str:
    """Return ``12 sent, 3 replayed from the store``; calls answered by a local judge do not count as sent."""
    judges = {
        who: "the embedded judge" if who == "embedded" else flat(who) for who in bill["here"]
    }  # its id is unclear
    here = [f"{number(bill['here'][who])} answered by {name}" for who, name in judges.items()]
    alone = here and not any(bill[what] for what in ("sent", "retried", "failed"))
    parts = here if alone else [f"{number(bill['sent'])} sent{' to an API' if here else ''}", *here]
    unusable = bill["unusable"]
    if count := unusable["calls"]:
        cost = f" ({dollars(unusable['dollars'])})" if unusable["dollars"] else ""
        parts.append(f"{number(count)} unusable{cost}")
    parts += [f"{number(bill['replayed'])} replayed from the store"] if bill["replayed"] else []
    parts += [f"{number(bill[what])} {what}" for what in ("retried", "failed") if bill[what]]
    parts += [f"{number(bill['unseen'])} not in the store"] if bill["unseen"] else []
    return ", ".join(parts) + ("; no API calls" if alone else "")


def cost_said(bill: Mapping[str, Any]) -> str:
    """Return ``$0.0012; 1.2k tokens in, 300 out``: the cost of the calls, or why there is none."""
    paid, lost = bill["paid"], bill["lost"]["attempts"]
    if not paid["calls"] and not lost:
        if bill["unseen"]:
            return "free (offline)"
        if bill["sent"] or bill["failed"]:
            return "free (no call was answered)"
        return "free (every reply was in the store)" if bill["replayed"] else "free (no call was needed)"
    steps = bill.get("by_step", ())  # pytest's sum of several bills has none
    known = sum(step["dollars"] or 0.0 for step in steps)
    unpriced = sum(step["calls"] for step in steps if step["dollars"] is None)
    least = f"at least {dollars(known)}" if known else "unknown" if paid["unmetered_calls"] else "price unknown"
    parts = [dollars(paid["dollars"]) if paid["dollars"] is not None else least] if paid["calls"] else []
    if paid["input_tokens"] or paid["output_tokens"]:
        cached, thought = paid.get("cached_tokens"), paid.get("reasoning_tokens")
        parts.append(
            f"{tokens(paid['input_tokens'])} tokens in"
            + (f" ({tokens(cached)} cached)" if cached else "")
            + f", {tokens(paid['output_tokens'])} out"
            + (f" ({tokens(thought)} reasoning)" if thought else "")
        )
    if paid["unmetered_calls"] and paid["dollars"] != 0:
        parts.append(f"{plural(paid['unmetered_calls'], 'call')} returned no token counts")
    elif known and unpriced:
        parts.append(f"price unknown for {plural(unpriced, 'call')}")
    if lost:
        also = " also" if parts else ""
        parts.append(f"{plural(lost, 'attempt')} without a complete reply may{also} have been charged")
    return "; ".join(parts)


def estimated(held: Mapping[str, Any]) -> str:
    """Return the estimate of a run, compared with its bill."""
    money, off = held["dollars"], held["error"]["dollars"]
    if money is not None and money["expected"]:
        said = f"{dollars(money['expected'])} ({dollars(money['low'])} to {dollars(money['high'])})"
    else:
        calls, off = {end: round(count) for end, count in held["calls"].items()}, held["error"]["calls"]
        ends = f"{number(calls['low'])} to {number(calls['high'])}"
        said = f"{plural(calls['expected'], 'call')} ({ends})"
    if off is None:
        return said
    share = f"{abs(off) * 100:.0f}%" if abs(off) >= 0.005 else ""
    return f"{said}, {share} {'above' if off > 0 else 'below'} the bill" if share else f"{said}, matched the bill"


# ---- cascades: which judge answered what, where the first one decided, and the savings


def answered(found: Mapping[str, Any]) -> str:
    """Return the number of units that each judge of a step decided, in a run or in one record."""
    counts = found["answered"]
    whole = sum(counts.values()) + found["unjudged"]
    (first, own), *others = counts.items()
    share = f" ({percent(own / whole, whole)})" if whole else ""
    parts = [f"{called(first)} answered {number(own)} of {plural(whole, 'unit')}{share}"]
    parts += [f"{called(judge)} {number(count)}" for judge, count in others]
    return ", ".join(parts) + (f", {number(found['unjudged'])} unjudged" if found["unjudged"] else "")


def sureness(found: Mapping[str, Any]) -> str:
    """Return the accepted error rate and the scores at which each judge but the last decides within it."""
    parts = []
    for judge, band in zip(found["judges"], found["bands"], strict=False):
        ends = {"yes if its score is at least": band["above"], "no if it is at most": band["below"]}
        said = [f"{answer} {score:g}" for answer, score in ends.items() if score is not None]
        parts.append(f"{called(judge)} decides {', '.join(said) or 'nothing'}")
    return f"at an accepted error rate of {rate(found['error'])}, {'; '.join(parts)}"


def saved(found: Mapping[str, Any]) -> str:
    """Return the calls and the money saved compared with sending every unit to the last judge."""
    last, calls, money = called(found["judges"][-1]), found["calls"], found["dollars"]
    if not calls["saved"] and found["answered"][found["judges"][-1]] + found["unjudged"] == found["units"]:
        return f"nothing: every unit went to {last}"
    said = f"{number(calls['saved'])} of {plural(calls['alone'], 'call')}"
    if money["saved"] is None:
        return f"{said} that {last} alone would have needed; the saved cost is unknown"
    if not money["alone"]:
        return f"{said} that {last} alone would have needed; they are free"
    how = "based on the cost of its calls" if found["by"] == "calls" else "based on the estimate"
    share = f"{dollars(max(0.0, money['saved']))} of {dollars(money['alone'])}"
    return f"{said} and {share} that {last} alone would have needed, {how}"


def doubts(told: Mapping[str, Mapping[str, Any]], metric: Mapping[str, Any]) -> list[str]:
    """Return reasons to doubt a mean: a cascade's last judge answered nothing, or too little.

    It is too little if the ``metric``'s possible range in the summary is visible at the printed precision.
    """
    left = partial(told) if possible_mean(metric) else {}
    return [f"{flat(line)}." for line in warnings(told)] + [
        f"{called(last)} left {number(lost)} of the {plural(whole, f'{step} unit')} passed to it unjudged; "
        "the mean favours the easy units."
        for step, (last, lost, whole) in left.items()
    ]


def _uncounted(score: str, summary: Mapping[str, Any]) -> list[str]:
    """Describe the records without a score because they lack a field that the metric needs, or the judge failed."""
    causes = {
        one["reason"]: one["count"]
        for one in summary.get("missing", ())
        if (one["metric"], one["status"]) == (score, "missing_field")
    }
    if failed := summary["metrics"][score]["statuses"].get("judge_failed", 0):
        causes["the judge failed"] = failed
    if not causes:
        return []
    reasons = [why if len(causes) == 1 else f"{why} ({number(count)})" for why, count in causes.items()]
    count = number(sum(causes.values()))
    return [f"No score for {count} of {plural(summary['records'], 'record')}: {', '.join(reasons)}."]


def possible(value: float | None, low: float | None, high: float | None, count: int = 0) -> str:
    """Return the lowest and the highest possible value; empty if both print the same or a value is missing."""
    if value is None or low is None or high is None or points(low, count) == points(high, count):
        return ""
    return between(low, high, count)


def interval_of(metric: Mapping[str, Any]) -> str:
    """Return the 95% interval of a mean in the summary; empty without one."""
    low, high = metric["interval"] or (0.0, 0.0)
    return between(low, high, metric["scored"]) if metric["interval"] else ""


def possible_mean(metric: Mapping[str, Any]) -> str:
    """Return the lowest and the highest possible mean of a metric in the summary; empty if both print the same."""
    return possible(metric["mean"], metric["low"], metric["high"], metric["scored"])


def called(judge: str) -> str:
    """Return a judge's id without its address."""
    return flat(judge).partition("@")[0]


def rate(error: float) -> str:
    """Return an error rate as a percentage without trailing zeros; rates below any fitted one as ``under 0.01%``."""
    if error < LEAST_RATE:
        return f"under {rate(LEAST_RATE)}"
    return f"{100 * error:g}%"


# ---- two methods


def comparable(told: Mapping[str, Any]) -> bool:
    """Return whether a result or a summary has values from both methods."""
    return any(found["difference"] is not None for found in told.get("methods", {}).values())
