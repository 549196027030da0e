"""What a page is made of: rows, groups, the sentence, blocks, and a file that keeps its size and its promises."""

from __future__ import annotations

import base64
import gc
import hashlib
import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from page_blocks import unpacked
from ragstone import Run, evaluate
from ragstone.analysis.counts import OTHER
from ragstone.analysis.run import find_run
from ragstone.judges.base import Judge
from ragstone.judges.embedded.measured import measured
from ragstone.render.facts import Headline, RunFacts, doubts, judges_of
from ragstone.render.html import build, document
from ragstone.render.html.build import report
from ragstone.render.html.document import SCRIPTS, in_markup, page
from ragstone.render.html.overview import FEWEST, overview_of, sentence, worst_group
from ragstone.render.html.rows import BEGINNING, MOST_GROUPS, PageRow, RowCounts, block_of, row_of, text_of
from ragstone.render.text import between, percent
from ragstone.render.wording import about_embedded
from ragstone.stats.points import points, signed
from ragstone.store.database import ResultRow
from ragstone.testing import FakeServer, ScriptedJudge

TRACES = Path(__file__).parents[2] / "examples" / "traces.jsonl"
FOLDER = Path(document.__file__).parent
MEAN = {
    "mean": 0.5, "interval": None, "scored": 2, "signature": "", "units": {"asked": 2, "unjudged": 0},
    "statuses": {"scored": 2},
}  # fmt: skip


