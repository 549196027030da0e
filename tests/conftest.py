"""What holds for all tests: nothing leaves this machine, and examples are drawn without a clock."""

from __future__ import annotations

import ipaddress
import os
import sys
from typing import Any

from hypothesis import settings


class NetworkBlockedError(RuntimeError):
    """A test reached for the network. No OSError, so that nothing under test takes it for a server that is down."""


def _loopback(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def _guard(event: str, args: tuple[Any, ...]) -> None:
    """Refuse what would leave this machine: an address of the internet or the look-up of a name."""
    if not event.startswith("socket."):
        return
    address: object = None
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = args[1]
        if not isinstance(address, tuple) or _loopback(address[0]):  # a path, or nothing: a socket of this machine
            return
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        address = args[0]
        if _loopback(address) or _numeric(address):
            return
    else:
        return
    raise NetworkBlockedError(f"{event} to {address!r}: tests reach loopback only")


def _numeric(host: object) -> bool:
    """Looking up an address that is one already sends nothing."""
    try:
        ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    return True


sys.addaudithook(_guard)

settings.register_profile("ragstone", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("ragstone")
