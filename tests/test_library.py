"""The models that tests share are never those of other sources, and two processes make one once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest

from tests import library

CALLS: list[Path] = []


def make(folder: Path) -> None:
    folder.mkdir()
    sleep(0.05)
    (folder / "model").write_text(f"{len(CALLS)}")
    CALLS.append(folder)


def copied(tmp_path: Path, name: str) -> str:
    return (library.copy_of(make, tmp_path / name, place=tmp_path / "library") / "model").read_text()


def test_it_is_made_once_and_again_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    CALLS.clear()
    with ThreadPoolExecutor() as pool:
        assert [*pool.map(lambda name: copied(tmp_path, name), "abc")] == ["0"] * 3
    (tmp_path / "a/model").write_text("changed by a test")
    assert copied(tmp_path, "d") == "0"

    monkeypatch.setenv("DRAGOMAN_NATIVE", "0")
    assert copied(tmp_path, "e") == "1"
    monkeypatch.setattr(library, "_digest_of_package", lambda: b"of other sources")
    assert copied(tmp_path, "f") == "2"
    monkeypatch.undo()
    assert copied(tmp_path, "g") == "3"  # only the last is kept


def test_one_that_was_not_finished_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "library/test_library.make-part").mkdir(parents=True)

    assert copied(tmp_path, "a")
