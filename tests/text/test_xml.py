"""XML of strangers: entities are refused, and errors name file and line."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from dragoman.base.errors import DataError
from dragoman.text.xml import SafeReader, escape, escape_attribute, forbidden, safe_parser

DECLARED = "<!DOCTYPE a [\n<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>"


def test_entities_are_refused_with_a_reason() -> None:
    for text, reason in ((DECLARED, "an entity is declared"), ("<!DOCTYPE a SYSTEM 'x'><a>&c;</a>", "&c;")):
        with pytest.raises(RuntimeError, match=reason):
            safe_parser(RuntimeError).Parse(text, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DECLARED, "a.tmx:2: declares or uses an entity, which is refused"),
        ("<a>\n<b></a>", r"a\.tmx:2: not valid XML \(mismatched tag\)"),
        ('<?xml version="1.0" encoding="klingon"?><a/>', "a.tmx: "),
    ],
)
def test_errors_name_file_and_line(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        SafeReader("a.tmx", "export it again").feed(text.encode(), final=True)
    assert error.value.hint


def test_what_is_escaped_is_read_back() -> None:
    text = "a <b> & \"c\" 'd'\r\n\t]]>"
    root = ET.fromstring(f'<a b="{escape_attribute(text)}">{escape(text)}</a>')
    assert (root.get("b"), root.text) == (text, text)


def test_characters_that_xml_cannot_hold() -> None:
    assert [forbidden(text) for text in ("a\t\u00e9\U0001f600", "a\x1f", "\ud800", "\uffff")] == [
        "",
        "\x1f",
        "\ud800",
        "\uffff",
    ]
