"""Excel: text of cells, shapes and charts, descriptions of pictures, messages and printed headers.

Numbers, dates, formulas and names of sheets stay. So do the texts that formulas, filters, lists, tables and
pivot tables compare with cells, and comments. ISO/IEC 29500-1, section 18.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.documents.edits import Decoded, Edit, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.markup.inline import has_words
from dragoman.documents.office.cells import Compared, is_cell_text
from dragoman.documents.office.ooxml import DRAWN, Parts
from dragoman.documents.office.parts import (
    OfficeDocument,
    Passage,
    Raw,
    XmlPart,
    attribute_passages,
    errors_in,
    escaped,
    passage_of,
    read_member,
    read_tree,
)
from dragoman.documents.office.runs import encoded, excel_text, read_paragraph
from dragoman.documents.segment import Code, Content, full_text, text_of
from dragoman.documents.xml.edits import retag
from dragoman.documents.xml.pieces import Element, unescape

_MAIN = (
    r"application/vnd\.(?:openxmlformats-officedocument\.spreadsheetml\.(?:sheet|template)"
    r"|ms-excel\.(?:sheet|template)\.macroEnabled)\.main\+xml"
)
_SHEETS = [f"spreadsheetml.{name}+xml" for name in ("worksheet", "chartsheet", "dialogsheet")]
_COMPARING = [f"spreadsheetml.{name}+xml" for name in ("table", "pivotCacheDefinition")]
_NAME = r"<(?:\w+:)?"
_FORMULA = re.compile(
    _NAME + r"(?:f|formula[12]?|definedName|calculatedColumnFormula|totalsRowFormula)\b[^<>]*>([^<]+)<"
)
_COMPARED = re.compile(
    _NAME + r"(?:(?:filter|customFilter)\b[^<>]*?\sval|s\b[^<>]*?\sv|cfRule\b[^<>]*?\stext"
    r"|(?:tableColumn|cacheField)\b[^<>]*?\sname)=(?:\"([^<>\"]*)\"|'([^<>']*)')"
)
_TOTALS = re.compile(_NAME + r"tableColumn\b[^<>]*?\stotalsRowLabel=(?:\"([^<>\"]*)\"|'([^<>']*)')")
_SHARED = re.compile(_NAME + r"c\b([^<>]*)>\s*<(?:\w+:)?v>\s*(\d{1,9})\s*</")
_CELL = re.compile(r"\sr=[\"']([A-Z]{1,3}\d{1,7})[\"']")
_OWN_TEXT = re.compile(
    _NAME + r"(?:(?:is|headerFooter|dataValidation|hyperlink)\b|c\b[^<>]*\st=[\"']str[\"'])"
)
# A cell of a number or of a shared string. A tree without them has the same places, and is far smaller.
_PLAIN = re.compile(rb'<c(?: r="\w+")?(?: s="\d+")?(?: t="[bns]")?><v>[-+.\w]*</v></c>')
_LONGEST = 32_767  # characters of a cell
_LONGEST_HEADER = 255
_MESSAGES = {"promptTitle": 32, "prompt": 255, "errorTitle": 32, "error": 225, "tooltip": 255}
_HEADERS = {f"{which}{what}" for which in ("odd", "even", "first") for what in ("Header", "Footer")}
_HEADER_CODE = re.compile(
    r"_x[\dA-Fa-f]{4}_|&(?:\"[^\"]*\"|K(?:[\dA-Fa-f]{6}|\d\d[+-]\d{3})|\d{1,3}|.)", re.DOTALL
)
_SHOWN = {"P": "1", "N": "1", "D": "1", "T": "1", "F": "A", "A": "A", "Z": "A"}  # for a page number and so on


def parse(data: bytes, languages: Languages) -> OfficeDocument:
    """Read an Excel workbook. Raises DataError if it is damaged, encrypted, unsafe or not Excel."""
    found = Parts(data, _MAIN, "Excel workbook", ".xlsx", languages.target)
    compared = Compared()
    places: dict[int, str] = {}  # number of a shared string -> its first cell
    sheets: list[tuple[str, Decoded, Element]] = []
    for name in (*found.named(*_SHEETS, *_COMPARING), *found.main):
        member = found.package.read(name)
        with errors_in(name):
            text = decode_file(member).text
            _compare(text, compared)
            for shared in _SHARED.finditer(text):
                if 't="s"' in shared[1] and (cell := _CELL.search(shared[1])):
                    places.setdefault(int(shared[2]), f"{name.rpartition('/')[2]}, cell {cell[1]}")
            if _OWN_TEXT.search(text):
                texts = _PLAIN.sub(lambda cell: b" " * len(cell[0]), member)
                sheets.append((name, decode_file(member), read_tree(found.package, name, texts)[1]))
    parts = []
    for name in found.named("spreadsheetml.sharedStrings+xml"):
        strings, root = read_member(found.package, name)
        items = [one for one in root.children if one.name == "si"]
        other = f"{name.rpartition('/')[2]}, string "
        where = [places.get(number, f"{other}{number + 1}") for number in range(len(items))]
        read = [read_paragraph(strings.text, *both, (), "") for both in zip(items, where, strict=True)]
        parts.append(XmlPart(name, strings, [each for one in read for each in _text(one, compared)]))
    for name, sheet, root in sheets:
        own = _sheet(sheet.text, root, f"{name.rpartition('/')[2]}, ", compared)
        parts.append(XmlPart(name, sheet, sorted(own, key=lambda one: one.start)))
    parts += [*found.read("officedocument.drawing+xml", *DRAWN), *found.titles()]
    computed = found.main if compared.formulas else ()
    return OfficeDocument(found.package, parts, dict.fromkeys(computed, _recalculate))


def _compare(text: str, compared: Compared) -> None:
    """Note the texts that a part compares with cells."""
    for found in _FORMULA.finditer(text):
        compared.add_formula(unescape(found[1]))
    for found in (*_COMPARED.finditer(text), *_TOTALS.finditer(text)):
        compared.add(excel_text(unescape(found[1] or found[2] or "")))


def _recalculate(text: str, root: Element) -> Iterator[Edit]:
    """Have formulas computed again when the file is opened, because their results may hold old texts."""
    if (calculation := root.child("calcPr")) is not None:
        yield retag(text, calculation.tag, {"fullCalcOnLoad": "1"})


def _text(passages: list[Passage], compared: Compared) -> Iterator[Passage]:
    """The passage of a cell, unless it has no words or is a key."""
    for passage in passages:
        if is_cell_text(plain := text_of(passage.segment.source)):
            passage.limit = 0 if compared.has(plain) else _LONGEST
            yield passage


def _sheet(text: str, root: Element, where: str, compared: Compared) -> Iterator[Passage]:
    """What a sheet holds besides its cells of shared strings."""
    for one in root.walk():
        if one.name == "c":
            place, value = f"{where}cell {one.get('r')}", one.child("v")
            if inline := one.child("is"):
                yield from _text(read_paragraph(text, inline, place, (), ""), compared)
            elif one.get("t") == "str" and value and not one.child("f"):
                span = value.inner, value.inner_end
                plain = excel_text(value.plain(text))
                passages = passage_of(
                    [plain], (), place, span, lambda new, _: escaped(encoded(full_text(new)))
                )
                yield from _text(passages, compared)
        elif one.name in _HEADERS:
            yield from _header(text, one, f"{where}{one.name}")
        elif one.name in ("dataValidation", "hyperlink"):
            place = f"{where}cell {one.get('sqref') or one.get('ref')}"
            yield from attribute_passages(text, one, _MESSAGES, place)


def _header(text: str, element: Element, where: str) -> Iterator[Passage]:
    """A printed header or footer, where &P is the page number and &L begins the left part."""
    items: list[str | Code] = []
    done, plain = 0, element.plain(text)
    for found in _HEADER_CODE.finditer(plain):
        items.append(plain[done : found.start()])
        done, kind = found.end(), found[0][1:].upper()
        if kind == "&":
            items.append("&")
        elif kind in _SHOWN:
            items.append(Code(escaped(found[0]), "placeholder", shown=_SHOWN[kind]))
        else:
            items.append(Code(escaped(found[0]), "empty", breaks=True))  # such as &C, and &B around words
    items.append(plain[done:])
    for passage in passage_of(items, (), where, (element.inner, element.inner_end), _write_header):
        if has_words(passage.segment.source):
            passage.limit = _LONGEST_HEADER
            yield passage


def _write_header(content: Content, raw: Raw) -> str:
    parts: list[str] = []
    for one in content:
        if isinstance(one, str):
            size = parts and re.search(r"&amp;\d+$", parts[-1]) and one[:1].isdigit()
            parts.append((" " if size else "") + escaped(one.replace("&", "&&")))
        else:
            parts.append(raw(one))
    return "".join(parts)
