"""The fake server in a process of its own, and as a command."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest
from loopback import Client

from ragstone.testing import FakeServer, Scripted
from ragstone.testing.__main__ import main

COMMAND = [sys.executable, "-m", "ragstone.testing"]


def test_a_server_in_its_own_process_is_used_like_any_other() -> None:
    """It answers, counts, is changed and reset, and what it counted stays readable after its end."""
    script = ["one", {"two": 2}, Scripted("three", status=418)]
    with FakeServer(process=True, script=script, rate_500=1.0, faulty_attempts=math.inf) as server:
        assert server._child is not None
        assert server._child.pid != os.getpid()
        client = Client(server)
        assert client.chat("a").content == "one"
        assert client.chat("b").content == '{"two":2}'
        assert client.chat("c").error["message"] == "three"
        assert client.chat("d").status == 500
        server.configure(rate_500=0, script=["new"])
        assert client.chat("a").content == "new"
        assert client.chat("a").content == "OK"
        assert server.count == 4
        assert server.seen == {200: 4, 418: 1, 500: 1}
        assert len(server.unique) == 2
        assert server.requests[0]["messages"][0]["content"] == "a"
        assert server.max_in_flight == 1
        server.reset()
        assert (server.count, server.seen, server.requests) == (0, {}, [])
        client.chat("e")
        client.connection.close()
    assert server.count == 1
    assert server.seen == {200: 1}


def test_its_process_ends_with_the_context() -> None:
    """Nothing keeps running."""
    with FakeServer(process=True, latency=30) as server:
        child = server._child
    assert child is not None
    assert child.returncode == 0


def test_a_process_cannot_call_back() -> None:
    """A callable is refused where it could not be called."""
    with pytest.raises(ValueError, match="script"):
        FakeServer(process=True, answer=lambda _: "no")
    with FakeServer(process=True) as server, pytest.raises(ValueError, match="script"):
        server.configure(answer=lambda _: "no")


def test_a_wrong_knob_is_named_by_the_other_process() -> None:
    """An error there is an error here."""
    with FakeServer(process=True) as server, pytest.raises(ValueError, match="rate_429"):
        server.configure(rate_429=2)


def test_a_process_that_listens_no_more_says_so() -> None:
    """Once it refuses connections it cannot be asked, and that is an error rather than a zero."""
    with FakeServer(process=True, dead_after=1, dead_how="refuse") as server:
        client = Client(server)
        assert client.chat().status == 200
        client.connection.close()
    with pytest.raises(OSError, match="not running"):
        _ = server.count


def test_the_command_says_where_it_listens_and_ends_when_told() -> None:
    """One line of JSON when it is ready, then it serves until a signal."""
    command = [*COMMAND, "--latency", "0.2,0.3", "--retry-after", "3", "--api-key", "k", "--capacity", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        ready = json.loads(child.stdout.readline())
        assert ready["pid"] == child.pid
        assert ready["url"] == f"http://127.0.0.1:{ready['port']}/v1"
        server = FakeServer(port=ready["port"])
        client = Client(server)
        assert client.chat().status == 401
        got = client.chat(headers={"Authorization": "Bearer k"})
        assert (got.status, got.headers["retry-after"]) == (429, "3")
        assert client.send("POST", "/_configure", '{"capacity": null}').status == 200
        start = time.monotonic()
        assert client.chat(headers={"Authorization": "Bearer k"}).status == 200
        assert time.monotonic() - start >= 0.2
        assert client.send("POST", "/_configure", '{"rate_500": "many"}').status == 400
        stats = client.send("GET", "/_stats").json
        assert (stats["count"], stats["seen"]) == (1, {"401": 1, "429": 1, "200": 1})
        assert client.send("POST", "/_reset").status == 200
        assert client.send("GET", "/_stats?full").json["hashes"] == []
        client.connection.close()
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0


def test_the_command_refuses_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong knob ends it with status 2, a port that is taken with 1."""
    assert main(["--rate-429", "2"]) == 2
    assert "rate_429" in capsys.readouterr().err
    with FakeServer() as server:
        assert main(["--port", server.url.rsplit(":", 1)[1].removesuffix("/v1")]) == 1
    assert "address already in use" in capsys.readouterr().err


def test_a_server_whose_port_is_taken_does_not_start() -> None:
    """The error is the system's own, in a thread as in a process."""
    with FakeServer() as server:
        port = int(server.url.rsplit(":", 1)[1].removesuffix("/v1"))
        for process in (False, True):
            with pytest.raises(OSError, match=r"in use|did not start"):
                FakeServer(port=port, process=process).start()
