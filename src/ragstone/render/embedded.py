"""What every report says of the embedded judge: that it compares words, and how well that does on human labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

_COMPARES: Final = "compares words and numbers; not a language model"
_SUPPORT: Final = re.compile(r"\|support:[^|]*\bembedded-\d+#([0-9a-f]+)")


def embedded_among(judges: Sequence[str], summary: Mapping[str, Any]) -> str:
    """What is to be known of it beside the judges' names, its own first where there are others; empty without it."""
    if "embedded" not in judges:
        return ""
    return about_embedded(summary) if list(judges) == ["embedded"] else f"embedded {about_embedded(summary)}"


def about_embedded(summary: Mapping[str, Any]) -> str:
    """What is to be known of it in this run, as a clause without a subject.

    How well it does is how well it tells supported claims from others, and is known of the model of this version alone:
    a run in which another one judged, or none held claims against contexts, is not told it.
    """
    signatures = (entry["signature"] for entry in summary.get("metrics", {}).values())
    models = {model for signature in signatures for model in _SUPPORT.findall(signature)}
    if not models:
        return _COMPARES
    from ragstone.judges.embedded.measured import measured  # noqa: PLC0415 - loads the judge, which seldom judged

    known = measured()
    if models != {known.model}:
        return _COMPARES
    return (
        f"{_COMPARES}. On {known.sets} human-labelled data sets it ranks a supported claim above an unsupported one in "
        f"{100 * known.auroc:.0f} of 100 pairs (shared-word count: {100 * known.floor:.0f})"
    )