def line(position: int, value: float | None = 1.0, **fields: str) -> PageRow:
    return PageRow(position, f"r{position}", "q", "a", {"m": (value, 0)}, fields)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The example traces, weighed."""
    return evaluate(TRACES, "all", store=tmp_path_factory.mktemp("page") / "store.db")


def test_every_page_says_that_the_embedded_judge_is_not_a_language_model(tmp_path: Path) -> None:
    """And how it does on human labels; where it judged alone, and where others judged beside it."""
    second = ScriptedJudge({"support": "3", "claims": ["It is."]}, name="second")
    said = {}
    known = measured()
    half = "compares words and numbers; it is not a language model"
    whole = (
        f"{half}. On {known.sets} public datasets, it ranks a supported claim above an unsupported one in "
        f"{100 * known.auroc:.0f} of 100 pairs (a word-overlap baseline: {100 * known.floor:.0f})"
    )
    choices: dict[str, list[str | Judge]] = {
        "alone": ["embedded"], "panel": ["embedded", "support=[embedded,second]", second], "without": [second],
    }  # fmt: skip
    for name, judges in choices.items():
        found = evaluate(TRACES, "grounding", judges, store=tmp_path / f"{name}.db")
        facts = overview_of(RunFacts(found), RowCounts())["facts"]
        said[name] = [fact["note"] for fact in facts if fact["label"] == "Judge"]
    assert said["alone"] == [f"It {whole}."]
    assert [note for note in said["panel"] if note] == [f"The embedded judge {whole}."]
    assert said["without"] == [""]
    entry = {"signature": "grounding|claims:m|support:embedded+embedded-3#000000|v:0.1.0"}
    assert about_embedded({"metrics": {"grounding": entry}}) == half, "the figure is of another model"


def test_a_reply_that_a_repair_made_good_is_not_said_to_be_lost(tmp_path: Path) -> None:
    """The count is of all replies; whether a repair call helped is told by ``ragstone formats``."""
    with FakeServer(script=["Sorry, no."]) as server:
        judge = f"vllm:m@{server.url}"
        run = evaluate(TRACES, "response_groundedness", judge, limit=1, concurrency=1, store=tmp_path / "s.db")
    counts = RowCounts()
    assert len(list(counts.rows(run.results()))) == 1
    assert (counts.replies, counts.unread) == (2, 1)
    facts = overview_of(RunFacts(run), counts)["facts"]
    (note,) = [fact["note"] for fact in facts if fact["label"] == "Unparsed"]
    assert note == "not parsed in full; replies to repair calls are included"
    assert run.summary()["metrics"]["response_groundedness"]["scored"] == 1


# ---- rows and groups


def test_a_search_sees_each_text_once() -> None:
    """Whole, with passages and units in words of their own; not a unit that the response says in those words."""
    response = f"It boils.{' And it whistles.' * 20}"
    units = ("It boils.", "The kettle boils.", "The kettle boils.", None)
    result = {
        "id": "r", "position": 1, "question": "Does it?", "response": response, "reference": "Does it?",
        "contexts": [{"id": "p", "rank": 1, "text": "Kettles."}], "units": [{"text": text} for text in units],
    }  # fmt: skip
    assert text_of(result) == f"r\nDoes it?\n{response}\nKettles.\nThe kettle boils."
    assert text_of({"id": "bad", "position": 2, "set_aside": "no JSON", "scores": []}) == "bad\nno JSON"


@given(st.text(max_size=400), st.text(max_size=400))
def test_a_row_is_short_whatever_the_texts_are(question: str, identity: str) -> None:
    """One line of each text, cut where it is long."""
    row = row_of({"id": identity, "position": 1, "question": question, "response": None, "scores": [], "meta": {}})
    assert len(row.question) <= BEGINNING
    assert len(row.id) <= 200
    assert row.question.removesuffix("…") in " ".join(question.split())


def test_fields_are_offered_where_they_make_groups() -> None:
    """Not one with a value of its own for every record, one for all but one, or too many; the fullest goes first."""
    fields = RowCounts()
    for number in range(60):
        values = {"topic": str(number % 4), "unique": str(number), "same": "x", "but_one": str(number == 7)}
        if number % 2:
            values["half"] = str(number % 3)
        fields.add(PageRow(number, "r", "", "", {}, values))
    assert fields.names == ["topic", "half"]
    fields = RowCounts()
    for number in range(10 * (MOST_GROUPS + 1)):
        fields.add(line(number, user=str(number % (MOST_GROUPS + 1)), kind=str(number % MOST_GROUPS)))
    assert fields.names == ["kind"]


def test_what_groups_a_record() -> None:
    """Short texts, whole numbers, yes and no, one level deep; no long text, list or fraction."""
    meta = {"a": "x", "b": 3, "c": True, "d": {"e": "y", "f": {"g": "z"}}, "h": "w" * 81, "i": [1], "j": 0.5, "k": ""}
    row = row_of({"id": "r", "position": 1, "scores": [], "meta": meta})
    assert row.fields == {"a": "x", "b": "3", "c": "true", "d.e": "y"}


def test_rows_are_columns_and_a_score_that_is_not_there_is_none() -> None:
    """A record that could not be read has no score, and says that it was set aside."""
    lost = row_of({"id": "bad", "position": 2, "set_aside": "no JSON", "scores": []})
    half = {"metric": "n", "value": 0.5, "status": "partial", "verdicts": []}
    rows = [
        row_of({"id": reason, "position": 3, "scores": [{**half, "reason": f"{reason}: cut off"}]})
        for reason in ("1 of 2 unjudged", "2 of 3 unjudged", "down")
    ]
    named = block_of(rows, ["n"], [], ["down: cut off", "cut off", "down: cut off"])
    assert named["reasons"] == {"n": [2, 2, 1]}
    assert block_of(rows, ["n"], [], ["cut off", OTHER])["reasons"] == {"n": [1, 1, 2]}
    rows = [row_of({"id": "r", "position": 3, "scores": [{**half, "reason": f"9 tokens, not {n}"}]}) for n in (1, 2)]
    assert block_of(rows, ["n"], [], ["cut off", "9 tokens, not N"])["reasons"] == {"n": [2, 2]}
    block = block_of([line(1, 0.25, kind="x"), lost], ["m"], ["kind"], [])
    assert block["reasons"] == {}
    assert block["values"] == {"m": [0.25, None]}
    assert block["statuses"] == {"m": [0, -1]}
    assert block["fields"] == {"kind": ["x", None]}
    assert block["set_aside"] == [1]
    assert block["response"][1] == "no JSON"


# ---- the sentence


def grouped(*rows: PageRow) -> RowCounts:
    found = RowCounts("m")
    for row in rows:
        found.add(row)
    return found


def test_the_worst_group_stands_out_or_is_not_named() -> None:
    """It needs five records, another group beside it, and an interval of its own below the mean of the whole."""
    few = [line(n, 0.0, kind="few") for n in range(FEWEST - 1)]
    low = [line(n, 0.1, kind="low") for n in range(FEWEST)]
    high = [line(n, 0.9, kind="high") for n in range(FEWEST)]
    lost = [line(n, None, kind="few") for n in range(FEWEST)]
    group = worst_group(grouped(*few, *lost, *low, *high), 0.5)
    assert group is not None
    assert (group.value, group.count) == ("low", FEWEST)
    assert worst_group(grouped(*few, *high), 0.9) is None
    assert worst_group(grouped(*[line(n, 0.5, kind=str(n % 2)) for n in range(20)]), 0.5) is None
    assert worst_group(grouped(*[line(n, n % 2) for n in range(20)]), 0.5) is None


def test_a_group_of_few_and_scattered_records_is_not_the_worst() -> None:
    """Its mean is lower than the whole's, its interval holds it."""
    scattered = [line(n, value, kind="scattered") for n, value in enumerate((0.0, 0.2, 1.0, 1.0, 1.0, 1.0))]
    rest = [line(n, 0.8 + n % 2 / 10, kind="rest") for n in range(60)]
    assert worst_group(grouped(*scattered, *rest), 0.84) is None


