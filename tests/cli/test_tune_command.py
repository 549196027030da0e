"""``ragstone tune``: its screen at every width, its JSON, and when it asks, stops or has nothing to say."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import WIDTHS, done, pasted, ragstone

from labelled import city_records, city_rows, two_models, write
from ragstone.cli import tune_commands
from ragstone.testing import FakeServer

pytestmark = pytest.mark.usefixtures("alone")

TUNE = ("tune", "labels.jsonl", "records.jsonl")
STYLES = ("-j", "good", "-j", "bad", "--styles", "default,no_reasoning,short_cot", "--formats", "json,yaml")


@pytest.fixture
def judged(server: FakeServer) -> FakeServer:
    return two_models(server, 4)


def test_the_screen_says_who_agrees_best_what_is_noise_and_what_to_type(judged: FakeServer) -> None:
    """The same sentences at every width, and the command under Next writes the winner."""
    for width in WIDTHS:
        came = done(*TUNE, *STYLES, columns=width)
        assert came.flat.startswith("No significant winner; chosen: good with short_cot and ")
        assert ", kappa 1.00 (95% CI -.26 to 1.00) on 2 held-out records." in came.flat
        assert "No significant difference from any of 7 others" in came.flat
        assert " nuggets from 4 records" in came.flat
        assert "4 combinations left out" in came.flat
        assert "does not support format 'yaml'" in came.flat
        heads, first = (line.split() for line in came.out.split("\n  judge ")[1].splitlines()[:2])
        assert heads[2].startswith("tuning"), "the table is sorted by it"
        assert first[3:5] == ["1.00", "1.00"]
    assert judged.count == 8 * 4
    options = ["--set", "nugget_recall.threshold=0.7", "--structured", "off", "--on-error", "skip"]
    (words,) = pasted(ragstone(*TUNE, *STYLES, *options).out)
    assert words[-1] == "--write"
    written = ragstone(*words)
    assert 'Added to ragstone.toml [judges.good.prompts] assign = "short_cot"' in written.flat
    (following,) = pasted(written.out)
    assert following[:4] == ["run", "records.jsonl", "-m", "nugget_recall"]
    assert sorted(following[4:]) == sorted(options), "the run is what was measured"
    other = ragstone(*TUNE, "-j", "bad", "--styles", "short_cot", "--write", "-q")
    assert (other.code, other.flat.startswith("bad with short_cot, kappa ")) == (2, True)
    assert other.err.startswith('error: ragstone.toml sets steps.assign to "good", not "bad"')
    assert judged.count == 8 * 4  # json is the format of that style by itself


def test_the_estimate_comes_first_and_what_is_refused_sends_nothing(
    judged: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a terminal it asks before it spends money, unless told not to; where nobody sits it does not."""
    monkeypatch.setattr(tune_commands, "at_a_terminal", lambda: True)
    came = ragstone(*TUNE, *STYLES)  # the input is empty, which is no
    assert (came.code, judged.count) == (130, 0)
    assert "8 combinations would make about 32 calls; cost: $0.0" in " ".join(came.err.split())
    assert came.err.endswith("nothing was sent\n")
    came = ragstone(*TUNE, *STYLES, "--yes", "-q", "--json")
    assert (came.code, judged.count, came.err) == (0, 32, "")
    assert (came.json["winner"]["judge"], came.json["bill"]["calls"], came.json["written"]) == ("good", 32, None)
    assert ragstone(*TUNE, *STYLES, "-q").code == 0  # all replies are there


def test_offline_says_what_it_lacks_and_writes_nothing(judged: FakeServer) -> None:
    before = Path("ragstone.toml").read_bytes()
    came = ragstone(*TUNE, "-j", "good", "--styles", "legacy", "--offline", "--write", "-q")
    assert came.code == 3
    assert came.flat.startswith("No unit was judged, so there is nothing to compare.")
    assert "offline: 4 calls have no stored reply" in " ".join(came.err.split())
    assert Path("ragstone.toml").read_bytes() == before
    assert judged.count == 0


def test_a_budget_is_left_with_4_and_a_bad_style_with_one_line(judged: FakeServer) -> None:
    came = ragstone(*TUNE, *STYLES, "--max-calls", "5", "-q")
    assert (came.code, judged.count) == (4, 5)
    came = ragstone(*TUNE, "-j", "good", "--styles", "short_cut")
    assert came.code == 2
    assert came.err.startswith("error: no prompt style 'short_cut' for the step 'assign'; known: ")


def test_a_fitted_threshold_is_said_with_what_it_gains() -> None:
    write("labels.jsonl", city_rows())
    write("records.jsonl", city_records())
    came = done(*TUNE, "-j", "embedded", "--threshold", "--write", "-q")
    assert "Lowering the threshold from 0.5 to 0.39 changes kappa from .50 to 1.00 (95% CI .18–1.00)" in came.flat
    assert "a significant gain" in came.flat
    assert 'Added to ragstone.toml [judges.tuned_support] provider = "embedded" threshold = 0.39' in came.flat
