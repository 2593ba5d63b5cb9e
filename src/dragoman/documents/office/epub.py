"""EPUB 2 and 3: chapters, the table of contents, the title and the description of a book.

Text of drawings (SVG), page lists and spoken text stay. EPUB 3.3; OPF 2.0.1.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import unquote

from dragoman.base.errors import DataError
from dragoman.base.languages import same
from dragoman.documents.edits import Edit, Lines, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.markup.html.html import DECLARED, Html
from dragoman.documents.office.inside import mend
from dragoman.documents.office.package import Package
from dragoman.documents.office.parts import (
    OfficeDocument,
    PackageMember,
    Passage,
    XmlPart,
    attribute_passages,
    errors_in,
    plain_passage,
    read_member,
    relabel,
)
from dragoman.documents.segment import Result
from dragoman.documents.xml.pieces import Element
from dragoman.text.xml import escape

_BOOK = "application/oebps-package+xml"
_CHAPTER = {"application/xhtml+xml", "text/html", "text/x-oeb1-document"}
_CONTENTS = "application/x-dtbncx+xml"
_FONTS = {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}  # that readers undo


def parse(data: bytes, languages: Languages) -> OfficeDocument:
    """Read a book. Raises DataError if it is damaged, encrypted, unsafe or not EPUB."""
    package = Package(data)
    if "META-INF/container.xml" not in package:
        raise DataError("not an EPUB book: META-INF/container.xml is missing", hint="is it the right file?")
    _check_encryption(package)
    _, container = read_member(package, "META-INF/container.xml")
    found = [one for one in container.walk() if one.name == "rootfile" and one.get("media-type") == _BOOK]
    books = dict.fromkeys(one.get("full-path") for one in found)
    if not books:
        raise DataError("META-INF/container.xml names no book", hint="is the file complete?")
    parts: dict[str, PackageMember] = {}
    labelled: list[str] = []
    for name in books:
        parts[name], root = _texts(package, name)
        labelled.append(name)
        for item, kind in _items(root, posixpath.dirname(name)).items():
            if item not in package or item in parts:
                continue
            if kind in _CHAPTER:
                parts[item] = _Chapter(package, item, languages)
            elif kind == _CONTENTS:
                parts[item], _ = _texts(package, item)
                labelled.append(item)
    label = partial(_label, languages=languages)
    return OfficeDocument(package, parts.values(), dict.fromkeys(labelled, label))


def _check_encryption(package: Package) -> None:
    """Raise DataError if more than fonts is encrypted."""
    name = "META-INF/encryption.xml"
    if name in package:
        _, root = read_member(package, name)
        if any(one.name == "EncryptionMethod" and one.get("Algorithm") not in _FONTS for one in root.walk()):
            raise DataError("the book is encrypted", hint="dragoman can only read books without DRM")


def _items(root: Element, folder: str) -> dict[str, str]:
    """Member -> media type, as a book is read: its spine, then all else."""
    items = {one.get("id"): one for one in root.walk() if one.name == "item"}
    spine = [
        items[one.get("idref")] for one in root.walk() if one.name == "itemref" and one.get("idref") in items
    ]
    return {
        posixpath.normpath(posixpath.join(folder, unquote(one.get("href").partition("#")[0]))): one.get(
            "media-type"
        )
        for one in (*spine, *items.values())
    }


def _texts(package: Package, name: str) -> tuple[XmlPart, Element]:
    """The properties of a book, or its table of contents in EPUB 2."""
    decoded, root = read_member(package, name)
    lines = Lines(decoded.text)
    passages: list[Passage] = []
    for one in root.walk(lambda one: one.name == "pageList"):
        where = f"{posixpath.basename(name)}, line {lines.line(one.start)}"
        if one.name in ("title", "description", "text"):
            passages += plain_passage(decoded.text, one, where)
        elif one.name == "reference":
            passages += attribute_passages(decoded.text, one, {"title": None}, where)
    return XmlPart(name, decoded, passages), root


def _label(text: str, root: Element, languages: Languages) -> Iterator[Edit]:
    """Name the language of a book where it names the one translated from."""
    for one in root.walk():
        if one.name == "language" and same(one.plain(text).strip(), languages.source):
            yield Edit(one.inner, one.inner_end, escape(languages.target))
        elif same(one.get("lang"), languages.source):
            yield relabel(text, one, {"lang": languages.target})


class _Chapter:
    """A chapter: XHTML. One that is well-formed stays so; others are read as browsers do."""

    def __init__(self, package: Package, name: str, languages: Languages) -> None:
        self.name = name
        self._data = package.read(name)
        with errors_in(name):
            package.count_tags(name, self._data)
            declared = DECLARED.match(self._data)
            decoded = decode_file(self._data, declared[1].decode() if declared else None)
            self._html = Html(decoded, languages, True, xml=True)
        where = posixpath.basename(name)
        self.segments = [replace(one, where=f"{where}, {one.where}") for one in self._html.segments]

    def render(self, results: Sequence[Result | None]) -> bytes | None:
        both = zip(results, self.segments, strict=True)
        mended = [one and replace(one, content=mend(one.content, old.source)) for one, old in both]
        new = self._html.render(mended)
        return None if new == self._data else new
