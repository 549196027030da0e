"""The page says a number as the terminal does."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import resources

import pytest

from ragstone.stats.points import points


def test_percentages_are_those_of_the_terminal() -> None:
    """All shares of up to 40 units, and of 1,000 and 1,600, which end in halves; with and without decimals."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    exact = [(k / n, few) for n in [*range(1, 41), 1000, 1600] for k in range(n + 1) for few in (10, 1000)]
    cases = [*exact, *((round(value, 9) - 4e-10, few) for value, few in exact)]
    assert points(0.375) == points(sum([0.333333333, 0.416666666]) / 2) == "38"
    script = resources.files("ragstone.render.html").joinpath("js/numbers.js").read_text(encoding="utf-8")
    said = f"console.log(JSON.stringify({json.dumps(cases)}.map(([value, units]) => points(value, units))))"
    done = subprocess.run([node, "-"], check=True, stdout=subprocess.PIPE, text=True, input=f"{script}\n{said}")
    assert json.loads(done.stdout) == [points(value, units) for value, units in cases]
