"""Runs and results as notebooks show them: small pages of HTML.

Promises: every text of a record, a judge or a model is escaped; nothing is loaded from anywhere, and there is no
script. Colours are tints under the notebook's own foreground, so that light and dark pages are readable alike, and
no verdict is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from ragstone.report.result import Result
from ragstone.report.run import Run, unit_text
from ragstone.report.terminal.excerpt import merged, pieces
from ragstone.report.terminal.outcome import cost_said, judged_by, lead, ranked_by, shortfall, with_verdicts
from ragstone.report.terminal.screen import MARKS, ORDER, RELEVANCE, WORDS, kind_of
from ragstone.report.terminal.text import between, clean, flat, percent, plural, shorten
