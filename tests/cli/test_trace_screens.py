"""The sentence map in the terminal: what each sentence rests on, what was left unused, eight columns in one block."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console
from terminal import WIDTHS, answers, ragstone, write

from ragstone import evaluate
from ragstone.engine.document import result_document
from ragstone.metrics import find
from ragstone.questions import SPECIAL, YES_NO, Question, Trace, Traced, key_of
from ragstone.render.terminal.case import case
from ragstone.render.terminal.screen import THEME, Look
from ragstone.render.terminal.sentence_map import SIGNS
from ragstone.testing import ScriptedJudge, drive
from ragstone.types import Passage, Record, Verdict

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("home")

HOSTILE = "\x1b[31mred\x9b2J \u202e[bold]markup[/]"
CONTEXTS = ("The lid is steel. It weighs ninety grams.", "The kettle boils. Its cord is short.", " ")
RESPONSE = "The lid is steel. It boils fast. Steel is a metal."
WORKED = {
    "relevant": ["doc_0_s0", "doc_0_s1", "doc_1_s0"],
    "utilized": ["doc_0_s0", "doc_1_s1"],
    "support": {"resp_s0": ["doc_0_s0"], "resp_s1": [], "resp_s2": ["well_known_fact"]},
}


def lid(**more: Any) -> dict[str, Any]:
    return {"id": "lid", "question": "Is it steel?", "response": RESPONSE, "contexts": list(CONTEXTS), **more}


def said(question: Trace, labels: Sequence[str | None], support: Sequence[Sequence[str]], **more: Any) -> Traced:
    """A trace spelled out: a label for each sentence, with a reason for those that have one."""
    verdicts = tuple(
        Verdict(unit, label, YES_NO.value(label), "scripted", reason=f"why {key_of(unit)}")
        if label
        else Verdict(unit, None, None, "scripted", failure="the reply was cut short")
        for unit, label in zip(question.response, labels, strict=True)
    )
    whole: dict[str, Any] = {"relevant": ("doc_0_s0",), "utilized": ("doc_0_s0",), **more}
    return Traced(verdicts=verdicts, support=tuple(map(tuple, support)), **whole)


def traced(script: Any, metrics: Any = "trace", *rows: Mapping[str, Any], **options: Any) -> None:
    """A run in the store s.db; a mapping is the answer to every trace, other questions are answered as usual."""

    def by(question: Question[Any]) -> Any:
        if not isinstance(question, Trace):
            return answers(question)
        return script(question) if callable(script) else script

    judge = ScriptedJudge(by, version=str(options.pop("version", 1)))
    evaluate(write("a.jsonl", *(rows or (lid(),))), metrics, judge, store="s.db", **options).store.close()


def shown(record: str = "", *more: str, columns: int = 80) -> str:
    came = ragstone("show", "last", *([record] if record else []), *more, "--store", "s.db", columns=columns)
    assert came.code == 0
    return came.out


def flat(text: str) -> str:
    return " ".join(text.split())


# ---- the response


def test_each_sentence_stands_with_what_it_rests_on() -> None:
    """Its sign, the keys and words of the contexts' sentences with their passage, special keys in words."""
    traced(WORKED)
    out = shown("lid")
    assert "Response  (trace judges sentences)\n" in out
    assert "    ✓ The lid is steel.\n      passage 1, sentence 1 “The lid is steel.”\n" in out
    assert "    ✗ It boils fast.\n    ✓ Steel is a metal.\n      a well-known fact\n" in out
    assert "    Legend: ✓ supported   ✗ not fully supported\n" in out


@pytest.mark.parametrize("special", SPECIAL)
def test_special_keys_are_said_in_words(special: str) -> None:
    """And their keys are not shown."""
    words = {
        "supported_without_sentence": "supported, but no sentence cited",
        "general": "needs no support",
        "well_known_fact": "a well-known fact",
        "numerical_reasoning": "follows from numbers",
    }
    traced({**WORKED, "support": {"resp_s0": [special, "doc_1_s0"], "resp_s1": [], "resp_s2": []}})
    out = shown("lid")
    assert f"      {words[special]}\n      passage 2, sentence 1 “The kettle boils.”\n" in out
    assert special not in out.partition("Scores")[0] or special == "general"


