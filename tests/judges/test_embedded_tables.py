"""Tables as evidence: a row is found together with its headings."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.judges.embedded.evidence import find
from ragstone.judges.embedded.library import Library, Stretch, analyse
from ragstone.judges.embedded.statement import ALL, Statement, masks_of, windows_of
from ragstone.judges.embedded.support import judged

CAPTION = "Table 4: Revenue of Halden by region, million crowns."
MARKDOWN = (
    f"{CAPTION}\n\n| Region | 2022 | 2023 |\n|---|---:|---|\n| Europe | 412 | 453 |\n| Asia | 204 | 221 |\n\nIt grew."
)
HTML = (
    f"<table><caption>{CAPTION}</caption><tr><th>Region</th><th>2022</th><th>2023</th></tr>"
    "<tr><td>Europe</td><td>412</td><td>453</td></tr><tr><td>Asia<td>204<td>221</table> It grew."
)
CSV = f'{CAPTION}\nRegion,2022,2023\n"Europe",412,453\nAsia,204,221\nIt grew.'


@pytest.mark.parametrize("text", [MARKDOWN, HTML, CSV, CSV.replace(",2", "\t2").replace(",4", "\t4")])
def test_a_row_is_found_with_its_headings_and_caption(text: str) -> None:
    """Whatever the form of the table: the evidence is the row, and its cells say what they are of."""
    library = Library([text])
    finding = find("Revenue in Europe was 412 in 2022 and 453 million crowns in 2023.", library)
    assert finding.missing == ()
    (place,) = finding.windows
    assert "Europe" in library.text(place)
    assert "Asia" not in library.text(place)
    cells = library.texts[0].cells(place.first)
    assert [cell[:3] for cell in cells] == [
        ("", "Region", "Europe"), ("Europe", "2022", "412"), ("Europe", "2023", "453"),
    ]  # fmt: skip
    assert all(text[cell.start : cell.end] == cell.text for cell in cells)
    assert {text[token.start : token.end] for token in library.texts[0].headings(place.first)} >= {"million", "2022"}


@pytest.mark.parametrize("currency", ["{}", "${}", "{} EUR", "€{}"])
def test_a_number_of_another_row_is_no_support(currency: str) -> None:
    """Also where every cell of the column has the same sign before its number."""
    low, high = currency.format(9), currency.format(29)
    library = Library([f"| Plan | Price |\n|---|---|\n| basic | {low} |\n| pro | {high} |"])
    wrong, right = (
        judged(f"The price of the pro plan is {price}", library, lambda _: "passage 1") for price in (low, high)
    )
    assert (wrong.chance or 1) < 0.34
    assert high in wrong.reason
    assert (right.chance or 0) > 0.53


@pytest.mark.parametrize("text", [
    "He came, saw, won.\nShe left, too, then.\nThey ate, drank, slept.", "Home | News | More", "a,b\n1,2",
    "<table></table>",
])  # fmt: skip
def test_prose_and_single_lines_are_no_table(text: str) -> None:
    assert not analyse(text, "en").rows


@given(st.text(alphabet='ab1,;|\t\n-:<>/tdrhable" ', max_size=80))
def test_any_text_is_read(text: str) -> None:
    """Sentences, rows and cells stand in order within the text; a row keeps all of its line."""
    made = analyse(text, "en")
    last = 0
    for number, span in enumerate(made.spans):
        assert last <= span.start < span.end <= len(text)
        assert all(span.start <= cell.start <= cell.end <= span.end for cell in made.cells(number))
        last = span.end


def test_of_many_sentences_the_best_is_found_in_any_order() -> None:
    """Among more sentences with a word of the claim than are looked at one by one."""
    draw = random.Random(1)
    words = [f"word{n}" for n in range(40)]
    passages = [f"{' '.join(draw.sample(words, 6))} {n}." for n in range(6 * ALL)]
    best = "word1 word2 word3 word4 word5 word6 word7."
    found = set()
    for _ in range(3):
        draw.shuffle(passages)
        library = Library([*passages[:300], best, *passages[300:]])
        statement = Statement(best, library)
        masks, _ = masks_of(statement, library)
        place, _ = windows_of(statement, masks, library)[0]
        assert len(masks) < len(passages) / 2
        found.add((library.text(place), frozenset(library.text(Stretch(k, s, s)) for k, s in masks)))
    assert [text for text, _ in found] == [best]
