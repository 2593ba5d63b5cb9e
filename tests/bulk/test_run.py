"""A bulk translation in this process: order, what is kept after a stop, what fails."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DataError, DragomanError, ModelError
from dragoman.bulk.run import BulkOutcome, bulk_tasks, translate_bulk
from dragoman.bulk.source import TextPart
from dragoman.bulk.worker import BulkJob, PartResult, in_this_process
from dragoman.documents.files import Task
from tests.bulk.loud import JOB, Loud, use_loud

LINES = [f"line {number}\n" for number in range(1, 8)]


@pytest.fixture
def loud(monkeypatch: pytest.MonkeyPatch) -> Loud:
    return use_loud(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_text("".join(LINES))
    (tmp_path / "in/b.txt.gz").write_bytes(gzip.compress(b"bee\nlong!\n"))
    (tmp_path / "in/c.jsonl").write_text('{"text": "sea"}\n')
    (tmp_path / "in/empty").touch()
    return tmp_path


def run(folder: Path, pool=in_this_process, about: str = "m", **options: int) -> BulkOutcome:
    tasks = bulk_tasks([str(folder / "in")], folder / "out")
    work = folder / "out/.unfinished.parts"
    work.mkdir(parents=True, exist_ok=True)
    return translate_bulk(JOB, tasks, work, pool, about={"model": about}, part_lines=2, **options)


def backwards(job: BulkJob, parts: Sequence[TextPart]) -> Iterator[tuple[int, PartResult]]:
    """Answers as workers may: in any order."""
    yield from reversed(list(in_this_process(job, parts)))


def stopped_after(count: int):
    def pool(job: BulkJob, parts: Sequence[TextPart]) -> Iterator[tuple[int, PartResult]]:
        for done, answer in enumerate(in_this_process(job, parts)):
            if done == count:
                raise KeyboardInterrupt
            yield answer

    return pool


def check_output(folder: Path) -> None:
    assert (folder / "out/a.txt").read_text() == "".join(LINES).upper()
    assert gzip.decompress((folder / "out/b.txt.gz").read_bytes()) == b"BEE\nLONG!\n"
    assert json.loads((folder / "out/c.jsonl").read_text()) == {"text": "sea", "translation": "SEA"}
    assert (folder / "out/empty").read_bytes() == b""
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "a.txt",
        "b.txt.gz",
        "c.jsonl",
        "empty",
    ]


@pytest.mark.parametrize("pool", [in_this_process, backwards])
def test_every_file_is_whole_and_in_order(folder, loud, pool):
    outcome = run(folder, pool)

    check_output(folder)
    counts = outcome.counts
    assert (counts.files, counts.lines, counts.truncated, outcome.parts) == (4, 10, 1, 6)
    assert counts.first == [f"{folder / 'in/b.txt.gz'}:2"]


def test_the_same_text_gzipped_is_the_same_bytes(folder, loud):
    run(folder)
    first = (folder / "out/b.txt.gz").read_bytes()
    run(folder)
    assert (folder / "out/b.txt.gz").read_bytes() == first
    assert first[3:8] == bytes(5)  # neither name nor time


@pytest.mark.parametrize("count", range(1, 6))
def test_it_goes_on_after_a_stop_and_translates_nothing_twice(folder, loud, count):
    with pytest.raises(KeyboardInterrupt):
        run(folder, stopped_after(count))
    assert (folder / "out/a.txt").exists() == (count >= 4)

    run(folder)

    check_output(folder)
    assert sorted(loud.lines) == sorted([*(line[:-1] for line in LINES), "bee", "long!", "sea"])


def test_only_a_part_whose_text_changed_is_translated_again(folder, loud):
    with pytest.raises(KeyboardInterrupt):
        run(folder, stopped_after(3))
    loud.lines.clear()
    changed = [*LINES[:3], "other\n", *LINES[4:]]
    (folder / "in/a.txt").write_text("".join(changed))

    outcome = run(folder)

    assert (folder / "out/a.txt").read_text() == "".join(changed).upper()
    assert loud.lines == ["line 3", "other", "bee", "long!", "sea"]
    assert outcome.kept == 3


def test_another_model_is_refused_and_leaves_everything(folder, loud):
    with pytest.raises(KeyboardInterrupt):
        run(folder, stopped_after(3))
    with pytest.raises(ConfigError, match="was begun with another model"):
        run(folder, about="other")
    assert run(folder).kept == 4


def test_parts_of_another_model_are_never_used(folder, loud):
    """Not even if the journal is deleted, as the hint allows."""
    with pytest.raises(KeyboardInterrupt):
        run(folder, stopped_after(3))
    (folder / "out/.unfinished.parts/.unfinished.jsonl").unlink()
    assert run(folder, about="other").kept == 0


def test_a_bad_line_fails_its_file_and_a_repeat_translates_only_its_part(folder, loud):
    (folder / "in/a.txt").write_bytes(b"one\ntwo\n\xff\nfour\nfive\n\xff\n")

    outcome = run(folder, backwards)

    ((source, error),) = outcome.failed
    assert (source.name, str(error)) == ("a.txt", f"{folder / 'in/a.txt'}:3: not valid UTF-8")
    assert not (folder / "out/a.txt").exists()
    assert (folder / "out/c.jsonl").exists()
    loud.lines.clear()
    (folder / "in/a.txt").write_text("".join(LINES))
    (folder / "in/a.txt").write_bytes(b"one\ntwo\nthree\nfour\nfive\nsix\n")
    assert not run(folder).failed
    assert loud.lines == ["three", "four", "five", "six"]
    assert (folder / "out/a.txt").read_text() == "ONE\nTWO\nTHREE\nFOUR\nFIVE\nSIX\n"
    assert not (folder / "out/.unfinished.parts").exists()


@pytest.mark.parametrize("column", ["text", "note"])
def test_a_damaged_page_of_parquet_fails_its_file(folder, loud, column):
    """Also in a column that is only copied, which is read when everything is translated."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = folder / "in/d.parquet"
    rows = [f"row {number}" for number in range(40)]
    table = pyarrow.table({"text": rows, "note": rows})
    parquet.write_table(table, path, use_dictionary=False, compression="gzip")
    chunk = parquet.read_metadata(path).row_group(0).column(table.schema.names.index(column))
    end = chunk.data_page_offset + chunk.total_compressed_size
    content = path.read_bytes()
    path.write_bytes(content[: end - 30] + bytes(30) + content[end:])

    outcome = run(folder)

    ((source, error),) = outcome.failed
    assert source == path
    assert str(error).startswith(f"{path}: cannot be read as Parquet (")
    assert (folder / "out/c.jsonl").exists()
    assert not (folder / "out/d.parquet").exists()


