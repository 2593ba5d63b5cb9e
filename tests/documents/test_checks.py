"""What a translation lacks or adds is said."""

from __future__ import annotations

import pytest

from dragoman.documents.checks import doubts
from dragoman.documents.flat import with_found
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
        (("a ", B, END, "b"), (B, END, "b a")),
        (("a ", B, Code("<br/>", "empty"), END), ("a ", B, Code("<br/>", "empty"), END)),
        ((B, "%s", END), (B, "%s", END)),
        ((), ()),
        (("See https://exam", B, "ple", END, ".org"), ("Bei https://exam", B, "ple", END, ".org")),
        (("See https://exam", B, "ple", END, ".org"), (B, "https://example.org", END)),
        (("%1$s and %2$s",), ("%2$s und %1$s",)),
    ],
)
def test_the_same_codes_and_numbers_raise_no_doubt(source: Content, target: Content) -> None:
    assert doubts(with_found(source), with_found(target), ("en", "de")) == []


@pytest.mark.parametrize(
    ("source", "target", "doubt"),
    [
        (("Save %s",), ("Sichern",), "placeholder: %s missing"),
        (("%s",), ("%s %s",), "placeholder: %s added"),
        (("%s",), ("%d",), "placeholder: %s missing"),
        (("a",), ("{a}",), "placeholder: {a} added"),
        (
            ("see https://a.example/b",),
            ("siehe https://a.example/",),
            "placeholder: https://a.example/b missing",
        ),
        (("a", Code("X", "placeholder")), ("a",), "placeholder: X missing"),
        (("a ", B, "b", END), ("a b",), "tag: <b> missing"),
        (("a",), (B, "a"), "tag: <b> added"),
        ((B, "a", END), (END, "a", B), "tags cross"),
        (("a ", B, "b", END), ("a b", B, END), "tag: <b></b> without text"),
        (("a ", B, IT, "b", END_IT, END), ("a b", B, IT, " ", END_IT, END), "tag: <i></i> without text"),
        ((B, IT, END_IT, END), (B, IT, END, END_IT), "tags cross"),
        (("%s has %d dogs",), ("%d Hunde hat %s",), "placeholder: %d %s in another order"),
        (
            ('<a href="%s">%s</a>',),
            ('%s <a href="%s">der</a>',),
            'placeholder: %s <a href="%s"> in another order',
        ),
        (("a ", B, "https://exam", END, "ple.org"), ("b https://example.org",), "tag: <b> missing"),
        (("5 dogs",), ("Hunde",), "number differs: 5 missing"),
        (("5 dogs",), ("15 Hunde",), "number differs: 15 added"),
    ],
)
def test_what_differs_is_said(source: Content, target: Content, doubt: str) -> None:
    assert doubt in doubts(with_found(source), with_found(target), ("en", "de"))
