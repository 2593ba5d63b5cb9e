"""XML with places: every tag of a text and where it stands, so that a change touches nothing else.

Safe for untrusted files: entities cannot be declared, nothing is fetched, elements nest at most 1,000
deep. Time and memory are linear in the size of the file.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple
from xml.parsers import expat

from dragoman.base.errors import DataError
from dragoman.documents.edits import Decoded, decode_file, line_of, unsafe
from dragoman.text.xml import safe_parser

XML_SPACE = "http://www.w3.org/XML/1998/namespace"
"""The namespace of xml:lang and xml:space."""

_DEEPEST = 1000
_DECLARED = re.compile(rb"<\?xml\s[^>]*?\bencoding\s*=\s*[\"']([A-Za-z][\w.-]*)[\"']")
# For text that expat has accepted. The character after "<" decides, so nothing is tried twice.
_TAG = re.compile(
    r"<(?:/([^\s>]+)\s*|!--.*?--|!\[CDATA\[.*?\]\]|\?.*?\?"
    r"|([^\s/>!?]+)((?:[^\"'>]++|\"[^\"]*+\"|'[^']*+')*+))>",
    re.DOTALL,
)
_NAME = re.compile(r"[\s/>]")
ATTRIBUTE = re.compile(r"([^\s=]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_REFERENCE = re.compile(r"&(?:#(\d+)|#x([0-9A-Fa-f]+)|(amp|lt|gt|quot|apos));")
_CDATA = re.compile(r"<!\[CDATA\[.*?\]\]>", re.DOTALL)
_LACKING = re.compile(r"[^\0-\x7f]")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class Spaces:
    """The namespaces in an element, by their prefixes; "" is the default."""

    __slots__ = ("outer", "own")

    def __init__(self, own: dict[str, str], outer: Spaces | None = None) -> None:
        self.own = own  # those that its tag declares
        self.outer = outer

    def get(self, prefix: str) -> str:
        """The namespace of a prefix, or ""."""
        scope: Spaces | None = self
        while scope:
            if prefix in scope.own:
                return scope.own[prefix]
            scope = scope.outer
        return ""


_OUTSIDE = Spaces({"xml": XML_SPACE})


class Piece(NamedTuple):  # light, because a file has hundreds of thousands
    """A part of an XML text: text[start:end]. An empty element is a `start` and an `end` without width."""

    kind: Literal["start", "end", "text", "cdata", "other"]  # other: comment, instruction, declaration
    start: int
    end: int
    name: str = ""  # of an element, without its prefix
    space: str = ""  # its namespace
    inside: str = ""  # of a `start`, what follows its name, as written
    spaces: Spaces = _OUTSIDE  # of a `start`, the namespaces by their prefixes there

    @property
    def empty(self) -> bool:
        """Whether it is written as <a/>."""
        return self.inside.endswith("/")

    @property
    def attributes(self) -> dict[str, str]:
        """Those of a `start`, decoded. A name with a namespace is "{namespace}name"."""
        return {
            f"{{{self.spaces.get(name.partition(':')[0])}}}{name.partition(':')[2]}"
            if ":" in name
            else name: (_unescape_attribute(double or single))
            for name, double, single in ATTRIBUTE.findall(self.inside)
            if not name.startswith("xmlns")
        }


_Names = dict[str, tuple[str, str, dict[str, str]]]  # a tag as written -> name, namespace, attributes
_NO_ATTRIBUTES: dict[str, str] = {}
_NO_CHILDREN: list[Element] = []


class Element:
    """An element: text[start:end] with its tags, text[inner:inner_end] and pieces[first:last] without.

    A text among the children has no name.
    """

    __slots__ = tuple("attributes children end first inner inner_end last name space start tag".split())

    def __init__(self, tag: Piece, first: int, attributes: dict[str, str], children: list[Element]) -> None:
        self.tag = tag
        _, start, end, self.name, self.space, _, _ = tag
        self.start = self.inner_end = start
        self.inner = self.end = end  # until its end is known
        self.first = self.last = first
        self.attributes = attributes  # shared by tags that are the same
        self.children = children

    def walk(self, skip: Callable[[Element], bool] | None = None) -> Iterator[Element]:
        """Yield this element and all in it, texts too, in document order, without those that `skip` names."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            if skip is not None and skip(element):
                continue
            yield element
            if element.children:
                waiting += reversed(element.children)

    def child(self, name: str) -> Element | None:
        """The first child element of this name."""
        for one in self.children:
            if one.name == name:
                return one
        return None

    def get(self, name: str) -> str:
        """An attribute by its name without a namespace, or "" if it is missing."""
        for key, value in self.attributes.items():
            if key.rpartition("}")[2] == name:
                return value
        return ""

    def raw_name(self, text: str) -> str:
        """The name with its prefix."""
        return _NAME.split(text[self.start + 1 : self.inner], maxsplit=1)[0]

    def prefix(self, text: str) -> str:
        """The prefix of the name, with its colon, or ""."""
        name = self.raw_name(text)
        return name[: name.find(":") + 1]

    def plain(self, text: str) -> str:
        """All text inside, decoded, of a tree with texts."""
        inner = text[self.inner : self.inner_end]
        if self.name and "<" not in inner:
            return unescape(inner)
        return "".join([unescape(text[one.start : one.end]) for one in self.walk() if not one.name])


