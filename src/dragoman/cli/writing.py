"""Write the output of a command line by line, and show its progress.

While FILE is written, FILE.unfinished has the lines so far, and FILE.unfinished.json has their number and
the inputs they were made from. After a kill, the same command resumes there. FILE appears, or is replaced, at
the end: byte for byte as if the command had never been stopped. More files may grow with it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self, TextIO

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.base.files import check_writable, move, replacing
from dragoman.base.jobs import GrowingFiles, JobRecord, Lock, digest, digest_of_place
from dragoman.base.languages import related
from dragoman.base.progress import Meter
from dragoman.cli.input import STDIN
from dragoman.cli.outcome import waiting
from dragoman.text.corpora.languages import of_pair
from dragoman.translation.folder.checkpoint import model_folder
from dragoman.version import __version__

_LONGEST = 230  # bytes of a name that leave room for the endings
_NOTHING: Mapping[str, int] = {}


@dataclass
class Written:
    """How much of the output is done."""

    lines: int = 0  # of the input
    counts: dict[str, int] = field(default_factory=dict)  # of what the command counts, such as "truncated"
    first: dict[str, list[int]] = field(default_factory=dict)  # the first five lines of each count

    def add(self, number: int, counts: Mapping[str, int]) -> None:
        """Count line `number`, and add the `counts`."""
        self.lines = number
        for what in [what for what, many in counts.items() if many]:
            self.counts[what] = self.counts.get(what, 0) + counts[what]
            self.first[what] = [*self.first.get(what, []), number][:5]


class Unfinished(GrowingFiles):
    """The output file of a command, with the lines of an earlier one. `about` describes its inputs.

    `more` are files that grow with it.

    Add lines in a with-block. At its end the output appears. If the block is interrupted, what is written
    stays. Bad input, which would fail again, deletes it. A ConfigError leaves what an earlier command has
    written: the cause may be the machine, such as a missing library. Entering raises ConfigError if the
    earlier command had other text, another model or other options, or is still running.
    """

    SECONDS = 1.0

    def __init__(self, output: Path, about: Mapping[str, object], more: Sequence[Path] = ()) -> None:
        self.output, *others = (Path(os.path.realpath(path)) for path in (output, *more))
        self._text = self.output.with_name(f"{self.output.name}.unfinished")
        self._others = {path.with_name(f"{path.name}.unfinished"): path for path in others}
        record = self._text.with_name(f"{self._text.name}.json")
        super().__init__(self.output.parent, JobRecord(record, dict(about), refused=self._text))
        self._lock = Lock(self._text)
        self.written = Written()
        self._adding = False

    def __enter__(self) -> Self:
        for path in (self.output, *self._others.values()):
            check_writable(path)
        with ExitStack() as stack:
            stack.enter_context(self._lock)
            self.read()
            if self.table:
                self.written = Written(**self.table["written"])
            self.open([self._text.name, *map(str, self._others)])
            stack.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                self._finish()
            elif self._is_of_no_use(error):
                self.record.delete()
                for path in (self._text, *self._others):
                    path.unlink(missing_ok=True)
            elif not self._adding:  # a line that is written but not counted would come twice
                with contextlib.suppress(OSError, DragomanError):  # the disk may be full: the reason
                    self.save(written=asdict(self.written))
        finally:
            with contextlib.suppress(OSError):
                self.close()
            self._lock.release()

    def add(
        self, number: int, text: str, *, counts: Mapping[str, int] = _NOTHING, more: Sequence[bytes] = ()
    ) -> None:
        """Write the output of line `number`, and `more` to the other files, and note it once a second."""
        self._adding = True
        self.append(self._text.name, text.encode())
        for path, content in zip(self._others, more, strict=True):
            self.append(str(path), content)
        self.written.add(number, counts)
        self._adding = False
        if self.due:
            self.save(written=asdict(self.written))

    def _finish(self) -> None:
        """Move the text to its place. An interrupt here loses nothing that is written."""
        self.save(written=asdict(self.written))  # the counted lines are on the disk
        for part, path in {**self._others, self._text: self.output}.items():
            if path.exists():
                part.chmod(path.stat().st_mode & 0o777)
            move(part, path)
        self.record.delete()

    def _is_of_no_use(self, error: BaseException) -> bool:
        """Whether the same command could not resume with the lines written so far."""
        fails_again = isinstance(error, DataError) or (isinstance(error, ConfigError) and not self.table)
        return fails_again or not self.written.lines

    def _fits(self, table: dict[str, Any]) -> bool:
        return Written(**table["written"]).lines > 0 and super()._fits(table)


def can_resume(output: Path, inputs: Sequence[str]) -> bool:
    """Whether a command that reads and writes these can resume where another stopped: they are files."""
    regular = all(Path(name).is_file() for name in inputs)
    return regular and (output.is_file() or not output.exists()) and len(os.fsencode(output.name)) < _LONGEST


def made_of(
    *, text: Sequence[str], models: Sequence[str], files: Mapping[str, object], options: Mapping[str, object]
) -> dict[str, str]:
    """The inputs of a translation: a digest of each, by its name.

    `files` are other files and folders by their options; None where an option is not used.
    """
    about = {"version": __version__, "engine": os.environ.get("DRAGOMAN_ENGINE", "")}
    about["text"] = digest_of_place(*text)
    for number, model in enumerate(models, 1):
        about[f"model {number}" if number > 1 else "model"] = digest_of_place(model_folder(Path(model)))
    for name, place in files.items():
        if place is not None:
            of = _digest_of_memory if name == "memory" else digest_of_place
            about[f"--{name}"] = of(str(model_folder(Path(str(place)))))
    return about | {f"--{name}": repr(value) for name, value in options.items()}


def made_from(
    given: Mapping[str, Any],
    models: Sequence[Path],
    text: Sequence[str],
    *,
    files: Sequence[str],
    apart: Sequence[str],
) -> dict[str, str]:
    """What the command with the options `given` makes its output from: all but those `apart`.

    The options `files` name files, whose content counts.
    """
    options = {name: value for name, value in given.items() if name not in (*files, *apart)}
    read = {name: given.get(name) for name in files}
    return made_of(text=text, models=[*map(str, models)], files=read, options=options)


def _digest_of_memory(place: str) -> str:
    """A digest of the pairs of a memory. Its file also counts how often they are used."""
    from dragoman.translation.memory.exchange import is_exchanged, open_memory

    if is_exchanged(Path(place)):
        return digest_of_place(place)
    with open_memory(Path(place)) as memory:
        return digest(f"{pair.source}\t{pair.target}\n" for pair in memory.pairs())


class LineStream:
    """Writes translations to a stream as they come."""

    def __init__(self, stream: TextIO, *, flush: bool, others: Sequence[BinaryIO] = ()) -> None:
        self._stream, self._flush = stream, flush  # a reader may wait for the line
        self._others = others
        self.written = Written()

    def add(
        self, number: int, text: str, *, counts: Mapping[str, int] = _NOTHING, more: Sequence[bytes] = ()
    ) -> None:
        self._stream.write(text)
        for file, content in zip(self._others, more, strict=True):
            file.write(content)
        if self._flush:
            self._stream.flush()
        self.written.add(number, counts)


Writer = LineStream | Unfinished


@contextmanager
def writing_to(
    output: Path | None,
    names: Sequence[str] | None,
    about: Callable[[], dict[str, str]],
    more: Sequence[Path] = (),
) -> Iterator[Writer]:
    """Yield the writer of the output. Keep an earlier part of a file made from the files `names`.

    `more` are files that are written with a file.
    """
    if output is None:
        yield LineStream(sys.stdout, flush=not _is_file(sys.stdout))
    elif names is not None and all(can_resume(path, names) for path in (output, *more)):
        with Unfinished(output, about(), more) as unfinished:
            yield unfinished
    else:
        with ExitStack() as stack:
            parts = [stack.enter_context(replacing(path)) for path in more]
            others = [stack.enter_context(part.open("wb")) for part in parts]
            yield LineStream(stack.enter_context(opened_output(output)), flush=False, others=others)


@contextmanager
def opened_output(output: Path | None) -> Iterator[TextIO]:
    """A file to write, which appears at the end of the block; standard output for None."""
    if output is None:
        yield sys.stdout
        return
    with (
        replacing(output) as part,  # names of files, which reports have, may be any bytes
        part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


@contextmanager
def shown_rate(
    share: Callable[[int], float | None], doing: str, *, skipped: int = 0, shown: bool
) -> Iterator[Callable[[int], None]]:
    """Show count, rate and time left on standard error, if that is a terminal. Yields the counter of lines.

    `share` gives the share of the work done for a number of lines, None if it is not known. An earlier
    command did the first `skipped` lines.
    """
    with waiting(doing, shown=shown) as say:
        yield Meter(doing, say, share=share, done=skipped, every=0.25)


def _is_file(stream: TextIO) -> bool:
    """Whether the output goes into a file, not to a terminal or another program."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # standard output may have been replaced by text in memory
        return False


