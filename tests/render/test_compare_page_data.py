"""What the page of two runs is made of: which verdicts changed, what is counted and not listed, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from page_blocks import unpacked
from ragstone import compare, evaluate
from ragstone.errors import ConfigError, InputError
from ragstone.render.comparison import contexts_said
from ragstone.render.html.comparing import MOST_GROUPS, MOST_UNITS
from ragstone.testing import ScriptedJudge
from run_folders import folder, result, score

UNSUPPORTED = ScriptedJudge({"response_support": "0"})
LABELS = {0.0: "no_support", 0.5: "partial_support", 1.0: "support", None: None}


def judged(record: str, response: str, units: dict[str, float | None], value: float, **more: Any) -> dict[str, Any]:
    """A result whose grounding stands on claims with these values, in this order."""
    named = [(f"{record}/claim/{number}", text, told) for number, (text, told) in enumerate(units.items(), 1)]
    verdicts: list[dict[str, Any]] = [
        {"unit": unit, "label": LABELS[told], "value": told, "raw": None, "probability": None, "judge": "one",
         "reason": f"because of {text}", "evidence": [], **({"failure": "no reply"} if told is None else {})}
        for unit, text, told in named
    ]  # fmt: skip
    found = [
        {"id": unit, "level": "claim", "text": text, "start": at, "end": at + len(text), "parent": None}
        for unit, text, _ in named
        if (at := max(0, response.find(text))) >= 0
    ]
    return result(record, 1, [score("grounding", value, verdicts=verdicts)], response=response, units=found, **more)


def records_of(tmp_path: Path, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """The one record that moved, as the page has it."""
    compare(folder(tmp_path / "a", [ours]), folder(tmp_path / "b", [theirs]), out=tmp_path / "c.html")
    page = unpacked((tmp_path / "c.html").read_bytes())
    (told,) = page[page["first"]["moved"]["grounding"]["block"]]
    return dict(told)


def test_verdicts_that_changed_are_listed_and_others_counted(tmp_path: Path) -> None:
    """Paired by their words; the one that is furthest apart comes first; unjudged is a verdict of its own."""
    ours = judged("r1", "A. B. C. D.", {"A.": 1.0, "B.": 1.0, "C.": 0.5, "D.": 1.0}, 0.9)
    theirs = judged("r1", "A. B. C. D.", {"D.": None, "C.": 0.5, "B.": 0.5, "A.": 0.0}, 0.3)
    told = records_of(tmp_path, ours, theirs)
    kinds = [(row["text"], *(side["kind"] for side in row["sides"])) for row in told["changed"]]
    assert kinds == [("A.", "yes", "no"), ("B.", "yes", "partly"), ("D.", "yes", "unjudged")]
    assert (told["same"], told["full"], told["more"]) == (1, [0, 0], 0)
    assert told["changed"][2]["sides"][1]["why"] == "no reply"
    assert told["changed"][0]["sides"][1]["why"] == "because of A."
    assert told["responses"] == ["A. B. C. D."]
    assert told["marks"] == [[], []]


def test_words_of_one_response_alone_are_listed_where_they_take_from_its_score(tmp_path: Path) -> None:
    """What is supported and not in the other response is a number; each response has its own marks."""
    ours = judged("r1", "A. B.", {"A.": 1.0, "B.": 1.0}, 1.0)
    theirs = judged("r1", "A. X.", {"A.": 1.0, "X.": 0.0}, 0.5)
    told = records_of(tmp_path, ours, theirs)
    assert [row["text"] for row in told["changed"]] == ["X."]
    assert told["changed"][0]["sides"][0] is None
    assert (told["same"], told["full"]) == (1, [1, 0])
    assert told["responses"] == ["A. B.", "A. X."]
    assert told["marks"][1] == [
        {"start": 0, "end": 2, "kind": "yes", "word": "supported"},
        {"start": 3, "end": 5, "kind": "no", "word": "not supported"},
    ]


@pytest.mark.parametrize(
    ("judge", "word"), [("embedded", "found"), (ScriptedJudge({"response_support": "0"}), "supported")]
)
def test_a_shortcut_has_the_words_of_the_run_s_judge(judge: Any, word: str, tmp_path: Path) -> None:
    """It is a verdict by rule; with the embedded judge nothing is called supported."""
    page = "The kettle is made of steel. It holds two litres."
    runs = [
        evaluate(
            [{"id": "r1", "question": "q", "response": response, "contexts": [page]}], "response_groundedness",
            judge, store=tmp_path / "s.db", name=f"main_v{n}",
        )
        for n, response in enumerate(("Purple elephants invented jazz in Lisbon.", "The kettle is made of steel."))
    ]  # fmt: skip
    compare(*runs, out=tmp_path / "c.html")
    blocks = unpacked((tmp_path / "c.html").read_bytes())
    assert blocks["first"]["headline"].startswith("response groundedness is 100.0 points higher in main_v1 (")
    (told,) = blocks[blocks["first"]["moved"]["response_groundedness"]["block"]]
    assert word in [side["word"] for row in told["changed"] for side in row["sides"] if side]


def test_the_same_words_twice_are_two_units(tmp_path: Path) -> None:
    """None is lost, and none is held against two."""
    ours = judged("r1", "A. A. A.", {"A.": 1.0, "A. ": 1.0, " A.": 1.0}, 1.0)
    theirs = judged("r1", "A. A.", {"A.": 0.0, "A. ": 1.0}, 0.5)
    told = records_of(tmp_path, ours, theirs)
    assert len(told["changed"]) == 1
    assert (told["same"], told["full"]) == (1, [1, 0])


def test_a_long_list_is_cut_and_counted(tmp_path: Path) -> None:
    """The units that weigh most are listed."""
    names = [f"claim {n}" for n in range(MOST_UNITS + 7)]
    ours = judged("r1", "x", dict.fromkeys(names, 1.0), 1.0)
    theirs = judged("r1", "x", {name: 0.0 if n > 9 else 0.5 for n, name in enumerate(names)}, 0.2)
    told = records_of(tmp_path, ours, theirs)
    assert len(told["changed"]) == MOST_UNITS
    assert told["more"] == 7
    assert {row["sides"][1]["kind"] for row in told["changed"][: MOST_UNITS - 3]} == {"no"}


def test_another_question_or_context_is_said(tmp_path: Path) -> None:
    """Under the same id; another question is shown beside the first, and of passages how many are the same."""
    ours = judged("r1", "A.", {"A.": 1.0}, 1.0, question="How?")
    theirs = judged("r1", "A.", {"A.": 0.0}, 0.0, question="When?")
    told = records_of(tmp_path, ours, theirs)
    assert (told["question"], told["other_question"], told["contexts"]) == ("How?", "When?", "")
    texts = {"A": ["x", "y"], "B": ["y", "z", "z"], "C": ["y", "x"]}
    one, few, turned = (
        {**ours, "contexts": [{"id": str(n), "rank": n, "text": text} for n, text in enumerate(each)]}
        for each in texts.values()
    )
    assert contexts_said(one, few) == "1 of 3 passages unchanged"
    assert contexts_said(one, turned) == "the same passages in another order"


def test_only_records_that_moved_are_in_the_file(tmp_path: Path) -> None:
    """Of forty records with texts those that are listed, and no trace of the others."""

    def rows(shift: int) -> list[dict[str, Any]]:
        values = {n: 1.0 if n > shift else 0.0 for n in range(1, 41)}
        return [
            {**judged(f"r{n}", f"text of {n}.", {f"text of {n}.": value}, value), "position": n}
            for n, value in values.items()
        ]

    compare(folder(tmp_path / "a", rows(0)), folder(tmp_path / "b", rows(30)), moved=3, out=tmp_path / "c.html")
    blocks = unpacked((tmp_path / "c.html").read_bytes())
    first = blocks.pop("first")
    assert [[one["id"] for one in block] for block in blocks.values()] == [["r1", "r2", "r3"]]
    assert "text of" not in json.dumps(first)
    compare(str(tmp_path / "a"), str(tmp_path / "b"), moved=0, out=tmp_path / "none.html")
    assert unpacked((tmp_path / "none.html").read_bytes()).keys() == {"first"}


def test_groups_are_those_furthest_apart(tmp_path: Path) -> None:
    """At most so many, the lowest difference first, with the means over pairs alone."""

    def rows(after: bool) -> list[dict[str, Any]]:
        return [{**judged(f"r{n}", "A.", {"A.": 1.0}, min(1.0, n / 100) if after else 0.5), "position": n,
                 "meta": {"kind": f"k{n // 2}"}} for n in range(2, 102)]  # fmt: skip

    compare(folder(tmp_path / "a", rows(False)), folder(tmp_path / "b", rows(True)), by="meta.kind",
            out=tmp_path / "c.html")  # fmt: skip
    first = unpacked((tmp_path / "c.html").read_bytes())["first"]
    groups = first["groups"]
    assert (len(groups), first["groups_in_all"]) == (MOST_GROUPS, 50)
    points = [group["difference"] for group in groups]
    assert points == sorted(points)
    assert points[0] == pytest.approx(0.025 - 0.5)
    assert groups[0] == {
        "name": "k1",
        "pairs": 2,
        "first": 0.5,
        "second": pytest.approx(0.025),
        "difference": points[0],
    }


def test_a_result_of_another_make_is_named(tmp_path: Path) -> None:
    """One line that says which record, and no page."""
    ours = judged("r1", "A.", {"A.": 1.0}, 1.0)
    theirs = judged("r1", "A.", {"A.": 0.0}, 0.0)
    theirs["units"] = []
    runs = folder(tmp_path / "a", [ours]), folder(tmp_path / "b", [theirs])
    with pytest.raises(InputError, match="the result for 'r1' is not in Ragstone's format"):
        compare(*runs, out=tmp_path / "c.html")
    assert not (tmp_path / "c.html").exists()
    assert not list(tmp_path.glob("*.partial"))


def test_what_is_read_is_never_written_over(tmp_path: Path) -> None:
    """Neither a file of results nor a store."""
    runs = folder(tmp_path / "a", [judged("r1", "A.", {"A.": 1.0}, 1.0)]), str(tmp_path / "a")
    for name in ("results.jsonl", "run.json"):
        before = (tmp_path / "a" / name).read_bytes()
        with pytest.raises(ConfigError, match="would be overwritten"):
            compare(*runs, out=tmp_path / "a" / name)
        assert (tmp_path / "a" / name).read_bytes() == before
    with pytest.raises(ConfigError, match="cannot be written"):
        compare(*runs, out=tmp_path / "nowhere" / "c.html")
