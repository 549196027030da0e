"""Judges by name: ``provider:model@base_url``, ``embedded``, ``nli:MODEL``, ``replay:FILE``, ``human:FILE``.

A provider is just an address, the name of the variable that holds its key, and the backend for its dialect: OpenAI's
for all except Anthropic. The environment is not read before a call is made.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from msgspec import Struct, field

from ragstone.errors import ConfigError
from ragstone.prompts.choice import Choice
from ragstone.questions import Task
from ragstone.types import NOTHING

Tier = Literal["standard", "flex"]
FLEX_TIMEOUT: Final = 900.0
"""Minimum timeout of a flex-tier call in seconds, as recommended by OpenAI."""

Structured = Literal["auto", "schema", "off"]
STRUCTURED: Final[tuple[Structured, ...]] = get_args(Structured)
"""Whether to send a JSON schema: if there is one and the endpoint accepts it, always, or never."""


class Preset(NamedTuple):
    """A provider: its address, the variable of its key ("" for none), and the ``HttpBackend`` for its dialect.

    ``local``: a server on this machine, which is free and enforces the limits of a schema. ``concurrency`` and
    ``timeout`` are the defaults. ``flex`` and ``batch`` are the prices of its flex tier and its batches as shares of
    the standard price; 0 if it has none.
    """

    base_url: str
    key: str = ""
    key_header: str = "Authorization"
    local: bool = False
    backend: str = "ragstone.judges.openai:OpenAIBackend"
    concurrency: int = 64
    timeout: float = 120.0
    flex: float = 0.0
    batch: float = 0.0


def _local(port: int, concurrency: int = 64) -> Preset:
    """Return the preset of a local server. Without a GPU, a reply takes minutes, and calls queue in the server."""
    return Preset(f"http://127.0.0.1:{port}/v1", local=True, concurrency=concurrency, timeout=600.0)


PRESETS: Final[Mapping[str, Preset]] = {
    "anthropic": Preset(
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        "x-api-key",
        backend="ragstone.judges.messages:MessagesBackend",
        batch=0.5,
    ),
    "azure": Preset("", "AZURE_OPENAI_API_KEY", "api-key", flex=0.5, batch=0.5),
    "deepseek": Preset("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "gemini": Preset("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", flex=0.5),
    "groq": Preset("https://api.groq.com/openai/v1", "GROQ_API_KEY", flex=1.0, batch=0.5),
    "llamacpp": _local(8080, 4),
    "lmstudio": _local(1234, 4),
    "mistral": Preset("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "ollama": _local(11434, 4),
    "openai": Preset("https://api.openai.com/v1", "OPENAI_API_KEY", flex=0.5, batch=0.5),
    "openrouter": Preset("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "sglang": _local(30000),
    "tgi": _local(3000),
    "together": Preset("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "vllm": _local(8000),
}

NLI: Final = "nli"
NLI_MODEL: Final = "cross-encoder/nli-deberta-v3-base"
"""The model of the judge ``nli`` if its name has none."""
NLI_ANSWERS: Final[frozenset[Task]] = frozenset(("support", "assign", "response_support", "trace"))
"""The steps that a natural-language inference model can answer."""

UNCOMPUTED: Final[frozenset[Task]] = frozenset(("rubric",))
"""The steps that only language models and people can answer."""

MAX_TOKENS: Final = 4096
"""The default limit of a reply."""
GROUP: Final = "ragstone.judges"
"""The entry-point group through which other packages provide a ``Preset``."""

MAKERS: Final[Mapping[str, str]] = {
    "gpt-": "openai", "claude": "anthropic", "gemini": "gemini", "deepseek": "deepseek", "mistral": "mistral",
}  # fmt: skip
"""Prefixes of model names, each with a provider that has such models."""


class Spec(Struct, frozen=True):
    """Settings of one judge: a parsed name, or a ``[judges.NAME]`` table of the configuration.

    ``provider`` is a preset, or empty if ``base_url`` is given. ``price`` is the user's own price, (input, output) or
    (input, output, cached input), in dollars per million tokens. A ``temperature`` of None is not sent. ``extra`` is
    added to each request unchanged (a seed, reasoning effort). ``choice`` holds its prompts and label format,
    ``structured`` whether to send a JSON schema; with ``case_sensitive``, only the exact words of a scale are labels.
    ``context`` is the number of tokens that the model can take at once; 0 if unknown. ``path`` is the file of a replay
    or of labels. ``threshold`` is the probability (0-1) from which a judge with probabilities gives the best label;
    None for its default. ``rpm`` and ``tpm`` are the maximum requests and tokens in any 60 seconds; 0 for no limit.
    ``tier`` is the provider's service tier; with ``tier_fallback``, the standard tier is used if flex has no capacity.
    ``batch``: send calls in batches of at most ``batch_tokens`` tokens in progress; 0 for no limit.
    """

    name: str
    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key_env: str | None = None
    concurrency: int = 64
    timeout: float = 120.0
    temperature: float | None = 0.0
    max_tokens: int = MAX_TOKENS
    context: int = 0
    choice: Choice = field(default_factory=Choice)
    structured: Structured = "auto"
    case_sensitive: bool = False
    extra: Mapping[str, Any] = NOTHING
    price: tuple[float, ...] | None = None
    path: str = ""
    threshold: float | None = None
    rpm: int = 0
    tpm: int = 0
    tier: Tier = "standard"
    tier_fallback: bool = False
    batch: bool = False
    batch_tokens: int = 0

    @property
    def preset(self) -> Preset:
        """The provider's preset; an empty one for the user's own base URL."""
        return PRESETS.get(self.provider) or (providers() if self.provider else {}).get(self.provider, Preset(""))

    @property
    def id(self) -> str:
        """The judge's id in results and the store: ``provider/model``, with the user's own address if any."""
        if not self.model:
            return self.provider
        where = self.provider or self.name
        return f"{where}/{self.model}" + (f"@{self.base_url.rstrip('/')}" if self.base_url else "")


def usual(provider: str) -> dict[str, Any]:
    """Return the default settings of a provider's judges."""
    preset = Spec("", provider=provider).preset
    return {"concurrency": preset.concurrency, "timeout": preset.timeout}


