"""Tags, text and comments of HTML with their places, read as the HTML standard says (section 13.2.5).

Code of a template language between {% %}, {{ }}, <% %> or <? ?> may contain any character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, cast

_TEMPLATE = r"\{%[^%]{0,400}%\}|\{\{[^{}]{0,400}\}\}|<%[^%]{0,400}%>|<\?[^?]{0,400}\?>"
_NAME = re.compile(r"[^ \t\n\f\r/>]*")
_GAP = re.compile(rf"(?>{_TEMPLATE}|[ \t\n\f\r/])*+")
_ATTRIBUTE = re.compile(
    r"(?P<name>[^ \t\n\f\r/>][^ \t\n\f\r/>=]*)"
    r"(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+"
    rf"(?:\"(?P<double>(?>{_TEMPLATE}|[^\"])*+)\"|'(?P<single>(?>{_TEMPLATE}|[^'])*+)'"
    rf"|(?P<bare>(?!['\"])(?>{_TEMPLATE}|[^ \t\n\f\r>])++)|(?P<open>['\"])|))?"
)
_SCRIPT = re.compile(r"<!--|-->|<(/?)script(?=[ \t\n\f\r/>])", re.IGNORECASE)
_EMPTY_COMMENT, _COMMENT_END = re.compile(r"<!---?>"), re.compile(r"--!?>")
_RAW = frozenset("style xmp iframe noembed noframes textarea".split())
_FOREIGN = frozenset(("svg", "math"))
_INTEGRATION = frozenset(("foreignobject", "desc", "title", "annotation-xml"))
# Section 13.2.6.5: these tags end unclosed SVG and MathML.
_BREAKOUT = frozenset(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing"
    " menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var".split()
)


@dataclass(frozen=True)
class Attribute:
    """An attribute with the place of its value."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class HtmlToken:
    """A part text[start:end] of a file. Names are in lower case.

    `raw` is the content of elements such as <script>; `opaque` replaces text, such as
    CDATA; `other` is a declaration, or a tag that is cut off.
    """

    kind: Literal["start", "end", "text", "raw", "comment", "opaque", "other"]
    start: int
    end: int
    name: str = ""
    attributes: list[Attribute] = field(default_factory=list)
    closed: bool = False  # a start tag written as <a/>


def tokens(text: str, xml: bool) -> Iterator[HtmlToken]:
    """Yield the tokens of a file, without gaps. Any text is read; what is cut off at the end is `other`."""
    place, foreign = 0, list[str]()
    last = {mark: text.rfind(mark) for mark in ("?>", "%>", "]]>")}
    while place < len(text):
        inside = bool(foreign) and foreign[-1] in _FOREIGN
        token = _next(text, place, xml or inside, last)
        if token.kind == "start":
            if inside and token.name in _BREAKOUT:
                foreign, inside = [], False
            if not token.closed and (token.name in _FOREIGN or (inside and token.name in _INTEGRATION)):
                foreign.append(token.name)
        elif token.kind == "end" and token.name in foreign:
            del foreign[len(foreign) - 1 - foreign[::-1].index(token.name) :]
        yield token
        place = token.end
        if token.kind == "start" and not inside and not (token.closed and xml):
            end = _end_of_raw(text, place, token.name)
            if end > place:
                yield HtmlToken("text" if token.name == "title" else "raw", place, end)
                place = end


def _next(text: str, place: int, cdata: bool, last: dict[str, int]) -> HtmlToken:
    after = text[place + 1 : place + 2] if text[place] == "<" else ""
    if after.isascii() and after.isalpha():
        return _tag(text, place, place + 1)
    if after == "/" and text[place + 2 : place + 3].isascii() and text[place + 2 : place + 3].isalpha():
        return _tag(text, place, place + 2)
    if text.startswith("<!--", place):
        found = _EMPTY_COMMENT.match(text, place) or _COMMENT_END.search(text, place + 4)
        return HtmlToken("comment", place, len(text) if found is None else found.end())
    if cdata and text.startswith("<![CDATA[", place) and last["]]>"] > place:
        return HtmlToken("opaque", place, text.index("]]>", place) + 3)
    if after in ("?", "%") and last[after + ">"] > place:
        return HtmlToken("opaque", place, text.index(after + ">", place) + 2)
    if after in ("!", "?", "/"):
        end = text.find(">", place)
        declared = text[place : place + 9].lower() == "<!doctype"
        return HtmlToken("other" if declared else "comment", place, len(text) if end < 0 else end + 1)
    end = text.find("<", place + 1)
    return HtmlToken("text", place, len(text) if end < 0 else end)


def _tag(text: str, start: int, place: int) -> HtmlToken:
    named = cast("re.Match[str]", _NAME.match(text, place))  # a letter is there
    name, place = named.group().lower(), named.end()
    attributes = []
    while True:
        gap = cast("re.Match[str]", _GAP.match(text, place))  # may be empty
        place = gap.end()
        if place >= len(text):
            return HtmlToken("other", start, len(text))
        if text[place] == ">":
            break
        found = _ATTRIBUTE.match(text, place)
        if found is None or found["open"]:  # an unclosed quote
            return HtmlToken("other", start, len(text))
        value = next((kind for kind in ("double", "single", "bare") if found[kind] is not None), None)
        span = (found.end(), found.end()) if value is None else found.span(value)
        attributes.append(Attribute(found["name"].lower(), *span))
        place = found.end()
    kind: Literal["start", "end"] = "end" if text[start + 1] == "/" else "start"
    return HtmlToken(kind, start, place + 1, name, attributes, gap.group().endswith("/"))


def _end_of_raw(text: str, place: int, name: str) -> int:
    """Where the raw text of an element ends, or `place` if it has none."""
    if name == "script":
        return _end_of_script(text, place)
    if name == "plaintext":
        return len(text)
    if name not in _RAW and name != "title":
        return place
    found = re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE).search(text, place)
    return len(text) if found is None else found.start()


def _end_of_script(text: str, place: int) -> int:
    """A script in a comment in a script does not end the outer one (section 13.2.5.27)."""
    commented = doubled = False
    for found in _SCRIPT.finditer(text, place):
        if found.group() == "<!--":
            commented = True
        elif found.group() == "-->":
            commented = doubled = False
        elif found[1] and not doubled:
            return found.start()
        else:
            doubled = commented and not found[1]
    return len(text)
