"""Grid tables and simple tables of reStructuredText: their cells, and the same table with new ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

_GRID = re.compile(r"\+[-=+]+\+")
_SPAN = re.compile(r"-+(?: +-+)*")
SIMPLE = re.compile(r"=+(?: +=+)+")


@dataclass(frozen=True)
class RstTable:
    """A table without cells that span others. A border is its sign, a row the text of each cell."""

    grid: bool
    cuts: list[tuple[int, int]]  # columns of the cells
    rows: list[str | list[str]]

    def drawn(self, cells: Iterator[str]) -> list[str]:
        """The lines of the table with other texts in its cells, and columns as wide as they need."""
        rows = [one if isinstance(one, str) else [next(cells).split("\n") for _ in one] for one in self.rows]
        widths = [end - start for start, end in self.cuts]
        for row in rows:
            if not isinstance(row, str):
                room = [max(map(_width, cell)) + self.grid for cell in row]
                widths = [max(both) for both in zip(widths, room, strict=True)]
        made = []
        for row in rows:
            if isinstance(row, str):
                line = [row * width for width in widths]
                made.append(f"+{'+'.join(line)}+" if self.grid else self._gapped(line))
                continue
            for number in range(max(map(len, row))):
                line = [cell[number] if number < len(cell) else "" for cell in row]
                line = [part + " " * (width - _width(part)) for part, width in zip(line, widths, strict=True)]
                made.append(f"|{'|'.join(line)}|" if self.grid else self._gapped(line).rstrip())
        return made

    def _gapped(self, parts: Sequence[str]) -> str:
        gaps = [after[0] - before[1] for before, after in pairwise(self.cuts)]
        return "".join(part + " " * gap for part, gap in zip(parts, [*gaps, 0], strict=True))


def read_rst_table(lines: Sequence[str]) -> RstTable | None:
    """Read a table, or return None if its cells span others or cross its columns."""
    wide = re.compile(r"[^\x00-\u10ff]")
    padded = [wide.sub(lambda char: char[0] + "\0" * (_width(char[0]) - 1), line) for line in lines]
    grid, first = padded[0][0] == "+", padded[0]
    if grid:
        at = [found.start() for found in re.finditer(r"\+", first)]
        cuts = [(before + 1, after) for before, after in pairwise(at)]
    else:
        cuts = [found.span() for found in re.finditer("=+", first)]
    rows: list[str | list[list[str]]] = []
    for line in padded:
        parts = [line[start:end] for start, end in cuts]
        between = [
            line[end:start]
            for (_, end), (start, _) in zip([(0, 0), *cuts], [*cuts, (len(line), 0)], strict=True)
        ]
        if not grid:
            parts[-1], between[-1] = line[cuts[-1][0] :], ""
        if re.fullmatch(_GRID if grid else SIMPLE, line):
            ruled = all(part in ("-" * len(part), "=" * len(part)) for part in parts)
            if not ruled or "".join(between).strip("+ "):
                return None
            rows.append(parts[0][0])
        elif (
            (set(between) != {"|"} or _GRID.search(line))
            if grid
            else ("".join(between).strip() or _SPAN.fullmatch(line))
        ):
            return None
        elif rows and not isinstance(rows[-1], str) and (grid or not parts[0].strip()):
            for cell, part in zip(rows[-1], parts, strict=True):
                cell.append(part.rstrip().replace("\0", ""))
        else:
            rows.append([[part.rstrip().replace("\0", "")] for part in parts])
    made = [one if isinstance(one, str) else ["\n".join(cell) for cell in one] for one in rows]
    return RstTable(grid, cuts, made)


def _width(text: str) -> int:
    """The columns of a text as docutils counts them in tables."""
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text if char > "\u10ff")