def test_the_unsupported_say_why_and_what_bears_out_a_part() -> None:
    """A supported sentence gives its reason only in full."""
    traced(lambda q: said(q, ["yes", "no", "yes"], [["doc_0_s0"], ["doc_1_s0", "general"], ["doc_0_s0"]]))
    out = shown("lid")
    below = "      partial evidence: needs no support\n"
    below += "      passage 2, sentence 1 “The kettle boils.”\n      why sentence 2 of the response\n"
    assert f"    ✗ It boils fast.\n{below}" in out
    assert ("why sentence 1" in out, "why sentence 1" in shown("lid", "--full")) == (False, True)
    assert "why sentence 2 of the response" in shown().partition("Lowest")[2]


def test_words_are_quoted_once() -> None:
    """Where another sentence rests on them too, only the key stands there; and of many keys three are quoted."""
    every = ["doc_0_s0", "doc_0_s1", "doc_1_s0", "doc_1_s1"]
    traced({**WORKED, "support": {"resp_s0": every, "resp_s1": ["doc_0_s0", "doc_1_s1"], "resp_s2": ["doc_0_s1"]}})
    out = shown("lid").partition("Relevant and")[0]
    assert "      and passage 2, sentence 2\n" in out
    quoted = "      passage 2, sentence 2 “Its cord is short.”\n      and passage 1, sentence 1 (quoted above)\n"
    assert f"    ✓ It boils fast.\n{quoted}" in out
    assert out.count("“The lid is steel.”") == 1
    full = shown("lid", "--full").partition("Relevant and")[0]
    assert "passage 2, sentence 2 “Its cord is short.”" in full.partition("It boils fast")[0]


def test_what_is_unjudged_says_why_once() -> None:
    """Of sentences that fail alike the first says it, and the score says it of all."""
    traced(lambda q: said(q, ["yes", None, None], [["doc_0_s0"], [], []]))
    out = shown("lid")
    assert "    ? It boils fast.\n      unjudged: the reply was cut short\n    ? Steel is a metal.\n" in out
    assert out.count("the reply was cut short") == 2
    assert "2 of 3 unjudged: the reply was cut short" in out
    assert "✓ supported   ? unjudged" in out


def test_how_it_was_labelled_is_one_quiet_line() -> None:
    """Pieces, made-up keys, what the judge did not say, and a word on the whole that is not that of its sentences."""
    dropped = tuple(f"doc_9_s{n}" for n in range(7))
    odd = {"relevant": None, "utilized": None, "dropped": dropped, "parts": 3, "failure": "no usable list 'relevant'"}
    traced(lambda q: said(q, ["yes", "yes", "no"], [["doc_0_s0"]] * 3, overall=True, **odd))
    out = flat(shown("lid"))
    line = "judged in 3 parts · 7 unknown sentence keys dropped: doc_9_s0, doc_9_s1, doc_9_s2, doc_9_s3, doc_9_s4"
    line += " and 2 more · the judge did not label which sentences are relevant or used"
    line += " · the judge labelled the whole response as supported"
    assert line in out
    assert out.count("no usable list 'relevant'") == 1
    assert "Relevant but unused" not in out
    traced(lambda q: said(q, ["yes", "yes", "no"], [["doc_0_s0"]] * 3, overall=False), version=2)
    assert "of the whole" not in shown("lid")


# ---- the contexts


