"""Apple's .strings: "key" = "value"; as old property lists have it. Values are translated, all else stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from dragoman.base.errors import DataError
from dragoman.documents.apple import stringsdict
from dragoman.documents.edits import Lines, PartsDocument, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.strings.keyed import KeyedString, escape_units
from dragoman.text.blank import is_blank

_TOKEN = re.compile(
    r"/\*(?P<block>.*?)\*/|//(?P<comment>[^\r\n]*)|\"(?P<double>(?:[^\"\\]|\\.)*+)\"|'(?P<single>(?:[^'\\]|\\.)*+)'"
    r"|(?P<word>[\w$:./-]+)|(?P<mark>[=;{}])|\s+",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:[Uu]([0-9A-Fa-f]{4})|([0-7]{1,3})|(.))|\r\n?", re.DOTALL)
_CHARS = {"n": "\n", "r": "\r", "t": "\t", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = {char: "\\" + name for name, char in _CHARS.items()} | {'"': '\\"', "\\": "\\\\"}


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read a file. Raises DataError with the line of a fault, and for a binary property list."""
    start = data[:400].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
    if start.startswith((b"bplist", b"<")):
        return stringsdict.parse(data, languages)
    zeros = data[:2].find(b"\0")  # of UTF-16 without a byte order mark
    decoded = decode_file(data, ("utf-16-be", "utf-16-le")[zeros] if zeros >= 0 else None)
    text = decoded.text
    escaped, newline = text.isascii() and "\\U" in text, "\r\n" if "\r\n" in text else "\n"
    return PartsDocument(decoded, _strings(text, partial(_written, escaped=escaped, newline=newline)))


def _strings(text: str, write: Callable[[str, str], str]) -> Iterator[KeyedString]:
    """Yield each value that is not blank, with its key and the comment above."""
    lines, place, state, key, note = Lines(text), 0, "a key", "", ""
    while place < len(text):
        found = _TOKEN.match(text, place)
        kind = found.lastgroup if found else "mark"
        value = found[kind] if found and kind else ""
        if found and kind in ("block", "comment"):
            note = value.strip()
        elif found and kind in ("double", "single", "word") and state in ("a key", "a value"):
            value = _unescaped(value) if kind != "word" else value
            if state == "a value":
                if not is_blank(value):
                    yield KeyedString(*found.span(), value, lines.line(place), key, note, write)
                note = ""
            key, state = value, '"=" or ";"' if state == "a key" else '";"'
        elif value == "=" and "=" in state:
            state = "a value"
        elif (value == ";" and ";" in state) or (value and value in "{}" and state == "a key"):
            state = "a key"
        elif not found or kind:
            raise DataError(f"line {lines.line(place)}: expected {state}", hint='write "key" = "value";')
        place = found.end() if found else place
    if state != "a key":
        raise DataError(f"line {lines.line(place)}: expected {state}", hint="is the file complete?")


def _unescaped(raw: str) -> str:
    def decoded(found: re.Match[str]) -> str:
        code, octal, char = found.groups()
        if code or octal:
            return chr(int(code, 16) if code else int(octal, 8))
        return _CHARS.get(char, char) if char else "\n"

    text = _ESCAPE.sub(decoded, raw)  # and its surrogates in pairs
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _written(text: str, old: str, *, escaped: bool, newline: str) -> str:
    """Write a value with its quotes. Its line ends are written as in the old one."""

    def special(found: re.Match[str]) -> str:
        char = found[0]
        if char == "\n" and re.search("[\r\n]", old) and "\\n" not in old:
            return newline
        return _ESCAPES.get(char) or escape_units(char, upper=False).replace("\\u", "\\U")

    needing = r'["\\]|[^ -~]' if escaped else '["\\\\\x00-\x1f\x7f\ud800-\udfff]'
    return '"' + re.sub(needing, special, text) + '"'
