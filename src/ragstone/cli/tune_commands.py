"""``ragstone tune``: find the judge, style, format and threshold that agree best with people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from ragstone.cli.exit_codes import INTERRUPTED, UNJUDGED, say, say_unseen, undisturbed
from ragstone.cli.options import AsJson, File, Quiet, arg, command, flag, names, opt, with_options
from ragstone.cli.output import answer, show
from ragstone.cli.run_commands import app
from ragstone.errors import ConfigError
from ragstone.options import RunOptions

if TYPE_CHECKING:
    from ragstone.api.tuning import Tuner
    from ragstone.options import Progress


Names = list[str] | None
NOT_OF_A_RUN = (
    "judge", "prompts", "aggregate", "cascade_error", "max_cost", "max_calls", "max_tokens", "refresh", "offline",
)  # fmt: skip
"""Options that a run with the written winner does not repeat: they are in the file, or about the tuning alone."""


@command(
    app,
    "ragstone tune labels.jsonl traces.jsonl -j openai:A -j openai:B",
    "ragstone tune labels.jsonl traces.jsonl -j openai:A --styles short_cot",
    "ragstone tune labels.jsonl traces.jsonl -j openai:A --prompt support=a.md",
    "ragstone tune labels.jsonl traces.jsonl -j embedded --threshold --write",
)
@with_options(
    "tune",
    judge="Judge, panel or cascade to compare; STEP=NAME sets the judge of another step. Repeatable.",
    prompts="Another prompt to compare: STEP=FILE or STEP=STYLE. Repeatable.",
    max_cost="Stop before the total cost exceeds this; exits 4.",
    max_calls="Stop before the total number of answered API calls exceeds this; exits 4.",
    max_tokens="Stop before the total number of tokens (in + out) exceeds this; exits 4.",
)
def tune(
    labels: Annotated[str, arg("LABELS", "Labels file, as exported from the label page.")],
    file: File,
    *,
    styles: Names = opt("--styles", "NAMES", "Prompt styles to compare."),
    formats: Names = opt("--formats", "NAMES", "Label formats to compare."),
    metric: str | None = opt("--metric --metrics -m", "NAME", "Metric to compare, if the file has labels for several."),
    threshold: bool = flag("--threshold", "Fit the threshold of judges that give probabilities."),
    write: bool = flag("--write", "Write the winner to ragstone.toml."),
    yes: bool = flag("--yes -y", "Do not ask before spending money."),
    seed: int = opt("--seed", "S", "Random seed for the split into halves", default=0),
    options: RunOptions,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the judge and prompt that agree best with people.

    After an estimate, every combination of judge, style and format is tried on the labelled units and ranked by Cohen's
    kappa. The winner is chosen on one half of the records and measured on the other. Replies are cached, so the same
    command resumes where it stopped.
    """
    from ragstone.api.tuning import tuner
    from ragstone.config import as_list
    from ragstone.render.terminal.tune_screen import tune_page

    made = tuner(
        labels, file, as_list(options.judge), styles=names(styles), formats=names(formats), metric=metric,
        threshold=threshold, seed=seed, options=replace(options, judge=None),
    )  # fmt: skip
    _estimate(made, yes=yes, quiet=quiet)
    _ask_all(made, quiet=quiet)
    found = made.result()
    written, refused = None, None
    try:
        written = made.write(found) if write and found.winner.read else None
    except ConfigError as error:  # first show the result, which was paid for
        refused = error
    told = {"file": str(written[0]), "added": written[1]} if written else None
    if written:
        others = [word for step, judge in made.others.items() for word in ("-j", f"{step}={judge}")]
        command = ["run", file, "-m", found.metric, *others, *options.words(without=NOT_OF_A_RUN)]
    else:
        own = _typed(styles, formats, metric, seed, threshold=threshold)
        command = ["tune", labels, file, *options.words(), *own, *(["--write"] if found.winner.read else [])]
    answer(
        {**found.as_json(), "written": told},
        lambda look: tune_page(found, [made.labels, made.name], look, ["ragstone", *command], written),
        as_json=as_json,
    )
    say_unseen(found.bill["unseen"])
    if refused is not None:
        raise refused
    if not found.winner.read or found.bill["unseen"]:
        raise typer.Exit(UNJUDGED)


def _typed(styles: Names, formats: Names, metric: str | None, seed: int, *, threshold: bool) -> list[str]:
    pairs: list[tuple[str, Any]] = [("--styles", ",".join(names(styles))), ("--formats", ",".join(names(formats)))]
    pairs += [("--metric", metric), ("--seed", seed)]
    return [word for flag, value in pairs if value for word in (flag, str(value))] + ["--threshold"] * threshold


def _estimate(made: Tuner, *, yes: bool, quiet: bool) -> None:
    """Print the estimate of all combinations; on a terminal, ask before spending money."""
    from ragstone.render.terminal.tune_screen import estimate_lines

    estimate = made.forecast()
    if estimate is None or not estimate["calls"]["high"]:
        return
    if not quiet:
        show(lambda _: estimate_lines(made.combinations, made.estimates, estimate), stderr=True)
    free = estimate["dollars"] is not None and not estimate["dollars"]["high"]
    if not free and not yes and at_a_terminal() and not _confirmed():
        say("note", "nothing was sent")
        raise typer.Exit(INTERRUPTED)


def at_a_terminal() -> bool:
    """Return whether standard input is a terminal, so that the user can be asked."""
    return sys.stdin.isatty()


def _confirmed() -> bool:
    """Ask whether to continue; the end of the input means no."""
    try:
        return typer.confirm("Continue?", err=True)
    except typer.Abort:
        return False


def _ask_all(made: Tuner, *, quiet: bool) -> None:
    """Run every combination and show its progress."""
    from ragstone.cli.progress import RunDisplay

    count = len(made.combinations)
    for number, combination in enumerate(made.combinations, 1):
        where = f"{combination}, {number} of {count}"
        drawn = RunDisplay(where, quiet)

        def start(progress: Progress, drawn: RunDisplay = drawn, where: str = where) -> None:
            progress.survey, progress.judges = replace(progress.survey, name=where), (where,)
            drawn.start(progress)

        try:
            with drawn.going_on():
                made.ask(combination, start)
        except KeyboardInterrupt:
            with undisturbed():
                say("note", f"interrupted at {where}; all replies are stored: run the same command to continue")
            raise typer.Exit(INTERRUPTED) from None
