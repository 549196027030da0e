"""How the embedded judge makes claims of sentences."""

from __future__ import annotations

from typing import Any

import pytest
from by_hand import embedded
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.judges.embedded.claims import write
from ragstone.questions import Write, Written
from ragstone.segment import sentences
from ragstone.types import Unit


def claims(text: str, before: str = "", **more: Any) -> tuple[Unit, ...]:
    spans = sentences(text)
    units = tuple(Unit(f"r/sentence/{n}", "sentence", text[s.start : s.end], s) for n, s in enumerate(spans, 1))
    answer = embedded(Write("claims", "claim", "", units, before=before, **more))
    assert isinstance(answer, Written)
    assert not answer.failure
    return answer.units


def texts(text: str, before: str = "", **more: Any) -> list[str]:
    return [unit.text for unit in claims(text, before, **more)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The kettle is steel.", ["The kettle is steel."]),
        ("Anna denied it, and Bob was ill. It rained.", ["Anna denied it, and Bob was ill.", "It rained."]),
        ("1. Wash the **car** [2].\n2. Rinse it.", ["Wash the car.", "Rinse it."]),
        ("Hello! Here are the steps:\n- Wash the car.\nI hope this helps!", ["Wash the car."]),
        ("Москва — столица, и она велика. Она на реке.", ["Москва — столица, и она велика.", "Она на реке."]),
        ("莫斯科是俄罗斯的首都。人口很多。", ["莫斯科是俄罗斯的首都。", "人口很多。"]),
    ],
)  # fmt: skip
def test_a_claim_is_a_sentence(text: Any, expected: Any) -> None:
    """On one line without its marks; trivial sentences make none."""
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Based on the context provided, the answer is: the ferry leaves at 7 am.", "The ferry leaves at 7 am."),
        ("The context states: the boiler was replaced in 2019.", "The boiler was replaced in 2019."),
        ("The documents say that members pay no fee [2].", "Members pay no fee."),
        ("The answer to your question is that refunds take ten days.", "Refunds take ten days."),
        ("In summary, the museum closes on Mondays.", "The museum closes on Mondays."),
        ("Sure! Here's what the documents say: parking is free.", "Parking is free."),
        ("Selon les documents, le musée ferme le lundi.", "Le musée ferme le lundi."),
        ("根据提供的资料,答案是:渡轮七点出发。", "渡轮七点出发。"),
        ("Did you know that octopuses have three hearts?", "Octopuses have three hearts."),
        ("Did you know, for instance, that ants have no lungs?", "Ants have no lungs."),
        ("Well, did you know the tower grows in summer?", "The tower grows in summer."),
        ("Wussten Sie, dass Bienen Farben sehen?", "Bienen Farben sehen."),
        ("你知道章鱼有三颗心脏吗?", "章鱼有三颗心脏."),
        ("The document that lists the fees is old.", "The document that lists the fees is old."),
        ("The ferry to Iona costs 12 euros:", "The ferry to Iona costs 12 euros:"),
        ("Based in Oslo, the firm employs 300 people.", "Based in Oslo, the firm employs 300 people."),
        ("Some sources suggest that she is 56.", "Some sources suggest that she is 56."),
        ("According to the documents, here is what I found:", None),
        ("Here are the steps:", None),
        ("In summary,", None),
        ("以下是步骤:", None),
        ("Did you know the answer before?", None),
        ("Do you know whether it is open?", None),
        ("你知道它在哪里吗?", None),
        ("Remember to book charging with the ticket.", "Book charging with the ticket."),
        (
            "To reset it, [buy a licence](https://x.com/form) or restart it [2].",
            "To reset it, buy a licence or restart it.",
        ),
    ],
)
def test_a_lead_in_is_no_part_of_a_claim(text: str, expected: str | None) -> None:
    """What leads to a statement is dropped; alone it makes no claim, and neither does a question that asks."""
    assert texts(text) == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "At the hut you need:\n- a sheet bag, since blankets are provided\n- a torch",
            ["At the hut you need: a sheet bag, since blankets are provided", "At the hut you need: a torch"],
        ),
        ("Symptoms include:\n* fever\n* muscle pain", ["Symptoms include: fever", "Symptoms include: muscle pain"]),
        ("Here are the steps:\n1. Close the valve.\n2. Drain the tank.", ["Close the valve.", "Drain the tank."]),
        ("Costs:\n- rent\n- heating", ["rent", "heating"]),
        ("1. Manual pairing:\n   - Hold the button.\n2. Guests:\n   - They pay.", ["Hold the button.", "They pay."]),
        ("To adjust the lumbar support:\n1. Rotate the knob.", ["Rotate the knob."]),
        ("A cargo bike of the club may carry:\n- It takes two children.", ["It takes two children."]),
        ("There are three rules:\n- The gym closes at ten.", ["There are three rules:", "The gym closes at ten."]),
        (
            "| Region | 2023 |\n|---|--:|\n| Europe | 453 |\n| | 512 |",
            ["Region: Europe, 2023: 453", "2023: 512"],
        ),
        ("Plan | Price\n--- | ---\nBasic | 9 euros", ["Plan: Basic, Price: 9 euros"]),
    ],
)
def test_items_and_rows_are_read_with_what_they_stand_under(text: str, expected: list[str]) -> None:
    """An item without a verb with the line that introduces it, a row with its columns' headings."""
    assert texts(text) == expected


def test_the_introduction_may_end_the_text_before() -> None:
    """A response that is judged in parts loses none."""
    assert texts("- a torch", before="Bring warm clothes.\nYou need:") == ["You need: a torch"]


def test_a_claim_knows_its_sentence() -> None:
    """Ids count from one; span and parent are the sentence's, and the part is the question's."""
    (claim,) = claims("Hello! Marie Curie was born in Warsaw.", part=3)
    assert (claim.id, claim.part, claim.level, claim.parent) == ("claim/1", 3, "claim", "r/sentence/2")
    assert claim.span is not None
    assert claim.span.start == 7


@settings(max_examples=150)
@given(st.lists(st.text(alphabet='ABc ,;.andwhichisHe"()1中а\n', max_size=60), max_size=5), st.text(max_size=40))
def test_any_sentences_make_claims(found: Any, before: Any) -> None:
    """No text breaks it; every claim has a text and a sentence it is from."""
    for claim in write(found, before):
        assert claim.text.strip()
        assert 0 <= claim.sentence < len(found)


@pytest.mark.parametrize("unit", ["and is ", "which, is ", "A, b; ", "He is ", "x" * 100 + " ", "include a, "])
def test_a_sentence_of_any_length_is_written(unit: Any) -> None:
    """Ten thousand words in one sentence take no time to speak of."""
    assert write(["Xa " + unit * 10_000])
