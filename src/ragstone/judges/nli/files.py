"""Find a model's files, in a folder or on the Hugging Face hub, and check them.

A model is ``config.json`` with the names of its classes, ``tokenizer.json``, and one ONNX file. Nothing else is read:
no pickle is loaded, and no code of others runs. A model on the hub has a commit: those of known models stand here,
another's is that of ``main`` when it was first downloaded, and stays so. The hub's cache names each file by its hash,
and each file is hashed again whenever its model is loaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ragstone.errors import BackendError, ConfigError
from ragstone.judges.spec import NLI_MODEL

KNOWN: Final[Mapping[str, str]] = {
    NLI_MODEL: "6c749ce3425cd33b46d187e45b92bbf96ee12ec7",
    "cross-encoder/nli-deberta-v3-xsmall": "a150876415327c80daeff35ca6f68f5ed8cf5c24",
    "Xenova/nli-deberta-v3-xsmall": "4ce66096a56eb536b4b9e437f27ef42c24aeae51",
}
"""Commits that have all files that are needed. The two cross-encoders are under Apache-2.0."""
PACKAGES: Final = ("onnxruntime", "tokenizers", "huggingface_hub", "numpy")
LONGEST: Final = 512
"""Tokens that a model is given at most, also where it takes more."""

_CONFIG: Final = "config.json"
_TOKENIZER: Final = "tokenizer.json"
_ANY_CPU: Final = ("onnx/model_quantized.onnx", "onnx/model.onnx", "model.onnx")
_NAME: Final = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_CPU_FLAGS: Final = Path("/proc/cpuinfo")

_ENTAILMENT: Final = frozenset(("entailment", "entails", "entailed", "supported", "supports", "support"))
_CONTRADICTION: Final = frozenset(("contradiction", "contradicts", "contradicted", "refuted", "refutes"))
_NEITHER: Final = frozenset(
    ("neutral", "not entailment", "non entailment", "not entailed", "not supported", "unsupported", "not enough info")
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's files, which are what their hashes say.

    ``revision`` is its commit on the hub, empty for a folder. ``classes`` is their number, ``entailment`` and
    ``contradiction`` are their places (None: the model has no such class), ``window`` the tokens that it takes.
    ``digest`` is twelve hex digits of all three files.
    """

    name: str
    revision: str
    onnx: Path
    tokenizer: Path
    classes: int
    entailment: int
    contradiction: int | None
    window: int
    digest: str


def locate(name: str) -> ModelFiles:
    """Find a model: a folder, or ``ORG/MODEL[@REVISION]`` on the hub.

    ConfigError if the model cannot be used, BackendError if it cannot be downloaded.
    """
    if missing := [package for package in PACKAGES if importlib.util.find_spec(package) is None]:
        raise ConfigError(f'the judge nli needs {missing[0]}; pip install "ragstone[nli]"')
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _checked(folder.resolve().name, "", folder / _CONFIG, folder / _TOKENIZER, _only_onnx(folder))
    match = _NAME.fullmatch(name)
    if match is None or name.startswith(("./", "../")):
        raise ConfigError(f"judge 'nli:{name}': no such folder; a model of the hub is nli:ORG/MODEL[@REVISION]")
    return _on_hub(match[1], match[2] or KNOWN.get(match[1], "main"))


