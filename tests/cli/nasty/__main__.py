"""Counts the rows of the table: `python -m tests.cli.nasty`. Each command with its expected outcomes."""

from __future__ import annotations

from collections import Counter

from tests.cli.nasty.row import Row
from tests.cli.nasty.table import ROWS

_OF_TWO = ("memory", "model")


def command_of(row: Row) -> str:
    """The command, such as `memory import`."""
    first, *rest = row.command.split() or [""]
    if first in ("", "sing", "tranlate"):
        return "no command"
    return f"{first} {rest[0]}" if first in _OF_TWO else first


def main() -> None:
    counts = Counter((command_of(row), row.code) for row in ROWS)
    codes = sorted({code for _, code in counts})
    print(f"{'exit code':18}" + "".join(f"{code:6}" for code in codes) + f"{'all':>8}")
    for command in sorted({command for command, _ in counts}):
        row = [counts[command, code] for code in codes]
        print(f"{command:18}" + "".join(f"{n or '':6}" for n in row) + f"{sum(row):8}")
    outside = sum(row.outside or row.locked for row in ROWS)
    print(f"{len(ROWS)} rows; `make test-all` also runs {outside} of them as processes, `make test-slow` all")


main()
