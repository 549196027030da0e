"""Compute TRACe scores from RAGBench's own labels and compare them with its stored scores.

    python benchmarks/trace_gold.py RAGBENCH.jsonl

Takes rows of RAGBench (arXiv 2407.11005): ``documents_sentences``, ``response_sentences``, the relevant and utilized
keys, and the published scores. Each row becomes a record with RAGBench's documents and sentences,
and a line of labels for ``human:FILE``. The ``_share`` columns, completeness (1
if nothing is relevant, as there) and adherence are compared with the stored scores, to 1e-6. Every row that differs
is explained by kind; an unexplained one exits with 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragstone import evaluate

CLOSE = 1e-6
UNEXPLAINED = "not explained"
COLUMNS = {
    "relevance": "trace.relevance_share",
    "utilization": "trace.utilization_share",
    "completeness": "trace.completeness",
    "adherence": "trace.adherence",
}
"""RAGBench's name of a score, and the column that is the same."""


def keys_of(row: Mapping[str, Any]) -> dict[str, str]:
    """RAGBench's keys of context sentences to Ragstone's."""
    return {
        key: f"doc_{d}_s{s}"
        for d, document in enumerate(row["labels"]["documents_sentences"])
        for s, (key, _) in enumerate(document)
    }


def record_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as a record that brings its own division in sentences, which has not the documents' white space."""
    labels = row["labels"]
    contexts = [[text for _, text in document] for document in labels["documents_sentences"]]
    documents = zip(row["documents"], contexts, strict=True)
    return {
        "id": row["id"],
        "question": row["question"] or "-",
        "contexts": [{"text": document, "sentences": texts} for document, texts in documents],
        "response": [{"text": text, "citations": []} for _, text in labels["response_sentences"]],
        "trace": {"on_empty": "one"},
    }


def labels_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row's labels as a line for ``human:FILE``; keys that no sentence has stay as they are."""
    labels, keys = row["labels"], keys_of(row)
    return {
        "id": row["id"],
        "relevant": [keys.get(key, key) for key in labels["all_relevant_sentence_keys"]],
        "utilized": [keys.get(key, key) for key in labels["all_utilized_sentence_keys"]],
        "supported": labels["adherence"],
    }


def cause(row: Mapping[str, Any], name: str) -> str:
    """Why a score differs from the stored one."""
    labels = row["labels"]
    relevant, used = labels["all_relevant_sentence_keys"], labels["all_utilized_sentence_keys"]
    if len(set(relevant)) < len(relevant) or (name == "utilization" and len(set(used)) < len(used)):
        return "a key is listed twice, and counted twice there"
    if set(relevant) - set(keys_of(row)) or set(used) - set(keys_of(row)):
        return "not scored: a label names no sentence of the record"
    return UNEXPLAINED


def main() -> None:
    """Weigh, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", type=Path)
    rows = [json.loads(line) for line in parser.parse_args().rows.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        labels = Path(folder) / "labels.jsonl"
        labels.write_text("".join(json.dumps(labels_of(row)) + "\n" for row in rows), encoding="utf-8")
        run = evaluate([record_of(row) for row in rows], "trace", f"human:{labels}", store=Path(folder) / "store.db")
        found = {result["id"]: {s["metric"]: s["value"] for s in result["scores"]} for result in run.results()}
        run.store.close()
    same: Counter[str] = Counter()
    causes: Counter[tuple[str, str]] = Counter()
    differing: set[str] = set()
    for row in rows:
        for name, column in COLUMNS.items():
            ours, theirs = found[row["id"]][column], float(row["labels"][name])
            if ours is not None and abs(ours - theirs) <= CLOSE:
                same[name] += 1
            else:
                causes[name, cause(row, name)] += 1
                differing.add(row["id"])
    print(f"{len(rows) - len(differing)} of {len(rows)} rows agree in all four scores to {CLOSE:g}\n")
    for name in COLUMNS:
        print(f"  {name:<14}{same[name]:>5} of {len(rows)}")
    print()
    for (name, why), count in causes.most_common():
        print(f"  {count:>3}  {name}: {why}")
    sys.exit(any(why == UNEXPLAINED for _, why in causes))


if __name__ == "__main__":
    main()
