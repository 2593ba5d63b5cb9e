"""Tables as text."""

from __future__ import annotations

import pytest

from dragoman.base.tables import aligned, count, listing, markdown, read_markdown

ROWS = [["name", "rate", "x"], ["a", "1,234", "1.00"], ["longer", "7", "-"]]


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned(ROWS) == [
        "name    rate   x",
        "a       1,234  1.00",
        "longer  7      -",
    ]


def test_chosen_columns_end_flush() -> None:
    assert aligned(ROWS, right=range(1, 3)) == [
        "name     rate     x",
        "a       1,234  1.00",
        "longer      7     -",
    ]


def test_a_row_of_another_length_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        aligned([["a"], ["b", "c"]])


def test_markdown_escapes_bars() -> None:
    assert markdown(["", "BLEU"], [["nrefs:1|case:mixed", "41.5"]]) == [
        "|  | BLEU |",
        "| --- | --- |",
        r"| nrefs:1\|case:mixed | 41.5 |",
    ]


def test_counted_things() -> None:
    assert [count(1, "line"), count(2000, "line")] == ["1 line", "2,000 lines"]


@pytest.mark.parametrize(
    ("number", "text"), [(0, ""), (3, "0, 1, 2"), (4, "0, 1, 2 and 1 more"), (9, "0, 1, 2 and 6 more")]
)
def test_a_long_list_ends_with_a_count(number: int, text: str) -> None:
    assert listing([*map(str, range(number))], most=3) == text


def test_what_markdown_writes_is_read_again() -> None:
    rows = [["a|b", "1"], ["", "- -"], ["-", r"c\d"]]
    one, two = "\n".join(markdown(["", "n"], rows)), "\n".join(markdown(["x"], []))

    read = read_markdown(f"# Page\ntext | no table\n\n## One\n\n{one}\n\n## Two\n{two}\n")

    assert read == {"One": [["", "n"], *rows], "Two": [["x"]]}


@pytest.mark.parametrize("text", ["", "|", "||", "# a\n| b", "|---|", "a|b\n-|-"])
def test_what_is_not_a_table_of_ours_has_no_text(text: str) -> None:
    assert not any(any(row) for rows in read_markdown(text).values() for row in rows)