def test_what_was_left_unused_and_what_is_beside_the_question_stand_out() -> None:
    """In blocks of their own, with their text and how many they are of."""
    traced(WORKED)
    out = shown("lid")
    unused, _, rest = out.partition("  Relevant but unused  2 of 3 relevant sentences\n")[2].partition("\n\n")
    assert unused.splitlines() == [
        "    □ passage 1, sentence 2 “It weighs ninety grams.”",
        "    □ passage 2, sentence 1 “The kettle boils.”",
    ]
    assert rest.startswith(
        "  Used but not relevant  1 of 2 used sentences\n    ▲ passage 2, sentence 2 “Its cord is short.”\n\n"
    )


def test_the_rest_is_counted_by_passage() -> None:
    """A sign for each sentence; a passage that nothing is told of has none."""
    traced(WORKED, "trace", lid(contexts=[*CONTEXTS, "Unrelated. Words."]))
    contexts = shown("lid").partition("  Passages\n")[2]
    assert contexts.splitlines()[:9] == [
        "    1  trace: 1 relevant and used, 1 relevant but unused (of 2 sentences)",
        "       ■□",
        "       The lid is steel. It weighs ninety grams.",
        "    2  trace: 1 relevant but unused, 1 used but not relevant (of 2 sentences)",
        "       □▲",
        "       The kettle boils. Its cord is short.",
        "    3  (blank)",
        "    4  trace: none relevant or used (of 2 sentences)",
        "       Unrelated. Words.",
    ]
    assert "■ relevant and used" in contexts


def test_in_full_every_sentence_of_the_contexts_has_its_key_and_two_marks() -> None:
    """And its words."""
    traced(WORKED)
    contexts = shown("lid", "--full").partition("  Passages\n")[2]
    for key, marks, text in (
        ("doc_0_s0", "R U", "The lid is steel."), ("doc_0_s1", "R ·", "It weighs ninety grams."),
        ("doc_1_s0", "R ·", "The kettle boils."), ("doc_1_s1", "· U", "Its cord is short."),
    ):  # fmt: skip
        assert f"       {int(key[-1]) + 1} {key}  {marks}  {text}\n" in contexts
    assert "    Legend: R relevant   U used\n" in contexts


def test_words_that_a_division_of_ones_own_leaves_out_are_shown_in_full() -> None:
    """They have no key."""
    keys = ["doc_0_s0", "doc_0_s1"]
    row = lid(contexts=[{"text": "One. Two. Three. Four.", "sentences": ["Two.", "Three."]}])
    traced({**WORKED, "relevant": keys, "utilized": keys[:1]}, "trace", row)
    assert [line.split() for line in shown("lid", "--full").partition("  Passages\n")[2].splitlines()[1:5]] == [
        ["One."], ["1", "doc_0_s0", "R", "U", "Two."], ["2", "doc_0_s1", "R", "·", "Three."], ["Four."],
    ]  # fmt: skip


def test_long_blocks_are_cut_short_but_in_full() -> None:
    """Five sentences, and how many more there are."""
    text = " ".join(f"Fact number {n} is here." for n in range(30))
    keys = [f"doc_0_s{n}" for n in range(30)]
    traced({**WORKED, "relevant": keys, "utilized": keys[:1]}, "trace", lid(contexts=[text]))
    out = shown("lid")
    assert "Relevant but unused  29 of 30 relevant sentences" in out
    assert out.count("    □ passage 1, sentence ") == 5
    assert "24 more: add --full" in out
    assert shown("lid", "--full").count("    □ passage 1, sentence ") == 29


def test_what_the_judge_did_not_say_of_a_sentence_is_no_mark() -> None:
    """Use that is unknown is neither used nor unused."""
    traced(lambda q: said(q, ["yes"] * 3, [["doc_0_s0"]] * 3, utilized=None, failure="no usable list 'utilized'"))
    out = shown("lid")
    assert "left unused" not in out
    assert "       r?\n" in out
    assert "the judge did not label which sentences are used" in out
    assert "1 doc_0_s0  R ?  The lid" in shown("lid", "--full")


# ---- beside groundedness


