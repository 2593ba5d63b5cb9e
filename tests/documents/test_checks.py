"""What a translation lacks or adds is said."""

from __future__ import annotations

import pytest

from dragoman.documents.checks import doubts
from dragoman.documents.segment import Code, Content

B, END = Code("<b>", "open", 1), Code("</b>", "close", 1)
IT, END_IT = Code("<i>", "open", 2), Code("</i>", "close", 2)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (("Save %s",), ("%s sichern",)),
        (("a ", B, "b", END), (B, "b", END, " a")),
        (("1,000.5 and 3",), ("3 und 1.000,5",)),
        (("10,000 lines",), ("10 000 Zeilen",)),
        (("no 5 in {n5}",), ("keine {n5} in 5",)),
        ((B, IT, END, END_IT), (B, IT, END, END_IT)),
        ((), ()),
    ],
)
def test_the_same_codes_and_numbers_raise_no_doubt(source: Content, target: Content) -> None:
    assert doubts(source, target) == []


@pytest.mark.parametrize(
    ("source", "target", "doubt"),
    [
        (("Save %s",), ("Sichern",), "placeholder missing: %s"),
        (("%s",), ("%s %s",), "placeholder added: %s"),
        (("%s",), ("%d",), "placeholder missing: %s"),
        (("a",), ("{a}",), "placeholder added: {a}"),
        (
            ("see https://a.example/b",),
            ("siehe https://a.example/",),
            "placeholder missing: https://a.example/b",
        ),
        (("a", Code("X", "placeholder")), ("a",), "placeholder missing: X"),
        (("a ", B, "b", END), ("a b",), "tag missing: <b>"),
        (("a",), (B, "a"), "tag added: <b>"),
        ((B, "a", END), (END, "a", B), "tags cross"),
        ((B, IT, END_IT, END), (B, IT, END, END_IT), "tags cross"),
        (("5 dogs",), ("Hunde",), "number missing: 5"),
        (("5 dogs",), ("15 Hunde",), "number added: 15"),
    ],
)
def test_what_differs_is_said(source: Content, target: Content, doubt: str) -> None:
    assert doubt in doubts(source, target)
