"""Tags around what is aligned with what they enclosed."""

from __future__ import annotations

import re

import pytest

from dragoman.documents.flat import Flat, flatten, unflatten, with_found
from dragoman.documents.segment import Code, text_of
from dragoman.documents.tags import place

CODES = {
    "b": Code("<b>", "open", 1),
    "/b": Code("</b>", "close", 1),
    "i": Code("<i>", "open", 2),
    "/i": Code("</i>", "close", 2),
    "x": Code("<x/>", "empty"),
}


def content(text: str) -> tuple[str | Code, ...]:
    """ "a [b]c[/b]" as text and codes."""
    return tuple(CODES[one[1:-1]] if one[0] == "[" else one for one in re.findall(r"\[[^]]*\]|[^\[]+", text))


def put(source: str, target: str, links: str) -> str:
    """Put the tags of `source` into `target`. "0-1" says that word 0 is aligned with word 1."""
    flat = flatten(with_found(content(source)))
    spans = [
        [found.span() for found in re.finditer(r"[\w'{}]+|[^\w\s]", text)] for text in (flat.text, target)
    ]
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    tags = place(flat.tags, [(*spans[0][s], *spans[1][t]) for s, t in pairs], flat.text, target)
    new = unflatten(Flat(target, tuple(tags)))
    return "".join(one if isinstance(one, str) else one.text for one in new)


@pytest.mark.parametrize(
    ("source", "target", "links", "new"),
    [
        ("Press [b]Save[/b] now", "Jetzt Speichern drücken", "0-2 1-1 2-0", "Jetzt <b>Speichern</b> drücken"),
        ("[b]Save[/b] it now", "Es jetzt sichern", "0-2 1-0 2-1", "Es jetzt <b>sichern</b>"),
        ("[b]All of it[/b]", "Das alles", "0-1", "<b>Das alles</b>"),
        ("a [b]red [i]big[/i][/b] dog", "un chien grand rouge", "0-0 1-3 2-2 3-1",
         "un chien <b><i>grand</i> rouge</b>"),
        ("[b]one[/b] [i]two[/i]", "zwei eins", "0-1 1-0", "<i>zwei</i> <b>eins</b>"),
        ("[b]look[/b] up", "schau es nach dann", "0-0 0-2 1-3", "<b>schau es nach</b> dann"),
        ("no link [b]here[/b] now", "kein Link jetzt", "0-0 1-1 3-2", "kein Link <b></b>jetzt"),
        ("A note[x] here", "Hier eine Notiz", "0-1 1-2 2-0", "Hier eine Notiz<x/>"),
        ("A [x]note here", "Hier eine Notiz", "0-1 1-2 2-0", "Hier eine <x/>Notiz"),
        ("A[x]", "B", "0-0", "B<x/>"),
        ("[x]A", "B", "0-0", "<x/>B"),
        ("one [b]two three", "drei zwei eins", "0-2 1-1 2-0", "<b>drei zwei eins"),
        ("one two[/b] three", "drei zwei eins", "0-2 1-1 2-0", "drei zwei eins</b>"),
        ("[b][/b]", "", "", "<b></b>"),
        ("a [b]b[/b]", "c", "", "c<b></b>"),
    ],
)  # fmt: skip
def test_tags_go_where_their_words_are(source: str, target: str, links: str, new: str) -> None:
    assert put(source, target, links) == new


def test_a_mark_after_a_pair_stays_after_it() -> None:
    flat = flatten(with_found(content("a [b]dog[/b].")))
    tags = place(flat.tags, [(0, 1, 0, 3), (2, 6, 4, 9)], flat.text, "ein Hund.")  # "dog." is "Hund."
    assert [at for at, _ in tags] == [4, 8]


def test_a_pair_takes_whole_words() -> None:
    flat = flatten(with_found(content("the [b]dog[/b] house")))
    links = [(0, 3, 0, 3), (4, 7, 4, 8), (8, 13, 8, 13)]  # das Hundehaus: "Hund" and "ehaus"
    tags = place(flat.tags, links, flat.text, "das Hundehaus")
    assert [at for at, _ in tags] == [4, 13]


def test_no_tag_is_put_into_a_placeholder() -> None:
    flat = flatten(with_found(content("the [b]{a b}[/b] c")))
    links = [(0, 3, 0, 3), (4, 6, 6, 8), (10, 11, 10, 11)]
    tags = place(flat.tags, links, flat.text, "das {a b} c", kept=[(4, 9)])
    assert [at for at, _ in tags] == [4, 9]


def test_text_of_a_segment_has_no_tags() -> None:
    assert text_of(content("a [b]b[/b][x]")) == "a b"


def test_a_tag_between_a_word_and_its_mark_stays_behind_the_word() -> None:
    """Also where an alignment takes both for one word."""
    links = [(0, 1, 4, 6), (2, 7, 0, 3)]
    assert place([(6, CODES["x"])], links, "A note.", "BC. D") == [(2, CODES["x"])]
