"""Assemble a page as one file: skeleton, styles and scripts, and its data in blocks that are unpacked on demand.

Guarantees: the file makes no requests, and its Content-Security-Policy allows none except, for served pages, to their
own server. No data can be parsed as markup because blocks never contain ``<``. Only this package's script runs,
identified by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

import orjson

SCRIPTS: Final[Mapping[str, Sequence[str]]] = {
    "run": (
        "elements", "numbers", "words", "source", "look", "state", "charts", "table", "overview", "groups", "scatter",
        "records", "marks", "passages", "verdicts", "tracemap", "panel", "calls", "case", "agreement", "main",
    ),
    "compare": ("elements", "numbers", "words", "source", "look", "marks", "differences", "moved", "compare"),
    "label": ("elements", "numbers", "source", "look", "marks", "labels", "evidence", "label"),
    "agree": ("elements", "numbers", "source", "look", "charts", "agreement", "agree"),
    "runs": ("elements", "numbers", "words", "source", "look", "charts", "runs"),
}  # fmt: skip
"""The scripts of each kind of page, in the order in which they are concatenated."""

OWN_STYLE: Final = ("compare", "label")
"""The kinds of pages with styles of their own, which take precedence."""

ELSEWHERE: Final[Mapping[str, str]] = {
    "run": "the same figures are in the terminal, with: ragstone show",
    "compare": "the same figures are in the terminal, with: ragstone compare",
    "agree": "the same figures are in the terminal, with: ragstone agree",
    "runs": "the same list is in the terminal, with: ragstone runs",
    "label": "to import labels from another tool: ragstone label import FILE",
}
"""Shown if scripts are disabled: where else to find each page's content, followed by the run and its store."""

LEVEL: Final = 6
"""The compression level; 9 takes twice as long to save 1% of the size."""


class Block:
    """A part of the data, as compressed JSON, with the name under which the page's script finds it."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.text = base64.b64encode(zlib.compress(data, LEVEL))

    def __len__(self) -> int:
        return len(self.text) + len(self.name) + len(_OPEN) + len(_CLOSE)

    def written(self) -> Iterable[bytes]:
        """Return the block as written in the page."""
        yield from (_OPEN % self.name.encode(), self.text, _CLOSE)


_OPEN: Final = b'<script type="application/octet-stream" id="%s">'
_CLOSE: Final = b"</script>\n"


def page(
    kind: str, title: str, first: Mapping[str, Any], blocks: Iterable[Block], *, live: bool = False
) -> list[bytes]:
    """Return the parts of a page, in order: ``first`` is available at once, blocks on demand.

    The script precedes the blocks, so that a large file is drawn while the rest is still loading.
    """
    script, style = _script(kind), _style(kind)
    connect = "connect-src 'self'; " if live else ""  # a served page may request data from its own server
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        f"{connect}base-uri 'none'; form-action 'none'"
    )
    before, after = _text("page.html").split("<!-- data -->\n")
    head = before.replace("/* style */", style).replace("{policy}", html.escape(policy))
    named = (str(first[name]) for name in ("run", "store") if first.get(name))
    told = {"title": title, "elsewhere": " ".join([ELSEWHERE[kind], *named])}
    # In one pass and last: placeholders in untrusted text are not replaced.
    head = re.sub(r"\{(title|elsewhere)\}", lambda match: html.escape(told[match[1]]), head)
    parts = [head.encode("utf-8", "replace")]
    parts += [b'<script type="application/json" id="first">', in_markup(to_json(first)), _CLOSE]
    parts += [b"<script>", script.encode(), _CLOSE]
    for block in blocks:
        parts += block.written()
    return [*parts, after.encode()]


def in_markup(data: bytes) -> bytes:
    """Escape JSON for embedding in a page: without ``<``, it cannot end its element or start another."""
    return data.replace(b"<", b"\\u003c")


def to_json(value: Any) -> bytes:
    """Return a value as compact JSON."""
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)


@cache
def _script(kind: str) -> str:
    """Return all scripts of a page wrapped in one function, so that none of their names is global."""
    parts = [_text(f"js/{name}.js") for name in SCRIPTS[kind]]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();\n"


@cache
def _style(kind: str) -> str:
    return "\n".join(_text(f"{name}.css") for name in ("page", kind) if name == "page" or name in OWN_STYLE)


@cache
def _text(name: str) -> str:
    return resources.files("ragstone.render.html").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
