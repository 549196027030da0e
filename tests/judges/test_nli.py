"""The judge nli over a small model: what is read, what counts, what overrules it, and who answers the other steps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

from by_hand import computed
from nli_model import make_model

from labelled import city_records, city_rows, write
from ragstone import ConfigError, agree, estimate, evaluate, tune
from ragstone.config import resolve
from ragstone.judges.nli import NliJudge
from ragstone.judges.nli.judge import NliBackend
from ragstone.judges.nli.reader import Odds
from ragstone.options import RunOptions
from ragstone.questions import SUPPORT_3, SUPPORT_CONTRADICT, YES_NO, Rate, Rated, Task, Trace, Traced
from ragstone.types import Passage, Span, Unit, Verdict

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces.jsonl"
LID = "The pot has a steel lid. It holds two litres."
FILLER = "Guests may borrow towels at the desk near the stairs."
LIKELY = "The pot has a lid for soup."
TWINS = "The lid is made of steel. Bake it for 20 minutes. Anna Berg runs the shop."
QUESTION = "What is the lid made of?"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = EXAMPLES.read_text("utf-8").splitlines()
    return make_model(tmp_path_factory.mktemp("models") / "overlap", [*texts, LID, FILLER, TWINS])


@pytest.fixture
def judge(model: Path) -> NliJudge:
    return at_threshold(model, None)


def at_threshold(model: Path, threshold: float | None) -> NliJudge:
    return NliJudge(f"nli:{model}", str(model), threshold)


def units(*texts: str) -> tuple[Unit, ...]:
    return tuple(Unit(f"r/claim/{n}", "claim", text, Span(0, len(text))) for n, text in enumerate(texts, 1))


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(f"p{n}", text, n) for n, text in enumerate(texts, 1))


def rated(
    judge: NliJudge, claims: tuple[str, ...], *contexts: str, task: Task = "support", **more: Any
) -> list[Verdict]:
    question = Rate(task, units(*claims), more.pop("scale", YES_NO), passages=passages(*contexts), **more)
    answer = computed(judge, question)
    assert isinstance(answer, Rated)
    return list(answer.verdicts)


def counted(judge: NliJudge, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The pairs that its reader reads from now on."""
    pairs: list[tuple[str, str]] = []
    real = judge.backend.reader.read

    def read(premise: str, hypothesis: str) -> Odds:
        pairs.append((premise, hypothesis))
        return real(premise, hypothesis)

    monkeypatch.setattr(judge.backend.reader, "read", read)
    return pairs


# ---- verdicts


def test_three_classes_tell_the_contradicted_from_the_missing(judge: NliJudge, model: Path, tmp_path: Path) -> None:
    """A model of two classes cannot, and says so before the run."""
    claims = units("The pot has not a steel lid.", "The pot came from Spain.", "The pot has a steel lid.")
    answer = computed(judge, Rate("support", claims, SUPPORT_CONTRADICT, passages=passages(LID)))
    assert [verdict.label for verdict in answer.verdicts] == ["contradicted", "not_mentioned", "supported"]
    two = make_model(tmp_path / "two", [LID], labels=("entailment", "not_entailment"))
    row = {"id": "r", "question": "What?", "contexts": [LID], "response": "The pot has a steel lid."}
    told = {"grounding": {"scoring_mode": "support_contradict"}}
    with pytest.raises(ConfigError, match="grounding: 'two' has no class for contradiction, which support_contradict"):
        evaluate([row], "grounding", f"nli:{two}", parameters=told)


def test_what_a_passage_entails_is_supported_with_its_sentence_as_evidence(judge: NliJudge) -> None:
    (verdict,) = rated(judge, ("The pot has a steel lid.",), FILLER, LID)
    assert (verdict.label, verdict.judge) == ("yes", "nli/overlap")
    assert verdict.probability is not None
    assert verdict.probability > 0.9
    assert verdict.reason.startswith("entailed by passage 2 (")
    assert [(quote.passage, quote.text, quote.verbatim) for quote in verdict.evidence] == [
        ("p2", "The pot has a steel lid.", True)
    ]


