"""Coverage-guided fuzzing of the label reader: ``python tests/fuzz/fuzz_labels.py -max_total_time=600``.

Needs atheris (``pip install atheris``), which is too large to be installed for the tests. Half of the inputs are any
text; half are a whole answer with noise of the fuzzer's making around it, for which the law must hold: a label is
given to its own unit or to none.
"""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

atheris: Any = importlib.import_module("atheris")
sys.path.insert(0, str(Path(__file__).parents[1] / "parsing"))

with atheris.instrument_imports(include=["ragstone.parsing"]):
    from ragstone.parsing import FORMATS, read_block

# ruff: noqa: E402 - what is fuzzed has to be imported through the fuzzer, and the path has to be set before
from made_replies import MANNERS, PIECES, parse_labels

from ragstone.questions import GRADE_0_3, SUPPORT_3, YES_NO
from ragstone.testing import REPLY_FORMATS, labels_reply

WRITTEN = [fmt for fmt in REPLY_FORMATS if fmt != "object"]
SLOW = 2.0
"""Seconds for a text of some kilobytes, after which reading is called stuck."""


def one_input(data: bytes) -> None:
    """Read one reply that the fuzzer made."""
    source = atheris.FuzzedDataProvider(data)
    fmt = FORMATS[1:][source.ConsumeIntInRange(0, len(FORMATS) - 2)]
    began = time.monotonic()
    if source.ConsumeBool():
        scale = (SUPPORT_3, YES_NO, GRADE_0_3)[source.ConsumeIntInRange(0, 2)]
        units = source.ConsumeIntInRange(1, 6)
        text = source.ConsumeUnicode(4000)
        parsed = parse_labels(text, units, scale, fmt, material=(text[:200],))
        assert len(parsed.labels) == units
        assert set(parsed.labels) - {None} <= set(scale.labels)
        read_block(text, range(1, units + 1))
    else:
        labels = [
            (*SUPPORT_3.labels, "unclear")[source.ConsumeIntInRange(0, 3)]
            for _ in range(source.ConsumeIntInRange(1, 6))
        ]
        written = WRITTEN[source.ConsumeIntInRange(0, len(WRITTEN) - 1)]
        manner = MANNERS[source.ConsumeIntInRange(0, len(MANNERS) - 1)]
        before, after = (
            " ".join(
                PIECES[source.ConsumeIntInRange(0, len(PIECES) - 1)] for _ in range(source.ConsumeIntInRange(0, 12))
            )
            for _ in range(2)
        )
        reply = f"{before}\n\n{manner(labels_reply(labels, written))}\n\n{after}"
        parsed = parse_labels(reply, len(labels), SUPPORT_3, fmt)
        for got, label in zip(parsed.labels, labels, strict=True):
            assert got in (None, label if label != "unclear" else None), (reply, parsed)
    assert time.monotonic() - began < SLOW, "reading took too long"


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
