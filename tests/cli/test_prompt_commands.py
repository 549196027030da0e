"""``ragstone prompts``: which there are, what is sent, how two differ, and whether one's own fits."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
import typer
from terminal import WIDTHS, done, ragstone, refused

from ragstone import prompts
from ragstone.cli import prompt_commands
from ragstone.judges.catalogue import build
from ragstone.judges.spec import Spec
from ragstone.parsing import LABEL_FORMATS
from ragstone.prompts.catalogue import PURPOSES
from ragstone.prompts.check import sample
from ragstone.prompts.choice import Choice, parse_styles
from ragstone.questions import SCALES, TASKS

pytestmark = pytest.mark.usefixtures("alone")

FOLDER = Path(prompts.__file__).parent
OURS = [(entry.task, entry.name) for entry in prompts.entries() if entry.task in TASKS]


class Terminal(io.StringIO):
    """A standard output that somebody looks at."""

    def isatty(self) -> bool:
        return True


def sat_at(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 80 columns with colours, from now on."""
    found = Terminal()
    monkeypatch.setattr(sys, "stdout", found)
    for name, value in (("TERM", "xterm-256color"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return found


def text_of(task: str, name: str) -> str:
    newest = max((FOLDER / task).glob(f"{name}.v*.md"))
    return newest.read_text(encoding="utf-8")


def own(path: str = "mine.md", *changes: tuple[str, str]) -> str:
    """A file of the user's own: one of ours with these changes, each of which finds its place."""
    text = text_of("support", "short_cot")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    Path(path).write_text(text, encoding="utf-8")
    return path


# ---- list


def test_every_prompt_of_the_package_is_in_the_list() -> None:
    """Under its step, with its style, its languages, and the names of its files where there are several."""
    told = ragstone("prompts", "list", "--json").json
    names = {
        (row["step"], name if language == "en" else f"{name}.{language}")
        for row in told["prompts"]
        for name in row["names"]
        for language in row["languages"]
    }
    assert names == set(OURS)
    assert told["changed"] == {}
    assert list(dict.fromkeys(row["step"] for row in told["prompts"])) == list(TASKS)


def test_a_row_says_what_the_prompts_say() -> None:
    """Formats, units a call, what the answers hold, and what the style is for."""
    rows = {(row["step"], row["style"]): row for row in ragstone("prompts", "list", "--json").json["prompts"]}
    for (step, style), row in rows.items():
        template = prompts.load(step, row["names"][0])
        most = max(prompts.load(step, name).batch for name in row["names"])  # relevance: one response, or ten passages
        assert (row["formats"], row["units"]) == (list(template.formats), most)
        files = (FOLDER / step).glob(f"{row['names'][0]}.v*.md")
        assert row["versions"] == sorted(int(file.stem.rpartition(".v")[2]) for file in files)
        assert (row["versions"][-1], row["for"]) == (template.version, PURPOSES[style])
        if template.formats != ("object",):
            assert set(row["gives"]) == {"labels", *template.gives}
    assert rows["nuggetize", "default"]["names"] == ["answer", "passages"]
    assert rows["response_support", "no_reasoning"]["names"] == ["no_reasoning", "no_reasoning_second"]
    assert rows["importance", "default"]["gives"] == ["labels", "reasons"]
    version = rows["support", "default"]["versions"][-1]
    assert f"support default v{version} " in ragstone("prompts", "list").flat, "not a number of versions"


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_list_fits_the_terminal(columns: int) -> None:
    """On a narrow one without some columns; every step and style is there."""
    came = ragstone("prompts", "list", columns=columns)
    assert (came.code, came.err) == (0, "")
    for task in TASKS:
        assert re.search(rf"^  {task}  ", came.out, re.MULTILINE)
    for style in PURPOSES:
        assert re.search(rf"^    {style}  ", came.out, re.MULTILINE)
    assert ("labels (+ reasons)" in came.out.split("Legend")[0]) == (columns >= 80)
    assert "Modified prompt" not in came.out


def test_a_changed_file_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to type to know more."""
    monkeypatch.setattr(prompts, "changed", lambda: {"assign/legacy.v2.md": "was changed", "x/y.v1.md": "is missing"})
    came = ragstone("prompts", "list")
    assert "Modified prompt: assign/legacy.v2.md was changed, and 1 more." in came.flat
    assert "ragstone prompts check" in came.flat


# ---- show


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["assign"], "assign/default.v5.md"),
        (["assign", "short_cot"], "assign/short_cot.v4.md"),
        (["assign=short_cot.ru"], "assign/short_cot.ru.v2.md"),
        (["assign=short_cot.v4"], "assign/short_cot.v4.md"),
        (["assign", "default.ru.v3"], "assign/default.ru.v3.md"),
        (["nuggetize", "passages"], "nuggetize/passages.v3.md"),
        (["response_support"], "response_support/default.v3.md"),
        (["response_support=second.ru"], "response_support/second.ru.v2.md"),
        (["formats", "yaml"], "formats/yaml.v1.md"),
        (["repair=labels"], "repair/labels.v2.md"),
    ],
)
def test_a_prompt_is_shown_as_it_is(arguments: list[str], path: str) -> None:
    """Standard output is the file; where it stands and its hash are said beside it."""
    came = done("prompts", "show", *arguments)
    text = (FOLDER / path).read_text(encoding="utf-8")
    assert came.out == text
    name = path.removesuffix(".md").replace("/", ".")
    assert came.err == f"prompt: {name}#{prompts.digest(text)[:6]} in {FOLDER / path}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["asign"], "no step 'asign'; steps are claims, nuggetize, "),
        (["short_cot"], "'short_cot' is a style; specify the step too, as in assign=short_cot"),
        (["assign", "shortcot"], "no prompt 'shortcot' for the step 'assign'; known: default, "),
        (["assign=short_cot.v7"], "no version 7 of the prompt 'short_cot' for the step 'assign'; it has v4"),
        (["assign=short_cot.v\u0663"], "no prompt 'short_cot.v\u0663' for the step 'assign'"),
        (["nuggetize"], "asks 2 questions; specify the prompt of one: nuggetize=answer or nuggetize=passages"),
        (["assign=short_cot", "legacy"], "'assign=short_cot legacy' names two styles"),
        (["gone.md"], "prompt gone.md: no such file"),
        (["support.md", "legacy"], "'support.md' is a file and has its own style"),
        (["assign=support.md"], "it is for the step 'support' and was given for 'assign'"),
        (["plain.txt"], "no step 'plain.txt'; to specify the file, write ./plain.txt"),
    ],
)
def test_a_prompt_that_is_not_there_is_named_in_one_line(arguments: list[str], message: str) -> None:
    """With what there is, and nothing on standard output."""
    own("support.md")
    Path("plain.txt").write_text("text", encoding="utf-8")
    for command in ("show", "render"):
        assert message in refused("prompts", command, *arguments)


def test_on_a_terminal_a_prompt_says_nothing_that_a_terminal_obeys(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of a stranger is shown without its controls; one of ours with what to type next."""
    screen = sat_at(monkeypatch)
    prompt_commands.show(own("mine.md", ("own wording", "\x1b]0;owned\x07own \u202ewording")))
    assert "\x1b" not in screen.getvalue()
    assert "]0;ownedown wording" in screen.getvalue()
    assert "hint" not in capsys.readouterr().err
    prompt_commands.show("assign", "legacy")
    assert "ragstone prompts show assign legacy > mine.md" in capsys.readouterr().err
    assert max(map(len, screen.getvalue().splitlines())) <= 80


# ---- render


@pytest.mark.parametrize(("task", "name"), [(task, name) for task, name in OURS if ".ru" not in name])
def test_what_is_rendered_is_what_is_sent(task: str, name: str) -> None:
    """Message by message, for each prompt of the package in its own format."""
    told = ragstone("prompts", "render", task, name, "--json").json
    template = prompts.load(task, name)
    question = sample(template, None, told["scale"])
    style = "default" if template.form and name == template.form else name.removesuffix(f"_{template.form}")
    settings = Spec("judge", model="m", choice=Choice(styles={task: style}))
    (call,) = next(build(settings).dialogue(question))
    assert told["messages"] == orjson.loads(call.body)["messages"]
    assert (told["prompt"], told["style"], told["format"]) == (template.id, name, template.formats[0])
    text = ragstone("prompts", "render", f"{task}={name}").out
    assert all(f"=== {message['role']} ===\n{message['content']}\n" in text for message in told["messages"])
    assert text.startswith(template.id)


@pytest.mark.parametrize("fmt", LABEL_FORMATS)
def test_a_format_is_worded_for_so_many_units(fmt: str) -> None:
    """And so is the number of units, from one to a whole batch."""
    wordings = set()
    for units in (1, 2, 20):
        arguments = ("assign", "no_reasoning", "--format", fmt, "--units", str(units), "--json")
        told = ragstone("prompts", "render", *arguments).json
        _, user = (message["content"] for message in told["messages"])
        wording = prompts.shape(told["format"]).render(n=units)
        assert wording in user
        assert len(re.findall(r"^\[\w+ nugget \d+\]$", user, re.MULTILINE)) == told["units"] == units
        wordings.add(wording)
    assert len(wordings) == 3


@pytest.mark.parametrize(("task", "scale"), [(task, scale) for task, scales in SCALES.items() for scale in scales])
def test_every_scale_of_a_step_can_be_seen(task: str, scale: Any) -> None:
    """Its labels are explained, those of another are not."""
    came = ragstone("prompts", "render", task, "--scale", scale.name)
    assert sorted(re.findall(r'^- "(\w+)"', came.out, re.MULTILINE)) == sorted(scale.labels)
    assert f"scale {scale.name}" in came.out.splitlines()[0]


def test_a_prompt_of_ones_own_is_rendered_before_it_fits() -> None:
    """So that one sees what is wrong; a name that does not exist is said."""
    own("mine.md", ("{{ answer }}", "As you like."))
    assert ragstone("prompts", "check", "mine.md").code == 2
    assert "\nAs you like.\n" in ragstone("prompts", "render", "mine.md").out
    own("mine.md", ("{{ answer }}", "{{ anser }}"))
    assert "'anser' is undefined" in refused("prompts", "render", "mine.md")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["assign", "--format", "yaml"], "the prompt 'default' of the step 'assign' does not support format 'yaml'"),
        (["assign", "legacy", "--format", "yml"], "--format 'yml'; expected one of object, json, "),
        (["assign", "--scale", "yes_no"], "the step 'assign' has no scale 'yes_no'; it has support3, support2"),
        (["assign", "--units", "21"], "--units 21: the prompt 'default' asks about at most 20 in one call"),
        (["claims", "--units", "2"], "--units is for steps that rate units; 'claims' does not"),
        (["trace", "--scale", "yes_no"], "--scale is for steps that rate units; 'trace' does not"),
        (["formats", "yaml"], "'formats' is not a step but part of other prompts"),
        (["lost.md"], "prompt lost.md: there is no step 'lost'; the steps are "),
        (["many.md", "--units", "2"], "--units 2: the step 'response_support' asks about one response at a time"),
    ],
)
def test_what_cannot_be_rendered_is_refused_in_one_line(arguments: list[str], message: str) -> None:
    """By the flag that asks for it."""
    own("lost.md", ("task: support", "task: lost"))
    text = text_of("response_support", "default").replace("batch: 1", "batch: 5")
    Path("many.md").write_text(text, encoding="utf-8")
    assert message in refused("prompts", "render", *arguments)


