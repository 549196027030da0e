"""``ragstone run``: what is printed, where, and with which exit code."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from terminal import TRACES, WIDTHS, done, pasted, ragstone, refused, row, write

from ragstone.metrics.refmatch import MEASURES
from ragstone.testing import FakeServer, Scripted
from realistic import realistic

pytest_plugins = ["terminal_fixtures"]
pytestmark = pytest.mark.usefixtures("alone")


def test_a_run_is_told_in_one_sentence_then_in_numbers() -> None:
    """The sentence, the metrics, what is missing, the worst, the judge, the cost, the store, the next command."""
    came = done("run", str(TRACES), "-o", "out")
    assert re.search(r" of a response's claims were found in its passages \(\d+ claims in 21 responses\)\. ", came.flat)
    assert re.search(r" \d+ of 21 responses have at least one claim that was not found\.", came.flat)
    for part in (
        "mean",
        "95% CI",
        "scored",
        "21 of 22",
        "1 record  empty (blank response): no score for answer",
        "Lowest grounding",
    ):
        assert part in came.out
    for part in ("not a language model", "--judge openai:gpt-4o-mini", "Cost        free", "out: results.jsonl"):
        assert part in came.out
    assert "not a language model" not in ragstone("run", str(TRACES), "-q").out
    assert "Next        ragstone show 1 " in came.out
    assert "traces.jsonl:18: blank response" in " ".join(came.err.split())


def test_metrics_that_nobody_named_have_the_rows_that_users_look_at() -> None:
    """A metric of many columns has one row or two, also where runs are compared; all where the metrics are named."""
    path = write("a.jsonl", row(1, reference="Reference 1."))
    rows = re.compile(r"^  ((?:trace|refmatch)\S*) ", re.MULTILINE)
    few = ["refmatch.chrf", "refmatch.rougeL", "trace.adherence"]
    for _ in range(2):
        assert rows.findall(ragstone("run", path, "-q").out) == few
    compared = [[one["metric"] for one in ragstone("compare", "1", "2", "--json", *more).json["metrics"]]
                for more in ((), ("-m", "trace"))]  # fmt: skip
    assert [name for name in compared[0] if "." in name] == few
    assert len(compared[1]) == 8
    named = ragstone("run", path, "-q", "-m", "refmatch,trace").out
    assert rows.findall(named) == [f"refmatch.{name}" for name in MEASURES] + ["trace"]
    assert "utilization" in named


def test_the_next_command_works_as_it_is_printed() -> None:
    """It names a record of the run, and its store when that was named."""
    came = ragstone("run", write("a.jsonl", row(1, id="a b<::>7")), "--store", "x/s.db", "-q")
    line = next(line for line in came.out.splitlines() if line.strip().startswith("Next"))
    assert line.strip() == "Next        ragstone show 1 '#1' --store x/s.db"
    assert "a b<::>7" in ragstone("show", "1", "#1", "--store", "x/s.db").out


def test_the_next_command_can_be_pasted_at_any_width() -> None:
    """Also where its words are wider than the terminal, which are broken by nobody but the terminal itself."""
    store = f"{'folder with a long name/' * 3}{'s' * 90}.db"
    for number, columns in enumerate((40, *WIDTHS), 1):
        came = ragstone("run", write("a.jsonl", row(1)), "--store", store, "-q", columns=columns)
        assert pasted(came.out) == [["show", str(number), "r1", "--store", store]]


def test_json_is_the_summary_and_nothing_else() -> None:
    """One document on standard output, also without --quiet."""
    came = done("run", str(TRACES), "--json")
    summary = came.json
    assert summary["records"] == 22
    assert set(summary["metrics"]) >= {"grounding", "groundedness"}
    assert {"metric": "grounding", "status": "empty", "reason": "blank response", "count": 1} in summary["missing"]


def test_unsupported_claims_stand_with_their_reason() -> None:
    """The claim itself, not only its number."""
    came = ragstone("run", write("a.jsonl", row(1), row(2)), "-q", "-m", "grounding")
    assert "1 of 2 claims not found" in came.out
    assert "✗ Purple elephants invented jazz in Lisbon." in came.out


def test_where_all_is_supported_no_worst_records_are_shown() -> None:
    """And the sentence says that there is nothing to find."""
    perfect = row(1, response="Kettle 1 is made of steel.")
    came = ragstone("run", write("a.jsonl", perfect), "-q", "-m", "grounding")
    assert "Lowest" not in came.out
    assert "Every claim was found." in came.flat


def test_what_auto_leaves_out_is_said() -> None:
    """With the reason."""
    lone = {"id": "1", "question": "What?", "response": "Steel is hard."}
    came = ragstone("run", write("a.jsonl", lone), "-q")
    assert "response_groundedness, trace: no record has contexts" in came.flat


def test_options_reach_the_run() -> None:
    """Parameters, fields, name, metrics and the value for nothing to judge."""
    write("a.jsonl", *({"q": "What?", "response": text, "contexts": ["Steel."]} for text in ("", "Purple elephants.")))
    came = ragstone(
        "run", "a.jsonl", "-m", "grounding", "--field", "question=q", "--set", "grounding.threshold=0.9",
        "--on-empty", "zero", "--name", "mine", "--concurrency", "3", "--json",
    )  # fmt: skip
    metric = came.json["metrics"]["grounding"]
    assert (metric["scored"], metric["outcomes"]) == (2, {"FAILED": 2})
    assert "on_empty:zero" in metric["signature"]
    shown = ragstone("show", "mine").flat
    assert "2 of 2 responses are below 100%." in shown
    assert "1 record empty (blank response): value set by on_empty for grounding" in shown


def test_a_panel_is_named_with_how_it_decides(fake: str) -> None:
    """And so is the step that it judges."""
    came = ragstone(
        "run", write("a.jsonl", row(1)), "-m", "grounding", "-j", f"support=[embedded,{fake}]", "--panel", "min"
    )
    assert f"support: embedded, {fake} (panel, min)" in came.out.replace("\n              ", " ")
    assert "The embedded judge compares words and numbers;" in came.out
    assert "unjudged" not in came.out


def test_a_panel_whose_member_failed_says_so(server: FakeServer) -> None:
    """The verdicts are then of fewer judges than the screen names."""
    server.configure(answer=lambda _: Scripted("no", status=400))
    fake = f"vllm:fake@{server.url}"
    run = ("run", write("a.jsonl", row(1)), "-m", "groundedness", "-j", f"support=[embedded,{fake}]")
    came = ragstone(*run, "-o", "out")
    assert came.code == 0
    server.configure(answer=None)
    assert "unjudged" not in done(*run).flat
    said = "vllm/fake left 2 of 2 units unjudged; for these, only the rest of its panel counts"
    gate = ragstone("check", "out", "--min", "groundedness=0.1", "--junit", "j.xml", "--markdown", "m.md")
    for shown in (
        came.flat,
        ragstone("show", "1").flat,
        gate.flat,
        Path("j.xml").read_text(),
        Path("m.md").read_text(),
    ):
        assert said in shown
    compared = ragstone("compare", "1", "2").flat
    assert compared.count(said) == 1


def test_retries_and_tokens_are_counted(fake: str) -> None:
    """Calls sent and retried, in one line why and what that cost, and the tokens."""
    del fake
    with FakeServer(rate_500=1.0) as server:
        rows = [row(n) for n in range(3)]
        came = ragstone("run", write("a.jsonl", *rows), "-q", "-m", "answer_relevance", "-j", f"vllm:f@{server.url}")
    assert "6 sent, 3 retried\n" in came.out
    assert "Retries     HTTP 500 (3)\n" in came.out
    assert "tokens in, " in came.out


def test_an_unknown_price_is_said_to_be_unknown() -> None:
    """And never shown as nothing."""
    with FakeServer() as server:
        Path("ragstone.toml").write_text(
            f'[judges.mine]\nmodel = "secret-model"\nbase_url = "{server.url}"\n', encoding="utf-8"
        )
        came = ragstone("run", write("a.jsonl", row(1)), "-q", "-m", "answer_relevance", "-j", "mine")
    assert "price unknown" in came.out


def test_a_judge_that_wrote_the_responses_is_warned_of(fake: str) -> None:
    """By flag or by the records' own word; beside the judge, also when the run is shown again, and in the summary."""
    model = fake.partition(":")[2].partition("@")[0]
    asked = ("run", "a.jsonl", "-q", "-m", "answer_relevance", "-j", fake)
    for record, more in ((row(1, generator=model), ()), (row(1, meta={"generator": model}), ()),
                         (row(1), ("--generator", model))):  # fmt: skip
        write("a.jsonl", record)
        for shown in (ragstone(*asked, *more), ragstone("show")):
            assert "is the model that wrote the responses; models overrate their own answers" in shown.flat
    assert "models overrate" in " ".join(ragstone("show", "--json").json["notes"])
    assert "models overrate" in ragstone(*(word for word in asked if word != "-q"), "--generator", "any/" + model).err
    assert "models overrate" not in ragstone(*asked).flat


