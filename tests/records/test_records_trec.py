"""The shapes of TREC's tracks and tools: candidates, reports, blocks of metadata, AutoJudge banks, nuggets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import RecordError
from ragstone.records import Layout, SetAside, open_records, survey
from ragstone.records.autojudge import VERSIONS
from ragstone.records.mapping import NO_ID
from ragstone.records.trec import lifted
from ragstone.segment import ENDS, folded
from ragstone.types import Nugget, Passage, Record
from reading import record_of, records, refusal


def refused(row: dict[str, Any]) -> str:
    (aside,) = open_records([row], on_error="skip")
    assert isinstance(aside, SetAside)
    return refusal([row])


def test_the_topic_is_the_id_as_it_came() -> None:
    """Records of several systems share it, their ids are unique; without an id it is the content's hash."""
    first, second, third = records([{"qid": 7, "run_id": "a"}, {"qid": 7, "run_id": "b"}, {"question": "q"}])
    assert (first.id, second.id) == ("7", "7#2")
    assert (first.topic, second.topic, third.topic) == ("7", "7", third.id)
    assert record_of({"a": {"b": "x"}}, fields={"id": "a.b"}).topic == "x"


def test_nuggetizers_input_is_read() -> None:
    """The query's parts are id and question; a candidate's text is its document's, the rest of it details."""
    record = record_of(
        {
            "query": {"qid": "q1", "text": "why?"},
            "candidates": [
                {"docid": "d1", "score": 12.5, "judgment": 3, "doc": {"segment": "one", "title": "T", "url": "u"}},
                {"docid": "d2", "judgement": 0, "doc": {"text": "two", "id": "own"}},
                {"score": 1, "doc": {"docid": "d3", "contents": "three"}},
                {"docid": "d4", "doc": {"docid": "d4", "segment": "four"}},
                {"docid": "d5", "doc": "five"},
                "six",
            ],
        }
    )
    assert (record.id, record.topic, record.question) == ("q1", "q1", "why?")
    assert record.contexts == (
        Passage("d1", "one", 1), Passage("d2", "two", 2), Passage("d3", "three", 3), Passage("d4", "four", 4),
        Passage("d5", "five", 5), Passage("6", "six", 6),
    )  # fmt: skip
    assert record.meta == {
        "context_details": {
            "d1": {"score": 12.5, "judgment": 3, "title": "T", "url": "u"},
            "d2": {"judgement": 0, "id": "own"},
            "d3": {"score": 1},
        }
    }
    assert record.notes == ()
    assert record_of({"query": "why?", "candidates": ["x"]}).question == "why?"


def test_a_document_that_is_no_text_is_named() -> None:
    """An object under ``doc`` does not hide a text beside it, and without any text it is an error."""
    assert record_of({"id": "a", "contexts": [{"text": "x", "doc": {"text": "y"}}]}).contexts == (Passage("1", "x", 1),)
    assert "passage 1 is an object without a text" in refused({"id": "a", "contexts": [{"doc": {"title": "x"}}]})
    assert "'segment' of passage 1 is a number" in refused({"id": "a", "contexts": [{"doc": {"segment": 5}}]})
    assert "passage 1 is an object without a text" in refused({"id": "a", "contexts": [{"doc": [1]}]})


def test_assignments_are_read() -> None:
    """nuggetizer's answer records: the text of the answer, the run, and each nugget's degree."""
    record = record_of(
        {
            "query": "why?", "qid": "q", "run_id": "r", "answer_text": "because", "response_length": 1,
            "nuggets": [
                {"text": "a", "importance": "vital", "assignment": "support"},
                {"text": "b", "importance": "okay", "assignment": "partial_support"},
                {"text": "c", "importance": "okay", "assignment": "failed"},
            ],
        }
    )  # fmt: skip
    assert (record.question, record.id, record.response) == ("why?", "q", "because")
    assert record.nuggets == (
        Nugget("a", "vital", "support"), Nugget("b", "okay", "partial_support"), Nugget("c", "okay"),
    )  # fmt: skip
    assert record.meta == {"run_id": "r", "response_length": 1}
    assert record.notes == ()


