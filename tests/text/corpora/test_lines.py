"""Lines begin and end where the file says, and what cannot be read is named with its file and line."""

import gc
import gzip
import io
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.text.corpora.lines import one_line, open_text, read_lines

SEPARATORS = "a\x0bb\x0cc\x1cd\x1ee\x85f\u2028g\u2029h"  # str.splitlines would make eight lines of it


def written(folder: Path, content: bytes, name: str = "train.de") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def failure(path: Path) -> DataError:
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    assert caught.value.hint
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


class Stdin:
    """Standard input as a pipe of these bytes."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BufferedReader(io.BytesIO(content))


# Where lines end


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"one", ["one"]),
        (b"one\n", ["one"]),
        (b"one\n\n", ["one", ""]),
        (b"\n\ntwo before\n", ["", "", "two before"]),
        (b"windows\r\nlines\r\n", ["windows", "lines"]),
        (b"kept\rinside\n", ["kept\rinside"]),
        (b"only one\r\r\n", ["only one\r"]),
        (f"{SEPARATORS}\nnext".encode(), [SEPARATORS, "next"]),
        ("\ufeffmarked\n\ufeffnot the start".encode(), ["marked", "\ufeffnot the start"]),
        (b"  spaces stay \t\n", ["  spaces stay \t"]),
    ],
)
def test_lines(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    assert list(read_lines(written(tmp_path, content))) == lines
    assert list(read_lines(written(tmp_path, gzip.compress(content), "train.de.gz"))) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]))))
def test_any_lines_come_back(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes("".join(f"{line}\n" for line in ["first", *lines]).encode())

    assert list(read_lines(path)) == ["first", *(line.removesuffix("\r") for line in lines)]


def test_gzip_is_known_by_its_bytes_and_may_have_several_parts(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"one\n") + gzip.compress(b"two\n"), "train.de")

    assert list(read_lines(path)) == ["one", "two"]


def test_lines_come_one_at_a_time(tmp_path: Path) -> None:
    lines = read_lines(written(tmp_path, b"fine\n\xff\n"))

    assert next(lines) == "fine"  # the damage further on is not met yet
    with pytest.raises(DataError, match="train.de:2"):
        next(lines)


# What cannot be read


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"fine\n" * 16 + b"caf\xe9\n", "train.de:17: not valid UTF-8"),
        (b"fine\n" * 16 + b"a\0b\n", "train.de:17: a NUL byte"),
        (b"\xed\xa0\x80\n", "train.de:1: not valid UTF-8"),  # half a surrogate pair
        ("größer\n".encode("utf-16"), "train.de:1: not valid UTF-8, it looks like UTF-16"),
        ("\ufeffgrößer\n".encode("utf-16-be"), "train.de:1: not valid UTF-8, it looks like UTF-16"),
        ("plain\n".encode("utf-16-le"), "train.de:1: a NUL byte"),
    ],
)
def test_bytes_that_are_no_text(tmp_path: Path, content: bytes, message: str) -> None:
    assert str(failure(written(tmp_path, content))) == f"{tmp_path}/{message}"


def test_a_line_without_end_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    with path.open("wb") as file:
        file.write(b"x" * ((1 << 24) + 1))

    assert "zeros:1: a line of more than 16 MB" in str(failure(path))
    path.write_bytes(b"\xef\xbb\xbf" + b"x" * ((1 << 24) + 1))
    assert "zeros:1: a line of more than 16 MB" in str(failure(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert str(failure(tmp_path / "gone.en")) == f"{tmp_path}/gone.en: no such file"


def test_a_folder(tmp_path: Path) -> None:
    assert str(failure(tmp_path)) == f"{tmp_path}: a folder, not a file"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"secret\n")
    path.chmod(0)

    assert "cannot be read (Permission denied)" in str(failure(path))


def test_a_file_behind_a_file(tmp_path: Path) -> None:
    assert "cannot be read (Not a directory)" in str(failure(written(tmp_path, b"x") / "train.en"))


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"sentence {n * n}\n" for n in range(5000)).encode())
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255

    for content in (whole[:-4], whole[: len(whole) // 2], bytes(flipped), whole + b"junk"):
        assert "train.de.gz: a damaged gzip file" in str(failure(written(tmp_path, content, "train.de.gz")))


def test_plain_text_that_is_called_gzip(tmp_path: Path) -> None:
    assert "train.de.gz: not a gzip file" in str(failure(written(tmp_path, b"plain\n", "train.de.gz")))


def test_an_empty_file_is_an_error_where_text_is_needed(tmp_path: Path) -> None:
    for content in (b"", gzip.compress(b"")):
        with pytest.raises(DataError, match="train.de: empty"):
            open_text(written(tmp_path, content))


# Standard input and pipes


def test_standard_input_is_read_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"one\n\xff\n"))
    lines = read_lines("-")

    assert next(lines) == "one"
    with pytest.raises(DataError, match="standard input:2: not valid UTF-8"):
        next(lines)


def test_standard_input_can_be_opened_to_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(gzip.compress(b"one\ntwo\n")))
    file = open_text("-")

    assert list(file) == list(file) == ["one", "two"]


def test_the_copy_goes_with_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"one\n"))
    file = open_text("-")
    copy = file.path
    assert copy.exists()

    del file
    gc.collect()
    assert not copy.exists()


def test_an_empty_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b""))
    with pytest.raises(DataError, match="standard input: empty"):
        open_text("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX")
def test_a_pipe_can_be_read_twice_too(tmp_path: Path) -> None:
    path = tmp_path / "pipe.en"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"one\ntwo\n",))
    writer.start()
    file = open_text(path)
    writer.join()

    assert list(file) == list(file) == ["one", "two"]


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"one\n"))
    monkeypatch.setattr("shutil.copyfileobj", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))

    with pytest.raises(DataError, match="standard input: cannot be copied to .*No space left") as caught:
        open_text("-")
    assert "TMPDIR" in caught.value.hint


# Text from elsewhere


def test_text_from_elsewhere_becomes_one_line() -> None:
    assert one_line("a\r\nb\nc\rd\u2028e", "x:1") == "a b c d\u2028e"


@pytest.mark.parametrize(("text", "problem"), [("a\0b", "NUL"), ("a\ud83db", "surrogate")])
def test_text_that_no_line_can_hold(text: str, problem: str) -> None:
    with pytest.raises(DataError, match=f"^x:1: .*{problem}"):
        one_line(text, "x:1")
