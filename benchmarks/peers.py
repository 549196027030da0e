"""What other evaluators cost before the first call, beside ours: ``python benchmarks/peers.py [NAME ...]``.

Each is installed by pip into an environment of its own in a temporary folder (this needs a package index and some
gigabytes): packages, size on disk, time to import (CPU, the least of three), resident memory after it, and the other
hosts that the import tried to reach. ``side_by_side.py`` runs what is installed here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PEERS: Final = {
    "ragstone": ([str(ROOT)], "import ragstone; ragstone.evaluate"),
    "ragas": (["ragas", "langchain-community<0.4"], "import ragas"),  # 0.4.3 imports what the newest one lacks
    "trulens": (["trulens"], "import trulens.core, trulens.feedback"),
    "deepeval": (["deepeval"], "import deepeval, deepeval.metrics"),
    "nuggetizer": (["nuggetizer"], "import nuggetizer.models.nuggetizer"),
    "open-rag-eval": (["open-rag-eval"], "import open_rag_eval.evaluators"),
    "nexa-gauge": (["nexa-gauge"], "import ng_cli.main"),
}
"""What pip installs, and the import with which a user's script begins."""
PROBE: Final = """
import atexit, json, resource, sys, time
hosts, seconds, scope = set(), [], {"__name__": "__main__"}
def refuse(event, given):
    host = given[0] if event == "socket.getaddrinfo" else given[1] if event == "socket.connect" else None
    host = host[0] if isinstance(host, tuple) else None if event == "socket.connect" else host
    host = host.decode() if isinstance(host, bytes) else host
    if host not in (None, "", "localhost", "127.0.0.1", "::1"):
        hosts.add(host)
        raise OSError("offline")
def report():
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("\\n" + json.dumps({"seconds": seconds, "megabytes": memory, "hosts": sorted(hosts)}), flush=True)
sys.addaudithook(refuse)
atexit.register(report)  # the first, so that it runs after those of the script
for part in sys.argv[1:]:
    begun = time.process_time()
    try:
        exec(part, scope)
    finally:
        seconds.append(time.process_time() - begun)
"""
"""Runs the parts of a script with no network but loopback. Its last line: CPU seconds of each part, peak memory, and
other hosts that Python tried to resolve or reach."""


def installed(name: str, requirements: list[str], folder: Path) -> tuple[Path, str]:
    """Install a tool, unless it is in the folder: its interpreter and version; RuntimeError with pip's last line."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    if not (version := packages(folder).get(name.replace("-", "_"))):
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-compile"]
        done = subprocess.run([*pip, *requirements], check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"not installed: {(done.stderr.strip().splitlines() or ['?'])[-1][:80]}")
        version = packages(folder).get(name.replace("-", "_"), "")
    return python, version


def packages(folder: Path) -> dict[str, str]:
    """The packages of an environment and their versions."""
    found = (path.name.removesuffix(".dist-info").rsplit("-", 1) for path in folder.rglob("*.dist-info"))
    return {name.lower(): version for name, version in found}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measured(name: str, folder: Path) -> str:
    """One line of the table."""
    requirements, first = PEERS[name]
    venv.create(folder, with_pip=True)
    before = _size(folder)
    try:
        python, version = installed(name, requirements, folder)
    except RuntimeError as error:
        return f"{name:22} {error}"
    size, count = _size(folder) - before, len(packages(folder)) - 1  # all but pip
    line = f"{name + ' ' + version:22} {count:9} {size / 1e6:8.0f}"
    runs = []
    for _ in range(4):  # the first one writes the bytecode
        probe = subprocess.run([python, "-c", PROBE, first], check=False, capture_output=True, text=True, cwd=folder)
        if probe.returncode:
            return f"{line}  no import: {probe.stderr.strip().splitlines()[-1][:60]}"
        runs.append(json.loads(probe.stdout.splitlines()[-1]))
    seconds, memory = min(run["seconds"][0] for run in runs[1:]), min(run["megabytes"] for run in runs[1:])
    return f"{line} {seconds:9.2f} {memory:10.0f} {len(runs[-1]['hosts']):6}"


def main(names: list[str]) -> None:
    """Print the table."""
    print(f"{'':22} {'packages':>9} {'MB':>8} {'import s':>9} {'memory MB':>10} {'hosts':>6}")
    for name in names or PEERS:
        with tempfile.TemporaryDirectory() as folder:
            print(measured(name, Path(folder)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
