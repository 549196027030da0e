"""What a mistyped command most probably meant: one line that says what is wrong, one that says what to type.

Promises: a hint names only options that the command has, and nothing that was typed is run in another way than it was
written.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ragstone.metrics import catalogue, suites
from ragstone.records import COMPRESSIONS, READERS

COMMANDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("evaluate", "eval", "score", "judge", "start", "weigh", "analyze", "analyse"), "run FILE"),
    **dict.fromkeys(("gate", "assert", "threshold", "thresholds", "test"), "check RUN --min METRIC=NUMBER"),
    **dict.fromkeys(("diff", "versus", "vs", "ab"), "compare RUN RUN"),
    **dict.fromkeys(("list", "ls", "history", "log"), "runs"),
    **dict.fromkeys(("result", "results", "summary", "inspect", "open", "get", "print", "last"), "show RUN"),
    **dict.fromkeys(("serve", "server", "ui", "dashboard", "web"), "view RUN"),
    **dict.fromkeys(("html", "page"), "report RUN"),
    **dict.fromkeys(("cost", "price", "dry-run", "plan", "budget"), "estimate FILE"),
    **dict.fromkeys(("models", "model", "providers", "llms"), "judges"),
    **dict.fromkeys(("config", "setup", "configure", "settings"), "init"),
    **dict.fromkeys(("lint", "survey", "fields"), "validate FILE"),
    **dict.fromkeys(("csv", "download", "save"), "export RUN -o scores.csv"),
    **dict.fromkeys(("clean", "clear", "prune", "purge"), "cache prune"),
    "metric": "metrics",
    "prompt": "prompts list",
    "nugget": "nuggets",
    "methods": "compare-methods FILE",
    "help": "-h",
    "version": "--version",
}
"""What other tools, or common sense, call a command of ours, and how that is written."""

_JUDGE: Final = "-j PROVIDER:MODEL, as in -j openai:gpt-4o-mini"
_ADDRESS: Final = "-j openai:MODEL@https://HOST/v1"
_PART: Final = "--limit N for the first records, --sample N for some at random"
_MAPPED: Final = "--field question=COLUMN, and so with each field"
OPTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("--model", "--llm", "--provider", "--judge-model", "--evaluator"), _JUDGE),
    **dict.fromkeys(("--base-url", "--api-base", "--url", "--endpoint", "--host"), _ADDRESS),
    **dict.fromkeys(("-n", "--num", "--max-records", "--head", "--first", "--rows", "--size"), _PART),
    **dict.fromkeys(("--random", "--shuffle", "--subset", "--samples"), "--sample N, with --seed S for another draw"),
    **dict.fromkeys(("--output", "--output-dir", "--outdir", "--output-path", "--save", "--dest"), "-o"),
    **dict.fromkeys(("--metric", "--evaluators"), "-m NAMES"),
    **dict.fromkeys(("--question", "--response", "--answer", "--contexts", "--context", "--reference"), _MAPPED),
    **dict.fromkeys(("--mapping", "--map", "--column", "--columns", "--fields"), _MAPPED),
    **dict.fromkeys(("--workers", "--threads", "--parallel", "--jobs", "--batch-size"), "--concurrency N"),
    **dict.fromkeys(("--budget", "--cost", "--max-price"), "--max-cost DOLLARS"),
    **dict.fromkeys(("--fresh", "--no-resume", "--overwrite"), "--refresh to ask again"),
    **dict.fromkeys(("--threshold", "--thresholds"), "--set METRIC.threshold=NUMBER"),
    "--param": "--set METRIC.NAME=VALUE",
    "--bank": "--nuggets FILE",
    "--fail-under": "--min METRIC=NUMBER",
    "--silent": "-q",
    "-v": "--version",
}
"""What is often typed for an option of ours; a hint only where the command has that."""

FREE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("--input", "--file", "--data", "--dataset", "--path", "-i", "-f"), "name the file without an option: {0} FILE"
    ),
    **dict.fromkeys(("--api-key", "--key", "--token"), "keys stay in variables: ragstone judges lists them"),
    **dict.fromkeys(("--temperature", "--timeout", "--top-p"), "that is set in a [judges.NAME] table of ragstone.toml"),
    **dict.fromkeys(
        ("--retries", "--max-retries", "--tries", "--deadline"), "that is set under [engine] in ragstone.toml"
    ),
    **dict.fromkeys(("--resume", "--continue"), "the same command goes on where it stopped"),
    **dict.fromkeys(
        ("--threshold", "--thresholds", "--fail-under"), "to check a run: ragstone check RUN --min METRIC=NUMBER"
    ),
    **dict.fromkeys(("--csv", "--excel", "--xlsx"), "a run as a table: ragstone export RUN -o scores.csv"),
    **dict.fromkeys(("--html", "--web"), "a run as a page: ragstone report RUN"),
    **dict.fromkeys(("--verbose", "--debug", "-v", "-vv"), "all of one record: ragstone show RUN RECORD --full"),
    "--dry-run": "what it would cost: ragstone estimate FILE",
}
"""What no option of the command does, and what does it."""


def message_of(error: Any) -> str:
    """What is wrong, in one line without a full stop; ``error`` is the usage error of the library that parses."""
    said = error.format_message().replace("\n", " ").replace("Value error, ", "").strip().rstrip(".")
    if (name := getattr(error, "option_name", "")) and hasattr(error, "possibilities"):
        return f"no option {name}"
    if command := _unknown_command(error):
        return f"no command '{command}'"
    if extra := _extra(error):
        return f"unexpected argument '{extra}'"
    said = re.sub(r": Input should be a valid (?:(integer)|number)\b.*", _number_wanted, said)
    said = said.replace(": Input should be greater than or equal to ", ": expected a number from ")
    return f"{said[:1].lower()}{said[1:]}"


def _number_wanted(said: re.Match[str]) -> str:
    return f": expected a {'whole ' if said[1] else ''}number"


def hint_for(error: Any, typed: Sequence[str]) -> str:
    """What to type instead of ``typed``, the words of the whole command line."""
    context = error.ctx
    path = context.command_path if context is not None else "ragstone"
    own = _options(context)
    if command := _unknown_command(error):
        found = _command(command, path, getattr(context.command, "commands", {}), typed)
    elif hasattr(error, "possibilities"):
        found = _option(error.option_name, path, own)
    elif extra := _extra(error):
        found = _too_many(extra, path, own, typed)
    elif type(error).__name__ == "MissingParameter":
        found = _missing(path, typed)
    else:
        found = ""
    return found or f"see: {path} -h"


def _unknown_command(error: Any) -> str:
    match = re.match(r"""No such command (['"])(.*?)\1""", error.format_message())
    return match[2] if match else ""


def _extra(error: Any) -> str:
    match = re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", error.format_message())
    return match[1] if match else ""


def _options(context: Any) -> list[str]:
    return [name for parameter in (context.command.params if context else ()) for name in parameter.opts]


def _command(word: str, path: str, known: Iterable[str], typed: Sequence[str]) -> str:
    if _is_data(word):
        doing, does = ("create", "create nuggets from") if path.endswith(" nuggets") else ("run", "evaluate")
        return f"to {does} this file: {path} {doing} {shlex.quote(word)}" if doing in known else ""
    if path == "ragstone" and word.lower() in COMMANDS:
        after = typed[typed.index(word) + 1 :]
        file = shlex.quote(after[0]) if after and _is_data(after[0]) else "FILE"
        return f"use: ragstone {COMMANDS[word.lower()].replace('FILE', file)}"
    near = difflib.get_close_matches(word.lower(), list(known), 1)
    return f"did you mean: {path} {near[0]}" if near else f"see: {path} -h"


def _is_data(word: str) -> bool:
    ending = Path(word).suffix.lower()
    return word == "-" or ending in READERS or ending in COMPRESSIONS or os.path.isfile(word)  # noqa: PTH113 - whatever was typed


def _option(typed: str, path: str, own: Sequence[str]) -> str:
    meant = OPTIONS.get(typed, "")
    if meant and meant.split()[0].rstrip(",") in own:
        return f"use {meant}"
    near = difflib.get_close_matches(typed, own, 1, cutoff=0.8)
    return f"did you mean {near[0]}?" if near else FREE.get(typed, "").format(path)


def _too_many(extra: str, path: str, own: Sequence[str], typed: Sequence[str]) -> str:
    words = extra.split()
    names = {*catalogue(), *suites(), "auto"}
    if "-m" in own and all(word.strip(",") in names for word in words):
        flag = next((n for n, word in enumerate(typed) if word in ("-m", "--metrics")), None)
        first = [typed[flag + 1].strip(",")] if flag is not None and flag + 1 < len(typed) else []
        return f"join metrics with commas: -m {','.join([*first, *(word.strip(',') for word in words)])}"
    command = path.rpartition(" ")[2]
    if "--check" in own:
        return f"to ask a judge one question: {path} --check {words[0]}"
    if command == "export":
        return "use --format FORM, or name a file, as in -o scores.csv"
    if command == "check" and any(word in typed for word in ("--min", "--min-coverage", "--max-drop")):
        return "write a threshold without a space: --min METRIC=NUMBER"
    if all(_is_data(word) for word in words):
        return f"{path} takes one file; join several: cat FILES | {path} -"
    return ""


def _missing(path: str, typed: Sequence[str]) -> str:
    command = path.rpartition(" ")[2]
    if command == "compare":
        given = next((word for word in typed[typed.index("compare") + 1 :] if not word.startswith("-")), "RUN")
        return f"name two runs, as in: {path} {given} last"
    if command in ("run", "estimate", "validate", "compare-methods", "create", "assign", "score"):
        return f"name a file: {path} FILE (- is standard input)"
    return ""
