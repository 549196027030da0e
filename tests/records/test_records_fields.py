"""Which key of a row becomes which field of a record."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragstone.errors import ConfigError, RecordError
from ragstone.metrics.citation_marks import cited_sentences
from ragstone.options import field_paths
from ragstone.records import ALIASES, Fields, open_records, survey
from ragstone.records.mapping import NO_ID
from ragstone.records.paths import MISSING, find, without
from ragstone.types import Citation, Nugget, Passage, Span
from reading import record_of, records


@pytest.mark.parametrize(
    ("field", "value", "read"),
    [
        *((field, "text", "text") for field in ("id", "question", "response", "reference")),
        ("contexts", ["x"], (Passage("1", "x", 1),)),
        ("nuggets", ["x"], (Nugget("x"),)),
        ("relevant", ["x"], {"x": 1}),
        ("answerable", "no", False),
        ("answerable", 1.0, True),
        ("answerable", "0.0", False),
    ],
)
def test_every_alias_of_a_field_is_read(field: str, value: Any, read: Any) -> None:
    """Each name alone is the field, and is not repeated in meta."""
    for name in (field, *ALIASES[field]):
        record = record_of({"id": "a", name: value} if field != "id" else {name: value})
        assert (getattr(record, field), record.meta) == (read, {})


def test_a_number_of_chunks_is_no_passage() -> None:
    assert [record_of({"id": "a", name: 3}).contexts for name in ("chunks", "retrieved_chunks")] == [None, None]


def test_the_first_that_holds_anything_wins() -> None:
    """The canonical name comes first, blanks are passed over, and the others are kept as meta."""
    record = record_of({"id": "a", "query": "third", "input": "second", "question": "first"})
    assert (record.question, record.meta) == ("first", {"query": "third", "input": "second"})
    record = record_of({"id": "a", "question": " ", "input": None, "query": "q", "response": [], "answer": "r"})
    assert (record.question, record.response) == ("q", "r")
    assert record.meta == {"question": " ", "response": []}


def test_of_two_candidates_for_a_field_is_said_which_was_taken() -> None:
    """By name, so that it can be counted; not of ids, of equal ones, or of what could not be the field."""
    record = record_of({"id": "a", "qid": "b", "query": "q", "topic": "t", "output": "r", "answer": "r", "prompt": 1})
    assert record.notes == ("question: read from 'query'; 'topic' also fits and is kept in meta",)
    assert record_of({"id": "a", "question": "q", "topic": "what to group by"}).notes == ()
    record = record_of({"id": "a", "contexts": ["x"], "documents": ["y"], "passages": [3]})
    assert record.contexts == (Passage("1", "x", 1),)
    assert record.notes == ("contexts: read from 'contexts'; 'documents' also fits and is kept in meta",)
    mapped = record_of({"id": "a", "contexts": ["x"], "documents": ["y"]}, fields=Fields({"contexts": "documents"}))
    assert (mapped.contexts, mapped.notes) == ((Passage("1", "y", 1),), ())


GOLD = "contexts: 'context' holds gold passages; kept as meta.reference_contexts; the evidence is 'retrieval_context'"


def test_gold_passages_of_deepeval_are_no_evidence() -> None:
    """Its `context` is what should have been retrieved, and `retrieval_context` what was."""
    row = {"id": "a", "input": "q", "actual_output": "r", "expected_output": "e", "context": ["gold"]}
    record = record_of({**row, "retrieval_context": ["found"]})
    assert (record.question, record.response, record.reference) == ("q", "r", "e")
    assert (record.contexts, record.meta) == ((Passage("1", "found", 1),), {"reference_contexts": ["gold"]})
    assert record.notes == (GOLD,)
    absent: list[dict[str, Any]] = [{"retrieval_context": None}, {"retrieval_context": []}, {}]
    for nothing in absent:
        record = record_of({**row, **nothing})
        assert not record.contexts
        assert (record.meta["reference_contexts"], record.notes) == (["gold"], (GOLD,))
    record = record_of({"id": "a", "context": "what was found", "retrieval_context": ["found"]})
    assert (record.contexts, record.meta) == ((Passage("1", "found", 1),), {"reference_contexts": "what was found"})
    own = record_of({**row, "reference_contexts": ["better"]})
    assert own.meta == {"reference_contexts": ["better"], "context": ["gold"]}, "nothing is lost"
    asked = record_of(row, fields=Fields({"contexts": "context"}))
    assert (asked.contexts, asked.notes) == ((Passage("1", "gold", 1),), ()), "who says so means it"
    elsewhere = record_of({**row, "docs": ["found"]}, fields=Fields({"contexts": "docs"}))
    assert (elsewhere.meta, elsewhere.notes) == ({"context": ["gold"]}, ())
    assert record_of({"id": "a", "context": ["x"]}).contexts == (Passage("1", "x", 1),)
    assert record_of({"id": "a", "actual_output": "r", "context": None}).notes == ()


def test_an_object_called_meta_is_meta() -> None:
    """What stands in it and what stands beside it are fields alike, and nothing is lost of either."""
    record = record_of({"id": "a", "lang": "en", "meta": {"generator": "m", "tags": {"x": 1}}})
    assert record.meta == {"generator": "m", "tags": {"x": 1}, "lang": "en"}
    assert record_of({"id": "a", "meta": {}}).meta == {}
    assert record_of({"id": "a", "meta": "word"}).meta == {"meta": "word"}
    twice = record_of({"id": "a", "lang": "en", "meta": {"lang": "ru", "meta": 1, "k": 2}})
    assert twice.meta == {"k": 2, "lang": "en", "meta": {"lang": "ru", "meta": 1}}
    mapped = record_of({"id": "a", "meta": {"q": "why?", "k": 2}}, fields={"question": "meta.q"})
    assert (mapped.question, mapped.meta) == ("why?", {"k": 2})


def test_blank_is_not_absent() -> None:
    """A blank text stays blank, null and a missing key are absent, an empty list is no contexts."""
    record = record_of({"id": "a", "output": "", "question": None, "contexts": [], "nuggets": []})
    assert (record.response, record.question, record.contexts, record.nuggets) == ("", None, (), ())
    assert record_of({"id": "a", "context": "  "}).contexts == ()
    assert record_of({"id": "a"}).contexts is None


@pytest.mark.parametrize("field", ["answerable", "relevant", "citations"])
def test_a_blank_text_in_place_of_a_flag_or_a_list_is_nothing(field: Any) -> None:
    """As tables have it where only some of their rows say anything."""
    for value in ("", " "):
        assert not getattr(record_of({"id": "a", field: value}), field)


def test_an_alias_of_another_type_is_something_else() -> None:
    """A class label, a topic object or a chat is kept as meta, with a note, and is no error."""
    row = {"id": "a", "label": 1, "topic": {"n": 3}, "prompt": [{"role": "user"}], "output": 7, "documents": [3]}
    record = record_of(row)
    assert (record.reference, record.question, record.response, record.contexts) == (None, None, None, None)
    assert record.meta == {key: value for key, value in row.items() if key != "id"}
    assert "reference: 'label' is a number, not in the expected form, so it is kept in meta" in record.notes
    assert len(record.notes) == 4
    record = record_of({"id": "a", "chunks": [{"chunk_id": "c-1", "score": 0.5}]})
    assert record.notes == ("contexts: 'chunks' holds objects without a text, so it is kept in meta",)
    assert record_of({"id": "a", "label": "support"}).reference == "support"


def test_an_unfit_alias_does_not_hide_a_later_one() -> None:
    """The search goes on behind it, without a note."""
    record = record_of({"id": "a", "input": {"x": 1}, "query": "q", "case_id": {"y": 1}})
    assert (record.question, record.notes) == ("q", ())


def test_ids_may_be_numbers() -> None:
    """Also whole ones that a table with gaps made floats."""
    assert [record_of({"id": value}).id for value in (7, 0, 7.0, 7.5, "x")] == ["7", "0", "7", "7.5", "x"]


def test_a_record_without_id_is_named_by_its_content() -> None:
    """The name is stable, does not depend on the order of keys, and is noted."""
    first = record_of({"question": "q", "response": "r"})
    second = record_of({"response": "r", "question": "q"})
    other = record_of({"question": "q", "response": "R", "id": " "})
    assert re.fullmatch("[0-9a-f]{12}", first.id)
    assert first.id == second.id != other.id
    assert first.notes == (NO_ID,)


def test_passages_come_in_many_shapes() -> None:
    """Strings and objects mix; rank is the place in the list; ids are the given ones or the rank."""
    record = record_of(
        {
            "id": "a",
            "contexts": [
                "one",
                {"docid": "d", "segment": "two", "score": 0.5, "rank": 9, "judgment": 2},
                {"_id": 7, "page_content": "three"},
                {"pid": "", "content": "four", "text": ""},
                {"passage": None},
                None,
                {"docId": "d8", "content": "eight"},
            ],
        }
    )
    assert record.contexts == (
        Passage("1", "one", 1), Passage("d", "two", 2), Passage("7", "three", 3), Passage("4", "four", 4),
        Passage("5", "", 5), Passage("6", "", 6), Passage("d8", "eight", 7),
    )  # fmt: skip
    assert record.notes == ("contexts: a blank passage",)
    assert record.meta["context_details"]["d"] == {"score": 0.5, "rank": 9, "judgment": 2}
    assert [passage.text for passage in record.passages] == ["one", "two", "three", "four", "eight"]
    assert record_of({"id": "a", "contexts": "[1] one"}).contexts == (Passage("1", "[1] one", 1),)


@pytest.mark.parametrize("key", ["doc", "passage", "segment"])
def test_a_name_next_to_a_text_is_not_a_passage(key: str) -> None:
    """A name in every passage; one-word texts next to titles, or in some passages only, are texts."""
    body, url = "Refunds take 30 days.", f"https://example.com/{'x' * 40}"
    for beside in ({"body": body}, {"metadata": {"text": body}}):
        found = record_of({"id": "a", "contexts": [{key: "billing", **beside}]}).contexts
        assert found == (Passage("1", body, 1),)
    with pytest.raises(RecordError, match=r"without a text; did you mean --field 'contexts=contexts\[\]\.extract'\?"):
        record_of({"id": "a", "contexts": [{key: "billing", "extract": body, "url": url}]})
    items = [{key: "Advertisement", "title": "How to cook rice"}, {key: body, "title": "Refunds"}]
    for texts in (items, items[1:], [{key: "billing", "url": url}], [{key: "退款需要三十天。", "title": "T 1"}]):
        found = record_of({"id": "a", "contexts": texts}).contexts
        assert [passage.text for passage in found or ()] == [item[key] for item in texts]


def test_sentences_of_a_passage_are_its_own_or_the_record_is_refused() -> None:
    """Labels name them by their places; white space is not what tells them apart."""
    text = "Steel is hard.\nIt  rusts."
    for own in (["Steel is hard.", "It rusts."], ["Steel is hard. ", "", "It\nrusts."], ["It rusts."]):
        record = record_of({"id": "a", "contexts": [{"id": "p", "text": text, "sentences": own}]})
        assert record.meta["context_details"] == {"p": {"sentences": own}}
        assert record.notes == ()
    for own in (["It rusts.", "Steel is hard."], ["Steel is soft."], ["Steel is hard.", "Steel is hard."]):
        with pytest.raises(RecordError, match=rf"sentence {len(own)} of passage 2 is not in its text"):
            record_of({"id": "a", "contexts": ["x", {"text": text, "sentences": own}]})
    for other in (7, [["0a", "It rusts."]], [], None):
        record = record_of({"id": "a", "contexts": [{"text": text, "sentences": other}]})
        said = ("contexts: 'sentences' is not a list of strings; ignored",)
        assert record.notes == (said if other else ())


def test_ids_of_passages_are_unique_and_given_ones_stay() -> None:
    """The later of two equal ids gets a number, and a rank never takes the id of another passage."""
    contexts = [{"text": "x"}, {"id": "1", "text": "y"}, {"id": "d", "text": "z"}, {"id": "d", "text": "z"}]
    record = record_of({"id": "a", "contexts": contexts})
    assert [passage.id for passage in record.contexts or ()] == ["passage 1", "1", "d", "d#2"]
    assert record.notes == ("contexts: two passages share an id; '#2' was added to the second",)


def test_a_passage_called_like_a_text_of_the_record_is_found_by_its_id_and_not_taken_for_that_text() -> None:
    fields: dict[str, Any] = {
        "id": "a", "contexts": [{"id": "response", "text": "It rains."}, {"id": "d", "text": "z"}],
        "response": "It rains [response].", "relevant": {"response": 2},
        "nuggets": [{"text": "n", "docids": ["response"]}],
    }  # fmt: skip
    record = record_of(fields)
    assert [passage.id for passage in record.contexts or ()] == ["response#2", "d"]
    assert record.notes == ()
    assert record.relevant == {"response#2": 2}
    assert [nugget.sources for nugget in record.nuggets or ()] == [("response#2",)]
    assert [passage.id for passage in cited_sentences(record, "auto")[0][0].passages] == ["response#2"]
    answer = [{"text": "It rains.", "citations": ["response"]}, {"text": "It pours.", "citations": [0]}]
    record = record_of({**fields, "response": answer})
    assert [citation.passages for citation in record.citations] == [("response#2",)] * 2


@given(st.lists(st.sampled_from(["", "1", "2", "1#2", "a", "a#2"]), max_size=8))
def test_any_ids_of_passages_become_unique(ids: Any) -> None:
    """Whatever ids passages bring, no two share one, and texts and order stay."""
    contexts = [{"id": name, "text": str(number)} for number, name in enumerate(ids)]
    found = record_of({"id": "a", "contexts": contexts}).contexts or ()
    assert len({passage.id for passage in found}) == len(ids)
    assert [(passage.text, passage.rank) for passage in found] == [(str(n), n + 1) for n in range(len(ids))]


def test_nuggets_keep_what_they_bring() -> None:
    """Strings or objects; blank ones are left out with a note."""
    record = record_of(
        {"id": "a", "nuggets": ["x", {"text": "y", "importance": "vital", "assignment": "support", "z": 1}, " "]}
    )
    assert record.nuggets == (Nugget("x"), Nugget("y", "vital", "support"))
    assert record.notes == ("nuggets: blank nugget left out",)


@pytest.mark.parametrize(
    ("nugget", "sources"),
    [
        ({"docids": ["a", 7, "a"]}, ("a", "7")),
        ({"references": [{"doc_id": "a", "text": "x"}, {"quality": 1}, None]}, ("a",)),
        ({"sources": "a"}, ("a",)),
        ({"references": [{"_id": "a"}]}, ("a",)),
        ({"docids": {"x": 1}, "references": [True]}, ()),
    ],
)
def test_nuggets_name_the_passages_they_come_from(nugget: dict[str, Any], sources: tuple[str, ...]) -> None:
    """Of nuggets that say the same the ids are joined; of an AutoJudge question those of its answers count too."""
    record = record_of({"id": "a", "nuggets": [{"text": "x", **nugget}, {"text": "X", "docids": ["b"]}]})
    assert [one.sources for one in record.nuggets or ()] == [(*sources, "b")]
    answers = [{"answer": "x", **nugget}]
    asked = {"query_id": "1", "nugget_bank": [{"question": "Who?", "docids": ["q"], "answers": answers}]}
    assert [one.sources for one in record_of(asked).nuggets or ()] == [("q", *sources)]


def test_a_trec_answer_becomes_text_and_citations() -> None:
    """Sentences are joined by one space; each has a span and the ids that its numbers point to."""
    record = record_of(
        {
            "run_id": "r", "topic_id": 12, "topic": "Why?", "references": ["d1", "d2"], "response_length": 5,
            "answer": [
                {"text": "One é.", "citations": [1, 0, 1]}, {"text": " ", "citations": []}, {"text": "Two. "},
                {"text": "🪨 three", "citations": ["d2", 5, "x", "0", True]},
            ],
        }
    )  # fmt: skip
    assert (record.id, record.question, record.response) == ("12", "Why?", "One é. Two.  🪨 three")
    assert [citation.passages for citation in record.citations] == [("d2", "d1"), (), ("d2", "[5]", "x", "d1")]
    assert record.response is not None
    spans = [record.response[c.span.start : c.span.end] for c in record.citations]
    assert spans == ["One é.", "Two. ", "🪨 three"]
    assert record.meta == {"run_id": "r", "references": ["d1", "d2"], "response_length": 5}
    assert record.notes == ("response: a citation without a target",)


def test_citations_point_into_the_contexts_where_there_are_no_references() -> None:
    """Numbers are places from 0; without anything to point into they stay as they are."""
    answer = [{"text": "x", "citations": [1]}, {"text": "y", "citations": {"b": 0.7}}]
    record = record_of(
        {"id": "1", "response": answer, "contexts": [{"id": "a", "text": "t"}, {"id": "b", "text": "t"}]}
    )
    assert [citation.passages for citation in record.citations] == [("b",), ("b",)]
    assert record_of({"id": "1", "answer": answer}).citations[0].passages == ("1",)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([{"text": "x"}, {"text": 3}], "field 'response': sentence 2 of the answer has no text"),
        ([{"text": "x"}, "y"], "field 'response': sentence 2 of the answer has no text"),
        ([{"text": "x", "citations": 3}], "field 'response': 'citations' of sentence 1 is a number"),
        (
            ["x"],
            (
                "field 'response': expected a string or a list of {text, citations}, found a list of strings; "
                "to read the response from another field: --field response=PATH"
            ),
        ),
    ],
)
def test_a_broken_trec_answer_is_named(answer: Any, message: Any) -> None:
    """As the canonical response it is an error."""
    with pytest.raises(RecordError, match=message):
        record_of({"id": "a", "response": answer})


def test_citations_as_written_by_ragstone_are_read_again() -> None:
    """Spans must lie in the response; a key of that name that holds something else is meta."""
    citation = {"span": {"start": 0, "end": 2}, "passages": ["d"]}
    record = record_of({"id": "a", "response": "abc", "citations": [citation]})
    assert record.citations == (Citation(Span(0, 2), ("d",)),)
    with pytest.raises(RecordError, match="a span beyond the end of the response"):
        record_of({"id": "a", "response": "a", "citations": [citation]})
    assert record_of({"id": "a", "citations": ["https://x"]}).meta == {"citations": ["https://x"]}


BLOCKS = {"grounding": "grounding", "relevance": "claim_relevance", "claim_relevance": "claim_relevance"}


def test_blocks_become_overrides() -> None:
    """An object under a metric's name is parameters; any other value is meta; both forms are merged."""
    row = {
        "id": "a", "grounding": {"enabled": False}, "relevance": 0.7, "claim_relevance": {"threshold": 0.5},
        "overrides": {"relevance": {"scale": "x"}, "unknown": {"a": 1}},
    }  # fmt: skip
    record = record_of(row, blocks=BLOCKS)
    assert record.overrides == {
        "grounding": {"enabled": False}, "claim_relevance": {"threshold": 0.5, "scale": "x"}, "unknown": {"a": 1},
    }  # fmt: skip
    assert record.meta == {"relevance": 0.7}
    assert record_of({"id": "a", "grounding": {"x": 1}}).meta == {"grounding": {"x": 1}}
    judged = {"relevance": {"score": 4, "reason": "It is on topic."}}  # by another tool
    assert record_of({"id": "a", **judged}, blocks=BLOCKS).meta == judged


