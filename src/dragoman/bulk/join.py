"""Join the parts of a file in their order."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from dragoman.base.files import replacing
from dragoman.bulk.source import NAME, TextPart, kind_of_name, open_parquet
from dragoman.documents.files import Task
from dragoman.text.corpora.compressed import compressing

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
            with ExitStack() as stack:
                file: Any = stack.enter_context(path.open("wb"))
                file = stack.enter_context(compressing(file, output.suffix))
                for part in parts:
                    with _body(part, counts) as body:
                        shutil.copyfileobj(body, file, _BLOCK)
    return counts


@contextmanager
def _body(part: TextPart, counts: BulkCounts) -> Iterator[BinaryIO]:
    """The translations of a part. The counts in the line before them are added."""
    with Path(part.place).open("rb") as file:
        about = json.loads(file.readline())
        counts.lines += about["lines"]
        counts.truncated += about["truncated"]
        counts.first = [*counts.first, *(f"{part.name}:{number}" for number in about["first"])][:5]
        yield file


def _write_parquet(source: Path, path: Path, parts: Sequence[TextPart], counts: BulkCounts) -> None:
    import pyarrow
    from pyarrow import parquet

    read = open_parquet(source, str(source))
    schema = read.schema_arrow.append(pyarrow.field(NAME, pyarrow.string()))
    with parquet.ParquetWriter(path, schema) as writer:
        for group in range(read.num_row_groups):
            table = read.read_row_group(group)
            mine = (part for part in parts if part.group == group)
            column = pyarrow.array([*_values(mine, counts)], pyarrow.string())
            writer.write_table(table.append_column(schema.field(NAME), column).cast(schema))


def _values(parts: Iterator[TextPart], counts: BulkCounts) -> Iterator[str | None]:
    for part in parts:
        with _body(part, counts) as body:
            yield from map(json.loads, body)
