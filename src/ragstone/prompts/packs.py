"""Domain packs: definitions and examples from a user's Markdown file, added to every prompt.

Text before the first ``## `` heading is definitions; each such heading starts an example. A pack is trusted, unlike the
texts of records: it has its own section of the prompt, and a tag that would close that section is an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ragstone.errors import TemplateError, reason
from ragstone.prompts.templates import digest

LONGEST: Final = 50_000
"""Maximum size of a pack in bytes: it is part of every request."""
MOST: Final = 50
"""Maximum number of examples."""

_FENCE: Final = re.compile(r"</?(?:pack|example)\b", re.IGNORECASE)
_NAME: Final = re.compile(r"[^\w.-]+")


class Pack(Struct, frozen=True):
    """A domain pack. ``name`` includes a hash of its text."""

    name: str
    definitions: str
    examples: tuple[str, ...]

    def section(self, chosen: Sequence[int] | None = None) -> str:
        """Return the section of the prompt with the ``chosen`` examples, all if None."""
        numbers = range(len(self.examples)) if chosen is None else chosen
        examples = (f'<example n="{number}">\n{self.examples[at]}\n</example>' for number, at in enumerate(numbers, 1))
        parts = [
            f'<pack name="{self.name.partition("#")[0]}">',
            *filter(None, [self.definitions]),
            *examples,
            "</pack>",
        ]
        return "\n".join(parts)


def read_pack(path: str) -> Pack:
    """Read a pack from a file; raise TemplateError with a one-line message if it is invalid."""
    try:
        data = Path(path).read_bytes()
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise TemplateError(f"pack {path}: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise TemplateError(f"pack {path}: not UTF-8 ({error.reason} at byte {error.start})") from error
    if len(data) > LONGEST:
        raise TemplateError(f"pack {path}: {len(data):,} bytes; at most {LONGEST:,}, since it is part of every request")
    if found := _FENCE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise TemplateError(f"pack {path}:{line}: contains '{found[0]}', which marks the section itself; remove it")
    head, *sections = re.split(r"^## +", text, flags=re.MULTILINE)
    examples = []
    at = head.count("\n") + 1
    for section in sections:
        title, _, body = section.partition("\n")
        if not body.strip():
            raise TemplateError(f"pack {path}:{at}: the example '{title.strip()[:40]}' has no text below its heading")
        examples.append(f"{title.strip()}\n{body.strip()}")
        at += section.count("\n")
    if not head.strip() and not examples:
        raise TemplateError(f"pack {path}: empty; expected definitions, then examples below '## ' headings")
    if len(examples) > MOST:
        raise TemplateError(f"pack {path}: {len(examples)} examples; at most {MOST}")
    name = _NAME.sub("-", Path(path).stem) or "pack"
    return Pack(f"{name}#{digest(text)[:6]}", head.strip(), tuple(examples))
