"""Judges by name: what a name means, what is wrong with one, and what is built from it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest

from ragstone.errors import ConfigError
from ragstone.judges.catalogue import build
from ragstone.judges.openai import OpenAIBackend
from ragstone.judges.prompted import PromptedJudge
from ragstone.judges.spec import PRESETS, Spec, check_extra, parse
from ragstone.prompts.choice import Choice


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "azure"])
def test_a_preset_is_a_provider_and_a_model(preset: str) -> None:
    spec = parse(f"{preset}:some-model")
    assert (spec.name, spec.provider, spec.model, spec.base_url) == (f"{preset}:some-model", preset, "some-model", "")
    assert spec.id == f"{preset}/some-model"
    assert spec.preset.base_url.startswith("https://" if not spec.preset.local else "http://127.0.0.1:")
    assert bool(spec.preset.key) != spec.preset.local


@pytest.mark.parametrize(("preset", "port"), [
    ("llamacpp", 8080), ("lmstudio", 1234), ("ollama", 11434), ("sglang", 30000), ("tgi", 3000), ("vllm", 8000),
])  # fmt: skip
def test_a_server_here_has_its_own_port_and_time_to_answer(preset: str, port: int) -> None:
    """Those that answer a few at a time are not sent 64 calls, which would wait there until they time out."""
    spec = parse(f"{preset}:m")
    assert (spec.preset.base_url, spec.timeout) == (f"http://127.0.0.1:{port}/v1", 600.0)
    assert spec.concurrency == (4 if preset in ("llamacpp", "lmstudio", "ollama") else 64)


@pytest.mark.parametrize(
    ("name", "model", "base_url"),
    [
        ("vllm:m@http://host:8000/v1", "m", "http://host:8000/v1"),
        ("vllm:org/m@https://host/v1", "org/m", "https://host/v1"),
        ("ollama:qwen3:8b", "qwen3:8b", ""),
        ("ollama:hf.co/org/m:Q4@K", "hf.co/org/m:Q4@K", ""),
        ("vllm:m@v2@http://host/v1", "m@v2", "http://host/v1"),
        ("together:Qwen/Qwen2.5-7B-Instruct-Turbo", "Qwen/Qwen2.5-7B-Instruct-Turbo", ""),
        ("openrouter:openai/gpt-4o:free", "openai/gpt-4o:free", ""),
        ("azure:gpt@https://r.openai.azure.com/openai/v1", "gpt", "https://r.openai.azure.com/openai/v1"),
        ("openai:@v2", "@v2", ""),
        ("anthropic:claude@20240620", "claude@20240620", ""),
        ("openai:@cf/meta/llama-3.1-8b-instruct", "@cf/meta/llama-3.1-8b-instruct", ""),
        ("gemini:m@3.5", "m@3.5", ""),
        ("ollama:m@sha256:1f", "m@sha256:1f", ""),
        ("ollama:hf.co/org/m", "hf.co/org/m", ""),
        ("openai:ft:gpt-4o:our-org::9", "ft:gpt-4o:our-org::9", ""),
    ],
)
def test_models_may_hold_colons_and_ats_and_an_address_may_follow(name: str, model: str, base_url: str) -> None:
    spec = parse(name)
    assert (spec.model, spec.base_url, spec.name) == (model, base_url, name)
    assert spec.id == f"{spec.provider}/{model}" + (f"@{base_url}" if base_url else "")


def test_embedded_and_replay_are_names_of_their_own() -> None:
    assert (parse("embedded").provider, parse("embedded").id) == ("embedded", "embedded")
    assert (parse("replay:a/b:c.jsonl").provider, parse("replay:a/b:c.jsonl").path) == ("replay", "a/b:c.jsonl")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "opnai:gpt",
            "no judge 'opnai:gpt'; did you mean 'openai'? Known: embedded, nli, replay:FILE, human:FILE, ",
        ),
        ("OpenAI:gpt", "did you mean 'openai'?"),
        ("embeded", "did you mean 'embedded'?"),
        ("nope", "no judge 'nope'; known: embedded, nli, "),
        ("openai", "judge 'openai' has no model; write openai:MODEL"),
        ("azure", "judge 'azure' has no model; write azure:MODEL"),
        ("gpt-4o", "no judge 'gpt-4o'; add the provider, as in openai:gpt-4o"),
        ("claude-x", "as in anthropic:claude-x"),
        ("qwen3", "no judge 'qwen3'; known:"),
        ("", "no judge ''; known:"),
        (":m", "no judge ':m'; known:"),
        ("openai:", "has no model; write openai:MODEL"),
        ("vllm:@http://host/v1", "has no model; write vllm:MODEL"),
        ("replay:", "has no file; write replay:calls.jsonl"),
        ("azure:gpt", "has no address; write azure:DEPLOYMENT@https://RESOURCE"),
        ("azure:gpt@r.openai.azure.com", "has no address; write azure:DEPLOYMENT@https://RESOURCE"),
    ],
)
def test_what_is_wrong_with_a_name_is_said_with_what_would_be_right(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as error:
        parse(name)
    assert "[judges.NAME]" in str(error.value) or "known:" not in str(error.value)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://someone:word@host/v1", "the address contains a user name, password or query"),
        ("http://word@host/v1", "the address contains a user name, password or query"),
        (
            "https://r.openai.azure.com/openai/deployments/d?api-version=1",
            "use https://RESOURCE.openai.azure.com/openai/v1",
        ),
        ("https://host/v1?key=word", "the address contains a user name, password or query"),
        ("http://", "is not an address; expected http://"),
        ("http://someone:word@/v1", "the address contains a user name, password or query"),
        ("http://[word/v1", "'http://[word/v1' is not an address"),
        ("http://host:word/v1", "is not an address"),
        ("http://host:0/v1", "is not an address"),
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused_without_saying_the_secret(
    address: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as error:
        parse(f"vllm:m@{address}")
    assert "judge 'vllm:m'" in str(error.value)
    assert "word@" not in str(error.value)
    assert "=word" not in str(error.value)


@pytest.mark.parametrize(
    "extra",
    [
        {"api_key": "word"},
        {"token": "word"},
        {"user": {"accessToken": "word"}},
        {"auths": [{"secret_id": "word"}]},
        {"metadata": "Bearer word-word-word"},
        {"any": ["sk-word-word-word"]},
    ],
)
def test_a_key_in_a_request_is_refused_without_saying_it(extra: Any) -> None:
    """Requests are stored and exported."""
    with pytest.raises(
        ConfigError, match=r"^judges\.j\.extra_body\.[\w.]+: looks like an API key, .* api_key_env$"
    ) as error:
        check_extra(extra, "judges.j.extra_body")
    assert "word" not in str(error.value)


def test_what_only_sounds_like_a_key_is_taken() -> None:
    check_extra(
        {
            "prompt_cache_key": "run-1", "max_tokens": 9, "eos_token": "<|end_of_text|>", "stop_token_ids": [1],
            "provider": {"order": ["a"]}, "token": "", "user": "skip", "tokenizer": "x",
        },
        "",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("place", "whole"),
    [
        ("localhost:8000/v1", "http://localhost:8000/v1"),
        ("localhost", "http://localhost"),
        ("127.0.0.1/v1", "http://127.0.0.1/v1"),
        ("[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("gpu-7:8000", "http://gpu-7:8000"),
        ("gateway/llm/v1", "http://gateway/llm/v1"),
        ("judges.example.com", "http://judges.example.com"),
        ("htp://x/v1", "http://HOST/v1"),
        ("http:/x", "http://x"),
        ("HTTP://x/v1", "http://HOST/v1"),
        (" http://x/v1", "http://HOST/v1"),
        ("/v1", "http://HOST/v1"),
        (":8000/v1", "http://HOST:8000/v1"),
        ("", "http://HOST/v1"),
        ("$URL", "http://HOST/v1"),
        ("${HOST}:8000/v1", "http://HOST/v1"),
    ],
)
def test_a_half_address_is_refused_and_never_taken_for_a_part_of_the_models_name(place: str, whole: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"write openai:m@{whole}")):
        parse(f"openai:m@{place}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((f"openai:{rest}", "is an incomplete address; write openai:MODEL@http://")
          for rest in ("http://localhost:8000/v1", "localhost:8000/v1", "gpu-7:8000/v1")),
        ("vllm:m@someone:word@host:8000/v1?key=word", "is an incomplete address"),
        ("vllm:@http://someone:word@host/v1", "judge 'vllm:' has no model"),
        ("vlm:m@http://someone:word@host/v1", "no judge 'vlm:m'; did you mean 'vllm'?"),
    ],
)  # fmt: skip
def test_an_address_in_the_wrong_place_is_refused_without_saying_the_secret_in_it(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as error:
        parse(name)
    assert "word" not in str(error.value)


def test_a_judge_of_the_users_own_is_named_by_its_table_and_address() -> None:
    for address in ("http://host/v1", "http://host/v1/"):  # calls go to the same place
        assert Spec("mine", model="m", base_url=address).id == "mine/m@http://host/v1"
    assert Spec("mine", provider="groq", model="m").id == "groq/m"


def test_a_judge_is_built_from_its_spec_to_the_last_setting() -> None:
    choice = Choice("short_cot", format="yaml")
    spec = Spec(
        "mine", "openai", "m", "http://host/v1/", "MY_KEY", 3, 7.5, 0.3, 99, 8000, choice, "off", case_sensitive=True,
        extra={"seed": 1},
    )  # fmt: skip
    judge = build(spec)
    assert isinstance(judge, PromptedJudge)
    assert isinstance(judge.backend, OpenAIBackend)
    assert (judge.name, judge.id, judge.model, judge.provider) == ("mine", spec.id, "m", "openai")
    assert judge.backend.url == "http://host/v1/chat/completions"
    assert (judge.backend.key_variable, judge.backend.key_header) == ("MY_KEY", "Authorization")
    assert (judge.backend.concurrency, judge.backend.timeout, judge.backend.free) == (3, 7.5, False)
    assert judge.spec is spec


@pytest.mark.parametrize(
    ("spec", "url", "variable", "header"),
    [
        (parse("groq:m"), PRESETS["groq"].base_url, "GROQ_API_KEY", "Authorization"),
        (parse("azure:m@https://r.azure.com/v1"), "https://r.azure.com/v1", "AZURE_OPENAI_API_KEY", "api-key"),
        (Spec("mine", "openai", "m", api_key_env=""), PRESETS["openai"].base_url, "", "Authorization"),
    ],
    ids=["groq", "azure", "no key"],
)
def test_a_preset_brings_its_address_and_the_name_of_its_key(spec: Spec, url: str, variable: str, header: str) -> None:
    backend = build(spec).backend
    assert isinstance(backend, OpenAIBackend)
    assert (backend.url, backend.key_variable, backend.key_header) == (f"{url}/chat/completions", variable, header)


def test_building_a_judge_loads_no_client_and_reads_no_key() -> None:
    code = (
        "import os, sys\n"
        "from ragstone.judges.catalogue import build\n"
        "from ragstone.judges.spec import parse\n"
        "os.environ.clear()\n"
        "build(parse('openai:m'))\n"
        "sys.exit(str({'aiohttp', 'jinja2', 'json_repair', 'ssl', 'asyncio'} & set(sys.modules) or ''))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, env=dict(os.environ), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "\n") or done.returncode == 0, done.stderr
