"""The tail of a file: every whole line once, whatever happens to the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.serving.studio import watch as tail_module
from dragoman.serving.studio.watch import Tail

WHOLE = b'{"kind": "train"}\n\n{"k": "\xc3\xa4"}\nlast\n'


def everything(tail: Tail) -> list[bytes]:
    lines: list[bytes] = []
    while True:
        news = tail.read()
        lines = [*news.lines] if news.restarted else [*lines, *news.lines]
        if not news.more:
            return lines


def later(path: Path) -> None:
    """Let the time of the last change differ, as it does when a second passes."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))


@pytest.mark.parametrize("cut", range(len(WHOLE) + 1))
def test_a_file_cut_at_any_byte_and_then_whole(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(WHOLE[:cut])
    tail = Tail(path)

    before = everything(tail)
    assert before == WHOLE[:cut].split(b"\n")[:-1]
    assert tail.unfinished == (cut > 0 and WHOLE[cut - 1 : cut] != b"\n")
    with path.open("ab") as file:
        file.write(WHOLE[cut:])
    assert before + everything(tail) == WHOLE.split(b"\n")[:-1]
    assert not tail.unfinished


@given(st.lists(st.binary(min_size=1, max_size=12), max_size=30))
def test_a_file_that_grows_in_pieces(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("grows") / "metrics.jsonl"
    path.touch()
    tail = Tail(path)
    lines = []
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        lines += everything(tail)

    assert lines == b"".join(pieces).split(b"\n")[:-1]


@given(before=st.lists(st.integers(0, 9), max_size=8), after=st.lists(st.integers(0, 9), max_size=8))
def test_a_file_written_anew(
    tmp_path_factory: pytest.TempPathFactory, before: list[int], after: list[int]
) -> None:
    """The reader holds what a fresh one would, whether the new file goes on from the old one or not."""
    path = tmp_path_factory.mktemp("anew") / "metrics.jsonl"
    path.write_text("".join(f"line {n}\n" for n in before))
    tail = Tail(path)
    held = everything(tail)
    path.write_text("".join(f"line {n}\n" for n in after))  # the same inode
    later(path)

    news = tail.read()
    held = [*news.lines] if news.restarted else [*held, *news.lines]
    assert held == [f"line {n}".encode() for n in after]


def test_a_copy_that_goes_on_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("one\ntwo\n")
    tail = Tail(path)
    assert everything(tail) == [b"one", b"two"]
    copy = tmp_path / "copy"
    copy.write_text("one\ntwo\nthree\n")
    os.replace(copy, path)

    news = tail.read()
    assert (news.lines, news.restarted) == ((b"three",), False)


def test_a_resumed_run_that_grew_past_the_old_size(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("one\ntwo\n")
    tail = Tail(path)
    everything(tail)
    path.write_text("one\n2\nthree\nfour\n")

    news = tail.read()
    assert news.restarted
    assert news.lines == (b"one", b"2", b"three", b"four")


def test_a_file_that_vanishes_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tail = Tail(path)
    assert tail.read().missing
    path.write_text("one\n")
    assert tail.read().lines == (b"one",)
    path.unlink()
    assert tail.read().missing
    path.write_text("one\ntwo\n")
    assert tail.read().lines == (b"two",)


def test_a_folder_in_its_place_is_an_error_in_words(tmp_path: Path) -> None:
    assert "directory" in Tail(tmp_path).read().error


def test_an_unchanged_file_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("one\nhalf")
    tail = Tail(path)
    everything(tail)
    monkeypatch.setattr(Path, "open", lambda *_: pytest.fail("it was opened"))

    assert tail.read().lines == ()


@pytest.mark.parametrize("length", [63, 64, 65, 127, 128, 129, 1000])
def test_a_line_that_is_far_too_long_is_left_out(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_module, "CHUNK", 64)
    path = tmp_path / "metrics.jsonl"
    path.write_text("one\n" + "x" * length + "\ntwo\n")
    tail = Tail(path)

    lines = everything(tail)
    kept = [b"x" * length] if length < 64 else []
    assert lines == [b"one", *kept, b"two"]
    assert tail.broken == (0 if kept else 1)


def test_it_reads_from_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of a look is that of what is new: the old lines are not read again."""
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"x" * 99 + b"\n" * 1 + b"y\n" * 50_000)
    tail = Tail(path)
    everything(tail)
    with path.open("ab") as file:
        file.write(b"new\n")
    read = []
    real = Path.open

    class Counting:
        def __init__(self, file):  # type: ignore[no-untyped-def]
            self.file, self.fileno, self.seek = file, file.fileno, file.seek

        def __enter__(self):  # type: ignore[no-untyped-def]
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def read(self, size: int) -> bytes:
            data: bytes = self.file.read(size)
            read.append(len(data))
            return data

    monkeypatch.setattr(Path, "open", lambda self, mode: Counting(real(self, mode)))
    assert tail.read().lines == (b"new",)
    assert sum(read) <= 4096 + 4
