"""Fit the embedded judge's numbers and write them to ``model.json``.

    python training/fit_support.py [--data ../shared/data] [--out src/ragstone/judges/embedded/model.json]

Three steps: how rare English stems are, counted over the training contexts; the support model, boosted trees
over the features of ``ragstone.judges.embedded.evidence``, learned from the training rows and from variations
of supported ones (``variations.py``), with a calibration and a cut from the tenth of the training contexts
that is kept back, as people labelled it; two small logistic models of relevance. Everything is seeded and counted
in a fixed order: two runs write the same bytes. ``dev.jsonl`` is never read here.
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
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from variations import variations

MODEL = Path(__file__).parent.parent / "src/ragstone/judges/embedded/model.json"
BLANK: dict[str, Any] = {
    "mean": [],
    "scale": [],
    "weight": [],
    "bias": 0.0,
    "trees": [],
    "calibration": [1.0, 0.0],
    "yes": 0.5,
}
RAREST = 8
"""Contexts that a stem must be in to be counted; rarer ones all weigh the same."""

HELD = 10
"""One in so many contexts is kept back for calibration and cuts."""

UNSEEN = ("context_length", "context_sentences")
"""Features that mostly say which data set a row is from; the model does not see them."""

RISING = (
    "best_one", "best_window", "best_two", "everywhere", "plain_window", "plain_everywhere", "near", "pairs",
    "content_pairs", "order", "content_order", "run", "first_third", "middle_third", "last_third", "parts_mean",
    "parts_least", "cohesion", "loosest", "loosest_number", "loosest_name",
)  # fmt: skip
"""Features of which more is never held against a claim, whatever the rows say ..."""

FALLING = (
    "missing_count", "missing_weight", "window_missing", "window_missing_weight", "window_missing_mean",
    "numbers_missing", "numbers_astray", "names_missing", "names_astray", "negation_clash", "opposite", "tail_missing",
    "reversed", "unmatched_window", "rival_number", "rival_name", "overstated", "doubted", "asked", "asks", "own_voice",
)  # fmt: skip
"""... and never held in its favour. The others may go either way."""

PRIOR = ("plain_everywhere", 2.0)
"""What the word-overlap floor adds to the log-odds, beside the trees.

Trees know the data sets they grew on; on sets that were left out, the floor alone ordered some better
(``leave_out.py``).
"""

MEMBERS = (
    # bound by sense, blind to clashes, weight of a variation, and how the trees grow
    (True, False, 0.4, {"max_iter": 150, "max_leaf_nodes": 12, "learning_rate": 0.1}),
    (False, True, 0.25, {"max_iter": 240, "max_leaf_nodes": 16, "learning_rate": 0.06}),
    (False, False, 0.3, {"max_iter": 240, "max_leaf_nodes": 16, "learning_rate": 0.06}),
)
"""Boosted models whose mean is taken: it orders claims of data sets that were left out better than any of them.

