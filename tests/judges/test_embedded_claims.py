"""How the embedded judge takes sentences apart into claims."""

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
        (
            "Marie Curie was born in Warsaw and won the Nobel Prize in 1903.",
            ["Marie Curie was born in Warsaw.", "Marie Curie won the Nobel Prize in 1903."],
        ),
        ("The load must be secured, but the driver may go on.", ["The load must be secured.", "The driver may go on."]),
        (
            "Plans include rare vectors, new doses, and masking.",
            ["Plans include rare vectors.", "Plans include new doses.", "Plans include masking."],
        ),
        ("Salt and pepper are on the table.", ["Salt and pepper are on the table."]),
        ("1. Wash the **car** [2].\n2. Rinse it.", ["Wash the car.", "Rinse it."]),
        ("Hello! Here are the steps:\n- Wash the car.\nI hope this helps!", ["Wash the car."]),
        ("Москва — столица, и она велика. Она на реке.", ["Москва — столица, и она велика.", "Она на реке."]),
        ("莫斯科是俄罗斯的首都。人口很多。", ["莫斯科是俄罗斯的首都。", "人口很多。"]),
    ],
)  # fmt: skip
def test_sentences_are_taken_apart_where_their_form_is_clear(text: Any, expected: Any) -> None:
    """Clauses keep their subject, insertions and enumerations stand alone, trivial sentences make no claim."""
    assert texts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        # negations
        "The drug was not approved and sold in Europe.",
        "The drug has not been tested in Europe and sold by Bayer.",
        "The house is not owned by the state and operated by AMB Group.",
        "The company did not sell cars and lost money.",
        "The company has never made cars and sells bikes.",
        "No student passed the test and was happy.",
        "Anna never came late, and has a dog.",
        "The house isn't owned by the state and operated by AMB Group.",
        "The city is not only old but is also large.",
        "It is not only unsafe, but it is also illegal.",
        "The kit does not include a hammer, nails, and screws.",
        # what somebody says, thinks or finds
        "Smith denied that Anna was late and Bob was drunk.",
        "Smith denied that Anna was late, and Bob was drunk.",
        "Smith denied Anna was late and Bob was drunk.",
        "Smith said Anna was late and was drunk.",
        "Anna was told the car was sold and Bob was late.",
        "Anna has said Bob was late and was drunk.",
        "Previous studies have also shown that smokers are more vulnerable and have higher mortality.",
        "The paper argues that prices fell, while wages rose in the north.",
        "There is no evidence that the drug cures colds, and patients have died.",
        "According to critics, the bridge is unsafe, and the mayor is corrupt.",
        "It was found that in Western countries sadness had 79 % of accuracy, while in others it was 74 %.",
        # conditions
        "If Anna is late and Bob is absent, the meeting is cancelled.",
        "If the light remains on, the brake is not functioning, and immediate service is required.",
        "If you have no licence, you can still use the form, but you will need to take additional steps.",
        "The meeting is cancelled if Anna is late and Bob is absent.",
        "The fee is waived if Anna is late, and Bob is absent.",
        "The card is blocked and is returned if the fee is unpaid.",
        "Anna may be late and Bob may be absent if it rains.",
        "If the system is armed, it will remain so; the lights will flash.",
        "There are technologies, where the liquids are like fuel, and the unit is like an engine.",
        "Anna would come, and Bob would sing, if asked.",
        "The vaccine may cause fever, and it may cause headaches.",
        "If the child has a fever, it is common, and if it is the first, the doctor may wait.",
        "It is unclear whether the fee was paid, and the case is open.",
        "The horn was on while it was raining in the city.",
        "When it rains the kit includes a hammer, nails, and screws.",
        "In this state, you can enjoy information, while less power is consumed.",
        "If the kit includes a hammer, nails, and screws, it is complete.",
        "Tea contains caffeine, tannins, and sugar if it is sweetened.",
        # clauses within clauses
        "Bixby is only available on TVs that support it and have remote controls with a microphone.",
        "Nicola Pellow developed the first browser, which displayed pages and was released in May 1991.",
        "The MBTA offers reduced fares to seniors and Veterans who are at least 70% disabled.",
        "The group has window specialists from the United States and Canada who have developed the book.",
        "Spain occupied the islands in 1521, when Magellan arrived in the region and was killed.",
        "The war that divided the king and Parliament was long.",
        "The tax was raised because sales fell and Bob was angry.",
        "The final was between the club and Bayern was second.",
        "The people he liked and Anna were late.",
        "Anna is a doctor who met Bob and was late.",
        "He bought a box that contains apples, pears, and plums.",
        "The oven built by Raytheon in 1947 weighed 750 pounds and cost 5,000 dollars.",
        "Anna, who was born in Rome, moved to Paris, and died there, was a star.",
        "Your chatbot, which is known as an assistant, connects to an engaging, unified answer to all.",
        # names and lists that would be torn
        "The Morris Canal was 107 miles in length, while the Sandy and Beaver Canal ran 73 miles.",
        "Malaysia is ranked 9th and its overall ranking in the Travel and Tourism Report 2017 is 25th.",
        "The film starring an actress who appeared in The Patriot and Kill Your Darlings was directed by Stephen Kay.",
        "The environment in which the person grew up, their family, and certain maternal factors are also a part.",
        "However, changes to certain information like named inventors, address, and benefit information must follow.",
        "Some canned fruits and vegetables, some cheeses, freshly made bread, and canned fish are examples.",
        "The group includes people from Ohio, Texas, and Maine.",
        "The firm contains the Marketing, Sales, and Engineering departments.",
        "The kit contains a hammer, nails, or screws.",
        "The kit only includes a hammer, nails, and screws.",
        "The kit includes a hammer, nails, and screws and is sold here.",
        "The plan includes a bar, opened in 1990, and seats 5 people.",
        "Examples include databases, logging stacks, and so on.",
        # no verb group, no subject, another subject
        "The stadium is owned and operated by Kraft Sports Group.",
        "Human challenge studies are, and will continue to be, of importance.",
        "Anna was born in Paris and studied law in Rome.",
        "Insulin pens should have the needle twisted off and placed in the red container.",
        "The bank has a branch owned by Anna and operated by Bob.",
        "Anna is a doctor and trained in Rome.",
        "The song was written by Anna and recorded in Paris.",
        "The bank is in a house owned by Anna and operated by Bob.",
        "Anna can sing very well and become rich.",
        "Bixby is on large screens and have a microphone.",
        "Anna wrote books and plays for children.",
        "The tool supports safe asynchronous writes and is robust.",
        "They\u2019re found in your blood and are vital to the body.",
        "The old city of Kaesong originally was in South Korea, but now is part of North Korea.",
        "The throughput of the network is shown in Mbps, whereas for Local Disk storage is shown in MiB/s.",
        "The database is smaller but the designation comes with prestige and is a mark of quality.",
        "George Takei, who received an award for his work, and more. Can you specify which actor you are referring to?",
    ],
)  # fmt: skip
def test_a_sentence_stays_whole_where_a_clause_may_not_be_asserted(text: Any) -> None:
    """No negation, condition, attribution or restriction is lost; no name is torn; no subject is guessed."""
    assert [claim.text for claim in write([text])] == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "A system comprises multiple isolated databases and may consist of one host.",
            ["A system comprises multiple isolated databases.", "A system may consist of one host."],
        ),
        (
            "The family became rich, and was known to all.",
            ["The family became rich.", "The family was known to all."],
        ),
        (
            "The United States signed the pact, while France has left it.",
            ["The United States signed the pact.", "France has left it."],
        ),
        (
            "The message says that it is on, but the message is wrong; Bob is short.",
            ["The message says that it is on.", "The message is wrong.", "Bob is short."],
        ),
        (
            "Anna was early, and Bob was ill and is dead.",
            ["Anna was early.", "Bob was ill.", "Bob is dead."],
        ),
        (
            "Following the Renaissance, Greek art inspired many artists, and the tradition remained dominant.",
            ["Following the Renaissance, Greek art inspired many artists.", "The tradition remained dominant."],
        ),
        (
            "Components that contain personal data include Git Repos, Toolchains and tools, and DevOps Insights.",
            [
                "Components that contain personal data include Git Repos.",
                "Components that contain personal data include Toolchains and tools.",
                "Components that contain personal data include DevOps Insights.",
            ],
        ),
        (
            "The library includes 1,000 books, 300 maps, and 5 globes.",
            ["The library includes 1,000 books.", "The library includes 300 maps.", "The library includes 5 globes."],
        ),
        (
            "The kit can contain a hammer, nails, or screws.",
            ["The kit can contain a hammer.", "The kit can contain nails.", "The kit can contain screws."],
        ),
    ],
)  # fmt: skip
def test_what_a_sentence_asserts_twice_makes_two_claims(text: Any, expected: Any) -> None:
    """Each clause with the subject that it shares; in full where it brings its own."""
    assert [claim.text for claim in write([text])] == expected


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
    first, second = claims("Hello! Marie Curie was born in Warsaw and won the Nobel Prize in 1903.", part=3)
    assert (first.id, second.id) == ("claim/1", "claim/2")
    assert first.span == second.span
    assert first.span is not None
    assert first.span.start == 7
    assert {first.parent, second.parent} == {"r/sentence/2"}
    assert (first.part, first.level, first.confidence, second.confidence) == (3, "claim", 0.9, 0.8)


@settings(max_examples=150)
@given(st.lists(st.text(alphabet='ABc ,;.andwhichisHe"()1中а\n', max_size=60), max_size=5), st.text(max_size=40))
def test_any_sentences_make_claims(found: Any, before: Any) -> None:
    """No text breaks it; every claim has a text, a sentence it is from, and a confidence in [0, 1]."""
    for claim in write(found, before):
        assert claim.text.strip()
        assert 0 <= claim.sentence < len(found)
        assert 0 < claim.confidence <= 1


@pytest.mark.parametrize("unit", ["and is ", "which, is ", "A, b; ", "He is ", "x" * 100 + " ", "include a, "])
def test_a_sentence_of_any_length_is_written(unit: Any) -> None:
    """Ten thousand words in one sentence take no time to speak of."""
    assert write(["Xa " + unit * 10_000])
