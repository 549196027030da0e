"""Both dialects over real sockets: what is sent, what is taken, and how each failure is sorted."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import sys
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from typing import Any

import pytest
from aiohttp import ClientConnectorCertificateError, ClientConnectorError, ClientConnectorSSLError
from aiohttp.client_reqrep import ConnectionKey
from yarl import URL

from ragstone.errors import BackendError
from ragstone.judges import http
from ragstone.judges.base import Allowance, Call, Left, Prompt, Reply, Schema, Usage
from ragstone.judges.http import HttpBackend
from ragstone.judges.messages import MessagesBackend
from ragstone.judges.openai import OpenAIBackend
from ragstone.judges.spec import Spec
from ragstone.testing import FakeServer, Scripted

SECRET = "sk-test-0123456789abcdef"
VARIABLE = "RAGSTONE_TEST_KEY"
SCHEMA = {"type": "json_schema", "json_schema": {"name": "v", "schema": {"type": "object", "properties": {}}}}


OPENAI = pytest.mark.parametrize("dialect", ["openai"], indirect=True)
MESSAGES = pytest.mark.parametrize("dialect", ["messages"], indirect=True)
spoken = "openai"


@pytest.fixture(autouse=True, params=["openai", "messages"])
def dialect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test is of both, unless it says of which."""
    monkeypatch.setattr(sys.modules[__name__], "spoken", request.param)
    return str(request.param)


def call(text: str = "hello", **fields: Any) -> Call:
    request: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}], **fields}
    if spoken == "messages":
        request.setdefault("max_tokens", 99)
        if (form := request.pop("response_format", None)) is not None:
            request["output_config"] = {"format": {"type": "json_schema", "schema": form["json_schema"]["schema"]}}
    return Call("a/m", "support", "p", json.dumps(request).encode())


def backend(server: FakeServer | str, **options: Any) -> HttpBackend:
    url = server if isinstance(server, str) else server.url
    if spoken == "messages":
        options = {"provider": "anthropic", "api_key_env": "", **options}
    return (OpenAIBackend if spoken == "openai" else MessagesBackend)(Spec("mine", base_url=url, **options))


def run(backend: HttpBackend, work: Callable[[HttpBackend], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        try:
            await backend.open()
            return await work(backend)
        finally:
            await backend.close()
            await backend.close()

    return asyncio.run(main())


def ask(server: FakeServer | str, asked: Call | None = None, **options: Any) -> Reply:
    reply = run(backend(server, **options), lambda ready: ready.send(asked or call()))
    assert isinstance(reply, Reply)
    return reply


def error(server: FakeServer | str, asked: Call | None = None, **options: Any) -> BackendError:
    with pytest.raises(BackendError) as found:
        ask(server, asked, **options)
    assert "\n" not in str(found.value)
    assert str(found.value).startswith("mine: ")
    assert found.value.judge == "mine"
    return found.value


def raw(**completion: Any) -> Scripted:
    return Scripted(raw=json.dumps(completion))


def message(**fields: Any) -> Scripted:
    return raw(choices=[{"message": {"role": "assistant", **fields}, "finish_reason": "stop"}])


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(VARIABLE, f" {SECRET}\n")
    return VARIABLE


# ---- requests and replies


def test_the_request_goes_out_byte_for_byte_and_the_answer_comes_back() -> None:
    asked = call("grüß dich", temperature=0.0, max_tokens=9, seed=7)
    with FakeServer(script=["the answer"]) as server:
        reply = ask(server, asked)
        assert list(server.requests) == [json.loads(asked.body)]
        assert ask(f"{server.url}/").text == "OK", "a trailing slash does not matter"
    assert (reply.text, reply.finish, reply.reasoning, reply.notes) == ("the answer", "stop", "", ())


@OPENAI
def test_finish_and_usage_are_as_the_endpoint_says() -> None:
    usage = {
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 8},
    }  # fmt: skip
    with FakeServer(script=[Scripted("cut", finish="length", usage=usage)]) as server:
        reply = ask(server)
    assert (reply.finish, reply.usage) == ("length", Usage(100, 20, 64, 8))
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 60}  # DeepSeek
    with FakeServer(script=[Scripted("x", usage=usage)]) as server:
        assert ask(server).usage == Usage(100, 20, 60)


