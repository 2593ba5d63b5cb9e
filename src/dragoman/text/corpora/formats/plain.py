"""Two plain files: line n of one is the translation of line n of the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from dragoman.base.errors import DataError
from dragoman.text.corpora.lines import Line, TextFile


def read(source: TextFile, target: TextFile) -> Iterator[Line]:
    """Yield the pairs. Raise DataError at the end if one file has fewer lines than the other."""
    left, right = iter(source), iter(target)
    for number in itertools.count(1):
        sentence, translation = next(left, None), next(right, None)
        if sentence is not None and translation is not None:
            yield Line(number, sentence, translation)
        elif sentence is translation:  # both at their end
            return
        elif sentence is None:
            raise _uneven(source, number - 1, target, number + sum(1 for _ in right))
        else:
            raise _uneven(target, number - 1, source, number + sum(1 for _ in left))


def _uneven(short: TextFile, short_lines: int, long: TextFile, long_lines: int) -> DataError:
    return DataError(
        f"{short.name}: {short_lines} line{'s' * (short_lines != 1)}, but {long.name} has {long_lines}",
        hint="line n of one file must be the translation of line n of the other; keep empty lines",
    )
