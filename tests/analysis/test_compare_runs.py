"""Two runs of made results: what is paired, what is left out and said, what a difference is called."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import page_blocks
from ragstone import check, compare
from ragstone.analysis.compare import Comparison, said
from ragstone.analysis.pairing import SignaturePart
from ragstone.analysis.scored import signatures_differ
from ragstone.api.comparing import opened
from ragstone.errors import ConfigError, InputError
from ragstone.render.ci import compared
from ragstone.render.comparison import findings, headline, in_the_way, left_out, notes
from ragstone.render.terminal.compare_screen import compare_page
from ragstone.render.terminal.screen import Look
from run_folders import SIGNED, folder, result, score

Values = Mapping[str, float | None]


def run_of(path: Path, values: Values, **more: Any) -> str:
    """A run with one metric."""
    scores = [result(name, n, [score("grounding", value, **more)]) for n, (name, value) in enumerate(values.items(), 1)]
    return folder(path, scores)


def drawn(found: Comparison, first: str, second: str) -> str:
    """The screen of a comparison of two folders."""
    with opened(first) as before, opened(second) as after:
        return page_blocks.drawn(compare_page(found, before, after, Look(100)))


def test_records_are_paired_by_id_wherever_they_stand(tmp_path: Path) -> None:
    """A record that one run lacks, and a value that one lacks, is in no mean and counted; nothing is 0 for it."""
    first = run_of(tmp_path / "a", {"r1": 1.0, "r2": 0.5, "r3": 0.5, "lost": 1.0})
    second = run_of(tmp_path / "b", {"r3": 1.0, "new": 0.0, "r2": None, "r1": 0.5})
    found = compare(first, second)
    assert (found.shared, found.only_first, found.only_second) == (3, ("lost",), ("new",))
    assert found.overlapping
    one = found["grounding"]
    assert one.paired is not None
    assert (one.paired.pairs, one.paired.first, one.paired.second) == (2, 0.75, 0.75)
    assert (one.first.scored, one.second.scored, one.second.statuses) == (3, 2, {"judge_failed": 1})
    assert {moved.record: moved.difference for moved in one.moved} == {"r1": -0.5, "r3": 0.5}


def test_a_record_takes_little_memory(tmp_path: Path) -> None:
    """In a comparison, its page and a check: whatever its id is, and however many other scores and nuggets it has."""
    sizes = (1100, 1500)
    peaks: dict[str, list[int]] = {"compare": [], "page": [], "check": []}
    for count in sizes:
        runs = []
        for side, step in (("a", 2000), ("b", 3000)):
            lines = []
            for n in range(count):
                record = f"a-long-id-of-a-record-{n}"
                units = [{"id": f"{record}/bank/{one}", "text": f"Fact {one} of {n}"} for one in range(5)]
                verdicts = [{"unit": unit["id"], "value": n / step} for unit in units]
                scores = [score("grounding", n / step), score("nugget_recall.all", n / step, verdicts=verdicts)]
                others = [score(f"other.{one}", (n + one) / step) for one in range(5)]
                lines.append(result(record, n + 1, [*scores, *others], units=units, meta={"kind": n % 2}))
            runs.append(folder(tmp_path / f"{count}{side}", lines))
        for of, found in peaks.items():
            tracemalloc.start()
            if of == "check":
                assert check(runs[1], min={"grounding": 0}, max_drop={"grounding": 1}, baseline=runs[0]).passed
            else:
                page: Any = {"by": "kind", "moved": 0, "out": tmp_path / "page.html"} if of == "page" else {}
                assert compare(*runs, metrics=["grounding", "nugget_recall"], **page).shared == count
            found.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    grown = {of: (last - first) / (sizes[1] - sizes[0]) for of, (first, last) in peaks.items()}
    assert max(grown["compare"], grown["page"]) < 2500, grown
    assert grown["check"] < 4500, grown


def test_each_side_has_its_mean_with_what_it_could_be(tmp_path: Path) -> None:
    """Of the pairs; a value that came without bounds is its own."""
    known, partly = score("m", 1.0), score("m", 0.5, status="partial", unjudged=1, low=0.25, high=0.75)
    bare = score("m", 0.5, low=None, high=None)
    first = folder(tmp_path / "a", [result("r1", 1, [known]), result("r2", 2, [partly])])
    second = folder(tmp_path / "b", [result("r1", 1, [bare]), result("r2", 2, [bare])])
    one = compare(first, second)["m"]
    halves = [(half.mean, half.low, half.high, half.asked, half.unjudged) for half in (one.first, one.second)]
    assert halves == [(0.75, 0.625, 0.875, 4, 1), (0.5, 0.5, 0.5, 4, 0)]
    for name, low, high, told in (("c", 0.0, 1.0, " (the mean could be 0\u2013100%)"), ("d", 0.499, 0.501, "")):
        lost = folder(tmp_path / name, [result("r1", 1, [score("m", 0.5, status="partial", low=low, high=high)])])
        assert in_the_way(compare(lost, second))[-1:] == [f"m: units missing in {name}{told}."]


def test_findings_are_said_in_words(tmp_path: Path) -> None:
    """Higher, lower, not shown with the smallest that could have been."""
    ids = [f"r{n}" for n in range(40)]
    flat = dict.fromkeys(ids, 0.5)
    better = {name: 0.6 + (n % 2) / 20 for n, name in enumerate(ids)}
    noisy = {name: 0.5 + (n % 2 - 0.5) / 5 for n, name in enumerate(ids)}
    runs = {name: run_of(tmp_path / name, values) for name, values in
            {"flat": flat, "better": better, "noisy": noisy}.items()}  # fmt: skip

    def told(one: str, other: str) -> tuple[str, str]:
        found = compare(runs[one], runs[other])
        return found.metrics[0].finding, said(found.metrics[0], found.second.label)

    assert told("flat", "better") == ("higher", "12.5 points higher in better")
    assert told("better", "flat") == ("lower", "12.5 points lower in flat")
    runs["tiny"] = run_of(tmp_path / "tiny", {name: 0.5002 + (n % 2) / 5_000 for n, name in enumerate(ids)})
    runs["hardly"] = run_of(tmp_path / "hardly", {name: 0.50002 + (n % 2) / 50_000 for n, name in enumerate(ids)})
    assert told("flat", "tiny") == ("higher", "0.03 points higher in tiny"), "as many records show"
    assert told("flat", "hardly") == ("higher", "under 0.01 points higher in hardly")
    finding, words = told("flat", "noisy")
    assert finding == "none"
    # (t(.975) + t(.8)) standard errors of 39 degrees of freedom, of forty differences of a tenth
    error = 0.1 * (40 / 39) ** 0.5 / 40**0.5
    assert (
        words
        == f"no significant difference (smallest detectable difference: {100 * (2.0227 + 0.8512) * error:.1f} points)"
    )


def test_where_no_test_is_possible_that_is_said_with_the_reason_and_no_p(tmp_path: Path) -> None:
    """Too few records changed or are in both, none changed, none has a value: in words, on the screen, in Markdown."""
    ids = [f"r{n}" for n in range(40)]
    flat = run_of(tmp_path / "flat", dict.fromkeys(ids, 0.5))

    def told(name: str, values: Values) -> str:
        other = run_of(tmp_path / name, values)
        found = compare(flat, other)
        (one,) = found.metrics
        lacking = one.finding == "too_few"
        assert (one.tested, one.adjusted, found.tests, notes(found)) == (False, None, 0, [])
        for shown in (drawn(found, flat, other), compared(found).decode()):
            words = " ".join(shown.lower().split())
            assert ("no significant difference" in words, "no test possible" in words) == (False, lacking)
        return said(one, "b")

    changed = {name: 0.6 if n < 5 else 0.5 for n, name in enumerate(ids)}
    assert told("few", changed) == "no test possible: only 5 records changed; at least 6 must change"
    both = "no test possible: only 1 paired record; at least 6 must change"
    assert told("both", {"r1": 1.0, "new": 1.0}) == both
    assert told("same", dict.fromkeys(ids, 0.5)) == "every record has the same value in both runs"
    assert told("none", dict.fromkeys(ids)) == "no record has a value in both runs"


def test_a_rise_of_a_score_that_is_best_at_0_is_worse(tmp_path: Path) -> None:
    """The words, the counts and the units named say so; a drop is no harm that a check could limit."""
    name = "grounding.contradicted"
    first, second = (
        folder(tmp_path / str(least), [result(f"r{n}", n, [score(name, least + n / 100)]) for n in range(1, 9)])
        for least in (0.1, 0.4)
    )
    risen, fallen = compare(first, second).metrics[0], compare(second, first).metrics[0]
    assert (risen.finding, risen.worth, risen.ways) == ("higher", "worse", (0, 0, 8))
    assert (fallen.finding, fallen.worth, fallen.ways) == ("lower", "better", (8, 0, 0))
    assert said(risen, "run 2") == "30.0 points higher in run 2, which is worse"
    shown = drawn(compare(first, second), first, second)
    assert "0/0/8" in shown
    assert "Higher in 0.4, which is worse: grounding.contradicted." in shown
    with pytest.raises(ConfigError, match=r"grounding.contradicted: its best value is 0, .* use --max grounding"):
        check(second, max_drop={name: 0.1}, baseline=first)
    with pytest.raises(ConfigError, match=r"--max-record-drop grounding.contradicted: its best value is 0"):
        check(second, max_record_drop={name: 0.1}, baseline=first)


def test_many_tests_raise_p(tmp_path: Path) -> None:
    """What would be a difference by itself is none among ten, and that is said."""
    names = [f"m{n}" for n in range(10)]

    def rows(shift: float) -> list[dict[str, Any]]:
        return [
            result(
                f"r{i}",
                i,
                [
                    score(m, 0.5 + shift if i <= 6 or (n and i % 2) else 0.5 - shift * bool(n))
                    for n, m in enumerate(names)
                ],
            )
            for i in range(1, 25)
        ]

    found = compare(folder(tmp_path / "a", rows(0.0)), folder(tmp_path / "b", rows(0.1)))
    one = found["m0"]
    assert one.paired is not None
    assert found.tests == 10
    assert one.adjusted is not None
    assert one.paired.p < 0.05 <= one.adjusted
    assert (one.finding, one.only_alone) == ("too_few", True)
    assert (
        said(one, "b") == "no significant difference (only 6 records changed; with 10 metrics, at least 9 must change)"
    )
    assert headline(found, one) == (
        "m0 is 2.5 points higher in b: significant on its own (p 0.031), but not after adjusting for 10 metrics "
        "(p 0.312; 95% CI +1.0 to +5.1, 24\u00a0paired records). 6\u00a0records score higher, 18 the same, 0 lower."
    )
    alone = compare(str(tmp_path / "a"), str(tmp_path / "b"), metrics=["m0"])
    assert (alone.tests, alone["m0"].finding) == (1, "higher")
    assert alone["m0"].adjusted == one.paired.p
    assert not alone["m0"].only_alone


def test_another_way_of_making_is_told_by_its_parts(tmp_path: Path) -> None:
    """Parameters that one has, judges that differ; the version alone does not make another ruler."""
    other = "grounding|scoring_mode:scale_1_5|claims:one#1|support:two#9|v:0.1.0"
    assert signatures_differ(SIGNED, other) == [("support", "one#1", "two#9"), ("scoring_mode", "", "scale_1_5")]
    first = run_of(tmp_path / "a", {"r1": 1.0, "r2": 0.5})
    second = run_of(tmp_path / "b", {"r1": 1.0, "r2": 0.5}, signature=other)
    found = compare(first, second)["grounding"]
    assert set(found.signatures) == {
        SignaturePart("support", "one#1", "two#9", 2), SignaturePart("scoring_mode", "", "scale_1_5", 2),
    }  # fmt: skip
    assert not found.same_ruler
    newer = run_of(tmp_path / "c", {"r1": 1.0, "r2": 0.5}, signature=SIGNED.replace("0.1.0", "0.2.0"))
    assert compare(first, newer)["grounding"].same_ruler
    assert any("responses and passages are the same" in warning for warning in compare(first, second).warnings)


def test_settings_that_no_signature_holds_are_warned_of(tmp_path: Path) -> None:
    """The length limit of a judge, its further fields, the weights of a panel."""
    results = [result("r1", 1, [score("grounding", 0.5)])]
    route = {"judges": ["one", "two"], "aggregate": "mean", "weights": {}}
    about: dict[str, Any] = {"judges": {"one": {"max_tokens": 100, "extra": {}}}, "default": route, "steps": {}}
    changed = {**about, "judges": {"one": {"max_tokens": 200, "extra": {"seed": 1}}}}
    changed["default"] = {**route, "weights": {"one": 2.0}}
    found = compare(folder(tmp_path / "a", results, **about), folder(tmp_path / "b", results, **changed))
    assert [warning.split(" changed from ")[0] for warning in found.warnings] == [
        "the judge one: max_tokens", "the judge one: extra", "the default panel's weights",
    ]  # fmt: skip


def test_other_inputs_under_one_id_and_runs_that_did_not_end_are_warned_of(tmp_path: Path) -> None:
    """Other texts are other contexts, other ids of passages are not; then not all differences are the judges'."""
    one = [{"id": "1", "rank": 1, "text": "one"}]
    other, same = [{"id": "1", "rank": 1, "text": "two"}], [{"id": "x", "rank": 1, "text": "one"}]
    before, after = (
        [result(f"r{n}", n, [score("grounding", 0.5, signature=f"grounding|judge:{judge}")], contexts=contexts)
         for n, contexts in enumerate(each, 1)]
        for judge, each in (("a", (one, one, one)), ("b", (other, other, same)))
    )  # fmt: skip
    first, second = folder(tmp_path / "c", before), folder(tmp_path / "d", after)
    found = compare(first, second)
    assert (found.same_responses, found.other_contexts) == (3, 2)
    assert found.warnings == ("2 of 3 paired records have different passages in d than in c",)
    found = compare(first, folder(tmp_path / "e", [*before[:2], after[2]]))
    told = "responses and passages are the same in both runs: differences come from the evaluation settings, not from"
    assert found.warnings == (f"{told} the system",)
    assert not [line for line in in_the_way(found) if "may explain" in line]
    first = folder(tmp_path / "a", [result("r1", 1, [score("grounding", 0.5)])])
    second = folder(tmp_path / "b", [result("r1", 1, [score("grounding", 0.5)], question="Else?")], status="stopped")
    found = compare(first, second)
    assert found.other_questions == 1
    assert "the results of b are incomplete (stopped): 1 record" in found.warnings
    assert "1 of 1 paired record has a different question in b than in a" in found.warnings


