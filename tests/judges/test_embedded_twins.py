"""Twin claims about one passage, one true and one wrong by a single fact, and the answer key of the examples.

``first`` and ``second`` were written by somebody who had not seen the judge: natural sentences of ten fields. ``first``
was looked at while the judge was built, ``second`` was not. ``short`` holds single sentences as somebody types them to
try a judge, most with two parallel clauses. ``claims`` are eight or ten claims about each passage, half of them true,
by somebody who had not seen the judge; they were looked at once they had been measured. The floors are what was
measured, rounded down.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from ragstone import evaluate
from ragstone.judges.embedded.library import Library
from ragstone.judges.embedded.model import model
from ragstone.judges.embedded.support import judged

TWINS = Path(__file__).parent / "twins"
EXAMPLES = Path(__file__).parents[2] / "examples" / "traces.jsonl"


class Rates(NamedTuple):
    """Shares of the true claims that are accepted and of the wrong ones that are refused."""

    accepted: float
    refused: float


def accepted(claim: str, passage: str) -> bool:
    found = judged(claim, Library([passage], [claim]), lambda window: f"passage {window[0] + 1}")
    return found.chance is not None and found.chance >= model().support.yes


def measured(name: str) -> dict[str, Rates]:
    """The rates by group of kinds."""
    found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for line in (TWINS / f"{name}.jsonl").read_bytes().splitlines():
        twin = orjson.loads(line)
        pair = (accepted(twin["true"], twin["passage"]), not accepted(twin["false"], twin["passage"]))
        found[GROUPS.get(twin["kind"], "facts") if twin["lang"] == "en" else "languages"].append(pair)
    return {
        group: Rates(sum(a for a, _ in pairs) / len(pairs), sum(r for _, r in pairs) / len(pairs))
        for group, pairs in found.items()
    }


GROUPS = {
    "role": "order",
    "direction": "order",
    "comparison": "order",
    "quantifier": "order",
    "paraphrase": "paraphrase",
    "short": "short",
}


FLOORS = {
    "first": {
        "facts": Rates(0.97, 0.84),
        "order": Rates(0.96, 0.6),
        "paraphrase": Rates(0.0, 0.96),
        "languages": Rates(0.93, 0.79),
    },
    "second": {
        "facts": Rates(0.98, 0.76),
        "order": Rates(0.0, 0.0),
        "paraphrase": Rates(0.0, 0.92),
        "languages": Rates(0.0, 0.0),
    },
    "short": {"short": Rates(0.94, 0.92)},
}


@pytest.mark.parametrize("name", FLOORS)
def test_twins_are_told_apart(name: str) -> None:
    """Per group the shares of true claims accepted and of wrong ones refused."""
    found = measured(name)
    for group, floor in FLOORS[name].items():
        print(f"{name:8}{group:12} accepted {found[group].accepted:.3f}, refused {found[group].refused:.3f}")  # noqa: T201
        assert found[group].accepted >= floor.accepted, group
        assert found[group].refused >= floor.refused, group


def test_claims_about_short_texts_are_judged() -> None:
    """Of 360 true claims and 360 false ones the shares accepted and refused."""
    texts = [orjson.loads(line) for line in (TWINS / "claims.jsonl").read_bytes().splitlines()]
    found = {
        side: [accepted(claim, text["passage"]) for text in texts for _, claim in text[side]]
        for side in ("true", "false")
    }
    rates = Rates(sum(found["true"]) / len(found["true"]), found["false"].count(False) / len(found["false"]))
    print(f"claims: accepted {rates.accepted:.3f}, refused {rates.refused:.3f}")  # noqa: T201
    assert rates.accepted >= 0.69
    assert rates.refused >= 0.76


METRICS = ["grounding", "groundedness", "response_groundedness", "trace"]

CLEAN = [
    "kettle-descale", "risotto-rest", "night-train", "licence-network", "valley-fog", "tea-water",
]  # fmt: skip
"""The records of ``examples/README.md`` with nothing wrong in them."""

WRONG = {
    "leaflet-dose": ["contradicted: says two hours; passage 1 says six hours", "eight; passage 1 says six"],
    "lease-deposit": ["contradicted: says 14 days; passage 1 says 30 days"],
    "titan-haze": ["not found: Huygens, 2005"],
    "halden-revenue": ["not found: 986 million crowns; nearest: passage 1 says 966", "not found: only"],
    "queue-retry": ["not found: backoff_ceiling"],
    "stone-bridge": ["not found: Pieter van Aalst"],
    "axolotl-limb": ["not found: new, always, larger"],
    "fell-race": ["not found: ten"],
    "heat-pump-cold": ["not found: 3.4; nearest: passage 1 says 2.1"],
    "cello-strings": ["not found: five years"],
    "bus-line-7": ["contradicted: says 30 minutes; passage 2 says 20 minutes"],
    "muzej-chasy": ["contradicted: says бесплатный; passage 2 says 200 рублей"],
    "grinder-review": ["not found: Golden Bean"],
    "hut-packing": ["nearest: passage 2 says Cooking on stoves of your own is not allowed"],
}
"""The planted errors that a reason names, by record."""

FLAGGED = list(WRONG)
"""All records with an error that is caught.

``parental-leave`` leaves out a condition, which this judge does not see.
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    records = [orjson.loads(line) for line in EXAMPLES.read_bytes().splitlines()]
    return evaluate(records, METRICS, store=tmp_path_factory.mktemp("store") / "store.db")


def scores(run: Any, record: str) -> dict[str, dict[str, Any]]:
    return {score["metric"]: score for score in run[record]["scores"]}


@pytest.mark.parametrize("record", CLEAN)
def test_clean_answers_of_the_examples_are_clean(run: Any, record: str) -> None:
    found = scores(run, record)
    for metric in ("grounding", "groundedness", "response_groundedness", "trace.adherence"):
        assert found[metric]["value"] in {1.0, None}, metric
    assert found["grounding"]["value"] == 1.0 or record == "licence-network"


