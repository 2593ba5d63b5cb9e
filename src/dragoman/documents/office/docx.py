"""Word: the text of a document, its headers, footers, notes, text boxes, charts and diagrams.

Comments are not translated, nor is deleted text of tracked changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.base.languages import same
from dragoman.documents.edits import Edit
from dragoman.documents.formats import Languages
from dragoman.documents.office.ooxml import DRAWN, Parts
from dragoman.documents.office.parts import OfficeDocument, relabel, script
from dragoman.documents.xml.pieces import Element

_MAIN = (
    r"application/vnd\.(?:openxmlformats-officedocument\.wordprocessingml\.(?:document|template)"
    r"|ms-word\.(?:document|template)\.macroEnabled(?:Template)?)\.main\+xml"
)
_OTHERS = [f"wordprocessingml.{name}+xml" for name in ("footnotes", "endnotes", "header", "footer")]


def parse(data: bytes, languages: Languages) -> OfficeDocument:
    """Read a Word document or template. Raises DataError if it is damaged, encrypted, unsafe or not Word."""
    found = Parts(data, _MAIN, "Word document", ".docx", languages.target)
    parts = [found.part(name, "") for name in found.main]
    parts += [*found.read(*_OTHERS, *DRAWN), *found.titles()]

    def label(text: str, root: Element) -> Iterator[Edit]:
        """Name the language of the text, by default and where a style states the one translated from."""
        defaults = root.child("docDefaults")
        by_default = set(defaults.walk()) if defaults else set()
        name = script(languages.target, "val", "eastAsia", "bidi")
        for one in root.walk():
            if one.name == "lang" and (one in by_default or same(one.get(name), languages.source)):
                yield relabel(text, one, {name: languages.target})

    styles = found.named("wordprocessingml.styles+xml")
    return OfficeDocument(found.package, parts, dict.fromkeys(styles[:1], label))