def test_beside_groundedness_the_response_is_told_once() -> None:
    """One sign in the margin; below it the trace with its own, and no words of a quote again."""
    traced(WORKED, ["groundedness", "trace"])
    out = shown("lid")
    assert "Response  (groundedness and trace judge sentences)\n" in out
    assert out.count("✓ Steel is a metal.") == 1
    assert "    ✓ The lid is steel.\n      trace: based on passage 1, sentence 1 “The lid is steel.”\n" in out
    assert "    ✓ It boils fast.\n      trace: not fully supported\n" in out
    assert "    ✓ Steel is a metal.\n      trace: a well-known fact\n" in out


def test_a_quote_of_groundedness_is_not_quoted_again_by_the_trace() -> None:
    """The key stands there alone."""
    response = "Purple elephants are in the lid."
    traced({**WORKED, "support": {"resp_s0": ["doc_0_s0"]}}, ["groundedness", "trace"], lid(response=response))
    out = shown("lid")
    assert "      passage 1 “The lid is steel. It weighs ninety grams”\n" in out
    assert "      trace (supported): based on passage 1, sentence 1 (quoted above)\n" in out


def test_where_the_response_is_divided_in_two_ways_nothing_is_lost() -> None:
    """The sentences that a TREC answer came in go with the last of those they hold, by their key."""
    answer = {
        "run_id": "r",
        "topic_id": "lid",
        "topic": "Is it steel?",
        "references": ["d0"],
        "answer": [{"text": "The lid is steel. It boils fast.", "citations": [0]}, {"text": "A.", "citations": []}],
        "contexts": list(CONTEXTS),
    }
    traced({**WORKED, "support": {"resp_s0": ["doc_0_s0"], "resp_s1": []}}, ["groundedness", "trace"], answer)
    out = shown("#1")
    assert out.count("It boils fast.") == 1
    under = flat(out.partition("It boils fast.")[2])
    assert under.startswith("✓ trace of sentence 1 of the response: based on passage 1, sentence 1 “The lid is steel.”")
    assert "\n      trace: not fully supported" in out.partition("✓ A.")[2]


def test_claims_stand_below_the_trace_of_their_sentence() -> None:
    """The sign in the margin is that of the trace, where groundedness was not asked."""
    traced({**WORKED, "support": {"resp_s0": ["doc_0_s0"]}}, ["grounding", "trace"], lid(response="The lid is 986 g."))
    out = shown("lid")
    assert "Response  (trace judges sentences; grounding judges claims)\n" in out
    assert "    ✓ The lid is 986 g.\n      passage 1, sentence 1 “The lid is steel.”\n      the contexts say" in out


# ---- the scores


def test_the_eight_columns_are_a_block_of_a_record() -> None:
    """The worked example's kind of numbers, the name of the metric once, a reason once."""
    traced(WORKED)
    block = shown("lid").partition("  Scores\n")[2].partition("  Passages")[0]
    assert block.count("trace") == 1
    lines = [line.split() for line in block.splitlines()]
    assert lines[1:7] == [
        ["normalised", "share"], ["relevance", "15%", "75%"], ["utilization", "67%", "50%"],
        ["completeness", "33%"], ["adherence", "0%", "67%"], ["average", "29%"],
    ]  # fmt: skip
    traced({**WORKED, "relevant": []}, version=2)
    block = shown("lid").partition("  Scores\n")[2].partition("  Passages")[0]
    assert "utilization, completeness, average: no sentence is relevant" in flat(block)
    assert block.count("no sentence is relevant") == 1


def test_the_legend_follows_the_parameters() -> None:
    """The normaliser and what sentences are counted by; of a record, only in full."""
    traced(WORKED)
    assert "fraction of all sentences" not in flat(shown("lid"))
    for out in (shown("lid", "--full"), shown()):
        assert "relevance is relevant sentences / 20; " in flat(out)
        assert "share: fraction of all sentences that are relevant (relevance), used (utilization) or" in flat(out)
    traced(WORKED, parameters={"trace": {"normaliser": 7, "length": "characters"}})
    for out in (shown("lid", "--full"), shown()):
        assert "relevance is relevant characters / 7; " in flat(out)
        assert "share: fraction of all characters that are relevant (relevance), used" in flat(out)