SENTENCES = [{"text": "One.", "citations": ["d2"]}, {"text": "Two.", "citations": {"d1": 0.9, "d2": 0.1}}]


def test_a_report_is_read() -> None:
    """Topic and question come from its block, the response from its sentences, contexts from its documents."""
    record = record_of(
        {
            "metadata": {
                "team_id": "t", "run_id": "r", "narrative_id": 28, "topic_id": "28", "narrative": "why?", "type": "auto"
            },
            "responses": SENTENCES,
            "references": ["d1", "d2"],
            "documents": {
                "d1": {"id": "d1", "text": "one", "title": "T"}, "d2": {"id": "x", "text": "two"}, "d3": {"text": ""}
            },
        }
    )  # fmt: skip
    assert (record.id, record.topic, record.question, record.response) == ("28", "28", "why?", "One. Two.")
    assert [citation.passages for citation in record.citations] == [("d2",), ("d1", "d2")]
    assert record.contexts == (Passage("d1", "one", 1), Passage("d2", "two", 2), Passage("d3", "", 3))
    assert record.meta == {
        "run_id": "r",
        "metadata": {"team_id": "t", "run_id": "r", "type": "auto"},
        "references": ["d1", "d2"],
        "context_details": {"d1": {"title": "T"}, "d2": {"document_id": "x"}},
    }


@pytest.mark.parametrize("name", ["topic_id", "narrative_id", "request_id"])
def test_each_name_of_a_topic_is_read_in_a_block(name: Any) -> None:
    """With places as citations, also as tables write them; nothing is left of the block."""
    record = record_of(
        {"metadata": {name: "t"}, "answer": [{"text": "One.", "citations": [1.0, 0.5]}], "references": ["a", "b"]}
    )
    assert (record.id, record.response, record.citations[0].passages) == ("t", "One.", ("b",))
    assert record.notes == ("response: a citation without a target",)
    assert record.meta == {"references": ["a", "b"]}


def test_an_answer_of_no_sentences_is_a_blank_response() -> None:
    """A system that answered nothing did answer, in all years' files; 'responses' elsewhere is not a response."""
    for row in (
        {"metadata": {"topic_id": "t"}, "responses": []},
        {"metadata": {"topic_id": "t"}, "responses": [], "answer": []},
        {"topic_id": "t", "answer": [], "references": []},
        {"narrative_id": "t", "answer": [], "references": ["d"]},
        {"id": "t", "answer": []},
        {"id": "t", "response": []},
    ):
        record = record_of(row)
        assert (record.id, record.response, record.citations) == ("t", "", ())
        assert not {"answer", "responses"} & set(record.meta)
    assert record_of({"id": "a", "responses": []}).meta == {"responses": []}


def test_a_report_under_both_names_is_read_once() -> None:
    """Tools write the same sentences twice; a response that differs stays in meta."""
    row = {"metadata": {"topic_id": "t"}, "answer": SENTENCES, "responses": SENTENCES}
    record = record_of(row)
    assert (record.response, record.meta) == ("One. Two.", {})
    assert record_of(row | {"responses": SENTENCES[:1]}).meta == {"responses": SENTENCES[:1]}
    assert record_of(row | {"response": "own"}).response == "own"


def test_own_names_win_over_shapes() -> None:
    """What the row holds itself is never taken from a block, a query object or documents by id."""
    row = {
        "qid": "own", "prompt": "own?", "context": "own text", "run_id": "own run", "response": "own response",
        "metadata": {"topic_id": "t", "narrative": "why?", "run_id": "r"}, "responses": SENTENCES,
        "documents": {"d": {"text": "x"}},
    }  # fmt: skip
    record = record_of(row)
    assert (record.id, record.question, record.response) == ("own", "own?", "own response")
    assert record.contexts == (Passage("1", "own text", 1),)
    assert record.meta == {name: row[name] for name in ("run_id", "metadata", "responses", "documents")}
    record = record_of({"id": "a", "question": "q", "query": {"qid": "x", "text": "y"}})
    assert (record.id, record.question, record.meta) == ("a", "q", {"query": {"qid": "x", "text": "y"}})


