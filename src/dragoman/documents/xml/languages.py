"""Refuse a file for other languages than the wanted ones."""

from __future__ import annotations

from dragoman.base.errors import DataError
from dragoman.text.languages import related


def expect(line: int, name: str, has: str, wanted: str) -> None:
    """Raise DataError if a file is for another language than the wanted one."""
    if has and wanted and not related(has, wanted):
        raise DataError(f"line {line}: {name} is {has!r}, not {wanted!r}", hint="translate in its languages")