# ---- what goes wrong


def test_the_end_of_each_failure() -> None:
    """One line on standard error, nothing on standard output, exit code 2."""
    write("a.jsonl", row(1))
    Path("bad.jsonl").write_text('{"question": \n', encoding="utf-8")
    Path("bad.toml").write_text("[run]\nmetric = 'all'\n", encoding="utf-8")
    for arguments, said in (
        (("nofile.jsonl",), "nofile.jsonl: no such file"),
        (("bad.jsonl",), "bad.jsonl:1"),
        (("a.jsonl", "-m", "groundng"), "did you mean 'grounding'?"),
        (("a.jsonl", "-j", "gpt-4o"), "no judge 'gpt-4o'"),
        (("a.jsonl", "-j", "opnai:gpt-4o"), "did you mean 'openai'?"),
        (("a.jsonl", "--config", "bad.toml"), "did you mean 'metrics'?"),
        (("a.jsonl", "--set", "grounding=1"), "METRIC.PARAMETER=VALUE"),
        (("a.jsonl", "--set", "grounding.threshold=7"), "grounding.threshold: invalid value 7"),
        (("a.jsonl", "--field", "question"), "FIELD=PATH"),
    ):
        assert said in refused("run", *arguments)


def test_malformed_lines_can_be_skipped() -> None:
    """They are counted and told, and the rest is weighed."""
    Path("a.jsonl").write_text(json.dumps(row(1)) + "\n{oops\n", encoding="utf-8")
    assert ragstone("run", "a.jsonl", "-q").code == 2
    came = done("run", "a.jsonl", "--on-error", "skip")
    assert "1 record  unreadable: no score" in came.out
    assert "a.jsonl:2" in came.err


