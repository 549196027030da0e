"""The wheel that users get: it holds what the source holds and nothing else, and works from an empty folder.

Run as a script (``make check`` does). The wheel goes into an environment of its own that sees the libraries of this
one, so that nothing is downloaded but the build backend.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "ragstone"
TRACES = ROOT / "examples" / "traces.jsonl"
GUIDE = ROOT / "docs" / "tasks" / "gate-a-release.md"
VENDORED = re.compile(r"git archive --prefix=ragstone/ HEAD (.+) \| tar")
NEEDED = (
    "store/schema.sql",
    "py.typed",
    "__init__.pyi",
    "api/__init__.pyi",
    "prompts/LOCK",
    "judges/embedded/model.json",
    "judges/embedded/relevance.json",
    "judges/embedded/slots.json",
    "judges/embedded/thesaurus.txt",
    "judges/embedded/thesaurus.LICENSE",
    "judges/embedded/band.json",
    "judges/embedded/measured.json",
    "render/html/page.html",
    "render/html/page.css",
    "render/html/compare.css",
    "render/html/js/main.js",
    "render/html/js/compare.js",
)


class WrongError(Exception):
    """Something about the wheel is not as it should be."""


def command(*words: str | Path, cwd: Path) -> str:
    """What a command said; WrongError with all of it when it failed."""
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RAGSTONE", "VIRTUAL"))
    }
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=plain, capture_output=True, text=True, check=False
    )
    if done.returncode:
        shown = " ".join(Path(str(word)).name for word in words)
        raise WrongError(f"{shown}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def build(place: Path) -> Path:
    """The wheel, by the pinned hatchling; from this environment where it has it, else fetched for the build alone.

    It is made of the files that the guide copies to a user's repository, where pytest collects no test of ours.
    """
    copied = VENDORED.findall(GUIDE.read_text("utf-8"))
    copy = place / "ragstone"
    for name in copied[0].split() if len(copied) == 1 else ():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
    if tests := [*copy.rglob("test_*.py"), *copy.rglob("*_test.py")]:
        raise WrongError(f"tests in what the guide copies: {', '.join(map(str, tests))}")
    here = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    command(sys.executable, "-m", "uv", "-q", "build", "--wheel", *here, "-o", place, copy, cwd=place)
    (wheel,) = place.glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> int:
    """Every file of the package is in it, and beside the package only what describes it."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    about = f"{wheel.name.rsplit('-', 3)[0]}.dist-info/"
    inside = {name.removeprefix("ragstone/") for name in names if name.startswith("ragstone/")}
    others = sorted(name for name in names if not name.startswith(("ragstone/", about)))
    source = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    } | {TRACES.name}
    if others:
        raise WrongError(f"files outside the package: {', '.join(others)}")
    if inside != source:
        raise WrongError(f"missing: {sorted(source - inside)}; not in the source: {sorted(inside - source)}")
    if absent := [name for name in NEEDED if name not in inside]:
        raise WrongError(f"missing in source and wheel: {', '.join(absent)}")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        raise WrongError("no license")
    return len(names)


def install(wheel: Path, place: Path) -> Path:
    """A fresh environment with the wheel and, read from here, its dependencies; returns where its commands are."""
    venv.create(place, symlinks=os.name != "nt")
    commands = place / ("Scripts" if os.name == "nt" else "bin")
    command(
        sys.executable, "-m", "uv", "-q", "pip", "install", "--no-deps", "--offline", "--python", commands / "python",
        wheel, cwd=place,
    )  # fmt: skip
    (packages,) = place.glob("Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages")
    # Named in a .pth file, this folder is searched, and its own .pth files, our editable source, are not followed.
    (packages / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return commands


def check_use(commands: Path, place: Path) -> int:
    """From an empty folder: where it is imported from, its version, what pytest finds, a run, and the demo."""
    where = command(commands / "python", "-c", "import ragstone; print(ragstone.__file__)", cwd=place)
    if not Path(where).is_relative_to(commands.parent):
        raise WrongError(f"imported from {where}, not from the wheel")
    declared = command(
        commands / "python", "-c", "from importlib.metadata import version; print(version('ragstone'))", cwd=place
    )
    said = command(commands / "ragstone", "--version", cwd=place)
    if declared not in said.split():
        raise WrongError(f"--version says {said!r}, the wheel {declared!r}")
    if "@pytest.mark.ragstone(" not in command(commands / "python", "-m", "pytest", "--markers", cwd=place):
        raise WrongError("pytest does not find the plugin")
    command(commands / "ragstone", "run", TRACES, "-o", "out", cwd=place)
    summary = json.loads((place / "out" / "summary.json").read_bytes())
    expected = len(TRACES.read_text("utf-8").splitlines())
    if summary["records"] != expected:
        raise WrongError(f"{summary['records']} records weighed of {expected}")
    if not summary["metrics"] or not all(metric["scored"] for metric in summary["metrics"].values()):
        raise WrongError(f"nothing is scored: {json.dumps(summary['metrics'])[:500]}")
    command(commands / "ragstone", "demo", "--no-open", "-o", "out", cwd=place)
    for name in ("report.html", "compare.html"):
        if not (place / "out" / name).read_bytes().endswith(b"</html>\n"):
            raise WrongError(f"no whole {name}")
    return expected


def main() -> int:
    """Check all of it; 0 when the wheel is good."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        try:
            (place / "empty").mkdir()
            wheel = build(place)
            files = check_contents(wheel)
            records = check_use(install(wheel, place / "environment"), place / "empty")
            size = wheel.stat().st_size / 1000
        except WrongError as wrong:
            sys.stderr.write(f"{wrong}\n")
            return 1
    took = time.monotonic() - started
    sys.stdout.write(f"{wheel.name}: {files} files, {size:.0f} kB, weighs {records} traces elsewhere ({took:.1f} s)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
