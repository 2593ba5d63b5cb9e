"""Files of Office, OpenDocument and EPUB for tests, with as little in them as their readers need."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dragoman.documents.formats import Languages
from dragoman.documents.office.package import most_tags
from dragoman.documents.segment import Content

ENGLISH_GERMAN = Languages("en", "de")
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
C = "http://schemas.openxmlformats.org/drawingml/2006/chart"
CONTENT_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
STYLE = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"
FO = "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"
TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
SVG = "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
PRESENTATION = "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"
DRAW = "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
XLINK = "http://www.w3.org/1999/xlink"

_WORD_SPACES = f'xmlns:w="{W}" xmlns:a="{A}" xmlns:r="{R}" xmlns:mc="{MC}" xmlns:m="{M}"'
_ODF_SPACES = (
    f'xmlns:office="{OFFICE}" xmlns:text="{TEXT}" xmlns:style="{STYLE}" xmlns:fo="{FO}" xmlns:draw="{DRAW}"'
    f' xmlns:xlink="{XLINK}" xmlns:table="{TABLE}" xmlns:svg="{SVG}" xmlns:presentation="{PRESENTATION}"'
)
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_TYPES = {
    "word/footnotes.xml": "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml",
    "word/header1.xml": "application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml",
    "word/comments.xml": "application/vnd.openxmlformats-officedocument.wordprocessingml.comments+xml",
    "word/styles.xml": "application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml",
    "word/charts/chart1.xml": "application/vnd.openxmlformats-officedocument.drawingml.chart+xml",
    "docProps/core.xml": "application/vnd.openxmlformats-package.core-properties+xml",
}


@contextmanager
def at_most_tags(most: int) -> Iterator[None]:
    """A file has at most so many tags in the block."""
    token = most_tags.set(most)
    try:
        yield
    finally:
        most_tags.reset(token)


def packed(members: Mapping[str, str | bytes], *, stored: tuple[str, ...] = ("mimetype",)) -> bytes:
    """A zip file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in members.items():
            package.writestr(name, content, zipfile.ZIP_STORED if name in stored else None)
    return file.getvalue()


def office(members: Mapping[str, str], types: Mapping[str, str]) -> bytes:
    """A file of Office with these members, whose content types end so, and its main part first."""
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="application/vnd.{_kind(kind)}+xml"/>'
        for name, kind in types.items()
    )
    main = next(iter(types))
    return packed(
        {
            "[Content_Types].xml": f'<Types xmlns="{CONTENT_TYPES}">'
            f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>',
            "_rels/.rels": f'<Relationships xmlns="{RELATIONSHIPS}">'
            f'<Relationship Id="rId1" Type="{R}/officeDocument" Target="{main}"/></Relationships>',
            **members,
        }
    )


def _kind(kind: str) -> str:
    return kind if kind.startswith("ms-") else f"openxmlformats-{kind}"


def pptx(body: str, parts: Mapping[str, str] | None = None, types: Mapping[str, str] | None = None) -> bytes:
    """A presentation with these shapes on its only slide, and other parts with their types by their names."""
    return office(
        {
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:a="{A}"/>',
            "ppt/slides/slide1.xml": slide_xml(body),
            **(parts or {}),
        },
        {
            "ppt/presentation.xml": "officedocument.presentationml.presentation.main",
            "ppt/slides/slide1.xml": "officedocument.presentationml.slide",
            **(types or {}),
        },
    )


def slide_xml(body: str, root: str = "p:sld") -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\r\n<{root} xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{R}">'
        f"<p:cSld><p:spTree>{body}</p:spTree></p:cSld></{root}>"
    )


def xlsx(
    strings: str,
    sheet: str = "",
    cells: str = "",
    parts: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
) -> bytes:
    """A workbook: shared strings in column A of its only sheet, more rows, and what follows them."""
    rows = "".join(
        f'<row r="{n + 1}"><c r="A{n + 1}" t="s"><v>{n}</v></c></row>' for n in range(strings.count("<si>"))
    )
    return office(
        {
            "xl/workbook.xml": f'<workbook xmlns="{S}"><sheets><sheet name="Boats" sheetId="1"/></sheets>'
            '<calcPr calcId="1"/></workbook>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}" xmlns:r="{R}"><sheetData>{rows}{cells}'
            f"</sheetData>{sheet}</worksheet>",
            "xl/sharedStrings.xml": f'<?xml version="1.0"?>\n<sst xmlns="{S}">{strings}</sst>',
            **(parts or {}),
        },
        {
            "xl/workbook.xml": "officedocument.spreadsheetml.sheet.main",
            "xl/worksheets/sheet1.xml": "officedocument.spreadsheetml.worksheet",
            "xl/sharedStrings.xml": "officedocument.spreadsheetml.sharedStrings",
            **(types or {}),
        },
    )


def epub(
    chapter: str, metadata: str = "", manifest: str = "", parts: Mapping[str, str | bytes] | None = None
) -> bytes:
    """A book with this body of its only chapter, and more metadata, items and parts."""
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="book/b.opf" media-type="application/oebps-package+xml"/>'
            "</rootfiles></container>",
            "book/b.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">\n'
            f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">{metadata}</metadata>\n'
            '<manifest><item id="c" href="one%20two.xhtml" media-type="application/xhtml+xml"/>'
            f'{manifest}</manifest><spine><itemref idref="c"/></spine></package>',
            "book/one two.xhtml": '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"'
            f' xmlns:epub="http://www.idpf.org/2007/ops" lang="en">\n{chapter}</html>',
            **(parts or {}),
        }
    )


def unpacked(data: bytes, name: str) -> str:
    """A member as text. Raises an error if any member is damaged."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        assert package.testzip() is None
        return package.read(name).decode()


def word_xml(body: str, root: str = "w:document") -> str:
    inside = f"<w:body>{body}</w:body>" if root == "w:document" else body
    return f'<?xml version="1.0" encoding="UTF-8"?>\r\n<{root} {_WORD_SPACES}>{inside}</{root}>'


def docx(body: str, parts: Mapping[str, str] | None = None, main: str = _MAIN) -> bytes:
    """A Word document with these paragraphs, and other parts by their names."""
    parts = parts or {}
    overrides = {"word/document.xml": main} | {name: _TYPES[name] for name in parts if name in _TYPES}
    types = "".join(
        f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in overrides.items()
    )
    members = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f'<Default Extension="xml" ContentType="application/xml"/>{types}</Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{R}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": word_xml(body),
    }
    return packed({**members, **parts})


def odt(body: str, styles: str = "", parts: Mapping[str, str] | None = None, kind: str = "text") -> bytes:
    """An OpenDocument file with this content and these automatic styles, and other parts by their names."""
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content {_ODF_SPACES}>'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    members = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": content,
        "META-INF/manifest.xml": '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:'
        'manifest:1.0"><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>",
    }
    return packed({**members, **(parts or {})})


def odf_xml(root: str, inside: str) -> str:
    return f"<{root} {_ODF_SPACES}>{inside}</{root}>"


def upper(content: Content) -> Content:
    return tuple(one.upper() if isinstance(one, str) else one for one in content)


def shown(content: Content) -> str:
    """A content to compare: codes in brackets, by the names of their first and only tags."""
    return "".join(one if isinstance(one, str) else f"[{one.kind[0]}{one.pair or ''}]" for one in content)
