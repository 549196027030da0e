"""Every tree comes to the leaf that going down it finds."""

from __future__ import annotations

import random
from importlib.resources import files
from typing import Any

import orjson
import pytest

from ragstone.judges.embedded.evidence import FEATURES
from ragstone.judges.embedded.model import model
from ragstone.judges.embedded.trees import WIDTH, Trees

COLUMNS = 5


def grown(draw: random.Random, leaves: int) -> dict[str, list[Any]]:
    """A tree of so many leaves with cuts among -2 ... 2, as the model file has it."""
    raw: dict[str, list[Any]] = {"column": [-1], "cut": [draw.random()], "left": [0], "right": [0]}
    for _ in range(leaves - 1):
        node = draw.choice([i for i, column in enumerate(raw["column"]) if column < 0])
        raw["column"][node], raw["cut"][node] = draw.randrange(COLUMNS), draw.randint(-4, 4) / 2
        for side in ("left", "right"):
            raw[side][node] = len(raw["column"])
            for name, value in (("column", -1), ("cut", draw.random()), ("left", 0), ("right", 0)):
                raw[name].append(value)
    return raw


def walked(raw: dict[str, list[Any]], features: list[float]) -> float:
    """The leaf by going down: the plain meaning of a tree."""
    node = 0
    while raw["column"][node] >= 0:
        node = raw["left" if features[raw["column"][node]] <= raw["cut"][node] else "right"][node]
    return float(raw["cut"][node])


@pytest.mark.parametrize("seed", range(20))
def test_leaves_are_those_of_going_down(seed: int) -> None:
    """Trees of one leaf, of as many as they may have, and features that lie on a cut among them."""
    draw = random.Random(seed)
    forest = [grown(draw, leaves) for leaves in (1, WIDTH, *(draw.randint(1, WIDTH) for _ in range(30)))]
    trees = Trees(forest)
    assert len(trees) == 32
    for _ in range(200):
        features = [draw.choice((draw.randint(-6, 6) / 2, draw.uniform(-3, 3), 0.0, -0.0)) for _ in range(COLUMNS)]
        assert list(trees.values(features)) == [walked(raw, features) for raw in forest]


def test_a_tree_with_too_many_leaves_is_refused() -> None:
    """Its last leaves would be taken for the next tree's."""
    with pytest.raises(ValueError, match="more than 16 leaves"):
        Trees([grown(random.Random(0), WIDTH + 1)])


def test_no_trees_have_no_leaves() -> None:
    assert list(Trees(()).values([1.0])) == []


def test_the_packaged_trees_are_read_as_they_stand() -> None:
    """On features drawn from the cuts of the file itself, where being one off shows."""
    raw_model = files("ragstone.judges.embedded").joinpath("model.json").read_bytes()
    forest = orjson.loads(raw_model)["support"]["trees"]
    cuts: dict[int, list[float]] = {}
    for raw in forest:
        for column, cut in zip(raw["column"], raw["cut"], strict=True):
            if column >= 0:
                cuts.setdefault(column, []).append(cut)
    draw = random.Random(1)
    for _ in range(50):
        features = [draw.choice(cuts.get(i, [0.0])) for i in range(len(FEATURES))]
        assert list(model().support.trees.values(features)) == [walked(raw, features) for raw in forest]
