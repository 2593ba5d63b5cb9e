"""Parts put together: a Parquet file keeps its columns, rows and types."""

from __future__ import annotations

import pytest

from dragoman.bulk.run import join_parts, parts_of
from dragoman.bulk.worker import PartWorker
from dragoman.documents.files import Task
from tests.bulk.loud import JOB, use_loud


def test_a_parquet_file_gets_a_column(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    use_loud(monkeypatch)
    texts = [f"row {number}" for number in range(7)]
    texts[3] = None
    table = pyarrow.table(
        {
            "id": pyarrow.array(range(7), pyarrow.int8()),
            "text": pyarrow.array(texts),
            "tags": [[n] for n in range(7)],
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    task = Task(tmp_path / "a.parquet", tmp_path / "out.parquet", None)
    parts = parts_of(task, tmp_path / "w", salt="s", column="text", lines=2)
    worker = PartWorker(JOB)
    for part in reversed(parts):
        worker.translate(part)

    counts = join_parts(task, parts)

    written = parquet.read_table(tmp_path / "out.parquet")
    assert written.select(table.schema.names).equals(table)
    assert written.column("translation").to_pylist() == [text and text.upper() for text in texts]
    assert (counts.files, counts.lines) == (1, 7)


def test_a_file_without_rows_has_the_column(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": pyarrow.array([], pyarrow.string())}), tmp_path / "a.parquet")
    task = Task(tmp_path / "a.parquet", tmp_path / "out.parquet", None)
    join_parts(task, parts_of(task, tmp_path / "w", salt="s", column="text"))
    assert parquet.read_table(tmp_path / "out.parquet").schema.names == ["text", "translation"]
