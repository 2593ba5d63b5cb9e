"""PowerPoint: slides with their tables, charts, diagrams and pictures, notes, and what masters show.

Comments are not translated, nor are prompts of layouts and the labels that a chart takes from its workbook.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.base.languages import same
from dragoman.documents.edits import Edit
from dragoman.documents.formats import Languages
from dragoman.documents.office.ooxml import DRAWN, Parts
from dragoman.documents.office.parts import OfficeDocument, relabel
from dragoman.documents.xml.pieces import Element

_MAIN = (
    r"application/vnd\.(?:openxmlformats-officedocument\.presentationml|ms-powerpoint)"
    r"\.(?:presentation|template|slideshow)(?:\.macroEnabled)?\.main\+xml"
)


def parse(data: bytes, languages: Languages) -> OfficeDocument:
    """Read a PowerPoint file. Raises DataError if it is damaged, encrypted, unsafe or not PowerPoint."""
    found = Parts(data, _MAIN, "PowerPoint presentation", ".pptx", languages.target)
    parts = found.read("presentationml.slide+xml", "presentationml.notesSlide+xml", *DRAWN)
    layouts = ("presentationml.slideLayout+xml", "presentationml.slideMaster+xml")
    parts += [*found.read(*layouts, skipped=_is_prompt), *found.titles()]

    def label(text: str, root: Element) -> Iterator[Edit]:
        for one in root.walk():
            if one.name == "defRPr" and same(one.get("lang"), languages.source):
                yield relabel(text, one, {"lang": languages.target})

    return OfficeDocument(found.package, parts, dict.fromkeys(found.main, label))


def _is_prompt(element: Element) -> bool:
    """Whether a shape of a layout is the place of another on the slides, which show no text of it."""
    properties = [each for one in element.children if one.name.startswith("nv") for each in one.children]
    return any(one.name == "nvPr" and one.child("ph") is not None for one in properties)
