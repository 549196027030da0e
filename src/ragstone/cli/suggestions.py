"""Suggest corrections for mistyped commands: one line says what is wrong, one what to type.

Guarantees: a hint names only options that the command has, and a mistyped command is never run in a corrected form.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from ragstone.metrics import catalogue, suites
from ragstone.records import COMPRESSIONS, READERS


def _by_word(*rows: tuple[str, str]) -> Mapping[str, str]:
    return {word: advice for words, advice in rows for word in words.split()}


COMMANDS: Final = _by_word(
    ("evaluate eval score judge start analyze analyse", "run FILE"),
    ("gate assert threshold thresholds test", "check RUN --min METRIC=NUMBER"),
    ("diff versus vs ab", "compare FIRST SECOND"),
    ("optimize optimise calibrate select", "tune LABELS FILE"),
    ("list ls history log", "runs"),
    ("result results summary inspect open get print last", "show RUN"),
    ("serve server ui dashboard web", "view RUN"),
    ("html page", "report RUN"),
    ("cost price dry-run plan budget", "estimate FILE"),
    ("models model providers llms", "judges"),
    ("config setup configure settings", "init"),
    ("lint survey", "validate FILE"),
    ("inputs formats-in aliases columns", "fields"),
    ("jsonschema json-schema types", "schema"),
    ("csv download save", "export RUN -o scores.csv"),
    ("clean clear prune purge", "cache prune"),
    ("metric", "metrics"),
    ("prompt", "prompts list"),
    ("nugget", "nuggets"),
    ("methods", "compare-methods FILE"),
    ("help", "-h"),
    ("version", "--version"),
)
"""Command names of other tools, with the equivalent command here."""

OPTIONS: Final = _by_word(
    ("--model --llm --provider --judge-model --evaluator", "-j PROVIDER:MODEL, as in -j openai:gpt-4o-mini"),
    ("--base-url --api-base --url --endpoint --host", "-j openai:MODEL@https://HOST/v1"),
    ("-n --num --max-records --head --first --rows --size", "--limit N for the first records, --sample N for random"),
    ("--random --shuffle --subset --samples", "--sample N, with --seed S for a different sample"),
    ("--output --output-dir --outdir --output-path --save --dest", "-o"),
    ("--evaluators", "-m NAMES"),
    ("--question --response --answer --contexts --context --reference", "--field question=COLUMN, for each field"),
    ("--mapping --map --column --columns --fields", "--field question=COLUMN, for each field"),
    ("--workers --threads --parallel --jobs --batch-size", "--concurrency N"),
    ("--budget --cost --max-price", "--max-cost DOLLARS"),
    ("--fresh --no-resume --overwrite", "--refresh to ask again"),
    ("--threshold --thresholds", "--set METRIC.threshold=NUMBER"),
    ("--param", "--set METRIC.NAME=VALUE"),
    ("--bank", "--nuggets FILE"),
    ("--fail-under", "--min METRIC=NUMBER"),
    ("--silent", "-q"),
    ("-v", "--version"),
)  # fmt: skip
"""Option names of other tools, with the equivalent option here; suggested only if the command has it."""

OTHER_WAYS: Final = _by_word(
    ("--input --file --data --dataset --path -i -f", "specify the file without an option: {path} FILE"),
    ("--api-key --key --token", "set the key as an environment variable; ragstone judges lists the names"),
    ("--temperature --timeout --top-p", "set it in a [judges.NAME] table in ragstone.toml"),
    ("--retries --max-retries --tries --deadline", "that is set under [engine] in ragstone.toml"),
    ("--resume --continue", "run the same command again: it resumes where it stopped"),
    ("--threshold --thresholds --fail-under", "to check a run: ragstone check RUN --min METRIC=NUMBER"),
    ("--csv --excel --xlsx", "to write a run as a table: ragstone export RUN -o scores.csv"),
    ("--html --web", "to write a page: ragstone report RUN, or compare or agree with -o FILE.html"),
    ("--verbose --debug -v -vv", "to show all of one record: ragstone show RUN RECORD --full"),
    ("-q --quiet", "leave it out: {path} shows no progress"),
    ("--dry-run", "to estimate the cost: ragstone estimate FILE"),
)
"""Options of other tools without an equivalent option of the command, with what to do instead."""

MISSING: Final = _by_word(
    ("compare", "name two runs, the baseline first: {path} {given} last (ragstone runs lists them)"),
    ("run estimate validate compare-methods create assign score", "specify a file: {path} FILE (- is standard input)"),
)
"""Hints for a missing argument, by command."""

EXTRA: Final = _by_word(
    ("judges", "to ask a judge one question: {path} --check {extra}"),
    ("export", "use --format FORM, or specify a file, as in -o scores.csv"),
)
"""Hints for an extra argument, by command."""

THRESHOLDS: Final = {"--min", "--max", "--min-coverage", "--max-drop", "--max-record-drop"}
PATTERNS: Final = {
    "command": re.compile(r"""No such command (['"])(.*?)\1"""),
    "extra": re.compile(r"unexpected extra arguments?(?:\(s\))? (\()(.*)\)"),
}
"""Usage errors of the parser that can only be recognized by their text; the second group is what was typed."""


def _typed_wrong(error: Any, kind: str) -> str:
    found = PATTERNS[kind].search(error.format_message())
    return found[2] if found else ""


def message_of(error: Any) -> str:
    """Return the message of a usage error as one line without a full stop."""
    if (name := getattr(error, "option_name", "")) and hasattr(error, "possibilities"):
        return f"no option {name}"
    if command := _typed_wrong(error, "command"):
        return f"no command '{command}'"
    if extra := _typed_wrong(error, "extra"):
        return f"unexpected argument '{extra}'"
    said = error.format_message().replace("\n", " ").strip().rstrip(".")
    said = re.sub(r": '.*' is not a valid int.*", ": expected a whole number", said)
    said = re.sub(r": '.*' is not a valid float.*", ": expected a number", said)
    said = re.sub(r": \S+ is not in the range x>=", ": expected a number of at least ", said)
    said = re.sub(r": \S+ is not in the range (.+)<=x<=", r": expected a number from \1 to ", said)
    return f"{said[:1].lower()}{said[1:]}"


def hint_for(error: Any, typed: Sequence[str]) -> str:
    """Return a hint on what to type instead of ``typed``, the words of the command line."""
    context = error.ctx
    path = context.command_path if context is not None else "ragstone"
    options = [name for parameter in (context.command.params if context else ()) for name in parameter.opts]
    found = ""
    if one_dash := [f"-{word}" for word in typed if word[:2] != "--" and f"-{word}" in options]:
        found = f"did you mean {one_dash[0]}?"
    elif command := _typed_wrong(error, "command"):
        found = _command(command, path, getattr(context.command, "commands", {}), typed)
    elif hasattr(error, "possibilities"):
        found = _option(error.option_name, path, options)
    elif extra := _typed_wrong(error, "extra"):
        found = _too_many(extra.split(), path, options, typed)
    elif type(error).__name__ == "MissingParameter":
        command = path.rpartition(" ")[2]
        given = next((word for word in typed[1:] if word != "last" and word[:1] != "-"), "RUN")
        found = MISSING.get(command, "").format(path=path, given=given)
    return found or f"see: {path} -h"


def _command(word: str, path: str, known: Iterable[str], typed: Sequence[str]) -> str:
    if _is_data(word):
        doing, does = ("create", "create nuggets from") if path.endswith(" nuggets") else ("run", "evaluate")
        return f"to {does} this file: {path} {doing} {shlex.quote(word)}" if doing in known else ""
    if path == "ragstone" and word.lower() in COMMANDS:
        after = typed[typed.index(word) + 1 :]
        file = shlex.quote(after[0]) if after and _is_data(after[0]) else "FILE"
        return f"use: ragstone {COMMANDS[word.lower()].replace('FILE', file)}"
    near = difflib.get_close_matches(word.lower(), list(known), 1)
    return f"did you mean: {path} {near[0]}" if near else ""


def _is_data(word: str) -> bool:
    extension = Path(word).suffix.lower()
    return word == "-" or extension in READERS or extension in COMPRESSIONS or os.path.isfile(word)  # noqa: PTH113 - it may be any text


def _option(typed: str, path: str, own: Sequence[str]) -> str:
    meant = OPTIONS.get(typed, "")
    if meant and meant.split()[0].rstrip(",") in own:
        return f"use {meant}"
    near = difflib.get_close_matches(typed, own, 1, cutoff=0.8)
    return f"did you mean {near[0]}?" if near else OTHER_WAYS.get(typed, "").format(path=path)


def _too_many(extra: Sequence[str], path: str, own: Sequence[str], typed: Sequence[str]) -> str:
    names, words = {*catalogue(), *suites(), "auto"}, [word.strip(",") for word in extra]
    if "-m" in own and names.issuperset(words):
        first = [after.strip(",") for word, after in pairwise(typed) if word in ("-m", "--metrics", "--metric")]
        return f"join metrics with commas: -m {','.join([*first[:1], *words])}"
    if hint := EXTRA.get(path.rpartition(" ")[2], ""):
        return hint.format(path=path, extra=extra[0])
    if THRESHOLDS.intersection(own) and THRESHOLDS.intersection(typed):
        return "write a threshold without a space: --min METRIC=NUMBER"
    return f"{path} takes one file; join several: cat FILES | {path} -" if all(map(_is_data, extra)) else ""
