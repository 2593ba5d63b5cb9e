"""Run a bulk translation: translate the missing parts, and keep the finished ones."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.base.files import replacing
from dragoman.base.jobs import Journal, digest, read_part
from dragoman.base.progress import Meter
from dragoman.bulk.source import NAME, TextPart, digest_of_part, kind_of_name, open_parquet, raw_items
from dragoman.bulk.worker import BulkJob, PartResult
from dragoman.documents.files import Task, tasks_of
from dragoman.documents.formats import format_of_name
from dragoman.text.corpora.compressed import compressing, damage, decompressed
from dragoman.text.corpora.lines import open_bytes

PART_LINES = 5_000
_PART_BYTES = 2**24  # a part ends after the line that reaches this, so that it fits into memory


def bulk_tasks(names: Sequence[str], output: str | Path) -> list[Task]:
    """Return a task for each file, in order; a name may be a file, a folder or a pattern such as `in/*.gz`.

    One file goes to the file `output`, or into that folder; several, and folders, go into the folder
    `output`, each with its name. Raises DataError if nothing is found or a path does not exist, ConfigError
    if two would go to the same place, one would overwrite a source, or one is a document.
    """
    paths = [path for name in names for path in _paths(name)]
    for path in paths:
        if path.is_file() and _is_document(path):
            raise ConfigError(
                f"{path}: bulk translation takes text, not documents", hint="use dragoman translate"
            )
    return tasks_of(
        paths, output, wanted=lambda one: "/." not in f"/{one.as_posix()}" and not _is_document(one)
    )


def work_place(tasks: Sequence[Task], output: Path) -> Path:
    """The folder of unfinished parts: in the output folder, or next to the output file."""
    if [task.output for task in tasks] == [output]:
        return output.with_name(f"{output.name}.unfinished.parts")
    return output / ".unfinished.parts"


def parts_of(task: Task, folder: Path, *, salt: str, column: str, lines: int = PART_LINES) -> list[TextPart]:
    """Cut a file into parts, whose translations go into `folder`. Nothing of them is kept in memory.

    `salt` stands for the models and options: parts of the same text and salt have the same place. A gzipped
    file is unpacked into `folder`. Raises DataError if the file cannot be read.
    """
    name, kind = str(task.source), kind_of_name(task.source)
    folder.mkdir(parents=True, exist_ok=True)
    path = task.source if kind == "parquet" else _unpacked(task.source, folder)
    parts: list[TextPart] = []
    first = 1
    for group in range(_groups(path, name) if kind == "parquet" else 1):
        whole = TextPart(
            name, str(path.absolute()), kind, column, group, 0, sys.maxsize, first, 0, salt, "", ""
        )
        for part in _cut(whole, lines):
            place = folder.absolute() / f"{len(parts):07}-{part.digest}"
            parts.append(replace(part, place=str(place)))
            first += part.lines
    return parts


def _cut(whole: TextPart, lines: int) -> Iterator[TextPart]:
    """Cut a file, or a row group, into parts."""
    start, first, items = 0, whole.first, raw_items(whole)
    while (next_item := next(items, None)) is not None:
        digest, count, size = digest_of_part(whole.salt, first), 0, 0
        for item in chain([next_item], items):
            digest.update(item)
            count, size = count + 1, size + len(item)
            if count == lines or (whole.kind != "parquet" and size >= _PART_BYTES):
                break
        end = start + (count if whole.kind == "parquet" else size)
        yield replace(whole, start=start, end=end, first=first, lines=count, digest=digest.hexdigest())
        start, first = end, first + count


def _groups(path: Path, name: str) -> int:
    """The number of row groups of a Parquet file."""
    with open_parquet(path, name) as file:
        if NAME in file.schema_arrow.names:
            raise DataError(f"{path}: has a column {NAME!r} already", hint="rename that column")
        return int(file.num_row_groups)


def folder_of(work: Path, task: Task) -> Path:
    """The folder for the parts of a file."""
    name = os.fsencode(os.path.abspath(task.output or task.source))
    return work / hashlib.blake2b(name, digest_size=8).hexdigest()


def _paths(name: str) -> list[Path]:
    if os.path.lexists(name) or not glob.has_magic(name):
        return [Path(name)]
    if not (found := sorted(glob.glob(name, recursive=True))):
        raise DataError(f"{name}: matches no file", hint="check the pattern")
    return [Path(one) for one in found]


def _is_document(path: Path) -> bool:
    known = format_of_name(path)
    return known is not None and known.name != "text"


def _unpacked(source: Path, folder: Path) -> Path:
    """The file itself, or its text if it is compressed."""
    with open_bytes(source) as stream:
        content = decompressed(stream, str(source))
        if content is stream:
            return source
        path = folder / "text"
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(content, file, _BLOCK)
        except Exception as error:
            if fault := damage(error, str(source)):
                raise DataError(f"{source}: {fault}", hint="copy or download it again") from error
            raise
    return path


_BLOCK = 2**20  # bytes


@dataclass
class BulkCounts:
    """The counts of written lines."""

    files: int = 0
    lines: int = 0
    truncated: int = 0  # translations that were cut short
    first: list[str] = field(default_factory=list)  # where the first five of them are

    def add(self, other: BulkCounts) -> None:
        """Count in another file."""
        self.files += other.files
        self.lines += other.lines
        self.truncated += other.truncated
        self.first = [*self.first, *other.first][:5]


def join_parts(task: Task, parts: Sequence[TextPart]) -> BulkCounts:
    """Write the output of a file from its parts, whole or not at all. By its name it is compressed."""
    output = cast(Path, task.output)
    counts = BulkCounts(files=1)
    with replacing(output) as path:
        if kind_of_name(task.source) == "parquet":
            _write_parquet(task.source, path, parts, counts)
        else:
            with path.open("wb") as raw, compressing(raw, output.suffix.lower()) as file:
                for part in parts:
                    with _body(part, counts) as body:
                        shutil.copyfileobj(body, file, _BLOCK)
    return counts


@contextmanager
def _body(part: TextPart, counts: BulkCounts) -> Iterator[BinaryIO]:
    """The translations of a part. The counts in the line before them are added."""
    with Path(part.place).open("rb") as file:
        about = json.loads(file.readline())
        first = [f"{part.name}:{number}" for number in about["first"]]
        counts.add(BulkCounts(lines=about["lines"], truncated=about["truncated"], first=first))
        yield file


def _write_parquet(source: Path, path: Path, parts: Sequence[TextPart], counts: BulkCounts) -> None:
    import pyarrow
    from pyarrow import parquet

    with open_parquet(source, str(source)) as file:
        schema = file.schema_arrow.append(pyarrow.field(NAME, pyarrow.string()))
        groups = file.num_row_groups
    with parquet.ParquetWriter(path, schema) as writer:
        for group in range(groups):
            with open_parquet(source, str(source)) as file:
                table = file.read_row_group(group)
            values: list[str | None] = []
            for part in parts:
                if part.group == group:
                    with _body(part, counts) as body:
                        values += map(json.loads, body)
            column = pyarrow.array(values, pyarrow.string())
            writer.write_table(table.append_column(schema.field(NAME), column).cast(schema))


Pool = Callable[[BulkJob, Sequence[TextPart]], Iterator[tuple[int, PartResult]]]


@dataclass
class BulkOutcome:
    """The result of a bulk translation."""

    counts: BulkCounts = field(default_factory=BulkCounts)
    parts: int = 0  # that were translated now
    kept: int = 0  # that an earlier command had translated
    lost: int = 0  # that were begun again because a worker was lost
    failed: list[tuple[Path, DataError]] = field(default_factory=list)


@dataclass
class _File:
    """A file that is not finished."""

    task: Task
    parts: list[TextPart]
    missing: set[str]  # the places of the parts without an answer
    errors: dict[int, DataError] = field(default_factory=dict)  # by the first line of the part


def translate_bulk(
    job: BulkJob,
    tasks: Sequence[Task],
    work: Path,
    pool: Pool,
    *,
    about: Mapping[str, str],
    column: str = "text",
    part_lines: int = PART_LINES,
    say: Callable[[str], None] = lambda text: None,
) -> BulkOutcome:
    """Translate the files by the workers of `pool`, and put each together when its last part is done.

    `work` is a folder for unfinished work. It is deleted at the end, unless a file failed: the same
    command then translates only the missing parts. `about` describes the models and options. Raises
    ConfigError if another command writes there or was stopped there, and any error that is not about the text
    of one file.
    """
    with Journal(work, about) as journal:
        bulk = _Bulk(journal, work)
        try:
            say("reading")
            salt = digest(json.dumps([sorted(journal.about.items()), column]))
            for task in tasks:
                bulk.open(task, salt, column, part_lines)
            bulk.translate(job, pool, say)
        except DragomanError:
            if not journal and not any(work.glob("*/[0-9]*")):
                shutil.rmtree(work, ignore_errors=True)  # nothing was done that a repeated command could use
            raise
        failed = bulk.failed
        bulk.outcome.failed = [(task.source, failed[task.source]) for task in tasks if task.source in failed]
        journal.kept = bool(failed)
        if not failed:
            shutil.rmtree(work, ignore_errors=True)
    return bulk.outcome


class _Bulk:
    """The files of a bulk translation, some of them finished."""

    def __init__(self, journal: Journal, work: Path) -> None:
        self.journal, self.work, self.outcome = journal, work, BulkOutcome()
        self.files: list[_File] = []
        self.failed: dict[Path, DataError] = {}

    def open(self, task: Task, salt: str, column: str, lines: int) -> None:
        """Cut a file into parts, unless an earlier command has finished it."""
        folder = folder_of(self.work, task)
        if (table := self.journal.result(task.source, cast(Path, task.output))) is not None:
            self.outcome.counts.add(BulkCounts(**table))
            shutil.rmtree(folder, ignore_errors=True)
            return
        try:
            parts = parts_of(task, folder, salt=salt, column=column, lines=lines)
        except DataError as error:
            self.failed[task.source] = error
            return
        for left in folder.glob("*.tries"):  # tries of an earlier command do not count
            left.unlink(missing_ok=True)
        missing = {part.place for part in parts if read_part(Path(part.place)) is None}
        self.outcome.kept += len(parts) - len(missing)
        self.files.append(_File(task, parts, missing))

    def translate(self, job: BulkJob, pool: Pool, say: Callable[[str], None]) -> None:
        """Translate the missing parts, and finish each file after its last one."""
        todo = [(file, part) for file in self.files for part in file.parts if part.place in file.missing]
        for file in self.files:
            if not file.missing:
                self._finish(file)
        say("translating")  # the models are loaded first
        total, done = sum(part.lines for _, part in todo), 0
        meter = Meter("translating", say, total=total, every=0.25)
        for number, result in pool(job, [part for _, part in todo]) if todo else ():
            file, part = todo[number]
            problem = result.to_error()
            if isinstance(problem, DataError):
                file.errors[part.first] = problem
            elif problem is not None:
                raise problem
            self.outcome.parts += problem is None
            self.outcome.lost += result.tries > 1
            file.missing.discard(part.place)
            done += part.lines
            meter(done)
            if not file.missing:
                self._finish(file)
        if unanswered := sum(len(file.missing) for file in self.files):
            raise DragomanError(
                f"{unanswered} parts have no answer", hint="repeat the command, which resumes"
            )

    def _finish(self, file: _File) -> None:
        try:
            if file.errors:
                raise file.errors[min(file.errors)]
            counts = join_parts(file.task, file.parts)
        except DataError as error:
            self.failed[file.task.source] = error
            return
        self.journal.add(file.task.source, cast(Path, file.task.output), vars(counts))
        self.outcome.counts.add(counts)
        shutil.rmtree(folder_of(self.work, file.task), ignore_errors=True)