def test_what_is_not_about_the_text_ends_it_at_once(folder, monkeypatch):
    def no_model(job: BulkJob) -> None:
        raise ModelError("m: damaged", hint="copy it again")

    monkeypatch.setattr(BulkJob, "load", no_model)
    (folder / "in/empty").unlink()
    with pytest.raises(ModelError, match="m: damaged") as caught:
        run(folder)
    assert caught.value.hint == "copy it again"
    assert list((folder / "out").glob(".*")) == []


def test_parts_without_an_answer_are_an_error(folder, loud):
    def forgetful(job: BulkJob, parts: Sequence[TextPart]) -> Iterator[tuple[int, PartResult]]:
        yield from list(in_this_process(job, parts))[1:]

    with pytest.raises(DragomanError, match="1 parts have no answer"):
        run(folder, forgetful)


def test_a_missing_file_is_not_the_end_of_the_others(folder, loud):
    tasks = [
        Task(folder / "nowhere", folder / "out/x", None),
        *bulk_tasks([str(folder / "in")], folder / "out"),
    ]
    (folder / "out/w").mkdir(parents=True)
    outcome = translate_bulk(JOB, tasks, folder / "out/w", in_this_process, about={})
    assert [(path.name, type(error)) for path, error in outcome.failed] == [("nowhere", DataError)]
    assert outcome.counts.files == 4
