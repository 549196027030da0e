"""Read files in object stores (``s3://``, ``gs://``, ``az://``) with fsspec and the store's package (user-installed).

Guarantees: a file is copied to this machine completely before it is read, so that it can be read twice. Errors are one
line that names the address. fsspec's packages retry temporary failures themselves.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ragstone.errors import ConfigError, InputError
from ragstone.records.bytestream import temporary

_ADDRESS: Final = re.compile(r"(s3|gs|gcs|az|abfs)://")
_PACKAGES: Final = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
_SETTINGS: Final = ("AWS_", "GOOGLE_", "GCSFS_", "AZURE_", "FSSPEC_")  # environment variables that packages read
_FOREIGN: Final = (
    ("botocore.exceptions", "BotoCoreError"), ("google.auth.exceptions", "GoogleAuthError"),
    ("gcsfs.retry", "HttpError"), ("azure.core.exceptions", "AzureError"),
)  # fmt: skip
"""Errors of the packages that are not OSErrors."""


def is_address(name: object) -> bool:
    """Return whether a name is an address in an object store."""
    return isinstance(name, str) and _ADDRESS.match(name) is not None


@contextlib.contextmanager
def opened(address: str, what: str = "cannot be read") -> Iterator[tuple[Any, str]]:
    """Yield the file system of an address and the path in it; errors in the block become ConfigErrors.

    A missing file, too, becomes a ConfigError, unless the block itself handles FileNotFoundError.
    """
    scheme, _, rest = address.partition("://")
    settings = frozenset((name, value) for name, value in os.environ.items() if name.startswith(_SETTINGS))
    try:
        system = _system(f"{scheme}://{rest.partition('/')[0]}", settings, os.getpid(), threading.get_ident())
        path = system._strip_protocol(address)  # noqa: SLF001 - the part of url_to_fs that needs no new file system
        system.invalidate_cache()
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
        _system.cache_clear()  # the credentials may be changed in their file
        raise ConfigError(f"{address}: access denied ({_line(error)}); check the credentials of {scheme}://") from error
    except (OSError, *foreign) as error:
        raise ConfigError(f"{address}: {what} ({_line(error)})") from error


@lru_cache(maxsize=8)
def _system(bucket: str, _settings: frozenset[tuple[str, str]], _process: int, _thread: int) -> Any:
    """Return the file system of a bucket. A new one for each file would take longer than the file."""
    import fsspec  # noqa: PLC0415 - an extra

    return fsspec.url_to_fs(bucket, skip_instance_cache=True)[0]


def parts_of(address: str) -> list[str]:
    """Return the addresses of the files in a folder, sorted by name, or the address itself if it is a file.

    Names that begin with ``_`` or ``.`` are skipped because they are not data (``_SUCCESS``).
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
    """Copy a file to a new temporary file with the same extensions; the caller deletes it."""
    with temporary("".join(PurePosixPath(address).suffixes[-2:])) as handle:
        handle.close()  # get_file opens it by name
        with opened(address) as (system, path):
            system.get_file(path, handle.name)
    return Path(handle.name)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
