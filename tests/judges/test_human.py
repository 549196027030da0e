"""The judge that answers from people's labels: a lookup of rows or of records of a trace, and no guess."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from by_hand import computed

from ragstone import ConfigError, InputError, estimate, evaluate
from ragstone.api.plan import planned
from ragstone.judges.human import HumanJudge
from ragstone.labels import text_hash
from ragstone.options import RunOptions
from ragstone.questions import GRADE_0_3, YES_NO, Rate, Rated, Trace, Traced, Write, Written
from ragstone.types import RESPONSE, TRIVIAL, Passage, Scale, Span, Unit

TEXT = "Water boils at 100 degrees. It is wet."
CLAIM = Unit("dir/a/claim/1", "claim", "Water boils.")


def row(unit: str = "claim/1", label: str | None = "yes", task: str = "support", **more: Any) -> dict[str, Any]:
    return {"record": "dir/a", "unit": f"dir/a/{unit}", "task": task, "label": label, **more}


def file(tmp_path: Path, *rows: Mapping[str, Any] | str) -> Path:
    path = tmp_path / "labels.jsonl"
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in rows), "utf-8")
    return path


def judge(tmp_path: Path, *rows: Mapping[str, Any], annotator: str = "") -> HumanJudge:
    return HumanJudge("human", f"{file(tmp_path, *rows)}{annotator}")


def rated(judge: HumanJudge, unit: Unit = CLAIM, scale: Scale = YES_NO, **options: Any) -> tuple[str | None, str]:
    found = computed(judge, Rate("support", (unit,), scale, **options))
    assert isinstance(found, Rated)
    (verdict,) = found.verdicts
    assert (verdict.label is None) == bool(verdict.failure)
    assert verdict.value == (None if verdict.label in (None, TRIVIAL) else scale.value(str(verdict.label)))
    return verdict.label, verdict.failure or verdict.reason


@pytest.mark.parametrize(
    ("rows", "label", "said"),
    [
        ([row()], "yes", ""),
        ([row(hash=text_hash(CLAIM.text))], "yes", ""),
        ([row("claim/2")], None, "no label for this unit"),
        ([row(hash=text_hash("Water freezes."))], None, "the text has changed since it was labelled"),
        ([row(text="Water freezes.")], None, "the text has changed since it was labelled"),
        ([row(label=None)], None, "the annotator could not tell"),
        ([row(label="3")], None, "the label '3' is not on the scale yes_no (no, yes)"),
        ([row(label=TRIVIAL)], TRIVIAL, ""),
        ([row(annotator="ana"), row(label="no", annotator="ben")], None, "annotators disagree (ana: yes, ben: no)"),
        ([row(annotator="ana"), row(label=None, annotator="ben")], "yes", "ana: yes, ben: cannot tell"),
        ([row(annotator="ana", hash="other"), row(label="no", annotator="ben")], "no", "ben: no"),
        (
            [row(annotator="ana"), row(annotator="cid"), row(label="no", annotator="ben")],
            "yes", "ana: yes, ben: no, cid: yes",
        ),
    ],
)  # fmt: skip
def test_a_unit_has_its_label_or_the_reason_why_it_has_none(
    tmp_path: Path, rows: list[Any], label: str | None, said: str
) -> None:
    assert rated(judge(tmp_path, row("other/1"), *rows)) == (label, said)


@pytest.mark.parametrize(
    ("more", "noted"), [({}, True), ({"hash": "h"}, False), ({"hash": "h", "task": "assign"}, True)]
)
def test_labels_that_fit_any_response_are_noted(tmp_path: Path, more: dict[str, str], noted: bool) -> None:
    """Those of one system would answer for all others."""
    found = judge(tmp_path, row(**more), row(response="r"))
    assert ("they also answer for other responses" in found.note) is noted


@pytest.mark.parametrize(
    "question",
    [
        Rate("assign", (CLAIM,), YES_NO, passages=(Passage(RESPONSE, "It boils.", 1),)),
        Rate("rubric", (CLAIM,), YES_NO, passages=(Passage("1", TEXT, 1),), response="It boils."),
    ],
)
def test_labels_for_another_response_are_not_used(tmp_path: Path, question: Rate) -> None:
    """A nugget or a criterion has the same text whatever the response."""
    given = {"task": question.task, "hash": text_hash(CLAIM.text)}
    rows = [row(**given, label="no", response=text_hash("It freezes."))]
    for more, expected in (([], (None, "labelled for a different response")),
                           ([row(**given, response=text_hash("It boils."))], ("yes", ""))):  # fmt: skip
        found = computed(judge(tmp_path, *rows, *more), question)
        assert isinstance(found, Rated)
        (verdict,) = found.verdicts
        assert (verdict.label, verdict.failure) == expected


def test_claims_of_another_response_are_not_used(tmp_path: Path) -> None:
    """Else a new response would be rated by the claims of the one that was labelled."""
    given = {"text": "It boils.", "response": text_hash("It boils.")}
    for response, said in (("It boils.", ""), ("It freezes.", "labelled for a different response"), ("", "")):
        question = Write("claims", "claim", "", sentences(response), response=response)
        written = computed(judge(tmp_path, {**row("dir/a/claim/1"), **given}), question)
        assert isinstance(written, Written)
        assert (written.failure, [unit.text for unit in written.units]) == (said, [] if said else ["It boils."])


def test_trivial_is_a_label_where_the_question_allows_it(tmp_path: Path) -> None:
    assert rated(judge(tmp_path, row(label=TRIVIAL)), scale=GRADE_0_3, skippable=True) == (TRIVIAL, "")


def test_one_annotator_can_be_chosen(tmp_path: Path) -> None:
    rows = [row(annotator="ana"), row(label="no", annotator="ben")]
    every, ana, ben = (judge(tmp_path, *rows, annotator=name) for name in ("", "#ana", "#ben"))
    assert (rated(ana)[0], rated(ben)[0]) == ("yes", "no")
    assert [one.id for one in (every, ana, ben)] == ["human", "human#ana", "human#ben"]
    question = Rate("support", (CLAIM,), YES_NO)
    assert len({one.maker(question) for one in (every, ana, ben)}) == 3
    with pytest.raises(ConfigError, match=r"no annotator 'cid' in .*labels\.jsonl; it has ana, ben"):
        judge(tmp_path, *rows, annotator="#cid")
    with pytest.raises(ConfigError, match="names no annotators; remove #ana"):
        judge(tmp_path, {"id": "a", "relevant": []}, annotator="#ana")


def test_the_signature_follows_the_labels_and_nothing_else(tmp_path: Path) -> None:
    question = Rate("support", (CLAIM,), YES_NO)
    first = judge(tmp_path, row(), row("claim/2")).maker(question)
    assert judge(tmp_path, row("claim/2", seconds=3), row(rubric="x")).maker(question) == first
    assert judge(tmp_path, row(label="no"), row("claim/2")).maker(question) != first


def sentences(*texts: str) -> tuple[Unit, ...]:
    return tuple(Unit(f"dir/a/sentence/{n}", "sentence", text, Span(n, n + 1)) for n, text in enumerate(texts, 1))


def parts(judge: HumanJudge, whole: tuple[Unit, ...], sizes: tuple[int, ...]) -> list[Unit]:
    """The claims of a response that is asked about in parts of so many sentences."""
    found: list[Unit] = []
    start = 0
    for number, size in enumerate(sizes, 1):
        question = Write("claims", "claim", "", whole[start : start + size], part=number, whole=whole)
        written = computed(judge, question)
        assert isinstance(written, Written)
        assert not written.failure
        found += written.units
        start += size
    return found


@pytest.mark.parametrize("sizes", [(3,), (1, 1, 1), (2, 1), (1, 2)])
def test_every_claim_is_given_once_and_in_order_whatever_the_parts(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    texts = ["Reworded beyond recognition", "it is wet", "Water boils.", "also new", "So is ice.", "It is wet!", "new"]
    rows = [row(f"claim/{n}", text=text) for n, text in enumerate(texts, 1)]
    whole = sentences("Well, water boils.", "And it is wet.", "So is ice.")
    found = parts(judge(tmp_path, *reversed(rows)), whole, sizes)
    assert [unit.text for unit in found] == texts
    assert [unit.parent and unit.parent[-1] for unit in found] == [None, "2", "1", None, "3", "2", None]
    assert [unit.span for unit in found][1:3] == [whole[1].span, whole[0].span]


@pytest.mark.parametrize(
    ("rows", "failure"),
    [
        ([row("claim/2", text="b")], "number 1 of 2 has no label; all units of a record must be labelled"),
        (
            [row(text="a", annotator="ana"), row(text="b", annotator="ben")],
            "the labels have two different texts for dir/a/claim/1",
        ),
        ([{**row(text="a"), "record": "b", "unit": "b/claim/1"}], "no label for this record"),
    ],
)
def test_claims_that_are_no_list_are_a_failure_and_not_another_list(
    tmp_path: Path, rows: list[Any], failure: str
) -> None:
    written = computed(judge(tmp_path, *rows), Write("claims", "claim", "", sentences("a b")))
    assert (written.units, written.failure) == ((), failure)


def test_nuggets_that_are_known_are_not_given_again_and_a_bank_is_refused(tmp_path: Path) -> None:
    people = judge(tmp_path, row("nugget/1", text="Water boils."), row("nugget/2", text="It is wet."))
    asked = Write("nuggetize", "nugget", "", sentences(TEXT), known=("water boils",))
    assert [unit.text for unit in computed(people, asked).units] == ["It is wet."]
    refused = computed(people, Write("nuggetize", "nugget", "", passages=(Passage("1", TEXT, 1),)))
    assert refused.failure == "labels cannot create nuggets from passages; add a bank with --nuggets FILE"


def test_a_trace_has_a_list_only_where_every_sentence_is_labelled(tmp_path: Path) -> None:
    contexts = tuple(Unit(f"dir/a/doc_0_s{n}", "sentence", f"C{n}.", Span(0, 3), "1") for n in range(2))
    response = tuple(Unit(f"dir/a/resp_s{n}", "sentence", f"R{n}.") for n in range(2))
    people = judge(
        tmp_path,
        row("resp_s0", task="trace"),
        row("doc_0_s0", task="trace.relevant"),
        row("doc_0_s1", "no", task="trace.relevant"),
        row("doc_0_s0", task="trace.utilized", hash="other"),
    )
    found = computed(people, Trace("trace", "", contexts, response))
    assert isinstance(found, Traced)
    assert (found.relevant, found.utilized, found.support) == (("doc_0_s0",), None, ((), ()))
    assert [verdict.label for verdict in found.verdicts] == ["yes", None]
    assert found.failure == (
        "2 of 2 passage sentences unjudged for trace.utilized: the text has changed since it was labelled; "
        "no label for this unit"
    )


def test_a_step_without_labels_is_refused_before_the_run(tmp_path: Path) -> None:
    path = file(tmp_path, row(text="Water boils."), row("nugget/1", task="relevance"))
    records = [{"id": "dir/a", "question": "q", "response": TEXT, "contexts": [TEXT]}]
    evaluate(records, ("grounding", "claim_relevance", "answer_relevance"), f"human:{path}", store=tmp_path / "s.db")
    for metric, message in {
        "response_groundedness": "'response_support': .* has no labels for this step, only labels for .*support",
        "nugget_recall": "'nuggetize': .* has no texts for a response's nuggets, and .* with --nuggets FILE",
    }.items():
        with pytest.raises(ConfigError, match=f"cannot answer the step {message}"):
            evaluate(records, metric, f"human:{path}", store=tmp_path / "s.db")
    only = file(tmp_path, row())
    with pytest.raises(ConfigError, match=r"'claims': .* has no claim texts, only labels for support"):
        evaluate(records, "grounding", f"human:{only}", store=tmp_path / "s.db")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(), {"id": "a", "relevant": []}], r"labels\.jsonl:2: 'record' is missing; expected \{record, unit"),
        ([{"record": "a", "unit": "a/claim/1", "task": "support"}], r"labels\.jsonl:1: 'label' is missing"),
        ([row(task="suport")], r"claim/1 has the task 'suport'; expected one of support, assign, "),
        ([{"id": "a", "relevant": []}, row()], r"labels\.jsonl:2: a label row among lines of records"),
    ],
)
def test_rows_that_no_step_has_and_two_forms_in_a_file_are_refused(
    tmp_path: Path, rows: list[Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        judge(tmp_path, *rows)


EVERY = (
    "grounding", "claim_relevance", "groundedness", "answer_relevance", "context_relevance", "response_groundedness",
    "nugget_recall", "nugget_groundedness", "nugget_relevance", "trace",
)  # fmt: skip
RECORDS = [
    {
        "id": "x/1", "question": "When does water boil?",
        "response": "Sure! Water boils at 100 degrees. It is blue, and wet.\n\n- Ice is cold.\n- Steam is hot.",
        "contexts": ["Water boils at 100 degrees Celsius. Ice is cold.", {"text": "Cats purr. Steam is hot."}],
        "nuggets": [{"text": "Water boils at 100 degrees"}, {"text": "Water freezes at 0 degrees"}],
    },
    {
        "id": "2", "question": "Who wrote it?", "response": "Ann Lee wrote it in 1990. " * 2 + "She lives in Bern.",
        "contexts": ["Ann Lee wrote the book in 1991."], "nuggets": [{"text": "Ann Lee", "importance": "vital"}],
    },
]  # fmt: skip


def as_rows(results: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A run's verdicts as rows of labels, with hashes of all that the results have the text of."""
    for result in results:
        name = result["id"]
        texts = {unit["id"]: unit["text"] for unit in result["units"]}
        for score in result["scores"]:
            task = TASK_OF[score["metric"].partition(".")[0]]
            for verdict in score["verdicts"]:
                yield labelled(name, verdict["unit"], task, verdict["label"], texts)
            for nugget in score["detail"].get("nuggets", ()):
                yield labelled(name, nugget["nugget"], "importance", nugget["importance"], texts)
            for sentence in score["detail"].get("contexts", ()):
                for mark in ("relevant", "utilized"):
                    label = "yes" if sentence[mark] else "no"
                    yield labelled(name, f"{name}/{sentence['key']}", f"trace.{mark}", label, texts)