@pytest.mark.parametrize(
    "other", [{"score": 3}, {"grounding": 0.5}, {"grounding": {}, "score": 1}, {}, {"grounding": {"score": 3}}]
)
def test_an_eval_object_of_blocks_is_overrides(other: dict[str, Any]) -> None:
    """One that holds anything else is a user's own and stays in meta."""
    row = {"id": "a", "eval": {"grounding": {"x": 1}, "relevance": {"y": 2}}}
    record = record_of(row, blocks=BLOCKS)
    assert record.overrides == {"grounding": {"x": 1}, "claim_relevance": {"y": 2}}
    assert record.meta == {}
    own = record_of({"id": "a", "eval": other}, blocks=BLOCKS)
    assert (own.overrides, own.meta) == ({}, {"eval": other})


def test_a_parameter_given_two_values_is_an_error() -> None:
    """The same value twice is not."""
    row = {"id": "a", "grounding": {"x": 1}, "overrides": {"grounding": {"x": 2}}}
    with pytest.raises(RecordError, match="field 'grounding': 'x' is given twice"):
        record_of(row, blocks=BLOCKS)
    assert record_of(row | {"grounding": {"x": 2}}, blocks=BLOCKS).overrides == {"grounding": {"x": 2}}


def test_a_mapping_reaches_into_objects() -> None:
    """What was mapped is the field, and the rest of its object stays in meta."""
    row = {
        "id": "a", "retrieval": {"engine": "bm25", "docs": [{"text": "x", "score": 1}, {"score": 2}]},
        "messages": [{"content": "first"}, {"content": "last"}], "response": "own",
    }  # fmt: skip
    fields = {
        "contexts": "retrieval.docs[].text",
        "question": "messages[0].content",
        "response": "messages[-1].content",
    }
    record = record_of(row, fields=fields)
    assert (record.question, record.response) == ("first", "last")
    assert record.contexts == (Passage("1", "x", 1), Passage("2", "", 2))
    assert record.meta == {"retrieval": {"engine": "bm25", "docs": [{"score": 1}, {"score": 2}]}, "response": "own"}


