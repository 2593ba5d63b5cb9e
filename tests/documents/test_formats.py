"""A file's format, by its name or its content."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.documents.formats import FORMATS, document_format, expect_language, format_named, format_of_name
from tests.documents.contract import CASES


def test_the_name_comes_first() -> None:
    assert document_format(Path("a.PO"), b"{}") is FORMATS["po"]
    assert format_of_name(Path("a.docx")) is FORMATS["docx"]
    assert format_of_name(Path("a.png")) is None


ZIP = b"PK\x03\x04" + b"-" * 26


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'# Comment\nmsgid ""\nmsgstr ""\n', "po"),
        (b'#, fuzzy\r\n\r\nmsgctxt "a"\r\nmsgid ""\r\n', "po"),
        (b'<?xml version="1.0"?>\n<xliff version="1.2">', "xliff"),
        (b'<?xml version="1.0"?>\n<!-- <tmx> --><x:xliff xmlns:x="a">', "xliff"),
        ('<?xml version="1.0" encoding="utf-16"?><tmx version="1.4">'.encode("utf-16"), "tmx"),
        ('<?xml version="1.0" encoding="utf-16"?><tmx version="1.4">'.encode("utf-16-be"), "tmx"),
        (b"<resources>", "android"),
        (b"<!-- Copyright -->\n<resources><string><xliff:g/>", "android"),
        (b"<!doctype html><p>", "html"),
        (b"<!doctype html><html>", "html"),
        (b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x"><html>', "html"),
        (b"\xef\xbb\xbfWEBVTT\n\n", "vtt"),
        (b"1\r\n00:00:01,000 --> 00:00:02,000\r\nHi\r\n", "srt"),
        (b'  {"a": "b"}', "json"),
        (b'[\n  {"a": "b"}]', "json"),
        *((case.data, case.name) for case in CASES if case.zipped),
        (ZIP + b"[Content_Types].xml", "docx"),
        (b"", "text"),
        (b"A dog sleeps.\nIt is old.\n", "text"),
        ("Ein Hund schläft.\n".encode("utf-16"), "text"),
        (b"[Music]\n[1] A dog = an animal\n", "text"),
        (b"<i>A dog</i> sleeps.\nNote: it is old; very old.\n", "text"),
        (b"Anna: Where is the dog?\nBen: In the house.\n", "text"),
        (b'Use msgid "a" for a message.\n', "text"),
        (b"- a dog\n- a cat\n", "text"),
        (b"{name} sleeps.\n", "text"),
        (b"# A dog\n\n# A cat\n", "text"),
        (b"The 1,000 dogs, all of them\nThe 2,000 cats, all of them\n", "text"),
        (b"A dog\tsleeps.\nA cat.\n", "text"),
        (b"Yes,it sleeps.\nNo,it reads.\n", "text"),
        (b"A dog\0sleeps.\n", "text"),
    ],
)
@pytest.mark.parametrize("file", ["file", "file.en", "file.unknown"])
def test_the_content_tells_it_where_the_name_does_not(file: str, data: bytes, name: str) -> None:
    assert document_format(Path(file), data) is FORMATS[name]


def test_the_root_of_xml_decides_what_it_is() -> None:
    assert document_format(Path("strings.xml"), b"<!-- a --><resources/>") is FORMATS["android"]
    assert document_format(Path("a.xml"), b'<?xml version="1.0"?><xliff version="1.2"/>') is FORMATS["xliff"]
    for other in (b"<manifest/>", b"<html/>"):
        assert document_format(Path("a.xml"), other) is FORMATS["android"]  # which refuses it


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.pdf", b"%PDF-1.7", "unknown format: a PDF file"),
        ("a", b"%PDF-1.7", "unknown format: a PDF file"),
        ("a.pdf", b"text", "unknown format: a PDF file"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file"),
        ("a.rtf", b"{\\rtf1 A dog.}", "an old Office file"),
        ("a.docx", b"{\\rtf1 A dog.}", "rich text, not Word"),
        ("a.bin", b"\x00\x01\xff\xfe", "a binary file"),
        ("a", b"\x00\x01", "a binary file"),
        ("a.png", b"\x89PNG\r\n", "an image"),
        ("a", b"\x7fELF\x02", "a program"),
        ("a.jar", ZIP + b"META-INF/MANIFEST.MF", "a zip file"),
        ("a.gz", b"\x1f\x8b\x08", "a compressed file"),
        ("a.svgz", b"<?xml version='1.0'?><svg/>", "XML"),
        ("a", b'<svg xmlns="http://www.w3.org/2000/svg">\n<title>A dog</title>', "XML"),
        ("a.vue", b"<template>\n  <p>A dog</p>\n</template>\n", "XML"),
        ("a.ini", b"; A comment\n[dog]\nname = Rex\n", "INI or TOML"),
        ("a", b"# A comment\n\n[[dog]]\nname = 'Rex'\n", "INI or TOML"),
        ("a", b"title: A dog\nname: Rex\n", "lines of keys and values"),
        ("a.conf", b"title: A dog\nname: Rex\n", "lines of keys and values"),
        ("a.cfg", b"title=A dog\nname=Rex\n", "lines of keys and values"),
        ("a", b"# A comment\nen:\n  dog: A dog\n  cat: |\n    A cat\n", "YAML"),
        ("a.en", b"---\ndog: A dog\n", "YAML"),
        ("a", b"dogs:\n- A dog\n- A cat\n", "YAML"),
        ("a", b"title: Dogs\nauthor: Ann\ndogs:\n  - A dog\n", "YAML"),
        ("a", b"- name: Rex\n  sleeps: long\n", "YAML"),
        ("a", b"title: Dogs\ntext: |\n  A dog\n", "YAML"),
        ("a", b"title = 'Dogs'\n\n[dog]\nname = 'Rex'\n", "INI or TOML"),
        ("a", b"dog.name=A dog\n# A comment\ndog.sleeps=It sleeps\n", "lines of keys and values"),
        (
            "a.ftl.x",
            b"dog = A dog\ndogs = { $n ->\n    [one] A dog\n   *[other] Dogs\n}\n",
            "keys and values",
        ),
        ("a", b"id,text\n1,A dog\n2,\n", "a table"),
        ("a", b"id;text\n1;A dog\n", "a table"),
        ("a.en", b"dog\tA dog\t\ncat\tA cat\t\n", "a table"),
        ("a", b"import os\n\ndef dog(name):\n    return name\n", "a program"),
        ("a", b'"""Dogs."""\n\nclass Dog:\n    pass\n', "a program"),
        ("a", "A dog sleeps.\n".encode("utf-16-le"), "a binary file"),
        ("a", b"dog.txt".ljust(257, b"\0") + b"ustar\0" + b"A dog sleeps.\n" * 99, "a binary file"),
        ("a", b"#!/bin/sh\necho A dog\n", "a program"),
        ("a.inc", b"<?php\nreturn ['dog' => 'A dog'];\n", "a program"),
        ("a.hs", b"import Data.Dog\n\nmain = sleep\n", "a program"),
        ("a", b"int main() {\n  sleep();\n}\n", "a program"),
        ("a", b"{% extends 'dog' %}\n<p>A dog</p>\n", "a program"),
        ("a", b"[Script Info]\nTitle: Dogs\n", "subtitles"),
        ("a.sub", b"{0}{25}A dog sleeps.\n", "subtitles"),
        ("a.lrc", b"[00:12.50]A dog sleeps.\n", "subtitles"),
        ("a.sbv", b"0:00:01.000,0:00:02.000\nA dog sleeps.\n", "subtitles"),
        ("a.ics", b"BEGIN:VCALENDAR\nSUMMARY:Dogs\n", "a calendar"),
        ("a.bib", b"@book{dogs,\n  title = {Dogs},\n}\n", "literature"),
        ("a.x", b"\\documentclass{article}\n", "a program"),
    ],
)
def test_a_file_with_structure_is_not_plain_text(name: str, data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as error:
        document_format(Path(name), data)
    assert "say which format it has with --format: text, markdown" in str(error.value.hint)


def test_the_hint_says_what_to_do_with_a_format_that_is_not_read() -> None:
    for name, data in (("a.pdf", b"%PDF-1.7"), ("a.bin", b"%PDF-1.7"), ("a.md", b"%PDF-1.7")):
        with pytest.raises(DataError) as error:
            document_format(Path(name), data)
        assert str(error.value.hint).startswith("convert it to .docx first, or")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.md", b"%PDF-1.7", "a PDF file, not Markdown"),
        ("a.properties", b"PK\x03\x04", "a zip file, not Java properties"),
        ("a.txt", b"\x89PNG\r\n", "an image, not Text"),
    ],
)
def test_other_content_than_the_name_says_is_an_error(name: str, data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        document_format(Path(name), data)


def test_an_unknown_name_of_a_format_is_an_error() -> None:
    with pytest.raises(ConfigError, match="unknown format 'doc'"):
        format_named("doc")


def test_a_file_of_other_languages_is_refused() -> None:
    expect_language(1, "trgLang", "de-AT", "de")
    expect_language(1, "trgLang", "", "de")
    expect_language(1, "trgLang", "de", "")
    with pytest.raises(DataError, match="line 3: trgLang is 'fr', not 'de'"):
        expect_language(3, "trgLang", "fr", "de")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- -->" * 8000,
        "<!-- " * 12000,
        "[a]\n" + "a b " * 16000,
        "#\n" * 30000,
        "a:\n" * 20000,
        "[[" * 30000,
        "a: b\n" * 12000 + "c d",
        "a,b\n" * 15000 + "c",
        "a: b\n" * 12000 + "c:\n",
        "/*" * 30000,
    ],
)
def test_the_content_is_recognised_in_linear_time(text: str) -> None:
    start = time.process_time()
    with contextlib.suppress(DataError):
        document_format(Path("a.unknown"), text.encode())
    assert time.process_time() - start < 5


def test_the_reader_says_what_an_old_or_encrypted_file_is() -> None:
    for name, format in (("a.docx", "docx"), ("a.xlsm", "xlsx"), ("a.odp", "odp")):
        assert document_format(Path(name), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") is FORMATS[format]
    with pytest.raises(DataError, match="an old Office file") as error:
        document_format(Path("a.xls"), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    assert str(error.value.hint).startswith("save it as .docx, .xlsx, .pptx")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_strings_of_apple_need_no_byte_order_mark(encoding: str) -> None:
    data = '"a" = "Hello world";\n'.encode(encoding)
    assert document_format(Path("a.strings"), data) is FORMATS["strings"]
