"""A paragraph of Word or DrawingML, or a string of Excel: runs of text with properties, in and out.

ISO/IEC 29500-1, sections 17.3 (w:p, w:r), 21.1.2 (a:p, a:r) and 18.4 (si, r). The style of a run is the XML
of its properties without the language. The most common style of a paragraph, or of a link in it, is not
marked; text in another style is enclosed in a pair of codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from dragoman.documents.office.fields import RunAtom, encloses_text, join_atoms, join_fields
from dragoman.documents.office.inside import Atom, ParagraphReader, check_depth_of_inline, pair_ranges
from dragoman.documents.office.parts import Passage, Raw, escaped, passage_of
from dragoman.documents.segment import Code, Content
from dragoman.documents.xml.pieces import Element

WORD = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
}
DRAWING = {
    "http://schemas.openxmlformats.org/drawingml/2006/main",
    "http://purl.oclc.org/ooxml/drawingml/main",
}
SHEET = {
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",
}
_ENCLOSING = {"hyperlink", "ins", "moveTo", "smartTag", "customXml", "dir", "bdo"}
_CHOSEN = {"dropDownList", "comboBox", "date", "checkbox"}  # content controls without free text
_SHOWN = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n"}
_BREAKS = {"tab", "ptab", "br", "cr"}
_DROPPED = {"pPr", "rPr", "endParaRPr", "proofErr", "lastRenderedPageBreak", "rPh", "phoneticPr"}
_LANGUAGE = re.compile(
    r"<\w+:(?:lang|noProof)\b[^<>]*/>|\s(?:lang|altLang|dirty|err|noProof|smtClean)=(?:\"[^\"]*\"|'[^']*')"
)
_code = lru_cache(Code)
_BLANK = re.compile(r"[\t\r\n]")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_NO_STYLE = re.compile(r"<(?:\w+:)?rPr\s*(?:/>|>\s*</(?:\w+:)?rPr>)")
_VISIBLE = re.compile(r"<\w+:(?:u|strike|dstrike|highlight|shd|bdr)\b|\s(?:u|strike)=")  # even of a space


class _Reader(ParagraphReader):
    """The atoms of one paragraph."""

    def __init__(self, text: str, paragraph: Element, starts: Sequence[int], language: str) -> None:
        super().__init__(text, starts)
        self.prefix = paragraph.prefix(text)
        self.space, self.language = paragraph.space, language
        self.atoms: list[RunAtom] = []
        self.run = self.home = 0

    def inline(self, elements: Iterable[Element], depth: int = 0) -> None:
        """Add what may stand in a paragraph."""
        check_depth_of_inline(depth)
        for one in elements:
            if one.name == "r":
                self._run(one)
            elif self._encloses(one):
                self._enclosing(one, depth)
            elif one.name in ("fldSimple", "fld", "sdt") or one.name.startswith("oMath"):
                shown = self._shown(one)
                self._add(one, "placeholder" if shown.strip() else "empty", shown)
            elif one.name == "t":  # of a string without runs
                self._append("text", self.raw(one), self._text_of(one))
            elif one.name and one.name not in _DROPPED:
                self._add(one, "empty", _SHOWN.get(one.name, ""))

    def _encloses(self, element: Element) -> bool:
        """Whether an element is a pair of codes around text to translate."""
        if element.name == "fldSimple":
            return encloses_text(element.get("instr"))
        if element.name == "sdt":
            properties = element.child("sdtPr")
            chosen = properties is not None and any(one.name in _CHOSEN for one in properties.children)
            return not chosen and element.child("sdtContent") is not None
        return element.name in _ENCLOSING and bool(element.children)

    def _enclosing(self, element: Element, depth: int) -> None:
        body = element.child("sdtContent") or element
        children = [one for one in body.children if one.name]  # without the space of an indented file
        first = children[0] if children else body
        inner = first.end if first.name.endswith("Pr") else body.inner
        self.pair += 1
        pair, outside = self.pair, self.home
        self._append("open", self.text[element.start : inner], pair=pair)
        self.home = pair
        self.inline(children[first.name.endswith("Pr") :], depth + 1)
        self.home = outside
        self._append("close", self.text[body.inner_end : element.end], pair=pair)

    def _run(self, run: Element) -> None:
        properties = run.child("rPr")
        style = _style(self.raw(properties)) if properties else ""
        self.run += 1
        for one in run.children:
            if one.name == "t":
                self._append("text", self.raw(one), self._text_of(one), style)
            elif one.name == "noBreakHyphen":
                self._append("text", self.raw(one), "\u2011", style)
            elif one.name == "ruby":  # what is read aloud belongs to the language that goes
                base = one.child("rubyBase")
                self._append("text", self.raw(one), self._shown(base) if base else "", style)
            elif one.name == "sym":
                self._add(one, "placeholder", style=style)
            elif one.name in ("instrText", "delInstrText"):
                self._add(one, "empty", style=style, mark="instruction")
                self.atoms[-1].text = one.plain(self.text)
            elif one.name == "fldChar":
                self._add(one, "empty", style=style, mark=one.get("fldCharType"))
            elif one.name and one.name not in _DROPPED:
                self._add(one, "empty", _SHOWN.get(one.name, ""), style)

    def _shown(self, element: Element) -> str:
        return "".join(one.plain(self.text) for one in element.walk() if one.name == "t")

    def _text_of(self, element: Element) -> str:
        plain = element.plain(self.text)
        if element.space in SHEET:
            return excel_text(plain)
        if element.space in WORD and element.get("space") != "preserve":
            plain = plain.strip(" \t\r\n")
        if element.space in DRAWING:  # where tabs are characters
            return re.sub(r"[\r\n]", " ", plain).replace("_x000B_", "\n")
        return _BLANK.sub(" ", plain)

    def _append(
        self,
        kind: Literal["text", "open", "close", "empty", "placeholder"],
        raw: str,
        text: str = "",
        style: str | None = None,
        *,
        pair: int = 0,
        mark: str = "",
    ) -> None:
        run = 0 if style is None else self.run
        self.atoms.append(RunAtom(kind, raw, text, False, pair, "", "", (), style, run, self.home, mark))

    def _add(
        self,
        element: Element,
        kind: Literal["empty", "placeholder"],
        shown: str = "",
        style: str | None = None,
        mark: str = "",
    ) -> None:
        """Add an element as a code."""
        self._append(kind, self.raw(element), shown, style, mark=mark)
        atom = self.element(element, self.atoms[-1], "Start", "End", element.get("id"))
        atom.breaks = element.name in _BREAKS

    def read(self) -> tuple[list[str | Code], list[tuple[Code, Atom]], _Writer]:
        """Return the content, its codes with their atoms, and how to write it."""
        atoms, self.pair = join_fields(self.prefix, self.atoms, self.pair)
        self.pair = pair_ranges(atoms, self.pair)
        writer = _Writer(self.prefix, self.space, self.language, _plain_styles(atoms))
        items: list[str | Code] = []
        coded: list[tuple[Code, Atom]] = []
        opened: str | None = None  # the style with a code around it now
        last = 0  # where that code would end

        def close() -> None:
            nonlocal opened
            if opened is not None:
                items.insert(last, _code(f"</{self.prefix}r>", "close", self.pair))
            opened = None

        for atom in atoms:
            plain, style = writer.plain.get(atom.home, ""), atom.style
            blank = atom.kind == "text" and not atom.text.strip()
            if style is not None and blank and not _VISIBLE.search(style):  # it looks the same in any style
                style = plain if opened is None else opened
            if atom.pair or (style is not None and style != opened):
                close()
            if style is not None and style != plain and opened is None:
                if atom.kind == "text":
                    self.pair += 1
                    opened = writer.styles[self.pair] = style
                    items.append(_code(f"<{self.prefix}r>{style}", "open", self.pair))
                else:
                    atom, style = join_atoms(self.prefix, [atom], atom.kind, atom.text), None
            if atom.kind == "text":
                items.append(atom.text)
            else:
                code = atom.code()
                items.append(code)
                coded.append((code, atom))
                if style is not None:
                    writer.in_runs.add(code.text)
            if style is not None:
                last = len(items)
        close()
        return items, coded, writer


@lru_cache
def _style(properties: str) -> str:
    kept = _LANGUAGE.sub("", properties)
    return "" if _NO_STYLE.fullmatch(kept) else kept


def _plain_styles(atoms: list[RunAtom]) -> dict[int, str]:
    """Pair -> its most common style, which needs no code; 0 is the paragraph. Sets `home` of the atoms."""
    weights: dict[int, dict[str, int]] = {}
    homes = [0]
    for atom in atoms:
        if atom.kind == "close":
            homes.pop()
        atom.home = homes[-1]
        if atom.kind == "open":
            homes.append(atom.pair)
        elif atom.style is not None:
            own = weights.setdefault(atom.home, {})
            own[atom.style] = own.get(atom.style, 0) + (len(atom.text.strip()) if atom.kind == "text" else 0)
    return {home: max(own, key=own.__getitem__) for home, own in weights.items()}


@dataclass
class _Writer:
    """Writes a paragraph."""

    prefix: str  # of the names of its elements
    space: str  # their namespace
    language: str  # that runs of DrawingML state
    plain: dict[int, str]  # pair of a link or the like, 0 of the paragraph -> style of text without codes
    styles: dict[int, str] = field(default_factory=dict)  # pair of a style -> the style
    in_runs: set[str] = field(default_factory=set)  # codes that stand in a run, as a tab does

    def __call__(self, content: Content, raw: Raw) -> str:
        if not self.plain:  # a string of Excel without runs
            return self._text("".join(one for one in content if isinstance(one, str)))
        parts: list[str] = []
        styles = [self.plain.get(0, "")]
        run: str | None = None  # the style of the run that is open

        def enter(style: str | None) -> None:
            nonlocal run
            if style != run and run is not None:
                parts.append(f"</{self.prefix}r>")
            if style != run and style is not None:
                parts.append(f"<{self.prefix}r>{self._stated(style)}")
            run = style

        for one in content:
            if isinstance(one, str):
                enter(styles[-1])
                parts.append(self._text(one))
            elif one.kind == "open":
                if one.pair in self.styles:
                    styles.append(self.styles[one.pair])
                else:
                    enter(None)
                    parts.append(raw(one))
                    styles.append(self.plain.get(one.pair, ""))
            elif one.kind == "close":
                styles.pop()
                if one.pair not in self.styles:
                    enter(None)
                    parts.append(raw(one))
            else:
                enter(styles[-1] if one.text in self.in_runs else None)
                parts.append(raw(one))
        enter(None)
        return "".join(parts)

    def _text(self, text: str) -> str:
        if self.space in SHEET:
            text = encoded(text)
        elif self.space in DRAWING:
            text = text.replace("\n", "_x000B_")
        keep = "" if self.space in DRAWING else ' xml:space="preserve"'
        return f"<{self.prefix}t{keep}>{escaped(text)}</{self.prefix}t>"

    def _stated(self, style: str) -> str:
        """A style with the language of the text."""
        start = f"<{self.prefix}rPr"
        if self.space not in DRAWING or (style and not style.startswith(start)):
            return style
        return f'{start} lang="{self.language}"{style.removeprefix(start) or "/>"}'


def excel_text(text: str) -> str:
    """A string of Excel, where _x000D_ stands for a character (ISO/IEC 29500-1, section 22.9.2.19)."""
    if "_x" not in text:
        return text
    plain = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encoded(text: str) -> str:
    """A text for Excel, where "_x000D_" is not to stand for a character."""
    return re.sub(r"_(?=x[0-9A-Fa-f]{4}_)", "_x005F_", text)


def read_paragraph(
    text: str, paragraph: Element, where: str, starts: Sequence[int], language: str
) -> list[Passage]:
    """Return a paragraph as a passage, none if it has no text.

    `starts` are the places of all paragraphs of the file, for those that lie inside this one. `language` is
    that of the translation.
    """
    body = [one for one in paragraph.children if one.name not in ("", "pPr")]
    if not body:
        return []
    end = body[-1].start if body[-1].name == "endParaRPr" else paragraph.inner_end
    reader = _Reader(text, paragraph, starts, language)
    reader.inline(body)
    items, coded, writer = reader.read()
    return passage_of(items, coded, where, (body[0].start, end), writer)
