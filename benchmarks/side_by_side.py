"""How other evaluators behave on the same records: ``python benchmarks/side_by_side.py [NAME ...]``.

pip installs each tool into an environment of its own (``--folder`` keeps them). Each scores the claims of 20 responses
against passages in its documented way, with default settings and the model name gpt-4o-mini. The endpoint is that of
``ragstone.testing``, on loopback: it knows which claims are true, answers each tool's prompts after 1 to 4 s in the
form that they ask for, and counts. The true mean is 0.5. Each tool runs undisturbed; with every reply about 2 records
(both worth 1) cut in the middle; with status 500 for these two; killed after half of the calls and started again.
*Tokens* are characters of messages and schemas divided by 4. *Hosts* are names and addresses beyond loopback that
Python tried to resolve or reach in the first three runs; none was let through.

trulens is given the data of its tokenizer, which it would download, and told that the endpoint has no Responses API.
Left out: nuggetizer has no such metric; open-rag-eval and nexa-gauge take 6.8 and 5.9 GB, and nexa-gauge's default
downloads an embedding model.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engine import records
from peers import PEERS, PROBE, installed
from ragstone.testing import FakeServer, Scripted

PATIENCE: Final = 900
"""Seconds that a run may take."""
STRUCK: Final = (4, 9)
"""The records about which no reply can be used."""
PHRASES: Final = ("NLIStatementOutput", "StatementGeneratorOutput", "IMPORTANT STATEMENTS:", "SOURCE:", "Convert the ")
"""What tells the prompts apart that come without a schema."""
READ: Final = "import json, os; given = [json.loads(line) for line in open('traces.jsonl')]; options = {}\n"


@dataclass(frozen=True)
class Tool:
    """What pip installs, a user's script, the pattern of its line with the mean, and whether it forecasts the bill."""

    requirements: list[str]
    script: str
    says: str
    forecast: str = "no"


TOOLS: Final = {
    "ragstone": Tool(
        PEERS["ragstone"][0],
        """
import sys
from ragstone.__main__ import main
judge = "openai:gpt-4o-mini@" + os.environ["OPENAI_BASE_URL"]
sys.argv = ["ragstone", "run", "traces.jsonl", "-m", "grounding", "-j", judge]
main()
""",
        r"^  grounding  .*$",
        "yes: `ragstone estimate`",
    ),
    "deepeval": Tool(
        PEERS["deepeval"][0],
        """
from deepeval import evaluate
from deepeval.metrics import FaithfulnessMetric
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase
metric = FaithfulnessMetric(model=GPTModel(model="gpt-4o-mini", base_url=os.environ["OPENAI_BASE_URL"]))
cases = [LLMTestCase(input=r["question"], actual_output=r["response"], retrieval_context=r["contexts"]) for r in given]
evaluate(cases, [metric], **options)
""",
        r"Faithfulness +│ [\d.]+ +│.*│.*$",
    ),
    "ragas": Tool(
        PEERS["ragas"][0],
        """
from openai import AsyncOpenAI
from ragas import EvaluationDataset, evaluate
from ragas.llms import llm_factory
from ragas.metrics import Faithfulness
rows = [{"user_input": r["question"], "response": r["response"], "retrieved_contexts": r["contexts"]} for r in given]
llm = llm_factory("gpt-4o-mini", client=AsyncOpenAI())
print(evaluate(EvaluationDataset.from_list(rows), metrics=[Faithfulness()], llm=llm))
""",
        r"^\{'faithfulness'.*$",
    ),
    "trulens": Tool(
        ["trulens", "trulens-providers-openai", "llama-index-core"],
        """
import importlib.util
bundled = importlib.util.find_spec("llama_index").submodule_search_locations[0] + "/core/_static/nltk_cache"
os.environ["NLTK_DATA"] = bundled  # what trulens downloads from GitHub for each response
import pandas
from trulens.apps.app import TruApp
from trulens.core import Metric, Selector, TruSession
from trulens.core.enums import Mode
from trulens.core.otel.instrument import instrument
from trulens.core.run import RunConfig
from trulens.providers.openai import OpenAI
class App:
    @instrument()
    def respond(self, query):
        raise NotImplementedError
session, app = TruSession(), App()
recorder = TruApp(app, app_name="app", app_version="1", main_method=app.respond, connector=session.connector)
run = recorder.add_run(run_config=RunConfig(
    run_name="run", dataset_name="traces", source_type="DATAFRAME", mode=Mode.LOG_INGESTION,
    dataset_spec={"input": "question", "RECORD_ROOT.OUTPUT": "response", "RETRIEVAL.RETRIEVED_CONTEXTS": "contexts"},
))
run.start(input_df=pandas.DataFrame(given))
provider = OpenAI(model_engine="gpt-4o-mini", base_url=os.environ["OPENAI_BASE_URL"])
provider._set_capabilities({"responses_api": False})  # the endpoint has none, which trulens does not see from its 404
run.compute_metrics([Metric(
    implementation=provider.groundedness_measure_with_cot_reasons, name="Groundedness",
    selectors={"source": Selector.select_context(collect_list=True), "statement": Selector.select_record_output()},
)])
print("Groundedness", session.get_leaderboard()["Groundedness"].item(), run.get_status())
""",
        r"^Groundedness .*$",
    ),
}
OPTIONS: Final = """
from deepeval.evaluate import CacheConfig, ErrorConfig
options = {"cache_config": CacheConfig(use_cache=True), "error_config": ErrorConfig(ignore_errors=True)}
"""
TOOLS["deepeval with its options"] = replace(TOOLS["deepeval"], script=OPTIONS + TOOLS["deepeval"].script)


