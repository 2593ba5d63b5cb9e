"""Word: the text of a document, its headers, footers, notes, text boxes, charts and diagrams.

Comments are not translated, nor is deleted text of tracked changes. ECMA-376; ISO/IEC 29500.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from dragoman.base.errors import DataError
from dragoman.base.languages import same
from dragoman.documents.formats import Languages
from dragoman.documents.office.package import Package
from dragoman.documents.office.parts import (
    Labels,
    OfficeDocument,
    Passage,
    XmlPart,
    find_paragraphs,
    read_member,
    script,
    title_part,
)
from dragoman.documents.office.runs import DRAWING, WORD, read_paragraph
from dragoman.documents.xml.pieces import Element

_MAIN = re.compile(
    r"application/vnd\.(?:openxmlformats-officedocument\.wordprocessingml\.(?:document|template)"
    r"|ms-word\.(?:document|template)\.macroEnabled(?:Template)?)\.main\+xml"
)
# Other parts to translate, by the ends of content types, in this order.
_OTHERS = (
    *(f"wordprocessingml.{name}+xml" for name in ("footnotes", "endnotes", "header", "footer")),
    *(f"drawingml.{name}+xml" for name in ("chart", "diagramData")),
    "drawingml.diagramDrawing+xml",
)
_TITLE, _STYLES = "package.core-properties+xml", "wordprocessingml.styles+xml"
_DEEPEST = 20  # alternatives inside each other


def parse(data: bytes, languages: Languages) -> OfficeDocument:
    """Read a Word document or template. Raises DataError if it is damaged, encrypted, unsafe or not Word."""
    package = Package(data)
    types = _content_types(package)
    main = [name for name, kind in types.items() if _MAIN.fullmatch(kind)]
    if not main:
        raise DataError("the zip file has no Word document", hint="give a file of Word, such as .docx")
    parts = [_part(package, name, "") for name in main]
    for ending in _OTHERS:
        names = [name for name, kind in types.items() if kind.endswith(ending)]
        parts += [_part(package, name, f"{name.rpartition('/')[2]}, ") for name in names]
    parts += [title_part(package, name) for name, kind in types.items() if kind.endswith(_TITLE)]
    styles = next((name for name, kind in types.items() if kind.endswith(_STYLES)), "")
    return OfficeDocument(package, parts, styles, lambda root: _label(root, languages))


def _content_types(package: Package) -> dict[str, str]:
    """Member -> content type, in the order of the package (ISO/IEC 29500-2, section 7.3)."""
    name = "[Content_Types].xml"
    if name not in package:
        raise DataError("not a file of Word: it has no list of content types", hint="is it the right file?")
    _, root = read_member(package, name)
    overrides, defaults = {}, {}
    for one in root.children:
        if one.name == "Override":
            overrides[one.get("PartName").lower()] = one.get("ContentType")
        elif one.name == "Default":
            defaults[one.get("Extension").lower()] = one.get("ContentType")
    return {
        name: overrides.get(f"/{name}".lower()) or defaults.get(name.rpartition(".")[2].lower(), "")
        for name in package.names
    }


def _part(package: Package, name: str, where: str) -> XmlPart:
    decoded, root = read_member(package, name)
    starts = [one.start for one in find_paragraphs(root, _is_paragraph)]
    return XmlPart(name, decoded, _passages(decoded.text, root, starts, where))


def _passages(text: str, top: Element, starts: list[int], where: str, depth: int = 0) -> list[Passage]:
    """The passages in an element.

    Newer drawings come with a second version for old programs. If both say the same, so do the translations.
    """
    passages: list[Passage] = []
    alternatives: list[Element] = []
    for one in top.walk(lambda one: one.name in ("del", "moveFrom", "Fallback") and one is not top):
        if _is_paragraph(one):
            number = bisect_left(starts, one.start) + 1
            passage = read_paragraph(text, one, f"{where}paragraph {number}", starts)
            passages += [passage] if passage else []
        elif one.name == "AlternateContent" and depth < _DEEPEST:
            alternatives.append(one)
    places = [one.start for one in passages]
    for one in alternatives:
        fallback = one.child("Fallback")
        if fallback is None:
            continue
        chosen = passages[bisect_left(places, one.start) : bisect_left(places, fallback.start)]
        copies = _passages(text, fallback, starts, where, depth + 1)
        if [copy.segment.source for copy in copies] == [passage.segment.source for passage in chosen]:
            for passage, copy in zip(chosen, copies, strict=True):
                passage.copies += [copy, *copy.copies]
    return passages


def _is_paragraph(element: Element) -> bool:
    return element.name == "p" and (element.space in WORD or element.space in DRAWING)


def _label(root: Element, languages: Languages) -> Labels:
    """Name the language of the text, by default and where a style states the one translated from."""
    defaults = root.child("docDefaults")
    by_default = set(defaults.walk()) if defaults else set()
    name = script(languages.target, "val", "eastAsia", "bidi")
    for one in root.walk():
        if one.name == "lang" and (one in by_default or same(one.get(name), languages.source)):
            yield one, {name: languages.target}
