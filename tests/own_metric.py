"""The metric of docs/tasks/add-a-metric.md as another package that is installed: a file and its dist-info."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ragstone import metrics

PAGE: Final = Path(__file__).parents[1] / "docs" / "tasks" / "add-a-metric.md"
RECORDS: Final = [
    {"id": "good", "question": "How much?", "response": "It holds 2 litres.", "contexts": ["It holds 2 litres."]},
    {
        "id": "bad", "question": "How heavy?", "response": "It holds 2 litres. It weighs 9 kilos and costs 70 dollars.",
        "contexts": ["It holds 2 litres and weighs 3 kilos."],
    },
]  # fmt: skip


SHORT: Final = "plain_support"
"""The metric of eleven lines on the same page."""


@contextmanager
def eleven_lines(form: str, folder: Path) -> Iterator[str]:
    """That metric as a ``file`` of the working directory, or ``installed``: the name to ask for it by."""
    found = re.search(rf'```python title="({SHORT}\.py)"\n(.*?)```', PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    assert len([line for line in found[2].splitlines() if line]) == 11
    folder.mkdir(exist_ok=True)
    (folder / found[1]).write_text(found[2], "utf-8")
    reference = f"{SHORT}:PlainSupport"
    sys.modules.pop(SHORT, None)  # a test of the page may have left it
    try:
        if form == "file":
            with contextlib.chdir(folder):
                yield reference
        else:
            with installed(folder, f"{SHORT} = {reference}"):
                yield SHORT
    finally:
        sys.modules.pop(SHORT, None)
        metrics._NAMED.clear()


@contextmanager
def installed(folder: Path, points: str = "") -> Iterator[None]:
    """Ragstone beside that package, or one with other entry ``points``."""
    text = PAGE.read_text("utf-8")
    source = re.search(r'```python title="(figure_support\.py)"\n(.*?)```', text, re.DOTALL)
    declared = re.search(r'\[project\.entry-points\."ragstone\.metrics"\]\n(.*?)\n```', text, re.DOTALL)
    assert source is not None
    assert declared is not None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / source[1]).write_text(source[2], "utf-8")
    about = folder / "figure_support-1.0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: figure-support\nVersion: 1.0\n", "utf-8")
    lines = points or declared[1].replace('"', "")
    (about / "entry_points.txt").write_text(f"[{metrics.GROUP}]\n{lines}\n", "utf-8")
    sys.path.insert(0, str(folder))
    metrics.catalogue.cache_clear()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("figure_support", None)
        metrics.catalogue.cache_clear()
