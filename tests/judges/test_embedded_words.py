"""How the embedded judge reads words and numbers, and what of a sentence it takes for the statement."""

from __future__ import annotations

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from by_hand import embedded
from hypothesis import example, given
from hypothesis import strategies as st

from ragstone.judges.embedded import words
from ragstone.judges.embedded.stated import restated, stated, unmarked
from ragstone.judges.embedded.words import NAME, NEGATION, NUMBER, tokens_of
from ragstone.questions import YES_NO, Rate
from ragstone.segment import language_of
from ragstone.types import Passage, Unit, Verdict

TEXTS = {
    "hi": "दिल्ली भारत की राजधानी है।",
    "bn": "ঢাকা বাংলাদেশের রাজধানী।",
    "te": "ఢిల్లీ భారతదేశ రాజధాని.",
    "ne": "काठमाडौं नेपालको राजधानी हो।",
    "ta": "சென்னை தமிழ்நாட்டின் தலைநகரம்.",
    "he": "שָׁלוֹם הוּא הַבִּירָה.",
    "ar": "الرِّيَاضُ عَاصِمَةُ السُّعُودِيَّةِ.",
    "fr": "Le résumé célèbre de l'été.",
}


def stems(text: str, language: str = "en") -> list[str]:
    return [token.stem for token in tokens_of(text, language)]


def held(claim: str, *passages: str) -> Verdict:
    unit = Unit("r/claim/1", "claim", claim)
    context = tuple(Passage(f"p{n}", text, n) for n, text in enumerate(passages, 1))
    (verdict,) = embedded(Rate("support", (unit,), YES_NO, passages=context, evidence=True)).verdicts
    assert isinstance(verdict, Verdict)
    return verdict


# ---- words


@pytest.mark.parametrize("language", TEXTS)
def test_marks_belong_to_their_word(language: str) -> None:
    """As many words as blanks part, so that a text supports itself in scripts whose vowels are marks."""
    text = TEXTS[language]
    assert len(stems(text, language)) == len(text.split())
    verdict = held(text, text)
    assert verdict.label == "yes", verdict.reason
    assert held(text, "Something else is written here, and nothing of that.").label == "no"


@pytest.mark.parametrize("language", TEXTS)
def test_letters_and_their_marks_may_be_one_or_two_characters(language: str) -> None:
    text = TEXTS[language]
    assert stems(unicodedata.normalize("NFD", text), language) == stems(unicodedata.normalize("NFC", text), language)


def test_soft_hyphens_and_joiners_part_no_word() -> None:
    assert stems("inter\u00adnational agree\u200bments") == stems("international agreements")


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("dell'Albania dell\u2019Italia nell'ospedale", "it", ["alban", "ital", "ospedal"]),
        ("l'or l'an L'UE", "fr", ["or", "an", "ue"]),
        ("Ankara'nın Smith's C's O'Brien", "en", ["ankara", "smith", "c", "brien"]),
    ],
)
def test_an_apostrophe_drops_what_it_attaches(text: str, language: str, expected: list[str]) -> None:
    """The article before the noun in some languages, the ending behind it in others."""
    assert stems(text, language) == expected


@pytest.mark.parametrize(("claim", "passage"), [
    ("La capitale dell'Albania è Roma.", "La capitale dell'Italia è Roma."),
    ("Il presidente dell'Ucraina è arrivato.", "Il presidente dell'Ungheria è arrivato."),
])  # fmt: skip
def test_another_country_behind_an_article_is_missed(claim: str, passage: str) -> None:
    right, wrong = held(passage, passage), held(claim, passage)
    assert right.probability is not None
    assert wrong.probability is not None
    assert wrong.probability < right.probability
    assert claim.split("'")[1].split(maxsplit=1)[0] in (wrong.reason or "")


