"""``ragstone show``, ``runs`` and ``validate``: what is read again."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from terminal import HOSTILE, ragstone, row, write

from ragstone import api
from ragstone.judges.base import Failed
from ragstone.metrics.base import HOW_TO_ADD
from ragstone.questions import Question, Rate
from ragstone.render.terminal.lists import judges_said
from ragstone.store.database import Store
from ragstone.testing import ScriptedJudge

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("home")


def test_a_record_is_shown_with_its_evidence(weighed: Path) -> None:
    """Question, response with marks, reasons, places of quotes, scores, contexts with ranks, cost."""
    came = ragstone("show", "1", "halden-revenue", "--store", str(weighed))
    assert came.code == 0
    for part in ("record 6 of 22 · run 1", "Question", "Response", "Scores", "Passages", "Cost"):
        assert part in came.out
    assert "    ✗ Together with the Americas and Asia, the company took in 986 million\n" in came.out
    assert "    ~ Revenue in Europe grew from 412 to 453 million crowns" in came.out
    assert "    ✓ Asia was the only region where revenue fell.\n      trace: based on passage 1, sentence 1" in came.out
    assert "      it stands there\n      passage 1 “Table 4: Revenue of" in came.out
    assert "      the contexts say otherwise\n      not found in the passages “words that are nowhere”\n" in came.out
    assert came.out.count("passage 1 “Table 4: Revenue of Halden Tools by regi”") == 1
    assert came.out.count("passage 1 (quoted above)") == 2
    assert "not found in the passages “words that are nowhere”" in came.flat
    assert "«Table 4: Revenue of Halden Tools by regi»on" in came.out
    assert "poor: significant information is not in the passages" in came.flat
    assert "67% passed · 2 of 3 claims supported" in came.flat
    assert "Legend: ✓ supported ~ partly supported ✗ not fully supported or not supported" in came.flat


def test_a_run_of_an_earlier_version_is_shown(weighed: Path) -> None:
    """Its summary lacks what is written today."""
    pages = [("show", "1"), ("show", "1", "halden-revenue"), ("check", "1", "--min", "grounding=0.1"), ("runs",)]
    told = [ragstone(*words, "--store", str(weighed)).out for words in pages]
    with Store(weighed) as store:
        summary: Any = dict(api.open_run("1", weighed).summary())
        for name in ("answered", "waited_seconds"):
            del summary["bill"][name]
        for metric in summary["metrics"].values():
            del metric["below_one"]
        store.change_summary(1, summary)
    assert [ragstone(*words, "--store", str(weighed)).out for words in pages] == told
    assert ragstone("report", "1", "-o", "r.html", "--store", str(weighed)).code == 0


def test_a_legend_has_only_the_signs_above_it_and_an_empty_score_one_reason() -> None:
    """A claim that was found is not drawn below a sentence with another that was not."""
    row = {"id": "a", "question": "Is it new?", "response": "Hello!\n\nThe kettle is red and 900 years old.",
           "contexts": ["The kettle is red."]}  # fmt: skip
    write("a.jsonl", row, {**row, "id": "b", "response": "Hello!"})
    assert ragstone("run", "a.jsonl", "-m", "groundedness,response_groundedness", "-q").code == 0
    text = ragstone("show", "last", "a").out.partition("  Question")[2].partition("  Scores")[0]
    above, _, legend = text.partition("Legend: ")
    assert [sign for sign in "✓~✗·" if (sign in above) != (sign in legend)] == []
    scores = ragstone("show", "last", "b").flat.partition(" Scores ")[2].partition(" Passages ")[0]
    assert scores.count("no sentence") == 2, "one for each metric"


def test_a_reason_is_shown_once_for_a_sentence() -> None:
    """Not again for its trace, where only the sentence of the passage is added; in full, it is."""
    row = {"id": "a", "question": "How long?", "response": "Leave at least two hours between doses.",
           "contexts": ["Take one tablet. Leave at least six hours between doses."]}  # fmt: skip
    write("a.jsonl", row)
    assert ragstone("run", "a.jsonl", "-m", "groundedness,trace", "-q").code == 0
    brief, full = (ragstone("show", "last", "a", *flags).flat.partition(" Scores ")[0] for flags in ([], ["--full"]))
    assert (brief.count("says two hours"), full.count("says two hours")) == (1, 2)
    assert "trace: contradicted: says two hours; passage 1, sentence 2 says six hours" in full


def test_full_leaves_nothing_out(weighed: Path) -> None:
    """Every word of every context is there, and what is supported has its evidence too."""
    brief = ragstone("show", "1", "kettle-descale", "--store", str(weighed))
    full = ragstone("show", "1", "kettle-descale", "--store", str(weighed), "--full")
    assert len(full.out) > len(brief.out)
    bare = full.flat.replace("«", "").replace("»", "")
    assert "The lid filter can be pulled upwards and rinsed under the tap." in bare
    assert "…" in brief.out.partition("Passages")[2]
    assert "…" not in full.out.partition("Passages")[2]


def test_the_turns_before_a_question_stand_above_it_and_long_ones_are_folded() -> None:
    turns = [{"role": "user", "content": f"Turn {n} " + "x" * 300} for n in range(9)]
    write("in.jsonl", row(1, history=turns))
    assert ragstone("run", "in.jsonl", "-m", "groundedness").code == 0
    came, full = ragstone("show", "1", "r1"), ragstone("show", "1", "r1", "--full")
    assert came.out.index("[earlier turns left out: 6]") < came.out.index("user: Turn 8") < came.out.index("Question")
    assert all(f"user: Turn {n}" in full.out for n in range(9))
    assert "left out" not in full.flat.partition("Question")[0]


def test_a_record_is_found_by_place_and_misspelt_ids_by_likeness(weighed: Path) -> None:
    """And what is not there is an error of the user's."""
    assert "kettle-descale" in ragstone("show", "1", "#1", "--store", str(weighed)).out
    came = ragstone("show", "1", "kettel-descal", "--store", str(weighed))
    assert came.code == 2
    assert "did you mean 'kettle-descale'?" in came.err
    assert "ids look like" in ragstone("show", "1", "zzzz", "--store", str(weighed)).err
    assert ragstone("show", "9", "--store", str(weighed)).code == 2


