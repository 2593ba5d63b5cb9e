from __future__ import annotations

import pytest

from dragoman.documents.edits import Lines, apply
from dragoman.documents.xml.edits import (
    attributes,
    declarations,
    indent,
    indent_of_end,
    newline_of,
    refill,
    removal,
    retag,
)
from dragoman.documents.xml.pieces import split_xml


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("<a/>", {"b": "1"}, '<a b="1"/>'),
        ("<a />", {"b": "1"}, '<a b="1" />'),
        ("<a></a>", {"b": "1", "c": None}, '<a b="1"></a>'),
        ("<a b='1' c = \"2\"></a>", {"b": "3"}, '<a b="3" c = "2"></a>'),
        ("<a b='1'\n c = '2' ></a>", {"b": None}, "<a\n c = '2' ></a>"),
        ("<a b='1' c='2'/>", {"c": None, "d": "x"}, "<a b='1' d=\"x\"/>"),
        ('<a b=\'x="1" c="\'/>', {"c": "y"}, '<a b=\'x="1" c="\' c="y"/>'),
        ("<a b=''/>", {"b": '<&"\n>'}, '<a b="&lt;&amp;&quot;&#10;&gt;"/>'),
    ],
)
def test_attributes_change_and_others_stay(before: str, changes: dict[str, str | None], after: str) -> None:
    root = split_xml(before)[1]
    new = apply(before, [retag(before, root.tag, changes)])
    assert new == after
    wanted = {**root.attributes, **changes}
    assert split_xml(new)[1].attributes == {key: value for key, value in wanted.items() if value is not None}


def test_attributes_are_written_with_a_space() -> None:
    assert attributes({"a": '"', "b": None, "c": ""}) == ' a="&quot;" c=""'


@pytest.mark.parametrize("before", ["<r><a b='1'/></r>", "<r><a b='1' /></r>", "<r><a b='1'>x<c/></a></r>"])
def test_contents_are_replaced(before: str) -> None:
    [element] = split_xml(before)[1].children
    assert apply(before, refill(before, element, "y", {})) == "<r><a b='1'>y</a></r>"
    assert apply(before, refill(before, element, "y", {"b": "2"})) == '<r><a b="2">y</a></r>'


def test_names_and_white_space() -> None:
    text = "<r xmlns:p='u'>\n  <p:a>\n   <b/>\n  </p:a><c/></r>"
    a, c = split_xml(text)[1].children
    assert (a.raw_name(text), a.prefix(text), c.prefix(text)) == ("p:a", "p:", "")
    assert (indent(text, a), indent(text, a.children[0]), indent(text, c)) == ("\n  ", "\n   ", "")
    assert indent_of_end(text, a) == "\n  "
    assert apply(text, [removal(text, a)]) == "<r xmlns:p='u'><c/></r>"
    places = Lines(text)
    assert [places.line(one.start) for one in (a, a.children[0], c)] == [2, 3, 4]
    assert [newline_of(one) for one in ("a", "a\nb\r\n", "a\r\nb\n", "\n")] == ["\n", "\n", "\r\n", "\n"]


def test_declarations_between_two_elements() -> None:
    text = "<r xmlns='u' xmlns:p='v'><a><b xmlns:p='w' xmlns='x'><c xmlns:q='&amp;' p:d='1'/></b></a></r>"
    a = split_xml(text)[1].children[0]
    b = a.children[0]
    assert declarations(a, a) == {}
    assert declarations(b, a) == {"xmlns:p": "w", "xmlns": "x"}
    assert declarations(b.children[0], a) == {"xmlns:p": "w", "xmlns": "x", "xmlns:q": "&"}