# ---- numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fell to -5 degrees", ["#-5"]), ("\u22124.2 million", ["#-4200000"]), ("(-3)", ["#-3"]),
        ("10am -3:30pm", ["@10:00", "@15:30"]), ("5 km -10 km", ["#5", "#10"]), ("5 -10", ["#5", "#10"]),
        ("MPEG -4", ["#4"]),
        ("from 3 to -5", ["#3", "#-5"]), ("3, -5", ["#3", "#-5"]),
        ("from 5-6 to 7 - 8", ["#5", "#6", "#7", "#8"]), ("COVID-19 on 2020-01-05", ["#19", "#2020", "#1", "#5"]),
        ("p < .05, .5%", ["#0.05", "#0.5"]), ("p < 0.05", ["#0.05"]), ("-.5", ["#-0.5"]), ("v.2", ["#2"]),
        ("0,125", ["#0.125"]), ("1,000", ["#1000"]), ("-0", ["#0"]),
        ("30 m", ["#30"]), ("30m tall", ["#30"]), ("5m/s", ["#5"]), ("12mm long", ["#12"]), ("452b", ["#452"]),
        ("12M", ["#12000000"]), ("$12m", ["#12000000"]), ("\u00a3 5bn", ["#5000000000"]), ("USD 5b", ["#5000000000"]),
        ("30m viewers", ["#30000000"]), ("10k", ["#10000"]), ("12MM", ["#12000000"]),
        ("twenty-five", ["#25"]), ("Twenty one", ["#21"]), ("twenty a day", ["#20"]), ("twenty, five", ["#20", "#5"]),
        ("two hundred", ["#200"]), ("one million", ["#1000000"]), ("a hundred thousand", ["#100000"]),
        ("one man", []), ("a dog", []), ("12 million", ["#12000000"]), ("five two", ["#5", "#2"]),
    ],
)  # fmt: skip
def test_numbers_are_read_by_their_value(text: str, expected: list[str]) -> None:
    assert [token.stem for token in tokens_of(text, "en") if token.kind == NUMBER] == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("13, 000", "en", ["#13000"]), ("1 , 177 men", "en", ["#1177"]), ("$217, 629", "en", ["#217629"]),
        ("pages 12, 130 and 400", "en", ["#12", "#130", "#400"]), ("1, 2, 3", "en", ["#1", "#2", "#3"]),
        ("158 , 460 , 1020", "en", ["#158", "#460", "#1020"]),
        ("2 1/2 or \u00bd or 1\u00bd", "en", ["#2.5", "#0.5", "#1.5"]), ("1/2/2020", "en", ["#1", "#2", "#2020"]),
        ("1.5x, 3-fold and threefold", "en", ["#1.5", "#3", "#3"]), ("\u20ac5m", "en", ["#5000000"]),
        ("two hundred and fifty thousand", "en", ["#250000"]),
        ("two hundred and three hundred", "en", ["#200", "#300"]),
        ("two million three hundred thousand and twelve", "en", ["#2300012"]),
        ("the third, the 3rd and the twenty-first", "en", ["#3", "#3", "#21"]), ("a third per second", "en", []),
        ("6-8", "en", ["#6", "#8"]), ("05.01.2020", "de", ["#5", "#1", "#2020"]),
        ("1 234,56", "fr", ["#1234.56"]), ("1.234,56", "de", ["#1234.56"]), ("einundzwanzig", "de", ["#21"]),
        ("quatre-vingt-dix-sept, soixante et onze", "fr", ["#97", "#71"]), ("deux cents", "fr", ["#200"]),
        ("treinta y uno, veintid\u00f3s", "es", ["#31", "#22"]), ("vinte e cinco", "pt", ["#25"]),
        ("ventuno", "it", ["#21"]), ("двадцать пять тысяч", "ru", ["#25000"]),
        ("有12万人", "zh", ["#120000"]), ("3億5000万円", "ja", ["#350000000"]),
        ("三个人, 十二人, 一个", "zh", ["#3", "#12"]),
        ("6 pm 6 p.m. 18:00", "en", ["@18:00"] * 3), ("9:00 am, 12 am, 21:48", "en", ["@9:00", "@0:00", "@21:48"]),
        ("6-8 pm, 11-1 pm", "en", ["@18:00", "@20:00", "@11:00", "@13:00"]), ("2020-01-05T21:48:00", "en",
        ["#2020", "#1", "#5", "@21:48"]), ("18 Uhr, 18.30 Uhr", "de", ["@18:00", "@18:30"]),
        ("18h, 18h30", "fr", ["@18:00", "@18:30"]), ("18h", "en", ["#18"]),
    ],
)  # fmt: skip
def test_one_value_or_time_has_one_form(text: str, language: str, expected: list[str]) -> None:
    assert [token.stem for token in tokens_of(text, language) if token.kind == NUMBER] == expected


@pytest.mark.parametrize("name", [
    "C#", "C++", "F#", ".NET", "Node.js", "backoff_ceiling", "--max-len", "v2.1", "GPT-4o", "x86_64", "A4",
])  # fmt: skip
def test_a_name_of_code_is_one_token_that_matches_no_part_of_it(name: str) -> None:
    (token,) = (token for token in tokens_of(f"use {name} here", "en") if token.stem not in {"use", "here"})
    assert (token.stem, token.kind) == (name.lower(), NAME)
    assert stems(f"{name}, {name}.") == [name.lower()] * 2
    assert tokens_of("call `retry` now", "en")[1].kind == NAME