@lru_cache(maxsize=1)
def providers() -> Mapping[str, Preset]:
    """Return all providers by name, including those added by installed packages."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - looks at every installed package

    added: dict[str, Preset] = {}
    for point in entry_points(group=GROUP):
        try:
            preset = point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"the provider '{point.name}' of the entry point {point.value}: {error}") from error
        if not isinstance(preset, Preset):
            raise ConfigError(f"the provider '{point.name}': {point.value} is a {type(preset).__name__}, not a Preset")
        added[point.name] = preset
    return {**added, **PRESETS}


def check_address(base_url: str, where: str) -> None:
    """Raise ConfigError for an invalid address, or one with a password, since judge ids are shown and stored."""
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        secret = "@" in parts.netloc or bool(parts.query)
    except ValueError:  # an unclosed bracket, or a port that is not a number
        usable, secret = False, "@" in base_url or "?" in base_url
    if secret and "api-version=" in base_url:  # Azure's older addresses
        place = "https://RESOURCE.openai.azure.com/openai/v1"
        raise ConfigError(f"{where}: the address has an API version; use {place}, which needs none")
    if secret:
        raise ConfigError(
            f"{where}: the address contains a user name, password or query; "
            "put the key in an environment variable instead"
        )
    if not usable:
        raise ConfigError(f"{where}: '{base_url}' is not an address; expected http://… or https://…")


_SECRET_NAME: Final = re.compile(
    r"(.*(api|access|secret|private|auth|bearer|session|hf)[_-]?)?(key|token)|.*(secret|passw|credential|authoriz).*",
    re.IGNORECASE,
)
_SECRET_VALUE: Final = re.compile(r"(Bearer |Basic |sk-|hf_|gsk_|xai-|AIza)\S{8}")


def check_extra(extra: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError for a request field that holds a key: requests are stored and exported."""
    for name, value in extra.items():
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, Mapping):
                check_extra(part, f"{where}.{name}")
            elif isinstance(part, str) and part and (_SECRET_NAME.fullmatch(name) or _SECRET_VALUE.match(part)):
                raise ConfigError(
                    f"{where}.{name}: looks like an API key, and requests are stored; "
                    "put the key in an environment variable and name that variable in api_key_env"
                )


_ADDRESS: Final = re.compile(
    r".*:/"  # http:/x, htp://x
    r"|\["  # [::1]:8000
    r"|.*\$"  # $URL in a file, where no shell expands it
    r"|/"  # $HOST/v1 with an empty HOST
    r"|localhost\b"
    r"|[\w.-]*:\d{1,5}(/|$)"  # host:8000/v1
    r"|\d+(\.\d+){3}(/|$)"  # 10.0.0.7
    r"|[\w-]+(\.[\w-]+)*\.[a-z]{2,}(/|$)"  # api.example.com/v1
    r"|[\w.-]+(/.*)?/v\d+/?$",  # gateway/v1
    re.IGNORECASE,
)
"""Matches the text after an ``@`` that is meant as an address, not as part of the name, as in ``@20240620``."""
_BARE_ADDRESS: Final = re.compile(r".*://|localhost\b|[\w.-]+:\d{1,5}/", re.IGNORECASE)
"""The same for a name without an ``@``, in which ``hf.co/org/m`` is a model."""


