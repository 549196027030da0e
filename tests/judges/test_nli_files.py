"""Finding a model of inference: in a folder, or on a hub that answers as the real one does. Each fault is one line."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("huggingface_hub")

import huggingface_hub
from huggingface_hub import constants
from nli_model import make_model

from ragstone import models
from ragstone.errors import BackendError, ConfigError
from ragstone.judges.nli.reader import ModelFiles, Reader, locate

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "lab/reader"
TEXTS = ("The lid is steel.",)


class Hub:
    """A hub on the loopback interface: what it has, and how it fails."""

    def __init__(self, folder: Path) -> None:
        self.files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        self.asked: list[str] = []
        self.failing: dict[str, tuple[int, str]] = {}
        self.truncated = ""
        self.address = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """``/ORG/MODEL/resolve/REVISION/FILE``, with the headers of the hub."""
        _, org, model, _, revision, file = handler.path.split("/", 5)
        self.asked.append(f"{handler.command} {file}")
        status, code = self.failing.get(file, (200, ""))
        if f"{org}/{model}" != REPO:
            status, code = 401, "RepoNotFound"
        elif revision not in ("main", COMMIT):
            status, code = 404, "RevisionNotFound"
        elif file not in self.files:
            status, code = 404, "EntryNotFound"
        content = self.files.get(file, b"")
        large = file.endswith(".onnx")
        named = hashlib.sha256(content) if large else hashlib.sha1(b"blob %d\0" % len(content) + content)
        handler.send_response(status)
        handler.send_header("X-Repo-Commit", COMMIT)
        handler.send_header("ETag", f'"{named.hexdigest()}"')
        handler.send_header("Content-Length", str(len(content) if status == 200 else 0))
        if code:
            handler.send_header("X-Error-Code", code)
        handler.end_headers()
        if handler.command == "GET" and status == 200:
            handler.wfile.write(content[:-100] if file == self.truncated else content)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    made = Hub(make_model(tmp_path / "published", TEXTS, onnx_file="onnx/model.onnx"))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.answer(self)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    made.address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{made.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield made
    huggingface_hub.close_session()
    server.shutdown()
    thread.join()
    server.server_close()


def cached(tmp_path: Path, name: str) -> Path:
    return tmp_path / "cache" / "models--lab--reader" / "snapshots" / COMMIT / name


def test_a_model_is_downloaded_once_and_main_is_kept_as_the_commit_it_was(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = locate(REPO)
    assert (found.revision, found.classes, found.entailment, found.contradiction) == (COMMIT, 3, 1, 0)
    assert Reader(found).read("The lid is steel.", "The lid is steel.").entailment > 0.9
    got = [asked for asked in hub.asked if asked.startswith("GET")]
    assert sorted(got) == ["GET config.json", "GET onnx/model.onnx", "GET tokenizer.json"]
    hub.asked.clear()
    hub.files["config.json"] = b"{}"  # main has moved on
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert locate(REPO) == found
    assert locate(f"{REPO}@{COMMIT}") == found
    assert hub.asked == []


def test_a_file_for_this_processor_comes_before_others(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub.files["onnx/model_qint8_arm64.onnx"] = hub.files["onnx/model_quint8_avx2.onnx"] = hub.files["onnx/model.onnx"]
    hub.files["onnx/model_qint8_avx512.onnx"] = hub.files["onnx/model.onnx"]
    for machine, flags, wanted in (
        ("arm64", "", "model_qint8_arm64.onnx"),
        ("AMD64", "avx2", "model_quint8_avx2.onnx"),
        ("x86_64", "avx2 avx512f avx512_vnni", "model_qint8_avx512.onnx"),  # this model has none for vnni
        ("riscv64", "", "model.onnx"),
    ):
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        monkeypatch.setattr(models, "_CPU_FLAGS", tmp_path / "cpuinfo")
        (tmp_path / "cpuinfo").write_text(flags)
        assert locate(REPO).onnx.name == wanted


@pytest.mark.parametrize(
    ("name", "fault", "said"),
    [
        ("lab/nothing", {}, "no folder lab/nothing, and no public model of that name on the hub; check its name, or"),
        (f"{REPO}@v9", {}, "the model lab/reader has no revision 'v9'"),
        (REPO, {"config.json": (401, "GatedRepo")}, "requires you to accept its licence"),
        (REPO, {"config.json": (404, "EntryNotFound")}, "the model lab/reader has no config.json"),
        (REPO, {"tokenizer.json": (404, "EntryNotFound")}, "the model lab/reader has no tokenizer.json"),
        (REPO, {"onnx/model.onnx": (404, "EntryNotFound")}, "the model lab/reader has no ONNX file with a usual name"),
        (REPO, {"tokenizer.json": (403, "")}, "cannot download tokenizer.json of lab/reader: 403 Forbidden"),
        ("lab", {}, "'nli:lab': no such folder; for a model on the Hugging Face hub, write nli:ORG/MODEL[@REVISION]"),
        ("./lab/reader", {}, "'nli:./lab/reader': no such folder"),
    ],
)
def test_what_the_hub_refuses_is_one_line(hub: Hub, name: str, fault: dict[str, tuple[int, str]], said: str) -> None:
    hub.failing = fault
    with pytest.raises((ConfigError, BackendError)) as error:
        locate(name)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_download_that_ends_early_is_no_model(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)  # the library tries five times, a second apart
    hub.truncated = "onnx/model.onnx"
    with pytest.raises(BackendError, match=r"^nli: cannot download onnx/model.onnx of lab/reader: [^\n]+$") as error:
        locate(REPO)
    assert "run the same command again" in error.value.hint
    assert not cached(tmp_path, "onnx/model.onnx").exists()
    hub.truncated = ""
    assert locate(REPO).revision == COMMIT


@pytest.mark.parametrize("file", ["config.json", "onnx/model.onnx"])
def test_a_file_that_has_changed_on_disk_is_refused(hub: Hub, tmp_path: Path, file: str) -> None:
    locate(REPO)
    blob = cached(tmp_path, file).resolve()
    blob.write_bytes(blob.read_bytes() + b" ")
    with pytest.raises(ConfigError, match=f"{Path(file).name} is damaged: its hash has changed; delete "):
        locate(REPO)


def test_without_a_network_and_a_cache_the_line_says_what_to_do(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template.replace(hub.address, "http://127.0.0.1:9"))
    with pytest.raises(BackendError, match=r"^nli: cannot download config.json of lab/reader: [^\n]+$") as error:
        locate(REPO)
    assert "nli:FOLDER" in error.value.hint
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BackendError, match="lab/reader is not on this computer, and HF_HUB_OFFLINE is set"):
        locate(REPO)
    assert hub.asked == []


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=rf'^the judge nli needs {package}; pip install "ragstone\[nli\]"$'):
        locate(str(tmp_path))


# ---- folders


@pytest.mark.parametrize(
    ("labels", "places"),
    [
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], (2, 0)),
        (["entailment", "neutral", "contradiction"], (0, 2)),
        (["entailment", "not_entailment"], (0, None)),
        (["NOT-SUPPORTED", "Supported"], (1, None)),
    ],
)
def test_the_order_of_classes_is_read_from_the_config(
    tmp_path: Path, labels: list[str], places: tuple[int, int | None]
) -> None:
    found = locate(str(make_model(tmp_path / "m", TEXTS, labels)))
    assert (found.name, found.revision, (found.entailment, found.contradiction)) == ("m", "", places)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (json.dumps({"id2label": {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}}), "LABEL_0, LABEL_1, LABEL_2"),
        (json.dumps({"id2label": {"0": "0", "1": "1"}}), ": 0, 1; expected entailment with"),
        (json.dumps({"id2label": {"0": "entailment"}}), ": entailment; expected"),
        (json.dumps({"id2label": {"0": "entailment", "1": "supported"}}), ": entailment, supported; expected"),
        (json.dumps({"id2label": {"0": "entailment", "1": "neutral", "7": "contradiction"}}), "entailment, neutral, ;"),
        (json.dumps({}), "no names; expected"),
        ("[]", "config.json is not an object"),
        ("{", "config.json is not JSON"),
    ],
)
def test_a_model_whose_classes_cannot_be_told_is_refused_by_name(tmp_path: Path, config: str, said: str) -> None:
    folder = make_model(tmp_path / "odd", TEXTS, config=config)
    with pytest.raises(ConfigError) as error:
        locate(str(folder))
    assert str(error.value).startswith("nli: odd: ")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ((), r"has no \.onnx file; a model needs config\.json, tokenizer\.json and an \.onnx file$"),
        (("a.onnx",), "cannot read config"),
        (("a.onnx", "b.onnx"), r"has 2 \.onnx files"),
    ],
)
def test_a_folder_that_is_no_model_says_what_it_lacks(tmp_path: Path, files: tuple[str, ...], said: str) -> None:
    for file in files:
        (tmp_path / file).write_bytes(b"nothing")
    with pytest.raises(ConfigError, match=said):
        locate(str(tmp_path))


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, file: str) -> None:
    folder = make_model(tmp_path / "m", TEXTS)
    (folder / file).write_text('{"a": 1}')
    with pytest.raises(BackendError, match=rf"^nli: m: {file} cannot be loaded: [^\n]+$") as error:
        Reader(locate(str(folder)))
    assert error.value.fatal


def test_a_graph_that_does_not_fit_its_config_is_refused(tmp_path: Path) -> None:
    found = locate(str(make_model(tmp_path / "m", TEXTS, outputs=2)))
    with pytest.raises(BackendError, match=r"m: 2 outputs for the 3 classes in config.json"):
        Reader(found).read("a", "b")


def test_other_files_are_another_model(tmp_path: Path) -> None:
    def digest(name: str, texts: tuple[str, ...]) -> ModelFiles:
        return locate(str(make_model(tmp_path / name, texts)))

    first, same, other = digest("a", TEXTS), digest("b", TEXTS), digest("c", ("Another word.",))
    assert first.digest == same.digest != other.digest
