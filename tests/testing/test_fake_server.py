"""The fake server does each thing that it can be told to do, its limits included, over real sockets."""

from __future__ import annotations

import asyncio
import http.client
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Client, asking

from ragstone.testing import Behaviour, FakeServer, Knobs, Scripted
from ragstone.testing.endpoint import PROSE, Endpoint
from ragstone.testing.rate_limits import Meter

VERDICTS = {
    "type": "object",
    "properties": {
        "verdicts": {"type": "array", "items": {"enum": ["yes", "no"]}, "minItems": 4, "maxItems": 4},
    },
    "required": ["verdicts"],
}
MANY = 300
PATIENCE = 5.0
Connect = Callable[[FakeServer], Client]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Opens clients and closes them."""
    clients: list[Client] = []

    def make(server: FakeServer) -> Client:
        clients.append(Client(server))
        return clients[-1]

    yield make
    for client in clients:
        client.connection.close()


def statuses(client: Client, count: int = MANY) -> list[int]:
    return [client.chat(f"question {number}").status for number in range(count)]


# What it says


def test_a_completion_has_the_shape_of_the_real_thing(connect: Connect) -> None:
    """An answer carries id, model, one choice and counted tokens."""
    with FakeServer() as server:
        got = connect(server).chat("x" * 400, model="gpt-x")
    assert got.status == 200
    assert got.headers["content-type"] == "application/json"
    assert got.json["object"] == "chat.completion"
    assert got.json["model"] == "gpt-x"
    assert got.choice == {
        "index": 0,
        "message": {"role": "assistant", "content": "OK"},
        "logprobs": None,
        "finish_reason": "stop",
    }
    usage = got.json["usage"]
    assert 100 <= usage["prompt_tokens"] <= 112
    assert usage["completion_tokens"] == 1
    assert usage["total_tokens"] == usage["prompt_tokens"] + 1


def test_it_starts_inside_a_running_event_loop() -> None:
    """As in a test of asynchronous code."""

    async def test() -> int:
        with FakeServer() as server:
            return server.count

    assert asyncio.run(test()) == 0


def test_the_same_request_has_the_same_answer_in_every_server() -> None:
    """Answers follow from the request and the seed alone."""
    answers = []
    for seed in (0, 0, 1):
        with asking(seed=seed) as client:
            answers.append([client.chat(f"{number}", schema=VERDICTS).content for number in range(20)])
    assert answers[0] == answers[1]
    assert answers[0] != answers[2]
    assert len(set(answers[0])) > 5


def test_vary_gives_equal_requests_different_answers() -> None:
    """With vary the same request is answered differently the next time."""
    with asking(vary=True) as client:
        assert len({client.chat(schema=VERDICTS).content for _ in range(20)}) > 5
        client.server.configure(vary=False)
        assert len({client.chat(schema=VERDICTS).content for _ in range(20)}) == 1


def test_answer_makes_text_json_or_a_scripted_reply() -> None:
    """A callable is given the request and may answer in any of the forms."""

    def answer(request: dict[str, Any]) -> Any:
        match request["messages"][0]["content"]:
            case "text":
                return "plain"
            case "json":
                return {"a": [1]}
            case "status":
                return Scripted("no such luck", status=418)
            case _:
                return None

    with asking(answer=answer) as client:
        assert client.chat("text").content == "plain"
        assert json.loads(client.chat("json").content) == {"a": [1]}
        assert client.chat("status").status == 418
        assert client.chat("other").content == "OK"


def test_an_error_in_an_answer_is_raised_when_the_server_ends(connect: Connect) -> None:
    """A fault of the callable is the test's to see, not a mere closed connection."""

    def answer(_: dict[str, Any]) -> str:
        raise KeyError("mistake")

    def use() -> None:
        with FakeServer(answer=answer) as server, suppress(http.client.RemoteDisconnected, ConnectionError):
            connect(server).chat()

    with pytest.raises(KeyError, match="mistake"):
        use()