TASK_OF = {
    "grounding": "support", "groundedness": "support", "nugget_groundedness": "support",
    "claim_relevance": "relevance", "answer_relevance": "relevance", "context_relevance": "relevance",
    "nugget_relevance": "relevance", "response_groundedness": "response_support", "nugget_recall": "assign",
    "trace": "trace",
}  # fmt: skip


def labelled(record: str, unit: str, task: str, label: str, texts: Mapping[str, str]) -> dict[str, Any]:
    text = texts.get(unit, "")
    written = text if "/claim/" in unit or "/nugget/" in unit else ""
    more = {name: value for name, value in (("text", written), ("hash", text and text_hash(text))) if value}
    return {"record": record, "unit": unit, "task": task, "label": label, **more}


def test_labels_made_of_a_run_give_its_scores(tmp_path: Path) -> None:
    """Also where a response is written from in parts, and with the claims and nuggets from the labels."""
    options = {"grounding": {"part_tokens": 10}, "claim_relevance": {"part_tokens": 10}}
    first = evaluate(RECORDS, EVERY, store=tmp_path / "first.db", parameters=options)
    results = list(first.results())
    first.store.close()
    path = file(tmp_path, *as_rows(results))
    second = evaluate(RECORDS, EVERY, f"human:{path}", store=tmp_path / "second.db", parameters=options)
    again = list(second.results())
    second.store.close()

    def values(results: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
        return {
            (one["id"], score["metric"]): (score["value"], score["status"], [v["unit"] for v in score["verdicts"]])
            for one in results for score in one["scores"]
        }  # fmt: skip

    assert values(again) == values(results)
    assert len({unit["part"] for unit in again[0]["scores"][0]["detail"]["claims"]}) > 1


def test_an_estimate_counts_the_claims_that_people_labelled(tmp_path: Path) -> None:
    texts = [f"Claim {n} of many." for n in range(1, 8)]
    path = file(tmp_path, *(row(f"claim/{n}", text=text) for n, text in enumerate(texts, 1)))
    records = [{"id": "dir/a", "question": "q", "response": "One claim.", "contexts": [TEXT]}]
    judge_of = [f"claims=human:{path}", "support=openai:gpt-4o-mini"]
    found = estimate(records, "grounding", judge_of, store=tmp_path / "s.db", parameters={"grounding": {"batch": 2}})
    assert found.total.calls.expected == 4


# ---- records of a trace

TRACED = [
    {"id": "a", "question": "What?", "response": "It boils. It is hot.", "contexts": ["It boils. It is cold."]},
    {"id": "b", "question": "What?", "response": "It boils.", "contexts": ["It boils."]},
]
LABELS = {
    "id": "a", "relevant": ["doc_0_s0"], "utilized": ["doc_0_s0", "doc_0_s1"],
    "support": {"resp_s0": ["doc_0_s0"], "resp_s1": []}, "supported": False,
}  # fmt: skip


def scores(tmp_path: Path, labels: Path) -> dict[str, dict[str, Any]]:
    run = evaluate(TRACED, "trace", f"human:{labels}", store=tmp_path / "store.db")
    found = {
        result["id"]: {score["metric"].removeprefix("trace."): score for score in result["scores"]}
        for result in run.results()
    }
    run.store.close()
    return found


def test_labels_are_looked_up_by_record(tmp_path: Path) -> None:
    found = scores(tmp_path, file(tmp_path, LABELS))
    assert {name: score["value"] for name, score in found["a"].items()} == {
        "adherence": 0.0, "relevance": 0.05, "utilization": 1.0, "completeness": 1.0, "average": 0.5125,
        "relevance_share": 0.5, "utilization_share": 1.0, "adherence_share": 0.5,
    }  # fmt: skip
    assert "|trace:human+labels#" in found["a"]["adherence"]["signature"]


def test_what_was_not_said_is_unjudged(tmp_path: Path) -> None:
    found = scores(tmp_path, file(tmp_path, {"id": "a", "supported": True}))
    assert {score["status"] for score in found["b"].values()} == {"judge_failed"}
    assert "no label for this record" in found["b"]["relevance"]["reason"]
    assert (found["a"]["adherence"]["value"], found["a"]["adherence"]["status"]) == (1.0, "scored")
    assert {found["a"][name]["status"] for name in ("adherence_share", "relevance")} == {"judge_failed"}


TEXTS = {
    "doc_0_s0": "It boils.", "doc_0_s1": "It is  cold.", "resp_s0": "It boils.", "resp_s1": "It is hot.",
}  # fmt: skip
"""The sentences of record a, one with other white space."""


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"sentences": {**TEXTS, "doc_0_s0": "It is cold."}}, "sentence doc_0_s0 has changed since it was labelled"),
        ({"sentences": {**TEXTS, "resp_s2": "It sings."}}, "sentence resp_s2 has changed since it was labelled"),
        ({"sentences": {"doc_0_s0": "It boils."}}, "sentence doc_0_s1, which is not in 'sentences' of the label file"),
        ({"relevant": ["doc_0_s0", "doc_7_s0"]}, "sentence doc_7_s0, which is not in this record"),
        ({"support": {"resp_s9": []}}, "sentence resp_s9, which is not in this record"),
    ],
)
def test_labels_of_other_sentences_leave_the_record_unjudged(
    tmp_path: Path, more: dict[str, Any], problem: str
) -> None:
    found = scores(tmp_path, file(tmp_path, {**LABELS, **more}))["a"]
    assert {score["status"] for score in found.values()} == {"judge_failed"}
    assert problem in found["relevance"]["reason"]
    assert problem in found["adherence"]["reason"]


