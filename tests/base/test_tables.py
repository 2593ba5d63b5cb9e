"""Tables as text."""

from __future__ import annotations

import pytest

from dragoman.base.tables import aligned, count, markdown

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
