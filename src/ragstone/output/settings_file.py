"""Add settings to a ``ragstone.toml`` without changing any other byte of it.

A line is added under the header of its table, a new table at the end. Before the file is replaced, the new text is
parsed to check that it contains exactly the old and the new settings. Existing settings are never given another value.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragstone.errors import ConfigError, reason
from ragstone.output.target import whole
from ragstone.prompts import is_path

Tables = Mapping[tuple[str, ...], Mapping[str, Any]]
"""Settings by the path of their table."""


def add_settings(path: Path, tables: Tables) -> str:
    """Add the settings that the file lacks and return the added lines; empty if it has all of them.

    The path of a prompt is written relative to the file's folder.

    Raise ConfigError if the file sets one to another value, or cannot be edited without changing other lines.
    """
    tables = {
        table: {
            name: os.path.relpath(value, path.parent) if table[-1] == "prompts" and is_path(value) else value
            for name, value in values.items()
        }
        for table, values in tables.items()
    }
    try:
        before = path.read_bytes().decode("utf-8") if path.exists() else ""
        settings = tomllib.loads(before.removeprefix("\ufeff"))
    except OSError as error:
        raise ConfigError(f"{path}: {reason(error)}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: invalid TOML: {error}") from error
    missing = {table: kept for table, values in tables.items() if (kept := _lacking(settings, table, values, path))}
    lines = {
        table: [f"{_key(name)} = {_value(value)}" for name, value in kept.items()] for table, kept in missing.items()
    }
    said = "\n\n".join("\n".join([_header(table), *rows]) for table, rows in lines.items())
    text = before
    for table, rows in lines.items():
        text = _with(text, table, rows)
    try:
        after = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        after = {}
    if after != _merged(settings, missing):
        raise ConfigError(f"{path}: cannot be edited without changing other lines; add these by hand:\n{said}")
    if missing:
        with whole(path) as file:
            file.write(text.encode())
    return said


def _lacking(
    settings: Mapping[str, Any], table: tuple[str, ...], values: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    """Return the settings of a table that the file lacks; raise ConfigError for one with another value."""
    there: Any = settings
    for name in table:
        there = there.get(name, {}) if isinstance(there, Mapping) else {}
    held = there if isinstance(there, Mapping) else {}
    for name, value in values.items():
        if name in held and held[name] != value:
            raise ConfigError(
                f"{path} sets {'.'.join((*table, name))} to {_value(held[name])}, not {_value(value)}; "
                "remove that line, then repeat with --write"
            )
    return {name: value for name, value in values.items() if name not in held}


def _with(text: str, table: tuple[str, ...], rows: list[str]) -> str:
    """Return the text with lines added under a table's header, or with a new table at the end."""
    end = "\r\n" if "\r\n" in text else "\n"
    block = "".join(f"{row}{end}" for row in rows)
    names = r"\s*\.\s*".join(rf"(?:{re.escape(name)}|{re.escape(json.dumps(name))})" for name in table)
    if found := re.search(rf"^[ \t]*\[\s*{names}\s*\][ \t]*(?:#[^\n]*)?(?:\n|\Z)", text, re.MULTILINE):
        before = text[: found.end()]
        return before + ("" if before.endswith("\n") else end) + block + text[found.end() :]
    gap = "" if not text else end if text.endswith("\n") else end * 2
    return f"{text}{gap}{_header(table)}{end}{block}"


def _merged(settings: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    merged: dict[str, Any] = dict(settings)
    for (name, *rest), values in tables.items():
        inner = merged.get(name, {})
        merged[name] = _merged(inner, {tuple(rest): values}) if rest else {**inner, **values}
    return merged


def _header(table: tuple[str, ...]) -> str:
    return f"[{'.'.join(map(_key, table))}]"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else f"{value}"
