"""The version of the embedded judge's rules: stored answers are found by it, so it has to change where they do."""

from __future__ import annotations

import hashlib
from pathlib import Path

import ragstone.judges.embedded
from ragstone.judges.embedded.judge import VERSION
from ragstone.judges.embedded.measured import measured
from ragstone.judges.embedded.model import digest

RULES = ("embedded-30", "95ebdc089e45")
"""A version, and the digest of the code that it stands for."""


def rules() -> str:
    """A digest of the code that answers."""
    made = hashlib.sha256()
    for path in sorted(Path(ragstone.judges.embedded.__file__).parent.glob("*.py")):
        made.update(path.name.encode() + path.read_bytes().replace(b"\r\n", b"\n"))
    return made.hexdigest()[:12]


def test_changed_rules_have_another_version() -> None:
    """Else a store would go on giving the answers of the old ones."""
    assert (VERSION, rules()) == RULES, (
        "the embedded judge's code has changed: raise VERSION in judge.py if any answer may differ, and in any case "
        f"write the digest {rules()} here"
    )


def test_what_reports_say_of_it_is_of_this_model_and_stands_in_its_card() -> None:
    """A model that is fitted anew has to be measured anew, too."""
    known = measured()
    assert known.model == digest()
    figures = f"{known.rows:,} | | {known.floor:.3f} | **{known.auroc:.3f}** |"
    row = f"| mean over the {known.sets} with human labels | {figures}"
    assert row in (Path(__file__).parents[2] / "docs/embedded-judge.md").read_text(encoding="utf-8")
