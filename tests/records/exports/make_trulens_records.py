"""Write the records that TruLens 1 kept of one question: run it where trulens-core 1.2 is installed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from trulens.apps.custom import TruCustomApp, instrument
from trulens.core import TruSession

HERE = Path(__file__).parent
GREEN, BLACK = "Green tea is brewed at 70 to 80 degrees.", "Black tea takes boiling water."


class Rag:
    @instrument
    def retrieve(self, query: str) -> list[str]:
        return [GREEN, BLACK]

    @instrument
    def generate(self, query: str, passages: list[str]) -> str:
        return "At 70 to 80 degrees."

    @instrument
    def ask(self, query: str) -> str:
        return self.generate(query, self.retrieve(query))


session = TruSession(database_url=f"sqlite:///{tempfile.mkdtemp()}/trulens.db")
rag = Rag()
app = TruCustomApp(rag, app_name="tea", app_version="one")
with app as recording:
    rag.ask("At what temperature is green tea brewed?")
record = recording.get()
kept = json.loads(record.model_dump_json())
kept["calls"] = [{key: call[key] for key in ("stack", "args", "rets", "error", "perf")} for call in kept["calls"]]
frame, _ = session.get_records_and_feedback()
names = ["app_id", "app_name", "app_version", "record_id", "input", "output", "tags", "cost_json", "perf_json"]
row = {name: value for name, value in json.loads(frame.to_json(orient="records"))[0].items() if name in names}
(HERE / "trulens-records.jsonl").write_text(json.dumps({**row, "record_json": json.dumps(kept)}) + "\n")
