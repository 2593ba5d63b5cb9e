"""The plan of a bulk translation: its files, where their translations go, and their parts."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from dragoman.base.errors import ConfigError, DataError
from dragoman.bulk.source import NAME, TextPart, digest_of_part, kind_of_name, open_parquet, raw_items
from dragoman.documents.files import Task, tasks_of
from dragoman.documents.formats import format_of_name
from dragoman.text.corpora.compressed import damage, decompressed
from dragoman.text.corpora.lines import open_bytes

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
    for path in paths:
        if path.is_file() and _is_document(path):
            raise ConfigError(
                f"{path}: bulk translation takes text, not documents", hint="use dragoman translate"
            )
    return tasks_of(paths, output, wanted=_is_wanted)


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
    parquet = open_parquet(path, name)
    if NAME in parquet.schema_arrow.names:
        raise DataError(f"{path}: has a column {NAME!r} already", hint="rename that column")
    return int(parquet.num_row_groups)


def folder_of(work: Path, task: Task) -> Path:
    """The folder for the parts of a file."""
    name = os.fsencode(os.path.abspath(task.output or task.source))
    return work / hashlib.blake2b(name, digest_size=8).hexdigest()


def _paths(name: str) -> list[Path]:
    if not os.path.lexists(name) and glob.has_magic(name):
        found = sorted(glob.glob(name, recursive=True))
        if not found:
            raise DataError(f"{name}: matches no file", hint="check the pattern")
        return [Path(one) for one in found]
    return [Path(name)]


def _is_wanted(inside: Path) -> bool:
    """Whether a file of a folder is translated: not hidden ones, and not documents."""
    return not any(part.startswith(".") for part in inside.parts) and not _is_document(inside)


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


def remove(folder: Path) -> None:
    """Delete the parts of a file."""
    shutil.rmtree(folder, ignore_errors=True)
