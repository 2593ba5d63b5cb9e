"""The formats of documents, and how to recognise them by name or content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import related
from dragoman.documents import content
from dragoman.documents.refused import REFUSED
from dragoman.documents.segment import Document


@dataclass(frozen=True)
class Languages:
    """The languages of a translation, as a document is to name them: "en", "pt-BR"."""

    source: str
    target: str

    def renames(self, name: str) -> bool:
        """Whether a translation changes this name of a language: templates name their source language."""
        return related(name, self.source) and not related(name, self.target)


class OtherLanguage(DataError):
    """A file is in other languages than the wanted one: those `found`."""

    def __init__(self, what: str, found: Iterable[str], *, hint: str) -> None:
        super().__init__(what, hint=hint)
        self.found = tuple(found)


def expect_language(line: int, name: str, has: str, wanted: str) -> None:
    """Raise OtherLanguage if a file is for another language than the wanted one."""
    if has and wanted and not related(has, wanted):
        raise OtherLanguage(
            f"line {line}: {name} is {has!r}, not {wanted!r}",
            [has],
            hint=f"use a model for {has!r}, or correct the file",
        )


@dataclass(frozen=True)
class Format:
    """A format. Its file `documents/MODULE.py` has `parse(data, languages) -> Document`."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    module: str
    bilingual: bool = False  # it holds translations with their states, and can mark one

    @property
    def is_zipped(self) -> bool:
        """Whether its files are zip files."""
        return self.module.startswith("office.")

    @property
    def has_labels(self) -> bool:
        """Whether its texts are those of programs, whose menus have accelerators."""
        return not self.module.startswith(("markup.", "office.", "subtitles."))

    def parse(self, data: bytes, languages: Languages, columns: Sequence[str] = ()) -> Document:
        """Read a document. Raises DataError, which names the line, if it is damaged or unsafe.

        `columns` are the names or numbers of those to translate in a table; other formats have none.
        """
        from dragoman.documents.xml.pieces import without_collection

        module = import_module(f"dragoman.documents.{self.module}")
        more = (columns,) if self.name == "csv" else ()
        with without_collection():  # which takes half of the time for a Word file
            return cast("Document", module.parse(data, languages, *more))


