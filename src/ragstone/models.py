"""Find and run small local models: an ONNX file with its tokenizer, from a folder or the Hugging Face hub.

A model is ``config.json``, ``tokenizer.json`` and one ONNX file. Nothing else is read: no pickle is loaded and no
third-party code runs. A hub model is pinned to a commit: known models to the one listed by their user (``ModelUser``),
others to the commit of ``main`` when first downloaded. The hub's cache names each file by its hash, and each file is
hashed again whenever its model is loaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct

from ragstone.errors import BackendError, ConfigError

PACKAGES: Final = ("onnxruntime", "tokenizers", "huggingface_hub", "numpy")
LONGEST: Final = 512
"""Maximum number of tokens given to a model, even if it accepts more."""
SPECIAL: Final = 4
"""Maximum number of special tokens that a tokenizer adds to a text or pair."""
INPUTS: Final = frozenset(("input_ids", "attention_mask", "token_type_ids"))

_CONFIG: Final = "config.json"
_TOKENIZER: Final = "tokenizer.json"
_ANY_CPU: Final = ("onnx/model_quantized.onnx", "onnx/model.onnx", "model.onnx")
_NAME: Final = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_CPU_FLAGS: Final = Path("/proc/cpuinfo")


class ModelUser(NamedTuple):
    """The feature that uses a model, for messages.

    ``name`` starts a message, ``subject`` is what needs missing packages, and ``written`` is the template of a model's
    name. ``known`` has the commits of known, complete models.
    """

    name: str
    subject: str
    written: str
    known: Mapping[str, str]


class OnnxFiles(Struct, frozen=True):
    """A model's files, whose hashes have been verified.

    ``revision`` is the commit on the hub, empty for a folder. ``settings`` is the content of ``config.json``.
    ``window`` is the maximum number of tokens. ``digest`` is a hash of all files (12 hex digits).
    """

    user: ModelUser
    name: str
    revision: str
    onnx: Path
    tokenizer: Path
    settings: Mapping[str, Any]
    window: int
    digest: str


def locate(name: str, user: ModelUser) -> OnnxFiles:
    """Find a model: a folder, or ``ORG/MODEL[@REVISION]`` on the hub.

    Raises ConfigError if the model cannot be used, and BackendError if it cannot be downloaded.
    """
    if missing := next((package for package in PACKAGES if importlib.util.find_spec(package) is None), ""):
        raise ConfigError(f'{user.subject} needs {missing}; pip install "ragstone[nli]"')
    folder = Path(name).expanduser()
    if folder.is_dir():
        return _checked(
            user, folder.resolve().name, "", folder / _CONFIG, folder / _TOKENIZER, _only_onnx(folder, user)
        )
    match = _NAME.fullmatch(name)
    if match is None or name.startswith(("./", "../")):
        model = user.written.format("ORG/MODEL[@REVISION]")
        raise ConfigError(
            f"'{user.written.format(name)}': no such folder; for a model on the Hugging Face hub, write {model}"
        )
    return _on_hub(user, match[1], match[2] or user.known.get(match[1], "main"))


def short_name(name: str) -> str:
    """Return the name of a model for ids: without the revision or, for a folder, without its parents."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.resolve().name
    return name.partition("@")[0]


# ---- a folder


def _only_onnx(folder: Path, user: ModelUser) -> Path:
    found = sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    for wanted in (*_of_this_cpu(), *_ANY_CPU):
        if folder / wanted in found:
            return folder / wanted
    if not found:
        raise ConfigError(
            f"{user.name}: {folder} has no .onnx file; a model needs {_CONFIG}, {_TOKENIZER} and an .onnx file"
        )
    if len(found) > 1:
        raise ConfigError(f"{user.name}: {folder} has {len(found)} .onnx files; expected one, or one named model.onnx")
    return found[0]


