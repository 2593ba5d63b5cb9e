"""What is translated: the files, where their translations go, and the parts that they are cut into."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from dragoman.base.errors import ConfigError, DataError
from dragoman.documents.files import Task, check_places
from dragoman.documents.formats import format_of_name
from dragoman.runs.bulk.source import (
    NAME,
    Kind,
    TextPart,
    column_values,
    digest_of_part,
    kind_of_name,
    open_parquet,
    raw_lines,
)
from dragoman.text.compressed import damage, decompressed
from dragoman.text.lines import open_bytes

PART_LINES = 5_000
_BLOCK = 2**20
_PART_BYTES = 2**24  # a part ends after the line that reaches this, so that it fits into memory


def bulk_tasks(names: Sequence[str], output: Path) -> list[Task]:
    """Return a task for each file, in order; a name may be a file, a folder or a pattern such as `in/*.gz`.

    One file goes to the file `output`, or into that folder; several, and folders, go into the folder
    `output`, each with its name. Raises DataError if nothing is found or a path does not exist, ConfigError
    if two would go to the same place, one would overwrite a source, or one is a document.
    """
    paths = [path for name in names for path in _paths(name)]
    single = len(paths) == 1 and not paths[0].is_dir() and not output.is_dir()
    tasks = [
        Task(source, output if single else output / inside, None)
        for path in paths
        for source, inside in _files(path, output)
    ]
    if not tasks:
        raise DataError(f"{names[0]}: no text in this folder", hint="check the path")
    check_places(tasks, output)
    return tasks


def work_place(tasks: Sequence[Task], output: Path) -> Path:
    """The folder of unfinished parts: in the output folder, or beside the output file."""
    if [task.output for task in tasks] == [output]:
        return output.with_name(f"{output.name}.unfinished.parts")
    return output / ".unfinished.parts"


def parts_of(task: Task, folder: Path, *, salt: str, column: str, lines: int = PART_LINES) -> list[TextPart]:
    """Cut a file into parts, whose translations go into `folder`. Nothing of them is kept in memory.

    `salt` says what is translated with: parts of the same text and salt have the same place. A gzipped file
    is unpacked into `folder`. Raises DataError if the file cannot be read.
    """
    name, kind = str(task.source), kind_of_name(task.source)
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        cut = _of_parquet(task.source, column, salt, lines)
        path = task.source
    else:
        path = _unpacked(task.source, folder)
        cut = _of_lines(path, salt, lines)
    return [_part(name, path, kind, column, salt, folder, number, *one) for number, one in enumerate(cut)]


def folder_of(work: Path, task: Task) -> Path:
    """The folder for the parts of a file."""
    name = os.fsencode(os.path.abspath(task.output or task.source))
    return work / hashlib.blake2b(name, digest_size=8).hexdigest()


_Cut = tuple[int, int, int, int, int, str]  # group, start, end, first, lines, digest


def _part(
    name: str, path: Path, kind: Kind, column: str, salt: str, folder: Path, number: int, *cut: int | str
) -> TextPart:
    group, start, end, first, lines, digest = cut
    place = str(folder.absolute() / f"{number:07}-{digest}")
    return TextPart(
        name, str(path.absolute()), kind, column, int(group), int(start), int(end), int(first), int(lines),
        salt, str(digest), place,
    )  # fmt: skip


def _paths(name: str) -> list[Path]:
    if not os.path.lexists(name) and glob.has_magic(name):
        found = sorted(glob.glob(name, recursive=True))
        if not found:
            raise DataError(f"{name}: matches no file", hint="check the pattern")
        return [Path(one) for one in found]
    path = Path(name)
    if not path.exists():
        raise DataError(f"{path}: no such file", hint="check the path")
    if not path.is_dir() and not path.is_file():
        raise DataError(f"{path}: not a file", hint="save it as a file first")
    return [path]


def _files(path: Path, output: Path) -> Iterator[tuple[Path, Path]]:
    """The files of a folder and their names in it: not hidden ones, documents, or what is in `output`."""
    if path.is_file():
        if _is_document(path):
            raise ConfigError(f"{path}: a document", hint="leave out --on, which is for text line by line")
        yield path, Path(path.name)
        return
    inside = output.resolve()
    for place, folders, names in os.walk(path):
        folders[:] = sorted(
            one for one in folders if not one.startswith(".") and Path(place, one).resolve() != inside
        )
        for name in sorted(names):
            file = Path(place, name)
            if not name.startswith(".") and file.is_file() and not _is_document(file):
                yield file, file.relative_to(path)


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


def _of_lines(path: Path, salt: str, lines: int) -> Iterator[_Cut]:
    start, first = 0, 1
    raw = raw_lines(path, 0, path.stat().st_size)
    while (line := next(raw, None)) is not None:
        digest = digest_of_part(salt, first)
        count, end = 0, start
        while line is not None:
            digest.update(line)
            count, end = count + 1, end + len(line)
            if count == lines or end - start >= _PART_BYTES:
                break
            line = next(raw, None)
        yield 0, start, end, first, count, digest.hexdigest()
        start, first = end, first + count


def _of_parquet(path: Path, column: str, salt: str, lines: int) -> Iterator[_Cut]:
    parquet, first = open_parquet(path, str(path)), 1
    if NAME in parquet.schema_arrow.names:
        raise DataError(f"{path}: has a column {NAME!r} already", hint="rename that column")
    for group in range(parquet.num_row_groups):
        values = iter(column_values(path, str(path), column, group))
        start = 0
        while some := list(islice(values, lines)):
            digest = digest_of_part(salt, first)
            for value in some:
                digest.update(json.dumps(value).encode())
            yield group, start, start + len(some), first, len(some), digest.hexdigest()
            start, first = start + len(some), first + len(some)


def remove(folder: Path) -> None:
    """Delete the parts of a file."""
    shutil.rmtree(folder, ignore_errors=True)
