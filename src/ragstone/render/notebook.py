"""Render runs and results for notebooks as small HTML pages.

Guarantees: every text from a record, a judge or a model is escaped. Nothing is loaded from anywhere, and there are no
scripts. Colours are background tints behind the notebook's own text colour, readable on light and dark pages. No
verdict is shown by colour alone. A page stays small whatever the size of the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup  # a dependency of jinja2, used for its autoescaping

from ragstone.analysis.result import Result
from ragstone.analysis.run import Run, main_scores, unit_text
from ragstone.metrics import of_score
from ragstone.questions import EARLIER, history_of
from ragstone.render.excerpt import evidence_in, pieces
from ragstone.render.facts import RunFacts, cost_said, interval_of, possible, possible_mean
from ragstone.render.text import clean, flat, percent, plural, short_id, shorten
from ragstone.render.wording import ORDER, in_words, kind_of, place, why, word

MOST: Final = 20
"""Maximum number of units, and of passages, on the page of one record."""
WORST: Final = 5
LONG: Final = 4000
"""Maximum length, in characters, of a text from the record."""
QUOTES: Final = 3
"""Maximum number of quotes shown for one text."""
SHORT: Final = 300
"""Maximum length, in characters, of a reason or a quote."""

_TINT: Final = {"no": "rgba(214,95,14,.28)", "partly": "rgba(214,95,14,.14)", "unjudged": "rgba(128,128,128,.22)"}
_LINE: Final = {"no": "2px solid #d65f0e", "partly": "2px dashed #d65f0e", "unjudged": "2px dotted #808080"}
_PAGE: Final = (
    "max-width:60em;overflow-wrap:anywhere;color:inherit;background:transparent;"
    "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5"
)
_TABLE: Final = "font:inherit;border-collapse:collapse;margin:.4em 0;color:inherit;background:transparent"
_CELL: Final = "padding:.15em 1em .15em 0;vertical-align:top;background:transparent;border:0;"
SIGNS: Final = {"no": "\u2717", "partly": "~", "unjudged": "?"}
_QUIET: Final = "opacity:.72"
_RULE: Final = "border-bottom:1px solid rgba(128,128,128,.4);"


def run_page(run: Run) -> str:
    """Return the page of a run: metrics with interval and coverage, missing scores, lowest records, judge and cost."""
    told = RunFacts(run)
    summary = told.summary
    dot = " \u00b7 "
    parts = [
        _title(run.name, dot.join(told.about)),
        _metrics({name: summary["metrics"][name] for name in main_scores(run.spec, summary["metrics"])}),
    ]
    causes = []
    for one in told.missing[:WORST]:
        reason = f"{one.status} ({shorten(one.reason, SHORT)})" if one.reason else one.status
        causes.append((_right(plural(one.count, "record")), reason, _quiet(one.lacking)))
    shown = [
        (_right(percent(low.score["value"])), short_id(low.result["id"]), _quiet(low.shortfall))
        for low in told.lowest(WORST)
    ]
    parts += [_listed("Missing or partial scores", causes), _listed(f"Lowest {told.ranked}", shown)]
    ending = [f"judged by {', '.join(map(flat, told.judged_by))}"]
    if bill := summary.get("bill"):
        ending.append(f"cost: {cost_said(bill)}")
    parts += [Markup("<div>{}</div>").format(line) for line in told.agreement]
    parts += [
        Markup('<div style="{}">{}</div>').format(_QUIET, line) for line in (dot.join(ending), told.embedded) if line
    ]
    return _page(parts)


def result_page(result: Result) -> str:
    """Return the page of a record: question, response with low verdicts marked, reasons, scores and passages."""
    if "set_aside" in result:
        return _page([_title(result["id"], f"run {result.run}"), _section("Unreadable", result["set_aside"])])
    parts = [
        _title(result["id"], f"record {result['position']} \u00b7 run {result.run}"),
        *([_section(EARLIER, _prose(str(history)))] if (history := history_of(result["meta"])) else []),
        _section("Question", _prose(result["question"])),
        _section("Response", _response(result)),
        _wanting(result),
        _section("Scores", _scores(result)),
        _contexts(result),
    ]
    return _page(parts)


# ---- a run


def _metrics(entries: Mapping[str, Mapping[str, Any]]) -> Markup:
    rows: list[Sequence[Markup | str]] = [
        (
            name,
            _right(percent(entry["mean"], entry["scored"], entry["interval"])),
            _right(interval) if (interval := interval_of(entry)) else "",
            _bar(entry["mean"]),
            _right(f"{entry['scored']:,} of {entry['total']:,}"),
            _right(ends) if (ends := possible_mean(entry)) else "",
        )
        for name, entry in entries.items()
    ]
    heads = ("", _right("mean"), _right("95% CI"), "", _right("scored"), _right("could be"))
    used = [column for column in range(len(heads)) if any(row[column] for row in rows)]
    return _table([heads[column] for column in used], [[row[column] for column in used] for row in rows])


def _bar(mean: float | None) -> Markup:
    """Draw the mean as a bar; the number is in another column."""
    if mean is None:
        return Markup("")
    return Markup(
        '<div aria-hidden="true" style="width:8em;height:.6em;margin-top:.45em;background:rgba(128,128,128,.25)">'
        '<div style="width:{}%;height:100%;background:#4a86c5"></div></div>'
    ).format(f"{100 * mean:.1f}")


# ---- a record


def _response(result: Result) -> Markup:
    text = result["response"]
    if text is None or not text.strip():
        return _prose(text)
    kinds = [("", "")] * min(len(text), LONG)
    for start, end, kind, said in sorted(_judged(result), key=lambda judged: -ORDER.index(judged[2])):
        kinds[start : min(end, len(kinds))] = [(kind, said)] * max(0, min(end, len(kinds)) - start)
    drawn, at = Markup(""), 0
    for end in range(1, len(kinds) + 1):
        if end == len(kinds) or kinds[end] != kinds[at]:
            drawn += _stretch(text[at:end], *kinds[at])
            at = end
    return Markup('<div dir="auto" style="white-space:pre-wrap">{}</div>').format(drawn + _rest(text))


def _judged(result: Result) -> Iterator[tuple[int, int, str, str]]:
    """Yield the judged spans of the response: start, end, kind of verdict and its label text, for each score."""
    units = {unit["id"]: unit for unit in result["units"]}
    for score in result["scores"]:
        if of_score(score["metric"]).task() in ("relevance", "assign"):
            continue
        for verdict in score["verdicts"]:
            unit = units[verdict["unit"]]
            if unit["start"] is not None and unit["level"] in ("sentence", "claim", "nugget"):
                yield unit["start"], unit["end"], kind_of(verdict), word(score["metric"], verdict)


def _stretch(text: str, kind: str, said: str) -> Markup:
    if kind not in _TINT:
        return Markup("{}").format(clean(text))
    style = f"background:{_TINT[kind]};border-bottom:{_LINE[kind]};color:inherit"
    return Markup('<span style="{}" title="{}">{}<sup>{}</sup></span>').format(style, said, clean(text), SIGNS[kind])


def _wanting(result: Result) -> Markup:
    units = {unit["id"]: unit for unit in result["units"]}
    found: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for score in result["scores"]:
        for verdict in score["verdicts"]:
            if kind_of(verdict) in _TINT:
                text = flat(unit_text(result, units[verdict["unit"]]))
                found.setdefault(text.rstrip(".!?"), []).append((text, score["metric"], verdict))
    told = sorted(found.values(), key=lambda entries: min(ORDER.index(kind_of(verdict)) for _, _, verdict in entries))
    rows: list[Sequence[Markup | str]] = [_fallen(result, entries) for entries in told[:MOST]]
    if len(told) > MOST:
        rows.append(("", _quiet(f"and {len(told) - MOST} more")))
    return _listed("Lowest verdicts", rows)


def _fallen(result: Result, entries: Sequence[tuple[str, str, Mapping[str, Any]]]) -> tuple[Markup, Markup]:
    """Return the verdict of each score on a text, and the text with its distinct reasons and first quotes."""
    whys = dict.fromkeys(shorten(in_words(result, why(verdict)), SHORT) for _, _, verdict in entries)
    quotes = dict.fromkeys(
        _quote(result, metric, quote) for _, metric, verdict in entries for quote in verdict["evidence"]
    )
    body = [
        Markup('<div dir="auto">{}</div>').format(shorten(entries[0][0], SHORT)),
        *map(_quiet, whys),
        *[*quotes][:QUOTES],
    ]
    return Markup("").join(_sign(metric, verdict) for _, metric, verdict in entries), Markup("").join(body)


def _sign(metric: str, verdict: Mapping[str, Any]) -> Markup:
    kind = kind_of(verdict)
    sign = Markup('<span style="border-bottom:{}">{} {}</span>').format(_LINE[kind], SIGNS[kind], word(metric, verdict))
    return Markup('<div style="white-space:nowrap">{} {}</div>').format(sign, _quiet(metric, "span"))


def _quote(result: Result, metric: str, quote: Mapping[str, Any]) -> Markup:
    return Markup('<div dir="auto">{} \u201c{}\u201d</div>').format(
        _quiet(place(result, metric, quote), "span"), shorten(quote["text"], SHORT)
    )


def _scores(result: Result) -> Markup:
    rows = []
    for score in result["scores"]:
        could = possible(score["value"], score["low"], score["high"])
        could = could and f"could be {could}%"
        status = "" if score["status"] == "scored" else score["status"]
        told = "; ".join(part for part in (status, could, shorten(score["reason"], SHORT)) if part)
        rows.append((score["metric"], _right(percent(score["value"])), _quiet(told)))
    return _table((), rows)


def _contexts(result: Result) -> Markup:
    quoted, contexts = evidence_in(result), result["contexts"]
    rows: list[tuple[Any, ...]] = [
        (_right(str(context["rank"])), _passage(context["text"], quoted.get(context["id"], ())))
        for context in contexts[:MOST]
    ]
    if len(contexts) > MOST:
        rows.append(("", _quiet(f"and {len(contexts) - MOST} more")))
    return Markup('<details><summary style="cursor:pointer;margin-top:.5em">{}</summary>{}</details>').format(
        plural(len(contexts), "passage"), _table((), rows)
    )


def _passage(text: str, spans: Sequence[tuple[int, int]]) -> Markup:
    """Draw a passage with its evidence underlined; of a long one, only the text around the evidence."""
    drawn = Markup("")
    for start, end, evidence in pieces(text, spans, full=len(text) <= LONG):
        if start < 0:
            drawn += " \u2026 "
        elif evidence:
            style = "background:rgba(74,134,197,.25);color:inherit;text-decoration:underline"
            drawn += Markup('<mark style="{}">{}</mark>').format(style, clean(text[start : min(end, start + LONG)]))
        else:
            drawn += clean(text[start : min(end, start + LONG)])
    return Markup('<div dir="auto" style="white-space:pre-wrap">{}</div>').format(drawn)


# ---- parts of pages; everything except Markup is escaped


def _page(parts: Iterable[Markup]) -> str:
    return str(Markup('<div style="{}">{}</div>').format(_PAGE, Markup("").join(parts)))


def _title(name: str, facts: str) -> Markup:
    return Markup('<div><b dir="auto">{}</b>&ensp;{}</div>').format(shorten(name, 80), _quiet(facts, "span"))


def _section(title: str, *blocks: Markup | str) -> Markup:
    body = Markup("").join(blocks)
    return Markup('<div style="margin-top:.5em"><b>{}</b>{}</div>').format(title, Markup("<div>{}</div>").format(body))


def _listed(title: str, rows: Sequence[Sequence[Markup | str]]) -> Markup:
    return _section(title, _table((), rows)) if rows else Markup("")


def _table(heads: Sequence[Markup | str], rows: Iterable[Sequence[Markup | str]]) -> Markup:
    cell = Markup('<td style="{}text-align:left">{}</td>')
    head = Markup('<th style="{}text-align:left;font-weight:normal;opacity:.72">{}</th>')
    lines = [Markup("").join(head.format(_CELL + _RULE, text) for text in heads)] if heads else []
    lines += [Markup("").join(cell.format(_CELL, text) for text in row) for row in rows]
    body = Markup("").join(Markup('<tr style="background:transparent">{}</tr>').format(line) for line in lines)
    return Markup('<table style="{}">{}</table>').format(_TABLE, body)


def _right(text: str) -> Markup:
    style = "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"
    return Markup('<div style="{}">{}</div>').format(style, text)


def _quiet(text: str, tag: str = "div") -> Markup:
    return Markup('<{} dir="auto" style="{}">{}</{}>').format(tag, _QUIET, text, tag) if text else Markup("")


def _prose(text: str | None) -> Markup:
    if text is None or not text.strip():
        return _quiet("none" if text is None else "blank")
    return Markup('<div dir="auto" style="white-space:pre-wrap">{}{}</div>').format(clean(text[:LONG]), _rest(text))


def _rest(text: str) -> Markup:
    return (
        _quiet(f"\u2026 and {plural(len(text) - LONG, 'more character')}", "span") if len(text) > LONG else Markup("")
    )
