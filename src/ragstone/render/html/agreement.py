"""Build the page about a judge's agreement with people: matrices, means, annotators, and disagreements to read.

Guarantees: the page is one file that makes no requests. Texts from records, judges and people are never markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import asdict

from ragstone import __version__
from ragstone.analysis.agreement import Agreement, Disagreement, attached
from ragstone.analysis.result import Result
from ragstone.analysis.run import Run
from ragstone.analysis.saved import AnyRun
from ragstone.analysis.verdicts import with_verdicts
from ragstone.render.agreement import agreement_of, figures_of, kappa_said, limits_said, pairs_said, wholes_said
from ragstone.render.html.document import page
from ragstone.render.text import clean, plural, shorten
from ragstone.render.wording import in_words, place

LONGEST: Final = 4000
"""Maximum length, in characters, of a text from a record, a judge or a person."""
QUOTES: Final = 3
"""Maximum number of quotes shown as evidence for a verdict."""


def agreement_page(found: Agreement, run: AnyRun) -> list[bytes]:
    """Return the parts of the page; ``run`` provides the questions and the evidence of the disagreements."""
    raw = run.summary()["metrics"] if isinstance(run, Run) else {}
    told = {
        "ragstone": __version__,
        "run": run.id,
        "store": run.elsewhere if isinstance(run, Run) else "",
        "name": found.name,
        "rows": found.rows,
        "joined": found.joined,
        "agreement": agreement_of(attached(found), raw),
        "people": found.labelled_by,
        "figures": [asdict(one) for one in figures_of(found)],
        "wholes": [
            f"{one.metric}, {wholes_said(one)}: kappa {kappa_said(one.wholes.kappa, one.wholes.interval)} on "
            f"{plural(one.wholes.matrix.n, one.whole)}"
            for one in found.metrics
            if one.wholes is not None and one.wholes is not one.leading
        ],
        "annotators": [asdict(one) for one in found.annotators],
        "pairs": pairs_said(found),
        "disagreements": [_disagreement(one, run) for one in found.disagreements],
        "refused": [
            {"said": one.said, "count": one.count, "first": [_label(row.as_json()) for row in one.first]}
            for one in found.refused
        ],
        "notes": [*limits_said(found)],
    }
    return page("agree", f"Judge and {found.labelled_by}: {found.name}", told, ())


def _label(row: Mapping[str, Any]) -> str:
    return shorten(" \u00b7 ".join(str(row[name]) for name in ("record", "unit", "label") if row.get(name)), 200)


def _disagreement(one: Disagreement, run: AnyRun) -> dict[str, Any]:
    result = run.find(one.record)
    return {
        "metric": one.metric,
        "record": one.record,
        "question": _cut(result["question"] if result is not None else ""),
        "text": _cut(one.text),
        "people": one.people.replace("_", " "),
        "votes": [one.votes.get(one.people, 0), sum(one.votes.values())],
        "judge": one.judge.replace("_", " "),
        "lenient": one.gap > 0,
        "reason": _cut(in_words(result, one.reason) if result is not None else one.reason),
        "quotes": [*_quotes(one, result)][:QUOTES] if result is not None else [],
    }


def _quotes(one: Disagreement, result: Result) -> Iterator[dict[str, str]]:
    """Yield the evidence for the verdict from the score of the metric that has it."""
    for score in result["scores"]:
        if score["metric"].partition(".")[0] == one.metric:
            for verdict in with_verdicts(result, score)["verdicts"]:
                if verdict["unit"] == one.unit:
                    for quote in verdict["evidence"]:
                        yield {"text": _cut(quote["text"]), "place": place(result, score["metric"], quote)}
                    return


def _cut(text: str | None) -> str:
    found = clean(text or "")
    return found if len(found) <= LONGEST else f"{found[: LONGEST - 1]}\u2026"
