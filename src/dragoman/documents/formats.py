"""The formats of documents, and how to recognise them by name or content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import related
from dragoman.documents.segment import Document


@dataclass(frozen=True)
class Languages:
    """The languages of a translation, as a document is to name them: "en", "pt-BR"."""

    source: str
    target: str


def expect_language(line: int, name: str, has: str, wanted: str) -> None:
    """Raise DataError if a file is for another language than the wanted one."""
    if has and wanted and not related(has, wanted):
        raise DataError(f"line {line}: {name} is {has!r}, not {wanted!r}", hint="translate in its languages")


@dataclass(frozen=True)
class Format:
    """A format. Its file `documents/MODULE.py` has `parse(data, languages) -> Document`."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    module: str
    bilingual: bool = False  # it holds translations with their states, and can mark one

    def parse(self, data: bytes, languages: Languages) -> Document:
        """Read a document. Raises DataError, which names the line, if it is damaged or unsafe."""
        module = import_module(f"dragoman.documents.{self.module}")
        return cast("Document", module.parse(data, languages))


FORMATS = {
    one.name: one
    for one in (
        Format("text", "Text by paragraphs", (".txt", ".text"), "markup.text"),
        Format("markdown", "Markdown", (".md", ".markdown"), "markup.markdown.markdown"),
        Format("html", "HTML", (".html", ".htm", ".xhtml"), "markup.html.html"),
        Format("po", "Gettext", (".po", ".pot"), "gettext.po", bilingual=True),
        Format("xliff", "XLIFF 1.2 and 2", (".xlf", ".xliff"), "xliff.xliff", bilingual=True),
        Format("tmx", "Translation memory exchange", (".tmx",), "xliff.tmx", bilingual=True),
        Format("srt", "SubRip subtitles", (".srt",), "subtitles.subtitles"),
        Format("vtt", "WebVTT subtitles", (".vtt",), "subtitles.subtitles"),
        Format("json", "JSON and ARB strings", (".json", ".arb"), "strings.json"),
        Format("properties", "Java properties", (".properties",), "strings.properties"),
        Format("android", "Android strings", (".xml",), "strings.android"),
        Format("docx", "Word", (".docx",), "office.docx"),
        Format("odt", "OpenDocument text", (".odt",), "office.odt"),
    )
}
_BY_SUFFIX = {suffix: one for one in FORMATS.values() for suffix in one.suffixes}
_SUBTITLE = re.compile(rb"\s*\d+\s*\r?\n\s*\d+:\d\d:\d\d[,.]\d+ *-->")
_MARKS = (
    (b"msgid ", "po"),
    (b"<xliff", "xliff"),
    (b"<tmx", "tmx"),
    (b"<resources", "android"),
    (b"<html", "html"),
)


def format_named(name: str) -> Format:
    """Return the format of this name. Raises ConfigError for an unknown name."""
    if name not in FORMATS:
        raise ConfigError(f"unknown format {name!r}", hint=f"choose among {', '.join(FORMATS)}")
    return FORMATS[name]


def format_of_name(path: Path) -> Format | None:
    """Return the format by the name of the file, or None if it does not say."""
    return _BY_SUFFIX.get(path.suffix.lower())


def document_format(path: Path, data: bytes) -> Format:
    """Return the format of a file by its name, else by its content. Raises DataError if neither says."""
    if (named := format_of_name(path)) is not None:
        return named
    start = data[:4096].replace(b"\0", b"")  # so that UTF-16 is like ASCII
    if data.startswith(b"PK"):
        return FORMATS["odt" if b"opendocument.text" in data[:200] else "docx"]
    if start.lstrip(b"\xef\xbb\xbf\xff\xfe").startswith(b"WEBVTT"):
        return FORMATS["vtt"]
    if _SUBTITLE.match(start.lstrip(b"\xef\xbb\xbf\xff\xfe")):
        return FORMATS["srt"]
    for mark, name in _MARKS:
        if mark in start:
            return FORMATS[name]
    if start.lstrip()[:1] in (b"{", b"["):
        return FORMATS["json"]
    raise DataError("unknown format", hint=f"choose one with --format: {', '.join(FORMATS)}")