def _of_this_cpu() -> Iterator[str]:
    """Yield the usual names of files quantized for this processor, fastest first."""
    machine = platform.machine().lower()
    if machine in {"arm64", "aarch64"}:
        yield "onnx/model_qint8_arm64.onnx"
    elif machine in {"x86_64", "amd64"}:
        flags = _CPU_FLAGS.read_text(errors="replace") if _CPU_FLAGS.exists() else ""
        yield from (f"onnx/model_qint8_{kind}.onnx" for kind in ("avx512_vnni", "avx512") if kind in flags)
        yield "onnx/model_quint8_avx2.onnx"


# ---- the hub


def _on_hub(user: ModelUser, repo: str, revision: str) -> OnnxFiles:
    import huggingface_hub as hub  # noqa: PLC0415 - an extra, and slow to load
    from huggingface_hub import errors  # noqa: PLC0415 - the same

    folder = user.written.format("FOLDER")

    def fetch(file: str, revision: str) -> Path | None:
        """Return a file, from the cache if possible; None if the model has no such file."""
        known = hub.try_to_load_from_cache(repo, file, revision=revision)
        if isinstance(known, str):
            return Path(known)
        if known is not None:  # cached as missing on the hub
            return None
        try:
            if file == _CONFIG:  # fails at once, unlike a download, which retries for half a minute
                hub.get_hf_file_metadata(hub.hf_hub_url(repo, file, revision=revision))
            return Path(hub.hf_hub_download(repo, file, revision=revision))
        except errors.RemoteEntryNotFoundError:
            return None
        except errors.GatedRepoError as error:
            raise ConfigError(
                f"{user.name}: {repo} requires you to accept its licence; do so on the model's page, and set HF_TOKEN"
            ) from error
        except errors.RepositoryNotFoundError as error:
            raise ConfigError(
                f"{user.name}: no folder {repo}, and no public model of that name on the hub; check its name, or set "
                "HF_TOKEN"
            ) from error
        except errors.RevisionNotFoundError as error:
            raise ConfigError(f"{user.name}: the model {repo} has no revision '{revision}'") from error
        except errors.OfflineModeIsEnabled as error:
            raise BackendError(
                f"{user.name}: {repo} is not on this computer, and HF_HUB_OFFLINE is set",
                hint=f"run once without HF_HUB_OFFLINE, or specify a folder: {folder}",
            ) from error
        except (OSError, ValueError, errors.HTTPError) as error:
            said = str(error.__cause__ or error).strip().partition("\n")[0]
            raise BackendError(
                f"{user.name}: cannot download {file} of {repo}: {said}",
                hint=f"check the network and run the same command again, or specify a folder: {folder}",
            ) from error

    config = fetch(_CONFIG, revision)
    if config is None:
        raise ConfigError(f"{user.name}: the model {repo} has no {_CONFIG}")
    commit = config.parent.name
    tokenizer = fetch(_TOKENIZER, commit)
    onnx = next(filter(None, (fetch(file, commit) for file in (*_of_this_cpu(), *_ANY_CPU))), None)
    if tokenizer is None or onnx is None:
        absent = _TOKENIZER if tokenizer is None else "ONNX file with a usual name, such as onnx/model.onnx"
        raise ConfigError(f"{user.name}: the model {repo} has no {absent}")
    return _checked(user, repo, commit, config, tokenizer, onnx)


# ---- checks


