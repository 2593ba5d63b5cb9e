"""Files of strings with keys: each value stands at its place and may be an ICU message."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dragoman.documents.edits import Decoded, Edit, apply
from dragoman.documents.segment import Result, Segment, dealt
from dragoman.documents.strings.icu import Message


@dataclass(frozen=True)
class KeyedString:
    """A string of a file: text[start:end], with its escapes."""

    start: int
    end: int
    message: Message
    line: int
    key: str
    note: str = ""


@dataclass
class Strings:
    """A document. `write` returns a value as the file has it, of its text and of what stood there."""

    decoded: Decoded
    values: list[KeyedString]
    write: Callable[[str, str], str]

    def __post_init__(self) -> None:
        self.segments = [
            Segment(
                source=leaf.content,
                where=f"line {value.line}",
                context=f"{value.key}[{leaf.path}]" if leaf.path else value.key,
                note=value.note,
            )
            for value in self.values
            for leaf in value.message.leaves
        ]

    def render(self, results: list[Result | None]) -> bytes:
        """Return the file with these translations."""
        edits, text = [], self.decoded.text
        for value, own in dealt([(one, len(one.message.leaves)) for one in self.values], results):
            new = value.message.render([one.content if one else None for one in own])
            if new != value.message.text:
                written = self.write(new, text[value.start : value.end])
                edits.append(Edit(value.start, value.end, written))
        return self.decoded.encode(apply(text, edits))


def escape_units(char: str, *, upper: bool) -> str:
    """Write a character as \\uXXXX, twice beyond the basic plane."""
    data = char.encode("utf-16-be", "surrogatepass").hex()
    units = re.findall("....", data.upper() if upper else data)
    return "".join(f"\\u{unit}" for unit in units)


def has_upper_escapes(text: str) -> bool:
    """Whether a file writes \\u00FC rather than \\u00fc."""
    digits = "".join(re.findall(r"\\u([0-9A-Fa-f]{4})", text))
    return sum(map(str.isupper, digits)) > sum(map(str.islower, digits))
