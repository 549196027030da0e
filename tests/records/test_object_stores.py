"""Inputs, results and shards in a real S3 server on loopback, and one clear line for what goes wrong there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from ragstone import api
from ragstone.errors import ConfigError, InputError
from ragstone.options import RunOptions
from ragstone.records import object_stores, open_records

ROWS = [
    {"id": f"r{n}", "question": "What boils?", "response": f"Kettle {n} boils.", "contexts": [f"Kettle {n} boils."]}
    for n in range(9)
]


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """moto's server, and the variables by which s3fs finds it."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield running
    running.stop()


@pytest.fixture
def bucket(server: Any) -> Iterator[Any]:
    """A file system with a bucket ``b`` that holds parts of an input."""
    import fsspec

    system = fsspec.filesystem("s3", skip_instance_cache=True)
    system.mkdir("bkt")
    for number in range(3):
        system.pipe_file(f"bkt/in/part-{number}.jsonl", lines(ROWS[3 * number : 3 * number + 3]))
    system.pipe_file("bkt/in/_SUCCESS", b"")
    yield system
    if system.exists("bkt"):
        system.rm("bkt", recursive=True)


def run(source: str, folder: Path, **more: Any) -> None:
    options = RunOptions("grounding", store=folder / "s.db", report=False, name="r", **more)
    api.run(source, options).store.close()


def test_parts_in_and_results_out(bucket: Any, tmp_path: Path) -> None:
    """A folder of parts is one input, from S3 as from disk, and results go to S3 as to a folder."""
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"part-{number}.jsonl").write_bytes(lines(ROWS[3 * number : 3 * number + 3]))
    (tmp_path / "in" / "_SUCCESS").write_bytes(b"")
    run(f"{tmp_path}/in", tmp_path, out=tmp_path / "out")
    object_stores._system.cache_clear()
    run("s3://bkt/in/", tmp_path, out="s3://bkt/out")
    assert object_stores._system.cache_info().misses == 1, "connecting takes longer than reading a file"
    assert bucket.cat_file("bkt/out/results.jsonl") == (tmp_path / "out" / "results.jsonl").read_bytes()
    assert {name.rpartition("/")[2] for name in bucket.ls("bkt/out")} == {"results.jsonl", "run.json", "summary.json"}
    assert [record.id for record in open_records("s3://bkt/in/part-1.jsonl")] == ["r3", "r4", "r5"]


def test_a_server_that_is_too_busy_is_asked_again(
    server: Any, bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each request is refused once, from the first to read to the last to write."""
    app, refused = server._server.app, set()

    def busy(environ: dict[str, Any], start: Any) -> Any:
        request = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if request in refused:
            return app(environ, start)
        refused.add(request)
        start("503 Slow Down", [("Content-Type", "application/xml")])
        return [b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"]

    monkeypatch.setattr(server._server, "app", busy)
    run("s3://bkt/in/part-0.jsonl", tmp_path, out="s3://bkt/out")
    monkeypatch.undo()
    assert {("GET", "/bkt/in/part-0.jsonl"), ("PUT", "/bkt/out/results.jsonl")} <= refused
    assert bucket.cat_file("bkt/out/results.jsonl").count(b"\n") == 3


def test_shards_meet_there(bucket: Any, tmp_path: Path) -> None:
    """Machines with no disk in common hand in their shards; the merge names one that was lost on its way."""
    for number in (1, 2):
        run("s3://bkt/in", tmp_path / f"machine{number}", shard=f"{number}/2", out="s3://bkt/all")
    whole = bucket.cat_file("bkt/all/shards/00002-of-00002.db")
    options = RunOptions(store=tmp_path / "merged.db", report=False)
    bucket.pipe_file("bkt/all/shards/00002-of-00002.db", whole[:-4096])
    with pytest.raises(
        ConfigError, match=r"shard 2 of 2 is missing or incomplete; run: .* s3://bkt/in -o s3://bkt/all"
    ):
        api.merge("s3://bkt/all", None, options)
    run("s3://bkt/in", tmp_path / "machine2", shard="2/2", out="s3://bkt/all")
    api.merge("s3://bkt/all", None, options).store.close()
    run("s3://bkt/in", tmp_path, out=tmp_path / "alone")
    assert bucket.cat_file("bkt/all/results.jsonl") == (tmp_path / "alone" / "results.jsonl").read_bytes()


def test_what_is_not_there(bucket: Any, tmp_path: Path) -> None:
    """A missing object, an empty folder, and a bucket that vanished while a run was on: one line that names it."""
    with pytest.raises(ConfigError, match=r"^s3://bkt/none\.jsonl: no such file or bucket$"):
        open_records("s3://bkt/none.jsonl")
    with pytest.raises(ConfigError, match=r"^s3://none/in/: no such file or bucket$"):
        open_records("s3://none/in/")
    with pytest.raises(ConfigError, match=r"^s3://none/out/run\.json: no such file or bucket$"):
        run("s3://bkt/in", tmp_path, out="s3://none/out")
    assert not (tmp_path / "s.db").exists(), "before the run"
    options = RunOptions(
        "grounding", store=tmp_path / "s.db", report=False, out="s3://bkt/out",
        on_start=lambda _progress: bucket.rm("bkt", recursive=True),
    )  # fmt: skip
    with pytest.raises(ConfigError, match=r"^s3://bkt/out/results\.jsonl: no such file or bucket"):
        api.run("s3://bkt/in", options)
    assert api.open_run("last", tmp_path / "s.db").status == "done"


def test_wrong_credentials(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that the server does not know, and none at all, are told without a traceback."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong")
    monkeypatch.setenv("AWS_ENDPOINT_URL", os.environ["AWS_ENDPOINT_URL"])
    reset = f"{os.environ['AWS_ENDPOINT_URL']}/moto-api/reset-auth"
    urlopen(Request(reset, b"0", {"Content-Type": "text/plain"}), timeout=10).close()
    try:
        with pytest.raises(ConfigError, match=r"^s3://bkt/in/: access denied .*; check the credentials of s3://$"):
            open_records("s3://bkt/in/")
    finally:
        urlopen(Request(reset, b"inf", {"Content-Type": "text/plain"}), timeout=10).close()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(ConfigError, match=r"^s3://bkt/in/: "):
        open_records("s3://bkt/in/")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install is said."""
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(InputError, match=r"pip install 'ragstone\[cloud\]' gcsfs"):
        open_records("gs://bkt/in.jsonl")
    assert not object_stores.is_address("./s3/in.jsonl")
    with pytest.raises(ConfigError, match="a store is a file on a local disk"):
        api.open_store("s3://bkt/ragstone.db")


def test_a_folder_of_this_machine(tmp_path: Path) -> None:
    """Its files are read in the order of their names, those of a job's bookkeeping left out; ids stay unique."""
    (tmp_path / "b.jsonl").write_bytes(lines(ROWS[:2]))
    (tmp_path / "a.jsonl").write_bytes(lines(ROWS[1:3]))
    (tmp_path / "_SUCCESS").write_bytes(b"")
    found = list(open_records(tmp_path))
    assert [record.id for record in found] == ["r1", "r2", "r0", "r1#2"]
    assert "run_id" not in found[0].meta  # type: ignore[union-attr]
