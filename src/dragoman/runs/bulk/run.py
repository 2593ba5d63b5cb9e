"""A bulk translation from the files to the files: what is missing is translated, what is finished stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from dragoman.base.errors import DataError, DragomanError
from dragoman.documents.files import Task
from dragoman.documents.journal import NAME as JOURNAL
from dragoman.documents.journal import Journal
from dragoman.runs.bulk.job import BulkJob, PartResult, TextPart
from dragoman.runs.bulk.join import BulkCounts, join_parts
from dragoman.runs.bulk.plan import PART_LINES, folder_of, parts_of, remove

Pool = Callable[[BulkJob, Sequence[TextPart]], Iterator[tuple[int, PartResult]]]


@dataclass
class BulkOutcome:
    """What came of a bulk translation."""

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
    missing: int
    error: tuple[int, DataError] | None = None  # the first in the order of the file


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

    `work` is a folder for what is not finished. It is deleted at the end, unless a file failed: the same
    command then translates only what is missing. `about` says what is translated with. Raises ConfigError if
    another command was stopped here, and any error that is not about the text of one file.
    """
    try:
        outcome = _translate_files(
            job, tasks, work, pool, about=about, column=column, part_lines=part_lines, say=say
        )
    except DragomanError:
        if not any(work.glob("*/[0-9]*")) and not _has_finished(work):
            remove(work)  # nothing was done that a repeated command could use
        raise
    if not outcome.failed:
        remove(work)
    return outcome


def _has_finished(work: Path) -> bool:
    try:
        return len((work / JOURNAL).read_bytes().splitlines()) > 1
    except OSError:
        return False


def _translate_files(
    job: BulkJob,
    tasks: Sequence[Task],
    work: Path,
    pool: Pool,
    *,
    about: Mapping[str, str],
    column: str,
    part_lines: int,
    say: Callable[[str], None],
) -> BulkOutcome:
    outcome = BulkOutcome()
    salt = hashlib.blake2b(json.dumps([sorted(about.items()), column]).encode(), digest_size=16).hexdigest()
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(work, about))
        say("reading")
        files: list[_File] = []
        for task in tasks:
            if (table := journal.result(task.source, cast(Path, task.output))) is not None:
                outcome.counts.add(BulkCounts(**table))
                remove(folder_of(work, task))
                continue
            try:
                parts = parts_of(task, folder_of(work, task), salt=salt, column=column, lines=part_lines)
            except DataError as error:
                outcome.failed.append((task.source, error))
                continue
            files.append(_File(task, parts, 0))
        todo = [(file, part) for file in files for part in _missing(file)]
        outcome.kept = sum(len(file.parts) for file in files) - len(todo)
        for file in files:
            if not file.missing:
                _finish(file, journal, work, outcome)
        lines = sum(part.lines for _, part in todo)
        done = 0
        say(_progress(done, lines))
        for number, result in pool(job, [part for _, part in todo]) if todo else ():
            file, part = todo[number]
            problem = result.to_error()
            if isinstance(problem, DataError):
                if file.error is None or number < file.error[0]:
                    file.error = number, problem
            elif problem is not None:
                raise problem
            else:
                outcome.parts += 1
            outcome.lost += result.tries > 1
            file.missing -= 1
            done += part.lines
            say(_progress(done, lines))
            if not file.missing:
                _finish(file, journal, work, outcome)
        if unanswered := sum(file.missing for file in files):
            raise DragomanError(
                f"{unanswered} parts have no answer", hint="repeat the command, which goes on"
            )
        places = {task.source: place for place, task in enumerate(tasks)}
        outcome.failed.sort(key=lambda failure: places[failure[0]])
        if outcome.failed:
            stack.pop_all()  # the journal stays
    return outcome


def _missing(file: _File) -> list[TextPart]:
    """The parts that no earlier command has translated. Its tries do not count."""
    for part in file.parts[:1]:
        for left in Path(part.place).parent.glob("*.tries"):
            left.unlink(missing_ok=True)
    missing = [part for part in file.parts if not Path(part.place).exists()]
    file.missing = len(missing)
    return missing


def _finish(file: _File, journal: Journal, work: Path, outcome: BulkOutcome) -> None:
    if file.error is not None:
        outcome.failed.append((file.task.source, file.error[1]))
        return
    counts = join_parts(file.task, file.parts)
    journal.add(file.task.source, cast(Path, file.task.output), vars(counts))
    outcome.counts.add(counts)
    remove(folder_of(work, file.task))


def _progress(done: int, lines: int) -> str:
    return f"translating: {done:,} of {lines:,} lines"
