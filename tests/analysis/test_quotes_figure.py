"""The share of quotes that stand where judges say: what is counted, once, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from labelled import write
from page_blocks import flat
from ragstone import evaluate
from ragstone.analysis.counts import Quotes, absences, quotes_of
from ragstone.analysis.run import Run
from ragstone.engine.document import result_document, set_aside_document
from ragstone.errors import RagstoneError
from ragstone.questions import Rated
from ragstone.render.terminal.case import case
from ragstone.render.terminal.outcome import outcome
from ragstone.render.terminal.screen import Look
from ragstone.result_types import QuotesDict
from ragstone.store.database import ResultRow, Store
from ragstone.testing import ScriptedJudge
from ragstone.types import Passage, Quote, Record, Score, Span, Unit, Verdict

EXACT = Quote("p", Span(0, 4), "ends", verbatim=True)
NEAR = Quote("p", Span(5, 9), "meet", verbatim=False)
ABSENT = Quote("", None, "nowhere", verbatim=False)
RECORD = Record(id="r", question="q", response="It is.", contexts=(Passage("p", "ends meet", 1),))


def verdict(*quotes: Quote, number: int = 1, judge: str = "one", members: Sequence[Verdict] = ()) -> Verdict:
    unit = Unit(f"r/claim/{number}", "claim", "It is.")
    return Verdict(unit, "yes", 1.0, judge, evidence=quotes, members=tuple(members))


def score(*verdicts: Verdict, metric: str = "m") -> Score:
    return Score(metric, "r", 1.0, "scored", verdicts=verdicts)


def document(*scores: Score) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(result_document(RECORD, 1, [(one, ()) for one in scores]).document)
    return found


def both(*scores: Score) -> QuotesDict:
    """The figures, counted while a run goes on and from its result: they are the same."""
    live = Quotes()
    live.add(scores)
    read = Quotes()
    read.add_result(document(*scores))
    assert (live.as_json(), live.members()) == (read.as_json(), read.members())
    return live.as_json()


PANEL = verdict(EXACT, members=(verdict(EXACT, judge="a"), verdict(ABSENT, judge="b")), judge="a+b")
SHARED = verdict(EXACT, ABSENT)


@pytest.mark.parametrize(("scores", "counts", "verified"), [
    ([score(verdict(EXACT, NEAR, ABSENT), verdict(EXACT, number=2))], (4, 2, 1, 1), 0.75),
    ([score(verdict())], (0, 0, 0, 0), None),
    ([score(PANEL)], (2, 1, 0, 1), 0.5),
    ([score(SHARED), score(SHARED, verdict(EXACT, ABSENT, number=2), metric="n")], (4, 2, 0, 2), 0.5),
])  # fmt: skip
def test_each_quote_is_counted_once_by_its_kind(
    scores: list[Score], counts: tuple[int, ...], verified: float | None
) -> None:
    """To the letter, nearly, nowhere; no share without any; of a panel the members' alone; of two scores once."""
    assert both(*scores) == {**dict(zip(("named", "verbatim", "near", "absent"), counts, strict=True)),
                             "verified": verified}  # fmt: skip


def test_a_record_that_was_set_aside_has_no_quotes() -> None:
    assert quotes_of([orjson.loads(set_aside_document("r", 1, "not an object").document)]) == both(score(verdict()))


def test_members_of_a_panel_that_left_units_unjudged_are_counted() -> None:
    """Once for each verdict, however many scores contain it."""
    lost = Verdict(verdict().unit, None, None, "b/m@http://b", failure="down")
    panels = [verdict(members=(verdict(judge="a"), lost), number=number) for number in (1, 2)]
    panels.append(verdict(members=(verdict(judge="a"), verdict(judge="b/m@http://b")), number=3))
    counted = Quotes()
    counted.add([score(*panels), score(*panels, metric="n")])
    assert absences({"panel": counted.members()}) == [
        "b/m left 2 of 3 units unjudged; for these, only the rest of its panel counts"
    ]
    both(score(*panels))


quotes = st.lists(st.sampled_from([EXACT, NEAR, ABSENT]), max_size=3)
alone = st.builds(lambda quoted, number: verdict(*quoted, number=number), quotes, st.integers(1, 3))
panels = st.builds(lambda lead, members: replace(lead, members=tuple(members)), alone, st.lists(alone, max_size=2))


@given(st.lists(st.lists(panels, max_size=3), max_size=3))
def test_a_run_that_is_going_on_counts_as_its_results_do(found: list[list[Verdict]]) -> None:
    """Whatever verdicts there are; the parts add up, and the share is one."""
    told = both(*(score(*verdicts, metric=f"m{n}") for n, verdicts in enumerate(found)))
    assert told["named"] == told["verbatim"] + told["near"] + told["absent"]
    assert told["verified"] is None if not told["named"] else 0 <= (told["verified"] or 0) <= 1


# ---- in a run


def quoting(question: Any) -> Rated:
    """Three quotes for each unit: one of each kind."""
    passage = question.passages[0]
    evidence = (
        Quote(passage.id, Span(0, 5), passage.text[:5], verbatim=True),
        Quote(passage.id, Span(6, 12), passage.text[6:12], verbatim=False),
        Quote("", None, "Purple elephants \x1b[31m sing", verbatim=False),
    )
    label = question.scale.labels[0]
    return Rated(tuple(Verdict(unit, label, 0.0, "scripted", 0, evidence=evidence) for unit in question.units))