def test_a_prompt_as_json_has_its_text_and_its_names() -> None:
    told = ragstone("prompts", "show", "support", "short_cot", "--json").json
    assert (told["step"], told["style"], told["text"]) == ("support", "short_cot", text_of("support", "short_cot"))
    assert Path(told["path"]).is_file()
    mine = ragstone("prompts", "show", own(), "--json").json
    assert (mine["prompt"], mine["path"], mine["step"]) == ("mine.md", "mine.md", None)


# ---- diff


def test_a_difference_as_json() -> None:
    """With the same exit code as without."""
    came = ragstone("prompts", "diff", "support=short_cot", "support=long_cot", "--json")
    plain = ragstone("prompts", "diff", "support=short_cot", "support=long_cot")
    assert (came.code, came.json["differ"], came.json["diff"]) == (1, True, plain.out)
    same = ragstone("prompts", "diff", "support=short_cot", "support=short_cot", "--json")
    assert (same.code, same.json["differ"], same.json["diff"]) == (0, False, "")


def test_prompts_that_differ_leave_with_one() -> None:
    """As a unified difference, its names those of the prompts."""
    own("mine.md", ("You check", "You settle"), ("version: 5", "version: 6"))
    came = ragstone("prompts", "diff", "support=short_cot", "mine.md")
    assert (came.code, came.err) == (1, "")
    lines = came.out.splitlines()
    assert lines[0].startswith("--- support.short_cot.v5#")
    assert lines[1] == "+++ mine.md"
    assert "-version: 5" in lines
    assert "+version: 6" in lines
    assert ragstone("prompts", "diff", "assign=short_cot.v4", "assign=short_cot.ru").code == 1


