"""Stream data sets from the Hugging Face hub: ``hf://org/name[/config][@split]``. Needs the extra ``hf``."""

from __future__ import annotations

import re
from typing import Any, Final

from ragstone.errors import ConfigError, InputError, RecordError
from ragstone.records.mapping import Rows
from ragstone.records.python_values import first_line, plain_rows

SCHEME: Final = "hf://"
ADDRESS: Final = re.compile(r"hf://(?P<name>[\w.-]+/[\w.-]+)(?:/(?P<config>[^@/]+))?(?:@(?P<split>[^@/]+))?")


def read(address: str) -> Rows:
    """Yield each row with its place (``hf://org/name row 12``); only the hub's own cache is kept on disk."""
    data = _data_set(address)
    number = 0
    try:
        for row in plain_rows(address, data):
            number += 1
            yield row
    except (OSError, ValueError) as error:
        raise RecordError(f"{address} after row {number}", f"cannot be read further: {first_line(error)}") from error


def check(address: str) -> None:
    """Raise ConfigError for an invalid address; nothing is fetched."""
    if ADDRESS.fullmatch(address) is None:
        raise ConfigError(f"{address}: expected hf://org/name[/config][@split]")


def _data_set(address: str) -> Any:
    match = ADDRESS.fullmatch(address)
    assert match is not None, "checked when the source was opened"
    try:
        import datasets  # noqa: PLC0415 - heavy and optional
    except ImportError:
        raise ConfigError("hf:// needs the datasets library: pip install 'ragstone[hf]'") from None
    try:
        found = datasets.load_dataset(match["name"], match["config"], split=match["split"], streaming=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{address}: cannot be opened: {first_line(error)}") from error
    if match["split"]:
        return found
    if len(found) == 1:
        return next(iter(found.values()))
    raise InputError(f"{address}: specify a split: " + " or ".join(f"{address}@{split}" for split in found))