@pytest.mark.parametrize(
    ("claim", "said", "entailed"),
    [
        ("The lid is not made of steel.", "contradicted by passage 1 (probability 1.00); highest entailment 0.", False),
        ("Bake it for 25 minutes.", "says 25 minutes; passage 1 says 20 minutes", True),
        ("Anna Holm runs the shop.", "Holm", True),
    ],
)
def test_a_contradiction_is_named_and_another_number_or_name_overrules_the_model(
    judge: NliJudge, claim: str, said: str, *, entailed: bool
) -> None:
    """``entailed``: the model alone would accept it."""
    (verdict,) = rated(judge, (claim,), TWINS)
    assert verdict.label == "no"
    assert said in verdict.reason
    assert (float(verdict.reason.rpartition("entailment ")[2]) > 0.5) == entailed


def test_sentences_that_state_nothing_and_what_is_missing_are_the_rules(judge: NliJudge) -> None:
    texts = ("I hope this helps!", "The context does not mention a warranty.")
    sentences = tuple(Unit(f"r/sentence/{n}", "sentence", text, Span(0, len(text))) for n, text in enumerate(texts, 1))
    answer = computed(judge, Rate("support", sentences, YES_NO, passages=passages(LID), skippable=True))
    assert [verdict.label for verdict in answer.verdicts] == ["trivial", "yes"]
    assert "says information is missing" in answer.verdicts[1].reason


