"""What ``check`` decides from values that are known one by one: means, drops, and what is undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from labelled import write
from ragstone import check
from ragstone.analysis.check import CheckResult
from ragstone.analysis.compare import SAME_IDS
from ragstone.cli.app import app
from ragstone.errors import ConfigError
from run_folders import result, score

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def results(
    name: str,
    values: Sequence[float | None],
    partly: Mapping[int, tuple[float, float]] | None = None,
    first: int = 1,
    unreadable: Sequence[str] = (),
) -> None:
    """The folder of a run with one metric, m, and these values; ``partly`` bounds those that have a unit unjudged."""
    Path(name).mkdir(exist_ok=True)
    lines = []
    for n, value in enumerate(values, first):
        low, high = (partly or {}).get(n, (value, value))
        more = {"status": "empty"} if value is None else {"unjudged": int(low != high)}
        lines.append(result(f"r{n}", n, [score("m", value, low=low, high=high, **more)]))
    lines += [{"id": one, "position": len(values) + n, "set_aside": "no"} for n, one in enumerate(unreadable, 1)]
    write(f"{name}/results.jsonl", lines)


def drop_of(before: Sequence[float | None], after: Sequence[float | None], allowed: float = 0) -> CheckResult:
    """A check of the second run's values that allows so large a drop from the first's."""
    results("before", before)
    results("after", after)
    return check("after", max_drop={"m": allowed}, baseline="before")


BY_CHANCE = ([1, 1, 1, 1, 1, 1, 0, 0, 0.5, 0.5], [0, 0, 0, 0, 1, 1, 1, 1, 0, 0.5])
"""A drop of 25 points, of which the interval holds 0: four records fell, two rose."""


def test_a_drop_that_could_be_chance_is_undecided() -> None:
    """It lets the run pass unless that is said otherwise, by a flag or in the file; a drop that is allowed passes."""
    gate = drop_of(*BY_CHANCE)
    (decision,) = gate.decisions
    assert (decision.outcome, gate.outcome, gate.passed) == ("undecided", "undecided", True)
    assert decision.high is not None
    assert decision.high >= 0
    assert any("larger than allowed, but the interval includes the limit" in note for note in decision.notes)
    few = "only 4 records changed; at least 6 must change"
    for allowed, said in (
        (0.02, f"larger than allowed, but {few}"),
        (0.5, f"no test possible: {few.removesuffix(' for a test')}"),
    ):
        assert said in drop_of([1] * 9, [0] * 4 + [1] * 5, allowed).decisions[0].notes
    assert few not in decision.notes
    assert not check("after", max_drop={"m": 0}, baseline="before", undecided="fail").passed
    assert [(worst.record, worst.before, worst.value) for worst in decision.worst[:2]] == [("r1", 1, 0), ("r2", 1, 0)]
    came = CliRunner().invoke(
        app, ["check", "after/", "--max-drop", "m=0", "--baseline", "before", "--markdown", "c.md"]
    )
    assert "The threshold is undecided (counted as met)." in came.stdout
    for told in (came.stdout, Path("c.md").read_text(encoding="utf-8")):
        assert "Largest drops in m (threshold: must not drop)" in told
        assert "r1" in told
    Path("ragstone.toml").write_text('[check]\nundecided = "fail"\n', encoding="utf-8")
    assert not check("after", max_drop={"m": 0}, baseline="before").passed
    assert check("after", max_drop={"m": 0}, baseline="before", undecided="pass").passed
    came = CliRunner().invoke(app, ["check", "after/", "--max-drop", "m=0", "--baseline", "before", "--min", "m=1"])
    assert "2 of 2 thresholds were not met, 1 of them undecided." in came.stdout
    assert drop_of(*BY_CHANCE, allowed=0.25).outcome == "passed"
    with pytest.raises(ConfigError, match="expected pass or fail"):
        check("after", max_drop={"m": 0}, baseline="before", undecided="maybe")  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "after", "lenient", "strict"), [
    ([1] * 5, [0] * 5, 3, 3),
    ([1] * 9, [0] * 4 + [1] * 5, 0, 1),
    (*BY_CHANCE, 0, 1),
    ([1, 0.9] * 6, [0] * 12, 1, 1),
    ([1] * 9, [0.99] * 9, 0, 0),
])  # fmt: skip
def test_the_exit_code_of_a_drop(before: Sequence[float], after: Sequence[float], lenient: int, strict: int) -> None:
    """As the guide lists them: too few pairs, too few changed, by chance, shown, and allowed."""
    drop_of(before, after)
    asked = ["check", "after/", "--max-drop", "m=0.02", "--baseline", "before"]
    codes = [CliRunner().invoke(app, [*asked, "--undecided", then]).exit_code for then in ("pass", "fail")]
    assert codes == [lenient, strict]


def test_one_record_that_fell_too_far_fails_whatever_the_mean() -> None:
    """The largest drop of a record decides, on the screen and in CI; a drop of just the limit passes."""
    results("before", [1, 1, 0.5, 0.5])
    results("after", [1, 0.25, 1, 0.4])
    Path("ragstone.toml").write_text('[check]\nmax_record_drop = { m = 0.1 }\nbaseline = "before"\n', encoding="utf-8")
    came = CliRunner().invoke(app, ["check", "after/", "--junit", "c.xml", "--markdown", "c.md"])
    both = CliRunner().invoke(app, ["check", "after/", "--max-drop", "m=0", "--min-coverage", "m=1"])
    assert "1 of 3 thresholds was not met; 1 could not be decided." in both.stdout
    shown = " ".join(came.stdout.split())
    required, found = (
        "no record may drop by more than 10 points",
        "largest drop 75.0 points; over the limit: 1 of 4 records in both runs",
    )
    said = f"{found}; required: {required}"
    assert (came.exit_code, f"failed m: {required} {found} Largest drops" in shown) == (1, True)
    assert "r2 100% to 25%" in shown
    junit, markdown = (Path(name).read_text(encoding="utf-8") for name in ("c.xml", "c.md"))
    assert ('name="m: no record may drop by more than 10 points"' in junit, f'message="{said}"' in junit) == (
        True,
        True,
    )
    assert "| **failed** | m | no record may drop by more than 10 points | largest drop 75.0 points" in markdown
    (met,) = check("after", max_record_drop={"m": 0.75}).decisions
    assert (met.outcome, met.value, met.count) == ("passed", -0.75, 4)
    results("same", [1, 1, 0.5, 0.5])
    assert check("same", max_record_drop={"m": 0}).decisions[0].said == (
        "largest drop 0.0 points; over the limit: 0 of 4 records in both runs; required: no record may drop"
    )


@pytest.mark.parametrize(("status", "outcome"), [("judge_failed", "error"), ("empty", "passed")])
def test_a_record_without_a_value_now_could_have_fallen(status: str, outcome: str) -> None:
    """Where its judge failed, by all that it had; an answer without claims has no value to lose."""
    results("before", [1, 0.3])
    results("after", [1, None])
    fell = Path("after", "results.jsonl")
    fell.write_text(fell.read_text(encoding="utf-8").replace('"empty"', f'"{status}"'), encoding="utf-8")
    allowed = {0.2: outcome, 0.3: "passed"}
    for limit, expected in allowed.items():
        (decision,) = check("after", max_record_drop={"m": limit}, baseline="before").decisions
        assert decision.outcome == expected
    (decision,) = check("after", max_record_drop={"m": 0.2}, baseline="before").decisions
    assert ("the drop in a record could be 30.0 points" in " ".join(decision.notes)) == (outcome == "error")


@pytest.mark.parametrize(("unjudged", "limit", "outcome"), [
    (6, 0.02, "error"), (5, 0.02, "undecided"), (1, 0.02, "undecided"), (1, 0.05, "passed"),
])  # fmt: skip
def test_records_without_a_verdict_could_hide_a_drop_of_the_mean(unjudged: int, limit: float, outcome: str) -> None:
    """Too few to show that it fell leave it undecided, as if they had fallen, or had been higher in the baseline."""
    lost: list[float | None] = [None] * unjudged
    for run, before, after in (
        ("after", [0.8] * 20, [*[0.8] * (20 - unjudged), *lost]),
        ("before", [*[0.2] * (20 - unjudged), *lost], [0.2] * 20),
    ):
        drop_of(before, after)
        fell = Path(run, "results.jsonl")
        fell.write_text(fell.read_text(encoding="utf-8").replace('"empty"', '"judge_failed"'), encoding="utf-8")
        (decision,) = check("after", max_drop={"m": limit}, baseline="before").decisions
        assert decision.outcome == outcome
        could = f"could not be read or fully judged: the drop could be {4 * unjudged}.0 points"
        assert (could in " ".join(decision.notes)) == (outcome != "passed")


@pytest.mark.parametrize(("before", "after", "outcome"), [
    ((1.0, 1.0), (0.1, 1.0), "error"), ((0.9, 1.0), (0.9, 0.9), "error"),
    ((0.9, 0.94), (0.9, 0.9), "passed"), ((0.9, 0.9), (0.9, 1.0), "passed"),
])  # fmt: skip
def test_unjudged_units_of_either_run_do_not_pass_a_gate(
    before: tuple[float, float], after: tuple[float, float], outcome: str
) -> None:
    """All have the same value, of which nothing is known but its bounds; a minimum coverage allows that."""
    value = max(before[0], after[0])
    results("before", [value] * 10, dict.fromkeys(range(1, 11), before))
    results("after", [value] * 10, dict.fromkeys(range(1, 11), after))
    for kind in ("max_drop", "max_record_drop"):
        limit: dict[str, Any] = {kind: {"m": 0.05}}
        assert check("after", baseline="before", **limit).outcome == outcome
        assert check("after", baseline="before", **limit, min_coverage={"m": 1}).outcome == "passed"
    (mean,) = check("after", min={"m": after[0] + 0.01}).decisions
    assert mean.outcome == ("error" if value > after[0] else "failed")


def test_a_failed_mean_names_no_record_at_100_percent() -> None:
    """What has nothing wanting is not behind it."""
    results("after", [1.0, 1.0, 0.9, 1.0])
    (decision,) = check("after", min={"m": 0.99}).decisions
    assert [worst.record for worst in decision.worst] == ["r3"]


@pytest.mark.parametrize(("before", "after", "allowed", "outcome", "said"), [
    ([0.5] * 8, [0.3] * 8, 0, "failed", ""),
    ([0.5] * 5, [0.3] * 5, 0, "error", "no test possible: only 5 paired records; at least 6 must change"),
    # The same system passes, however few records it has.
    ([0.5] * 5, [0.5] * 5, 0, "passed", "every record has the same value in both runs"),
    ([0.5] * 8, [0.5] * 8, 0, "passed", "every record has the same value in both runs"),
    # That a change of all is no chance does not make it too large, and a rise is no drop.
    ([0.5] * 8, [0.3] * 8, 0.3, "passed", ""),
    ([0.3] * 8, [0.5] * 8, 0, "passed", ""),
    ([0.5] * 8, [0.3] * 8, 0.1, "failed", ""),
    ([0.8] * 8, [0.6] * 8, 0.2, "passed", ""),  # in binary, .8 - .6 is more than .2
    # Each run has values, and no record has two: an error, not a pass.
    ([1.0] * 8 + [None] * 8, [None] * 8 + [0.0] * 8, 0, "error", "no record has a value in both after and the"),
    # One rose and one fell: the mean passes, and says which to look at.
    ([1] * 7 + [0.5], [0.5] + [1] * 7, 0.02, "passed", "1 record scored lower: r1, 100% to 50%"),
])  # fmt: skip
def test_what_is_decided_of_a_drop(
    before: Sequence[float | None], after: Sequence[float | None], allowed: float, outcome: str, said: str
) -> None:
    """Without an interval, as where all changed by the same or fewer than six did, the test alone decides."""
    (decision,) = drop_of(before, after, allowed).decisions
    assert (decision.outcome, decision.low) == (outcome, None)
    assert any(said in line for line in (decision.found, *decision.notes))


def test_without_a_common_record_only_the_drops_are_undecidable() -> None:
    """The mean is still checked, and the run still fails for it."""
    results("before", [0.9] * 8)
    results("after", [0.3] * 8, first=9)
    gate = check("after", min={"m": 0.8}, max_drop={"m": 0.02}, baseline="before")
    assert [(one.threshold.kind, one.outcome) for one in gate.decisions] == [("min", "failed"), ("max_drop", "error")]
    assert gate.outcome == "failed"
    assert SAME_IDS in gate.decisions[1].found


def test_a_mean_tells_what_it_could_be_where_one_record_has_a_unit_unjudged() -> None:
    results("after", [1.0, 0.5], {2: (0.3, 0.7)})
    (decision,) = check("after", min={"m": 0.5}).decisions
    assert (decision.outcome, decision.value) == ("passed", 0.75)
    assert "unjudged units: the mean could be 65% to 85%" in decision.notes


@pytest.mark.parametrize(("first", "now", "told", "outcome"), [
    (1, 12, None, "passed"),
    (1, 15, "3 records only in this run", "passed"),
    (1, 10, "2 records only in the baseline", "passed"),
    (4, 12, "3 records only in the baseline and 3 records only in this run", "undecided"),
])  # fmt: skip
def test_records_that_were_not_compared_are_counted(first: int, now: int, told: str | None, outcome: str) -> None:
    """Where both runs have some, a response that changed may be one of them: a record without an id has a new one."""
    results("before", [1] * 12)
    results("after", [1] * now, first=first)
    for kind in ("max_drop", "max_record_drop"):
        gate = check("after", baseline="before", **{kind: {"m": 0.02}})  # type: ignore[arg-type]
        (decision,) = gate.decisions
        said = [note for note in decision.notes if note.startswith("not compared: ")]
        assert [(told or "-") in note for note in said] == [True] * bool(told)
        assert (gate.outcome, any("the same id in both runs" in note for note in said)) == (outcome, first > 1)


@pytest.mark.parametrize(("first", "outcome"), [(1, "passed"), (2, "undecided")])
def test_lines_that_neither_run_could_read_hide_no_drop(first: int, outcome: str) -> None:
    """They are named after their files, so none is in both runs; a readable record of one run could be one of them."""
    results("before", [1] * 12, unreadable=["before.jsonl:13"])
    results("after", [1] * (13 - first), first=first, unreadable=["after.jsonl:13"])
    gate = check("after", baseline="before", max_drop={"m": 0.02}, min_coverage={"m": 0.9})
    assert gate.outcome == outcome


def test_an_interval_that_reaches_below_a_limit_shows_it() -> None:
    """Rounded to the limit it would contradict the note."""
    results("after", [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.75, 1, 0.5])
    low = check("after", min={"m": 0}).decisions[0].low
    assert low is not None
    (decision,) = check("after", min={"m": round(low + 0.001, 4)}).decisions
    assert decision.notes == (f"the interval extends below {round(100 * low + 0.1, 2):g}%",)
    shown = float(decision.found.partition("95% CI ")[2].partition(" ")[0])
    assert shown < 100 * low + 0.1


def test_a_folder_of_an_unfinished_run_decides_nothing() -> None:
    """Its results are in the partial file that run.json names."""
    results("after", [1] * 8)
    Path("after/results.jsonl").rename("after/results.jsonl.partial")
    about = '{"run": 1, "name": "x", "status": "interrupted", "results": "results.jsonl.partial"}'
    Path("after/run.json").write_text(about, encoding="utf-8")
    came = CliRunner().invoke(app, ["check", "after/", "--min", "m=0.5"])
    assert came.exit_code == 3
    assert "did not finish (interrupted)" in " ".join(came.stdout.split())
