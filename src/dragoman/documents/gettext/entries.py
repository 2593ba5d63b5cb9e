"""The entries of PO files: place and value of each part, and how gettext writes a string.

Read as gettext 0.21 reads (manual, "The Format of PO Files"; text that its grammar refuses is refused).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from dragoman.base.errors import DataError
from dragoman.text.width import columns

_SPACE = " \t\r\f\v"
WIDTH = 79  # columns of a line, with its quotes

_TOKEN = re.compile(
    r"[ \t\r\f\v]*+(?:(?P<keyword>domain|msgctxt|msgid_plural|msgid|msgstr)(?![A-Za-z0-9_])"
    r"(?:[ \t]*\[[ \t]*(?P<form>[0-9]{1,4})[ \t]*\])?"
    r'|"(?P<string>(?:[^"\\]|\\.)*+)")'
)
_BYTES = r"(?:\\[0-7]{1,3}|\\x[0-9A-Fa-f]+)"
_ESCAPE = re.compile(rf"(?P<bytes>{_BYTES}+)|\\(?P<char>.?)", re.DOTALL)
_BYTE = re.compile(r"\\(?:x([0-9A-Fa-f]+)|([0-7]{1,3}))")
_CHARS = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = str.maketrans({char: "\\" + name for name, char in _CHARS.items()})
_WIDE = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60"
_BREAK = re.compile(
    rf"(?<= )(?=[^ ])|(?<=[{_WIDE}])(?<![「『（【〔《〈])(?=[{_WIDE}])(?![、。，．」』）】〕》〉！？：；ー])"
)
_FOLLOWING = {
    "": ("msgctxt", "msgid"),
    "msgctxt": ("msgid",),
    "msgid": ("msgid_plural", "msgstr"),
    "msgid_plural": ("msgstr",),
    "msgstr": ("msgstr",),
}


@dataclass
class Quoted:
    """A keyword and its strings: text[place:start] is the keyword, text[start:end] the strings."""

    line: int
    place: int
    start: int = 0
    end: int = 0
    raw: list[str] = field(default_factory=list)  # between the quotes
    texts: list[str] = field(default_factory=list)  # and what they say

    @cached_property
    def value(self) -> str:
        """What all of them say, once they are read."""
        return "".join(self.texts)


@dataclass(frozen=True)
class Comment:
    """A line of comment: text[start:end], with its line end."""

    start: int
    end: int
    text: str  # from "#" on, without spaces at the end


@dataclass
class PoEntry:
    """A message. Its first keyword stands at `start`, after its comments."""

    start: int
    line: int
    comments: list[Comment]
    msgid: Quoted
    context: Quoted | None = None
    plural: Quoted | None = None
    strings: list[Quoted] = field(default_factory=list)  # the translation, or one for each plural form

    @property
    def is_header(self) -> bool:
        return self.context is None and not self.msgid.value

    @property
    def flags(self) -> list[str]:
        """The flags in lines such as "#, fuzzy, c-format"."""
        return [flag for one in self.comments if one.text.startswith("#,") for flag in flags_of(one)]


def flags_of(comment: Comment) -> list[str]:
    return re.findall(r"[^\s,]+", comment.text[2:])


def read_entries(text: str, encoding: str) -> list[PoEntry]:
    """Return the entries of a PO file without the obsolete ones. Octal escapes are bytes in `encoding`.

    Raises DataError with the line where gettext refuses the file, and for a file of several domains.
    """
    reader = _Reader(encoding)
    place, end_of_line = 0, "\n" if "\n" in text else "\r"
    for number, line in enumerate(text.split(end_of_line), 1):
        end = place + len(line)
        reader.read_line(text, place, end, min(end + 1, len(text)), number)
        place = end + 1
    reader.finish()
    return reader.entries


class _Reader:
    def __init__(self, encoding: str) -> None:
        self.entries: list[PoEntry] = []
        self._encoding = encoding
        self._comments: list[Comment] = []
        self._entry: PoEntry | None = None
        self._context: Quoted | None = None  # of an entry whose msgid is still to come
        self._last = ""  # the keyword that was read last
        self._value: Quoted | None = None  # and its strings
        self._seen: dict[tuple[str | None, str], PoEntry] = {}

    def read_line(self, text: str, start: int, end: int, after: int, number: int) -> None:
        line = text[start:end].strip(_SPACE)
        if line.startswith("#"):
            self.finish()
            if line.startswith("#~"):
                self._comments = []  # they are of an obsolete entry
            else:
                self._comments.append(Comment(start, after, line))
            return
        place, end = start, start + len(text[start:end].rstrip(_SPACE))
        while place < end:
            token = _TOKEN.match(text, place, end)
            if token is None:
                rest = text[place:end].strip()
                what, hint = f"not PO: {rest[:40]}", "start comments with #"
                if rest.startswith('"'):
                    what, hint = "the string has no end", 'end it with ", and escape " within as \\"'
                raise DataError(f"line {number}: {what}", hint=hint)
            if token["keyword"]:
                form = int(token["form"]) if token["form"] else None
                self._keyword(token["keyword"], form, token.start("keyword"), number)
            else:
                self._string(token, number)
            place = token.end()

    def finish(self) -> None:
        """End the entry that is being read, if any."""
        if not self._last:
            return
        self._end_value()
        entry = self._entry
        if entry is None or self._last != "msgstr":
            line = self._value.line if self._value else 0
            raise DataError(f"line {line}: {self._last} without msgstr", hint="is the file complete?")
        key = (entry.context.value if entry.context else None, entry.msgid.value)
        first = self._seen.setdefault(key, entry)
        if first is not entry:
            raise DataError(
                f"line {entry.line}: this message is in line {first.line} already",
                hint="remove one of the two, or run `msguniq`",
            )
        self.entries.append(entry)
        self._entry = self._context = self._value = None
        self._last = ""

    def _keyword(self, name: str, form: int | None, place: int, line: int) -> None:
        if name == "domain":
            raise DataError(f"line {line}: the file has several domains", hint="split it with `msgcat`")
        if self._last == "msgstr" and name != "msgstr":
            self.finish()
        self._end_value()
        if name not in _FOLLOWING[self._last]:
            after = f" after {self._last}" if self._last else " without msgid"
            raise DataError(f"line {line}: {name}{after}", hint="is an entry incomplete?")
        self._last, self._value = name, Quoted(line, place)
        if name == "msgctxt":
            self._context = self._value
        elif name == "msgid":
            first = self._context or self._value
            self._entry = PoEntry(first.place, line, self._comments, self._value, self._context)
            self._comments = []
        elif self._entry and name == "msgid_plural":
            self._entry.plural = self._value
        elif self._entry:
            expected = len(self._entry.strings) if self._entry.plural else None
            if form != expected or (expected is None and self._entry.strings):
                what = "one msgstr" if expected is None else f"msgstr[{expected}]"
                raise DataError(f"line {line}: expected {what}", hint="plural forms count from 0")
            self._entry.strings.append(self._value)

    def _string(self, token: re.Match[str], line: int) -> None:
        value = self._value
        if value is None:
            raise DataError(f"line {line}: a string without a keyword", hint="is an entry incomplete?")
        value.raw.append(token["string"])
        value.texts.append(unescape_c(token["string"], self._encoding, line))
        value.start = value.start or token.start("string") - 1
        value.end = token.end()

    def _end_value(self) -> None:
        if self._value and not self._value.raw:
            raise DataError(f"line {self._value.line}: {self._last} without a string", hint='write ""')


def unescape_c(raw: str, encoding: str, line: int) -> str:
    """Decode the text between quotes. Raises DataError for an escape that gettext does not know."""
    if "\\" not in raw:
        return raw

    def decoded(match: re.Match[str]) -> str:
        if not match["bytes"]:
            if match["char"] not in _CHARS:
                raise DataError(f"line {line}: unknown escape {match[0]}", hint="write \\\\ for a backslash")
            return _CHARS[match["char"]]
        # gettext keeps the last byte of \x4142.
        codes = (int(x[-2:], 16) if x else int(octal, 8) & 255 for x, octal in _BYTE.findall(match["bytes"]))
        found = bytes(codes)
        try:
            return found.decode(encoding)
        except UnicodeDecodeError:
            raise DataError(f"line {line}: {match['bytes']} is not {encoding}", hint="write UTF-8") from None

    return _ESCAPE.sub(decoded, raw)


def on_one_line(text: str) -> str:
    """Return a text in quotes on one line."""
    return f'"{text.translate(_ESCAPES)}"'


def quote(text: str, column: int, end_of_line: str, *, wrap: bool = True) -> str:
    """Return a text as gettext writes it behind a keyword and a space of this width.

    Lines end after \\n and, with `wrap`, at spaces before column 79. CJK text breaks between characters.
    """
    lines = [line.translate(_ESCAPES) for line in re.findall(r"[^\n]*\n|[^\n]+", text)]
    if len(lines) < 2:
        only = "".join(lines)
        if not wrap or column + columns(only) + 2 <= WIDTH or not _BREAK.search(only):
            return f'"{only}"'
    pieces = [piece for line in lines for piece in (_wrapped(line) if wrap else [line])]
    return end_of_line.join(['""', *(f'"{piece}"' for piece in pieces)])


def _wrapped(line: str) -> list[str]:
    pieces, width = [""], 0
    for word in _BREAK.split(line):
        # A space at the end counts: it stands before the quote.
        if pieces[-1] and width + columns(word) > WIDTH - 2:
            pieces.append("")
            width = 0
        pieces[-1] += word
        width += columns(word)
    return pieces


def is_wrapped(entries: list[PoEntry]) -> bool:
    """Whether the strings of a file are broken at spaces, judging by the long ones."""
    broken = whole = 0
    for entry in entries:
        if entry.is_header:
            continue
        for quoted in (entry.msgid, *entry.strings):
            raw = quoted.raw
            broken += any(one and not one.endswith("\\n") for one in raw[:-1])
            whole += any(len(one) > WIDTH and _BREAK.search(one) for one in raw)
    return broken >= whole