def test_a_mapped_field_is_read_from_its_path_alone() -> None:
    """No alias stands in, a column that was mapped is no alias of another field, and a wrong type is an error."""
    assert record_of({"id": "a", "query": "x"}, fields={"question": "mine"}).question is None
    record = record_of({"id": "a", "answer": "gold"}, fields={"reference": "answer"})
    assert (record.reference, record.response, record.meta) == ("gold", None, {})
    with pytest.raises(RecordError, match=r"field 'a\[\]': expected a string, found a list"):
        record_of({"id": "a", "a": ["x"]}, fields={"question": "a[]"})
    assert record_of({"x": "q"}, fields={"question": "x", "id": "x"}).id == "q"


def test_a_literal_key_wins_over_a_path() -> None:
    """Columns of flattened tables have dots in their names."""
    row = {"a.b": "literal", "a": {"b": "nested", "c.d": {"e[]": 1}}}
    assert find(row, "a.b") == "literal"
    assert find(row, "a.c.d.e[]") == 1
    assert find({"a": {"b": "nested"}}, "a.b") == "nested"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("l[].x", [1, None, 3]), ("l[2].x", 3), ("l[-1].x", 3), ("l[9].x", MISSING), ("l[].z", MISSING), ("e[]", []),
        ("e[].x", []), ("n[][].x", [1, 2]), ("n[].[].x", [1, 2]), ("l", [{"x": 1}, {}, {"x": 3}]), ("l[x]", MISSING),
        ("l.x", MISSING), ("s[]", MISSING), ("s[0]", MISSING), ("", {}), ("null", None), ("null.x", MISSING),
        ("l[", MISSING), ("j.a[1].x", 7), ("j.b", MISSING),
    ],
)  # fmt: skip
def test_paths(path: Any, found: Any) -> None:
    """Lists fan out, indexes count from either end, JSON text is opened, and what is not there is told from null."""
    row = {"l": [{"x": 1}, {}, {"x": 3}], "e": [], "n": [[{"x": 1}], [{"x": 2}]], "s": "text", "null": None}
    row["j"] = '{"a": [1, {"x": 7}]}'
    assert find(row, path) == (found if path else row)


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("l[][1]", {"l": [[1, None], [3]], "m": [4, 5]}), ("m[1]", {"l": [[1, 2], [3]], "m": [4, None]}),
        ("l[][-2]", {"l": [[None, 2], [3]], "m": [4, 5]}), ("m[2]", {"l": [[1, 2], [3]], "m": [4, 5]}),
        ("m[-3]", {"l": [[1, 2], [3]], "m": [4, 5]}), ("m[]", {"l": [[1, 2], [3]]}),
    ],
)  # fmt: skip
def test_what_is_taken_away_is_what_was_found(path: str, left: Any) -> None:
    """Of lists of several lengths, too: an item that is not there takes none with it."""
    assert without({"l": [[1, 2], [3]], "m": [4, 5]}, path) == left