def test_an_initial_ends_no_sentence() -> None:
    """What follows it with a capital is a name."""
    kinds = {token.stem: token.kind for token in tokens_of("It was bought by Lena P. Brandt.", "en")}
    assert kinds["brandt"] == NAME


def test_of_a_very_long_text_each_word_is_listed_once() -> None:
    """With the place where it stands first."""
    text = "x y " * 50_000 + "z"
    assert [(token.stem, text[token.start : token.end]) for token in tokens_of(text, "en")] == [(c, c) for c in "xyz"]


@pytest.mark.parametrize("language", ["de", "es", "it", "pt", "tr"])
def test_a_point_parts_thousands_where_the_language_writes_so(language: str) -> None:
    assert stems("250.000", language) == stems("250000", language) == ["#250000"]
    assert stems("2.5", language) == ["#2.5"]
    assert stems("250.000", "en") == ["#250"]


@given(st.integers(-(10**9), 10**9))
@example(-1)
def test_a_number_is_itself_with_and_without_commas(number: int) -> None:
    assert stems(f"it is {number:,} now") == stems(f"it is {number} now")


@pytest.mark.parametrize(("claim", "passage"), [
    ("The temperature fell to 5 degrees.", "The temperature fell to -5 degrees."),
    ("The interest rate is 5%.", "The interest rate is .5%."),
    ("The screw is 12 million long.", "The screw is 12mm long."),
    ("He was 20 years old.", "He was twenty-five years old."),
    ("Die Stadt hat 250 Einwohner.", "Die Stadt hat 250.000 Einwohner, und sie ist nicht die größte mit der Bahn."),
])  # fmt: skip
def test_another_value_is_missing(claim: str, passage: str) -> None:
    verdict = held(claim, passage)
    assert verdict.label == "no"
    assert (verdict.reason or "").startswith(("not found", "contradicted: says"))


@pytest.mark.parametrize(("claim", "passage"), [
    ("The tower is 30 m tall.", "The tower is 30m tall."),
    ("The screw is 12 mm long.", "The screw is 12mm long."),
    ("He was 25 years old.", "He was twenty-five years old."),
    ("It cost 200 dollars.", "It cost two hundred dollars."),
    ("It has 1 million readers.", "It has one million readers."),
    ("Die Stadt hat 250000 Einwohner.", "Die Stadt hat 250.000 Einwohner, und sie ist nicht die größte mit der Bahn."),
])  # fmt: skip
def test_the_same_value_is_found_however_it_is_written(claim: str, passage: str) -> None:
    verdict = held(claim, passage)
    assert verdict.label == "yes", verdict.reason


# ---- negations


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It is not only cheap", 0), ("not just Rome", 0), ("No. 1", 0), ("No.1", 0), ("no fewer than five", 0),
        ("no doubt", 0), ("It is not cheap", 1), ("only not cheap", 1), ("no. It ended", 1), ("no money", 1),
        ("no more", 1),
    ],
)  # fmt: skip
def test_some_negations_deny_nothing(text: str, count: int) -> None:
    assert sum(token.kind == NEGATION for token in tokens_of(text, "en")) == count


def test_not_only_is_no_denial() -> None:
    passage = "The drug is not only effective but also cheap."
    assert held("The drug is effective.", passage).label == "yes"
    assert held("The drug is not effective.", passage).label == "no"
    assert held("The company reached number 1 in 1990.", "The company reached No. 1 in 1990.").label == "yes"


@given(st.text(max_size=60), st.sampled_from(["en", "de", "it", "hi", "zh", "xx"]))
def test_words_stand_where_they_say(text: str, language: str) -> None:
    """In order, within the text, none empty; a name is written with a capital, a digit or a sign."""
    last = 0
    for token in tokens_of(text, language):
        assert token.stem
        assert last <= token.start < token.end <= len(text) or token.kind == NEGATION
        assert (
            token.kind != NAME
            or not text[token.start : token.end].isalpha()
            or not text[token.start : token.end].islower()
        )
        last = max(last, token.start)


@given(st.text(alphabet="aB1.,-'$% \n(/_:;", max_size=40), st.sampled_from(["en", "de"]))
def test_a_letter_beyond_ascii_changes_no_other_word(text: str, language: str) -> None:
    """Texts in ASCII are read by a simpler pattern; it finds the same."""
    assert tokens_of(f"{text} é", language)[:-1] == tokens_of(f"{text} e", language)[:-1]


