"""``ragstone agree``: measure how well a run's judge agrees with people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from ragstone import api
from ragstone.cli.options import AsJson, GroupBy, StorePath, WhichOrFolder, again, arg, command, flag, names, opt
from ragstone.cli.output import answer, html_file
from ragstone.cli.run_commands import app

if TYPE_CHECKING:
    from ragstone.analysis.corrected_means import Method


@command(
    app,
    "ragstone agree last labels.jsonl",
    "ragstone agree last ana.jsonl ben.jsonl --metric grounding --by topic",
    "ragstone agree bm25 labels.jsonl --with dense --with hybrid",
    "ragstone agree last labels.jsonl --attach -o agree.html",
    "ragstone agree out/ labels.jsonl --correction rogan-gladen --json",
)
def agree(
    which: WhichOrFolder,
    gold: list[str] = arg("LABELS", "Labels to compare with: a file, another run, or a field in the records."),
    *,
    others: list[str] | None = opt(
        "--with", "RUN", "Another run by the same judge, of another system or of the same responses. Repeatable."
    ),
    metrics: list[str] | None = opt("--metrics --metric -m", "NAMES", "Compare only these metrics."),
    by: GroupBy = None,
    correction: Literal["ppi", "rogan-gladen"] = opt(
        "--correction", "ppi|rogan-gladen", "Method for correcting means for judge errors", default="ppi"
    ),
    disagreements: int = opt("--disagreements", "N", "Number of disagreements to show", default=5, min=0),
    attach: bool = flag("--attach", "Save the agreement with the run, so that show, report and check include it."),
    out: str | None = opt("--out -o", "FILE|DIR/", "Also write an HTML report."),
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Compare a run's judge with human labels.

    For each metric, the output shows Cohen's kappa with its interval, the confusion matrix, and the mean corrected for
    judge errors. It also lists the largest disagreements and the unused labels. For several systems (--with, or run_id
    in the records), it compares the judge's ranking with people's. For repeats (--with), it shows how much the scores
    vary. No judge is called.
    """
    from ragstone.analysis.run_files import AGREEMENT
    from ragstone.render.terminal.agreement_screen import agreement_page

    method = cast("Method", correction.replace("-", "_"))
    with api.opened(which, store) as run:
        found = api.agree(
            run, gold, others=others or (), metrics=names(metrics) or None, by=by, correction=method,
            disagreements=disagreements,
            attach=attach, out=html_file(out, AGREEMENT), store=store,
        )  # fmt: skip
        answer(found.as_json(), lambda look: agreement_page(found, run, look, again(store)), as_json=as_json)