def test_a_short_answer_is_read_with_its_question(judge: NliJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = counted(judge, monkeypatch)
    rated(judge, ("Steel.",), TWINS, question=QUESTION)
    assert {hypothesis for _, hypothesis in pairs} == {f"{QUESTION} Steel."}


def test_blank_texts_are_unjudged_and_without_passages_nothing_is_entailed(judge: NliJudge) -> None:
    blank, lone = rated(judge, (" ", "The pot has a lid."), "")
    assert (blank.label, blank.failure) == (None, "the text is blank")
    assert (lone.label, lone.probability) == ("no", 0.0)


def test_a_nugget_is_looked_for_in_the_response(judge: NliJudge) -> None:
    found = rated(judge, ("a steel lid", "towels at the desk"), LID, task="assign", scale=SUPPORT_3)
    assert [verdict.label for verdict in found] == ["support", "not_support"]
    assert found[0].reason.startswith("entailed by the response")


def test_a_response_is_as_good_as_its_sentences(judge: NliJudge) -> None:
    good, mixed = rated(judge, (LID, f"{LID} Dogs sleep outside."), LID, task="response_support")
    assert (good.label, mixed.label) == ("yes", "no")
    assert 'lowest: "Dogs sleep outside."' in mixed.reason


def test_a_trace_has_the_models_support_and_says_that_other_marks_are_not_its_own(judge: NliJudge) -> None:
    texts = ("The pot has a steel lid.", "It holds two litres.", FILLER)
    sentences = tuple(
        Unit(f"r/doc_{'001'[n]}_s{n}", "sentence", text, Span(0, len(text)), parent="p1p1p2"[2 * n : 2 * n + 2])
        for n, text in enumerate(texts)
    )
    response = tuple(
        Unit(f"r/resp_s{n}", "sentence", text, Span(0, len(text)))
        for n, text in enumerate(("It has a steel lid.", "Dogs sleep outside."))
    )
    answer = computed(judge, Trace("trace", QUESTION, sentences, response))
    assert isinstance(answer, Traced)
    assert [verdict.label for verdict in answer.verdicts] == ["yes", "no"]
    assert answer.support == (("doc_0_s0",), ())
    assert answer.relevant is not None
    assert answer.relevance_reason.startswith("marked by shared words, not by the model")


# ---- thresholds


@pytest.mark.parametrize("task", ["support", "assign", "response_support"])
def test_yes_begins_at_the_threshold(model: Path, task: Task) -> None:
    """The probability stays; the reason says what the threshold has changed, and only then."""
    own, at, above = (
        rated(at_threshold(model, threshold), (LIKELY,), LID, task=task)[0] for threshold in (None, 0.7, 0.75)
    )
    assert [verdict.label for verdict in (own, at, above)] == ["yes", "yes", "no"]
    assert own.probability == at.probability == above.probability == pytest.approx(0.72, abs=0.01)
    assert (at.reason, above.reason) == (own.reason, f"{own.reason}; below the threshold of 0.75")


def test_a_lower_threshold_accepts_more_statements_but_no_response_with_an_unsupported_one(model: Path) -> None:
    text, loose = "It has a lid for soup inside.", at_threshold(model, 0.1)
    verdict, own = (rated(judge, (text,), LID)[0] for judge in (loose, at_threshold(model, None)))
    assert (verdict.label, own.label) == ("yes", "no")
    assert verdict.reason == f"{own.reason}; reaches the threshold of 0.1"
    (whole,) = rated(loose, (f"{LID} {text}",), LID, task="response_support")
    assert (whole.label, whole.probability) == ("no", 0.49)


@pytest.mark.parametrize("threshold", [0.1, 0.95])
def test_what_the_rules_decide_stays_at_any_threshold(model: Path, threshold: float) -> None:
    claims = ("Bake it for 25 minutes.", "Anna Holm runs the shop.", "The context does not mention a lid.",
              "The context does not mention a warranty.")  # fmt: skip
    found = rated(at_threshold(model, threshold), claims, TWINS)
    assert [verdict.label for verdict in found] == ["no", "no", "no", "yes"]
    assert not any("threshold" in verdict.reason for verdict in found)
    for verdict in found:
        assert f"(support {verdict.probability:.2f}" in verdict.reason
    beyond = 0.09 if threshold < 0.5 else 0.96  # there they, or windows that were not read, would count
    with pytest.raises(ConfigError, match=rf"threshold {beyond}; expected a number from 0.1 to 0.95$"):
        at_threshold(model, beyond)


def test_a_table_sets_a_threshold_and_stored_replies_serve_it(model: Path, tmp_path: Path) -> None:
    table = f'[judges.strict]\nprovider = "nli"\nmodel = "{model}"\nthreshold = 0.9\n'
    (tmp_path / "ragstone.toml").write_text(table, encoding="utf-8")
    records = [{"id": "a", "question": QUESTION, "response": LIKELY, "contexts": [LID]}]
    scores, signatures, here = [], [], []
    for judge in (f"nli:{model}", "strict"):
        run = evaluate(records, "groundedness", judge, config=tmp_path / "ragstone.toml", store=tmp_path / "s.db")
        scores.append(run.summary()["metrics"]["groundedness"]["mean"])
        signatures.append(run.summary()["metrics"]["groundedness"]["signature"])
        here.append(bool(run.summary()["bill"]["here"]))
        run.store.close()
    assert (scores, here) == ([1.0, pytest.approx(2 / 3)], [True, False])
    assert f"|support:nli/overlap+nli-1#{NliBackend(str(model)).files.digest}.onnxruntime-" in signatures[0]
    assert ",cut=0.9|" in signatures[1]
    assert signatures[1].replace(",cut=0.9", "") == signatures[0]


@pytest.mark.usefixtures("alone")
def test_tune_fits_a_threshold_that_a_run_then_has(tmp_path: Path) -> None:
    """People accept what the model refuses."""
    folder = make_model(tmp_path / "cities", [*map(str, city_records()), *(row.text for row in city_rows())])
    write("labels.jsonl", city_rows())
    found = tune("labels.jsonl", city_records(), f"nli:{folder}", threshold=True, write=True)
    (fit,) = found.thresholds
    assert (fit.before, fit.kappa_before, fit.kappa_after, fit.shown) == (0.5, 0.5, 1, True)
    assert 0.1 <= fit.after < 0.21
    run = evaluate(city_records(), "grounding", "claims=human:labels.jsonl")
    assert f",cut={fit.after:g}|" in run.summary()["metrics"]["grounding"]["signature"]
    assert agree(run, "labels.jsonl")["grounding"].items.kappa == 1
    run.store.close()


# ---- what is read


def test_a_long_context_is_read_in_windows_until_one_entails(judge: NliJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = counted(judge, monkeypatch)
    long = " ".join([FILLER] * 200)
    (verdict,) = rated(judge, ("The pot has a steel lid.",), f"{long} {LID} {long}")
    assert verdict.label == "yes"
    assert len(pairs) <= 2
    assert all(judge.backend.reader.size(premise) <= judge.backend.reader.premise for premise, _ in pairs)
    for claim, label in (("Dogs sleep outside.", "no"), (LIKELY, "yes")):  # at a higher threshold it would be "no"
        pairs.clear()
        (verdict,) = rated(judge, (claim,), f"{long} {LID} {long}", LID)
        assert verdict.label == label
        read = " ".join(premise for premise, _ in pairs)
        assert read.count(FILLER) >= 400
        assert read.count("steel lid") >= 2


def test_a_sentence_longer_than_the_window_is_read_in_parts(judge: NliJudge) -> None:
    long = " ".join(["towels"] * 3000) + " and the pot has a steel lid"
    (verdict,) = rated(judge, ("The pot has a steel lid.",), long)
    assert verdict.label == "yes"
    assert all(long[quote.span.start : quote.span.end] == quote.text for quote in verdict.evidence if quote.span)


def test_numbers_do_not_hang_on_neighbours_threads_or_the_order_of_passages(model: Path, tmp_path: Path) -> None:
    """The model scales its numbers by its batch, as the published quantized ones do: in a batch they would differ."""
    records = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()][:8]

    def probabilities(threads: int, rows: list[dict[str, Any]]) -> dict[str, list[float]]:
        judge = NliJudge("house", str(model))
        judge.backend.threads = judge.backend.concurrency = threads
        run = evaluate(rows, "groundedness", judge, store=tmp_path / f"{threads}-{len(rows)}.db")
        found = {
            result["id"]: [verdict["probability"] for score in result["scores"] for verdict in score["verdicts"]]
            for result in run.results()
        }
        run.store.close()
        return found

    every = probabilities(1, records)
    assert any(values for values in every.values())
    turned = [{**record, "contexts": record["contexts"][::-1]} for record in records[::-1]]
    assert every == probabilities(4, turned)
    assert {name: every[name] for name in probabilities(2, records[:1])} == probabilities(3, records[:1])


# ---- the other steps


def steps(*judges: str) -> dict[str, tuple[str, ...]]:
    spec = resolve(RunOptions(judge=list(judges)))
    return {"": spec.default.judges, **{task: step.judges for task, step in spec.steps.items()}}


def test_what_the_model_cannot_answer_goes_to_the_embedded_judge() -> None:
    writes = dict.fromkeys(("claims", "nuggetize", "importance", "relevance"), ("embedded",))
    assert steps("nli") == {"": ("nli",), **writes}
    assert steps("nli", "relevance=openai:gpt-4o-mini")["relevance"] == ("openai:gpt-4o-mini",)
    assert steps("[nli,openai:gpt-4o-mini]")["claims"] == ("openai:gpt-4o-mini",)
    assert steps("embedded>nli")["claims"] == ("embedded",)
    assert "support" not in steps("embedded>nli")
    assert steps("support=nli") == {"": ("embedded",), "support": ("nli",)}


def test_a_run_has_the_default_metrics_and_names_who_answers(model: Path, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "ragstone", "run", str(EXAMPLES), "-j", f"nli:{model}", "--store", "s.db"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert "claims, relevance: embedded" in told.stdout
    assert "answered by nli/overlap" in told.stdout
    assert "internal error" not in told.stdout
    assert {"grounding", "groundedness", "response_groundedness", "answer_relevance"} <= set(told.stdout.split())


def test_an_estimate_knows_that_it_is_slower(model: Path, tmp_path: Path) -> None:
    records = [{"id": "a", "question": QUESTION, "response": "The lid is steel.", "contexts": [TWINS]}]
    quick, slow = (
        estimate(records, "groundedness", judge, store=tmp_path / "s.db").seconds.expected
        for judge in ("embedded", f"nli:{model}")
    )
    assert slow > 20 * quick


def test_a_cascade_ends_with_it_and_does_not_begin_with_it(model: Path, tmp_path: Path) -> None:
    records = [{"id": "a", "question": QUESTION, "response": "The lid is made of steel.", "contexts": [TWINS]}]
    run = evaluate(records, "groundedness", f"embedded>nli:{model}", store=tmp_path / "s.db")
    assert run.summary()["metrics"]["groundedness"]["mean"] == 1.0
    run.store.close()
    with pytest.raises(ConfigError, match="gives no confidence, so it can only be the last judge"):
        evaluate(records, "groundedness", f"nli:{model}>embedded", store=tmp_path / "s.db")


def test_what_cannot_be_used_is_said_before_a_run(tmp_path: Path) -> None:
    (tmp_path / "ragstone.toml").write_text('[judges.reader]\nprovider = "nli"\nmodel = "a/b"\ntemperature = 1\n')
    for judge, said in (
        ("reader", r"judges\.reader\.temperature has no effect on the judge nli; remove it"),
        ("nli:nowhere", "no such folder; for a model on the Hugging Face hub, write nli:ORG/MODEL"),
        ("nli:", "judge 'nli:' has no model"),
    ):
        records = [{"id": "a", "question": QUESTION, "response": "The lid.", "contexts": [TWINS]}]
        with pytest.raises(ConfigError, match=said):
            evaluate(records, "groundedness", judge, config=tmp_path / "ragstone.toml", store=tmp_path / "s.db")
