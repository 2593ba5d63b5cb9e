"""Translated files: private, under names that cannot be guessed, and gone in time."""

from __future__ import annotations

import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.serving.http import jobs as module
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.jobs import FileStore


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


def test_the_files_are_bounded(files: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BYTES", 10)
    files.put(b"x" * 8, ".txt")
    with pytest.raises(Refusal) as refusal:
        files.put(b"x" * 3, ".txt")
    assert refusal.value.status == 429
    monkeypatch.setattr(module, "_FILES", 2)
    files.put(b"x", ".txt")
    with pytest.raises(Refusal):
        files.put(b"x", ".txt")
