"""Token counts: by script, by what earlier calls were counted as, or exactly; and bounds that always hold."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone import tokens
from ragstone.judges.openai import OpenAIBackend
from ragstone.judges.spec import Spec
from ragstone.tokens import (
    PER_MESSAGE,
    Ratio,
    Size,
    TokenCounter,
    encoding_name,
    encoding_of,
    family,
    learned,
    text_length,
)

ENGLISH = "The national park was founded in 1923 and covers more than four hundred square kilometres of forest."


def body(*texts: str, schema: dict[str, str] | None = None) -> bytes:
    request: dict[str, object] = {"messages": [{"role": "user", "content": text} for text in texts]}
    if schema:
        request["response_format"] = schema
    return orjson.dumps(request)


def measured(request: bytes) -> Size:
    """As the OpenAI dialect has it."""
    return OpenAIBackend(Spec("m")).size(request)


@pytest.mark.parametrize(
    ("request_", "limit"),
    [
        (b'{"messages": [], "max_tokens": 50}', 50),
        (b'{"messages": [], "max_tokens": 50, "max_completion_tokens": 70, "n": 2}', 140),
        *((b, None) for b in (b"{}", b'{"messages": [], "max_tokens": null}', b"[]", b"no json")),
        *((b'{"messages": [], "max_tokens": %b}' % b, None) for b in (b'"many"', b"-1")),
    ],
)
def test_the_limit_of_a_reply_is_read_from_the_request(request_: bytes, limit: int | None) -> None:
    """Under either name, times the replies that are asked for; None where it sets none."""
    assert measured(request_).reply == limit


@pytest.fixture
def no_encoding() -> Iterator[None]:
    """No tokenizer is known, as after other tests; whatever is installed."""
    encoding_of.cache_clear()
    yield
    encoding_of.cache_clear()


@pytest.mark.parametrize(
    ("text", "real"),
    [  # as o200k counts them
        (ENGLISH + " Visitors may camp from April to October.", 30),
        ("Национальный парк был основан в 1923 году и занимает более четырёхсот квадратных километров лесов.", 26),
        ("国家公园成立于1923年,占地四百多平方公里,包括森林、沼泽和湖泊。游客可以在四月至十月露营。", 37),
        ("국립공원은 1923년에 설립되었으며 400제곱킬로미터가 넘는 숲과 습지, 호수를 포함하고 있습니다.", 37),
    ],
)
def test_what_is_usual_depends_on_the_script(text: str, real: int) -> None:
    """Within a third, for one sentence."""
    assert 0.67 * real <= Size(0, (text,)).usual - PER_MESSAGE <= 1.5 * real


@given(st.text())
def test_the_length_of_a_text_has_every_character_once(text: str) -> None:
    """Those of a dense script count more."""
    assert len(text) <= text_length(text) <= 2.5 * len(text)


@given(st.lists(st.text(max_size=80), max_size=4))
def test_a_request_never_has_more_tokens_than_its_bound(texts: list[str]) -> None:
    """Not even as estimated, and not if each byte were a token."""
    request = body(*[text.encode("utf-8", "replace").decode() for text in texts])
    size = measured(request)
    assert size.usual <= size.at_most
    assert sum(len(text.encode("utf-8", "replace")) for text in texts) <= size.at_most


def test_any_bytes_can_be_measured() -> None:
    """A request that is no chat is one text; parts of a content count."""
    assert measured(b"not json") == Size(8, ("not json",))
    assert measured(b'{"a": 1}') == Size(8, ('{"a": 1}',))
    parts = orjson.dumps({"messages": [{"role": "user", "content": [{"type": "text", "text": "abc"}]}]})
    assert measured(parts).texts == ("abc",)


def test_earlier_calls_teach_the_ratio(no_encoding: None) -> None:
    """An endpoint that counts a token for each four bytes is known after some calls, and so is how sure that is."""
    texts = [ENGLISH * number for number in range(1, 40)]
    pairs = [(measured(body(text)).usual, len(text) // 4) for text in texts]
    ratio = learned(pairs)
    assert ratio is not None
    counter = TokenCounter("", "m", ratio)
    low, expected, high = counter.count(measured(body(ENGLISH * 50)))
    assert low <= len(ENGLISH) * 50 / 4 <= high
    assert expected == pytest.approx(len(ENGLISH) * 50 / 4, rel=0.05)
    assert counter.how == "estimated from 39 earlier calls"
    assert (high - low) / expected < 0.15


def test_few_calls_teach_nothing() -> None:
    """Nor do calls without text."""
    assert learned([(10.0, 12), (10.0, 11)]) is None
    assert learned([(0.0, 12)] * 5) is None
    assert learned([(10.0, 0)] * 5) is None


def test_without_earlier_calls_the_ends_are_wide(no_encoding: None) -> None:
    """And it says no more than that it is an estimate."""
    counter = TokenCounter("vllm", "m")
    low, expected, high = counter.count(measured(body(ENGLISH)))
    assert low < expected < high
    assert counter.how == "estimated from text length"


def test_a_schema_counts_where_the_provider_shows_it_to_the_model(no_encoding: None) -> None:
    """Half of it is expected, none and all of it are the ends; a learned ratio has it in it."""
    request = measured(body(ENGLISH, schema={"type": "json_schema", "more": "x" * 400}))
    plain, shown = TokenCounter("vllm", "m").count(request), TokenCounter("openai", "m").count(request)
    assert shown[1] > plain[1]
    assert shown[0] == plain[0]
    assert TokenCounter("openai", "m", Ratio(samples=9)).count(request) == plain


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o-mini", "o200k_base"), ("openai/gpt-4.1-nano", "o200k_base"), ("gpt-5-mini", "o200k_base"),
        ("o3", "o200k_base"), ("o4-mini", "o200k_base"), ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"), ("gpt-4", "cl100k_base"),
        ("qwen3", ""), ("olmo-2", ""), ("mygpt-4o", ""), ("claude-sonnet-4", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_tokenizer_of_a_model_is_known_by_its_name(model: str, name: str) -> None:
    assert encoding_name(model) == name


def test_an_installed_tokenizer_counts_exactly(monkeypatch: pytest.MonkeyPatch, no_encoding: None) -> None:
    """It is simply used; a learned ratio is not needed then."""
    fake = types.ModuleType("bpe_openai")
    fake.get_encoding = lambda name: types.SimpleNamespace(encode_ordinary=str.split)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bpe_openai", fake)
    counter = TokenCounter("", "gpt-4o-mini", Ratio(9.0, 8.0, 10.0, 100))
    words = float(len(ENGLISH.split()) + tokens.PER_MESSAGE)
    assert counter.count(measured(body(ENGLISH))) == (words, words, words)
    assert counter.how == "counted with o200k_base"


def test_where_none_is_installed_it_is_estimated(monkeypatch: pytest.MonkeyPatch, no_encoding: None) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    assert TokenCounter("openai", "gpt-4o-mini").how == "estimated from text length"


def test_the_real_tokenizer_fits() -> None:
    """Where the extra is installed."""
    pytest.importorskip("bpe_openai")
    encoding_of.cache_clear()
    encoding = encoding_of("gpt-4o-mini")
    assert encoding is not None
    assert encoding.count("Hello world") == 2
    assert encoding.count("<|endoftext|>") > 1


def test_families_are_told_by_the_letters_that_names_begin_with() -> None:
    assert family("openai/gpt-4o-mini") == family("azure/gpt-4.1@https://x") == "gpt"
    assert family("Qwen/Qwen3-8B") == "qwen"
    assert family("7b") == ""