def test_what_only_looks_like_a_shape_is_something_else() -> None:
    """Objects of other kinds stay in meta, as they always did, and several responses are not joined to one."""
    for row in (
        {"id": "a", "query": {"match": {"all": 1}}},
        {"id": "a", "documents": {"d": {"title": "x"}}},
        {"id": "a", "documents": {"d": {"text": "x"}, "e": "y"}},
        {"id": "a", "responses": [{"text": "x"}, {"text": "y"}]},
        {"id": "a", "metadata": {"author": "x"}, "responses": [{"text": "x"}]},
        {"id": "a", "nugget_bank": {"name": "mine"}},
    ):
        record = record_of(row)
        assert record.meta == {name: value for name, value in row.items() if name != "id"}
        assert (record.question, record.response, record.contexts, record.nuggets) == (None, None, None, None)


def test_a_block_is_no_topic_without_sentences() -> None:
    """The id of other records' metadata is theirs; the name of the run is copied, so that one can group by it."""
    row = {"question": "q", "response": "r", "metadata": {"topic_id": "t", "run_id": "x"}}
    record = record_of(row)
    assert record.notes == (NO_ID,)
    assert record.meta == {"run_id": "x", "metadata": row["metadata"]}


def test_a_mapping_keeps_shapes_whole() -> None:
    """What a mapping reads from is not lifted out of its way, and a mapped field comes from its path alone."""
    row = {"query": {"qid": "q1", "text": "why?", "lang": "en"}, "documents": {"d": {"text": "x"}}}
    record = record_of(row, fields={"question": "query.text"})
    assert (record.question, record.meta) == ("why?", {"query": {"qid": "q1", "lang": "en"}})
    record = record_of(row, fields={"question": "documents.d.text", "contexts": "nowhere"})
    assert (record.id, record.question, record.contexts) == ("q1", "x", None)
    assert record.meta == {"query": {"text": "why?", "lang": "en"}}


def test_a_query_object_leaves_what_is_not_taken() -> None:
    """Other entries of it stay in meta under its name."""
    record = record_of({"query": {"qid": 3, "text": "why?", "lang": "en"}, "input": {"no": 1}})
    assert (record.id, record.question) == ("3", "why?")
    assert record.meta == {"query": {"lang": "en"}, "input": {"no": 1}}


def test_wrong_types_in_a_block_are_named_by_their_place() -> None:
    """The message says where the value stands in the file, not where it would have gone."""
    row = {"metadata": {"topic_id": ["x"]}, "answer": SENTENCES}
    assert "field 'metadata.topic_id': expected a string or a number, found a list" in refused(row)
    row = {"metadata": {"topic_id": "x"}, "responses": [{"text": "x"}, {"text": 3}]}
    assert "field 'responses': sentence 2 of the answer has no text" in refused(row)


BANK: dict[str, Any] = {
    "query_id": "1053",
    "title_query": "Avocado",
    "full_query": {"background": "b"},
    "format_version": "v3",
    "nugget_bank": {
        "How much?": {
            "question": "How much?",
            "question_id": "a",
            "answers": {"90%": {"answer": "90%"}, "most": {"answer": "most"}, "again": {"answer": "90%"}},
            "importance": "Vital",
            "sub_nuggets": [
                {"question": "By whom?", "answers": [{"answer": "Mexico"}, "MX", {"answer": " "}]},
                {"claim": "It grows.", "query_id": "1053", "sub_nuggets": [{"claim": "It grows fast."}]},
            ],
        },
        "Where?": {"question": "Where?", "importance": 3, "aggregator_type": "NOT"},
    },
    "claim_bank": {"Mexico leads.": {"claim": "Mexico leads.", "query_id": "1053", "importance": "okay"}},
}


