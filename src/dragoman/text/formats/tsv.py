"""Tab-separated values: a line is the source sentence, a tab, its translation. There is no quoting."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.base.errors import DataError
from dragoman.text.lines import Line, TextFile


def read(file: TextFile) -> Iterator[Line]:
    """Yields the pairs; a line with nothing on it is a pair of empty sentences.

    Raises DataError where there are not two columns.
    """
    for number, line in enumerate(file, 1):
        columns = line.split("\t") if line else ["", ""]
        if len(columns) != 2:
            raise DataError(
                f"{file.name}:{number}: {len(columns)} column{'s' * (len(columns) != 1)}, "
                "expected 2 (source<TAB>target)",
                hint="cut -f1,2 keeps the first two columns"
                if len(columns) > 2
                else "put a tab between the sentence and its translation",
            )
        yield Line(number, columns[0], columns[1])
