"""Texts that a spreadsheet compares with cells: formulas, filters and pivot tables need them as they are."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
_MOST_PATTERNS = 100
_KEY = re.compile(r"[A-Z\d_./#:+-]*\d[A-Z\d_./#:+-]*")  # such as a part number


class Compared:
    """The texts that formulas and the like compare with cells. A cell with such a text must keep it."""

    def __init__(self) -> None:
        self._texts: set[str] = set()
        self._patterns: set[str] = set()
        self.formulas = 0

    def add(self, text: str) -> None:
        """Note a text. Case does not count."""
        self._texts.add(text.strip().casefold())

    def add_formula(self, formula: str) -> None:
        """Note the texts in a formula: whole ones, items of a list, and criteria such as "<>Closed".

        In criteria * and ? stand for any characters.
        """
        self.formulas += 1
        for literal in _LITERAL.findall(formula):
            plain = literal.replace('""', '"')
            for text in {plain, *plain.split(",")}:
                self.add(text)
                self.add(bare := text.lstrip("<>="))
                is_pattern = re.search(r"[*?]", bare) and any(map(str.isalpha, bare))
                if is_pattern and len(self._patterns) < _MOST_PATTERNS:
                    self._patterns.add(bare.strip().casefold().replace("[", "[[]"))

    def has(self, text: str) -> bool:
        """Whether a cell with this text is compared."""
        plain = text.strip().casefold()
        return plain in self._texts or any(fnmatchcase(plain, one) for one in self._patterns)


def is_cell_text(text: str) -> bool:
    """Whether a cell has words, and is not a key such as PN-1234."""
    return any(map(str.isalpha, text)) and not _KEY.fullmatch(text.strip())