@contextmanager
def without_collection() -> Iterator[None]:
    """Stop the garbage collector, which takes a third of the time when many objects are created and kept."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _References(Decoded):
    """Writes a character that the encoding lacks as a reference, outside a section of CDATA."""

    def encode(self, text: str) -> bytes:
        try:
            return super().encode(text)
        except DataError:
            if self.encoding.lower().startswith("utf"):  # only half a character is missing there
                raise
            whole = _CDATA.sub(lambda section: _LACKING.sub(self._apart, section[0]), text)
            return whole.encode(self.encoding, "xmlcharrefreplace")

    def _apart(self, char: re.Match[str]) -> str:
        try:
            return char[0] if char[0].encode(self.encoding) else ""
        except UnicodeError:
            return f"]]>&#{ord(char[0])};<![CDATA["


def read_xml(data: bytes, *, texts: bool = False) -> tuple[Decoded, list[Piece], Element]:
    """Return a file as text, its pieces in order, without gaps, and its root.

    With `texts`, those are children of their elements, too. The encoding comes from the byte order mark, else
    the declaration, else it is UTF-8. Raises DataError with the line for a file that is not well-formed,
    declares entities, or nests too deep.
    """
    declared = _DECLARED.match(data)
    name = declared.group(1).decode() if declared else None
    if data.startswith((b"<\0", b"\0<")):
        name = "utf-16-le" if data[0] else "utf-16-be"
    elif name and name.lower().startswith(("utf-16", "utf-32", "ucs-", "iso-10646-ucs")):
        name = None  # the declaration was read byte by byte, so it is wrong about itself
    decoded = decode_file(data, name)
    return _References(**vars(decoded)), *split_xml(decoded.text, texts=texts)


def expect_root(text: str, root: Element, name: str, what: str, hint: str) -> None:
    """Raise DataError for other XML than `what`, whose root has this name."""
    if root.name != name:
        raise DataError(f"line {line_of(text, root.start)}: <{root.name}> is not {what}", hint=hint)


def split_xml(text: str, *, texts: bool = False) -> tuple[list[Piece], Element]:
    """Return the pieces and the root of a whole XML document. Raises as `read_xml` does."""
    return _split(text, *_check(text), texts)


def _check(text: str) -> tuple[int, int]:
    """Return where the document type declaration stands, if any. Raises DataError for a bad document."""
    data = text.encode("utf-8", "surrogatepass")
    doctype = [0, 0]

    def refuse(what: str) -> DataError:
        return unsafe(f"line {parser.CurrentLineNumber}: {what}")

    parser = safe_parser(refuse, "utf-8", " ")

    def begin(*_: object) -> None:
        doctype[0] = parser.CurrentByteIndex

    def finish() -> None:
        doctype[1] = data.index(b">", parser.CurrentByteIndex) + 1

    parser.StartDoctypeDeclHandler, parser.EndDoctypeDeclHandler = begin, finish
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise DataError(
            f"line {error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}",
            hint="is the file complete? Open it in the program that wrote it",
        ) from None
    start, end = (len(data[:place].decode("utf-8")) for place in doctype)
    return start, end


def _split(text: str, doctype_start: int, doctype_end: int, texts: bool) -> tuple[list[Piece], Element]:
    found: list[Piece] = []
    add, new = found.append, tuple.__new__  # a third faster than Piece(...)
    done = 0
    for match in _TAG.finditer(text, 0, doctype_start):  # comments, instructions and space
        if match.start() > done:
            add(Piece("text", done, match.start()))
        add(Piece("other", *match.span()))
        done = match.end()
    if doctype_end:
        add(Piece("other", done, doctype_end))
        done = doctype_end
    spaces, names = _OUTSIDE, _Names()  # in the scope of the open element
    siblings: list[Element] = []
    above: list[tuple[Element, list[Element], Spaces, _Names]] = []
    for match in _TAG.finditer(text, done):
        start, end = match.span()
        if start > done:
            piece = new(Piece, ("text", done, start, "", "", "", _OUTSIDE))
            if texts and above:
                siblings.append(Element(piece, len(found), _NO_ATTRIBUTES, _NO_CHILDREN))
            add(piece)
        done = end
        closed, opened, inside = match.groups()
        if opened:
            if len(above) == _DEEPEST:
                line = line_of(text, start)
                raise unsafe(f"line {line}: more than {_DEEPEST:,} elements inside each other")
            outer = spaces, names
            if "xmlns" in inside:
                spaces, names = Spaces(_declared(inside), spaces), _Names()
            known = names.get(opened + inside)
            if known is None:
                prefix, _, local = opened.rpartition(":")
                attributes = Piece("start", start, end, inside=inside, spaces=spaces).attributes
                known = names[opened + inside] = local, spaces.get(prefix), attributes
            name, space, attributes = known
            piece = new(Piece, ("start", start, end, name, space, inside, spaces))
            add(piece)
            children: list[Element] = []
            element = Element(piece, len(found), attributes, children)
            siblings.append(element)
            if inside[-1:] == "/":
                element.inner_end = end
                add(new(Piece, ("end", end, end, name, space, "", _OUTSIDE)))
                spaces, names = outer
            else:
                above.append((element, siblings, *outer))
                siblings = children
        elif closed:
            element, siblings, spaces, names = above.pop()
            element.last, element.inner_end, element.end = len(found), start, end
            add(new(Piece, ("end", start, end, element.name, element.space, "", _OUTSIDE)))
        else:
            piece = Piece("cdata" if text.startswith("<![", start) else "other", start, end)
            if texts and piece.kind == "cdata":
                siblings.append(Element(piece, len(found), _NO_ATTRIBUTES, _NO_CHILDREN))
            add(piece)
    if done < len(text):
        add(Piece("text", done, len(text)))
    return found, siblings[0]


def _declared(inside: str) -> dict[str, str]:
    """The namespaces that a tag declares, by prefix; "" is the default."""
    return {
        name[6:]: _unescape_attribute(double or single)
        for name, double, single in ATTRIBUTE.findall(inside)
        if name == "xmlns" or name.startswith("xmlns:")
    }


def after_element(pieces: list[Piece], start: int) -> int:
    """The number of the piece behind the element that begins with the piece of this number."""
    depth = 0
    while True:
        depth += {"start": 1, "end": -1}.get(pieces[start].kind, 0)
        start += 1
        if not depth:
            return start


def unescape(raw: str) -> str:
    """Decode a piece of text or CDATA, with "\\n" for every line end."""
    if "\r" in raw:
        raw = raw.replace("\r\n", "\n").replace("\r", "\n")
    if raw.startswith("<![CDATA["):
        return raw[9:-3]
    return _REFERENCE.sub(_referred, raw) if "&" in raw else raw


def _unescape_attribute(raw: str) -> str:
    """As `unescape`, but white space becomes spaces, except where it is a reference."""
    if raw.isprintable():  # so no white space but spaces
        return _REFERENCE.sub(_referred, raw) if "&" in raw else raw
    for space in ("\r\n", "\r", "\n", "\t"):
        raw = raw.replace(space, " ")
    return unescape(raw)


def _referred(found: re.Match[str]) -> str:
    decimal, hexadecimal, name = found.groups()
    return chr(int(decimal[-7:])) if decimal else chr(int(hexadecimal, 16)) if hexadecimal else _NAMED[name]
