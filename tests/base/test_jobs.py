"""Jobs that resume: their lock, their records, and what they are made from."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import sys
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError
from dragoman.base.jobs import (
    GrowingFiles,
    JobRecord,
    Journal,
    Lock,
    digest,
    digest_of_file,
    digest_of_place,
    read_part,
    write_part,
)

ABOUT = {"model": "m", "--beam": "4"}


# ---- what a job is made from -------------------------------------------------------------------------


def test_digests_are_blake2b_of_all_bytes(tmp_path: Path) -> None:
    known = hashlib.blake2b("Bäume\nund\n".encode(), digest_size=16).hexdigest()
    (tmp_path / "x").write_text("Bäume\nund\n", encoding="utf-8")

    assert digest("Bäume\nund\n") == digest(["Bäume\n", b"und\n"]) == digest_of_file(tmp_path / "x") == known


def test_the_digest_of_a_model_folder(tmp_path: Path) -> None:
    """Of the names, the sizes, small files and the times of large ones: as version 0.1 noted it."""
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(bytes(2**20 + 1))
    os.utime(tmp_path / "model.safetensors", ns=(5, 7))
    content = b"config.json 2\n{}model.safetensors 1048577\n7"
    assert digest_of_place(tmp_path) == digest(content)

    elsewhere = digest_of_place(tmp_path, times=False)
    os.utime(tmp_path / "model.safetensors", ns=(5, 8))
    assert digest_of_place(tmp_path, times=False) == elsewhere
    assert digest_of_place(tmp_path) != digest(content)
    (tmp_path / "config.json").write_text("[]")
    assert digest_of_place(tmp_path, times=False) != elsewhere


def test_the_digest_of_files_and_of_names(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(f"{name}\n")
    assert digest_of_place(tmp_path / "a", tmp_path / "b") == digest(b" 2\na\n 2\nb\n")
    assert digest_of_place("name/on-a-hub") == "name/on-a-hub"


# ---- the lock ----------------------------------------------------------------------------------------


def test_the_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    first, second = (Lock(tmp_path / "c/lock", tmp_path, owner=True) for _ in range(2))
    first.acquire()
    first.acquire()  # again does nothing

    with pytest.raises(
        ConfigError, match=f"another command is .* folder: process {os.getpid()} on "
    ) as caught:
        second.acquire()
    assert caught.value.hint
    first.release()
    first.release()

    with second:
        pass
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["lock"]


def test_the_lock_of_a_file_that_was_moved_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command finished between opening the file and locking it."""
    whole = fcntl.flock

    def late(file: int, how: int) -> None:
        (tmp_path / "x").rename(tmp_path / "y")
        whole(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(ConfigError, match="x: another command is writing this file"):
        Lock(tmp_path / "x").acquire()


def test_without_locks_a_job_continues_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def flock(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with caplog.at_level(logging.WARNING), Lock(tmp_path / "c/lock", tmp_path):
        pass

    assert "cannot be locked ([Errno 37] No locks available)" in caplog.text


class Msvcrt:
    """The locks of Windows: one process holds the first byte of a file, seen from all its descriptors."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: dict[int, int] = {}  # inode: the descriptor

    def locking(self, file: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        held = self.held.get(os.fstat(file).st_ino)
        if held is not None and held != file:
            try:
                os.fstat(held)
            except OSError:  # closed, which releases it
                pass
            else:
                raise PermissionError(13, "Permission denied")
        self.held[os.fstat(file).st_ino] = file


def test_on_windows_the_lock_is_a_file_beside_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the text could not take its place while it is locked."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt())
    first, second = Lock(tmp_path / "x"), Lock(tmp_path / "x")
    with first:
        with pytest.raises(ConfigError, match="x: another command is writing this file"):
            second.acquire()
        assert [path.name for path in tmp_path.iterdir()] == ["x.lock"]
    with second:
        pass
    assert not any(tmp_path.iterdir())


# ---- records -----------------------------------------------------------------------------------------


def test_a_record_of_another_job_is_refused_or_of_no_use(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    JobRecord(path, ABOUT).write(rows=3)

    def read(about: object, refused: Path | None = None) -> dict[str, object]:
        return JobRecord(path, about, refused=refused).read(lambda table: table["rows"] > 0)

    assert read(ABOUT) == {"rows": 3}
    assert read({"model": "m", "--beam": "5"}) == {}
    with pytest.raises(ConfigError, match=r"(?m)out: was begun with another --beam, model$"):
        read({"model": "n", "--beam": "5"}, Path("out"))
    for damage in ("", "[]", "{}", json.dumps({"about": ABOUT, "rows": 0}), json.dumps({"about": ABOUT})):
        path.write_text(damage)
        assert read(ABOUT) == {}


def test_files_grow_from_what_was_recorded(tmp_path: Path) -> None:
    def opened() -> GrowingFiles:
        files = GrowingFiles(tmp_path, JobRecord(tmp_path / "record.json", ABOUT))
        files.read()
        files.open(["a", "b"])
        return files

    files = opened()
    files.append("a", b"one")
    files.save(lines=1)
    files.append("b", b"not recorded")
    files.close()

    files = opened()
    assert files.table.items() >= {"lines": 1, "sizes": {"a": 3, "b": 0}}.items()
    files.append("a", b"two")
    files.close()
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"onetwo", b""]

    (tmp_path / "a").write_bytes(b"on")  # shorter than recorded
    files = opened()
    files.close()
    assert files.table == {}
    assert (tmp_path / "a").read_bytes() == b""
    assert not (tmp_path / "record.json").exists()


@pytest.mark.parametrize("name", ["a", "record.json"])
def test_a_changed_byte_of_a_file_or_of_its_record_begins_anew(tmp_path: Path, name: str) -> None:
    def opened() -> GrowingFiles:
        files = GrowingFiles(tmp_path, JobRecord(tmp_path / "record.json", ABOUT))
        files.read()
        return files

    for content in (b"one", b"two"):  # the digest continues after a stop
        files = opened()
        files.open(["a"])
        files.append("a", content)
        files.save(lines=1)
        files.close()
    whole = (tmp_path / name).read_bytes()
    table = opened().table
    assert table
    for place in range(len(whole)):
        (tmp_path / name).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found = opened().table
            assert not found or (name != "a" and found.items() >= table.items()), place
        except ConfigError:
            assert name == "record.json"  # it has other inputs
    (tmp_path / name).write_bytes(whole)
    assert opened().table


# ---- parts -------------------------------------------------------------------------------------------


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("source", "output")]
    for path in paths:
        path.write_text(path.name)
    return paths


def test_a_journal_knows_finished_parts_that_are_unchanged(tmp_path: Path, texts: list[Path]) -> None:
    with pytest.raises(KeyboardInterrupt), Journal(tmp_path / "out", ABOUT) as journal:
        assert (journal.result(*texts), len(journal)) == (None, 0)
        journal.add(*texts, {"lines": 3})
        raise KeyboardInterrupt
    place = tmp_path / "out" / Journal.NAME
    rows = [json.loads(line) for line in place.read_text().splitlines()]
    assert rows[0] == ABOUT
    assert rows[1] == {
        "source": str(texts[0]), "digests": [digest("source"), digest("output")], "result": {"lines": 3}
    }  # fmt: skip
    with place.open("a") as file:
        file.write('{"source": "cut sh')

    with pytest.raises(ConfigError, match="was begun with another --beam"):
        Journal(tmp_path / "out", ABOUT | {"--beam": "5"}).__enter__()
    with Journal(tmp_path / "out", ABOUT) as journal:
        assert journal.result(*texts) == {"lines": 3}
        texts[1].write_text("changed")
        assert journal.result(*texts) is None
        assert place.read_text().count("\n") == 2  # what was cut short is gone
    assert not place.exists()


def test_two_commands_do_not_share_a_journal(tmp_path: Path) -> None:
    with Journal(tmp_path, ABOUT) as journal:
        with pytest.raises(ConfigError, match="another command is writing this folder"):
            Journal(tmp_path, ABOUT).__enter__()
        journal.kept = True
    assert (tmp_path / Journal.NAME).exists()
    Journal(tmp_path, ABOUT).__enter__()


def test_a_part_is_whole_and_of_this_job(tmp_path: Path) -> None:
    path = tmp_path / "0001"
    assert read_part(path) is None
    head = write_part(path, {"made_with": "m", "pairs": 2}, "ä\nb\n")

    assert read_part(path) == read_part(path, {"made_with": "m"}) == head
    assert head == {"made_with": "m", "pairs": 2, "digest": digest("ä\nb\n")}
    assert read_part(path, {"made_with": "n"}) is None
    path.write_text(path.read_text() + "more")
    assert read_part(path) is None
    path.write_text("[]\n")
    assert read_part(path) is None
