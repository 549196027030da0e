"""TRACe by the embedded judge: marks from the words alone, the same for the same words, whatever their order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from by_hand import embedded
from hypothesis import given
from hypothesis import strategies as st

from ragstone import evaluate
from ragstone.judges.base import Failed
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.judges.embedded.model import model
from ragstone.judges.embedded.tracing import marked, numbers, trace
from ragstone.questions import SPECIAL, YES_NO, Rate, Trace, Traced, key_of
from ragstone.types import Passage, Span, Unit

JUDGE = EmbeddedJudge()
KETTLE = (
    "The Orla kettle is made of steel. It boils a litre in two minutes.",
    "The shop opens at nine. Parking is free.",
)
QUESTION = "What is the Orla kettle made of?"
RESPONSE = ("The Orla kettle is made of steel.", "It was built on Mars by 900 robots.")


def units(texts: tuple[str, ...], stem: str, parent: str | None = None) -> tuple[Unit, ...]:
    made, at = [], 0
    for number, text in enumerate(texts):
        made.append(Unit(f"r/{stem}{number}", "sentence", text, Span(at, at + len(text)), parent))
        at += len(text) + 1
    return tuple(made)


def question(
    passages: tuple[tuple[str, ...], ...], response: tuple[str, ...] = RESPONSE, asked: str = QUESTION
) -> Trace:
    contexts = tuple(unit for d, texts in enumerate(passages) for unit in units(texts, f"doc_{d}_s", f"p{d}"))
    return Trace("trace", asked, contexts, units(response, "resp_s"))


PASSAGES = (
    ("The Orla kettle is made of steel.", "It boils a litre in two minutes."),
    ("The shop opens at nine.", "Parking is free."),
)


def traced(asked: Trace) -> Traced:
    found: Traced = embedded(asked)
    return found


def test_it_marks_what_answers_what_was_used_and_what_supports() -> None:
    found = traced(question(PASSAGES))
    assert "doc_0_s0" in (found.relevant or ())
    assert not {"doc_1_s0", "doc_1_s1"} & {*(found.relevant or ()), *(found.utilized or ())}
    assert "doc_0_s0" in (found.utilized or ())
    assert [verdict.label for verdict in found.verdicts] == ["yes", "no"]
    assert found.support[0][0] == "doc_0_s0"
    quote = found.verdicts[0].evidence[0]
    assert (quote.passage, quote.verbatim) == ("p0", True)


def test_a_sentence_has_the_verdict_that_it_has_in_the_task_support() -> None:
    response = (*RESPONSE, "Parking is not free.", "The context does not mention a warranty.")
    passages = tuple(Passage(f"p{d}", " ".join(texts), rank=d + 1) for d, texts in enumerate(PASSAGES))
    rated = embedded(Rate("support", units(response, "resp_s"), YES_NO, passages=passages, question=QUESTION)).verdicts
    traces = traced(question(PASSAGES, response)).verdicts
    assert [(one.label, one.probability) for one in traces] == [(one.label, one.probability) for one in rated]
    assert [one.reason.replace("doc_0_s0", "passage 1").replace("doc_1_s1", "passage 2") for one in traces] == [
        one.reason for one in rated
    ]


def test_the_same_question_has_the_same_answer() -> None:
    assert traced(question(PASSAGES)) == traced(question(PASSAGES))


def test_no_sentence_is_marked_where_none_is_expected() -> None:
    found = traced(question(PASSAGES, ("It was founded in 1950 by Dan Patch.",)))
    assert found.utilized == ()
    assert marked([], [], numbers()["completeness"]) == (frozenset(), frozenset())
    assert marked([0.4, 0.02], [0.3, 0.1], numbers()["completeness"]) == (frozenset(), frozenset())


def test_as_many_are_marked_as_completeness_asks_for() -> None:
    """Of three relevant sentences two are used, where the probabilities would leave it open."""
    weights = {"both": 0.0, "bias": 2 / 3}
    relevant, utilized = marked([0.9, 0.8, 0.7, 0.1], [0.75, 0.5, 0.25, 0.0], weights)
    assert (relevant, utilized) == (frozenset({0, 1, 2}), frozenset({0, 1}))
    assert marked([0.9] * 4, [0.5] * 4, weights)[1] in {frozenset(), frozenset(range(4))}


def test_the_order_of_passages_does_not_matter() -> None:
    """The same sentences are marked, by their texts."""

    def marked(passages: tuple[tuple[str, ...], ...]) -> tuple[Any, ...]:
        asked = question(passages)
        texts = {key_of(unit): unit.text for unit in asked.sentences}
        found = traced(asked)
        support = [sorted(texts.get(key, key) for key in keys) for keys in found.support]
        lists = [sorted(texts[key] for key in keys or ()) for keys in (found.relevant, found.utilized)]
        return lists, support, [verdict.label for verdict in found.verdicts]

    assert marked(PASSAGES) == marked(tuple(reversed(PASSAGES)))


def test_it_does_not_matter_which_copy_of_a_sentence_comes_first() -> None:
    """One copy stands among sentences about the question, the other does not."""
    copies = (
        ("The shop opens at nine.", "Parking outside is free.", "It closes at five."),
        ("The parking lot is large.", "Parking outside is free.", "The parking costs nothing."),
    )
    response, asked = "Yes, parking outside can be free.", "Is the parking lot outside free?"
    found = [traced(question(order, (response,), asked)) for order in (copies, copies[::-1])]
    assert len({one.verdicts[0].probability for one in found}) == 1


def test_a_sentence_that_states_nothing_rests_on_nothing() -> None:
    found = traced(question(PASSAGES, ("Sure, happy to help!", RESPONSE[0])))
    assert found.support[0] == ("general",)
    assert found.verdicts[0].label == "yes"


def test_a_list_item_is_read_with_the_line_that_introduces_it() -> None:
    """The line itself states nothing then, in the task support, too."""
    response = ("The Orla kettle is made of:", "- steel", "- copper")
    passages = tuple(Passage(f"p{d}", " ".join(texts), rank=d + 1) for d, texts in enumerate(PASSAGES))
    asked = Rate("support", units(response, "resp_s"), YES_NO, passages=passages, skippable=True)
    for verdicts in (embedded(asked).verdicts, traced(question(PASSAGES, response)).verdicts):
        assert verdicts[0].reason == "introduces what follows"
        assert [verdict.label for verdict in verdicts[1:]] == ["yes", "no"]


def test_a_blank_question_leaves_relevance_open() -> None:
    found = traced(question(PASSAGES, asked="  "))
    assert found.relevant is None
    assert found.failure
    assert [verdict.label for verdict in found.verdicts] == ["yes", "no"]


def test_a_reply_that_never_came_is_no_label() -> None:
    dialogue = JUDGE.dialogue(question(PASSAGES))
    next(dialogue)
    with pytest.raises(StopIteration) as stop:
        dialogue.send([Failed("gone")])
    found = stop.value.value
    assert (found.relevant, found.utilized) == (None, None)
    assert all(verdict.unjudged for verdict in found.verdicts)


TEXTS = st.lists(st.text(alphabet="abc 1.!?\néя世", min_size=1, max_size=30), min_size=1, max_size=4).map(tuple)


@given(st.lists(TEXTS, min_size=1, max_size=3).map(tuple), TEXTS, st.text(max_size=20))
def test_any_texts_are_labelled_with_keys_that_exist(passages: Any, response: Any, asked: str) -> None:
    about = question(passages, response, asked)
    found = traced(about)
    known = {key_of(unit) for unit in about.sentences}
    assert known >= {*(found.relevant or ()), *(found.utilized or ())}
    assert len(found.verdicts) == len(found.support) == len(response)
    for verdict, keys in zip(found.verdicts, found.support, strict=True):
        assert set(keys) <= known | set(SPECIAL)
        assert verdict.label in ("yes", "no", None)
        assert verdict.label != "yes" or keys  # nothing named supports nothing


@pytest.mark.parametrize("text", ["a, a, " * 30_000, "(" * 200_000, "1" * 200_000, "\u202e" * 100_000])
def test_hostile_texts_are_labelled(text: str) -> None:
    assert len(traced(question(((text,), PASSAGES[0]))).verdicts) == 2


def test_three_hundred_sentences() -> None:
    texts = tuple(f"Fact number {n} of the Orla kettle is here." for n in range(300))
    found = traced(question((texts,), texts[:30]))
    assert [verdict.label for verdict in found.verdicts] == ["yes"] * 30


def test_russian_is_labelled() -> None:
    passages = (("Чайник сделан из стали.", "Он стоит десять рублей."), ("Магазин открыт с девяти.",))
    found = traced(question(passages, ("Чайник сделан из стали.",), "Из чего сделан чайник?"))
    assert "doc_0_s0" in (found.relevant or ())
    assert [verdict.label for verdict in found.verdicts] == ["yes"]


def test_a_run_has_all_eight_columns(tmp_path: Any) -> None:
    record = {"id": "a", "question": QUESTION, "contexts": list(KETTLE), "response": " ".join(RESPONSE)}
    run = evaluate([record], "trace", store=tmp_path / "store.db")
    scores = {score["metric"]: score for score in run["a"]["scores"]}
    run.store.close()
    assert len(scores) == 8
    assert (scores["trace.adherence"]["value"], scores["trace.adherence_share"]["value"]) == (0.0, 0.5)
    assert "|trace:embedded+embedded-30#" in scores["trace.adherence"]["signature"]


def test_what_supports_a_sentence_was_used() -> None:
    """Else a screen shows a sentence as support, and below as unused. The reason names the same sentences."""
    rows = [
        orjson.loads(line)
        for line in (Path(__file__).parents[2] / "examples" / "traces.jsonl").read_bytes().splitlines()
    ]
    supported = 0
    for row in rows:
        texts = [text if isinstance(text, str) else text["text"] for text in row["contexts"]]
        passages = [[part + "." for part in text.split(". ")] for text in texts]
        keys = [f"doc_{n}_s{m}" for n, passage in enumerate(passages) for m in range(len(passage))]
        told = [part + "." for part in (row["response"] or "").split(". ") if part]
        found = trace(row["question"], passages, told, keys)
        for sentence in found["response"]:
            if (sentence.get("chance") or 0.0) >= model().support.yes:
                supported += 1
                assert sentence["windows"]
                assert set(sentence["windows"]) <= set(found["utilized"])
                named = re.findall(r"doc_\d+_s\d+", sentence["reason"])
                assert named in ([], [keys[place] for place in sentence["windows"]])
    assert supported > 20
