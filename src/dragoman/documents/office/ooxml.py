"""Parts of Word, PowerPoint and Excel: by their content types, with paragraphs and descriptions of pictures.

ECMA-376; ISO/IEC 29500.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter

from dragoman.base.errors import DataError
from dragoman.documents.office.package import Package
from dragoman.documents.office.parts import (
    Passage,
    XmlPart,
    attribute_passages,
    check_depth_of_paragraphs,
    read_member,
    title_part,
)
from dragoman.documents.office.runs import DRAWING, WORD, read_paragraph
from dragoman.documents.xml.pieces import Element

DRAWN = (  # parts that all three programs have, by the ends of content types
    *(f"drawingml.{name}+xml" for name in ("chart", "chartshapes", "diagramData", "diagramDrawing")),
    "ms-office.chartex+xml",
)
_TITLE = "package.core-properties+xml"
_DESCRIBED, _LEFT_OUT = {"docPr", "cNvPr"}, {"del", "moveFrom", "Fallback"}
_WANTED = {"p", "AlternateContent", *_DESCRIBED, *_LEFT_OUT}
_DESCRIPTIONS = {"descr": None, "title": None}
_DEEPEST = 20  # alternatives inside each other
_NUMBERS = re.compile(r"\d+")


class Parts:
    """The parts of a package by their content types (ISO/IEC 29500-2, section 7.3).

    Raises DataError if none is a main part, whose type matches `main`, of the program, and as `Package`.
    """

    def __init__(self, data: bytes, main: str, program: str, suffix: str, language: str) -> None:
        self.package, self._language = Package(data), language
        self._types = _content_types(self.package)
        if any("sheet.binary" in kind for kind in self._types.values()):
            raise DataError("this is a binary file of Excel", hint="save it as .xlsx first")
        self.main = [name for name, kind in self._types.items() if re.fullmatch(main, kind)]
        if not self.main:
            raise DataError(f"the zip file has no {program}", hint=f"give a file such as {suffix}")

    def named(self, *endings: str) -> list[str]:
        """The parts whose types end so: type after type, and page 2 before page 10."""
        named = sorted(self._types, key=lambda name: int((_NUMBERS.findall(name) or ["0"])[-1][:9]))
        return [name for one in endings for name in named if self._types[name].endswith(one)]

    def read(self, *endings: str, skipped: Callable[[Element], bool] | None = None) -> list[XmlPart]:
        """Those parts with their paragraphs."""
        return [self.part(name, f"{name.rpartition('/')[2]}, ", skipped) for name in self.named(*endings)]

    def titles(self) -> list[XmlPart]:
        return [title_part(self.package, name) for name in self.named(_TITLE)]

    def part(self, name: str, where: str, skipped: Callable[[Element], bool] | None = None) -> XmlPart:
        """One part with its paragraphs and descriptions.

        Newer drawings come with a second version for old programs. If both say the same, so do the
        translations.
        """
        decoded, root = read_member(self.package, name)
        text = decoded.text
        wanted = [one for one in root.walk(skipped) if one.name in _WANTED]
        check_depth_of_paragraphs(paragraphs := [one for one in wanted if _is_paragraph(one)])
        places = [one.start for one in paragraphs]

        def shown(top: Element) -> Iterator[Element]:
            """Those that are wanted in an element, without what is left out."""
            ends = top.inner, top.inner_end
            first, last = (bisect_left(wanted, at, key=attrgetter("start")) for at in ends)
            done = 0
            for one in wanted[first:last]:
                if one.start >= done and one.name in _LEFT_OUT:
                    done = one.end
                elif one.start >= done:
                    yield one

        described = [one for one in shown(root) if one.name in _DESCRIBED]
        starts = sorted([*places, *(one.start for one in described)])

        def paragraph(place: int) -> str:
            return f"{where}paragraph {max(1, bisect_right(places, place))}"

        def inside(top: Element, depth: int = 0) -> list[Passage]:
            passages: list[Passage] = []
            alternatives: list[Element] = []
            for one in shown(top):
                if _is_paragraph(one):
                    passages += read_paragraph(text, one, paragraph(one.start), starts, self._language)
                elif one.name == "AlternateContent" and depth < _DEEPEST:
                    alternatives.append(one)
            begins = [one.start for one in passages]
            for one in alternatives:
                if (fallback := one.child("Fallback")) is None:
                    continue
                chosen = passages[bisect_left(begins, one.start) : bisect_left(begins, fallback.start)]
                copies = inside(fallback, depth + 1)
                if [copy.segment.source for copy in copies] == [one.segment.source for one in chosen]:
                    for passage, copy in zip(chosen, copies, strict=True):
                        passage.copies += [copy, *copy.copies]
            return passages

        passages = inside(root)
        for one in described:
            passages += attribute_passages(text, one, _DESCRIPTIONS, paragraph(one.start))
        return XmlPart(name, decoded, sorted(passages, key=attrgetter("start")))


def _is_paragraph(element: Element) -> bool:
    return element.name == "p" and (element.space in WORD or element.space in DRAWING)


def _content_types(package: Package) -> dict[str, str]:
    """Member -> content type, in the order of the package."""
    name = "[Content_Types].xml"
    if name not in package:
        raise DataError("not a file of Office: it has no list of content types", hint="is it the right file?")
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