@pytest.mark.parametrize(
    ("arguments", "versions"),
    [
        (["support=short_cot"], ("support.short_cot.v1", "support.short_cot.v5")),
        (["assign=default.ru.v1"], ("assign.default.ru.v1", "assign.default.ru.v3")),
        (["assign=default.v5", "assign=default.v1"], ("assign.default.v5", "assign.default.v1")),
    ],
)
@pytest.mark.usefixtures("older_prompts")
def test_versions_of_one_prompt_are_compared(arguments: list[str], versions: tuple[str, str]) -> None:
    """One name alone is its last two versions; an older one alone is compared with the newest."""
    came = ragstone("prompts", "diff", *arguments)
    assert (came.code, came.err) == (1, "")
    before, after, *_ = came.out.splitlines()
    assert (before[4:].partition("#")[0], after[4:].partition("#")[0]) == versions


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("claims", "the prompt 'default' of the step 'claims' has one version, v3; use another prompt"),
        ("mine.md", "'mine.md' is a file; specify the prompt to compare with it"),
    ],
)
def test_what_has_no_other_version_needs_a_second_prompt(name: str, message: str) -> None:
    """Said in one line."""
    own()
    came = ragstone("prompts", "diff", name)
    assert (came.code, came.out, came.err) == (2, "", f"error: {message}\n")