@OPENAI
@pytest.mark.parametrize(
    ("counts", "output"),
    [
        ({"completion_tokens": 20, "total_tokens": 440}, 340),  # Gemini
        ({"completion_tokens": 9, "total_tokens": 139, "completion_tokens_details": {"reasoning_tokens": 30}}, 39),
        ({"total_tokens": 400}, 300),  # nothing but reasoning
        ({"completion_tokens": 20, "total_tokens": 110}, 20),
        ({"completion_tokens": 20, "total_tokens": "440"}, 20),
    ],
)
def test_reasoning_that_only_the_total_counts_is_output(counts: dict[str, Any], output: int) -> None:
    usage = {"prompt_tokens": 100, **counts}
    with FakeServer(script=[raw(choices=[{"message": {"content": "x"}}], usage=usage)]) as server:
        assert ask(server).usage[:2] == (100, output)


@OPENAI
@pytest.mark.parametrize(
    ("words", "counted", "provider", "noted"),
    [
        (8000, 2050, "ollama", True),  # half of a context of 4,096 tokens is left
        (8000, 7000, "ollama", False),
        (8000, 2050, "", False),
        (1000, 300, "ollama", False),
        (8000, None, "ollama", False),
    ],
)
def test_a_request_that_a_local_server_truncated_is_noted(
    words: int, counted: int | None, provider: str, noted: bool
) -> None:
    usage = {"prompt_tokens": counted, "completion_tokens": 9}
    with FakeServer(script=[raw(choices=[{"message": {"content": "x"}}], usage=usage)]) as server:
        notes = ask(server, call("word " * words), provider=provider).notes
    assert notes == ((http.TRUNCATED,) if noted else ())


@OPENAI
@pytest.mark.parametrize(
    "usage",
    [None, [], 7, {}, {"prompt_tokens": "9"}, {"prompt_tokens": -1}, {"prompt_tokens": True}, {"prompt_tokens": 1.5},
     {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
     {"prompt_tokens_details": None, "completion_tokens_details": 7}],
)  # fmt: skip
def test_usage_that_is_not_said_is_unknown_and_never_zero(usage: Any) -> None:
    with FakeServer(script=[raw(choices=[{"message": {"content": "x"}}], usage=usage)]) as server:
        assert ask(server).usage == Usage()


@OPENAI
@pytest.mark.parametrize(
    ("choice", "text"),
    [
        *(
            ({"finish_reason": "content_filter: PROHIBITED_CONTENT", **message}, "")  # Gemini
            for message in ({}, {"message": {"role": "assistant"}}, {"message": None})
        ),
        ({"finish_reason": "stop", "message": {"content": None, "refusal": "I will not."}}, "I will not."),
    ],
)
def test_a_withheld_reply_is_not_asked_for_again(choice: dict[str, Any], text: str) -> None:
    with FakeServer(script=[raw(choices=[choice])]) as server:
        reply = ask(server)
    assert (reply.text, reply.finish) == (text, "content_filter")


@OPENAI
@pytest.mark.parametrize(
    ("answer", "text", "counted"),
    [
        (raw(choices=None, usage={"prompt_tokens": 9, "completion_tokens": 0}), "", 9),  # Gemini
        (raw(choices=[], usage={"prompt_tokens": 9, "completion_tokens": 0}), "", 9),
        (
            Scripted({"error": {"code": "json_validate_failed", "failed_generation": "no"}}, status=400),
            "no",
            None,
        ),  # Groq
        (Scripted({"error": {"code": "json_validate_failed", "failed_generation": ""}}, status=400), "", None),
        (Scripted(raw="\ufeff" + json.dumps({"choices": [{"message": {"content": "x"}}]})), "x", None),
        *(
            (Scripted(raw=f'{{"choices": [{{"message": {{"content": "{odd}"}}}}], "usage": {usage}}}'), text, counted)
            for odd, usage, text, counted in (
                ("x\\ud83d", "null", "x?", None),  # half of a character, at the limit of the reply
                ("x\udcf0", "null", "x\ufffd\ufffd\ufffd", None),
                ("\\ud83d\\ude00", '{"cost": NaN, "prompt_tokens": 7.0}', "\U0001f600", 7),
            )
        ),
        (Scripted(raw='{"choices": [{"message": {"content": "x"}}]}', status=201), "x", None),
    ],
)
def test_a_reply_in_an_unusual_form_is_read_or_is_empty(answer: Scripted, text: str, counted: int | None) -> None:
    """An empty one is asked for again, once, instead of ending the run as an endpoint that fails."""
    with FakeServer(script=[answer]) as server:
        reply = ask(server, call(response_format=SCHEMA))
    assert (reply.text, reply.finish, reply.usage.input) == (text, "stop", counted)


@OPENAI
def test_an_error_in_place_of_a_choice_is_quoted_in_words() -> None:
    gone = {"message": {"content": ""}, "finish_reason": "error", "error": {"code": 502, "message": "Gone."}}
    with FakeServer(script=[raw(choices=[gone])]) as server:
        assert str(error(server)) == "mine: the endpoint failed: Gone."


@OPENAI
def test_reasoning_in_its_own_field_is_kept_apart() -> None:
    with FakeServer(script=[Scripted("yes", reasoning="thought"), message(content="no", reasoning="other")]) as server:
        assert [(r.text, r.reasoning) for r in (ask(server), ask(server))] == [("yes", "thought"), ("no", "other")]


@OPENAI
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"content": None}, ""),
        ({}, ""),
        ({"content": None, "refusal": "I will not."}, "I will not."),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"text": "b"}]}, "b"),
        ({"content": [{"type": "reasoning", "text": "hm"}, {"type": "output_text", "text": "b"}]}, "b"),
        ({"content": [{"type": "text", "text": None}, "x", None, 7]}, ""),
        ({"content": {"text": "x"}}, ""),
        ({"content": "x", "reasoning_content": {"a": 1}}, "x"),
        ({"content": "x", "reasoning_content": ["a"]}, "x"),
    ],
)
def test_the_text_is_what_the_answer_says_in_whatever_form(fields: dict[str, Any], text: str) -> None:
    with FakeServer(script=[message(**fields)]) as server:
        found = ask(server)
        assert (found.text, found.reasoning, ask(server).text) == (text, "", "OK")


