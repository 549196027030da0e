"""The result of one record: a dict as in results.jsonl, with a short repr and a notebook page."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from ragstone.errors import InputError

if TYPE_CHECKING:  # every command loads this module, so keep it light
    from ragstone.result_types import ResultDict

PAGES: Final[dict[str, Callable[[Any], str]]] = {}
"""Functions that render notebook pages of ``Run`` and ``Result``; set by the API, since nothing here renders."""


def notebook_page(shown: object) -> str:
    """Return the HTML page of a run or a result; its repr if no renderer is set."""
    draw = PAGES.get(type(shown).__name__, lambda plain: f"<pre>{html.escape(repr(plain))}</pre>")
    return draw(shown)


class Result(dict[str, Any]):
    """The result of one record: a dict as in results.jsonl, plus ``run``, the number of its run.

    Its repr is one line with its scores; notebooks show a small page. ``dict(result)`` shows everything.
    """

    def __init__(self, document: Mapping[str, Any], run: int) -> None:
        super().__init__(document)
        self.run = run

    @property
    def typed(self) -> ResultDict:
        """The same dict, typed for type checkers."""
        return cast("ResultDict", self)

    def score(self, metric: str) -> dict[str, Any]:
        """Return a score by name, with its verdicts; if there is none, raise InputError that says how to get it."""
        for score in self["scores"]:
            if score["metric"] == metric:
                found: dict[str, Any] = score
                return found
        from ragstone.metrics import instead_of  # noqa: PLC0415 - as above

        there = [score["metric"] for score in self["scores"]]
        raise InputError(f"no score '{metric}' of the record '{self['id']}'{instead_of(metric, there)}")

    def __repr__(self) -> str:
        if "set_aside" in self:
            return f"<Result {self['id']!r}, run {self.run}: unreadable>"
        scores = (
            f"{score['metric']} " + (score["status"] if score["value"] is None else f"{score['value']:.3f}")
            for score in self["scores"]
        )
        return f"<Result {self['id']!r}, run {self.run}: {', '.join(scores)}>"

    _repr_html_ = notebook_page


class IncompleteError(InputError, LookupError):
    """A result in a file lacks a key that every result has."""


class _Part(dict[str, Any]):
    """A part of a result in a file: a missing key is an error of that file, not a fault of the code that reads it."""

    where = ""

    def __missing__(self, key: str) -> Any:
        raise IncompleteError(f"{self.where}: a result without '{key}'; expected a line as written by run -o")


class _OfFile(_Part, Result):
    """A result in a file."""


def result_of_file(document: Mapping[str, Any], run: int, where: str, *, deep: bool = True) -> Result:
    """Return a result that was read from a file, in which a missing key is an InputError that names ``where``.

    ``deep`` includes the keys of inner objects, which takes five times as long as parsing the line.
    """
    result = _OfFile(_part(document, where) if deep else document, run)
    result.where = where
    return result


def _part(value: Any, where: str) -> Any:
    if isinstance(value, list):
        return [_part(one, where) for one in value]
    if not isinstance(value, dict):
        return value
    part = _Part((key, _part(inner, where)) for key, inner in value.items())
    part.where = where
    return part
