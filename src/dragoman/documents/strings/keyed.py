"""Files of strings with keys: each value stands at its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.documents.edits import Edit
from dragoman.documents.segment import Result, Segment, text_of
from dragoman.documents.xml.edits import newline_of
from dragoman.documents.xml.inline import write
from dragoman.documents.xml.pieces import Element
from dragoman.text.blank import is_blank

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")


@dataclass(frozen=True)
class KeyedString:
    """A string of a file: text[start:end], with its escapes.

    `write` returns a value as the file has it, of its text and of what stood there.
    """

    start: int
    end: int
    value: str
    line: int
    key: str
    note: str
    write: Callable[[str, str], str]
    flags: tuple[str, ...] = ()

    @property
    def segments(self) -> list[Segment]:
        where = f"line {self.line}"
        return [Segment((self.value,), where, context=self.key, note=self.note, flags=self.flags)]

    def added(self, place: int, key: str, before: str, old: str, after: str) -> KeyedString:
        """A copy at another place, such as for a plural: as `old` is written, between two texts."""

        def written(new: str, _: str) -> str:
            return before + self.write(new, old) + after

        return replace(self, start=place, end=place, key=key, write=written)

    def edits(self, text: str, results: Sequence[Result | None]) -> Iterator[Edit]:
        for result in filter(None, results):
            is_new = (new := text_of(result.content)) != self.value
            if is_new or self.start == self.end:
                yield Edit(self.start, self.end, self.write(new, text[self.start : self.end]), alone=is_new)


def whole_characters(text: str) -> str:
    """A text whose characters beyond the basic plane were each written as two \\uXXXX."""
    return _HALVES.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def escape_units(char: str, *, upper: bool) -> str:
    """Write a character as \\uXXXX, twice beyond the basic plane."""
    data = char.encode("utf-16-be", "surrogatepass").hex()
    units = re.findall("....", data.upper() if upper else data)
    return "".join(f"\\u{unit}" for unit in units)


def has_upper_escapes(text: str) -> bool:
    """Whether a file writes \\u00FC rather than \\u00fc."""
    digits = "".join(re.findall(r"\\u([0-9A-Fa-f]{4})", text))
    return sum(map(str.isupper, digits)) > sum(map(str.islower, digits))


def string_in_xml(text: str, element: Element, key: str, line: int, note: str = "") -> Iterator[KeyedString]:
    """Yield the text of an element, of a tree with texts, unless it is blank."""
    value = element.plain(text)
    newline = newline_of(text)

    def written(new: str, old: str) -> str:
        inner = write((new,), f"line {line}", newline=newline)
        if old.startswith("<![CDATA[") and old.endswith("]]>"):
            return f"<![CDATA[{new.replace(']]>', ']]]]><![CDATA[>')}]]>".replace("\n", newline)
        return inner

    if not is_blank(value):
        yield KeyedString(element.inner, element.inner_end, value, line, key, note, written)
