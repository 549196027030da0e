"""Statements that the evidence does not say something: held to whether it does."""

from __future__ import annotations

from typing import Any

import pytest
from by_hand import embedded
from hypothesis import given
from hypothesis import strategies as st

from ragstone import evaluate
from ragstone.judges.embedded import EmbeddedJudge
from ragstone.judges.embedded.abstaining import abstains, abstention
from ragstone.judges.embedded.words import lexicon
from ragstone.questions import GRADE_0_2, YES_NO, Rate, Task, Trace
from ragstone.types import TRIVIAL, Level, Passage, Span, Unit, Verdict

TELEVISION = (
    "The Orla 55 supports Ambient Mode. Brightness and colour tone are set in the Ambient Mode settings.",
    "Dan Patch, a horse, died in 1916 at the age of 20.",
)


UNITS = tuple(Unit(f"r/doc_{d}_s0", "sentence", text, Span(0, len(text)), f"d{d}") for d, text in enumerate(TELEVISION))


def relevant(*sentences: str) -> tuple[str, ...]:
    own = tuple(Unit(f"r/resp_s{n}", "sentence", text) for n, text in enumerate(sentences))
    found: tuple[str, ...] = embedded(Trace("trace", "When did Dan Patch die?", UNITS, own)).relevant
    return found


def rated(text: str, level: Level = "claim", contexts: tuple[str, ...] = TELEVISION, **more: Any) -> Verdict:
    passages = tuple(Passage(f"p{rank}", context, rank) for rank, context in enumerate(contexts, 1))
    task: Task = "response_support" if level == "response" else "support"
    scale = GRADE_0_2 if level == "response" else YES_NO
    answer = embedded(Rate(task, (Unit("u", level, text),), scale, passages=passages, **more))
    (verdict,) = answer.verdicts
    assert isinstance(verdict, Verdict)
    return verdict


@pytest.mark.parametrize(
    "text",
    [
        "The context does not mention a warranty.",
        "The manual does not mention a warranty.",
        "The provided documents don't say how loud the speakers are.",
        "There is no information about the price in the passages.",
        "However, the exact weight is not specified in the given context.",
        "Based on the provided context, there is no mention of a tuner.",
        "I cannot tell from the documents when the shop opens.",
        "Unfortunately, the text provides no details on delivery.",
        "The **context** does not mention a warranty.",
        "None of the passages mention a warranty.",
        "The context you provided says nothing about a warranty.",
        "The warranty isn't mentioned in the documents.",
        "I do not have information about the warranty.",
        "They say nothing about a warranty.",
        "It does not mention a warranty.",
        "The context does not mention a warranty for the Orla 55.",
        "Neither document mentions a warranty.",
        "A warranty isn't covered in the documents.",
        "Details on the warranty could not be found in the sources.",
    ],
)
def test_what_is_not_there_may_be_said_to_be_missing(text: str) -> None:
    verdict = rated(text)
    assert verdict.label == "yes"
    assert verdict.evidence == ()
    assert "says information is missing" in (verdict.reason or "")


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The context does not mention Ambient Mode.", "Ambient Mode"),
        ("The manual does not mention Ambient Mode.", "Ambient Mode"),
        ("The documents do not say at what age Dan Patch died.", "at the age of 20"),
        ("There is no information on the colour tone settings of Ambient Mode.", "colour tone"),
        ("It is not stated in the text when Dan Patch died.", "died in 1916"),
        ("The context does not mention the Ambient Mode settings of 1777.", "Ambient Mode"),
    ],
)
def test_what_is_there_may_not(text: str, quote: str) -> None:
    verdict = rated(text)
    assert verdict.label == "no"
    assert any(quote in one.text for one in verdict.evidence)
    assert "but passage" in (verdict.reason or "")


