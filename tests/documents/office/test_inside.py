"""From atoms to contents, and from any content to one that can be written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.documents.office.inside import Atom, mend, pair_ranges, trim
from dragoman.documents.segment import Code, Content, merged

EMPTY = Code("<i/>", "empty")
IMAGE = Code("<image/>", "empty")
TAB = Code("<tab/>", "empty", shown=" ")
FIELD = Code("<f/>", "placeholder")
OPEN, CLOSE = Code("<b>", "open", 1), Code("</b>", "close", 1)
OPEN_2, CLOSE_2 = Code("<a>", "open", 2), Code("</a>", "close", 2)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ((), ((), (), ())),
        ((" ", EMPTY), ((" ", EMPTY), (), ())),
        (("a",), ((), ("a",), ())),
        ((EMPTY, " a ", EMPTY), ((EMPTY, " "), ("a",), (" ", EMPTY))),
        ((OPEN, "a", CLOSE), ((OPEN,), ("a",), (CLOSE,))),
        ((EMPTY, OPEN, TAB, "a", CLOSE, "  "), ((EMPTY, OPEN, TAB), ("a",), (CLOSE, "  "))),
        ((OPEN, "a", CLOSE, "b"), ((), (OPEN, "a", CLOSE, "b"), ())),
        ((OPEN, "a", CLOSE, OPEN_2, "b", CLOSE_2), ((), (OPEN, "a", CLOSE, OPEN_2, "b", CLOSE_2), ())),
        ((FIELD, " a ", FIELD), ((), (FIELD, " a ", FIELD), ())),
        (("a", TAB, FIELD), ((), ("a",), (TAB, FIELD))),
        ((FIELD,), ((), (FIELD,), ())),
    ],
)
def test_a_content_is_trimmed(content: Content, parts: tuple[Content, Content, Content]) -> None:
    assert trim(content) == parts


ITEMS = st.lists(st.sampled_from(["a", " ", "", EMPTY, TAB, FIELD, OPEN, CLOSE, OPEN_2, CLOSE_2]), max_size=8)


@given(ITEMS)
def test_trimming_loses_nothing(items: list[str | Code]) -> None:
    before, middle, after = trim(merged(items))

    assert merged((*before, *middle, *after)) == merged(items)


SOURCE: Content = ("a ", OPEN, "b ", OPEN_2, "c", CLOSE_2, CLOSE, EMPTY, IMAGE, FIELD, "d")


@pytest.mark.parametrize(
    ("content", "mended"),
    [
        (SOURCE, SOURCE),
        ((FIELD, "x", IMAGE, EMPTY), (FIELD, "x", IMAGE, EMPTY)),
        (("x",), ("x", EMPTY, IMAGE, FIELD)),
        ((EMPTY, EMPTY, "x", IMAGE, FIELD), (EMPTY, "x", IMAGE, FIELD)),
        ((EMPTY, IMAGE, FIELD, OPEN, "x"), (EMPTY, IMAGE, FIELD, OPEN, "x", CLOSE)),
        ((EMPTY, IMAGE, FIELD, CLOSE, "x", OPEN), (EMPTY, IMAGE, FIELD, "x", OPEN, CLOSE)),
        (
            (EMPTY, IMAGE, FIELD, OPEN, OPEN_2, "x", CLOSE, "y", CLOSE_2),
            (EMPTY, IMAGE, FIELD, OPEN, OPEN_2, "x", CLOSE_2, CLOSE, "y"),
        ),
        ((EMPTY, IMAGE, FIELD, Code("<z>", "open", 3), "x", "y"), (EMPTY, IMAGE, FIELD, "xy")),
    ],
)
def test_a_content_is_mended(content: Content, mended: Content) -> None:
    assert mend(content, SOURCE) == mended


@given(st.lists(st.sampled_from([*SOURCE, "x"]), max_size=12))
def test_what_is_mended_nests(items: list[str | Code]) -> None:
    mended = mend(tuple(items), SOURCE)

    open_ = []
    for one in mended:
        if isinstance(one, Code) and one.kind == "open":
            open_.append(one.pair)
        elif isinstance(one, Code) and one.kind == "close":
            assert open_.pop() == one.pair
    assert open_ == []
    assert all(mended.count(one) == 1 for one in (EMPTY, IMAGE, FIELD))
    assert "".join(one for one in mended if isinstance(one, str)) == "".join(
        one for one in items if isinstance(one, str)
    )


def atoms(pattern: str) -> list[Atom]:
    """`(` and `)` are a pair, `A` starts a range and `a` ends it, `.` is text."""
    made, open_, number = [], [], 0
    for sign in pattern:
        if sign in "()":
            number += sign == "("
            open_ += [number] if sign == "(" else []
            made.append(Atom("open" if sign == "(" else "close", sign, pair=open_[-1]))
            open_ = open_[:-1] if sign == ")" else open_
        elif sign == ".":
            made.append(Atom("text", sign, sign))
        else:
            made.append(Atom("empty", sign, limit="end" if sign.islower() else "start", range=sign.lower()))
    return made


@pytest.mark.parametrize(
    ("pattern", "kinds"),
    [
        ("A.a", "o.c"),
        ("Aa.", "ee."),
        ("a.A", "e.e"),
        ("A.B.b.a", "o.o.c.c"),
        ("A.B.a.b", "e.o.e.c"),
        ("A(.a)", "eo.ec"),
        ("(A.)a", "oe.ce"),
        ("(A.a)", "oo.cc"),
        ("A(.)a", "oo.cc"),
        ("AB.b.a", "oo.c.c"),
        ("A.a.a", "o.c.e"),
        ("CAB.a.b.c", "oeo.e.c.c"),
    ],
)
def test_ranges_around_text_become_pairs(pattern: str, kinds: str) -> None:
    made = atoms(pattern)
    count = pattern.count("(")
    last = pair_ranges(made, count)

    assert "".join("." if one.kind == "text" else one.kind[0] for one in made) == kinds
    assert last == kinds.count("o")
    pairs = [one.pair for one in made if one.kind == "open"]
    assert sorted(pairs) == list(range(1, len(pairs) + 1))