@example([None], "[]0")
@given(
    st.recursive(
        st.none() | st.text("ab", max_size=2),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a.b", "a[0]"]), inner),
    ),
    st.text("ab.[]01-", max_size=8),
)
def test_any_path_into_any_value_is_found_or_missing(value: Any, path: Any) -> None:
    """No path raises; what is missing cannot be taken away; taking away leaves the original as it was."""
    before = repr(value)
    found, rest = find(value, path), without(value, path)
    assert repr(value) == before
    if found is MISSING:
        assert rest == value


def test_a_path_that_no_record_has_is_an_error_with_a_suggestion() -> None:
    """It is found by the survey, which names the closest key."""
    rows = [{"id": "a", "my_question": "q", "retrieval": {"docs": []}}, {"id": "b"}]
    rows += [{"id": "c", "hits": []}, {"id": "d", "hits": [{"body": "c", "url": "u"}]}]
    for fields, message in [
        (
            {"question": "my_qestion"},
            "--field question=my_qestion: not found in any record; did you mean 'my_question'?",
        ),
        ({"contexts": "retrieval.dogs"}, "but not the rest of the path; did you mean 'retrieval.docs'?"),
        ({"contexts": "hits[].bdy"}, "but not the rest of the path; did you mean 'hits[].body'"),
        ({"contexts": "zzz[].x"}, r"not found in any record; available: id, my_question, retrieval"),
    ]:
        with pytest.raises(ConfigError) as caught:
            survey(open_records(rows, fields=fields))
        assert message in str(caught.value)
    assert survey(open_records([*rows, {"rare": None}], fields={"question": "rare"})).records == 5
    assert survey(open_records([{"hits": []}], fields={"contexts": "hits[].bdy"})).blank["contexts"] == 1