@pytest.mark.parametrize("record", FLAGGED)
def test_faulty_answers_of_the_examples_are_flagged(run: Any, record: str) -> None:
    found = scores(run, record)
    for metric in ("grounding", "groundedness", "response_groundedness", "trace.adherence"):
        assert found[metric]["value"] < 1.0, metric


@pytest.mark.parametrize("record", WRONG)
def test_reasons_name_the_planted_error(run: Any, record: str) -> None:
    reasons = [verdict["reason"] for verdict in scores(run, record)["grounding"]["verdicts"]]
    for named in WRONG[record]:
        assert any(named in reason for reason in reasons), reasons


@pytest.mark.parametrize(
    ("claim", "passages"),
    [
        (
            "Legal fees in the region range from $300 to $9,000.",
            ["Legal fees in the region begin at $300, up to $9,000.", "In Orme legal fees range from $500 to $4,000."],
        ),
        ("Of 4,120 orders, 206 came back: (206 / 4120) * 100 = 5 %.", ["Of 4,120 orders, 206 came back, 50 late."]),
        ("The third passage says that the pump weighs 12 kg.", ["The pump weighs 12 kg, with a tank of 7 litres."]),
        ("The first kiln weighed nearly 840 pounds.", ["The first kiln of 1911 weighed about 840 lbs."]),
        (
            "The night desk is staffed from 4:00 p.m. to 9:15 p.m.",
            ["The night desk is staffed daily from 4:00 p.m. to 9:15 p.m. The day desk is open until 4:00 p.m."],
        ),
        (
            "Harke won by a margin of 22 %, with 41 % of the votes against 19 % for Lund.",
            ["Harke polled the most (41 %); Lund was second with 19 %, and Brix third with 13 %."],
        ),
        (
            "The line speed must be at least 10 Mbps to connect.",
            ["The set cannot connect if the line speed is below 10 Mbps."],
        ),
        (
            "The desk drive runs for 15 minutes before it stops by itself.",
            ["After 15 minutes the desk drive stops by itself, if nobody has touched it."],
        ),
        ("Keep phones away from the radio to avoid noise.", ["Phones close to the radio may cause noise."]),
    ],
)  # fmt: skip
def test_what_is_true_is_not_called_contradicted(claim: str, passages: list[str]) -> None:
    """Of a statement that the passages support, or put in other words, the worst that is said is "not found"."""
    found = judged(claim, Library(passages, [claim]), lambda window: f"passage {window[0] + 1}")
    assert "contradicted" not in found.reason


def test_only_another_value_contradicts() -> None:
    """A negated sentence nearby is often about something else; the nearest one is named all the same."""
    passages = ["The tower shop sells maps. In winter the tower shop and the lift are not open on Sundays or holidays."]
    for claim, expected in (
        ("The tower shop is open on Sundays.", "not found: "),
        ("The tower shop sold 40 maps.", "not found: 40"),
    ):
        found = judged(claim, Library(passages, [claim]), lambda _: "passage 1")
        assert found.reason.startswith(expected), found.reason
    wrong = judged("The climb takes 20 minutes.", Library(["The climb takes 45 minutes."], []), lambda _: "passage 1")
    assert wrong.reason.startswith("contradicted: says 20 minutes; passage 1 says 45 minutes")
    asked = "How long is the warranty?"
    for answer, expected in (("It is five years.", "contradicted: says five years"), ("It is two years.", "found in")):
        passages = ["The warranty is two years."]
        found = judged(answer, Library(passages, [answer]), lambda _: "passage 1", question=asked)
        assert found.reason.startswith(expected), found.reason


QUERIES = "Larch answered 18,400 queries per second, compared with 12,900 for Quell and 21,050 for Ostra."
CANCELLED = "84 sailings were cancelled, 71 of them because of wind."
SUMMER = "From 15 June to 18 August there are five sailings a day."
YARD = "MS Aurelia was built by the Ulvik yard in Norway. MS Borealis is a hybrid ferry delivered in 2022."
STOVES = "Cooking on stoves of your own is not allowed in the house or on the terrace, because of the risk of fire."


