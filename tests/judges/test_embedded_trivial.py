"""What looks like a heading or a courtesy, and states something all the same."""

from __future__ import annotations

import pytest
from by_hand import embedded

from ragstone import evaluate
from ragstone.questions import GRADE_0_2, YES_NO, Rate, Write
from ragstone.types import TRIVIAL, Passage, Span, Unit, Verdict

PASSAGES = (Passage("p1", "Canberra is a city. It is the capital of Australia.", 1),)
WRONG = "**Sydney is the capital of Austria**"


def judged(text: str) -> Verdict:
    unit = Unit("u", "sentence", text, Span(0, len(text)))
    (verdict,) = embedded(Rate("support", (unit,), YES_NO, passages=PASSAGES, skippable=True)).verdicts
    assert isinstance(verdict, Verdict)
    return verdict


@pytest.mark.parametrize(
    "text",
    [
        WRONG,
        "# Canberra is the capital of Australia",
        "**Sydney is the capital of Austria**:",
        "**Sydney isn't the capital**",
        "**Sydney Is The Capital Of Austria**",
        "**Sydney, the capital of Austria**",
        "**Sydney became the capital of Austria**",
        "**There is no cure for diabetes**",
        "**Aspirin can kill**",
        "**París es la capital de Italia**",
    ],
)
def test_a_heading_that_is_a_statement_is_weighed(text: str) -> None:
    assert judged(text).label in ("yes", "no")


@pytest.mark.parametrize(
    "text",
    [
        "## History of the Roman Empire",
        "### Benefits of Vitamin C",
        "**The Roman empire**",
        "**How Sydney was founded**",
        "**What is aspirin**",
        "**Things to do**",
        "**Foods that are rich in zinc**",
        "**The will of the people**",
        "**Cost of living**",
        "**Key features**",
        "Here are the steps to descale it: 1.",
    ],
)
def test_a_title_is_not(text: str) -> None:
    verdict = judged(text)
    assert (verdict.label, "heading" in (verdict.reason or "")) == (TRIVIAL, True)


@pytest.mark.parametrize(
    "text",
    [
        "If you need more pain relief, take a double dose of aspirin.",
        "If you need more information about refunds, contact the office in the morning.",
        "Don't hesitate to stop the medicine without asking a doctor.",
        "Feel free to use the ladder on wet ground.",
        "I hope this helps, the fee is waived for students.",
        "Sorry, the shop is closed on Mondays.",
        "Thank you for your patience, the outage was caused by a fire.",
        "Let me know if it hurts \u2013 the dose is to be doubled then.",
        "N'hésitez pas à doubler la dose.",
        "Если у вас остались вопросы, препарат можно принимать чаще.",
    ],
)
def test_a_courtesy_that_goes_on_to_something_else_is_weighed(text: str) -> None:
    assert judged(text).label == "no"


@pytest.mark.parametrize(
    "text",
    [
        "If you need more help, just let me know.",
        "If you need more information, feel free to ask!",
        "If you have any other questions, I'm here to help!",
        "If you have any questions, please ask.",
        "Please do not hesitate to contact us.",
        "I hope this helps, and let me know if you have other questions.",
        "Let me know if you need help with setup, cleaning, or storage.",
        "Let me know if you have any questions about the warranty.",
        "For more information, you can visit the Norden website.",
        "Please contact support if you have questions.",
    ],
)
def test_one_that_goes_on_to_another_is_not(text: str) -> None:
    verdict = judged(text)
    assert (verdict.label, "courtesy" in (verdict.reason or "")) == (TRIVIAL, True)


def test_a_bold_sentence_makes_a_claim_and_counts_in_a_response() -> None:
    unit = Unit("r/sentence/1", "sentence", WRONG, Span(0, len(WRONG)))
    claims = embedded(Write("claims", "claim", "What is the capital?", (unit,))).units
    assert [claim.text for claim in claims] == ["Sydney is the capital of Austria"]
    whole = f"{WRONG}\n\nCanberra is a city."
    asked = Rate("response_support", (Unit("r", "response", whole),), GRADE_0_2, passages=PASSAGES)
    (verdict,) = embedded(asked).verdicts
    assert "Sydney" in verdict.reason


@pytest.mark.parametrize(
    "response",
    [
        "Hello!",
        "That's not true.",
        "I don't have specific numbers for the fees.",
        "You're welcome! I hope this helps!",
        "De nada.",
        "您好!",
        "I don't know.",
        "Sorry.",
        "Es tut mir leid.",
    ],
)
def test_a_response_that_states_nothing_is_empty_for_every_metric(response: str) -> None:
    record = {"question": "When does it leave?", "contexts": ["It leaves at 7 am."], "response": response}
    result = evaluate([record], metrics=["grounding", "groundedness", "response_groundedness"])
    assert {score.status for score in result.scores} == {"empty"}


SUPPORTED = {
    "es": ("¡Hola! Aquí está la respuesta: ", "La tetera es de acero.", " ¡Espero que ayude!"),
    "it": ("Ciao! Ecco la risposta: ", "Il bollitore è d'acciaio.", " Spero che aiuti!"),
    "pt": ("Olá! Aqui está a resposta: ", "A chaleira é de aço.", " Espero que ajude!"),
    "pl": ("Cześć! Oto odpowiedź: ", "Czajnik jest ze stali.", " Mam nadzieję, że to pomoże!"),
    "tr": ("Merhaba! İşte cevap: ", "Su ısıtıcısı çelikten yapılmıştır.", " Umarım yardımcı olur!"),
    "nl": ("Hallo! Hier is het antwoord: ", "De ketel is van staal.", " Ik hoop dat dit helpt!"),
    "ar": ("مرحبا! إليك الإجابة: ", "الغلاية مصنوعة من الفولاذ.", " أتمنى أن يساعدك هذا!"),
    "zh": ("你好！以下是答案：", "水壶是钢制的。", "希望对你有帮助！"),
    "ja": ("こんにちは！回答は以下の通りです：", "やかんは鋼でできています。", "お役に立てば幸いです！"),
}
"""A greeting with a lead-in, a statement, and a courtesy."""


@pytest.mark.parametrize("language", SUPPORTED)
def test_greetings_and_lead_ins_count_in_no_language(language: str) -> None:
    """A response whose one statement is in the contexts is fully grounded."""
    before, statement, behind = SUPPORTED[language]
    record = {"question": "q", "contexts": [statement], "response": before + statement + behind}
    (score,) = evaluate([record], metrics=["groundedness"]).scores
    assert score.value == 1


@pytest.mark.parametrize(
    "text", ["Espero que la dosis se duplique.", "Spero che la dose raddoppi.", "Hola Madrid es la capital de Italia."]
)
def test_what_only_begins_like_a_courtesy_is_judged(text: str) -> None:
    assert judged(text).label == "no"
