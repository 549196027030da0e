"""A quote is believed only where it stands, and its offsets are the passage's own."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ragstone.parsing import locate
from ragstone.parsing.quotes import _fold, _traced, _whole, nearest
from ragstone.types import Passage

LETTERS = st.text(
    st.sampled_from("aAbBßẞİıŉǰﬁﬀΐσς \t\n\u00a0\u2003\u2019\u201c\"'-\u2014\u2026.,Яя漢🎈e\u0301\x1c\x85"), max_size=40
)
ANY = st.one_of(st.text(max_size=60), LETTERS)
INK = st.characters(exclude_categories=["Cs", "Z", "Cc"]) | st.sampled_from("ßẞİΐﬃ\u2026\u2019.e")
PIECE = st.builds(lambda first, middle, last: first + middle + last, INK, ANY, INK)
"""Text that begins and ends with something to see."""


AROUND = (
    "\u2026the fox ran\u2026", "...the fox ran...", "the fox ran \u2026", '"the fox ran"', " \u201cthe fox ran.\u201d ",
)  # fmt: skip


def passages(*texts: str) -> tuple[Passage, ...]:
    return tuple(Passage(f"p{n}", text, n) for n, text in enumerate(texts, 1))


@pytest.mark.parametrize(
    ("quote", "text", "words"),
    [
        ('the "fox"', "see the \u201cfox\u201d run", "the \u201cfox\u201d"),
        ("it's", "it\u2019s so", "it\u2019s"),
        ("10-12", "pages 10\u201312.", "10\u201312"),
        ("the  fox\nran", "the fox \t ran", "the fox \t ran"),
        ("THE FOX", "see the fox", "the fox"),
        ("strasse 5", "Straße 5!", "Straße 5"),
        ("i\u0307stanbul", "in İSTANBUL now", "İSTANBUL"),
        ("us page", "HomeAbout us page", "us page"),
        ("About us page", "HomeAbout us page", "About us page"),
        ("東京は", "私は東京は大きい", "東京は"),
        ("كتاب", "والكتاب كبير", "كتاب"),
        ("the report", "as in the report2 of", "the report"),
        ("in 1932.", "It opened in 1932.1 The", "in 1932."),
        ("The fee is 30 euros", "The **fee** is `30` _euros_.", "The **fee** is `30` _euros"),
        ("see the docs for", 'see [the docs](https://a.b/c_(d) "T") for', 'see [the docs](https://a.b/c_(d) "T") for'),
        ("The **fee** is 30", "The fee is 30 euros", "The fee is 30"),
        ("a b", "\n\n  a\u00a0b", "a\u00a0b"),
        ("fluß", "im FLUSS da", "FLUSS"),
        ("fox jumps", "The quick fox jumps.", "fox jumps"),
        *((quote, "There the fox ran away.", "the fox ran") for quote in AROUND),
        ("wait...", "So wait... what?", "wait..."),
    ],
)
def test_white_space_marks_dashes_and_case_are_folded_and_dots_around_a_quote_left_out(
    quote: str, text: str, words: str
) -> None:
    found = locate(quote, passages(text))
    assert found.verbatim
    assert found.span is not None
    assert found.text == text[found.span.start : found.span.end] == words


@pytest.mark.parametrize(
    ("quote", "texts", "claimed", "passage"),
    [
        ("same", ("same here", "same there"), "p2", "p2"),
        ("same", ("same here", "same there"), "", "p1"),
        ("Fox", ("a Fox", "a fox"), "p2", "p1"),  # to the letter anywhere comes before folded in the claimed one
        ("same", ("nothing", "the same"), "p1", "p2"),
    ],
)
def test_the_claimed_passage_is_looked_through_first_and_another_named_if_it_holds_the_quote(
    quote: str, texts: tuple[str, ...], claimed: str, passage: str
) -> None:
    assert locate(quote, passages(*texts), claimed).passage == passage


@pytest.mark.parametrize(
    "quote", ["a fox walked", "", " ", "\u2026", "...", "x", "\u2026x\u2026", ".", "\x1f\x1f", '"\u2003\u00a0"']
)
def test_a_quote_that_is_nowhere_or_too_short_keeps_the_judges_words_and_has_no_span(quote: str) -> None:
    found = locate(quote, passages("x. The fox ran."), "p9")
    assert (found.passage, found.span, found.text, found.verbatim) == ("p9", None, quote, False)
    assert locate(quote, (), "p9") == found


@given(st.lists(ANY, max_size=3), ANY, PIECE, ANY, st.sampled_from(["", "p1", "p4"]))
def test_any_piece_of_any_passage_is_found_to_the_letter(
    others: list[str], before: str, piece: str, after: str, claimed: str
) -> None:
    assume(_whole(before + piece + after, len(before), len(before + piece)))
    given_passages = passages(*others, before + piece + after)
    found = locate(f" {piece}\n", given_passages, claimed)
    assert found.verbatim
    assert found.span is not None
    home = next(passage for passage in given_passages if passage.id == found.passage)
    assert home.text[found.span.start : found.span.end] == found.text == piece
    found = locate("\n ".join(piece.casefold().split()), given_passages[-1:])
    assert found.verbatim, "in other case and with other white space, too"
    assert _fold(piece) in _fold(found.text)


@given(ANY, st.lists(ANY, max_size=3))
def test_what_is_found_is_what_stands_there_and_what_is_not_has_no_span(quote: str, texts: list[str]) -> None:
    given_passages = passages(*texts)
    found = locate(quote, given_passages, "claimed")
    if found.verbatim:
        assert found.span is not None
        home = next(passage for passage in given_passages if passage.id == found.passage)
        assert home.text[found.span.start : found.span.end] == found.text
        assert _fold(found.text).replace(" ", "")
    else:
        assert (found.passage, found.span, found.text) == ("claimed", None, quote)


@given(ANY)
def test_the_folded_text_and_its_trace_agree_to_the_letter(text: str) -> None:
    folded, offsets = _traced(text)
    assert folded == _fold(text)
    assert len(offsets) == len(folded)
    assert offsets == sorted(offsets)


# ---- nearly


def apart(one: str, other: str) -> int:
    """The edit distance of two texts, the plain way."""
    row = list(range(len(other) + 1))
    for number, char in enumerate(one, 1):
        above, row = row, [number]
        for place, against in enumerate(other, 1):
            row.append(min(above[place] + 1, row[-1] + 1, above[place - 1] + (char != against)))
    return row[-1]


FEW = st.text("abc ", max_size=40)
BRIDGE = "The bridge, opened in 1932 by the governor, carries eight lanes of traffic across the harbour."


@given(st.text("abcx", min_size=3, max_size=14), FEW, st.integers(0, 3))
def test_the_nearest_stretch_is_as_near_as_any_is(wanted: str, text: str, most: int) -> None:
    stretches = [text[start:end] for start in range(len(text) + 1) for end in range(start, len(text) + 1)]
    least = min(apart(wanted, stretch) for stretch in stretches if abs(len(stretch) - len(wanted)) <= len(wanted))
    found, looked = nearest(wanted, text, most, 10_000)
    assert looked <= len(text) + 1
    if least > most or most >= len(wanted):
        assert found is None or found[0] <= most
    else:
        assert found is not None
        distance, start, end = found
        assert distance == least == apart(wanted, text[start:end])


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        (
            "The drug is safe for use in pregnant women over thirty",
            "The drug is not safe for use in pregnant women over thirty.",
        ),
        ("The minister did not resign after the vote in May", "The minister did resign after the vote in May."),
        ("Sales increased by a fifth in the second quarter", "Sales decreased by a fifth in the second quarter."),
        ("The tower has three hundred steps up to the top", "The tower has seven hundred steps up to the top."),
        (
            "The parcel weighs 30 kg when it is packed for travel",
            "The parcel weighs 30 g when it is packed for travel.",
        ),
        (
            "It was -5 degrees at noon in the whole of the valley",
            "It was 5 degrees at noon in the whole of the valley.",
        ),
        ("The act is legal in all of the northern provinces", "The act is illegal in all of the northern provinces."),
        (
            "The bill of \u096b\u0966 rupees was paid in the same week",
            "The bill of \u096a\u0966 rupees was paid in the same week.",
        ),
        ("The bridge, opened in 1933 by the governor, carries eight lanes", BRIDGE),
        ("The bridge was built by the governor and has eight lanes of traffic", BRIDGE),
        ("opened in 1923", BRIDGE),  # too short for slips
        ("", BRIDGE),
    ],
)
def test_a_stretch_that_says_something_else_is_not_near(quote: str, text: str) -> None:
    found = locate(quote, passages(text))
    assert (found.span, found.verbatim, found.text) == (None, False, quote)


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("5 %", "It is 15 % now."),
        ("1.5", "It was 11.55."),
        ("20", "In 2019."),
        ("5 degrees", "It was -5 degrees."),
        ("valid for 30 days", "It is invalid for 30 days."),
        ("valid for 30 days from today", "It is invalid for 30 days from today."),
        ("Refundable", "Fares are nonrefundable."),
        ("refundable", "Fares are non-refundable."),
        ("harm", "It is harmless."),
        ("has sugar", "It has sugar-free gum."),
        ("a 5 b", "a 15 b, a*5 b"),
    ],
)
def test_a_quote_is_not_found_within_a_longer_word_or_number(quote: str, text: str) -> None:
    assert locate(quote, passages(text)).span is None
    found = locate(quote, passages(f"{text} Here {quote}, too."))
    assert found.span is not None
    assert found.span.start > len(text)


@pytest.mark.parametrize("cut", ["\u2026", " ... ", " [...] ", " [\u2026] ", " (...) ", "...."])
def test_the_parts_of_a_shortened_quote_are_in_one_passage_and_in_order(cut: str) -> None:
    found = locate(f"The bridge,{cut}carries eight **lanes**", passages("The bridge. It", "", f"See. {BRIDGE}"))
    assert (found.passage, found.verbatim) == ("p3", False)
    assert found.text == "The bridge, opened in 1932 by the governor, carries eight lanes"
    for other in (f"carries eight lanes{cut}The bridge,", f"The bridge{cut}traffic has nine lanes", f"The{cut}lanes"):
        assert locate(other, passages(BRIDGE)).span is None


def test_a_quote_with_slips_is_found_and_marked_as_near() -> None:
    found = locate("The bridge opened in 1932 by the governer carries eight lanes", passages("Nothing here.", BRIDGE))
    assert (found.passage, found.verbatim) == ("p2", False)
    assert found.text == "The bridge, opened in 1932 by the governor, carries eight lanes"
    assert found.span is not None
    assert BRIDGE[found.span.start : found.span.end] == found.text


def test_a_near_quote_in_a_long_text_is_looked_for_only_where_a_piece_of_it_stands() -> None:
    text = "the and of to in a " * 20_000 + BRIDGE
    found = locate("The bridge, opened in 1932 by the governer, carries eight lanes", passages(text))
    assert found.span is not None
    assert found.span.start == len(text) - len(BRIDGE)