@pytest.mark.parametrize(
    ("context", "missing", "there"),
    [
        ("Das Pferd Dan Patch starb 1916 im Alter von 20 Jahren auf dem Hof.", "Der Text erwähnt keine Garantie.",
         "Im Dokument wird nicht erwähnt, in welchem Alter das Pferd Dan Patch starb."),
        ("Лошадь Дэн Патч умерла в 1916 году на ферме в возрасте 20 лет.", "В документе не указано, кто её продал.",
         "В тексте не указано, в каком году умерла лошадь Дэн Патч."),
        ("Le cheval Dan Patch est mort en 1916 dans la ferme à l'âge de 20 ans.",
         "Le document ne précise pas la garantie.",
         "Le texte ne précise pas à quel âge le cheval Dan Patch est mort."),
        ("El caballo que se llamaba Dan Patch murió en la granja el año 1916, cuando tenía la edad de 20 años.",
         "El documento no menciona la garantía.",
         "El texto no menciona a qué edad murió el caballo Dan Patch."),
        ("桥梁由特尔福德于一八二六年建成。", "文档中没有提到渡轮的票价。", "文档中没有提到桥梁由特尔福德建成。"),
        ("橋はテルフォードが建設しました。", "文書にはフェリーの料金についての記載がありません。",
         "文書には橋はテルフォードが建設しましたとは記載がありません。"),
    ],
)  # fmt: skip
def test_other_languages_say_so_too(context: str, missing: str, there: str) -> None:
    assert rated(missing, contexts=(context,)).label == "yes"
    assert rated(there, contexts=(context,)).label == "no"


def test_what_is_said_besides_is_held_against_the_passages() -> None:
    right = rated("The passage does not specify the warranty, but it says that Dan Patch died in 1916.")
    wrong = rated("The passage does not specify the warranty, but it says that Dan Patch died in 1936.")
    assert (right.label, wrong.label) == ("yes", "no")
    assert "contradicted: says 1936; passage 2 says 1916" in (wrong.reason or "")
    conceded = rated("While the warranty is not mentioned in the text, Dan Patch died in 1936.")
    assert conceded.label == "no"


@pytest.mark.parametrize(
    "text",
    [
        "The context states that this function is not available in Canada.",
        "If the information is not provided with the programme, nothing may appear.",
        "The law does not mention a warranty.",
        "The set does not include a battery.",
        "You cannot drive without the doors.",
        "There is no evidence of life on Mars.",
        "There is no doubt that this information is old.",
        "According to the context, the plan does not cover dental work.",
        "Based on the passage, the milk does not contain lactose.",
        "The passage explains that Kant does not say that ethics is relative.",
        "The context menu does not contain a search.",
        "Click Reset if the document does not contain a table.",
        "The text message does not contain a link.",
        "The source code does not contain any loops.",
        "There is no information desk at the airport.",
        "The phone call cannot be answered while charging.",
        "The court was unable to determine the source of the funds.",
        "Information about customers is not provided to third parties.",
        "The court could not find sufficient evidence of fraud.",
        "The agency has no information on the missing plane.",
        "We could not find a difference between the groups.",
        "Documents were submitted late.",
        "The documents are not required to be notarised.",
        "The documents are not included in the fee.",
        "The articles are not available in Spanish.",
        "The sources of the river were not found in the first search.",
        "No documents are needed for the trip.",
        "No, the text states that it may fail.",
        "文件没有被签署。",
        "書類は公証される必要はありません。",
        "Документы не были подписаны.",
        "",
        "?",
    ],
)
def test_other_denials_are_claims_like_any(text: str) -> None:
    assert not abstains(text, "en")


@pytest.mark.parametrize(
    "text",
    [
        "Plant protein sources do not contain vitamin B12.",
        "The travel documents do not include a visa.",
        "Renewable energy sources do not include coal.",
        "Food sources do not provide enough vitamin D in winter.",
        "Renewable sources of information do not include coal.",
        "Nutrition information does not include sugar alcohols.",
    ],
)
def test_sources_of_other_things_are_not_the_evidence(text: str) -> None:
    verdict = rated(text, contexts=("Beans are cheap.",))
    assert (verdict.label, verdict.evidence) == ("no", ())
    assert "says information is missing" not in (verdict.reason or "")


