"""Convert values of Python, pandas, numpy, polars and Arrow to JSON types, so that one mapping can read them all.

NaN, NaT and NA mean "missing" in a table and become None, as do infinities. Dates become ISO 8601 strings, durations
seconds, decimals and integers beyond 64 bits strings of digits, arrays lists, and bytes an object with their length.
The result shares no objects with the input.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Generator, Iterable, Mapping
from itertools import pairwise
from typing import Any, Final

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from ragstone.errors import RecordError
from ragstone.records.jsontext import RefusedError, kind, opened, survey_of
from ragstone.records.limits import MAX_DEPTH, MAX_RECORD_BYTES

MAX_LITERAL: Final = 4 * 2**20
"""Maximum length of a Python literal, in characters; Python's parser needs about 100 times as much memory."""
OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def plain_row(row: object, where: str) -> dict[str, Any] | RecordError:
    """Return a row (a dict, or a framework object that can be converted) as a plain dict, or the error."""
    raw, value = b"", None
    try:
        raw = dumps(dict(row) if isinstance(row, Mapping) else row)
        value = orjson.loads(raw)
    except (TypeError, orjson.JSONDecodeError) as error:
        if isinstance(row, Mapping):
            return RecordError(where, *_reason(error))
    if not isinstance(value, dict):
        return RecordError(where, f"expected an object, found {kind(row)}", "each record must be a dict or a Record")
    if len(raw) > MAX_RECORD_BYTES:
        return RecordError(where, f"a record of {len(raw):,} bytes", f"expected at most {MAX_RECORD_BYTES:,}")
    return value


def plain_rows(name: str, rows: Iterable[object]) -> Generator[tuple[str, dict[str, Any] | RecordError], None, None]:
    """Yield each row of a table with its place: ``name row 12``."""
    for number, row in enumerate(rows, 1):
        where = f"{name} row {number}"
        yield where, plain_row(row, where)


def first_line(error: Exception) -> str:
    """Return the first line of another library's error message."""
    return (str(error).strip() or type(error).__name__).partition("\n")[0]


def dumps(value: Any) -> bytes:
    """Return a value as JSON; raise TypeError if a record cannot hold it or it is nested too deeply."""
    try:
        raw = orjson.dumps(value, default=_plain, option=OPTIONS)
    except TypeError as error:
        if "64-bit" not in str(error):
            raise
        raw = orjson.dumps(_digits(value), default=_plain, option=OPTIONS)
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:  # otherwise it cannot be too deep
        try:
            survey_of(orjson.loads(raw))
        except RefusedError as error:
            raise TypeError("Recursion limit reached") from error
    return raw


def literal(text: str) -> Any:
    """Return the plain value of a Python literal, as written by ``str`` and pandas; no code is evaluated.

    Raise ValueError for anything else, including a printed numpy array, whose strings Python would concatenate.
    """
    if len(text) > MAX_LITERAL:
        raise ValueError(f"longer than a Python literal may be ({MAX_LITERAL:,} characters)")
    try:
        tokens = [token.type for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline)]
        words = [token for token in tokens if token not in (tokenize.NL, tokenize.NEWLINE)]
        if any(first == second == tokenize.STRING for first, second in pairwise(words)):
            raise ValueError("a printed array, whose items cannot be told apart")
    except (SyntaxError, tokenize.TokenError):
        raise ValueError("not a Python literal") from None
    try:
        tree = ast.parse(text.strip(), mode="eval")
        for node in ast.walk(tree):  # numpy prints a number in a list as np.float64(0.5)
            for name, inner in ast.iter_fields(node):
                setattr(node, name, [_number(one) for one in inner] if isinstance(inner, list) else _number(inner))
        return orjson.loads(dumps(ast.literal_eval(tree)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError("not a Python literal") from None


def _number(node: Any) -> Any:
    """Return the argument of ``np.float64(0.5)`` and the like, else the node."""
    function: Any = getattr(node, "func", None)
    of_numpy = getattr(getattr(function, "value", None), "id", "") == "np" and len(node.args) == 1
    return node.args[0] if of_numpy and function.attr.startswith(("float", "int", "uint", "str_")) else node


def _reason(error: Exception) -> tuple[str, str]:
    text = str(error.__cause__ or error)
    if "surrogate" in text:
        return "a lone surrogate (half of a character, \\ud800-\\udfff) in a text", "write the whole character"
    if "ecursion" in text:
        return f"a value nested deeper than {MAX_DEPTH} levels", "flatten it"
    return f"a value that JSON cannot represent: {text}", "texts, numbers, lists and dicts"


def _digits(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _digits(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_digits(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)
    return value


def _plain(value: Any) -> Any:
    """Convert a type that orjson does not know, by duck typing, so that no library is imported."""
    name = type(value).__name__
    if name in ("NAType", "NaTType"):
        return None
    if name == "Decimal":
        return str(value)
    if isinstance(value, Struct):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": len(value)}  # not a string, which would be judged
    for method in ("total_seconds", "isoformat", "tolist", "to_list"):
        convert = getattr(value, method, None)
        if callable(convert):
            return convert()
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, type):
        raise TypeError(f"Type is not JSON serializable: {name}")
    for method in ("model_dump", "to_dict", "to_json"):  # LangChain, LlamaIndex, Haystack, MLflow, OpenTelemetry
        if callable(convert := getattr(value, method, None)):
            return opened(convert())
    raise TypeError(f"Type is not JSON serializable: {name}")
