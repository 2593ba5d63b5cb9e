"""XML as a tree of places: each element knows which part of the text it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dragoman.base.errors import DataError
from dragoman.documents.edits import Decoded
from dragoman.documents.xml.pieces import read_xml, unescape

_TAGS = 2_000_000  # with less than a kilobyte of memory for each


@dataclass(slots=True, eq=False)
class XmlElement:
    """text[start:end] with its tags, text[inner:inner_end] without. A text has no name."""

    name: str  # without its prefix
    space: str
    start: int
    end: int
    inner: int
    inner_end: int
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[XmlElement] = field(default_factory=list)

    def walk(self, skip: Callable[[XmlElement], bool] | None = None) -> Iterator[XmlElement]:
        """Yield this element and all in it, texts too, in document order, without those that `skip` names."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            if skip is not None and skip(element):
                continue
            yield element
            waiting += reversed(element.children)

    def child(self, name: str) -> XmlElement | None:
        """The first child element of this name."""
        return next((one for one in self.children if one.name == name), None)

    def get(self, name: str) -> str:
        """An attribute by its name without a namespace, or "" if it is missing."""
        return next((value for key, value in self.attributes.items() if key.rpartition("}")[2] == name), "")

    def prefix(self, text: str) -> str:
        """The prefix of the name, with its colon, or ""."""
        name = re.split(r"[\s/>]", text[self.start + 1 : self.inner], maxsplit=1)[0]
        return name[: name.find(":") + 1]

    def plain(self, text: str) -> str:
        """All text inside, decoded."""
        return "".join(unescape(text[one.start : one.end]) for one in self.walk() if not one.name)


def read_tree(data: bytes) -> tuple[Decoded, XmlElement]:
    """Return an XML file as text, and its root. Raises DataError as `read_xml` does, and if it is too big."""
    if data.count(b"<") > _TAGS:
        raise DataError(f"more than {_TAGS:,} tags", hint="this file is not safe to read")
    decoded, pieces = read_xml(data)
    top = XmlElement("", "", 0, 0, 0, 0)
    open_ = [top]
    for piece in pieces:
        if piece.kind == "start":
            element = XmlElement(
                piece.name, piece.space, piece.start, piece.end, piece.end, piece.end, piece.attributes
            )
            open_[-1].children.append(element)
            open_.append(element)
        elif piece.kind == "end":
            element = open_.pop()
            element.inner_end, element.end = piece.start, piece.end
        elif piece.kind != "other" and len(open_) > 1:
            open_[-1].children.append(XmlElement("", "", piece.start, piece.end, piece.start, piece.end))
    return decoded, top.children[0]