def short_name(name: str) -> str:
    """Return the name of a model for ids: without its revision, and of a folder only its own name."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.resolve().name
    return name.partition("@")[0]


# ---- a folder


def _only_onnx(folder: Path) -> Path:
    found = sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    for wanted in (*_of_this_cpu(), *_ANY_CPU):
        if folder / wanted in found:
            return folder / wanted
    if not found:
        raise ConfigError(f"nli: {folder} has no .onnx file; a model is {_CONFIG}, {_TOKENIZER} and an .onnx file")
    if len(found) > 1:
        raise ConfigError(f"nli: {folder} has {len(found)} .onnx files; expected one, or one named model.onnx")
    return found[0]


def _of_this_cpu() -> Iterator[str]:
    """Yield the usual names of files that are quantized for this processor, the fastest first."""
    machine = platform.machine().lower()
    if machine in {"arm64", "aarch64"}:
        yield "onnx/model_qint8_arm64.onnx"
    elif machine in {"x86_64", "amd64"}:
        flags = _CPU_FLAGS.read_text(errors="replace") if _CPU_FLAGS.exists() else ""
        yield from (f"onnx/model_qint8_{kind}.onnx" for kind in ("avx512_vnni", "avx512") if kind in flags)
        yield "onnx/model_quint8_avx2.onnx"


# ---- the hub


def _on_hub(repo: str, revision: str) -> ModelFiles:
    import huggingface_hub as hub  # noqa: PLC0415 - an extra, and slow to load
    from huggingface_hub import errors  # noqa: PLC0415 - the same

    def fetch(file: str, revision: str) -> Path | None:
        """Return a file, from the cache if it is there; None if the model has no such file."""
        known = hub.try_to_load_from_cache(repo, file, revision=revision)
        if isinstance(known, str):
            return Path(known)
        if known is not None:  # the hub said earlier that there is none
            return None
        try:
            if file == _CONFIG:  # fails at once, where a download tries for half a minute
                hub.get_hf_file_metadata(hub.hf_hub_url(repo, file, revision=revision))
            return Path(hub.hf_hub_download(repo, file, revision=revision))
        except errors.RemoteEntryNotFoundError:
            return None
        except errors.GatedRepoError as error:
            raise ConfigError(
                f"nli: {repo} asks for consent to its licence; give it on the model's page, and set HF_TOKEN"
            ) from error
        except errors.RepositoryNotFoundError as error:
            raise ConfigError(
                f"nli: no folder {repo}, nor a public model on the hub; check its name, or set HF_TOKEN"
            ) from error
        except errors.RevisionNotFoundError as error:
            raise ConfigError(f"nli: the model {repo} has no revision '{revision}'") from error
        except errors.OfflineModeIsEnabled as error:
            raise BackendError(
                f"nli: {repo} is not on this computer, and HF_HUB_OFFLINE is set",
                hint="run once without HF_HUB_OFFLINE, or name a folder: nli:FOLDER",
            ) from error
        except (OSError, ValueError, errors.HTTPError) as error:
            said = str(error.__cause__ or error).strip().partition("\n")[0]
            raise BackendError(
                f"nli: cannot download {file} of {repo}: {said}",
                hint="check the network and run the same command again, or name a folder: nli:FOLDER",
            ) from error

    config = fetch(_CONFIG, revision)
    if config is None:
        raise ConfigError(f"nli: the model {repo} has no {_CONFIG}")
    commit = config.parent.name
    tokenizer, onnx = fetch(_TOKENIZER, commit), _first(lambda file: fetch(file, commit))
    for path, what in ((tokenizer, _TOKENIZER), (onnx, "ONNX file with a usual name, such as onnx/model.onnx")):
        if path is None:
            raise ConfigError(f"nli: the model {repo} has no {what}")
    assert tokenizer is not None
    assert onnx is not None
    return _checked(repo, commit, config, tokenizer, onnx)


def _first(fetch: Callable[[str], Path | None]) -> Path | None:
    return next(filter(None, map(fetch, (*_of_this_cpu(), *_ANY_CPU))), None)


# ---- checks


def _checked(name: str, revision: str, config: Path, tokenizer: Path, onnx: Path) -> ModelFiles:
    made = hashlib.sha256()
    for path in (config, tokenizer, onnx):
        made.update(_hash_of(path, name).encode())
    settings = _settings(config, name)
    labels = _labels(settings, name)
    most = settings.get("max_position_embeddings")
    return ModelFiles(
        name=name,
        revision=revision,
        onnx=onnx,
        tokenizer=tokenizer,
        classes=len(labels),
        entailment=labels.index(1),
        contradiction=labels.index(-1) if -1 in labels else None,
        window=min(LONGEST, most if isinstance(most, int) and most > 0 else LONGEST),
        digest=made.hexdigest()[:12],
    )


def _hash_of(path: Path, name: str) -> str:
    """Return the SHA-256 of a file; ConfigError if it is not what the hub's cache has named it after."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            named = path.resolve().name  # the hub's cache links to a file named by its SHA-256, or as git names it
            if len(named) == 40 and _COMMIT.fullmatch(named):
                file.seek(0)
                same = named == hashlib.sha1(b"blob %d\0" % path.stat().st_size + file.read()).hexdigest()  # noqa: S324
            else:
                same = named == found or not re.fullmatch("[0-9a-f]{64}", named)
    except OSError as error:
        raise ConfigError(f"nli: {name}: cannot read {path.name} ({error.strerror})") from error
    if not same:
        raise ConfigError(f"nli: {name}: {path.name} is damaged: its hash has changed; delete {path.resolve()}")
    return found


def _settings(path: Path, name: str) -> Mapping[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"nli: {name}: {_CONFIG} is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise ConfigError(f"nli: {name}: {_CONFIG} is not an object")
    return settings


def _labels(settings: Mapping[str, Any], name: str) -> Sequence[int]:
    """Return for each class 1 (entailment), -1 (contradiction) or 0, in the order of the model's output."""
    given = settings.get("id2label")
    count = len(given) if isinstance(given, dict) else 0
    labels = [str(given.get(str(place), "")) for place in range(count)] if isinstance(given, dict) else []
    plain = [" ".join(re.split(r"[\W_]+", label.lower())).strip() for label in labels]
    kinds = [1 if one in _ENTAILMENT else -1 if one in _CONTRADICTION else 0 for one in plain]
    unknown = [label for label, one, kind in zip(labels, plain, kinds, strict=True) if not kind and one not in _NEITHER]
    if count not in {2, 3} or unknown or kinds.count(1) != 1 or kinds.count(-1) > 1:
        raise ConfigError(
            f"nli: {name}: cannot tell its classes from id2label in {_CONFIG}: {', '.join(labels) or 'no names'}; "
            "expected entailment with neutral, contradiction or not_entailment"
        )
    return kinds
