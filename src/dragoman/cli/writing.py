"""Where a command writes what lines become, as they come, and what it shows meanwhile."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from dragoman.base.files import replacing
from dragoman.cli.input import STDIN
from dragoman.cli.outcome import waiting
from dragoman.cli.unfinished import Unfinished, Written, can_resume


class LineStream:
    """Writes translations to a stream as they come."""

    def __init__(self, stream: TextIO, *, flush: bool) -> None:
        self._stream, self._flush = stream, flush  # somebody may wait for the line
        self.written = Written()

    def add(self, number: int, text: str, *, truncated: bool) -> None:
        self._stream.write(text)
        if self._flush:
            self._stream.flush()
        self.written.add(number, truncated=truncated)


Writer = LineStream | Unfinished


@contextmanager
def writing_to(
    output: Path | None, names: Sequence[str] | None, about: Callable[[], dict[str, str]]
) -> Iterator[Writer]:
    """Yield what writes the output; of a file made from the files `names`, keep an earlier part."""
    if output is None:
        yield LineStream(sys.stdout, flush=not _is_file(sys.stdout))
    elif names is not None and can_resume(output, names):
        with Unfinished(output, about()) as unfinished:
            yield unfinished
    else:
        with replacing(output) as part, part.open("w", encoding="utf-8", newline="") as file:
            yield LineStream(file, flush=False)


@contextmanager
def shown_rate(
    share: Callable[[int], float | None], doing: str, *, shown: bool
) -> Iterator[Callable[[int], None]]:
    """Show rate and time left on standard error, if that is a terminal. Yields what counts the lines.

    `share` is the share of the work that is done with so many lines, None if it is not known.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda number: None
        return
    from dragoman.cli.rate import Rate  # loads rich

    with waiting(doing) as say:
        rate = Rate()

        def done(number: int) -> None:
            part = share(number)
            if rate.due():
                say(f"{doing}: {rate.text(number, part)}")

        yield done


def _is_file(stream: TextIO) -> bool:
    """Whether what is written goes into a file, not to a terminal or another program."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # standard output may have been replaced by text in memory
        return False


def check_exist(names: Iterable[str]) -> None:
    """Raise DataError for a missing file before the model is loaded, which takes seconds."""
    from dragoman.text.lines import unreadable

    for name in names:
        if name == STDIN:
            continue
        try:
            Path(name).stat()
        except OSError as error:
            raise unreadable(name, error) from error
