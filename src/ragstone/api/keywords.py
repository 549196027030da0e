"""Turn functions that take ``RunOptions`` into functions that take each option as a keyword."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from ragstone.options import ByPosition, Option, RunOptions, options_of

P = ParamSpec("P")
Options = TypeVar("Options", bound=RunOptions)
R = TypeVar("R")
PYTHON: Final[Mapping[str, str]] = {
    "parameters": 'Metric parameters for this run: {"METRIC": {"NAME": value}}.',
    "fields": 'Paths by field, e.g. {"question": "user.query"}.',
    "only_failed": "Reuse a run's results and evaluate only what its judge failed to score: True for the input's last "
    "run, or the number or name of a run.",
    "offline": "Send no API calls; use stored replies. A missing reply gives the status judge_failed.",
}
"""Help texts of options whose values or effects differ from those on the command line."""
CALLBACKS: Final[Mapping[str, str]] = {
    "progress": "Show progress [default: in a terminal or notebook, but not under pytest or CI]",
    "on_start": "Called with the progress of the run before the first call.",
    "on_result": "Called with each line of results.jsonl.",
}
"""Help texts of the options that only Python has."""


def takes(options: Callable[P, Options]) -> Callable[[Callable[[Any, Options], R]], Callable[Concatenate[Any, P], R]]:
    """Decorate a function of a source and options to take each option as a typed keyword.

    Type checkers and editors see the parameters of ``RunOptions``; ``help`` shows them with their help texts.
    """
    made: Any = options

    def decorate(work: Callable[[Any, Options], R]) -> Callable[Concatenate[Any, P], R]:
        def called(source: Any, *positional: Any, **given: Any) -> Any:
            return work(source, made.called(*positional, **given))

        async def awaited(source: Any, *positional: Any, **given: Any) -> Any:
            return await called(source, *positional, **given)

        function: Any = functools.wraps(work)(awaited if inspect.iscoroutinefunction(work) else called)
        own = inspect.signature(work)
        source = next(iter(own.parameters.values()))
        function.__signature__ = own.replace(parameters=[source, *_parameters(made)])
        told = [f"    {one.name}: {_in_python(one)}" for one in options_of(made)]
        told += [f"    {name}: {text}" for name, text in CALLBACKS.items()]
        function.__doc__ = "\n".join([inspect.cleandoc(work.__doc__ or ""), "", "Options:", *told])
        return function  # type: ignore[no-any-return]

    return decorate


def _in_python(one: Option) -> str:
    """Return the help text of an option without the parts that apply only to the command line."""
    text = one.help_with_default.replace(" Repeatable.", "").replace("exits 4", "raises BudgetReached")
    text = text.replace("-o", "`out`")
    return PYTHON.get(one.name) or re.sub(r"--(\w+)", r"`\1`", text)


def _parameters(options: type[RunOptions]) -> Iterator[Parameter]:
    """Yield the options as parameters, with annotations as text: type checkers alone know all of their types."""
    unset = options()
    annotations = {name: kind for one in options.__mro__ for name, kind in inspect.get_annotations(one).items()}
    for name in options.__struct_fields__:
        kind = Parameter.POSITIONAL_OR_KEYWORD if name in ByPosition.__struct_fields__ else Parameter.KEYWORD_ONLY
        yield Parameter(name, kind, default=getattr(unset, name), annotation=annotations[name])