def test_an_autojudge_bank_is_read() -> None:
    """A question goes with its answers, what is below a nugget follows it, claims come last."""
    record = record_of(BANK)
    assert (record.id, record.topic, record.question) == ("1053", "1053", "Avocado")
    assert record.nuggets == (
        Nugget("How much? 90%; most", "vital"), Nugget("By whom? Mexico; MX"), Nugget("It grows."),
        Nugget("It grows fast."), Nugget("Where?"), Nugget("Mexico leads.", "okay"),
    )  # fmt: skip
    assert record.meta == {"full_query": {"background": "b"}, "format_version": "v3"}
    assert set(record.notes) == {
        "nuggets: importance is neither vital nor okay; ignored",
        "nuggets: aggregator_type NOT is not supported; the nugget is read like any other",
    }


def test_banks_of_all_years_are_read() -> None:
    """Lists of nuggets, a topic in a block, a question that is told in full only, and an empty bank."""
    row: dict[str, Any] = {
        "metadata": {"team_id": "t", "topic_id": "7", "run_id": "r"},
        "nugget_bank": [
            {"question": "Who?", "aggregator_type": "AND", "answers": [{"answer": "He", "references": []}]}
        ],
    }
    record = record_of(row)
    assert (record.id, record.nuggets) == ("7", (Nugget("Who? He"),))
    assert record.meta == {"metadata": {"team_id": "t", "run_id": "r"}, "run_id": "r"}
    record = record_of({"query_id": 5, "full_query": "in full", "claim_bank": [{"claim": "x"}, "y"]})
    assert (record.id, record.question, record.nuggets) == ("5", "in full", (Nugget("x"), Nugget("y")))
    for version in VERSIONS:
        record = record_of({"query_id": "5", "title_query": "t", "format_version": version})
        assert (record.nuggets, record.question) == ((), "t")
    assert record_of({"id": "own", "query_id": "x", "claim_bank": []}).id == "own"
    assert record_of({"query_id": "5", "nuggets": ["own"], "claim_bank": [{"claim": "x"}]}).nuggets == (Nugget("own"),)


@pytest.mark.parametrize(
    ("bank", "message"),
    [
        ({"nugget_bank": 5}, "field 'nugget_bank': found a number"),
        ({"claim_bank": "x"}, "field 'claim_bank': found a string"),
        ({"nugget_bank": [True]}, "field 'nugget_bank': nugget 1 is true or false"),
        ({"nugget_bank": {"x": "y"}}, "field 'nugget_bank': nugget 1 is a string"),
        ({"nugget_bank": [{}, {}]}, "nugget 1 has neither a question nor a claim"),
        ({"nugget_bank": [{"question": 5}]}, "'question' of nugget 1 is a number"),
        ({"claim_bank": [{"claim": ["x"]}]}, "field 'claim_bank': 'claim' of nugget 1 is a list"),
        ({"nugget_bank": [{"question": "q", "answers": "x"}]}, "'answers' of nugget 1 is a string"),
        ({"nugget_bank": [{"question": "q", "answers": [5]}]}, "answer 1 of nugget 1 is a number"),
        ({"nugget_bank": [{"question": "q", "answers": {"x": "x"}}]}, "answer 1 of nugget 1 is a string"),
        (
            {"nugget_bank": [{"question": "q", "answers": [{"answer": "a"}, {}]}]},
            "answer 2 of nugget 1 is an object without 'answer'",
        ),
        (
            {"nugget_bank": [{"question": "q", "answers": [{"answer": 5}]}]},
            "answer 1 of nugget 1 is an object without 'answer'",
        ),
        ({"nugget_bank": [{"question": "q", "importance": {}}]}, "'importance' of nugget 1 is an object"),
        ({"nugget_bank": [{"question": "q", "assignment": []}]}, "'assignment' of nugget 1 is a list"),
        ({"nugget_bank": [{"question": "q", "sub_nuggets": 5}]}, "'sub_nuggets' of nugget 1 is a number"),
        ({"nugget_bank": ["q", {"claim": "c", "sub_nuggets": ["d", 5]}]}, "nugget 2.2 is a number"),
        ({"query_id": ["x"], "claim_bank": []}, "field 'query_id': expected a string or a number, found a list"),
        ({"title_query": 5, "claim_bank": []}, "field 'title_query': expected a string, found a number"),
    ],
)
def test_a_wrong_type_at_any_level_of_a_bank_is_one_line(bank: Any, message: Any) -> None:
    """Which half, which nugget, what stands there."""
    assert message in refused({"query_id": "1", "format_version": "v3", **bank})


