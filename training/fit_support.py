"""Fit the embedded judge's support model and write it to ``model.json``.

    python training/fit_support.py [--data ../shared/data] [--out src/ragstone/judges/embedded/model.json]

There are two steps: count how rare English stems are in the training contexts, and fit the support model, a logistic
model over ``ragstone.judges.embedded.evidence.Features`` with sign constraints (finding more is never worse). It learns
from natural text only: SummEdits, whose claims are edited by one word, is left to ``slots``, which rejects claims that
contradict the evidence, whatever the probability. Calibration and cuts come from the held-out tenth of the training
contexts. Two runs write identical files. ``dev.jsonl`` is never read here.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

MODEL = Path(__file__).parent.parent / "src/ragstone/judges/embedded/model.json"
BLANK: dict[str, Any] = {"mean": [], "scale": [], "weight": [], "bias": 0.0, "calibration": [1.0, 0.0], "yes": 0.5}
RAREST = 8
"""Contexts that a stem must be in to be counted; rarer ones all weigh the same."""

HELD = 10
"""One in so many contexts is kept back for calibration and cuts."""

SHRINK = 3e-3
"""What keeps weights small: half of it times their squares is added to the mean loss."""

EDITED = "summedits"
"""Data sets that begin so are not learned from."""

YES = 0.5
"""The calibrated probability from which on a claim is supported: where that is more likely than not."""

DOUBT = 4
"""One in so many claims is supported where the middle band begins ..."""

NEAR = 0.05
"""... counted among those within so much of the cut."""

Numbers = NDArray[np.float64]


def read(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as lines:
        return [orjson.loads(line) for line in lines]


def bucket(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def write_model(path: Path, model: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(orjson.dumps(model) + b"\n")
    part.replace(path)


# ---- rarity


def stems_of(text: str) -> list[str]:
    from ragstone.judges.embedded.words import tokens_of  # noqa: PLC0415 - in the worker

    return sorted({token.stem for token in tokens_of(text, "en")})


def rarity(rows: Iterable[dict[str, Any]], pool: Any) -> dict[str, Any]:
    """For each stem in at least 8 of the different contexts: log of contexts over those that have it, in tenths."""
    texts = sorted({text for row in rows for text in row["context"]})
    counts: Counter[str] = Counter()
    for stems in pool.imap(stems_of, texts, chunksize=200):
        counts.update(stems)
    levels: dict[int, list[str]] = {}
    for stem, count in counts.items():
        if count >= RAREST:
            levels.setdefault(round(10 * math.log((len(texts) + 1) / (count + 1))), []).append(stem)
    tenths = {str(level): " ".join(sorted(levels[level])) for level in sorted(levels)}
    return {"language": "en", "documents": len(texts), "tenths": tenths}


# ---- support


def support_features(row: dict[str, Any]) -> tuple[float, ...]:
    """The features of a row's claim, and 1 behind them if its evidence puts a fact otherwise."""
    from ragstone.judges.embedded.evidence import find  # noqa: PLC0415 - after rarity is written
    from ragstone.judges.embedded.library import Library  # noqa: PLC0415 - see above
    from ragstone.judges.embedded.stated import stated  # noqa: PLC0415 - see above

    library = Library(row["context"], (row["claim"],))
    found = find(stated(row["claim"], library.language), library)
    return (*found.features, float(found.clash is not None))


def grow(features: Numbers, labels: Numbers, sets: NDArray[np.str_]) -> dict[str, Any]:
    """The logistic model; a data set counts as the root of its rows."""
    from ragstone.judges.embedded.evidence import WORSE, Features  # noqa: PLC0415 - after rarity is written

    sizes = Counter(sets.tolist())
    weights = np.array([1 / math.sqrt(sizes[name]) for name in sets.tolist()])
    weights /= weights.sum()
    mean = features.mean(axis=0).round(6)
    scale = np.where((spread := features.std(axis=0)) < 1e-6, 1.0, spread).round(6)
    rows = (features - mean) / scale

    def loss(found: Numbers) -> tuple[float, Numbers]:
        scores = rows @ found[:-1] + found[-1]
        chances = 1 / (1 + np.exp(-scores))
        gap = weights * (chances - labels)
        value = -(weights * (labels * np.log(chances + 1e-12) + (1 - labels) * np.log(1 - chances + 1e-12))).sum()
        return value + SHRINK / 2 * (found[:-1] ** 2).sum(), np.append(rows.T @ gap + SHRINK * found[:-1], gap.sum())

    bounds = [(None, 0.0) if name in WORSE else (0.0, None) for name in Features._fields]
    start = np.zeros(len(bounds) + 1)
    found = minimize(loss, start, jac=True, bounds=[*bounds, (None, None)], method="L-BFGS-B").x.round(6)
    return {
        **BLANK,
        "mean": mean.tolist(),
        "scale": scale.tolist(),
        "weight": found[:-1].tolist(),
        "bias": float(found[-1]),
    }


