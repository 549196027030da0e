"""Provide one run of a store to its served page: the first screen at once, the records piece by piece.

Guarantees: for a run of any size, the page gets scores as columns and texts only of the records it shows. Texts are
searched here, as far as they have been read. For an unfinished run, each page load shows exactly the records that
existed at that time.
"""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import orjson

from ragstone.analysis.result import Result
from ragstone.analysis.run import Run
from ragstone.render.facts import RunFacts
from ragstone.render.html.case import case_of
from ragstone.render.html.document import to_json
from ragstone.render.html.overview import overview_of, worst_of
from ragstone.render.html.rows import LONGEST_ID, STATUSES, RowCounts, beginning, judged_of, row_of, text_of

ROWS: Final = 1_000
"""Number of input positions that a block of the table covers."""
SURVEYED: Final = 300
"""Number of results read before the first response, to find fields to group by."""
MOST_TEXT: Final = 500_000_000
"""Maximum number of characters, over all texts, that are indexed for search."""


class ServedRun:
    """A run as it was when opened. The caller must ensure that only one thread at a time reads its store."""

    def __init__(self, run: Run) -> None:
        with run.store.snapshot():
            row = run.store.run(run.id)
            self.run = run = Run(run.store, row) if row else run
            self._told = told = RunFacts(run)
            counts = RowCounts(told.lead)
            deque(counts.rows(islice(run.results(), SURVEYED)), maxlen=0)
            # For an unfinished run, the table has only the records that the figures include.
            self._places = run.store.ids(run.id) if run.status == "unfinished" else None
            self._fields = counts.names
            self.first = {
                **overview_of(told, counts, live=True),
                "live": True,
                "row_blocks": -(-run.store.last_place(run.id) // ROWS),
            }
        self._metrics = [metric["name"] for metric in self.first["metrics"]]
        self._causes = [cause.reason for cause in told.missing]
        self._signatures = run.spec.get("signatures", {})
        self._words: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))  # positions by word
        self._searched = 0
        self._room = MOST_TEXT
        self._more: dict[int, bytes] = {}

    def rows(self, number: int) -> dict[str, Any]:
        """Return a block of the table: ids and scores without texts, which is 100 times faster than reading results."""
        after, until = number * ROWS, (number + 1) * ROWS
        known = self.run.store.ids(self.run.id, after, until)
        ids = {place: name for place, name in known.items() if self._shown(place)}
        lines = {place: line for line, place in enumerate(ids)}
        values: dict[str, list[float | None]] = {name: [None] * len(ids) for name in self._metrics}
        statuses = {name: [-1] * len(ids) for name in self._metrics}
        bare = set(lines.values())
        for row in self.run.store.scores(self.run.id, after=after, until=until):
            line = lines.get(row.position)
            if line is not None and row.metric in values:
                values[row.metric][line] = None if row.value is None else round(row.value, 4)
                statuses[row.metric][line] = STATUSES.index(row.status)
                bare.discard(line)
        named = [beginning(one, LONGEST_ID) for one in ids.values()]
        scores = {"values": values, "statuses": statuses, "set_aside": sorted(bare)}
        return {"position": list(ids), "id": named, **scores, "verdicts": {}, "fields": {}}

    def more(self, number: int) -> bytes:
        """Return the verdict kinds, fields and reasons of a block of rows, as JSON; index the words of their texts."""
        if number not in self._more:
            rows = []
            for row in self.run.store.results(self.run.id, number * ROWS, (number + 1) * ROWS):
                if not self._shown(row.position):
                    continue
                result = orjson.loads(row.document)
                rows.append(row_of(result))
                if self._room > 0:
                    text = text_of(result).lower()
                    for word in set(text.split()):
                        self._words[word].append(result["position"])
                    self._searched += 1
                    self._room -= len(text)
            self._more[number] = to_json(judged_of(rows, self._fields, self._causes))
        return self._more[number]

    def worst(self) -> list[dict[str, Any]]:
        """Return the lowest records, for printing; this reads all scores."""
        return [one for one in worst_of(self._told) if self._shown(one["position"])]

    def lines(self, places: Sequence[int]) -> list[list[Any]]:
        """Return texts of some records: position, beginnings of question and response, and all searchable text."""
        found = [(place, result) for place in places if (result := self.run.at(place)) is not None]
        rows = [(place, row_of(result), text_of(result)) for place, result in found]
        return [[place, row.question, row.response, text] for place, row, text in rows]

    def search(self, words: str, blocks: int) -> dict[str, Any]:
        """Return the positions of records that contain all words, also within other words, and the number searched.

        ``blocks`` is the number of blocks that the page has read. They are searched even if this run was dropped from
        memory and opened again since.
        """
        for number in range(min(blocks, self.first["row_blocks"])):
            self.more(number)
        found = [
            set[int]().union(*(places for word, places in self._words.items() if wanted in word))
            for wanted in words.lower().split()
        ]
        return {"found": sorted(set.intersection(*found)) if found else [], "read": self._searched}

    def case(self, result: Result) -> dict[str, Any]:
        """Return everything that the page of a record shows."""
        return case_of(result, self._signatures)

    def _shown(self, place: int) -> bool:
        return self._places is None or place in self._places
