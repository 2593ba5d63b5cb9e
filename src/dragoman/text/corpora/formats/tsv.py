"""Tab-separated values: each line is a sentence, a tab and its translation, without quoting."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.base.errors import DataError
from dragoman.text.corpora.lines import Line, TextFile


def read(file: TextFile) -> Iterator[Line]:
    """Yield the pairs; an empty line is a pair of empty sentences.

    Raise DataError if a line does not have two columns.
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