def _checked(user: ModelUser, name: str, revision: str, config: Path, tokenizer: Path, onnx: Path) -> OnnxFiles:
    made = hashlib.sha256()
    for path in (config, tokenizer, onnx):
        made.update(_hash_of(path, name, user).encode())
    try:
        settings = json.loads(config.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{user.name}: {name}: {_CONFIG} is not JSON: {error}") from error
    if not isinstance(settings, dict):
        raise ConfigError(f"{user.name}: {name}: {_CONFIG} is not an object")
    most = settings.get("max_position_embeddings")
    return OnnxFiles(
        user=user,
        name=name,
        revision=revision,
        onnx=onnx,
        tokenizer=tokenizer,
        settings=settings,
        window=min(LONGEST, most if isinstance(most, int) and most > 0 else LONGEST),
        digest=made.hexdigest()[:12],
    )


def _hash_of(path: Path, name: str, user: ModelUser) -> str:
    """Return the SHA-256 of a file; raise ConfigError if it differs from the hash in its cache name."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            named = path.resolve().name  # the hub's cache links to a file named by its SHA-256 or git hash
            if len(named) == 40 and _COMMIT.fullmatch(named):
                file.seek(0)
                same = named == hashlib.sha1(b"blob %d\0" % path.stat().st_size + file.read()).hexdigest()  # noqa: S324
            else:
                same = named == found or not re.fullmatch("[0-9a-f]{64}", named)
    except OSError as error:
        raise ConfigError(f"{user.name}: {name}: cannot read {path.name} ({error.strerror})") from error
    if not same:
        raise ConfigError(f"{user.name}: {name}: {path.name} is damaged: its hash has changed; delete {path.resolve()}")
    return found


# ---- running one


class OnnxModel:
    """A loaded model with its tokenizer; runs one text or pair at a time. Raises BackendError for unsuitable files."""

    def __init__(self, files: OnnxFiles) -> None:
        import numpy as np  # noqa: PLC0415 - comes with onnxruntime
        import onnxruntime  # noqa: PLC0415 - an extra, and slow to load
        import tokenizers  # noqa: PLC0415 - the same

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._array = np.array
        self.files = files
        path = files.tokenizer
        try:
            self.tokenizer = tokenizers.Tokenizer.from_file(str(path))
            path = files.onnx
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise bare exceptions for unreadable files
            raise self.unusable(f"{path.name} cannot be loaded: {str(error).splitlines()[0]}") from error
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self._inputs = [one.name for one in self._session.get_inputs()]
        if set(self._inputs) - INPUTS or "input_ids" not in self._inputs:
            raise self.unusable(f"expected the inputs input_ids and attention_mask, found {', '.join(self._inputs)}")

    def run(self, encoded: Any) -> Any:
        """Return the model's first output for an encoded text, as a numpy array."""
        given = {
            "input_ids": encoded.ids, "attention_mask": encoded.attention_mask, "token_type_ids": encoded.type_ids,
        }  # fmt: skip
        return self._session.run(None, {name: self._array([given[name]], dtype="int64") for name in self._inputs})[0]

    def cut(self, text: str, tokens: int) -> list[tuple[int, int]]:
        """Divide a text into parts of ``tokens`` tokens; return their offsets."""
        offsets = self.tokenizer.encode(text, add_special_tokens=False).offsets
        starts = [offsets[at][0] for at in range(0, len(offsets), tokens)] or [0]
        return list(zip([0, *starts[1:]], [*starts[1:], len(text)], strict=True))

    def unusable(self, why: str) -> BackendError:
        """Return the error for unsuitable files."""
        return BackendError(f"{self.files.user.name}: {self.files.name}: {why}", fatal=True)


class SentenceEncoder(OnnxModel):
    """A sentence-embedding model: the mean of the token vectors, normalized to length 1."""

    def __init__(self, files: OnnxFiles) -> None:
        super().__init__(files)
        if (found := self.run(self.tokenizer.encode("a")).ndim) != 3:
            raise self.unusable(f"expected a vector for each token, found an output with {found} dimensions")

    def encode(self, text: str) -> tuple[float, ...]:
        """Return the vector of a text; a long text is encoded in parts, with equal weight for every token."""
        total: list[float] = []
        for start, end in self.cut(text, self.files.window - SPECIAL):
            part = self.run(self.tokenizer.encode(text[start:end]))[0].sum(axis=0).tolist()
            total = [one + other for one, other in zip(total, part, strict=True)] if total else part
        length = math.sqrt(math.fsum(one * one for one in total))
        return tuple(one / length for one in total) if length else tuple(total)
