"""Write the spans of make_spans.py as a Phoenix server returns them: run it where arize-phoenix is installed.

The server keeps its data in a temporary folder and is stopped at the end.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

HERE = Path(__file__).parent
PORT = 16006
ADDRESS = f"http://127.0.0.1:{PORT}"


def base64_ids(value):
    if isinstance(value, list):
        return [base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode()
        if key in ("traceId", "spanId", "parentSpanId")
        else base64_ids(item)
        for key, item in value.items()
    }


with tempfile.TemporaryDirectory() as folder:
    place = {"PHOENIX_WORKING_DIR": folder, "PHOENIX_PORT": str(PORT), "PHOENIX_GRPC_PORT": "16007"}
    server = subprocess.Popen([sys.executable, "-m", "phoenix.server.main", "serve"], env={**os.environ, **place})
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{ADDRESS}/healthz", timeout=2)
                break
            except OSError:
                time.sleep(1)
        told = json.loads((HERE / "openinference-otlp.jsonl").read_text())
        body = ParseDict(base64_ids(told), ExportTraceServiceRequest()).SerializeToString()
        headers = {"Content-Type": "application/x-protobuf"}
        urllib.request.urlopen(urllib.request.Request(f"{ADDRESS}/v1/traces", body, headers))
        time.sleep(5)
        from phoenix.client import Client

        client = Client(base_url=ADDRESS)
        frame = client.spans.get_spans_dataframe(project_name="default")
        frame.to_json(HERE / "phoenix-spans.jsonl", orient="records", lines=True, date_format="iso", date_unit="us")
        frame.to_csv(HERE / "phoenix-spans.csv", index=False)
        frame.to_parquet(HERE / "phoenix-spans.parquet")
        with urllib.request.urlopen(f"{ADDRESS}/v1/projects/default/spans") as reply:
            (HERE / "phoenix-api.json").write_text(json.dumps(json.load(reply)) + "\n")
    finally:
        server.terminate()
        server.wait()