def test_a_language_is_mapped_like_a_field() -> None:
    """It stays in meta, where the language of a record is read."""
    assert record_of({"id": "a", "tongue": "de"}, fields={"lang": "tongue"}).meta == {"lang": "de"}


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["questions=x"], "--field questions=...: no such field; did you mean 'question'?"),
        (["question"], "--field 'question'; expected FIELD=PATH"),
        (["question="], "--field 'question='; expected FIELD=PATH"),
        (["question=a", "question=b"], "--field question: given as 'a' and as 'b'; keep one"),
    ],
)
def test_a_mapping_that_makes_no_sense_is_refused(assignments: Any, message: Any) -> None:
    """Before anything is read."""
    with pytest.raises(ConfigError) as caught:
        Fields(field_paths(assignments))
    assert message in str(caught.value)


def test_a_mapping_is_parsed_from_the_command_line() -> None:
    """Space around the parts is not theirs; a path may hold an equals sign; what is said twice counts once."""
    paths = [" question = a.b ", "contexts=x[].y=z", "contexts=x[].y=z"]
    assert field_paths(paths) == {"question": "a.b", "contexts": "x[].y=z"}
    with pytest.raises(ConfigError, match="no such field"):
        open_records([{}], fields={"meta": "x"})


def test_contexts_are_collected_from_several_columns() -> None:
    """In the order given, without blank cells; a column that no record has is an error as for one path."""
    rows: list[dict[str, Any]] = [
        {"id": "a", "Doc 1": "x", "Doc 2": " ", "Doc 3": "y"},
        {"id": "b", "Doc 2": None, "more": {"d": ["v", "w"]}},
    ]
    for paths, texts, meta in [
        (field_paths(["contexts=Doc 1", "contexts=Doc 2", "contexts=Doc 3"]), ["x", "y"], {}),
        ({"contexts": ["Doc 3", "Doc 1"]}, ["y", "x"], {"Doc 2": " "}),
    ]:
        record = record_of(rows[0], fields=paths)
        assert ([passage.text for passage in record.contexts or ()], record.meta) == (texts, meta)
    first, second = records(rows, fields={"contexts": ["Doc 2", "more.d"]})
    assert (first.contexts, [passage.text for passage in second.contexts or ()]) == ((), ["v", "w"])
    assert record_of({"id": "c"}, fields={"contexts": ["Doc 1", "Doc 2"]}).contexts is None
    assert record_of({"id": "c", "contexts": ["x"]}, fields={"contexts": []}).contexts == (Passage("1", "x", 1),)
    with pytest.raises(ConfigError, match="--field contexts=Dco 1: not found in any record; did you mean 'Doc 1'"):
        survey(open_records(rows, fields={"contexts": ["Dco 1", "Doc 2"]}))