def test_what_could_be_is_said_of_the_rows_it_is_so_of() -> None:
    """The row of adherence has both of its columns."""
    traced(lambda q: said(q, ["yes", None, None], [["doc_0_s0"], [], []]), parameters={"trace": {"threshold": 0.5}})
    out = flat(shown("lid"))
    assert "adherence: could be 0–100, 33–100% if all units were judged · passed" in out
    assert "relevance: relevance failed" not in out
    assert "relevance: failed" in out


@pytest.mark.parametrize(
    ("more", "line"),
    [({"response": " "}, "empty blank response"), ({"contexts": []}, "missing_field no contexts")],
)
def test_without_a_value_the_metric_is_one_line(more: dict[str, Any], line: str) -> None:
    """Eight scores, one status, one reason; in the run too."""
    traced(WORKED, "trace", lid(**more), lid())
    out = shown("#1")
    assert f"trace - {line} Passages" in flat(out)
    missing = flat(shown()).partition("Missing or partial scores")[2].partition("Lowest")[0]
    assert missing.count("trace") == 0
    assert missing.endswith("no score ")


def test_a_judge_that_is_down_is_said_once() -> None:
    """The passages are shown as they would be without a trace."""
    down = lambda q: said(q, [None] * 3, [[]] * 3, relevant=None, utilized=None, failure="the reply was cut short")  # noqa: E731
    traced(down, "trace", lid(contexts=["The lid is steel. " * 10]))
    out = shown("lid")
    assert re.search(r"trace +- +judge_failed\n +3 of 3 unjudged: the reply was cut short\n", out)
    assert flat("The lid is steel. " * 10) in flat(out)
    run = shown()
    assert re.search(r"^  trace +- +0 of 1$", run, re.MULTILINE)
    assert "completeness" not in run


def test_a_reason_of_one_column_is_said_of_that_column() -> None:
    """Where the sentences are unjudged and the contexts are not, the metric has no status of its own."""
    traced(lambda q: said(q, [None] * 3, [[]] * 3))
    block = shown("lid").partition("  Scores\n")[2].partition("  Passages")[0]
    assert block.startswith("    trace\n")
    assert flat(block).count("adherence, average: 3 of 3 unjudged: the reply was cut short") == 1
    assert block.count("unjudged") == 1


# ---- of a run


def test_a_run_has_the_eight_columns_in_five_rows() -> None:
    """After the run and when it is shown again; the sentence is about adherence, the worst about its share."""
    good = {
        **WORKED,
        "relevant": [],
        "support": {"resp_s0": ["doc_0_s0"], "resp_s1": ["general"], "resp_s2": ["doc_0_s0"]},
    }
    traced(lambda q: good if "good" in q.question else WORKED, "trace", lid(), lid(id="good", question="Is it good?"))
    out = shown()
    assert (
        "In 50% (95% CI 0–100) of the responses, the passages support every sentence (6 sentences in 2 responses)."
    ) in flat(out)
    assert "1 of 2 responses has at least one sentence that is not fully supported." in flat(out)
    table = flat(out.partition("\n  trace ")[2].partition("Without")[0])
    for line in (
        "normalised 95% CI share 95% CI scored",
        "relevance 8% 0–15 38% 0–75 2 of 2",
        "utilization 67% 50% normalised 1, share 2 of 2",
        "completeness 33% 1 of 2",
    ):
        assert line in table
    assert "1 record empty (no sentence is relevant): no score for trace (average, completeness, utilization)" in flat(
        out
    )
    assert "  Lowest trace.adherence_share\n    67%  lid  1 of 3 sentences not fully supported\n" in out
    assert "         ✗ It boils fast.\n" in out
    assert "trace." not in out.partition("Lowest")[0]
    assert re.search(r"50% trace.adherence$", ragstone("runs", "--store", "s.db").out, re.MULTILINE)


