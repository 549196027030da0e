"""Texts and numbers for a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from ragstone.analysis.counts import MOST, OTHER, Causes
from ragstone.cli.progress import drawn
from ragstone.engine.tally import Tally
from ragstone.judges.base import Usage
from ragstone.render.agreement import kappa_said
from ragstone.render.facts import cost_said
from ragstone.render.terminal.screen import MARKS, Look, page, screen
from ragstone.render.terminal.tables import Column, fitting, table, used
from ragstone.render.text import (
    NBSP,
    between,
    clean,
    dollars,
    duration,
    flat,
    middle,
    paragraph,
    percent,
    short_id,
    shorten,
    tokens,
)
from ragstone.render.watch import Watch
from ragstone.render.wording import kind_of
from ragstone.stats.points import points, signed
from ragstone.types import Score


@given(st.text(alphabet=st.characters(codec=None)))
def test_clean_text_commands_nothing(text: str) -> None:
    """No escape, no control but line ends, no direction override, no invisible tag, and it can be written."""
    for character in clean(text):
        code = ord(character)
        assert character == "\n" or not (code < 0x20 or 0x7F <= code <= 0x9F)
        assert not any(low <= code <= high for low, high in ((0x202A, 0x202E), (0x2066, 0x2069), (0xE0000, 0xE007F)))
    clean(text).encode("utf-8")


@given(st.text(alphabet=st.characters(exclude_categories=["C", "Z"])))
def test_clean_text_stays(text: str) -> None:
    """What a terminal prints as it is, in any script, is not touched."""
    assert clean(text) == text


def test_line_ends_are_one_kind() -> None:
    """And none moves the cursor back over what was printed."""
    assert clean("a\r\nb\rc\x85d\u2028e\tf") == "a\nb\nc\nd\ne    f"
    assert flat(" a\n\n b\t") == "a b"


@given(st.text(), st.integers(4, 60))
def test_shortened_text_fits(text: str, cells: int) -> None:
    """Whatever the script, and texts that fit are left alone."""
    for shortened in (shorten(flat(text), cells), middle(flat(text), cells), shorten(flat(text), cells, "...")):
        assert cell_len(shortened) <= cells
    if cell_len(flat(text)) <= cells:
        assert shorten(flat(text), cells) == flat(text)


def test_shortening_ends_at_a_word() -> None:
    """Where one ends near the limit."""
    assert shorten("the kettle is made of stainless steel", 26) == "the kettle is made of…"
    assert shorten("the kettle is made", 11) == "the kettle…"
    assert shorten("it holds water. It is", 16) == "it holds water…"
    assert shorten("the kettle is made (probability 0.30)", 25) == "the kettle is made…"
    assert middle("mtragun-18ef26058d321c5d<::>7", 16) == "mtragun-…5d<::>7"


@pytest.mark.parametrize(("write", "values", "said"), [
    # Not all is not 100, and something is not 0; a decimal from a thousand on.
    (points, (0.0, 0.001, 0.5, 0.814, 0.999, 1.0, None), ["0", "1", "50", "81", "99", "100", "-"]),
    (partial(percent, count=2000), (0.8137,), ["81.4%"]),
    (partial(points, count=1000), (0.99999,), ["99.9"]),
    # Money is never nothing unless it is.
    (dollars, (None, 0.0, 1.5, 0.0123, 0.00042, 1e-9),
     ["cost unknown", "free", "$1.50", "$0.012", "$0.000420", "under $0.000001"]),
    (tokens, (0, 999, 1200, 123_456, 3_100_000), ["0", "999", "1.2k", "123k", "3.1M"]),
    (duration, (0.84, 42, 187, 3727), [f"0.8{NBSP}s", f"42{NBSP}s", "3:07", "1:02:07"]),
])  # fmt: skip
def test_numbers_are_written_as_people_read_them(write: Callable[..., str], values: Any, said: list[str]) -> None:
    assert [write(value) for value in values] == said


def test_an_interval_that_is_no_point_does_not_look_like_one() -> None:
    """It has more decimals, and so has its mean."""
    for mean, low, high, said in (
        (0.9997, 0.9995, 0.9998, "99.97% 99.95\u201399.98"),
        (0.0001, 0.00001, 0.00039, "0.01% 0.01\u20130.04"),
        (0.4563, 0.4562, 0.4564, "45.63% 45.62\u201345.64"),
        (0.81, 0.79, 0.83, "81.0% 79.0\u201383.0"),
        (1.0, 1.0, 1.0, "100.0% 100.0\u2013100.0"),
    ):
        assert f"{percent(mean, 10**6, (low, high))} {between(low, high, 10**6)}" == said
    assert [signed(value, (0.011, 0.043)) for value in (0.03, 0.011, 0.043)] == ["+0.03", "+0.01", "+0.04"]
    assert [signed(value, (-0.001, 0.002)) for value in (0.0, -0.001, 0.002)] == ["0.000", "-0.001", "+0.002"]
    assert kappa_said(0.9932, (0.9921, 0.9944)) == ".993 (95% CI .992\u2013.994)"


@pytest.mark.parametrize(
    ("known", "uncounted", "said"),
    [
        (0.042, 2, "at least $0.042; 9 tokens in, 3 out; 2 calls returned no token counts"),
        (0.042, 0, "at least $0.042; 9 tokens in, 3 out; price unknown for 2 calls"),
        (None, 2, "unknown; 9 tokens in, 3 out; 2 calls returned no token counts"),
        (None, 0, "price unknown; 9 tokens in, 3 out"),
    ],
)
def test_what_is_known_of_a_cost_is_said(known: float | None, uncounted: int, said: str) -> None:
    """A price may be known where the tokens are not, as for one judge of a panel."""
    paid = {"calls": 5, "dollars": None, "input_tokens": 9, "output_tokens": 3, "unmetered_calls": uncounted}
    steps = [{"dollars": known, "calls": 3}, {"dollars": None, "calls": 2}]
    assert flat(cost_said({"paid": paid, "lost": {"attempts": 0}, "by_step": steps})) == said


def test_paragraphs_keep_numbers_with_their_units() -> None:
    """A line never ends between them."""
    text = f"The contexts support 81{NBSP}claims of the response."
    lines = paragraph(text, 24)
    assert any("81 claims" in line for line in lines)
    assert all(len(line) <= 24 for line in lines)


@given(st.lists(st.text("ab…漢", max_size=30), min_size=4, max_size=4), st.integers(11, 100))
def test_columns_give_way_in_their_order(names: list[str], room: int) -> None:
    """The first to be dropped goes first, a name is shortened only as far as need be, and what stays has room."""
    name, *others = (Column("", [text]) for text in names)
    name = replace(name, least=8)
    columns = [name, *(replace(column, drop=drop) for drop, column in enumerate(others, 1))]
    kept = fitting(columns, room, Look())
    drops = [column.drop for column in kept[1:]]
    assert drops == [1, 2, 3][3 - len(drops) :]
    assert used([replace(column, least=0) for column in kept]) <= room
    assert len(drops) == 3 or used([name, *columns[3 - len(drops) :]]) > room
    if sum(column.width + 2 for column in columns) - 2 <= room:
        assert kept == columns


def test_what_does_not_break_is_printed_as_plain_spaces() -> None:
    """An ASCII terminal has no sign for the space between a number and its unit; a cell obeys no markup."""
    with io.TextIOWrapper(io.BytesIO(), encoding="ascii") as file:
        screen(file).print(page(table([Column("", [f"5{NBSP}kB [bold]x[/]"])])))
        file.seek(0)
        assert file.read().strip() == "5 kB [bold]x[/]"


@pytest.mark.parametrize(
    ("label", "value", "kind"),
    [
        ("yes", 1.0, "yes"),
        ("2", 0.5, "partly"),
        ("0", 0.0, "no"),
        (None, None, "unjudged"),
        ("trivial", None, "trivial"),
    ],
)
def test_every_verdict_has_a_sign_of_its_own(label: str | None, value: float | None, kind: str) -> None:
    """So that colour is never needed to tell them apart."""
    assert kind_of({"label": label, "value": value}) == kind
    signs, plain, _ = zip(*MARKS.values(), strict=True)
    assert len(set(signs)) == len(set(plain)) == len(MARKS)
    assert all(sign.isascii() for sign in plain)


def test_whiskers_are_as_wide_as_they_should_be() -> None:
    """At both ends of the scale, with and without an interval; in ASCII by other signs of the same width."""
    for mean in (0.0, 0.5, 1.0):
        for interval in (None, (max(0.0, mean - 0.1), min(1.0, mean + 0.1))):
            drawn = Look().whisker(mean, interval, 21)
            assert drawn.cell_len == 21
            with io.TextIOWrapper(io.BytesIO(), encoding="ascii") as file:
                screen(file).print(drawn)
                file.seek(0)
                assert set(file.read().strip()) <= set("-=o")


def test_the_width_is_that_of_the_terminal_within_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are not longer than can be read, and a dumb terminal is believed its width."""
    monkeypatch.setenv("COLUMNS", "300")
    assert screen(io.StringIO()).width == 100
    monkeypatch.setenv("COLUMNS", "64")
    monkeypatch.setenv("TERM", "dumb")
    assert screen(io.StringIO()).width == 64


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_progress_fits_and_says_what_is_done(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records, calls, speed, tokens, money, time left."""
    now = [100.0]
    monkeypatch.setattr("ragstone.render.watch.time.monotonic", lambda: now[0])
    tally = Tally()
    watch = Watch(tally, 500, "a-very-long-name-of-an-input-file.jsonl")
    assert "left" not in watch.line()
    tally.records, tally.replayed, tally.retried = 100, 7, 3
    for _ in range(90):
        tally.pay("j", "support", Usage(1000, 100), 0.001)
    now[0] += 10
    bar, below = drawn(watch, Look(columns))
    assert bar.cell_len <= columns
    assert below.cell_len <= columns
    assert "100 of 500" in bar.plain
    assert "40 s left" in bar.plain
    assert "90 calls · 7 replayed · 3 retried" in below.plain
    line = watch.line()
    for part in ("100 of 500 records", "9.7/s", "90.0k in, 9.0k out", "$0.090", "40 s left"):
        assert part in line


@pytest.mark.parametrize(("columns", "lines"), [(40, 3), (60, 3), (120, 2)])
def test_progress_says_what_limits_the_run(columns: int, lines: int) -> None:
    """Behind the counts where there is room, else on a line of its own; and gone with the limit."""
    tally = Tally(sent=90, replayed=7, retried=30)
    held = ["600 requests a minute"]
    tally.limit = lambda: held[0]
    watch = Watch(tally, 500, "records.jsonl")
    found = drawn(watch, Look(columns))
    assert len(found) == lines
    assert all(line.cell_len <= columns for line in found)
    assert found[-1].plain.endswith("limit: 600 requests a minute")
    assert watch.line().endswith("limit: 600 requests a minute")
    held[0] = ""
    assert len(drawn(watch, Look(columns))) == 2
    assert "limit" not in watch.line()


def test_causes_are_counted_without_their_counts_and_within_bounds() -> None:
    """What is simply scored is no cause, and a flood of different reasons does not grow."""
    causes = Causes()
    causes.add([Score("m", "1", 1.0, "scored"), Score("m", "1", 0.5, "partial", reason="1 of 2 unjudged: cut off")])
    causes.add([Score("m", "2", 0.5, "partial", reason="2 of 3 unjudged: cut off")])
    assert causes.as_json() == [{"metric": "m", "status": "partial", "reason": "cut off", "count": 2}]
    for number in range(3 * MOST):
        causes.add([Score("m", "3", None, "judge_failed", reason=f"reason r{number}")])
    assert len(causes.as_json()) <= MOST + 1
    assert causes.as_json()[0]["reason"] == OTHER


def test_causes_that_differ_in_their_numbers_are_one() -> None:
    """Numbers that all of them have stay, and so do a status and the number of a model."""
    causes = Causes()
    for model, size in (("j2", 9), ("j2", 1_234), ("j2", 9), ("j3", 9)):
        reason = f"1 of 2 unjudged: {model}: HTTP 400: at most 128 tokens, got {size:,}."
        causes.add([Score(name, "1", None, "judge_failed", reason=reason) for name in ("m", "n")])
    causes.add([Score("m", "1", None, "judge_failed", reason="j2: HTTP 401: at most 128 tokens, got 9.")])
    assert [(one["reason"], one["count"]) for one in causes.as_json() if one["metric"] == "m"] == [
        ("j2: HTTP 400: at most 128 tokens, got N.", 3),
        ("j2: HTTP 401: at most 128 tokens, got 9.", 1),
        ("j3: HTTP 400: at most 128 tokens, got 9.", 1),
    ]


def test_a_shortened_id_follows_its_position() -> None:
    """It cannot be typed; the position can. At the same length, and only where the id is not whole."""
    short, placed = (short_id("r" * 90, position=position) for position in (0, 12))
    assert (placed[:5], len(placed)) == ("#12 r", len(short))
    assert short_id("r1", position=12) == "r1"
