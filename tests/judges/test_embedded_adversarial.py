"""How the embedded judge bears cases made to mislead it; ``pytest -s`` prints the accuracy of each kind.

``lower``: the wrong claim is weighed below the right one. ``refused``: it is below where ``yes`` begins. The floors are
what it does reach, a little lowered: they hold later models to it, and say plainly where a reader of words is blind
(swapped roles are all accepted).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest
from by_hand import embedded

from ragstone.judges.embedded.compute import reply_to
from ragstone.judges.embedded.model import model
from ragstone.questions import GRADE_0_3, YES_NO, Rate, Rated
from ragstone.types import Passage, Unit, Verdict


class Fact(NamedTuple):
    """A passage, a claim that it supports, the question that the claim answers, and wrong claims by kind."""

    context: str
    right: str
    question: str
    wrong: dict[str, str]


FACTS = (
    Fact(
        "The Varn bridge was opened on 14 May 1931. It is 620 metres long and was designed by Ilse Hartung. "
        "Before it, a ferry run by Tomas Reik crossed the river.",
        "The Varn bridge, designed by Ilse Hartung, is 620 metres long.",
        "Who designed the Varn bridge, and how long is it?",
        {
            "number": "The Varn bridge, designed by Ilse Hartung, is 820 metres long.",
            "unit": "The Varn bridge, designed by Ilse Hartung, is 620 miles long.",
            "name": "The Varn bridge, designed by Tomas Reik, is 620 metres long.",
            "negation": "The Varn bridge, designed by Ilse Hartung, is not 620 metres long.",
        },
    ),
    Fact(
        "The Varn bridge was opened on 14 May 1931. It is 620 metres long and was designed by Ilse Hartung.",
        "The Varn bridge was opened in May 1931.",
        "When was the Varn bridge opened?",
        {
            "date": "The Varn bridge was opened in March 1931.",
            "negation": "The Varn bridge was not opened in May 1931.",
            "name": "The Kelm bridge was opened in May 1931.",
        },
    ),
    Fact(
        "Osmia bees nest in hollow stems. Some of the females close the nest with clay, and a few use chewed leaves.",
        "Some Osmia females close the nest with clay.",
        "What do Osmia females close the nest with?",
        {
            "quantifier": "All Osmia females close the nest with clay.",
            "negation": "Osmia females never close the nest with clay.",
            "name": "Some Andrena females close the nest with clay.",
        },
    ),
    Fact(
        "In the final, Mirela Dobre beat Anouk Visser in three sets. It was the first title for Dobre.",
        "Mirela Dobre beat Anouk Visser in the final.",
        "Who beat Anouk Visser in the final?",
        {
            "roles": "Anouk Visser beat Mirela Dobre in the final.",
            "negation": "Mirela Dobre did not beat Anouk Visser in the final.",
            "name": "Mirela Dobre beat Anouk Jansen in the final.",
        },
    ),
    Fact(
        "The tablets hold 40 mg of the substance. Adults take one tablet every 6 hours, at most four tablets a day.",
        "Adults take one tablet every 6 hours.",
        "How often do adults take a tablet?",
        {
            "number": "Adults take one tablet every 9 hours.",
            "unit": "Adults take one tablet every 6 minutes.",
            "negation": "Adults do not take one tablet every 6 hours.",
        },
    ),
    Fact(
        "Halden Group sold its paper mill to Norrland Timber in 2009 for 85 million euros.",
        "Halden Group sold its paper mill to Norrland Timber for 85 million euros.",
        "To whom did Halden Group sell its paper mill?",
        {
            "number": "Halden Group sold its paper mill to Norrland Timber for 58 million euros.",
            "unit": "Halden Group sold its paper mill to Norrland Timber for 85 billion euros.",
            "roles": "Norrland Timber sold its paper mill to Halden Group for 85 million euros.",
            "negation": "Halden Group never sold its paper mill to Norrland Timber for 85 million euros.",
        },
    ),
    Fact(
        "Most of the villages on the island have running water since 2004. The school in Perrin opened in September.",
        "Most villages on the island have running water.",
        "Do the villages on the island have running water?",
        {
            "quantifier": "All villages on the island have running water.",
            "negation": "Most villages on the island have no running water.",
        },
    ),
    Fact(
        "The school in Perrin opened in September 2011 with 240 pupils. Its head is Danica Orlov.",
        "The school in Perrin opened in September 2011 with 240 pupils.",
        "When did the school in Perrin open?",
        {
            "date": "The school in Perrin opened in April 2011 with 240 pupils.",
            "number": "The school in Perrin opened in September 2011 with 310 pupils.",
            "name": "The school in Dorval opened in September 2011 with 240 pupils.",
            "negation": "The school in Perrin was not opened in September 2011 with 240 pupils.",
        },
    ),
    Fact(
        "Karst Airways hired Lena Brandt as its pilot. Brandt had flown freight for nine years.",
        "Karst Airways hired Lena Brandt.",
        "Whom did Karst Airways hire?",
        {
            "roles": "Lena Brandt hired Karst Airways.",
            "name": "Karst Airways hired Paula Renner.",
            "number": "Lena Brandt had flown freight for twelve years.",
        },
    ),
    Fact(
        "The reactor was shut down on Tuesday 3 March after a leak. It usually restarts within 48 hours.",
        "The reactor was shut down on Tuesday 3 March after a leak.",
        "Why was the reactor shut down?",
        {
            "date": "The reactor was shut down on Friday 3 August after a leak.",
            "negation": "The reactor was not shut down on Tuesday 3 March after a leak.",
            "quantifier": "The reactor always restarts within 48 hours.",
        },
    ),
    Fact(
        "Several of the studies found that the diet lowers blood pressure. "
        "The largest study followed 1,240 people for 18 months.",
        "Several studies found that the diet lowers blood pressure.",
        "Does the diet lower blood pressure?",
        {
            "quantifier": "All studies found that the diet lowers blood pressure.",
            "negation": "Several studies found that the diet does not lower blood pressure.",
            "number": "The largest study followed 2,140 people for 18 months.",
            "unit": "The largest study followed 1,240 people for 18 years.",
        },
    ),
    Fact(
        "Count Ludwig wrote the letter to Duchess Amalie on 2 July 1788. She replied from Trier.",
        "Count Ludwig wrote the letter to Duchess Amalie on 2 July 1788.",
        "Who wrote the letter to Duchess Amalie?",
        {
            "roles": "Duchess Amalie wrote the letter to Count Ludwig on 2 July 1788.",
            "date": "Count Ludwig wrote the letter to Duchess Amalie on 2 October 1788.",
            "number": "Count Ludwig wrote the letter to Duchess Amalie on 2 July 1778.",
            "name": "Count Ludwig wrote the letter to Duchess Sophie on 2 July 1788.",
        },
    ),
    Fact(
        "Water boils at 86 degrees Celsius on the Brenta pass because the air is thin. Cooks add ten minutes there.",
        "Water boils at 86 degrees Celsius on the Brenta pass.",
        "At what temperature does water boil on the Brenta pass?",
        {
            "number": "Water boils at 68 degrees Celsius on the Brenta pass.",
            "unit": "Water boils at 86 degrees Fahrenheit on the Brenta pass.",
            "negation": "Water does not boil at 86 degrees Celsius on the Brenta pass.",
        },
    ),
    Fact(
        "Red foxes sometimes share a den with badgers. A fox weighs about 6 kg and lives for four years.",
        "Red foxes sometimes share a den with badgers.",
        "Do red foxes share a den with badgers?",
        {
            "quantifier": "Red foxes always share a den with badgers.",
            "negation": "Red foxes never share a den with badgers.",
            "unit": "A fox weighs about 6 tons and lives for four years.",
        },
    ),
)
"""Written for this test; names, places and figures are made up."""

LANGUAGES = {
    # language: passage, claim that it supports, the claim with another number, the claim denied
    "de": (
        "Die Brücke wurde 1931 eröffnet. Sie ist 620 Meter lang und verbindet zwei Stadtteile.",
        "Die Brücke ist 620 Meter lang.", "Die Brücke ist 820 Meter lang.", "Die Brücke ist nicht 620 Meter lang.",
    ),
    "fr": (
        "Le pont a été ouvert en 1931. Il mesure 620 mètres et relie deux quartiers de la ville.",
        "Le pont mesure 620 mètres.", "Le pont mesure 820 mètres.", "Le pont ne mesure pas 620 mètres.",
    ),
    "es": (
        "El puente fue abierto en 1931. Mide 620 metros y une dos barrios de la ciudad.",
        "El puente mide 620 metros.", "El puente mide 820 metros.", "El puente no mide 620 metros.",
    ),
    "it": (
        "Il ponte fu aperto nel 1931. È lungo 620 metri e unisce due quartieri della città.",
        "Il ponte è lungo 620 metri.", "Il ponte è lungo 820 metri.", "Il ponte non è lungo 620 metri.",
    ),
    "pt": (
        "A ponte foi aberta em 1931. Tem 620 metros e une dois bairros da cidade.",
        "A ponte tem 620 metros.", "A ponte tem 820 metros.", "A ponte não tem 620 metros.",
    ),
    "ru": (
        "Мост открыли в 1931 году. Его длина составляет 620 метров, он соединяет два района.",
        "Длина моста составляет 620 метров.", "Длина моста составляет 820 метров.",
        "Длина моста не составляет 620 метров.",
    ),
    "tr": (
        "Köprü 1931 yılında açıldı. Köprünün uzunluğu 620 metredir ve iki semti birleştirir.",
        "Köprünün uzunluğu 620 metredir.", "Köprünün uzunluğu 820 metredir.", "Köprünün uzunluğu 620 metre değildir.",
    ),
    "zh": (
        "这座桥于1931年通车。桥长620米，连接两个城区。",
        "桥长620米。", "桥长820米。", "桥长不是620米。",
    ),
}  # fmt: skip

FLOORS = {
    "number": (1.0, 1.0),
    "unit": (1.0, 1.0),
    "date": (1.0, 1.0),
    "name": (1.0, 1.0),
    "negation": (1.0, 1.0),
    "roles": (1.0, 1.0),
    "quantifier": (1.0, 0.8),
}


def weighed(claim: str, *contexts: str) -> Verdict:
    """The verdict of the judge as a run asks it."""
    passages = tuple(Passage(f"p{rank}", text, rank) for rank, text in enumerate(contexts, 1))
    answer: Rated = embedded(Rate("support", (Unit("c", "claim", claim),), YES_NO, passages=passages))
    return answer.verdicts[0]


def chance(claim: str, *contexts: str) -> float:
    """The probability of support."""
    found = weighed(claim, *contexts).probability
    assert found is not None
    return found


def wrong_claims(kind: str) -> Iterator[tuple[Fact, str]]:
    return ((fact, fact.wrong[kind]) for fact in FACTS if kind in fact.wrong)


def beside_the_fact(frame: str) -> list[tuple[float, float]]:
    """For each fact: how its claim is weighed by the claim in a frame, and by its own passage."""
    return [
        (chance(fact.right, frame.format(fact.right.removesuffix("."))), chance(fact.right, fact.context))
        for fact in FACTS
    ]


def told(name: str, right: list[bool]) -> float:
    """The share of cases that came out right, printed."""
    share = sum(right) / len(right)
    print(f"{name:36}{sum(right):4} of {len(right):3}  {share:.2f}")  # noqa: T201 - what the test is read for
    return share


def test_what_is_right_is_accepted() -> None:
    """All but a few of the facts that the passages state."""
    assert told("right claims accepted", [weighed(fact.right, fact.context).label == "yes" for fact in FACTS]) >= 0.9


@pytest.mark.parametrize("kind", FLOORS)
def test_one_change_is_noticed(kind: str) -> None:
    """A claim with one thing changed is weighed below the right one, and mostly refused where that can be told."""
    cases = list(wrong_claims(kind))
    assert len(cases) >= 4
    lower, refused = FLOORS[kind]
    assert told(f"{kind}: lower", [chance(w, f.context) < chance(f.right, f.context) for f, w in cases]) >= lower
    assert told(f"{kind}: refused", [chance(w, f.context) < model().support.yes for f, w in cases]) >= refused


@pytest.mark.parametrize(("kind", "text"), [("asks", "Is it true that {0}?"), ("denies", "It is a myth that {0}.")])
def test_a_context_that_asks_or_denies_is_no_support(kind: str, text: str) -> None:
    """A passage that only asks what the claim says, or calls it false, is weighed below one that says it."""
    pairs = [(chance(fact.right, text.format(fact.right[:-1])), chance(fact.right, fact.context)) for fact in FACTS]
    assert told(f"context {kind}: lower", [one < other for one, other in pairs]) >= 0.8
    assert told(f"context {kind}: refused", [one < model().support.yes for one, _ in pairs]) >= 0.9


def test_a_claim_that_is_the_question_is_weighed_below_its_answer() -> None:
    """To ask is not to state, though all words are there."""
    pairs = [(chance(fact.question, fact.context), chance(fact.right, fact.context)) for fact in FACTS]
    assert told("claim is the question: lower", [one < other for one, other in pairs]) >= 0.9


def test_other_languages_are_told_by_numbers_and_negations() -> None:
    """Fitted to English alone, it orders them all the same; where ``yes`` begins is an English cut."""
    cases = [[chance(claim, context) for claim in claims] for context, *claims in LANGUAGES.values()]
    assert told("other languages: number lower", [number < right for right, number, _ in cases]) >= 0.85
    assert told("other languages: negation lower", [denied < right for right, _, denied in cases]) >= 0.75
    told("other languages: accepted", [right >= model().support.yes for right, _, _ in cases])


def test_an_hour_of_the_day_is_no_length_of_time() -> None:
    """``18 часов`` is 18:00, and another than ``десять минут`` in the same place is no contradiction."""
    there = "Музей открыт ежедневно с 10:00 до 18:00. Музей в десяти минутах ходьбы от вокзала."
    assert weighed("Музей открыт с 10 до 18 часов.", there).label == "yes"
    assert weighed("Музей открыт с 10 до 19 часов.", there).label == "no"


PLAIN = [
    (row["passage"], claim, label)
    for row in map(orjson.loads, (Path(__file__).parent / "twins/facts.jsonl").read_bytes().splitlines())
    for label, kind in (("yes", "true"), ("no", "false"))
    for claim in row[kind]
]
"""Claims that differ from their passage in one date, number or name, and claims that write the same otherwise."""


@pytest.mark.parametrize(("passage", "claim", "label"), PLAIN)
def test_one_other_number_date_or_name_makes_a_claim_wrong(passage: str, claim: str, label: str) -> None:
    """In any notation, language and script; the same date or number written otherwise is right."""
    verdict = weighed(claim, passage)
    assert verdict.label == label, verdict.reason


@pytest.mark.parametrize(
    ("passage", "claim", "reason"),
    [
        ("The museum is in Berlin.", "The museum is in Munich.", "not found: Munich; nearest: passage 1 says Berlin"),
        ("\u535a\u7269\u9986\u4f4d\u4e8e\u5317\u4eac\u3002", "\u535a\u7269\u9986\u4f4d\u4e8e\u4e0a\u6d77\u3002",
         "not found: \u4e0a\u6d77; nearest: passage 1 says \u5317\u4eac"),
        ("Dr. Lee signed it.", "Dr. Kim signed it.", "not found: Kim; nearest: passage 1 says Lee"),
        ("Chapter III is on tax.", "Chapter IV is on tax.", "not found: Chapter IV; nearest: passage 1 says Chapter "),
        ("It is due on 2021-05-03.", "It is due on 4 May 2021.", "contradicted: says 4 May; passage 1 says 2021-05-03"),
    ],
)  # fmt: skip
def test_the_reason_names_both_values(passage: str, claim: str, reason: str) -> None:
    """What the claim says, and what stands in its place."""
    assert weighed(claim, passage).reason.startswith(reason)


def test_a_middle_label_is_partly_found() -> None:
    """The reason agrees with the label: something was found, and something is missing."""
    there = Passage("p", "Moscow is the capital of Russia. It has many parks.", 1)
    unit = Unit("u", "sentence", "Moscow remains a capital of many bridges.")
    (verdict,) = embedded(Rate("support", (unit,), GRADE_0_3, passages=(there,))).verdicts
    assert isinstance(verdict, Verdict)
    assert verdict.label == "2"
    assert verdict.reason.startswith("partly found in passage 1; not found: ")


@pytest.mark.parametrize("claim", ["It is the one of them.", "And so it was, for all of that.", "This is what it is."])
def test_a_claim_of_stop_words_is_not_supported(claim: str) -> None:
    """Words of grammar are in every passage, and say nothing."""
    verdict = weighed(claim, *(fact.context for fact in FACTS))
    assert verdict.label == "no"


@pytest.mark.parametrize("contexts", [(), ("",), ("  \n", "\u2026"), ("?!",)])
def test_empty_contexts_support_nothing(contexts: tuple[str, ...]) -> None:
    """That is an answer, with a probability of 0 and no evidence."""
    verdict = weighed(FACTS[0].right, *contexts)
    assert (verdict.label, verdict.probability, verdict.evidence) == ("no", 0.0, ())


def test_a_fact_is_found_among_fifty_thousand_words() -> None:
    """The other words do not hide it, and do not make its changed twin true."""
    filler = " ".join(f"Item {n} of the long list lies in store {n % 97} beside the wall." for n in range(4200))
    assert len(filler.split()) > 50_000
    fact = FACTS[0]
    found = weighed(fact.right, filler[: len(filler) // 2] + fact.context + " " + filler[len(filler) // 2 :])
    assert found.label == "yes"
    assert found.evidence
    assert "620 metres" in found.evidence[0].text
    assert chance(fact.wrong["number"], filler + " " + fact.context) < found.probability  # type: ignore[operator]


def test_the_reason_names_what_is_missing_and_the_evidence_is_verbatim() -> None:
    """For every changed number: the reason says which, and what stands in its place; quotes are letter by letter."""
    for fact, wrong in wrong_claims("number"):
        verdict = weighed(wrong, fact.context)
        missing = next(word for word in re.findall(r"\d[\d,]*|twelve", wrong) if word not in fact.context)
        assert re.search(rf"contradicted: says (?:\S+ )?{missing}\b.*; passage 1 says ", verdict.reason), verdict.reason
        for quote in verdict.evidence:
            assert quote.span is not None
            assert quote.text == fact.context[quote.span.start : quote.span.end]


def test_replies_are_numbers_of_six_decimals() -> None:
    """What is stored is rounded, so that the last bit of a machine's logarithm never reaches a label."""
    body = orjson.dumps(
        {
            "task": "support",
            "units": [fact.right for fact in FACTS],
            "passages": [FACTS[0].context],
            "trivial": False,
            "ranks": [1],
        }
    )
    for row in orjson.loads(reply_to(body))["units"]:
        assert row["chance"] == round(row["chance"], 6)