One may use ``RISING`` and ``FALLING`` features in their sense only; one does not see what ``clashes`` tells.
"""

HEAVIER = {"asked": 6.0, "refuted": 6.0, "denied": 4.0, "negation": 2.0, "overstated": 2.0, "unit": 2.0}
"""Variations that weigh more than the others, where clashes are seen."""

CHANGED = {
    "number": 0.9, "name": 0.35, "stranger": 0.2, "negation": 0.3, "opposite": 0.5, "denied": 0.25, "both": 0.2,
    "swapped": 0.3, "unit": 1.0, "date": 1.0, "overstated": 0.6, "refuted": 0.08, "asked": 0.08,
}  # fmt: skip
"""The chance that a supported row is varied so."""

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
    from ragstone.judges.embedded.evidence import find  # noqa: PLC0415 - after rarity is written
    from ragstone.judges.embedded.library import Library  # noqa: PLC0415 - see above
    from ragstone.judges.embedded.stated import stated  # noqa: PLC0415 - see above

    library = Library(row["context"], (row["claim"],))
    return find(stated(row["claim"], library.language), library).features


def export(model: HistGradientBoostingClassifier, columns: Sequence[int], part: float) -> list[dict[str, list[Any]]]:
    """The trees as flat lists; inner nodes keep their cut, leaves a part of their value with column -1."""
    trees: list[dict[str, list[Any]]] = []
    for (predictor,) in model._predictors:  # noqa: SLF001 - there is no public way
        nodes = predictor.nodes
        trees.append(
            {
                "column": [-1 if node["is_leaf"] else columns[int(node["feature_idx"])] for node in nodes],
                "cut": [
                    float(f"{part * node['value']:.4g}" if node["is_leaf"] else f"{node['num_threshold']:.6g}")
                    for node in nodes
                ],
                "left": [int(node["left"]) for node in nodes],
                "right": [int(node["right"]) for node in nodes],
            }
        )
    return trees


def grow(features: Numbers, labels: Numbers, made: NDArray[np.str_], sets: NDArray[np.str_]) -> dict[str, Any]:
    """The model's trees, bias and linear part; ``made`` is the kind of each variation, empty for a row of the data.

    Rows weigh as ``root_sizes`` says, variations by as much of that as their member says.
    """
    from ragstone.judges.embedded.clashes import CLASHES  # noqa: PLC0415 - after rarity is written
    from ragstone.judges.embedded.evidence import FEATURES  # noqa: PLC0415 - see above

    sense = [(name in RISING) - (name in FALLING) for name in FEATURES]
    shares = root_sizes(sets, made)
    trees: list[dict[str, list[Any]]] = []
    biases = []
    for bound, blind, varied, shape in MEMBERS:
        unseen = {*UNSEEN, *(CLASHES if blind else ())}
        columns = [i for i, name in enumerate(FEATURES) if name not in unseen]
        booster = HistGradientBoostingClassifier(
            **shape, min_samples_leaf=60, l2_regularization=5.0, early_stopping=False, random_state=0,
            monotonic_cst=[sense[i] for i in columns] if bound else None,
        )  # fmt: skip
        heavier = {} if blind else HEAVIER
        weights = shares * np.array([varied * heavier.get(kind, 1.0) if kind else 1.0 for kind in made.tolist()])
        booster.fit(features[:, columns], labels, sample_weight=weights / weights.mean())
        trees.extend(export(booster, columns, 1 / len(MEMBERS)))
        biases.append(float(booster._baseline_prediction.ravel()[0]))  # noqa: SLF001 - there is no public way
    return {**BLANK, **linear(), "bias": round(math.fsum(biases) / len(biases), 6), "trees": trees}


def root_sizes(sets: NDArray[np.str_], made: NDArray[np.str_]) -> Numbers:
    """Weights by which a data set, its variations with it, counts as the root of its rows.

    That orders claims of sets that were left out better than letting FEVER's many rows speak for all
    (``leave_out.py``).
    """
    sizes = Counter(sets[made == ""].tolist())
    return np.array([1 / math.sqrt(max(1, sizes[name])) for name in sets.tolist()])


def linear() -> dict[str, Any]:
    """The part beside the trees: the floor, on its own scale."""
    from ragstone.judges.embedded.evidence import FEATURES  # noqa: PLC0415 - after rarity is written

    name, weight = PRIOR
    return {
        "mean": [0.0] * len(FEATURES),
        "scale": [1.0] * len(FEATURES),
        "weight": [weight if own == name else 0.0 for own in FEATURES],
    }


def log_odds(found: dict[str, Any], features: Numbers) -> Numbers:
    """What a model as the file has it says, computed by the package's own code."""
    from ragstone.judges.embedded.model import logistic  # noqa: PLC0415 - after rarity is written

    weigh = logistic(found)
    return np.array([weigh.log_odds(row) for row in features.tolist()])


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
    """Rows as columns: supported or not, not partly, the kind of a variation, the data set, whether kept back."""

    labels: Numbers
    clear: NDArray[np.bool_]
    made: NDArray[np.str_]
    sets: NDArray[np.str_]
    held: NDArray[np.bool_]


def table(rows: Sequence[dict[str, Any]]) -> Table:
    return Table(
        labels=np.array([row["label"] == "support" for row in rows], dtype=np.float64),
        clear=np.array([row["label"] != "partial_support" for row in rows]),
        made=np.array([row.get("made", "") for row in rows]),
        sets=np.array([row["dataset"] for row in rows]),
        held=np.array([bucket(row["context"][0]) % HELD == 0 for row in rows]),
    )


def best_cut(chances: Numbers, labels: Numbers, sets: NDArray[np.str_]) -> float:
    """The probability from which on ``yes`` gives the best balanced accuracy, mean over data sets."""
    names = [name for name in sorted(set(sets.tolist())) if len(set(labels[sets == name].tolist())) == 2]
    best, found = 0.0, 0.5
    for cut in (k / 100 for k in range(30, 81)):
        value = sum(
            (chances[(sets == name) & (labels == 1)] >= cut).mean()
            + (chances[(sets == name) & (labels == 0)] < cut).mean()
            for name in names
        )
        if value > best:
            best, found = value, cut
    return found


def true_rate_cut(chances: Numbers, labels: Numbers, sets: NDArray[np.str_]) -> float:
    """The probability from which on ``yes`` is said as often as it is true, mean over the sets of RAG responses.

    What is reported is a mean over claims, so the cut is the one that leaves it where people would put it. The
    best balanced accuracy lies higher and has the mean too low, because most claims of real responses are supported.
    """
    names = sorted({name for name in sets.tolist() if name.startswith("ragbench-")})

    def error(cut: float) -> float:
        gaps = [(chances[sets == name] >= cut).mean() - labels[sets == name].mean() for name in names]
        return abs(float(np.mean(gaps)))

    return min((k / 100 for k in range(30, 81)), key=lambda cut: (round(error(cut), 6), cut))


def half_way(chances: Numbers, labels: Numbers, yes: float) -> float:
    """The probability from which on support is in part: where one claim in ``DOUBT`` is supported."""

    def share(cut: float) -> float:
        near = np.abs(chances - cut) < NEAR
        return float(labels[near].mean()) if near.any() else 0.0

    return next((k / 100 for k in range(10, round(100 * yes)) if share(k / 100) >= 1 / DOUBT), round(yes / 2, 2))


