"""Word and OpenDocument files for tests, with as little in them as their readers need."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from dragoman.documents.formats import Languages
from dragoman.documents.segment import Content

ENGLISH_GERMAN = Languages("en", "de")
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
STYLE = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"
FO = "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"
DRAW = "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
XLINK = "http://www.w3.org/1999/xlink"

_WORD_SPACES = f'xmlns:w="{W}" xmlns:a="{A}" xmlns:r="{R}" xmlns:mc="{MC}" xmlns:m="{M}"'
_ODF_SPACES = (
    f'xmlns:office="{OFFICE}" xmlns:text="{TEXT}" xmlns:style="{STYLE}" xmlns:fo="{FO}" xmlns:draw="{DRAW}"'
    f' xmlns:xlink="{XLINK}"'
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


def packed(members: Mapping[str, str | bytes], *, stored: tuple[str, ...] = ("mimetype",)) -> bytes:
    """A zip file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in members.items():
            package.writestr(name, content, zipfile.ZIP_STORED if name in stored else None)
    return file.getvalue()


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


def odt(body: str, styles: str = "", parts: Mapping[str, str] | None = None) -> bytes:
    """An OpenDocument text with these paragraphs and automatic styles, and other parts by their names."""
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content {_ODF_SPACES}>'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    members = {
        "mimetype": "application/vnd.oasis.opendocument.text",
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