def log_odds(found: dict[str, Any], features: Numbers) -> Numbers:
    """What a model as the file has it says, computed by the package's own code."""
    from ragstone.judges.embedded.model import Logistic  # noqa: PLC0415 - after rarity is written

    weigh = Logistic(**found)
    return np.array([weigh.log_odds(row) for row in features.tolist()])


def chances(found: dict[str, Any], features: Numbers) -> Numbers:
    """The probabilities as the package has them: those of rows with a clash, told by the last column, are cut."""
    from ragstone.judges.embedded.model import model  # noqa: PLC0415 - after rarity is written

    slope, shift = found["calibration"]
    plain = 1 / (1 + np.exp(-(slope * log_odds(found, features[:, :-1]) + shift)))
    cut: Numbers = np.where(features[:, -1] > 0, plain * (model().support.maybe or 0.5), plain)
    return cut


def platt(scores: Numbers, labels: Numbers, weights: Numbers) -> list[float]:
    """Slope and shift that make a probability of log-odds."""
    model = LogisticRegression(C=1e6, max_iter=1000).fit(scores[:, None], labels, sample_weight=weights)
    return [round(float(model.coef_[0][0]), 6), round(float(model.intercept_[0]), 6)]


def equal_sets(sets: NDArray[np.str_]) -> Numbers:
    """Weights by which every data set counts the same."""
    counts = Counter(sets.tolist())
    weights = np.array([1 / counts[name] for name in sets.tolist()])
    return np.asarray(weights / weights.mean(), dtype=np.float64)


@dataclass(frozen=True)
class Table:
    """Rows as columns: supported or not, not partly, the data set, whether kept back."""

    labels: Numbers
    clear: NDArray[np.bool_]
    sets: NDArray[np.str_]
    held: NDArray[np.bool_]


def table(rows: Sequence[dict[str, Any]]) -> Table:
    return Table(
        labels=np.array([row["label"] == "support" for row in rows], dtype=np.float64),
        clear=np.array([row["label"] != "partial_support" for row in rows]),
        sets=np.array([row["dataset"] for row in rows]),
        held=np.array([bucket(row["context"][0]) % HELD == 0 for row in rows]),
    )


def half_way(chances: Numbers, labels: Numbers, yes: float) -> float:
    """The probability from which on support is in part: where one claim in ``DOUBT`` is supported."""

    def share(cut: float) -> float:
        near = np.abs(chances - cut) < NEAR
        return float(labels[near].mean()) if near.any() else 0.0

    return next((k / 100 for k in range(10, round(100 * yes)) if share(k / 100) >= 1 / DOUBT), round(yes / 2, 2))


def fit_support(rows: list[dict[str, Any]], features: Numbers) -> dict[str, Any]:
    """Weights on nine tenths of the contexts, calibration and cuts on the rest; no partial support."""
    known = table(rows)
    natural = ~np.char.startswith(known.sets, EDITED)
    seen = features[:, :-1]
    learn, test = known.clear & natural & ~known.held, known.clear & natural & known.held
    found = grow(seen[learn], known.labels[learn], known.sets[learn])
    scores, labels, sets = log_odds(found, seen[test]), known.labels[test], known.sets[test]
    calibration = platt(scores, labels, equal_sets(sets))
    chances = 1 / (1 + np.exp(-(calibration[0] * scores + calibration[1])))
    maybe = half_way(chances, labels, YES)
    print(
        f"support: {int(learn.sum())} rows to learn from, {int(test.sum())} kept back; calibration {calibration}, "
        f"cuts {maybe} and {YES}"
    )
    return {**found, "calibration": calibration, "yes": YES, "maybe": maybe}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--out", type=Path, default=MODEL)
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    rows = read(given.data / "support/train.jsonl")
    # The package reads its own file, so the rarities go there before the features are computed, beside whatever
    # model it holds; the workers that compute them are fresh.
    model = {"support": orjson.loads(MODEL.read_bytes())["support"] if MODEL.exists() else BLANK}
    with Pool(given.jobs) as pool:
        model["rarity"] = rarity(rows, pool)
    write_model(MODEL, model)
    with Pool(given.jobs) as pool:
        model["support"] = fit_support(rows, np.array(pool.map(support_features, rows, chunksize=200)))
    write_model(MODEL, model)
    if given.out != MODEL:
        write_model(given.out, model)
    print(f"{given.out}: {given.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
