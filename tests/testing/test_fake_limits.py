"""The fake server's rate limits and its later faults: each does what it says, over real sockets."""

from __future__ import annotations

import http.client
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Client, Got

from ragstone.testing import Behaviour, FakeServer
from ragstone.testing.rate_limits import Meter

SCHEMA = {
    "type": "object",
    "properties": {"label": {"enum": ["yes", "no"]}, "reason": {"type": "string"}},
    "required": ["label", "reason"],
    "additionalProperties": False,
}


def ask(server: FakeServer, text: str = "hello") -> Got:
    client = Client(server)
    try:
        return client.chat(text, SCHEMA)
    finally:
        client.connection.close()


def test_requests_beyond_the_rate_are_refused_and_told_when_to_come_back() -> None:
    with FakeServer(rpm=2, rate_window=30) as server:
        replies = [ask(server) for _ in range(3)]
        assert server.seen == {200: 2, 429: 1}
    assert [got.status for got in replies] == [200, 200, 429]
    assert [got.headers["x-ratelimit-remaining-requests"] for got in replies] == ["1", "0", "0"]
    said = replies[2].headers
    assert 28_000 < int(said["retry-after-ms"]) <= 30_000
    assert 28 < int(said["retry-after"]) <= 30
    assert said["x-ratelimit-limit-requests"] == "2"
    assert 28 < float(said["x-ratelimit-reset-requests"].removesuffix("s")) <= 30


def test_after_its_window_the_rate_is_there_again() -> None:
    """Who waits as long as was said is let in."""
    with FakeServer(rpm=1, rate_window=0.5) as server:
        ask(server)
        refused = ask(server)
        assert refused.status == 429
        time.sleep(int(refused.headers["retry-after-ms"]) / 1000)
        assert ask(server).status == 200


def test_tokens_count_with_the_reply() -> None:
    """What a reply took is gone from the allowance, and the next request that does not fit is refused."""
    with FakeServer(tpm=60, rate_window=30) as server:
        headers = ask(server).headers
        assert headers["x-ratelimit-limit-tokens"] == "60"
        taken = 60 - int(headers["x-ratelimit-remaining-tokens"])
        assert ask(server, "x" * 400).status == 429
        ((_, first, tokens), (_, second, refused)) = server.arrivals
    assert (first, second, refused) == (200, 429, 0)
    assert tokens == taken > 10


def test_a_malformed_answer_lacks_its_end_and_says_stop() -> None:
    with FakeServer() as server:
        whole = ask(server).content
        server.configure(rate_malformed=1.0)
        server.reset()
        cut = ask(server).content
        assert ask(server).content == whole, "the second asking is answered"
    assert whole.startswith(cut)
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut)


def test_a_cut_reply_ends_before_its_length() -> None:
    with FakeServer(rate_cut=1.0) as server:
        with pytest.raises(http.client.IncompleteRead):
            ask(server)
        assert ask(server).status == 200
        assert server.seen == {"cut": 1, 200: 1}
        assert server.count == 1


def test_a_thought_goes_before_a_fenced_answer() -> None:
    """Both come together on the share of requests, and on no other."""
    with FakeServer() as server:
        plain = [ask(server, f"{n}").content for n in range(40)]
        server.configure(rate_think_fenced=0.5)
        dressed = [ask(server, f"{n}").content for n in range(40)]
    struck = [text for text in dressed if text not in plain]
    assert 8 < len(struck) < 32
    for text in struck:
        thought, _, answer = text.partition("</think>")
        assert thought.startswith("<think>")
        assert "```json" in answer
        assert answer.split("```json\n")[1].split("\n```")[0] in plain


def test_a_window_without_length_and_a_context_of_nothing_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="context_limit: 0 is not a number of tokens"):
        FakeServer(context_limit=0)
    with pytest.raises(ValueError, match="rate_window"):
        Behaviour(rate_window=0)


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
