"""``ragstone nuggets``: create banks, assign nuggets and score runs; write lines to a file or standard output."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import orjson
import typer
from msgspec import Struct, field
from msgspec.structs import asdict, replace

from ragstone import api
from ragstone.cli.exit_codes import INTERRUPTED, UNJUDGED, say_unseen
from ragstone.cli.options import (
    BareOptions,
    DryRun,
    File,
    OutFile,
    Quiet,
    arg,
    command,
    flag,
    group,
    opt,
    wants_json,
    with_options,
)
from ragstone.cli.output import Lines, binary_output, lines, show, show_json
from ragstone.errors import InputError, RagstoneError
from ragstone.options import RunOptions

if TYPE_CHECKING:
    from ragstone.analysis.leaderboard import Standing
    from ragstone.api import Scored
    from ragstone.render.terminal.nugget_screens import Assigned

nuggets = group(
    "Create nuggets, assign them, and score systems.",
    "ragstone nuggets create topics.jsonl -o bank.jsonl",
    "ragstone nuggets assign a.jsonl --nuggets bank.jsonl -o assigned.jsonl",
    "ragstone nuggets score assigned.jsonl",
)


@command(
    nuggets,
    "ragstone nuggets create topics.jsonl -o bank.jsonl",
    "ragstone nuggets create topics.jsonl -j openai:gpt-4o --keep 0 -o bank.jsonl",
    "ragstone nuggets create topics.jsonl -j openai:gpt-4o-mini | head -3",
)
@with_options(
    "create",
    judge="Judge for all steps or for one step; importance=[A,B] is a panel. Repeatable.",
    no_cache="Bypass the cache.",
)
def create(
    file: File,
    *,
    out: OutFile = None,
    form: Literal["nuggets", "autojudge"] = opt(
        "--format -f",
        "nuggets|autojudge",
        "Write nugget records or TREC AutoJudge banks",
        default="nuggets",
    ),
    window: int | None = opt("--window", "N", "Passages per call [default: 10]", min=1),
    most: int | None = opt("--max", "N", "Max nuggets to collect per bank [default: 30]", min=1),
    keep: int | None = opt("--keep", "N", "Nuggets to keep per bank, vital first; 0 keeps all [default: 20]", min=0),
    min_judgment: float | None = opt(
        "--min-judgment", "X", "Skip passages whose relevance judgment in the input is below X [default: 2]"
    ),
    options: RunOptions,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Create a bank of nuggets for each topic.

    Nuggets are facts that a good answer should contain. They are taken from the passages of a topic's first record. One
    line per bank is written as soon as the bank is complete. Replies are cached, so the same command resumes where it
    stopped. The exit code is 3 if no bank could be created.
    """
    from ragstone.cli.evaluating import estimate, show_bill
    from ragstone.cli.progress import RunDisplay
    from ragstone.render.terminal.nugget_screens import created_page
    from ragstone.render.text import flat

    given = {"window": window, "max_nuggets": most, "keep": keep, "min_judgment": min_judgment}
    parameters = {name: value for name, value in given.items() if value is not None}
    options = replace(options, parameters={"nugget_recall": parameters})
    if dry_run:
        own = [word for name, value in parameters.items() for word in (_FLAGS[name], f"{value:g}")]
        own += [*(("--format", form) if form != "nuggets" else ()), *(("-o", out) if out else ())]
        forecast = partial(api.forecast_banks, file)
        estimate("nuggets create", [file], forecast, options, own=own, without=("parameters",))
        return
    drawn = RunDisplay(flat(file), quiet, forgets=options.no_cache)
    with lines(out, [file]) as written:
        try:
            with drawn.going_on():
                created = api.create_nuggets(file, replace(options, on_start=drawn.start), written, form=form)
        except KeyboardInterrupt:
            drawn.say_interrupted(written.kept)
            show_bill(drawn.progress)
            raise typer.Exit(INTERRUPTED) from None
        except RagstoneError:
            show_bill(drawn.progress)
            raise
    told = asdict(created)
    told |= {
        "okay": created.nuggets - created.vital - created.without_importance,
        "bill": told.pop("tally").as_json(), "file": out if created.topics else None,
    }  # fmt: skip
    if wants_json():
        show_json(told)
    elif out or not quiet:
        judges = drawn.progress.judges if drawn.progress else ()
        show(lambda look: created_page(told, file, judges, look), stderr=not out)
    say_unseen(created.tally.unseen)
    if not created.topics or created.tally.unseen:
        raise typer.Exit(UNJUDGED)


_FLAGS: Final = {"window": "--window", "max_nuggets": "--max", "keep": "--keep", "min_judgment": "--min-judgment"}
"""The options of ``create`` that are parameters of nugget_recall."""


