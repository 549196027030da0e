"""Reasoning is taken away whole, and nothing but reasoning is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.parsing import strip_reasoning

PIECES = st.lists(
    st.sampled_from(["<think>", "</think>", "<Reasoning>", "</ reasoning >", "<b>", "{", "}", '"', "a", " ", "\n"])
).map("".join)
PLAIN = st.text().filter(lambda text: "<" not in text and ">" not in text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("no reasoning", "no reasoning"),
        ("<think>hm</think> yes", "yes"),
        ("before <think>hm</think> after", "before  after"),
        ("<THINK>hm</Think>yes", "yes"),
        ("< think>hm</think>yes", "yes"),
        ("<think>a<think>b</think>c</think>yes", "yes"),
        ("one<think>a<think>b</think>c</think>two", "onetwo"),
        ("one<think>a<think>b</think>never closed", "one"),
        ("<think>a</think>one<reasoning>b</reasoning>two", "onetwo"),
        ("<think>never closed {yes}", ""),
        ("yes <think>never closed", "yes"),
        ("opened by the template</think>yes", "yes"),
        ("one</think>two</think>yes", "yes"),
        ("<think>a</think>still reasoning</think>yes", "yes"),
        ("<thinker>stays</thinker>", "<thinker>stays</thinker>"),
        ("a < b and think > c", "a < b and think > c"),
        ("", ""),
        ("  \n", ""),
    ],
)
def test_what_is_left_is_the_answer(text: str, answer: str) -> None:
    assert strip_reasoning(text) == answer


def test_a_tag_in_a_quoted_stretch_is_a_word() -> None:
    text = "say <think> aloud <think>x</think>! </think>."
    assert strip_reasoning(text, [range(4, 11), range(36, 44)]) == "say <think> aloud ! </think>."
    assert strip_reasoning(text, [range(4, 11)]) == "."


@given(PLAIN)
def test_text_without_tags_is_only_trimmed(text: str) -> None:
    assert strip_reasoning(text) == text.strip()


@given(PIECES, PLAIN)
def test_what_is_inside_a_block_never_shows(text: str, secret: str) -> None:
    marked = f"\0{secret}\0"
    assert "\0" not in strip_reasoning(f"{text}<think>{marked}</think>")


@given(PIECES, PLAIN)
def test_what_follows_the_last_closing_tag_stays_when_all_is_closed(text: str, answer: str) -> None:
    opened = text.count("<think>") + text.count("<Reasoning>")
    assert strip_reasoning(f"{text}{'</think>' * (opened + 1)}{answer}").endswith(answer.strip())
