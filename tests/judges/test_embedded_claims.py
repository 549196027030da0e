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
        (
            "Paris, which is the capital of France, has 2 million people.",
            ["Paris has 2 million people.", "Paris is the capital of France."],
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


def test_a_pronoun_takes_the_subject_of_the_sentence_before() -> None:
    """Within the part or from the text before it; where it is not obvious it stays."""
    assert texts("Marie Curie was Polish. She died in 1934.") == [
        "Marie Curie was Polish.",
        "Marie Curie died in 1934.",
    ]
    assert texts("She died in 1934.", before="Marie Curie was Polish.") == ["Marie Curie died in 1934."]
    assert texts("He died in 1934.", before="The weather was bad.") == ["He died in 1934."]
    assert texts("It is important to rest.", before="Moscow is big.") == ["It is important to rest."]


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
        "The conclusion is that both are alike, and though discoveries suggest a role, research has narrowed the gap.",
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
        "Vollmer quickly became a photographer, and was responsible for some images.",
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
        "A system comprises multiple isolated databases and may consist of one host.",
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
            "The stadium is owned by the state and operated by AMB Group.",
            ["The stadium is owned by the state.", "The stadium is operated by AMB Group."],
        ),
        (
            "IAM groups can be created for each team and assigned the necessary permissions.",
            ["IAM groups can be created for each team.", "IAM groups can be assigned the necessary permissions."],
        ),
        (
            "The family became rich, and was known to all.",
            ["The family became rich.", "The family was known to all."],
        ),
        (
            "Anna was born in Paris and moved to Rome in 1990.",
            ["Anna was born in Paris.", "Anna moved to Rome in 1990."],
        ),
        (
            "The anime has been airing since 1999 and has released DVD compilations.",
            ["The anime has been airing since 1999.", "The anime has released DVD compilations."],
        ),
        (
            "The systems do not conflict with each other and can be used together.",
            ["The systems do not conflict with each other.", "The systems can be used together."],
        ),
        (
            "The company has not made cars but sells bikes.",
            ["The company has not made cars.", "The company sells bikes."],
        ),
        (
            "Anna lives in a big house and Bob works in Paris.",
            ["Anna lives in a big house.", "Bob works in Paris."],
        ),
        (
            "Clans was designed by Leo Colovini, while Drunter was invented by Klaus Teuber.",
            ["Clans was designed by Leo Colovini.", "Drunter was invented by Klaus Teuber."],
        ),
        (
            "The report suggests that prices fell, but wages rose in the north.",
            ["The report suggests that prices fell.", "Wages rose in the north."],
        ),
        (
            "The message says that it is on, but the message is wrong; Bob is short.",
            ["The message says that it is on.", "The message is wrong.", "Bob is short."],
        ),
        (
            "If the child has a fever, it is common, and if it is the first, the doctor may wait.",
            ["If the child has a fever, it is common.", "If it is the first, the doctor may wait."],
        ),
        (
            "Critics say the moon is hollow, but it is solid rock.",
            ["Critics say the moon is hollow.", "It is solid rock."],
        ),
        (
            "Anna was early, and Bob was ill and is dead.",
            ["Anna was early.", "Bob was ill.", "Bob is dead."],
        ),
        (
            "You will see a message that the program is set, and the icon will appear in the guide.",
            ["You will see a message that the program is set.", "The icon will appear in the guide."],
        ),
        (
            "The vaccine may cause fever, and it may cause headaches.",
            ["The vaccine may cause fever.", "The vaccine may cause headaches."],
        ),
        (
            "Following the Renaissance, Greek art inspired many artists, and the tradition remained dominant.",
            ["Following the Renaissance, Greek art inspired many artists.", "The tradition remained dominant."],
        ),
        (
            "Take some time, but if you still have questions, consider asking an advisor.",
            ["Take some time.", "If you still have questions, consider asking an advisor."],
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
        (
            "The orchestra , which had a diameter of 78 feet , was on a terrace.",
            ["The orchestra was on a terrace.", "The orchestra had a diameter of 78 feet."],
        ),
    ],
)  # fmt: skip
def test_what_a_sentence_asserts_twice_makes_two_claims(text: Any, expected: Any) -> None:
    """Each clause with the subject, and the "is", that it shares; in full where it brings its own."""
    assert [claim.text for claim in write([text])] == expected


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("Anna Smith met Bob Jones in Paris.", "He was late."),
        ("Marie Curie met the king.", "He died in 1934."),
        ("Albert Einstein was the son of Hermann Einstein.", "He was born in Ulm."),
        ("The company bought a factory in Ohio.", "It was built in 1990."),
        ("The tower of the castle is old.", "It was built in 1300."),
        ("The film was shown at a festival.", "It was a success."),
        ("The banks have different ways to earn.", "It includes late fees."),
        ("Both movements were influential.", "It may be better to understand them."),
        ("The fund was set up in 1990.", "It is the duty of the board to run it."),
        ("The fund was set up in 1990.", "It is a fact that it ends in 2030."),
        ("Only members may vote.", "They must be 18."),
        ("Some students were late.", "They were drunk."),
        ("Beastie Boys were famous.", "It was late."),
        ("The students met the teachers.", "They were late."),
        ("The largest species is a mosquito.", "They can reach 4 centimeters."),
        ("Anna Smith never left.", "She was happy."),
    ],
)
def test_a_pronoun_stays_where_two_things_may_be_meant(before: Any, text: Any) -> None:
    """A second name or thing, a number that does not fit, an "it" that stands for nothing."""
    assert [claim.text for claim in write([before, text])] == [before, text]


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("Bob Dylan was born in Duluth, Minnesota.", "He won a prize.", "Bob Dylan won a prize."),
        ("Albert Einstein was a physicist.", "He was born in Ulm.", "Albert Einstein was born in Ulm."),
        ("The Nile is a river in Africa.", "It is 6650 km long.", "The Nile is 6650 km long."),
        ("The museum opened in May 1990.", "It has 500 rooms.", "The museum has 500 rooms."),
        ("The College is a process of the Act.", "It is a system that works.", "The College is a system that works."),
        ("Morphine can be used in several ways.", "It is used to treat pain.", "Morphine is used to treat pain."),
        ("The ribozymes are able to join by their form.", "They can form bonds.", "The ribozymes can form bonds."),
    ],
)  # fmt: skip
def test_a_pronoun_that_can_mean_one_thing_is_put_in_words(before: Any, text: Any, expected: Any) -> None:
    """A place, a time, or what the subject is called besides is no second candidate."""
    assert [claim.text for claim in write([before, text])] == [before, expected]


def test_the_text_before_is_read_to_its_end() -> None:
    """However long it is, the pronoun is of its last sentence; a heading between says nothing of it."""
    before = "The weather was bad. " * 200 + "Marie Curie was Polish."
    assert texts("She died in 1934.", before=before) == ["Marie Curie died in 1934."]
    assert [claim.text for claim in write(["Morphine is a drug.", "The key points are:", "It is strong."])] == [
        "Morphine is a drug.",
        "It is strong.",
    ]


def test_a_participle_after_an_article_is_no_verb() -> None:
    """Else the subject would be the bare article: "The was founded"."""
    found = write(["The estimated rate in Italy is 9.8 percent.", "It was measured in March."])
    assert [claim.text for claim in found][-1] == "The estimated rate in Italy was measured in March."


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
