"""Tables as text: plain columns for a terminal, Markdown for a page."""

from __future__ import annotations

from collections.abc import Container, Sequence


def count(number: int, thing: str) -> str:
    """`1 line`, `2,000 lines`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def aligned(rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> list[str]:
    """Lines of columns, each as wide as its widest cell. `right` has the numbers of right-aligned ones."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table. A bar inside a cell is escaped, so that it does not end the cell."""
    first, *others = [
        "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in (head, *rows)
    ]
    return [first, "|" + " --- |" * len(head), *others]
