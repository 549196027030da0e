"""Files in object stores (``s3://``, ``gs://``, ``az://``), by fsspec and the package of the store, which users bring.

Promises: a file is copied to this machine whole before it is read, so that it can be read twice; what goes wrong is one
line that names the address. fsspec's packages try again by themselves what may succeed later.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ragstone.errors import ConfigError, InputError
from ragstone.records.bytestream import temporary

_ADDRESS: Final = re.compile(r"(s3|gs|gcs|az|abfs)://")
_PACKAGES: Final = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
_FOREIGN: Final = (
    ("botocore.exceptions", "BotoCoreError"), ("google.auth.exceptions", "GoogleAuthError"),
    ("gcsfs.retry", "HttpError"), ("azure.core.exceptions", "AzureError"),
)  # fmt: skip
"""Errors of the packages that are no OSError."""


def is_address(name: object) -> bool:
    """Return whether a name is an address in an object store."""
    return isinstance(name, str) and _ADDRESS.match(name) is not None


@contextlib.contextmanager
def opened(address: str, what: str = "cannot be read") -> Iterator[tuple[Any, str]]:
    """The file system of an address, and the path in it; what goes wrong inside is a ConfigError.

    FileNotFoundError stays what it is where the address itself is missing and the block wants to know.
    """
    scheme = address.partition(":")[0]
    try:
        import fsspec  # noqa: PLC0415 - an extra

        system, path = fsspec.url_to_fs(address, skip_instance_cache=True)
    except ImportError as error:
        package = _PACKAGES[scheme]
        raise InputError(
            f"{address}: {scheme}:// needs {package}; install it with: pip install 'ragstone[cloud]' {package}"
        ) from error
    foreign = tuple(getattr(sys.modules[module], name) for module, name in _FOREIGN if module in sys.modules)
    try:
        yield system, path
    except FileNotFoundError as error:
        raise ConfigError(f"{address}: no such file or bucket") from error
    except PermissionError as error:
        raise ConfigError(f"{address}: access denied ({_line(error)}); check the credentials of {scheme}://") from error
    except (OSError, *foreign) as error:
        raise ConfigError(f"{address}: {what} ({_line(error)})") from error


def parts_of(address: str) -> list[str]:
    """Return the addresses of the files of a folder in the order of their names; of a file, its own.

    Names that begin with ``_`` or ``.`` are left out: they are no data (``_SUCCESS``).
    """
    with opened(address) as (system, path):
        if not address.endswith("/") and system.isfile(path):
            return [address]
        found = [entry["name"] for entry in system.ls(path.rstrip("/"), detail=True) if entry["type"] == "file"]
    names = sorted(name for name in found if PurePosixPath(name).name[:1] not in ("_", ".", ""))
    if not names:
        raise ConfigError(f"{address}: contains no files")
    return [f"{address.rstrip('/')}/{PurePosixPath(name).name}" for name in names]


def fetched(address: str) -> Path:
    """Copy a file to a new temporary one with the same endings, which the caller deletes."""
    with temporary("".join(PurePosixPath(address).suffixes[-2:])) as handle:
        handle.close()  # it is written by its name
        with opened(address) as (system, path):
            system.get_file(path, handle.name)
    return Path(handle.name)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