def test_a_name_that_is_used_twice_is_said_once() -> None:
    """Which run had it and how to reach that one; the first time there is nothing to say."""
    write("a.jsonl", row(1))
    first, second = (ragstone("run", "a.jsonl", "-q", "-m", "grounding", "--name", "main") for _ in range(2))
    assert (first.err, second.err) == (
        "",
        "note: the name 'main' now refers to run 2; the previous run of this name is run 1\n",
    )


def test_results_of_another_input_in_the_folder_are_named() -> None:
    """Once they are replaced, with the place if they still are there; the same input again says nothing."""
    for name in ("a.jsonl", "b.jsonl"):
        write(name, row(1))
    came: list[str] = []
    for name in ("a.jsonl", "a.jsonl", "b.jsonl", "a.jsonl"):
        if len(came) == 3:
            shutil.rmtree(".ragstone")
        came.append(ragstone("run", name, "-q", "-m", "grounding", "-o", "out").err)
    store = Path(".ragstone", "ragstone.db")
    told = f"note: out: replaced the results for a.jsonl, which are still in the store (run 2 in {store})\n"
    assert came == ["", "", told, "note: out: replaced the results for b.jsonl\n"]


def test_a_run_without_a_key_leaves_no_empty_folder_and_no_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither that which it made nor those above it; a folder that was there stays. The next run has its number."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("mine").mkdir()
    write("a.jsonl", row(1))
    for out in ("new/deep/out", "mine"):
        came = ragstone("run", "a.jsonl", "-m", "grounding", "-j", "openai:gpt-4o-mini", "-o", out, "--cases")
        assert (came.code, "no API key" in came.err) == (3, True)
    assert (Path("new").exists(), list(Path("mine").iterdir())) == (False, [])
    assert "a.jsonl  run 1 " in done("run", "a.jsonl", "-m", "grounding").out


