"""Answer requests in the OpenAI chat-completions dialect and Anthropic's Messages dialect, without any network.

``Endpoint.reply`` turns a request into an ``Outcome``, and ``Endpoint.settle`` records it when it is due. Both are
synchronous; sockets and delays are in ``listener``.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from email.utils import formatdate
from itertools import accumulate
from typing import Any, Final, Unpack

import orjson
from msgspec.structs import replace

from ragstone.testing.batches import BATCH_PATHS, FakeBatches
from ragstone.testing.behaviour import CUT, FAULTS, GONE, HANG, RESET, Behaviour, Knobs, Outcome, Scripted
from ragstone.testing.messages import as_chat, from_chat
from ragstone.testing.rate_limits import Meter, PrefixCache, asked_to_wait
from ragstone.testing.replies import Draws, SchemaError, described, fitting, material

BYTES_PER_TOKEN: Final = 4
CREATED: Final = 1_700_000_000
PROSE: Final = "I am sorry, but I would rather talk about the weather, which is fine today."


class Books:
    """Counts and records of the requests so far."""

    def __init__(self, keep: int) -> None:
        self.count = 0
        self.seen: Counter[int | str] = Counter()
        self.unique: set[bytes] = set()
        self.requests: deque[dict[str, Any]] = deque(maxlen=keep)
        self.arrivals: deque[tuple[float, int | str, int]] = deque(maxlen=keep)
        self.begun = time.monotonic()
        self.meter = Meter()
        self.prefixes = PrefixCache()
        self.batches = FakeBatches()
        self.attempts: Counter[bytes] = Counter()
        self.schemas: dict[bytes, Any] = {}
        self.connections = 0
        self.max_in_flight = 0


class Endpoint:
    """The endpoint's routes, refusals, faults and answers. Not thread-safe."""

    def __init__(self, behaviour: Behaviour, keep: int = 10_000) -> None:
        self.keep = keep
        self.in_flight = 0
        self.on_death: Callable[[], None] = lambda: None  # there is no socket yet
        self.behaviour = behaviour
        self.reset()

    def reset(self) -> None:
        """Clear the counts and restart the script; the behaviour is kept."""
        self.books = Books(self.keep)
        self.script = deque(self.behaviour.script)

    def configure(self, **knobs: Unpack[Knobs]) -> None:
        """Change some keywords; a new script starts from its first answer."""
        self.behaviour = self.behaviour.changed(**knobs)
        if "script" in knobs:
            self.script = deque(knobs["script"])

    @property
    def dead(self) -> bool:
        """Whether ``dead_after`` requests have been answered."""
        limit = self.behaviour.dead_after
        return limit is not None and self.books.count >= limit

    def arrive(self) -> None:
        """Count an incoming request."""
        self.in_flight += 1
        self.books.max_in_flight = max(self.books.max_in_flight, self.in_flight)

    def leave(self) -> None:
        """Count a client that disconnected before its reply."""
        self.in_flight -= 1
        self.books.seen[GONE] += 1

    def settle(self, outcome: Outcome) -> Outcome:
        """Record the outcome and return the one to send; 503 if the server has died meanwhile."""
        self.in_flight -= 1
        if outcome.answered and self.dead:
            outcome = self._unavailable()
        self.books.seen[outcome.status] += 1
        if outcome.answered:
            self.books.count += 1
            self.books.unique.add(outcome.answered)
            self.books.prefixes.add(*outcome.prefix)
        return outcome

    def reply(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Return the outcome of a request. Header names must be in lower case."""
        path = path.partition("?")[0]
        if path in ("/v1/chat/completions", "/v1/messages"):
            if method != "POST":
                return _not_allowed("POST")
            messages = path == "/v1/messages"
            outcome = self._chat(headers, body, messages=messages)
            self.books.arrivals.append((time.monotonic() - self.books.begun, outcome.status, outcome.tokens))
            return from_chat(outcome) if messages else outcome
        if (found := self._of_batch(method, path, headers, body)) is not None:
            return found
        if path == "/v1/models":
            return self._models(headers) if method == "GET" else _not_allowed("GET")
        return _error(404, f"Unknown request URL: {method} {path}.", code="unknown_url")

    def _of_batch(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Outcome | None:
        def answer(headers: Mapping[str, str], body: bytes) -> Outcome:
            outcome = self._chat(headers, body, messages=messages)
            if outcome.answered:
                self.books.count += 1
                self.books.unique.add(outcome.answered)
            return from_chat(outcome) if messages else outcome

        messages = path.startswith("/v1/messages/")
        if not path.startswith(BATCH_PATHS):
            return None
        refused = self._wrong_key(headers)
        return refused or self.books.batches.reply(method, path, headers, body, self.behaviour, answer)

    def _models(self, headers: Mapping[str, str]) -> Outcome:
        if refusal := self._wrong_key(headers):
            return refusal
        names = self.behaviour.known_models or ("fake",)
        data = [{"id": name, "object": "model", "created": CREATED, "owned_by": "ragstone"} for name in names]
        return Outcome(200, _dumps({"object": "list", "data": data}), self.behaviour.headers)

    def _chat(self, headers: Mapping[str, str], body: bytes, *, messages: bool = False) -> Outcome:
        now = self.behaviour
        if self.dead:
            return self._unavailable()
        if refusal := self._wrong_key(headers):
            return refusal
        try:
            request = _loads(body)
        except ValueError:
            return _error(400, "We could not parse the JSON body of your request.")
        if not isinstance(request, dict):
            return _error(400, "The body of the request must be a JSON object.")
        self.books.requests.append(request)
        request = as_chat(headers, request) if messages else request
        if isinstance(request, str):
            return _error(400, request)
        turns = request.get("messages")
        if not isinstance(turns, list) or not turns:
            return _error(400, "Missing required parameter: 'messages'.", param="messages")
        said = _dumps(turns)
        model = str(request.get("model", ""))
        head = f"{now.seed}\0{model}\0".encode(errors="replace")
        who = hashlib.blake2b(head + said, digest_size=16).digest()
        prompt_tokens = max(len(said) // BYTES_PER_TOKEN, 1)
        if refusal := self._refusal(request, model, prompt_tokens, who):
            return refusal
        if now.capacity is not None and self.in_flight > now.capacity:
            return self._too_many()
        limited = now.rpm is not None or now.tpm is not None
        if limited and (refusal := self._beyond_its_rate(prompt_tokens)):
            return refusal
        self.books.attempts[who] += 1
        attempt = self.books.attempts[who]
        seed = int.from_bytes(who, "big") + (attempt << 7 if now.vary else 0)
        draws = Draws(int.from_bytes(who[8:], "big"))
        latency = now.latency
        wait = latency if isinstance(latency, int | float) else latency[0] + (latency[1] - latency[0]) * draws.share()
        try:
            outcome = self._answer(request, model, prompt_tokens, attempt, seed, draws, who)
        except SchemaError as error:
            return _error(400, str(error), param="response_format")
        digest = hashlib.blake2b(body, digest_size=16).digest() if outcome.status == 200 else b""
        headers = {**now.headers, **dict(outcome.headers)}
        if limited:
            moment = time.monotonic()
            self.books.meter.take(moment, outcome.tokens or prompt_tokens)
            headers = {**headers, **self.books.meter.headers(moment, now.rate_window, now.rpm, now.tpm)}
        prefix = _prefix(request) if now.prefix_cache is not None else (b"", b"")
        return replace(outcome, delay=outcome.delay + wait, answered=digest, headers=headers, prefix=prefix)

    # What it refuses

    def _wrong_key(self, headers: Mapping[str, str]) -> Outcome | None:
        key = self.behaviour.api_key
        given = headers.get("authorization") or headers.get("api-key") or headers.get("x-api-key", "")
        if key is None or given in (f"Bearer {key}", key):
            return None
        if not given:
            return _error(401, "You didn't provide an API key.")
        return _error(401, "Incorrect API key provided.", code="invalid_api_key")

    def _refusal(self, request: dict[str, Any], model: str, prompt_tokens: int, who: bytes) -> Outcome | None:
        now = self.behaviour
        if now.known_models and model not in now.known_models:
            return _error(
                404, f"The model `{model}` does not exist or you do not have access to it.", code="model_not_found"
            )
        if request.get("stream"):
            return _error(400, "Unsupported value: 'stream' must be false here.", param="stream")
        for name in now.refuse_parameters:
            if name in request:
                instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                text = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
                return _error(400, text, param=name, code="unsupported_parameter")
        if now.refuse_schema and request.get("response_format") is not None:
            if now.remember_schemas and (schema := _schema(request)) is not None:
                self.books.schemas[who] = schema
            text = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
            return _error(400, text, param="response_format")
        if now.context_limit is not None and prompt_tokens > now.context_limit:
            text = (
                f"This model's maximum context length is {now.context_limit} tokens. "
                f"However, your messages resulted in {prompt_tokens} tokens. Please reduce the length of the messages."
            )
            return _error(400, text, param="messages", code="context_length_exceeded")
        return None

    def _too_many(self) -> Outcome:
        now = self.behaviour
        headers = dict(now.headers)
        if now.retry_after is not None and now.retry_after_date:
            headers["Retry-After"] = formatdate(math.ceil(time.time() + now.retry_after), usegmt=True)
        elif now.retry_after is not None:
            headers["Retry-After"] = f"{now.retry_after:g}"
        return _error(
            429, "Rate limit reached. Please try again later.",
            kind="rate_limit_error", code="rate_limit_exceeded", headers=headers,
        )  # fmt: skip

    def _beyond_its_rate(self, tokens: int) -> Outcome | None:
        now, moment = self.behaviour, time.monotonic()
        wait = self.books.meter.refusal(moment, now.rate_window, now.rpm, now.tpm, tokens)
        if not wait:
            return None
        said = self.books.meter.headers(moment, now.rate_window, now.rpm, now.tpm)
        refused = self._too_many()
        return replace(refused, headers={**asked_to_wait(wait), **said, **refused.headers})

    def _unavailable(self) -> Outcome:
        return _error(503, "The server is not available.", kind="server_error", headers=self.behaviour.headers)

    # What it answers

    def _answer(
        self,
        request: dict[str, Any],
        model: str,
        prompt_tokens: int,
        attempt: int,
        seed: int,
        draws: Draws,
        who: bytes,
    ) -> Outcome:
        now = self.behaviour
        share, edges = draws.share(), accumulate(getattr(now, name) for name in FAULTS)
        fault = next((name for name, edge in zip(FAULTS, edges, strict=True) if share < edge), "")
        if attempt > now.faulty_attempts:
            fault = ""
        scripted: Any = None
        if self.script:
            scripted, fault = self.script.popleft(), ""
        match fault:
            case "rate_429":
                return self._too_many()
            case "rate_500":
                text = "The server had an error while processing your request. Sorry about that!"
                return _error(500, text, kind="server_error")
            case "rate_reset":
                return Outcome(RESET)
            case "rate_hang":
                return Outcome(HANG)
        if scripted is None and now.answer is not None:
            scripted = now.answer(request)
        if not isinstance(scripted, Scripted):
            schema = _schema(request) or self.books.schemas.get(who) or described(request)
            if scripted is None:
                scripted = "OK" if schema is None else _quoting(fitting(schema, seed), request, seed)
            scripted = self._dressed(_text(scripted), schema, seed, draws)
            if fault == "rate_truncated":
                text = str(scripted.body)
                scripted = replace(scripted, body=text[: len(text) // 2], finish="length")
            elif fault == "rate_malformed":
                text = str(scripted.body)
                scripted = replace(scripted, body=text[: 2 * len(text) // 3])
            elif fault == "rate_garbage":
                scripted = Scripted((PROSE, "", None)[draws.below(3)])
        if scripted.status != 200 or scripted.raw is not None:
            return _spelled_out(scripted)
        limit = request.get("max_completion_tokens", request.get("max_tokens"))
        content = None if scripted.body is None else _text(scripted.body)
        if now.obey_max_tokens and limit and content and len(content) > limit * BYTES_PER_TOKEN:
            content = content[: limit * BYTES_PER_TOKEN]
            scripted = replace(scripted, finish="length")
        thought = {"reasoning_content": scripted.reasoning} if scripted.reasoning else {}
        message = {"role": "assistant", "content": content, **thought}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": scripted.finish}
        completion: dict[str, Any] = {
            "id": f"chatcmpl-{who.hex()[:12]}-{attempt}",
            "object": "chat.completion",
            "created": CREATED,
            "model": model,
            "choices": [] if fault == "rate_empty_choices" else [choice],
            **({"service_tier": request["service_tier"]} if "service_tier" in request else {}),
        }
        if scripted.usage is not None:
            completion["usage"] = dict(scripted.usage)
        elif now.usage:
            completion["usage"] = self._usage(prompt_tokens, content, scripted.reasoning)
            if now.prefix_cache is not None:
                completion["usage"]["prompt_tokens_details"] = self._cached(request, now.prefix_cache)
        tokens = prompt_tokens + self._usage(prompt_tokens, content, scripted.reasoning)["completion_tokens"]
        status = CUT if fault == "rate_cut" else 200
        return Outcome(status, _dumps(completion), scripted.headers, scripted.delay, tokens=tokens)

    def _cached(self, request: dict[str, Any], least: int) -> dict[str, int]:
        """Return the numbers of tokens read from the prompt cache and, if the request has marks, written to it."""
        prefix = _prefix(request)
        cached, whole = (size // BYTES_PER_TOKEN for size in (self.books.prefixes.read(*prefix), len(prefix[1])))
        cached = cached if cached >= least else 0
        return {
            "cached_tokens": cached,
            "saved_tokens": whole - cached if "cache_to" in request and whole >= least else 0,
        }

    def _dressed(self, text: str, schema: Any, seed: int, draws: Draws) -> Scripted:
        now = self.behaviour
        if not (now.rate_fenced or now.rate_think or now.rate_think_fenced or now.rate_reasoning_field):
            return Scripted(text)
        fenced, think, aside = draws.share(), draws.share(), draws.share()
        if now.rate_think_fenced and draws.share() < now.rate_think_fenced:
            fenced = think = -1.0
        other = '{"answer": "no"}' if schema is None else _text(fitting(schema, ~seed))
        thought = f"At first sight this looks right:\n{other}\nBut on reflection it is not."
        if fenced < now.rate_fenced:
            text = f"Here is what I found.\n\n```json\n{text}\n```\n\nLet me know if you need anything else."
        if think < now.rate_think:
            text = f"<think>\n{thought}\n</think>\n\n{text}"
        return Scripted(text, reasoning=thought if aside < now.rate_reasoning_field else "")

    def _usage(self, prompt_tokens: int, content: str | None, reasoning: str) -> dict[str, Any]:
        thought = len(reasoning.encode(errors="replace")) // BYTES_PER_TOKEN
        written = -(-len((content or "").encode(errors="replace")) // BYTES_PER_TOKEN) + thought
        usage: dict[str, Any] = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": written,
            "total_tokens": prompt_tokens + written,
        }
        if self.behaviour.cached_share:
            usage["prompt_tokens_details"] = {"cached_tokens": int(prompt_tokens * self.behaviour.cached_share)}
        if reasoning:
            usage["completion_tokens_details"] = {"reasoning_tokens": thought}
        return usage


def _schema(request: dict[str, Any]) -> Any:
    form = request.get("response_format")
    inner = form.get("json_schema") if isinstance(form, dict) else None
    return inner.get("schema") if isinstance(inner, dict) else None


def _prefix(request: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return the parts of a request that a prompt cache would hold: first the answer's schema, then the texts."""
    texts = "".join(str(turn.get("content")) for turn in request["messages"]).encode(errors="replace")
    schema = request.get("response_format")
    return _dumps(schema) if schema else b"", texts[: request.get("cache_to")]


def _spelled_out(scripted: Scripted) -> Outcome:
    if scripted.raw is not None:
        body = scripted.raw.encode(errors="surrogatepass")
    elif isinstance(scripted.body, str):
        body = _error(scripted.status, scripted.body).body
    else:
        body = _dumps(scripted.body)
    return Outcome(scripted.status, body, scripted.headers, scripted.delay)


def _not_allowed(method: str) -> Outcome:
    return _error(405, f"Only {method} requests are accepted.", code="method_not_supported", headers={"Allow": method})


def _error(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    kind: str = "invalid_request_error",
    headers: Mapping[str, str] | None = None,
) -> Outcome:
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Outcome(status, _dumps({"error": error}), headers or {})


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _dumps(value).decode()


def _dumps(value: Any) -> bytes:
    """Write JSON, with the same bytes for the same value; accepts lone surrogates and huge numbers."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _loads(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            return json.loads(body)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def _quoting(answer: Any, request: Mapping[str, Any], seed: int) -> Any:
    """Replace every ``quote`` with words of the last message, as a real judge would quote.

    One in eight is left unchanged, because real judges also invent quotes.
    """
    lines: list[str] = []

    def walk(value: Any, draws: Draws) -> None:
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, dict | list):
                walk(item, draws)
        if isinstance(value, dict) and isinstance(value.get("quote"), str) and draws.below(8):
            if not lines:
                content = str(request["messages"][-1].get("content"))
                lines.extend(line for line in material(content) if len(line) > 40)
            if lines:
                words = lines[draws.below(len(lines))].split()
                start = draws.below(max(1, len(words) - 8))
                value["quote"] = " ".join(words[start : start + 8])

    if isinstance(answer, dict | list):
        walk(answer, Draws(seed))
    return answer