def test_prompts_that_do_not_differ_are_silent() -> None:
    """Line ends count as on Unix, as in a prompt's hash."""
    own("mine.md")
    Path("windows.md").write_bytes(Path("mine.md").read_bytes().replace(b"\n", b"\r\n"))
    for other in ("mine.md", "windows.md", "support=short_cot.v5"):
        came = ragstone("prompts", "diff", "support=short_cot", other)
        assert (came.code, came.out, came.err) == (0, "", "")


def test_a_last_line_without_an_end_is_told() -> None:
    """It does not run into the next line."""
    Path("mine.md").write_text(text_of("support", "short_cot").rstrip("\n"), encoding="utf-8")
    came = ragstone("prompts", "diff", "support=short_cot", "mine.md")
    assert came.code == 1
    assert came.out.endswith("\n\\ No newline at end of file\n")


def test_a_difference_is_coloured_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signs stay; without colours where those are not wanted, and without controls of a stranger's file."""
    screen = sat_at(monkeypatch)
    own("mine.md", ("You check", "You settle\x1b[2J"))
    said = []
    for wanted in (True, False):
        if not wanted:
            monkeypatch.setenv("NO_COLOR", "1")
        with pytest.raises(typer.Exit) as leaving:
            prompt_commands.diff("support=short_cot", "mine.md")
        assert leaving.value.exit_code == 1
        said.append(screen.getvalue())
        screen.truncate(0)
        screen.seek(0)
    assert "\x1b[2J" not in said[0]
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said[0])
    assert plain != said[0]
    assert any(line.startswith("+") and "settle[2J" in line for line in plain.splitlines())
    assert "\x1b[38;5;166m-" in said[0]
    assert "\x1b[38" not in said[1]