def test_a_wrong_key_ends_the_run_with_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 3, the provider's message, where the key is looked for; never the key itself."""
    monkeypatch.setenv("MY_KEY", "wrong-key-1234")
    with FakeServer(api_key="right") as server:
        table = f'[judges.mine]\nmodel = "m"\nbase_url = "{server.url}"\napi_key_env = "MY_KEY"\n'
        Path("ragstone.toml").write_text(table, encoding="utf-8")
        came = ragstone("run", write("a.jsonl", row(1)), "-m", "grounding", "-j", "mine")
    assert came.code == 3
    assert "HTTP 401" in came.err
    assert "hint: check the key in MY_KEY" in came.err
    assert "wrong-key-1234" not in came.err + came.out
    assert came.out == ""
    assert came.err.startswith("Evaluating 1 record with 1 metric (judge: mine)\n"), (
        "there is no run to give a number of"
    )
    assert ragstone("runs", "--json").json == []


def test_a_dead_endpoint_ends_the_run() -> None:
    """Exit code 3, after its tries."""
    rows = [row(n) for n in range(12)]
    came = ragstone("run", write("a.jsonl", *rows), "-q", "-m", "grounding", "-j", "vllm:m@http://127.0.0.1:9/v1")
    assert came.code == 3
    assert "cannot reach http://127.0.0.1:9/v1/chat/completions (connection refused; " in came.err
    assert "hint: check that the server is running" in came.err
    with FakeServer(dead_after=16) as server:
        came = ragstone("run", "a.jsonl", "-m", "grounding", "-j", f"vllm:m@{server.url}", "--concurrency", "1")
    assert came.code == 3
    assert "note: finished records are saved as run " in came.err


def test_when_nothing_could_be_scored_the_code_is_3() -> None:
    """The result is shown with the reason all the same."""
    came = ragstone("run", write("a.jsonl", row(1)), "-q", "-m", "grounding", "-j", "vllm:m@http://127.0.0.1:9/v1")
    assert came.code == 3
    assert "Nothing could be scored in 1 record." in came.out
    assert "judge_failed (" in came.out
    assert "Cost        free (no call was answered)" in came.out
    status = ragstone("runs", "--json").json[0]["status"]
    assert ragstone("runs").out.rstrip().endswith(f"  {status}    nothing scored")
    came = ragstone("run", write("a.jsonl", row(1) | {"response": " "}, row(2) | {"contexts": []}), "-m", "grounding")
    assert came.code == 3
    assert came.err.endswith("error: nothing was evaluated: blank response (and 1 more cause)\n")


def test_records_that_are_in_no_mean_are_said_beside_it() -> None:
    """By the field that they lack, or that the judge failed."""
    rows = [row(1), row(2), row(3) | {"contexts": []}]
    came = ragstone("run", write("a.jsonl", *rows), "-m", "grounding,answer_relevance")
    assert "No score for 1 of 3 records: no contexts." in came.flat
    write("people.jsonl", {"record": "r1", "unit": "r1/claim/1", "task": "support", "label": "yes"})
    came = ragstone("run", "a.jsonl", "-m", "grounding", "-j", "support=human:people.jsonl")
    assert "No score for 2 of 3 records: no contexts (1), the judge failed (1)." in came.flat