@pytest.mark.parametrize(
    "text",
    [
        "The first document does not mention a warranty.",
        "However, the Wikipedia article doesn't say who sold it.",
        "All three passages do not mention a warranty.",
        "Sources do not mention a warranty.",
        "Regarding the warranty, the provided text does not say anything.",
        "The two articles provided do not explicitly mention a warranty.",
        "The article's text does not mention a warranty.",
        "The search results and documents do not mention a warranty.",
        "Warranty information is not provided.",
    ],
)
def test_the_evidence_may_be_told_apart_by_its_kind(text: str) -> None:
    assert "says information is missing" in (rated(text).reason or "")


def test_what_goes_on_with_a_statement_is_held_against_the_passages() -> None:
    for text in (
        "The context does not mention a warranty, so call the shop in Mumbai.",
        "There is no mention of a warranty, and it was sold to Klingons in Zanzibar.",
        "The context does not mention Ambient Mode, so call the shop in Mumbai.",
    ):
        assert rated(text).label == "no", text


def test_a_denial_of_the_passages_own_is_no_abstention() -> None:
    for text in (
        "The text provides no specific dose for children.",
        "The document does not contain a table of prices.",
    ):
        assert rated(text, contexts=(f"It is known: {text}",)).label == "yes", text


def test_it_is_never_sure_that_something_is_missing() -> None:
    """What was not found may be there in other words, so a cascade asks on."""
    verdict = rated("The context does not mention Klingons.")
    assert verdict.probability is not None
    band = EmbeddedJudge().band("support", 0.05)
    assert band is not None
    assert band.above is not None
    assert verdict.probability < band.above


@pytest.mark.parametrize(
    "text",
    ["I cannot find fault with Napoleon, who was born in Madrid in 1850.",
     "He said that I don't know when he was asked about the murder by the police of Berlin.",
     "We are unable to provide refunds for orders older than 99 days, and the shop is in Berlin."],
)  # fmt: skip
def test_other_first_persons_state_something(text: str) -> None:
    assert rated(text, "sentence", skippable=True).label == "no"


def test_words_of_grammar_alone_are_nothing_to_look_for() -> None:
    verdict = rated("The context does not mention after.", contexts=("It does not mention after in the context.",))
    assert verdict.label is None or "there is" not in (verdict.reason or "")


def test_an_abstaining_response_leaves_relevance_to_the_question() -> None:
    assert relevant() == ("doc_1_s0",)
    assert relevant("The documents do not mention Ambient Mode.") == relevant()
    assert relevant("Dan Patch died in 1916.") == relevant()


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I can not answer that.",
        "I cannot answer that from the documents.",
        "Es tut mir leid, ich kann nicht antworten.",
        "Das weiß ich leider nicht.",
        "Je ne peux pas répondre à cette question.",
        "No puedo responder a esta pregunta con la información proporcionada.",
        "На основе предоставленных документов невозможно ответить на этот вопрос.",
        "根据提供的资料,无法回答这个问题。",
        "資料中没有相关信息。",
        "提供された情報では、この質問に答えることはできません。",
    ],
)
def test_a_sentence_that_only_says_there_is_no_answer_states_nothing(text: str) -> None:
    assert rated(text, "sentence", skippable=True).label == TRIVIAL


def test_a_claim_that_only_says_so_is_not_judged() -> None:
    claim = rated("I cannot answer that from the documents.")
    assert claim.label is None
    assert claim.failure