@pytest.mark.parametrize(
    ("before", "after", "mixed"),
    [
        ("ab", "ba", True), ("abc", "acb", True), ("ab", "b", True), ("a", "ba", True),
        ("ab", "ab", False), ("a", "b", False), ("ab", "cd", False), ("abc", "ab", False), ("", "ab", False),
    ],
)  # fmt: skip
def test_records_of_other_systems_are_not_paired(tmp_path: Path, before: str, after: str, mixed: bool) -> None:
    """The second system on a topic has the id ``t#2``; which one that is depends on the order of the files."""

    def run(name: str, systems: str) -> str:
        ids = [f"t#{n}" if n > 1 else "t" for n in range(1, 4)]
        rows = zip(ids, systems or " ", strict=False)
        return folder(
            tmp_path / name,
            [
                result(one, n, [score("mine", 0.5)], meta={"run_id": who.strip()})
                for n, (one, who) in enumerate(rows, 1)
            ],
        )

    first, second = run("first", before), run("second", after)
    if mixed:
        with pytest.raises(InputError, match=r"records of system '.' in first have the ids of system '.' in second"):
            compare(first, second)
    else:
        compare(first, second)


def test_records_that_belong_together_are_clusters(tmp_path: Path) -> None:
    """By a field of meta; a record without it is a cluster of its own, and they are counted."""

    def rows(shift: float) -> list[dict[str, Any]]:
        return [
            result(f"r{n}", n, [score("grounding", 0.5 + shift)], meta={"topic": {"id": n // 3}} if n < 27 else {})
            for n in range(1, 31)
        ]

    first, second = folder(tmp_path / "a", rows(0.0)), folder(tmp_path / "b", rows(0.1))
    found = compare(first, second, by="meta.topic.id")
    assert (found.groups, found.ungrouped) == (9 + 4, 4)
    for name in ("team", "topic"):  # a record's own topic, not the id that stands for it
        own = [result(f"r{n}", n, [score("grounding", 0.5)], meta={name: n // 4}) for n in range(1, 31)]
        sides = (folder(tmp_path / f"{name}-{side}", own) for side in "cd")
        assert compare(*sides, by=name).groups == 8
    paired = found["grounding"].paired
    assert paired is not None
    assert paired.clusters == 13
    few = run_of(tmp_path / "few", {f"r{n}": 0.6 if n < 12 else 0.5 for n in range(1, 31)})
    assert findings(compare(first, few, by="meta.topic.id")) == [
        "Too few groups changed to reach significance (at least 6 must change): grounding."
    ]
    for by, message in (
        ("meta.nothing", "no record has it; did you mean 'meta.topic'"),
        ("topics", "no record has it; did you mean 'topic'"),
        ("meta", "expected topic"), ("question.x", "expected topic"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            compare(first, second, by=by)


def test_nuggets_are_paired_one_by_one_within_their_topics(tmp_path: Path) -> None:
    """By text, whatever their order, case and spaces; one that a judge left out of one run counts in neither."""

    def bank(record: str, position: int, values: Mapping[str, float | None], vital: str) -> dict[str, Any]:
        units = [
            {
                "id": f"{record}/nugget/{n}",
                "level": "nugget",
                "text": text,
                "importance": "vital" if text.lower() == vital else "okay",
            }
            for n, text in enumerate(values, 1)
        ]
        verdicts = [
            {"unit": unit["id"], "label": None if value is None else "support", "value": value, "reason": ""}
            for unit, value in zip(units, values.values(), strict=True)
        ]
        scores = [score("nugget_recall.all", 0.5, verdicts=verdicts), score("nugget_recall.vital", 1.0, verdicts=[])]
        return result(record, position, scores, units=units)

    first = folder(
        tmp_path / "a",
        [bank("q1", 1, {"Steel": 1.0, "Two litres": 0.5, "Red": 0.0}, "steel"), bank("q2", 2, {"Jazz": 0.0}, "")],
    )
    second = folder(
        tmp_path / "b",
        [
            bank("q1", 1, {"two  litres": 1.0, "steel": 1.0, "Red": None}, "steel"),
            bank("q2", 2, {"Jazz": 1.0, "Blues": 1.0}, ""),
        ],
    )
    found = compare(first, second)
    every, vital = found["nuggets"], found["vital nuggets"]
    assert every.paired is not None
    assert vital.paired is not None
    assert (every.unit, every.paired.pairs, every.paired.clusters) == ("nugget", 3, 2)
    assert (every.paired.first, every.paired.second) == (0.5, 1.0)
    assert every.unmatched == 3  # Red twice, and Blues
    assert ": only 2 paired topics; at least 6 must change" in said(every, "b")
    assert (every.second.unjudged, every.second.scored) == (1, 4)
    assert (vital.paired.pairs, vital.paired.difference) == (1, 0.0)
    assert [one.metric for one in compare(first, second, metrics="nugget_recall").metrics][2:] == [
        "nuggets", "vital nuggets",
    ]  # fmt: skip
    # A test that was not asked for would raise the p of the one that was.
    assert [one.metric for one in compare(first, second, metrics="nugget_recall.vital").metrics] == [
        "nugget_recall.vital"
    ]


def test_metrics_are_named_whole_or_by_their_columns(tmp_path: Path) -> None:
    """And one that is not in both is refused by name."""
    scores = [score("grounding", 1.0), score("trace.adherence", 1.0), score("trace.relevance", 0.5)]
    first = folder(tmp_path / "a", [result("r1", 1, [*scores, score("mine", 0.5)])])
    second = folder(tmp_path / "b", [result("r1", 1, [*scores, score("yours", 0.5)])])
    found = compare(first, second)
    assert [one.metric for one in found.metrics] == ["grounding", "trace.adherence", "trace.relevance"]
    assert (found.metrics_first, found.metrics_second) == (("mine",), ("yours",))
    assert [one.metric for one in compare(first, second, metrics="trace").metrics] == [
        "trace.adherence",
        "trace.relevance",
    ]
    with pytest.raises(InputError, match=r"no metric 'mine'; available: grounding, trace\.adherence"):
        compare(first, second, metrics=["mine"])


def test_what_cannot_be_paired_is_one_line(tmp_path: Path) -> None:
    one = run_of(tmp_path / "a", {"r1": 1.0})
    with pytest.raises(InputError, match=r"the runs have no record ids in common: ids look like 'r1' in a and 'x' in"):
        compare(one, run_of(tmp_path / "b", {"x": 1.0}))
    with pytest.raises(InputError, match="c has no results"):
        compare(one, run_of(tmp_path / "c", {}))
    with pytest.raises(InputError, match="have no metric in common"):
        compare(one, folder(tmp_path / "d", [result("r1", 1, [score("other", 1.0)])]))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "results.jsonl:1: not JSON"),
        ("[]", "results.jsonl:1: not a result of a run"),
        ('{"id": 3, "position": 1, "scores": []}', "not a result of a run"),
        ('{"id": "r1", "position": 1}', "not a result of a run"),
        ('{"id": "r1", "scores": []}', "not a result of a run"),
        ('{"id": "r1", "position": 1, "scores": [3]}', "the result for 'r1'"),
        ('{"id": "r1", "position": 1, "scores": [{"metric": "m"}]}', "the result for 'r1' lacks 'value'"),
        ('{"id": "r1", "position": 1, "scores": [{"metric": "\\u001b[31m"}]}', "has a score named '.x1b"),
        *(
            (json.dumps(result("r1", 1, [{**score("m", 1.0), "value": value}])), "the result for 'r1'")
            for value in (-0.1, 1.5, True, "1")
        ),
    ],
)
def test_a_file_that_is_no_results_is_one_line(tmp_path: Path, line: str, message: str) -> None:
    """With the line, and what is wrong with it."""
    one = run_of(tmp_path / "a", {"r1": 1.0})
    other = Path(run_of(tmp_path / "b", {"r1": 1.0}))
    (other / "results.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        compare(one, str(other))


def test_a_folder_is_read_as_its_last_run_left_it(tmp_path: Path) -> None:
    """Whole results of an earlier run are not taken for those of one that broke off; a bare file is taken as it is."""
    one = run_of(tmp_path / "a", {"r1": 1.0})
    other = Path(run_of(tmp_path / "b", {"r1": 1.0}))
    (other / "run.json").write_text('{"run": 2, "status": "interrupted", "results": "results.jsonl.partial"}')
    with pytest.raises(InputError, match=r"did not finish \(interrupted\), and results\.jsonl is from an earlier one"):
        compare(one, str(other))
    assert compare(one, str(other / "results.jsonl")).shared == 1
    (other / "results.jsonl").rename(other / "kept")
    with pytest.raises(InputError, match=r"ended \(interrupted\) before any record was evaluated; run it again"):
        compare(one, str(other))
    (other / "kept").rename(other / "results.jsonl")
    (other / "run.json").unlink()
    assert compare(one, other).second.name == str(other)
    (other / "results.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"contains no results\.jsonl"):
        compare(one, other)
    (other / "run.json").write_text("{")
    (other / "results.jsonl").write_text("")
    with pytest.raises(InputError, match=r"run\.json: not JSON"):
        compare(one, other)


def test_records_set_aside_have_no_scores_and_do_no_harm(tmp_path: Path) -> None:
    one = run_of(tmp_path / "a", {"r1": 1.0, "r2": 0.5})
    aside = {"id": "r2", "position": 2, "set_aside": "no JSON"}
    found = compare(one, folder(tmp_path / "b", [result("r1", 1, [score("grounding", 0.5)]), aside]))
    assert found.shared == 2
    assert found["grounding"].second.scored == 1
    assert left_out(found) == ["grounding: 1 of 2\u00a0records has no score in b (unreadable)."]


@pytest.mark.parametrize(("lost", "where"), [("r1", ["either run"]), ("r2", ["r1", "r2"])])
def test_records_without_a_score_in_either_run_are_the_same_ones(tmp_path: Path, lost: str, where: list[str]) -> None:
    """As many in each run need not be the same: then two records are left out, not one."""
    every = dict.fromkeys(["r1", "r2", "r3"], 1.0)
    runs = [run_of(tmp_path / name, {**every, name: None}) for name in ("r1", lost)]
    told = "; ".join(f"1 of 3\u00a0records has no score in {run} (judge_failed)" for run in where)
    assert left_out(compare(runs[0], runs[1])) == [f"grounding: {told}."]


@pytest.mark.parametrize(
    "verdicts", [None, [3], [{"unit": "nowhere", "value": 0.0, "reason": ""}], [{"value": 0.0}], {"a": 1}]
)
def test_a_result_whose_verdicts_are_none_is_one_line(tmp_path: Path, verdicts: Any) -> None:
    """Found when the records behind a number are looked up."""
    run = run_of(tmp_path / "a", {"r1": 0.5}, verdicts=verdicts)
    with pytest.raises(InputError, match=r"'r1'( is not in Ragstone's format|: a result without 'unit')"):
        check(run, min={"grounding": 0.9})