def test_a_script_is_answered_in_order_and_then_the_default() -> None:
    """Scripted answers come one by one, spared of faults; what follows is the default."""
    script = [
        "one",
        {"two": 2},
        Scripted(None, finish="content_filter"),
        Scripted({"error": "custom"}, status=422, headers={"X-Note": "hello"}),
        Scripted("slow down", status=429, headers={"Retry-After": "7"}),
        Scripted("cut", finish="length", reasoning="hmm", usage={"prompt_tokens": 5}),
        Scripted(raw="<html>bad gateway</html>", status=502, headers={"Content-Type": "text/html"}),
        Scripted(raw="not json at all"),
    ]
    with asking(script=script, rate_500=1.0) as client:
        assert client.chat().content == "one"
        assert client.chat().content == '{"two":2}'
        third = client.chat()
        assert (third.content, third.choice["finish_reason"]) == (None, "content_filter")
        fourth = client.chat()
        assert (fourth.status, fourth.json, fourth.headers["x-note"]) == (422, {"error": "custom"}, "hello")
        fifth = client.chat()
        assert (fifth.status, fifth.error["message"], fifth.headers["retry-after"]) == (429, "slow down", "7")
        sixth = client.chat()
        assert (sixth.content, sixth.choice["finish_reason"]) == ("cut", "length")
        assert sixth.choice["message"]["reasoning_content"] == "hmm"
        assert sixth.json["usage"] == {"prompt_tokens": 5}
        seventh = client.chat()
        assert (seventh.status, seventh.body, seventh.headers["content-type"]) == (
            502,
            b"<html>bad gateway</html>",
            "text/html",
        )
        assert client.chat().body == b"not json at all"
        assert client.chat("after the script").status == 500


def test_usage_can_be_left_out_or_detailed() -> None:
    """Counts can be absent, and say what was cached and what was thought."""
    with asking(usage=False) as client:
        assert "usage" not in client.chat().json
        client.server.configure(usage=True, cached_share=0.5, rate_reasoning_field=1.0)
        usage = client.chat("y" * 800).json["usage"]
        assert usage["prompt_tokens_details"]["cached_tokens"] == usage["prompt_tokens"] // 2
        assert 0 < usage["completion_tokens_details"]["reasoning_tokens"] < usage["completion_tokens"]


# Delays


def test_latency_between_two_bounds_differs_by_request() -> None:
    """A pair of bounds spreads the requests between them, the same request always alike."""
    endpoint = Endpoint(Behaviour(latency=(0.02, 0.1)), keep=0)

    def waits() -> list[float]:
        turns = ([{"role": "user", "content": str(number)}] for number in range(12))
        bodies = (json.dumps({"model": "m", "messages": messages}).encode() for messages in turns)
        return [endpoint.reply("POST", "/v1/chat/completions", {}, body).delay for body in bodies]

    first = waits()
    assert 0.02 <= min(first) < 0.04
    assert 0.08 < max(first) <= 0.1
    assert waits() == first


# Faults


@pytest.mark.parametrize(("knob", "status"), [("rate_429", 429), ("rate_500", 500)])
def test_a_share_of_requests_fails_once(knob: str, status: int) -> None:
    """About the share fails, always the same requests, and each succeeds when asked again."""
    runs = []
    for _ in range(2):
        with asking(**cast("Knobs", {knob: 0.3})) as client:
            first = statuses(client)
            assert set(statuses(client)) == {200}
            runs.append(first)
            assert client.server.seen[status] == first.count(status)
    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, status}
    assert 0.2 < runs[0].count(status) / MANY < 0.4


def test_faults_can_outlast_any_number_of_attempts() -> None:
    """With faulty_attempts a request fails so many times, or for ever."""
    with asking(rate_500=1.0, faulty_attempts=2) as client:
        assert [client.chat().status for _ in range(4)] == [500, 500, 200, 200]
        client.server.configure(faulty_attempts=math.inf)
        assert [client.chat().status for _ in range(4)] == [500] * 4


def test_retry_after_is_said_in_seconds_or_as_a_date() -> None:
    """A 429 says when to come back, in either form, or not at all."""
    with asking(rate_429=1.0, faulty_attempts=math.inf) as client:
        assert "retry-after" not in client.chat().headers
        client.server.configure(retry_after=2.5)
        got = client.chat()
        assert got.headers["retry-after"] == "2.5"
        assert got.error["code"] == "rate_limit_exceeded"
        client.server.configure(retry_after=30, retry_after_date=True)
        date = parsedate_to_datetime(client.chat().headers["retry-after"])
        assert 28 < date.timestamp() - time.time() < 32


@pytest.mark.parametrize(("fault", "says", "share"), [("truncated", "length", 1 / 2), ("malformed", "stop", 2 / 3)])
def test_an_answer_is_cut_and_says_so_or_not(fault: str, says: str, share: float) -> None:
    """Its first half or two thirds; asked again it is whole."""
    with asking(**cast("Knobs", {f"rate_{fault}": 1.0})) as client:
        cut, whole = client.chat(schema=VERDICTS), client.chat(schema=VERDICTS, max_tokens=500)
    assert (cut.choice["finish_reason"], whole.choice["finish_reason"]) == (says, "stop")
    assert whole.content.startswith(cut.content)
    assert len(cut.content) == int(len(whole.content) * share)