def test_a_group_without_spread_is_held_against_that_of_all() -> None:
    """Five at nothing say much where nearly all are at one, and little where nearly all are at nothing too."""
    nothing = [line(n, 0.0, kind="nothing") for n in range(FEWEST)]
    most = [line(n, float(n % 10 > 0), kind="other") for n in range(40)]
    fewest = [line(n, float(n % 10 == 0), kind="other") for n in range(40)]
    group = worst_group(grouped(*nothing, *most), 36 / 45)
    assert group is not None
    assert group.value == "nothing"
    assert worst_group(grouped(*nothing, *fewest), 4 / 45) is None


def test_the_worst_group_is_looked_for_in_every_field() -> None:
    """The lowest of those that are the lowest of their field and stand out, in whatever order fields are offered."""
    for low, half in (("a", "z"), ("z", "a")):
        rows = [
            line(n, 0.2 + n % 3 / 10 if n < 12 else 0.9 + n % 2 / 20, **{low: str(n // 36), half: str(n % 2)})
            for n in range(72)
        ]
        groups = grouped(*rows)
        assert groups.names == ["a", "z"]
        group = worst_group(groups, sum(groups.values()[""]) / len(rows))
        assert group is not None
        assert (group.field, group.value, group.count) == (low, "0", 36)


@pytest.mark.parametrize(("values", "empty", "said"), [
    ([1.0, 1.0], 0, "Every claim is supported."),
    ([1.0, 0.5], 0, "1 response has at least one claim that is not supported."),
    ([0.0, 0.5], 0, "2 responses have at least one claim that is not supported."),
    ([0.0, 0.5], 1, "2 responses are below 100%."),
])  # fmt: skip
def test_the_sentence_counts_and_agrees(values: list[float], empty: int, said: str) -> None:
    """Every number is that of its records, and the verb follows it; an empty one that counts as 0 has no claims."""
    metric = {**MEAN, "mean": sum(values) / 2, "statuses": {"scored": 2 - empty, "empty": empty}}
    parts = sentence(2, Headline("grounding", metric, sum(value < 1 for value in values)), (), None)
    text = "".join(part["text"] for part in parts).replace("\u00a0", " ")
    assert "(2 records). " in text
    assert text.endswith(said)


def test_the_sentence_stands_on_what_has_a_value() -> None:
    """Records that were set aside, lack a field or hold nothing to judge are not in its mean, and it says so."""
    parts = sentence(
        28, Headline("grounding", {**MEAN, "scored": 21, "statuses": {"scored": 21, "empty": 7}}, 0), (), None
    )
    said = "".join(part["text"] for part in parts).replace("\u00a0", " ")
    assert said.startswith("On average, 50% of a")
    assert "(21 of 28 records). Every claim" in said
    part = Headline("grounding", {**MEAN, "units": {"asked": 8, "unjudged": 1}}, 0)
    assert part.short == "Every judged claim is supported"


def test_the_sentence_doubts_a_mean_of_the_easy_part() -> None:
    """A last judge that answered nothing of what was left to it is named, and one that left some where that shows."""
    metric = {**MEAN, "low": 0.5, "high": 0.5}
    house = "house/m@http://127.0.0.1:1/v1"
    cascade = {"judges": ["embedded", house], "answered": {"embedded": 6, house: 0}, "unjudged": 2}
    answered = {**cascade, "answered": {"embedded": 6, house: 1}}
    told = [
        "".join(part["text"] for part in sentence(2, Headline("grounding", metric, 0), doubted, None))
        for one, high in ((cascade, 0.5), (answered, 0.5), (answered, 0.75))
        for doubted in [doubts({"support": one}, {**metric, "high": high})]
    ]
    assert told[0].endswith(
        ". house/m judged none of the support units passed to it; the mean covers only the easy units."
    )
    assert "But" not in told[1]
    left = ". house/m left 2 of the 3 support units passed to it unjudged"
    assert told[2].replace("\u00a0", " ").endswith(f"{left}; the mean favours the easy units.")


# ---- the file


def told(record: dict[str, Any]) -> list[Any]:
    """What a result and its case on a page both say."""
    texts = [record[key] for key in ("id", "question", "response", "contexts", "reference")]
    verdicts = [(one["label"], one.get("value"), [quote.get("start") for quote in one.get("evidence", ())])
                for score in record["scores"] for one in score["verdicts"]]  # fmt: skip
    return [*texts, [(score["metric"], score["value"], score["status"]) for score in record["scores"]], verdicts]


def test_a_page_holds_the_whole_run(run: Run) -> None:
    """Every record with its line, its texts and its calls, lowest first, and the overview that the summary gives."""
    data = b"".join(report(run))
    found = unpacked(data)
    first = found["first"]
    results = {result["position"]: result for result in run.results()}
    assert sorted(found["rows-0"]["position"]) == sorted(results)
    assert first["records"] == len(results)
    shown = {metric["name"]: metric for metric in first["metrics"]}
    for name, metric in run.summary()["metrics"].items():
        assert shown[name]["mean"] == metric["mean"]
        assert sum(shown[name]["bins"]) == metric["scored"]
    cases = {
        position: found[f"cases-{number}"][place]
        for number, positions in enumerate(first["cases"])
        for place, position in enumerate(positions)
    }
    assert cases.keys() == results.keys()
    for position, result in results.items():
        assert told(cases[position]) == told(result)
    calls = [
        call for number, positions in enumerate(first["calls"]) for place in range(len(positions))
        for call in found[f"calls-{number}"][place]
    ]  # fmt: skip
    assert len(calls) == sum(len(result["calls"]) for result in results.values())
    assert None not in calls
    texts = dict(found["texts-0"])
    assert first["text_blocks"] == 1
    assert texts == {position: text_of(result) for position, result in results.items()}
    order = [position for positions in first["cases"] for position in positions]
    values = {row.position: row.value for row in run.store.scores(run.id, first["ranked"])}
    known = [value for position in order if (value := values[position]) is not None]
    assert known == sorted(known)
    assert values[order[-1]] is None


def test_a_file_keeps_its_size(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raw calls go first, then the records that did best; the table stays whole."""
    monkeypatch.setattr(build, "CHUNK", 20_000)
    whole = len(b"".join(report(run)))
    without = len(b"".join(report(run, calls=False)))
    assert without < whole
    for largest in (whole - 10_000, without - 10_000):
        data = b"".join(report(run, largest=largest))
        assert len(data) <= largest
        found = unpacked(data)
        kept = [position for positions in found["first"]["cases"] for position in positions]
        assert len(found["rows-0"]["position"]) == 22
        assert (len(kept) == 22) == (largest > without)
        assert kept


def test_a_page_of_many_records_holds_the_lowest_and_figures_of_all(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more rows are ever in memory than the page has; its fields, sentence and bins are those of all records."""
    whole = unpacked(b"".join(report(run)))
    alive = []

    def counted(result: Any) -> PageRow:
        alive.append(sum(isinstance(one, PageRow) for one in gc.get_objects()))
        return row_of(result)

    monkeypatch.setattr(build, "MOST_ROWS", 5)
    monkeypatch.setattr("ragstone.render.html.rows.row_of", counted)
    gc.freeze()  # else each count goes through all objects of the test session
    found = unpacked(b"".join(report(run)))
    gc.unfreeze()
    monkeypatch.undo()
    lowest = [position for positions in whole["first"]["cases"] for position in positions][:5]
    assert found["rows-0"]["position"] == sorted(lowest)
    assert max(alive) - alive[0] <= 6
    for name in ("sentence", "metrics", "fields", "records"):
        assert found["first"][name] == whole["first"][name]
    without = len(list(run.results())) - len(run.store.worst(run.id, whole["first"]["ranked"], 99))
    assert without
    monkeypatch.setattr(build, "MOST_ROWS", 21)
    found = unpacked(b"".join(report(run)))
    assert len(found["rows-0"]["position"]) == 21


def test_ten_thousand_records_are_under_fifty_megabytes(tmp_path: Path) -> None:
    """As many as a report is made for, each with texts and verdicts of its own."""
    few = evaluate(TRACES, "groundedness", store=tmp_path / "store.db")
    results = list(few.results())
    number = few.store.start_run("many", dict(few.spec))
    rows = []
    for place in range(1, 10_001):
        result = {**results[place % len(results)], "id": f"r{place}", "position": place}
        result["response"] = f"{result['response']} {hashlib.sha512(str(place).encode()).hexdigest() * 4}"
        scores = [
            score._replace(position=place)
            for score in few.store.scores(few.id, after=place % len(results), until=place % len(results) + 1)
        ]
        rows.append((number, ResultRow(place, f"r{place}", orjson.dumps(result)), scores))
    few.store.begin()
    few.store.insert([], rows)
    few.store.commit()
    parts = report(find_run(few.store, number))
    assert sum(map(len, parts)) < 50_000_000
    first = unpacked(b"".join(parts))["first"]
    assert sum(map(len, first["cases"])) == 10_000


@given(st.recursive(st.text() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_data_cannot_end_their_element(value: Any) -> None:
    """No ``<`` stands in them, and they are what they were."""
    try:
        data = orjson.dumps(value)
    except TypeError:  # half of a character, which no stored result holds
        return
    written = in_markup(data)
    assert b"<" not in written
    assert json.loads(written) == value


def test_a_page_allows_its_own_script_and_nothing_else(run: Run) -> None:
    """The policy names the hashes of the one script and the one style, and no source."""
    for kind, live in (("run", False), ("run", True), ("compare", False)):
        text = b"".join(page(kind, "</title><script>", {}, (), live=live)).decode()
        policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', text)[0])
        scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
        (script,) = scripts
        hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (script, style)]
        assert policy.split("; ")[:3] == [
            "default-src 'none'", f"script-src 'sha256-{hashes[0]}'", f"style-src 'sha256-{hashes[1]}'",
        ]  # fmt: skip
        assert ("connect-src 'self'" in policy) == live
        assert "unsafe" not in policy
        assert "http" not in re.sub(r"http-equiv|http://www\.w3\.org/2000/svg", "", text)


def test_commands_of_a_page_find_its_run_wherever_its_store_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the usual place nothing is said of the store; elsewhere its path, as a shell reads it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGSTONE_STORE", raising=False)
    for store, said in ((None, ""), ("my <own> {title}.db", "--store 'my <own> {title}.db'")):
        run = evaluate(TRACES, "context_relevance", store=store, name="named")
        written = b"".join(report(run))
        assert unpacked(written)["first"]["store"] == said
        (unscripted,) = re.findall(r"<noscript>(.*)</noscript>", written.decode())
        assert html.unescape(unscripted).endswith(f"with: ragstone show {run.id} {said}".rstrip() + "</p>")
        assert "<own>" not in unscripted


def test_every_script_is_part_of_a_page() -> None:
    """No file is forgotten, none is named that is not there, and none reads data as markup."""
    files = {path.stem: path.read_text(encoding="utf-8") for path in (FOLDER / "js").glob("*.js")}
    assert {name for names in SCRIPTS.values() for name in names} == set(files)
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc")
    assert [(name, word) for name, text in files.items() for word in forbidden if word in text] == []
    assert [name for name, text in files.items() if not text.startswith("// ")] == []
    assert [name for name, text in files.items() if len(text.splitlines()) > 600] == []


@pytest.mark.parametrize("kind", list(SCRIPTS))
def test_the_script_is_valid(tmp_path: Path, kind: str) -> None:
    """As Node reads it, where there is one; the parts are put together as in a page."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    text = b"".join(page(kind, "x", {}, ())).decode()
    path = tmp_path / "page.js"
    path.write_text(re.findall(r"<script>(.*?)</script>", text, re.DOTALL)[0], encoding="utf-8")
    done = subprocess.run([node, "--check", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_percentages_are_those_of_the_terminal() -> None:
    """All shares of up to 40 units, and of 1,000 and 1,600, which end in halves; with and without decimals."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    exact = [(k / n, few) for n in [*range(1, 41), 1000, 1600] for k in range(n + 1) for few in (10, 1000)]
    cases = [*exact, *((round(value, 9) - 4e-10, few) for value, few in exact)]
    assert points(0.375) == points(sum([0.333333333, 0.416666666]) / 2) == "38"
    script = (FOLDER / "js" / "numbers.js").read_text(encoding="utf-8")
    apart = [k / 80 for k in range(-801, 802)]
    narrow = [(0.9997, 0.9995, 0.9998), (0.4563, 0.4562, 0.4564), (0.5, 0.5, 0.5), (0.999999, 0.999998, 0.999999)]
    said = (
        f"const shares = {json.dumps(cases)}.map(([value, units]) => points(value, units));"
        f"const signs = {json.dumps(apart)}.map((value) => signed(value));"
        f"const ends = {json.dumps(narrow)}.map(([mean, ...ends]) => percent(mean, 1e6, ends) + between(...ends, 1e6));"
        "console.log(JSON.stringify([shares, signs, ends]))"
    )
    done = subprocess.run([node, "-"], check=True, stdout=subprocess.PIPE, text=True, input=f"{script}\n{said}")
    shares, signs, ends = json.loads(done.stdout)
    assert shares == [points(value, units) for value, units in cases]
    assert [text.replace("\u2212", "-") for text in signs] == [signed(value) for value in apart]
    assert ends == [percent(mean, 10**6, (low, high)) + between(low, high, 10**6) for mean, low, high in narrow]


@pytest.mark.parametrize(("steps", "chosen", "judges"), [
    ({"claims": "a", "support": "b"}, "grounding", ["a", "b"]),
    ({"support": "b"}, "grounding", ["embedded", "b"]),
    ({"nuggetize": "c"}, "grounding", ["embedded"]),
    ({"support": "b"}, "refmatch", []),
    ({"support": "b"}, "one that is not installed", ["b"]),
])  # fmt: skip
def test_only_judges_that_a_run_uses_are_named(steps: dict[str, str], chosen: str, judges: list[str]) -> None:
    """Not the default judge if each step has another, nor that of a step that no metric has."""
    routes = {step: {"judges": [name]} for step, name in steps.items()}
    assert judges_of({"default": {"judges": ["embedded"]}, "steps": routes, "chosen": [chosen]}) == judges