def row(number: int) -> dict[str, Any]:
    return {
        "id": f"r{number}", "question": "q", "response": f"The lid {number} is of steel.",
        "contexts": [f"A kettle {number} is of steel."],
    }  # fmt: skip


@pytest.fixture
def weighed(tmp_path: Path) -> Run:
    """Two records and one that cannot be read."""
    source = write(tmp_path / "a.jsonl", [row(1), [], row(2)])
    return evaluate(
        source, "groundedness", ScriptedJudge(quoting), store=tmp_path / "s.db", on_error="skip", out=tmp_path / "out"
    )


def test_a_run_has_the_figures_in_its_summary(weighed: Run, tmp_path: Path) -> None:
    """Those of its results, beside a record that was set aside; in summary.json too."""
    figures = weighed.summary()["quotes"]
    assert figures == {"named": 6, "verbatim": 2, "near": 2, "absent": 2, "verified": 0.666666667}
    assert figures == weighed.quotes() == quotes_of(weighed.results())
    assert json.loads((tmp_path / "out" / "summary.json").read_bytes())["quotes"] == figures
    assert weighed.summary()["set_aside"] == 1


def test_a_run_that_was_killed_has_them_of_what_is_there(weighed: Run) -> None:
    """No summary was kept: they are counted from the results, set-aside ones included."""
    store = weighed.store
    number = store.start_run("killed", {"signatures": {"groundedness": "groundedness|v"}})
    rows = [ResultRow(row.position, row.record, row.document) for row in store.results(weighed.id)][:2]
    store.begin()
    store.insert((), [(number, one, ()) for one in rows])
    store.commit()
    found = store.run(number)
    assert found is not None
    assert Run(store, found).quotes() == {**weighed.summary()["quotes"], "named": 3, "verbatim": 1,
                                                     "near": 1, "absent": 1}  # fmt: skip


def test_a_run_that_was_stopped_has_them_of_what_was_done(tmp_path: Path) -> None:
    """What was counted is what is kept."""
    seen = []

    def enough(document: bytes) -> None:
        seen.append(document)
        if len(seen) == 2:
            raise RagstoneError("enough")

    source = write(tmp_path / "a.jsonl", [*(row(n) for n in range(1, 9))])
    with pytest.raises(RagstoneError, match="enough"):
        evaluate(source, "groundedness", ScriptedJudge(quoting), store=tmp_path / "s.db", on_result=enough)
    with Store(tmp_path / "s.db") as store:
        (kept,) = store.runs()
        assert kept.status == "stopped"
        assert kept.summary is not None
        assert kept.summary["quotes"]["named"] == 6
        assert kept.summary["quotes"] == quotes_of(Run(store, kept).results())


def test_a_quote_of_a_criterion_is_missing_in_the_response(tmp_path: Path) -> None:
    """Not in the passages, which its judge may not have seen."""
    made_up = Quote("", None, "Purple elephants sing", verbatim=False)

    def answer(question: Any) -> Rated:
        return Rated(tuple(Verdict(unit, "no", 0.0, "scripted", 0, evidence=(made_up,)) for unit in question.units))

    parameters = {"rubric": {"criteria": {"polite": {"criterion": "It is polite."}}}}
    run = evaluate([row(1)], "rubric", ScriptedJudge(answer), store=tmp_path / "s.db", parameters=parameters)
    assert "not found in the response “Purple elephants sing”" in flat(case(run.result("r1"), 1, 1, Look(100)))


def test_the_screen_of_a_run_says_how_many_were_found(weighed: Run) -> None:
    """Also of a run of an earlier version: its summary has no such figures; its results have the quotes."""
    said = "Quotes 67% of 6 were found in the passages, 2 of them not word for word"
    assert said in flat(outcome(weighed, Look(100)))
    summary = {name: value for name, value in weighed.summary().items() if name != "quotes"}
    weighed.store.finish_run(weighed.id, "done", summary)
    kept = weighed.store.run(weighed.id)
    assert kept is not None
    assert said in flat(outcome(Run(weighed.store, kept), Look(100)))


def test_a_run_without_a_language_model_says_nothing(tmp_path: Path) -> None:
    """The embedded judge cuts its evidence out of the passages: the figures are there, and no news."""
    run = evaluate(write(tmp_path / "a.jsonl", [row(1)]), "groundedness", store=tmp_path / "e.db")
    figures = run.summary()["quotes"]
    assert figures["named"] == figures["verbatim"] > 0
    assert "Quotes" not in flat(outcome(run, Look(100)))


def test_a_record_tells_the_kinds_apart(weighed: Run) -> None:
    """What stands there word for word has its place, what nearly does says so, what does not is not found."""
    text = flat(case(weighed.result("r1"), 2, 1, Look(100), full=True))
    assert "passage 1, characters 0\u20135 “A ket”" in text
    assert "close match: passage 1, characters 0\u20135" not in text
    assert "close match: passage 1, characters 6\u201312 “le 1 i”" in text
    assert "not found in the passages “Purple elephants [31m sing”" in text
