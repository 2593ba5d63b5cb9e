"""OpenDocument: texts, presentations, spreadsheets and drawings.

Paragraphs, headers, footers, notes, text boxes, descriptions of pictures, charts, and the title. Of cells
only text counts, no numbers and no results of formulas; what formulas compare with cells stays.

Comments are not translated, nor is deleted text of tracked changes. ISO/IEC 26300; OASIS OpenDocument 1.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from dragoman.base.errors import DataError
from dragoman.base.languages import same
from dragoman.documents.edits import Decoded, Edit
from dragoman.documents.formats import Languages
from dragoman.documents.office.cells import Compared, is_cell_text
from dragoman.documents.office.inside import Atom, ParagraphReader, check_depth_of_inline, pair_ranges
from dragoman.documents.office.package import Package
from dragoman.documents.office.parts import (
    OfficeDocument,
    Passage,
    Raw,
    XmlPart,
    attribute_passages,
    check_depth_of_paragraphs,
    escaped,
    passage_of,
    plain_passage,
    read_member,
    relabel,
    script,
    title_part,
)
from dragoman.documents.segment import Code, Content, text_of
from dragoman.documents.xml.pieces import Element, unescape

_KIND = re.compile(r"application/vnd\.oasis\.opendocument\.(?:text|presentation|spreadsheet|graphics)\b")
_TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
_SVG = "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"
_PRESENTATION = "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"
_PLAIN = {  # elements of text without others in it
    *((_SVG, "title"), (_SVG, "desc"), (_PRESENTATION, "header-decl"), (_PRESENTATION, "footer-decl"))
}
_PROMPTS = {"title", "subtitle", "outline", "notes", "text", "graphic", "object", "chart", "table", "page"}
_NUMBERS = {"float", "percentage", "currency", "date", "time", "boolean"}
_COMPARED = {
    ("filter-condition", "value"),
    ("filter-set-item", "value"),
    ("data-pilot-field", "source-field-name"),
    ("data-pilot-member", "name"),
}
_SPACES = 100  # that one text:s stands for; more are a code
_ENCLOSING = {"span", "a", "meta", "content-control"}
_DROPPED = {"soft-page-break"}
_WITHOUT_PLACE = {"note", "script", "hidden-text", "hidden-paragraph"}  # not words of the sentence
_NOISE = re.compile(r"rsid$|^(?:language|country|script|rfc-language-tag)(?:-asian|-complex)?$")


def parse(data: bytes, languages: Languages) -> OfficeDocument:
    """Read an OpenDocument file. Raises DataError if it is damaged, encrypted, unsafe or of another kind."""
    package = Package(data)
    kind = package.read("mimetype").decode("ascii", "replace").strip() if "mimetype" in package else ""
    if not _KIND.match(kind):
        what = f", but {kind[:80]!r}" if kind else ""
        raise DataError(
            f"not a text, presentation or spreadsheet of OpenDocument{what}",
            hint="give a file such as .odt, .odp or .ods",
        )
    manifest = "META-INF/manifest.xml"
    if manifest in package and b"encryption-data" in package.read(manifest):
        raise DataError("the file is encrypted", hint="save it without a password")
    contents = [name for name in package.names if name.endswith("/content.xml")]  # of charts
    parts = []
    compared = Compared()
    for name in ("content.xml", *contents, *(["styles.xml"] if "styles.xml" in package else ())):
        decoded, root = read_member(package, name)
        if "spreadsheet" in kind:
            _compare(root, compared)
        parts.append(_part(name, decoded, root, "" if name == "content.xml" else f"{name}, "))
    for part in parts if "spreadsheet" in kind else ():
        part.passages = [one for one in part.passages if is_cell_text(text_of(one.segment.source))]
        for passage in part.passages if part.name != "styles.xml" else ():
            if compared.has(text_of(passage.segment.source)):
                passage.limit = 0
    if "meta.xml" in package:
        parts.append(title_part(package, "meta.xml"))
    return OfficeDocument(package, parts, {"styles.xml": lambda text, root: _label(text, root, languages)})


def _compare(root: Element, compared: Compared) -> None:
    """Note what formulas, filters and pivot tables compare with cells."""
    for one in root.walk():
        for name, value in one.attributes.items():
            local = name.rpartition("}")[2]
            if local in ("formula", "condition"):
                compared.add_formula(value)
            elif (one.name, local) in _COMPARED:
                compared.add(value)


def _part(name: str, decoded: Decoded, root: Element, where: str) -> XmlPart:
    def skipped(element: Element) -> bool:
        if name == "styles.xml" and element.name in ("frame", "custom-shape"):
            return element.get("class") in _PROMPTS or _is_left_out(element)
        names_cells = element.name == "desc" and name not in ("content.xml", "styles.xml")  # of a chart
        return names_cells or _is_left_out(element)

    elements = list(root.walk(skipped))
    paragraphs = [one for one in elements if _is_paragraph(one) or (one.space, one.name) in _PLAIN]
    check_depth_of_paragraphs(paragraphs)
    starts, styles = [one.start for one in paragraphs], _styles(root)
    cells = [one for one in elements if one.get("string-value")]
    repeating = {one.start: cell for cell in cells for one in cell.children if _is_paragraph(one)}
    passages: list[Passage] = []
    for number, one in enumerate(paragraphs, 1):
        if (one.space, one.name) in _PLAIN:
            passages += plain_passage(decoded.text, one, f"{where}paragraph {number}")
            continue
        found = _Reader(decoded.text, starts, styles).passage(one, f"{where}paragraph {number}")
        for passage in found if one.start in repeating else ():
            # It repeats its text in an attribute: so must the translation, or the text stays.
            cell = repeating[one.start]
            passage.copies += attribute_passages(decoded.text, cell, {"string-value": None}, "")
            if [one.segment.source for one in passage.copies] != [passage.segment.source]:
                passage.copies, passage.limit = [], 0
        passages += found
    for one in elements:
        if one.name in ("help-message", "error-message"):  # for a cell
            passages += attribute_passages(decoded.text, one, {"title": None}, f"{where}{one.name}")
    return XmlPart(name, decoded, sorted(passages, key=lambda one: one.start))


def _is_left_out(element: Element) -> bool:
    """Whether text stays: that of comments and of deletions, and of cells that hold no text of their own."""
    if element.name in ("table-cell", "covered-table-cell"):
        return bool(element.get("formula")) or element.get("value-type") in _NUMBERS
    return element.name in ("tracked-changes", "annotation") or element.get("placeholder") == "true"


def _is_paragraph(element: Element) -> bool:
    return element.space == _TEXT and element.name in ("p", "h")


def _styles(root: Element) -> dict[str, str]:
    """Automatic style of text -> what it looks like, "" if like its surroundings."""
    automatic = root.child("automatic-styles")
    styles = {}
    for style in automatic.children if automatic else ():
        if style.get("family") == "text":
            looks = [f"parent {style.get('parent-style-name')}"] if style.get("parent-style-name") else []
            for properties in style.children:
                looks += [
                    f"{name}={value}"
                    for name, value in sorted(properties.attributes.items())
                    if not _NOISE.search(name.rpartition("}")[2])
                ]
            styles[style.get("name")] = "\n".join(looks)
    return styles


class _Reader(ParagraphReader):
    """The atoms of one paragraph."""

    def __init__(self, text: str, starts: Sequence[int], styles: dict[str, str]) -> None:
        super().__init__(text, starts)
        self.styles = styles
        self.atoms: list[Atom] = []
        self.after_space = True  # as at the start of a paragraph
        self.closed: tuple[Atom, str] | None = None  # the last atom, if it ends a span, and how that looks

    def passage(self, paragraph: Element, where: str) -> list[Passage]:
        """Return a paragraph as a passage, none if it has no text."""
        self.inline(paragraph.children)
        pair_ranges(self.atoms, self.pair)
        coded = [(atom.code(), atom) for atom in self.atoms if atom.kind != "text"]
        codes = iter(coded)
        items = [atom.text if atom.kind == "text" else next(codes)[0] for atom in self.atoms]
        place = paragraph.inner, paragraph.inner_end
        return passage_of(items, coded, where, place, partial(_written, paragraph.prefix(self.text)))

    def inline(self, elements: Iterable[Element], depth: int = 0) -> None:
        """Add what may stand in a paragraph."""
        check_depth_of_inline(depth)
        for one in elements:
            raw = self.raw(one)
            if not one.name:
                self._text(unescape(raw))
            elif one.name in _ENCLOSING:
                self._enclosing(one, depth)
            elif one.name == "s" and (count := _count(one)) <= _SPACES:
                self._append(Atom("text", raw, " " * count))
                self.after_space = False
            elif one.name in ("tab", "line-break"):
                self._append(Atom("empty", raw, " " if one.name == "tab" else "\n", breaks=True))
                self.after_space = False
            elif one.name == "ruby":  # its reading aid belongs to the source language
                base = one.child("ruby-base")
                self.inline(base.children if base else (), depth + 1)
            elif one.name not in _DROPPED:
                self._other(one, raw)

    def _text(self, text: str) -> None:
        """Add text with its white space collapsed (section 6.1.2)."""
        text = re.sub(r"[ \t\r\n]+", " ", text)
        if self.after_space:
            text = text.removeprefix(" ")
        if text:
            self._append(Atom("text", text, text))
            self.after_space = text.endswith(" ")

    def _append(self, atom: Atom) -> None:
        self.atoms.append(atom)
        self.closed = None

    def _enclosing(self, element: Element, depth: int) -> None:
        looks = self.styles.get(element.get("style-name")) if element.name == "span" else None
        if looks == "":
            self.inline(element.children, depth + 1)
            return
        if looks is not None and self.closed is not None and self.closed[1] == looks:
            end = self.atoms.pop()  # the span before looks the same, so continue it
        else:
            self.pair += 1
            self._append(Atom("open", self.text[element.start : element.inner], pair=self.pair))
            end = Atom("close", self.text[element.inner_end : element.end], pair=self.pair)
        self.closed = None
        self.inline(element.children, depth + 1)
        self._append(end)
        self.closed = None if looks is None else (end, looks)

    def _other(self, element: Element, raw: str) -> None:
        """Add an element as a code: a field as a placeholder, anything else as an empty tag."""
        shown = element.plain(self.text)
        atom = Atom("empty", raw)
        if element.space == _TEXT and element.name not in _WITHOUT_PLACE and shown.strip():
            atom = Atom("placeholder", raw, shown)
            self.after_space = False
        id = element.get("name") or element.get("id") or element.get("change-id")
        self._append(self.element(element, atom, "-start", "-end", id))


def _count(spaces: Element) -> int:
    """How many spaces text:s stands for."""
    count = spaces.get("c")
    return int(count) if re.fullmatch(r"[0-9]{1,9}", count) else 1


def _written(prefix: str, content: Content, raw: Raw) -> str:
    """A paragraph whose elements have names with this prefix."""
    parts: list[str] = []
    after_space = True
    for one in content:
        if isinstance(one, Code):
            parts.append(raw(one))
            continue
        for piece in filter(None, re.split(r"( +|\t|\n)", one)):
            if piece in ("\t", "\n"):
                parts.append(f"<{prefix}tab/>" if piece == "\t" else f"<{prefix}line-break/>")
            elif piece[0] == " ":  # as spaces that no reader collapses
                first = "" if after_space else " "
                more = len(piece) - len(first)
                parts.append(first + f'<{prefix}s {prefix}c="{more}"/>' * bool(more))
            else:
                parts.append(escaped(piece))
            after_space = piece[0] == " "
    return "".join(parts)


def _label(text: str, root: Element, languages: Languages) -> Iterator[Edit]:
    """Name the language of the text, by default and where a style states the one translated from."""
    primary, _, region = languages.target.partition("-")
    kind = script(languages.target, "", "-asian", "-complex")
    values = {f"language{kind}": primary, f"country{kind}": region or "none"}
    for style in root.walk():
        for one in style.children if style.name in ("style", "default-style") else ():
            stated = one.get(f"language{kind}")
            if style.name == "default-style" or same(stated, languages.source):
                yield relabel(text, one, values)