FORMATS = {
    one.name: one
    for one in (
        Format("text", "Text by paragraphs", (".txt", ".text"), "markup.text"),
        Format(
            "markdown", "Markdown", (".md", ".markdown", ".mdx", ".qmd", ".rmd"), "markup.markdown.markdown"
        ),
        Format("rst", "reStructuredText", (".rst", ".rest"), "markup.rst.rst"),
        Format("html", "HTML", (".html", ".htm", ".xhtml"), "markup.html.html"),
        Format("po", "Gettext", (".po", ".pot"), "gettext.po", bilingual=True),
        Format(
            "xliff",
            "XLIFF 1.2 and 2",
            (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff", ".txlf"),
            "xliff.xliff",
            bilingual=True,
        ),
        Format("tmx", "Translation memory exchange", (".tmx",), "xliff.tmx", bilingual=True),
        Format("qt", "Qt Linguist", (".ts",), "xliff.qt", bilingual=True),
        Format("srt", "SubRip subtitles", (".srt",), "subtitles.subtitles"),
        Format("vtt", "WebVTT subtitles", (".vtt",), "subtitles.subtitles"),
        Format("json", "JSON and ARB strings", (".json", ".arb"), "strings.json"),
        Format("properties", "Java properties", (".properties",), "strings.properties"),
        Format("yaml", "YAML strings", (".yml", ".yaml"), "strings.yaml"),
        Format("android", "Android strings", (".xml",), "strings.android"),
        Format("resx", ".NET resources", (".resx", ".resw"), "strings.resx"),
        Format("strings", "Apple strings", (".strings",), "apple.strings"),
        Format("stringsdict", "Apple plurals", (".stringsdict",), "apple.stringsdict"),
        Format("xcstrings", "Xcode String Catalog", (".xcstrings",), "apple.xcstrings", bilingual=True),
        Format("csv", "CSV and TSV", (".csv", ".tsv", ".tab"), "tables.csv"),
        Format("docx", "Word", (".docx", ".docm", ".dotx", ".dotm"), "office.docx"),
        Format("pptx", "PowerPoint", (".pptx", ".pptm", ".potx", ".potm", ".ppsx", ".ppsm"), "office.pptx"),
        Format("xlsx", "Excel", (".xlsx", ".xlsm", ".xltx", ".xltm"), "office.xlsx"),
        Format("odt", "OpenDocument text", (".odt", ".ott"), "office.opendocument"),
        Format("odp", "OpenDocument presentation", (".odp", ".otp", ".odg", ".otg"), "office.opendocument"),
        Format("ods", "OpenDocument spreadsheet", (".ods", ".ots"), "office.opendocument"),
        Format("epub", "EPUB", (".epub",), "office.epub"),
    )
}
_BY_SUFFIX = {suffix: one for one in FORMATS.values() for suffix in one.suffixes}
_ZIPPED = (  # in a zip file, and its format
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "odt"),
    (b"mimetypeapplication/vnd.oasis.opendocument.presentation", "odp"),
    (b"mimetypeapplication/vnd.oasis.opendocument.graphics", "odp"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"mimetypeapplication/epub+zip", "epub"),
    (b"\0word/", "docx"),  # the last byte of a header, and a name
    (b"\0ppt/", "pptx"),
    (b"\0xl/", "xlsx"),
    (b"[Content_Types].xml", "docx"),
)
_LANGUAGE = re.compile(r"\.[a-z]{2}(?:[-_]\w+)?")  # the suffix of a plain text


def format_named(name: str) -> Format:
    """Return the format of this name. Raises ConfigError for an unknown name."""
    if name not in FORMATS:
        raise ConfigError(f"unknown format {name!r}", hint=f"choose among {', '.join(FORMATS)}")
    return FORMATS[name]


def format_of_name(path: Path) -> Format | None:
    """Return the format by the name of the file, or None if it does not say."""
    return _BY_SUFFIX.get(path.suffix.lower())


def document_format(path: Path, data: bytes) -> Format:
    """Return the format of a file by its name, else by its content: "text" for plain text.

    The first `content.START` bytes are enough. Raises DataError for a binary file that is not what its name
    says, and for one of no format here by its name or content, which is not plain text.
    """
    named, suffix = format_of_name(path), path.suffix.lower()
    if named is None and suffix in REFUSED:
        raise _refused(f"unknown format: {REFUSED[suffix].partition(': ')[0]}", suffix)
    if found := content.binary(data):
        zipped = next((name for mark, name in _ZIPPED if mark in data[: content.START]), "")
        if found[1] == ".zip" and (named.is_zipped if named else zipped):
            return named or FORMATS[zipped]
        if found[1] == ".doc" and named and named.is_zipped:
            return named  # an encrypted file, or an old one: its reader knows
        raise _refused(f"{found[0]}, not {named.title}" if named else f"unknown format: {found[0]}", found[1])
    if named is not None and suffix != ".xml":  # many formats are XML
        return named
    text = content.start_of(data)
    known = content.format_by_content(text)
    if known and not (named and known == "html"):
        return FORMATS[known]
    if named is not None:
        return named
    if what := content.structure_in(text, pairs=not _LANGUAGE.fullmatch(suffix)):
        raise _refused(f"unknown format: {what}", suffix)
    return FORMATS["text"]


def _refused(what: str, suffix: str) -> DataError:
    first = REFUSED[suffix].partition(": ")[2] + ", or " if suffix in REFUSED else ""
    return DataError(
        what, hint=f"{first}say which format it has with --format: {', '.join(FORMATS)}, or lines"
    )
