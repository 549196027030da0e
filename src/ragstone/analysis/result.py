"""One record's result as people hold it: the dict that results.jsonl has a line of, with a calm face of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragstone.errors import InputError


class Result(dict[str, Any]):
    """The result of one record: a dict as in results.jsonl, and ``run``, the number of the run that it is of.

    It is shown as one line with its scores, and in a notebook as a small page; ``dict(result)`` shows all of it.
    """

    def __init__(self, document: Mapping[str, Any], run: int) -> None:
        super().__init__(document)
        self.run = run

    def score(self, metric: str) -> dict[str, Any]:
        """The score of that name, with its verdicts; InputError names those that there are."""
        for score in self["scores"]:
            if score["metric"] == metric:
                found: dict[str, Any] = score
                return found
        there = ", ".join(score["metric"] for score in self["scores"]) or "none"
        raise InputError(f"no score '{metric}' of the record '{self['id']}'; there are: {there}")

    def __repr__(self) -> str:
        if "set_aside" in self:
            return f"<Result {self['id']!r}, run {self.run}: could not be read>"
        told = (
            f"{score['metric']} " + (score["status"] if score["value"] is None else f"{score['value']:.3f}")
            for score in self["scores"]
        )
        return f"<Result {self['id']!r}, run {self.run}: {', '.join(told)}>"

    def _repr_html_(self) -> str:
        from ragstone.render.notebook import result_page  # noqa: PLC0415 - only where a notebook asks for it

        return result_page(self)