def test_a_response_counts_it_as_a_sentence_like_any() -> None:
    missing = rated("Dan Patch died in 1916. The context does not mention a warranty.", "response")
    denied = rated("Dan Patch died in 1916. The context does not mention Ambient Mode.", "response")
    assert missing.probability is not None
    assert denied.probability is not None
    assert missing.probability > denied.probability
    assert 'passage 1 has "Ambient", "Mode"' in (denied.reason or "")


def test_a_trace_reads_it_as_support_does() -> None:
    def traced(sentence: str) -> Verdict:
        units = tuple(
            Unit(f"r/doc_{d}_s0", "sentence", text, Span(0, len(text)), f"d{d}") for d, text in enumerate(TELEVISION)
        )
        own = (Unit("r/resp_s0", "sentence", sentence),)
        found = embedded(Trace("trace", "When did the horse Dan Patch die?", units, own))
        (verdict,) = found.verdicts
        assert isinstance(verdict, Verdict)
        assert found.support == ((("general",) if verdict.label == "yes" else ()),)
        return verdict

    assert traced("The documents do not contain the answer.").label == "yes"
    assert traced("I don't know who sold them.").label == "yes"
    assert traced("The context does not mention Ambient Mode.").label == "no"


def test_a_run_counts_a_rightful_abstention_as_grounded() -> None:
    record = {"question": "Is there a warranty?", "contexts": list(TELEVISION)}
    result = evaluate(
        [{**record, "id": str(n), "response": text} for n, text in enumerate((
            "The context does not mention a warranty for the Orla 55.",
            "The context does not mention Ambient Mode for the Orla 55.",
        ))],
        metrics=["grounding"],
    )  # fmt: skip
    right, wrong = (score.value for score in result.scores)
    assert right == 1.0
    assert wrong == 0.0


WORDS = st.sampled_from(
    ["the context", "does not mention", "I don't know", "but", "while", ",", ";", ". ", "no information", "if",
     "not available in", "document", "контекст", "не указано", "没有提到", "1916", "\ud800", "It", "A"]
)  # fmt: skip


@given(st.lists(WORDS, max_size=14).map(" ".join))
def test_its_parts_are_of_the_statement(text: str) -> None:
    parts = abstention(text, "en")
    if parts is not None:
        assert parts.topic
        for piece in (parts.topic, parts.besides):
            assert all(word in text for word in piece.split())
    rated(text, "sentence", skippable=True)


def test_every_phrase_has_a_mark_by_which_texts_without_any_are_passed_over() -> None:
    words = lexicon()
    marks = [mark for known in words["lacks"].values() for mark in known.split("|")]
    for kind in ("declining", "ignorance", "wanting", "silent", "abstaining"):
        for known in words[kind].values():
            for phrase in known.split("|"):
                assert any(mark in phrase for mark in marks), phrase
                assert phrase == phrase.lower().lstrip()


def test_what_begins_with_another_than_who_speaks_states_something() -> None:
    said = "Asked once more by the old judge, Anna said I don't know."
    assert rated(said, "sentence", skippable=True).label != TRIVIAL


def test_what_a_response_used_is_taken_for_relevant_unless_it_abstains() -> None:
    assert "doc_0_s0" in relevant("The Orla 55 supports Ambient Mode.")
    denied = "The context does not mention that the Orla 55 supports Ambient Mode, brightness and colour tone."
    assert relevant(denied) == ("doc_1_s0",)


@pytest.mark.parametrize(
    "text",
    ["The text provides no specific dose for children.", "The document does not contain a table of prices."],
)
def test_a_trace_takes_for_a_claim_what_the_passages_themselves_do_not_find(text: str) -> None:
    """As the other tasks do: it rests on the sentence that says so."""
    known = f"It is known: {text}"
    units = (Unit("r/doc_0_s0", "sentence", known, Span(0, len(known)), "d0"),)
    found = embedded(Trace("trace", "What does the text mention?", units, (Unit("r/resp_s0", "sentence", text),)))
    assert found.support == (("doc_0_s0",),)
    (verdict,) = found.verdicts
    assert verdict.label == "yes"
