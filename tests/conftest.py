"""What holds for all tests: nothing leaves this machine, and examples are drawn without a clock.

Data that is not part of the project may be beside the checkout; tests that need it are marked, and skipped without it.
"""

from __future__ import annotations

import gc
import importlib
import ipaddress
import math
import os
import pkgutil
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import settings

import ragstone
from ragstone import prompts
from ragstone.metrics import refalign
from ragstone.testing import FakeServer

OUTSIDE: Final = Path(__file__).parents[2] / "shared" / "data"

gc.disable()  # until the tests are collected: a million objects, none of which is garbage

if hasattr(signal, "SIGHUP"):  # ignored under nohup, and so by the processes that tests start
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture
def outside_data() -> Callable[[str], Path]:
    """The path of a file beside the checkout, by its name; skips the test that needs it where it is not there."""

    def found(name: str) -> Path:
        if not (OUTSIDE / name).exists():
            pytest.skip(f"needs ../shared/data/{name}, which is not part of the project")
        return OUTSIDE / name

    return found


@pytest.fixture(scope="session", autouse=True)
def own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A store for tests that name none and do not stand ``alone``: the one in the checkout is its user's."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAGSTONE_STORE", str(tmp_path_factory.mktemp("store") / "ragstone.db"))
        yield


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, short pauses between tries, and an environment that says nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("RAGSTONE_STORE", "RAGSTONE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("ragstone.engine.calls._backoff", lambda attempt: 0.01)
    return tmp_path


@pytest.fixture
def older_prompts(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Packaged prompts of which each has a version 1 too, as after a release that changed them all."""
    folder = tmp_path_factory.mktemp("packaged") / "prompts"
    shutil.copytree(Path(prompts.__file__).parent, folder)
    for entry in prompts.entries():
        text = entry.text.replace(f"\nversion: {entry.version}\n", "\nversion: 1\n")
        (folder / entry.task / f"{entry.name}.v1.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(prompts, "resources", SimpleNamespace(files=lambda _: folder))
    cached = (prompts.entries, prompts.files_of, prompts.load)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


@pytest.fixture(scope="session")
def every_module() -> None:
    """Import all there is: a module imported within another run of pytest would be a second one after it."""
    for module in pkgutil.walk_packages(ragstone.__path__, "ragstone."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


@pytest.fixture
def pytester(pytester: pytest.Pytester, every_module: None, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Another run of pytest, which says the same here and where CI runs it."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    return pytester


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """A language model behind an endpoint of this machine."""
    with FakeServer() as running:
        yield running


def pytest_collection_finish() -> None:
    """Else each full collection, such as after an interrupt, would look at all the tests again."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need data from outside, so that they can be chosen."""
    for item in items:
        if "outside_data" in getattr(item, "fixturenames", ()):
            item.add_marker("outside_data")


settings.register_profile("ragstone", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("ragstone")


class WordEncoder:
    """Vectors of length 1 that count words in 64 places; texts without words have the last place."""

    files = SimpleNamespace(name="lab/words", revision="0123456789abcdef", digest="d1")

    def encode(self, text: str) -> tuple[float, ...]:
        counts = [0.0] * 64
        for word in re.findall(r"\w+", text.lower()) or ["?"]:
            counts[sum(map(ord, word)) % 64] += 1
        length = math.hypot(*counts)
        return tuple(count / length for count in counts)


@pytest.fixture(scope="session", autouse=True)
def encoder_without_a_model() -> Iterator[None]:
    """Let the metric that embeds sentences count words: its model would be a download."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refalign, "encoder", lambda _model: WordEncoder())
        yield
