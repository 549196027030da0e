"""Turn functions that take ``RunOptions`` into functions that take each option as a keyword."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from inspect import Parameter
from typing import Any, Concatenate, ParamSpec, TypeVar

from ragstone.options import ByPosition, RunOptions, options_of

P = ParamSpec("P")
Options = TypeVar("Options", bound=RunOptions)
R = TypeVar("R")


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
        told = [f"    {one.name}: {one.help}" for one in options_of(made)]
        function.__doc__ = "\n".join([inspect.cleandoc(work.__doc__ or ""), "", "Options:", *told])
        return function  # type: ignore[no-any-return]

    return decorate


def _parameters(options: type[RunOptions]) -> Iterator[Parameter]:
    """Yield the options as parameters, with annotations as text: type checkers alone know all of their types."""
    unset = options()
    annotations = {name: kind for one in options.__mro__ for name, kind in inspect.get_annotations(one).items()}
    for name in options.__struct_fields__:
        kind = Parameter.POSITIONAL_OR_KEYWORD if name in ByPosition.__struct_fields__ else Parameter.KEYWORD_ONLY
        yield Parameter(name, kind, default=getattr(unset, name), annotation=annotations[name])
