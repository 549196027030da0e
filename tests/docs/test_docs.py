"""What the documentation says is true: its examples run, its references are current, its links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import types
from collections.abc import Iterator
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import get_args

import pytest
from pages import ADDRESS, DOCS, EXPORTS, ROOT, Reader, blocks, commands, labelled, matches, pages, run

from fake_tools import FakeLangfuse, FakeMLflow, FakePhoenix
from ragstone.judges import spec
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.judges.spec import STRUCTURED
from ragstone.metrics import catalogue, explained
from ragstone.parsing import LABEL_FORMATS, Status
from ragstone.prompts import FORMS, parse
from ragstone.prompts.catalogue import PURPOSES
from ragstone.prompts.check import problems, samples
from ragstone.prompts.material import variables_of
from ragstone.prompts.templates import KEYS
from ragstone.questions import SCALES, TASKS, YES_NO, Rate
from ragstone.render.html.live import Live
from ragstone.testing import FakeServer

KEY = "OPENAI_API_KEY"

pytestmark = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # a run that a page opens again


@lru_cache(maxsize=1)
def generate() -> types.ModuleType:
    """docs/generate.py, which is a script and in no package."""
    found = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(answer=labelled) as running:
        yield running


@pytest.fixture(scope="module")
def tools() -> Iterator[dict[str, str]]:
    """Servers of the tools that record traces: the variables that lead to them."""
    variables = {
        "PHOENIX_ENDPOINT": FakePhoenix(),
        "MLFLOW_TRACKING_URI": FakeMLflow(),
        "LANGFUSE_HOST": FakeLangfuse(),
    }
    with ExitStack() as running:
        for tool in variables.values():
            running.enter_context(tool)
            tool.project = "assistant"
            tool.seed(2)
        addresses = {name: tool.url for name, tool in variables.items()}
        yield addresses | {name: value for tool in variables.values() for name, value in tool.environment.items()}


@pytest.fixture
def reader(server: FakeServer, tools: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """A reader in a folder of their own, with keys, example traces and exports. No page reaches a real endpoint."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(EXPORTS, tmp_path, ignore=shutil.ignore_patterns("*.py"), dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        spec, "PRESETS", {name: preset._replace(base_url=server.url) for name, preset in spec.PRESETS.items()}
    )
    for preset in spec.PRESETS.values():
        if preset.key:
            monkeypatch.delenv(preset.key, raising=False)
    for name, value in {KEY: "sk-of-the-docs", **tools}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("RAGSTONE_CONFIG", "RAGSTONE_STORE", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Live, "serve_forever", interrupted)
    return Reader(server)