def test_a_bank_that_cannot_be_read_keeps_its_name() -> None:
    """A record that is set aside has the topic's id, though its nuggets are broken."""
    (aside,) = open_records([{"query_id": "t", "claim_bank": 5}], on_error="skip")
    assert aside.id == "t"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KEYS = ["query_id", "title_query", "full_query", "format_version", "nugget_bank", "claim_bank", "question", "claim",
        "answers", "answer", "sub_nuggets", "importance", "aggregator_type", "metadata", "topic_id", "narrative",
        "run_id", "responses", "documents", "query", "qid", "text", "candidates", "doc", "citations", "references",
        "nuggets", "assignment", "id"]  # fmt: skip
shapes = st.recursive(
    json_values,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(KEYS), shapes, max_size=8))
def test_any_row_is_a_record_or_one_clear_line(row: Any) -> None:
    """Whatever stands under the keys of these shapes; and the row itself is left as it was."""
    before = repr(row)
    (outcome,) = open_records([row], on_error="skip", layout=Layout("records"))
    if isinstance(outcome, SetAside):
        assert "\n" not in outcome.error
        assert len(outcome.error) < 500
    else:
        assert outcome.topic
    lifted(row)
    assert repr(row) == before


def test_hostile_texts_are_nuggets_like_others() -> None:
    """A megabyte, NUL, nesting to the limit, and many nuggets take linear time and lose nothing."""
    long = "word " * 200_000
    row = {"query_id": "a", "claim_bank": [{"claim": long}, {"claim": "a\0b"}, {"claim": "…?!"}]}
    record = record_of(row)
    assert record.nuggets == (Nugget(long), Nugget("a\0b"))  # signs alone state nothing
    assert record.notes == (
        "nuggets: a nugget has more than 100 words; it should be one fact",
        "nuggets: blank nugget left out",
    )
    deep: dict[str, Any] = {"claim": "0"}
    for number in range(1, 45):
        deep = {"claim": str(number), "sub_nuggets": [deep]}
    assert len(record_of({"query_id": "a", "claim_bank": [deep]}).nuggets or ()) == 45
    for _ in range(10):
        deep = {"claim": "x", "sub_nuggets": [deep]}
    with pytest.raises(RecordError, match="nested deeper than 100 levels"):
        record_of({"query_id": "a", "claim_bank": [deep]})
    many = [{"text": f"nugget {number}"} for number in range(50_000)]
    assert len(record_of({"id": "a", "nuggets": many + many}).nuggets or ()) == 50_000


@pytest.mark.parametrize(
    ("key", "spellings"),
    [
        ("importance", {"vital": ["vital", " Vital"], "okay": ["okay", "OK", "ok "], None: ["", None]}),
        (
            "assignment",
            {
                "support": ["support", "Support "], "not_support": ["not support", "NOT_SUPPORT"], None: [" "],
                "partial_support": ["partial_support", "Partial Support", "partial-support"],
            },
        ),
    ],
)  # fmt: skip
def test_labels_of_nuggets_are_folded(key: str, spellings: Any) -> None:
    """Case, spaces, hyphens, and the short form of okay; nothing is noted of what was not given."""
    for read, written in ((read, one) for read, listed in spellings.items() for one in listed):
        record = record_of({"id": "a", "nuggets": [{"text": "x", key: written}]})
        assert (record.nuggets, record.notes) == ((Nugget("x", **{key: read}),), ())


