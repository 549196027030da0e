"""``ragstone schema``: JSON Schemas that real inputs, results and summaries meet."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from terminal import ragstone

from ragstone import api, evaluate
from ragstone.labels import LabelDraw, LabelRow
from ragstone.output.schema import DOCUMENTS
from ragstone.records.fields import ALIASES

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("home")

OF_TYPE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
KEYWORDS: Final = {
    "$schema", "title", "description", "$defs", "$ref", "anyOf", "enum", "type", "properties", "required", "items",
    "additionalProperties",
}  # fmt: skip


def faults(value: Any, schema: Mapping[str, Any], whole: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Where a value does not meet a schema, whose keywords are all known; so is a key that an object does not list."""
    assert schema.keys() <= KEYWORDS
    if "$ref" in schema:
        yield from faults(value, whole["$defs"][schema["$ref"].removeprefix("#/$defs/")], whole, at)
    if "anyOf" in schema:
        every = [[*faults(value, one, whole, at)] for one in schema["anyOf"]]
        yield from min(every, key=len)
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not one of {schema['enum']}"
    types = schema.get("type", [])
    if types and not any(OF_TYPE[name](value) for name in ([types] if isinstance(types, str) else types)):
        yield f"{at}: {value!r} is not {types}"
        return
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (f"{at}: no {name}" for name in schema.get("required", ()) if name not in value)
        for name, item in value.items():
            other = schema.get("additionalProperties")
            if name in known or other is not None:
                yield from faults(item, known.get(name, other), whole, f"{at}.{name}")
            elif known and "required" in schema:
                yield f"{at}: {name} is not in the schema"
    for place, item in enumerate(value if isinstance(value, list) else ()):
        yield from faults(item, schema.get("items", {}), whole, f"{at}[{place}]")


@functools.cache
def printed(name: str) -> dict[str, Any]:
    """The schema that the command prints."""
    found: dict[str, Any] = ragstone("schema", name).json
    return found


def wrong(value: Any, name: str) -> list[str]:
    """Where a value, as JSON, does not meet the schema of that name."""
    return [*faults(orjson.loads(orjson.dumps(value)), printed(name), printed(name))]


def test_results_and_summaries_of_the_demo_meet_their_schemas() -> None:
    for run in api.demo():
        assert [fault for result in run.results() for fault in wrong(dict(result), "result")] == []
        assert wrong(run.summary(), "summary") == []
        run.store.close()


def test_results_of_every_metric_repeats_and_an_unreadable_record_meet_the_schema() -> None:
    rows: list[Any] = [
        {"id": "a", "question": "Of what is it?", "response": "It is steel [1]. It sings.",
         "contexts": ["It is steel."], "reference": "It is steel.", "nuggets": ["It is steel"], "relevant": ["1"],
         "answerable": True, "topic": "t"},
        {"id": "b", "response": 7},
    ]  # fmt: skip
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("bank.jsonl").write_text('{"qid": "a", "query": "?", "nuggets": [{"text": "It is steel."}]}\n', "utf-8")
    run = evaluate("a.jsonl", "all", on_error="skip", repeat=2, out="out", nuggets="bank.jsonl")
    results = [dict(result) for result in run.results()]
    assert [("set_aside" in result, wrong(result, "result")) for result in results] == [(False, []), (True, [])]
    assert wrong(run.summary(), "summary") == []
    written = json.loads(Path("out/run.json").read_text("utf-8"))
    assert (wrong(written, "run"), "bank" in written) == ([], True)
    run.store.close()
    scores = results[0]["scores"]
    assert wrong({**results[0], "scores": [{**scores[0], "value": "high"}]}, "result") == [
        ".scores[0].value: 'high' is not ['number', 'null']"
    ]
    assert wrong({key: value for key, value in results[0].items() if key != "units"}, "result") == [": no units"]


def test_records_and_labels_meet_their_schemas() -> None:
    """Records in their plain forms; a field is never in the schema under a name that no record has."""
    properties = printed("record")["properties"]
    assert properties.keys() == ALIASES.keys()
    assert "actual_output" in properties["response"]["description"]
    for row in (
        {"question": "q", "response": "r", "contexts": "c"},
        {"contexts": ["c", {"id": "1", "text": "d"}], "nuggets": ["n", {"text": "m", "importance": "vital"}]},
        {"response": [{"text": "r", "citations": [0]}], "relevant": {"1": 2}, "anything": {"else": [1]}},
    ):
        assert wrong(row, "record") == []
    assert wrong({"question": ["q"]}, "record") == [".question: ['q'] is not ['string', 'null']"]
    label = LabelRow("r", "r/claim/1", "support", None, "ann", 4.5, LabelDraw("random", 0, 5, 9), "a", "b", "c", "d")
    assert [wrong(row.as_json(), "label") for row in (label, LabelRow("r", "u", "support", "yes"))] == [[], []]
    assert wrong({"record": "r", "unit": "u", "task": "t"}, "label") == [": no label"]


def test_documents_are_listed_and_another_is_refused() -> None:
    assert ragstone("schema", "--json").json == dict(DOCUMENTS)
    came = ragstone("schema")
    assert all(f"{name}" in came.out and said in came.flat for name, said in DOCUMENTS.items())
    refused = ragstone("schema", "results")
    assert (refused.code, refused.err) == (2, "error: no schema 'results'; did you mean 'result'?\n")
