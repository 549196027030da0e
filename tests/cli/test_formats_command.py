"""``ragstone formats``: how replies were read, against an endpoint that answers in every manner."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from terminal import HOSTILE, WIDTHS, Came, done, ragstone, refused, row, write

from ragstone.testing import FakeServer, Scripted

pytestmark = pytest.mark.usefixtures("alone")

STEPS = ["-m", "groundedness", "--prompt", "no_reasoning"]


def wanted(request: dict[str, Any]) -> int:
    """How many labels are asked for, at first or again."""
    said = re.findall(r"exactly (\d+) label", " ".join(message["content"] for message in request["messages"]))
    return int(said[-1])


def answering(bad: Callable[[int], Any], *, mended: bool = True) -> Callable[[dict[str, Any]], Any]:
    """Labels as they were asked for; at first what ``bad`` makes of the record's number, if anything."""

    def answer(request: dict[str, Any]) -> Any:
        (number,) = set(re.findall(r"Kettle (\d+)", request["messages"][1]["content"]))
        again = len(request["messages"]) > 2
        spoilt = None if again and mended else bad(int(number))
        return ["3"] * wanted(request) if spoilt is None else spoilt

    return answer


def weigh(answer: Callable[[dict[str, Any]], Any], *options: str, records: int = 12, code: int = 0) -> str:
    """A run by a fake model; the judge's id is returned."""
    with FakeServer(answer=answer) as server:
        path = write("a.jsonl", *(row(n) for n in range(1, records + 1)))
        judge = f"vllm:fake@{server.url}"
        came = ragstone("run", path, "-q", "-j", judge, *STEPS, "--format", "json", "--structured", "off", *options)
        assert came.code == code, came.err
    return f"vllm/fake@{server.url}"


def told(*options: str) -> dict[str, Any]:
    found: dict[str, Any] = ragstone("formats", *options, "--json").json
    return found


def test_a_run_that_was_read_whole_says_so() -> None:
    """One row, no problem, no advice, and the run itself to look at next."""
    judge = weigh(answering(lambda _: None))
    (group,) = told()["groups"]
    asked = (judge, "support", "no_reasoning", "json")
    assert (group["judge"], group["step"], group["style"], group["format"]) == asked
    assert (group["calls"], group["whole_share"], group["read_share"], group["unjudged"]) == (12, 1.0, 1.0, 0)
    assert (group["readers"], group["problems"], group["samples"], group["advice"]) == ({"json": 12}, {}, [], "")
    came = done("formats")
    assert "100% of 12 first replies were parsed in full." in came.flat
    assert came.out.rstrip().endswith("Next     ragstone show 1")


def test_what_went_wrong_and_what_it_cost() -> None:
    """Prose for some, a label too many for others: asked again, mended, and the price of that known to be nothing."""
    weigh(answering(lambda n: {0: "I would rather talk.", 1: ["3"] * 9}.get(n % 4)))
    (group,) = told()["groups"]
    assert group["problems"] == {"count_mismatch": 3, "format_error": 3}
    assert (group["whole"], group["readers"]) == (6, {"json": 6})
    repairs = group["repairs"]
    assert (repairs["calls"], repairs["mended"], repairs["regained"]) == (6, 6, 12)
    assert repairs["input_tokens"] > 0
    assert repairs["dollars"] == 0
    assert group["unjudged"] == 0
    came = ragstone("formats")
    assert "6 repair calls, 6 successful: " in came.flat
    assert "“I would rather talk.”" in came.out
    assert "Next for support (50% parsed in full), try --format keyed" in came.flat


def test_what_is_left_is_what_is_unjudged_in_the_run() -> None:
    """Where asking again gave nothing, the units are those that have no verdict in the results."""
    weigh(answering(lambda n: "No." if n % 2 else None, mended=False), "-o", "out")
    (group,) = told()["groups"]
    summary = json.loads(Path("out/summary.json").read_bytes())
    assert group["unjudged"] == summary["metrics"]["groundedness"]["units"]["unjudged"] > 0
    assert f"{group['unjudged']} units left unjudged" in ragstone("formats").flat


