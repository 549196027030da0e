"""How judges are asked, by the file and the flags: which of them counts, and what is refused."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from ragstone import settings
from ragstone.judges.spec import Spec
from ragstone.prompts import FORMS
from ragstone.prompts.choice import Choice
from ragstone.questions import SCALES, TASKS
from said import refusal, spec

pytestmark = pytest.mark.usefixtures("alone")


def written() -> str:
    """The file that ``ragstone init`` writes, with every setting in force."""
    return re.sub(r"^#(?=[a-z_]+ = |\[)", "", settings.commented(), flags=re.MULTILINE)


def prompts_of(text: str = "", judge: str = "openai:a", **flags: Any) -> Spec:
    """How a judge is asked, by the file and the flags."""
    return spec(text, judge=[judge], **flags).judges[judge]


OWN = "[judges.mine]\nmodel = 'm'\nprovider = 'vllm'\n[judges.mine.prompts]\n"


def test_unless_told_otherwise_the_default_prompts_are_asked() -> None:
    """With a schema where there is one, and labels in any spelling that says the same."""
    judge = prompts_of()
    assert judge.choice == Choice()
    assert (judge.choice.style, judge.choice.styles, judge.choice.format) == ("", {}, None)
    assert (judge.structured, judge.case_sensitive) == ("auto", False)


def test_every_setting_of_prompts_arrives() -> None:
    """For all judges, in the words of the file."""
    steps = "".join(f"{task} = 'default'\n" for task in TASKS)
    judge = prompts_of(
        f"[prompts]\nstyle = 'short_cot.ru'\nformat = 'yaml'\nstructured = 'off'\ncase_sensitive = true\n{steps}"
    )
    assert (judge.choice.style, judge.choice.format) == ("short_cot.ru", "yaml")
    assert judge.choice.styles == dict.fromkeys(TASKS, "default")
    assert (judge.structured, judge.case_sensitive) == ("off", True)


def test_flags_beat_the_judges_table_and_that_the_general_one() -> None:
    """Setting by setting: what one does not say is taken from the next."""
    general = (
        "[prompts]\nstyle = 'legacy'\nformat = 'csv'\nstructured = 'off'\nsupport = 'long_cot'\nassign = 'optimized'\n"
    )
    text = f"{OWN}style = 'no_reasoning'\nformat = 'tsv'\nsupport = 'short_cot'\n{general}"
    other = prompts_of(text).choice
    assert (other.style, other.format, other.styles) == (
        "legacy",
        "csv",
        {"support": "long_cot", "assign": "optimized"},
    )
    mine = prompts_of(text, "mine")
    assert (mine.choice.style, mine.choice.format, mine.structured) == ("no_reasoning", "tsv", "off")
    assert mine.choice.styles == {
        "support": "short_cot"
    }  # its style for all steps goes before general ones of single steps
    said = prompts_of(text, "mine", prompts=["default", "support=no_reasoning"], format="xml", structured="auto")
    assert (said.choice.style, said.choice.format, said.structured) == ("default", "xml", "auto")
    assert said.choice.styles == {"support": "no_reasoning"}


@pytest.mark.usefixtures("older_prompts")
def test_a_version_is_named_beside_its_style() -> None:
    """The prompt is that version; without it the newest, and each has its id."""
    choice = prompts_of("[prompts]\nsupport = 'short_cot.ru.v1'", prompts=["assign=default.v5", "nuggetize=default.v1"])
    names = {
        task: choice.choice.template(task, form)[0].id.partition("#")[0]
        for task, form in (("support", ""), ("assign", ""), ("nuggetize", "passages"), ("trace", ""))
    }
    assert names == {
        "support": "support.short_cot.ru.v1", "assign": "assign.default.v5", "nuggetize": "nuggetize.passages.v1",
        "trace": "trace.default.v3",
    }  # fmt: skip


def test_a_judge_may_take_back_what_is_said_of_all() -> None:
    """A false or a default in its own table counts as said."""
    judge = prompts_of(
        f"{OWN}case_sensitive = false\nstyle = 'default'\n[prompts]\ncase_sensitive = true\nstyle = 'legacy'", "mine"
    )
    assert (judge.case_sensitive, judge.choice.style) == (False, "default")


def test_flags_of_prompts_are_for_language_models_only() -> None:
    """The embedded judge and people are not asked with prompts."""
    found = spec(
        "[prompts]\nstyle = 'short_cot'", judge=["embedded", "support=openai:a", "trace=human:labels.jsonl"]
    ).judges
    assert {name: judge.choice.style for name, judge in found.items()} == {
        "embedded": "", "openai:a": "short_cot", "human:labels.jsonl": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[prompts]\nstyle = 'short_cott'",
            "ragstone.toml: prompts.style: no prompt style 'short_cott'; did you mean 'short_cot'?",
        ),
        ("[prompts]\nformat = 'yml'", "ragstone.toml: prompts.format 'yml'; expected one of json, keyed, "),
        ("[prompts]\nformat = 'object'", "ragstone.toml: prompts.format 'object'; expected one of json, keyed, "),
        ("[prompts]\nstructured = 'yes'", "ragstone.toml: prompts.structured 'yes'; expected one of auto, schema, off"),
        (f"{OWN}style = 'nothing'", "ragstone.toml: judges.mine.prompts.style: no prompt style 'nothing'; "),
        (f"{OWN}structured = 'yes'", "ragstone.toml: judges.mine.prompts.structured 'yes'; expected "),
    ],
)
def test_what_prompts_cannot_mean_is_refused_where_it_stands(text: str, message: str) -> None:
    judge = "mine" if "mine" in text else "openai:a"
    assert refusal(text, judge=[judge]).startswith(message)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"prompts": ["shortcot"]}, "no prompt style 'shortcot'; did you mean 'short_cot'?"),
        ({"prompts": ["suport=short_cot"]}, "--prompt suport=short_cot: no step 'suport'; steps are claims, "),
        ({"prompts": ["mine.md"]}, "--prompt mine.md: specify its step, as in --prompt support=mine.md"),
        (
            {"prompts": ["legacy", "optimized"]},
            "--prompt optimized: 'legacy' already applies to all steps; specify the step",
        ),
        (
            {"prompts": ["short_cot.v1"]},
            "'short_cot.v1' is a version of one step's prompt; specify the step, as in support=",
        ),
        (
            {"prompts": ["support=short_cot.v9"]},
            "--prompt support=short_cot.v9: no version 9 of the prompt 'short_cot' for the step 'support'; it has v5",
        ),
        (
            {"prompts": ["nuggetize=default.v9"]},
            "--prompt nuggetize=default.v9: no version 9 of the prompt 'answer' for the step 'nuggetize'; it has v3",
        ),
        ({"format": "yml"}, "--format 'yml'; expected one of json, keyed, "),
        ({"structured": "yes"}, "structured 'yes'; expected auto, schema or off"),
    ],
)
def test_flags_of_prompts_that_cannot_be_meant_are_refused(flags: dict[str, Any], message: str) -> None:
    """By the flag's own name, whatever a file says."""
    assert refusal("[prompts]\nstyle = 'short_cot'\nformat = 'csv'", judge=["openai:a"], **flags).startswith(message)


def test_every_setting_of_prompts_stands_in_the_file_that_is_written() -> None:
    """For all judges and for one; and a setting for each step."""
    full = tomllib.loads(written())
    assert set(full["prompts"]) == set(full["judges"]["mine"]["prompts"]) == set(settings.PromptsTable.model_fields)
    assert set(TASKS) < set(settings.PromptsTable.model_fields)


def test_what_is_written_of_prompts_fits_together() -> None:
    """Each step has the style that stands there, and each style of labels takes the format."""
    choice = prompts_of(written(), "mine").choice
    assert set(choice.styles) == set(TASKS)
    assert {choice.template(task, FORMS.get(task, ("",))[0])[1] for task in SCALES} == {"keyed"}
