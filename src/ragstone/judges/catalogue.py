"""From a judge's spec to the judge. Nothing is opened, read or looked up before a run begins."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable

from ragstone.judges.base import Dialect, Judge
from ragstone.judges.spec import Spec


def build(spec: Spec) -> Judge:
    """The judge; nothing is opened or looked up yet."""
    if spec.provider == "embedded":
        from ragstone.judges.embedded import EmbeddedJudge  # noqa: PLC0415 - its model is read when it is wanted

        return EmbeddedJudge()
    if spec.provider == "replay":
        from ragstone.judges.replay import ReplayJudge  # noqa: PLC0415 - only when asked for

        return ReplayJudge(spec.name, spec.path, build)
    if spec.provider == "human":
        from ragstone.judges.human import HumanJudge  # noqa: PLC0415 - only when asked for

        return HumanJudge(spec.name, spec.path)
    from ragstone.judges.prompted import ModelSettings, PromptedJudge  # noqa: PLC0415 - only when asked for

    preset = spec.preset
    dialect: Callable[..., Dialect] = pkgutil.resolve_name(preset.backend)
    backend = dialect(
        spec.base_url or preset.base_url,
        judge=spec.name,
        key_variable=preset.key if spec.api_key_env is None else spec.api_key_env,
        key_header=preset.key_header,
        concurrency=spec.concurrency,
        timeout=spec.timeout,
        strict=spec.structured == "schema",
        rpm=spec.rpm,
        tpm=spec.tpm,
    )
    settings = ModelSettings(
        spec.model, spec.temperature, spec.max_tokens, spec.structured, spec.context, spec.extra, spec.choice,
        spec.case_sensitive,
    )  # fmt: skip
    return PromptedJudge(spec.name, spec.id, spec.provider, settings, backend)
