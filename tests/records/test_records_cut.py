"""A part of an input: the first records of each file, or a sample that is the same in every reading."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pytest

from ragstone.analysis.run import part_said
from ragstone.config import resolve
from ragstone.errors import ConfigError
from ragstone.options import RunOptions
from ragstone.records import Cut, open_records

ROWS = [{"id": f"r{number}"} for number in range(40)]


def drawn(rows: Any, **cut: int) -> list[str]:
    """The ids that are read, which two readings have to agree on."""
    with open_records(rows, cut=Cut(**cut)) as source:
        found = [outcome.id for outcome in source]
        assert found == [outcome.id for outcome in source]
        return found


def test_a_limit_reads_no_further(tmp_path: Path) -> None:
    """The first records, in their order; what cannot be read behind them is not met."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": "a"}\n{"id": "b"}\n{"id":')
    assert drawn(path, limit=2) == ["a", "b"]
    assert drawn(ROWS, limit=100) == [row["id"] for row in ROWS]


def test_a_sample_follows_the_ids_and_not_their_order() -> None:
    """So many records, in the order of the input; the same seed draws the same ids wherever they stand."""
    found = drawn(ROWS, sample=10)
    assert len(found) == 10
    assert found == [row["id"] for row in ROWS if row["id"] in found]
    assert set(drawn(ROWS[::-1], sample=10)) == set(found)
    assert set(drawn(ROWS, sample=5)) < set(found)
    assert set(drawn(ROWS, sample=10, seed=1)) != set(found)
    assert set(drawn(ROWS, limit=20, sample=10)) <= {row["id"] for row in ROWS[:20]}


def test_a_repeated_id_keeps_its_name_in_a_sample() -> None:
    """What is called ``a#2`` in the whole input is called so in a sample, or two runs would pair other records."""
    rows = [{"id": name, "meta": {"n": number}} for number, name in enumerate("abcabcabc")]
    with open_records(rows) as source:
        whole = {outcome.id: outcome.meta for outcome in source if not hasattr(outcome, "error")}
    for seed in range(4):
        with open_records(rows, cut=Cut(sample=4, seed=seed)) as source:
            for outcome in source:
                assert not hasattr(outcome, "error")
                assert whole[outcome.id] == outcome.meta


def test_every_system_is_sampled_on_the_same_questions(tmp_path: Path) -> None:
    """Each file gives as many, and the same ids."""
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    paths[0].write_bytes(b"\n".join(orjson.dumps(row) for row in ROWS))
    paths[1].write_bytes(b"\n".join(orjson.dumps(row) for row in reversed(ROWS)))
    with open_records(paths, cut=Cut(sample=3, seed=7)) as source:
        found = [outcome.id.partition("#")[0] for outcome in source]
        assert sorted(found[:3]) == sorted(found[3:])
        assert source.extent == {"sample": 6, "of": 80, "seed": 7}
    with open_records(paths, cut=Cut(limit=2)) as source:
        assert [outcome.id for outcome in source] == ["r0", "r1", "r39", "r38"]
        assert part_said(source.extent) == "first 2 of each file only"


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        ({"limit": 40}, "first 40 only"),  # whether there are more is not looked at
        ({"limit": 41}, ""),
        ({"sample": 40}, ""),
        ({"sample": 39, "seed": 2}, "sample of 40 (seed 2)"),
        ({"sample": 5, "limit": 10}, "sample of 10 (seed 0), first 10 only"),
    ],
)
def test_a_part_is_told_only_where_it_is_one(cut: dict[str, int], said: str) -> None:
    """What was asked for and left nothing out is not called a part."""
    with open_records(ROWS, cut=Cut(**cut)) as source:
        list(source)
        assert part_said(source.extent) == said


def test_drawing_holds_the_sample_and_not_the_input() -> None:
    """Memory does not grow with the records that are looked at."""

    def peak(records: int) -> int:
        tracemalloc.start()
        Cut(sample=10).draw(f"r{number}" for number in range(records))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(20_000) < peak(100) + 20_000


@pytest.mark.parametrize(
    "cut", [{"limit": 0}, {"sample": -1}, {"sample": True}, {"sample": 2.0}, {"seed": 1}, {"sample": 1, "seed": "a"}]
)
def test_what_cannot_be_meant_is_refused(cut: Any) -> None:
    """A number of records is whole and from 1; a seed without a sample changes nothing."""
    with pytest.raises(ConfigError, match=r"expected a whole number|only applies to a sample"):
        resolve(RunOptions(**cut))
