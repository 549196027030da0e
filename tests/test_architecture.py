"""The rules of the house that no type checker sees, read from the source itself.

import-linter keeps who may import whom; here is where async, SQL, output and prompts may live, what may be caught,
and what a bare import costs.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import ragstone
from ragstone.metrics import catalogue
from ragstone.questions import TASKS
from ragstone.records import ALIASES

ROOT = Path(ragstone.__file__).parent
MODULES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}
Rule = Callable[[str, ast.Module], list[str]]

ASYNC = ("engine/", "testing/", "api/", "services/connection.py")
BACKEND = {"open", "send", "close", "submit", "find", "state", "results", "cancel"}
"""The methods of a backend, which are the only effect that a judge has."""

DIALECT = {"choices", "messages", "response_format", "max_completion_tokens", "prompt_tokens", "completion_tokens",
           "finish_reason", "reasoning_content"}  # fmt: skip
"""Keys of OpenAI's requests and answers."""

OUTPUT = ("api/progress.py", "cli/", "render/", "output/", "__main__.py")

CAUGHT = {
    # The edge: the fault of one metric, one record, one result or one reply that cannot be written down or one backend
    # must not end a run, and whoever waits for a reply or the disk must hear of any trouble with it.
    "engine/run.py": 3,
    "engine/calls.py": 3,
    "engine/writer.py": 1,
    "testing/listener.py": 1,  # an error of a test's own answer, handed to the test when its server stops
    "models.py": 1,  # the libraries that read a model's files raise bare exceptions
    "__main__.py": 1,  # the edge: Python's own code for a crash, 1, means a failed check here
}
"""How many handlers of any exception a module may have that do not raise it again."""

SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX)"
    r"|PRAGMA\s+\w+|BEGIN\s+(IMMEDIATE|EXCLUSIVE))\b"
)
STORES = {"store/connection.py", "store/database.py", "store/recovery.py", "store/union.py"}
RIDDLES = re.compile(
    r"\b(weigh(s|ed|ing)?|anew|nobody|(hold|holds|held|holding) (\w+ ){0,3}against|(leave|leaves|left) with"
    r"|from which on|goes? on (with|without)|did not join|labels? joins|ordinary length|how far|came before"
    r"|stands? (above|there|before)|made otherwise|(ask for it|add) by name|could be shown|texts beside|sends no call"
    r"|passed over)\b|\b(elsewhere|signs): ",
    re.IGNORECASE,
)
LONGEST_TEXT = 300
LONGEST_FILE = 500
SMALL = 40
"""Lines below which a module that one other imports belongs to it."""
REPEATED = 6
"""Lines of code that may not stand in two places."""
HEAVY = ("aiohttp", "pydantic", "jinja2", "rich", "typer", "numpy", "sqlite3", "pandas", "pyarrow", "genai_prices",
         "sentencex", "asyncio", "onnxruntime", "tokenizers", "huggingface_hub")  # fmt: skip


def everywhere(rule: Rule) -> Callable[[], None]:
    """A rule of one module, held in all of them: whatever breaks it is told at once, with its place."""

    def test() -> None:
        assert [place for name, tree in sorted(MODULES.items()) for place in rule(name, tree)] == []

    test.__name__, test.__doc__ = rule.__name__, rule.__doc__
    return test


def at(name: str, node: ast.AST) -> str:
    return f"src/ragstone/{name}:{getattr(node, 'lineno', 1)}"


def docstrings(tree: ast.Module) -> set[int]:
    """The ids of all constants that are docstrings, of attributes too."""
    found = set()
    for node in nodes(tree):
        for statement in getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                found.add(id(statement.value))
    return found


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


@cache
def texts(tree: ast.Module) -> tuple[ast.Constant | ast.JoinedStr, ...]:
    """String literals that are not docstrings; an f-string as a whole."""
    skipped = docstrings(tree)
    for node in nodes(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node) if part != node}
    kinds = (node for node in nodes(tree) if isinstance(node, ast.Constant | ast.JoinedStr))
    return tuple(node for node in kinds if id(node) not in skipped
                 and (isinstance(node, ast.JoinedStr) or isinstance(node.value, str)))  # fmt: skip


