"""Figures as text: counted things, and columns that line up."""

from __future__ import annotations

from collections.abc import Sequence


def count(number: int, thing: str) -> str:
    """`1 line`, `2,000 lines`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of columns as wide as their widest cell."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
