"""The rows of CSV and TSV, and where each cell stands.

Cells are quoted as in RFC 4180. Quotes that do not pair are text in a file with tabs or of one column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.base.errors import DataError
from dragoman.documents.edits import line_of
from dragoman.documents.xml.edits import newline_of

_DELIMITERS = ",;\t|"
_FORMULAS = tuple("=+-@＝＋－＠")  # how a cell begins that a spreadsheet may compute
_HEAD = re.compile(r'[\r\n]*+(?:[^"\r\n]++|"(?:[^"]++|"")*+"|")*+')
_SEPARATOR = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)  # Excel's line before the first row
Cell = tuple[int, int]  # text[start:end], with its quotes


@dataclass(frozen=True)
class TextTable:
    """The rows of a file that are not blank, with as many cells each."""

    text: str
    delimiter: str
    quotes: bool
    newline: str
    rows: list[list[Cell]]

    def value(self, cell: Cell) -> str:
        """The text of a cell, with "\\n" for the line end of Windows."""
        raw = self.text[slice(*cell)]
        if self.quotes and raw.startswith('"'):
            raw = raw[1:-1].replace('""', '"')
        return raw.replace("\r\n", "\n")

    def written(self, text: str, cell: Cell, source: Cell) -> str | None:
        """A text as a cell, in the way of its source, or None if no cell can hold it.

        That is a text that a spreadsheet would compute, and a tab or a line end in a file without quotes.
        """
        old = self.text[slice(*source)]
        first = text.lstrip()[:1]
        if first in _FORMULAS and first != self.value(source).lstrip()[:1]:
            return None
        if not self.quotes:
            return None if re.search(r"[\t\r\n]", text) else text
        if "\r\n" in old or ("\n" not in old and self.newline == "\r\n"):
            text = re.sub(r"\r?\n", "\r\n", text)
        alone = len(self.rows[0]) == 1  # a blank line is no row, and a reader may take any delimiter
        needs = (_DELIMITERS if alone else self.delimiter) + '"\r\n'
        quoted = (old + self.text[slice(*cell)]).startswith('"') or any(sign in text for sign in needs)
        return '"' + text.replace('"', '""') + '"' if quoted or (alone and not text) else text


def check_alone(table: TextTable) -> None:
    """Raise DataError if only the first row is of one column, as a title above a table is."""
    cells = [re.sub(r'"[^"]*"', "", table.text[slice(*row[0])]) for row in table.rows[1:]]
    for sign in _DELIMITERS if len(cells) > 1 else "":
        counts = {cell.count(sign) for cell in cells}
        if len(counts) == 1 and counts != {0}:
            raise DataError(
                f"line {line_of(table.text, table.rows[1][0][0])}: "
                f"{counts.pop() + 1} cells, but 1 in the first row",
                hint="delete what stands above the table, or quote cells that have the delimiter in them",
            )


def read_table(text: str) -> TextTable:
    """Divide a file. Raises DataError with the line for rows of different lengths and quotes without an end.

    Of commas, semicolons, tabs and bars, those divide cells that divide all rows alike, into most cells.
    """
    if "\0" in text:
        line = line_of(text, text.index("\0"))
        raise DataError(f"line {line}: a NUL character", hint="save the table as UTF-8")
    named = _SEPARATOR.match(text)
    start = named.end() if named else 0
    head = _HEAD.match(text, start)
    within = head[0] if head else ""
    # A NUL divides nothing: one column.
    signs = named[1] if named else "".join(sign for sign in _DELIMITERS if sign in within) or "\0"
    tables: list[TextTable] = []
    newline = newline_of(text)
    errors: list[tuple[int, DataError]] = []
    ways = [(sign, True) for sign in signs] + [(sign, False) for sign in signs if sign in "\t\0"]
    for sign, quotes in ways:
        try:
            if quotes or not tables:
                tables.append(TextTable(text, sign, quotes, newline, _rows(text, start, sign, quotes=quotes)))
        except DataError as error:
            errors.append((within.count(sign), error))
    if not tables:
        raise max(errors, key=lambda one: one[0])[1]
    return max(tables, key=lambda one: len(one.rows[0]) if one.rows else 0)


def _rows(text: str, place: int, delimiter: str, *, quotes: bool) -> list[list[Cell]]:
    sign = re.escape(delimiter)
    plain = rf"[^{sign}\r\n]*+"
    cell = rf'"[^"]*+(?:""[^"]*+)*+"|(?!"){plain}' if quotes else plain
    match = re.compile(rf"({cell})({sign}|\r\n|[\r\n]|\Z)").match
    rows: list[list[Cell]] = []
    row: list[Cell] = []
    while place < len(text) or row:
        found = match(text, place)
        if found is None:
            raise DataError(
                f"line {line_of(text, place)}: the quotes of a cell do not pair",
                hint='quote a cell with quotes in it as "a ""b"" c"',
            )
        row.append(found.span(1))
        place = found.end()
        if found[2] == delimiter:
            continue
        if len(row) > 1 or found[1].strip():
            if rows and len(row) != len(rows[0]):
                raise DataError(
                    f"line {line_of(text, row[0][0])}: {len(row)} cell{'s' * (len(row) > 1)}, "
                    f"but {len(rows[0])} in the first row",
                    hint="quote cells that have the delimiter in them; every row needs as many cells",
                )
            rows.append(row)
        row = []
    return rows
