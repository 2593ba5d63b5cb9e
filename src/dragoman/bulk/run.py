"""Run a bulk translation: translate the missing parts, and keep the finished ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from dragoman.base.errors import DataError, DragomanError
from dragoman.base.jobs import Journal, digest, read_part
from dragoman.base.progress import Meter
from dragoman.bulk.join import BulkCounts, join_parts
from dragoman.bulk.plan import PART_LINES, folder_of, parts_of, remove
from dragoman.bulk.source import TextPart
from dragoman.bulk.worker import BulkJob, PartResult
from dragoman.documents.files import Task

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
            salt = digest(json.dumps([sorted(about.items()), column]))
            for task in tasks:
                bulk.open(task, salt, column, part_lines)
            bulk.translate(job, pool, say)
        except DragomanError:
            if not journal and not any(work.glob("*/[0-9]*")):
                remove(work)  # nothing was done that a repeated command could use
            raise
        failed = bulk.failed
        bulk.outcome.failed = [(task.source, failed[task.source]) for task in tasks if task.source in failed]
        journal.kept = bool(failed)
        if not failed:
            remove(work)
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
            remove(folder)
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
        if file.errors:
            self.failed[file.task.source] = file.errors[min(file.errors)]
            return
        counts = join_parts(file.task, file.parts)
        self.journal.add(file.task.source, cast(Path, file.task.output), vars(counts))
        self.outcome.counts.add(counts)
        remove(folder_of(self.work, file.task))
