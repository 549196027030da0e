"""Write docs/reference/ from the code: ``python docs/generate.py``; ``--check`` only says what is stale.

What a setting means is written here, under its name; everything else is read from the package.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.main import get_command

import ragstone
from ragstone import metrics, result_types
from ragstone.cli.app import app
from ragstone.cli.exit_codes import GROUPS
from ragstone.judges.spec import PRESETS
from ragstone.options import RunOptions, options_of
from ragstone.parsing import parse_labels
from ragstone.parsing.label_words import ALONE, SYNONYMS
from ragstone.prompts.catalogue import PURPOSES
from ragstone.questions import TASKS
from ragstone.records import ALIASES, EXPORTS, READERS
from ragstone.settings import file_table, table_in
from ragstone.testing.behaviour import Behaviour

FOLDER: Final = Path(__file__).parent / "reference"
NOTICE: Final = "<!-- Written by docs/generate.py. Change the code, then run it again. -->"

_PROMPTS: Final[Mapping[str, str]] = {
    "style": "Prompt style for every step that offers it (see `ragstone prompts list`). Default: `default`.",
    "format": "Format of labels: `json`, `keyed`, `yaml`, … or `adaptive`. Default: the first format of the prompt.",
    "structured": "Whether to send a JSON schema: `auto`, `schema` or `off`. Default: `auto`.",
    "case_sensitive": "Whether labels must match the scale's exact words. Default: no.",
    "pack": "File of definitions and examples, [added to every prompt](../tasks/prompts-and-formats.md#add-a-pack).",
    "pack_examples": "Number of examples from the pack to send, those most similar to the question first. 0 sends all.",
    **{task: f"Style for the step `{task}`, or the path to your own prompt." for task in TASKS},
}
"""What each setting of prompts means, of all judges and of one."""

MEANINGS: Final[Mapping[str, str]] = {
    "judges.NAME.model": "Name of the model, as the endpoint knows it. Required, except for `embedded`.",
    "judges.NAME.provider": "A preset from [judges](judges.md). Required, unless `base_url` is set.",
    "judges.NAME.base_url": "Address of the API, to which `/chat/completions` is added (`anthropic`: `/messages`). No "
    "password or query.",
    "judges.NAME.api_key_env": "Environment variable with the key. Default: that of the provider. If empty, no key "
    "is sent.",
    "judges.NAME.concurrency": "Maximum number of concurrent calls. For `llamacpp`, `lmstudio` and `ollama`, the "
    "default is 4.",
    "judges.NAME.rpm": "Maximum requests per minute. Judges with the same address and key share the limit. 0 means no "
    "limit.",
    "judges.NAME.tpm": "Maximum tokens per minute (in + out). Judges with the same address and key share the limit. 0 "
    "means no limit.",
    "judges.NAME.tier": "Service tier: flex costs about half as much and is slower. `--tier` overrides it.",
    "judges.NAME.tier_fallback": "Whether to use the standard tier if flex has no capacity.",
    "judges.NAME.batch_tokens": "Maximum tokens in unfinished batches. 0 means no limit.",
    "judges.NAME.timeout": "Seconds to wait for a reply. For local servers, the default is 600.",
    "judges.NAME.temperature": "Sampling temperature, unless a metric sets its own.",
    "judges.NAME.max_tokens": "Maximum tokens of a reply, including reasoning. For local servers, the default "
    "depends on the step.",
    "judges.NAME.context": "Maximum tokens of a `trace` prompt. Longer prompts are split. 0 means no limit.",
    **{f"judges.NAME.prompts.{name}": f"Overrides `prompts.{name}` for this judge." for name in _PROMPTS},
    "judges.NAME.seed": "Seed to send with each request.",
    "judges.NAME.extra_body": "Extra fields to add to each request.",
    "judges.NAME.threshold": "Lowest probability that gets the best label, for `embedded` (0.35 to 1) and `nli` (0.1 "
    "to 0.95).",
    "judges.NAME.price.input": "Dollars per million input tokens. Set `input` and `output` to replace the price list.",
    "judges.NAME.price.output": "Dollars per million output tokens.",
    "judges.NAME.price.cached": "Dollars per million cached input tokens. Default: the same as `input`.",
    "steps": "Maps a step to its judge, a list of judges (a panel), or `A>B` (a cascade).",
    "panel.weights": "Maps the name of a judge to its weight in `mean` and `majority`. The default weight is 1.",
    **{f"prompts.{name}": said for name, said in _PROMPTS.items()},
    "check.min": "Maps a metric to its minimum mean, from 0 to 1.",
    "check.max": "Maps a score for which lower is better to its maximum mean, from 0 to 1.",
    "check.min_coverage": "Maps a metric to the minimum share of records with a value.",
    "check.max_drop": "Maps a metric to the maximum drop in the mean from the baseline, from 0 to 1.",
    "check.max_record_drop": "Maps a metric to the maximum drop of a single record from the baseline, from 0 to 1.",
    "check.baseline": "The baseline run: a number, a name or a folder.",
    "check.undecided": "What to do if a drop exceeds its limit but the interval of the drop includes the limit: `pass` "
    "or `fail`.",
    "check.corrected": "Whether to apply `min` to the lower bound of the mean corrected with human labels.",
    "engine.deadline": "Maximum seconds for all tries of a call. Default: 300, or the timeout of the judge if it is "
    "longer.",
    "engine.tries": "Maximum number of tries per call, not counting HTTP 429.",
    "rubric": 'Your own criteria: `[rubric.NAME]`, `criterion = "…"`. See [rubric](../tasks/own-criteria.md).',
    "metrics": "Maps a metric to its parameters: `[metrics.grounding]`, `threshold = 0.8`. See [metrics](metrics.md).",
    **{
        one.setting: f"{(one.note or one.help).rstrip('.')}."
        for one in options_of(RunOptions)
        if one.setting
    },
}  # fmt: skip
"""What each setting means; of an option of a run, the option says it."""


BILL: Final[Mapping[str, str]] = {
    "sent": "requests sent",
    "answered, here": "the number of calls that were answered; `here` counts those that needed no request, by judge",
    "replayed, shared": "the number of calls answered from the store, and of calls that used the reply of another call "
    "in this run",
    "retried, failed": "the number of repeated tries, and of calls that got no reply",
    "unseen": "in an offline run, the number of calls that are not in the store",
    "paid": "calls, tokens and dollars of the replies; for `unmetered_calls`, the endpoint sent no token counts",
    "by_step": "`paid` for each judge and step, with `seconds`",
    "unusable": "the part of `paid` for replies that could not be parsed",
    "lost": "the `attempts` without a complete reply, and the maximum `dollars` that they may have cost",
    "retry_causes, waited_seconds": "the causes of repeated tries, and the time spent waiting",
    "notes": "parameters that an endpoint rejected",
}
"""What the keys of a bill mean."""

CASCADE: Final[Mapping[str, str]] = {
    "judges, error": "the judges in order, and the accepted error rate",
    "bands": "the probabilities from which the first judge is confident",
    "units, answered, unjudged": "the number of units, of units that each judge answered, and of units without a "
    "verdict",
    "calls, dollars": "`made` and `saved` by the cascade, and those that the last judge `alone` would need",
    "by": "how the dollars were computed",
}
"""What the keys of a step of a cascade mean."""

HEADER: Final[Mapping[str, str]] = {
    "task": "the step (required)",
    "style": "a name of lowercase letters, digits and `_` (required)",
    "version": "a whole number (default: 1)",
    "language": "a language code such as `de` (default: English)",
    "form": "`nuggetize`: `answer` or `passages`. `rubric`: `steps` for the prompt that writes steps. "
    "`response_support`: `second` for the second wording. `support`: `three_way` for the scales `support3` and "
    "`support_contradict`. `relevance`: `answered` for the scale of that name",
    "batch": "the maximum number of units per call (default: 1)",
    "formats": "the accepted formats; the first one is the default",
    "gives": "`evidence`, `reasons` or both, if the reply has a `<reasoning>` block with the fields `snippet` and "
    "`rationale` before the labels",
    "source": "where the wording comes from",
}
"""What the lines of a prompt's header mean."""

VARIABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "Rating steps: `support`, `assign`, `relevance`, `importance`, `response_support`": {
        "nonce": "a random code for the lines before and after each text of the record",
        "code": "like `nonce`, but the same in all prompts about the same passages, so that a provider can cache them",
        "question": "the record's question, if the step needs one",
        "passages": "the evidence, as pairs of number and text; for `assign`, the response",
        "units": "the units to label, as pairs of number and text",
        "n": "the number of units",
        "level": "the kind of unit: `sentence`, `claim`, `nugget`, `passage` or `response`",
        "scale": "`scale.name` and `scale.labels`: `yes_no`, `scale_1_5`, `grade_0_3`, `grade_0_2`, `support3`, "
        "`support2`, `support_contradict`, `answered`, `importance`",
        "labels": "the allowed labels: those of the scale, and `trivial` if `skippable`",
        "skippable": "whether a unit that makes no claim can be labelled `trivial`",
        "reasons, evidence": "whether the metric asks for reasons or evidence",
        "answer": "the instructions of the chosen format, for `n` labels",
    },
    "`rubric`, in addition to those": {
        "criteria": "the criteria, as pairs of number and criterion; each has `text`, `labels` with meanings, and "
        "`steps`",
        "response, reference, history": "the texts of these fields; empty if no criterion uses them",
    },
    "`rubric`, form `steps`": {
        "criterion": "the criterion",
        "fields": "the names of the fields that it uses",
        "most": "the maximum number of steps",
    },
    "`claims`": {
        "sentences": "the sentences, as pairs of number and text",
        "before": "the text before these sentences",
        "question, n, nonce": "as above",
    },
    "`nuggetize`": {
        "known": "the nuggets found so far",
        "most": "the maximum number of nuggets",
        "question, sentences, passages, n, nonce": "as above; either `sentences` or `passages`",
    },
    "`trace`": {
        "documents": "the passages, as pairs of number and sentences; a sentence is a pair of key and text",
        "response": "the sentences of the response, as pairs of key and text",
        "question, nonce": "as above",
    },
}
"""What the variables of prompts mean, by step."""