@pytest.mark.parametrize(
    "body",
    ["", "nonsense", "null", "[]", "{}", '{"content": null}', '{"content": 7}',
     '{"choices": []}', '{"choices": [null]}', '{"choices": [{"message": null}]}',
     '{"choices": [{"message": []}]}', '{"choices": [{"message": "x"}]}', '{"choices": {"0": 1}}',
     '{"choices": [{"text": "x"}]}', "<html>Bad gateway</html>", '{"error": {"message": "overloaded"}}', "\udcff"],
)  # fmt: skip
def test_a_body_that_is_no_completion_is_an_error_worth_a_retry(body: str) -> None:
    with FakeServer(script=[Scripted(raw=body)]) as server:
        found = error(server)
    assert "not a chat completion: " in str(found)
    assert (found.retryable, found.fatal) == (True, False)


def test_a_reply_without_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LONGEST", 1000)
    with FakeServer(script=["x" * 100_000, "x"]) as server:
        found = error(server)
        assert "a reply of more than 1000 bytes" in str(found)
        assert not found.retryable
        assert ask(server).text == "x"


@OPENAI
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_packed_reply_is_unpacked_and_never_beyond_what_is_read(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes that stand for many megabytes take the memory of the longest reply that is taken, and no more."""
    monkeypatch.setattr(http, "LONGEST", 1_000_000)
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    said = b'{"choices": [{"message": {"content": "x"}}]}'
    bodies = [pack(said), pack(said + b" " * 64_000_000)]

    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}]}")
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + bodies.pop(0))
        with suppress(ConnectionError):
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    async def main() -> tuple[Reply, str, int]:
        async with await asyncio.start_server(reply, "127.0.0.1", 0) as server:
            mine = backend(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
            await mine.open()
            whole = await mine.send(call())
            tracemalloc.start()
            try:
                with pytest.raises(BackendError) as found:
                    await mine.send(call())
                return whole, str(found.value), tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
                await mine.close()

    whole, said_of_it, peak = asyncio.run(main())
    assert whole.text == "x"
    assert said_of_it == "mine: a reply of more than 1000000 bytes"
    assert peak < 3 * http.LONGEST


# ---- the key


def test_the_key_is_read_from_its_variable_and_sent_as_a_bearer(key: str) -> None:
    with FakeServer(api_key=SECRET) as server:
        assert ask(server, api_key_env=key).text == "OK"
        assert error(server).fatal


@OPENAI
def test_the_key_may_have_a_header_of_its_own(key: str) -> None:
    async def headers(ready: HttpBackend) -> dict[str, str]:
        assert ready._session is not None
        return dict(ready._session.headers)

    sent = run(backend("http://127.0.0.1:1/v1", api_key_env=key, provider="azure"), headers)
    assert (sent["api-key"], sent["Content-Type"]) == (SECRET, "application/json")
    assert "Authorization" not in sent


@pytest.mark.parametrize(
    ("value", "said", "hint"),
    [
        *(
            (value, f"no API key: the environment variable {VARIABLE} is not set", f"export {VARIABLE}=")
            for value in (None, "", " \n")
        ),
        (
            f"{SECRET}\r\nX-Other: 1",
            f"the key in {VARIABLE} contains a line break or control character",
            f"set {VARIABLE} to one key",
        ),
    ],
)  # fmt: skip
def test_without_a_usable_key_a_judge_does_not_open_and_names_the_variable(
    value: str | None, said: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    found = error("http://127.0.0.1:1/v1", api_key_env=VARIABLE)
    assert str(found) == f"mine: {said}"
    assert (found.fatal, found.retryable, found.hint.startswith(hint)) == (True, False, True)
    assert SECRET not in f"{found}{found.hint}"


@pytest.mark.parametrize(
    "answer",
    [
        Scripted(f"Incorrect API key provided: {SECRET}.", status=401),
        Scripted({"error": f"{SECRET} is no key"}, status=403),
        Scripted(raw=f"who is {SECRET}?", status=400),
        Scripted(raw=f"you sent Bearer {SECRET}", status=500),
        Scripted(raw=f"Bearer {SECRET} gave no completion"),
        Scripted(raw=f'{{"error": "{"x" * 60}{SECRET}"}}'),
        Scripted("x" * 290 + SECRET, status=429),
    ],
)
def test_a_key_that_the_endpoint_says_back_is_shown_nowhere(answer: Scripted, key: str) -> None:
    with FakeServer(script=[answer]) as server:
        found = error(server, api_key_env=key)
    shown = f"{found} {found.hint} {found.__cause__!r}"
    assert SECRET not in shown
    assert SECRET[:12] not in shown


def test_a_key_that_a_good_reply_says_back_is_not_in_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply is stored and exported. A key that is a word, as local servers take any, is left in it."""
    with FakeServer(
        script=[Scripted(f"so says {SECRET.upper()}", reasoning=f"Bearer {SECRET}"), "none so far"]
    ) as server:
        found = ask(server, api_key_env=key)
        assert (found.text, found.reasoning) == ("so says [key]", "Bearer [key]")
        monkeypatch.setenv(key, "none")
        assert ask(server, api_key_env=key).text == "none so far"


@OPENAI
@pytest.mark.parametrize("said", [str, str.lower])
def test_a_key_said_back_with_a_refused_parameter_is_shown_in_no_letters(
    said: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages are compared without case; what is shown of one is looked through for the key as it is written."""
    secret = SECRET.upper()
    monkeypatch.setenv(VARIABLE, secret)
    refusal = Scripted({"error": {"message": f"response_format is not for the key\n{said(secret)}"}}, status=400)
    with FakeServer(script=[refusal]) as server:
        found = error(server, call(response_format=SCHEMA), api_key_env=VARIABLE, structured="schema")
    assert str(found) == "mine: the endpoint rejects response_format: response_format is not for the key [key]"
    assert SECRET not in repr(vars(found)).lower()


def test_nothing_of_a_backend_shows_its_key(key: str) -> None:
    ready = backend("http://127.0.0.1:1/v1", api_key_env=key)

    async def show(opened: HttpBackend) -> str:
        return f"{opened!r} {opened}"

    assert SECRET not in run(ready, show)


# ---- failures by class


@pytest.mark.parametrize(
    ("status", "retryable", "fatal", "hint"),
    [
        (400, False, False, ""),
        (401, False, True, "the endpoint requires a key"),
        (402, False, True, "no credit left"),
        (403, False, True, "the endpoint requires a key"),
        (404, False, True, "check the model's name and the base URL"),
        (408, True, False, ""),
        (409, True, False, ""),
        (413, False, False, ""),
        (422, False, False, ""),
        (429, True, False, "set --rpm"),
        (500, True, False, ""),
        (502, True, False, ""),
        (503, True, False, ""),
        (504, True, False, ""),
        (529, True, False, ""),
        (521, True, False, ""),
        (501, False, False, ""),
        (505, False, False, ""),
    ],
)
def test_each_status_has_its_class(status: int, retryable: bool, fatal: bool, hint: str) -> None:
    with FakeServer(script=[Scripted("so  it\nis", status=status)]) as server:
        found = error(server)
    assert str(found) == f"mine: HTTP {status}: so it is"
    assert (found.retryable, found.fatal) == (retryable, fatal)
    assert hint in found.hint
    assert bool(hint) == bool(found.hint)


TOO_LONG = {
    "llamacpp": "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "llamacpp-older": "the request exceeds the available context size. try increasing the context size",
    "sglang": "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
    "anthropic": "prompt is too long: 210000 tokens > 200000 maximum",
}
TGI = "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 900 and 4096"
LOADING = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
QUOTA = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
NO_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: "
    "https://ai.dev/usage?tab=rate-limit. \n* Quota exceeded for metric: free_tier_requests, limit: {}, model: m"
)
SLOW = {"Retry-After": "7", "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2020-01-01T00:00:00Z"}  # fmt: skip
FATAL = {"fatal": True, "retryable": False, "retry_after": None}
ALONE = {"fatal": False, "retryable": False}
"""It ends its call, and neither the run nor what is tried again."""
SAID: dict[str, tuple[Scripted, dict[str, Any]]] = {
    "key": (Scripted("No such key", status=401), {**FATAL, "hint": f"check the key in {VARIABLE}"}),
    "key-gemini": (
        Scripted("API key not valid. Please pass a valid API key.", status=400),
        {**FATAL, "hint": f"check the key in {VARIABLE}"},
    ),
    "key-400": (Scripted("Incorrect API key provided", status=400), {**FATAL, "hint": f"check the key in {VARIABLE}"}),
    "moderated": (Scripted("Flagged by moderation", status=403), {**ALONE, "general": False, "hint": ""}),
    "firewall": (
        Scripted(raw="\n<html><body>Blocked</body></html>", status=403),
        {
            **FATAL,
            "general": True,
            "hint": "the reply is a web page, probably of a firewall; check the base URL and the network",
        },
    ),
    "quota": (
        Scripted(QUOTA, status=429, headers={"Retry-After": "1"}),
        {**FATAL, "hint": "the account or the key has no credit left"},
    ),
    "quota-gateway": (Scripted({"error": {"type": "insufficient_quota", "code": "429"}}, status=429), FATAL),
    "quota-none": (Scripted(NO_QUOTA.format(0), status=429), FATAL),
    "quota-minute": (Scripted(NO_QUOTA.format(15), status=429), {"retryable": True, "fatal": False, "busy": True}),
    "parameter": (Scripted("Unknown parameter: 'x'", status=400), {**ALONE, "general": True}),
    "credit": (Scripted("Your credit balance is too low to access the API.", status=400), FATAL),
    **{
        f"budget-{status}": (Scripted("Budget has been exceeded! Max budget: 10.0", status=status), FATAL)
        for status in (400, 429)
    },
    "gateway-credit": (Scripted(raw='{"error": {"message": "Insufficient credits", "code": 402}}'), FATAL),
    "gateway-down": (
        Scripted(raw='{"error": {"message": "Provider returned error", "code": 502}}'),
        {"retryable": True, "fatal": False, "status": 502, "lost": False},
    ),
    "web page": (
        Scripted(raw="<html><head><title>x</title></head><body>Sign in</body></html>"),
        {"retryable": True, "hint": http.NOT_THE_API},
    ),
    "proxy": (
        Scripted("Login", status=407),
        {**FATAL, "hint": "the proxy requires a login: set HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"},
    ),
    **{name: (Scripted(said, status=400), {**ALONE, "too_long": True}) for name, said in TOO_LONG.items()},
    "llamacpp-mid-reply": (Scripted("Context size has been exceeded.", status=500), {**ALONE, "too_long": True}),
    "tgi": (Scripted({"error": TGI, "error_type": "validation"}, status=422), {**ALONE, "too_long": True}),
    "loading": (
        Scripted(LOADING, status=503),
        {"loading": True, "busy": True, "retryable": True,
         "hint": "the server is loading its model; set how long to wait with deadline under [engine]"},
    ),
    "no worker": (Scripted("no worker", status=503), {"loading": False, "busy": False}),
    "overloaded": (Scripted("Overloaded", status=529), {"busy": True, "retryable": True, "fatal": False}),
    "slow down": (
        Scripted("slow down", status=429, headers=SLOW),
        {"retry_after": 7.0, "allowance": Allowance(requests=Left(0, 0.0))},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_an_error_says_may_tell_more_than_its_status(name: str, key: str) -> None:
    """Whether it ends the run, is worth a retry or shows that a trace has to be split, and what to do."""
    answer, told = SAID[name]
    with FakeServer(script=[answer]) as server:
        found = error(server, api_key_env=key)
    assert {attribute: getattr(found, attribute) for attribute in told} == told


def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else(key: str) -> None:
    with FakeServer() as other:
        moved = Scripted("", status=307, headers={"Location": f"{other.url}/chat/completions"})
        with FakeServer(script=[moved]) as server:
            found = error(server, api_key_env=key)
        assert other.count == 0
        assert not other.seen
    assert (found.fatal, found.retryable) == (True, False)
    assert "redirects" in found.hint
    assert str(found) == f"mine: HTTP 307: redirects to {other.url}/chat/completions"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"rate_reset": 1.0}, "{} closed the connection before it replied"),
        ({"rate_cut": 1.0}, "the connection was closed in the middle of the reply"),
        (
            {"script": [Scripted(raw="not packed", headers={"Content-Encoding": "gzip"})]},
            "a reply that cannot be decompressed",
        ),
    ],
    ids=["reset", "cut", "packed"],
)
def test_a_reply_that_breaks_off_is_worth_a_retry_and_may_be_charged_for(fault: dict[str, Any], said: str) -> None:
    """The server was reached."""
    with FakeServer(**fault) as server:
        found = error(server)
    path = {"openai": "chat/completions", "messages": "messages"}[spoken]
    assert str(found) == f"mine: {said.format(f'{server.url}/{path}')}"
    assert (found.retryable, found.fatal, found.lost) == (True, False, True)
    assert found.hint.startswith("the server was reached")


def test_nobody_listening_is_worth_a_retry_with_a_hint() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        found = error(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
    assert found.retryable
    assert "check that the server is running" in found.hint


@pytest.mark.parametrize(
    ("cause", "fatal", "said", "hint"),
    [
        (ssl.SSLCertVerificationError(1, "bad"), True, "cannot verify the certificate of {} (", "SSL_CERT_FILE"),
        (ssl.SSLError(1, "[SSL] wrong version"), False, "cannot reach {} ([ssl] wrong version)", "is correct"),
        (ConnectionResetError(), False, "cannot reach {} (connection closed)", "address is correct"),
        (
            socket.gaierror(-2, "Name or service not known"),
            False,
            "cannot reach {} (name or service not known)",
            "correct",
        ),
    ],
    ids=["certificate", "no TLS", "closed", "no name"],
)
def test_why_there_is_no_connection(cause: OSError, fatal: bool, said: str, hint: str) -> None:
    """A certificate that is not trusted is not trusted at the next try either."""
    place = ConnectionKey("judge.invalid", 443, True, True, None, None, None)
    one = backend("https://judge.invalid/v1")
    kind: type[ClientConnectorError] = ClientConnectorError
    if isinstance(cause, ssl.SSLError):
        kind = ClientConnectorCertificateError if fatal else ClientConnectorSSLError
    found = one._broken_off(kind(place, cause), begun=False)
    assert said.format(one.url) in str(found)
    assert "permitted" not in str(found)
    assert (found.fatal, found.retryable, found.lost) == (fatal, not fatal, False)
    assert hint in found.hint


@OPENAI
def test_a_proxy_of_the_environment_is_used_except_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer() as server:
        place = server.url.removesuffix("/v1")
        monkeypatch.setenv("http_proxy", place.removeprefix("http://"))
        ask("http://judge.invalid/v1")
        assert server.count == 1
        ask(server)
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        found = error("http://judge.invalid/v1")
        assert "cannot reach the proxy for http://judge.invalid" in str(found)
        assert "HTTP_PROXY" in found.hint
        monkeypatch.setenv("no_proxy", "judge.invalid:8000")
        used = [http._proxy(URL(f"http://judge.invalid:{port}/v1")) for port in (8000, 9000)]
        assert used == [None, "http://127.0.0.1:1"]
        monkeypatch.setenv("http_proxy", "http://user:pass#word@proxy:8080")
        found = error("http://judge.invalid/v1")
        assert str(found) == "mine: the address of the proxy is not a valid URL"
        assert (found.fatal, found.lost, "HTTP_PROXY" in found.hint) == (True, False, True)
        monkeypatch.delenv("http_proxy")
        monkeypatch.setenv("all_proxy", "SOCKS5h://user:pass@proxy:1080")
        found = error("http://judge.invalid/v1")
        assert str(found).endswith("is of the kind socks5h; only HTTP proxies are supported")
        assert (found.fatal, "ALL_PROXY" in found.hint, "pass" in str(found)) == (True, True, False)
        monkeypatch.setenv("all_proxy", place)
        ask("http://judge.invalid/v1")
        assert server.count == 3


def test_no_reply_in_time_is_worth_a_retry() -> None:
    with FakeServer(rate_hang=1.0) as server:
        found = error(server, timeout=0.2)
    assert str(found) == "mine: no reply within 0.2 s"
    assert (found.retryable, found.fatal) == (True, False)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": "plain"}', "plain"),
        ('{"message": "bare"}', "bare"),
        ('[{"error": {"message": "listed"}}]', "listed"),
        ('{"detail": "Not today"}', "Not today"),
        ('{"detail": [{"loc": ["body", "top_k"], "msg": "extra fields"}]}', "body.top_k: extra fields"),
        ('{"object": "error", "message": {"detail": [{"loc": ["body"], "msg": "bad"}]}}', "body: bad"),
        ("<html><head><style>b {}</style></head>\n<b>Oops</b>\r\n</html>", "HTTP 400: Oops"),
        ("<html></html>", "<html></html>"),
        ("", "no message"),
        ("[]", "[]"),
        ("null", "null"),
        ('{"error": null}', '{"error": null}'),
        ('{"error": {"message": null}}', '{"error": {"message": null}}'),
        ('{"detail": [7, null]}', '{"detail": [7, null]}'),
        ('{"detail": [{"loc": null, "msg": "x"}, {"loc": 7, "msg": "y"}, {}]}', "None: x; 7: y; None:"),
    ],
)
def test_the_message_of_an_error_is_found_in_every_form(body: str, said: str) -> None:
    with FakeServer(script=[Scripted(raw=body, status=400)]) as server:
        assert said in str(error(server))


# ---- what an endpoint refuses


def test_a_refused_temperature_is_left_out_once_for_all_calls_with_a_note() -> None:
    async def thrice(ready: HttpBackend) -> list[Reply]:
        return [await ready.send(call(f"{n}", temperature=0.0)) for n in range(3)]

    with FakeServer(refuse_parameters=["temperature"]) as server:
        replies = run(backend(server), thrice)
        assert server.seen == {400: 1, 200: 3}
    assert {reply.notes for reply in replies} == {("temperature is not accepted by the endpoint; left out",)}


@OPENAI
def test_max_tokens_is_sent_under_its_newer_name_where_the_endpoint_wants_that() -> None:
    with FakeServer(refuse_parameters=["max_tokens"]) as server:
        reply = ask(server, call(max_tokens=77))
        assert [("max_tokens" in r, r.get("max_completion_tokens")) for r in server.requests] == [
            (True, None),
            (False, 77),
        ]
    assert reply.notes == ("max_tokens is not accepted by the endpoint; sent as max_completion_tokens",)


@OPENAI
def test_all_that_is_refused_is_left_out_one_after_the_other() -> None:
    asked = call(temperature=0, max_tokens=5, seed=1, response_format=SCHEMA)
    names = ["seed", "temperature", "max_tokens", "max_completion_tokens"]
    with FakeServer(refuse_parameters=names, refuse_schema=True) as server:
        reply = ask(server, asked)
        assert server.seen == {400: 5, 200: 1}
        assert server.requests[-1] == json.loads(call().body)
    assert "response_format is not accepted by the endpoint; left out" in reply.notes
    assert len(reply.notes) == 5


def test_twenty_calls_in_flight_find_out_together_and_none_fails() -> None:
    async def at_once(ready: HttpBackend) -> list[Reply]:
        given = dict.fromkeys(refused, 9)
        first = await asyncio.gather(*(ready.send(call(f"{n}", **given)) for n in range(20)))
        later = [await ready.send(call(f"later {n}", **given)) for n in range(5)]
        return [*first, *later]

    refused = ["temperature", "max_tokens"] if spoken == "openai" else ["temperature", "top_p"]
    with FakeServer(refuse_parameters=refused, latency=0.02) as server:
        replies = run(backend(server), at_once)
        assert server.seen[200] == 25
        assert server.seen[400] <= 40
        assert all("temperature" not in request for request in list(server.requests)[-5:])
        assert not [r for r in list(server.requests)[-5:] if refused[1] in r]
    assert all(len(reply.notes) == 2 for reply in replies[20:])


@OPENAI
@pytest.mark.parametrize(
    "body",
    [
        '{"detail": [{"loc": ["body", "response_format"], "msg": "extra fields not permitted"}]}',
        '{"detail": "response_format is not supported"}',
        '{"message": {"detail": [{"loc": ["body", "response_format"], "msg": "extra"}]}, "object": "error"}',
        '{"error": {"message": "no", "param": "response_format.json_schema"}}',
        '{"error": "guided decoding is not available"}',
        '{"error": {"message": "This model does not support structured outputs via json_schema."}}',
    ],
)
def test_a_refusal_is_recognised_in_the_words_of_many_servers(body: str) -> None:
    for status in (400, 422):
        with FakeServer(script=[Scripted(raw=body, status=status), "fine"]) as server:
            assert ask(server, call(response_format=SCHEMA)).text == "fine"


@pytest.mark.parametrize(
    ("status", "fields"), [(400, {}), *((status, {"temperature": 0}) for status in (401, 403, 429, 500))]
)
def test_only_what_was_sent_and_refused_is_left_out(status: int, fields: dict[str, Any]) -> None:
    with FakeServer(script=[Scripted("temperature is not supported", status=status)]) as server:
        assert "temperature is not supported" in str(error(server, call(**fields)))
        assert server.seen == {status: 1}


@pytest.mark.parametrize(
    ("text", "fields", "shorter"),
    [
        ("The maximum context length is 4096 tokens", {"temperature": 0, "seed": 1}, False),
        ("'max_tokens' is too large: 4096. The maximum context length is 4096 tokens.", {"max_tokens": 4096}, True),
        ("'max_completion_tokens' is too large for the context length", {"max_completion_tokens": 4096}, True),
        ("maximum context length is 9 tokens, you requested 10 (4 in the messages, 6 in the completion)", {}, True),
    ],
)
def test_a_context_that_is_too_small_costs_no_parameter(text: str, fields: dict[str, Any], shorter: bool) -> None:
    """Nor the limit of the answer, of which the error speaks; then, a smaller limit may help."""
    with FakeServer(script=[Scripted(text, status=400)]) as server:
        hint = error(server, call("temperature response_format seed", **fields)).hint
        assert ("longer context" in hint, "max_tokens" in hint) == (True, shorter)
        assert server.seen == {400: 1}


# ---- what only Messages has


def answered(**fields: Any) -> Scripted:
    return raw(**{"type": "message", "content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn", **fields})


def prompt(*texts: str, **more: Any) -> Prompt:
    roles = ("system", "user", "assistant", "user")
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    settings = {"model": "m", "max_tokens": 9, "temperature": 0.0, "schema": None, "extra": {}, **more}
    return Prompt(messages=messages, **settings)


@MESSAGES
def test_an_answer_is_structured_without_tools_and_all_it_says_is_read() -> None:
    """Reasoning apart, input with its cached part, how it ended in the words of the other dialect."""
    schema = Schema("v", b'{"type":"object"}')
    usage = {
        "input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 4,
    }  # fmt: skip
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    reasons = ("max_tokens", "model_context_window_exceeded", "refusal")
    script = [answered(content=blocks, usage=usage), *(answered(stop_reason=reason, content=[]) for reason in reasons)]
    with FakeServer(script=script) as server:
        body = backend(server).prepare(prompt("be brief", "hello", schema=schema, extra={"top_k": 1}))
        replies = [ask(server, Call("a/m", "support", "p", body)) for _ in script]
        assert server.requests[0] == {
            "model": "m", "max_tokens": 9, "system": "be brief", "messages": [{"role": "user", "content": "hello"}],
            "temperature": 0.0, "top_k": 1,
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        }  # fmt: skip
    assert (replies[0].text, replies[0].reasoning, replies[0].usage) == ("ab", "hm", Usage(240, 4, 200, None, 30))
    assert [reply.finish for reply in replies] == ["stop", "length", "length", "content_filter"]


@MESSAGES
def test_the_part_of_a_prompt_that_others_share_is_marked_for_the_cache_and_nothing_else_is() -> None:
    """And a repair turn after an empty reply says no blank text again, which the endpoint would refuse."""
    ready = backend("http://127.0.0.1:1/v1")
    schema = Schema("v", b'{"type":"object"}')
    body = ready.prepare(prompt("s", "passages\nunits", " ", "again", room=2, schema=schema))
    assert b"cache_control" not in body
    turns = json.loads(ready.begun_alike(body, 9))
    assert turns["max_tokens"] == 18
    assert turns["messages"] == [
        {"role": "user", "content": [
            {"type": "text", "text": "passages\n", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "units"},
        ]},
        {"role": "user", "content": "again"},
    ]  # fmt: skip
    size = ready.size(json.dumps(turns).encode())
    assert (size.texts, size.reply) == (("s", "passages\nunits", "again"), 18)
    assert ready.size(b"[]").texts == ("[]",)


@MESSAGES
def test_an_answer_that_is_an_error_may_be_charged_for() -> None:
    with FakeServer(script=[answered(type="error", error={"type": "api_error", "message": "no"})]) as server:
        found = error(server)
    assert (found.retryable, found.lost) == (True, True)
    assert "the endpoint failed: " in str(found)


@MESSAGES
@pytest.mark.parametrize(
    "said",
    [
        "output_config.format: this model does not support structured outputs",
        "output_config: Extra inputs are not permitted",
        "Invalid schema: The compiled grammar is too large. Simplify your tool schemas.",
    ],
)
def test_a_model_without_structured_output_is_asked_without_a_schema(said: str) -> None:
    with FakeServer(script=[Scripted(said, status=400), "fine", "fine"]) as server:
        assert ask(server, call(response_format=SCHEMA)).notes == (
            "output_config is not accepted by the endpoint; left out",
        )
    with FakeServer(script=[Scripted(said, status=400)]) as server:
        assert error(server, call(response_format=SCHEMA), structured="schema").fatal