def test_a_column_that_numbers_the_records_is_suggested_as_their_id() -> None:
    """If there is no id and all its values differ; else nothing is."""
    cases: list[tuple[list[dict[str, Any]], tuple[str, ...]]] = [
        ([{"Ticket": "T-1", "ref": "x"}, {"Ticket": "T-2", "ref": "x"}], ("no id; did you mean --field id=Ticket?",)),
        ([{"ref": "x", "case_no": 1}, {"ref": "x", "case_no": 2}], ("no id; did you mean --field id=case_no?",)),
        ([{"nr": 1}, {"nr": 1}], ()),
        ([{"nr": 1}, {"nr": None}], ()),
        ([{"id": "a", "nr": 1}], ()),
        ([{"notes": "a"}], ()),
    ]
    for rows, said in cases:
        source = open_records([{"question": "q", "response": "r", "contexts": ["c"], **row} for row in rows])
        assert survey(source).near_misses == said


@pytest.mark.parametrize(
    ("row", "response", "said"),
    [
        ({"answer": "gold", "prediction": "r"}, "gold", "--field response=prediction --field reference=answer"),
        ({"answer": "r", "reference": "g", "generated text": "t"}, "r", "--field 'response=generated text'"),
        ({"answer": "gold", "predicted_answer": "r"}, "r", "--field reference=answer"),
        ({"Answer": "gold", "model_answer": "r"}, "r", "--field reference=Answer"),
        ({"answer": "r", "prediction_score": "0.9"}, "r", ""),
        ({"answer": "other", "model_answer": "r", "reference": "g"}, "r", ""),
        ({"answer": "r", "model_answer": "r"}, "r", ""),
    ],
)
def test_a_gold_answer_is_not_taken_for_the_response(row: dict[str, Any], response: str, said: str) -> None:
    """Next to a column that is named as generated: that one is read, or the options that read it are given."""
    row = {"id": "a", "question": "q", **row}
    notes = [note.text for note in survey(open_records([row])).notes]
    assert record_of(row).response == response
    lines = [note.partition("expected answer, add ")[2] for note in notes if "expected answer" in note]
    assert lines == ([said] if said else [])