def test_replies_that_no_format_mends() -> None:
    """Cut off, and withheld: the advice is another."""
    weigh(answering(lambda _: Scripted("[", finish="length"), mended=False), code=3)
    (group,) = told()["groups"]
    assert group["problems"] == {"cut_off": 12}
    assert "max_tokens" in group["advice"]
    assert "nothing parsed" in ragstone("formats", columns=100).out
    weigh(answering(lambda _: Scripted("", finish="content_filter")), "--store", "w.db", code=3)
    (group,) = told("--store", "w.db")["groups"]
    assert (group["problems"], group["repairs"]["calls"]) == ({"withheld": 12}, 0)
    assert "a content filter withholds this one's replies" in ragstone("formats", "--store", "w.db").flat


def test_samples_are_as_many_as_wanted() -> None:
    """Three unless said; none with 0; the reply as it came."""
    weigh(answering(lambda n: f"No, {n}."))
    for options, count in (((), 3), (("--samples", "0"), 0), (("--samples", "5"), 5)):
        assert len(told(*options)["groups"][0]["samples"]) == count
    (sample,) = told("--samples", "1")["groups"][0]["samples"]
    assert re.fullmatch(r"No, \d+\.", sample["reply"])
    assert (sample["status"], sample["repair"]) == ("format_error", False)
    assert ragstone("formats", "--samples", "-1").code == 2


def test_foreign_text_commands_no_terminal() -> None:
    """What a model says, and the id of a record, are shown without what a terminal obeys."""
    with FakeServer(answer=lambda _: HOSTILE * 9) as server:
        path = write("a.jsonl", row(1, id=f"id {HOSTILE}"))
        ragstone("run", path, "-q", "-j", f"vllm:fake@{server.url}", *STEPS, "--structured", "off")
    assert "[bold red]markup[/]" in ragstone("formats").out


def test_the_screen_fits() -> None:
    """No line is wider than the terminal, whatever the format's name; in ASCII where that is all there is."""
    with FakeServer(answer=lambda _: "word " * 200) as server:
        judge = f"vllm:a-model-of-a-rather-long-name-{'x' * 60}@{server.url}"
        options = ["-m", "triad,response_groundedness", "--prompt", "no_reasoning", "--format", "python_list"]
        ragstone("run", write("a.jsonl", row(1)), "-q", "-j", judge, *options, "--structured", "off")
    for columns, charset in product((40, *WIDTHS), ("utf-8", "ascii")):
        came = done("formats", columns=columns, charset=charset)
        assert "response_support" in "".join(came.out.split())


def embedded() -> Came:
    return ragstone("run", write("a.jsonl", row(1)), "-q", "-m", "groundedness")


def test_the_embedded_judge_has_nothing_to_read() -> None:
    """It is said so in one line."""
    assert embedded().code == 0
    assert "embedded has no replies to parse (1 call)." in ragstone("formats").flat
    assert told() == {"run": 1, "calls": 0, "failed": 0, "untold": {"embedded": 1}, "groups": []}


def test_calls_that_failed_are_named() -> None:
    """They left no reply; and the run is found in the store that was named."""
    with FakeServer(known_models=["other"]) as server:
        path = write("a.jsonl", row(1))
        panel = f"support=[embedded,vllm:fake@{server.url}]"
        ragstone("run", path, "-q", "-m", "groundedness", "-j", panel, "--store", "f.db")
    found = told("--store", "f.db")
    assert (found["failed"], found["untold"]) == (1, {"embedded": 1})
    came = ragstone("formats", "--store", "f.db")
    assert "1 call failed without a reply" in came.flat
    assert came.flat.endswith("Next ragstone show 1 --store f.db")


def test_a_run_that_did_not_end_is_not_said_to_have_made_no_call() -> None:
    """Its replies are kept, though no record was done."""
    with FakeServer(answer=lambda _: None) as server:
        options = ("-m", "grounding,groundedness", "-j", f"vllm:fake@{server.url}", "--max-calls", "1")
        ragstone("run", write("a.jsonl", row(1)), "-q", *options)
    said = ragstone("formats").flat
    assert "The run did not finish (stopped): only calls for its 0 finished records are counted here." in said
    assert "made no calls" not in said


def test_a_run_that_there_is_not_is_named() -> None:
    """As everywhere."""
    assert embedded().code == 0
    assert "no run '7'" in refused("formats", "7")
