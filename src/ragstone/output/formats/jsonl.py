"""Export the results of a run, with the same lines as in results.jsonl."""

from __future__ import annotations

from typing import Final

from ragstone.analysis.run import Run
from ragstone.output.export import line_format

FORMATS: Final = (line_format("jsonl", "results", Run.lines),)
