"""XLIFF 1.2 and 2: https://docs.oasis-open.org/xliff/."""

from __future__ import annotations

from dragoman.base.errors import DataError
from dragoman.documents.edits import line_of
from dragoman.documents.formats import Languages
from dragoman.documents.segment import Document
from dragoman.documents.xliff.version1 import Xliff12
from dragoman.documents.xliff.version2 import Xliff2
from dragoman.documents.xml.pieces import read_xml


def parse(data: bytes, languages: Languages) -> Document:
    """Read a file. Raises DataError, with the line, for one that is damaged or for other languages."""
    decoded, pieces, root = read_xml(data)
    version = root.attributes.get("version") or ("2.0" if ":2." in root.space else "1.2")
    if root.name == "xliff" and version.startswith("1."):
        return Xliff12(decoded, pieces, root, languages)
    if root.name == "xliff" and version.startswith("2."):
        return Xliff2(decoded, pieces, root, languages)
    what = f"version {version!r} of XLIFF" if root.name == "xliff" else f"<{root.name}> is not <xliff>"
    raise DataError(f"line {line_of(decoded.text, root.start)}: {what}", hint="use XLIFF 1.2 or 2.0 to 2.2")
