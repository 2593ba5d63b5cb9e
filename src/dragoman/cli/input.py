"""The lines of the files that a command reads, and how much of them has been read."""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dragoman.base.errors import ConfigError
from dragoman.base.files import check_writable

STDIN = "-"
_MARKED = 32  # lines between two places that are noted


class Input:
    """The lines of several files without their line ends, which are queued in `ends`.

    The first `skipped` lines are left out. `in_context` queues the lines before each, of the same file and
    behind the last blank one, for `contexts`.
    """

    def __init__(self, names: Sequence[str], *, skipped: int = 0, in_context: bool = False) -> None:
        self.names, self.skipped = names, skipped
        self.ends: deque[str] = deque()
        self._contexts: deque[str] | None = deque() if in_context else None
        self._sizes = [_size(name) for name in names]
        self._places: deque[tuple[int, int]] = deque()  # number of a line, bytes up to its end
        self._done = 0  # bytes up to the end of the last line read

    @property
    def live(self) -> bool:
        """Whether a file is a pipe or a terminal, whose next line may not have been written yet."""
        return None in self._sizes

    def share(self, number: int) -> float | None:
        """The share of the bytes up to line `number`, which must not decrease; None if it is not known."""
        while self._places and self._places[0][0] <= number:
            self._done = self._places.popleft()[1]
        sizes = [size for size in self._sizes if size is not None]
        if len(sizes) < len(self._sizes) or not sum(sizes):
            return None
        return min(self._done / sum(sizes), 1.0)

    def contexts(self) -> Iterator[str]:
        """Yield the context of each line that has been read."""
        while self._contexts:
            yield self._contexts.popleft()

    def __iter__(self) -> Iterator[str]:
        from dragoman.text.blank import is_blank
        from dragoman.text.corpora.context import SENTENCES
        from dragoman.text.corpora.lines import ended_lines, open_bytes

        number = before = 0
        for place, (name, size) in enumerate(zip(self.names, self._sizes, strict=True), 1):
            last: deque[str] = deque(maxlen=SENTENCES)
            with open_bytes(name) as stream:
                for text, end in ended_lines(stream, name):
                    number += 1
                    if self._contexts is not None:
                        if number > self.skipped:
                            self._contexts.append(" ".join(last))
                        last.clear() if is_blank(text) else last.append(text.strip())
                    if number <= self.skipped:
                        continue
                    # A last line without an end must not run into the next file's first line.
                    self.ends.append(end or ("" if place == len(self.names) else "\n"))
                    if number % _MARKED == 0 and not self.live:
                        self._places.append((number, before + stream.tell()))
                    yield text
            before += size or 0


def keep_apart(output: Path | None, names: Iterable[str | Path | None]) -> None:
    """Raise ConfigError if the output is also an input, by the same name, another name or a pattern."""
    from dragoman.text.corpora.shards import files_of

    if output is None:
        return
    if str(output) == STDIN:
        raise ConfigError(f"an output named {STDIN}", hint="name a file")
    written = [one for end in ("", ".unfinished") if (one := Path(f"{output}{end}")).is_file()]
    for file in (file for name in names if name is not None for file in files_of(str(name))):
        for one in written if file != STDIN and Path(file).exists() else ():
            if one.samefile(file):
                raise ConfigError(f"{one}: input and output are the same file", hint="choose another file")


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Raise ConfigError if an output is an input or another output, or cannot be written."""
    paths, read = [path for path in outputs if path is not None], list(inputs)
    for path in paths:
        keep_apart(path, read)
        check_writable(path)
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise ConfigError("two outputs are the same file", hint="choose another name for one")


def _size(name: str) -> int | None:
    """Bytes of a file, as it is stored; None for a pipe or a terminal."""
    try:
        about = os.fstat(sys.stdin.fileno()) if name == STDIN else Path(name).stat()
    except (OSError, ValueError):  # standard input may have been replaced by bytes in memory
        return 0
    return about.st_size if stat.S_ISREG(about.st_mode) else None