# ---- check


def test_the_prompts_of_the_package_fit_and_one_that_was_changed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, in one line; with a changed one the command leaves with 2."""
    told = ragstone("prompts", "check", "--json")
    assert (told.code, told.json) == (0, {"files": len(prompts.entries()), "fits": True, "problems": {}})
    came = ragstone("prompts", "check")
    assert (came.code, came.err) == (0, "")
    assert f"All {len(prompts.entries())} files are valid and unmodified." in came.flat
    monkeypatch.setattr(prompts, "changed", lambda: {"assign/legacy.v2.md": "was changed"})
    came = ragstone("prompts", "check")
    assert came.code == 2
    assert "assign/legacy.v2.md: was changed" in came.out


@pytest.mark.parametrize("path", ["mine.md", "mine", "my prompts/mine.md", "a folder/mine"])
def test_a_prompt_that_fits_says_how_it_is_used(path: str) -> None:
    """The command to type names it so that a run finds it."""
    Path(path).parent.mkdir(exist_ok=True)
    own(path, ("style: short_cot", "style: mine"), ("formats: json, ", "formats: "))
    came = ragstone("prompts", "check", path, columns=120)
    assert (came.code, came.err) == (0, "")
    assert "is valid: step support, style mine, formats keyed, python_list, " in came.flat
    command = re.search(r"ragstone run FILE -j JUDGE --prompt (.+)", came.out)
    assert command is not None
    (choice,) = shlex.split(command[1])
    _, styles = parse_styles([choice])
    template, fmt = Choice(styles=styles).template("support")
    assert (template.style, fmt) == ("mine", "keyed")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ([("{{ passage }}", "{{ passage }} {{ passages[0][1] }}")], "a passage (passages) appears twice"),
        ([("{% endfor %}", "")], "Unexpected end of template"),
        ([("task: support", "task: suport")], "there is no step 'suport'; the steps are claims, "),
        ([("=== user ===", "=== reader ===")], "expected one '=== system ===' and one '=== user ===' part"),
    ],
)
def test_what_is_wrong_is_a_line_with_the_file(changes: list[tuple[str, str]], problem: str) -> None:
    """Whether the file or its step is at fault; the command leaves with 2 and proposes no run."""
    own("mine.md", *changes)
    came = ragstone("prompts", "check", "mine.md")
    assert came.code == 2
    assert f"mine.md: {problem}" in came.flat
    assert "prompt mine.md" not in came.flat
    assert "Next" not in came.out
    (told,) = ragstone("prompts", "check", "mine.md", "--json").json
    assert (told["file"], told["fits"]) == ("mine.md", False)
    assert any(problem in said for said in told["problems"])


def test_several_files_are_checked_each() -> None:
    """One that fits does not hide one that does not, in whichever order."""
    own("good.md")
    own("bad.md", ("{{ answer }}", ""), ('- "yes":', "- so:"))
    for files in (("good.md", "bad.md", "gone.md"), ("gone.md", "bad.md", "good.md")):
        came = ragstone("prompts", "check", *files)
        assert came.code == 2
        assert came.out.count("bad.md: ") == 2
        assert "good.md is valid: " in came.out
        assert "gone.md: no such file" in came.flat
        told = ragstone("prompts", "check", *files, "--json").json
        assert [(one["file"], one["fits"]) for one in told] == [(file, file == "good.md") for file in files]


def test_a_strangers_file_cannot_write_to_the_terminal() -> None:
    """Neither by what stands in it nor by its name."""
    own("a\x1b[2Jb.md", ("{{ unit }}", "{{ unit \x1b[31m }}"))
    came = ragstone("prompts", "check", "a\x1b[2Jb.md")
    assert came.code == 2
    assert "\x1b" not in came.out
    own("c\x1b[2Jd.md")
    came = done("prompts", "check", "c\x1b[2Jd.md")
    assert "\x1b" not in came.out
