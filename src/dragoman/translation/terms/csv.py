"""Lists of terms as CSV: a term, its translation, and other columns.

    source,target,note
    print preview,Druckvorschau,
    to save,speichern|sichern,"verb, in menus"

Columns are separated by commas, semicolons or tabs, and quoted as in spreadsheets. The first row may say
which columns hold the term and its translation: `source` and `target`, or languages such as `en` and `de-AT`.
Otherwise they are the first two. A term may have several rows; `|` separates translations, too.
"""

from __future__ import annotations

import codecs
import csv
import io
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.base.errors import DataError
from dragoman.base.languages import closest
from dragoman.text.blank import is_blank
from dragoman.text.corpora.languages import is_language
from dragoman.text.corpora.lines import open_bytes

_LARGEST = 1 << 28  # bytes; a list of terms is not larger
_DELIMITERS = "\t;,"  # in this order if several divide as many rows
_LOOKED_AT = 50  # rows that say which delimiter it is
_SOURCE, _TARGET = "source", "target"

Row = tuple[int, list[str]]  # the number of its last line, and its cells


def content_of(path: str | Path) -> bytes:
    """Return the content of a list. Raises DataError if it is missing, unreadable, empty or huge."""
    with open_bytes(path) as stream:
        try:
            data = stream.read(_LARGEST)
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror or error})", hint="check it") from error
    if len(data) == _LARGEST:
        raise DataError(f"{path}: more than {_LARGEST >> 20} MB", hint="check that it is a list of terms")
    if not data.strip():
        raise DataError(f"{path}: empty", hint="check that it is the right file")
    return data


def read(data: bytes, name: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield (term, translation) for each translation of each row.

    With languages in its first row, a list may have rows without one of them. They are left out. Raises
    DataError naming file and line.
    """
    text = decoded(data, name)
    rows = list(_rows(text, name, _delimiter(text)))
    columns, by_language = _columns(rows[0][1] if rows else [], name, source, target)
    for number, cells in rows[columns is not None :]:
        first, second = columns or (0, 1)
        term, given = (cells[at].strip() if at < len(cells) else "" for at in (first, second))
        if is_blank(term) or is_blank(given):
            if by_language or not any(cell.strip() for cell in cells):
                continue
            lacks = "term" if is_blank(term) else "translation"
            raise DataError(f"{name}:{number}: no {lacks}", hint="fill it in, or delete the row")
        # Without text between the marks, they are the translation themselves.
        for one in [part for part in map(str.strip, given.split("|")) if part] or [given]:
            yield term, one


def stated_languages(data: bytes, name: str) -> tuple[str, ...]:
    """Return the languages that the first row names, none if it does not name some."""
    text = decoded(data, name)
    rows = list(_rows(text, name, _delimiter(text)))  # all, to find what cannot be read
    cells = [cell.strip() for cell in rows[0][1]] if rows else []
    found = tuple(cell for cell in cells if is_language(cell))
    return found if len(found) > 1 and not {_SOURCE, _TARGET} <= {*map(str.lower, cells)} else ()


def decoded(data: bytes, name: str) -> str:
    """Return text in UTF-8, or in UTF-16 with a byte order mark, in composed characters (NFC).

    Raises DataError for other encodings.
    """
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}: not valid UTF-16" if wide else f"{name}:{line}: not valid UTF-8",
            hint="save it as UTF-8, or convert it: iconv -f LATIN1 -t UTF-8",
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{name}:{line}: a NUL character", hint="check that it is a text file in UTF-8")
    return unicodedata.normalize("NFC", text)


def _delimiter(text: str) -> str:
    """The character that divides most of the first rows into two cells or more."""

    def divided(delimiter: str) -> int:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            return sum(len(row) > 1 for _, row in zip(range(_LOOKED_AT), rows, strict=False))
        except csv.Error:
            return 0

    return max(_DELIMITERS, key=divided)


def _rows(text: str, name: str, delimiter: str) -> Iterator[Row]:
    """Yield the rows that are not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(
            f"{name}:{reader.line_num}: not valid CSV ({error})",
            hint='quote a cell that has quotes or delimiters: "a ""b"" c"',
        ) from error


def _columns(
    first: Sequence[str], name: str, source: str, target: str
) -> tuple[tuple[int, int] | None, bool]:
    """The columns that the first row names, or None, and whether it names them by language."""
    names = [cell.strip().lower() for cell in first]
    if _SOURCE in names and _TARGET in names:
        return (names.index(_SOURCE), names.index(_TARGET)), False
    cells = [cell.strip() for cell in first]
    codes = [cell for cell in cells if cell]
    ours, theirs = closest(source, codes), closest(target, codes)
    if ours is not None and theirs is not None and ours != theirs:
        return (cells.index(ours), cells.index(theirs)), True
    if (ours is None) != (theirs is None) and len(codes) > 1 and all(map(is_language, codes)):
        raise DataError(
            f"{name}:1: columns for {', '.join(codes)}, but not for both {source} and {target}",
            hint="check that it is the right list for this model",
        )
    return None, False