@command(
    nuggets,
    "ragstone nuggets assign answers.jsonl --nuggets bank.jsonl -o assigned.jsonl",
    "ragstone nuggets assign a.jsonl b.jsonl --nuggets bank.jsonl -o out.jsonl",
    "ragstone nuggets assign a.jsonl -j openai:gpt-4o --no-evidence -o out.jsonl",
    cls=BareOptions,
)
@with_options("assign")
def assign(
    files: list[str] = arg("FILE", "Records in the formats that 'ragstone run' reads; one file per system."),
    *,
    out: OutFile = None,
    grades: int | None = opt("--grades", "3|2", "3: full, partial or none; 2: full or none [default: 3]", min=2, max=3),
    evidence: bool = flag(
        "--evidence/--no-evidence", "Ask for a quote from the response for each nugget [default: yes]", default=True
    ),
    options: RunOptions,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Assign nuggets to responses.

    The judge decides which of the topic's nuggets each response contains. One line per response is written as soon as
    it is complete. The run is saved in the store, for ragstone show and export. The exit code is 3 if no
    nugget could be assigned.
    """
    from ragstone.cli.evaluating import estimate, evaluated, exit_if_unjudged, place_of
    from ragstone.render.terminal.nugget_screens import assigned_page

    paths = tuple(files)
    given = {**({} if grades is None else {"grades": grades}), **({} if evidence else {"evidence": False})}
    parameters = dict(options.parameters or {})
    options = replace(
        options, parameters={**parameters, "nugget_recall": {**parameters.get("nugget_recall", {}), **given}}
    )
    if dry_run:
        forecast = partial(api.forecast_assignments, paths)
        own = ("-o", out) if out else ()
        estimate("nuggets assign", paths, forecast, options, own=own)
        return
    with lines(out, [*paths, options.nuggets]) as written:
        counting = _Counting(written)
        finished = evaluated(
            lambda started: api.assign_nuggets(paths, started, counting),
            ", ".join(paths), options, None, quiet=quiet, kept=lambda: written.kept,
        )  # fmt: skip
    with closing(finished.store):
        assigned = counting.assigned()
        if wants_json():
            show_json({**finished.summary(), "assigned": assigned})
        elif out or not quiet:
            place = replace(place_of(finished, options), lines=assigned.file)
            show(lambda look: assigned_page(finished, assigned, look, place), stderr=not out)
        exit_if_unjudged(finished)


class _Counting(Struct):
    """Forwards assignment records and counts their contents."""

    written: Lines
    grades: Counter[str] = field(default_factory=Counter)

    def __call__(self, line: bytes) -> None:
        self.written(line)
        # The nuggets of a blank answer are listed, but not assigned.
        self.grades.update(n["assignment"] for n in orjson.loads(line)["nuggets"] if "assignment" in n)

    def assigned(self) -> Assigned:
        """Return the counts by name."""
        from ragstone.records.values import UNASSIGNED
        from ragstone.render.terminal.nugget_screens import Assigned

        unjudged = self.grades.pop(UNASSIGNED, 0)
        return Assigned(self.written.count, dict(self.grades), unjudged, str(self.written.path or ""))


@command(
    nuggets,
    "ragstone nuggets score assigned.jsonl",
    "ragstone nuggets score assigned.jsonl --sort vital -o scores.jsonl",
    "ragstone nuggets score assigned.jsonl --format trec_eval -o boards/",
    "ragstone nuggets score assigned.jsonl --against people.jsonl",
)
def score(
    files: list[str] = arg("FILE", "Assignment records (output of 'ragstone nuggets assign')."),
    *,
    out: str | None = opt("--out -o", "FILE|DIR/", "Write rows to a file, or to a folder with one file per system."),
    form: Literal["scores", "trec_eval", "tot", "ir_measures", "jsonl"] | None = opt(
        "--format -f", "FORMAT", "scores, trec_eval, tot, ir_measures or jsonl [default: scores]"
    ),
    on_missing: Literal["error", "warn", "skip", "zero"] = opt(
        "--on-missing",
        "HOW",
        "What to do if a system lacks a topic: error, warn, skip or zero",
        default="warn",
    ),
    against: str | None = opt(
        "--against", "FILE", "Compare the ranking with this leaderboard, or with rows written by -o."
    ),
    against_form: Literal["auto", "trec_eval", "tot", "ir_measures", "jsonl"] = opt(
        "--against-format",
        "FORMAT",
        "Format of --against: auto, trec_eval, tot, ir_measures or jsonl",
        default="auto",
    ),
    sort: str | None = opt("--sort", "MEASURE", "Sort by this measure [default: strict_vital, if available]"),
) -> None:
    """Score systems by their assigned nuggets.

    The output is a table with six measures per system. No judge is called. A system's means cover only the topics that
    it answered. With --on-missing skip, a topic that any system lacks is excluded for all systems; with zero, it counts
    as 0 for that system. With --format but no -o, rows go to standard output; trec_eval allows this for one
    system only.
    """
    from ragstone.output.export import form_of
    from ragstone.output.formats.leaderboards import EXTENSIONS, SCORES, write_board, write_board_to
    from ragstone.output.target import refuse_inputs
    from ragstone.render.terminal.leaderboard_table import Board, board_page, has_values, order, sorted_by

    if out == "-":
        out, form = None, form or SCORES
    chosen = form_of(out, form, EXTENSIONS) if out else form
    if out:
        refuse_inputs(Path(out), [*files, against])
    scored = api.score_nuggets(tuple(files), on_missing=on_missing, against=against, form=against_form)
    board = scored.board
    if sort is not None and sort not in board.measures:
        raise InputError(f"--sort '{sort}': no such measure; expected one of {', '.join(board.measures)}")
    if sort is not None and not has_values(board, sort):
        raise InputError(f"--sort {sort}: no {'nugget is marked vital' if 'vital' in sort else 'system has a value'}")
    measure = sort or sorted_by(board)
    written = write_board_to(board, chosen or SCORES, out, scored.on_missing) if out else []
    standings = order(board.standings(scored.on_missing), measure)
    if wants_json():
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


def _scored(scored: Scored, standings: list[Standing], measure: str, written: list[Path]) -> dict[str, Any]:
    from ragstone.render.terminal.leaderboard_table import unjudged_of

    unjudged = unjudged_of(scored.board)
    return {
        "sorted_by": measure,
        "on_missing": scored.on_missing,
        "runs": [{**asdict(standing), "unjudged": unjudged[standing.run]} for standing in standings],
        "missing": scored.board.missing(),
        "notes": scored.board.notes,
        "against": [
            {"measure": one.measure, "other": one.other, "runs": one.runs, "tau": one.tau} for one in scored.against
        ],
        "files": [str(path) for path in written],
    }
