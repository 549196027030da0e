"""Write the spans that TruLens 2 kept of one question: run it where trulens is installed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trulens.apps.app import TruApp
from trulens.core import TruSession
from trulens.core.otel.instrument import instrument
from trulens.otel.semconv.trace import SpanAttributes

HERE = Path(__file__).parent
GREEN, BLACK = "Green tea is brewed at 70 to 80 degrees.", "Black tea takes boiling water."


class Rag:
    @instrument(
        span_type=SpanAttributes.SpanType.RETRIEVAL,
        attributes={
            SpanAttributes.RETRIEVAL.QUERY_TEXT: "query",
            SpanAttributes.RETRIEVAL.RETRIEVED_CONTEXTS: "return",
        },
    )
    def retrieve(self, query: str) -> list[str]:
        return [GREEN, BLACK]

    @instrument(span_type=SpanAttributes.SpanType.GENERATION)
    def generate(self, query: str, passages: list[str]) -> str:
        return "At 70 to 80 degrees."

    @instrument(span_type=SpanAttributes.SpanType.RECORD_ROOT)
    def ask(self, query: str) -> str:
        return self.generate(query, self.retrieve(query))


session = TruSession(database_url=f"sqlite:///{tempfile.mkdtemp()}/trulens.db")
rag = Rag()
app = TruApp(rag, app_name="tea", app_version="one", main_method=rag.ask)
with app:
    rag.ask("At what temperature is green tea brewed?")
session.force_flush()
events = session.get_events(app_name="tea", app_version="one")
events["resource_attributes"] = [{"service.name": "trulens"}] * len(events)  # the rest is of this machine
events.to_json(HERE / "trulens-events.jsonl", orient="records", lines=True, date_format="iso", date_unit="us")
