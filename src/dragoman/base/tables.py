"""Tables as text: plain columns for a terminal, Markdown for a page."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence


def count(number: int, thing: str) -> str:
    """`1 line`, `2,000 lines`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def listing(items: Sequence[str], *, most: int = 20, separator: str = ", ") -> str:
    """`a, b, c`; of more than `most` items, the first ones and a count: `a, b and 7 more`."""
    shown = separator.join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most:,} more"


def aligned(rows: Sequence[Sequence[str]], *, right: Container[int] = ()) -> list[str]:
    """Lines of columns, each as wide as its widest cell. `right` has the numbers of right-aligned columns."""
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


def read_markdown(text: str) -> dict[str, list[list[str]]]:
    """The rows of the Markdown tables in a page, by the heading above them. The first row is the head."""
    tables: dict[str, list[list[str]]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        elif re.fullmatch(r"\|.*\|\s*", line):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
            if not all(re.fullmatch(":?-{3,}:?", cell) for cell in cells):  # the line below the head
                tables.setdefault(heading, []).append([cell.replace(r"\|", "|") for cell in cells])
    return tables
