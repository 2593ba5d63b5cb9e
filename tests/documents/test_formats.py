"""A file's format, by its name or its content."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.documents.formats import FORMATS, document_format, expect_language, format_named, format_of_name


def test_the_name_comes_first() -> None:
    assert document_format(Path("a.PO"), b"{}") is FORMATS["po"]
    assert format_of_name(Path("a.docx")) is FORMATS["docx"]
    assert format_of_name(Path("a.png")) is None


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'# Comment\nmsgid ""\nmsgstr ""\n', "po"),
        (b'<?xml version="1.0"?>\n<xliff version="1.2">', "xliff"),
        ('<?xml version="1.0" encoding="utf-16"?><tmx version="1.4">'.encode("utf-16"), "tmx"),
        (b"<resources>", "android"),
        (b"<!doctype html><html>", "html"),
        (b"\xef\xbb\xbfWEBVTT\n\n", "vtt"),
        (b"1\r\n00:00:01,000 --> 00:00:02,000\r\nHi\r\n", "srt"),
        (b'  {"a": "b"}', "json"),
        (b"PK\x03\x04" + b"-" * 26 + b"mimetypeapplication/vnd.oasis.opendocument.text", "odt"),
        (b"PK\x03\x04" + b"-" * 26 + b"[Content_Types].xml", "docx"),
    ],
)
def test_the_content_tells_it_where_the_name_does_not(data: bytes, name: str) -> None:
    assert document_format(Path("file"), data) is FORMATS[name]


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(DataError, match="unknown format"):
        document_format(Path("file"), b"just words")
    with pytest.raises(ConfigError, match="unknown format 'doc'"):
        format_named("doc")


def test_a_file_of_other_languages_is_refused() -> None:
    expect_language(1, "trgLang", "de-AT", "de")
    expect_language(1, "trgLang", "", "de")
    expect_language(1, "trgLang", "de", "")
    with pytest.raises(DataError, match="line 3: trgLang is 'fr', not 'de'"):
        expect_language(3, "trgLang", "fr", "de")
