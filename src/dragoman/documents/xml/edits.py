"""Changes of an XML text: attributes, contents, and the surroundings of new elements."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.documents.edits import Edit
from dragoman.documents.xml.pieces import ATTRIBUTE, Element, Piece, Spaces
from dragoman.text.xml import escape_attribute


def attributes(values: Mapping[str, str | None]) -> str:
    """Write attributes, each with a space before it; those that are None are left out."""
    given = {name: value for name, value in values.items() if value is not None}
    return "".join(f' {name}="{escape_attribute(value)}"' for name, value in given.items())


def retag(text: str, tag: Piece, changes: Mapping[str, str | None]) -> Edit:
    """Set attributes of a start tag, or remove those whose new value is None; names are as the file has them.

    Attributes that stay keep their place and spelling. New ones come last.
    """
    parts = [text[tag.start : tag.end - len(tag.inside) - 1]]
    missing = dict(changes)
    place = 0
    for found in ATTRIBUTE.finditer(tag.inside):
        name, quoted = found[1], max(found.start(2), found.start(3))
        between = tag.inside[place : found.start()]
        place = found.end()
        if name not in changes:
            parts += [between, found[0]]
        elif (value := missing.pop(name)) is not None:
            head = tag.inside[found.start() : quoted - 1]
            parts += [between, head, f'"{escape_attribute(value)}"']
    return Edit(tag.start, tag.end, "".join(parts) + attributes(missing) + tag.inside[place:] + ">")


def written(name: str, inner: str, values: Mapping[str, str | None] | None = None) -> str:
    """An element, with its content in XML."""
    return f"<{name}{attributes(values or {})}>{inner}</{name}>"


def newline_of(text: str) -> str:
    """The line end of a file, by its first."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def indent(text: str, element: Element) -> str:
    """The white space before an element, from the line end on."""
    before = text[text.rfind(">", 0, element.start) + 1 : element.start]
    return before if before.isspace() else ""


def indent_of_end(text: str, element: Element) -> str:
    """The white space before the end tag of an element with children."""
    before = text[element.children[-1].end : element.inner_end]
    return before if before.isspace() else ""


def removal(text: str, element: Element) -> Edit:
    """Remove an element, with the white space before it."""
    return Edit(element.start - len(indent(text, element)), element.end, "")


def declarations(source: Element, around: Element) -> dict[str, str]:
    """The namespaces declared inside an element and down to a source in it, whose codes may need them."""
    found: dict[str, str] = {}
    scope: Spaces | None = source.tag.spaces
    while scope and scope is not around.tag.spaces:
        found = {f"xmlns:{prefix}".rstrip(":"): space for prefix, space in scope.own.items()} | found
        scope = scope.outer
    return found


def refill(text: str, element: Element, inner: str, changes: Mapping[str, str | None]) -> list[Edit]:
    """Replace the content of an element, and set attributes of its tag."""
    tag = retag(text, element.tag, changes) if changes else None
    if not element.tag.empty:
        return [*filter(None, [tag]), Edit(element.inner, element.inner_end, inner)]
    raw = tag.new if tag else text[element.start : element.inner]
    return [Edit(element.start, element.inner, f"{raw[:-2].rstrip()}>{inner}</{element.raw_name(text)}>")]
