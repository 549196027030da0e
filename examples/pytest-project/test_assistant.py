"""Two tests of a RAG application: one response is supported by its passages, the other makes something up."""

import pytest
from assistant import ask

pytestmark = pytest.mark.ragstone(grounding=0.8)


def test_warranty(assert_scores):
    answer = ask("How long is the warranty?")
    assert_scores(answer.text, question=answer.question, contexts=answer.passages)


def test_descaling(assert_scores):
    """Fails: the passages do not mention citric acid."""
    answer = ask("How do I descale the kettle?")
    assert_scores(answer.text, question=answer.question, contexts=answer.passages)