def traces() -> list[dict[str, Any]]:
    """20 records with 0 to 4 true sentences of 4; a false one is from another record's passages."""
    given = list(records(40, seed=1))
    for number, (record, other) in enumerate(zip(given[:20], given[20:], strict=True)):
        own, foreign = ([text.split(". ")[0] + "." for text in one["contexts"][:4]] for one in (record, other))
        record["claims"] = [*own[: number % 5], *foreign[number % 5 :]]
        record["response"] = " ".join(record["claims"])
    return given[:20]


def answer(form: str, prompt: str, record: dict[str, Any]) -> Any:
    """What a judge says of a record, in the form that a schema's name or a phrase of the prompt stands for."""
    claims, known = record["claims"], " ".join(record["contexts"])
    judged = [(claim, "" if claim in known else f"No passage says: {claim}") for claim in claims]
    match form:
        case "claims":  # ragstone
            return {"claims": [{"sentence": n, "claim": claim, "confidence": 1} for n, claim in enumerate(claims, 1)]}
        case "verdicts":
            labels: list[Any] = [{"evidence": [], "label": "no" if why else "yes"} for _, why in judged]
            return {"verdicts": {str(number): label for number, label in enumerate(labels, 1)}}
        case "Claims":  # deepeval
            return {"claims": claims}
        case "Truths":
            return {"truths": [f"{one}." for text in record["contexts"] for one in text[:-1].split(". ")]}
        case "Verdicts":
            return {"verdicts": [{"verdict": "no" if why else "yes", "reason": why} for _, why in judged]}
        case "FaithfulnessScoreReason":
            return {"reason": "The score follows from the contradictions."}
        case "StatementGeneratorOutput":  # ragas
            return {"statements": claims}
        case "NLIStatementOutput":
            return {"statements": [{"statement": one, "reason": why, "verdict": int(not why)} for one, why in judged]}
        case "IMPORTANT STATEMENTS:":  # trulens
            return claims
        case "SOURCE:" | "Convert the ":
            claim, why = max(judged, key=lambda one: prompt.rfind(one[0]))
            return {"criteria": claim, "supporting_evidence": why or claim, "score": 0 if why else 3}
        case _:
            raise ValueError(f"no answer to {prompt[:2000]}")


