"""``ragstone nuggets``: create banks, assign them, score runs; lines to a file or standard output, a page to people."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson
import typer

from ragstone import api
from ragstone.analysis.leaderboard import Standing
from ragstone.cli import estimating, weighing
from ragstone.cli.exit_codes import INTERRUPTED, UNJUDGED, say_unseen
from ragstone.cli.output import Lines, binary_output, lines, show, show_json
from ragstone.cli.progress import RunDisplay
from ragstone.config import assignments
from ragstone.errors import InputError, RagstoneError
from ragstone.output.export import form_of
from ragstone.output.formats.assignments import UNASSIGNED
from ragstone.output.formats.leaderboards import EXTENSIONS, SCORES, write_board, write_board_to
from ragstone.output.target import refuse_inputs
from ragstone.render.terminal.banks import Assigned, assigned_page, created_page
from ragstone.render.terminal.leaderboard_table import Board, board_page, order, sorted_by, unjudged_of
from ragstone.render.text import flat


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say of output."""

    out: str | None
    store: Path | None
    config: Path | None
    quiet: bool
    as_json: bool
    dry_run: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """Those of them that say where lines go, as they are written."""
        return ("-o", self.out) if self.out else ()


# ---- create

_FLAGS: Final = {
    "nugget_recall.window": "--window",
    "nugget_recall.max_nuggets": "--max",
    "nugget_recall.keep": "--keep",
    "nugget_recall.min_judgment": "--min-judgment",
}
"""The options of ``create`` that are parameters of the metric."""


def create(file: str, wanted: Wanted, *, form: str, **options: Any) -> None:
    """Create banks, then tell how many; leave with 3 when there is none."""
    if wanted.dry_run:
        sets = [pair.partition("=") for pair in options["sets"]]
        own = [word for name, _, value in sets for word in (_FLAGS[name], value)]
        own += [*(("--format", form) if form != "nuggets" else ()), *wanted.words]
        estimating.tell(
            ("nuggets", "create"), (file,),
            lambda tried: api.forecast_banks(file, replace(tried, parameters=assignments(options["sets"]))),
            as_json=wanted.as_json, own=own, store=wanted.store, config=wanted.config, **{**options, "sets": ()},
        )  # fmt: skip
        return
    drawn = RunDisplay(flat(file), wanted.quiet, forgets=bool(options.get("no_cache")))
    started = api.Options.written(store=wanted.store, config=wanted.config, on_start=drawn.start, **options)
    with lines(wanted.out, [file], as_json=wanted.as_json) as written:
        try:
            with drawn.going_on():
                created = api.create_nuggets(file, started, written, form=form)
        except KeyboardInterrupt:
            drawn.say_interrupted(written.kept)
            weighing.show_bill(drawn.progress)
            raise typer.Exit(INTERRUPTED) from None
        except RagstoneError:
            weighing.show_bill(drawn.progress)
            raise
    told = _told(created, wanted.out)
    if wanted.as_json:
        show_json(told)
    elif wanted.out or not wanted.quiet:
        judges = drawn.progress.judges if drawn.progress else ()
        show(lambda look: created_page(told, file, judges, look), stderr=not wanted.out)
    say_unseen(created.tally.unseen)
    if not created.topics or created.tally.unseen:
        raise typer.Exit(UNJUDGED)


def _told(created: api.Created, out: str | None) -> dict[str, Any]:
    return {
        "topics": created.topics,
        "nuggets": created.nuggets,
        "vital": created.vital,
        "okay": created.nuggets - created.vital - created.unweighed,
        "unweighed": created.unweighed,
        "partial": created.partial,
        "without": dict(created.without),
        "repeated": created.repeated,
        "set_aside": created.set_aside,
        "bill": created.tally.as_json(),
        "file": out if created.topics else None,
    }


# ---- assign


