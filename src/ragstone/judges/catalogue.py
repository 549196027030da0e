"""Build judges from their specs. Nothing is opened, read or looked up before a run starts."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable

from ragstone.judges.base import Dialect, Judge
from ragstone.judges.spec import NLI, Spec


def build(spec: Spec) -> Judge:
    """Return the judge; nothing is opened or looked up yet."""
    if spec.provider == "embedded":
        from ragstone.judges.embedded import EmbeddedJudge  # noqa: PLC0415 - its model is read when it is wanted

        return EmbeddedJudge(spec.name, spec.threshold)
    if spec.provider == NLI:
        from ragstone.judges.nli import NliJudge  # noqa: PLC0415 - only when asked for

        return NliJudge(spec.name, spec.model, spec.threshold)
    if spec.provider == "replay":
        from ragstone.judges.replay import ReplayJudge  # noqa: PLC0415 - only when asked for

        return ReplayJudge(spec.name, spec.path, build)
    if spec.provider == "human":
        from ragstone.judges.human import HumanJudge  # noqa: PLC0415 - only when asked for

        return HumanJudge(spec.name, spec.path)
    from ragstone.judges.prompted import PromptedJudge  # noqa: PLC0415 - only when asked for

    dialect: Callable[[Spec], Dialect] = pkgutil.resolve_name(spec.preset.backend)
    return PromptedJudge(spec, dialect(spec))
