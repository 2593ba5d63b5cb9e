"""Java .properties: values are translated and escaped as their file does; all else stays.

The grammar is as in java.util.Properties.load. A file is UTF-8 if it can be, else ISO-8859-1. A file of
ASCII alone stays so, because both kinds of program read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.base.errors import DataError
from dragoman.documents.edits import Decoded, PartsDocument, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.strings.keyed import KeyedString, escape_units, has_upper_escapes, whole_characters

_END = r"(?:\r\n|[\r\n]|\Z)"
_BREAK = r"\\(?:\r\n|[\r\n])[ \t\f]*"  # a line continues in the next
_GAP = rf"(?:[ \t\f]|{_BREAK})*+"
_ANY = r"\\(?:\r\n|.)"
_COMMENT = re.compile(rf"[ \t\f]*+(?:[#!](?P<text>[^\r\n]*))?{_END}")
_PAIR = re.compile(
    rf"[ \t\f]*+(?P<key>(?:[^\\=: \t\f\r\n]|{_BREAK}|{_ANY})*+){_GAP}(?:[=:]{_GAP})?"
    rf"(?P<value>(?:[^\\\r\n]|{_ANY})*+\\?){_END}",
    re.DOTALL,
)
_LINE_END = re.compile(r"\r\n|[\r\n]")
_ESCAPE = re.compile(rf"(?P<break>{_BREAK})|\\u(?P<code>[0-9A-Fa-f]{{4}})|\\(?P<char>.?)", re.DOTALL)
_CHARS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPES = {char: "\\" + name for name, char in _CHARS.items()} | {"\\": "\\\\"}
_NEWLINE = re.compile(r"(?<!\\)((?:\\\\)*\\n)(?!\Z)( ?)")
_ARGUMENT = re.compile(r"\{\d+[,}]")


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read a .properties file. Raises DataError with the line for an incomplete \\uXXXX, as Java does."""
    try:
        decoded = decode_file(data)
    except DataError:
        decoded = decode_file(data, "iso-8859-1")
    pairs = list(_pairs(decoded.text))
    java = _doubles_apostrophes([value for _, value, *_ in pairs])
    write = _Spelling(decoded).write
    values = []
    for key, value, found, line, note in pairs:
        flags = ("java-format",) if java and _ARGUMENT.search(value) else ()
        if value:
            values.append(KeyedString(*found.span("value"), value, line, key, note, write, flags))
    return PartsDocument(decoded, values)


def _doubles_apostrophes(values: list[str]) -> bool:
    """Whether strings with {0} are for java.text.MessageFormat, to judge by their apostrophes."""
    strings = [value for value in values if _ARGUMENT.search(value)]
    return sum("''" in one for one in strings) >= sum(bool(re.search(r"\w'\w", one)) for one in strings)


def _pairs(text: str) -> Iterator[tuple[str, str, re.Match[str], int, str]]:
    """Yield key, value, where they stand, line, and note."""
    notes: list[str] = []
    place, line = 0, 1
    while place < len(text):
        found = _COMMENT.match(text, place)
        if found and found["text"] is None:
            notes = []  # a comment above an empty line belongs to no key
        elif found:
            notes.append(found["text"].strip())
        else:
            found = _PAIR.match(text, place)
            if found is None:
                raise DataError(f"line {line}: not a line of .properties", hint="write key=value")
            key, value = (_unescaped(found[name], line) for name in ("key", "value"))
            yield key, value, found, line, "\n".join(notes)
            notes = []
        line += len(_LINE_END.findall(found[0]))
        place = found.end()


def _unescaped(raw: str, line: int) -> str:
    def decoded(match: re.Match[str]) -> str:
        if match["code"]:
            return chr(int(match["code"], 16))
        if match["char"] == "u":
            raise DataError(f"line {line}: incomplete \\uXXXX", hint="write four hexadecimal digits")
        return _CHARS.get(match["char"], match["char"]) if match["break"] is None else ""

    return whole_characters(_ESCAPE.sub(decoded, raw))


class _Spelling:
    """How a file writes characters."""

    def __init__(self, decoded: Decoded) -> None:
        text = decoded.text
        self._encoding = "ascii" if text.isascii() and not decoded.mark else decoded.encoding
        self._upper = has_upper_escapes(text)
        self._escaped = set(re.findall(r"\\([=:#!\"'])", text))

    def write(self, text: str, old: str) -> str:
        written = "".join(map(self._char, text))
        if written.startswith(" "):
            written = "\\" + written
        lines = re.search(_BREAK, old)
        if not lines:
            return written
        return _NEWLINE.sub(lambda found: found[1] + lines[0] + "\\ " * len(found[2]), written)

    def _char(self, char: str) -> str:
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char < " " or not char.encode(self._encoding, "ignore"):
            return escape_units(char, upper=self._upper)
        return "\\" + char if char in self._escaped else char