def test_a_whole_that_is_judged_alone_is_told_without_sentences() -> None:
    """People may say only of the whole response whether it is supported; then no share can be the worst."""
    traced(lambda q: said(q, [None] * 3, [[]] * 3, overall=False))
    assert "the judge labelled the whole response as not supported" in flat(shown("lid"))
    out = shown()
    assert "In 0% of the responses, the passages support every sentence (1 response). 1 of 1 response has a" in flat(
        out
    )
    assert "  Lowest trace.adherence\n    0%  lid  not supported as a whole\n\n" in out


def test_beside_other_metrics_the_trace_has_its_own_block() -> None:
    """And the sentence stays that of groundedness."""
    traced(WORKED, ["groundedness", "trace"])
    out = shown()
    assert "On average, a response is rated 100% for support by its passages, sentence by sentence" in flat(out)
    plain, _, block = out.partition("\n\n  trace ")
    assert "groundedness  100%" in plain
    assert "adherence" in block


# ---- width, plain terminals, hostile texts


def test_no_line_is_wider_than_the_terminal() -> None:
    """A record and a run, shortened and in full, with groundedness and alone, with long words and long strips."""
    long = " ".join(f"Sentence number {n} of a rather long passage." for n in range(130))
    rows = [lid(contexts=["W" * 300 + ".", long]), lid(id="x" * 120, response=f"{'V' * 200}. {RESPONSE}")]
    several = {**WORKED, "support": {f"resp_s{n}": [f"doc_1_s{m}" for m in range(9)] for n in range(3)}}
    for version, metrics in enumerate(("trace", ["trace", "groundedness", "grounding"])):
        traced(several, metrics, *rows, version=version, parameters={"trace": {"threshold": 0.5}})
        for record, more, columns in product(("", "#1", "#2"), ((), ("--full",)), (40, 50, *WIDTHS)):
            shown(record, *more, columns=columns)


def test_signs_have_plain_forms() -> None:
    """A terminal that shows ASCII only has other signs, all different; without colour nothing is lost."""
    traced(WORKED, ["trace", "groundedness"])
    for more in ((), ("--full",)):
        came = ragstone("show", "last", "lid", *more, "--store", "s.db", charset="ascii")
        assert '    o passage 1, sentence 2 "It weighs ninety grams."\n' in came.out
    assert "       #o\n" in ragstone("show", "last", "lid", "--store", "s.db", charset="ascii").out
    for column in (0, 1):
        assert len({signs[column] for signs in SIGNS.values()}) == len(SIGNS)
    colour = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    plain = ragstone("show", "last", "lid", "--store", "s.db", env={**colour, "NO_COLOR": "1"}).out
    assert "38;" not in plain
    assert "□" in plain


def test_foreign_texts_command_no_terminal() -> None:
    """Sentences, reasons, failures, made-up keys and explanations are printed as text."""
    contexts = [f"The lid {HOSTILE} is steel. It {HOSTILE} weighs.", f"More {HOSTILE}."]
    odd = {
        "relevant": ("doc_0_s0", "doc_0_s1"), "utilized": ("doc_0_s0", "doc_1_s0"), "dropped": (HOSTILE, " "),
        "relevance_reason": HOSTILE, "support_reason": f"so {HOSTILE}",
    }  # fmt: skip

    def script(question: Trace) -> Traced:
        found = said(question, ["yes", "no", None], [["doc_0_s0", "doc_1_s0"], ["doc_0_s1"], []], **odd)
        bad = [Verdict(v.unit, v.label, v.value, v.judge, reason=v.reason and HOSTILE, failure=v.failure and HOSTILE)
               for v in found.verdicts]  # fmt: skip
        return replace(found, verdicts=tuple(bad))

    record = lid(
        contexts=contexts, response=f"The {HOSTILE} lid. It {HOSTILE} is. So {HOSTILE} it is.", id=f"i {HOSTILE}"
    )
    for version, metrics in enumerate(("trace", ["trace", "groundedness"])):
        traced(script, metrics, record, version=version)
        for arguments in ((), ("#1",), ("#1", "--full")):
            for charset in ("utf-8", "ascii"):
                came = ragstone("show", "last", *arguments, "--store", "s.db", charset=charset)
                assert came.code == 0
    assert "[bold]markup[/]" in shown("#1")
    assert "dropped: [31mred2J [bold]markup[/], blank" in flat(shown("#1"))