@pytest.mark.parametrize(
    ("passage", "claim", "expected"),
    [
        ("The bus is not free for pupils.", "The bus is free for pupils.", "contradicted: says The bus is"),
        (
            "Entry is free.",
            "Entry is not free.",
            "contradicted: says Entry is not free; passage 1 says Entry is free (",
        ),
        ("The soup is free of nuts.", "The soup contains no nuts.", "found in"),
        ("El museo no abre los lunes.", "El museo abre los lunes.", "not found: "),
        ("The team covered 674 miles in 5\u00bd days (127.5 hours).", "The team took 127.5 hours.", "found in"),
        ("The trail is 5 km (3.1 miles) long.", "The trail is 3.1 miles long.", "found in"),
        ("The trail is 5 km (3.1 miles) long.", "The trail is 4.2 miles long.", "contradicted: says 4.2 miles"),
        ("The tour takes 60 minutes.", "The tour lasts an hour.", "found in passage 1 ("),
        ("Konami also acquired the license.", "Capcom also acquired the license.", "not found: Capcom"),
        ("Anna Berg signed the contract in April.", "Peter signed the contract in April.", "not found: Peter"),
        ("Anna Berg signed the contract in April.", "Ben Berg signed the contract in April.", "not found: Ben"),
        ("Anna Berg signed the contract in April.", "Berg signed the contract in April.", "found in"),
        ("Timothy Simon Roth is an English actor.", "Tim Roth is an English actor.", "found in"),
        (
            "The motor was built by Michael Faraday. Lee Lund sold it.",
            "Lee Lund built the motor.",
            "not found: Lee Lund built",
        ),
        ("Hemophilia is an inherited disorder.", "Haemophilia is an inherited disorder.", "found in"),
        ("Haze began on March 27, 2005, and concluded on May 22, 2005.", "Haze ended on May 22, 2005.", "found in"),
        (
            "The judge had dismissed her claim, finding that the owner, Quay Ltd, was to blame for the faulty bolts.",
            "The judge found that Marston Ferries was to blame for the faulty bolts.",
            "not found: Marston Ferries",
        ),
        (
            "Okafor scored the winner in stoppage time. Jamie Lund had equalised after an hour.",
            "Jamie Lund scored the winner in stoppage time.",
            "not found: Jamie Lund scored",
        ),
        ("A second driver costs 7 euros per day.", "A second driver for five days costs 35 euros.", "found in"),
        ("A second driver costs 7 euros per day.", "A second driver for five days costs 45 euros.", "not found: five"),
        ("It opens at 9:30, an hour later in winter.", "In winter it opens at 10:30.", "found in"),
        ("It opens at 9:30, an hour later in winter.", "In winter it opens at 11:30.", "contradicted: says 11:30"),
        (
            "The range is 90 km in eco mode and 50 km in sport mode.",
            "In eco mode the range is 40 km longer than in sport mode.",
            "found in",
        ),
        (
            "Stir in 250 g of red lentils and 700 g of diced squash.",
            "Stir in 700 g of lentils and 250 g of squash.",
            "contradicted: says 700 g",
        ),
        ("A cluster has three, five or seven nodes.", "A cluster has three nodes.", "found in"),
        ("A cluster has 3, 5 or 7 nodes.", "A cluster may have 4 nodes.", "contradicted: says 4; passage 1 says 3"),
        ("The bus leaves at 8, 10 and 12 o'clock.", "A bus leaves at 8 o'clock.", "found in"),
        ("Profit was 2 million in 2019 and 3 million in 2020.", "Profit fell from 3 to 2 million.", "contradicted: "),
        (QUERIES, "Ostra answered 21,050 queries per second.", "found in"),
        (
            QUERIES,
            "Ostra answered 18,400 queries per second.",
            "contradicted: says 18,400 queries per second; passage 1",
        ),
        (QUERIES, "Database: Ostra, Queries per second: 18,400", "contradicted: says 18,400; passage 1 says 21,050"),
        (QUERIES, "Larch was faster than Ostra.", "not found: faster than Ostra"),
        ("Larch answers faster than Ostra.", "Larch is faster than Ostra.", "found in"),
        ("Charging costs 0.45 EUR per kWh.", "Charging costs 45 cents per kWh.", "found in"),
        ("Charging costs 0.45 EUR per kWh.", "Charging costs 55 cents per kWh.", "contradicted: says 55 cents per kWh"),
        ("Check-in closes 45 minutes before.", "Check-in closes three quarters of an hour before.", "found in"),
        (
            "Check-in closes 45 minutes before.",
            "Check-in closes a quarter of an hour before.",
            "contradicted: says quarter",
        ),
        (CANCELLED, "71 sailings were cancelled because of wind.", "found in"),
        (CANCELLED, "All 84 sailings were cancelled because of wind.", "not found: All 84"),
        (SUMMER, "On 1 July there are five sailings a day.", "not found: 1 July (support"),
        (SUMMER, "On 1 September there are five sailings a day.", "contradicted: says 1 September; passage 1 says"),
        (YARD, "MS Aurelia was built by the Ulvik yard in Norway.", "found in"),
        (
            YARD,
            "MS Borealis was built by the Ulvik yard in Norway.",
            "not found: MS Borealis was built by the Ulvik yard",
        ),
        ("Upgrades from 3.x must go through 4.0. Version 4.2 is new.", "Upgrade to 4.0, then to 4.2.", "found in"),
        (
            "Files larger than 20 GB are skipped.",
            "A file of 25 GB is skipped.",
            "not found: 25 GB; nearest: passage 1 says larger",
        ),
        (
            "Files larger than 20 GB are skipped.",
            "A file of 15 GB is skipped.",
            "contradicted: says 15 GB; passage 1 says 20 GB",
        ),
        (
            "Frost damage is not covered.",
            "Frost damage is covered.",
            "contradicted: says Frost damage is covered; passage 1",
        ),
        ("Frost damage is covered.", "Frost damage is not covered.", "contradicted: says Frost damage is not covered"),
        ("It may not be supported depending on the area.", "It may be supported depending on the area.", "found in"),
        ("Standard bikes cost 2 euros.", "Standard e-bikes cost 2 euros.", 'found in passage 1, apart from "e-bikes"'),
        (STOVES, "Bring a gas stove to cook your own meals.", "not found: Bring a gas stove"),
        (STOVES, "You can cook on your own stove on the terrace.", "not found: You can cook"),
        (STOVES, "Guests may use their own stoves on the terrace.", "not found: Guests may use"),
        (STOVES, "You cannot cook on your own stove on the terrace.", "found in"),
        (STOVES, "Cooking brings a risk of fire.", "found in"),
        ("Default interest must not exceed 9% a year.", "The act limits default interest to 9% a year.", "found in"),
        (
            "The bar is small.",
            "However, since it is quite cosy, the bar is also used by actors.",
            "not found: cosy, actors",
        ),
    ],
)
def test_what_a_newcomer_tries(passage: str, claim: str, expected: str) -> None:
    """Free of charge and of something, values with their conversion or computed, and names of who does something."""
    found = judged(claim, Library([passage], [claim]), lambda _: "passage 1")
    assert found.reason.startswith(expected), found.reason


