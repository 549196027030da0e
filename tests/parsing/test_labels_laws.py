"""Laws of the label reader: it never fails, never moves a label, and its work grows with the text and no faster."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_replies import MANNERS, PIECES

from ragstone.parsing import LABEL_FORMATS, Format, parse_labels, read_block, strip_reasoning
from ragstone.questions import GRADE_0_3, IMPORTANCE, LIKERT, SUPPORT_3, YES_NO
from ragstone.testing import REPLY_FORMATS, labels_reply
from ragstone.types import Scale

SCALES = (SUPPORT_3, YES_NO, IMPORTANCE, GRADE_0_3, LIKERT)
WRITTEN = [fmt for fmt in REPLY_FORMATS if fmt != "object"]
UNKNOWN = "unclear"

scales = st.sampled_from(SCALES)
formats = st.sampled_from(LABEL_FORMATS)
noise = st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join)


def labels_of(scale: Scale) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from([*scale.labels, UNKNOWN]), min_size=1, max_size=12)


answered = scales.flatmap(lambda scale: st.tuples(st.just(scale), labels_of(scale)))


def own(labels: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(None if label == UNKNOWN else label for label in labels)


@given(answered, st.sampled_from(WRITTEN), st.sampled_from(MANNERS), st.booleans())
def test_what_is_asked_for_is_read_at_its_place_whatever_the_manner(
    given_: tuple[Scale, list[str]], written: Format, manner: Any, free: bool
) -> None:
    scale, labels = given_
    parsed = parse_labels(manner(labels_reply(labels, written)), len(labels), scale, "adaptive" if free else written)
    if UNKNOWN not in labels:
        assert parsed.labels == tuple(labels), parsed
        assert parsed.status == "ok"
    else:
        assert all(got in (None, label) for got, label in zip(parsed.labels, own(labels), strict=True))


@settings(max_examples=400)
@given(answered, st.sampled_from(WRITTEN), formats, noise, noise)
@example((SUPPORT_3, ["support"]), "json", "adaptive", "", "")
def test_noise_around_a_whole_answer_moves_no_label(
    given_: tuple[Scale, list[str]], written: Format, asked: Format, before: str, after: str
) -> None:
    scale, labels = given_
    if scale in (GRADE_0_3, LIKERT):  # a number in the noise would be a label
        before, after = (re.sub(r"[0-9]", "", text) for text in (before, after))
    reply = f"{before}\n\n{labels_reply(labels, written)}\n\n{after}"
    parsed = parse_labels(reply, len(labels), scale, asked)
    assert all(got in (None, label) for got, label in zip(parsed.labels, own(labels), strict=True)), parsed


@given(st.lists(st.sampled_from(SUPPORT_3.labels), min_size=2, max_size=9), st.sampled_from(WRITTEN), st.data())
def test_an_unknown_label_leaves_its_own_place_empty_and_moves_nothing(
    labels: list[str], written: Format, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(labels) - 1))
    given_ = [UNKNOWN if n == place else label for n, label in enumerate(labels)]
    parsed = parse_labels(labels_reply(given_, written), len(labels), SUPPORT_3, written)
    assert parsed.labels == own(given_)
    assert parsed.status == "unknown_label"
    assert parsed.raw[place] == UNKNOWN
    assert str(place + 1) in parsed.error


@given(st.lists(st.sampled_from(SUPPORT_3.labels), min_size=1, max_size=9), st.integers(1, 4))
def test_fewer_labels_leave_the_tail_unjudged(labels: list[str], more: int) -> None:
    parsed = parse_labels(labels_reply(labels, "json"), len(labels) + more, SUPPORT_3, "json")
    assert parsed.labels == (*labels, *[None] * more)
    assert parsed.status == "truncation"


@given(
    st.lists(st.sampled_from(SUPPORT_3.labels), min_size=2, max_size=9),
    st.integers(1, 4),
    st.sampled_from(WRITTEN),
)
def test_of_more_labels_than_units_none_is_taken(labels: list[str], more: int, written: Format) -> None:
    for fmt in (written, "adaptive"):
        parsed = parse_labels(labels_reply(labels, written), max(1, len(labels) - more), SUPPORT_3, fmt)
        assert parsed.labels == (None,) * max(1, len(labels) - more)
        assert parsed.status == "count_mismatch"


@settings(max_examples=500)
@given(
    st.text()
    | noise
    | st.lists(st.sampled_from([*PIECES, "support", "not_support", "yes", "4"]), max_size=40).map("".join),
    st.integers(1, 6),
    scales,
    formats,
    st.booleans(),
)
def test_any_text_gives_a_place_for_each_unit_and_labels_of_the_scale(
    text: str, units: int, scale: Scale, fmt: Format, exact: bool
) -> None:
    parsed = parse_labels(text, units, scale, fmt, case_sensitive=exact)
    assert len(parsed.labels) == len(parsed.raw) == units
    assert set(parsed.labels) - {None} <= set(scale.labels)
    assert (parsed.status == "ok") == (None not in parsed.labels)
    assert bool(parsed.error) == (parsed.status != "ok")


@given(st.text() | noise, st.sampled_from(SUPPORT_3.labels))
def test_nothing_in_closed_reasoning_is_an_answer(text: str, label: str) -> None:
    inner = text.replace("<", "").replace("[", "").replace("]", "")
    assert strip_reasoning(f'<think>{inner} ["{label}"]</think>') == ""
    assert parse_labels(f'<think>{inner} ["{label}"]</think>', 1, SUPPORT_3).labels == (None,)
    assert parse_labels(f'<think>{inner} ["{label}"]', 1, SUPPORT_3).labels == (None,)


@given(st.text(), st.integers(1, 5))
def test_a_reasoning_block_of_any_text_is_read_without_failing(text: str, units: int) -> None:
    thoughts = read_block(f"<reasoning>{text}</reasoning>", range(1, units + 1))
    assert set(thoughts) <= set(range(1, units + 1))


def steps(text: str) -> int:
    """Lines of Python that reading takes: a count that does not depend on the machine."""
    count = 0

    def counted(_frame: Any, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return counted

    before = sys.gettrace()
    sys.settrace(counted)
    try:
        parse_labels(text, 3, SUPPORT_3, "adaptive")
    finally:
        sys.settrace(before)
    return count


STRAIN = (
    "[", "{", "[[", "{'", '["', '{"1": ', "[(", "('a'", '"', "'", "\u201c", "<label>", "<a ", "1. ", "1. support\n",
    "- support\n", "- a\n", "| 1 | support |\n", "a|b\n", "1,support\n", "a,b,c\n", "1\tsupport\n", "support ",
    "not ", "support, ", "<think>", "</think>", "\\text{", "~~", "```\n", "label: ", "[1] ", "{}", "[] ",
    '["support"] ', '{"1": "support"}\n', "1 2 3 ", "\n", " ", "#", "//", "\u0301", "- - - ", "** ", "&amp;", "((((",
    "1.1.1.", "aa_", "_", "_*", "a: ", "[support] ", " \t", "* ", "No 1",
)  # fmt: skip
"""Pieces that a reader could lose its time on when they stand there a thousand times."""


@pytest.mark.parametrize("piece", STRAIN)
def test_the_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    short, long = (steps(piece * (size // len(piece))) for size in (2_000, 8_000))
    assert long <= 6 * short + 2_000


@pytest.mark.parametrize("options", [{"units": 0}, {"units": 10_001}, {"units": 1, "format": "toml"}])
def test_units_and_formats_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_labels("[]", scale=SUPPORT_3, **options)


@pytest.mark.parametrize("piece", STRAIN)
def test_a_long_strain_comes_to_an_end(piece: str) -> None:
    """Patterns are one step each in the count above; here they run. What loses its time on one never ends."""
    text = piece * (8_000 // len(piece))
    for tail in ("", "x"):
        parsed = parse_labels(text + tail, 3, SUPPORT_3, "adaptive", material=(text[:5_000],))
        assert len(parsed.labels) == 3
