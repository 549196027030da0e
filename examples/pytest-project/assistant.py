"""A stand-in for your RAG application: it retrieves passages and answers from them."""

from dataclasses import dataclass

PASSAGES = {
    "warranty": [
        "The warranty of the kettle is two years from the date of purchase. It covers defects of the heating element.",
        "Limescale is not covered by the warranty.",
    ],
    "descale": ["To descale the kettle, boil equal parts of water and vinegar in it, then rinse it twice."],
}
RESPONSES = {
    "warranty": "The warranty of the kettle is two years from the date of purchase. Limescale is not covered by it.",
    "descale": (
        "Boil equal parts of water and vinegar in the kettle, then rinse it twice. "
        "Finish with a tablet of citric acid from the pharmacy and let it dry overnight."
    ),
}


@dataclass
class Answer:
    """The application's answer, and the passages that it retrieved."""

    question: str
    text: str
    passages: list[str]


def ask(question: str) -> Answer:
    topic = next(topic for topic in PASSAGES if topic in question.lower())
    return Answer(question, RESPONSES[topic], PASSAGES[topic])