def interrupted(_: Live) -> None:
    """A reader who presses Ctrl-C as soon as a page is served."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("page", [ROOT / "README.md", *pages()], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_does_what_it_says(page: Path, reader: Reader) -> None:
    """Every block of Python runs, and every ragstone command ends and prints as the page shows."""
    reader.follow(page)


@pytest.mark.parametrize("page", sorted((DOCS / "tools").glob("*.md")), ids=lambda page: page.name)
def test_the_page_of_a_tool_shows_and_reads_a_real_export(page: Path) -> None:
    """Its snippet is part of an export that the tool made, but for ellipses, and a command reads that file."""
    found = [block for block in blocks(page) if block.source]
    typed = " ".join(command.typed for block in blocks(page) for command in commands(block))
    for block in found:
        parts = [re.escape(part.strip()) for part in " ".join(block.text.split()).split("…")]
        export = " ".join((EXPORTS / block.source).read_text(encoding="utf-8").split())
        assert re.search(".*?".join(parts), export), f"{page.name}:{block.line}"
    files = [block.source for block in found] + [block.title for block in blocks(page) if block.title]
    assert files
    assert [file for file in files if file not in typed] == []


@pytest.mark.parametrize("tool", ["ragas", "deepeval", "TruLens"])
def test_the_page_of_a_tool_has_the_metrics_that_are_there_too(tool: str) -> None:
    """Each in the row of the metric that is its nearest here, as `ragstone metrics` says."""
    text = (DOCS / "tools" / f"{tool.lower()}.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    named = {name: one.elsewhere[tool].split(", ") for name, one in catalogue().items() if tool in one.elsewhere}
    assert named
    for name, theirs in named.items():
        row = "".join(row for row in rows if row.startswith(f"| [{name}]"))
        assert [other for other in theirs if f"`{other}`" not in row] == []


def test_what_is_shown_is_held_against_the_output() -> None:
    """An ellipsis stands for anything, and nothing else does."""
    assert matches("one … three\nfour", "one two three  \nfour\n\n")
    assert not matches("one … three", "one two four")
    assert not matches("one", "one two")


def test_an_exit_code_is_told_from_another(reader: Reader) -> None:
    """A command that fails where the page says nothing of it fails the page."""
    page = Path("page.md")
    page.write_text("```console\n$ ragstone run nowhere.jsonl\n```\n", encoding="utf-8")
    (block,) = blocks(page)
    (command,) = commands(block)
    with pytest.raises(AssertionError, match="left with 2, not 0"):
        reader.type(command, "page.md:1")


def test_no_reference_is_stale() -> None:
    """What `python docs/generate.py` would write is what stands there."""
    assert generate().stale() == []


def test_every_metric_has_a_page() -> None:
    """A page for each metric and no other, which names its fields, its steps and its names in other tools."""
    assert {page.stem for page in (DOCS / "metrics").glob("*.md")} == set(catalogue())
    for name, metric in catalogue().items():
        text = (DOCS / "metrics" / f"{name}.md").read_text(encoding="utf-8")
        wanted = [
            *metric.needs,
            *metric.asks,
            *(other for said in metric.elsewhere.values() for other in said.split(", ")),
        ]
        assert [word for word in wanted if f"`{word}`" not in text] == []
        assert [word for word in metric.source.split() if word[:4].isdigit() and word.strip(",;.") not in text] == []


def test_every_parameter_has_a_meaning() -> None:
    """In the docstring of its metric, which the reference and `ragstone metrics NAME` take it from."""
    known = {name: explained(metric) for name, metric in catalogue().items()}
    assert [
        f"{name}.{one}" for name, meanings in known.items() for one, said in meanings.items() if said[:1] in ("", ";")
    ] == []
    meant = explained(catalogue()["trace"])["normaliser"]
    assert meant == "number of relevant sentences at which `relevance` reaches 1"


def test_every_key_of_the_files_is_explained(reader: Reader) -> None:
    """No key of results.jsonl, summary.json or run.json is missing from the reference."""
    Path("bad.jsonl").write_text('{"id": "a", "response": "It is.", "contexts": ["It is."]}\n[]\n', encoding="utf-8")
    panel = f"support=[embedded,vllm:one@{reader.server.url}]"
    asked = ["-j", "embedded", "-j", panel, "-m", "grounding", "--on-error", "skip", "-o", "out", "-q"]
    code, said = run(["run", "bad.jsonl", *asked])
    assert code == 0, said
    first, second = Path("out/results.jsonl").read_text(encoding="utf-8").splitlines()
    result, summary, details = (
        json.loads(text)
        for text in (
            first,
            Path("out/summary.json").read_text(encoding="utf-8"),
            Path("out/run.json").read_text(encoding="utf-8"),
        )
    )
    (score,) = result["scores"]
    (verdict,) = score["verdicts"]
    parts = [
        result, json.loads(second), *result["contexts"], *result["units"], *result["calls"], result["cost"],
        score, verdict, *verdict["evidence"], *verdict["members"],
        summary, *summary["metrics"].values(), summary["metrics"]["grounding"]["units"], summary["bill"],
        *summary["missing"], details, details["engine"],
    ]  # fmt: skip
    text = (DOCS / "reference" / "results.md").read_text(encoding="utf-8")
    assert sorted({key for part in parts for key in part if f"`{key}`" not in text}) == []


def test_the_prompt_of_the_guide_fits() -> None:
    """It passes the check that prompts of users pass before a run, and is shown in one by its name."""
    text = (DOCS / "tasks" / "prompts-and-formats.md").read_text(encoding="utf-8")
    (block,) = [block for block in blocks(DOCS / "tasks" / "prompts-and-formats.md") if block.language == "jinja"]
    assert problems(parse(block.text, block.title)) == []
    assert f"--prompt assign={block.title}" in text


def test_what_prompts_are_made_of_is_explained() -> None:
    """Every line of a header, every name that a prompt sees, format, style, step and scale is on a page."""
    written = [DOCS / "tasks" / "prompts-and-formats.md", DOCS / "reference" / "prompts.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in written)
    questions = [one for task in TASKS for form in FORMS.get(task, ("",)) for one in samples(task, form)]
    names = {name for question in questions for name in variables_of(question, "json", "")}
    scales = {scale.name for of_step in SCALES.values() for scale in of_step}
    wanted = {*KEYS, *names, *LABEL_FORMATS, *PURPOSES, *TASKS, *scales, *STRUCTURED, *get_args(Status)}
    assert sorted(word for word in wanted if f"`{word}`" not in text) == []
    assert set(generate().HEADER) == set(KEYS)


def test_every_command_is_in_the_guide() -> None:
    """Each command is shown at work on some page that was not generated."""
    written = [page for page in pages() if page.parent.name != "reference"]
    used = {
        name
        for page in written
        for block in blocks(page)
        if block.language == "console"
        for command in commands(block)
        for part in command.typed.split(" | ")
        if (words := part.split())[0] == "ragstone" and len(words) > 1
        for name in (words[1], " ".join(words[1:3]))
    }
    assert set(generate().command_names()) - used == set()


def test_every_setting_has_a_meaning() -> None:
    """A setting of the configuration without a sentence here, or a sentence without a setting, is an error."""
    assert {name for name, _, _ in generate().settings()} == set(generate().MEANINGS)


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*pages(), DOCS / "testing.md", ROOT / "README.md"], ids=lambda page: page.name)
def test_no_link_is_dead(page: Path) -> None:
    """A relative link leads to a file that is there, and to a heading that it has."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in _anchors(there)):
            dead.append(target)
    assert dead == []