def check_exist(names: Sequence[str], *beside: Path | None) -> None:
    """Raise DataError for a missing file before the model is loaded, which takes seconds.

    Raises ConfigError if standard input is named twice, also by files `beside`.
    """
    from dragoman.text.corpora.lines import unreadable

    if [*names, *map(str, beside)].count(STDIN) > 1:
        raise ConfigError(
            "standard input is named twice", hint="it can be read only once; use a file for one of them"
        )
    for name in (name for name in names if name != STDIN):
        try:
            Path(name).stat()
        except OSError as error:
            raise unreadable(name, error) from error


def check_pairs_name(output: Path) -> None:
    """Raise ConfigError for an output that training would not read as pairs."""
    device = output.exists() and not output.is_file() and not output.is_dir()  # or a pipe
    if output.suffix != ".tsv" and not device:
        hint = "name the file so that training reads it, such as synthetic.en-de.tsv"
        raise ConfigError(f"{output}: the pairs are tab-separated values, not compressed", hint=hint)


def check_pairs_languages(output: Path, source: str, target: str) -> None:
    """Raise ConfigError if the name of the output states other languages than its pairs have."""
    named, stem = of_pair(str(output)), output.name.split(".")[0] or "pairs"
    if all(named) and not all(
        related(str(one), own) for one, own in zip(named, (source, target), strict=True)
    ):
        raise ConfigError(
            f"{output}: from {named[0]} to {named[1]} by its name, but its pairs are from {source} to "
            f"{target}",
            hint=f"name it {stem}.{source}-{target}.tsv, or use the other direction",
        )