@pytest.mark.parametrize("written", ["important", "vital!", "supported", "no", 1, 0, 2.5, True, False])
def test_another_label_is_not_given(written: Any) -> None:
    """It is counted once a record, not guessed, and does not hide what the nugget else brings."""
    for key, kept, note in [
        ("importance", {"assignment": "support"}, "importance is neither vital nor okay; ignored"),
        ("assignment", {"importance": "vital"}, "assignment is not support, partial_support or not_support; ignored"),
    ]:
        nuggets = [{"text": text, key: written, **kept} for text in "xy"]
        found = survey(open_records([{"id": "a", "nuggets": nuggets}, {"id": "b", "nuggets": nuggets}]))
        assert [(said.text, said.count) for said in found.notes] == [(f"nuggets: {note}", 2)]
        expected: Any = tuple(Nugget(text, **kept) for text in "xy")  # type: ignore[arg-type]
        assert record_of({"id": "a", "nuggets": nuggets}).nuggets == expected


def test_a_nugget_stands_once() -> None:
    """The first stays, takes what it lacks, and is vital if either is; two assignments cannot both hold."""
    record = record_of(
        {
            "id": "a",
            "nuggets": [
                {"text": "Tea is  hot", "assignment": "support"},
                {"text": "Milk is cold", "importance": "okay"},
                {"text": "tea is hot.", "importance": "vital"},
                {"text": "MILK is cold!", "importance": "vital", "assignment": "not_support"},
                "tea is hot",
            ],
        }
    )
    assert record.nuggets == (Nugget("Tea is  hot", "vital", "support"), Nugget("Milk is cold", "vital", "not_support"))
    assert record.notes == (
        "nuggets: duplicate nugget left out",
        "nuggets: duplicate nugget is both vital and okay; treated as vital",
    )
    nuggets = [{"text": "x", "assignment": "support"}, "y", {"text": "X.", "assignment": "not_support"}]
    assert refused({"id": "a", "nuggets": nuggets}).endswith(
        "field 'nuggets': nuggets 1 and 3 are the same, but assigned support and not_support; "
        "expected one assignment for each nugget"
    )


texts = st.text(st.sampled_from("aAbß \t.!…。?-"), min_size=1, max_size=8)
labelled = st.fixed_dictionaries(
    {"text": texts, "importance": st.sampled_from([None, "vital", "okay"])},
)


@given(st.lists(labelled, max_size=8))
def test_any_nuggets_become_one_of_each(nuggets: Any) -> None:
    """No two kept ones fold alike, none that says something is lost, the order stays, and vital outweighs okay."""
    found = record_of({"id": "a", "nuggets": nuggets}).nuggets or ()
    said = [folded(nugget["text"]) for nugget in nuggets if folded(nugget["text"])]
    assert [folded(nugget.text) for nugget in found] == list(dict.fromkeys(said))
    for nugget in found:
        given_to = {other["importance"] for other in nuggets if folded(other["text"]) == folded(nugget.text)}
        assert nugget.importance == ("vital" if "vital" in given_to else "okay" if "okay" in given_to else None)


@given(st.text())
def test_folding_twice_is_folding_once(text: Any) -> None:
    """Nothing is left to fold, blanks around do not matter, and only signs alone become nothing."""
    once = folded(text)
    assert folded(once) == once
    assert folded(f"  {text}\n") == once
    assert bool(once) == any(sign not in ENDS and not sign.isspace() for sign in text)
    assert folded("Tea is hot .") == folded("tea  is HOT") != folded("tea is not hot")
    assert all(folded(f"x{sign}") == "x" for sign in ENDS)


@given(shapes)
def test_any_nuggets_are_read_or_refused(value: Any) -> None:
    """Whatever stands where nuggets are due."""
    (outcome,) = open_records([{"id": "a", "nuggets": value}], on_error="skip")
    assert isinstance(outcome, Record) or "field 'nuggets'" in outcome.error
