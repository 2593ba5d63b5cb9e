"""A document that is a zip file of XML parts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol

from dragoman.base.errors import DataError
from dragoman.base.languages import base
from dragoman.documents.edits import Decoded, Edit, apply, unsafe
from dragoman.documents.office.inside import Atom, mend, trim
from dragoman.documents.office.package import Package
from dragoman.documents.segment import Code, Content, Result, Segment, dealt, full_text, merged
from dragoman.documents.xml.edits import retag
from dragoman.documents.xml.pieces import ATTRIBUTE, Element, read_xml, without_collection
from dragoman.text.xml import FORBIDDEN, escape, escape_attribute

_DEEPEST = 20  # paragraphs inside each other, as in text boxes
_EAST_ASIAN = {"ja", "ko", "zh"}
_FILE = re.compile(r"\S+\.\w{2,4}|\w:\\.*\.\w{2,4}")  # what programs write for want of a description
_ESCAPES = re.compile(r"(_x[0-9A-Fa-f]{4}_)")  # characters in attributes of Excel
_SIGNATURE = re.compile(r"_xmlsignatures/.+\.xml|META-INF/(?:document)?signatures\.xml")
_RIGHT_TO_LEFT = {"ar", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"}

Label = Callable[[str, Element], Iterable[Edit]]
"""How to name another language in a member, from its text and root."""

Raw = Callable[[Code], str]
"""The XML to write for a code: its text, unless a paragraph inside it is translated too."""
Write = Callable[[Content, Raw], str]
"""Returns the new XML of a passage."""


@dataclass(eq=False)
class Passage:
    """A segment and the part of the XML that its translation replaces: text[start:end]."""

    segment: Segment
    start: int
    end: int
    write: Write
    before: Content = ()  # what stays in place before the segment
    after: Content = ()
    nested: dict[str, list[tuple[tuple[int, int], ...]]] = field(default_factory=dict)
    """Text of a code -> for each code with this text, the spans in it that hold other passages."""
    copies: list[Passage] = field(default_factory=list)  # passages with the same text in another place
    limit: int | None = None  # how many characters its program allows; 0 if the text may not change


class PackageMember(Protocol):
    """A member of the package with segments."""

    @property
    def name(self) -> str: ...

    @property
    def segments(self) -> Sequence[Segment]: ...

    def render(self, results: Sequence[Result | None]) -> bytes | None:
        """Return the member with these translations, or None if nothing changes."""
        ...


@dataclass(eq=False)
class XmlPart:
    """A member of the package. Its passages are in the order of their starts, copies left out."""

    name: str
    decoded: Decoded
    passages: list[Passage]
    kept: list[Segment] = field(default_factory=list)  # whose translations could not be written

    @property
    def segments(self) -> list[Segment]:
        return [passage.segment for passage in self.passages]

    def render(self, results: Sequence[Result | None]) -> bytes | None:
        """Return the member with these translations, or None if nothing changes."""
        self.kept.clear()
        changes: list[tuple[Passage, Content]] = []
        for passage, result in zip(self.passages, results, strict=True):
            source = passage.segment.source
            if result is not None and merged(result.content) != source:
                content = mend(result.content, source)
                if passage.before or passage.after:
                    content = merged((*passage.before, *content, *passage.after))
                if passage.limit is not None and _length(content) > passage.limit:
                    self.kept.append(passage.segment)
                    continue
                changes += [(one, content) for one in (passage, *passage.copies)]
        if not changes:
            return None
        changes.sort(key=lambda change: change[0].start)
        edits: list[Edit] = []  # from the last to the first, so inner passages come before outer ones
        for passage, content in reversed(changes):
            inner = []
            while edits and edits[-1].start < passage.end:
                inner.append(edits.pop())
            raw = self._raw(passage, inner) if inner else attrgetter("text")
            edits.append(Edit(passage.start, passage.end, passage.write(content, raw)))
        return self.decoded.encode(apply(self.decoded.text, edits))

    def _raw(self, passage: Passage, edits: list[Edit]) -> Raw:
        """Return a writer of codes with the edits, in order, of the passages inside them."""
        waiting = {text: list(reversed(spans)) for text, spans in passage.nested.items()}
        starts = [one.start for one in edits]

        def raw(code: Code) -> str:
            changes, place = [], 0
            for start, end in waiting[code.text].pop() if waiting.get(code.text) else ():
                place = code.text.index(self.decoded.text[start:end], place)
                by = place - start
                inside = edits[bisect_left(starts, start) : bisect_left(starts, end)]
                changes += [Edit(one.start + by, one.end + by, one.new) for one in inside]
                place += end - start
            return apply(code.text, changes)

        return raw


def _length(content: Content) -> int:
    """How long a content is for programs that count in UTF-16."""
    shown = [one if isinstance(one, str) else "" if one.pair else one.text for one in content]
    return len("".join(shown).encode("utf-16-le", "replace")) // 2


def escaped(text: str) -> str:
    """Encode a text for XML, without characters that XML cannot hold."""
    return escape(FORBIDDEN.sub("", text))


class OfficeDocument:
    """A package with its segments, part by part; see `Document`.

    `labels` are the members of a translated document that state its language.
    """

    def __init__(self, package: Package, parts: Iterable[PackageMember], labels: Mapping[str, Label]) -> None:
        if any(map(_SIGNATURE.fullmatch, package.names)):
            raise DataError(
                "the file has a digital signature, which no translation can keep",
                hint="remove the signature in the program that wrote the file, and translate that copy",
            )
        self._package = package
        both = [(part, part.segments) for part in parts]
        self._parts = [(part, len(segments)) for part, segments in both if segments]
        self._labels = {name: label for name, label in labels.items() if name in package}
        self.segments = [segment for _, segments in both for segment in segments]
        self.kept: list[Segment] = []
        for name in self._labels:  # an error in it must not wait until all is translated
            self._relabelled(name, package.read(name))

    def render(self, results: list[Result | None]) -> bytes:
        """Return the file with these translations. Parts in which nothing changes keep their bytes."""
        changes: dict[str, bytes] = {}
        self.kept = []
        for part, own in dealt(self._parts, results):
            if (new := part.render(own)) is not None:
                changes[part.name] = new
            self.kept += getattr(part, "kept", ())
        for name in self._labels if changes else ():
            changes[name] = self._relabelled(name, changes.get(name) or self._package.read(name))
        return self._package.replace(changes)

    def _relabelled(self, name: str, member: bytes) -> bytes:
        with errors_in(name):
            decoded, root = read_tree(self._package, name, member)
            return decoded.encode(apply(decoded.text, self._labels[name](decoded.text, root)))


def relabel(text: str, element: Element, values: Mapping[str, str]) -> Edit:
    """Set attributes that an element has, named without a namespace."""
    names = [name for name, *_ in ATTRIBUTE.findall(element.tag.inside)]
    new = {name: values[local] for name in names if (local := name.rpartition(":")[2]) in values}
    return retag(text, element.tag, new)


def read_member(package: Package, name: str) -> tuple[Decoded, Element]:
    """Return a member as text, and its root element. Errors name the member."""
    data = package.read(name)
    with errors_in(name):
        return read_tree(package, name, data)


@without_collection()
def read_tree(package: Package, name: str, data: bytes) -> tuple[Decoded, Element]:
    """Return a member as text, and its root. Raises DataError as `read_xml` and `count_tags` do."""
    package.count_tags(name, data)
    decoded, _, root = read_xml(data, texts=True)
    return decoded, root


@contextmanager
def errors_in(name: str) -> Iterator[None]:
    """Put the name of a member before an error in it."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{name}, {error}", hint=error.hint) from None


