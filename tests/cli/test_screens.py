"""Every screen keeps to its terminal, at any width and without Unicode; ``terminal.ragstone`` looks at each line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest
from terminal import HOSTILE, WIDTHS, answers, harsh, inside, ragstone, row, write

from ragstone import evaluate
from ragstone.testing import FakeServer, ScriptedJudge

pytest_plugins = ["terminal_fixtures"]

LOOKS = (*((columns, "utf-8") for columns in (50, *WIDTHS)), (80, "ascii"))
CASCADE = "-m grounding,groundedness -j 'embedded>mine' --cascade-error 0.2"
SCREENS = (
    *(f"show last '#{number}' --store weighed.db{more}" for number in (1, 6, 17, 18, 20) for more in ("", " --full")),
    "runs --store weighed.db", "runs --store long.db", "show 1 --store weighed.db", "show 1 --store long.db",
    "show 1 '#1' --store long.db", "compare 1 2 --store long.db", "compare a b --store none.db",
    "check 2 --min grounding=1 --max-drop groundedness=0 --baseline 1 --store long.db",
    "metrics", "metrics response_groundedness", "judges", "fields", "validate long.jsonl", "cache info --store long.db",
    "formats --store long.db", "nuggets score shares.jsonl", "prompts list", f"prompts check '{'a-long-name-' * 6}.md'",
    "run long.jsonl -q --store o.db -o out -j mine -j support=embedded", "compare-methods long.jsonl -q --store o.db",
    *(f"estimate long.jsonl {more}" for more in ("", "-j openai:unheard-of", "-j openai:gpt-4o -j claims=embedded")),
    f"estimate long.jsonl {CASCADE}", "compare-methods long.jsonl -j openai:gpt-4o-mini --dry-run",
    "nuggets create long.jsonl -o out.jsonl -j openai:gpt-4o-mini --dry-run",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, weighed: Path) -> Iterator[Path]:
    """Runs of the examples, and of records whose ids, texts and systems are long and obeyed by terminals."""
    patch = pytest.MonkeyPatch()
    with FakeServer() as server, inside(tmp_path_factory.mktemp("screens"), patch):
        copy(weighed, "weighed.db")
        table = '[judges.mine]\nmodel = "some/very-long-model-name-of-mine"\nbase_url = "{}"\napi_key_env = ""\n'
        Path("ragstone.toml").write_text(table.format(server.url), encoding="utf-8")
        rows = [row(n, id=f"record-{n}-{'x' * 150}{HOSTILE}", meta={HOSTILE: HOSTILE}) for n in range(8)]
        write("long.jsonl", *rows)
        for name, said in (("a", answers), ("b", harsh)):
            judge = ScriptedJudge(said, version="1")
            told = name * 90 + HOSTILE
            run = evaluate(rows, ["triad", "grounding"], judge, no_cache=True, store="long.db", name=told, out=name)
            run.store.close()
        nuggets = [{"text": f"fact {n}", "importance": "vital", "assignment": "support"} for n in range(4)]
        answer = {"query": "What?", "qid": "t", "answer_text": "It is.", "nuggets": nuggets}
        write("shares.jsonl", *({**answer, "run_id": f"{HOSTILE}{'x' * 90}{n}"} for n in range(3)))
        Path(f"{'a-long-name-' * 6}.md").write_text("{{ unit \x1b[31m }}", encoding="utf-8")
        yield Path()
    patch.undo()


@pytest.mark.parametrize("screen", SCREENS)
def test_every_screen_keeps_to_its_terminal(folder: Path, screen: str) -> None:
    for columns, charset in LOOKS:
        came = ragstone(*shlex.split(screen), columns=columns, charset=charset)
        assert came.code in (0, 1) or "prompts check" in screen, came.err
        assert came.out.startswith("\n"), "a page, which is looked at line by line"
        assert "\ufffd" not in came.out
