"""Sentences with exact offsets, in any language, and parts of a response."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone import segment
from ragstone.segment import language_of, parts, sentences, words_in
from ragstone.types import Span

PIECES = st.sampled_from(
    ["A b. ", "e.g. ", "U.S. ", "3.5%", "\n", "\r\n", "\n\n", "- ", "1. ", "# ", "| a | b |", "```\n", "[1]", '"', "(",
     "。", "「あ", "т.е. ", "г. ", "?!", "…", "\u2028", "😀", "\ud800", "word ", "Word ", "\t", "**", "x" * 50, " "]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=60).map("".join))


def split(text: str, language: str | None = None) -> list[str]:
    return [text[span.start : span.end] for span in sentences(text, language)]


@given(TEXTS, st.sampled_from([None, "en", "ru", "ja", "xx", ""]))
def test_spans_are_trimmed_ordered_and_cover_everything_but_blanks(text: Any, language: Any) -> None:
    """Each character that is not blank is in exactly one span; no span is empty or begins or ends with a blank."""
    covered = 0
    for span in sentences(text, language):
        assert covered <= span.start < span.end <= len(text)
        assert not text[covered : span.start].strip()
        assert text[span.start : span.end] == text[span.start : span.end].strip()
        covered = span.end
    assert not text[covered:].strip()


@pytest.mark.parametrize(
    "unit", ["x", "a. ", "「あ。", "« а. ", "(a. ", "- a\n", "a\nb\n", '"', "[1] ", "1. ", "\n", "т.д. "]
)
def test_a_long_text_of_anything_is_split(unit: Any) -> None:
    """No input takes more than time in proportion to its length."""
    text = unit * (400_000 // len(unit))
    spans = sentences(text)
    assert not text[: spans[0].start].strip() if spans else not text.strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello there. I am here.", ["Hello there.", "I am here."]),
        ("He lives in the U.S. and likes it.", ["He lives in the U.S. and likes it."]),
        ("Dr. Smith came, e.g. on Monday.", ["Dr. Smith came, e.g. on Monday."]),
        ("Es ist 520 m ü. NHN. Laut Abs. 2 gilt es.", ["Es ist 520 m ü. NHN.", "Laut Abs. 2 gilt es."]),
        ("Der Vertrag endet am 30. Juni 2024. Gut.", ["Der Vertrag endet am 30. Juni 2024.", "Gut."]),
        ("Am 3. Mai 2020 begann es.", ["Am 3. Mai 2020 begann es."]),
        ("There are 30. May is warm.", ["There are 30.", "May is warm."]),
        ("J. K. Rowling wrote it. It sold.", ["J. K. Rowling wrote it.", "It sold."]),
        ("It was 3.5%. It cost $1.20.", ["It was 3.5%.", "It cost $1.20."]),
        ("See approx. 5 men vs. them.", ["See approx. 5 men vs. them."]),
        ("1. Do this. 2. Do that.", ["1. Do this.", "2. Do that."]),
        ("1. Do this\n2. Do that", ["1. Do this", "2. Do that"]),
        ("1.\nDo this", ["1.\nDo this"]),
        ("See [1]. More.[2] Next. [3] Last.", ["See [1].", "More.[2]", "Next. [3]", "Last."]),
        ("It is so [doc3]. And so. [doc 4] End.", ["It is so [doc3].", "And so. [doc 4]", "End."]),
        ("Intro:\n- one. Two\n- three\n\nAfter. More.", ["Intro:", "- one.", "Two", "- three", "After.", "More."]),
        ("# Head\nText one. Text two.", ["# Head", "Text one.", "Text two."]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "|---|---|", "| 1 | 2 |"]),
        ("```python\nx = 1. y\n```\nEnd.", ["```python", "x = 1. y", "```", "End."]),
        ("Apples\nPears\nPlums", ["Apples", "Pears", "Plums"]),
        ("(This is one. A second.) Next!", ["(This is one. A second.)", "Next!"]),
        ('He said "unclosed. Then more. Then end.', ['He said "unclosed.', "Then more.", "Then end."]),
        ("В 1990 г. он родился, т.е. давно. Всё.", ["В 1990 г. он родился, т.е. давно.", "Всё."]),
        ("Книги и т.д. Потом 5 тыс. руб. и др. вещи.", ["Книги и т.д.", "Потом 5 тыс. руб. и др. вещи."]),
        ("А. С. Пушкин родился. Он жил.", ["А. С. Пушкин родился.", "Он жил."]),
        ("你好。我是谁？「好的。」他说。", ["你好。", "我是谁？", "「好的。」", "他说。"]),
        ("これは本です。はい。", ["これは本です。", "はい。"]),
        ("", []),
        (" \n\t ", []),
        ("It takes 6 h. It moves 75 l. J. Smith left.", ["It takes 6 h.", "It moves 75 l.", "J. Smith left."]),
    ],
)  # fmt: skip
def test_known_texts_are_split_as_people_do(text: Any, expected: Any) -> None:
    """Abbreviations, numbers, lists, citations, tables, code and other scripts."""
    assert split(text) == expected


@pytest.mark.parametrize("space", "\xa0\u2009\u3000")
def test_a_wide_space_before_a_full_stop_is_no_trouble(space: str) -> None:
    """The sentence splitter would panic after a single letter."""
    text = f"Take vitamin D{space}. It helps."
    assert [text[span.start : span.end] for span in sentences(text)][-1] == "It helps."


def test_hard_wrapped_lines_are_one_sentence() -> None:
    """A line broken for its width goes on, with any kind of line end; a short last line ends its paragraph."""
    text = (
        "This is a paragraph that was wrapped at some width and\r\n"
        "goes on until it ends here. Then another one that\r\nis long, too.\r\nNew line"
    )
    assert split(text) == [
        "This is a paragraph that was wrapped at some width and\r\ngoes on until it ends here.",
        "Then another one that\r\nis long, too.",
        "New line",
    ]


def test_a_russian_abbreviation_is_kept_under_another_language() -> None:
    """Even told a wrong language, an abbreviation does not end a sentence."""
    assert split("А это т.е. второе", "en") == ["А это т.е. второе"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The cat is in the house", "en"), ("Le chat est dans la maison et les enfants", "fr"), ("Привет, мир", "ru"),
        ("Привіт, світ", "uk"), ("Der Hund ist nicht im Haus und", "de"), ("你好", "zh"), ("これは本です", "ja"),
        ("안녕하세요", "ko"), ("مرحبا", "ar"), ("", "en"), ("12 %", "en"),
        ("Moscow (Москва) is the capital of Russia", "en"),
    ],
)  # fmt: skip
def test_languages_are_told_by_script_and_small_words(text: Any, code: Any) -> None:
    """English where nothing else is clear."""
    assert language_of(text) == code


@given(st.lists(st.integers(0, 60), max_size=20), st.integers(1, 100))
def test_every_sentence_is_in_exactly_one_part(lengths: Any, tokens: Any) -> None:
    """Parts are neighbours in order, and all of them together are all sentences."""
    text, spans = "", []
    for length in lengths:
        start = len(text)
        text += "word " * length + "end. "
        spans.append(Span(start, len(text) - 1))
    groups = parts(text, spans, tokens)
    assert [index for group in groups for index in group] == list(range(len(spans)))
    assert all(len(group) for group in groups)


@pytest.mark.parametrize(
    ("text", "tokens", "sizes"),
    [
        ("Short one. " + "word " * 200 + "end. Short two.", 50, [1, 1, 1]),
        ("One two three four five six seven. " * 20, 100, [10, 10]),
    ],
    ids=["a sentence over the size is alone", "a hundred tokens are about 75 words"],
)
def test_short_sentences_share_a_part(text: str, tokens: int, sizes: list[int]) -> None:
    assert [len(group) for group in parts(text, sentences(text), tokens)] == sizes


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0), ("It boils fast.", 3), ("Das Öl – es brennt", 5), ("北京是中国的首都。", 8),
        ("首都は Tokyo です。", 6),
    ],
)  # fmt: skip
def test_words_are_counted_where_no_blanks_part_them(text: str, count: int) -> None:
    assert words_in(text) == count


def test_a_line_ends_where_splitlines_says() -> None:
    """The quick look for a second line must know every line's end that the slow one knows, and no other."""
    for code in range(sys.maxunicode + 1):
        text = f"a{chr(code)}b"
        assert segment._is_one_line(text) == (segment._NEWLINE.search(text) is None), hex(code)
    assert not segment._is_one_line("a\n")
