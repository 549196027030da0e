"""What other evaluators cost before the first call, beside ours: ``python benchmarks/peers.py [NAME ...]``.

Each is installed by pip into an environment of its own in a temporary folder (this needs a package index and some
gigabytes): packages, size on disk, time to import (CPU, the least of three), resident memory after it, and the network
connections that the import tried to open.
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
    "ragstone": (str(ROOT), "import ragstone; ragstone.evaluate"),
    "ragas": ("ragas", "import ragas"),
    "trulens": ("trulens", "import trulens.core, trulens.feedback"),
    "deepeval": ("deepeval", "import deepeval, deepeval.metrics"),
    "nuggetizer": ("nuggetizer", "import nuggetizer.models.nuggetizer"),
    "open-rag-eval": ("open-rag-eval", "import open_rag_eval.evaluators"),
    "nexa-gauge": ("nexa-gauge", "import ng_cli.main"),
}
"""What pip installs, and the import with which a user's script begins."""
PROBE: Final = """
import json, resource, socket, sys, time
tried = []
def refused(self, address, *rest):
    tried.append(str(address))
    raise OSError("offline")
socket.socket.connect = socket.socket.connect_ex = refused
begun = time.process_time()
exec(sys.argv[1])
print(json.dumps({
    "seconds": time.process_time() - begun,
    "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "tried": len(tried),
}))
"""


def measured(name: str, folder: Path) -> str:
    """One line of the table."""
    requirement, first = PEERS[name]
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q"]
    before = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    done = subprocess.run([*pip, "install", "--no-compile", requirement], check=False, capture_output=True, text=True)
    if done.returncode:
        return f"{name:15} not installed: {(done.stderr.strip().splitlines() or ['?'])[-1][:80]}"
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) - before
    found = [path.name.removesuffix(".dist-info").rsplit("-", 1) for path in folder.rglob("*.dist-info")]
    packages = len(found) - 1  # all but pip
    runs = []
    for _ in range(4):  # the first one writes the bytecode
        probe = subprocess.run([python, "-c", PROBE, first], check=False, capture_output=True, text=True, cwd=folder)
        if probe.returncode:
            return f"{name:15} {packages:9} {size / 1e6:9.0f}  no import: {probe.stderr.strip().splitlines()[-1][:60]}"
        runs.append(json.loads(probe.stdout.splitlines()[-1]))
    seconds, memory = (min(run[key] for run in runs[1:]) for key in ("seconds", "megabytes"))
    version = dict(found).get(name.replace("-", "_"), "")
    return (
        f"{name + ' ' + version:22} {packages:9} {size / 1e6:8.0f} {seconds:9.2f} {memory:10.0f} {runs[-1]['tried']:12}"
    )


def main(names: list[str]) -> None:
    """Print the table."""
    print(f"{'':22} {'packages':>9} {'MB':>8} {'import s':>9} {'memory MB':>10} {'connections':>12}")
    for name in names or PEERS:
        with tempfile.TemporaryDirectory() as folder:
            print(measured(name, Path(folder)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