def test_a_run_is_shown_again_as_it_was(weighed: Path) -> None:
    """By number, by name, and as the last one."""
    shown = [ragstone("show", *which, "--store", str(weighed)).out for which in ((), ("1",), ("traces.jsonl",))]
    assert shown[0] == shown[1] == shown[2]
    assert "Lowest grounding" in shown[0]


def test_json_of_a_run_and_of_a_record(weighed: Path) -> None:
    """The summary, and the line of results.jsonl."""
    assert ragstone("show", "--json", "--store", str(weighed)).json["records"] == 22
    result = ragstone("show", "1", "#1", "--json", "--store", str(weighed)).json
    assert (result["id"], result["position"]) == ("kettle-descale", 1)


def test_runs_are_listed(weighed: Path) -> None:
    """As a table and as JSON."""
    came = ragstone("runs", "--store", str(weighed))
    assert "traces.jsonl" in came.out
    assert "done" in came.out
    named = ragstone("run", write("a.jsonl", row(1)), "--name", "answers-of-march-with-new-prompt", "-q", "--json")
    assert "  answers-of-march-with-new-prompt  " in ragstone("runs", columns=110).out, named.err
    (run,) = ragstone("runs", "--json", "--store", str(weighed)).json
    assert (run["run"], run["status"], run["judges"]) == (1, "done", ["scripted"])
    assert run["means"]["grounding"] is not None


