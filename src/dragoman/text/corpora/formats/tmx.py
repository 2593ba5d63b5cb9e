"""TMX 1.4: translation memories, as computer-aided translation tools exchange them.

    <tu><tuv xml:lang="en"><seg>A dog.</seg></tuv><tuv xml:lang="de"><seg>Ein Hund.</seg></tuv></tu>

Reading streams, in bounded memory. It is safe for untrusted files: a file may not declare entities, and
nothing is fetched. Inline elements hold codes of the original document, not language. Their contents are
left out, except for a placeholder such as %s or {name}, which a translation must keep, and for the text
inside <hi>.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from io import TextIOBase
from typing import BinaryIO

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import closest
from dragoman.base.tables import listing
from dragoman.text.checks.placeholders import find_placeholders
from dragoman.text.corpora.compressed import damage, decompressed
from dragoman.text.corpora.languages import Languages
from dragoman.text.corpora.lines import Line, TextFile, open_bytes
from dragoman.text.xml import FORBIDDEN, SafeReader, escape, escape_attribute, forbidden

_BLOCK = 1 << 16  # bytes read at once
_LONGEST = 1 << 22  # characters of a unit; a longer one is not a segment, and could fill the memory
_SAMPLE = 1000  # units that say which languages a file has
MACHINE = "dragoman"
"""The type of the <prop> of a variant that dragoman translated and nobody has confirmed. It is left out."""
_CODES = frozenset(("bpt", "ept", "ph", "it", "ut"))
_LANGUAGE = ("xml:lang", "lang")  # TMX 1.4, and versions before it
_ABOUT = ("creationdate", "creationid", "changedate", "changeid", "usagecount")
_ORIGIN = "x-origin"  # the type of the <prop> that says where a pair comes from
PLACE = ("x-context", "x-document")  # and where it stands
_SPACES = re.compile(r"[ \t\r\n]+")
_HINT = "export it again as TMX 1.4, or convert it to TSV"


class Unit:
    """A translation unit: its segments by language, in the order of the file; the first of equal ones."""

    __slots__ = ("about", "line", "segments", "variants")

    def __init__(self, line: int) -> None:
        self.line = line  # where it begins, from 1 on
        self.segments: dict[str, str] = {}
        self.about: dict[str, str] = {}
        """Its attributes, such as `changedate`, its `note` and its `origin`."""
        self.variants: dict[str, dict[str, str]] = {}
        """The same of each segment."""

    def pair(self, source: str, target: str) -> tuple[str, str] | None:
        """Return the segments in the closest languages, or None. Complete what is `about` them.

        `en-US` stands for `en` if no other does. One segment is not both sides.
        """
        codes = closest(source, self.segments), closest(target, self.segments)
        if codes[0] is None or codes[1] is None or codes[0] == codes[1]:
            return None
        for code in (codes[0], codes[1]):
            known = self.variants[code]
            # The dates of a variant are more exact than the unit's. A note of the unit is about both.
            self.about |= {
                name: value for name, value in known.items() if name in _ABOUT or name not in self.about
            }
        return self.segments[codes[0]], self.segments[codes[1]]


def languages_in(file: TextFile) -> Languages:
    """Return the source and the target language, if the first thousand units have two languages.

    The source is the `srclang` of the file, else the language that comes first. Return None for a
    language that the file leaves open. Raise DataError if it is not TMX.
    """
    reader = _Reader(file.name)
    codes: list[str] = []
    for unit in itertools.islice(_units(file, reader), _SAMPLE):
        codes += [code for code in unit.segments if closest(code, codes) is None]
    codes.sort(key=lambda code: closest(code, [reader.source]) is None)
    return (codes[0], codes[1]) if len(codes) == 2 else (None, None)


def read(file: TextFile, languages: Languages) -> Iterator[Line]:
    """Yield the pairs of the units that have both languages. Raise the errors of `read_units`."""
    for unit, source, target in read_units(file, languages):
        yield Line(unit.line, source, target, *(unit.about.get(name, "") for name in PLACE))


def read_units(file: TextFile, languages: Languages) -> Iterator[tuple[Unit, str, str]]:
    """Yield the units that have both languages, each with its source and target.

    Raise ConfigError without two languages, DataError naming file and line for text that is not TMX, and
    if no unit has both languages.
    """
    source, target = languages
    if not source or not target:
        raise ConfigError(
            f"{file.name}: which of its languages is the source, and which the target?",
            hint="pass --source-language and --target-language",
        )
    others: dict[str, None] = {}
    empty = True
    for unit in _units(file, _Reader(file.name)):
        if (pair := unit.pair(source, target)) is not None:
            empty = False
            yield unit, *pair
        elif empty:
            others |= dict.fromkeys(unit.segments)
    if empty:
        has = f"it has {listing([code[:40] for code in others])}" if others else "it has no segments"
        raise DataError(
            f"{file.name}: no unit has both {source} and {target}; {has}",
            hint="check that it is the right memory, and the languages",
        )


def write_units(
    file: TextIOBase, units: Iterable[tuple[str, str, Mapping[str, str]]], *, source: str, target: str
) -> None:
    """Write pairs, each with what is in `Unit.about`, as a memory from the language `source` to `target`.

    `read_units` returns the same pairs, with single spaces. Raise DataError for a character that XML cannot
    hold.
    """
    from dragoman.version import __version__

    file.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="dragoman" creationtoolversion={_quoted(__version__, 0)} segtype="sentence" '
        f'o-tmf="none" adminlang="en" srclang={_quoted(source, 0)} datatype="plaintext"/>\n<body>\n'
    )
    for number, (*pair, about) in enumerate(units, 1):
        asides = "".join(
            f"<{tag}>{_escaped(about[name], number)}</{tag.split()[0]}>"
            for name, tag in (("note", "note"), ("origin", f'prop type="{_ORIGIN}"'))
            if name in about
        )
        values = "".join(f" {name}={_quoted(value, number)}" for name, value in _about(about).items())
        segments = "".join(
            f"<tuv xml:lang={_quoted(code, number)}><seg>{_escaped(text, number)}</seg></tuv>"
            for code, text in zip((source, target), pair, strict=True)
        )
        file.write(f"<tu{values}>{asides}{segments}</tu>\n")
    file.write("</body>\n</tmx>\n")


def holdable(text: str) -> str:
    """Return the text with a space in place of each character that XML cannot hold."""
    return FORBIDDEN.sub(" ", text)


def _escaped(text: str, number: int) -> str:
    return escape(_allowed(text, number))


def _quoted(text: str, number: int) -> str:
    return f'"{escape_attribute(_allowed(text, number))}"'


def _allowed(text: str, number: int) -> str:
    if wrong := forbidden(text):
        raise DataError(f"pair {number}: XML cannot hold the character U+{ord(wrong):04X}", hint="remove it")
    return text


class _Reader(SafeReader):
    """Collects whole units in `units`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _HINT)
        self.source = ""  # of the header
        self.units: list[Unit] = []
        self._path: list[str] = []  # the open elements, without those around the units
        self._unit: Unit | None = None
        self._language: str | None = None  # of the open variant, None for one to leave out
        self._variant: dict[str, str] | None = None  # the attributes of the open variant
        self._text: list[str] | None = None  # of the open segment
        self._code: list[str] | None = None  # of the open inline code
        self._aside: tuple[str, list[str]] | None = None  # the open note, or another element about the unit
        self._size = 0
        self._root = True

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._root and tag != "tmx":
            raise self.problem(f"not a TMX file: it begins with <{tag}>")
        self._root = False
        if self._code is not None:
            self._path.append(tag)
        elif self._text is not None:
            if tag in _CODES:
                self._code, self._path = [], [tag]
        elif tag == "header":
            self.source = attributes.get("srclang", "")
        elif tag == "tu":
            self._unit, self._size = Unit(self.parser.CurrentLineNumber), 0
            self._unit.about = _about(attributes)
        elif tag == "tuv":
            self._variant = _about(attributes)
            self._language = next((attributes[name] for name in _LANGUAGE if name in attributes), None)
        elif tag == "prop" and attributes.get("type") == MACHINE:
            self._language = None
        elif tag == "note" or (tag == "prop" and attributes.get("type") in (_ORIGIN, *PLACE)):
            name = attributes.get("type", "")
            self._aside = "note" if tag == "note" else "origin" if name == _ORIGIN else name, []
        elif tag == "seg" and self._unit is not None:
            self._text = []

    def _end(self, tag: str) -> None:
        if self._code is not None:
            self._path.pop()
            if not self._path and self._text is not None:
                self._text.append(_kept("".join(self._code)))
                self._code = None
        elif tag == "seg" and self._text is not None and self._unit is not None:
            text = _SPACES.sub(" ", "".join(self._text)).strip(" ")
            if self._language is not None and self._language not in self._unit.segments:
                self._unit.segments[self._language] = text
                self._unit.variants[self._language] = self._variant or {}
            self._text = None
        elif tag in ("note", "prop") and self._aside is not None:
            if self._unit is not None:
                about = self._unit.about if self._variant is None else self._variant
                about.setdefault(self._aside[0], "".join(self._aside[1]).strip())
            self._aside = None
        elif tag == "tuv":
            self._variant = None
        elif tag == "tu" and self._unit is not None:
            self.units.append(self._unit)
            self._unit = None

    def _characters(self, text: str) -> None:
        self._size += len(text)
        if self._size > _LONGEST:
            raise self.problem(f"a unit of more than {_LONGEST:,} characters")
        open_text = self._text if self._code is None else self._code
        if self._aside is not None and open_text is None:
            open_text = self._aside[1]
        if open_text is not None:
            open_text.append(text)


def _about(attributes: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if name in _ABOUT}


def _kept(code: str) -> str:
    """Return the part of an inline code to keep: its text if it is one placeholder, such as %s or {name}."""
    found = find_placeholders(code)
    whole = len(found) == 1 and found[0].text == code.strip() and found[0].kind not in ("tag", "entity")
    return code if whole else ""


def _units(file: TextFile, reader: _Reader) -> Iterator[Unit]:
    """Yield the units as the file is read."""
    with open_bytes(file.path) as opened:
        stream: BinaryIO = decompressed(opened, file.name)
        blocks = iter(partial(stream.read, _BLOCK), b"")
        try:
            for number, block in enumerate(blocks, 1):
                reader.feed(block, final=False)
                yield from reader.units
                reader.units.clear()
                # The parser keeps a tag until its end, and looks for that from the start each time.
                if number * _BLOCK - reader.parser.CurrentByteIndex > _LONGEST:
                    raise reader.problem(f"a tag or a name of more than {_LONGEST:,} bytes")
            reader.feed(b"", final=True)
            yield from reader.units  # new versions of the parser keep a part back until the end
        except Exception as error:
            if fault := damage(error, file.name):
                raise DataError(f"{file.name}: {fault}", hint="copy or download it again") from error
            raise