def test_max_tokens_cuts_an_answer_where_it_is_obeyed() -> None:
    """With obey_max_tokens an answer ends at the limit that the request sets."""
    with asking(answer=lambda _: "x" * 100, obey_max_tokens=True) as client:
        for got in (client.chat(max_tokens=5), client.chat(max_completion_tokens=5)):
            assert (len(got.content), got.choice["finish_reason"]) == (20, "length")
        assert client.chat(max_tokens=25).choice["finish_reason"] == "stop"
        client.server.configure(obey_max_tokens=False)
        assert len(client.chat(max_tokens=5).content) == 100


def test_garbage_is_prose_empty_or_null() -> None:
    """Garbage comes in three kinds, and is gone when asked again."""
    with asking(rate_garbage=1.0) as client:
        first = {client.chat(f"{number}", schema=VERDICTS).content for number in range(40)}
        again = [client.chat(f"{number}", schema=VERDICTS).content for number in range(40)]
    assert first == {PROSE, "", None}
    assert all(json.loads(content)["verdicts"] for content in again)


@pytest.mark.parametrize(
    ("fault", "error"),
    [("reset", (http.client.RemoteDisconnected, ConnectionError)), ("cut", http.client.IncompleteRead)],
)
def test_a_connection_is_closed_without_a_reply_or_within_it(fault: str, error: Any, connect: Connect) -> None:
    """The next attempt succeeds, and is the only one that counts."""
    with FakeServer(**cast("Knobs", {f"rate_{fault}": 1.0})) as server:
        with pytest.raises(error):
            connect(server).chat()
        assert connect(server).chat().status == 200
        assert (server.seen, server.count) == ({fault: 1, 200: 1}, 1)


def test_a_hanging_request_is_never_answered(connect: Connect) -> None:
    """A request that hangs outlasts the client's patience, and the next attempt succeeds."""
    with asking(rate_hang=1.0) as client:
        client.connection.timeout = 0.3
        with pytest.raises(TimeoutError):
            client.chat()
        client.connection.close()
        assert connect(client.server).chat().status == 200
        assert client.server.seen == {"hang": 1, "gone": 1, 200: 1}


def test_shares_of_different_faults_exclude_each_other() -> None:
    """Mixed faults come in their shares, and nothing is struck by two."""
    with asking(rate_429=0.2, rate_500=0.2, rate_empty_choices=0.2) as client:
        got = [client.chat(f"{number}") for number in range(MANY)]
    empty = sum(reply.status == 200 and not reply.json["choices"] for reply in got)
    counts = [sum(reply.status == 429 for reply in got), sum(reply.status == 500 for reply in got), empty]
    assert all(0.1 < count / MANY < 0.3 for count in counts)


# Manners


def test_a_fenced_answer_stands_in_a_code_block() -> None:
    """The answer can stand in a fence with prose around it, in every attempt."""
    with asking() as client:
        plain = client.chat(schema=VERDICTS).content
        client.server.configure(rate_fenced=1.0)
        for _ in range(2):
            fenced = client.chat(schema=VERDICTS).content
            before, _, rest = fenced.partition("```json\n")
            inner, _, after = rest.partition("\n```")
            assert inner == plain
            assert before.strip()
            assert after.strip()


@pytest.mark.parametrize("knob", ["rate_think", "rate_reasoning_field"])
def test_a_thought_holds_another_answer(knob: str) -> None:
    """It misleads, before the answer or in a field of its own: it holds a fitting answer that is not the answer."""
    with asking() as client:
        plain = client.chat(schema=VERDICTS).content
        client.server.configure(**cast("Knobs", {knob: 1.0}))
        message = client.chat(schema=VERDICTS).choice["message"]
    thought, _, answer = message["content"].rpartition("</think>")
    assert answer.strip() == plain
    misleading = json.loads((thought.removeprefix("<think>\n") or message["reasoning_content"]).split("\n")[1])
    assert len(misleading["verdicts"]) == 4
    assert misleading != json.loads(plain)


# Refusals


