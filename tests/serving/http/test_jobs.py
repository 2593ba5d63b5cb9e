"""Translated files: private, under names that cannot be guessed, and gone in time."""

from __future__ import annotations

import asyncio
import errno
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.base.errors import DataError
from dragoman.serving.http import jobs as module
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.jobs import FileJob, FileStore, Jobs
from dragoman.serving.service.admission import Counting
from dragoman.serving.service.ask import TranslatedDocument


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileStore:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return FileStore()


def test_a_file_is_private_and_comes_back(files: FileStore, tmp_path: Path) -> None:
    names = {files.put(b"text", ".txt") for _ in range(20)}

    assert len(names) == 20
    assert all(len(name) >= 32 + 4 and name.endswith(".txt") for name in names)
    assert files.read(min(names)) == (b"text", ".txt")
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    paths = list(folder.iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert not {path.name for path in paths} & names  # a name is no path


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "/etc/passwd", "x.txt", "\0"])
def test_only_names_that_were_given_out_are_known(files: FileStore, name: str) -> None:
    files.put(b"text", ".txt")
    with pytest.raises(Refusal) as refusal:
        files.read(name)
    assert refusal.value.status == 404


def test_a_path_of_a_file_is_no_name(files: FileStore, tmp_path: Path) -> None:
    files.put(b"text", ".txt")
    (path,) = next(tmp_path.iterdir()).iterdir()
    for name in (path.name, str(path)):
        with pytest.raises(Refusal):
            files.read(name)


def test_a_file_expires(files: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    # The module's own `time`: servers of other tests run in threads, and their loops would stop at it.
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    name = files.put(b"text", ".txt")
    now += 30 * 60 - 1
    assert files.read(name)[0] == b"text"
    now += 1
    with pytest.raises(Refusal):
        files.read(name)
    assert list(next(tmp_path.iterdir()).iterdir()) == []


def test_at_the_end_nothing_is_left(files: FileStore, tmp_path: Path) -> None:
    name = files.put(b"text", ".txt")
    files.close()

    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Refusal):
        files.read(name)


def test_the_files_are_bounded(files: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest make room, so that no work is lost after it is done."""
    monkeypatch.setattr(module, "_BYTES", 10)
    monkeypatch.setattr(module, "_FILES", 3)

    def kept(names: list[str]) -> list[bool]:
        return [name in files._kept for name in names]

    names = [files.put(b"x" * size, ".txt") for size in (4, 4, 3)]
    assert kept(names) == [False, True, True]
    names += [files.put(b"x", ".txt") for _ in range(2)]
    assert kept(names) == [False, False, True, True, True]
    names.append(files.put(b"x" * 11, ".txt"))
    assert kept(names) == [False] * 5 + [True]
    assert len(list(tmp_path.rglob("*"))) == 2


def test_a_folder_that_the_system_removed_is_made_again(files: FileStore, tmp_path: Path) -> None:
    """As systemd-tmpfiles does with what lies in /tmp for days."""
    lost = files.put(b"a", ".txt")
    shutil.rmtree(next(tmp_path.iterdir()))
    with pytest.raises(Refusal) as refusal:
        files.read(lost)
    assert (refusal.value.status, lost in files) == (404, False)
    assert files.read(files.put(b"b", ".txt")) == (b"b", ".txt")
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_part_of_a_file(
    files: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(_: bytes) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    @contextmanager
    def full(*words: Any, **named: Any) -> Iterator[Any]:
        with open(*words, **named) as file:
            file.write(b"a part")
            yield SimpleNamespace(write=write)

    files.put(b"a", ".txt")
    monkeypatch.setattr(module, "open", full, raising=False)
    with pytest.raises(OSError, match="no space left"):
        files.put(b"a part and more", ".txt")
    assert len(files._kept) == len(list(next(tmp_path.iterdir()).iterdir())) == 1


async def _done(jobs: Jobs, data: bytes | None = b"x") -> FileJob:
    """A document that is translated, or that fails without data."""

    async def work() -> tuple[TranslatedDocument, str]:
        if data is None:
            raise DataError("broken")
        return TranslatedDocument(data, 1), ".txt"

    job = jobs.add(work())
    assert job.task is not None
    await job.task
    return job


def test_finished_documents_keep_no_others_out(files: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_FINISHED", 2)
    monkeypatch.setattr(module, "_MOST_UNFINISHED", 1)

    async def story() -> None:
        jobs = Jobs(files, Counting())
        first, *_, last = [await _done(jobs, data) for data in (b"a", None, b"b", None, b"c")]
        assert jobs.fetch(last) == (b"c", ".txt")
        with pytest.raises(Refusal):
            jobs.find(first.number, first.key)
        assert first.name not in files._kept  # its file is gone with it

    asyncio.run(story())