@pytest.mark.parametrize(
    ("row", "because"),
    [
        ({"context": "c", "answer_start": 3}, "'answer_start'"),
        (
            {"context": [["T", ["One.", " Two."]]], "supporting_facts": [["T", 0]], "level": "hard"},
            "'supporting_facts'",
        ),
        ({"Supporting Facts": [], "contexts": ["c"]}, "'Supporting Facts'"),
        ({"context": "c", "type": "bridge", "level": "hard", "question_type": "x"}, "'level' and 'question_type'"),
        ({"evidence": "c", "difficulty": "easy"}, "'evidence' and 'difficulty'"),
        ({"reference_contexts": ["c"], "query_type": "x"}, "'reference_contexts' and 'query_type'"),
        ({"prediction": "r", "answer_aliases": []}, "'answer_aliases'"),
        ({"supporting_documents": [{"text": "A c."}], "difficulty": "easy"}, "'supporting_documents' and 'difficulty'"),
        ({"contexts": ["c"], "question_type": "x", "difficulty": "easy"}, ""),
        ({"retrieved_docs": ["A c."], "question_type": "x", "difficulty": "easy"}, ""),
        ({"sources": [{"text": "A c."}], "question_type": "x", "difficulty": "easy"}, ""),
        ({"golden_answers": ["g"], "supporting_facts": []}, ""),
        ({"level": "info", "type": "chat", "question_type": "x"}, ""),
        ({"evidence": "c", "options": {"temperature": 0}}, ""),
        ({"contexts": ["c"]}, ""),
        ({"supporting_facts": [], "reference": "g"}, ""),
    ],
)
def test_the_answer_of_a_data_set_of_questions_is_its_reference(row: dict[str, Any], because: str) -> None:
    """If columns show that it is one and there is no other reference; a mapping says otherwise."""
    row = {"id": "a", "question": "q", "answer": "r", **row}
    record, source = record_of(row), open_records([row])
    said = f"reference: read from 'answer', because {because} suggest a data set with expected answers; "
    if because.count("'") == 2:
        said = said.replace("suggest", "suggests")
    said += "for a system's responses, add --field response=answer"
    assert (record.response, record.notes) == ((None, (said,)) if because else ("r", ()))
    assert record.reference == ("r" if because else row.get("reference"))
    assert not [line for line in survey(source).near_misses if because and "evidence" in line]
    mapped = record_of(row, fields={"response": "answer"})
    assert (mapped.response, mapped.notes) == ("r", ())