def fit_support(rows: list[dict[str, Any]], features: Numbers) -> dict[str, Any]:
    """Trees on nine tenths of the contexts, calibration and cut on the unvaried rest; no partial support."""
    known = table(rows)
    varied = known.made != ""
    learn, test = known.clear & ~known.held, known.clear & known.held & ~varied
    found = grow(features[learn], known.labels[learn], known.made[learn], known.sets[learn])
    scores, labels, sets = log_odds(found, features[test]), known.labels[test], known.sets[test]
    calibration = platt(scores, labels, equal_sets(sets))
    chances = 1 / (1 + np.exp(-(calibration[0] * scores + calibration[1])))
    cut = true_rate_cut(chances, labels, sets)
    maybe = half_way(chances, labels, cut)
    print(
        f"support: {int((learn & ~varied).sum())} rows and {int((learn & varied).sum())} variations to learn from, "
        f"{int(test.sum())} rows kept back; calibration {calibration}, "
        f"cuts {maybe} and {cut}"
    )
    return {**found, "calibration": calibration, "yes": cut, "maybe": maybe}


# ---- relevance


def relevance_features(pair: tuple[str, str]) -> tuple[float, ...]:
    from ragstone.judges.embedded.relevance import relevance  # noqa: PLC0415 - after rarity is written

    return relevance(*pair)[0]


def passage_pairs(traces: Iterable[dict[str, Any]]) -> tuple[list[tuple[str, str]], list[int]]:
    """Question and passage; relevant if any sentence of the passage is labelled so."""
    pairs, labels = [], []
    for trace in traces:
        keys = trace["labels"]["all_relevant_sentence_keys"]
        numbers = {"".join(c for c in key if c.isdigit()) for key in keys}
        for number, text in enumerate(trace["documents"]):
            if text.strip():
                pairs.append((trace["question"], text))
                labels.append(int(str(number) in numbers))
    return pairs, labels


def answer_pairs(traces: Sequence[dict[str, Any]]) -> tuple[list[tuple[str, str]], list[int]]:
    """Question and sentences or whole of its own response (1) or of another one of the same domain (0)."""
    from ragstone.segment import sentences  # noqa: PLC0415 - beside its use

    pairs: list[tuple[str, str]] = []
    labels: list[int] = []
    for number, trace in enumerate(traces):
        others = [o for o in traces if o["dataset"] == trace["dataset"] and o["question"] != trace["question"]]
        other = others[(7 * number + 3) % len(others)]
        for label, text in ((1, trace["response"]), (0, other["response"])):
            spans = sentences(text)
            texts = [text, *(text[s.start : s.end] for s in spans[:3] if s.end - s.start > 20 and len(spans) > 1)]
            pairs.extend((trace["question"], piece) for piece in texts)
            labels.extend([label] * len(texts))
    return pairs, labels


def fit_logistic(features: Numbers, labels: list[int]) -> dict[str, Any]:
    """A logistic model; being fitted to log-odds it is its own calibration."""
    mean, scale = features.mean(axis=0), features.std(axis=0)
    mean, scale = mean.round(6), np.where(scale < 1e-6, 1.0, scale).round(6)
    model = LogisticRegression(C=0.3, max_iter=2000).fit((features - mean) / scale, labels)
    chances = model.predict_proba((features - mean) / scale)[:, 1]
    return {
        **BLANK,
        "yes": best_cut(chances, np.array(labels), np.full(len(labels), "all")),
        "mean": mean.tolist(),
        "scale": scale.tolist(),
        "weight": model.coef_[0].round(6).tolist(),
        "bias": round(float(model.intercept_[0]), 6),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--out", type=Path, default=MODEL)
    arguments.add_argument("--jobs", type=int, default=2)
    given = arguments.parse_args()
    rows = read(given.data / "support/train.jsonl")
    traces = read(given.data / "traces/ragbench_validation.jsonl")[::2]
    # The package reads its own file, so the rarities go there before the features are computed, beside whatever
    # models it holds; the workers that compute them are fresh.
    model = (
        orjson.loads(MODEL.read_bytes()) if MODEL.exists() else dict.fromkeys(("support", "passage", "answer"), BLANK)
    )
    with Pool(given.jobs) as pool:
        model["rarity"] = rarity(rows, pool)
    write_model(MODEL, model)
    with Pool(given.jobs) as pool:
        every = [*rows, *variations(rows, CHANGED)]
        features = np.array(pool.map(support_features, every, chunksize=200))
        model["support"] = fit_support(every, features)
        for name, (pairs, labels) in (("passage", passage_pairs(traces)), ("answer", answer_pairs(traces))):
            model[name] = fit_logistic(np.array(pool.map(relevance_features, pairs, chunksize=50)), labels)
            print(f"{name}: {len(labels)} pairs, {sum(labels)} relevant")
    write_model(MODEL, model)
    if given.out != MODEL:
        write_model(given.out, model)
    print(f"{given.out}: {given.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
