"""Pull traces with their observations from Langfuse; push numeric scores of traces.

API: ``/api/public/traces``, ``/projects`` and ``/scores``, with basic authentication. Langfuse replaces a score with
the same id, so the id is derived from the trace and the score's name.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from ragstone.errors import ConfigError
from ragstone.services.base import (
    OWNER,
    PREFIX,
    Flow,
    Pushed,
    Request,
    Service,
    TraceQuery,
    TraceScore,
    Write,
    instant,
)

TRACES: Final = 50
"""Traces per page of the list."""
API: Final = "/api/public"


class Langfuse(Service):
    """Langfuse, in its cloud or self-hosted. Its keys belong to one project."""

    name = "langfuse"
    title = "Langfuse"
    format = "langfuse"
    address = "https://cloud.langfuse.com"
    addresses = ("LANGFUSE_BASE_URL", "LANGFUSE_HOST")
    keys = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")

    def authorization(self, keys: Mapping[str, str]) -> str:
        """Return the header with both keys; raise ConfigError if one is missing."""
        lacking = [name for name in self.keys if not keys[name]]
        if lacking:
            raise ConfigError(f"{self.title} needs API keys; set {' and '.join(lacking)}")
        return "Basic " + base64.b64encode(":".join(keys[name] for name in self.keys).encode()).decode()

    def pull(self, wanted: TraceQuery, write: Write) -> Flow[tuple[int, int]]:
        """Write the newest traces first, each with all its observations."""
        if wanted.project:
            yield from self._check(wanted.project)
        window = [("toTimestamp", instant(wanted.until)), ("orderBy", "timestamp.desc"), ("fields", "core")]
        window += [("fromTimestamp", instant(wanted.since))] if wanted.since else []
        seen: dict[str, None] = {}
        number = pages = 1
        bare = 0
        while number <= pages and len(seen) != wanted.limit:
            params = [*window, ("page", str(number)), ("limit", str(TRACES))]
            (page,) = yield [Request(f"{API}/traces", params)]
            new = [trace["id"] for trace in page["data"] if trace["id"] not in seen]
            new = new if wanted.limit is None else new[: wanted.limit - len(seen)]
            traces = (yield [Request(f"{API}/traces/{quote(name, safe='')}") for name in new]) if new else []
            for trace in traces:
                # A push must not change what the next pull returns.
                others = [score for score in trace.get("scores", ()) if not str(score["name"]).startswith(PREFIX)]
                observed = sorted(trace["observations"], key=lambda each: (each["startTime"], each["id"]))
                write({**trace, "scores": others, "observations": observed})
            bare += sum(not trace["observations"] for trace in traces)
            seen |= dict.fromkeys(new)
            number, pages = number + 1, page["meta"]["totalPages"]
        return len(seen), bare

    def _check(self, project: str) -> Flow[None]:
        (answer,) = yield [Request(f"{API}/projects")]
        names = [name for each in answer["data"] for name in (each["name"], each["id"])]
        if project not in names:
            raise ConfigError(
                f"{self.title}: the keys belong to the project '{names[0] if names else '?'}', not '{project}'"
            )

    def push(self, scores: Sequence[TraceScore]) -> Flow[Pushed]:
        """Send each score in its own request, with an id that is the same every time."""
        yield [Request(f"{API}/scores", method="POST", body=_score(score)) for score in scores]
        return Pushed(len(scores))


def _score(score: TraceScore) -> dict[str, Any]:
    said = f"{score.label}: {score.explanation}" if score.label else score.explanation
    about = "\n".join(filter(None, (score.trace, score.name, score.part)))
    digest = hashlib.blake2b(about.encode(), digest_size=16).hexdigest()
    return {
        "id": f"{OWNER}-{digest}",
        "traceId": score.trace,
        **({"observationId": score.part} if score.part else {}),
        "name": score.name,
        "value": score.value,
        "dataType": "NUMERIC",
        "comment": said,
        "metadata": score.labelled(),
    }