def test_one_long_name_of_a_judge_does_not_take_all_of_them_from_the_table() -> None:
    write("a.jsonl", row(1))
    ragstone("run", "a.jsonl", "-m", "grounding", "-q")
    ragstone("run", "a.jsonl", "-m", "grounding", "-q", "-j", "claims=embedded", "-j", "support=embedded")
    wide, narrow, least = (ragstone("runs", columns=columns).out.splitlines() for columns in (90, 78, 66))
    assert "  embedded  " in wide[2]
    assert re.search(r"  embedded  +done", narrow[2])
    assert re.search(r"  claims[: \w]*…\w*  +done", narrow[3])
    assert "judge" not in least[1]
    assert "1 column hidden at this width (judge); use --json to see it." in "\n".join(least)
    for judges, said in (
        (["openai:gpt-4o-mini"], "gpt-4o-mini"),
        (["ollama:qwen3:8b@localhost"], "qwen3:8b"),
        (["openrouter:openai/gpt-4o-mini"], "gpt-4o-mini"),
        (["embedded > openai:gpt-4o-mini"], "embedded > openai:gpt-4o-mini"),
    ):
        assert judges_said(judges) == said


def test_an_empty_store_has_no_runs() -> None:
    """It is said so, and how to make one."""
    Store("empty.db").close()
    assert "to create one, run: ragstone run FILE" in ragstone("runs", "--store", "empty.db").out
    assert ragstone("runs", "--json", "--store", "empty.db").json == []
    assert ragstone("show", "--store", "empty.db").code == 2


def test_without_a_store_there_is_an_error_and_no_new_store() -> None:
    """Looking creates nothing."""
    came = ragstone("runs")
    assert came.code == 2
    assert "evaluate records first" in came.err
    assert not Path(".ragstone").exists()


def test_foreign_text_commands_no_terminal() -> None:
    """Escapes, controls, direction overrides and markup of records and files are printed as text or not at all."""
    bad = row(1, id=f"id {HOSTILE}", question=f"What is {HOSTILE}?", contexts=[f"Steel {HOSTILE}", "b"])
    bad["response"] = f"Kettle 1 is {HOSTILE} made. Purple elephants {HOSTILE} invented jazz."
    bad["domain"] = HOSTILE
    Path("a.jsonl").write_text(json.dumps(bad) + "\n", encoding="utf-8")
    for command in (["run", "a.jsonl"], ["show", "1", f"id {HOSTILE[:3]}"], ["runs"], ["validate", "a.jsonl"]):
        ragstone(*command)
    for more in ((), ("--full",)):
        assert "[bold red]markup[/]" in ragstone("show", "1", "#1", *more).out


def test_colour_is_for_terminals_that_want_it(weighed: Path) -> None:
    """None into a pipe, none where NO_COLOR is set; the marks are there in any case.

    All tests use 256 colours, because Rich keeps the codes of a style for the terminal that first showed it.
    """
    arguments = ("show", "1", "halden-revenue", "--store", str(weighed))
    assert "\x1b" not in ragstone(*arguments).out
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    coloured = ragstone(*arguments, env=terminal).out
    assert "38;5;166" in coloured
    plain = ragstone(*arguments, env={**terminal, "NO_COLOR": "1"}).out
    assert "38;" not in plain
    for output in (coloured, plain):
        assert "✗" in output


def test_panels_show_every_member(fake: str) -> None:
    """Name, raw value, reason, the agreement, and who failed why."""
    write("a.jsonl", row(1))
    judges = f"response_support=[embedded,{fake},vllm:m@http://127.0.0.1:9/v1]"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ragstone.engine.calls._backoff", lambda attempt: 0.0)
        assert ragstone("run", "a.jsonl", "-q", "-m", "response_groundedness", "-j", judges).code == 0
    came = ragstone("show", "1", "r1")
    assert "judges agree in" in came.flat
    assert "failed: " in came.out
    assert "embedded" in came.out