def title_part(package: Package, name: str) -> XmlPart:
    """The title in the properties of a document, as a passage."""
    decoded, root = read_member(package, name)
    passages = []
    for element in root.walk():
        if element.name == "title":
            passages += plain_passage(decoded.text, element, "title")
    return XmlPart(name, decoded, passages)


def plain_passage(text: str, element: Element, where: str) -> list[Passage]:
    """The text of an element as a passage, if it has text and no other elements."""
    if any(one.name for one in element.children):
        return []
    place = element.inner, element.inner_end
    return passage_of([element.plain(text)], (), where, place, lambda new, _: escaped(full_text(new)))


def attribute_passages(
    text: str, element: Element, limits: Mapping[str, int | None], where: str
) -> Iterator[Passage]:
    """The attributes of these names as passages, with how many characters they may have."""
    before = element.tag.end - len(element.tag.inside) - 1
    for found in ATTRIBUTE.finditer(element.tag.inside):
        start, end = found.span(3 if found[2] is None else 2)
        plain = element.get(name := found[1].rpartition(":")[2])
        pieces = _ESCAPES.split(plain)
        items = [Code(one, "empty", breaks=True) if at % 2 else one for at, one in enumerate(pieces)]
        if name in limits and any(map(str.isalpha, plain)) and not _FILE.fullmatch(plain.strip()):
            for passage in passage_of(items, (), where, (before + start, before + end), _write_attribute):
                passage.limit = limits[name]
                yield passage


def _write_attribute(content: Content, raw: Raw) -> str:
    plain = full_text(content)
    return escape_attribute(FORBIDDEN.sub("", plain)).replace("'", "&apos;")


def check_depth_of_paragraphs(paragraphs: Sequence[Element]) -> None:
    """Raise DataError if paragraphs, in the order of the file, lie too deep inside each other."""
    ends: list[int] = []
    for one in paragraphs:
        while ends and ends[-1] <= one.start:
            ends.pop()
        ends.append(one.end)
        if len(ends) > _DEEPEST:
            raise unsafe(f"more than {_DEEPEST} paragraphs inside each other")


def passage_of(
    items: Iterable[str | Code],
    atoms: Iterable[tuple[Code, Atom]],
    where: str,
    place: tuple[int, int],
    write: Write,
) -> list[Passage]:
    """Return a paragraph as a passage, none if it has no text. `atoms` are those of its codes."""
    before, source, after = trim(items)
    if not any(isinstance(one, str) for one in source):
        return []
    passage = Passage(Segment(source, where), *place, write, before, after)
    for code, atom in atoms:
        if atom.nested:
            passage.nested.setdefault(code.text, []).append(atom.nested)
    return [passage]


def script(language: str, western: str, asian: str, complex_: str) -> str:
    """Choose by the script of a language: both formats state three languages, one for each kind."""
    primary = base(language)
    return asian if primary in _EAST_ASIAN else complex_ if primary in _RIGHT_TO_LEFT else western