def _refuse_half_address(provider: str, model: str) -> None:
    """Raise ConfigError if a model's name ends in an incomplete address.

    If it were taken as part of the name, records and key would be sent to the provider's own address.
    """
    before, at, place = model.rpartition("@")
    called = before.partition("@")[0] or "MODEL"  # the part between two @ may be a password
    if at and not place:
        raise ConfigError(
            f"judge '{provider}:{called}': no address after the @; write {provider}:{called}@http://HOST/v1"
        )
    if not (_ADDRESS if at else _BARE_ADDRESS).match(place):
        return
    shown = place.partition("?")[0]
    host = "HOST" if shown.startswith(("/", ":")) else ""
    if re.match(r"https?:/[^/]", shown, re.IGNORECASE):
        whole = shown.replace(":/", "://", 1)
    else:
        whole = "http://HOST/v1" if ":/" in shown or "$" in shown else f"http://{host}{shown}"
    raise ConfigError(
        f"judge '{provider}:{called}': '{shown}' is an incomplete address; write {provider}:{called}@{whole} "
        f"(for a model with such a name, use a [judges.NAME] table)"
    )


def _half(name: str) -> str:
    """Say what is wrong with an incomplete name (no model, or no provider); else empty."""
    if name in PRESETS:
        return f"judge '{name}' has no model; write {name}:MODEL"
    before, slash, model = name.partition("/")
    if slash and model and before.lower() in PRESETS:
        return f"no judge '{name}'; write a colon after the provider: {before.lower()}:{model}"
    provider = next((provider for start, provider in MAKERS.items() if name.lower().startswith(start)), "")
    return f"no judge '{name}'; add the provider, as in {provider}:{name}" if provider else ""


def parse(name: str) -> Spec:
    """Parse a judge's name; raise ConfigError with the known names if it is invalid.

    An incomplete address is an error, so that nothing is sent anywhere but to the address that was named.
    """
    if name == "embedded":
        return Spec(name, provider="embedded")
    provider, colon, rest = name.partition(":")
    if provider == NLI:
        if colon and not rest:
            raise ConfigError("judge 'nli:' has no model; write nli, nli:ORG/MODEL or nli:FOLDER")
        return Spec(name, provider=NLI, model=rest or NLI_MODEL)
    if colon and provider in ("replay", "human"):
        if not rest:
            example = "calls.jsonl" if provider == "replay" else "labels.jsonl"
            raise ConfigError(f"judge '{provider}:' has no file; write {provider}:{example}")
        return Spec(name, provider=provider, path=rest)
    if not colon and (half := _half(name)):
        raise ConfigError(half)
    if re.match(r"https?$", provider, re.IGNORECASE):
        raise ConfigError("a judge needs a model, not only an address, as in openai:MODEL@https://HOST/v1")
    if not colon or (provider not in PRESETS and provider not in providers()):
        known = ["embedded", "nli", "replay:FILE", "human:FILE", *(f"{known}:MODEL" for known in providers())]
        near = difflib.get_close_matches(
            provider.lower(), ["embedded", "nli", "replay", "human", *providers()], 1, 0.65
        )
        shown = name.partition("@http")[0]  # an address may hold a password
        hint = f"did you mean '{near[0]}'? Known: " if near else "known: "
        raise ConfigError(f"no judge '{shown}'; {hint}{', '.join(known)}, and [judges.NAME] tables")
    model, *where = re.split(r"@(?=https?://)", rest, maxsplit=1)  # a model's name may contain an @
    base_url = where[0] if where else ""
    if not model:
        raise ConfigError(f"judge '{provider}:' has no model; write {provider}:MODEL")
    if provider == "azure" and not base_url:
        raise ConfigError(
            f"judge '{name}' has no address; write azure:DEPLOYMENT@https://RESOURCE.openai.azure.com/openai/v1"
        )
    if not base_url:
        _refuse_half_address(provider, model)
    else:
        check_address(base_url, f"judge '{provider}:{model}'")
    return Spec(name, provider=provider, model=model, base_url=base_url, **usual(provider))


class KnownJudge(Struct, frozen=True):
    """A judge in the list of judges: its name, address, and the variable of its key. Never the key.

    ``key_set`` says whether the variable is set, ``table`` whether the judge is from the configuration; ``price`` is
    its price in words.
    """

    name: str
    where: str = ""
    variable: str = ""
    key_set: bool | None = None
    model: str = ""
    table: bool = False
    note: str = ""
    price: str = ""
