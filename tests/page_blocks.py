"""What a page of HTML holds as data, and what a screen shows."""

from __future__ import annotations

import base64
import io
import json
import re
import zlib
from typing import Any

from ragstone.render.terminal.screen import Page, screen


def unpacked(data: bytes) -> dict[str, Any]:
    """The blocks of a page by name, and under ``first`` what is there at once."""
    found = re.findall(rb'<script type="application/octet-stream" id="([^"]+)">([^<]*)</script>', data)
    blocks = {name.decode(): json.loads(zlib.decompress(base64.b64decode(text))) for name, text in found}
    (first,) = re.findall(rb'<script type="application/json" id="first">(.*?)</script>', data, re.DOTALL)
    return {**blocks, "first": json.loads(first)}


def drawn(page: Page) -> str:
    """A screen as it is printed."""
    stream = io.StringIO()
    screen(stream).print(page)
    return stream.getvalue()


def flat(page: Page) -> str:
    """The words of a screen, wherever its lines break."""
    return " ".join(drawn(page).split())