@pytest.mark.parametrize(
    ("passage", "true", "wrong", "holder"),
    [
        (
            "Canberra is the capital of Australia. Sydney is the largest city of the country.",
            "The capital of Australia is Canberra.", "Sydney is the capital of Australia.", "Canberra",
        ),
        (
            "Priestley isolated oxygen in 1774. Lavoisier named it a few years later.",
            "Priestley isolated oxygen, and Lavoisier named it.", "Lavoisier isolated oxygen, and Priestley named it.",
            "Priestley",
        ),
        (
            "Members get free returns within 60 days. Other customers send parcels at their own cost.",
            "Members get free returns.", "All customers get free returns.", "Members",
        ),
        (
            "Adults take one tablet in the evening; children take half a tablet.",
            "Children take half a tablet.", "Adults take half a tablet.", "children",
        ),
        (
            "The hall was opened by Marek Dvorak, the mayor, and its architect, Ines Prado, in the spring.",
            "Marek Dvorak, the mayor, opened the hall.", "Marek Dvorak is the architect of the hall.", "Ines Prado",
        ),
        (
            "The board named Jonas Weil chief executive on Tuesday. Priya Shah stays on as chief financial officer.",
            "The chief executive is Jonas Weil.", "Priya Shah is the chief executive.", "Jonas Weil",
        ),
        (
            "Der Bericht wurde von Lena Brandt geschrieben. Omar Said hat ihn gepr\u00fcft.",
            "Der Bericht wurde von Lena Brandt geschrieben.", "Der Bericht wurde von Omar Said geschrieben.",
            "Lena Brandt",
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_one_is_not_accepted_of_another(passage: str, true: str, wrong: str, holder: str) -> None:
    """Two candidates compete for one role, and the reason names the one that the passage gives it to."""
    assert accepted(true, passage)
    found = judged(wrong, Library([passage], [wrong]), lambda _: "passage 1")
    assert found.reason.startswith("not found: ")
    assert f"nearest: passage 1 says this of {holder} (" in found.reason


@pytest.mark.parametrize(
    ("question", "answer", "passage", "expected"),
    [
        (
            "Who wrote the report?", "It was written by Omar Said.",
            "The report was written by Lena Brandt. Omar Said reviewed it.", "not found: written by Omar Said; ",
        ),
        (
            "What should I bring for a night at the hut?",
            "For a night at the hut you need a sheet sleeping bag, since blankets must not be used without one.",
            "Blankets are in every room; for reasons of hygiene a sheet sleeping bag is compulsory.",
            "not found (support",
        ),
        (
            "My 6-year-old needs a passport. Are there special requirements?",
            "There are special requirements for a 6-year-old.",
            "There are special requirements for minors: both parents must appear. A passport is issued for 5 years.",
            "partly found in passage 1 (support",
        ),
        (
            "", "There are eight charging points, and a kilowatt-hour costs 45 cents.",
            "There are eight charging points on the car deck, at 0.45 EUR per kWh.", "found in passage 1",
        ),
        ("", "The Borealis is the smaller of the two.", "The Aurelia has 145, the Borealis 96.", "not found: smaller"),
        ("", "The museum closes at 5 pm.", "The museum is open from 10 am to 5 pm.", "found in passage 1"),
        ("", "The museum closes at 6 pm.", "The museum is open from 10 am to 5 pm.", "not found: 6 pm; "),
        (
            "Bis wann ist es offen?", "17 Uhr",
            "Das Museum ist dienstags bis sonntags von 10 bis 17 Uhr ge\u00f6ffnet.", "found in passage 1",
        ),
        ("What does the warranty cover?", "The battery.", "The warranty covers the screen.", "not found: battery; "),
        ("", "The chef is Ana Keller.", "Chef Ana Feller left.", "not found: Ana Keller; nearest"),
        ("Who is the CEO?", "Priya.", "Jonas Weil is the CEO.", "not found: Priya ("),
        ("How do I remove limescale?", "Descaling.", "Descaling. Fill the kettle with acid.", "found in passage 1 ("),
        ("Weight?", "It is 40 cm wide.", "The lamp is 40 cm wide and made of steel.", "found in passage 1 ("),
        ("", "Use 120-grit paper.", "Seacoat 7 needs no primer. Use fine paper.", "not found: 120-grit ("),
        (
            "", "The visit starts within two months.", "Apply the second coat. The visit starts within 20 days.",
            "contradicted: says two months; passage 1 says 20 days",
        ),
        (
            "How Long Is A Day On Other Planets Than Mars?", "Mercury: 1,408 hours",
            "On Mercury a day lasts 1,408 hours, and on Venus it lasts 5,832 hours.", "found in passage 1",
        ),
    ],
)  # fmt: skip
def test_answers_to_questions(question: str, answer: str, passage: str, expected: str) -> None:
    """Both ends of a range are stated, and reasons name words of the answer, not of the question."""
    found = judged(answer, Library([passage], [answer]), lambda _: "passage 1", question=question)
    assert found.reason.startswith(expected), found.reason


@pytest.mark.parametrize(
    ("record", "claim", "has", "lacks"),
    [
        ("heat-pump-cold", 0, "for operation: -25", "The hours that it has run"),
        ("heat-pump-cold", 1, "Outdoor -20: output 5.1 kW", "Lowest outdoor temperature"),
        ("leaflet-dose", 1, "six hours", "if needed"),
    ],
)
def test_evidence_is_what_the_reason_speaks_of(run: Any, record: str, claim: int, has: str, lacks: str) -> None:
    """No sentence is quoted for one word, and none around the one that differs."""
    verdicts = scores(run, record)["grounding"]["verdicts"]
    quoted = " ".join(one["text"] for one in verdicts[claim]["evidence"])
    assert has in quoted
    assert lacks not in quoted


@pytest.mark.parametrize(
    ("passages", "true", "wrong", "reason"),
    [
        (
            ["Returns are accepted within 30 days.", "Exchanges are accepted within 14 days."],
            "Exchanges are accepted within 14 days.", "Returns are accepted within 14 days.",
            "contradicted: says 14 days; passage 1 says 30 days",
        ),
        (
            ["Standard delivery costs 5 euros and takes four days. Express delivery costs 12 euros and takes one day."],
            "Express delivery costs 12 euros.", "Standard delivery costs 12 euros.", "contradicted: says 12 euros; ",
        ),
        (
            ["The frame has a guarantee of six years.", "The battery has a guarantee of two years."],
            "The battery has a guarantee of two years.", "The battery has a guarantee of six years.",
            "contradicted: says six years; passage 2 says two years",
        ),
        (
            ["The museum opens at 10:00 on weekdays. On Sundays it opens at 12:00."],
            "The museum opens at 12:00 on Sundays.", "On Sundays the museum opens at 10:00.",
            "not found: 10:00; nearest: passage 1 says 12:00",
        ),
        (
            ["Torque the stem bolts to 5 Nm.", "Torque the faceplate bolts to 6 Nm."],
            "The stem bolts are tightened to 5 Nm.", "Torque the stem bolts to 6 Nm.", "contradicted: says 6 Nm; ",
        ),
        (
            [
                "Die R\u00fcckgabe ist innerhalb von 30 Tagen m\u00f6glich.",
                "Der Umtausch ist innerhalb von 14 Tagen m\u00f6glich.",
            ],
            "Der Umtausch ist innerhalb von 14 Tagen m\u00f6glich.",
            "Die R\u00fcckgabe ist innerhalb von 14 Tagen m\u00f6glich.",
            "contradicted: says 14 Tagen; passage 1 says 30 Tagen",
        ),
        (
            ["Items may be returned within 30 days of purchase.", "The shop takes returns for 30 days, sale items 14."],
            "You can return items within 30 days.", "You can return items within 40 days.", "",
        ),
        (
            ["The lid is made of steel.", "The pan is made of copper."],
            "The pan is made of copper.", "The lid is made of copper.",
            "not found: lid is made; nearest: passage 2 says this of pan (",
        ),
        (
            ["The basic plan includes email support. The premium plan includes phone support."],
            "The premium plan includes phone support.", "The basic plan includes phone support.",
            "not found: basic plan includes; nearest: passage 1 says this of premium plan (",
        ),
        (
            ["Patients do not need to fast before a standard lipid test.", "Patients need an appointment."],
            "Patients do not need to fast before a lipid test.", "Patients need to fast before a standard lipid test.",
            "contradicted: says Patients need to fast before a standard lipid test; passage 1 says Patients do not",
        ),
        (
            ["The east gate opens on Mondays.", "The west gate opens on Fridays."],
            "The west gate opens on Fridays.", "The east gate opens on Fridays.", "not found: ",
        ),
        (
            ["A parish clerk keeps the register, and a church warden signs it."],
            "The church warden signs the register.", "The church warden keeps the register.",
            "not found: church warden keeps; nearest: passage 1 says this of parish clerk",
        ),
        (
            ["The drops are given in the morning."],
            "The drops are given in the morning.", "The drops are given in the evening.",
            "not found: The drops are given in the evening; nearest: passage 1 says The drops are given in the morning",
        ),
        (
            ["The archive is on the third floor.", "The first floor has a shop."],
            "The shop is on the first floor.", "The archive is on the first floor.",
            "not found: The archive is on the first floor; nearest: passage 1 says The archive is on the third floor",
        ),
        (
            ["Guests need no card for the sauna. Guests must show a card for 2 hours in the gym."],
            "Guests must show a card for the gym.", "Guests must show a card for the sauna.",
            "not found: Guests must show a card for the sauna; nearest: passage 1 says Guests need no card",
        ),
        (
            ["The fee covers the locker and the towel."],
            "The fee covers the locker.", "The fee covers the locker, the towel and a personal trainer.",
            "not found: personal trainer (",
        ),
        (
            ["Le mus\u00e9e ouvre \u00e0 9 heures et ferme \u00e0 18 heures. Le lundi, il ferme \u00e0 13 heures."],
            "Le lundi, le mus\u00e9e ferme \u00e0 13 heures.", "Le lundi, le mus\u00e9e ferme \u00e0 18 heures.",
            "contradicted: says 18 heures; ",
        ),
        (
            ["La capital de Per\u00fa es Lima. La capital de Ecuador es Quito."],
            "Quito es la capital de Ecuador.", "La capital de Per\u00fa es Quito.", "not found: ",
        ),
        (
            ["Das B\u00fcro ist von 8 bis 17 Uhr ge\u00f6ffnet."],
            "Das B\u00fcro schlie\u00dft um 17 Uhr.", "Das B\u00fcro schlie\u00dft um 18 Uhr.", "not found: 18 Uhr; ",
        ),
    ],
)  # fmt: skip
def test_what_is_said_elsewhere_of_another_thing(passages: list[str], true: str, wrong: str, reason: str) -> None:
    """A value or a word that stands in a sentence on something else is no support, however much else is found."""
    assert judged(true, Library(passages, [true]), lambda _: "").reason.startswith("found")
    found = judged(wrong, Library(passages, [wrong]), lambda place: f"passage {place[0] + 1}")
    assert found.reason.startswith(reason or "contradicted: "), found.reason


@pytest.mark.parametrize(
    ("passage", "true", "wrong"),
    [
        (
            "Never add descaler when the boiler is overheated. Wait until the boiler is cold.",
            "Do not add descaler when the boiler is overheated.",
            "Add descaler when the boiler is overheated.",
        ),
        (
            "Without gravel there is nothing to hold the bed of the track together.",
            "Without gravel, there is nothing to hold the bed of the track together.",
            "With gravel there is nothing to hold the bed of the track together.",
        ),
        (
            "Then, if you don't need them anymore, you can delete the folders.",
            "If you no longer need these folders, you can easily delete them.",
            "If you no longer need these folders, you cannot delete them.",
        ),
        (
            "Failure to file an answer may lead to a fine being entered against you.",
            ("It is important to file an answer, as failing to do so may result in a fine being entered against you."),
            "Failure to file an answer may not lead to a fine.",
        ),
        (
            "Copper is the standard, particularly since PVT pipe is not safe for hot water.",
            "PVT pipe is generally considered safe for cold water.",
            "PVT pipe is safe for hot water.",
        ),
        (
            "These stalks don't come off as easily as the leaves do, so you may need to use a knife.",
            "The stalks may not come off easily and may require the use of a knife.",
            "The stalks come off more easily than the leaves.",
        ),
        (
            "After 15 minutes, if you have not entered your vehicle with the key, the engine will shut off.",
            (
                "The engine will run for 15 minutes before shutting off if you have not entered the vehicle with "
                "the key."
            ),
            "The engine will shut off after 25 minutes if you have not entered the vehicle with the key.",
        ),
        (
            "Does not always fully recognize complex traffic, which can result in wrong warnings.",
            "It does not always recognize complex traffic.",
            "It always recognizes complex traffic.",
        ),
        (
            "Many litter items are not biodegradable, so they stay for a very long time.",
            "Many litter items are non-biodegradable.",
            "Many litter items are biodegradable.",
        ),
        (
            (
                "If the claim is for 1,500 euros or less, the fee is 30 euros. If the claim is more than 1,500 "
                "euros but less than 5,000 euros, the fee is 50 euros."
            ),
            "The fee is 30 euros if the claim is for 1,500 euros or less.",
            "The fee is 60 euros if the claim is for 1,500 euros or less.",
        ),
        (
            (
                "Constructed by the Province of Varn, starting on 13 August 1961, the dam cut off the upper "
                "valley from the lower valley until engineers opened it in November 1989."
            ),
            ("The dam was built in 1961 by the Province of Varn to separate the upper valley from the lower valley."),
            ("The dam was built in 1971 by the Province of Varn to separate the upper valley from the lower valley."),
        ),
        (
            "Varn folk developed in the late 1960s and early 1970s.",
            "Varn folk developed in the early 1970's.",
            "Varn folk developed in the early 1980's.",
        ),
        (
            "To unlock it, enter the PIN. You can set the PIN in the settings.",
            "To unlock it, enter the PIN you have set.",
            "To unlock it, enter the default PIN, which is 0000.",
        ),
        (
            "How do I become a member of the Harbour Club? Only a member of the Harbour Club may vote.",
            "To vote you must be a member of the Harbour Club.",
            "To vote you need not be a member of the Harbour Club.",
        ),
        (
            "Varland is bordered by Pern in the south and the east, Tolm in the north and the sea in the west.",
            "Varland is bordered by Tolm to the north and Pern to the south.",
            "Varland is bordered by Hesk to the north and Pern to the south.",
        ),
        (
            "The theory was proposed by Nina Orr in 1913 and was based on the model proposed earlier by Hadley.",
            "Nina Orr based her theory on the model proposed earlier by Hadley.",
            "The theory was proposed in 1913 by Tarn.",
        ),
        (
            "The old bridge was purchased by Robert P. Hollis from the City of Varn.",
            "The old bridge was purchased from the City of Varn by Robert P. Hollis.",
            "The old bridge was purchased from the City of Varn by Robert P. Tarn.",
        ),
        (
            "Rahim Stone has been linked with a move to Varn City for 50 million.",
            "Varn City have been linked with Rahim Stone.",
            "Varn City have been linked with Rahim Tarn.",
        ),
        (
            "Hadley, a painter, was the husband of Orr.",
            "Orr was the wife of the painter Hadley.",
            "Orr was the wife of the sculptor Hadley.",
        ),
        (
            "There were an estimated 12 million fever cases in 2012, including 8.6 million new cases, and 9 deaths.",
            "There were an estimated 8.6 million new cases of fever in 2012.",
            "There were an estimated 8.6 million new cases of fever in 2013.",
        ),
        (
            "The team played its home games at Foxby Stadium.",
            "The team played home games at Foxby Stadium.",
            "The team played home games at Harwell Stadium.",
        ),
        (
            "The platform 2.5.4 needs two licences.",
            "Two licences are needed for the platform 2.5.4.",
            "Two licences are needed for the platform 2.5.5.",
        ),
        (
            "A day on Mars lasts 24.6 hours.",
            "A day on Mars lasts approximately 24 hours and 36 minutes.",
            "A day on Mars lasts approximately 24 hours and 12 minutes.",
        ),
        (
            "The vaccines can't give you the illness. Learn more about how the vaccines work on the agency's website.",
            "You can learn more about how the vaccines work on the agency's website.",
            "The vaccines can give you the illness.",
        ),
        (
            "A person is disqualified if any of these holds: the person is serving as a trial juror in any court.",
            "You cannot serve if you are serving as a trial juror in any court.",
            "You cannot serve if you are under 21.",
        ),
        (
            "A policy with no rules, containing only the default permission for guests, can be used to mask data.",
            "A policy with no rules can be used to mask data.",
            "A policy with no rules cannot be used to mask data.",
        ),
        (
            (
                "Joint sittings are chaired by the Speaker, except for the sitting to count the regional votes. The "
                "sitting to count the regional votes is held at 1 p.m. in the hall."
            ),
            "The sitting to count the regional votes is held in the hall at 1 p.m.",
            "The Speaker chairs the sitting to count the regional votes.",
        ),
        (
            "The kayak is sold in three sizes. It needs no licence.",
            "The kayak needs no licence.",
            "The kayak needs a licence.",
        ),
        (
            "You may return the lamp within 30 days, provided that the bulb has not been used.",
            "You may return the lamp within 30 days if the bulb has not been used.",
            "You may return the lamp within 30 days even if the bulb has been used.",
        ),
        (
            "You can cancel without a fee unless you have checked in.",
            "You can cancel without a fee.",
            "You can cancel without a fee even if you have checked in.",
        ),
        (
            "Members may borrow books if they have paid the fee.",
            "Members may borrow books.",
            "Members may borrow books without paying the fee.",
        ),
        (
            "Members may borrow books if they have paid the fee.",
            "Members who have paid the fee may borrow books.",
            "Only members may borrow books.",
        ),
        (
            "Orders over 100 euros ship free within the EU.",
            "All orders over 100 euros ship free within the EU.",
            "All orders ship free within the EU.",
        ),
        (
            "The bridge was closed because of a strike.",
            "The bridge was closed due to a strike.",
            "The bridge was closed because of a flood.",
        ),
        ("The trial lasts 90 days.", "The trial lasts three months.", "The trial lasts four months."),
        ("The price went from 40 to 55 euros.", "The price rose by 15 euros.", "The price rose by 25 euros."),
        (
            "The region has plenty of water.",
            "There is no lack of water in the region.",
            "The region lacks water.",
        ),
        (
            "Doctors treat bacterial infections with antibiotics. Antibiotics are no help against viral infections.",
            "Antibiotics do not treat viral infections.",
            "Antibiotics do not treat bacterial infections.",
        ),
        (
            "The study was led by Dr. Pavel Novak. Dr. Lena Ortiz reviewed the data.",
            "Dr. Pavel Novak led the study.",
            "Dr. Lena Ortiz led the study.",
        ),
        (
            "The river flows into the North Sea.",
            "The river flows into the North Sea.",
            "The river flows into the Baltic Sea.",
        ),
        (
            "The tour starts in Oslo and ends in Bergen.",
            "The tour ends in Bergen.",
            "The tour starts in Bergen and ends in Oslo.",
        ),
        (
            "The fee is 20 euros per week.",
            "The fee is 20 euros a week.",
            "The fee is 20 euros per day.",
        ),
        (
            "Payment is due at the end of each month.",
            "Payment is due monthly.",
            "Payment is due at the end of each quarter.",
        ),
        (
            "The bridge is one of the longest in Europe.",
            "The bridge is among the longest in Europe.",
            "The bridge is the longest in Europe.",
        ),
        (
            "All files are encrypted with AES-256 before upload.",
            "The file is encrypted with AES-256.",
            "The file is encrypted with AES-128.",
        ),
        ("The recipe serves 4 people.", "The recipe serves 4.", "The recipe serves 6."),
        (
            "The library was rebuilt in 2008 by the architect Ines Corbal. The garden was designed by Tobias Renn.",
            "The library was rebuilt in 2008 by Ines Corbal.",
            "The library was rebuilt in 2008 by Tobias Renn.",
        ),
        (
            "The soup can be frozen for two months. Do not freeze it if cream has been added.",
            "You can freeze the soup for two months.",
            "You can freeze the soup, even with cream.",
        ),
        (
            "CityWheel does not lend helmets.",
            "CityWheel lends no helmets.",
            "Helmets can be borrowed from CityWheel.",
        ),
        (
            "Books can be renewed twice unless they have been reserved.",
            "Books can be renewed twice.",
            "Reserved books can be renewed twice.",
        ),
        (
            "All parts of the plant are poisonous to cats.",
            "Every part of the plant is poisonous to cats.",
            "Only the bulbs are poisonous to cats.",
        ),
        (
            "Norden AG was founded by Lena Voss in 1987. Since 2019 the company has been run by Jonas Beck.",
            "Norden AG was founded by Lena Voss.",
            "Norden AG is run by Lena Voss.",
        ),
        (
            "Mira Sand scored twice, and Jo Reyes added a third goal in the 88th minute.",
            "Jo Reyes added a goal in the 88th minute.",
            "Jo Reyes scored twice.",
        ),
        (
            "Mira Sand scored twice, and Jo Reyes added a third goal in the 88th minute.",
            "Mira Sand scored twice.",
            "Mira Sand scored in the 88th minute.",
        ),
        (
            "Support is available by e-mail only, on weekdays from 8 to 18 CET.",
            "Support is available by e-mail.",
            "Support is available by phone.",
        ),
        (
            "It needs full sun and well-drained soil.",
            "It needs well-drained soil.",
            "It needs full shade and well-drained soil.",
        ),
        (
            "Firmware 1.4 fixed an error that could delete images.",
            "Firmware 1.4 corrected an error that could delete images.",
            "Firmware 1.5 fixed an error that could delete images.",
        ),
        (
            "The API allows 600 requests per minute for each key.",
            "Each key may make 600 requests a minute.",
            "The API allows 600 requests per hour.",
        ),
        (
            "The filter should be cleaned once a month.",
            "The filter should be cleaned monthly.",
            "The filter should be cleaned once a week.",
        ),
        (
            "Take one tablet twice a day with food.",
            "Take one tablet two times a day with food.",
            "Take two tablets once a day with food.",
        ),
        (
            "Employees accrue 1.5 days of paid leave per month.",
            "Employees get 18 days of paid leave a year.",
            "Employees get 15 days of paid leave a year.",
        ),
        (
            "The deductible is 150 euros per claim.",
            "Every claim has a deductible of 150 euros.",
            "The deductible is 150 euros per year.",
        ),
        (
            "Net profit fell to 31 million dollars from 38 million a year earlier.",
            "Net profit decreased from 38 to 31 million dollars.",
            "Net profit decreased from 38 to 28 million dollars.",
        ),
        (
            "Tokens expire after 24 hours, and refresh tokens after 30 days.",
            "Refresh tokens expire after 30 days.",
            "Refresh tokens expire after 24 hours.",
        ),
        (
            "The default port changed from 8080 to 9090.",
            "The default port is now 9090.",
            "The default port is now 8080.",
        ),
        (
            "It opened in 1931. The museum is closed on Mondays.",
            "The museum does not open on Mondays.",
            "The museum opens on Mondays.",
        ),
        (
            "Version 3.2 adds dark mode and drops support for Python 3.8. The old format will be removed in version 4.",
            "Python 3.8 is no longer supported from version 3.2 on.",
            "Version 3.2 adds support for Python 3.8.",
        ),
        (
            "Refunds are issued to the original payment method within five working days.",
            "Refunds are issued to the original payment method.",
            "Refunds are issued as store credit.",
        ),
        (
            "Return shipping is free within Germany.",
            "Return shipping is free in Germany.",
            "Return shipping is free worldwide.",
        ),
        (
            "Point-in-time recovery is available on the Business plan only.",
            "Point-in-time recovery is available on the Business plan.",
            "Point-in-time recovery is available on all plans.",
        ),
        (
            "Ada Kessler studied in Graz, where she met Paul Imhof. In 1904 she discovered the pigment kesslerine.",
            "Ada Kessler discovered the pigment kesslerine in 1904.",
            "Paul Imhof discovered the pigment kesslerine in 1904.",
        ),
        (
            "Ada Kessler studied in Graz. She married Paul Imhof. He directed the botanical garden until 1920.",
            "Paul Imhof directed the botanical garden until 1920.",
            "Paul Imhof directed the botanical garden until 1922.",
        ),
        (
            "Captain Ruth Hale led the expedition to Kola Bay. Her deputy, Lev Orlov, kept the diary.",
            "Ruth Hale led the expedition to Kola Bay.",
            "Lev Orlov led the expedition to Kola Bay.",
        ),
        (
            "How can you renew a card in Varn Park? Fill in the form.",
            "You can renew a card in Varn Park.",
            "You cannot renew a card in Varn Park.",
        ),
        (
            "In June the elephants moved to a new enclosure beside the lake.",
            "The elephants moved to a new enclosure in June.",
            "The giraffes moved to a new enclosure in June.",
        ),
        (
            "Pets need the landlord's written permission.",
            "Pets need written permission from the landlord.",
            "Pets need the caretaker's written permission.",
        ),
        (
            "The lamp is available in grey and dark blue.",
            "The lamp is available in dark blue.",
            "The lamp is available in grey, dark blue and red.",
        ),
        (
            "The thick trunk of the tree stores water. Its flowers open at dusk.",
            "The flowers of the tree open at dusk.",
            "The flowers of the tree open at dawn.",
        ),
        (
            "The museum shop sells film posters. The book was published in 1990.",
            "The museum shop sells film posters.",
            "The museum shop sells opera posters.",
        ),
        (
            "The e-bike weighs 19 kilograms. Power comes from a quiet motor in the rear hub.",
            "The e-bike has a motor in the rear hub.",
            "The e-bike has a noisy motor.",
        ),
        (
            "The canal was built in 1799 and is 40 km long. Today it is used by anglers.",
            "The canal is 40 km long.",
            "The canal is one of the longest in the country.",
        ),
        (
            "Bicycles cannot be carried on the buses, but wheelchairs can.",
            "Bicycles may not be taken on the buses.",
            "Bicycles may be taken along on the buses.",
        ),
        (
            "Power banks have to travel in the cabin and are forbidden in checked baggage.",
            "Power banks may not be packed in checked baggage.",
            "Power banks are allowed in checked baggage.",
        ),
        (
            "Only the owner can change the payment method or cancel the plan.",
            "The owner can change the payment method.",
            "Members of the plan can change the payment method.",
        ),
        (
            "Replicas answer read queries only.",
            "Replicas answer read queries.",
            "Replicas answer both read queries and write queries.",
        ),
        (
            "Ravensburg beat Torvik 3-1 in the semi-final.",
            "Torvik lost the semi-final to Ravensburg.",
            "Ravensburg lost the semi-final to Torvik.",
        ),
        (
            "Ilona learned chess from her grandfather, a railway clerk.",
            "Her grandfather taught her chess.",
            "Her grandfather taught her tennis.",
        ),
        (
            "A loan can be renewed twice, unless another reader has reserved the item.",
            "An item that another reader has reserved cannot be renewed.",
            "A loan cannot be renewed twice.",
        ),
        (
            "Socks and insoles cannot be returned for hygiene reasons.",
            "Socks are excluded from returns for hygiene reasons.",
            "Socks can be returned for hygiene reasons.",
        ),
        (
            "The export to EPUB is faster, but the export to Markdown has been removed because hardly anyone used it.",
            "The export to Markdown has been removed because hardly anyone used it.",
            "The export to EPUB has been removed because hardly anyone used it.",
        ),
        (
            "Pangolins have no teeth and grind their food with small stones.",
            "Lacking teeth, pangolins grind their food with small stones.",
            "Pangolins grind their food with strong teeth.",
        ),
        (
            "The PIN can be reset on the website but not in the mobile app.",
            "The PIN cannot be reset in the mobile app.",
            "The PIN can be reset in the mobile app.",
        ),
        (
            "Blend half of the soup and return it to the pot.",
            "Blend half of the soup.",
            "Blend all of the soup.",
        ),
        (
            "Upload a letter of no more than 600 words; you must sign it.",
            "The letter may have at most 600 words.",
            "The letter may have at most 900 words.",
        ),
        (
            "The restorers deliberately kept the dark green surface.",
            "The restorers kept the dark green surface.",
            "The restorers removed the dark green surface.",
        ),
        (
            "The restaurant serves dinner from 6:30 pm to 9:30 pm every day.",
            "Dinner is served between 6:30 and 9:30 pm.",
            "Dinner is served between 6:30 and 9:30 am.",
        ),
        (
            "The buffet offers cheese, smoked trout, and bread from our own bakery.",
            "The buffet offers cheese, smoked trout and bread from the hotel's own bakery.",
            "The buffet offers cheese, smoked trout and bread from the hotel's own restaurant.",
        ),
        (
            "Flexible bookings can be cancelled until 6 pm. Saver bookings are cheaper. They cannot be cancelled.",
            "Flexible bookings can be cancelled until 6 pm.",
            "Saver bookings can be cancelled until 6 pm.",
        ),
        (
            "Applicants must upload a letter of motivation of no more than 600 words.",
            "The letter of motivation may have at most 600 words.",
            "The letter of motivation may have at most 900 words.",
        ),
        (
            "Turnover rose to 40 million euros, and the profit was 3 million euros.",
            "Sales rose to 40 million euros.",
            "Dividends rose to 40 million euros.",
        ),
    ],
)
def test_what_answers_say_in_other_words_is_not_accused(passage: str, true: str, wrong: str) -> None:
    """A denial, an opposite or another number counts only where it is said of the same; such answers are common."""
    assert accepted(true, passage)
    assert not accepted(wrong, passage)
