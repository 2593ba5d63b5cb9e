from __future__ import annotations

import time
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.segment import Code, Content
from dragoman.documents.xml.inline import Reader, Tag, has_text, same_content, text_in, write
from dragoman.documents.xml.pieces import Piece, split_xml
from dragoman.text.xml import forbidden


def describe(piece: Piece) -> Tag:
    match piece.name:
        case "open" | "close":
            return Tag(
                piece.name, piece.attributes["id"], translate=False if "no" in piece.attributes else None
            )
        case "no" | "yes":
            return Tag("pair", translate=piece.name == "yes")
        case "x":
            return Tag("placeholder", shown="X")
        case "br":
            return Tag("empty", breaks=True)
    return Tag("pair")


def read(*texts: str, translate: bool = True) -> list[Content]:
    text = "<r>" + "".join(f"<s>{one}</s>" for one in texts) + "</r>"
    found, root = split_xml(text)
    reader = Reader(text, found, describe, translate=translate)
    return [reader.read(one.first, one.last) for one in root.children]


def test_tags_are_codes_as_the_file_has_them() -> None:
    [content] = read("a<b c='d' >e</b\n><x>f</x><br/><b/>")
    assert content == (
        "a",
        Code("<b c='d' >", "open", 1),
        "e",
        Code("</b\n>", "close", 1),
        Code("<x>f</x>", "placeholder", shown="X"),
        Code("<br/>", "empty", breaks=True),
        Code("<b/>", "empty"),
    )


def test_keys_join_codes_of_one_content() -> None:
    first, second = read("<open id='1'/>a<open id='2'/>b<close id='1'/>", "<close id='2'/>")
    assert [(one.kind, one.pair) for one in first + second if isinstance(one, Code)] == [
        ("open", 1),
        ("open", 0),
        ("close", 1),
        ("close", 0),
    ]


def test_what_is_not_translated_becomes_placeholders() -> None:
    [content] = read("a<no>b<x>c</x> d</no>")
    assert content == ("a", Code("<no>b<x>c</x> d</no>", "placeholder", shown="bc d"))
    [content] = read("<no>b<yes>c</yes> </no>")
    assert [one if isinstance(one, str) else one.text for one in content] == [
        "<no>",
        "b",
        "<yes>",
        "c",
        "</yes>",
        " ",
        "</no>",
    ]
    assert not isinstance(content[1], str)
    assert read("a", translate=False) == [(Code("a", "placeholder", shown="a"),)]
    first, second = read("<open id='1' no=''/><yes>a<close id='1'/>b</yes>c", "d")
    assert [one for one in first + second if isinstance(one, str)] == ["a", "b", "c", "d"]
    first, second = read("a<open id='1' no=''/>b", "c<close id='1'/>d")
    assert [one for one in first + second if isinstance(one, str)] == ["a", "d"]


def test_words() -> None:
    assert has_text(("a",))
    assert not has_text((" ", Code("a", "placeholder"), ""))
    text = "<a>b<!-- no --><![CDATA[<c>]]>&amp;</a>"
    assert text_in(text, split_xml(text)[0]) == "b<c>&"


def test_contents_that_are_written_alike() -> None:
    code = Code("<b/>", "empty")
    assert same_content(("a", "b", code), ("ab", Code("<b/>", "placeholder", 3)))
    assert not same_content(("<b/>",), (code,))
    assert not same_content(("ab",), ("a", code, "b"))


@given(st.lists(st.text()))
def test_text_is_written_and_read_back(texts: list[str]) -> None:
    content = tuple(texts)
    raw = write(content, "line 1", represent=lambda char: f"<cp>{ord(char)}</cp>")
    root = ET.fromstring(f"<r>{raw}</r>")
    parts = [root.text or "", *(chr(int(one.text or "0")) + (one.tail or "") for one in root)]
    assert "".join(parts) == "".join(texts)
    if any(map(forbidden, texts)):
        with pytest.raises(DataError, match="line 1: XML cannot hold the character U"):
            write(content, "line 1")


@pytest.mark.parametrize(
    "texts", [["<b>"], ["</b>"], ["<b>", "<c>", "</b>", "</c>"], ["<b>", "</c>"], ["<x:b>", "</b>"]]
)
def test_tags_that_do_not_nest_are_an_error(texts: list[str]) -> None:
    content = tuple(Code(one, "close" if one[1] == "/" else "open") for one in texts)
    with pytest.raises(ValueError, match="closes what is not open|is not closed"):
        write(content, "line 1")


def test_codes_without_an_end_tag_of_their_own_may_overlap() -> None:
    codes = tuple(Code(one, "open") for one in ("<sc id='1'/>", "<bpt>[</bpt>", "<b >"))
    assert write((*codes, Code("</b>", "close")), "line 1") == "<sc id='1'/><bpt>[</bpt><b ></b>"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "a<!---->" * 40_000,
        "<open id='1' no=''/>" * 20_000 + "<close id='1'/>" * 20_000,
        "".join(f"<open id='{n}' no=''/>" for n in range(20_000))
        + "".join(f"<close id='{n}'/>" for n in range(20_000)),
        "<no>" * 900 + "<x/>" * 20_000 + "<yes/>" + "</no>" * 900,
        "<b>" * 900 + "<b/>" * 20_000 + "</b>" * 900,
    ],
)
def test_time_grows_with_size_only(text: str) -> None:
    start = time.process_time()
    read(text)
    assert time.process_time() - start < 60  # a quadratic time would be minutes