def settings() -> Iterator[tuple[str, FieldInfo, str]]:
    """Every setting of ragstone.toml: its name, its field, and the table it stands in."""
    yield from _settings(file_table(), "")


def _settings(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo, str]]:
    for name, field in model.model_fields.items():
        inner = table_in(field.annotation)
        if inner is not None:
            by_name = get_origin(field.annotation) is dict
            yield from _settings(inner, f"{prefix}{name}.NAME." if by_name else f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field, prefix.rstrip(".")


def command_names() -> list[str]:
    """The commands, in the order of ``--help``, those of a group as ``group command``."""
    return [name for name, _ in _commands(_root())]


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    listed = [] if before else [name for names in GROUPS.values() for name in names]
    for name in dict.fromkeys((*listed, *group.commands)):
        command = group.commands[name]
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _root() -> Any:
    return get_command(app)


# ---- the pages


def metrics_page() -> str:
    """Every metric with its parameters."""
    lines = [
        "# Metrics", "",
        "Each name links to the metric's page. Set parameters with `--set METRIC.NAME=VALUE`, under",
        "`[metrics.METRIC]` in `ragstone.toml`, or in a record's field with the metric's name.", "",
    ]  # fmt: skip
    for group, members in metrics.groups().items():
        lines += [
            f"## {group}",
            "",
            "| metric | needs | steps | suites | calls | in other tools |",
            "|---|---|---|---|---|---|",
        ]
        for metric in members:
            cells = [_coded(metric.needs) or "depends (see page)", _coded(metric.asks)]
            cells += [_coded((*metric.suites, "all")), str(metric.calls)]
            cells.append(metrics.elsewhere_said(metric))
            lines.append(f"| [`{metric.name}`](../metrics/{metric.name}.md) | {' | '.join(cells)} |")
        lines.append("")
    lines += ["*calls* is the approximate number of calls to a language model for a record of typical length.",
              "*in other tools* names the same metric, or the most similar one, in other tools."]  # fmt: skip
    for name, metric in metrics.catalogue().items():
        lines += ["", f"## {name}", "", _sentence(metric.title), ""]
        if metric.blocks:
            lines += [f"In a record, you can also set these parameters in the field {_coded(metric.blocks)}.", ""]
        lines += ["| parameter | default | meaning |", "|---|---|---|"]
        said = metrics.explained(metric)
        lines += [f"| `{field.name}` | {_default(field)} | {said[field.name]} |" for field in fields(metric)]
    return _page(lines)


def judges_page() -> str:
    """Every judge that can be named."""
    lines = [
        "# Judges", "",
        "[Choose a judge](../tasks/choose-a-judge.md) explains how to use judges.", "",
        "| name | address | key variable |", "|---|---|---|",
        "| `embedded` | in this package; no network | none |",
        "| `replay:FILE` | the recorded calls of a run; no network | none |",
        "| `human:FILE` | human labels, for every step that the file has labels for; no network | none |",
    ]  # fmt: skip
    for name, preset in PRESETS.items():
        address = f"`{preset.base_url}`" if preset.base_url else f"your own: `{name}:NAME@ADDRESS`"
        lines.append(f"| `{name}:MODEL` | {address} | {f'`{preset.key}`' if preset.key else 'none'} |")
    local = ", ".join(f"`{name}`" for name, preset in PRESETS.items() if preset.local)
    lines += [
        "", "`PROVIDER:MODEL@ADDRESS` uses the same API at another address. A `[judges.NAME]` table in",
        "[the configuration](configuration.md) defines a judge called NAME.",
        f"Calls to these judges are free: {local}.",
        "", "## Add a provider with another API", "",
        "If an endpoint supports neither OpenAI's chat completions nor Anthropic's Messages, write one class and one",
        "entry point in a package of your own. The class extends `ragstone.judges.http.HttpBackend` and has four",
        "methods. `prepare` turns a prompt into the bytes of a request. `size` returns the texts of a request and the",
        "length of the longest reply that it allows, for limits and budgets. `read` returns the text of an answer, and",
        "`usage` its token counts. Keys, connections, retries, limits, the cache and the bill work as for any judge.",
        "`tests/judges/echo_dialect.py` is a complete example.",
        "", "```toml", '[project.entry-points."ragstone.judges"]', 'acme = "acme_judge:ACME"', "```", "",
        "```text", "from ragstone.judges.spec import Preset", "",
        'ACME = Preset("https://api.acme.example/v1", key="ACME_API_KEY", backend="acme_judge:AcmeBackend")', "```", "",
        "The judge is then named `acme:MODEL`.",
    ]  # fmt: skip
    return _page(lines)


def configuration_page() -> str:
    """Every setting of ragstone.toml."""
    lines = [
        "# Configuration", "",
        "`ragstone.toml` is read from the current folder, unless `--config` or `RAGSTONE_CONFIG` names another file.",
        "Relative paths in the file are relative to its folder.",
        "Options override the file, and the variable `RAGSTONE_STORE` overrides `run.store`.",
        "`ragstone init` writes the file with all settings commented out. Unknown settings are errors.", "",
        "| setting | type | default | meaning |", "|---|---|---|---|",
    ]  # fmt: skip
    for name, field, _ in settings():
        lines.append(f"| `{name}` | {_type(field)} | {_setting_default(field)} | {MEANINGS.get(name, '')} |")
    lines += [
        "",
        "`run.metrics` means the key `metrics` in the table `[run]`. NAME is a name that you choose.",
        "[Prompts and formats](../tasks/prompts-and-formats.md) explains `prompts`.",
    ]
    return _page(lines)


def fields_page() -> str:
    """Every field of a record with its other names."""
    lines = [
        "# Fields", "",
        "Each field is also read under these names. The first name with a value is used.",
        "[Input formats](../tasks/input-formats.md) describes each field.", "", "| field | also |", "|---|---|",
    ]  # fmt: skip
    lines += [f"| `{field}` | {_coded(aliases) or 'no other name'} |" for field, aliases in ALIASES.items()]
    blocks = {block: name for block, name in metrics.blocks().items() if block != name}
    lines += ["", "An object under the name of a metric sets the parameters of that metric for the record."]
    lines += [f"`{block}` is short for `{name}`." for block, name in blocks.items()]
    lines += ["", "These formats of other tools are detected by their structure, or set with `--from`.", ""]
    lines += ["| format | | what is read |", "|---|---|---|"]
    lines += [f"| `{one.name}` | {one.title} | {one.reads} |" for one in EXPORTS]
    lines += ["", f"Files: {_coded(tuple(READERS))}, each also with `.gz` or `.zst`."]
    return _page(lines)


def cli_page() -> str:
    """Every command with its options and examples."""
    root = _root()
    lines = ["# Command line", "", *_paragraphs(root.help), ""]
    every = list(_commands(root))
    lines += [f"- [`ragstone {name}`](#ragstone-{name.replace(' ', '-')})" for name, _ in every]
    lines += ["", "`ragstone --version` prints the version; any command with `-h` prints its help.", ""]
    lines += ["[Read the results](../tasks/read-the-results.md#use-in-scripts) lists the exit codes."]
    for name, command in every:
        command.get_params(command.context_class(command))  # completes help that is read from a registry
        arguments = [parameter for parameter in command.params if not parameter.opts[0].startswith("-")]
        options = [parameter for parameter in command.params if parameter.opts[0].startswith("-")]
        usage = " ".join(["ragstone", name, *map(_argument, arguments), "[OPTIONS]"])
        lines += [
            "",
            f"## ragstone {name}",
            "",
            f"    {usage}",
            "",
            *_paragraphs(command.help),
            "",
            "| | |",
            "|---|---|",
        ]
        lines += [f"| `{_cell(_argument(parameter))}` | {_cell(parameter.help)} |" for parameter in arguments]
        lines += [f"| {_option(parameter)} | {_cell(parameter.help)} |" for parameter in options]
        lines += ["", "```sh", *_examples(command.epilog), "```"]
    return _page(lines)


def python_page() -> str:
    """Every public name with its signature and docstring."""
    lines = ["# Python", "", "These names are in the package `ragstone`. Each is imported when it is first used.",
             "[Use Ragstone from Python](../tasks/use-from-python.md) shows how they work together.", ""]  # fmt: skip
    names = sorted(set(ragstone.__all__) - {"__version__"}, key=lambda name: (name != "evaluate", name))
    every = [(name, getattr(ragstone, name)) for name in names]
    written_out: dict[str, str] = {}
    kinds = {
        "Functions": [one for one in every if inspect.isfunction(one[1])],
        "Errors": [one for one in every if inspect.isclass(one[1]) and issubclass(one[1], Exception)],
    }
    kinds["Classes"] = [one for one in every if all(one not in known for known in kinds.values())]
    for kind in ("Functions", "Classes", "Errors"):
        lines += [f"## {kind}", ""]
        for name, value in kinds[kind]:
            lines += [f"### {name}", "", *_signature(name, value), *_docstring(value, name, written_out)]
            if kind == "Classes":
                lines += [*_members(value), ""]
    return _page(lines[:-1])


def _signature(name: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        return []
    parts = [re.sub(r"(: )'([^']*)'", r"\1\2", str(one)) for one in inspect.signature(value).parameters.values()]
    star = [one.kind is inspect.Parameter.KEYWORD_ONLY for one in inspect.signature(value).parameters.values()]
    if True in star:
        parts.insert(star.index(True), "*")
    return ["```text", f"{name}(", *(f"    {part}," for part in parts), ")", "```", ""]


def _docstring(value: Any, name: str, written_out: dict[str, str]) -> list[str]:
    """A docstring as Markdown: sections as lists, unless another name has the same; code as a block."""
    lines: list[str] = []
    for block in re.split(r"\n\n+", (inspect.getdoc(value) or "").replace("``", "`")):
        head, _, rest = block.partition("\n")
        if head == "Options:" and (other := written_out.setdefault(block, name)) != name:
            lines += [f"Options: those of [{other}](#{other}).", ""]
        elif head.rstrip(":") in ("Args", "Options", "Returns", "Raises"):
            items = re.split(r"\n(?=\S)", textwrap.dedent(rest))
            items = [re.sub(r"^(\w+): ", r"`\1`: ", " ".join(item.split())) for item in items]
            lines += [f"{head.rstrip(':')}:", "", *(f"- {item}" for item in items), ""]
        elif block.startswith("    "):
            lines += ["```text", *textwrap.dedent(block).splitlines(), "```", ""]
        else:
            lines += [block.removesuffix(":") if block.endswith("::") else block, ""]
    return lines


def _members(value: type) -> list[str]:
    found = ["| | |", "|---|---|"]
    for name, member in vars(value).items():
        shown = inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
        if not name.startswith("_") and shown and (text := inspect.getdoc(getattr(value, name))):
            call = "" if isinstance(member, property) else "()"
            found.append(f"| `{name}{call}` | {_cell(text.split(chr(10) * 2)[0].replace('``', '`'))} |")
    annotated = {name: kind for one in reversed(value.__mro__) for name, kind in inspect.get_annotations(one).items()}
    found += [
        f"| `{name}` | {_cell(str(kind)).join(('`', '`'))} |"
        for name, kind in annotated.items()
        if not name.startswith("_")
    ]
    return found if len(found) > 2 else []


def results_page() -> str:
    """Every key of the files that a run writes."""
    lines = [
        "# Result files", "",
        "[Read the results](../tasks/read-the-results.md) explains what the values mean. The classes are in",
        "`ragstone.result_types`, for type checkers; in the files they are JSON objects, and None is `null`.", "",
        "`results.jsonl` has one [ResultDict](#resultdict) per line, `summary.json` is a [SummaryDict](#summarydict),",
        "and `run.json` is a [RunDict](#rundict).",
        *(inspect.getdoc(result_types) or "").partition("\n\n")[2].splitlines(),
    ]  # fmt: skip
    first = ("ResultDict", "ScoreDict", "VerdictDict", "QuoteDict", "SummaryDict", "MetricDict", "RunDict")
    kinds = {name: kind for name, kind in vars(result_types).items() if typing.is_typeddict(kind)}
    for name in (*first, *(name for name in kinds if name not in first)):
        kind = kinds[name]
        if not name.endswith("InputDict"):
            doc = inspect.getdoc(kind) or ""
            parts = [one for one in kinds.values() if one.__annotations__.items() < kind.__annotations__.items()]
            docs = [*(inspect.getdoc(one) or "" for one in parts), doc]  # parts: also those that it extends
            said = {key: " ".join(text.split()) for one in docs for key, text in _explained(one)}
            about = metrics.PARAMETER.sub("", _JOINED.sub(r"``\1``:", doc))
            lines += ["", f"## {name}", "", *" ".join(about.replace("``", "`").split()).splitlines(), ""]
            lines += ["| key | value | |", "|---|---|---|"]
            for key, value in inspect.get_annotations(kind).items():
                always = re.sub(r"^NotRequired\[(.*)\]$", r"\1", _annotation(value))
                maybe = "" if always == _annotation(value) else "may be absent"
                meaning = "; ".join(filter(None, [maybe, said.get(key)]))
                lines.append(f"| `{key}` | `{_cell(always)}` | {meaning} |")
    for title, keys in {"The bill": BILL, "A step of a cascade": CASCADE}.items():
        lines += ["", f"## {title}", "", *_named(keys)]
    return _page([line.replace("``", "`") for line in lines])


_JOINED: Final = re.compile(r"``(\w+)``(?:,\s+``\w+``)+:")


def _explained(doc: str) -> Iterator[tuple[str, str]]:
    """The keys that a docstring explains, also several at once, with their meanings."""
    for names, text in re.findall(r"((?:``\w+``,\s+)*``\w+``):\s+(.*?)\.(?:\s+|$)", doc, re.DOTALL):
        yield from ((name, text) for name in re.findall(r"\w+", names))


def _annotation(value: Any) -> str:
    return value.__forward_arg__ if isinstance(value, typing.ForwardRef) else str(value)


def _named(meanings: Mapping[str, str]) -> list[str]:
    rows = [f"| {_coded(tuple(names.split(', ')))} | {meaning} |" for names, meaning in meanings.items()]
    return ["| | |", "|---|---|", *rows]


def prompts_page() -> str:
    """What prompts are made of, and the words that are read as labels."""
    lines = [
        "# Prompts", "",
        "[Prompts and formats](../tasks/prompts-and-formats.md) shows how prompts are chosen and written.", "",
        "## Styles", "", *_named(PURPOSES), "",
        "## The header", "", *_named(HEADER), "",
        "## Variables", "", "Only these names are defined; any other name is an error.",
    ]  # fmt: skip
    for steps, names in VARIABLES.items():
        lines += ["", f"### {steps}", "", *_named(names)]
    lines += ["", "## Other words for a label", "",
              "Case, spaces, hyphens, quotation marks and bold type do not matter. With `case_sensitive = true`, only",
              "the exact words of the scale are labels.", "",
              "| label | anywhere | only if alone |", "|---|---|---|"]  # fmt: skip
    for label in {**SYNONYMS, **ALONE}:
        cells = [", ".join(word.replace("_", " ") for word in words.get(label, ())) for words in (SYNONYMS, ALONE)]
        lines.append(f"| `{label}` | {' | '.join(cells)} |")
    name = "ragstone.parsing.parse_labels"
    lines += ["", "## Parse labels in Python", "", *_signature(name, parse_labels), *_docstring(parse_labels, name, {})]
    return _page(lines[:-1])


def testing_page() -> str:
    """Every setting of the fake endpoint."""
    lines = ["# The fake endpoint", "",
             "The settings of the fake endpoint. Pass them to `FakeServer` as keyword arguments.",
             "[Test without a model](../testing.md) shows how to use it.", ""]  # fmt: skip
    return _page([*lines, *_docstring(Behaviour, "", {})][:-1])


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "metrics.md": metrics_page,
    "judges.md": judges_page,
    "configuration.md": configuration_page,
    "fields.md": fields_page,
    "cli.md": cli_page,
    "python.md": python_page,
    "results.md": results_page,
    "prompts.md": prompts_page,
    "testing.md": testing_page,
}


# ---- words


def written(value: Any) -> str | None:
    """A parameter's default as it is written in ragstone.toml; None for none."""
    if value is None or value == ():
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(str(written(item)) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _default(field: Field[Any]) -> str:
    text = written(field.default)
    return "none" if text is None else f"`{text}`"


def _setting_default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return "none"
    text = written(field.default)
    return f"`{text}`" if text not in (None, '""') else "none"


def _type(field: FieldInfo) -> str:
    least, most = "", ""
    for limit in field.metadata:
        least = f"from {limit.ge}" if hasattr(limit, "ge") else f"above {limit.gt}" if hasattr(limit, "gt") else least
        most = f" to {limit.le}" if hasattr(limit, "le") else f" and below {limit.lt}" if hasattr(limit, "lt") else most
    words = _words(field.annotation)
    return f"{words} {least}{most}" if least or most else words


def _words(annotation: Any) -> str:
    if annotation is bool:
        return "true or false"
    names: dict[Any, str] = {str: "string", int: "whole number", float: "number"}
    if annotation in names:
        return names[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{argument}`" for argument in arguments)
    if origin is list:
        return f"list of {_several(arguments[0])}"
    if origin is dict:
        return "table" if arguments[1] is Any else f"table of {_several(arguments[1])}"
    if origin is typing.Annotated:
        return _words(arguments[0])
    if origin in (Union, types.UnionType):
        parts = [part for part in arguments if part is not type(None) and not (part is int and float in arguments)]
        return " or ".join(sorted((_words(part) for part in parts), key=len))
    return str(annotation)


def _several(annotation: Any) -> str:
    return " or ".join(re.sub(r"^\w+( number)?", r"\g<0>s", part) for part in _words(annotation).split(" or "))


def _coded(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _option(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.is_flag:
        return names
    return f"{names} `{_cell(parameter.metavar or parameter.name.upper())}`"


def _argument(parameter: Any) -> str:
    name = parameter.metavar if parameter.required else f"[{parameter.metavar}]"
    return f"{name}{'...' if parameter.nargs != 1 else ''}"


def _cell(text: str) -> str:
    """Text that stands in a table: a bar would end the cell."""
    return " ".join((text or "").split()).replace("|", "\\|")


def _paragraphs(text: str | None) -> list[str]:
    return ["\n".join(line.strip() for line in (text or "").strip().replace("\b\n", "").splitlines())]


def _examples(text: str | None) -> list[str]:
    return [line.strip() for line in (text or "").splitlines() if line.strip().startswith("ragstone ")]


def _page(lines: list[str]) -> str:
    return f"{NOTICE}\n\n" + "\n".join(lines) + "\n"


# ---- the script


def stale() -> list[str]:
    """The pages that are not what would be written now, and files that nothing here writes."""
    there = {page.name for page in FOLDER.glob("*")} if FOLDER.exists() else set()
    old = [name for name, write in PAGES.items() if name not in there or _read(name) != write()]
    return sorted([*old, *(there - set(PAGES))])


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write all pages, or say which would change."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write(f"{__doc__}\n")
        return 2
    if arguments:
        found = stale()
        sys.stdout.write("".join(f"docs/reference/{name} is stale; run: python docs/generate.py\n" for name in found))
        return int(bool(found))
    FOLDER.mkdir(exist_ok=True)
    for name, write in PAGES.items():
        (FOLDER / name).write_text(write(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