def test_records_without_scores_say_why() -> None:
    """Set aside, blank, without contexts."""
    lines = [json.dumps(row(1, response="")), json.dumps(row(2, contexts=[])), "{oops", json.dumps(row(3))]
    Path("a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert ragstone("run", "a.jsonl", "-q", "--on-error", "skip").code == 0
    assert "blank" in ragstone("show", "1", "#1").out
    assert "missing_field" in ragstone("show", "1", "#2").out
    assert "Unreadable" in ragstone("show", "1", "#3").out


@pytest.mark.parametrize(("causes", "rest"), [(9, "and 1 more cause"), (10, "and 2 more causes")])
def test_causes_that_are_too_many_are_counted(causes: int, rest: str) -> None:
    """Eight are listed; one more is one cause."""

    def answer(question: Question[Any]) -> Failed:
        assert isinstance(question, Rate)
        return Failed(f"reason {question.units[0].text}")

    judge = ScriptedJudge(answer)
    records = [{"id": str(n), "question": "Why?", "response": f"Because of {chr(97 + n)}."} for n in range(causes)]
    api.evaluate(records, "answer_relevance", judge).store.close()
    assert ragstone("show").flat.count(f"{rest} Judge") == 1


# ---- validate


def test_validate_says_what_could_run() -> None:
    """Fields, metrics and notes; nothing is created."""
    write("a.jsonl", row(1), row(1, response=" "), {"question": "What?", "response": "Steel."})
    came = ragstone("validate", "a.jsonl")
    assert came.code == 0
    assert "contexts   2 of 3" in came.out
    assert re.search(r"Metrics that run\n(    .*\n)*    grounding +1 of 3\n", came.out)
    assert "a.jsonl:2: blank response" in came.flat
    assert "2 records have the id" in came.flat
    assert "Next        ragstone run a.jsonl\n" in came.out
    assert not Path(".ragstone").exists()
    told = ragstone("validate", "a.jsonl", "--json").json
    assert (told["records"], told["able"]["grounding"]) == (3, 1)
    assert ragstone("validate", "a.jsonl", "-m", "grounding").flat.endswith("Next ragstone run a.jsonl -m grounding")
    named = ragstone("validate", "a.jsonl", "-m", "nugget_support")
    assert (named.code, "nugget_support needs" in named.err) == (2, True)


def test_validate_says_from_which_columns_fields_are_read() -> None:
    """The id first, since runs are paired by it; nothing of a column with the field's own name."""
    rows = [{"qid": f"t{n}", "Query": "q", "response": "r", "kb": {"hits": ["c"]}} for n in range(2)]
    write("a.jsonl", *rows, {"question": "q", "response": "r"})
    out = ragstone("validate", "a.jsonl", "--field", "contexts=kb.hits").out
    assert re.search(r"Fields\n    id +2 of 3  from the field qid\n", out)
    assert re.search(r"\n    question +all 3 +from the fields Query, question\n", out)
    assert re.search(r"response +all 3\n    contexts +2 of 3  from the field kb.hits\n", out)
    write("b.jsonl", {"question": HOSTILE, f"{HOSTILE}": "r", "response": "r"})
    assert re.search(r"Fields\n    id +none\n", ragstone("validate", "b.jsonl", "--field", f"response={HOSTILE}").out)


def test_validate_counts_no_fields_of_no_record() -> None:
    """Where every record is unreadable, the screen says why and no field is in all 0."""
    Path("a.jsonl").write_text("x\n", encoding="utf-8")
    came = ragstone("validate", "a.jsonl")
    assert came.code == 2
    assert "0 readable records, 1 unreadable" in came.out
    assert "a.jsonl:1: invalid JSON" in came.out
    assert "Fields" not in came.out


def test_validate_says_what_it_recognised() -> None:
    """One line on the format, and what is left out; --from and --records are those of run."""
    spans = Path(__file__).parent.parent / "records" / "exports" / "openinference-otlp.jsonl"
    came = ragstone("validate", str(spans), columns=200)
    assert "recognised: OpenInference spans: 3 traces, 1 record; skipped: 1 failed before answering;" in came.out
    row = {"question": "q", "response": "r", "retrievedDocs": ["c"]}
    Path("mine.json").write_text(json.dumps({"deep": {"mine": [row]}}), encoding="utf-8")
    came = ragstone("validate", "mine.json", "--records", "deep.mine[]", columns=200)
    assert "no contexts; did you mean --field contexts=retrievedDocs?" in came.out
    assert "ragstone run mine.json --records deep.mine[]" in came.out.replace("'", "")
    came = ragstone("run", "mine.json", "--records", "deep.mine[]", "-m", "grounding", columns=200)
    assert "did you mean --field contexts=retrievedDocs?" in came.err
    assert ragstone("validate", str(spans), "--from", "langfuse").code == 2


def test_validate_names_the_option_that_reads_all_records() -> None:
    """Equal errors are one line, and the next command maps the text in place of skipping the records."""
    rows = [{"user text": "q", "response": "r", "kb": [{"the question": "text"}] * (n > 0)} for n in range(10)]
    Path("kb.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    came = ragstone("validate", "kb.jsonl", "--field", "contexts=kb", columns=200)
    out = " ".join(came.out.replace("\\\n", "").split())
    assert "did you mean --field 'contexts=kb[].the question'? (9 records like this)" in out
    assert out.endswith("Next ragstone run kb.jsonl --field 'contexts=kb[].the question' --field 'question=user text'")
    assert came.out.count("kb[].the question") == 2


def test_all_options_that_are_suggested_can_be_pasted() -> None:
    """In the next command of validate and in the error of run, quoted for the shell."""
    write("log.jsonl", {"customer": {"said": "q"}, "agent": {"said": "r"}, "found_sources": [{"excerpt": "c"}]})
    fields = "--field question=customer.said --field response=agent.said --field 'contexts=found_sources[].excerpt'"
    assert f"Next ragstone run log.jsonl {fields}" in ragstone("validate", "log.jsonl").flat.replace(" \\ ", " ")
    assert ragstone("run", "log.jsonl").err.endswith(f"ids of relevant passages; did you mean {fields}?\n")
    write(
        "log.jsonl", {"trace_id": "t", "question": "q", "contexts": ["c"], "x": "r"}, {"trace_id": "u", "question": "p"}
    )
    came = ragstone("validate", "log.jsonl", columns=200)
    assert "no record has a response, so some metrics are skipped; to read the response from another" in came.flat
    assert "no id; did you mean --field id=trace_id?" in came.flat
    assert "to specify an id" not in came.flat
    write("log.jsonl", {"customer": {"said": "q"}, "agent": {"said": "r"}, "found_sources": [{"excerpt": "c"}]})
    assert ragstone(*shlex.split(f"run log.jsonl -q {fields}")).code == 0


def test_numbered_columns_and_ids_are_suggested_and_collected() -> None:
    """By validate and run; the options as they stand are one field, also as a list in the file."""
    Path("q.csv").write_text("Ticket,question,answer,Doc 1,Doc 2\nT-1,q,It is red.,It is red.,\nT-2,p,r,c,d\n")
    options = "--field 'contexts=Doc 1' --field 'contexts=Doc 2' --field id=Ticket"
    assert f"Next ragstone run q.csv {options}" in ragstone("validate", "q.csv").flat.replace(" \\ ", " ")
    told = ragstone("run", "q.csv", "-m", "grounding", columns=200).err
    assert "did you mean --field 'contexts=Doc 1' --field 'contexts=Doc 2'?" in told
    Path("ragstone.toml").write_text('[fields]\nid = "Ticket"\ncontexts = ["Doc 1", "Doc 2"]\n')
    for arguments in (shlex.split(f"q.csv {options} --config none.toml"), ["q.csv"]):
        if "none.toml" in arguments:
            Path("none.toml").write_text("")
        assert ragstone("run", *arguments, "-q", "-m", "grounding").code == 0
        assert len(ragstone("show", "last", "T-1", "--json").json["contexts"]) == 1
        assert len(ragstone("show", "last", "T-2", "--json").json["contexts"]) == 2


def test_validate_exits_as_run_does() -> None:
    """With 2 where no metric can run, and where those that the file names cannot."""
    write("bare.jsonl", {"note": "a"})
    write("half.jsonl", {"question": "What?", "response": "Steel."})
    for file, settings, code in [
        ("bare.jsonl", "", 2),
        ("half.jsonl", "", 0),
        ("half.jsonl", 'metrics="grounding"', 2),
    ]:
        Path("ragstone.toml").write_text(f"[run]\n{settings}\n")
        assert [ragstone(command, file).code for command in ("validate", "run")] == [code, code]


def test_validate_says_where_recall_has_or_could_make_nuggets() -> None:
    """From a question with contexts if no record has its own; else the others have no value, since a suite asks."""
    alone = {"question": "What?", "response": "Steel."}
    rows: list[dict[str, Any]] = [
        alone,
        *[{**alone, "contexts": ["It is steel."]}] * 2,
        {"response": "Steel.", "nuggets": ["steel"]},
    ]
    for given, able in ((rows[:3], 2), (rows, 1)):
        write("a.jsonl", *given)
        assert ragstone("validate", "a.jsonl", "--json").json["able"]["nugget_recall"] == able
    write("bank.jsonl", {"id": "1", "nuggets": ["steel"]})
    Path("q.qrels").write_text("1 0 a 1\n")
    write("b.jsonl", {**alone, "id": "1", "contexts": ["It is steel."]}, {**alone, "id": "2"})
    read = ragstone("validate", "b.jsonl", "--nuggets", "bank.jsonl", "--qrels", "q.qrels", "--json").json["present"]
    assert (read["nuggets"], read["relevant"]) == (1, 1)
    assert ragstone("run", "a.jsonl", "--json").json["metrics"]["nugget_recall.all"]["scored"] == 1


def test_validate_reads_the_judgments_that_are_given() -> None:
    """As ``run`` does, which then evaluates the ranking without a judge."""
    write("a.jsonl", {**row(1), "id": "q1", "contexts": [{"id": "d1", "text": "Steel."}]})
    Path("qrels.txt").write_text("q1 0 d1 1\n", encoding="utf-8")
    assert "retrieval_ranking" not in ragstone("validate", "a.jsonl", "--qrels", "qrels.txt", "--json").json["left_out"]


def test_validate_and_run_agree_on_what_is_to_be_named() -> None:
    """What ``run`` leaves out unless it is named stands in ``validate`` with the same reason."""
    write("a.jsonl", row(1))
    Path("ragstone.toml").write_text('[rubric.tone]\ncriterion = "Polite."\n', encoding="utf-8")
    shown = ragstone("validate", "a.jsonl").flat
    left_out = ragstone("run", "a.jsonl", "-q", "--json").json["left_out"]
    assert ragstone("validate", "a.jsonl", "--json").json["left_out"] == left_out
    assert left_out["nugget_recall"] == (
        "no record has nuggets; with -m nugget_recall, a judge creates nuggets from the passages instead"
    )
    assert left_out["retrieval_ranking"].startswith("no record has ids of relevant passages; with -m retrieval_ranking")
    for name, why in left_out.items():
        if why.startswith(("no record has", "the judge 'embedded' cannot answer")) and "instead" not in why:
            assert name in shown.partition("Metrics that cannot run")[2].partition(f": {why}")[0]
        else:
            able = shown.partition("add their names: -m auto,NAME")[2].partition("Metrics that cannot run")[0]
            said = why.replace(f"with -m {name}, ", "").removesuffix(HOW_TO_ADD.format(name))
            assert f"{name} all 1 {said}" in able
    screen = ragstone("run", "a.jsonl").flat
    more = re.search(r"(\d+) more metrics skipped; to see why, run: ragstone validate a.jsonl", screen)
    assert sum(why in screen for why in left_out.values()) >= 2, "one reason is told, of several metrics"
    assert len({why for why in left_out.values() if why in screen}) == 1
    assert more
    assert int(more[1]) == sum(why not in screen for why in left_out.values())
    assert ragstone("run", "a.jsonl", "-q", "-m", "nugget_recall").code == 0
    other = {name: value for name, value in row(1).items() if name != "response"}
    write("b 1.jsonl", {**other, "its answer": "Steel."})
    mapped = ("b 1.jsonl", "--field", "response=its answer", "--on-error", "skip")
    for words in (("run", *mapped), ("estimate", *mapped), ("show",)):
        shown = ragstone(*words).flat.replace("\\ ", "")
        options = "--field 'response=its answer'" + " --on-error skip" * (words[0] != "show")
        assert f"to see why, run: ragstone validate 'b 1.jsonl' {options} " in shown, words


def test_what_no_metric_can_use_is_said_with_its_columns() -> None:
    """By each command that needs a field, in one line that is no longer for every metric it holds for."""
    Path("a.csv").write_text("frage,antwort\nq,a\n", encoding="utf-8")
    offered = "fields in the input: 'frage', 'antwort'"
    came = ragstone("validate", "a.csv")
    assert came.err == f"error: a.csv: no metric can run; map fields with --field FIELD=PATH; {offered}\n"
    assert "Next" not in came.out
    assert "Metrics that" not in came.out
    mapped = ("--field", "question=frage", "--field", "response=antwort")
    assert f"Next        ragstone run a.csv {' '.join(mapped)}\n" in ragstone("validate", "a.csv", *mapped).out
    came = ragstone("run", "a.csv")
    assert came.err == (
        "error: a.csv: no metric can run: no record has a question, a response, a reference, contexts, "
        f"nuggets or ids of relevant passages; map fields with --field FIELD=PATH; {offered}\n"
    )
    for words in (("run", "a.csv", "-m", "grounding"), ("nuggets", "create", "a.csv")):
        assert ragstone(*words).err.endswith(f"=COLUMN; {offered}\n")
    Path("wide.csv").write_text(f"{','.join('abcdefghij')},{'x' * 99}\n1{',' * 10}\n", encoding="utf-8")
    assert ragstone("run", "wide.csv").err.endswith("'g', 'h' and 3 more\n")
    Path("deutsch.csv").write_text("frage;antwort\nWas?;Das.\n", encoding="utf-8")
    fields = ("--field", "question=frage", "--field", "response=antwort")
    assert ragstone("run", "deutsch.csv", "-q", "-m", "answer_relevance", *fields).code == 0


def test_fields_that_are_blank_in_all_records_are_not_called_missing() -> None:
    """Nothing is to be mapped then: the column is there, or no record could be read at all."""
    write("a.jsonl", {"id": "a", "question": "What?", "response": " ", "contexts": []})
    came = ragstone("run", "a.jsonl", "-m", "answer_relevance")
    assert came.err == "error: answer_relevance needs question and response; response is blank in every record\n"
    came = ragstone("run", "a.jsonl")
    said = (
        "no metric can run: response and contexts are blank in every record, and no record has a reference, nuggets or"
    )
    assert said in came.err
    write("a.jsonl", {"id": "a", "question": "What?", "response": 5, "contexts": 5})
    for words in (("run",), ("nuggets", "create")):
        came = ragstone(*words, "a.jsonl", "--on-error", "skip")
        assert (came.code, came.err.partition(": expected")[0]) == (
            2,
            "error: a.jsonl: no readable records; a.jsonl:1: field 'contexts'",
        )


def test_validate_lists_every_malformed_record() -> None:
    """With 2 unless they are to be skipped and something is left."""
    Path("a.jsonl").write_text("{oops\n" + json.dumps(row(1)) + "\n[1]\n", encoding="utf-8")
    came = ragstone("validate", "a.jsonl")
    assert came.code == 2
    assert "a.jsonl:1" in came.out
    assert "a.jsonl:3" in came.out
    assert "Next        ragstone run a.jsonl --on-error skip\n" in came.out
    assert ragstone("validate", "a.jsonl", "--on-error", "skip").code == 0
    Path("ragstone.toml").write_text('[run]\non_error = "skip"\n', encoding="utf-8")
    assert ragstone("validate", "a.jsonl").code == 0
    assert "Next        ragstone run a.jsonl\n" in ragstone("validate", "a.jsonl").out
    Path("own.toml").write_text("", encoding="utf-8")
    own = ragstone("validate", "a.jsonl", "--on-error", "skip", "--config", "own.toml")
    assert "Next        ragstone run a.jsonl --on-error skip --config own.toml\n" in own.out


def test_every_screen_of_an_unfinished_run_is_drawn(weighed: Path) -> None:
    """A run that was killed has no summary of its own; its statuses stand in for the reasons."""
    write("a.jsonl", row(1), row(2, response=""))
    assert ragstone("run", "a.jsonl", "-q").code == 0
    with api.open_store() as store:
        store._change("UPDATE runs SET status = 'running', summary = NULL, finished = NULL", ())
    came = ragstone("show")
    assert came.code == 0
    assert "unfinished" in came.out
    assert "empty" in came.out


def test_relevance_of_claims_counts_the_relevant_ones() -> None:
    """Not those that are listed: one of three is, as the score says below."""
    said: dict[Any, Any] = {"claims": ["Tea is hot.", "Tea is old.", "It rains."], "relevance": ["yes", "yes", "no"]}
    api.evaluate([row(1)], "claim_relevance", ScriptedJudge(said), store="s.db").store.close()
    shown = ragstone("show", "last", "#1", "--store", "s.db").flat
    assert "Relevance of claims 2 of 3 claims relevant ✗ It rains." in shown


def test_show_full_lists_every_record_to_check_with_all_its_claims() -> None:
    """Without it five records and one claim of each, cut to a line."""
    long = " and so it is told again and again" * 4
    rows = [row(n, response=f"It is made of wood{long}. It weighs 9 kg.", contexts=["It is steel."]) for n in range(7)]
    assert ragstone("run", write("a.jsonl", *rows), "-m", "grounding", "-q").code == 0
    short, full = (ragstone("show", "last", *options).out for options in ((), ("--full",)))
    assert [shown.count("claims not found") for shown in (short, full)] == [5, 7]
    assert [" ".join(shown.split()).count("It weighs 9 kg.") for shown in (short, full)] == [0, 7]
    assert f"wood{long}." in " ".join(full.split())


def test_a_word_that_was_not_found_is_shown_below_a_supported_claim() -> None:
    """The embedded judge accepts a claim without some of its words, or for being a true refusal: it is shown why."""
    response = (
        "Harissa is a Tunisian paste. It is made of red peppers, garlic and fresh caraway. "
        "The passages do not mention its price."
    )
    contexts = ["Harissa is a Tunisian paste. It is made of red peppers, garlic and caraway."]
    write("a.jsonl", {"id": "h", "question": "What is harissa?", "response": response, "contexts": contexts})
    for metric in ("grounding", "groundedness"):
        assert ragstone("run", "a.jsonl", "-m", metric, "-q").code == 0
        shown = ragstone("show", "last", "h").flat
        assert shown.count("found in passage 1") == 1
        assert 'found in passage 1, apart from "fresh"' in shown
        assert "says information is missing, and the passages do not contain it" in shown