@pytest.mark.parametrize(
    ("row", "reference"),
    [
        ({"answers": {"text": ["g", "g"], "answer_start": [3, 3]}}, "g"),
        ({"answers": [{"text": "g", "answer_start": 3}]}, "g"),
        ({"answers": ["g"]}, "g"),
        ({"ground_truths": ["g"]}, "g"),
        ({"answers": {"text": [], "answer_start": []}}, None),
        ({"answers": ["g", "h"]}, None),
        ({"ground_truths": "['g']"}, "g"),
        ({"answers": '{"text": ["g"], "answer_start": [3]}'}, "g"),
        ({"answers": "{'text': array(['g'], dtype=object)}"}, None),
        ({"expected_output": '{"height": 330}'}, '{"height": 330}'),
        ({"expected_output": '{"text": "g", "unit": "m"}'}, '{"text": "g", "unit": "m"}'),
        ({"expected_output": "[1, 2]"}, "[1, 2]"),
        ({"expected_output": '{"a": 1} is the result.'}, '{"a": 1} is the result.'),
        ({"expected_output": "['a' and 'b'] are sets."}, "['a' and 'b'] are sets."),
    ],
)
def test_a_list_of_equal_answers_is_a_reference(row: dict[str, Any], reference: str | None) -> None:
    """As SQuAD, DPR and ragas write them; several answers are kept, and other JSON in a string is a reference."""
    record = record_of({"id": "a", "question": "q", **row})
    assert (record.response, record.reference, bool(record.meta)) == (None, reference, reference is None)


def test_a_path_leads_into_a_json_string() -> None:
    """Such as a cell of a table; the string itself stays in the metadata."""
    row = {"id": "a", "question": "q", "outputs": '{"answer": "r", "docs": ["c"]}', "inputs": "{no JSON}"}
    record = record_of(row, fields={"response": "outputs.answer", "contexts": "outputs.docs", "reference": "inputs.x"})
    assert (record.response, record.contexts, record.reference) == ("r", (Passage("1", "c", 1),), None)
    assert record.meta == {"outputs": row["outputs"], "inputs": "{no JSON}"}


@pytest.mark.parametrize(
    ("contexts", "texts", "details"),
    [
        ([["a", "b"]], ["a", "b"], {}),
        ([[{"page_content": "a"}, 0.5], ["b c", 0.25]], ["a", "b c"], {"1": {"score": 0.5}, "2": {"score": 0.25}}),
        ([["T", ["A one.", " A two."]]], ["A one. A two."], {"1": {"title": "T"}}),
        ({"title": ["T"], "sentences": [["A one.", " A two."]]}, ["A one. A two."], {"1": {"title": "T"}}),
        ([{"chunk_text": "a", "source": "m.pdf"}], ["a"], {"1": {"source": "m.pdf"}}),
        (
            {"passage_text": ["a", "b"], "is_selected": [1, 0]},
            ["a", "b"],
            {"1": {"is_selected": 1}, "2": {"is_selected": 0}},
        ),
    ],
    ids=["batch of one", "with scores", "title and sentences", "columns of sentences", "chunks", "columns"],
)
def test_pairs_and_batches_are_passages(contexts: Any, texts: list[str], details: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="passage 1 is a list"):
        record_of({"id": "a", "contexts": [["doc-1", 0.5], ["doc-2", 0.25]]})
    record = record_of({"id": "a", "contexts": contexts})
    assert [passage.text for passage in record.contexts or ()] == texts
    assert record.meta.get("context_details", {}) == details


def test_what_other_tools_write_for_ids_and_references_is_read() -> None:
    """A reference of another type is kept and said; it is no reason to refuse the record."""
    assert record_of({"_id": {"$oid": "65f"}, "reference": ["g"]}).id == "65f"
    assert record_of({"id": "a", "reference": ["g"]}).reference == "g"
    record = record_of({"id": "a", "reference": ["g", "h"], "response": "content='r' additional_kwargs={}"})
    assert (record.reference, record.meta) == (None, {"reference": ["g", "h"]})
    assert record.notes == (
        "response: a printed message object; export its content instead",
        "reference: 'reference' has several entries, so it is kept in meta",
    )
