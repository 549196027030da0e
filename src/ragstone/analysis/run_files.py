"""The names of the files in a run's folder."""

from __future__ import annotations

from typing import Final

RESULTS: Final = "results.jsonl"
ZSTD: Final = ".zst"
"""The suffix of compressed results."""
ABOUT: Final = "run.json"
SUMMARY: Final = "summary.json"
REPORT: Final = "report.html"
COMPARISON: Final = "compare.html"
AGREEMENT: Final = "agree.html"
PARTIAL: Final = ".partial"
"""The suffix of an incomplete file."""
