"""RESX and .resw of .NET: the strings of <data>, but not other types, nor settings of a form's designer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.documents.edits import Lines, PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.strings.keyed import KeyedString, string_in_xml
from dragoman.documents.xml.pieces import Element, expect_root, read_xml

# Properties of controls that hold language; a designer's file has many others.
_SHOWN = re.compile(r"(?:Text|ToolTip|Caption|Title|Description|Accessible|Header|Items|Message|Hint)")


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read a file. Raises DataError with the line for other XML."""
    decoded, _, root = read_xml(data, texts=True)
    expect_root(decoded.text, root, "root", "<root> of RESX", "use a .resx or .resw file")
    return PartsDocument(decoded, _strings(decoded.text, root))


def _strings(text: str, root: Element) -> Iterator[KeyedString]:
    entries = [one for one in root.children if one.name == "data"]
    designed = any(one.get("name").startswith((">>", "$this.")) for one in entries)
    lines = Lines(text)
    for entry in entries:
        name, value, comment = entry.get("name"), entry.child("value"), entry.child("comment")
        note = comment.plain(text).strip() if comment else ""
        kind = entry.get("mimetype") or entry.get("type").removeprefix("System.String")
        if value is None or note.startswith("{Locked}") or (kind and not kind.startswith(",")):
            continue
        if designed and (
            name.startswith(">>") or ("." in name and not _SHOWN.search(name.rpartition(".")[2]))
        ):
            continue
        yield from string_in_xml(text, value, name, lines.line(entry.start), note)