class Bench:
    """A tool in its environment, and an endpoint whose replies about the struck records fail if ``fault`` says how."""

    def __init__(self, name: str, python: Path, folder: Path) -> None:
        self.name, self.python, self.folder = name, python, folder
        self.records = traces()
        self.fault = ""
        self.server = FakeServer(answer=self.reply, latency=(1, 4))

    def reply(self, request: dict[str, Any]) -> Any:
        """Reply to a request by the truth; ValueError if its form is not known, as after a tool's next version."""
        prompt = json.dumps(request["messages"])
        about = [any(text in prompt for text in one["claims"] + one["contexts"]) for one in self.records]
        number = about.index(True) if any(about) else -1
        struck = number in STRUCK and self.fault
        if struck == "500":
            return Scripted("The server had an error.", status=500)
        schema = request.get("response_format", {}).get("json_schema", {}).get("name")
        form = schema or next((phrase for phrase in PHRASES if phrase in prompt), prompt)
        said = json.dumps(answer(form, prompt, self.records[number]))
        return said[: len(said) // 2] if struck else said

    def started(self, run: str) -> subprocess.Popen[str]:
        """Start the user's script in the folder of a run, at home there."""
        home = self.folder / run
        home.mkdir(exist_ok=True)
        lines = (json.dumps({key: one[key] for key in one if key != "claims"}) for one in self.records)
        (home / "traces.jsonl").write_text("\n".join(lines))
        given = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        given |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": self.server.url, "HOME": str(home), "COLUMNS": "120"}
        return subprocess.Popen(
            [self.python, "-c", PROBE, READ + TOOLS[self.name].script], cwd=home, env=given, text=True,
            stdout=subprocess.PIPE, stderr=(home / "errors.txt").open("a"), start_new_session=True,
        )  # fmt: skip

    def ran(self, run: str, fault: str = "") -> dict[str, Any]:
        """One run to its end: CPU seconds, other hosts, the line with the mean or the error, and the requests."""
        self.server.reset()
        self.fault = fault
        script = self.started(run)
        out = script.communicate(timeout=PATIENCE)[0]
        said = re.findall(TOOLS[self.name].says, out, re.MULTILINE)
        if script.returncode or not said:
            errors = (self.folder / run / "errors.txt").read_text()
            said = ["run ends: " + re.findall(r"^[\w.]+(?:Error|Exception)\b.*$", errors, re.MULTILINE)[-1]]
        return {**json.loads(out.splitlines()[-1]), "said": " ".join(said[-1].split()), "sent": self.server.requests}

    def repeated(self, calls: int) -> str:
        """How many answered calls are sent again if the script is killed after half of ``calls`` and started again."""
        self.server.reset()
        self.fault = ""
        script = self.started("killed")
        while self.server.count < calls / 2 and script.poll() is None:
            time.sleep(0.01)
        os.killpg(script.pid, signal.SIGKILL)
        script.communicate()
        out = self.started("killed").communicate(timeout=PATIENCE)[0]
        ended = "" if re.search(TOOLS[self.name].says, out, re.MULTILINE) else ", then fails"
        return f"{self.server.count - len(self.server.unique)} of {calls}{ended}"


def measured(name: str, folder: Path) -> dict[str, str]:
    """The facts of a tool."""
    tool, package = TOOLS[name], name.partition(" ")[0]
    python, version = installed(package, tool.requirements, folder / package)
    with tempfile.TemporaryDirectory() as runs, (bench := Bench(name, python, Path(runs))).server:
        clean, cut, refused = bench.ran("clean"), bench.ran("cut", "cut"), bench.ran("refused", "500")
        again = bench.repeated(len(clean["sent"]))
    parts = ("messages", "tools", "response_format")
    tokens = sum(len(json.dumps([request.get(part) for part in parts])) for request in clean["sent"]) / 4
    return {
        "": f"{name} {version}",
        "calls for a record": f"{len(clean['sent']) / 20:g}",
        "prompt tokens for a record": f"{tokens / 20:,.0f}",
        "cost forecast": tool.forecast,
        "undisturbed": clean["said"],
        "2 of 20 unreadable": cut["said"],
        "2 of 20 refused with 500": refused["said"],
        "answered calls sent again after a kill": again,
        "seconds of CPU, import included": f"{sum(clean['seconds']):.1f}",
        "other hosts": ", ".join(sorted({*clean["hosts"], *cut["hosts"], *refused["hosts"]})) or "none",
    }


def main() -> None:
    """Print the facts of each tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TOOLS)}")
    parser.add_argument("--folder", type=Path, help="where environments are kept; else in a temporary folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or TOOLS:
            try:
                facts = measured(name, arguments.folder or Path(folder))
            except RuntimeError as error:
                facts = {"": f"{name}: {error}"}
            print("\n".join(f"{fact:48} {value}" for fact, value in facts.items()), flush=True)


if __name__ == "__main__":
    main()