def content(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)


def calls(tree: ast.Module, function: str) -> Iterator[ast.Call]:
    for node in nodes(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
            yield node


def imported(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node


def test_the_source_is_read() -> None:
    """All the packages are there: a rule that reads nothing would hold for ever."""
    folders = {name.partition("/")[0] for name in MODULES if "/" in name}
    assert {"cli", "engine", "judges", "metrics", "parsing", "prompts", "records", "render", "testing"} <= folders


@everywhere
def test_only_a_backend_reads_its_dialect(name: str, tree: ast.Module) -> list[str]:
    """The keys of a provider's JSON stand in its backend, in the endpoint of the test kit that plays it, and in the
    readers of records, which may be logs of it."""
    if name in ("judges/openai.py", "judges/messages.py") or name.startswith(("testing/", "records/")):
        return []
    own = {
        "cli/prompt_commands.py": {"messages"},  # the command's own output has them
        "records/label_imports.py": {"choices"},  # labels of Label Studio have them
    }.get(name, set())
    return [at(name, node) for node in texts(tree) if content(node) in DIALECT - own]


@everywhere
def test_async_is_the_engines(name: str, tree: ast.Module) -> list[str]:
    """``async`` and ``await`` are in the engine, in the API over it, and in what sends: a backend, a connection."""
    if name.startswith(ASYNC):
        return []
    allowed: set[int] = set()
    if name.startswith("judges/"):
        for owner in (node for node in nodes(tree) if isinstance(node, ast.ClassDef)):
            methods = {method.name: method for method in owner.body if isinstance(method, ast.AsyncFunctionDef)}
            if BACKEND & set(methods):  # a backend or a part of one, and what its methods share privately
                fine = [method for key, method in methods.items() if key in BACKEND or key.startswith("_")]
                allowed |= {id(node) for method in fine for node in ast.walk(method)}
    kinds = ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith
    return [at(name, node) for node in nodes(tree) if isinstance(node, kinds) and id(node) not in allowed]


@everywhere
def test_sql_is_the_stores(name: str, tree: ast.Module) -> list[str]:
    """Whatever reads like a statement stands in the store's modules and schema.sql alone."""
    return [
        at(name, node)
        for node in texts(tree)
        if name not in STORES | {"store/batches.py", "store/upkeep.py"} and SQL.search(content(node))
    ]


def test_sqlite_is_the_stores() -> None:
    """Nobody else opens a database, or knows that there is one."""
    assert {name for name, tree in MODULES.items() if any(m == "sqlite3" for m, _ in imported(tree))} == STORES
    assert SQL.search("SELECT a FROM b")
    assert any(SQL.search(content(node)) for node in texts(MODULES["store/database.py"]))


@everywhere
def test_output_is_the_command_lines(name: str, tree: ast.Module) -> list[str]:
    """Nobody prints, writes to the standard streams or draws, but cli, report, progress and the test kit's command."""
    if name.startswith(OUTPUT):
        return []
    found = [at(name, node) for node in calls(tree, "print")]
    found += [at(name, node) for module, node in imported(tree) if module.partition(".")[0] == "rich"]
    found += [
        at(name, node) for node in nodes(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr")
        and isinstance(node.value, ast.Name) and node.value.id == "sys"
    ]  # fmt: skip
    return found


@everywhere
def test_prompts_are_files(name: str, tree: ast.Module) -> list[str]:
    """No long text stands in code: what a model is told is in prompts/, where it has a version and a hash."""
    return [
        at(name, node) for node in texts(tree)
        if len(content(node)) > LONGEST_TEXT and content(node).count(" ") > LONGEST_TEXT / 12
        and not _word_list(tree, node)
    ]  # fmt: skip


def _word_list(tree: ast.Module, node: ast.AST) -> bool:
    """A text that is taken apart at once (``"a b c".split()``) is a list of words."""
    return any(
        isinstance(parent, ast.Attribute) and parent.attr == "split" and parent.value is node for parent in nodes(tree)
    )


def test_what_is_caught_is_named() -> None:
    """A handler of any exception is at the engine's edge, or raises again what it caught; the list is exact."""
    found = {
        name: sum(
            isinstance(node, ast.ExceptHandler) and _any_exception(node) and not _raises_again(node)
            for node in nodes(tree)
        )
        for name, tree in MODULES.items()
    }
    assert {name: count for name, count in found.items() if count} == CAUGHT


def _any_exception(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException")) for kind in kinds
    )


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Its last statement is a bare ``raise``."""
    return isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None


NAMING = {
    "api/nuggets.py": "banks of nuggets are assigned and created for one metric",
    "config.py": "the panel of one metric may be named as its parameter",
    "options.py": "examples in help texts",
    "pytest_plugin/scoring.py": "an example in a message",
}
"""Modules that name a metric in a text, with the reason; beside them the command line, whose examples do."""
BANKS = {"analysis/leaderboard.py", "render/terminal/columns.py", "render/terminal/nuggets.py"}
"""Modules that import a metric: leaderboards and screens of banks are about one metric."""


def test_metrics_are_known_by_no_name() -> None:
    """No text and no import outside metrics/ names a metric; its defaults are in ragstone.toml, and nowhere else."""
    names = "|".join(sorted(set(catalogue()) - set(TASKS) - set(ALIASES)))
    named = re.compile(rf"\b({names})\b|\btrace\.(?!json|relevant\b|utilized\b)[a-z_]+\b")
    outside = {name: tree for name, tree in MODULES.items() if not name.startswith(("metrics/", "cli/", "testing/"))}
    found = {name for name, tree in outside.items() for node in texts(tree) if named.search(content(node))}
    assert found == set(NAMING)
    files = (path for path in (ROOT / "render/html").rglob("*.*") if path.suffix != ".pyc")
    assert [path for path in files if named.search(path.read_text("utf-8"))] == []
    importing = {
        name for name, tree in outside.items() for module, _ in imported(tree)
        if module.removeprefix("ragstone.metrics.") in catalogue()
    }  # fmt: skip
    assert importing == BANKS
    assert all(f"[metrics.{name}]" in (ROOT / "ragstone.toml").read_text("utf-8") for name in catalogue())


@everywhere
def test_messages_are_in_plain_words(name: str, tree: ast.Module) -> list[str]:
    """No text of several words, such as an error or a title, has words that readers had to guess at."""
    if name == "parsing/labels.py":  # its problems are sent to the judge: in other words they would be paid for again
        return []
    return [at(name, node) for node in texts(tree) if " " in content(node) and RIDDLES.search(content(node))]


def test_headings_are_in_plain_words() -> None:
    """Of all pages of the docs, and of the README."""
    project = Path(__file__).parents[1]
    found = [
        f"{path.name}: {line}" for path in (project / "README.md", *(project / "docs").rglob("*.md"))
        for line in path.read_text("utf-8").splitlines() if line.startswith("#") and RIDDLES.search(line)
    ]  # fmt: skip
    assert found == []
    assert RIDDLES.search("Hold one run against another")
    assert RIDDLES.search("Leaves with 3")
    assert not RIDDLES.search("weights of the model that is left")


@everywhere
def test_names_say_what_is_inside(name: str, tree: ast.Module) -> list[str]:
    """Nothing is called utils, helpers, common, misc or manager."""
    words = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"}
    found = [name] if words & set(re.split(r"[/._]", name.lower())) else []
    return found + [at(name, n) for n in nodes(tree) if isinstance(n, ast.ClassDef) and n.name.endswith("Manager")]


@everywhere
def test_each_module_says_what_it_is_for(name: str, tree: ast.Module) -> list[str]:
    """Its docstring opens with a line that is more than a word."""
    said = ast.get_docstring(tree) or ""
    return [] if len(said.partition("\n")[0]) > 15 else [name]


@everywhere
def test_files_are_short(name: str, tree: ast.Module) -> list[str]:
    """A file does one thing; one of more than 600 lines is to be taken apart."""
    lines = len((ROOT / name).read_text("utf-8").splitlines())
    return [f"src/ragstone/{name}: {lines} lines"] if lines > LONGEST_FILE else []


@everywhere
def test_nothing_is_evaluated(name: str, tree: ast.Module) -> list[str]:
    """No eval or exec, and pickle only between our own processes: what comes from records and models is data."""
    found = [at(name, node) for function in ("eval", "exec", "compile") for node in calls(tree, function)]
    unsafe = ("marshal", "shelve") if name == "api/workers.py" else ("pickle", "marshal", "shelve")
    return found + [at(name, node) for module, node in imported(tree) if module in unsafe]


def test_metrics_know_no_judge_no_clock_and_no_chance() -> None:
    """A metric is arithmetic on answers: it imports neither judges nor engine, neither time nor random."""
    forbidden = ("ragstone.judges", "ragstone.engine", "ragstone.prompts", "ragstone.store", "time", "random", "os",
                 "datetime", "socket", "asyncio", "pathlib")  # fmt: skip
    found = [
        at(name, node) for name, tree in MODULES.items() if name.startswith("metrics/")
        for module, node in imported(tree)
        if any(module == each or module.startswith(f"{each}.") for each in forbidden)
    ]  # fmt: skip
    assert found == []


def test_the_environment_is_read_in_few_places() -> None:
    """Keys in what sends, the two variables in the configuration, CI for progress, the switches of Ray, and what
    the packages of object stores read; no others."""
    allowed = {
        "config.py", "settings.py", "judges/http.py", "api/judge_check.py", "api/progress.py", "services/connection.py",
        "api/ray_tasks.py", "records/object_stores.py",
    }  # fmt: skip
    found = {
        name for name, tree in MODULES.items() if not name.startswith(("cli/", "render/terminal/", "testing/"))
        for node in nodes(tree) if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
    }  # fmt: skip
    assert found <= allowed, found - allowed


def in_a_fresh_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_place_of_the_tests_looks_beside_the_checkout() -> None:
    """``conftest.py``, which skips what needs data from there; nothing else climbs above the root of the project."""
    tests = Path(__file__).parent
    climbing = [
        path.relative_to(tests).as_posix()
        for path in tests.rglob("*.py")
        for steps, more in re.findall(r"parents\[(\d)\](\.parent\b)?", path.read_text("utf-8"))
        if int(steps) + bool(more) > len(path.relative_to(tests).parts)
    ]
    assert climbing == ["conftest.py"]


def test_a_bare_import_is_light() -> None:
    """``import ragstone`` loads none of what it will need later."""
    code = "import sys; before = set(sys.modules); import ragstone; print(*sorted(set(sys.modules) - before))"
    loaded = {module.partition(".")[0] for module in in_a_fresh_python(code).split()}
    assert "ragstone" in loaded
    assert loaded & set(HEAVY) == set()


MOST_LOADED = 184
"""Modules of the package that a run of one record loads."""


def test_a_run_of_the_embedded_judge_loads_what_it_needs() -> None:
    """From the shell: no page, no estimate, no reader of replies, no client, no other command's work or options."""
    code = """
import gc, sys
from ragstone import __main__
sys.argv = ["ragstone", "run", "-", "--quiet", "--json", "--store", ":memory:"]
before = sum(one["collections"] for one in gc.get_stats())
try:
    __main__.main()
except SystemExit:
    print(*(name for name in sys.modules if name.startswith("ragstone.") or "." not in name))
    print(sum(one["collections"] for one in gc.get_stats()) - before)
named = __main__._app(sys.argv[1:2])
print(*(command.callback.__name__ for command in named.registered_commands), *named.registered_groups)
from ragstone.cli.app import app
print(len(__main__._app(["nuggets"]).registered_groups), __main__._app(["rum"]) is app)
"""
    row = b'{"question": "What is the lid?", "response": "The lid is steel.", "contexts": ["The lid is steel."]}'
    done = subprocess.run([sys.executable, "-c", code], input=row, capture_output=True, check=True)
    *_, every, collections, named, other = done.stdout.decode().splitlines()
    loaded = {name for name in every.split() if name.startswith("ragstone.")}
    assert (named, other) == ("run", "1 True")
    idle = {"api.comparing", "api.nuggets", "api.estimating", "forecast.dry_run", "parsing", "render.html.build",
            "forecast.summary", "judges.prompted"}  # fmt: skip
    assert not {f"ragstone.{name}" for name in idle} & loaded
    assert len(loaded) <= MOST_LOADED, "load late what a plain run does not need"
    assert int(collections) < 10, "the collector looks through all that is imported, again and again"
    assert not {"aiohttp", "genai_prices", "jinja2", "pydantic"} & set(every.split())


def test_what_reads_runs_loads_no_engine() -> None:
    """show, runs, compare, check and report judge and send nothing."""
    screens = ["case", "compare_screen", "lists", "outcome"]
    parts = ["config", "analysis.check", "api.stored", "render.html", *(f"render.terminal.{name}" for name in screens)]
    code = f"import sys, {', '.join(f'ragstone.{part}' for part in parts)}; print(*sys.modules)"
    loaded = set(in_a_fresh_python(code).split())
    assert not {"asyncio", "ssl", "ragstone.engine.calls", "ragstone.judges.prompted"} & loaded


def test_a_bare_import_opens_nothing() -> None:
    """No socket, no thread, no child, and nothing asked of the environment by name."""
    code = """
import sys
import os, threading
seen = []
watched = ("socket.", "subprocess.", "os.putenv")
sys.addaudithook(lambda event, args: seen.append(event) if event.startswith(watched) else None)
asked = []
original = type(os.environ).__getitem__
type(os.environ).__getitem__ = lambda self, key: (asked.append(key), original(self, key))[1]
import ragstone
print(seen, asked, threading.active_count())
"""
    assert in_a_fresh_python(code).strip() == "[] [] 1"


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other, directly or through others."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            waiting += (new := edges[waiting.pop()] - seen)
            seen |= new
        return seen

    after = {name: reached(name) for name in edges}
    circles = {frozenset({name, *(other for other in after[name] if name in after[other])}) for name in edges}
    return sorted(sorted(circle) for circle in circles if len(circle) > 1)


def test_no_modules_import_each_other() -> None:
    """Neither at the top, nor inside functions, nor for type checkers alone."""
    names = {".".join(("ragstone", *Path(name).with_suffix("").parts)).removesuffix(".__init__"): tree
             for name, tree in MODULES.items()}  # fmt: skip
    edges = {
        name: {
            full if (full := f"{module}.{part}") in names else module
            for node in nodes(tree)
            for module, part in _imports(node)
        } & names.keys() - {name}
        for name, tree in names.items()
    }  # fmt: skip
    assert cycles(edges) == []
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert sum(map(len, edges.values())) > 800


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((node.module or "", alias.name) for alias in node.names)


def test_a_class_name_means_one_thing() -> None:
    """No two modules define a public class of one name."""
    homes: dict[str, list[str]] = {}
    for name, tree in MODULES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(name)
    assert {found: places for found, places in homes.items() if len(places) > 1} == {}


def test_small_modules_belong_to_their_importer() -> None:
    """A module of a few lines that one other imports is part of that one; plug-ins, which none imports, stay files."""
    importers: dict[str, set[str]] = {}
    for name, tree in MODULES.items():
        for node in nodes(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for target in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    importers.setdefault(f"{target.removeprefix('ragstone.').replace('.', '/')}.py", set()).add(name)
    small = {name for name in MODULES if len((ROOT / name).read_text("utf-8").splitlines()) < SMALL}
    assert {name for name in small if len(importers.get(name, ())) == 1} == set()


def test_no_code_stands_twice() -> None:
    """Six lines of code are in one place; imports and lists of names do not count."""
    seen: dict[tuple[str, ...], str] = {}
    twice = []
    for name in sorted(MODULES):
        lines = [line.strip() for line in (ROOT / name).read_text("utf-8").splitlines()]
        for at in range(len(lines) - REPEATED + 1):
            block = tuple(lines[at : at + REPEATED])
            code = [line for line in block if re.search(r"[(=]", line) and not line.startswith(("from ", "import "))]
            if len(code) >= REPEATED - 1:
                place = f"{name}:{at + 1}"
                if block in seen and not seen[block].startswith(f"{name}:{at - 4}"):
                    twice.append((seen[block], place))
                seen.setdefault(block, place)
    assert twice == []
