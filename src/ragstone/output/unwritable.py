"""What is said where something cannot be written: which file, why, and what to do."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Final

from ragstone.errors import OutputError

OTHER_FILE: Final = "choose another file"
OTHER_FOLDER: Final = "choose another folder with -o"
_FULL: Final = {errno.ENOSPC, errno.EDQUOT}


def unwritable(path: Path | str, error: OSError, instead: str = OTHER_FILE) -> OutputError:
    """Of a file; ``instead`` is what to do where no room is to be made."""
    return _error(path, "cannot be written", error, instead)


def closed_folder(path: Path | str, error: OSError) -> OutputError:
    """Of the folder of ``-o``."""
    return _error(path, "cannot write there", error, OTHER_FOLDER)


def _error(path: Path | str, what: str, error: OSError, instead: str) -> OutputError:
    way = f"free space or {instead}" if error.errno in _FULL else instead
    return OutputError(f"{path}: {what} ({error.strerror}); {way}", path=str(path))