def test_the_guide_is_short() -> None:
    """At most 25,000 words, without the generated reference and the decisions."""
    written = [page for page in DOCS.rglob("*.md") if page.parent.name not in ("reference", "decisions")]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in written) <= 25_000


@pytest.mark.skipif(shutil.which("bash") is None, reason="the workflow is for bash")
@pytest.mark.parametrize(
    ("listing", "drop"),
    [
        ("exit 1", ""),
        ("exit 0", ""),
        ("echo 7; exit 0", "DROP=--max-drop grounding=0.1 --undecided fail --baseline base/\n"),
    ],
    ids=["no workflow yet", "no run yet", "a run"],
)
def test_the_workflow_runs_before_there_is_a_baseline(listing: str, drop: str, tmp_path: Path) -> None:
    """The step that fetches it never fails, and the check measures drops only if there is one."""
    text = (DOCS / "tasks" / "gate-a-release.md").read_text(encoding="utf-8")
    step = re.search(r"- run: \|[^\n]*main[^\n]*\n(.*?)\n +env: ", text, re.DOTALL)
    assert step is not None
    (tmp_path / "gh").write_text(f'#!/bin/sh\ntest "$2" = download && exit 0\n{listing}\n', encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    (told := tmp_path / "env").touch()
    env = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "GITHUB_ENV": str(told)}
    subprocess.run(["bash", "-e", "-c", step[1]], env=env, check=True)
    assert told.read_text(encoding="utf-8") == drop
    assert re.search(r"ragstone check out/ .* \$DROP ", text)


def test_every_page_can_be_found() -> None:
    """The index links to every page, or to the list that the page is in."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = {*re.findall(r"\]\(([^)#\s]+)", text), "index.md"}
    assert {page.relative_to(DOCS).as_posix() for page in pages()} - linked == set()


def test_the_embedded_judge_is_named_as_it_signs() -> None:
    """By its version, wherever a page shows a signature; the digest of its numbers is left out."""
    said = {name for page in pages() for name in re.findall(r"\+(embedded-\w+#…)", page.read_text(encoding="utf-8"))}
    assert said == {re.sub(r"#\w{6}\.\w{4}$", "#…", EmbeddedJudge().maker(Rate("support", (), YES_NO)))}


def test_the_readme_quotes_the_card_of_the_embedded_judge() -> None:
    """Its figures changed in the card and stayed in the README."""
    card = (DOCS / "embedded-judge.md").read_text(encoding="utf-8")
    quality = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Measured quality")[2].partition("##")[0]
    (pairs, accepted, rejected), (roles, _, wrong) = re.findall(
        r"^\| (?:numbers.*additions|roles.*) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", card, re.MULTILINE
    )
    mean = re.search(r"\| mean over datasets .*?\*\*([\d.]+)\*\*", card)
    assert mean is not None
    shares = [f"{float(share):.0%}" for share in (accepted, rejected, wrong)]
    assert re.findall(r"(\d+) (?:held-out )?pairs", quality) == [pairs, roles]
    assert re.findall(r"\d+%", quality) == shares
    assert f"is {float(mean[1]):.2f}." in quality


def test_the_address_of_the_pages_reaches_the_fake(reader: Reader) -> None:
    """What pages write as an endpoint of one's own is answered here."""
    code, said = run(["judges", "--check", f"vllm:qwen3@{reader.server.url}"])
    assert code == 0, said
    assert ADDRESS not in said