def test_a_refused_schema_is_remembered_for_the_same_messages() -> None:
    """After the refusal the same messages without a schema get the answer that fits it; others do not."""
    with asking(refuse_schema=True) as client:
        refused = client.chat("a", schema=VERDICTS)
        assert (refused.status, refused.error["param"]) == (400, "response_format")
        assert refused.error["type"] == "invalid_request_error"
        assert len(json.loads(client.chat("a").content)["verdicts"]) == 4
        assert client.chat("b").content == "OK"
        client.server.configure(remember_schemas=False)
        assert client.chat("c", schema=VERDICTS).status == 400
        assert client.chat("c").content == "OK"
        client.server.configure(refuse_schema=False)
        assert client.chat("c", schema=VERDICTS).status == 200


PARAMETERS = {"refuse_parameters": ("temperature", "max_tokens")}


@pytest.mark.parametrize(
    ("knobs", "refused", "taken", "status", "said"),
    [
        (PARAMETERS, {"temperature": 0}, {}, 400, ("temperature", "unsupported_parameter", "'temperature' is not")),
        (PARAMETERS, {"max_tokens": 5}, {"max_completion_tokens": 5}, 400,
         ("max_tokens", "unsupported_parameter", "max_completion_tokens")),
        ({"known_models": ("good",)}, {"model": "bad"}, {"model": "good"}, 404, (None, "model_not_found", "`bad`")),
        ({"context_limit": 100}, {"text": "x" * 1000}, {"text": "x" * 100}, 400,
         ("messages", "context_length_exceeded", "100 tokens")),
        ({}, {"stream": True}, {}, 400, ("stream", None, "stream")),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(
    knobs: Any, refused: Any, taken: Any, status: int, said: tuple[Any, Any, str]
) -> None:
    """With the parameter, the code and the words of the real thing; what is not refused is answered."""
    with asking(**knobs) as client:
        got = client.chat(**refused)
        assert (got.status, got.error["param"], got.error["code"]) == (status, *said[:2])
        assert said[2] in got.error["message"]
        assert client.chat(**taken).status == 200


def test_a_wrong_key_is_refused() -> None:
    """Without the key, or with another one, there is no answer and no list of models."""
    with asking(api_key="right", known_models=("m", "b")) as client:
        assert client.chat().status == 401
        wrong = client.chat(headers={"Authorization": "Bearer wrong"})
        assert (wrong.status, wrong.error["code"]) == (401, "invalid_api_key")
        assert client.send("GET", "/v1/models").status == 401
        assert client.chat(headers={"Authorization": "Bearer right"}).status == 200
        listed = client.send("GET", "/v1/models", Authorization="Bearer right")
        assert (listed.status, [model["id"] for model in listed.json["data"]]) == (200, ["m", "b"])
        assert client.chat(headers={"api-key": "right"}).status == 200


def test_more_requests_than_the_capacity_are_turned_away(connect: Connect) -> None:
    """With a capacity of three, five requests at a time give two refusals."""
    with FakeServer(capacity=3, latency=0.8, retry_after=1) as server:
        clients = [connect(server) for _ in range(5)]
        with ThreadPoolExecutor(5) as pool:
            got = sorted(pool.map(lambda client: client.chat().status, clients))
    assert got == [200, 200, 200, 429, 429]


def test_after_its_death_a_server_answers_nothing(connect: Connect) -> None:
    """Exactly so many requests are answered, also when more are in flight; the rest get 503."""
    with FakeServer(dead_after=5, latency=0.1) as server:
        clients = [connect(server) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            got = sorted(pool.map(lambda client: client.chat().status, clients))
        assert got == [200] * 5 + [503] * 3
        assert clients[0].chat().status == 503
        assert server.count == 5
        server.configure(dead_after=None)
        assert clients[0].chat().status == 200


def test_a_server_can_die_by_refusing_connections(connect: Connect) -> None:
    """With dead_how refuse the last answer still arrives, and then nobody listens."""
    with FakeServer(dead_after=1, dead_how="refuse") as server:
        assert connect(server).chat().status == 200
        with pytest.raises(ConnectionError):
            connect(server).chat()
        assert server.count == 1


def test_a_server_whose_port_is_taken_does_not_start() -> None:
    """The error is the system's own."""
    with FakeServer() as server:
        port = int(server.url.rsplit(":", 1)[1].removesuffix("/v1"))
        with pytest.raises(OSError, match="in use"):
            FakeServer(port=port).start()


# Introspection


def test_what_was_asked_and_answered_is_counted() -> None:
    """Requests, statuses, answers and distinct bodies are kept, until reset."""
    with asking(rate_500=1.0) as client:
        for text in ("a", "a", "b", "b", "b"):
            client.chat(text)
        assert client.server.count == 3
        assert client.server.seen == {500: 2, 200: 3}
        assert len(client.server.unique) == 2
        assert [request["messages"][0]["content"] for request in client.server.requests] == ["a", "a", "b", "b", "b"]
        assert client.server.connections == 1
        assert client.server.max_in_flight == 1
        client.server.reset()
        told = client.server
        assert (told.count, told.seen, told.unique, told.requests) == (0, {}, set(), [])
        assert client.chat("a").status == 500
    assert client.server.seen == {500: 1}


def test_only_the_last_requests_are_kept(connect: Connect) -> None:
    """The list of requests is bounded, and can be switched off."""
    with FakeServer(keep=2) as server:
        client = connect(server)
        for text in ("a", "b", "c"):
            client.chat(text)
        assert [request["messages"][0]["content"] for request in server.requests] == ["b", "c"]
    with FakeServer(keep=0) as server:
        connect(server).chat()
        assert server.requests == []
        assert server.count == 1


def test_a_client_that_leaves_is_counted_as_gone(connect: Connect) -> None:
    """A request whose client did not wait is neither answered nor in flight any more."""
    with asking(latency=5) as client:
        client.connection.timeout = 0.2
        with pytest.raises(TimeoutError):
            client.chat()
        client.connection.close()
        deadline = time.monotonic() + PATIENCE
        while not client.server.seen and time.monotonic() < deadline:
            time.sleep(0.01)
        assert client.server.seen == {"gone": 1}
        assert client.server.count == 0
        client.server.configure(latency=0)
        connect(client.server).chat()
        assert client.server.max_in_flight == 1


def test_headers_go_on_every_reply() -> None:
    """Extra headers stand on answers and on refusals for rate."""
    with asking(headers={"x-ratelimit-remaining-requests": "7"}) as client:
        assert client.chat().headers["x-ratelimit-remaining-requests"] == "7"
        client.server.configure(capacity=0)
        got = client.chat()
        assert (got.status, got.headers["x-ratelimit-remaining-requests"]) == (429, "7")


def test_it_ends_at_once_with_requests_in_flight(connect: Connect) -> None:
    """Leaving the context drops what waits, and leaves no thread behind."""
    before = threading.active_count()
    with FakeServer(latency=60) as server:
        client = connect(server)
        client.connection.request("POST", "/v1/chat/completions", '{"messages":[{"role":"user","content":""}]}')
        time.sleep(0.1)
        start = time.monotonic()
    assert time.monotonic() - start < 10
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        client.connection.getresponse()
    assert threading.active_count() == before


# HTTP


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/", 404),
        ("POST", "/v1/completions", 404),
    ],
)
def test_what_it_does_not_serve_is_an_error_in_json(method: str, path: str, status: int) -> None:
    """Wrong paths and methods are told apart, and the connection stays usable."""
    with asking() as client:
        got = client.send(method, path, b"{}" if method == "POST" else None)
        assert got.status == status
        assert got.error["type"] == "invalid_request_error"
        assert client.chat().status == 200
        assert client.server.connections == 1


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[]", b"{}", b'{"messages":[]}', b'{"messages":"x"}', b"[" * 100_000]
)
def test_a_bad_body_is_refused(body: bytes) -> None:
    """What is no chat request gets 400 and does no harm."""
    with asking() as client:
        assert client.send("POST", "/v1/chat/completions", body).status == 400
        assert client.chat().status == 200


def test_a_lone_surrogate_is_a_request_like_any_other(connect: Connect) -> None:
    """Text that is no valid Unicode is answered, and can be part of an answer."""
    with FakeServer(answer=lambda request: request["messages"][0]["content"]) as server:
        assert connect(server).chat("a\ud800b").content == "a\ud800b"


def test_chunked_bodies_are_read() -> None:
    """A body that comes in chunks is put together, however large: here twenty megabytes."""
    text = "word " * 4_000_000
    request = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    parts = (request[start : start + 70_001] for start in range(0, len(request), 70_001))
    with asking() as client:
        assert client.send("POST", "/v1/chat/completions", parts).status == 200
        assert client.server.requests[0]["messages"][0]["content"] == text
        assert client.chat().status == 200
        assert client.server.connections == 1


# Knobs


def test_every_knob_is_typed_and_described() -> None:
    """The keywords, the fields and the description of the behaviour name the same knobs."""
    names = set(Behaviour.__struct_fields__)
    assert names == set(Knobs.__annotations__)
    assert Behaviour.__doc__ is not None
    assert [name for name in names - {"seed"} if f"``{name}``" not in Behaviour.__doc__] == []


@pytest.mark.parametrize(
    ("knobs", "named"),
    [
        ({"rate_429": 1.5}, "rate_429"),
        ({"rate_429": 0.6, "rate_500": 0.6}, "more than 1"),
        ({"latency": -1}, "latency"),
        ({"latency": (2, 1)}, "latency"),
        ({"dead_how": "slowly"}, "dead_how"),
        ({"rate_428": 0.1}, "rate_428"),
        ({"context_limit": 0}, "context_limit: 0 is not a number of tokens"),
        ({"rate_window": 0}, "rate_window"),
    ],
)
def test_a_knob_that_cannot_be_turned_is_named(knobs: Any, named: str) -> None:
    """A wrong knob is an error before anything listens, and again at run time."""
    with pytest.raises(ValueError, match=named):
        FakeServer(**knobs)
    with FakeServer() as server, pytest.raises(ValueError, match=named):
        server.configure(**knobs)


def test_requests_beyond_the_rate_are_refused_and_told_when_to_come_back() -> None:
    with asking(rpm=2, rate_window=30) as client:
        replies = [client.chat() for _ in range(3)]
        assert client.server.seen == {200: 2, 429: 1}
    assert [got.status for got in replies] == [200, 200, 429]
    assert [got.headers["x-ratelimit-remaining-requests"] for got in replies] == ["1", "0", "0"]
    said = replies[2].headers
    assert 28_000 < int(said["retry-after-ms"]) <= 30_000
    assert 28 < int(said["retry-after"]) <= 30
    assert said["x-ratelimit-limit-requests"] == "2"
    assert 28 < float(said["x-ratelimit-reset-requests"].removesuffix("s")) <= 30


def test_after_its_window_the_rate_is_there_again() -> None:
    """Who waits as long as was said is let in."""
    with asking(rpm=1, rate_window=0.5) as client:
        client.chat()
        refused = client.chat()
        assert refused.status == 429
        time.sleep(int(refused.headers["retry-after-ms"]) / 1000)
        assert client.chat().status == 200


def test_tokens_count_with_the_reply() -> None:
    """What a reply took is gone from the allowance, and the next request that does not fit is refused."""
    with asking(tpm=60, rate_window=30) as client:
        headers = client.chat(schema=VERDICTS).headers
        assert headers["x-ratelimit-limit-tokens"] == "60"
        taken = 60 - int(headers["x-ratelimit-remaining-tokens"])
        assert client.chat("x" * 400).status == 429
        ((_, first, tokens), (_, second, refused)) = client.server.arrivals
    assert (first, second, refused) == (200, 429, 0)
    assert tokens == taken > 10


def test_a_thought_goes_before_a_fenced_answer() -> None:
    """Both come together on the share of requests, and on no other."""
    with asking() as client:
        plain = [client.chat(f"{n}", VERDICTS).content for n in range(40)]
        client.server.configure(rate_think_fenced=0.5)
        dressed = [client.chat(f"{n}", VERDICTS).content for n in range(40)]
    struck = [text for text in dressed if text not in plain]
    assert 8 < len(struck) < 32
    for text in struck:
        thought, _, answer = text.partition("</think>")
        assert thought.startswith("<think>")
        assert "```json" in answer
        assert answer.split("```json\n")[1].split("\n```")[0] in plain


@given(
    st.lists(st.tuples(st.floats(0, 30), st.integers(1, 80)), max_size=60),
    st.integers(1, 8) | st.none(),
    st.integers(80, 200) | st.none(),
)
def test_no_window_holds_more_than_the_meter_allows(
    asked: list[tuple[float, int]], rpm: int | None, tpm: int | None
) -> None:
    """Whatever comes when: what was let in never passes a limit in any window, and the wait that is told is enough."""
    meter, now = Meter(), 0.0
    taken: list[tuple[float, int]] = []
    for gap, tokens in asked:
        now += gap
        wait = meter.refusal(now, 60.0, rpm, tpm, tokens)
        if wait:
            now += wait + 1e-6
            assert meter.refusal(now, 60.0, rpm, tpm, tokens) == 0
        meter.take(now, tokens)
        taken.append((now, tokens))
    for start, _ in taken:
        inside = [tokens for at, tokens in taken if start <= at < start + 60]
        assert rpm is None or len(inside) <= rpm
        assert tpm is None or sum(inside) <= tpm