# ---- what is stated


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2. According to the provided documents, the fee is 5 dollars [3].", "the fee is 5 dollars."),
        ("Based on the context, Canberra is a city.", "Canberra is a city."),
        ("Based on the information provided in the passages [1][2]: Bob left.", "Bob left."),
        ("The document says that Canberra is a city.", "Canberra is a city."),
        ("(a) Canberra is a city [1, 2].", "Canberra is a city."),
        ("- 5 apples are left", "5 apples are left"),
        ("In the text editor, press F5.", "In the text editor, press F5."),
        ("According to Anna, the context is large.", "According to Anna, the context is large."),
        ("The document that describes fees is old.", "The document that describes fees is old."),
        ("The documents do not say that Anna left.", "The documents do not say that Anna left."),
        ("1. ", "1. "),
        ("[1]", "[1]"),
        ("Based on the context, ", "Based on the context, "),
    ],
)
def test_marks_citations_and_bows_are_no_part_of_it(text: str, expected: str) -> None:
    """A bow to the evidence has no word of the matter; what has one stays."""
    assert stated(text, "en") == expected


def test_a_mark_alone_is_kept() -> None:
    assert unmarked("1. ") == "1. "
    assert unmarked("12) Open it") == "Open it"
    assert unmarked("1990) Open it") == "1990) Open it"


@pytest.mark.parametrize("opener", [
    "Based on the provided context, ", "According to the provided documents, ", "The context states that ", "3. ",
])  # fmt: skip
def test_a_bow_or_a_mark_changes_no_verdict(opener: str) -> None:
    plain = held("Canberra is a city.", "Canberra is a city.")
    bowed = held(f"{opener}Canberra is a city.", "Canberra is a city.")
    assert (bowed.label, bowed.probability) == (plain.label, plain.probability) == ("yes", plain.probability)
    assert "not found" not in (bowed.reason or "")


# ---- which window


@pytest.mark.parametrize(("claim", "passages"), [
    ("Zinc cures colds.", ("Zinc cures colds.", "A doctor wrote that zinc never cures colds in children.")),
    ("You can cancel online.", ("Can you cancel online? You can cancel online.",)),
])  # fmt: skip
def test_of_windows_with_the_same_words_the_one_that_puts_them_so_is_taken(
    claim: str, passages: tuple[str, ...]
) -> None:
    """Whatever their order."""
    for order in (passages, passages[::-1]):
        verdict = held(claim, *order)
        assert verdict.label == "yes"
        assert verdict.evidence[0].text == claim


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("What is the capital of France?", "Paris.", "Paris is the capital of France"),
        ("Which bus goes to the zoo?", "Bus 4.", "Bus 4 goes to the zoo"),
        ("When does the shop close?", "It closes at six.", "the shop closes at six."),
        ("How long is the return period?", "Yes, 30 days.", "return period: 30 days."),
        ("Is parking free on Sundays?", "Yes.", "parking free Sundays"),
        ("Is the hut open in winter?", "No, it isn't.", "not hut open winter"),
        ("Was the reactor shut down in 1987?", "No, in 1991.", "reactor shut down: in 1991."),
        ("Wie lange gilt die Garantie?", "Zwei Jahre.", "lange gilt Garantie: Zwei Jahre."),
        ("¿Cuál es la capital de Francia?", "París.", "capital Francia: París."),
        ("法国的首都是哪里?", "巴黎。", "法国的首都是: 巴黎。"),
        ("What is the capital of France?", "Paris is the capital of France.", None),
        ("Who built the bridge?", "Telford built it.", "Telford built the bridge"),
        ("Is parking free?", "Yes, parking is free on Sundays.", None),
        ("Who built the bridge?", "Yes.", None),
        ("", "Paris.", None),
        ("?", "Paris.", None),
        ("Why?", "", None),
    ],
)
def test_a_short_answer_is_looked_for_with_its_question(question: Any, answer: Any, expected: Any) -> None:
    """The question's content words and the answer, its denial for "No"; an answer in full stays as it is."""
    language = "de" if question.startswith("Wie") else language_of(question)
    assert restated(question, answer, language) == (answer if expected is None else expected)


@given(st.text(max_size=80), st.text(max_size=80), st.sampled_from(["en", "de", "zh", "ja", "xx"]))
def test_any_question_and_answer_are_restated(question: str, answer: str, language: str) -> None:
    """No text breaks it, and nothing is left out of an answer that is not yes or no."""
    restated(question, answer, language)
    stated(answer, language)


def test_judges_in_several_threads_stem_alike() -> None:
    """A stemmer keeps the word that it works on in itself."""
    ends = ("comparing", "related", "nationally", "generate", "relations")
    every = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}{word}" for n in range(600) for word in ends]
    alone = [words._stemmer("en")(word) for word in every]
    shared = words._stemmer("en")
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            stems = [*pool.map(lambda at: [shared(word) for word in every[at::4]], range(4))]
    finally:
        sys.setswitchinterval(usual)
    assert [stems[n % 4][n // 4] for n in range(len(every))] == alone