@given(
    st.lists(st.text(max_size=60), min_size=1, max_size=3),
    st.text(min_size=1, max_size=120),
    st.lists(st.sampled_from([None, *SPECIAL, "doc_0_s0", "doc_1_s0"]), min_size=1),
    st.one_of(st.none(), st.integers(1, 5)),
    st.integers(40, 120),
    st.booleans(),
)
def test_any_labelling_of_any_text_can_be_drawn(
    contexts: list[str], response: str, rests: list[str | None], step: int | None, width: int, full: bool
) -> None:
    """At every width, in full and not, no line too wide and nothing that a terminal obeys."""

    def script(question: Question[Any]) -> Any:
        assert isinstance(question, Trace)
        keys = [key_of(unit) for unit in question.sentences]
        support = {
            key_of(unit): [key] if key else [] for unit, key in zip(question.response, cycle(rests), strict=False)
        }
        return {"relevant": keys[::step] if step else None, "utilized": keys[1::2], "support": support}

    passages = tuple(Passage(f"p{rank}", text, rank) for rank, text in enumerate(contexts, 1))
    record = Record("a", question="What?", response=response, contexts=passages)
    scores, _ = drive(find("trace")().flow(record), script)
    result = json.loads(result_document(record, 1, [(score, ()) for score in scores]).document)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(width=width, record=True, file=nowhere, theme=THEME)
        console.print(case(result, 1, 1, Look(width, ascii=full), full=full))
        drawn = console.export_text()
    assert max(map(cell_len, drawn.split("\n"))) <= width
    assert not set(drawn) & set("\x1b\x07\x9b\x00\u202e")


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_records_of_ragbench_are_drawn_with_their_own_labels(columns: int, outside_data: Callable[[str], Path]) -> None:
    """Of every data set one, by the keys that it was labelled with: all of them are counted."""
    traces = outside_data("traces/ragbench_validation.jsonl")
    rows = [json.loads(line) for line in traces.read_text(encoding="utf-8").splitlines()]
    chosen = {row["dataset"]: row for row in rows}
    labels: dict[str, Any] = {}
    records = []
    for row in chosen.values():
        found = row["labels"]
        keys = {
            key: f"doc_{number}_s{place}"
            for number, sentences in enumerate(found["documents_sentences"])
            for place, (key, _) in enumerate(sentences)
        }
        labels[row["question"]] = {
            "relevant": [keys[key] for key in found["all_relevant_sentence_keys"] if key in keys],
            "utilized": [keys[key] for key in found["all_utilized_sentence_keys"] if key in keys],
        }
        contexts = [
            {"text": text, "sentences": [sentence for _, sentence in sentences]}
            for text, sentences in zip(row["documents"], found["documents_sentences"], strict=True)
        ]
        records.append(
            {"id": row["id"], "question": row["question"], "response": row["response"], "contexts": contexts}
        )

    def script(question: Trace) -> Any:
        there = {key_of(unit) for unit in question.sentences}
        given_ = labels[question.question]
        kept = {name: [key for key in keys if key in there] for name, keys in given_.items()}
        rests = kept["utilized"][:2] or ["general"]
        return {**kept, "support": {key_of(unit): rests for unit in question.response}}

    traced(script, "trace", *records)
    for record in records:
        out = shown(record["id"], columns=columns)
        both = len(set(labels[record["question"]]["relevant"]) & set(labels[record["question"]]["utilized"]))
        counted = sum(int(n) for n in re.findall(r"(\d+) relevant and used", flat(out)))
        assert counted == both
