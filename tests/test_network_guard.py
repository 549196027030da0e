"""The tests' own guard: loopback works, and nothing else is reached."""

from __future__ import annotations

import asyncio
import http.client
import socket
from urllib.parse import urlsplit

import aiohttp
import pytest

from ragstone.testing import FakeServer

ELSEWHERE = "192.0.2.1"  # kept for documentation by RFC 5737: nobody is there


def refused(error: pytest.ExceptionInfo[RuntimeError]) -> bool:
    return type(error.value).__name__ == "NetworkBlockedError"


def test_a_connection_elsewhere_is_refused_and_the_address_named() -> None:
    with socket.socket() as plain, pytest.raises(RuntimeError, match=ELSEWHERE) as error:
        plain.connect((ELSEWHERE, 80))
    assert refused(error)


def test_version_6_and_datagrams_are_refused_too() -> None:
    with socket.socket(socket.AF_INET6) as plain, pytest.raises(RuntimeError, match="2001:db8::1") as error:
        plain.connect_ex(("2001:db8::1", 80))
    assert refused(error)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain,
        pytest.raises(RuntimeError, match=ELSEWHERE) as error,
    ):
        plain.sendto(b"x", (ELSEWHERE, 53))
    assert refused(error)


def test_a_name_is_not_looked_up() -> None:
    with pytest.raises(RuntimeError, match=r"example\.org") as error:
        socket.getaddrinfo("example.org", 443)
    assert refused(error)


def test_an_asynchronous_client_is_refused_too_and_does_not_take_it_for_an_outage() -> None:
    async def ask() -> None:
        async with aiohttp.ClientSession() as session:
            await session.get("https://example.org/")

    with pytest.raises(RuntimeError, match=r"example\.org") as error:
        asyncio.run(ask())
    assert refused(error)


def test_loopback_is_reached_by_address_and_by_name() -> None:
    with FakeServer() as server:
        address = urlsplit(server.url)
        assert address.hostname == "127.0.0.1"
        connection = http.client.HTTPConnection("localhost", address.port, timeout=5)
        connection.request("GET", "/v1/models")
        assert connection.getresponse().read()
        connection.close()
