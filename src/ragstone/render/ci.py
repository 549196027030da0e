"""Render a check or a comparison for CI: JUnit XML, or Markdown for a job summary or a comment.

Guarantees: the XML is well-formed XML 1.0 whatever the records contain, with one test case per threshold. In the
Markdown, no text from a record or a model acts as markup, a link or a mention.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ragstone.analysis.check import CheckResult
from ragstone.analysis.compare import Comparison
from ragstone.render import comparison
from ragstone.render.agreement import agreement_lines
from ragstone.render.comparison import Behind
from ragstone.render.text import clean, percent, plural, shorten

_short = partial(shorten, cells=300)
"""Shorten a text from a record or a judge to one line."""
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP: Final = re.compile(
    r"[^\w\s.,;:%()/'\"+=<\u2013\u2026\u2212-]"  # anything but letters, digits and harmless signs
    r"|<(?![\d ])|(?<![^\W_])_|_(?![^\W_])"  # start of a tag; underscore at a word boundary
    r"|://|(?<=www)\."  # makes a URL a link
    r"|^[-+=]|^\d{1,9}[.)](?=\s)",  # makes a line a list item
    re.IGNORECASE,
)


# ---- JUnit


def junit(gate: CheckResult) -> bytes:
    """Return a test suite with one case per threshold; a threshold that could not be checked is an error.

    An undecided drop is skipped, or a failure if undecided thresholds may not pass.
    """
    undecided = "skipped" if gate.undecided == "pass" else "failure"
    kinds = {"failed": "failure", "undecided": undecided, "error": "error", "passed": ""}
    found = Counter(kinds[decision.outcome] for decision in gate.decisions)
    names = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {
        "tests": str(len(gate.decisions)),
        **{name: str(found[kind]) for name, kind in names.items()},
        "time": "0",
    }
    root = Element("testsuites", {"name": "ragstone", **{k: v for k, v in counts.items() if k != "skipped"}})
    suite = SubElement(root, "testsuite", {"name": _xml(f"ragstone check {_short(gate.name)}"), **counts})
    lines = [
        *(("agreement", _short(line)) for line in agreement_lines(gate.agreement)),
        *(("note", _short(note)) for note in gate.notes),
    ]
    properties = SubElement(suite, "properties") if lines else suite
    for name, line in lines:
        SubElement(properties, "property", {"name": name, "value": _xml(line)})
    records = {id(one.decision): one for one in comparison.behind(gate)}
    for decision in gate.decisions:
        of, name = _short(decision.threshold.metric), _short(comparison.threshold_said(decision))
        case = SubElement(suite, "testcase", {"classname": _xml(f"ragstone.{of}"), "name": _xml(name), "time": "0"})
        said = _short(decision.said)
        text = "\n".join([said, *map(_short, decision.notes), *_told(records.get(id(decision)))])
        if decision.outcome == "passed":
            SubElement(case, "system-out").text = _xml(text)
        else:
            told = {"message": _xml(f"undecided: {said}" if decision.outcome == "undecided" else said)}
            kind = kinds[decision.outcome]
            told |= {} if kind == "skipped" else {"type": decision.threshold.kind}  # skipped cases have no type
            SubElement(case, kind, told).text = _xml(text)
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _told(found: Behind | None) -> Iterator[str]:
    """Yield the records behind a threshold that was not met, each with the units that lower its score."""
    if found is None:
        return
    if found.as_for:
        yield f"the same records as for {_short(found.as_for)}"
    for at, (worst, units) in enumerate(found.records):
        if units or not at:
            yield ""
        yield f"{_short(worst.record)}  {_short(comparison.record_said(worst))}"
        for unit in units:
            yield f"  - {_short(unit.text)}"
            if unit.reason:
                yield f"    {_short(unit.reason)}"


def _xml(text: str) -> str:
    """Remove characters that XML 1.0 forbids or a terminal would interpret; ElementTree escapes the rest."""
    return _NO_XML.sub("", clean(text))


# ---- Markdown


def markdown(gate: CheckResult) -> bytes:
    """Return a heading, a row per threshold, and the records behind failed or undecided thresholds."""
    where = f"{_plain(gate.name)} ({plural(gate.records, 'record')})"
    against = f", compared with {_plain(gate.baseline)}" if gate.baseline else ""
    said = [part for line in (*agreement_lines(gate.agreement), *gate.notes) for part in (f"{_plain(line)}.", "")]
    lines = [
        f"## Ragstone: {comparison.outcome_said(gate)}", "", f"{where}{against}", "", *said,
        "| | metric | required | found |", "|---|---|---|---|",
    ]  # fmt: skip
    for decision in gate.decisions:
        threshold = decision.threshold
        told = "; ".join(map(_plain, (decision.found, *decision.notes)))
        outcome = f"**{decision.outcome}**" if decision.outcome != "passed" else decision.outcome
        lines.append(f"| {outcome} | {_plain(threshold.metric)} | {comparison.required_said(threshold)} | {told} |")
    for found in comparison.behind(gate):
        lines += ["", f"### {_plain(comparison.worst_said(found.decision))}", ""]
        lines += [f"The same records as for {_plain(found.as_for)}."] if found.as_for else []
        for worst, units in found.records:
            lines.append(f"- {_plain(worst.record)}: {_plain(comparison.record_said(worst))}")
            for unit in units:
                reason = f" \u2013 {_plain(unit.reason)}" if unit.reason else ""
                lines.append(f"  - {_plain(unit.text)}{reason}")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def compared(found: Comparison) -> bytes:
    """Return a comparison in Markdown: the headline, a row per metric, the findings, caveats, and changed records."""
    sides = [f"{side.name} ({side.place}, {plural(side.records, 'record')})" for side in (found.first, found.second)]
    before, after = (_plain(side.label.removeprefix("the ")) for side in (found.first, found.second))
    leading = comparison.leading_of(found)
    lines = [
        "## Ragstone: comparison", "", f"Compared: {' and '.join(map(_plain, sides))}", "",
        _plain(comparison.headline(found, leading)), "",
        f"| metric | {before} | {after} | points | 95% CI | p | better/same/worse |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for one in found.metrics:
        cells = [
            _plain(one.metric), percent(one.first.mean, one.pairs), percent(one.second.mean, one.pairs),
            comparison.differences_said(one)[0] or "-",
            comparison.interval_said(one), comparison.p_said(one.adjusted), comparison.ways_said(one),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"- {_plain(line)}" for line in (*comparison.findings(found), *comparison.notes(found)))]
    for title, told in comparison.limits(found).items():
        lines += ["", f"### {title}", "", *(f"- {_plain(line)}" for line in told)] if told else []
    if leading is not None and leading.moved:
        lines += ["", f"### {_plain(comparison.moved_title(leading))}", ""]
        for moved in leading.moved:
            ends = f"{percent(moved.first)} to {percent(moved.second)}"
            lines.append(f"- {_plain(moved.record)}: {ends} ({100 * moved.difference:+.0f})")
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _plain(text: str) -> str:
    """Escape text so that none of it acts as markup: replace risky characters with numeric character references."""
    return _MARKUP.sub(lambda match: "".join(f"&#{ord(sign)};" for sign in match[0]), _short(text))