def test_the_calls_of_a_member_that_is_lost_have_failed() -> None:
    """Though the other member answered all, or had its replies in the store."""
    write("a.jsonl", row(1), row(2))
    with FakeServer(api_key="sk-right") as server:
        panel = ("-j", f"support=[embedded,vllm:m@{server.url}]", "-m", "grounding", "-q")
        for cost in ("Cost free", "Cost free (no call was answered)"):
            came = ragstone("run", "a.jsonl", *panel)
            assert (came.code, "no API calls" in came.out, "2 failed" in came.flat) == (0, False, True)
            assert f"{cost} Time" in came.flat


def test_a_judge_that_answers_nothing_is_code_3_though_a_shortcut_scored() -> None:
    """A score that needed no judge does not make an unreachable one a success."""
    copied = {**row(1), "contexts": ["It boils in two minutes."], "response": "It boils in two minutes."}
    came = ragstone("run", write("a.jsonl", copied), "-q", "-m", "claims", "-j", "vllm:m@http://127.0.0.1:9/v1")
    assert "shortcut" in ragstone("show", "last", "#1", "--json").out
    assert came.code == 3


def test_blank_responses_alone_are_nothing_to_score() -> None:
    """Nothing to judge is no fault of the judge, but a score it is not."""
    came = ragstone("run", write("a.jsonl", row(1, response=" "), row(2)), "-q", "-m", "grounding")
    assert (came.code, came.err) == (0, ""), "quiet: neither progress nor notes"
    assert "empty (blank response)" in came.out


def test_what_the_embedded_judge_answers_is_not_called_sent(fake: str) -> None:
    """It is counted beside what was sent; where nothing was sent at all that is said."""
    came = ragstone("run", write("a.jsonl", row(1)), "-m", "groundedness,answer_relevance", "-q", "--store", "a.db")
    assert "Calls       2 answered by the embedded judge; no API calls\nCost        free\n" in came.out.replace(
        "\n  ", "\n"
    )
    judges = ("-j", fake, "-j", "support=embedded")
    came = ragstone("run", "a.jsonl", "-m", "groundedness,answer_relevance", *judges, "-q", "--store", "b.db")
    assert "Calls       1 sent to an API, 1 answered by the embedded judge\n" in came.out
    bill = ragstone("run", "a.jsonl", "-m", "groundedness,answer_relevance", *judges, "--json", "--store", "c.db").json[
        "bill"
    ]
    assert (bill["sent"], bill["here"]) == (1, {"embedded": 1})


def test_calls_of_a_cascade_are_held_against_the_budget_as_they_are_counted() -> None:
    """Those that the embedded judge answered are no part of a limit on calls, nor of the estimate."""
    with FakeServer(answer=realistic) as server:
        judge = f"embedded>openai:gpt-4o-mini@{server.url}"
        rows = [row(n) for n in range(1, 5)]
        options = ("-m", "grounding", "-j", judge, "--max-calls", "100", "-q", "-o", "out")
        came = done("run", write("a.jsonl", *rows), *options, env={"OPENAI_API_KEY": "sk-x"})
        summary = json.loads(Path("out/summary.json").read_text())
        assert summary["bill"]["sent"] == server.count > 0
        assert summary["bill"]["here"]["embedded"] > 0
        calls = f"{server.count} sent to an API, {summary['bill']['here']['embedded']} answered by the embedded judge"
        assert f"Calls       {calls}\n" in came.out
        error = summary["estimate"]["error"]["calls"]
        assert error == round(summary["estimate"]["calls"]["expected"] / server.count - 1, 4)