@dataclass(slots=True)
class _Counting:
    """Passes assignment records on, and counts what is in them."""

    written: Lines
    grades: Counter[str] = field(default_factory=Counter)

    def __call__(self, line: bytes) -> None:
        self.written(line)
        # The nuggets of a blank answer are listed and not assigned.
        self.grades.update(n["assignment"] for n in orjson.loads(line)["nuggets"] if "assignment" in n)

    def assigned(self) -> Assigned:
        """The counts."""
        unjudged = self.grades.pop(UNASSIGNED, 0)
        return Assigned(self.written.count, dict(self.grades), unjudged, str(self.written.path or ""))


def assign(files: tuple[str, ...], wanted: Wanted, *, bank: str | None, **options: Any) -> None:
    """Assign, then tell how much; leave with 3 when nothing could be assigned."""
    if wanted.dry_run:
        estimating.tell(
            ("nuggets", "assign"), files, partial(api.forecast_assignments, files), as_json=wanted.as_json,
            own=wanted.words, store=wanted.store, config=wanted.config, nuggets=bank, **options,
        )  # fmt: skip
        return
    of_run = weighing.Wanted(store=wanted.store, config=wanted.config, quiet=wanted.quiet, as_json=wanted.as_json)
    with lines(wanted.out, [*files, bank], as_json=wanted.as_json) as written:
        counting = _Counting(written)
        finished = weighing.weighed(
            lambda started: api.assign_nuggets(files, started, counting),
            ", ".join(files), of_run, page=None, kept=lambda: written.kept, nuggets=bank, **options,
        )  # fmt: skip
    with closing(finished.store):
        assigned = counting.assigned()
        if wanted.as_json:
            show_json({**finished.summary(), "assigned": assigned.as_json()})
        elif wanted.out or not wanted.quiet:
            place = replace(weighing.place_of(finished, of_run), lines=assigned.file)
            show(lambda look: assigned_page(finished, assigned, look, place), stderr=not wanted.out)
        weighing.leave(finished)


# ---- score


def score(
    files: tuple[str, ...],
    *,
    out: str | None,
    form: str | None,
    on_missing: Any,
    against: str | None,
    against_form: Any,
    sort: str | None,
    as_json: bool,
) -> None:
    """Score, write the rows where they are wanted, and show the table."""
    if out:
        form = form_of(out, form, EXTENSIONS)
        refuse_inputs(Path(out), [*files, against])
    scored = api.score_nuggets(files, on_missing=on_missing, against=against, form=against_form)
    board = scored.board
    if sort is not None and sort not in board.measures:
        raise InputError(f"--sort '{sort}': no such measure; there are {', '.join(board.measures)}")
    measure = sort or sorted_by(board)
    written = write_board_to(board, form or SCORES, out, scored.on_missing) if out else []
    standings = order(board.standings(scored.on_missing), measure)
    if as_json:
        show_json(_scored(scored, standings, measure, written))
        return
    if form and not out:
        stream = binary_output()
        write_board(board, form, stream, scored.on_missing)
        stream.flush()
    told = Board(
        board, standings, measure, scored.on_missing, scored.against, Path(against).name if against else "", written
    )
    show(lambda look: board_page(told, look), stderr=bool(form and not out))


def _scored(scored: api.Scored, standings: list[Standing], measure: str, written: list[Path]) -> dict[str, Any]:
    unjudged = unjudged_of(scored.board)
    return {
        "sorted_by": measure,
        "on_missing": scored.on_missing,
        "runs": [
            {
                "run": standing.run,
                "means": dict(standing.means),
                "topics": dict(standing.topics),
                "missing": standing.missing,
                "unjudged": unjudged[standing.run],
            }
            for standing in standings
        ],
        "missing": scored.board.missing(),
        "against": [
            {"measure": one.measure, "other": one.other, "runs": one.runs, "tau": one.tau} for one in scored.against
        ],
        "files": [str(path) for path in written],
    }
