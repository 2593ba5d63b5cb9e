"""Where a command writes what lines become, as they come, and what it shows meanwhile."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from dragoman.base.errors import ConfigError
from dragoman.base.files import replacing
from dragoman.base.languages import related
from dragoman.cli.input import STDIN
from dragoman.cli.outcome import waiting
from dragoman.cli.unfinished import Unfinished, Written, can_resume
from dragoman.text.compressed import SUFFIXES
from dragoman.text.languages import of_pair


class LineStream:
    """Writes translations to a stream as they come."""

    def __init__(self, stream: TextIO, *, flush: bool) -> None:
        self._stream, self._flush = stream, flush  # somebody may wait for the line
        self.written = Written()

    def add(
        self, number: int, text: str, *, truncated: bool, counts: Mapping[str, int] | None = None
    ) -> None:
        self._stream.write(text)
        if self._flush:
            self._stream.flush()
        self.written.add(number, truncated=truncated, counts=counts or {})


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
    share: Callable[[int], float | None], doing: str, *, skipped: int = 0, shown: bool
) -> Iterator[Callable[[int], None]]:
    """Show rate and time left on standard error, if that is a terminal. Yields what counts the lines.

    `share` is the share of the work that is done with so many lines, None if it is not known. An earlier
    command did the first `skipped` lines.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda number: None
        return
    from dragoman.cli.rate import Rate  # loads rich

    with waiting(doing) as say:
        rate = Rate()
        first: float | None = None

        def done(number: int) -> None:
            nonlocal first
            part = share(number)
            if part is not None and skipped:
                first = part if first is None else first
                part = (part - first) / max(1 - first, 1e-9)
            if rate.due():
                say(f"{doing}: {rate.text(number - skipped, part)}")

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


def check_pairs_name(output: Path) -> None:
    """Raise ConfigError for an output that training would not read as pairs."""
    if output.exists() and not output.is_file() and not output.is_dir():  # a device or a pipe
        return
    if output.suffix in SUFFIXES:
        raise ConfigError(
            f"{output}: pairs are not compressed while they are written", hint=f"leave out {output.suffix}"
        )
    if output.suffix != ".tsv":
        raise ConfigError(
            f"{output}: the pairs are tab-separated values",
            hint="name the file so that training reads it, such as synthetic.en-de.tsv",
        )


def check_pairs_languages(output: Path, source: str, target: str) -> None:
    """Raise ConfigError if the name of the output says other languages than those of its pairs."""
    named = of_pair(str(output))
    if all(named) and not all(
        related(str(one), own) for one, own in zip(named, (source, target), strict=True)
    ):
        raise ConfigError(
            f"{output}: from {named[0]} to {named[1]} by its name, but its pairs are from {source} to "
            f"{target}",
            hint=f"name it {_stem(output)}.{source}-{target}.tsv, or use a model of the other direction",
        )


def _stem(output: Path) -> str:
    return output.name.split(".")[0] or "pairs"
