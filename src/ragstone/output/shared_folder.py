"""A folder to which several machines write files, on a shared disk or in an object store.

Guarantees: a file is either complete or absent. Errors are one line that names the place.
"""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path
from typing import Any

from ragstone.analysis.run_files import PARTIAL
from ragstone.errors import ConfigError
from ragstone.output.target import OTHER_FOLDER, put, unwritable
from ragstone.records.object_stores import is_address, opened


class SharedFolder:
    """The files of a shared folder, by name."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/") or address
        self._folder = Path(address)
        self._remote = is_address(address)

    def __str__(self) -> str:
        return self.address

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes, or None if there is none."""
        if self._remote:
            with opened(f"{self.address}/{name}") as (system, there):
                return bytes(system.cat_file(there)) if self._is_there(system, there) else None
        path = self._folder / name
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error

    def put(self, content: Path | bytes, name: str) -> None:
        """Write bytes, or a copy of a local file."""
        if self._remote:
            with opened(f"{self.address}/{name}", "cannot be written") as (system, there):
                if isinstance(content, Path):
                    system.put_file(str(content), there)
                else:
                    system.pipe_file(there, content)
            return
        path = self._folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error, OTHER_FOLDER) from error
        put(content, path, path.with_name(f"{path.name}.{secrets.token_hex(4)}{PARTIAL}"))

    def get(self, name: str, target: Path) -> bool:
        """Copy a file to this machine; return False if there is none."""
        if self._remote:
            with opened(f"{self.address}/{name}") as (system, there):
                if found := self._is_there(system, there):
                    system.get_file(there, str(target))
            return found
        path = self._folder / name
        if not path.exists():
            return False
        try:
            shutil.copyfile(path, target)
        except OSError as error:
            raise unwritable(target, error) from error
        return True

    def remove(self, name: str) -> None:
        """Delete a file if it exists."""
        if self._remote:
            with opened(f"{self.address}/{name}", "cannot be deleted") as (system, there):
                if self._is_there(system, there):
                    system.rm_file(there)
            return
        path = self._folder / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(path, error, OTHER_FOLDER) from error

    def put_all(self, folder: Path) -> None:
        """Copy all files of a local folder, including subfolders."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(path, path.relative_to(folder).as_posix())

    @staticmethod
    def _is_there(system: Any, path: str) -> bool:
        """Return whether an object exists; a missing bucket is an error."""
        try:
            system.info(path)
        except FileNotFoundError:
            system.ls(path.partition("/")[0])
            return False
        return True
