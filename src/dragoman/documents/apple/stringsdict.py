"""Apple's .stringsdict: plurals and variants for devices and widths, in a property list of XML.

A plural gets the categories that the target language needs. The same reader takes .strings in XML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.base.errors import DataError
from dragoman.documents.edits import Lines, PartsDocument
from dragoman.documents.formats import Languages
from dragoman.documents.plural_rules import CATEGORIES, categories_of
from dragoman.documents.strings.keyed import KeyedString, string_in_xml
from dragoman.documents.xml.edits import indent
from dragoman.documents.xml.pieces import Element, expect_root, read_xml

_TYPES = ("NSStringFormatSpecTypeKey", "NSStringFormatValueTypeKey")
_VARIABLES = re.compile(r"(?:\s*%(?:\d+\$)?#@[^@]+@)+\s*")


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read a file. Raises DataError with the line for other XML, and for a binary property list."""
    if data.startswith(b"bplist"):
        raise DataError("line 1: a binary property list", hint="convert it: plutil -convert xml1 FILE")
    decoded, _, root = read_xml(data, texts=True)
    expect_root(decoded.text, root, "plist", "<plist>", "use a property list of Apple")
    return PartsDocument(decoded, _strings(decoded.text, root, categories_of(languages.target)))


def _strings(text: str, root: Element, categories: tuple[str, ...]) -> Iterator[KeyedString]:
    found: dict[int, tuple[str, Element, tuple[str, ...]]] = {}  # by the place of a value
    lines = Lines(text)
    for element in root.walk():
        path, key, lacking = found.get(element.start, ("", element, ()))
        if element.name == "dict":
            children = [one for one in element.children if one.name]
            names = [one.plain(text) for one in children[::2]]
            plural = "other" in names and (_TYPES[0] in names or set(names) <= set(CATEGORIES))
            lacking = tuple(one for one in categories if one not in names) if plural else ()
            for name, above, value in zip(names, children[::2], children[1::2], strict=False):
                if name not in _TYPES:
                    label = f"{path}.{name}".removeprefix(".")
                    found[value.start] = label, above, lacking if name == "other" else ()
        elif element.name == "string" and path:
            for one in string_in_xml(text, element, path, lines.line(key.start)):
                if not _VARIABLES.fullmatch(one.value):
                    before, old = text[key.start : one.start], text[one.start : one.end]
                    after = text[one.end : element.end] + indent(text, key)
                    for category in lacking:
                        label = path.removesuffix("other") + category
                        yield one.added(key.start, label, before.replace("other", category, 1), old, after)
                    yield one