def test_labels_without_the_texts_of_their_sentences_are_said_to_be_unchecked(tmp_path: Path) -> None:
    unchecked = scores(tmp_path, file(tmp_path, LABELS))["a"]["adherence"]
    checked = scores(tmp_path, file(tmp_path, {**LABELS, "sentences": TEXTS}))["a"]["adherence"]
    assert checked["value"] == unchecked["value"]
    assert "by number" in unchecked["detail"]["relevance_reason"]
    assert "relevance_reason" not in checked["detail"]
    for labels, notes in ((LABELS, 1), ({**LABELS, "sentences": TEXTS}, 0)):
        with planned(TRACED, RunOptions(metrics="trace", judge=f"human:{file(tmp_path, labels)}")) as plan:
            assert sum("matched to sentences by number" in note for note in plan.notes) == notes


def test_labels_keep_the_sentences_that_came_with_the_record(tmp_path: Path) -> None:
    """The text has line breaks where the sentences have none, and other sentences by any splitter."""
    own = ["It boils at", "100 degrees.", "It is cold."]
    record = {**TRACED[0], "contexts": [{"text": "It boils at\n\n100  degrees. It is cold.", "sentences": own}]}
    labels = file(tmp_path, {**LABELS, "relevant": ["doc_0_s1", "doc_0_s2"], "utilized": ["doc_0_s2"]})
    run = evaluate([record], "trace", f"human:{labels}", store=tmp_path / "store.db")
    (result,) = run.results()
    run.store.close()
    rows = result["scores"][0]["detail"]["contexts"]
    text = result["contexts"][0]["text"]
    assert [(text[row["start"] : row["end"]], row["relevant"], row["utilized"]) for row in rows] == [
        ("It boils at", False, False), ("100  degrees.", True, False), ("It is cold.", True, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["record,unit,label"], r"labels.jsonl:1: not JSON .* other files with: ragstone label import"),
        (["[]"], r"labels.jsonl:1: no id; expected label rows or \{id, relevant"),
        ([LABELS, {"relevant": []}], r"labels.jsonl:2: no id"),
        ([{"id": "a", "relevant": "doc_0_s0"}], r"labels.jsonl:1: field 'relevant' is a str; expected"),
        ([{"id": "a", "relevant": [0]}], r"labels.jsonl:1: field 'relevant' has a value that is not text; expected"),
        ([{"id": "a", "support": {"resp_s0": 1}}], r"labels.jsonl:1: field 'support.resp_s0' has a value that is not"),
        ([LABELS, LABELS], r"labels.jsonl:2: the record 'a' is labelled twice"),
        ([""], r"labels.jsonl: no labels found"),
    ],
)
def test_a_file_that_holds_no_labels_is_refused_by_line(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate(TRACED, "trace", f"human:{file(tmp_path, *rows)}", store=tmp_path / "s.db")


def test_a_file_must_be_named_be_there_and_have_labels_of_the_step(tmp_path: Path) -> None:
    for judge, metric, message in (
        ("human:", "trace", r"write human:labels\.jsonl"),
        (f"human:{tmp_path / 'none.jsonl'}", "trace", "human: cannot read"),
        (f"human:{file(tmp_path, LABELS)}", "groundedness", "cannot answer the step 'support'"),
    ):
        with pytest.raises(ConfigError, match=message):
            evaluate(TRACED, metric, judge, store=tmp_path / "s.db")
