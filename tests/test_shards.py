"""Shards that run anywhere and are merged give the bytes of one run, and refuse what is not theirs."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec.structs import replace

from ragstone import api
from ragstone.api.shards import ranges
from ragstone.errors import BudgetReached, ConfigError, InputError
from ragstone.options import RunOptions
from ragstone.records import Shard
from ragstone.store import connection
from ragstone.store.database import Store
from ragstone.testing import FakeServer

OF = 3


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"r{number % 20}",
            "question": "What boils?",
            "response": f"Kettle {number % 18} boils. It is lot {number % 18}.",
            "contexts": [f"Kettle {number % 18} boils at noon."],
        }
        for number in range(22)
    ]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def shard(source: Path, number: int, machine: str = "", **more: Any) -> api.RunOptions:
    folder = source.parent
    given = {"metrics": "grounding", "report": False, "store": folder / f"machine{machine or number}" / "s.db", **more}
    return RunOptions(shard=f"{number}/{OF}", out=folder / "all", **given)


def merged(source: Path, **more: Any) -> bytes:
    options = RunOptions(store=source.parent / "merged.db", report=False, **more)
    api.merge(source.parent / "all", None, options).store.close()
    return (source.parent / "all" / "results.jsonl").read_bytes()


def test_a_record_is_in_one_shard_wherever_it_is() -> None:
    """The shard of a record is the SHA-256 of its id, and all together have each record once."""
    found = Counter(number for record in range(3000) for number in range(1, 5) if Shard(number, 4).has(f"r{record}"))
    assert sum(found.values()) == 3000
    assert min(found.values()) > 650
    assert Shard(4, 4).has("a")  # sha256(b"a") ends in …48bb
    assert str(Shard.parse("7/256")) == "7/256"
    for wrong in ("0/4", "5/4", "4", "a/b", "1/0"):
        with pytest.raises(ConfigError, match="expected NUMBER/TOTAL with NUMBER from 1 to TOTAL"):
            Shard.parse(wrong)


def test_shards_merge_to_the_bytes_of_one_run(source: Path) -> None:
    """Judged by an endpoint whose answers change: the merge replays the calls of the shards and sends none."""
    folder = source.parent
    with FakeServer() as server:
        judge = f"vllm:any@{server.url}"
        for number in (2, 1, 3):
            api.run(str(source), shard(source, number, judge=judge, workers=number)).store.close()
        sent = server.count
        results = merged(source)
        assert server.count == sent
        alone = api.run(str(source), RunOptions("grounding", judge, store=folder / "merged.db", out=folder / "alone"))
        assert server.count == sent
    assert (folder / "alone" / "results.jsonl").read_bytes() == results
    assert len(alone) == 22
    with Store(folder / "merged.db") as store:
        assert [run.status for run in store.runs()] == ["done", "done"]
    assert merged(source, workers=2) == results


def test_criteria_merge_to_the_bytes_of_one_run(source: Path) -> None:
    """Those of a file and those that some records bring; each shard's verdicts are the merged run's."""
    folder = source.parent
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    for row in rows[::3]:
        row["rubric"] = {"criteria": {"names": {"criterion": f"It names {row['response'][:8]}."}}}
    source.write_text("\n".join(map(json.dumps, rows)))
    (folder / "c.toml").write_text('[rubric.tone]\ncriterion = "It is polite."\nscale = ["rude", "curt", "polite"]\n')
    asked = Counter[str]()

    def answer(request: dict[str, Any]) -> Any:
        said = request["messages"][1]["content"]
        asked[said] += 1
        found = re.findall(r" criterion (\d+)\]\n(.*)\n", said)
        labels = {one: ("rude", "curt", "polite")[len(asked) % 3] if "polite" in of else "yes" for one, of in found}
        return {"verdicts": {one: {"reason": f"the {len(asked)}th", "label": label} for one, label in labels.items()}}

    with FakeServer(answer=answer) as server:
        more: dict[str, Any] = {
            "metrics": "rubric",
            "judge": f"vllm:any@{server.url}",
            "rubric": str(folder / "c.toml"),
        }
        for number in (3, 1, 2):
            api.run(str(source), shard(source, number, **more)).store.close()
        results = merged(source)
        sent = server.count
        alone = api.run(str(source), RunOptions(store=folder / "merged.db", out=folder / "alone", **more))
        assert server.count == sent
        assert (folder / "alone" / "results.jsonl").read_bytes() == results
        statuses = {name: entry["statuses"] for name, entry in alone.summary()["metrics"].items()}
        assert statuses == {"rubric.tone": {"scored": 22}, "rubric.own": {"scored": 8, "missing_field": 14}}
        alone.store.close()


@pytest.mark.parametrize("where", ["run", "record"])
def test_steps_that_each_shard_would_write_are_refused(source: Path, where: str) -> None:
    """A merge has room for one shard's steps; the verdicts of the others' would be lost."""
    criteria = {"tone": {"criterion": "It is polite.", "steps": "write"}}
    more: dict[str, Any] = {"parameters": {"rubric": {"criteria": {"brief": {"criterion": "It is short."}}}}}
    if where == "record":
        rows = [json.loads(line) for line in source.read_text().splitlines()]
        rows[4]["rubric"] = {"criteria": criteria}
        source.write_text("\n".join(map(json.dumps, rows)))
    else:
        more["parameters"]["rubric"]["criteria"] = criteria
    said = 'steps = "write" cannot be used with --shard: each shard would write its own; list the steps'
    with pytest.raises(InputError, match=said):
        api.run(str(source), shard(source, 1, metrics="rubric", judge="vllm:any@http://127.0.0.1:9/v1", **more))


def test_of_two_replies_the_first_records_wins(source: Path) -> None:
    """A call that two shards made with different replies has the reply of the lowest place in the input."""
    shards = [1]
    with FakeServer(answer=lambda _prompt: json.dumps({"claims": [f"Claim {shards[-1]}."]})) as server:
        for number in (3, 1, 2):
            shards.append(number)
            api.run(str(source), shard(source, number, judge=f"vllm:any@{server.url}")).store.close()
    lines = [orjson.loads(line) for line in merged(source).splitlines()]
    of = {line["id"]: next(n for n in range(1, OF + 1) if Shard(n, OF).has(line["id"])) for line in lines}
    first: dict[str, str] = {}
    for line in lines:
        first.setdefault(line["response"], f"Claim {of[line['id']]}.")
        assert [unit["text"] for unit in line["units"] if unit["level"] == "claim"] == [first[line["response"]]]
    assert len(first) == 18, "four of the 22 ask the same"
    assert any(first[line["response"]] != f"Claim {of[line['id']]}." for line in lines)


def test_what_is_missing_is_named(source: Path) -> None:
    """A shard that is not done, a store that was lost on its way, an input that was moved."""
    folder = source.parent / "all"
    with pytest.raises(ConfigError, match=r"contains no shards\.json"):
        merged(source)
    folder.mkdir()
    (folder / "shards.json").write_text("[]")
    with pytest.raises(ConfigError, match="not written by run --shard"):
        merged(source)
    (folder / "shards.json").unlink()
    api.run(str(source), shard(source, 2)).store.close()
    with pytest.raises(ConfigError) as raised:
        merged(source)
    typed = f"ragstone run {source} -o {folder} -m grounding --shard 1/3"
    assert str(raised.value) == f"{folder}: shards 1, 3 of 3 are missing or incomplete; run: {typed}"
    for number in (1, 3):
        api.run(str(source), shard(source, number)).store.close()
    whole = merged(source)
    lost = folder / "shards" / "00003-of-00003.db"
    lost.write_bytes(lost.read_bytes()[:-4096])
    with pytest.raises(ConfigError, match=r"shard 3 of 3 is missing or incomplete; run: .* --shard 3/3"):
        merged(source)
    api.run(str(source), shard(source, 3)).store.close()
    assert merged(source) == whole
    moved = source.rename(source.with_name("moved.jsonl"))
    options = RunOptions(store=source.parent / "merged.db", report=False)
    api.merge(folder, moved, options).store.close()
    assert (folder / "results.jsonl").read_bytes() == whole.replace(source.name.encode() + b":", b"moved.jsonl:")
    assert ranges([3, 7, 8, 9, 12]) == "3, 7-9, 12"


def test_without_its_marker_a_shard_replays(source: Path) -> None:
    """One that ends early hands in what it has, and goes on from it on another machine; a done one is not run again."""
    with FakeServer() as server:
        judge = f"vllm:any@{server.url}"
        with pytest.raises(BudgetReached, match="max-calls"):
            api.run(str(source), shard(source, 1, judge=judge, max_calls=4 * OF))
        assert server.count == 4
        server.reset()
        api.run(str(source), shard(source, 1, "elsewhere", judge=judge)).store.close()
        needed = len(Store(next((source.parent / "machineelsewhere" / "shards").glob("*.db"))).call_keys())
        assert server.count == needed - 4
        again = api.run(str(source), shard(source, 1, "third", judge=judge))
        assert server.count == needed - 4
        assert again.status == "done"
        with pytest.raises(ConfigError, match="were started without --refresh; use another folder with -o"):
            api.run(str(source), shard(source, 1, "third", judge=judge, refresh=True))
        fresh = replace(shard(source, 1, "third", judge=judge, refresh=True), out=source.parent / "fresh")
        for _ in range(2):
            api.run(str(source), fresh).store.close()
            assert server.count == 2 * needed - 4


@pytest.mark.parametrize(("changed", "said"), [
    ({"metrics": "groundedness"}, "groundedness changed from not evaluated|grounding changed from .* to not evaluated"),
    ({"repeat": 2}, "repeat changed from 1 to 2"),
    ({"limit": 5}, "records changed from 22 to 5"),
    ({"shard": "1/4"}, "shards changed from 3 to 4"),
])  # fmt: skip
def test_a_shard_of_something_else_is_refused(source: Path, changed: dict[str, Any], said: str) -> None:
    """Other metrics, parameters, records or another number of shards: one line says what differs."""
    api.run(str(source), shard(source, 1)).store.close()
    options = shard(source, 2, **{name: value for name, value in changed.items() if name != "shard"})
    if "shard" in changed:
        options = RunOptions(metrics="grounding", out=options.out, **changed)
    with pytest.raises(ConfigError, match=f"contains shards of another run: .*({said}).*; use another folder with -o"):
        api.run(str(source), options)
    with pytest.raises(ConfigError, match="its shards were started without --set; use another folder with -o"):
        api.run(str(source), shard(source, 2, parameters={"grounding": {"threshold": 0.9}}))
    source.write_text(source.read_text().replace("noon", "nine"))
    with pytest.raises(ConfigError, match="its input had different records"):
        api.run(str(source), shard(source, 2))


def test_what_a_shard_cannot_have(source: Path) -> None:
    """It needs a folder, files and a store of its own, which it hands in."""
    for options, said in (
        (RunOptions(shard="1/3"), "add -o DIR"),
        (shard(source, 1, no_cache=True), "cannot be used with --no-cache"),
    ):
        with pytest.raises(ConfigError, match=said):
            api.run(str(source), options)
    with pytest.raises(ConfigError, match="shards need input files"):
        api.run([{"question": "a", "response": "b", "contexts": ["c"]}], shard(source, 1))


def test_what_ray_needs(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra, a folder, and no other way to share the records: one line each."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"--engine ray needs Ray; install it with: pip install 'ragstone\[ray\]'"):
        api.run(str(source), RunOptions(engine="ray", out=source.parent / "all"))
    for options, said in (
        ({"address": "auto"}, "--address is for a Ray cluster; add --engine ray"),
        ({"engine": "ray", "shard": "1/3"}, "--engine ray evaluates all shards; remove --shard"),
        ({"engine": "ray", "batch": True}, "--batch cannot be combined with --engine ray"),
    ):
        with pytest.raises(ConfigError, match=said):
            api.run(str(source), RunOptions(**options))


def test_a_store_on_a_network_file_system_is_refused(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its type and its place; a local disk below it is fine."""
    place = source.parent
    mounts = place / "mountinfo"
    mounts.write_text(
        "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
        f"31 27 0:5 / {place} rw shared:1 - nfs4 server:/home rw\n"
        f"32 31 8:1 / {place}/machine2 rw - ext4 /dev/vdb rw\n"
        f"33 27 0:6 / {place}/a\\040b rw - fuse.sshfs host: rw\n"
    )
    real = Path
    monkeypatch.setattr(connection, "Path", lambda name: mounts if str(name) == "/proc/self/mountinfo" else real(name))
    with pytest.raises(
        ConfigError, match=rf"on a network file system \(nfs4 at {place}\).*use a local one with --store"
    ):
        api.run(str(source), shard(source, 1))
    assert connection.network_mount(place / "a b" / "s.db") == f"fuse.sshfs at {place}/a b"
    assert connection.network_mount("/var/s.db") == ""
    api.run(str(source), shard(source, 2)).store.close()
