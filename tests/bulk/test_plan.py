"""Which files are translated, where to, and how they are cut."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.bulk import run as plan
from dragoman.bulk.run import bulk_tasks, folder_of, parts_of, work_place
from dragoman.documents.files import Task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("in/a.txt", "in/sub/b.en", "in/.hidden", "in/page.html", "in/.git/x", "in/c.jsonl.gz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\ntwo\n")
    return tmp_path


def places(tasks: list[Task], folder: Path) -> list[tuple[str, str]]:
    return [
        (str(task.source.relative_to(folder)), str(task.output.relative_to(folder)))
        for task in tasks
        if task.output
    ]


def cuts(path: Path, folder: Path, lines: int, salt: str = "s") -> list[tuple[int, int, int, int]]:
    parts = parts_of(Task(path, folder / "out", None), folder / "work", salt=salt, column="text", lines=lines)
    return [(part.start, part.end, part.first, part.lines) for part in parts]


def test_a_folder_keeps_its_names_and_leaves_out_hidden_files_and_documents(folder):
    assert places(bulk_tasks([str(folder / "in")], folder / "out"), folder) == [
        ("in/a.txt", "out/a.txt"),
        ("in/c.jsonl.gz", "out/c.jsonl.gz"),
        ("in/sub/b.en", "out/sub/b.en"),
    ]


def test_the_output_folder_is_not_read_even_if_it_is_inside(folder):
    (folder / "in/out").mkdir()
    (folder / "in/out/old.txt").write_text("old\n")
    tasks = bulk_tasks([str(folder / "in")], folder / "in/out")
    assert [task.source.name for task in tasks] == ["a.txt", "c.jsonl.gz", "b.en"]


def test_a_pattern_and_a_single_file(folder):
    both = bulk_tasks([str(folder / "in/**/*[tn]")], folder / "out")
    one = bulk_tasks([str(folder / "in/a.txt")], folder / "a.de")
    assert places(both, folder) == [("in/a.txt", "out/a.txt"), ("in/sub/b.en", "out/b.en")]
    assert places(one, folder) == [("in/a.txt", "a.de")]
    assert work_place(both, folder / "out") == folder / "out/.unfinished.parts"
    assert work_place(one, folder / "a.de") == folder / "a.de.unfinished.parts"


def test_what_cannot_be_planned_is_refused(folder):
    (folder / "empty").mkdir()
    for error, names, text in (
        (DataError, ["nowhere"], "no such file"),
        (DataError, ["nowhere*"], "matches no file"),
        (DataError, ["empty"], "no text in this folder"),
        (ConfigError, ["in/page.html"], "not documents"),
        (ConfigError, ["in/a.txt", "in/a.txt"], "would both go to"),
    ):
        with pytest.raises(error, match=text):
            bulk_tasks([str(folder / name) for name in names], folder / "out")
    with pytest.raises(ConfigError, match="is one of the folders to translate"):
        bulk_tasks([str(folder / "in")], folder / "in")


def test_lines_are_cut_at_their_ends(tmp_path):
    path = tmp_path / "in"
    path.write_bytes(b"one\r\n\n\xe2\x80\xa8two\nthree\nfour")
    assert cuts(path, tmp_path, 2) == [(0, 6, 1, 2), (6, 19, 3, 2), (19, 23, 5, 1)]
    path.write_bytes(b"")
    assert cuts(path, tmp_path, 2) == []


def test_a_part_ends_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "_PART_BYTES", 10)
    (tmp_path / "in").write_text("123456789\n" * 3)
    assert [cut[3] for cut in cuts(tmp_path / "in", tmp_path, 100)] == [1, 1, 1]


def test_gzipped_text_is_cut_as_the_text(tmp_path):
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"one\ntwo\nthree\n"))
    assert cuts(tmp_path / "in.gz", tmp_path, 2) == [(0, 8, 1, 2), (8, 14, 3, 1)]
    (tmp_path / "in.gz").write_bytes(gzip.compress(b"one\ntwo\nthree\n" * 99)[:30])
    with pytest.raises(DataError, match="in.gz: a damaged gzip file"):
        cuts(tmp_path / "in.gz", tmp_path, 2)
    (tmp_path / "in.gz").write_bytes(b"plain")
    with pytest.raises(DataError, match="in.gz: not a gzip file"):
        cuts(tmp_path / "in.gz", tmp_path, 2)


def test_the_place_of_a_part_is_that_of_its_text_and_salt(tmp_path):
    def names(text: str, salt: str = "s") -> list[str]:
        (tmp_path / "in").write_text(text)
        task = Task(tmp_path / "in", tmp_path / "out", None)
        parts = parts_of(task, tmp_path / "work", salt=salt, column="text", lines=1)
        return [Path(part.place).name for part in parts]

    before, after = names("one\ntwo\nthree\n"), names("one\n2\nthree\n")
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True]
    assert len(set(names("same\nsame\nsame\n"))) == 3
    assert not set(before) & set(names("one\ntwo\nthree\n", salt="t"))


def test_each_file_has_a_folder_for_its_parts(tmp_path):
    tasks = [Task(tmp_path / "a", tmp_path / "out" / name, None) for name in ("a/x", "b/x")]
    assert len({folder_of(tmp_path, task) for task in tasks}) == 2
