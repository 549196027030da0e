"""Coverage-guided fuzzing of the label reader: ``python tests/fuzz/fuzz_labels.py -max_total_time=600 -timeout=5``.

Needs atheris (``pip install atheris``), which is too large to be installed for the tests. The fuzzer makes the inputs
of the laws that the tests hold: any text is read without failing, and with noise around a whole answer each label is
given to its own unit or to none. A text on which reading takes longer than ``-timeout`` seconds is a failure, too.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

atheris: Any = importlib.import_module("atheris")
sys.path.insert(0, str(Path(__file__).parents[1] / "parsing"))

with atheris.instrument_imports(include=["ragstone.parsing"]):
    import test_labels_laws as laws

LAWS: Any = (
    laws.test_any_text_gives_a_place_for_each_unit_and_labels_of_the_scale,
    laws.test_noise_around_a_whole_answer_moves_no_label,
    laws.test_a_reasoning_block_of_any_text_is_read_without_failing,
)


def one_input(data: bytes) -> None:
    """Hold one law for what the fuzzer made."""
    LAWS[data[0] % len(LAWS) if data else 0].hypothesis.fuzz_one_input(data[1:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
